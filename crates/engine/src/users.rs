//! Accounts: which may log in, with what, and where their queries go when no rule decides.
//!
//! Rows become typed accounts here, with every fault named. How a password is checked on the wire
//! is `wire::auth`; when, is `session::arriving::login`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use wire::auth::Plugin;

use crate::config_fault::ConfigFault;
use crate::guesses::Proof;
use crate::ids::HostgroupId;
use crate::login_checks::CheckFeatures;
use crate::rows::UserRow;

mod additional;
mod asked;
mod attributes;
mod backends;
mod certificate;
mod checked;
mod credential;
mod learned;
mod name_pattern;
mod versions;

use additional::additional_password;
pub use additional::{AdditionalPassword, PasswordRank};
pub use asked::AskedProof;
use asked::ProofCounts;
use attributes::{AccountAttributes, PasswordFrom};
pub use backends::Backends;
pub(crate) use certificate::Lack;
pub use certificate::{ClientCertificate, Demands};
pub use credential::{Credential, Form, ReadPassword, ReadPasswords};
pub use learned::{Learned, Lessons};
pub use name_pattern::NamePattern;

const TABLE: &str = "mysql_users";

const ONE_PASSWORD: &str = "password_from \"login\" is also for servers: no second row or \
    backend_username says another";

/// What a hash has that MySQL makes.
const SHA2_ROUNDS_MIN: u32 = 5_000;

/// An account that is in force.
#[derive(Clone)]
pub struct Account {
    /// Name.
    pub name: Arc<str>,
    /// The names that it stands for in place of its own, which is for administrators.
    pub names: Option<Arc<NamePattern>>,
    /// The name of the row with a pattern that it is or is made of.
    pub row: Option<Arc<str>>,
    /// What is stored of the password that clients prove.
    pub credential: Credential,
    /// The only plugin by which clients prove it; `None` for what they come with.
    pub plugin: Option<Plugin>,
    /// Another password that is right as well.
    pub additional: Option<AdditionalPassword>,
    /// What is stored of the one that servers know, where it is another one.
    pub at_servers: Option<Credential>,
    /// What is stored of another one that servers may know besides that.
    pub also_at_servers: Option<Credential>,
    /// What logins taught; shared by the versions of the account that have the same credential.
    pub learned: Arc<Lessons>,
    /// The password is what servers have of it.
    pub is_read: bool,
    /// Of a session whose password no server has seen yet: a number that no other one has, so that
    /// no connection of before serves it; else 0.
    pub unproved: u64,
    /// Of such a session: its place among those that servers are asked about.
    pub proof: Option<Arc<Proof>>,
    /// The name that servers know, where it is another one.
    pub name_at_servers: Option<Arc<str>>,
    /// Hostgroup when no rule decides.
    pub default_hostgroup: HostgroupId,
    /// Schema when the client names none.
    pub default_schema: Option<Arc<str>>,
    /// A transaction keeps all queries on its hostgroup.
    pub transaction_persistent: bool,
    /// Relay without looking after login.
    pub fast_forward: bool,
    /// Clients have to come by TLS.
    pub use_ssl: bool,
    /// What their certificates have to be like.
    pub demands: Demands,
    /// Clients may log in with it.
    pub frontend: bool,
    /// Most client connections at a time.
    pub max_connections: u32,
    /// Most connections to each server, 0 for no limit; `None` for what the variable says.
    pub max_backend_connections: Option<u32>,
    /// Commands of several sessions on one connection; `None` for what its hostgroups say.
    pub pipeline_depth: Option<u32>,
    /// Clients that can go there are told which server they would have.
    pub redirect: bool,
    /// It may read binary logs, as far as servers let it.
    pub replication: bool,
    /// Annotations in its statements are followed.
    pub annotations: bool,
    /// The isolation level that its sessions begin with, in quotes; `None` for the server's.
    pub isolation: Option<&'static str>,
    /// Client connections now, over all workers; shared by all versions of the account.
    pub connected: Arc<AtomicU32>,
    /// Connections to servers now, over all workers; shared by all versions of the account.
    pub backends: Arc<Backends>,
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

