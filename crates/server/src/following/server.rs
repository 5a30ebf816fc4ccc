//! What a server is asked before its log is followed and while it is: whether that can be followed,
//! which views and foreign keys change rows that no log tells of, where it is, and what is visible
//! there.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use binlog::Position;
use client::Client;
use engine::caching::tables_of_view;
use engine::catalog::table_key;
use following::{Cascades, LogStand, Visible};
use keeper::gtid_sets::GtidSet;
use wire::text_result::TextResult;

use crate::connections::Stream;

/// A connection that a server is asked on.
pub(super) struct LoggingServer {
    client: Client<Box<dyn Stream>>,
    pub(super) is_mariadb: bool,
    /// Whether what it replicates is in its log.
    logs_replicated: bool,
    /// How its log is read: `CRC32` or `NONE`.
    pub(super) has_checksums: bool,
    /// `ROW`, or what makes each write a change of all tables.
    pub(super) format: String,
}

impl LoggingServer {
    /// Asks a server what it is.
    pub(super) fn new(client: Client<Box<dyn Stream>>) -> Result<Self, String> {
        let mut asked = Self {
            client,
            is_mariadb: false,
            logs_replicated: false,
            has_checksums: false,
            format: String::new(),
        };
        let variables = asked.variables()?;
        let value = |name: &str| variables.get(name).map_or("", String::as_str);
        let is_on = |name: &str| value(name).eq_ignore_ascii_case("ON");
        asked.is_mariadb = value("version").to_ascii_lowercase().contains("mariadb");
        asked.logs_replicated = is_on("log_slave_updates") || is_on("log_replica_updates");
        asked.has_checksums = value("binlog_checksum").eq_ignore_ascii_case("CRC32");
        asked.format = value("binlog_format").to_owned();
        if !is_on("log_bin") {
            return Err("it writes no binary log: start it with log_bin".to_owned());
        }
        if !asked.is_mariadb && !value("gtid_mode").eq_ignore_ascii_case("ON") {
            return Err("its transactions have no names: set gtid_mode=ON".to_owned());
        }
        Ok(asked)
    }

