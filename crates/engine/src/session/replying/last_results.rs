//! What statements came to, kept for statements that ask for it later. Which statements ask, and
//! how that is answered, is known to `own_answers`, `recall` and `diagnostics`.

use wire::Status;

use crate::error::SqlError;
use crate::session::replying::recall::Recall;

/// What the last statements came to.
pub(crate) struct LastResults {
    /// `LAST_INSERT_ID()`.
    pub insert_id: u64,
    /// `ROW_COUNT()` after the last statement.
    pub row_count: i64,
    /// `FOUND_ROWS()` after the last statement.
    pub found_rows: u64,
    /// What servers told last of how the session's texts are read, and of its transaction.
    pub told: Status,
    /// What is known of the warnings that the last statement left, where its lane is not kept.
    pub recall: Option<Box<Recall>>,
    /// Number and SQLSTATE of the last error that a server told.
    pub error: (u16, [u8; 5]),
    /// It told of a table or function that the statement itself names: nothing of it was done.
    pub misses_name: bool,
    /// A transaction, or anything else, went with its server while nothing was asked: the next
    /// command is told, and is the last one.
    pub lost: Option<Box<SqlError>>,
}

impl Default for LastResults {
    fn default() -> Self {
        Self {
            insert_id: 0,
            row_count: 0,
            found_rows: 0,
            told: Status::default(),
            recall: None,
            error: (0, *b"HY000"),
            misses_name: false,
            lost: None,
        }
    }
}
