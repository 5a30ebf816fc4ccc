//! Commands that are longer than what the proxy keeps of one, or than it allows.

use wire::command::code;

use super::model::Model;
use super::plan::{Sending, Setting, packet};
use super::reply::Expect;
use crate::dice::Dice;
use crate::meta::{AnswerKind, Shape};

impl Setting<'_> {
    /// A command of which the proxy keeps only the beginning, or none.
    pub(super) fn long(&self, dice: &mut Dice) -> Sending {
        let padding = "x".repeat(dice.within(1000..=6000) as usize);
        let shape = Shape { rows: dice.below(3) as u32, ..Shape::of(AnswerKind::Rows) };
        match dice.below(4) {
            0 => {
                let text = format!("SELECT '{}'", "x".repeat(9000));
                let error = Some(1153);
                let expect = Expect { number: self.number, error, ..Expect::default() };
                let bytes = packet(code::QUERY, text.as_bytes());
                Sending { bytes, expect: Some(expect), name: "too long", ..Sending::default() }
            }
            1 => {
                let stuck = Model { stuck: true, ..self.model.clone() };
                let setting = Setting { model: &stuck, ..*self };
                let meta = setting.opening(stuck.meta(self.number, shape));
                let rest = format!("v FROM t WHERE v='{padding}'");
                let sending = setting.text("long read", "SELECT", &rest, meta, Vec::new());
                Sending { sticks: true, ..sending }
            }
            2 if !self.model.handles.is_empty() => self.execute_padded(dice, &padding),
            _ => {
                let shape = Shape { rows: 0, ..Shape::of(AnswerKind::Write) };
                let meta = self.opening(self.model.meta(self.number, shape));
                let rest = format!("INTO t VALUES ('{padding}')");
                self.text("long write", "INSERT", &rest, meta, Vec::new())
            }
        }
    }
}
