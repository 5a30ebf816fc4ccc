//! A client's end of a connection that keeps every byte it is answered, so that two servers'
//! answers can be compared. It decides where an answer ends, not what it means.

use std::collections::BTreeMap;
use std::net::Shutdown;

use anyhow::{Context, Result, bail};
use live::Raw;
use serde_json::Value;
use wire::Caps;
use wire::frame::write_packet;
use wire::lenenc::NULL;
use wire::reader::Reader;

use crate::script::Line;

/// Packets of an answer with their sequence numbers.
pub(crate) type Answer = Vec<(u8, Vec<u8>)>;

/// A logged-in client.
pub(crate) struct End {
    raw: Raw,
    /// Whether results end with OK packets.
    no_eof: bool,
    /// Status flags that are not kept.
    flags: u16,
    prepared: BTreeMap<String, [u8; 4]>,
}

/// Which shape an answer has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// With rows of text, if it has any.
    Result,
    /// With rows of binary values.
    Execution,
    Prepare,
    Simple,
}

/// What is sent at once: packets, and the shapes of their answers.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    shapes: Vec<Shape>,
    /// The text that an answer prepares.
    prepares: BTreeMap<usize, String>,
    /// The last answer that is a reset's.
    resets_at: Option<usize>,
}

/// What the last packet of a result says: another one follows.
const MORE_RESULTS: u16 = 8;
/// And: the session has changed, which concerns clients that asked to be told; and: a statement
/// was prepared anew since the last execution, which is so only on a connection that had it; and
/// which indexes were used, which depends on what a server estimates.
const NOT_TOLD: u16 = 0x4000 | 0x0400 | 0x0030;
/// Where the status flags of an EOF packet are.
const STATUS_OF_EOF: usize = 3;
const EOF_LEN_MAX: usize = 9;
/// Character set, length, type and flags of a user variable that was taken off a connection, and
/// of one that nobody had set: of MariaDB and of MySQL.
const TYPES: [(&[u8; 9], &[u8; 9]); 2] = [
    (b"\x0c\x3f\x00\xff\xff\xff\x00\xfb\x80", b"\x0c\x3f\x00\x00\x00\x00\x01\xfb\x80"),
    (b"\x0c\x3f\x00\xff\xff\xff\x00\xfa\x80", b"\x0c\x3f\x00\xfc\xff\x00\x00\xfd\x80"),
];
/// Names the statement that was prepared last, with MariaDB.
const LAST_PREPARED: [u8; 4] = [0xff; 4];

impl End {
    /// Logs in as `app`, several statements in a text allowed. Some status flags are not kept.
    pub(crate) fn login(port: u16, no_eof: bool, flags: u16) -> Result<Self> {
        let caps = Caps::MULTI_STATEMENTS.union(Caps::MULTI_RESULTS);
        let caps = caps.union(Caps::PS_MULTI_RESULTS).union(Caps::LOCAL_FILES);
        let caps = if no_eof { caps.union(Caps::DEPRECATE_EOF) } else { caps };
        let raw = Raw::login_able(port, ("app", "app"), caps)?;
        Ok(Self { raw, no_eof, flags: flags | NOT_TOLD, prepared: BTreeMap::new() })
    }

    /// What the login told: its status flags, and whether the greeting's id is the connection's.
    pub(crate) fn told_at_login(&mut self) -> Result<String> {
        let status = self.raw.welcome.login_status.0 & !self.flags;
        let asks = format!("SELECT CONNECTION_ID() = {} AS itself", self.id());
        let answers = self.run(&[&Line::Text(asks)], false)?;
        let told: Vec<_> = answers.iter().map(shown).collect();
        Ok(format!("{status:#x}; {}", told.join("; ")))
    }

    /// What the greeting called this connection.
    pub(crate) fn id(&self) -> u32 {
        self.raw.welcome.connection_id
    }

    /// Runs lines, all of which are sent before the first answer is read. `last_id` says that a
    /// statement may be executed before its number is known.
    pub(crate) fn run(&mut self, lines: &[&Line], last_id: bool) -> Result<Vec<Answer>> {
        let mut batch = Batch::default();
        let mut told = Vec::new();
        for line in lines {
            if let Line::Execute(text, _) = line
                && !self.prepared.contains_key(text)
            {
                if last_id && lines.len() > 1 {
                    batch.prepare(text);
                } else {
                    // its number is not known before it is answered
                    self.flush(&mut batch, &mut told)?;
                    batch.prepare(text);
                    self.flush(&mut batch, &mut told)?;
                    if !self.prepared.contains_key(text) {
                        continue;
                    }
                }
            }
            self.put(line, &mut batch);
        }
        self.flush(&mut batch, &mut told)?;
        Ok(told)
    }

