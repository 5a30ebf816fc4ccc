//! Errors of SQLite in MySQL's numbers and words.

use mysql_server::Fault;
use rusqlite::{Error, ErrorCode};

/// 1235: MySQL has it, these servers have not.
pub(crate) fn unsupported(what: &str) -> Fault {
    Fault::new(1235, b"42000", format!("This server of the demo doesn't support '{what}'"))
}

/// 1290: a write on a replica.
pub(crate) fn read_only() -> Fault {
    let message = "The MySQL server is running with the --read-only option so it cannot execute \
                   this statement";
    Fault::new(1290, b"HY000", message)
}

/// 1049: no such schema.
pub(crate) fn unknown_schema(name: &str) -> Fault {
    Fault::new(1049, b"42000", format!("Unknown database '{name}'"))
}

/// 1193: no such system variable.
pub(crate) fn unknown_variable(name: &str) -> Fault {
    Fault::new(1193, b"HY000", format!("Unknown system variable '{name}'"))
}

/// 1064: the text is not understood from `near` on.
pub(crate) fn syntax(near: &str) -> Fault {
    let near: String = near.chars().take(80).collect();
    let message = format!(
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL \
         server version for the right syntax to use near '{near}' at line 1"
    );
    Fault::new(1064, b"42000", message)
}

/// An error of SQLite in this schema.
pub(crate) fn of_sqlite(error: &Error, schema: &str) -> Fault {
    let (failure, message) = match error {
        Error::SqliteFailure(failure, text) => (failure, text.clone().unwrap_or_default()),
        Error::SqlInputError { error, msg, sql, offset } => {
            if msg.ends_with("syntax error") {
                let near = usize::try_from(*offset).ok().and_then(|at| sql.get(at..));
                return syntax(near.unwrap_or_default());
            }
            (error, msg.clone())
        }
        other => return Fault::new(1105, b"HY000", other.to_string()),
    };
    match failure.code {
        // a transaction that has read before another one wrote cannot write any more
        _ if failure.extended_code == rusqlite::ffi::SQLITE_BUSY_SNAPSHOT => {
            let text = "Deadlock found when trying to get lock; try restarting transaction";
            Fault::new(1213, b"40001", text)
        }
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            let text = "Lock wait timeout exceeded; try restarting transaction";
            Fault::new(1205, b"HY000", text)
        }
        ErrorCode::OperationInterrupted => {
            Fault::new(1317, b"70100", "Query execution was interrupted")
        }
        ErrorCode::ReadOnly => read_only(),
        _ => of_message(&message, schema),
    }
}

/// A message that is not in the list is an error 1105 with SQLite's words.
fn of_message(message: &str, schema: &str) -> Fault {
    if message == "incomplete input" {
        return syntax("");
    }
    if let Some(name) = message.strip_suffix(" already exists") {
        let name = name.rsplit([' ', '"', '`']).find(|part| !part.is_empty());
        let text = format!("Table '{}' already exists", name.unwrap_or_default());
        return Fault::new(1050, b"42S01", text);
    }
    let known = MESSAGES.iter().find_map(|(begin, code, sqlstate, text)| {
        let rest = message.strip_prefix(begin)?;
        let name = rest.rsplit('.').next().unwrap_or(rest);
        let text = text.replace("{schema}", schema).replace("{name}", name);
        Some(Fault::new(*code, sqlstate, text.replace("{rest}", rest)))
    });
    known.unwrap_or_else(|| Fault::new(1105, b"HY000", message))
}

/// Beginnings of SQLite's messages, and number, state and words of MySQL.
const MESSAGES: &[(&str, u16, &[u8; 5], &str)] = &[
    ("no such table: ", 1146, b"42S02", "Table '{schema}.{name}' doesn't exist"),
    ("no such column: ", 1054, b"42S22", "Unknown column '{rest}' in 'field list'"),
    ("no such function: ", 1305, b"42000", "FUNCTION {schema}.{name} does not exist"),
    ("no such savepoint: ", 1305, b"42000", "SAVEPOINT {name} does not exist"),
    ("UNIQUE constraint failed: ", 1062, b"23000", "Duplicate entry for key '{rest}'"),
    ("NOT NULL constraint failed: ", 1048, b"23000", "Column '{name}' cannot be null"),
    ("CHECK constraint failed: ", 3819, b"HY000", "Check constraint '{rest}' is violated."),
    (
        "FOREIGN KEY constraint failed",
        1452,
        b"23000",
        "Cannot add or update a child row: a foreign key constraint fails",
    ),
];