    fn variables(&mut self) -> Result<BTreeMap<String, String>, String> {
        let answer = self.ask(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'log_bin', 'gtid_mode', \
             'log_slave_updates', 'log_replica_updates', 'binlog_checksum', 'binlog_format')",
        )?;
        let pair = |row: &Vec<Option<String>>| Some((row.first()?.clone()?, row.get(1)?.clone()?));
        Ok(answer.rows.iter().filter_map(pair).collect())
    }

    /// Says why its log does not tell of every change. That may change while it runs.
    pub(super) fn check(&mut self) -> Result<(), String> {
        if !self.logs_replicated && self.replicates()? {
            let name = if self.is_mariadb { "log_slave_updates" } else { "log_replica_updates" };
            return Err(format!("it does not log what it replicates: start it with {name}"));
        }
        let status = self.status()?;
        for name in ["Binlog_Do_DB", "Binlog_Ignore_DB"] {
            if let Some(schemas) = named(&status, name).filter(|schemas| !schemas.is_empty()) {
                let option = name.to_ascii_lowercase();
                return Err(format!("its log leaves out schemas: {option} is {schemas}"));
            }
        }
        let level = self.ask(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('tx_isolation', \
             'transaction_isolation') AND Value = 'READ-UNCOMMITTED'",
        )?;
        match named(&level, "Variable_name") {
            Some(name) => Err(format!("its readers see what may never be in its log: set {name}")),
            None => Ok(()),
        }
    }

    fn replicates(&mut self) -> Result<bool, String> {
        let text = if self.is_mariadb { "SHOW ALL SLAVES STATUS" } else { "SHOW REPLICA STATUS" };
        Ok(!self.ask(text)?.rows.is_empty())
    }

    fn status(&mut self) -> Result<TextResult, String> {
        // its name before MySQL 8.2, and in MariaDB
        const OLD: &str = "SHOW MASTER STATUS";
        if self.is_mariadb {
            return self.ask(OLD);
        }
        match self.client.query("SHOW BINARY LOG STATUS") {
            Err(error) if error.refusal().is_some_and(|it| it.code == SYNTAX) => self.ask(OLD),
            answer => answer.map_err(|error| self.told(&error)),
        }
    }

    /// Tables whose rows change elsewhere, by engines that log nothing of it.
    pub(super) fn check_engines(&mut self) -> Result<(), String> {
        let answer = self.ask(
            "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), ENGINE FROM information_schema.TABLES \
             WHERE ENGINE IN ('FEDERATED', 'CONNECT', 'SPIDER', 'MRG_MyISAM', 'MRG_MYISAM', \
             'ndbcluster', 'NDB') LIMIT 1",
        )?;
        match (answer.value(0), answer.value(1)) {
            (Some(table), Some(engine)) => {
                Err(format!("rows of {table} change without its log: its engine is {engine}"))
            }
            _ => Ok(()),
        }
    }

    /// Its foreign keys that change rows of other tables, and its views.
    pub(super) fn cascades(&mut self) -> Result<Cascades, String> {
        self.check_sight()?;
        let answer = self.ask(
            "SELECT UNIQUE_CONSTRAINT_SCHEMA, REFERENCED_TABLE_NAME, CONSTRAINT_SCHEMA, TABLE_NAME \
             FROM information_schema.REFERENTIAL_CONSTRAINTS \
             WHERE UPDATE_RULE IN ('CASCADE', 'SET NULL', 'SET DEFAULT') \
             OR DELETE_RULE IN ('CASCADE', 'SET NULL', 'SET DEFAULT')",
        )?;
        let key = |row: &Vec<Option<String>>| {
            let name = |at: usize| row.get(at)?.as_deref().map(str::as_bytes);
            Some((table_key(name(0)?, name(1)?), table_key(name(2)?, name(3)?)))
        };
        let mut cascades = Cascades::default();
        answer.rows.iter().filter_map(key).for_each(|(parent, child)| cascades.add(parent, child));
        self.add_views(&mut cascades)?;
        cascades.close();
        Ok(cascades)
    }

    /// Adds its views to the tables that they read.
    fn add_views(&mut self, cascades: &mut Cascades) -> Result<(), String> {
        let answer = self.ask(
            "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS \
             WHERE TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', \
             'sys')",
        )?;
        for row in &answer.rows {
            let [Some(schema), Some(view), definition] = &row[..] else { continue };
            let key = table_key(schema.as_bytes(), view.as_bytes());
            let read = definition.as_ref().filter(|definition| !definition.is_empty());
            let tables = read.and_then(|read| tables_of_view(read.as_bytes(), schema.as_bytes()));
            match tables {
                Some(tables) => tables.into_iter().for_each(|table| cascades.add(table, key)),
                None => cascades.add_unread(format!("{schema}.{view}"), key),
            }
        }
        Ok(())
    }

    /// Whether the account is shown every table: servers show those that it may do something with.
    fn check_sight(&mut self) -> Result<(), String> {
        let answer = self.ask("SHOW GRANTS")?;
        let grants = answer.rows.iter().filter_map(|row| row.first()?.as_deref());
        let mut everywhere = grants.filter_map(|grant| Some(grant.split_once(" ON *.* TO ")?.0));
        let sees = |granted: &str| {
            let privileges: Vec<_> = granted.trim_start_matches("GRANT ").split(", ").collect();
            let has = |name| privileges.contains(&name);
            has("ALL PRIVILEGES") || has("REFERENCES") && has("SHOW VIEW")
        };
        match everywhere.any(sees) {
            true => Ok(()),
            false => {
                Err(format!("the account cannot see all views and foreign keys: {SEES_VIEWS}"))
            }
        }
    }

    /// A place in its log to read on from: whatever stands in front of it is visible, but for the
    /// ends of MariaDB's XA transactions. Waits for that where it has to.
    pub(super) fn beginning(&mut self) -> Result<Position, String> {
        if self.is_mariadb {
            return self.snapshot_place();
        }
        let end = self.standing()?.end;
        // what is in the log has its GTID taken until it is visible
        let Some(taken) = self.taken()? else { return Ok(end) };
        let until = Instant::now() + VISIBLE_WITHIN;
        while Instant::now() < until {
            if self.taken()?.is_none_or(|now| !now.overlaps(&taken)) {
                return Ok(end);
            }
            thread::sleep(ASK_EVERY);
        }
        Err("transactions in its log do not become visible, or a session holds a GTID by gtid_next"
            .to_owned())
    }

    /// The GTIDs of MySQL's transactions under way.
    fn taken(&mut self) -> Result<Option<GtidSet>, String> {
        let answer = self.ask("SELECT @@global.gtid_owned")?;
        taken_gtids(answer.value(0).unwrap_or_default())
    }

    /// Whether XA transactions of MariaDB have ended, which come into sight in no order with
    /// others.
    pub(super) fn has_ended_xa(&mut self) -> Result<bool, String> {
        if !self.is_mariadb {
            return Ok(false);
        }
        let answer = self.ask("SHOW GLOBAL STATUS LIKE 'Com_xa_commit'")?;
        Ok(answer.value(1) != Some("0"))
    }

    /// Where it is: first what it has, then how far its log goes.
    pub(super) fn standing(&mut self) -> Result<LogStand, String> {
        let mut has = None;
        if self.is_mariadb {
            // what was replicated before the log began is in the other one
            let answer = self.ask("SELECT @@global.gtid_binlog_state, @@global.gtid_slave_pos")?;
            let logged = answer.value(0).unwrap_or_default();
            has = match self.logs_replicated {
                true => Some(format!("{logged},{}", answer.value(1).unwrap_or_default())),
                false => Some(logged.to_owned()),
            };
        }
        let status = self.status()?;
        let has = has.or_else(|| named(&status, "Executed_Gtid_Set").map(ToOwned::to_owned));
        let end = place(named(&status, "File"), named(&status, "Position"))?;
        Ok(LogStand { end, has: has.as_deref().and_then(GtidSet::parse) })
    }

    /// What its readers can see now.
    pub(super) fn visible(&mut self) -> Result<Visible, String> {
        if !self.is_mariadb {
            let answer = self.ask("SELECT @@global.gtid_executed")?;
            return Ok(Visible::Executed(answer.value(0).and_then(GtidSet::parse)));
        }
        self.snapshot_place().map(Visible::UpTo)
    }

    /// The place in MariaDB's log up to which a snapshot sees everything.
    fn snapshot_place(&mut self) -> Result<Position, String> {
        self.ask("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
        let answer = self.ask("SHOW STATUS LIKE 'binlog_snapshot_%'")?;
        self.ask("COMMIT")?;
        let value = |name: &str| {
            let is_it = |row: &&Vec<Option<String>>| {
                let own = row.first().and_then(Option::as_deref);
                own.is_some_and(|own| own.eq_ignore_ascii_case(name))
            };
            answer.rows.iter().find(is_it)?.get(1)?.as_deref()
        };
        let (file, offset) = (value("binlog_snapshot_file"), value("binlog_snapshot_position"));
        place(file, offset)
    }

    fn ask(&mut self, text: &str) -> Result<TextResult, String> {
        self.client.query(text).map_err(|error| self.told(&error))
    }

    fn told(&self, error: &client::Error) -> String {
        explained(error, self.is_mariadb)
    }
}

