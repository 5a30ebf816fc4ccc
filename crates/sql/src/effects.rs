//! What a statement may leave on a connection, or may read of what earlier ones left there.
//!
//! The set says nothing of what to do about it: whether a lane is kept is the engine's decision.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of effects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Effects(u64);

impl Effects {
    /// No effect at all.
    pub const NONE: Self = Self(0);
    /// `FOR UPDATE`, `FOR SHARE`, `LOCK IN SHARE MODE`.
    pub const LOCKING_READ: Self = Self(1 << 0);
    /// A `;` followed by more than blanks and comments.
    pub const MULTI_STATEMENT: Self = Self(1 << 1);
    /// A user variable `@x` read or written.
    pub const USER_VARIABLE: Self = Self(1 << 2);
    /// A system variable `@@x` read or written.
    pub const SYSTEM_VARIABLE: Self = Self(1 << 3);
    /// A temporary table created or dropped.
    pub const TEMPORARY_TABLE: Self = Self(1 << 4);
    /// `LOCK TABLES`, `FLUSH … WITH READ LOCK`, `FLUSH … FOR EXPORT`, `LOCK INSTANCE`, `BACKUP`.
    pub const LOCKS_TABLES: Self = Self(1 << 5);
    /// `UNLOCK TABLES`.
    pub const UNLOCKS_TABLES: Self = Self(1 << 6);
    /// `GET_LOCK()` and its family.
    pub const USER_LOCK: Self = Self(1 << 7);
    /// `PREPARE x FROM …`, `DEALLOCATE PREPARE`, `DROP PREPARE`.
    pub const TEXT_PREPARE: Self = Self(1 << 8);
    /// `EXECUTE x`, `EXECUTE IMMEDIATE`.
    pub const TEXT_EXECUTE: Self = Self(1 << 9);
    /// `SQL_CALC_FOUND_ROWS`.
    pub const CALC_FOUND_ROWS: Self = Self(1 << 10);
    /// `FOUND_ROWS()`.
    pub const READS_FOUND_ROWS: Self = Self(1 << 11);
    /// `ROW_COUNT()`.
    pub const READS_ROW_COUNT: Self = Self(1 << 12);
    /// `LAST_INSERT_ID()`, `@@last_insert_id`, `@@identity`, `@@insert_id`.
    pub const READS_LAST_INSERT_ID: Self = Self(1 << 13);
    /// `LOAD DATA`, `INSERT … RETURNING`: no reply tells the value; and `LAST_INSERT_ID(expr)`,
    /// which reads it as well: rows do not tell it, an OK does.
    pub const SETS_LAST_INSERT_ID: Self = Self(1 << 14);
    /// Any `XA` statement but `XA RECOVER`.
    pub const XA: Self = Self(1 << 15);
    /// Any `HANDLER` statement.
    pub const HANDLER: Self = Self(1 << 16);
    /// `SAVEPOINT`, `RELEASE SAVEPOINT`, `ROLLBACK TO`.
    pub const SAVEPOINT: Self = Self(1 << 17);
    /// Reads the diagnostics of the statement before: `SHOW WARNINGS`, `SHOW ERRORS`,
    /// `GET DIAGNOSTICS`, `@@warning_count`, `@@error_count`.
    pub const SHOW_WARNINGS: Self = Self(1 << 18);
    /// `CONNECTION_ID()`, `@@pseudo_thread_id`, `PS_CURRENT_THREAD_ID()`.
    pub const CONNECTION_ID: Self = Self(1 << 19);
    /// `INTO OUTFILE`, `INTO DUMPFILE`.
    pub const INTO_FILE: Self = Self(1 << 20);
    /// `SET STATEMENT … FOR …`; the verb is that of the inner statement.
    pub const SET_STATEMENT: Self = Self(1 << 21);
    /// `BEGIN`, `START TRANSACTION`, `COMMIT AND CHAIN`.
    pub const TRANSACTION_START: Self = Self(1 << 22);
    /// `COMMIT`, `ROLLBACK` (not `ROLLBACK TO`).
    pub const TRANSACTION_END: Self = Self(1 << 23);
    /// The server commits before it runs the statement: data definition and administration.
    pub const IMPLICIT_COMMIT: Self = Self(1 << 24);
    /// Changes the session in a way no other bit names: `SET ROLE`, `SET PASSWORD`,
    /// `COMMIT RELEASE`, `DROP DATABASE`, a second statement that is a `SET` or `USE`, ….
    pub const CHANGES_SESSION: Self = Self(1 << 25);
    /// `NEXTVAL`, `LASTVAL`, `SETVAL`, `NEXT VALUE FOR`, `PREVIOUS VALUE FOR`.
    pub const SEQUENCE: Self = Self(1 << 26);
    /// `LOAD DATA LOCAL`, `LOAD XML LOCAL`.
    pub const LOAD_LOCAL: Self = Self(1 << 27);
    /// `CALL`: the procedure may do anything of the above.
    pub const CALLS_PROCEDURE: Self = Self(1 << 28);
    /// Not understood, or readable in more than one way: it may do anything of the above.
    pub const UNCLEAR: Self = Self(1 << 29);
    /// A user variable is set otherwise than by `SET`: `@x := …`, `INTO @x`, `LOAD DATA`.
    pub const SETS_USER_VARIABLE: Self = Self(1 << 30);
    /// `KILL`, also in a text that is prepared or executed, or such a text that is not read; not in
    /// the body of stored code.
    pub const KILLS: Self = Self(1 << 31);