    /// Leaves without a word.
    pub(crate) fn leave(&self) {
        drop(self.raw.stream().shutdown(Shutdown::Both));
    }

    fn put(&mut self, line: &Line, batch: &mut Batch) {
        match line {
            Line::Text(text) => batch.push(Shape::Result, &[b"\x03", text.as_bytes()]),
            Line::Schema(name) => batch.push(Shape::Simple, &[b"\x02", name.as_bytes()]),
            Line::Reset => {
                self.prepared.clear();
                batch.resets_at = Some(batch.shapes.len());
                batch.push(Shape::Simple, &[b"\x1f"]);
            }
            Line::Execute(text, values) => {
                let id = self.prepared.get(text).copied().unwrap_or(LAST_PREPARED);
                batch.push(Shape::Execution, &[b"\x17", &id, b"\0\x01\0\0\0", &parameters(values)]);
            }
        }
    }

    /// Sends what is in a batch and reads all answers.
    fn flush(&mut self, batch: &mut Batch, told: &mut Vec<Answer>) -> Result<()> {
        let batch = std::mem::take(batch);
        self.raw.bytes(&batch.bytes)?;
        for (at, shape) in batch.shapes.iter().enumerate() {
            let mut answer = self.read(*shape)?;
            if let Some(text) = batch.prepares.get(&at)
                && let Some((_, packet)) = answer.first_mut()
                && packet.first() == Some(&0)
            {
                let id = packet.get_mut(1..5).context("the id of a statement")?;
                // a reset in the same send has ended it
                if batch.resets_at.is_none_or(|reset| reset < at) {
                    self.prepared.insert(text.clone(), id[..].try_into()?);
                }
                // each side counts by itself
                id.fill(0);
            }
            told.push(answer);
        }
        Ok(())
    }

    fn read(&mut self, shape: Shape) -> Result<Answer> {
        let mut answer = Answer::new();
        loop {
            let first = self.next(&mut answer)?;
            match (first.first(), shape) {
                (Some(0), Shape::Simple) => {
                    goes_on(&mut answer, status_of_ok(&first)?, self.flags)?;
                    return Ok(answer);
                }
                (Some(0xff), _) | (_, Shape::Simple) => return Ok(answer),
                (Some(0), Shape::Prepare) => {
                    let number =
                        |at: usize| usize::from(u16::from_le_bytes([first[at], first[at + 1]]));
                    for count in [number(7), number(5)].into_iter().filter(|count| *count > 0) {
                        let from = answer.len();
                        self.columns(count, &mut answer)?;
                        answer[from..].iter_mut().for_each(|(_, packet)| forget_type(packet));
                        if !self.no_eof {
                            self.next(&mut answer)?;
                            goes_on(&mut answer, STATUS_OF_EOF, self.flags)?;
                        }
                    }
                    return Ok(answer);
                }
                (Some(0xfb), _) => {
                    let (seq, _) = answer.last().context("a packet")?;
                    let seq = seq.wrapping_add(1);
                    // every file has these lines
                    self.raw.send(seq, b"41\n42\n")?;
                    self.raw.send(seq.wrapping_add(1), b"")?;
                }
                (Some(0), _) if !goes_on(&mut answer, status_of_ok(&first)?, self.flags)? => {
                    return Ok(answer);
                }
                (Some(0), _) => {}
                (Some(_), _) => {
                    let (from, count) = (answer.len(), usize::from(first[0]));
                    self.columns(count, &mut answer)?;
                    if !self.no_eof {
                        self.next(&mut answer)?;
                        goes_on(&mut answer, STATUS_OF_EOF, self.flags)?;
                    }
                    let rows_at = answer.len();
                    let ends = !self.rows(&mut answer)?;
                    let (definitions, rows) = answer.split_at_mut(rows_at);
                    let rows = &rows[..rows.len().saturating_sub(1)];
                    for (at, (_, definition)) in definitions[from..].iter_mut().enumerate() {
                        let is_null = |(_, row): &(u8, Vec<u8>)| is_null(row, at, shape);
                        if at < count && rows.iter().all(is_null) {
                            forget_type(definition);
                        }
                    }
                    if ends {
                        return Ok(answer);
                    }
                }
                (None, _) => bail!("an empty packet"),
            }
        }
    }

    /// Reads definitions. A user variable that was taken off a connection is `NULL` there and has
    /// another type than one that nobody had set, which is put right.
    fn columns(&mut self, count: usize, answer: &mut Answer) -> Result<()> {
        for _ in 0..count {
            self.next(answer)?;
            let (_, packet) = answer.last_mut().context("a packet")?;
            for (taken_off, never_set) in TYPES {
                let at = packet.windows(taken_off.len()).position(|part| part == taken_off);
                if let Some(part) = at.and_then(|at| packet.get_mut(at..at + never_set.len())) {
                    part.copy_from_slice(never_set);
                }
            }
        }
        Ok(())
    }

