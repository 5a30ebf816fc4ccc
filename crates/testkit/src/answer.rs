//! The one right answer to a statement: bytes that follow from its words, the server that gives
//! it, and the connection's capabilities.
//!
//! Both the fake servers and the clients' shadow models take their bytes from here, so any
//! difference on the way is seen. Knows no connection.

use wire::frame::write_with;
use wire::reply::{
    ColumnDef, ColumnKind, EofPacket, ErrPacket, OkPacket, ResultWriter, write_eof, write_err,
    write_infile, write_ok,
};
use wire::value::Value;
use wire::{Caps, Status};

use crate::meta::{AnswerKind, Counts, Meta};

/// Who answers, and how.
#[derive(Clone, Copy, Debug)]
pub struct Voice<'a> {
    /// The server's name.
    pub server: &'a str,
    /// The connection's capabilities.
    pub caps: Caps,
    /// Rows in binary.
    pub binary: bool,
    /// The status that the connection has after the statement.
    pub status: Status,
    /// It tells that its state has changed.
    pub changed: bool,
}

/// The column of every result.
pub fn column() -> ColumnDef<'static> {
    ColumnDef::text(b"v")
}

/// The parameter of a statement that is prepared nowhere.
pub fn parameter() -> ColumnDef<'static> {
    ColumnDef::text(b"?")
}

/// The insert id that a write makes; 0 when it makes none.
pub fn insert_id(meta: &Meta) -> u64 {
    u64::from(meta.shape.rows.min(1)) * (u64::from(meta.tag) * 1000 + u64::from(meta.number))
}

/// What a statement comes to; `None` where nobody asks for it.
pub(crate) fn counts(meta: &Meta) -> Option<Counts> {
    match meta.shape.kind {
        AnswerKind::Rows => Some(Counts { found: Some(meta.shape.rows.into()), affected: -1 }),
        AnswerKind::Write => Some(Counts { found: None, affected: meta.number.into() }),
        _ => None,
    }
}

/// What a read says that has the whole counted of which it wants a part.
pub(crate) const CALCULATES: &str = "SQL_CALC_FOUND_ROWS";

/// How many rows there are of which so many are wanted.
pub(crate) fn of_whole(rows: u32) -> u64 {
    u64::from(rows) + 1000
}

/// The whole answer, framed. For a file: only the request; the end is [`file_taken`].
pub fn answer(meta: &Meta, voice: &Voice<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut seq = 1;
    let Voice { server, caps, .. } = *voice;
    match meta.shape.kind {
        AnswerKind::Rows | AnswerKind::Break | AnswerKind::Returning => {
            results(&mut out, &mut seq, meta, voice)
        }
        AnswerKind::Write | AnswerKind::Plain | AnswerKind::End | AnswerKind::Prepare => {
            write_ok(&mut out, &mut seq, caps, &done(meta, voice, said(meta, server).as_bytes()));
        }
        AnswerKind::Half => {
            let status = voice.status | Status::MORE_RESULTS;
            let first = OkPacket { status, ..OkPacket::default() };
            write_ok(&mut out, &mut seq, caps, &first);
            refuse(&mut out, &mut seq, meta, server, 1064);
        }
        AnswerKind::Refuse => refuse(&mut out, &mut seq, meta, server, 1064),
        AnswerKind::Deadlock => refuse(&mut out, &mut seq, meta, server, 1213),
        AnswerKind::File => write_infile(&mut out, &mut seq, file_name(meta).as_bytes()),
        AnswerKind::Diagnostics => return diagnostics(Some((meta.tag, meta.warned)), voice),
    }
    out
}

/// What a connection tells of the warnings and errors of a statement: of that session, with that
/// number.
pub fn diagnostics(of: Option<(u32, u32)>, voice: &Voice<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut seq = 1;
    let columns = [b"Level".as_slice(), b"Code", b"Message"].map(ColumnDef::text);
    let mut writer = ResultWriter::begin(&mut out, &mut seq, voice.caps, &columns, voice.status);
    if let Some((tag, number)) = of {
        let message = condition(tag, number);
        for (level, code) in [("Warning", "1292"), ("Error", "1064")] {
            let row = [level, code, &message];
            writer.text_row(row.map(|cell| Some(cell.as_bytes())));
        }
    }
    writer.end(voice.status, 0);
    out
}

/// What a condition says that a statement left.
pub(crate) fn condition(tag: u32, number: u32) -> String {
    format!("s{tag} q{number}")
}

/// The answer to the last packet of a file, which had the sequence number before `seq`.
pub fn file_taken(meta: &Meta, voice: &Voice<'_>, mut seq: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let text = said(meta, voice.server);
    write_ok(&mut out, &mut seq, voice.caps, &done(meta, voice, text.as_bytes()));
    out
}

/// The name of the file that a statement asks for.
pub fn file_name(meta: &Meta) -> String {
    format!("file of s{} q{}", meta.tag, meta.number)
}

/// A plain OK, as a connection gives it that has nothing to say.
pub fn ok(caps: Caps, status: Status, session_track: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_ok(&mut out, &mut 1, caps, &OkPacket { status, session_track, ..OkPacket::default() });
    out
}

/// An error of a server.
pub fn error(code: u16, message: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let err = ErrPacket { code, sqlstate: *b"HY000", message: message.as_bytes() };
    write_err(&mut out, &mut 1, &err);
    out
}

fn said(meta: &Meta, server: &str) -> String {
    format!("s{} q{} {server}", meta.tag, meta.number)
}

