//! What the packets that are read whole say about the reply they belong to.
//!
//! The passing of everything else is the business of [`super::tracker`].

use std::ops::Range;

use super::tracker::{Part, Whole};
use super::{Event, ReplyKind, ReplyTracker};
use crate::fault::{Malformed, What};
use crate::reader::Reader;
use crate::reply::{EofPacket, ErrPacket, OkPacket};
use crate::{Caps, Fault, Status};

/// What a packet led to: nothing to be told as a rule.
type Outcome = Result<Option<Event>, Fault>;

impl ReplyTracker {
    /// A packet that was read whole, in whatever part.
    pub(super) fn on_whole(&mut self, whole: Whole<'_>) -> Outcome {
        if ErrPacket::is(whole.payload) {
            return self.on_err(&whole);
        }
        self.count_frame(whole.header)?;
        let event = match self.part {
            Part::First => self.on_first(&whole),
            Part::AfterFile => match whole.payload.first() {
                Some(&OkPacket::MARKER) => self.on_ok(&whole),
                _ => Err(unexpected(&whole)),
            },
            Part::DefinitionsEnd => self.on_definitions_end(&whole),
            Part::Rows => self.on_terminator(&whole),
            Part::Definitions | Part::Done => Err(unexpected(&whole)),
        };
        self.beyond_first = true;
        event
    }

    /// An error ends the reply wherever it stands, whatever its number, but for the first packet of
    /// a counted one; a progress report does not.
    fn on_err(&mut self, whole: &Whole<'_>) -> Outcome {
        let err = ErrPacket::parse(whole.payload)?;
        let found = whole.header.seq;
        if let Some(expected) = self.due.filter(|due| !self.beyond_first && found > *due) {
            return Err(Fault::Sequence { expected, found });
        }
        if err.code == ErrPacket::PROGRESS && self.caps.contains(Caps::MARIADB_PROGRESS) {
            self.count_frame(whole.header)?;
            return Ok(None);
        }
        self.accept_frame(whole.header);
        self.part = Part::Done;
        let ErrPacket { code, sqlstate, .. } = err;
        Ok(Some(Event::Err { code, sqlstate, at: range(whole) }))
    }

    fn on_first(&mut self, whole: &Whole<'_>) -> Outcome {
        match self.kind {
            ReplyKind::Result | ReplyKind::Execute => self.on_first_of_result(whole),
            ReplyKind::Prepare => self.on_prepare_header(whole),
            ReplyKind::Auth => self.on_auth(whole),
            ReplyKind::Simple => match whole.payload.first() {
                Some(&OkPacket::MARKER) => self.on_ok(whole),
                Some(&OkPacket::EOF_MARKER) => self.on_terminator(whole),
                _ => Err(unexpected(whole)),
            },
            ReplyKind::Statistics => {
                self.part = Part::Done;
                Ok(Some(Event::End(self.tally.clone())))
            }
            ReplyKind::Fetch | ReplyKind::FieldList | ReplyKind::Binlog | ReplyKind::None => {
                Err(unexpected(whole))
            }
        }
    }

    fn on_first_of_result(&mut self, whole: &Whole<'_>) -> Outcome {
        match whole.payload.first() {
            Some(&OkPacket::MARKER) => self.on_ok(whole),
            Some(&FILE_REQUEST) => {
                self.part = Part::AfterFile;
                self.due = None;
                Ok(Some(Event::Infile))
            }
            Some(&EofPacket::MARKER) | None => Err(unexpected(whole)),
            Some(_) => self.on_column_count(whole),
        }
    }

    fn on_column_count(&mut self, whole: &Whole<'_>) -> Outcome {
        let mut read = Reader::new(whole.payload);
        let count = read.lenenc()?;
        let count = u32::try_from(count).map_err(|_| Malformed::new(What::LengthInteger, 0))?;
        let may_be_bare =
            self.caps.intersects(Caps::MARIADB_CACHE_METADATA | Caps::OPTIONAL_METADATA);
        self.is_bare = may_be_bare && !read.is_empty() && read.u8()? == 0;
        self.tally.resultsets += 1;
        self.tally.rows_before = self.tally.rows;
        self.begin_definitions(count);
        Ok(None)
    }

