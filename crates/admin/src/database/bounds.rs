//! What a statement of a statistics account may cost: time, and bytes of a value and of a result.
//!
//! Statements run on the one thread of the interface, so a reader that takes it takes it from
//! administrators. SQLite looks at the clock where a program jumps back, not between the functions
//! of one expression. So lengths bound what one call takes, and `guard` how many there are:
//! searching a text in another one takes the product of both lengths.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::ffi::ErrorCode;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::limits::Limit;
use rusqlite::types::Value;

use super::{lock, lossy, text_of};
use crate::fault::AdminFault;
use crate::statistics::Row;

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
        for (name, starts, ends) in TRIMS {
            let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
            connection.create_scalar_function(name, 2, flags, move |context| {
                trim(context, starts, ends)
            })?;
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

/// Whether a statement has more steps than it may.
pub(super) fn is_too_long(error: &rusqlite::Error) -> bool {
    // that is how SQLite says it
    error.sqlite_error_code() == Some(ErrorCode::OutOfMemory)
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

/// A text without signs of a set at its ends; SQLite's own takes the product of both lengths, for
/// each sign anew.
fn trim(context: &Context<'_>, starts: bool, ends: bool) -> rusqlite::Result<Option<String>> {
    let text = |at| text_of(context.get_raw(at)).map(lossy);
    let (Some(text), Some(set)) = (text(0), text(1)) else { return Ok(None) };
    let set: HashSet<char> = set.chars().collect();
    let mut left = text.as_str();
    if starts {
        left = left.trim_start_matches(|sign| set.contains(&sign));
    }
    if ends {
        left = left.trim_end_matches(|sign| set.contains(&sign));
    }
    Ok(Some(left.to_owned()))
}

/// Functions with two arguments, and the ends that they trim.
const TRIMS: [(&str, bool, bool); 3] =
    [("trim", true, true), ("ltrim", true, false), ("rtrim", false, true)];
/// Bounds that SQLite keeps.
const LIMITS: [(Limit, i32); 6] = [
    (Limit::SQLITE_LIMIT_LENGTH, 64 << 10),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 64 << 10),
    // steps of a program; one without a jump back is not interrupted
    (Limit::SQLITE_LIMIT_VDBE_OP, 10_752),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 256),
    // what is attached is attached already; VACUUM INTO would attach one more
    (Limit::SQLITE_LIMIT_ATTACHED, 3),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];
/// Bytes of a value that are shown; several of them are less than a row may have.
const SHOWN_BYTES_MAX: usize = 16 << 10;
/// Bytes of a result.
const RESULT_BYTES_MAX: usize = 64 << 20;
/// Time of a statement.
pub(crate) const STATEMENT_LIMIT: Duration = Duration::from_secs(2);
/// Steps of SQLite's machine between two looks at the clock.
const STEPS_BETWEEN_LOOKS: i32 = 100;
