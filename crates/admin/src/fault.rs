//! What the administrative interface answers instead of a result.

use std::fmt;

/// An error as a client of the administrative interface gets it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdminFault {
    /// MySQL's number.
    pub code: u16,
    /// SQLSTATE.
    pub sqlstate: [u8; 5],
    /// What the client reads.
    pub message: String,
    /// Everything that is wrong, for SHOW WARNINGS, when it is more than the message says.
    pub all: Vec<String>,
}

impl AdminFault {
    /// An error with ProxySQL's number for everything that its administrative module refuses.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(1045, *b"28000", message)
    }

    /// Any error.
    pub fn new(code: u16, sqlstate: [u8; 5], message: impl Into<String>) -> Self {
        Self { code, sqlstate, message: message.into(), all: Vec::new() }
    }

    /// A configuration that cannot be put in force; `reasons` has at least one.
    pub fn configuration(reasons: Vec<String>) -> Self {
        Self::invalid("nothing was applied", reasons)
    }

    /// A configuration that could not be put in force by a process that begins with it.
    pub(crate) fn not_saved(reasons: Vec<String>) -> Self {
        Self::invalid("nothing was saved", reasons)
    }

    /// What is not written because an administrator wanted it so.
    pub(crate) fn read_only() -> Self {
        Self::refused(format!(
            "ProxySQL Admin Error: {READ_ONLY}; PROXYSQL READWRITE lets it be written again"
        ))
    }

    /// There is no place for a client, or not for its password.
    pub(crate) fn too_many_connections() -> Self {
        Self::new(1040, *b"08004", "Too many connections")
    }

    /// A client did not say in time who it is.
    pub(crate) fn too_slow() -> Self {
        Self::new(1159, *b"08S01", "Got timeout reading communication packets")
    }

    /// A client came in clear where that is not allowed.
    pub(crate) fn not_secure() -> Self {
        let message = "Connections using insecure transport are prohibited while \
                       admin-require_secure_transport is true.";
        Self::new(3159, *b"HY000", message)
    }

    /// A statement of a statistics account has taken too long.
    pub(crate) fn interrupted() -> Self {
        let message = "ProxySQL Admin Error: a statement of a statistics account may take 2 s";
        Self::new(3024, *b"HY000", message)
    }

    /// Whether SQLite refused because it may only read.
    pub(crate) fn is_of_read_only(&self) -> bool {
        self.message.ends_with(READ_ONLY)
    }

    /// Whether a file could not be written.
    pub(crate) fn is_of_disk(&self) -> bool {
        matches!(self.code, DISK_FULL | NOT_WRITTEN)
    }

    fn invalid(outcome: &str, reasons: Vec<String>) -> Self {
        let first = reasons.first().map_or("", String::as_str);
        let message = match reasons.len() {
            0 | 1 => format!("{outcome}: {first}"),
            count => format!("{outcome}: {first} (and {} more; see SHOW WARNINGS)", count - 1),
        };
        Self { all: reasons, ..Self::new(INVALID, *b"HY000", message) }
    }

    /// What SQLite refused.
    pub fn sqlite(error: &rusqlite::Error) -> Self {
        use rusqlite::ffi::ErrorCode;
        let code = error.sqlite_error_code();
        let reason = match error {
            rusqlite::Error::SqliteFailure(_, Some(reason)) => reason.clone(),
            rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
            other => other.to_string(),
        };
        let message = format!("ProxySQL Admin Error: {reason}");
        match code {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::new(1205, *b"HY000", message)
            }
            Some(ErrorCode::DiskFull) => Self::new(DISK_FULL, *b"HY000", message),
            Some(ErrorCode::SystemIoFailure) => Self::new(NOT_WRITTEN, *b"HY000", message),
            _ => Self::refused(message),
        }
    }
}

/// MySQL's number for a disk without room.
const DISK_FULL: u16 = 1021;
/// MySQL's number for a file that cannot be written.
const NOT_WRITTEN: u16 = 1026;

impl From<rusqlite::Error> for AdminFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::sqlite(&error)
    }
}

impl fmt::Display for AdminFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for AdminFault {}

/// SQLite's words for what may not be written.
const READ_ONLY: &str = "attempt to write a readonly database";
/// The error number of a configuration that is refused.
const INVALID: u16 = 1210;