/// What an error says, with what is to be granted where that is missing.
pub(super) fn explained(error: &client::Error, is_mariadb: bool) -> String {
    const DENIED: [u16; 3] = [1044, 1142, 1227];
    let missing = error.refusal().is_some_and(|refusal| DENIED.contains(&refusal.code));
    let grant = match (missing, is_mariadb) {
        (false, _) => return error.to_string(),
        (true, true) => "REPLICATION SLAVE, BINLOG MONITOR, SLAVE MONITOR, REFERENCES, SHOW VIEW",
        (true, false) => "REPLICATION SLAVE, REPLICATION CLIENT, REFERENCES, SHOW VIEW",
    };
    format!("{error}; GRANT {grant} ON *.* to the account")
}

/// What shows an account all of both.
const SEES_VIEWS: &str = "GRANT REFERENCES, SHOW VIEW ON *.* to it";

/// What was being committed when a stream begins is visible within that time, or it begins anew.
const VISIBLE_WITHIN: Duration = Duration::from_secs(5);

/// The pause between two questions whether it is.
const ASK_EVERY: Duration = Duration::from_millis(2);

/// ER_PARSE_ERROR.
const SYNTAX: u16 = 1064;

/// The first row's value of a column.
fn named<'a>(answer: &'a TextResult, column: &str) -> Option<&'a str> {
    let at = answer.columns.iter().position(|name| name.eq_ignore_ascii_case(column))?;
    answer.value(at)
}

