//! What a statement of a statistics account may cost: time, and bytes of a value and of a result.
//!
//! Statements run on the one thread of the interface, so a reader that takes it takes it from
//! administrators. Lengths bound what a single step of SQLite may do between two looks at the
//! clock: searching a long text in another one takes the product of both.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::ffi::ErrorCode;
use rusqlite::limits::Limit;
use rusqlite::types::Value;

use super::lock;
use crate::fault::AdminFault;
use crate::live::Row;

/// The bounds of a connection to SQLite.
pub(super) struct Bounds {
    over_at: Arc<Mutex<Option<Instant>>>,
}

impl Bounds {
    /// Sets bounds for everything that runs on `connection`, which has all of its schemas.
    pub(super) fn set(connection: &mut Connection) -> Result<Self, AdminFault> {
        for (limit, most) in LIMITS {
            connection.set_limit(limit, most)?;
        }
        let over_at: Arc<Mutex<Option<Instant>>> = Arc::default();
        let looked_at = Arc::clone(&over_at);
        let is_over = move || lock(&looked_at).is_some_and(|at| Instant::now() >= at);
        connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(is_over))?;
        Ok(Self { over_at })
    }

    /// A statement begins: its time runs until [`Bounds::end`].
    pub(super) fn begin(&self) {
        *lock(&self.over_at) = Some(Instant::now() + STATEMENT_LIMIT);
    }

    /// It has ended.
    pub(super) fn end(&self) {
        *lock(&self.over_at) = None;
    }
}

/// Whether a result of so many bytes is too much.
pub(super) fn is_too_much(bytes: usize) -> bool {
    bytes > RESULT_BYTES_MAX
}

/// Leaves of each value in rows what fits.
pub(super) fn cut(rows: &mut [Row]) {
    for value in rows.iter_mut().flatten() {
        match value {
            Value::Text(text) if text.len() > SHOWN_BYTES_MAX => {
                text.truncate(text.floor_char_boundary(SHOWN_BYTES_MAX));
            }
            Value::Blob(bytes) => bytes.truncate(SHOWN_BYTES_MAX),
            _ => {}
        }
    }
}

/// What SQLite refused, in words where a bound was met.
pub(super) fn fault(error: &rusqlite::Error) -> AdminFault {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => AdminFault::interrupted(),
        _ => AdminFault::sqlite(error),
    }
}

/// Bounds that SQLite keeps.
const LIMITS: [(Limit, i32); 5] = [
    (Limit::SQLITE_LIMIT_LENGTH, 256 << 10),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 64 << 10),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 256),
    // what is attached is attached already; VACUUM INTO would attach one more
    (Limit::SQLITE_LIMIT_ATTACHED, 3),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];
/// Bytes of a value that are shown; several of them are less than a row may have.
const SHOWN_BYTES_MAX: usize = 64 << 10;
/// Bytes of a result.
const RESULT_BYTES_MAX: usize = 64 << 20;
/// Time of a statement.
const STATEMENT_LIMIT: Duration = Duration::from_secs(2);
/// Steps of SQLite's machine between two looks at the clock.
const STEPS_BETWEEN_LOOKS: i32 = 1000;
