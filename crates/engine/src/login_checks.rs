//! Passwords that neither Tidegate nor a server knows: PAM or LDAP says whether one is right.
//!
//! Both may take long, so a check is an order, and its answer comes later. Here is what a check is
//! made of, how many wait at a time, and what comes of them. When one is asked for is
//! `session::arriving::checked`; PAM and LDAP themselves are asked by `server`.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use zeroize::Zeroizing;

use crate::ids::SessionId;
use crate::vars::Vars;

mod ldap;

pub use ldap::{LdapName, LdapSearch, LdapSettings, LdapUrl, LdapUser};

/// Who says whether the password of an account is right.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CheckedBy {
    /// PAM, by that service; `None` for the one of `mysql-pam_service`.
    Pam(Option<Arc<str>>),
    /// An LDAP server.
    Ldap,
}

impl CheckedBy {
    /// The operator's word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pam(_) => "pam",
            Self::Ldap => "ldap",
        }
    }

    /// Its name, for people.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pam(_) => "PAM",
            Self::Ldap => "LDAP",
        }
    }
}

/// What a build can ask: each needs a library, and so a feature of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckFeatures {
    /// PAM can be asked.
    pub pam: bool,
    /// LDAP can be asked.
    pub ldap: bool,
}

impl CheckFeatures {
    /// All of them.
    pub const ALL: Self = Self { pam: true, ldap: true };

    /// Whether somebody can be asked.
    pub fn has(self, by: &CheckedBy) -> bool {
        match by {
            CheckedBy::Pam(_) => self.pam,
            CheckedBy::Ldap => self.ldap,
        }
    }
}

impl Default for CheckFeatures {
    /// Those of this build.
    fn default() -> Self {
        Self { pam: cfg!(feature = "pam"), ldap: cfg!(feature = "ldap") }
    }
}

/// A password as a client has shown it: wiped when nobody needs it any more, and never printed.
pub struct ShownPassword(Zeroizing<Box<[u8]>>);

impl ShownPassword {
    /// A copy of these bytes.
    pub fn new(password: &[u8]) -> Self {
        Self(Zeroizing::new(password.into()))
    }

    /// The password.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for ShownPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a password")
    }
}

/// How many checks of a process wait, those that are under way included.
#[derive(Clone, Default)]
pub struct ChecksWaiting(Arc<AtomicU32>);

impl ChecksWaiting {
    /// How many they are.
    pub fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// A place for one more, unless there are so many.
    fn enter(&self, waiting_max: u32) -> Option<CheckPlace> {
        let more = |count: u32| (count < waiting_max).then_some(count + 1);
        let entered = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        entered.ok().map(|_| CheckPlace(self.clone()))
    }
}

/// One of these places, until it is dropped.
struct CheckPlace(ChecksWaiting);

impl Drop for CheckPlace {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A session waits for what comes of a check, as long as it has this.
#[derive(Debug)]
pub(crate) struct CheckAwaited(Arc<()>);

impl CheckAwaited {
    /// Whether that is the check it waits for.
    pub(crate) fn is_of(&self, ticket: &CheckTicket) -> bool {
        Weak::ptr_eq(&Arc::downgrade(&self.0), &ticket.awaited)
    }
}

/// What a check is answered with besides its outcome.
#[derive(Clone, Debug)]
pub struct CheckTicket {
    /// Who waits.
    pub session: SessionId,
    awaited: Weak<()>,
}

/// Who is asked, with everything that has to be known for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckAt {
    /// PAM, by that service.
    Pam(Arc<str>),
    /// An LDAP server.
    Ldap(Box<LdapSettings>),
}

impl CheckAt {
    /// Who is asked, and how, by these variables; says why nobody can be asked.
    pub(crate) fn of(by: &CheckedBy, vars: &Vars) -> Result<Self, String> {
        match by {
            CheckedBy::Pam(Some(service)) => Ok(Self::Pam(service.clone())),
            CheckedBy::Pam(None) => Ok(Self::Pam(vars.pam_service.as_str().into())),
            CheckedBy::Ldap => match LdapSettings::of(vars) {
                Ok(Some(settings)) => Ok(Self::Ldap(Box::new(settings))),
                Ok(None) => Err(LDAP_NEEDS.to_owned()),
                Err((name, reason)) => Err(format!("{name}: {reason}")),
            },
        }
    }
}

