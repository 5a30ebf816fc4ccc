//! What a simulated client does with prepared statements.

use wire::Caps;
use wire::Status;
use wire::command::{self, code};
use wire::execute::cursor;
use wire::lenenc;
use wire::reply::{ColumnDef, write_prepare_ok};

use super::model::{Effect, Handle, Model};
use super::plan::{Sending, Setting, made_by, packet};
use super::reply::Expect;
use crate::answer;
use crate::dice::Dice;
use crate::meta::{AnswerKind, Meta, Shape};
use crate::mysqld::execute::{UNTYPED, executed, fetched};

/// A text that many sessions prepare.
fn common(number: u32, shape: Shape) -> Meta {
    let nobody = Model::new(0, "", "", 0, Caps::NONE);
    nobody.meta(number, shape)
}

impl Setting<'_> {
    pub(super) fn prepare(&self, dice: &mut Dice) -> Sending {
        let (reads, texts) = match (self.drills, self.prepares) {
            (true, _) => (85, 2),
            (false, true) => (85, 2),
            (false, false) => (70, 4),
        };
        let reads = dice.percent(reads);
        let mut shape = Shape::of(AnswerKind::Prepare);
        let returns = !reads && dice.percent(30);
        shape.rows = if returns { 2 } else { u32::from(reads) };
        if dice.percent(10) {
            shape.kind = AnswerKind::Refuse;
        }
        let meta = match shape.kind == AnswerKind::Prepare && dice.percent(80) {
            true => common(1 + dice.below(texts) as u32, shape),
            false => self.model.meta(self.number, shape),
        };
        let text = match (reads, returns) {
            (true, _) => format!("SELECT /*{meta}*/ v FROM t WHERE a=?"),
            (_, true) => format!("INSERT /*{meta}*/ INTO t VALUES (?) RETURNING v"),
            _ => format!("INSERT /*{meta}*/ INTO t VALUES (?)"),
        };
        let bytes = packet(code::STMT_PREPARE, text.as_bytes());
        if shape.kind == AnswerKind::Refuse {
            let expect = self.expect(&meta, reads, false, Vec::new());
            return Sending { bytes, expect: Some(expect), name: "prepare", ..Sending::default() };
        }
        let column = [answer::column()];
        let columns: &[ColumnDef<'_>] = if reads || returns { &column } else { &[] };
        let caps = self.model.caps;
        let home = self.model.home();
        let (kind, littered) = (None, false);
        let unsure = self.model.stuck || self.model.pin != 0;
        let handle = Handle { id: 0, reads, returns, text: meta, home, unsure, kind, littered };
        // after an error nobody has told the proxy whether a transaction is open, and other
        // connections have no part in the one that is
        let mut candidates = Vec::new();
        for status in [self.model.status(), self.model.status() | Status::IN_TRANS]
            .into_iter()
            .chain([self.model.status().without(Status::IN_TRANS), Status::AUTOCOMMIT])
        {
            let mut right = Vec::new();
            write_prepare_ok(&mut right, &mut 1, caps, 0, &column, columns, status);
            candidates.push(right);
        }
        let expect = Expect {
            number: self.number,
            candidates,
            mask: Some(5..9),
            effects: vec![Effect::Prepared(handle)],
            ..Expect::default()
        };
        Sending { bytes, expect: Some(expect), name: "prepare", ..Sending::default() }
    }

    /// A command about a prepared statement.
    pub(super) fn of_statement(&self, dice: &mut Dice) -> Sending {
        match dice.below(100) {
            0..=69 if !self.model.handles.is_empty() => self.execute(dice),
            0..=6 => self.close_statement(dice),
            7..=9 => self.reset_statement(dice),
            10..=13 => self.litter(dice),
            _ => self.prepare(dice),
        }
    }

    /// What is done over and over with the same statements.
    pub(super) fn drill(&self, dice: &mut Dice) -> Sending {
        match dice.below(100) {
            _ if self.model.handles.is_empty() => self.prepare(dice),
            0..=4 => self.prepare(dice),
            5..=6 => self.close_statement(dice),
            7..=10 => self.litter(dice),
            _ => self.execute(dice),
        }
    }

    /// Data for a statement, and nothing that uses it.
    fn litter(&self, dice: &mut Dice) -> Sending {
        let writing = self.model.handles.iter().filter(|handle| !handle.reads);
        let Some(id) = writing.map(|handle| handle.id).next() else { return self.prepare(dice) };
        let body = [id.to_le_bytes().as_slice(), &[0, 0], b"litter"].concat();
        let bytes = packet(code::STMT_SEND_LONG_DATA, &body);
        Sending { bytes, name: "long data", litters: Some(id), ..Sending::default() }
    }

    pub(super) fn execute(&self, dice: &mut Dice) -> Sending {
        self.execute_padded(dice, "")
    }

    pub(super) fn execute_padded(&self, dice: &mut Dice, padding: &str) -> Sending {
        let at = dice.index(self.model.handles.len());
        let handle = &self.model.handles[at];
        if handle.littered {
            return self.reset_of(handle.id);
        }
        let plainly = if self.drills { 4 } else { 20 };
        let (shape, scrolls) = self.shape_of(handle, plainly, dice);
        let mut meta = self.opening(self.model.meta(self.number, shape));
        let mut effects = Vec::new();
        if shape.kind == AnswerKind::Write && dice.percent(3) {
            // what it calls changes the connection
            (meta.bearing.pin, meta.pins) = (self.number, true);
            effects.push(Effect::Pin(self.number));
        }
        if shape.warnings > 0 {
            effects.push(Effect::Warned(self.number));
        }
        if meta.opens {
            effects.push(Effect::Transaction(meta.bearing.transaction));
        }
        if matches!(shape.kind, AnswerKind::Write | AnswerKind::Returning) {
            effects.extend(made_by(&meta));
        }
        let kind = match handle.kind {
            Some(kind) if self.drills || dice.percent(70) => kind,
            _ if self.drills && dice.percent(50) => answer::PARAMETER_KINDS[0],
            _ => *dice.pick(&answer::PARAMETER_KINDS),
        };
        // a connection that is held, for whatever reason, gets nothing but what texts are read by
        let this = executed(&handle.text, &handle.home.as_read(), kind);
        let retypes = handle.kind != Some(kind) || dice.percent(plainly);
        let untyped = if retypes { "" } else { UNTYPED };
        let words = format!("{meta} {this}{untyped} {padding}");
        let long = dice.percent(plainly);
        let mut bytes = Vec::new();
        if long {
            let cut = dice.index(words.len());
            for piece in [&words[..cut], &words[cut..]] {
                let mut body = handle.id.to_le_bytes().to_vec();
                body.extend_from_slice(&[0, 0]);
                body.extend_from_slice(piece.as_bytes());
                command::write(&mut bytes, code::STMT_SEND_LONG_DATA, &body);
            }
        }
        let value = if long { None } else { Some(words.as_bytes()) };
        let flags = if scrolls { cursor::READ_ONLY } else { cursor::NONE };
        execute_packet(&mut bytes, handle.id, flags, retypes.then_some(kind), value);
        let mut expect = self.expect(&meta, handle.reads, true, effects);
        if scrolls {
            expect.effects.push(Effect::Cursor(Some((handle.id, meta.clone(), 0))));
            let status = self.model.after(&expect.effects).status();
            let mut right = Vec::new();
            let caps = self.model.caps;
            let column = [answer::column()];
            wire::reply::write_cursor(&mut right, &mut 1, caps, &column, status);
            expect.candidates = vec![right];
            expect.counts = None;
        }
        expect.effects.push(Effect::Typed(handle.id, kind));
        expect.may_be_lost = self.stored_code || handle.unsure;
        let sticks = self.stored_code && !handle.reads;
        let name = if long { "execute with long data" } else { "execute" };
        Sending { bytes, expect: Some(expect), name, sticks, ..Sending::default() }
    }

    /// What an execution is to be answered with, and whether by a cursor.
    fn shape_of(&self, handle: &Handle, plainly: u64, dice: &mut Dice) -> (Shape, bool) {
        let rows = dice.below(4) as u32;
        let mut shape = match handle.reads {
            true => Shape { rows, width: dice.below(40) as u32, ..Shape::of(AnswerKind::Rows) },
            false if handle.returns => Shape { rows, ..Shape::of(AnswerKind::Returning) },
            false => Shape { rows: rows.min(1), ..Shape::of(AnswerKind::Write) },
        };
        if handle.reads && dice.percent(if self.drills { 75 } else { 12 }) {
            // who is relayed has to know by itself what becomes of its types
            let refused = !self.model.relayed && dice.percent(if self.drills { 90 } else { 50 });
            shape.kind = if refused { AnswerKind::Refuse } else { AnswerKind::Break };
        }
        let scrolls = shape.kind == AnswerKind::Rows && shape.rows > 0 && dice.percent(plainly);
        // what warned once shares no lane any more
        let warns = shape.kind == AnswerKind::Rows && !scrolls && !self.drills && dice.percent(8);
        shape.warnings = if warns { 2 } else { 0 };
        (shape, scrolls)
    }

    pub(super) fn fetch(&self, dice: &mut Dice) -> Sending {
        let Some((id, meta, from)) = self.model.cursor.clone() else { return self.read(dice) };
        let to = (from + 1 + dice.below(3) as u32).min(meta.shape.rows);
        let mut body = id.to_le_bytes().to_vec();
        body.extend_from_slice(&(to - from).to_le_bytes());
        let next = (to < meta.shape.rows).then(|| (id, meta.clone(), to));
        let (caps, status) = (self.model.caps, self.model.status());
        let servers = self.model.servers(&meta, true);
        let candidates =
            servers.iter().map(|server| fetched(&meta, server, caps, status, from..to)).collect();
        let expect = Expect {
            number: self.number,
            candidates,
            effects: vec![Effect::Cursor(next)],
            // a cursor does not survive its connection
            error: Some(1421),
            ..Expect::default()
        };
        let bytes = packet(code::STMT_FETCH, &body);
        Sending { bytes, expect: Some(expect), name: "fetch", ..Sending::default() }
    }

    pub(super) fn close_statement(&self, dice: &mut Dice) -> Sending {
        if self.model.handles.is_empty() {
            return self.read(dice);
        }
        let handle = dice.pick(&self.model.handles);
        let bytes = packet(code::STMT_CLOSE, &handle.id.to_le_bytes());
        Sending { bytes, name: "close statement", closes: Some(handle.id), ..Sending::default() }
    }

    pub(super) fn reset_statement(&self, dice: &mut Dice) -> Sending {
        if self.model.handles.is_empty() {
            return self.read(dice);
        }
        self.reset_of(dice.pick(&self.model.handles).id)
    }

    fn reset_of(&self, id: u32) -> Sending {
        let bytes = packet(code::STMT_RESET, &id.to_le_bytes());
        let mut sending = self.plain("reset statement", bytes, vec![Effect::Cleared(id)]);
        if let Some(expect) = &mut sending.expect {
            expect.candidates.extend(self.other_lane_s_ok());
        }
        sending
    }
}

fn execute_packet(
    out: &mut Vec<u8>,
    id: u32,
    flags: u8,
    retypes: Option<u8>,
    value: Option<&[u8]>,
) {
    let mut body = id.to_le_bytes().to_vec();
    body.push(flags);
    body.extend_from_slice(&1_u32.to_le_bytes());
    body.push(0);
    body.push(u8::from(retypes.is_some()));
    if let Some(kind) = retypes {
        body.extend_from_slice(&[kind, 0]);
    }
    if let Some(value) = value {
        lenenc::write_bytes(&mut body, value);
    }
    command::write(out, code::STMT_EXECUTE, &body);
}
