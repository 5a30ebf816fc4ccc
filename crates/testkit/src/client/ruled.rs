//! Statements that a query rule or an annotation does something about, and what must come of
//! them. Which rules there are is `sim::rules`.

use wire::Status;
use wire::command::code;
use wire::reply::{ErrPacket, OkPacket, write_err, write_ok, write_prepare_ok};

use super::model::Effect;
use super::plan::{Sending, Setting, packet};
use super::reply::Expect;
use crate::answer;
use crate::dice::Dice;
use crate::meta::{AnswerKind, Shape};
use crate::sim::rules::{ANSWER, REFUSAL};

impl Setting<'_> {
    /// A statement of a table that some rule is about.
    pub(super) fn ruled(&self, dice: &mut Dice) -> Sending {
        match dice.below(20) {
            0 => self.read_of("rewritten", "wrong_t", dice),
            1 => self.read_of("chained", "chained_t", dice),
            2 => self.read_of("delayed", "slow_t", dice),
            3..=5 => self.brief(dice),
            6 => self.refused(),
            7 => self.answered(),
            8 => self.first(dice),
            // its rule says that its session keeps the connection
            9 => Sending { sticks: true, ..self.read_of("sticky", "sticky_t", dice) },
            10 => self.read_of("shared", "shared_t", dice),
            11 => self.prepare_ruled(dice),
            12 => self.hinted(dice),
            _ => self.twice(dice),
        }
    }

    fn read_of(&self, name: &'static str, table: &str, dice: &mut Dice) -> Sending {
        let shape = Shape { rows: dice.below(4) as u32, ..Shape::of(AnswerKind::Rows) };
        let meta = self.opening(self.model.meta(self.number, shape));
        self.text(name, "SELECT", &format!("v FROM {table}"), meta, Vec::new())
    }

    /// A read that may run for a moment only.
    fn brief(&self, dice: &mut Dice) -> Sending {
        let mut sending = self.read_of("brief", "brief_t", dice);
        if let Some(expect) = &mut sending.expect {
            expect.error = Some(1907);
        }
        sending
    }

    /// A read that changes which rules the next statement meets.
    fn first(&self, dice: &mut Dice) -> Sending {
        let mut sending = self.read_of("first of two", "first_t", dice);
        if let Some(expect) = &mut sending.expect {
            expect.effects.push(Effect::Flagged(true));
        }
        sending
    }

    /// The statement after that one.
    pub(super) fn second(&self, dice: &mut Dice) -> Sending {
        let mut sending = self.read_of("second of two", "second_t", dice);
        if let Some(expect) = &mut sending.expect {
            expect.effects.push(Effect::Flagged(false));
        }
        sending
    }

    /// A read of which a copy is made, where a copy finds the same.
    fn twice(&self, dice: &mut Dice) -> Sending {
        let model = self.model;
        let alone = model.autocommit && model.transaction == 0 && model.pin == 0;
        if !alone {
            return self.read(dice);
        }
        let table = *dice.pick(&["twice_t", "twice_nowhere_t", "twice_changed_t"]);
        self.read_of("twice", table, dice)
    }

    /// A read with an annotation.
    fn hinted(&self, dice: &mut Dice) -> Sending {
        let meta = self.opening(self.model.meta(self.number, Shape::of(AnswerKind::Rows)));
        let hint =
            *dice.pick(&["create_new_connection=1", "query_delay=2", "query_timeout=100000"]);
        let mut sending = self.text("hinted", "SELECT", "v FROM t", meta.clone(), Vec::new());
        let text = format!("SELECT /*{hint};{meta}*/ v FROM t");
        sending.bytes = packet(code::QUERY, text.as_bytes());
        sending
    }

    fn refused(&self) -> Sending {
        self.answered_at_once("refused by a rule", "forbidden_t", |out, _| refuse(out))
    }

    fn answered(&self) -> Sending {
        self.answered_at_once("answered by a rule", "ignored_t", |out, status| {
            let info = ANSWER.as_bytes();
            let ok = OkPacket { status, info, ..OkPacket::default() };
            write_ok(out, &mut 1, self.model.caps, &ok);
        })
    }

    fn answered_at_once(
        &self,
        name: &'static str,
        table: &str,
        answer: impl Fn(&mut Vec<u8>, Status),
    ) -> Sending {
        let text = format!("DELETE FROM {table} /*s{} q{}*/", self.model.tag, self.number);
        let mut statuses = vec![self.model.status()];
        if !self.model.autocommit {
            // after an error nobody has told the proxy whether a transaction is open
            statuses.push(self.model.status() | Status::IN_TRANS);
        }
        let candidates = statuses.into_iter().map(|status| {
            let mut right = Vec::new();
            answer(&mut right, status);
            right
        });
        let number = self.number;
        let expect = Expect { number, candidates: candidates.collect(), ..Expect::default() };
        let bytes = packet(code::QUERY, text.as_bytes());
        Sending { bytes, expect: Some(expect), name, ..Sending::default() }
    }

    /// A statement whose preparing a rule has an answer to.
    fn prepare_ruled(&self, dice: &mut Dice) -> Sending {
        let refused = dice.percent(50);
        let table = if refused { "forbidden_t" } else { "ignored_t" };
        let text = format!("DELETE FROM {table} WHERE a=? /*s{}*/", self.model.tag);
        let mut right = Vec::new();
        match refused {
            true => refuse(&mut right),
            false => {
                let (caps, status) = (self.model.caps, self.model.status());
                write_prepare_ok(&mut right, &mut 1, caps, 0, &[answer::parameter()], &[], status);
            }
        }
        let mask = (!refused).then_some(5..9);
        let candidates = vec![right];
        let expect = Expect { number: self.number, candidates, mask, ..Expect::default() };
        let bytes = packet(code::STMT_PREPARE, text.as_bytes());
        let name = "prepared by a rule";
        Sending { bytes, expect: Some(expect), name, ..Sending::default() }
    }
}

fn refuse(out: &mut Vec<u8>) {
    let err = ErrPacket { code: 1148, sqlstate: *b"42000", message: REFUSAL.as_bytes() };
    write_err(out, &mut 1, &err);
}
