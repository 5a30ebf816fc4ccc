//! A client's session with one server: what its statements come to.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mysql_server::{Account, Answer, Cell, Column, Description, Fault, Handler, Refusal, Rows};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Statement, params_from_iter};
use wire::Status;
use wire::reply::{ColumnFlags, ColumnKind};

use crate::dialect::{self, Rewritten, Variable, rewrite, tokens};
use crate::faults::{of_sqlite, read_only, syntax, unknown_schema, unknown_variable, unsupported};
use crate::functions;
use crate::servers::DemoServer;
use crate::variables_table::VARIABLES;

/// A session.
pub(crate) struct DemoSession {
    /// What SQL functions see of it.
    pub(crate) facts: Arc<SessionFacts>,
    /// Its own connection to the data.
    pub(crate) connection: Connection,
    /// Variables that it has set.
    pub(crate) variables: BTreeMap<String, String>,
    /// `@x`, by name.
    pub(crate) user_variables: BTreeMap<String, Cell>,
    autocommit: bool,
}

/// What SQL functions see of a session.
pub(crate) struct SessionFacts {
    /// The server.
    pub(crate) server: Arc<DemoServer>,
    /// `CONNECTION_ID()`.
    pub(crate) id: u32,
    /// Where the client comes from.
    pub(crate) host: String,
    user: Mutex<String>,
    schema: Mutex<Option<String>>,
    /// `LAST_INSERT_ID()`.
    pub(crate) last_insert_id: AtomicI64,
    /// `ROW_COUNT()`.
    pub(crate) row_count: AtomicI64,
    /// `FOUND_ROWS()`.
    pub(crate) found_rows: AtomicI64,
    /// When the statement that runs has to be over.
    deadline: Mutex<Option<Instant>>,
}

impl DemoSession {
    /// A session over the file at `data`.
    pub(crate) fn open(
        server: Arc<DemoServer>,
        id: u32,
        host: String,
        data: &Path,
    ) -> rusqlite::Result<Self> {
        let facts = Arc::new(SessionFacts {
            server,
            id,
            host,
            user: Mutex::default(),
            schema: Mutex::default(),
            last_insert_id: AtomicI64::new(0),
            row_count: AtomicI64::new(-1),
            found_rows: AtomicI64::new(0),
            deadline: Mutex::default(),
        });
        let mut connection = Connection::open(data)?;
        connection.busy_timeout(LOCK_WAIT)?;
        connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY")?;
        connection.pragma_update(None, "query_only", facts.server.read_only)?;
        functions::register(&connection, &facts)?;
        let watched = Arc::clone(&facts);
        let is_over = move || watched.is_over();
        connection.progress_handler(PROGRESS_STEPS, Some(is_over))?;
        let (variables, user_variables) = Default::default();
        Ok(Self { facts, connection, variables, user_variables, autocommit: true })
    }

    /// `SET autocommit`.
    pub(crate) fn set_autocommit(&mut self, autocommit: bool) -> Result<(), Fault> {
        self.autocommit = autocommit;
        if autocommit { self.end_transaction("COMMIT") } else { Ok(()) }
    }

    fn end_transaction(&self, how: &str) -> Result<(), Fault> {
        match self.connection.is_autocommit() {
            true => Ok(()),
            false => self.connection.execute_batch(how).map_err(|error| self.fault(&error)),
        }
    }

    fn fault(&self, error: &rusqlite::Error) -> Fault {
        of_sqlite(error, &self.facts.server.schema)
    }

