//! What a request may see: accounts and tokens that requests show, and how often these may be
//! guessed at.
//!
//! A wrong one is answered at once, and makes others for the same account from the same address be
//! refused unseen for a while: to hang up early gains nothing. Knows no sockets, and not which
//! paths need an account. Outside formats: RFC 7617 (`Basic`), RFC 6750 (`Bearer`).

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use engine::report::Printable;
use engine::vars::{Vars, credentials, password_in};
use hyper::header::HeaderValue;
use wire::auth::{native, sha2};

/// Where a request comes from, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Origin {
    /// The address, in the family that it is one of.
    pub(crate) from: IpAddr,
    /// A proxy in front tells it, and may say so of this machine.
    pub(crate) is_told: bool,
    /// Nobody can listen in.
    pub(crate) is_secure: bool,
}

/// What becomes of a request that is more than a probe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It is answered.
    Granted,
    /// It has to come by HTTPS.
    Insecure,
    /// It has shown nothing that counts.
    Unknown,
    /// It has shown something wrong: the account, and how often in a row that was so.
    Wrong(String, u32),
    /// It is not looked at for this long, after wrong ones.
    Delayed(Duration),
}

/// What a request shows.
enum Shown<'a> {
    Basic(String, String),
    Bearer(&'a str),
}

/// What was shown before: wrong accounts and tokens by where they came from, and the last right
/// password of each account whose hash takes long to look at.
#[derive(Default)]
pub(crate) struct Guesses {
    wrong: Mutex<HashMap<(Whence, String), Wrong>>,
    /// By account, what its password and hash come to under a key of this process.
    right: Mutex<HashMap<String, u64>>,
    key: RandomState,
}

/// An address, and whether a proxy in front tells it.
type Whence = (IpAddr, bool);

#[derive(Clone, Copy)]
struct Wrong {
    times: u32,
    next_at: Instant,
}

impl Guesses {
    /// Judges a request by its `Authorization`.
    pub(crate) fn judge(
        &self,
        vars: &Vars,
        origin: Origin,
        header: Option<&HeaderValue>,
        now: Instant,
    ) -> Verdict {
        let is_local = origin.from.is_loopback() && !origin.is_told;
        if vars.admin_require_secure_transport && !origin.is_secure && !is_local {
            return Verdict::Insecure;
        }
        if !vars.restapi_authentication {
            return Verdict::Granted;
        }
        let Some(shown) = header.and_then(|header| Shown::read(header.to_str().ok()?)) else {
            return Verdict::Unknown;
        };
        let name = match &shown {
            Shown::Basic(user, _) => user.chars().take(NAME_CHARS_MAX).collect(),
            Shown::Bearer(_) => String::new(),
        };
        // between two calls it is whole, whatever happened to a thread
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key_of(&wrong, (io::network_of(origin.from), origin.is_told), name);
        let before = wrong.get(&key).copied().filter(|it| now < it.next_at + FORGOTTEN);
        if let Some(before) = before
            && now < before.next_at
        {
            return Verdict::Delayed(before.next_at - now);
        }
        if self.is_right(&shown, vars, is_local) {
            // what others have got wrong is not forgiven
            if key.1 != OTHERS {
                wrong.remove(&key);
            }
            return Verdict::Granted;
        }
        if wrong.len() >= GUESSED_MAX && !wrong.contains_key(&key) {
            // memory has an end: what would be looked at soonest goes
            let soonest = wrong.iter().min_by_key(|(_, it)| it.next_at).map(|(key, _)| key.clone());
            soonest.map(|key| wrong.remove(&key));
        }
        let times = before.map_or(0, |it| it.times) + 1;
        let named = match &shown {
            Shown::Bearer(_) => "a token".to_owned(),
            Shown::Basic(user, _) => format!("account '{}'", Printable(user)),
        };
        wrong.insert(key, Wrong { times, next_at: now + delay(times) });
        Verdict::Wrong(named, times)
    }

