//! Servers that answer by a script, and a proxy that notes what it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use failover::{Clients, FailoverStep, Former, Hooks, Identity, Order, ServerAccount, Servers};
use keeper::Endpoint;
use wire::text_result::TextResult;

/// MariaDB servers: a primary and two replicas of it.
#[derive(Default)]
pub(crate) struct Script {
    /// What a server answers to statements that begin so, in place of the usual.
    answers: BTreeMap<(i64, &'static str), Result<Vec<&'static str>, &'static str>>,
    /// What it answers to that once the locks are taken.
    later: Vec<(i64, &'static str, Vec<&'static str>)>,
    /// What is asked, and of whom, but for questions about how they stand.
    pub(crate) told: Vec<String>,
    pub(crate) in_use: u64,
    pub(crate) steps: Vec<FailoverStep>,
    pub(crate) held: bool,
    /// Primaries that were replaced, and those that follow again.
    pub(crate) deposed: Vec<i64>,
    pub(crate) rejoined: Vec<i64>,
    /// The primary says something.
    pub(crate) greets: bool,
    /// The same from when it is asked the second time.
    pub(crate) greets_after_all: bool,
    greets_later: bool,
    /// Those that were told to follow another server, which receive from it.
    follow: BTreeSet<i64>,
    /// The error that those get in place of that.
    pub(crate) refused: &'static str,
    /// What a server says of its own TLS.
    pub(crate) have_ssl: &'static str,
    /// Another name of the servers.
    pub(crate) alias: &'static str,
    /// Programs that do not end well.
    pub(crate) fails: &'static str,
    /// What is so once the program before has run: the primary's row about itself.
    pub(crate) meanwhile: Option<(i64, &'static str, Vec<&'static str>)>,
    /// The same of a primary that was gone.
    pub(crate) comes_back: bool,
}

pub(crate) const PRIMARY: i64 = 1;
pub(crate) const NEAR: i64 = 2;
pub(crate) const FAR: i64 = 3;

/// How a server is asked for itself.
pub(crate) const ITSELF: &str = "SELECT @@global.read_only";

/// How it is asked for its log.
pub(crate) const LOG: &str = "SHOW MASTER STATUS";

/// What a replica says of itself that has replicated up to there.
pub(crate) fn itself(id: &'static str, applied: &'static str) -> [&'static str; 7] {
    ["1", id, "1", "1", applied, applied, id]
}

/// What a replica says of its source.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) name: &'static str,
    pub(crate) id: &'static str,
    pub(crate) host: &'static str,
    pub(crate) port: &'static str,
    pub(crate) receives: &'static str,
    pub(crate) error: &'static str,
    pub(crate) applies: &'static str,
    pub(crate) by_gtid: &'static str,
    pub(crate) behind: &'static str,
    pub(crate) received: &'static str,
    pub(crate) filter: &'static str,
    pub(crate) delay: &'static str,
    /// Whether it is in TLS, its authority, certificate, key, and whether it verifies.
    pub(crate) tls: [&'static str; 5],
    /// With MySQL: versions of TLS, the file of its source's public key, whether it asks for that.
    pub(crate) more: [&'static str; 3],
}

impl Default for Source {
    fn default() -> Self {
        Self {
            name: "",
            id: "11",
            host: "db",
            port: "1",
            receives: "Yes",
            error: "0",
            applies: "Yes",
            by_gtid: "Slave_Pos",
            behind: "0",
            received: "0-11-42",
            filter: "",
            delay: "0",
            tls: ["No", "", "", "", "No"],
            more: ["", "", "0"],
        }
    }
}

impl Source {
    pub(crate) fn row(self) -> Vec<&'static str> {
        let Self { name, id, host, port, receives, error, applies, by_gtid, .. } = self;
        let told = if error == "0" { "" } else { "why" };
        let first = vec![name, id, host, port, receives, error, told, applies, by_gtid];
        let last = vec![self.behind, self.received, self.filter, self.delay];
        [&*first, &last, &self.tls, &self.more].concat()
    }
}

/// A server that others know by that number.
pub(crate) fn known(port: i64, id: u64) -> Former {
    let identity = Identity { id, ..Identity::default() };
    Former { identity, ..Former::unknown(at(port)) }
}

pub(crate) fn at(port: i64) -> Endpoint {
    Endpoint { hostname: "db".into(), port }
}

impl Script {
    pub(crate) fn says(mut self, port: i64, statement: &'static str, row: &[&'static str]) -> Self {
        self.answers.insert((port, statement), Ok(row.to_vec()));
        self
    }