    /// Carries out a statement that is SQLite's, too, but for how it is spelt.
    fn sql(&mut self, text: &str, values: &[Cell]) -> Result<Answer, Fault> {
        let words = tokens(text);
        let first = words.text(0).to_ascii_uppercase();
        match first.as_str() {
            "COMMIT" | "ROLLBACK" if words.is(1, "AND") || words.is(2, "AND") => {
                return Err(unsupported("AND CHAIN"));
            }
            "COMMIT" => return self.end_transaction("COMMIT").map(|()| Answer::DONE),
            "ROLLBACK" if !words.is(1, "TO") && !words.is(2, "TO") => {
                return self.end_transaction("ROLLBACK").map(|()| Answer::DONE);
            }
            // these commit what is open
            "BEGIN" | "START" | "CREATE" | "DROP" | "ALTER" | "TRUNCATE"
                if !words.is(1, "TEMPORARY") =>
            {
                self.end_transaction("COMMIT")?;
            }
            _ if !self.autocommit && self.connection.is_autocommit() => {
                self.connection.execute_batch("BEGIN").map_err(|error| self.fault(&error))?;
            }
            _ => {}
        }
        let rows = self.select(text, values)?;
        let reads = !rows.columns.is_empty();
        let changed =
            matches!(first.as_str(), "INSERT" | "REPLACE" | "UPDATE" | "DELETE" | "TRUNCATE");
        let count = if changed { self.connection.changes() } else { 0 };
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.facts.row_count.store(if reads { -1 } else { signed(count) }, Relaxed);
        if reads {
            self.facts.found_rows.store(signed(rows.rows.len() as u64), Relaxed);
            return Ok(Answer::Rows(rows));
        }
        let mut last_insert_id = 0;
        if matches!(first.as_str(), "INSERT" | "REPLACE") && count > 0 {
            // the number of the first of several rows
            let id = self.connection.last_insert_rowid() - signed(count) + 1;
            self.facts.last_insert_id.store(id, Relaxed);
            last_insert_id = u64::try_from(id).unwrap_or(0);
        }
        Ok(Answer::Done { affected_rows: count, last_insert_id, info: String::new() })
    }

    /// Runs a text and keeps its rows; without columns it is none that reads.
    pub(crate) fn select(&self, text: &str, values: &[Cell]) -> Result<Rows, Fault> {
        let rewritten = rewrite(text, &self.facts.server.schema)?;
        if rewritten.locks {
            self.lock()?;
        }
        let of_sqlite = |error: rusqlite::Error| self.fault(&error);
        self.facts.begin();
        let mut statement = self.connection.prepare(&rewritten.sql).map_err(of_sqlite)?;
        let parameters = self.parameters(&statement, &rewritten, values)?;
        let names: Vec<String> =
            statement.column_names().map(|name| written(name, &rewritten)).collect();
        let mut found = statement.query(params_from_iter(parameters)).map_err(of_sqlite)?;
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while let Some(row) = found.next().map_err(of_sqlite)? {
            let cells = (0..names.len()).map(|at| row.get_ref(at).map(cell));
            let cells: Vec<Cell> = cells.collect::<Result<_, _>>().map_err(of_sqlite)?;
            bytes += cells.iter().map(size).sum::<usize>();
            if bytes > RESULT_BYTES_MAX {
                return Err(Fault::new(1301, b"HY000", "The result is larger than 64 MiB"));
            }
            rows.push(cells);
        }
        Ok(Rows { columns: columns(names, &rows), rows })
    }

    /// A read that locks waits for who writes, and lets nobody else write in its transaction.
    fn lock(&self) -> Result<(), Fault> {
        if self.facts.server.read_only {
            return Err(read_only());
        }
        if self.connection.is_autocommit() {
            return Ok(());
        }
        let nothing = "UPDATE sqlite_sequence SET seq = seq WHERE 0";
        self.connection.execute_batch(nothing).map_err(|error| self.fault(&error))
    }

    /// The values of a statement's parameters, in SQLite's order: the client's, and those of
    /// variables.
    fn parameters(
        &self,
        statement: &Statement<'_>,
        rewritten: &Rewritten,
        values: &[Cell],
    ) -> Result<Vec<rusqlite::types::Value>, Fault> {
        let mut given = values.iter();
        let one = |at: usize| match statement.parameter_name(at) {
            Some(name) => {
                let mut numbered = (0..).map(Variable::parameter).zip(&rewritten.variables);
                let found = numbered.find(|(parameter, _)| parameter == name);
                self.read(found.map(|(_, variable)| variable).ok_or_else(|| syntax(name))?)
            }
            None => given.next().cloned().ok_or_else(|| syntax("?")),
        };
        (1..=statement.parameter_count()).map(one).map(|cell| cell.map(value)).collect()
    }

    fn read(&self, variable: &Variable) -> Result<Cell, Fault> {
        if !variable.system {
            return Ok(self.user_variables.get(&variable.name).cloned().unwrap_or(Cell::Null));
        }
        let text = self.variable(&variable.name).ok_or_else(|| unknown_variable(&variable.name))?;
        Ok(text.parse().map_or_else(|_| Cell::Bytes(text.into_bytes()), Cell::Int))
    }

    /// The value of a system variable.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        if name == "last_insert_id" {
            return Some(self.facts.last_insert_id.load(Relaxed).to_string());
        }
        if let Some(text) = self.variables.get(name) {
            return Some(text.clone());
        }
        let (_, at_first) = VARIABLES.iter().find(|(known, _)| *known == name)?;
        Some(self.facts.server.variable(name).unwrap_or_else(|| (*at_first).to_owned()))
    }
}

