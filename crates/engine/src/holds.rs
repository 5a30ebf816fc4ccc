//! Why a session keeps a lane after a reply, and what becomes of the lane when it lets go.
//!
//! A hold is a named reason; nothing keeps a lane without one. `after` decides about them when a
//! command has ended. Where queries go while a lane is held is `session::placing::destination`;
//! this module only names and judges.

use sql::{Effects, Facts, Verb};

mod after;

pub use after::{Ended, Fate, How, Left, after, fate};

/// A set of reasons.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Holds(u32);

impl Holds {
    /// No reason.
    pub const NONE: Self = Self(0);
    /// A transaction is open.
    pub const TRANSACTION: Self = Self(1);
    /// User variables were set in a way that is not replayed.
    pub const USER_VARIABLE: Self = Self(1 << 1);
    /// Temporary tables may exist.
    pub const TEMPORARY_TABLE: Self = Self(1 << 2);
    /// Tables or the instance are locked.
    pub const LOCK_TABLES: Self = Self(1 << 3);
    /// Named locks may be held.
    pub const GET_LOCK: Self = Self(1 << 4);
    /// Statements were prepared by text.
    pub const TEXT_PREPARE: Self = Self(1 << 5);
    /// Multiplexing is switched off, for all or for the hostgroup.
    pub const MULTIPLEXING_OFF: Self = Self(1 << 6);
    /// The next statement may ask for the rows found.
    pub const FOUND_ROWS: Self = Self(1 << 7);
    /// The next statement may ask for the warnings; ends when somebody else waits, too.
    pub const WARNINGS: Self = Self(1 << 8);
    /// A `SET` that is not replayed was executed.
    pub const SET: Self = Self(1 << 9);
    /// A distributed transaction.
    pub const XA: Self = Self(1 << 10);
    /// A `HANDLER` may be open.
    pub const HANDLER: Self = Self(1 << 11);
    /// A procedure ran, which may have left anything behind.
    pub const PROCEDURE: Self = Self(1 << 12);
    /// The session used sequences; `LASTVAL` refers to the connection.
    pub const SEQUENCE: Self = Self(1 << 13);
    /// A statement that is not understood.
    pub const NOT_UNDERSTOOD: Self = Self(1 << 14);
    /// A cursor is open.
    pub const CURSOR: Self = Self(1 << 16);
    /// Multi-statements were switched on or off.
    pub const OPTION: Self = Self(1 << 17);
    /// Only the connection knows the last insert id; ends when the server has told it.
    pub const LAST_INSERT_ID: Self = Self(1 << 18);
    /// A rule has switched multiplexing off for the session.
    pub const NO_MULTIPLEX: Self = Self(1 << 19);
    /// The next transaction has characteristics of its own.
    pub const NEXT_TRANSACTION: Self = Self(1 << 20);
    /// The session asks within statements how many rows the one before changed.
    pub const ROW_COUNT: Self = Self(1 << 21);
    /// It is kept for a while after every query (`mysql-connection_delay_multiplex_ms`).
    pub const DELAY: Self = Self(1 << 23);
    /// A statement changed the server's session in a way that its text does not tell: a function,
    /// a view or a trigger did.
    pub const STATE_CHANGE: Self = Self(1 << 22);

    /// With autocommit off, a transaction may be open of which the server's flags do not tell: a
    /// savepoint was set, or a function or a table without transactions was locked. Goes with
    /// [`Self::TRANSACTION`].
    pub const UNTOLD_TRANSACTION: Self = Self(1 << 24);

    /// A statement asked its server for the connection's id, by which rows may be found again.
    pub const CONNECTION_ID: Self = Self(1 << 25);

    /// A table was read or changed of which nobody knows what it runs. Later statements may go
    /// elsewhere: most such tables run nothing.
    pub const NEW_TABLE: Self = Self(1 << 26);

    /// The transaction has characteristics of its own, which may outlast it: they are the next
    /// one's unless a `COMMIT` or `ROLLBACK` ends it.
    pub const CHARACTERISTICS: Self = Self(1 << 27);

    /// Every reason.
    pub const ALL: Self = Self(u32::MAX);

    /// Reasons for which all later queries must go to the same lane, whatever the rules say.
    pub const PINNING: Self = Self(
        Self::USER_VARIABLE.0
            | Self::TEMPORARY_TABLE.0
            | Self::LOCK_TABLES.0
            | Self::GET_LOCK.0
            | Self::TEXT_PREPARE.0
            | Self::SET.0
            | Self::XA.0
            | Self::HANDLER.0
            | Self::PROCEDURE.0
            | Self::SEQUENCE.0
            | Self::NOT_UNDERSTOOD.0
            | Self::OPTION.0
            | Self::NEXT_TRANSACTION.0
            | Self::ROW_COUNT.0
            | Self::STATE_CHANGE.0
            | Self::CONNECTION_ID.0,
    );