    /// What a server says once an order has its lock.
    pub(crate) fn then(mut self, port: i64, statement: &'static str, row: &[&'static str]) -> Self {
        self.later.push((port, statement, row.to_vec()));
        self
    }

    pub(crate) fn fails(mut self, port: i64, statement: &'static str) -> Self {
        self.answers.insert((port, statement), Err("1205 it takes too long"));
        self
    }

    /// What a server says that nothing else is scripted for.
    fn usual(port: i64, statement: &str) -> Vec<&'static str> {
        let is = |begin: &str| statement.starts_with(begin);
        match port {
            _ if is("SELECT VERSION") => vec!["10.11.6-MariaDB-log"],
            PRIMARY if is(ITSELF) => vec!["0", "11", "1", "1", "", "0-11-42", "11"],
            PRIMARY if is("SHOW") => vec![],
            NEAR if is(ITSELF) => itself("12", "0-11-42").to_vec(),
            NEAR if is("SHOW") => Source::default().row(),
            FAR if is(ITSELF) => itself("13", "0-11-41").to_vec(),
            FAR if is("SHOW") => Source { behind: "9", ..Source::default() }.row(),
            _ if is(ITSELF) => itself("14", "0-11-40").to_vec(),
            _ if is("SELECT GET_LOCK") => vec!["1"],
            _ if is("SELECT @@global.gtid_current_pos") => vec!["0-11-42"],
            _ if is("SELECT MASTER_GTID_WAIT") || is("SELECT WAIT_FOR") => vec!["0"],
            _ if is("SELECT @@global.gtid_executed") => vec!["a:1-42"],
            _ => vec![],
        }
    }

    /// Carries an order out. Whoever asks servers and whoever holds clients are two; both write the
    /// same script.
    pub(crate) fn with<T>(
        &mut self,
        work: impl FnOnce(&mut dyn Servers, &mut dyn Clients) -> T,
    ) -> T {
        let this = std::cell::RefCell::new(std::mem::take(self));
        let done = work(&mut Side(&this), &mut Side(&this));
        *self = this.into_inner();
        done
    }
}

/// What a replica tells of its source, as MariaDB names it; the last three have only MySQL.
const COLUMNS: [&str; 21] = [
    "Connection_name",
    "Master_Server_Id",
    "Master_Host",
    "Master_Port",
    "Slave_IO_Running",
    "Last_IO_Errno",
    "Last_IO_Error",
    "Slave_SQL_Running",
    "Using_Gtid",
    "Seconds_Behind_Master",
    "Gtid_IO_Pos",
    "Replicate_Do_DB",
    "SQL_Delay",
    "Master_SSL_Allowed",
    "Master_SSL_CA_File",
    "Master_SSL_Cert",
    "Master_SSL_Key",
    "Master_SSL_Verify_Server_Cert",
    "Master_TLS_Version",
    "Master_public_key_path",
    "Get_Master_public_key",
];

/// The name of a column in the answer to a statement.
fn column(name: &str, statement: &str) -> String {
    match (statement, name) {
        ("SHOW REPLICA STATUS", "Connection_name") => "Channel_Name".to_owned(),
        ("SHOW REPLICA STATUS", "Using_Gtid") => "Auto_Position".to_owned(),
        ("SHOW REPLICA STATUS", "Gtid_IO_Pos") => "Retrieved_Gtid_Set".to_owned(),
        ("SHOW REPLICA STATUS", _) => name.replace("Master", "Source").replace("Slave", "Replica"),
        _ => name.to_owned(),
    }
}

struct Side<'a>(&'a std::cell::RefCell<Script>);

