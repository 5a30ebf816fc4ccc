//! Whether a statement goes where its session's writes go, even if the rules say otherwise of its
//! beginning.

use sql::{Access, Effects, Facts};

use crate::holds::Holds;
use crate::ids::HostgroupId;

/// What a text does, as far as it matters where it goes.
#[derive(Clone, Copy, Debug)]
pub struct Conduct {
    /// What it may do to its connection.
    pub effects: Effects,
    /// Reasons to keep its lane.
    pub holds: Holds,
    /// What its first statement does to data: for a read, rules may well name servers that take
    /// no writes.
    pub begins: Access,
    /// What all its statements do to data.
    pub access: Access,
}

impl Conduct {
    /// Of a command that is about its session alone.
    pub const fn of_session(effects: Effects, holds: Holds) -> Self {
        Self { effects, holds, begins: Access::Neither, access: Access::Neither }
    }

    /// Of a text with these facts, which gives these reasons.
    pub const fn of_text(facts: &Facts, holds: Holds) -> Self {
        let Facts { effects, begins, access, .. } = *facts;
        Self { effects, holds, begins, access }
    }

    /// The same of a text whose stored code does this.
    pub fn reaching(self, reach: Effects) -> Self {
        let changes = reach.intersects(Effects::WRITES.union(Effects::DEFINES));
        Self {
            effects: self.effects.union(reach),
            access: if changes { Access::Changes } else { self.access },
            ..self
        }
    }

    /// Whether it changes data, or may do so.
    pub fn changes(&self) -> bool {
        self.access == Access::Changes
    }

    /// Whether changes of data may come into sight with it: its own, or those of a transaction that
    /// another session has prepared.
    pub fn shows_changes(&self) -> bool {
        self.changes() || self.effects.intersects(Effects::XA)
    }

    /// Whether it changes data in a way that its beginning does not tell.
    pub fn hides_changes(&self) -> bool {
        self.changes() && self.begins != Access::Changes
    }

    /// Whether it may run where the statement in front of it did: it changes no data, and nothing
    /// follows from it that belongs where writes go.
    pub fn may_follow(&self) -> bool {
        const LEADS: Effects = Effects::TRANSACTION_START
            .union(Effects::TRANSACTION_END)
            .union(Effects::USER_LOCK)
            .union(Effects::LOCKING_READ);
        !self.changes() && self.access <= self.begins && !self.effects.intersects(LEADS)
    }

    /// Whether it goes where writes go, because the session's next ones must be able to follow it
    /// on its lane, or some are part of it. `opens` tells that a transaction begins with whatever
    /// reads a table. A read goes there wherever rules send it, for they know it by its beginning;
    /// anything else but a `BEGIN` where they name no place for it, and a write where they say.
    pub fn goes_with_writes(&self, destination: Option<HostgroupId>, opens: bool) -> bool {
        let is_led = match self.begins {
            Access::Reads => true,
            Access::Neither => destination.is_none() && self.effects != Effects::TRANSACTION_START,
            Access::Changes => false,
        };
        is_led && (opens || self.why_with_writes().is_some())
    }

    /// Why it goes with writes even where it opens no transaction: in words, for people.
    pub fn why_with_writes(&self) -> Option<Why> {
        let ties = self.holds.intersection(Holds::PINNING.union(Holds::LAST_INSERT_ID));
        if !ties.is_empty() {
            Some(Why::Ties(ties))
        } else if self.effects.intersects(Effects::TRANSACTION_START) {
            Some(Why::Begins)
        } else if self.effects.intersects(Effects::USER_LOCK) {
            Some(Why::Locks)
        } else {
            (self.access > self.begins).then_some(Why::HasMore)
        }
    }
}