    /// Stored code changes data: a function in a `SELECT` writes.
    pub const WRITES: Self = Self(1 << 40);
    /// Stored code changes the session: where it fails, no reply tells of what it has changed.
    pub const STORED_CODE: Self = Self(1 << 41);
    /// Stored code may run that nobody has read: what a statement leaves that failed is not known.
    pub const UNKNOWN_CODE: Self = Self(1 << 43);
    /// A function is called that nobody has read, or a table is new: what may be done is presumed.
    pub const PRESUMED: Self = Self(1 << 45);
    /// A table is read or changed that was not there when all were read: it may be a view, or have
    /// triggers.
    pub const NEW_TABLE: Self = Self(1 << 47);
    /// A part of the text was not read: more may be left than the other effects say.
    pub const UNREAD: Self = Self(1 << 46);
    /// A stored function, or a procedure, reads or sets a user variable: a MySQL keeps the type
    /// that it met first, as long as the connection lasts or until that is reset.
    pub const VARIABLE_IN_CODE: Self = Self(1 << 49);
    /// A stored function runs, or a procedure: a MySQL keeps it as it read it first, by the
    /// settings of then, as long as the connection lasts or until that is reset.
    pub const CALLS_CODE: Self = Self(1 << 50);
    /// The text is kept as stored code, all that it names included: nothing of it runs.
    pub const KEEPS_CODE: Self = Self(1 << 48);
    /// Tables or stored code may be others afterwards.
    pub const DEFINES: Self = Self(1 << 42);

    /// A view, or a column that is computed, gives other values without any change of data: by the
    /// time, by who asks, or at random.
    pub const VARIES: Self = Self(1 << 51);

    /// Rows are written of which some may have been given their numbers, or updated: an OK tells an
    /// id then that `LAST_INSERT_ID()` does not give.
    pub const GIVES_INSERT_ID: Self = Self(1 << 44);

    /// A text that has them may run others, which are made while it runs.
    pub const RUNS_TEXTS: Self = Self::TEXT_EXECUTE.union(Self::TEXT_PREPARE).union(Self::UNCLEAR);

    /// What a view, a function or a trigger may do of which nothing is known.
    pub const ANY_STORED_CODE: Self = Self(
        Self::USER_VARIABLE.0
            | Self::SETS_USER_VARIABLE.0
            | Self::TEMPORARY_TABLE.0
            | Self::USER_LOCK.0
            | Self::READS_FOUND_ROWS.0
            | Self::READS_LAST_INSERT_ID.0
            | Self::CONNECTION_ID.0
            | Self::SEQUENCE.0
            | Self::CHANGES_SESSION.0
            | Self::WRITES.0
            | Self::VARIABLE_IN_CODE.0
            | Self::CALLS_CODE.0
            | Self::STORED_CODE.0,
    );