impl Servers for Side<'_> {
    fn ask(&mut self, server: &Endpoint, statement: &str) -> Result<TextResult, String> {
        let mut script = self.0.borrow_mut();
        if statement == LOG {
            let row = script.answers.get(&(server.port, LOG)).cloned().unwrap_or(Ok(vec![]))?;
            let columns = ["Binlog_Do_DB", "Binlog_Ignore_DB"].map(str::to_owned).into();
            let rows = vec![row.into_iter().map(|value| Some(value.to_owned())).collect()];
            return Ok(TextResult { columns, rows, ..TextResult::default() });
        }
        let asks = ["SELECT VERSION", ITSELF, "SHOW", "SELECT SLEEP", "SELECT @@global.event"];
        let is_look = ["'tidegate_place'", "'HAVE_SSL'"].iter().any(|it| statement.contains(it));
        if !is_look && !asks.iter().any(|ask| statement.starts_with(ask)) {
            let word = if script.held { "" } else { "unheld " };
            script.told.push(format!("{word}{}: {statement}", server.port));
        }
        if statement.starts_with("SELECT GET_LOCK") {
            for (port, statement, row) in std::mem::take(&mut script.later) {
                script.answers.insert((port, statement), Ok(row));
            }
        }
        if statement.starts_with("CHANGE ") {
            script.follow.insert(server.port);
        }
        let follows = statement.starts_with("SHOW") && script.follow.contains(&server.port);
        let mut own = script
            .answers
            .iter()
            .filter(|((port, begin), _)| *port == server.port && statement.starts_with(begin));
        let row = match own.next() {
            _ if follows && script.refused.is_empty() => Source::default().row(),
            _ if follows => {
                Source { receives: "Connecting", error: script.refused, ..Source::default() }.row()
            }
            Some((_, Ok(row))) => row.clone(),
            Some((_, Err(why))) => return Err((*why).to_owned()),
            None if statement.contains("'HAVE_SSL'") => vec![script.have_ssl],
            None => Script::usual(server.port, statement),
        };
        let rows = match row.is_empty() {
            true => vec![],
            false => vec![row.into_iter().map(|value| Some(value.to_owned())).collect()],
        };
        let columns = COLUMNS.map(|name| column(name, statement)).into();
        Ok(TextResult { columns, rows, ..TextResult::default() })
    }

    fn place(&mut self, _: &Endpoint, host: &str, port: i64) -> Endpoint {
        let hostname = if host == self.0.borrow().alias { "db" } else { host };
        Endpoint { hostname: hostname.to_owned(), port }
    }

    fn be_patient(&mut self, _: Duration) {}

    fn greets(&mut self, _: &Endpoint) -> bool {
        let script = &mut *self.0.borrow_mut();
        script.greets || std::mem::replace(&mut script.greets_later, script.greets_after_all)
    }
}

impl Clients for Side<'_> {
    fn hold(&mut self) {
        self.0.borrow_mut().held = true;
    }

    fn drain(&mut self, _: Duration) -> u64 {
        self.0.borrow().in_use
    }

    fn await_writer(&mut self, _: &Endpoint, _: Duration) -> bool {
        true
    }

    fn depose(&mut self, server: &Endpoint, is_deposed: bool) {
        let mut script = self.0.borrow_mut();
        match is_deposed {
            true => script.deposed.push(server.port),
            false if script.deposed.is_empty() => script.rejoined.push(server.port),
            false => script.deposed.retain(|port| *port != server.port),
        }
    }

    fn run_program(
        &mut self,
        words: &[String],
        environment: Vec<(String, String)>,
    ) -> Result<String, String> {
        let mut script = self.0.borrow_mut();
        let mut told: Vec<_> = words.to_vec();
        told.extend(environment.into_iter().map(|(name, value)| format!("{name}={value}")));
        let word = if script.held { "held " } else { "" };
        script.told.push(format!("{word}{}", told.join(" ")));
        if let Some((port, statement, row)) = script.meanwhile.take() {
            script.answers.insert((port, statement), Ok(row));
        }
        script.greets |= script.comes_back;
        match words.first().is_some_and(|word| word == script.fails) {
            true => Err("exit status: 1: no".to_owned()),
            false => Ok("well".to_owned()),
        }
    }

    fn release(&mut self) {
        self.0.borrow_mut().held = false;
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn note(&mut self, step: FailoverStep) {
        self.0.borrow_mut().steps.push(step);
    }
}

/// Programs before and after.
pub(crate) fn hooks() -> Hooks {
    let words = |name: &str| vec![name.to_owned(), "word".to_owned()];
    Hooks { before: words("/before"), after: words("/after") }
}

pub(crate) fn order() -> Order {
    Order {
        writer_hostgroup: 10,
        hooks: Hooks::default(),
        primary: known(PRIMARY, 11),
        others: vec![at(FAR), at(NEAR)],
        target: None,
        left_out: BTreeMap::new(),
        replication: ServerAccount { user: "repl".into(), password: "se'cret\\".into() },
        limit: Duration::from_secs(8),
        dry: false,
    }
}