    /// Reads rows; whether another result follows.
    fn rows(&mut self, answer: &mut Answer) -> Result<bool> {
        loop {
            let packet = self.next(answer)?;
            match packet.first() {
                Some(0xff) => return Ok(false),
                Some(0xfe) if self.no_eof => {
                    return goes_on(answer, status_of_ok(&packet)?, self.flags);
                }
                Some(0xfe) if packet.len() < EOF_LEN_MAX => {
                    return goes_on(answer, STATUS_OF_EOF, self.flags);
                }
                _ => {}
            }
        }
    }

    fn next(&mut self, answer: &mut Answer) -> Result<Vec<u8>> {
        let (seq, packet) = self.raw.receive()?;
        answer.push((seq, packet.clone()));
        Ok(packet)
    }
}

impl Batch {
    fn push(&mut self, shape: Shape, parts: &[&[u8]]) {
        write_packet(&mut self.bytes, &mut 0, &parts.concat());
        self.shapes.push(shape);
    }

    fn prepare(&mut self, text: &str) {
        self.prepares.insert(self.shapes.len(), text.into());
        self.push(Shape::Prepare, &[b"\x16", text.as_bytes()]);
    }
}

/// Whether a row has no value in a column.
fn is_null(row: &[u8], column: usize, shape: Shape) -> bool {
    if shape == Shape::Execution {
        // the header, and two bits of the bitmap, come first
        return row
            .get(1 + (column + 2) / 8)
            .is_some_and(|bits| bits >> ((column + 2) % 8) & 1 > 0);
    }
    let mut rest = Reader::new(row);
    for _ in 0..column {
        let skipped = match rest.rest().first() {
            Some(&NULL) => rest.marker(NULL),
            _ => rest.lenenc_bytes().map(|_| ()),
        };
        if skipped.is_err() {
            return false;
        }
    }
    rest.rest().first() == Some(&NULL)
}

/// A user variable without a value has the type that it had last, wherever it got that from: takes
/// it out of its column's definition.
fn forget_type(definition: &mut [u8]) {
    let mut rest = Reader::new(definition);
    let strings = [(); 6].map(|()| rest.lenenc_bytes().unwrap_or_default());
    let is_variable = strings[4].starts_with(b"@") && !strings[4].starts_with(b"@@");
    let tail = rest.rest().len();
    if is_variable && let Some(at) = definition.len().checked_sub(tail) {
        definition[at..].fill(0);
    }
}

/// Where the status flags of an OK packet are.
fn status_of_ok(packet: &[u8]) -> Result<usize> {
    let mut read = Reader::new(packet);
    read.u8()?;
    read.lenenc()?;
    read.lenenc()?;
    Ok(read.offset())
}

/// Whether another result follows the packet at the end of an answer whose status flags are here;
/// some of them are taken out.
fn goes_on(answer: &mut Answer, at: usize, untold: u16) -> Result<bool> {
    let (_, packet) = answer.last_mut().context("a packet")?;
    let flags = packet.get_mut(at..at + 2).context("flags")?;
    let status = u16::from_le_bytes(flags[..].try_into()?);
    flags.copy_from_slice(&(status & !untold).to_le_bytes());
    Ok(status & MORE_RESULTS > 0)
}

/// The part of an execution that has its parameters.
fn parameters(values: &[Value]) -> Vec<u8> {
    const DOUBLE: u8 = 5;
    const NULL: u8 = 6;
    const LONGLONG: u8 = 8;
    const STRING: u8 = 253;
    if values.is_empty() {
        return Vec::new();
    }
    let mut nulls = vec![0; values.len().div_ceil(8)];
    let (mut types, mut data) = (vec![1], Vec::new());
    for (at, value) in values.iter().enumerate() {
        let kind = match value {
            Value::String(text) => {
                data.push(u8::try_from(text.len()).expect("short"));
                data.extend_from_slice(text.as_bytes());
                STRING
            }
            value if value.is_i64() => {
                data.extend_from_slice(&value.as_i64().unwrap_or(0).to_le_bytes());
                LONGLONG
            }
            value if value.is_number() => {
                data.extend_from_slice(&value.as_f64().unwrap_or(0.0).to_le_bytes());
                DOUBLE
            }
            _ => {
                nulls[at / 8] |= 1 << (at % 8);
                NULL
            }
        };
        types.extend_from_slice(&[kind, 0]);
    }
    [nulls, types, data].concat()
}

/// An answer for people to read.
pub(crate) fn shown(answer: &Answer) -> String {
    let packet = |(seq, bytes): &(u8, Vec<u8>)| format!("{seq}:{}", bytes.escape_ascii());
    answer.iter().map(packet).collect::<Vec<_>>().join(" | ")
}