    /// Reasons for which the session may have settings that Tidegate was not told of, so that its
    /// texts may be read in another way. A `SET` that computes makes them, or a text that a
    /// statement ran.
    pub const UNTOLD_SETTINGS: Self = Self(
        Self::SET.0
            | Self::TEXT_PREPARE.0
            | Self::PROCEDURE.0
            | Self::NOT_UNDERSTOOD.0
            | Self::STATE_CHANGE.0,
    );

    /// Reasons that end with the next statement.
    pub const UNTIL_NEXT: Self = Self(Self::FOUND_ROWS.0 | Self::WARNINGS.0);

    /// Reasons that follow from the configuration, whatever a statement does.
    pub const STANDING: Self =
        Self(Self::NO_MULTIPLEX.0 | Self::MULTIPLEXING_OFF.0 | Self::DELAY.0);

    /// Reasons that leave nothing on the connection once they are over, so that it can be shared.
    const CLEAN: Self = Self(Self::FOUND_ROWS.0 | Self::WARNINGS.0 | Self::STANDING.0);

    /// Reasons of which a reset of the connection leaves nothing behind. A prepared text may be any
    /// statement: a role, for one, stays.
    const RESETTABLE: Self = Self(
        Self::TRANSACTION.0
            | Self::UNTOLD_TRANSACTION.0
            | Self::USER_VARIABLE.0
            | Self::TEMPORARY_TABLE.0
            | Self::GET_LOCK.0
            | Self::HANDLER.0
            | Self::CURSOR.0
            | Self::LAST_INSERT_ID.0
            | Self::NEXT_TRANSACTION.0
            | Self::ROW_COUNT.0
            | Self::STATE_CHANGE.0
            | Self::NEW_TABLE.0
            | Self::CHARACTERISTICS.0,
    );

    /// Both sets together.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set less the reasons of `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The reasons that are in both sets.
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether any reason of `other` is in the set.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is no reason.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds or removes the reasons of `other`.
    pub const fn set(&mut self, other: Self, on: bool) {
        *self = if on { self.union(other) } else { self.without(other) };
    }

    /// Whether a session that ends may hand the lane back instead of closing it.
    pub const fn leave_it_clean(self) -> bool {
        self.without(Self::CLEAN).is_empty()
    }

    /// Whether nothing of the reasons is left on a connection that was reset. What runs statements
    /// that nobody looked at may have changed what no reset touches, such as roles.
    pub const fn end_with_a_reset(self) -> bool {
        self.without(Self::RESETTABLE.union(Self::CLEAN)).is_empty()
    }

    /// A bit for each reason.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Every reason with its name.
    pub fn all() -> impl Iterator<Item = (Self, &'static str)> {
        NAMES.iter().copied()
    }

    /// The names of the reasons, as shown in statistics.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.iter().filter(move |(bit, _)| self.intersects(*bit)).map(|(_, name)| *name)
    }
}

impl std::fmt::Debug for Holds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

const NAMES: [(Holds, &str); 27] = [
    (Holds::TRANSACTION, "transaction"),
    (Holds::USER_VARIABLE, "user_variable"),
    (Holds::TEMPORARY_TABLE, "temporary_table"),
    (Holds::LOCK_TABLES, "lock_tables"),
    (Holds::GET_LOCK, "get_lock"),
    (Holds::TEXT_PREPARE, "text_prepare"),
    (Holds::FOUND_ROWS, "found_rows"),
    (Holds::WARNINGS, "has_warnings"),
    (Holds::SET, "set"),
    (Holds::XA, "xa"),
    (Holds::HANDLER, "handler"),
    (Holds::PROCEDURE, "procedure"),
    (Holds::SEQUENCE, "sequence"),
    (Holds::NOT_UNDERSTOOD, "not_understood"),
    (Holds::CURSOR, "cursor"),
    (Holds::OPTION, "option"),
    (Holds::LAST_INSERT_ID, "last_insert_id"),
    (Holds::NO_MULTIPLEX, "no_multiplex"),
    (Holds::MULTIPLEXING_OFF, "multiplexing_off"),
    (Holds::NEXT_TRANSACTION, "next_transaction"),
    (Holds::ROW_COUNT, "row_count"),
    (Holds::STATE_CHANGE, "state_change"),
    (Holds::DELAY, "delay"),
    (Holds::UNTOLD_TRANSACTION, "untold_transaction"),
    (Holds::CONNECTION_ID, "connection_id"),
    (Holds::NEW_TABLE, "new_table"),
    (Holds::CHARACTERISTICS, "transaction_characteristics"),
];