    /// Bytes of memory that it holds.
    pub fn bytes(&self) -> usize {
        let schema = self.default_schema.as_ref().map_or(0, |schema| schema.len());
        let at_servers = self.at_servers.iter().chain(&self.also_at_servers);
        let passwords = self.passwords().map(|(_, stored)| stored).chain(at_servers);
        let password: usize = passwords.map(Credential::bytes).sum();
        // the key in the list of all accounts has the name once more
        let names = self.names.as_ref().map_or(0, |names| names.bytes());
        size_of::<Self>() + 2 * self.name.len() + schema + password + names + self.backends.bytes()
    }

    /// Counts one client less.
    pub fn leave(&self) {
        self.connected.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether servers know both by one name and a password of both, whatever clients prove.
    pub(crate) fn is_same_at_servers(&self, other: &Self) -> bool {
        let names = self.name_at_servers == other.name_at_servers;
        names && self.shares_at_servers(other) && self.unproved == other.unproved
    }

    /// Whether servers count connections of both as one account's, whatever proves who it is.
    pub(crate) fn counts_with(&self, other: &Self) -> bool {
        (&self.name, &self.name_at_servers) == (&other.name, &other.name_at_servers)
    }

    /// The version of a session that showed this password, which a server is to prove.
    pub(crate) fn proving(&self, password: &[u8], number: u64, proof: Option<Proof>) -> Self {
        let at_servers = Some(Credential::clear(password));
        let proof = proof.map(Arc::new);
        Self { at_servers, unproved: number.max(1), proof, ..self.clone() }
    }

    /// The same where a server has let it in.
    pub(crate) fn proved(&self) -> Self {
        Self { unproved: 0, proof: None, ..self.clone() }
    }

    /// The name that servers know.
    pub fn told_to_servers(&self) -> &str {
        self.name_at_servers.as_deref().unwrap_or(&self.name)
    }

    /// What is stored of the password that servers know.
    pub fn shown_to_servers(&self) -> &Credential {
        self.at_servers.as_ref().unwrap_or(&self.credential)
    }

    /// The same with the passwords that servers know by another row.
    fn with_servers(self, other: &Shown) -> Self {
        if *other == self.shown() {
            return self;
        }
        let (at_servers, also_at_servers) = other.clone();
        Self { at_servers: Some(at_servers), also_at_servers, ..self }
    }

    fn shown(&self) -> Shown {
        let also = self.stored_for_servers(PasswordRank::Additional);
        (self.shown_to_servers().clone(), also.cloned())
    }
}

/// What is stored of the passwords that servers know by a row.
type Shown = (Credential, Option<Credential>);

/// All accounts in force, by name.
#[derive(Default)]
pub struct Users {
    by_name: HashMap<Box<[u8]>, Arc<Account>>,
    /// Those of them that stand for other names, in the order of their own.
    patterns: Vec<Arc<Account>>,
    /// What those that clients may use ask of them.
    asked: ProofCounts,
    /// The most rounds of `caching_sha2_password` that an account takes.
    sha2_rounds: u32,
    /// What was read on servers of passwords.
    read: Arc<ReadPasswords>,
    /// Who can be asked about passwords.
    features: CheckFeatures,
    /// What is counted of accounts that are gone, as long as somebody has one.
    gone: HashMap<Box<[u8]>, Counted>,
}

/// The clients of an account and its connections to servers, as long as there are any.
type Counted = (Weak<AtomicU32>, Weak<Backends>);

impl Users {
    /// No accounts yet, in a build with these features: tests have others than their build.
    pub fn with_features(features: CheckFeatures) -> Self {
        Self { features, ..Self::default() }
    }

    /// Checks rows and makes accounts of them.
    pub fn compile(rows: &[UserRow]) -> Result<Self, Vec<ConfigFault>> {
        Self::default().recompile(rows)
    }

    /// Checks rows and makes the accounts that follow these: one that is in both goes on counting
    /// its clients, and is shared when nothing of it changed.
    pub fn recompile(&self, rows: &[UserRow]) -> Result<Self, Vec<ConfigFault>> {
        self.reading(rows, self.read.clone())
    }