    /// Whether every effect of `other` is in the set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any effect of `other` is in the set.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Both sets together.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set less the effects of `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Those effects of the set that are in `other`.
    pub const fn only(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds the effects of `other`.
    pub const fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// The names of the effects in the set, as written in this module.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.iter().filter(move |(_, bit)| self.contains(*bit)).map(|(name, _)| *name)
    }

    /// Every effect with its name.
    pub fn all() -> impl Iterator<Item = (&'static str, Self)> {
        NAMES.into_iter()
    }

    /// The effect of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, bit)| *bit)
    }
}

impl BitOr for Effects {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl BitOrAssign for Effects {
    fn bitor_assign(&mut self, other: Self) {
        self.insert(other);
    }
}

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("NONE");
        }
        for (i, name) in self.names().enumerate() {
            if i > 0 {
                f.write_str("|")?;
            }
            f.write_str(name)?;
        }
        Ok(())
    }
}

const NAMES: [(&str, Effects); 44] = [
    ("LOCKING_READ", Effects::LOCKING_READ),
    ("MULTI_STATEMENT", Effects::MULTI_STATEMENT),
    ("USER_VARIABLE", Effects::USER_VARIABLE),
    ("SYSTEM_VARIABLE", Effects::SYSTEM_VARIABLE),
    ("TEMPORARY_TABLE", Effects::TEMPORARY_TABLE),
    ("LOCKS_TABLES", Effects::LOCKS_TABLES),
    ("UNLOCKS_TABLES", Effects::UNLOCKS_TABLES),
    ("USER_LOCK", Effects::USER_LOCK),
    ("TEXT_PREPARE", Effects::TEXT_PREPARE),
    ("TEXT_EXECUTE", Effects::TEXT_EXECUTE),
    ("CALC_FOUND_ROWS", Effects::CALC_FOUND_ROWS),
    ("READS_FOUND_ROWS", Effects::READS_FOUND_ROWS),
    ("READS_ROW_COUNT", Effects::READS_ROW_COUNT),
    ("READS_LAST_INSERT_ID", Effects::READS_LAST_INSERT_ID),
    ("SETS_LAST_INSERT_ID", Effects::SETS_LAST_INSERT_ID),
    ("XA", Effects::XA),
    ("HANDLER", Effects::HANDLER),
    ("SAVEPOINT", Effects::SAVEPOINT),
    ("SHOW_WARNINGS", Effects::SHOW_WARNINGS),
    ("CONNECTION_ID", Effects::CONNECTION_ID),
    ("INTO_FILE", Effects::INTO_FILE),
    ("SET_STATEMENT", Effects::SET_STATEMENT),
    ("TRANSACTION_START", Effects::TRANSACTION_START),
    ("TRANSACTION_END", Effects::TRANSACTION_END),
    ("IMPLICIT_COMMIT", Effects::IMPLICIT_COMMIT),
    ("CHANGES_SESSION", Effects::CHANGES_SESSION),
    ("SEQUENCE", Effects::SEQUENCE),
    ("LOAD_LOCAL", Effects::LOAD_LOCAL),
    ("CALLS_PROCEDURE", Effects::CALLS_PROCEDURE),
    ("UNCLEAR", Effects::UNCLEAR),
    ("SETS_USER_VARIABLE", Effects::SETS_USER_VARIABLE),
    ("WRITES", Effects::WRITES),
    ("STORED_CODE", Effects::STORED_CODE),
    ("UNKNOWN_CODE", Effects::UNKNOWN_CODE),
    ("UNREAD", Effects::UNREAD),
    ("PRESUMED", Effects::PRESUMED),
    ("NEW_TABLE", Effects::NEW_TABLE),
    ("VARIABLE_IN_CODE", Effects::VARIABLE_IN_CODE),
    ("CALLS_CODE", Effects::CALLS_CODE),
    ("KEEPS_CODE", Effects::KEEPS_CODE),
    ("DEFINES", Effects::DEFINES),
    ("GIVES_INSERT_ID", Effects::GIVES_INSERT_ID),
    ("KILLS", Effects::KILLS),
    ("VARIES", Effects::VARIES),
];