    fn is_right(&self, shown: &Shown<'_>, vars: &Vars, is_local: bool) -> bool {
        match shown {
            Shown::Basic(user, password) => {
                let may_come = is_local || !matches!(user.as_str(), "admin" | "stats");
                self.is_password(vars, (user, may_come), password)
            }
            Shown::Bearer(token) => {
                let tokens = vars.restapi_tokens.split(';').map(str::trim);
                let mut tokens = tokens.filter(|it| !it.is_empty());
                tokens.any(|stored| native::is_password(token, stored))
            }
        }
    }

    /// Whether a password is that of an account that may come. A name that does not exist takes as
    /// long, and so does an account that may not.
    fn is_password(&self, vars: &Vars, (user, may_come): (&str, bool), password: &str) -> bool {
        let lists = [&vars.admin_credentials, &vars.stats_credentials];
        let stored = lists.into_iter().find_map(|list| password_in(list, user));
        let is_slow = |stored: &str| sha2::rounds(stored.as_bytes()).is_some();
        let slow = stored.filter(|stored| is_slow(stored));
        let digest = slow.map(|slow| self.key.hash_one((slow, password)));
        let mut right = self.right.lock().unwrap_or_else(PoisonError::into_inner);
        let is_quick = match digest {
            Some(digest) => right.get(user) == Some(&digest),
            None => native::is_password(password, stored.unwrap_or_default()) && stored.is_some(),
        };
        if is_quick && may_come {
            return true;
        }
        let all = lists.into_iter().flat_map(|list| credentials(list)).map(|(_, stored)| stored);
        let slowest = all.max_by_key(|stored| sha2::rounds(stored.as_bytes()));
        let Some(compared) = slow.or(slowest.filter(|stored| is_slow(stored))) else {
            return false;
        };
        let is_it = sha2::verify_stored(password.as_bytes(), compared.as_bytes());
        let is_it = is_it && slow.is_some() && may_come;
        if let Some(digest) = digest.filter(|_| is_it) {
            right.insert(user.to_owned(), digest);
        }
        is_it
    }
}

/// Under what a guess is counted: by its account, or with all others of an address that has tried
/// many.
fn key_of(
    wrong: &HashMap<(Whence, String), Wrong>,
    from: Whence,
    name: String,
) -> (Whence, String) {
    let own = (from, name);
    if wrong.contains_key(&own) || own.1.is_empty() {
        return own;
    }
    let tried = wrong.keys().filter(|(address, _)| *address == from).count();
    if tried < NAMES_MAX { own } else { (from, OTHERS.to_owned()) }
}

impl<'a> Shown<'a> {
    fn read(header: &'a str) -> Option<Self> {
        let (scheme, rest) = header.split_once(' ')?;
        let rest = rest.trim();
        if scheme.eq_ignore_ascii_case("bearer") {
            return Some(Self::Bearer(rest)).filter(|_| !rest.is_empty());
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let pair = String::from_utf8(STANDARD.decode(rest).ok()?).ok()?;
        let (user, password) = pair.split_once(':')?;
        let is_named = !user.is_empty();
        is_named.then(|| Self::Basic(user.to_owned(), password.to_owned()))
    }
}

/// Time between a wrong one and the next that is looked at, after so many in a row.
fn delay(times: u32) -> Duration {
    DELAY_MAX.min(DELAY_MIN * (1 << times.saturating_sub(1).min(DOUBLINGS_MAX)))
}

/// After the first wrong one, twice that after the next.
const DELAY_MIN: Duration = Duration::from_millis(50);
/// Never longer.
const DELAY_MAX: Duration = Duration::from_secs(5);
/// Enough to come from the one to the other.
const DOUBLINGS_MAX: u32 = 7;
/// After so long without another, wrong ones are forgotten.
const FORGOTTEN: Duration = Duration::from_secs(600);
/// Accounts of which wrong passwords are counted, by address.
const GUESSED_MAX: usize = 4096;
/// Accounts of one address that are counted each.
const NAMES_MAX: usize = 16;
/// Stands for all others; no account has a colon in its name.
const OTHERS: &str = ":";
/// Characters of a name that tell it from others.
const NAME_CHARS_MAX: usize = 64;

#[cfg(test)]
mod tests;
