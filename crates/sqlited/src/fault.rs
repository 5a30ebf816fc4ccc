//! What went wrong, in MySQL's terms: code, SQLSTATE and text.
//!
//! The only place that reads SQLite's messages. It does not decide whether a statement is tried
//! again (a locked database is not a fault until the wait for it is over; see `session`).

use std::fmt;

/// An error a client is told about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    /// MySQL's error number.
    pub(crate) code: u16,
    /// The five characters of SQLSTATE.
    pub(crate) sqlstate: [u8; 5],
    /// Text as MySQL words it, where MySQL has the same error.
    pub(crate) message: String,
}

impl Fault {
    /// A fault from its three parts.
    pub(crate) fn new(code: u16, sqlstate: &[u8; 5], message: impl Into<String>) -> Self {
        Self { code, sqlstate: *sqlstate, message: message.into() }
    }

    /// 1064: the text is not understood from `near` on.
    pub(crate) fn syntax(near: &str) -> Self {
        let near: String = near.chars().take(80).collect();
        Self::new(
            1064,
            b"42000",
            format!(
                "You have an error in your SQL syntax; check the manual that corresponds to your \
                 MySQL server version for the right syntax to use near '{near}' at line 1"
            ),
        )
    }

    /// 1235: MySQL has it, this server has not.
    pub(crate) fn unsupported(what: &str) -> Self {
        Self::new(1235, b"42000", format!("This embedded server doesn't support '{what}'"))
    }

    /// 1290: a write on a read-only server.
    pub(crate) fn read_only() -> Self {
        Self::new(
            1290,
            b"HY000",
            "The MySQL server is running with the --read-only option so it cannot execute this \
             statement",
        )
    }

    /// 1205: another session held the write lock for too long.
    pub(crate) fn lock_wait() -> Self {
        Self::new(1205, b"HY000", "Lock wait timeout exceeded; try restarting transaction")
    }

    /// 1045: wrong name or password.
    pub(crate) fn access_denied(user: &str, from: &str, with_password: bool) -> Self {
        let using = if with_password { "YES" } else { "NO" };
        Self::new(
            1045,
            b"28000",
            format!("Access denied for user '{user}'@'{from}' (using password: {using})"),
        )
    }

    /// 1049: no such schema.
    pub(crate) fn unknown_schema(name: &str) -> Self {
        Self::new(1049, b"42000", format!("Unknown database '{name}'"))
    }

    /// 1046: a statement needs a schema and none is chosen.
    pub(crate) fn no_schema() -> Self {
        Self::new(1046, b"3D000", "No database selected")
    }

    /// 1193: no such system variable.
    pub(crate) fn unknown_variable(name: &str) -> Self {
        Self::new(1193, b"HY000", format!("Unknown system variable '{name}'"))
    }

    /// 1146: no such table.
    pub(crate) fn no_table(schema: &str, table: &str) -> Self {
        Self::new(1146, b"42S02", format!("Table '{schema}.{table}' doesn't exist"))
    }

    /// 1047: a command this server does not know.
    pub(crate) fn unknown_command() -> Self {
        Self::new(1047, b"08S01", "Unknown command")
    }

    /// 1835: bytes that are not what the protocol says.
    pub(crate) fn malformed() -> Self {
        Self::new(1835, b"HY000", "Malformed communication packet.")
    }

    /// 1153: a command longer than the server takes.
    pub(crate) fn too_large() -> Self {
        Self::new(1153, b"08S01", "Got a packet bigger than 'max_allowed_packet' bytes")
    }

    /// 1243: no such prepared statement.
    pub(crate) fn unknown_statement(id: u32, command: &str) -> Self {
        Self::new(
            1243,
            b"HY000",
            format!("Unknown prepared statement handler ({id}) given to {command}"),
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = String::from_utf8_lossy(&self.sqlstate);
        write!(f, "ERROR {} ({state}): {}", self.code, self.message)
    }
}

/// Why a statement did not run to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// Another session has the write lock: try again later.
    Locked,
    /// It failed for good.
    Failed(Fault),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

/// Translates an error of SQLite that came up while `schema` was the client's schema.
pub(crate) fn from_sqlite(error: &rusqlite::Error, schema: &str) -> Stop {
    use rusqlite::{Error, ErrorCode};
    let (code, message) = match error {
        Error::SqliteFailure(e, text) => {
            (e.code, text.clone().unwrap_or_else(|| error.to_string()))
        }
        Error::SqlInputError { error: e, msg, sql, offset } => {
            if msg.ends_with("syntax error") || msg.starts_with("incomplete input") {
                let near = usize::try_from(*offset).ok().and_then(|at| sql.get(at..));
                return Fault::syntax(near.unwrap_or_default()).into();
            }
            (e.code, msg.clone())
        }
        Error::MultipleStatement => return Fault::syntax("").into(),
        other => return Fault::new(1105, b"HY000", other.to_string()).into(),
    };
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Stop::Locked,
        ErrorCode::OperationInterrupted => Fault::new(
            3024,
            b"HY000",
            "Query execution was interrupted, maximum statement execution time exceeded",
        )
        .into(),
        ErrorCode::DiskFull => Fault::new(
            1021,
            b"HY000",
            "Disk full (embedded store); waiting for someone to free some space...",
        )
        .into(),
        ErrorCode::OutOfMemory => Fault::new(1037, b"HY001", "Out of memory").into(),
        ErrorCode::TooBig => Fault::new(1301, b"HY000", "Result was larger than allowed").into(),
        _ => from_message(&message, schema).into(),
    }
}

