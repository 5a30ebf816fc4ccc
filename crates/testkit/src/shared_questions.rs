//! Questions that many sessions ask in the same words, so that the proxy may answer one with what a
//! server said to another: what servers say, and which of it may be told to whom.
//!
//! An answer tells where and when it was given, and on what connection. So one that is too old, or
//! another session's, is none of the right ones.

use io::Micros;
use wire::reply::ResultWriter;
use wire::{Caps, Status};

use crate::answer;
use crate::board::Board;
use crate::data::{self, SCHEMA};
use crate::meta::Home;
use crate::mysqld::place_of;

/// How old an answer may be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Freshness {
    /// A rule has it kept for a while.
    Kept,
    /// It is asked for after the question comes, with others at most.
    Joint,
    /// It is kept for a moment, and for long where no server can answer.
    Bridged,
    /// It is kept until it changes, and for long where no server can answer.
    Live,
    /// It is kept until it changes, or for a while where nobody sees that.
    Mixed,
    /// It is kept until it changes where the writes go.
    Home,
}

/// What is asked.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SharedQuestion {
    freshness: Freshness,
    /// Which question it is; what its answer is like follows from it.
    number: u32,
}

/// How many questions there are of each kind.
const QUESTIONS: u32 = 4;

/// How long answers are kept, in milliseconds.
pub(crate) const KEPT_MS: i64 = 100;
pub(crate) const BRIDGED_MS: i64 = 20;
pub(crate) const STALE_MS: u64 = 20_000;

/// The largest answer that is kept, in bytes; one of the questions has a larger one.
pub(crate) const LARGEST: usize = 2048;

pub(crate) const FOLLOWED_MS: i64 = 10_000;
pub(crate) const MIXED_MS: i64 = 300;

/// The tables that say how old answers may be.
pub(crate) const TABLES: [(&str, Freshness); 6] = [
    ("kept_t", Freshness::Kept),
    ("joint_t", Freshness::Joint),
    ("bridged_t", Freshness::Bridged),
    ("live_t", Freshness::Live),
    ("mixed_t", Freshness::Mixed),
    ("home_t", Freshness::Home),
];

/// The last of those whose changes nobody follows.
pub(crate) const BRIDGED: usize = 2;

impl SharedQuestion {
    /// One of all, by two numbers.
    pub(crate) fn any(kind: usize, number: u64) -> Self {
        let (_, freshness) = TABLES[kind % TABLES.len()];
        Self { freshness, number: (number % u64::from(QUESTIONS)) as u32 }
    }

    /// Its text.
    pub(crate) fn text(&self) -> String {
        format!("SELECT v FROM {} WHERE k={}", self.tables(), self.number)
    }

    /// What it reads.
    fn tables(&self) -> String {
        let table = TABLES.iter().find(|(_, freshness)| *freshness == self.freshness);
        let table = table.map_or("", |(table, _)| table);
        match (self.is_followed(), self.number) {
            (false, _) => table.to_owned(),
            (true, 1) => format!("{SCHEMA}.{table}, {SCHEMA}.side_t"),
            (true, 2) => format!("{SCHEMA}.{table} JOIN {SCHEMA}.{}", data::VIEW),
            (true, _) => format!("{SCHEMA}.{table}"),
        }
    }

    /// Whether its answers end with a change.
    pub(crate) fn is_followed(&self) -> bool {
        matches!(self.freshness, Freshness::Live | Freshness::Mixed | Freshness::Home)
    }

    /// The hostgroup that is asked.
    fn hostgroup(&self) -> u32 {
        u32::from(self.freshness != Freshness::Home)
    }

    /// The question that is a text.
    pub(crate) fn in_text(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (tables, number) = text.strip_prefix("SELECT v FROM ")?.split_once(" WHERE k=")?;
        let number = number.parse().ok()?;
        let questions = TABLES.into_iter().map(|(_, freshness)| Self { freshness, number });
        questions.into_iter().find(|question| question.tables() == tables)
    }