impl Handler for DemoSession {
    fn account(&mut self, user: &str) -> Option<Account> {
        let (name, password) = &self.facts.server.account;
        (name == user).then(|| Account { password: password.clone() })
    }

    fn denied(&self, user: &str) -> Fault {
        let host = &self.facts.host;
        let message = format!("Access denied for user '{user}'@'{host}' (using password: YES)");
        Fault::new(1045, b"28000", message)
    }

    fn begin(&mut self, user: &str, schema: &str) -> Result<(), Refusal> {
        let refusal = |fault: Fault| Refusal { why: fault.message.clone(), fault };
        self.reset().map_err(refusal)?;
        *lock(&self.facts.schema) = None;
        if !schema.is_empty() {
            self.use_schema(schema).map_err(refusal)?;
        }
        user.clone_into(&mut lock(&self.facts.user));
        Ok(())
    }

    fn status(&self) -> Status {
        let autocommit = if self.autocommit { Status::AUTOCOMMIT } else { Status::NONE };
        let is_open = !self.connection.is_autocommit();
        autocommit | if is_open { Status::IN_TRANS } else { Status::NONE }
    }

    fn warnings(&self) -> usize {
        0
    }

    fn statements<'t>(&self, text: &'t str, several: bool) -> Result<Vec<&'t str>, Fault> {
        let found = dialect::statements(text);
        match found.get(1) {
            Some(second) if !several => Err(syntax(second.trim_start())),
            _ => Ok(found),
        }
    }

    fn run(&mut self, statement: &str, values: &[Cell]) -> Result<Answer, Fault> {
        self.facts.server.note_statement(self.facts.id, statement);
        let words = tokens(statement);
        let answer = match words.text(0).to_ascii_uppercase().as_str() {
            "" => Err(Fault::new(1065, b"42000", "Query was empty")),
            "SET" => self.set(statement),
            "SHOW" | "DESCRIBE" | "DESC" => self.show(&words).map(Answer::Rows),
            "USE" => self.use_schema(&words.unquoted(1)).map(|()| Answer::DONE),
            "DO" => {
                let rest = words.written(1, words.len());
                self.select(&format!("SELECT {rest}"), values).map(|_| Answer::DONE)
            }
            "KILL" => {
                let query = words.is(1, "QUERY");
                let at = if query || words.is(1, "CONNECTION") { 2 } else { 1 };
                self.facts.server.kill(words.text(at), query).map(|()| Answer::DONE)
            }
            first if OF_SQLITE.contains(&first) => self.sql(statement, values),
            first => Err(unsupported(first)),
        };
        if answer.is_err() {
            self.facts.row_count.store(-1, Relaxed);
        }
        self.facts.server.note_statement(self.facts.id, "");
        answer
    }

    fn describe(&mut self, statement: &str) -> Result<Description, Fault> {
        let words = tokens(statement);
        if !OF_SQLITE.contains(&words.text(0).to_ascii_uppercase().as_str()) {
            return Ok(Description::default());
        }
        let rewritten = rewrite(statement, &self.facts.server.schema)?;
        let prepared =
            self.connection.prepare(&rewritten.sql).map_err(|error| self.fault(&error))?;
        let names = prepared.column_names().map(|name| written(name, &rewritten));
        let nameless = |at: &usize| prepared.parameter_name(*at).is_none();
        Ok(Description {
            columns: columns(names.collect(), &[]),
            parameters: (1..=prepared.parameter_count()).filter(nameless).count(),
        })
    }

    fn use_schema(&mut self, schema: &str) -> Result<(), Fault> {
        // a client of the proxy that names none is in the second
        if ![&self.facts.server.schema, "information_schema"].contains(&schema) {
            return Err(unknown_schema(schema));
        }
        *lock(&self.facts.schema) = Some(schema.to_owned());
        Ok(())
    }

    fn reset(&mut self) -> Result<(), Fault> {
        self.end_transaction("ROLLBACK")?;
        let temporary = "SELECT group_concat('DROP TABLE temp.\"' || name || '\"', ';') \
                         FROM sqlite_temp_master WHERE type = 'table'";
        let drops = self.connection.query_row(temporary, (), |row| row.get::<_, Option<String>>(0));
        if let Ok(Some(drops)) = drops {
            self.connection.execute_batch(&drops).map_err(|error| self.fault(&error))?;
        }
        self.variables.clear();
        self.user_variables.clear();
        self.autocommit = true;
        self.facts.last_insert_id.store(0, Relaxed);
        Ok(())
    }
}

