//! Accounts: who may log in, with what, and where their queries go when no rule decides.
//!
//! Rows become typed accounts here, with every fault named. How a password is checked on the wire
//! is `wire::auth`; when, is `session::login`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use wire::auth::native;

use crate::config_fault::ConfigFault;
use crate::ids::HostgroupId;
use crate::json;
use crate::rows::UserRow;

const TABLE: &str = "mysql_users";

/// What is stored of a password.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// No password: only an empty response is accepted.
    Empty,
    /// Clear text: every plugin works, towards clients and servers.
    Clear {
        /// The password.
        password: Box<[u8]>,
        /// SHA1(SHA1(password)), for `mysql_native_password`.
        double_sha1: [u8; 20],
    },
    /// `*` and 40 hex digits: SHA1(SHA1(password)).
    Native([u8; 20]),
    /// `$A$005$` and salt and hash, as `caching_sha2_password` stores it.
    CachingSha2(Box<[u8]>),
}

/// In what form a password is stored, which decides what a login asks of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// There is none.
    Empty,
    /// Clear text.
    Clear,
    /// A hash of `mysql_native_password`.
    Native,
    /// A hash of `caching_sha2_password`.
    CachingSha2,
}

impl Credential {
    /// The form that it is stored in.
    pub fn form(&self) -> Form {
        match self {
            Self::Empty => Form::Empty,
            Self::Clear { .. } => Form::Clear,
            Self::Native(_) => Form::Native,
            Self::CachingSha2(_) => Form::CachingSha2,
        }
    }

    fn parse(stored: &[u8]) -> Result<Self, String> {
        if stored.is_empty() {
            return Ok(Self::Empty);
        }
        if stored.starts_with(b"$A$") {
            if stored.len() != 70 {
                return Err(format!(
                    "a caching_sha2_password hash has 70 bytes, this one has {}",
                    stored.len()
                ));
            }
            return Ok(Self::CachingSha2(stored.into()));
        }
        if let Some(hex) = stored.strip_prefix(b"*")
            && hex.len() == 40
            && hex.iter().all(u8::is_ascii_hexdigit)
        {
            return Ok(Self::Native(unhex(hex)));
        }
        Ok(Self::Clear { password: stored.into(), double_sha1: native::double_sha1(stored) })
    }

    /// Whether there is a password at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::Empty
    }
}

fn unhex(hex: &[u8]) -> [u8; 20] {
    let nibble = |c: &u8| match c {
        b'0'..=b'9' => c - b'0',
        b'a'..=b'f' => c - b'a' + 10,
        _ => c.wrapping_sub(b'A').wrapping_add(10),
    };
    let mut out = [0; 20];
    for (byte, pair) in out.iter_mut().zip(hex.chunks_exact(2)) {
        if let [high, low] = pair {
            *byte = nibble(high) << 4 | nibble(low);
        }
    }
    out
}

/// What a login taught about a hashed account, good enough to log in to servers.
#[derive(Clone, PartialEq, Eq)]
pub enum Learned {
    /// The password itself.
    Clear(Box<[u8]>),
    /// SHA1(password): enough for `mysql_native_password`.
    Sha1([u8; 20]),
}

/// An account that is in force.
pub struct Account {
    /// Name.
    pub name: Arc<str>,
    /// What is stored of the password.
    pub credential: Credential,
    /// What logins taught; set once, shared by the versions of the account that have the same
    /// credential.
    pub learned: Arc<OnceLock<Learned>>,
    /// Hostgroup when no rule decides.
    pub default_hostgroup: HostgroupId,
    /// Schema when the client names none.
    pub default_schema: Option<Arc<str>>,
    /// A transaction keeps all queries on its hostgroup.
    pub transaction_persistent: bool,
    /// Relay without looking after login.
    pub fast_forward: bool,
    /// Clients may log in with it.
    pub frontend: bool,
    /// Most client connections at a time.
    pub max_connections: u32,
    /// Commands of several sessions on one connection; `None` for what its hostgroups say.
    pub pipeline_depth: Option<u32>,
    /// It may read binary logs, as far as servers let it.
    pub replication: bool,
    /// Annotations in its statements are followed.
    pub annotations: bool,
    /// Client connections now, over all workers; shared by all versions of the account.
    pub connected: Arc<AtomicU32>,
    /// Until when servers are not asked for more connections of it, because one allows no more.
    pub full_until_us: AtomicU64,
}

impl Account {
    /// Counts one more client, unless the limit is reached: then says how many there are.
    pub fn admit(&self) -> Result<(), u32> {
        let before = self.connected.fetch_add(1, Ordering::Relaxed);
        if before < self.max_connections {
            return Ok(());
        }
        self.connected.fetch_sub(1, Ordering::Relaxed);
        Err(before)
    }