/// Whether a password is right, to be found out on another thread.
pub struct LoginCheck {
    /// What to answer with.
    pub ticket: CheckTicket,
    /// Whose password it may be.
    pub user: Arc<str>,
    /// What the client has shown; it is not empty.
    pub password: ShownPassword,
    /// The client's address.
    pub client: Arc<str>,
    /// Who says so.
    pub at: CheckAt,
    /// For so long somebody waits, in milliseconds.
    pub timeout_ms: u64,
    /// So many checks may be under way at a time.
    pub threads_max: u32,
    _place: CheckPlace,
}

impl LoginCheck {
    /// Whether somebody waits for its outcome: the client is there, and the time is not over.
    pub fn is_awaited(&self) -> bool {
        self.ticket.awaited.strong_count() > 0
    }
}

impl fmt::Debug for LoginCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoginCheck({:?} of {:?})", self.ticket.session, self.user)
    }
}

/// Whose password is to be checked.
pub(crate) struct CheckSubject<'a> {
    pub session: SessionId,
    pub user: &'a Arc<str>,
    pub password: &'a [u8],
    pub client: &'a Arc<str>,
    pub by: &'a CheckedBy,
}

/// Makes a check, and what its session keeps while it waits; says why there can be none.
pub(crate) fn begin(
    subject: &CheckSubject<'_>,
    vars: &Vars,
    waiting: &ChecksWaiting,
) -> Result<(LoginCheck, CheckAwaited), CheckOutcome> {
    let at = CheckAt::of(subject.by, vars).map_err(CheckOutcome::Failed)?;
    let place = waiting.enter(vars.login_check_queue_max).ok_or(CheckOutcome::Full)?;
    let awaited = Arc::new(());
    let ticket = CheckTicket { session: subject.session, awaited: Arc::downgrade(&awaited) };
    let check = LoginCheck {
        ticket,
        user: subject.user.clone(),
        password: ShownPassword::new(subject.password),
        client: subject.client.clone(),
        at,
        timeout_ms: vars.login_check_timeout_ms,
        threads_max: vars.login_check_threads,
        _place: place,
    };
    Ok((check, CheckAwaited(awaited)))
}

/// What came of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckOutcome {
    /// The password is right.
    Right,
    /// The password is wrong, or there is no such user.
    Wrong,
    /// The user is not let in, for that reason: to the client it is as a wrong password.
    Refused(String),
    /// Nobody said whether it is right, for that reason.
    Failed(String),
    /// Nobody said so in time.
    TimedOut,
    /// It was not asked, as too many wait.
    Full,
}

/// Why an account with a password there cannot be in force.
pub(crate) const LDAP_NEEDS: &str =
    "password_from \"ldap\" needs mysql-ldap_url, and mysql-ldap_user_dn or mysql-ldap_search_base";

/// Whether that may be the name of a PAM service: it names a file.
pub fn is_pam_service(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_short = (1..=64).contains(&name.len());
    is_short && name.bytes().all(is_plain) && !name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_check_is_gone() {
        let waiting = ChecksWaiting::default();
        let two = [waiting.enter(2), waiting.enter(2)];
        assert!(two.iter().all(Option::is_some) && waiting.enter(2).is_none());
        assert_eq!(waiting.count(), 2);
        drop(two);
        assert_eq!(waiting.count(), 0);
        assert!(waiting.enter(0).is_none());
    }

    #[test]
    fn the_name_of_a_service_names_no_other_file() {
        assert!(["tidegate", "mysql-8.0", "a_b", "x"].iter().all(|name| is_pam_service(name)));
        for name in ["", "../shadow", "a/b", ".hidden", "a b", "ä", "a\0b", &"x".repeat(65)] {
            assert!(!is_pam_service(name), "{name:?}");
        }
    }

    #[test]
    fn a_password_is_not_printed() {
        let password = ShownPassword::new(b"pear");
        assert_eq!(password.bytes(), b"pear");
        assert_eq!(format!("{password:?}"), "a password");
    }
}