/// The GTIDs of MySQL's `gtid_owned`, which names behind each the threads that have it, and parts
/// origins by nothing: `origin:23#7:24#9other:tag:5#11`.
fn taken_gtids(told: &str) -> Result<Option<GtidSet>, String> {
    let told = told.trim();
    let mut apart = String::new();
    let mut is_thread = false;
    for (at, byte) in told.bytes().enumerate() {
        if told.get(at..).is_some_and(begins_with_origin) {
            apart.push(',');
            is_thread = false;
        }
        is_thread = byte == b'#' || is_thread && byte.is_ascii_digit();
        if !is_thread {
            apart.push(char::from(byte));
        }
    }
    match GtidSet::parse(&apart) {
        None if !told.is_empty() => Err(format!("its gtid_owned cannot be read: {told}")),
        gtids => Ok(gtids),
    }
}

/// Whether a text begins with the UUID of a server, and a colon.
fn begins_with_origin(text: &str) -> bool {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let bytes = text.as_bytes();
    let is_of_uuid = |(at, byte): (usize, &u8)| match DASHES.contains(&at) {
        true => *byte == b'-',
        false => byte.is_ascii_hexdigit(),
    };
    bytes.get(36) == Some(&b':') && bytes.iter().take(36).enumerate().all(is_of_uuid)
}

fn place(file: Option<&str>, offset: Option<&str>) -> Result<Position, String> {
    let place = file.zip(offset.and_then(|offset| offset.parse().ok()));
    let (file, offset) = place.ok_or("it does not say where its log ends")?;
    Ok(Position { file: file.as_bytes().to_vec(), offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_gtids_are_read_without_the_threads_that_have_them() {
        let [one, other] =
            ["c0d3c621-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"];
        let told = format!("{one}:9#17:10#18#4{one}:abc:7#16{other}:5#1{one}:abd:3#18");
        let taken = taken_gtids(&told);
        let expected = format!("{one}:9-10,{one}:abc:7,{other}:5,{one}:abd:3");
        assert_eq!(taken, Ok(GtidSet::parse(&expected)));
        assert_eq!(taken_gtids(" "), Ok(None));
        assert!(taken_gtids("ANONYMOUS").is_err());
    }

    #[test]
    fn what_is_not_allowed_is_told_with_what_is_to_be_granted() {
        let refused = |code| {
            let (sqlstate, message) = ("42000".to_owned(), "no".to_owned());
            client::Error::Refused(client::ServerError { code, sqlstate, message })
        };
        let told = explained(&refused(1227), false);
        let expected = "ERROR 1227 (42000): no; \
            GRANT REPLICATION SLAVE, REPLICATION CLIENT, REFERENCES, SHOW VIEW ON *.* to the \
            account";
        assert_eq!(told, expected);
        assert_eq!(explained(&refused(1064), true), "ERROR 1064 (42000): no");
    }
}
