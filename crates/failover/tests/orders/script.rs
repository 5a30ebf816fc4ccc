//! Servers that answer by a script, and a proxy that notes what it is told.

use std::collections::BTreeMap;
use std::time::Duration;

use failover::{Account, Clients, Order, Servers, Step};
use keeper::Endpoint;
use wire::text_result::TextResult;

/// MariaDB servers: a primary and two replicas of it.
#[derive(Default)]
pub(crate) struct Script {
    /// What a server answers to statements that begin so, in place of the usual.
    answers: BTreeMap<(i64, &'static str), Result<Vec<&'static str>, &'static str>>,
    /// What is asked, and of whom, but for questions about how they stand.
    pub(crate) told: Vec<String>,
    pub(crate) in_use: u64,
    pub(crate) steps: Vec<Step>,
    pub(crate) held: bool,
    /// Primaries that were replaced, and those that follow again.
    pub(crate) deposed: Vec<i64>,
    pub(crate) rejoined: Vec<i64>,
    /// The primary says something.
    pub(crate) greets: bool,
    /// The time that an order may take is over.
    pub(crate) late: bool,
}

pub(crate) const PRIMARY: i64 = 1;
pub(crate) const NEAR: i64 = 2;
pub(crate) const FAR: i64 = 3;

pub(crate) fn at(port: i64) -> Endpoint {
    Endpoint { hostname: "db".into(), port }
}

impl Script {
    pub(crate) fn says(mut self, port: i64, statement: &'static str, row: &[&'static str]) -> Self {
        self.answers.insert((port, statement), Ok(row.to_vec()));
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
            PRIMARY if is("SELECT @@global.read_only") => vec!["0", "11", "1", "1"],
            PRIMARY if is("SHOW") => vec![],
            NEAR if is("SELECT @@global.read_only") => vec!["1", "12", "1", "1"],
            NEAR if is("SHOW") => vec!["11", "db", "1", "Yes", "Yes", "Slave_Pos", "0"],
            FAR if is("SELECT @@global.read_only") => vec!["1", "13", "1", "1"],
            FAR if is("SHOW") => vec!["11", "db", "1", "Yes", "Yes", "Slave_Pos", "9"],
            _ if is("SELECT GET_LOCK") => vec!["1"],
            _ if is("SELECT @@global.gtid_binlog_pos") => vec!["0-11-42"],
            _ if is("SELECT MASTER_GTID_WAIT") => vec!["0"],
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

struct Side<'a>(&'a std::cell::RefCell<Script>);

impl Servers for Side<'_> {
    fn ask(&mut self, server: &Endpoint, statement: &str) -> Result<TextResult, String> {
        const COLUMNS: [&str; 8] = [
            "Master_Server_Id",
            "Master_Host",
            "Master_Port",
            "Slave_IO_Running",
            "Slave_SQL_Running",
            "Using_Gtid",
            "Seconds_Behind_Master",
            "Slave_SQL_State",
        ];
        let mut script = self.0.borrow_mut();
        let asks = ["SELECT VERSION", "SELECT @@global.read_only", "SHOW"];
        if !asks.iter().any(|ask| statement.starts_with(ask)) {
            let word = if script.held { "" } else { "unheld " };
            script.told.push(format!("{word}{}: {statement}", server.port));
        }
        let mut own = script
            .answers
            .iter()
            .filter(|((port, begin), _)| *port == server.port && statement.starts_with(begin));
        let row = match own.next() {
            Some((_, Ok(row))) => row.clone(),
            Some((_, Err(why))) => return Err((*why).to_owned()),
            None => Script::usual(server.port, statement),
        };
        let rows = match row.is_empty() {
            true => vec![],
            false => vec![row.into_iter().map(|value| Some(value.to_owned())).collect()],
        };
        let columns = COLUMNS.map(str::to_owned).into();
        Ok(TextResult { columns, rows, ..TextResult::default() })
    }

    fn greets(&mut self, _: &Endpoint) -> bool {
        self.0.borrow().greets
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

    fn release(&mut self) {
        self.0.borrow_mut().held = false;
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(if self.0.borrow().late { 60 } else { 1 })
    }

    fn note(&mut self, step: Step) {
        self.0.borrow_mut().steps.push(step);
    }
}

pub(crate) fn order() -> Order {
    Order {
        primary: at(PRIMARY),
        others: vec![at(FAR), at(NEAR)],
        target: None,
        replication: Account { user: "repl".into(), password: "se'cret\\".into() },
        limit: Duration::from_secs(8),
        dry: false,
    }
}
