//! Passwords of accounts that leave theirs to servers: hashes are read there, again and again, and
//! logins are checked by what was read last.
//!
//! A server that does not answer changes nothing. An account that is gone there has no password
//! that a client could prove. Which hashes are of use is `engine::users`; this knows no login.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::Ipv4Addr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use engine::config_fault::ConfigFault;
use engine::ids::HostgroupId;
use engine::report::Printable;
use engine::snapshot::Snapshot;
use engine::topology::Status;
use engine::users::{Credential, ReadPassword, ReadPasswords};
use failover::Servers;
use keeper::Endpoint;
use wire::text_result::{TextResult, TextRow};

use crate::config::hex;
use crate::connections::{Connections, Names};
use crate::publisher::Publisher;

/// How often it is looked whether a reading is due.
const EVERY: Duration = Duration::from_millis(100);

/// How long a server may take for all that it is asked, and how much it may say.
const LIMIT: Duration = Duration::from_secs(5);
const BYTES_MAX: u64 = 64 << 20;

/// Accounts whose passwords are read, by the hostgroup whose servers have them.
type Marked = BTreeMap<HostgroupId, BTreeSet<Box<str>>>;

/// Reads passwords for as long as the process runs, those of each hostgroup on a thread of its own:
/// a server that takes its time delays no other hostgroup.
pub(crate) fn follow(publisher: Arc<Publisher>) -> std::io::Result<()> {
    let look = move || {
        let mut readings = BTreeMap::<HostgroupId, Reading>::new();
        loop {
            thread::sleep(EVERY);
            let snapshot = publisher.current();
            let pause = Duration::from_millis(snapshot.vars.monitor_accounts_interval_ms);
            let marked = marked(&snapshot);
            // one that goes on stays: two of a hostgroup at a time might end in the wrong order
            readings.retain(|hostgroup, last| marked.contains_key(hostgroup) || last.goes_on());
            for (hostgroup, users) in marked {
                let last = readings.get(&hostgroup);
                let asked = (users, servers_of(&snapshot, hostgroup));
                if last.is_some_and(|last| last.is_enough(pause, &asked)) {
                    continue;
                }
                let told = readings.remove(&hostgroup).map(Reading::end).unwrap_or_default();
                let reader = Reader { publisher: publisher.clone(), told };
                readings.insert(hostgroup, Reading::begin(reader, hostgroup, asked));
            }
        }
    };
    thread::Builder::new().name("passwords".to_owned()).spawn(look).map(drop)
}

/// The accounts that are read, and the servers that may be asked.
type Asked = (BTreeSet<Box<str>>, Vec<Endpoint>);

/// The last reading of a hostgroup.
struct Reading {
    began: Instant,
    of: Asked,
    /// Nothing, where it could not be begun.
    thread: Option<JoinHandle<Told>>,
}

impl Reading {
    fn begin(mut reader: Reader, hostgroup: HostgroupId, of: Asked) -> Self {
        let users = of.0.clone();
        let read = move || {
            if catch_unwind(AssertUnwindSafe(|| reader.read(hostgroup, &users))).is_err() {
                tracing::error!(%hostgroup, "passwords were not read on servers: a panic");
            }
            reader.told
        };
        let thread = thread::Builder::new().name("passwords".to_owned()).spawn(read);
        let thread = thread.inspect_err(|error| {
            tracing::error!(%hostgroup, "passwords were not read on servers: {error}");
        });
        Self { began: Instant::now(), of, thread: thread.ok() }
    }

