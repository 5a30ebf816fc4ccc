//! Errors of the administrative interface, for the reference.
//!
//! Data only; a test runs the example of each.

/// An error as the reference tells it.
#[derive(Clone, Copy, Debug)]
pub struct FaultRow {
    /// Its number.
    pub code: u16,
    /// Its SQLSTATE.
    pub sqlstate: &'static str,
    /// When a client gets it.
    pub when: &'static str,
    /// A statement that is refused with it; empty when there is none that always is.
    pub example: &'static str,
}

/// Every error, by number.
pub const FAULTS: &[FaultRow] = &[
    row(1021, "HY000", "there is no room on the disk for what was to be saved", ""),
    row(1026, "HY000", "a database file cannot be written, or read", ""),
    row(
        1040,
        "08004",
        "no free slot; too many clients of its address wait to log in; or, after wrong passwords, \
         the login would wait more than 10 s",
        "",
    ),
    row(1043, "08S01", "a login does not follow the protocol", ""),
    row(
        1045,
        "28000",
        "wrong user or password. As in ProxySQL, also each refusal without a number of its own: \
         syntax, a write where only reads are allowed, a command that cannot be carried out",
        "NOTHING",
    ),
    row(1047, "08S01", "a command of the protocol is not known", ""),
    row(
        1048,
        "23000",
        "NULL where a value is wanted",
        "INSERT INTO mysql_users (password) VALUES ('x')",
    ),
    row(1049, "42000", "a schema does not exist", "SHOW TABLES FROM nowhere"),
    row(1054, "42S22", "a column does not exist", "SELECT height FROM mysql_users"),
    row(
        1062,
        "23000",
        "there is such a row already",
        "INSERT INTO global_variables VALUES ('mysql-threads', '1')",
    ),
    row(1064, "42000", "a command is not complete, or not known", "PROXYSQL DANCE"),
    row(1065, "42000", "there is no statement", ""),
    row(1094, "HY000", "there is no such session", "KILL 4000000000"),
    row(1146, "42S02", "a table does not exist", "SELECT * FROM nowhere"),
    row(
        1153,
        "08S01",
        "a packet of more than 64 MiB (statistics accounts: 256 KiB), or of more than 16 KiB \
         before the login",
        "",
    ),
    row(1159, "08S01", "a client did not log in within 10 s", ""),
    row(1193, "HY000", "a variable does not exist", "SET mysql-nothing = 1"),
    row(1205, "HY000", "the database file is locked by somebody else", ""),
    row(1210, "HY000", "a configuration is wrong: nothing of it came into force, or was saved", ""),
    row(1231, "42000", "a variable cannot have that value", "SET mysql-threads = 0"),
    row(1243, "HY000", "a prepared statement does not exist", ""),
    row(
        1366,
        "HY000",
        "a text where the number of a row is wanted",
        "INSERT INTO scheduler (id, interval_ms, filename) VALUES ('x', 1000, 'y')",
    ),
    row(1461, "42000", "a client has prepared too many statements", ""),
    row(1835, "HY000", "bytes are no command", ""),
    row(3024, "HY000", "a statement of a statistics account took longer than 2 s", ""),
    row(
        3819,
        "HY000",
        "a value is not allowed in its column",
        "INSERT INTO scheduler (interval_ms, filename) VALUES (1, 'y')",
    ),
];

const fn row(
    code: u16,
    sqlstate: &'static str,
    when: &'static str,
    example: &'static str,
) -> FaultRow {
    FaultRow { code, sqlstate, when, example }
}
