//! A dump, packet by packet: which events there are, and what each tells.

use std::collections::HashMap;

use wire::reader::Reader;
use wire::{Malformed, What};

use crate::change::{LogChange, Noted, Why};
use crate::event::{Header, Pieces};
use crate::fault::{Flaw, LogFault};
use crate::gtid::Gtid;
use crate::packed::{self, Unpacker};
use crate::position::Position;
use crate::statement;

/// A server's log as it is sent: the events behind one place, one in each packet.
pub struct LogStream {
    reading: Reading,
    event: Pieces,
    /// Reads the events of a compressed transaction.
    unpacker: Option<Unpacker>,
    /// Whether events end in a checksum.
    has_checksums: bool,
    /// How many events there were.
    events: u64,
}

/// What events say of those behind them.
struct Reading {
    position: Position,
    gtid: Option<Gtid>,
    tables: Tables,
}

/// Takes what a log tells.
type Tell<'t> = &'t mut dyn FnMut(Noted<'_>);

impl LogStream {
    /// What is sent from that place on; whether with checksums, until a file says otherwise.
    pub fn new(from: Position, has_checksums: bool) -> Self {
        let reading = Reading { position: from, gtid: None, tables: Tables::default() };
        Self { reading, event: Pieces::default(), unpacker: None, has_checksums, events: 0 }
    }

    /// Takes the next bytes of a packet, without the packet's own first byte.
    pub fn feed(&mut self, part: &[u8], tell: Tell<'_>) -> Result<(), LogFault> {
        let fed = self.feed_event(part, tell);
        fed.map_err(|flaw| self.fault(flaw))
    }

    fn feed_event(&mut self, part: &[u8], tell: Tell<'_>) -> Result<(), Flaw> {
        let before = self.event.header();
        let taken = self.event.take(part)?;
        if taken.count < part.len() {
            return Err(Flaw::Length);
        }
        let Some(header) = self.event.header().filter(|header| header.kind == kind::PAYLOAD) else {
            return Ok(());
        };
        // what came with the header is read from the head
        let (unpacker, packed) = match (&mut self.unpacker, before) {
            (Some(unpacker), Some(_)) => (unpacker, part),
            (unpacker, _) => {
                self.reading.advance(header);
                (unpacker.insert(Unpacker::default()), self.event.latest(part))
            }
        };
        let reading = &mut self.reading;
        let read = &mut |event: &Pieces| reading.read(event, false, tell);
        unpacker.feed(packed, read)
    }

    /// A packet has ended: what its event tells is told.
    pub fn end(&mut self, tell: Tell<'_>) -> Result<(), LogFault> {
        self.end_event(tell).map_err(|flaw| self.fault(flaw))?;
        self.event.clear();
        self.unpacker = None;
        self.events += 1;
        Ok(())
    }

    fn end_event(&mut self, tell: Tell<'_>) -> Result<(), Flaw> {
        let Some(header) = self.event.header() else { return Err(Flaw::Length) };
        if self.event.seen() != u64::from(header.length) {
            return Err(Flaw::Length);
        }
        if header.kind == kind::FORMAT {
            // the algorithm stands in front of a checksum that is there whatever it is
            self.has_checksums = match self.event.body(true).last() {
                Some(0) => false,
                Some(1) => true,
                _ => return Err(What::FixedField.into()),
            };
        }
        if self.has_checksums && !self.event.fits_checksum() {
            return Err(Flaw::Checksum);
        }
        if header.kind == kind::PAYLOAD {
            let is_whole = self.unpacker.as_ref().is_some_and(Unpacker::is_at_end);
            return if is_whole { Ok(()) } else { Err(Flaw::Packed) };
        }
        self.reading.advance(header);
        self.reading.read(&self.event, self.has_checksums, tell)
    }

    fn fault(&self, flaw: Flaw) -> LogFault {
        let event = self.event.header().map_or(0, |header| header.kind);
        LogFault { after: self.reading.position.clone(), event, flaw }
    }

    /// The end of the last event.
    pub const fn position(&self) -> &Position {
        &self.reading.position
    }

    /// The transaction that was named last.
    pub const fn gtid(&self) -> Option<&Gtid> {
        self.reading.gtid.as_ref()
    }

    /// How many events there were.
    pub const fn events(&self) -> u64 {
        self.events
    }
}

impl Reading {
    /// Moves on to the end of an event of a file.
    fn advance(&mut self, header: Header) {
        if !header.is_artificial() && header.kind != kind::HEARTBEAT {
            self.position.advance(header.end);
        }
    }

    /// Reads an event that is there.
    fn read(&mut self, event: &Pieces, has_checksum: bool, tell: Tell<'_>) -> Result<(), Flaw> {
        let Some(header) = event.header() else { return Err(Flaw::Length) };
        let body = event.body(has_checksum);
        let why = match header.kind {
            kind::QUERY => match query(body)? {
                text if event.is_cut() => statement::judge_cut(text),
                text => statement::judge(text),
            },
            kind::QUERY_PACKED => statement::judge_cut(&packed::statement(query(body)?)),
            kind::EXECUTE_LOAD => Some(Why::Statement),
            kind::XA_PREPARE => Some(Why::Xa),
            kind::INCIDENT => Some(Why::Incident),
            kind::ROTATE => return Ok(self.rotate(body)?),
            kind::HEARTBEAT => {
                self.heartbeat(header, body);
                None
            }
            kind::HEARTBEAT_2 => return Ok(self.heartbeat_2(body)?),
            kind::TABLE_MAP => return Ok(self.tables.name(body)?),
            kind::GTID => {
                self.gtid = Some(Gtid::of_mysql(body)?);
                None
            }
            kind::GTID_TAGGED => {
                self.gtid = Some(Gtid::of_mysql_tagged(body)?);
                None
            }
            kind::GTID_MARIADB => {
                self.gtid = Some(Gtid::of_mariadb(header.server, body)?);
                None
            }
            kind::GTID_NONE => {
                self.gtid = None;
                None
            }
            rows if kind::is_rows(rows) => return Ok(self.rows(body, tell)?),
            other if kind::is_harmless(other) => None,
            other => Some(Why::UnknownEvent(other)),
        };
        if let Some(why) = why {
            let Self { position: at, gtid, .. } = self;
            tell(Noted { at, gtid: gtid.as_ref(), change: LogChange::All(why) });
        }
        Ok(())
    }

    /// Another file goes on.
    fn rotate(&mut self, body: &[u8]) -> Result<(), Malformed> {
        let mut reader = Reader::new(body);
        let offset = reader.u64()?;
        self.position = Position { file: reader.take_rest().to_vec(), offset };
        self.tables = Tables::default();
        Ok(())
    }

    /// Nothing has happened, or nothing that is sent, up to that place.
    fn heartbeat(&mut self, header: Header, body: &[u8]) {
        if body == self.position.file && header.end != 0 {
            self.position.advance(header.end);
        }
    }

    /// The same, in fields that each have a kind and a length.
    fn heartbeat_2(&mut self, body: &[u8]) -> Result<(), Malformed> {
        const END: u8 = 0;
        const FILE: u8 = 1;
        const OFFSET: u8 = 2;
        let mut reader = Reader::new(body);
        let mut told = Position::default();
        while !reader.is_empty() {
            let field = reader.u8()?;
            if field == END {
                break;
            }
            let value = reader.lenenc_bytes()?;
            match field {
                FILE => told.file = value.to_vec(),
                OFFSET => told.offset = Reader::new(value).lenenc()?,
                _ => {}
            }
        }
        if told.file == self.position.file {
            self.position.offset = told.offset.max(self.position.offset);
        }
        Ok(())
    }

    fn rows(&mut self, body: &[u8], tell: Tell<'_>) -> Result<(), Malformed> {
        const ENDS_STATEMENT: u16 = 1;
        let mut reader = Reader::new(body);
        let (id, flags) = (table_id(&mut reader)?, reader.u16()?);
        let Self { position: at, gtid, tables } = self;
        let change = match tables.0.get(&id) {
            Some((schema, table)) => Some(LogChange::Table { schema, table }),
            None if id == NO_TABLE => None,
            None => Some(LogChange::All(Why::UnnamedTable)),
        };
        if let Some(change) = change {
            tell(Noted { at, gtid: gtid.as_ref(), change });
        }
        if flags & ENDS_STATEMENT != 0 {
            tables.0.clear();
        }
        Ok(())
    }
}

/// The id in an event that only ends a statement.
const NO_TABLE: u64 = 0xff_ffff;

/// The schemas and names of tables that rows are of, by the ids that the log has for them.
#[derive(Default)]
struct Tables(HashMap<u64, (Vec<u8>, Vec<u8>)>);

/// Tables of a statement; those of a server that never ends one are forgotten.
const TABLES_MAX: usize = 4096;

impl Tables {
    fn name(&mut self, body: &[u8]) -> Result<(), Malformed> {
        let mut reader = Reader::new(body);
        let id = table_id(&mut reader)?;
        reader.u16()?;
        let schema = reader.lenenc_bytes()?.to_vec();
        reader.marker(0)?;
        let table = reader.lenenc_bytes()?.to_vec();
        reader.marker(0)?;
        if self.0.len() >= TABLES_MAX {
            self.0.clear();
        }
        self.0.insert(id, (schema, table));
        Ok(())
    }
}

fn table_id(reader: &mut Reader<'_>) -> Result<u64, Malformed> {
    let [a, b, c, d, e, f] = reader.array()?;
    Ok(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
}

/// The text of a statement, as much of it as is there.
fn query(body: &[u8]) -> Result<&[u8], Malformed> {
    let mut reader = Reader::new(body);
    // thread and duration
    reader.bytes(8)?;
    let schema_length = usize::from(reader.u8()?);
    reader.u16()?;
    let variables_length = usize::from(reader.u16()?);
    // a head may end within them
    if reader.bytes(variables_length).is_err() {
        return Ok(b"");
    }
    reader.bytes(schema_length)?;
    reader.marker(0)?;
    Ok(reader.take_rest())
}

/// Kinds of events, by their numbers.
mod kind {
    pub(super) const QUERY: u8 = 2;
    pub(super) const ROTATE: u8 = 4;
    pub(super) const FORMAT: u8 = 15;
    pub(super) const EXECUTE_LOAD: u8 = 18;
    pub(super) const TABLE_MAP: u8 = 19;
    pub(super) const INCIDENT: u8 = 26;
    pub(super) const HEARTBEAT: u8 = 27;
    pub(super) const GTID: u8 = 33;
    /// Of MySQL without GTIDs.
    pub(super) const GTID_NONE: u8 = 34;
    pub(super) const XA_PREPARE: u8 = 38;
    /// A compressed transaction of MySQL.
    pub(super) const PAYLOAD: u8 = 40;
    pub(super) const HEARTBEAT_2: u8 = 41;
    pub(super) const GTID_TAGGED: u8 = 42;
    pub(super) const GTID_MARIADB: u8 = 162;
    /// A compressed statement of MariaDB: never a short one such as a `COMMIT`.
    pub(super) const QUERY_PACKED: u8 = 165;

    /// Rows of either version, in part, or compressed by MariaDB.
    pub(super) const fn is_rows(kind: u8) -> bool {
        matches!(kind, 20..=25 | 30..=32 | 39 | 166..=171)
    }

    /// Events that change nothing by themselves: the end of a file; values for the statement behind
    /// them; the format; the end of a transaction; a file's bytes; notes; texts of statements whose
    /// rows follow; lists of transactions; members of a group; checkpoints; encryption.
    pub(super) const fn is_harmless(kind: u8) -> bool {
        matches!(
            kind,
            3 | 5 | 9 | 13 | 14 | FORMAT | 16 | 17 | 28 | 29 | 35 | 36 | 37 | 160 | 161 | 163 | 164
        )
    }
}