    fn on_prepare_header(&mut self, whole: &Whole<'_>) -> Outcome {
        let mut read = Reader::new(whole.payload);
        read.marker(OkPacket::MARKER).map_err(|_| unexpected(whole))?;
        let id_at = whole.at + read.offset();
        let stmt_id = read.u32()?;
        let columns = read.u16()?;
        let params = read.u16()?;
        let _filler = read.u8()?;
        self.tally.warnings = read.u16().unwrap_or(0);
        self.is_bare = self.caps.contains(Caps::OPTIONAL_METADATA)
            && read.rest().first().is_some_and(|follows| *follows == 0);
        self.columns_after = u32::from(columns);
        match params {
            0 => self.after_definitions(),
            _ => self.begin_definitions(u32::from(params)),
        }
        Ok(Some(Event::Prepared { stmt_id, columns, params, id_at }))
    }

    fn on_auth(&mut self, whole: &Whole<'_>) -> Outcome {
        let at = range(whole);
        let event = match whole.payload.first() {
            Some(&OkPacket::MARKER) => return self.on_ok(whole),
            Some(&crate::connect::AuthSwitch::MARKER) => Event::AuthSwitch { at },
            Some(_) => Event::AuthMore { at },
            None => return Err(unexpected(whole)),
        };
        self.due = None;
        Ok(Some(event))
    }

    fn on_definitions_end(&mut self, whole: &Whole<'_>) -> Outcome {
        let eof = EofPacket::parse(whole.payload).map_err(|_| unexpected(whole))?;
        if self.kind == ReplyKind::Execute && eof.status.contains(Status::CURSOR_EXISTS) {
            (self.tally.warnings, self.tally.row_count) = (eof.warnings, -1);
            self.tally.untold = true;
            return Ok(self.on_end_of_result(eof.status, None));
        }
        self.out_params = self.kind == ReplyKind::Execute
            && eof.status.contains(Status::PS_OUT_PARAMS | Status::MORE_RESULTS);
        self.after_definitions();
        Ok(None)
    }

    /// What ends rows: an EOF packet, or an OK packet in its place.
    fn on_terminator(&mut self, whole: &Whole<'_>) -> Outcome {
        let is_ok = self.caps.contains(Caps::DEPRECATE_EOF) && whole.payload.len() >= OK_BYTES_MIN;
        if is_ok {
            return self.on_ok(whole);
        }
        let eof = EofPacket::parse(whole.payload)?;
        self.tally.warnings = eof.warnings;
        self.tally.row_count = -1;
        self.tally.untold = true;
        Ok(self.on_end_of_result(eof.status, None))
    }

    fn on_ok(&mut self, whole: &Whole<'_>) -> Outcome {
        let ok = OkPacket::parse(whole.payload, self.caps)?;
        self.tally.warnings = ok.warnings;
        self.tally.affected_rows = self.tally.affected_rows.saturating_add(ok.affected_rows);
        self.tally.row_count = match self.part {
            Part::Rows => -1,
            _ => i64::try_from(ok.affected_rows).unwrap_or(i64::MAX),
        };
        if ok.last_insert_id != 0 {
            self.tally.last_insert_id = ok.last_insert_id;
        }
        let tells = self.caps.contains(Caps::SESSION_TRACK)
            && ok.status.contains(Status::SESSION_STATE_CHANGED);
        let track = tells.then(|| range(whole));
        Ok(self.on_end_of_result(ok.status, track))
    }

    /// A result is complete: the next one begins, or the reply ends.
    fn on_end_of_result(&mut self, status: Status, track: Option<Range<usize>>) -> Option<Event> {
        self.tally.status = status;
        let several = matches!(self.kind, ReplyKind::Result | ReplyKind::Execute);
        let out_params = std::mem::take(&mut self.out_params);
        if several && (out_params || status.contains(Status::MORE_RESULTS)) {
            self.part = Part::First;
            self.tally.several = true;
            return track.map(|at| Event::Track { at });
        }
        self.tally.ok_only = self.part == Part::First && !self.beyond_first;
        self.part = Part::Done;
        Some(Event::End(super::End { track, ..self.tally.clone() }))
    }
}

/// Where the payload lies in the bytes fed.
fn range(whole: &Whole<'_>) -> Range<usize> {
    whole.at..whole.at + whole.payload.len()
}

fn unexpected(whole: &Whole<'_>) -> Fault {
    Fault::Unexpected { first: whole.payload.first().copied().unwrap_or(0) }
}

/// The first byte of a request for a file's contents.
const FILE_REQUEST: u8 = 0xfb;

/// The length of the shortest OK packet; what is shorter is an EOF packet.
const OK_BYTES_MIN: usize = 7;