fn done<'a>(meta: &Meta, voice: &Voice<'_>, info: &'a [u8]) -> OkPacket<'a> {
    let write = meta.shape.kind == AnswerKind::Write;
    OkPacket {
        affected_rows: meta.number.into(),
        last_insert_id: if write { insert_id(meta) } else { 0 },
        status: voice.status,
        warnings: meta.shape.warnings,
        info,
        session_track: if voice.changed { CHANGED } else { &[] },
    }
}

fn refuse(out: &mut Vec<u8>, seq: &mut u8, meta: &Meta, server: &str, code: u16) {
    let message = said(meta, server);
    let err = ErrPacket { code, sqlstate: *b"42000", message: message.as_bytes() };
    write_err(out, seq, &err);
}

fn results(out: &mut Vec<u8>, seq: &mut u8, meta: &Meta, voice: &Voice<'_>) {
    let shape = &meta.shape;
    for result in 0..shape.results {
        let last = result + 1 == shape.results;
        let status = match last {
            true => voice.status,
            false => voice.status | Status::MORE_RESULTS,
        };
        let columns = [column()];
        let mut writer = ResultWriter::begin(out, seq, voice.caps, &columns, status);
        for row in 0..shape.rows {
            let text = row_text(meta, voice.server, result, row);
            match voice.binary {
                true => writer.binary_row(&columns, &[Value::Bytes(&text)]),
                false => writer.text_row([Some(text.as_slice())]),
            }
        }
        if last && shape.kind == AnswerKind::Break {
            let message = said(meta, voice.server);
            let err = ErrPacket { code: 1028, sqlstate: *b"HY000", message: message.as_bytes() };
            return writer.fail(&err);
        }
        if last && voice.changed {
            return end_changed(out, seq, voice, shape.warnings);
        }
        writer.end(status, shape.warnings);
    }
}

/// The end of a result whose statement has changed its connection: told where there is room for
/// it, and hinted at where there is none, as MariaDB does.
fn end_changed(out: &mut Vec<u8>, seq: &mut u8, voice: &Voice<'_>, warnings: u16) {
    let Voice { caps, status, .. } = *voice;
    if caps.contains(Caps::DEPRECATE_EOF) {
        let end = OkPacket { status, warnings, session_track: CHANGED, ..OkPacket::default() };
        return write_with(out, seq, |out| end.encode_as_eof(caps, out));
    }
    let status = status | Status::SESSION_STATE_CHANGED;
    write_eof(out, seq, caps, EofPacket { warnings, status });
}

/// The answer to a question for a number.
pub(crate) fn number(number: u64, voice: &Voice<'_>) -> Vec<u8> {
    value(&number.to_string(), voice)
}

/// The answer to a question for anything.
pub(crate) fn value(value: &str, voice: &Voice<'_>) -> Vec<u8> {
    row([value], voice)
}

/// What a connection begins with: `sql_mode`, `autocommit`, `completion_type`, and that it has
/// no `init_connect`.
pub(crate) fn defaults(voice: &Voice<'_>) -> Vec<u8> {
    row(["STRICT_TRANS_TABLES", "1", "NO_CHAIN", "0"], voice)
}

fn row<const N: usize>(values: [&str; N], voice: &Voice<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut seq = 1;
    let columns = [(); N].map(|()| column());
    let mut writer = ResultWriter::begin(&mut out, &mut seq, voice.caps, &columns, voice.status);
    writer.text_row(values.map(|value| Some(value.as_bytes())));
    writer.end(voice.status, 0);
    out
}

/// Rows of four cells.
pub(crate) fn cells(rows: &[[&str; 4]], voice: &Voice<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut seq = 1;
    let columns = [column(), column(), column(), column()];
    let mut writer = ResultWriter::begin(&mut out, &mut seq, voice.caps, &columns, voice.status);
    rows.iter().for_each(|row| writer.text_row(row.map(|cell| Some(cell.as_bytes()))));
    writer.end(voice.status, 0);
    out
}

/// One row: who, what, where, and a filling that no other row has.
pub(crate) fn row_text(meta: &Meta, server: &str, result: u32, row: u32) -> Vec<u8> {
    let mut text = format!("{} r{result}.{row} ", said(meta, server)).into_bytes();
    let start = u64::from(meta.tag) << 32 ^ u64::from(meta.number) << 16 ^ u64::from(row);
    fill(&mut text, start, meta.shape.width as usize);
    text
}

/// Appends `len` bytes that follow from `start`.
pub fn fill(out: &mut Vec<u8>, start: u64, len: usize) {
    let end = out.len() + len;
    let mut state = start.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while out.len() < end {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let block = (state >> 8) & 0x0f0f_0f0f_0f0f_0f0f | 0x4040_4040_4040_4040;
        out.extend_from_slice(&block.to_le_bytes());
    }
    out.truncate(end);
}

/// What the client sends as a statement's file.
pub fn file(meta: &Meta) -> Vec<u8> {
    let mut file = Vec::new();
    fill(&mut file, u64::from(meta.tag) << 20 ^ u64::from(meta.number), meta.shape.width as usize);
    file
}

/// The session-track data that tells of a new schema.
pub fn schema_track(schema: &str) -> Vec<u8> {
    let name = schema.as_bytes();
    let mut data = Vec::new();
    wire::lenenc::write_bytes(&mut data, name);
    let mut track = vec![1];
    wire::lenenc::write_bytes(&mut track, &data);
    track
}

/// The session-track data that tells of any change.
const CHANGED: &[u8] = b"\x02\x011";

/// The type that parameters are sent with.
pub const PARAMETER: ColumnKind = ColumnKind::VAR_STRING;

/// The types that clients send their parameter as.
pub const PARAMETER_KINDS: [u8; 3] = [PARAMETER.0, ColumnKind::BLOB.0, ColumnKind::STRING.0];