    fn goes_on(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Whether no other one is due, or this one goes on.
    fn is_enough(&self, pause: Duration, asked: &Asked) -> bool {
        self.goes_on() || self.began.elapsed() < pause && self.of == *asked
    }

    /// What it leaves to the next one.
    fn end(self) -> Told {
        self.thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

struct Reader {
    publisher: Arc<Publisher>,
    told: Told,
}

impl Reader {
    fn read(&mut self, hostgroup: HostgroupId, users: &BTreeSet<Box<str>>) {
        let (snapshot, addresses, _) = self.publisher.addresses();
        let vars = &snapshot.vars;
        let account = ("tidegate_passwords", &*vars.monitor_username, &*vars.monitor_password);
        let connectors = self.publisher.certificates().connectors();
        let asked = servers_of(&snapshot, hostgroup);
        self.told.keep(users, &asked);
        let known = (snapshot.clone(), addresses);
        let mut servers = Connections::new(known, connectors, Names::default(), account, LIMIT)
            .bounded(LIMIT, BYTES_MAX);
        let Some((server, answer)) = self.ask_one(asked, users, &mut servers) else { return };
        let rows = by_user(&answer);
        let mut judged = |user: &str| (user.into(), self.judge((&snapshot, user), &server, &rows));
        let from = (server.hostname.as_str().into(), server.port);
        let read = |(user, (primary, additional))| {
            (user, ReadPassword { primary, additional, server: from.clone() })
        };
        let found: ReadPasswords = users.iter().map(|user| read(judged(user))).collect();
        self.publish(hostgroup, &found);
    }

    /// Brings into force what was read, beside what was read of others.
    fn publish(&self, hostgroup: HostgroupId, found: &ReadPasswords) {
        let current = self.publisher.current();
        if known_with(&current, hostgroup, found) == *current.users.read_passwords() {
            return;
        }
        let refuse = |fault: ConfigFault| vec![fault];
        let change =
            |before: &Snapshot| before.with_passwords(known_with(before, hostgroup, found));
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
        asked: Vec<Endpoint>,
        users: &BTreeSet<Box<str>>,
        servers: &mut Connections,
    ) -> Option<(Endpoint, TextResult)> {
        for server in asked {
            match ask(servers, &server, users) {
                Ok(answer) => {
                    self.told.0.remove(&About::Server(server.clone()));
                    return Some((server, answer));
                }
                Err(why) => {
                    let why = format!("passwords cannot be read there: {}", Printable(&why));
                    if self.told.is_news(About::Server(server.clone()), &why) {
                        tracing::warn!("{server}: {why}");
                    }
                }
            }
        }
        None
    }

    /// What a server's rows say of an account.
    fn judge(
        &mut self,
        (snapshot, user): (&Snapshot, &str),
        server: &Endpoint,
        rows: &Rows,
    ) -> (Credential, Option<Credential>) {
        let plugin = snapshot.users.find(user.as_bytes()).and_then(|account| account.plugin);
        let for_plugin = |(own, other): (Credential, Option<Credential>)| {
            Ok((own.for_plugin(plugin)?, other.and_then(|it| it.for_plugin(plugin).ok())))
        };
        let read = credentials(user, rows).and_then(for_plugin);
        let what = match &read {
            Ok((_, None)) => format!("its password is read on {server}"),
            Ok(_) => format!("its two passwords are read on {server}"),
            Err(why) => format!("nobody can log in with it, by {server}: {}", Printable(why)),
        };
        if self.told.is_news(About::Account(user.into()), &what) {
            let user = Printable(user);
            match read {
                Ok(_) => tracing::info!("account '{user}': {what}"),
                Err(_) => tracing::warn!("account '{user}': {what}"),
            }
        }
        read.unwrap_or((Credential::Unread, None))
    }
}

/// What was told last of accounts and servers.
#[derive(Default)]
struct Told(BTreeMap<About, String>);

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum About {
    Account(Box<str>),
    Server(Endpoint),
}

impl Told {
    /// Forgets all others.
    fn keep(&mut self, users: &BTreeSet<Box<str>>, servers: &[Endpoint]) {
        self.0.retain(|about, _| match about {
            About::Account(user) => users.contains(user),
            About::Server(server) => servers.contains(server),
        });
    }

    /// Whether something else was told last.
    fn is_news(&mut self, about: About, what: &str) -> bool {
        self.0.insert(about, what.to_owned()).is_none_or(|last| last != what)
    }
}

/// What is known of passwords with what was found in a hostgroup: accounts, and the servers that
/// are there, may have been changed since it was asked for.
fn known_with(before: &Snapshot, hostgroup: HostgroupId, found: &ReadPasswords) -> ReadPasswords {
    let marked = before.users.iter().filter(|account| account.is_read);
    let marked = marked.map(|account| (&*account.name, account.default_hostgroup));
    let marked: HashMap<&str, HostgroupId> = marked.collect();
    let mut passwords = before.users.read_passwords().clone();
    passwords.retain(|name, _| marked.contains_key(&**name));
    let own = found.iter().filter(|(name, read)| {
        marked.get(&***name) == Some(&hostgroup) && before.has_server(hostgroup, &read.server)
    });
    passwords.extend(own.map(|(name, it)| (name.clone(), it.clone())));
    passwords
}

/// The servers of a hostgroup that may be asked.
fn servers_of(snapshot: &Snapshot, hostgroup: HostgroupId) -> Vec<Endpoint> {
    let placed = snapshot.placed.iter().filter(|placed| {
        placed.row.hostgroup_id == i64::from(hostgroup.0) && Status::Online.is_set(&placed.row)
    });
    placed.map(|placed| Endpoint::of(&placed.row)).collect()
}

fn marked(snapshot: &Snapshot) -> Marked {
    let mut marked = Marked::new();
    for account in snapshot.users.iter().filter(|account| account.is_read) {
        marked.entry(account.default_hostgroup).or_default().insert((*account.name).into());
    }
    marked
}

/// Asks a server what it has of accounts by which it might know us: name, host, plugin, hash,
/// why it lets nobody in by that alone, and the hash of the password before.
fn ask(
    servers: &mut Connections,
    server: &Endpoint,
    users: &BTreeSet<Box<str>>,
) -> Result<TextResult, String> {
    let version = servers.ask(server, "SELECT VERSION()")?;
    let is_mariadb = version.value(0).is_some_and(|version| version.contains("MariaDB"));
    let (rows, bits) = if is_mariadb { (OF_MARIADB, "NULL") } else { (OF_MYSQL, BITS) };
    let mut hosts = vec!["SUBSTRING_INDEX(USER(), '@', -1)".to_owned()];
    // a server that looks names up knows us by either
    hosts.extend(servers.own_address(server).map(|ip| format!("'{ip}'")));
    let for_us = hosts.iter().map(|host| FOR_US.replace("{host}", host).replace("{bits}", bits));
    let for_us = for_us.collect::<Vec<_>>().join(" OR ");
    let names: Vec<_> = users.iter().map(|user| format!("x'{}'", hex(user.as_bytes()))).collect();
    let names = names.join(", ");
    servers.ask(server, &format!("{rows} WHERE CAST(User AS BINARY) IN ({names}) AND ({for_us})"))
}

const OF_MYSQL: &str = "SELECT User, Host, plugin, authentication_string, \
    CASE WHEN account_locked = 'Y' THEN 'it is locked' \
    WHEN JSON_CONTAINS_PATH(COALESCE(User_attributes, '{}'), 'one', \
    '$.Multi_factor_authentication') THEN 'it asks for more than a password' END, \
    JSON_UNQUOTE(JSON_EXTRACT(User_attributes, '$.additional_password')) FROM mysql.user";

/// Since 10.4.
const OF_MARIADB: &str = "SELECT User, Host, JSON_VALUE(Priv, '$.plugin'), \
    JSON_VALUE(Priv, '$.authentication_string'), \
    CASE WHEN JSON_VALUE(Priv, '$.account_locked') IN ('1', 'true') THEN 'it is locked' END \
    FROM mysql.global_priv";

/// Whether an account's host stands for ours: by a name or address, a pattern, or a network.
const FOR_US: &str = "Host = '' OR LOWER({host}) LIKE LOWER(Host) \
    OR Host LIKE '%/%' AND INET_ATON({host}) \
    & IF(Host LIKE '%/%.%', INET_ATON(SUBSTRING_INDEX(Host, '/', -1)), {bits}) \
    = INET_ATON(SUBSTRING_INDEX(Host, '/', 1))";

/// The mask of a network with its number of bits, which MariaDB does not know.
const BITS: &str = "4294967296 - (1 << 32 - SUBSTRING_INDEX(Host, '/', -1))";

/// A server's rows by the names of accounts.
type Rows<'a> = BTreeMap<&'a str, Vec<&'a TextRow>>;

fn by_user(answer: &TextResult) -> Rows<'_> {
    let mut rows = Rows::new();
    for row in &answer.rows {
        rows.entry(text(row, 0)).or_default().push(row);
    }
    rows
}

fn text(row: &TextRow, column: usize) -> &str {
    row.get(column).and_then(Option::as_deref).unwrap_or_default()
}

/// What a server stores for an account, as which it would know us by this name, and of the password
/// that it had before where that is right as well.
fn credentials(user: &str, rows: &Rows) -> Result<(Credential, Option<Credential>), String> {
    let own = rows.get(user).map(Vec::as_slice).unwrap_or_default().iter();
    let row = own.max_by_key(|row| rank(text(row, 1))).ok_or("it has no such account for us")?;
    let read = |column| Credential::read(text(row, 2), text(row, column).as_bytes());
    match text(row, 4) {
        "" if text(row, 5).is_empty() => Ok((read(3)?, None)),
        // one that is of no use takes nothing from the other
        "" => Ok((read(3)?, read(5).ok())),
        why => Err(why.to_owned()),
    }
}

/// Servers take the account whose host says most: a name or address before a network, that before
/// a pattern. Of networks the one with more bits counts, those with a number of bits first; of
/// patterns the one with more in front of its first sign. MariaDB 10.11 and MySQL 9.7 were asked.
fn rank(host: &str) -> (u8, usize) {
    if let Some(first_sign) = host.find(['%', '_']) {
        return (1, first_sign);
    }
    match host.split_once('/').map(|(_, mask)| (mask.parse(), mask.parse::<Ipv4Addr>())) {
        _ if host.is_empty() => (0, 0),
        None => (4, host.len()),
        Some((Ok(bits), _)) => (3, bits),
        Some((_, Ok(mask))) => (2, mask.to_bits().count_ones() as usize),
        Some(_) => (2, 0),
    }
}

#[cfg(test)]
mod tests;