impl SessionFacts {
    /// `USER()` without the host.
    pub(crate) fn user(&self) -> String {
        lock(&self.user).clone()
    }

    /// `DATABASE()`.
    pub(crate) fn schema(&self) -> Option<String> {
        lock(&self.schema).clone()
    }

    /// A statement begins.
    fn begin(&self) {
        *lock(&self.deadline) = Some(Instant::now() + STATEMENT_LIMIT);
    }

    fn is_over(&self) -> bool {
        self.server.is_killed(self.id)
            || lock(&self.deadline).is_some_and(|deadline| deadline < Instant::now())
    }

    /// Waits; whether it was ended before its time.
    pub(crate) fn sleep(&self, span: Duration) -> bool {
        let until = Instant::now() + span;
        *lock(&self.deadline) = Some(until + STATEMENT_LIMIT);
        self.server.wait_for_kill(self.id, until)
    }

    /// `NOW()`, in UTC.
    pub(crate) fn now(&self) -> String {
        let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        civil(seconds.map_or(0, |seconds| seconds.as_secs()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of a column with variables as they were written.
fn written(name: &str, rewritten: &Rewritten) -> String {
    let all = rewritten.variables.iter().enumerate();
    all.fold(name.to_owned(), |name, (number, variable)| {
        name.replace(&Variable::parameter(number), &variable.written)
    })
}

/// Columns whose types hold all values that are in them.
fn columns(names: Vec<String>, rows: &[Vec<Cell>]) -> Vec<Column> {
    let column = |(at, name): (usize, String)| {
        let seen = |kind: fn(&Cell) -> bool| rows.iter().filter_map(|row| row.get(at)).any(kind);
        let number = |kind| Column {
            kind,
            flags: ColumnFlags::BINARY,
            collation: BINARY,
            length: 20,
            ..Column::text("")
        };
        let of_values = if seen(|cell| matches!(cell, Cell::Bytes(_))) {
            Column::text("")
        } else if seen(|cell| matches!(cell, Cell::Double(_))) {
            Column { decimals: 31, ..number(ColumnKind::DOUBLE) }
        } else if seen(|cell| matches!(cell, Cell::Int(_))) {
            number(ColumnKind::LONGLONG)
        } else {
            Column::text("")
        };
        Column { name, ..of_values }
    };
    names.into_iter().enumerate().map(column).collect()
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Int(number),
        ValueRef::Real(number) => Cell::Double(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
    }
}

/// Clients send text and bytes alike: what is UTF-8 is text.
fn value(cell: Cell) -> rusqlite::types::Value {
    use rusqlite::types::Value;
    match cell {
        Cell::Null => Value::Null,
        Cell::Int(number) => Value::Integer(number),
        Cell::Double(number) => Value::Real(number),
        Cell::Bytes(bytes) => String::from_utf8(bytes)
            .map_or_else(|error| Value::Blob(error.into_bytes()), Value::Text),
    }
}

fn size(cell: &Cell) -> usize {
    size_of::<Cell>() + if let Cell::Bytes(bytes) = cell { bytes.len() } else { 0 }
}

/// `YYYY-MM-DD HH:MM:SS` of a time in seconds since 1970.
fn civil(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    // years begin in March, so that a leap day is the last of one
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// What statements that SQLite has, too, begin with.
const OF_SQLITE: &[&str] = &[
    "ALTER",
    "BEGIN",
    "COMMIT",
    "CREATE",
    "DELETE",
    "DROP",
    "EXPLAIN",
    "INSERT",
    "RELEASE",
    "REPLACE",
    "ROLLBACK",
    "SAVEPOINT",
    "SELECT",
    "START",
    "TRUNCATE",
    "UPDATE",
    "VALUES",
    "WITH",
];
/// How long a write waits for another session's transaction.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// How long a statement may run.
const STATEMENT_LIMIT: Duration = Duration::from_secs(10);
/// Steps of SQLite's machine between two looks at the clock.
const PROGRESS_STEPS: i32 = 20_000;
/// Bytes of a result; it is kept whole until it is sent.
const RESULT_BYTES_MAX: usize = 64 << 20;
/// The id of the collation of what is no text.
const BINARY: u16 = 63;

#[cfg(test)]
mod tests {
    #[test]
    fn moments_are_counted_from_1970() {
        assert_eq!(super::civil(0), "1970-01-01 00:00:00");
        assert_eq!(super::civil(1_709_251_199), "2024-02-29 23:59:59");
        assert_eq!(super::civil(4_102_444_800), "2100-01-01 00:00:00");
    }
}