    /// Client connections now, over all workers.
    pub fn clients(&self) -> u32 {
        self.connected.load(Ordering::Relaxed)
    }

    /// A server allows no more connections of it until then (µs), as far as is known.
    pub fn note_full(&self, until_us: u64) {
        self.full_until_us.store(until_us, Ordering::Relaxed);
    }

    /// Whether a server has just said that it allows no more connections of it.
    pub fn is_full(&self, now_us: u64) -> bool {
        self.full_until_us.load(Ordering::Relaxed) > now_us
    }

    /// Bytes of memory that it holds.
    pub fn bytes(&self) -> usize {
        let schema = self.default_schema.as_ref().map_or(0, |schema| schema.len());
        let password = match &self.credential {
            Credential::Clear { password, .. } => password.len(),
            Credential::CachingSha2(stored) => stored.len(),
            Credential::Empty | Credential::Native(_) => 0,
        };
        // the key in the list of all accounts has the name once more
        size_of::<Self>() + 2 * self.name.len() + schema + password
    }

    /// Counts one client less.
    pub fn leave(&self) {
        self.connected.fetch_sub(1, Ordering::Relaxed);
    }

    /// The version of the account that follows `before`.
    fn after(self, before: &Arc<Self>) -> Arc<Self> {
        let same = self.credential == before.credential;
        let learned = if same { before.learned.clone() } else { self.learned };
        let next = Self { learned, connected: before.connected.clone(), ..self };
        if same && next.is_unchanged(before) { before.clone() } else { Arc::new(next) }
    }

    fn is_unchanged(&self, before: &Self) -> bool {
        let columns = |account: &Self| {
            let Self { default_hostgroup, default_schema, max_connections, .. } = account;
            let Self { transaction_persistent, fast_forward, frontend, .. } = account;
            let flags = (*transaction_persistent, *fast_forward, *frontend);
            let limits = (*max_connections, account.pipeline_depth);
            let flags = (flags, account.replication, account.annotations);
            (*default_hostgroup, default_schema.clone(), limits, flags)
        };
        columns(self) == columns(before)
    }

    /// Whether servers can be logged in to with it wherever they could with `before`.
    fn can_take_over(&self, before: &Self) -> bool {
        let is_hashed =
            matches!(self.credential, Credential::Native(_) | Credential::CachingSha2(_));
        !is_hashed || self.credential == before.credential || self.learned.get().is_some()
    }
}

/// All accounts in force, by name.
#[derive(Default)]
pub struct Users {
    by_name: HashMap<Box<[u8]>, Arc<Account>>,
    /// How many of those that clients may use are stored as a hash, by the two forms.
    hashed: [u64; 2],
    /// How many clients may use.
    usable: u64,
}

impl Users {
    /// Checks rows and makes accounts of them.
    pub fn compile(rows: &[UserRow]) -> Result<Self, Vec<ConfigFault>> {
        Self::default().recompile(rows)
    }

    /// Checks rows and makes the accounts that follow these: one that is in both goes on counting
    /// its clients, and is shared when nothing of it changed.
    pub fn recompile(&self, rows: &[UserRow]) -> Result<Self, Vec<ConfigFault>> {
        let mut faults = Vec::new();
        let mut users = Self::default();
        for (index, row) in rows.iter().enumerate() {
            match account(index, row) {
                Ok(_) if row.active == 0 => {}
                Ok(account) => {
                    let name = account.name.as_bytes().into();
                    let front_twice = users.by_name.contains_key(&name);
                    if front_twice {
                        faults.push(fault(index, "username", "this account is already there"));
                    } else {
                        let account = match self.by_name.get(&name) {
                            Some(before) => account.after(before),
                            None => Arc::new(account),
                        };
                        users.by_name.insert(name, account);
                    }
                }
                Err(mut found) => faults.append(&mut found),
            }
        }
        for account in users.by_name.values().filter(|account| account.frontend) {
            users.usable += 1;
            let form = account.credential.form();
            for (count, counted) in users.hashed.iter_mut().zip([Form::Native, Form::CachingSha2]) {
                *count += u64::from(form == counted);
            }
        }
        if faults.is_empty() { Ok(users) } else { Err(faults) }
    }

    /// The account of a name that clients may use.
    pub fn find(&self, name: &[u8]) -> Option<&Arc<Account>> {
        self.by_name.get(name).filter(|account| account.frontend)
    }