    /// Rows of its answer.
    pub(crate) fn rows(&self) -> u32 {
        match self.number + 1 == QUESTIONS {
            _ if self.is_followed() => self.number + 1,
            true => 40,
            false => self.number,
        }
    }

    /// What it is counted as.
    pub(crate) fn name(&self) -> &'static str {
        match self.freshness {
            Freshness::Kept => "kept read",
            Freshness::Joint => "joint read",
            Freshness::Bridged => "bridged read",
            Freshness::Live => "followed read",
            Freshness::Mixed => "followed read, or by time",
            Freshness::Home => "followed read of the writer",
        }
    }

    /// How long before the question its answer may have been given, in microseconds.
    fn age_max_us(&self, losses: bool) -> u64 {
        match self.freshness {
            Freshness::Kept => KEPT_MS as u64 * 1000,
            Freshness::Joint => 0,
            // it is not known when servers could answer
            Freshness::Bridged if losses => (BRIDGED_MS as u64 + STALE_MS) * 1000,
            Freshness::Bridged => BRIDGED_MS as u64 * 1000,
            Freshness::Live if losses => (FOLLOWED_MS as u64 + STALE_MS) * 1000,
            Freshness::Live | Freshness::Home => FOLLOWED_MS as u64 * 1000,
            Freshness::Mixed => MIXED_MS as u64 * 1000,
        }
    }
}

/// What a connection is, as far as an answer depends on that: no question names a user variable.
pub(crate) fn home_of(user: &str, home: &Home) -> String {
    let of_system = |setting: &&str| !setting.starts_with('@');
    let settings: Vec<_> = home.settings.split('|').filter(of_system).collect();
    format!("{user}/{}/{}/{}", home.schema, home.collation, settings.join("|").replace('-', ""))
}

/// An answer that a server gave.
#[derive(Clone, Debug)]
pub struct GivenAnswer {
    /// To what.
    pub question: SharedQuestion,
    /// What its connection was like.
    pub home: String,
    /// By whom.
    pub server: &'static str,
    /// When its question came there.
    pub at: Micros,
}

impl GivenAnswer {
    /// Its bytes, on a connection of that kind.
    pub(crate) fn bytes(&self, caps: Caps, status: Status) -> Vec<u8> {
        let mut out = Vec::new();
        let mut seq = 1;
        let columns = [answer::column()];
        let mut writer = ResultWriter::begin(&mut out, &mut seq, caps, &columns, status);
        for row in 0..self.question.rows() {
            let Self { question, home, server, at } = self;
            let text = format!("{}: {server} at {} in {home} ", question.text(), at.0);
            let mut text = text.into_bytes();
            answer::fill(&mut text, u64::from(question.number) << 32 | u64::from(row), 40);
            writer.text_row([Some(text.as_slice())]);
        }
        writer.end(status, 0);
        out
    }
}

/// Who asks.
#[derive(Clone, Debug)]
pub struct SharedAsking {
    /// What.
    pub(crate) question: SharedQuestion,
    /// Which session.
    pub(crate) tag: u32,
    /// What its connection is to be like.
    pub(crate) home: String,
    /// When.
    pub(crate) at: Micros,
    /// It is in a transaction, where a server is asked.
    pub(crate) alone: bool,
    /// When the answer was given that anybody was told last from what was kept, for all alike.
    pub(crate) told: Micros,
}

