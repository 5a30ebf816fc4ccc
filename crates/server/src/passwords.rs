//! Passwords of accounts that leave theirs to servers: hashes are read there, again and again, and
//! logins are checked by what was read last.
//!
//! A server that does not answer changes nothing. An account that is gone there has no password
//! that anybody could prove.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use engine::config_fault::ConfigFault;
use engine::ids::HostgroupId;
use engine::report::Printable;
use engine::snapshot::Snapshot;
use engine::topology::Status;
use engine::users::{Credential, ReadPasswords};
use failover::Servers;
use keeper::Endpoint;
use wire::text_result::TextResult;

use crate::config::hex;
use crate::connections::{Connections, Names};
use crate::publisher::Publisher;

/// How often it is looked whether a reading is due.
const EVERY: Duration = Duration::from_millis(100);

/// How long an answer of a server may take.
const LIMIT: Duration = Duration::from_secs(5);

/// Accounts whose passwords are read, by the hostgroup whose servers have them.
type Marked = BTreeMap<HostgroupId, BTreeSet<Box<str>>>;

/// Reads passwords on a thread of its own for as long as the process runs.
pub(crate) fn follow(publisher: Arc<Publisher>) -> std::io::Result<()> {
    let mut follower =
        Follower { publisher, names: Names::default(), read: None, told: BTreeMap::new() };
    let look = move || {
        loop {
            thread::sleep(EVERY);
            if catch_unwind(AssertUnwindSafe(|| follower.look())).is_err() {
                tracing::error!("passwords were not read on servers: a panic");
            }
        }
    };
    thread::Builder::new().name("passwords".to_owned()).spawn(look).map(drop)
}

struct Follower {
    publisher: Arc<Publisher>,
    names: Names,
    /// When it was read last, and of which accounts.
    read: Option<(Instant, Marked)>,
    /// What was told last of an account or a server.
    told: BTreeMap<String, String>,
}

impl Follower {
    fn look(&mut self) {
        let (snapshot, addresses, _) = self.publisher.addresses();
        let marked = marked(&snapshot);
        let pause = Duration::from_millis(snapshot.vars.monitor_passwords_interval_ms);
        let is_read = |(at, of): &(Instant, Marked)| at.elapsed() < pause && *of == marked;
        if marked.is_empty() || self.read.as_ref().is_some_and(is_read) {
            return;
        }
        let vars = &snapshot.vars;
        let account = ("tidegate_passwords", &*vars.monitor_username, &*vars.monitor_password);
        let connectors = self.publisher.certificates().connectors();
        let known = (snapshot.clone(), addresses);
        let names = self.names.clone();
        let mut servers = Connections::new(known, connectors, names, account, LIMIT);
        let mut passwords = ReadPasswords::new();
        for (hostgroup, users) in &marked {
            let found = self.ask_one(&snapshot, *hostgroup, users, &mut servers);
            for user in users {
                let last = || snapshot.users.read_passwords().get(user).cloned();
                let credential = match &found {
                    Some((server, answer)) => Some(self.judge(user, server, answer)),
                    None => last(),
                };
                passwords.extend(credential.map(|credential| (user.clone(), credential)));
            }
        }
        self.read = Some((Instant::now(), marked));
        if passwords == *snapshot.users.read_passwords() {
            return;
        }
        let refuse = |fault: ConfigFault| vec![fault];
        let change = |before: &Snapshot| before.with_passwords(passwords);
        match self.publisher.change(change, refuse) {
            Ok(published) => published.unanswered.iter().for_each(|worker| {
                tracing::info!(worker, "has not taken over yet which passwords were read");
            }),
            Err(faults) => faults.iter().for_each(|fault| tracing::error!("{fault}")),
        }
    }

    /// What the first server of a hostgroup that answers has of these accounts.
    fn ask_one(
        &mut self,
        snapshot: &Snapshot,
        hostgroup: HostgroupId,
        users: &BTreeSet<Box<str>>,
        servers: &mut Connections,
    ) -> Option<(Endpoint, TextResult)> {
        let placed = snapshot.placed.iter().filter(|placed| {
            placed.row.hostgroup_id == i64::from(hostgroup.0) && Status::Online.is_set(&placed.row)
        });
        for server in placed.map(|placed| Endpoint::of(&placed.row)) {
            match ask(servers, &server, users) {
                Ok(answer) => {
                    self.told.remove(&server.to_string());
                    return Some((server, answer));
                }
                Err(why) => {
                    let why = format!("passwords cannot be read there: {}", Printable(&why));
                    self.tell(server.to_string(), why);
                }
            }
        }
        None
    }