    /// The form of a password that nobody has: as frequent among numbers as it is among accounts,
    /// so that a name is not told from another one by whether it exists.
    pub fn form_of_nobody(&self, number: u64) -> Form {
        let [native, sha2] = self.hashed;
        match number % self.usable.max(1) {
            place if place < native => Form::Native,
            place if place < native + sha2 => Form::CachingSha2,
            _ => Form::Clear,
        }
    }

    /// The version in force of an account that a session logged in with; `None` when the session
    /// has to go on with its own: the account was removed, or has a new password that is stored as
    /// a hash and that nobody has told yet.
    pub fn successor(&self, account: &Account) -> Option<&Arc<Account>> {
        let next = self.by_name.get(account.name.as_bytes())?;
        next.can_take_over(account).then_some(next)
    }

    /// Whether an account is in force no more, or has another password by now.
    pub fn has_changed(&self, account: &Account) -> bool {
        let now = self.by_name.get(account.name.as_bytes());
        now.is_none_or(|now| now.credential != account.credential)
    }

    /// How many accounts are in force.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Every account, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Account>> {
        self.by_name.values()
    }
}

fn fault(row: usize, column: &str, reason: impl Into<String>) -> ConfigFault {
    ConfigFault { table: TABLE, row: Some(row), column: column.into(), reason: reason.into() }
}

/// What `attributes` say of an account.
#[derive(Default)]
struct Attributes {
    pipeline_depth: Option<u32>,
    replication: bool,
    annotations: bool,
}

impl Attributes {
    fn read(text: &str) -> Result<Self, String> {
        Ok(Self {
            pipeline_depth: json::pipeline_depth(text)?,
            replication: json::switch(text, "replication")?,
            annotations: json::switch(text, "annotations")?,
        })
    }
}