impl SharedAsking {
    /// Every right answer by now.
    pub(crate) fn right(&self, board: &Board, caps: Caps, status: Status) -> Vec<Vec<u8>> {
        let age_us = if self.alone { 0 } else { self.question.age_max_us(board.losses) };
        let flushed = board.flushed.filter(|flushed| *flushed < self.at);
        let from_us = self.at.0.saturating_sub(age_us).max(flushed.map_or(0, |at| at.0));
        let is_right = |given: &&GivenAnswer| {
            (&given.question, &given.home) == (&self.question, &self.home)
                && given.at.0 >= from_us
                && (given.at >= self.told || !board.in_turn)
                && given.at >= self.oldest(board, given.server)
        };
        board.tell(|| {
            let of_it = |it: &&GivenAnswer| it.question == self.question && it.home == self.home;
            let told = |it: &GivenAnswer| {
                format!(
                    "{} at {} (from {} on)",
                    it.server,
                    it.at.0,
                    self.oldest(board, it.server).0
                )
            };
            let given: Vec<_> = board.given.iter().filter(of_it).map(told).collect();
            format!("{} asked at {} by s{}: {given:?}", self.question.text(), self.at.0, self.tag)
        });
        board.given.iter().filter(is_right).map(|given| given.bytes(caps, status)).collect()
    }

    /// When the answer was given that was told with these bytes, if it is one that was kept before
    /// the question, and goes by nothing but its time.
    pub(crate) fn kept_since(
        &self,
        board: &Board,
        (caps, status): (Caps, Status),
        told: &[Vec<u8>],
    ) -> Option<Micros> {
        if self.question.freshness != Freshness::Kept {
            return None;
        }
        let is_it = |given: &&GivenAnswer| {
            (&given.question, &given.home) == (&self.question, &self.home)
                && given.at < self.at
                && told.contains(&given.bytes(caps, status))
        };
        // those without rows are alike
        board.given.iter().filter(is_it).map(|given| given.at).min()
    }

    /// Since when an answer of a server has to be, for what was changed.
    fn oldest(&self, board: &Board, server: &str) -> Micros {
        let Some(data) = board.data.as_ref().filter(|_| self.question.is_followed()) else {
            return Micros(0);
        };
        let tables = data::tables_in(&self.question.text());
        let where_asked = (place_of(server), self.question.hostgroup());
        let by_time_else = self.question.freshness == Freshness::Mixed;
        data.oldest(where_asked, tables, (self.tag, self.at), by_time_else)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_known_by_its_text_and_one_of_all_is_too_large_to_keep() {
        let all = (0..6).flat_map(|kind| (0..4).map(move |n| SharedQuestion::any(kind, n)));
        let all: Vec<_> = all.collect();
        for question in &all {
            assert_eq!(SharedQuestion::in_text(question.text().as_bytes()), Some(question.clone()));
        }
        let bytes = |question: &SharedQuestion| {
            let (question, home) = (question.clone(), "app/db/45/-".to_owned());
            let given = GivenAnswer { question, home, server: "rosa", at: Micros(9_999_999) };
            given.bytes(Caps::PROTOCOL_41, Status::AUTOCOMMIT).len()
        };
        assert_eq!(all.iter().filter(|question| bytes(question) > LARGEST).count(), 3);
        assert_eq!(SharedQuestion::in_text(b"SELECT v FROM t WHERE k=1"), None);
    }

    #[test]
    fn only_what_was_given_late_enough_to_the_same_question_is_right() {
        let question = SharedQuestion::any(0, 1);
        let given = |at, home: &str| GivenAnswer {
            question: question.clone(),
            home: home.into(),
            server: "rosa",
            at: Micros(at),
        };
        let given = vec![given(399_999, "x"), given(400_000, "x"), given(450_000, "y")];
        let mut board = Board { given, ..Board::default() };
        let asking = SharedAsking {
            question,
            tag: 1,
            home: "x".into(),
            at: Micros(500_000),
            alone: false,
            told: Micros(0),
        };
        let right = |asking: &SharedAsking, board: &Board| {
            asking.right(board, Caps::PROTOCOL_41, Status::AUTOCOMMIT).len()
        };
        assert_eq!(right(&asking, &board), 1);
        board.flushed = Some(Micros(400_001));
        assert_eq!(right(&asking, &board), 0);
        board.flushed = None;
        assert_eq!(right(&SharedAsking { alone: true, ..asking }, &board), 0);
    }
}
