//! What stands behind a connection.

use wire::Status;
use wire::auth::rsa::ServerKey;

use crate::results::{Cell, Column, Rows};

/// Who answers the statements of a connection, for the length of a packet.
pub trait Handler {
    /// The account of a name; `None` when there is none.
    fn account(&mut self, user: &str) -> Option<Account>;

    /// Whether whoever gives that name has to show the password itself: of an account, as nothing
    /// is stored but a hash of `caching_sha2_password`; of any other name, as of such an account.
    fn wants_password(&self, _user: &str) -> bool {
        false
    }

    /// What takes as long to compare with as the password of an account that has to be shown.
    fn account_of_nobody(&self) -> Option<Account> {
        None
    }

    /// The key that clients without TLS show a password under; without it they cannot.
    fn key(&self) -> Option<&ServerKey> {
        None
    }

    /// Whether nobody can listen in even without TLS.
    fn is_private(&self) -> bool {
        false
    }

    /// Why a client gets no further whose connection is not encrypted.
    fn refuses_clear(&self) -> Option<Fault> {
        None
    }

    /// What a client is told whose name or password is wrong: one answer for both.
    fn denied(&self, user: &str) -> Fault;

    /// Begins the session of a user that has proved the password, anew if there is one. `schema`
    /// is empty where the client named none.
    fn begin(&mut self, user: &str, schema: &str) -> Result<(), Refusal>;

    /// What of the session's state every answer tells.
    fn status(&self) -> Status;

    /// Warnings of the last statement.
    fn warnings(&self) -> usize;

    /// The statements of a text, in order; `several` says whether the client sends more than one.
    fn statements<'t>(&self, text: &'t str, several: bool) -> Result<Vec<&'t str>, Fault>;

    /// Carries a statement out. `values` are those of its parameters.
    fn run(&mut self, statement: &str, values: &[Cell]) -> Result<Answer, Fault>;

    /// What a statement will need and give.
    fn describe(&mut self, statement: &str) -> Result<Description, Fault>;

    /// `COM_INIT_DB`.
    fn use_schema(&mut self, schema: &str) -> Result<(), Fault>;

    /// `COM_RESET_CONNECTION`: the session is as it was after the login.
    fn reset(&mut self) -> Result<(), Fault>;

    /// Bytes that the connection's prepared statements may take with the values sent ahead for
    /// them, and what is told beyond; `None` for any number.
    fn prepared_bytes(&self) -> Option<(usize, Fault)> {
        None
    }
}

/// An account, as far as logins need it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    /// Its password, `*` with the forty digits of its doubled SHA-1, or what MySQL stores for it by
    /// `caching_sha2_password`.
    pub password: String,
}

/// An error as a client gets it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// MySQL's number.
    pub code: u16,
    /// SQLSTATE.
    pub sqlstate: [u8; 5],
    /// What the client reads.
    pub message: String,
}

impl Fault {
    /// Any error.
    pub fn new(code: u16, sqlstate: &[u8; 5], message: impl Into<String>) -> Self {
        Self { code, sqlstate: *sqlstate, message: message.into() }
    }
}

/// Why a client that has proved its password is not let in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// What the client reads.
    pub fault: Fault,
    /// Why, for the log.
    pub why: String,
}

/// What a statement came to.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// Rows.
    Rows(Rows),
    /// It was carried out.
    Done {
        /// Rows that it changed.
        affected_rows: u64,
        /// The number that it gave to a row, or 0.
        last_insert_id: u64,
        /// What to know.
        info: String,
    },
}

impl Answer {
    /// Carried out, nothing to tell.
    pub const DONE: Self = Self::Done { affected_rows: 0, last_insert_id: 0, info: String::new() };
}

/// What a prepared statement will need and give.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Description {
    /// Columns of its result, as far as they are known before it runs.
    pub columns: Vec<Column>,
    /// Parameters it has.
    pub parameters: usize,
}