fn account(index: usize, row: &UserRow) -> Result<Account, Vec<ConfigFault>> {
    let mut faults = Vec::new();
    if row.username.is_empty() {
        faults.push(fault(index, "username", "must not be empty"));
    }
    for (column, value) in [
        ("active", row.active),
        ("schema_locked", row.schema_locked),
        ("transaction_persistent", row.transaction_persistent),
        ("fast_forward", row.fast_forward),
        ("backend", row.backend),
        ("frontend", row.frontend),
    ] {
        if !matches!(value, 0 | 1) {
            faults.push(fault(index, column, format!("{value} is not 0 or 1")));
        }
    }
    faults.extend(ConfigFault::of_tls(TABLE, index, row.use_ssl));
    let hostgroup = u32::try_from(row.default_hostgroup).unwrap_or_else(|_| {
        faults.push(fault(
            index,
            "default_hostgroup",
            format!("{} is not 0 or more", row.default_hostgroup),
        ));
        0
    });
    let max_connections = u32::try_from(row.max_connections).unwrap_or_else(|_| {
        faults.push(fault(
            index,
            "max_connections",
            format!("{} is not 0 or more", row.max_connections),
        ));
        0
    });
    let credential = Credential::parse(&row.password).unwrap_or_else(|reason| {
        faults.push(fault(index, "password", reason));
        Credential::Empty
    });
    let mut of_attributes = Attributes::default();
    match Attributes::read(&row.attributes) {
        Ok(read) => of_attributes = read,
        Err(reason) => faults.push(fault(index, "attributes", reason)),
    }
    let Attributes { pipeline_depth, replication, annotations } = of_attributes;
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(Account {
        name: row.username.as_str().into(),
        credential,
        learned: Arc::default(),
        default_hostgroup: HostgroupId(hostgroup),
        default_schema: row.default_schema.as_deref().filter(|s| !s.is_empty()).map(Into::into),
        transaction_persistent: row.transaction_persistent == 1,
        fast_forward: row.fast_forward == 1,
        frontend: row.frontend == 1,
        max_connections,
        pipeline_depth,
        replication,
        annotations,
        connected: Arc::default(),
        full_until_us: AtomicU64::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, password: &[u8]) -> UserRow {
        UserRow { username: name.into(), password: password.into(), ..UserRow::default() }
    }

    #[test]
    fn the_form_of_a_password_decides_what_it_is() {
        let clear = Credential::parse(b"secret").unwrap();
        assert!(matches!(clear, Credential::Clear { .. }));
        let hashed = Credential::parse(b"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7").unwrap();
        let Credential::Clear { double_sha1, .. } = clear else { unreachable!() };
        assert!(hashed == Credential::Native(double_sha1));
        assert!(Credential::parse(b"$A$005$short").is_err());
        assert!(Credential::parse(b"").unwrap().is_empty());
    }

    #[test]
    fn every_fault_of_every_row_is_named() {
        let mut bad = row("", b"x");
        bad.active = 2;
        bad.use_ssl = 1;
        bad.default_hostgroup = -1;
        bad.attributes = "{".into();
        let faults = Users::compile(&[row("a", b""), bad, row("a", b"")]).err().unwrap();
        let said: Vec<_> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "mysql_users row 2 column username: must not be empty",
                "mysql_users row 2 column active: 2 is not 0 or 1",
                "mysql_users row 2 column use_ssl: this version has no TLS yet; only 0 is allowed",
                "mysql_users row 2 column default_hostgroup: -1 is not 0 or more",
                "mysql_users row 2 column attributes: not JSON: at character 2",
                "mysql_users row 3 column username: this account is already there",
            ]
        );
    }

    #[test]
    fn nobody_s_password_has_the_forms_that_accounts_have_as_often() {
        let native = b"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
        let sha2 = [b"$A$005$".as_slice(), &[b'x'; 63]].concat();
        let backend = UserRow { frontend: 0, ..row("e", native) };
        let rows = [row("a", b"x"), row("b", native), row("c", &sha2), row("d", b""), backend];
        let users = Users::compile(&rows).unwrap();
        let forms: Vec<_> = (8..12).map(|number| users.form_of_nobody(number)).collect();
        assert_eq!(forms, [Form::Native, Form::CachingSha2, Form::Clear, Form::Clear]);
        assert_eq!(Users::default().form_of_nobody(5), Form::Clear);
    }

    #[test]
    fn attributes_switch_off_what_is_on() {
        let with = |attributes: &str| UserRow { attributes: attributes.into(), ..row("a", b"") };
        let read = |attributes| {
            let users = Users::compile(&[with(attributes)]).map_err(|faults| faults[0].to_string());
            users.map(|users| users.find(b"a").map(|a| (a.replication, a.annotations)).unwrap())
        };
        assert_eq!(read(""), Ok((true, true)));
        assert_eq!(read(r#"{"spiffe_id": 1}"#), Ok((true, true)));
        assert_eq!(read(r#"{"replication": false}"#), Ok((false, true)));
        assert_eq!(read(r#"{"annotations": false, "replication": true}"#), Ok((true, false)));
        let wrong = "mysql_users row 1 column attributes: annotations is neither true nor false";
        assert_eq!(read(r#"{"annotations": 0}"#), Err(wrong.to_owned()));
        let first = Users::compile(&[with("")]).unwrap();
        let next = first.recompile(&[with(r#"{"annotations": false}"#)]).unwrap();
        assert!(!next.find(b"a").unwrap().annotations, "a change comes into force");
    }

    #[test]
    fn the_account_s_limit_counts_clients() {
        let mut limited = row("a", b"");
        limited.max_connections = 1;
        let users = Users::compile(&[limited]).unwrap();
        let account = users.find(b"a").unwrap();
        assert_eq!(account.admit(), Ok(()));
        assert_eq!(account.admit(), Err(1));
        account.leave();
        assert_eq!(account.admit(), Ok(()));
    }

    #[test]
    fn a_changed_account_goes_on_counting_and_forgets_what_another_password_taught() {
        let hash = b"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
        let first = Users::compile(&[row("same", b"x"), row("a", hash)]).unwrap();
        let old = first.find(b"a").unwrap().clone();
        let taught = old.learned.set(Learned::Clear(b"secret".as_slice().into()));
        assert!(taught.is_ok() && old.admit().is_ok());

        let elsewhere = UserRow { default_hostgroup: 7, ..row("a", hash) };
        let next = first.recompile(&[row("same", b"x"), elsewhere]).unwrap();
        assert!(Arc::ptr_eq(next.find(b"same").unwrap(), first.find(b"same").unwrap()));
        let moved = next.find(b"a").unwrap();
        assert_eq!(moved.default_hostgroup, HostgroupId(7));
        assert!(moved.learned.get().is_some(), "the password is the same");
        assert!(Arc::ptr_eq(next.successor(&old).unwrap(), moved));
        old.leave();
        assert_eq!(moved.connected.load(Ordering::Relaxed), 0);

        assert!(!next.has_changed(&old) && first.recompile(&[]).unwrap().has_changed(&old));

        let other = b"*0000000000000000000000000000000000000000";
        let hashed = next.recompile(&[row("a", other)]).unwrap();
        assert!(hashed.find(b"a").unwrap().learned.get().is_none());
        assert!(hashed.successor(&old).is_none(), "nobody has told the new password");
        assert!(hashed.has_changed(&old));
        let clear = next.recompile(&[row("a", b"new")]).unwrap();
        assert!(clear.successor(&old).is_some());
        assert!(clear.recompile(&[]).unwrap().successor(&old).is_none(), "it was removed");
    }
}
