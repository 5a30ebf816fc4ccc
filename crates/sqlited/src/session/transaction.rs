//! How far a session's transaction is, in MySQL's terms and in SQLite's.
//!
//! A transaction of MySQL becomes one of SQLite as late as it can: a read takes a snapshot, the
//! first write takes the one write lock there is. So sessions that only read never wait, a session
//! that cannot have the lock has done nothing yet and can simply try again, and there is no
//! deadlock.

use crate::fault::{Stop, from_sqlite};
use crate::store::Database;

/// The state of a session's transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Transaction {
    stage: Stage,
    autocommit: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// None is open.
    None,
    /// The client began one; SQLite does not know yet.
    Announced,
    /// SQLite holds a snapshot for it.
    Reading,
    /// SQLite holds the write lock for it.
    Writing,
}

impl Transaction {
    /// None, and statements end their own.
    pub(crate) const NONE: Self = Self { stage: Stage::None, autocommit: true };

    /// Whether the client is in a transaction.
    pub(crate) fn is_open(self) -> bool {
        self.stage != Stage::None
    }

    /// Whether statements end their own transaction.
    pub(crate) fn autocommit(self) -> bool {
        self.autocommit
    }

    /// Whether a statement that changes something becomes part of a longer transaction.
    pub(crate) fn spans_statements(self) -> bool {
        self.is_open() || !self.autocommit
    }

    /// Whether others wait for its end.
    pub(crate) fn holds_lock(self) -> bool {
        self.stage == Stage::Writing
    }

    /// BEGIN, or the CHAIN of a COMMIT.
    pub(crate) fn announce(&mut self) {
        self.stage = Stage::Announced;
    }

    /// SET autocommit; the caller ends an open transaction first.
    pub(crate) fn set_autocommit(&mut self, on: bool) {
        self.autocommit = on;
    }

    /// Starts the snapshot of a transaction that has none.
    pub(crate) fn before_read(&mut self, db: &Database) -> Result<(), Stop> {
        let begins = match self.stage {
            Stage::None => !self.autocommit,
            Stage::Announced => true,
            Stage::Reading | Stage::Writing => false,
        };
        if begins {
            execute(db, "BEGIN")?;
            self.stage = Stage::Reading;
        }
        Ok(())
    }

    /// Takes the write lock for the rest of the transaction.
    pub(crate) fn before_write(&mut self, db: &Database) -> Result<(), Stop> {
        match self.stage {
            Stage::None if self.autocommit => return Ok(()),
            Stage::Writing => return Ok(()),
            Stage::Reading => {
                // locking statements see the latest state, as in MySQL
                execute(db, "COMMIT")?;
                self.stage = Stage::Announced;
            }
            Stage::None | Stage::Announced => {}
        }
        execute(db, "BEGIN IMMEDIATE")?;
        self.stage = Stage::Writing;
        Ok(())
    }

    /// Whether SQLite has a part in it that must be ended there.
    pub(crate) fn reached_sqlite(self) -> bool {
        matches!(self.stage, Stage::Reading | Stage::Writing)
    }

    /// It is over.
    pub(crate) fn forget(&mut self) {
        self.stage = Stage::None;
    }

    /// SQLite gives a transaction up by itself after some errors.
    pub(crate) fn follow(&mut self, db: &Database) {
        if self.reached_sqlite() && db.connection.is_autocommit() {
            self.stage = Stage::None;
        }
    }
}

/// Runs a statement without parameters and result.
pub(crate) fn execute(db: &Database, sql: &str) -> Result<(), Stop> {
    let run = || -> rusqlite::Result<()> {
        let mut statement = db.connection.prepare(sql)?;
        let mut rows = statement.query(())?;
        while rows.next()?.is_some() {}
        Ok(())
    };
    run().map_err(|error| from_sqlite(&error, &db.schema))
}