    /// The same with these passwords, of accounts that leave theirs to servers.
    pub(crate) fn reading(
        &self,
        rows: &[UserRow],
        read: Arc<ReadPasswords>,
    ) -> Result<Self, Vec<ConfigFault>> {
        let mut faults = Vec::new();
        let mut users = Self { read, features: self.features, ..Self::default() };
        let mut seen = HashMap::<&str, (bool, bool)>::new();
        let mut sides = Sides::new();
        for (index, row) in rows.iter().enumerate() {
            match account(index, row) {
                Ok(_) if row.active == 0 => {}
                Ok(mut account) => {
                    faults.extend(self.lack(index, &account));
                    if account.is_read {
                        let read = users.read.get(row.username.as_str());
                        let read = read.filter(|_| self.has_read(&account)).cloned();
                        let read = read.map(|read| (read.primary, read.additional));
                        let (primary, additional) = read.unwrap_or((Credential::Unread, None));
                        account.credential = primary;
                        account.additional = additional.map(Into::into);
                    }
                    let name: Box<[u8]> = account.name.as_bytes().into();
                    let side = (row.frontend == 1, row.backend == 1);
                    // a row for clients and one for servers are one account: that of clients
                    let before = seen.get(row.username.as_str()).copied();
                    let is_pair = before.is_some_and(|(front, back)| side == (!front, !back));
                    seen.insert(&row.username, if is_pair { (true, true) } else { side });
                    if before.is_some() && !is_pair {
                        faults.push(fault(index, "username", "this account is already there"));
                    } else {
                        sides.entry(name).or_default().push((index, account));
                    }
                }
                Err(mut found) => faults.append(&mut found),
            }
        }
        for (name, account) in as_accounts(sides, &mut faults) {
            let account = match self.by_name.get(&name) {
                Some(before) => account.after(before),
                None => Arc::new(self.back(&name, account)),
            };
            users.by_name.insert(name, account);
        }
        users.order_patterns();
        users.forget_read(self);
        let left = self.by_name.iter().map(|(name, account)| {
            let counts = (Arc::downgrade(&account.connected), Arc::downgrade(&account.backends));
            (name.clone(), counts)
        });
        let gone = self.gone.iter().map(|(name, counts)| (name.clone(), counts.clone()));
        users.gone = gone.chain(left).collect();
        let by_name = &users.by_name;
        users.gone.retain(|name, (clients, lanes)| {
            !by_name.contains_key(name) && (clients.strong_count() > 0 || lanes.strong_count() > 0)
        });
        for account in users.by_name.values().filter(|account| account.frontend) {
            users.asked.count(account.asked());
            users.sha2_rounds = users.sha2_rounds.max(account.sha2_rounds());
        }
        if faults.is_empty() { Ok(users) } else { Err(faults) }
    }

    /// What a row lacks in this build.
    fn lack(&self, index: usize, account: &Account) -> Option<ConfigFault> {
        account.lack_for_checks(self.features).map(|why| fault(index, "attributes", why))
    }

    /// An account that may have been there before: who has it still is counted.
    fn back(&self, name: &[u8], account: Account) -> Account {
        let Some((clients, lanes)) = self.gone.get(name) else { return account };
        let connected = clients.upgrade().unwrap_or_default();
        Account { connected, backends: lanes.upgrade().unwrap_or_default(), ..account }
    }

    /// The row of a name that clients may use, be it as a name or as a pattern.
    pub fn find(&self, name: &[u8]) -> Option<&Arc<Account>> {
        self.by_name.get(name).filter(|account| account.frontend)
    }

    /// How many rounds of `caching_sha2_password` it takes to find that a password is wrong, for
    /// every name: as many as for the account that takes most.
    pub fn sha2_rounds(&self) -> u32 {
        self.sha2_rounds.max(SHA2_ROUNDS_MIN)
    }

    /// What is asked of a client whose name is not there: as frequent among numbers as it is among
    /// accounts, so that a name is not told from another one by whether it exists.
    pub fn asked_of_nobody(&self, number: u64) -> AskedProof {
        self.asked.of(number)
    }

    /// Whether what was read of an account was read where it has its servers now.
    fn has_read(&self, account: &Account) -> bool {
        let before = self.by_name.get(account.name.as_bytes());
        before.is_none_or(|before| before.default_hostgroup == account.default_hostgroup)
    }

