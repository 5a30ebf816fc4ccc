//! Which command may share a lane with other sessions' commands.
//!
//! One pure function. Which lane it gets is `pool`; what a digest's past is, `history`.

use sql::{Effects, Verb};

use crate::holds::Holds;
use crate::lane::history::Past;
use crate::stats::Counters;

/// What is known of a command that asks to share a lane.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// A variable, its rule, its user or its hostgroup wants its connection unshared.
    pub forbidden: bool,
    /// Its session commits each statement by itself.
    pub autocommit: bool,
    /// Why its session keeps lanes; a session that keeps any shares none.
    pub keeps: Option<Holds>,
    /// What its session still has to be told of the statement before.
    pub recalls: bool,
    /// Bytes of the command; `None` for one whose end is still with the client.
    pub bytes: Option<usize>,
    /// What its digest came to before; `None` where it has none, or no past yet.
    pub past: Option<&'a Past>,
    /// Time, in microseconds.
    pub now_us: u64,
}

/// Where sharing ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Commands on one lane.
    pub depth: usize,
    /// Time that a statement may take on its server, and that those before it on its lane may take
    /// together, in microseconds.
    pub latency_us: u64,
    /// Bytes of a reply.
    pub reply_bytes: u64,
}

/// Why a command does not share a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Configured so.
    Forbidden,
    /// A transaction is open, or the next statement would open one.
    Transaction,
    /// The session keeps a lane, or may still ask about the statement before.
    Held,
    /// The command is long.
    Long,
    /// The digest has not been seen often enough.
    Unknown,
    /// The text calls functions that may do more than compute.
    Calls,
    /// A reply carried warnings, or changed its connection.
    Untidy,
    /// It takes too long.
    Slow,
    /// Its replies are too large.
    Large,
    /// It held up others a while ago.
    Barred,
}

impl Refusal {
    /// Where it is counted.
    pub(crate) fn counter(self, stats: &mut Counters) -> &mut u64 {
        match self {
            Self::Forbidden => &mut stats.unshared_forbidden,
            Self::Transaction => &mut stats.unshared_transaction,
            Self::Held => &mut stats.unshared_held,
            Self::Long => &mut stats.unshared_long,
            Self::Unknown => &mut stats.unshared_unknown,
            Self::Calls => &mut stats.unshared_calls,
            Self::Untidy => &mut stats.unshared_untidy,
            Self::Slow => &mut stats.unshared_slow,
            Self::Large => &mut stats.unshared_large,
            Self::Barred => &mut stats.unshared_barred,
        }
    }
}

/// The longest command that is shared, in bytes: a lane's commands wait in memory.
const COMMAND_BYTES_MAX: usize = 1 << 14;

/// Whether a text by itself may share a lane: it reads, and reads nothing but data.
pub fn is_shareable(verb: Verb, effects: Effects) -> bool {
    verb == Verb::Select && only_computes(effects)
}

/// Whether stored code that does this, if any is called, does nothing but compute.
pub fn only_computes(reach: Effects) -> bool {
    reach.without(Effects::CALLS_CODE.union(Effects::VARIES)).is_empty()
}

