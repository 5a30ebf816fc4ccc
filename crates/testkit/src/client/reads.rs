//! The reads of a simulated client, and what they leave behind.

use wire::{Caps, command};

use super::model::{Effect, Model};
use super::plan::{Sending, Setting};
use super::reply::Expect;
use crate::answer::{self, CALCULATES, Voice, of_whole};
use crate::data::{FEEDS, SCHEMA};
use crate::dice::Dice;
use crate::meta::{AnswerKind, Counts, Shape};
use crate::shared_questions::{BRIDGED, SharedAsking, SharedQuestion, TABLES as KINDS, home_of};

impl Setting<'_> {
    /// A `SELECT` whose failure changes nothing: safe to be followed before it is answered.
    pub(super) fn read(&self, dice: &mut Dice) -> Sending {
        let mut shape = Shape { rows: dice.below(5) as u32, ..Shape::of(AnswerKind::Rows) };
        shape.width = dice.below(60) as u32;
        if self.large && dice.percent(6) {
            shape = Shape { rows: dice.below(40) as u32, width: dice.below(8000) as u32, ..shape };
        } else if dice.percent(10) {
            shape.rows = dice.below(300) as u32;
        }
        if self.model.caps.contains(Caps::MULTI_RESULTS) && dice.percent(10) {
            shape.results = 1 + dice.below(3) as u32;
        }
        let meta = self.opening(self.model.meta(self.number, shape));
        let rest = vec!["v FROM t"; shape.results as usize].join("; SELECT ");
        self.text("read", "SELECT", &rest, meta, Vec::new())
    }

    /// What many ask, where that changes nothing.
    pub(super) fn shared(&self, dice: &mut Dice) -> Sending {
        let kind = self.kind(dice);
        // few answers would be told if each question was another one
        let number = if kind > BRIDGED && dice.percent(70) { 1 } else { dice.below(6) };
        let question = SharedQuestion::any(kind, number);
        let (counts, name) =
            (Counts { found: Some(question.rows().into()), affected: -1 }, question.name());
        let mut bytes = Vec::new();
        command::write_query(&mut bytes, question.text().as_bytes());
        let home = home_of(&self.model.user, &self.model.home());
        let alone = self.model.transaction != 0;
        let tag = self.model.tag;
        let of_it = (question.clone(), home.clone(), self.model.caps.0);
        let told = self.told.get(&of_it).filter(|_| self.model.is_plain);
        let told = told.copied().unwrap_or_default();
        let shared = Some(SharedAsking { question, tag, home, at: self.now, alone, told });
        let counts = Some(counts);
        let expect = Expect { number: self.number, shared, counts, ..Expect::default() };
        Sending { bytes, expect: Some(expect), name, ..Sending::default() }
    }

    /// Which of them; more often what a server is not needed for, where servers are lost.
    fn kind(&self, dice: &mut Dice) -> usize {
        match self.follows && dice.percent(70) {
            true if dice.percent(60) => BRIDGED + 1,
            true => BRIDGED + 1 + dice.index(KINDS.len() - BRIDGED - 1),
            false if self.losses && dice.percent(50) => BRIDGED,
            false => dice.index(BRIDGED + 1),
        }
    }

    /// A read that is told apart from others, since lanes are not shared for all of them.
    pub(super) fn odd_read(&self, dice: &mut Dice) -> Sending {
        let shape = Shape { rows: dice.below(3) as u32, ..Shape::of(AnswerKind::Rows) };
        if self.long || self.model.relayed || dice.percent(60) {
            return self.call(shape);
        }
        let meta = self.opening(self.model.meta(self.number, shape));
        // longer than what waits for others
        let rest = format!("v FROM t WHERE v='{}'", "y".repeat(17_000));
        self.text("wordy read", "SELECT", &rest, meta, Vec::new())
    }

    /// A read that calls a function. One that nobody knows may do anything: it goes where writes
    /// go, and may tie the session to its connection.
    fn call(&self, shape: Shape) -> Sending {
        let model = Model { stuck: self.model.stuck || self.stored_code, ..self.model.clone() };
        let setting = Setting { model: &model, ..*self };
        let meta = setting.opening(model.meta(self.number, shape));
        let (name, rest) = match self.follows && self.stored_code {
            true => ("fed", format!("v, {FEEDS}v) FROM {SCHEMA}.live_t")),
            false => ("call", "v, f(v) FROM t".to_owned()),
        };
        let sending = setting.text(name, "SELECT", &rest, meta, Vec::new());
        Sending { sticks: model.stuck, ..sending }
    }

    pub(super) fn locking(&self, dice: &mut Dice) -> Sending {
        let mut shape = Shape::of(AnswerKind::Rows);
        shape.rows = dice.below(3) as u32;
        let meta = self.opening(self.model.meta(self.number, shape));
        self.text("locking read", "SELECT", "v FROM t FOR UPDATE", meta, Vec::new())
    }

    pub(super) fn failing(&self, dice: &mut Dice) -> Sending {
        let in_transaction = self.model.transaction != 0;
        let kind = match dice.below(3) {
            0 if in_transaction => AnswerKind::Deadlock,
            0 | 1 => AnswerKind::Break,
            _ => AnswerKind::Refuse,
        };
        let shape = Shape { rows: dice.below(5) as u32, width: 30, ..Shape::of(kind) };
        let meta = self.opening(self.model.meta(self.number, shape));
        let effects = match kind {
            AnswerKind::Deadlock => vec![Effect::Deadlock],
            _ => vec![Effect::Warned(self.number)],
        };
        let (verb, rest) = match kind != AnswerKind::Deadlock && dice.percent(25) {
            true => ("INSERT", "INTO t VALUES (1) RETURNING v"),
            false => ("SELECT", "v FROM t"),
        };
        self.text("failing", verb, rest, meta, effects)
    }

    /// Somebody whose statements leave something behind that may be asked for.
    pub(super) fn careless(&self, dice: &mut Dice) -> Sending {
        match dice.below(20) {
            0..=7 => self.warn(dice),
            8..=15 => self.failing(dice),
            16 => self.kill(dice),
            _ => self.read(dice),
        }
    }

    /// Asks for the warnings of the statement before: for nothing else, or among other things.
    pub(super) fn warnings(&self, dice: &mut Dice) -> Sending {
        let warned = self.model.warned;
        let kind = if dice.percent(70) { AnswerKind::Diagnostics } else { AnswerKind::Rows };
        let mut meta = self.opening(self.model.meta(self.number, Shape::of(kind)));
        meta.warned = warned;
        // they are still there afterwards
        let effects = vec![Effect::Warned(warned)];
        if kind == AnswerKind::Rows {
            meta.shape.rows = 1;
            return self.text("warned?", "SELECT", "@@warning_count > 0", meta, effects);
        }
        let mut sending = self.text("warnings", "SHOW", "WARNINGS", meta, effects);
        if let Some(expect) = &mut sending.expect
            && self.losses
        {
            let status = self.model.after(&expect.effects).status();
            let (caps, binary, changed) = (self.model.caps, false, false);
            let voice = Voice { server: "", caps, binary, status, changed };
            expect.candidates.push(answer::diagnostics(None, &voice));
        }
        sending
    }

    /// Asks what the statement before came to, in a text that a server answers.
    pub(super) fn counted(&self, counts: Counts) -> Sending {
        let shape = Shape { rows: 1, ..Shape::of(AnswerKind::Rows) };
        let mut meta = self.opening(self.model.meta(self.number, shape));
        meta.counts = Some(counts);
        let rest = match counts.found {
            Some(_) => "FOUND_ROWS(), ROW_COUNT() FROM t",
            None => "ROW_COUNT() FROM t",
        };
        let model = self.model;
        // what the connection is asked, which has to be kept, keeps it for good
        let sticks = model.transaction != 0 || model.pin != 0 || !model.autocommit;
        Sending { sticks, ..self.text("counts", "SELECT", rest, meta, Vec::new()) }
    }

    /// A read of a part, with the count of the whole, which only its connection knows.
    pub(super) fn calculating(&self, dice: &mut Dice) -> Sending {
        let shape = Shape { rows: dice.below(3) as u32, ..Shape::of(AnswerKind::Rows) };
        let meta = self.opening(self.model.meta(self.number, shape));
        let rest = format!("{CALCULATES} v FROM t LIMIT {}", shape.rows);
        let mut sending = self.text("whole count", "SELECT", &rest, meta, Vec::new());
        if let Some(counts) = sending.expect.as_mut().and_then(|expect| expect.counts.as_mut()) {
            counts.found = Some(of_whole(shape.rows));
        }
        sending
    }

    pub(super) fn warn(&self, dice: &mut Dice) -> Sending {
        let mut shape = Shape::of(AnswerKind::Rows);
        shape.rows = dice.below(3) as u32;
        shape.warnings = 2;
        let meta = self.opening(self.model.meta(self.number, shape));
        self.text("warn", "SELECT", "v FROM t", meta, vec![Effect::Warned(self.number)])
    }

    pub(super) fn insert_id(&self) -> Sending {
        let shape = Shape { rows: 1, ..Shape::of(AnswerKind::Rows) };
        let mut meta = self.opening(self.model.meta(self.number, shape));
        if !self.model.relayed {
            meta.insert_id = Some(self.model.insert_id);
        }
        self.text("last insert id", "SELECT", "LAST_INSERT_ID()", meta, Vec::new())
    }

    /// Rows, at whose end the server tells that its session has changed.
    pub(super) fn pin_by_rows(&self, dice: &mut Dice) -> Sending {
        let shape = Shape { rows: dice.below(3) as u32, ..Shape::of(AnswerKind::Rows) };
        let mut meta = self.opening(self.model.meta(self.number, shape));
        (meta.bearing.pin, meta.pins) = (self.number, true);
        let pin = Effect::Pin(self.number);
        let rest = "f() FROM t FOR UPDATE";
        let mut sending = self.text("pin by rows", "SELECT", rest, meta.clone(), vec![pin]);
        if let Some(expect) = &mut sending.expect
            && !self.model.caps.contains(Caps::DEPRECATE_EOF)
        {
            // no more than a hint fits in, and that is passed on
            let status = self.model.after(&expect.effects).status();
            let (caps, binary) = (self.model.caps, false);
            let hint = self.model.servers(&meta, false).iter().map(|server| {
                let voice = Voice { server, caps, binary, status, changed: true };
                answer::answer(&meta, &voice)
            });
            expect.candidates.extend(hint);
        }
        sending
    }
}