/// Why a statement goes where its session's writes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// The session keeps its lane for it.
    Ties(Holds),
    /// A transaction begins with it.
    Begins,
    /// It asks about named locks, which are taken there.
    Locks,
    /// A statement behind the first one does more than that.
    HasMore,
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ties(holds) => {
                let names: Vec<_> = holds.names().collect();
                write!(f, "it keeps its connection for {}", names.join(", "))
            }
            Self::Begins => f.write_str("a transaction begins"),
            Self::Locks => f.write_str("named locks are there"),
            Self::HasMore => f.write_str("it is more than one read"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::holds;

    #[test]
    fn what_leads_elsewhere_does_not_follow_what_was_in_front_of_it() {
        for (text, may) in [
            ("SHOW WARNINGS", true),
            ("SELECT FOUND_ROWS()", true),
            ("SELECT FOUND_ROWS() INTO @a", true),
            ("SET @a = FOUND_ROWS()", true),
            ("SELECT FOUND_ROWS(); SELECT 1", true),
            ("SHOW WARNINGS; COMMIT", false),
            ("SHOW WARNINGS; BEGIN", false),
            ("COMMIT; SHOW WARNINGS", false),
            ("BEGIN; SHOW WARNINGS", false),
            ("SHOW ERRORS; SET autocommit = 1", false),
            ("SHOW WARNINGS; DELETE FROM t", false),
            ("DELETE FROM t WHERE v = FOUND_ROWS()", false),
            ("SELECT FOUND_ROWS(), GET_LOCK('a', 1)", false),
            ("SELECT FOUND_ROWS(), v FROM t FOR UPDATE", false),
        ] {
            let facts = sql::facts(text.as_bytes());
            let conduct = Conduct::of_text(&facts, holds::of_text(&facts));
            assert_eq!(conduct.may_follow(), may, "{text}");
        }
    }

    #[test]
    fn a_read_and_what_no_rule_names_goes_where_its_writes_can_follow() {
        const HERE: Option<HostgroupId> = Some(HostgroupId(1));
        // by itself; with autocommit off; and the same where no rule names a place
        let table = [
            ("SELECT 1", [false, true, false, true]),
            ("EXPLAIN SELECT 1", [false, true, false, true]),
            ("CHECKSUM TABLE t", [false, true, false, true]),
            ("SHOW CREATE TABLE t", [false, true, false, true]),
            ("SELECT 1; SELECT 2", [false, true, false, true]),
            ("SELECT @a := 1", [true, true, true, true]),
            ("SELECT 1; BEGIN", [true, true, true, true]),
            ("SELECT 1; SAVEPOINT s", [true, true, true, true]),
            ("SELECT 1; DELETE FROM t", [true, true, true, true]),
            ("SELECT 1 /*!50000 ; DELETE FROM t */", [true, true, true, true]),
            ("SELECT GET_LOCK('a', 1)", [true, true, true, true]),
            ("SELECT NEXT VALUE FOR s", [true, true, true, true]),
            ("BEGIN", [false; 4]),
            ("SAVEPOINT s", [false, false, false, true]),
            ("SET NAMES utf8mb4", [false, false, true, true]),
            ("LOCK TABLES t WRITE", [false, false, true, true]),
            ("DELETE FROM t", [false, false, false, false]),
            ("ALTER TABLE t ADD a INT", [false, false, false, false]),
            ("CALL p()", [false, false, false, false]),
        ];
        for (text, expected) in table {
            let facts = sql::facts(text.as_bytes());
            let conduct = Conduct::of_text(&facts, holds::of_text(&facts));
            let goes = |to, opens| conduct.goes_with_writes(to, opens);
            let found = [goes(HERE, false), goes(HERE, true), goes(None, false), goes(None, true)];
            assert_eq!(found, expected, "{text}");
        }
        let facts = sql::facts(b"SELECT IS_FREE_LOCK('a')");
        let looks = Conduct::of_text(&facts, Holds::NONE);
        assert_eq!(looks.why_with_writes(), Some(Why::Locks));
        assert!(looks.goes_with_writes(HERE, false));
    }
}