    /// Forgets what was read of accounts that are gone since then, or have other servers now.
    fn forget_read(&mut self, before: &Self) {
        let is_kept = |name: &str| {
            let now = self.by_name.get(name.as_bytes());
            now.is_some_and(|now| now.is_read && before.has_read(now))
        };
        if !self.read.keys().all(|name| is_kept(name)) {
            let kept = self.read.iter().filter(|(name, _)| is_kept(name));
            self.read = Arc::new(kept.map(|(name, it)| (name.clone(), it.clone())).collect());
        }
    }

    /// What was read of passwords on servers that are still there, by the hostgroup, host and port
    /// of each; `None` where all of them are.
    pub(crate) fn read_where(
        &self,
        is_there: impl Fn(HostgroupId, &(Box<str>, i64)) -> bool,
    ) -> Option<ReadPasswords> {
        let is_kept = |name: &str, read: &ReadPassword| {
            let account = self.by_name.get(name.as_bytes());
            account.is_some_and(|account| is_there(account.default_hostgroup, &read.server))
        };
        if self.read.iter().all(|(name, read)| is_kept(name, read)) {
            return None;
        }
        let kept = self.read.iter().filter(|(name, read)| is_kept(name, read));
        Some(kept.map(|(name, read)| (name.clone(), read.clone())).collect())
    }

    /// How many accounts are in force.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// What was read on servers of passwords.
    pub fn read_passwords(&self) -> &ReadPasswords {
        &self.read
    }

    /// Every account, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Account>> {
        self.by_name.values()
    }
}

/// By name: its rows with their places, one for clients and one for servers, or one for both.
type Sides = HashMap<Box<[u8]>, Vec<(usize, Account)>>;

/// The accounts of these rows, with the names and passwords that servers know.
fn as_accounts(sides: Sides, faults: &mut Vec<ConfigFault>) -> Vec<(Box<[u8]>, Account)> {
    let accounts = sides.into_iter().filter_map(|(name, rows)| Some((name, as_one(rows)?)));
    let mut accounts: Vec<_> = accounts.collect();
    // faults are told in the order of rows
    accounts.sort_by_key(|(_, (index, _))| *index);
    let known: HashMap<_, _> =
        accounts.iter().map(|(name, (_, account))| (name.clone(), account.shown())).collect();
    let mut at_servers = |index, account: Account| {
        let has_another = account.at_servers.is_some() || account.name_at_servers.is_some();
        if account.credential == Credential::AtServers && has_another {
            faults.push(fault(index, "attributes", ONE_PASSWORD));
            return None;
        }
        let lack = |it: &Account| it.lack_for_servers().map(|why| fault(index, "attributes", why));
        let Some(name) = &account.name_at_servers else {
            faults.extend(account.lacks_password().map(|why| fault(index, "attributes", why)));
            faults.extend(lack(&account));
            return Some(account);
        };
        let shown = known.get(name.as_bytes());
        let shown = shown.filter(|(credential, _)| !credential.is_passed_on());
        if shown.is_none() {
            let reason =
                format!("backend_username: there is no account '{name}' with a password here");
            faults.push(fault(index, "attributes", reason));
        }
        let account = shown.map(|shown| account.with_servers(shown))?;
        faults.extend(lack(&account));
        Some(account)
    };
    let accounts = accounts.into_iter();
    accounts.filter_map(|(name, (index, it))| Some((name, at_servers(index, it)?))).collect()
}

/// What the rows of a name come to: the one for clients, with the password of the one for servers.
fn as_one(mut rows: Vec<(usize, Account)>) -> Option<(usize, Account)> {
    let first = rows.pop()?;
    let Some(other) = rows.pop() else { return Some(first) };
    let (client, server) = if first.1.frontend { (first, other) } else { (other, first) };
    Some((client.0, client.1.with_servers(&server.1.shown())))
}

fn fault(row: usize, column: &str, reason: impl Into<String>) -> ConfigFault {
    ConfigFault { table: TABLE, row: Some(row), column: column.into(), reason: reason.into() }
}