/// Reads the text of an SQLite error; what is not in the list becomes 1105 with SQLite's words.
fn from_message(message: &str, schema: &str) -> Fault {
    for (prefix, build) in MESSAGES {
        if let Some(rest) = message.strip_prefix(prefix) {
            return build(rest, schema);
        }
    }
    if let Some((table, column)) =
        message.strip_prefix("table ").and_then(|rest| rest.split_once(" has no column named "))
    {
        let _ = table;
        return unknown_column(column, schema);
    }
    if message.ends_with(" already exists") {
        return already_exists(message);
    }
    if message.contains(" values for ") || message.contains(" values were supplied") {
        return Fault::new(1136, b"21S01", "Column count doesn't match value count at row 1");
    }
    if message.contains("do not have the same number of result columns") {
        return Fault::new(
            1222,
            b"21000",
            "The used SELECT statements have a different number of columns",
        );
    }
    if message == "incomplete input" {
        return Fault::syntax("");
    }
    if message.contains("syntax error") || message.contains("unrecognized token") {
        return Fault::syntax(message);
    }
    Fault::new(1105, b"HY000", message)
}

type Build = fn(rest: &str, schema: &str) -> Fault;

/// Beginnings of SQLite's messages and what MySQL says instead.
const MESSAGES: &[(&str, Build)] = &[
    ("no such table: ", |rest, schema| {
        let known = ["main.", "temp."].into_iter().find_map(|known| rest.strip_prefix(known));
        let table = known.unwrap_or(rest);
        let (schema, table) = table.split_once('.').unwrap_or((schema, table));
        Fault::no_table(schema, table)
    }),
    ("no such view: ", |rest, schema| Fault::no_table(schema, rest)),
    ("no such column: ", |rest, schema| unknown_column(rest.trim_matches('"'), schema)),
    ("no such function: ", |rest, schema| {
        Fault::new(1305, b"42000", format!("FUNCTION {schema}.{rest} does not exist"))
    }),
    ("UNIQUE constraint failed: ", |rest, _| {
        let key = rest.strip_prefix("index ").unwrap_or(rest);
        Fault::new(1062, b"23000", format!("Duplicate entry for key '{key}'"))
    }),
    ("NOT NULL constraint failed: ", |rest, _| {
        let column = rest.rsplit('.').next().unwrap_or(rest);
        Fault::new(1048, b"23000", format!("Column '{column}' cannot be null"))
    }),
    ("FOREIGN KEY constraint failed", |_, _| {
        Fault::new(
            1452,
            b"23000",
            "Cannot add or update a child row: a foreign key constraint fails",
        )
    }),
    ("CHECK constraint failed: ", |rest, _| {
        Fault::new(3819, b"HY000", format!("Check constraint '{rest}' is violated."))
    }),
    ("duplicate column name: ", |rest, _| {
        Fault::new(1060, b"42S21", format!("Duplicate column name '{rest}'"))
    }),
    ("ambiguous column name: ", |rest, _| {
        Fault::new(1052, b"23000", format!("Column '{rest}' in field list is ambiguous"))
    }),
    ("no such index: ", |rest, _| {
        let key = rest.rsplit('.').next().unwrap_or(rest);
        Fault::new(1091, b"42000", format!("Can't DROP '{key}'; check that column/key exists"))
    }),
    ("no such savepoint: ", |rest, _| {
        Fault::new(1305, b"42000", format!("SAVEPOINT {rest} does not exist"))
    }),
    ("use DROP VIEW to delete view ", |rest, schema| {
        Fault::new(1051, b"42S02", format!("Unknown table '{schema}.{rest}'"))
    }),
    ("wrong number of arguments to function ", |rest, _| {
        let name = rest.trim_end_matches("()");
        Fault::new(
            1582,
            b"42000",
            format!("Incorrect parameter count in the call to native function '{name}'"),
        )
    }),
    ("Unknown system variable ", |rest, _| Fault::unknown_variable(rest.trim_matches('\''))),
    ("misuse of aggregate", |_, _| Fault::new(1111, b"HY000", "Invalid use of group function")),
    ("sub-select returns ", |_, _| {
        Fault::new(1241, b"21000", "Operand should contain 1 column(s)")
    }),
    ("datatype mismatch", |_, _| Fault::new(1366, b"HY000", "Incorrect integer value")),
    ("string or blob too big", |_, _| Fault::too_large()),
];

fn unknown_column(column: &str, _schema: &str) -> Fault {
    Fault::new(1054, b"42S22", format!("Unknown column '{column}' in 'field list'"))
}

fn already_exists(message: &str) -> Fault {
    let mut words = message.split(' ');
    let (what, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let name = name.trim_matches(['`', '"']);
    if what == "index" {
        let key = name.rsplit('.').next().unwrap_or(name);
        return Fault::new(1061, b"42000", format!("Duplicate key name '{key}'"));
    }
    Fault::new(1050, b"42S01", format!("Table '{name}' already exists"))
}