    /// What an answer says of an account.
    fn judge(&mut self, user: &str, server: &Endpoint, answer: &TextResult) -> Credential {
        let (credential, told) = match credential(user, answer) {
            Ok(credential) => (credential, format!("its password is read on {server}")),
            Err(why) => {
                let told = format!("nobody can log in with it, by {server}: {}", Printable(&why));
                (Credential::Unread, told)
            }
        };
        self.tell(format!("account '{}'", Printable(user)), told);
        credential
    }

    /// Tells something, once.
    fn tell(&mut self, of: String, what: String) {
        if self.told.get(&of) != Some(&what) {
            tracing::info!("{of}: {what}");
            self.told.insert(of, what);
        }
    }
}

fn marked(snapshot: &Snapshot) -> Marked {
    let mut marked = Marked::new();
    for account in snapshot.users.iter().filter(|account| account.is_read) {
        marked.entry(account.default_hostgroup).or_default().insert((*account.name).into());
    }
    marked
}

/// Asks a server what it has of accounts by which it might know us: name, host, plugin, hash, and
/// whether it is locked.
fn ask(
    servers: &mut Connections,
    server: &Endpoint,
    users: &BTreeSet<Box<str>>,
) -> Result<TextResult, String> {
    let version = servers.ask(server, "SELECT VERSION()")?;
    let is_mariadb = version.value(0).is_some_and(|version| version.contains("MariaDB"));
    let rows = if is_mariadb { OF_MARIADB } else { OF_MYSQL };
    let names: Vec<_> = users.iter().map(|user| format!("x'{}'", hex(user.as_bytes()))).collect();
    let names = names.join(", ");
    servers.ask(server, &format!("{rows} WHERE CAST(User AS BINARY) IN ({names}) AND ({FOR_US})"))
}

const OF_MYSQL: &str = "SELECT User, Host, plugin, authentication_string, account_locked = 'Y' \
    FROM mysql.user";

/// Since 10.4.
const OF_MARIADB: &str = "SELECT User, Host, JSON_VALUE(Priv, '$.plugin'), \
    JSON_VALUE(Priv, '$.authentication_string'), \
    COALESCE(JSON_VALUE(Priv, '$.account_locked'), '0') IN ('1', 'true') FROM mysql.global_priv";

/// Whether an account's host stands for ours, as the server sees it: by a name or address, a
/// pattern, or a network with its mask or its number of bits.
const FOR_US: &str = "Host = '' OR LOWER(SUBSTRING_INDEX(USER(), '@', -1)) LIKE LOWER(Host) \
    OR Host LIKE '%/%' AND INET_ATON(SUBSTRING_INDEX(USER(), '@', -1)) \
    & IF(Host LIKE '%/%.%', INET_ATON(SUBSTRING_INDEX(Host, '/', -1)), \
    4294967296 - (1 << 32 - SUBSTRING_INDEX(Host, '/', -1))) \
    = INET_ATON(SUBSTRING_INDEX(Host, '/', 1))";

/// What a server stores for an account, as which it would know us by this name.
fn credential(user: &str, answer: &TextResult) -> Result<Credential, String> {
    let text =
        |row: &[Option<String>], at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    let own = answer.rows.iter().filter(|row| text(row, 0) == user);
    let row = own.max_by_key(|row| rank(&text(row, 1))).ok_or("it has no such account for us")?;
    if text(row, 4) == "1" {
        return Err("it is locked".to_owned());
    }
    Credential::read(&text(row, 2), text(row, 3).as_bytes())
}

/// Servers take the account whose host says most: a name or address before a network, that before
/// a pattern, and of these the one with more in front of its first sign.
fn rank(pattern: &str) -> (u8, usize) {
    match pattern.find(['%', '_']) {
        Some(literal) => (1, literal),
        None if pattern.is_empty() => (0, 0),
        None if pattern.contains('/') => (2, pattern.len()),
        None => (3, pattern.len()),
    }
}

#[cfg(test)]
mod tests;