/// What is known of a password without a server, of clients that go by a plugin.
fn credential(
    stored: &[u8],
    from: Option<&PasswordFrom>,
    plugin: Option<Plugin>,
) -> Result<Credential, String> {
    match from {
        None => Credential::parse_for(plugin, stored),
        Some(_) if !stored.is_empty() => {
            Err("password_from says where it is: leave it empty".to_owned())
        }
        Some(PasswordFrom::Login) => Ok(Credential::AtServers),
        Some(PasswordFrom::Check(by)) => Ok(Credential::Checked(by.clone())),
        Some(PasswordFrom::Servers) => Ok(Credential::Unread),
    }
}

/// The columns that are 0 or 1.
fn flags_of(row: &UserRow) -> [(&'static str, i64); 7] {
    [
        ("active", row.active),
        ("schema_locked", row.schema_locked),
        ("transaction_persistent", row.transaction_persistent),
        ("fast_forward", row.fast_forward),
        ("backend", row.backend),
        ("frontend", row.frontend),
        ("use_ssl", row.use_ssl),
    ]
}

fn account(index: usize, row: &UserRow) -> Result<Account, Vec<ConfigFault>> {
    let mut faults = Vec::new();
    let is_nameless = row.username.is_empty();
    faults.extend(is_nameless.then(|| fault(index, "username", "must not be empty")));
    let flags = flags_of(row).into_iter().filter(|(_, value)| !matches!(value, 0 | 1));
    faults.extend(flags.map(|(column, it)| fault(index, column, format!("{it} is not 0 or 1"))));
    let mut count = |column, value| {
        let number = u32::try_from(value);
        number.inspect_err(|_| faults.push(not_a_count(index, column, value))).unwrap_or_default()
    };
    let hostgroup = count("default_hostgroup", row.default_hostgroup);
    let max_connections = count("max_connections", row.max_connections);
    let of_attributes = AccountAttributes::read(&row.attributes).unwrap_or_else(|reason| {
        faults.push(fault(index, "attributes", reason));
        AccountAttributes::default()
    });
    let from = of_attributes.password_from.as_ref();
    let plugin = of_attributes.plugin.filter(|_| row.frontend == 1);
    let credential = credential(&row.password, from, plugin).unwrap_or_else(|reason| {
        faults.push(fault(index, "password", reason));
        Credential::Empty
    });
    let mut additional = None;
    // what else is wrong says more
    if faults.is_empty() {
        match additional_password(&row.attributes, &credential, plugin) {
            Ok(found) => additional = found,
            Err(reason) => faults.push(fault(index, "attributes", reason)),
        }
    }
    let misfits = of_attributes.misfits(row.fast_forward == 1);
    faults.extend(misfits.map(|reason| fault(index, "attributes", reason)));
    if !faults.is_empty() {
        return Err(faults);
    }
    let name: Arc<str> = row.username.as_str().into();
    let account = Account {
        row: of_attributes.names.is_some().then(|| name.clone()),
        name,
        names: of_attributes.names,
        credential,
        plugin,
        is_read: from == Some(&PasswordFrom::Servers),
        unproved: 0,
        proof: None,
        additional,
        at_servers: None,
        also_at_servers: None,
        name_at_servers: of_attributes.name_at_servers,
        learned: Arc::default(),
        default_hostgroup: HostgroupId(hostgroup),
        default_schema: row.default_schema.as_deref().filter(|s| !s.is_empty()).map(Into::into),
        transaction_persistent: row.transaction_persistent == 1,
        fast_forward: row.fast_forward == 1,
        use_ssl: row.use_ssl == 1,
        demands: of_attributes.demands,
        frontend: row.frontend == 1,
        max_connections,
        max_backend_connections: of_attributes.max_backend_connections,
        pipeline_depth: of_attributes.pipeline_depth,
        redirect: of_attributes.redirect,
        replication: of_attributes.replication,
        annotations: of_attributes.annotations,
        isolation: of_attributes.isolation,
        connected: Arc::default(),
        backends: Arc::default(),
    };
    let lack = account.lack_for_pattern();
    lack.map_or(Ok(account), |why| Err(vec![fault(index, "attributes", why)]))
}

fn not_a_count(row: usize, column: &str, value: i64) -> ConfigFault {
    fault(row, column, format!("{value} is not 0 or more"))
}

#[cfg(test)]
mod tests;