/// The reasons that a text gives once it has been executed, by what its statements may do; those of
/// a `SET` that is sent as it is, and followed no further.
pub fn of_text(facts: &Facts) -> Holds {
    let effects = facts.effects;
    let mut holds = of_effects(effects);
    if facts.verb == Verb::Set {
        holds.set(Holds::SET, true);
        holds.set(Holds::USER_VARIABLE, false);
    }
    // behind the first statement there may be one that makes another
    if facts.verb == Verb::DropTable && !effects.intersects(Effects::MULTI_STATEMENT) {
        holds.set(Holds::TEMPORARY_TABLE, false);
    }
    holds
}

/// The reasons that these effects give, whatever has them.
pub fn of_effects(effects: Effects) -> Holds {
    let mut holds = Holds::NONE;
    if !effects.is_empty() {
        for (effect, hold) in BY_EFFECT {
            holds.set(hold, effects.intersects(effect) || holds.intersects(hold));
        }
    }
    holds
}

const BY_EFFECT: [(Effects, Holds); 18] = [
    (Effects::SETS_USER_VARIABLE, Holds::USER_VARIABLE),
    (Effects::TEMPORARY_TABLE, Holds::TEMPORARY_TABLE),
    (Effects::LOCKS_TABLES, Holds::LOCK_TABLES),
    (Effects::USER_LOCK, Holds::GET_LOCK),
    (Effects::TEXT_PREPARE, Holds::TEXT_PREPARE),
    (Effects::TEXT_EXECUTE, Holds::TEXT_PREPARE),
    (Effects::CALC_FOUND_ROWS, Holds::FOUND_ROWS),
    (Effects::XA, Holds::XA),
    (Effects::HANDLER, Holds::HANDLER),
    (Effects::CALLS_PROCEDURE, Holds::PROCEDURE),
    (Effects::SEQUENCE, Holds::SEQUENCE),
    (Effects::READS_ROW_COUNT, Holds::ROW_COUNT),
    (Effects::SETS_LAST_INSERT_ID, Holds::LAST_INSERT_ID),
    (Effects::GIVES_INSERT_ID, Holds::LAST_INSERT_ID),
    (Effects::CHANGES_SESSION, Holds::SET),
    (Effects::UNCLEAR, Holds::NOT_UNDERSTOOD),
    (Effects::CONNECTION_ID, Holds::CONNECTION_ID),
    (Effects::NEW_TABLE, Holds::NEW_TABLE),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_effect_that_stays_on_a_connection_has_its_reason() {
        let table: &[(&str, &[&str])] = &[
            ("SELECT 1", &[]),
            ("SELECT a FROM t FOR UPDATE", &[]),
            ("SELECT @a", &[]),
            ("SELECT @a := 1", &["user_variable"]),
            ("SELECT 1 INTO @a", &["user_variable"]),
            ("DROP TEMPORARY TABLE t", &[]),
            ("DROP TABLE t; CREATE TEMPORARY TABLE t (a int)", &["temporary_table"]),
            ("DROP TEMPORARY TABLE t; CREATE TEMPORARY TABLE t (a int)", &["temporary_table"]),
            ("CREATE TEMPORARY TABLE t (a int)", &["temporary_table"]),
            ("LOCK TABLES t READ", &["lock_tables"]),
            ("SELECT GET_LOCK('x', 1)", &["get_lock"]),
            ("PREPARE s FROM 'SELECT 1'", &["text_prepare"]),
            ("SELECT SQL_CALC_FOUND_ROWS a FROM t", &["found_rows"]),
            ("XA START 'a'", &["xa"]),
            ("XA RECOVER", &[]),
            ("HANDLER t OPEN", &["handler"]),
            ("CALL p()", &["procedure"]),
            ("INSERT INTO t VALUES (CONNECTION_ID())", &["connection_id"]),
            ("SELECT @@pseudo_thread_id", &["connection_id"]),
            ("SET long_query_time = 0.5", &["set"]),
            ("SET ROLE admin", &["set"]),
        ];
        for (text, reasons) in table {
            let facts = sql::facts(text.as_bytes());
            let holds = of_text(&facts);
            let names: Vec<_> = holds.names().collect();
            assert_eq!(&names, reasons, "{text}");
        }
    }

    #[test]
    fn only_what_can_be_taken_away_leaves_a_lane_clean() {
        assert!(Holds::FOUND_ROWS.union(Holds::WARNINGS).leave_it_clean());
        assert!(!Holds::FOUND_ROWS.union(Holds::TRANSACTION).leave_it_clean());
        for (hold, name) in NAMES {
            assert!(!(hold.intersects(Holds::PINNING) && hold.leave_it_clean()), "{name}");
        }
    }

    #[test]
    fn what_nobody_looked_at_is_not_taken_to_end_with_a_reset() {
        let stays = NAMES.iter().filter(|(hold, _)| !hold.end_with_a_reset());
        let names: Vec<_> = stays.map(|(_, name)| *name).collect();
        let expected = [
            "lock_tables",
            "text_prepare",
            "set",
            "xa",
            "procedure",
            "sequence",
            "not_understood",
            "option",
            "connection_id",
        ];
        assert_eq!(names, expected);
    }
}