/// Decides whether a command whose text is shareable shares a lane; its estimated time on the
/// server, in microseconds.
pub fn admit(asked: &Asked<'_>, bounds: &Bounds) -> Result<u64, Refusal> {
    if asked.forbidden {
        return Err(Refusal::Forbidden);
    }
    if !asked.autocommit || asked.keeps.is_some_and(|why| why.intersects(Holds::TRANSACTION)) {
        return Err(Refusal::Transaction);
    }
    if asked.keeps.is_some() || asked.recalls {
        return Err(Refusal::Held);
    }
    if asked.bytes.is_none_or(|bytes| bytes > COMMAND_BYTES_MAX) {
        return Err(Refusal::Long);
    }
    let past = asked.past.ok_or(Refusal::Unknown)?;
    if past.calls() {
        return Err(Refusal::Calls);
    }
    if past.is_untidy() {
        return Err(Refusal::Untidy);
    }
    if past.is_barred(asked.now_us) {
        return Err(Refusal::Barred);
    }
    let latency_us = past.latency_us().ok_or(Refusal::Unknown)?;
    if latency_us > bounds.latency_us {
        return Err(Refusal::Slow);
    }
    if past.reply_bytes() > bounds.reply_bytes {
        return Err(Refusal::Large);
    }
    Ok(latency_us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::history::Run;

    const BOUNDS: Bounds = Bounds { depth: 16, latency_us: 1000, reply_bytes: 5000 };

    fn past(runs: u32, run: Run) -> Past {
        let mut past = Past::new(4, false);
        for _ in 0..runs {
            past.note(&run);
        }
        past
    }

    const RUN: Run =
        Run { now_us: 0, latency_us: 100, reply_bytes: 400, untidy: false, behind: false };

    #[test]
    fn each_reason_not_to_share_has_its_name() {
        let good = past(4, RUN);
        let asked = Asked {
            forbidden: false,
            autocommit: true,
            keeps: None,
            recalls: false,
            bytes: Some(50),
            past: Some(&good),
            now_us: 10,
        };
        assert_eq!(admit(&asked, &BOUNDS), Ok(100));
        let young = past(3, RUN);
        let mut calls = Past::new(4, true);
        (0..9).for_each(|_| calls.note(&RUN));
        let untidy = past(9, Run { untidy: true, ..RUN });
        let slow = past(9, Run { latency_us: 1001, ..RUN });
        let large = past(9, Run { reply_bytes: 5001, ..RUN });
        let mut barred = past(9, RUN);
        barred.bar(5);
        let with = |past| Asked { past: Some(past), ..asked };
        let table = [
            (Asked { forbidden: true, ..asked }, Refusal::Forbidden),
            (Asked { autocommit: false, ..asked }, Refusal::Transaction),
            (Asked { keeps: Some(Holds::TRANSACTION), ..asked }, Refusal::Transaction),
            (Asked { keeps: Some(Holds::USER_VARIABLE), ..asked }, Refusal::Held),
            (Asked { keeps: Some(Holds::NONE), ..asked }, Refusal::Held),
            (Asked { recalls: true, ..asked }, Refusal::Held),
            (Asked { bytes: None, ..asked }, Refusal::Long),
            (Asked { bytes: Some(1 << 15), ..asked }, Refusal::Long),
            (Asked { past: None, ..asked }, Refusal::Unknown),
            (with(&young), Refusal::Unknown),
            (with(&calls), Refusal::Calls),
            (with(&untidy), Refusal::Untidy),
            (with(&slow), Refusal::Slow),
            (with(&large), Refusal::Large),
            (with(&barred), Refusal::Barred),
        ];
        for (asked, refusal) in table {
            assert_eq!(admit(&asked, &BOUNDS), Err(refusal), "{asked:?}");
        }
    }

    #[test]
    fn only_a_read_without_any_effect_is_shareable() {
        let table = [
            ("SELECT c FROM t WHERE id=1", true),
            ("SELECT c FROM t FOR UPDATE", false),
            ("SELECT c FROM t LOCK IN SHARE MODE", false),
            ("SELECT @a", false),
            ("SELECT @@version", false),
            ("SELECT LAST_INSERT_ID()", false),
            ("SELECT FOUND_ROWS()", false),
            ("SELECT SQL_CALC_FOUND_ROWS c FROM t", false),
            ("SELECT GET_LOCK('a', 1)", false),
            ("SELECT CONNECTION_ID()", false),
            ("SELECT c FROM t INTO OUTFILE 'x'", false),
            ("SELECT c FROM t INTO @a", false),
            ("SELECT NEXT VALUE FOR s", false),
            ("SELECT 1; SELECT 2", false),
            ("SHOW TABLES", false),
            ("EXPLAIN SELECT 1", false),
            ("SET STATEMENT max_statement_time=1 FOR SELECT 1", false),
            ("INSERT INTO t VALUES (1)", false),
            ("DO SLEEP(1)", false),
            ("WITH x AS (SELECT 1) SELECT * FROM x", true),
        ];
        for (text, shareable) in table {
            let facts = sql::facts(text.as_bytes());
            assert_eq!(is_shareable(facts.verb, facts.effects), shareable, "{text}");
        }
    }
}
