//! The machine that follows a reply: which part it is in, and the passing of rows.
//!
//! What a packet that is read whole says is looked up in [`super::packets`].

use super::{End, Event, Fed, ReplyKind, WHOLE_BYTES_MAX};
use crate::frame::{HEADER_BYTES, Header, MAX_PAYLOAD};
use crate::{Caps, Fault, PeerFault, Side, Status};

/// Follows one reply to its end.
#[derive(Debug, Clone)]
pub struct ReplyTracker {
    pub(super) kind: ReplyKind,
    pub(super) caps: Caps,
    pub(super) part: Part,
    /// Definitions still to come in this part.
    pub(super) definitions: u32,
    /// The column definitions that follow those of the parameters.
    pub(super) columns_after: u32,
    /// Whether the server leaves the definitions out; what would stand after them still comes.
    pub(super) is_bare: bool,
    /// Whether the rows at hand are the OUT parameters of a procedure. The EOF packet before them
    /// says that another result follows; MySQL's EOF packet after them does not say it again.
    pub(super) out_params: bool,
    pub(super) tally: End,
    /// Whether a packet other than a progress report went by.
    pub(super) beyond_first: bool,
    /// Bytes of the current frame that are still to come.
    skip: usize,
    /// Whether the current frame is full, so that the packet goes on in the next one.
    continued: bool,
    /// The number that the next frame must have; none where the client had a turn.
    pub(super) due: Option<u8>,
    last_seq: u8,
    /// Where the payload of the packet that was read whole last lay in the bytes fed.
    whole_at: usize,
}

/// The parts of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The packet that says what the reply (or the next result) is.
    First,
    /// OK or ERR after the contents of a file.
    AfterFile,
    /// Column or parameter definitions.
    Definitions,
    /// The EOF packet after them.
    DefinitionsEnd,
    /// Rows, or what comes like rows, up to a terminator.
    Rows,
    /// Nothing more.
    Done,
}

/// What became of the bytes at hand.
pub(super) enum TrackerStep {
    /// So many were taken; go on.
    Took(usize),
    /// So many were taken; the rest is not enough.
    Wait(usize),
    /// So many were taken, and something happened.
    Event(usize, Event),
}

/// A packet that is whole.
pub(super) struct Whole<'b> {
    pub(super) header: Header,
    pub(super) payload: &'b [u8],
    /// Where the payload lies in the bytes fed.
    pub(super) at: usize,
}

impl ReplyTracker {
    /// Before the first byte of a reply of that kind. `caps` are those agreed with the server.
    pub fn new(kind: ReplyKind, caps: Caps) -> Self {
        let part = match kind {
            ReplyKind::Fetch | ReplyKind::FieldList | ReplyKind::Binlog => Part::Rows,
            ReplyKind::None => Part::Done,
            _ => Part::First,
        };
        Self {
            kind,
            caps,
            part,
            definitions: 0,
            columns_after: 0,
            is_bare: false,
            out_params: false,
            tally: End::default(),
            beyond_first: false,
            skip: 0,
            continued: false,
            due: None,
            last_seq: 0,
            whole_at: 0,
        }
    }

    /// The same of a command that was one frame: its reply begins with number 1, and what begins
    /// with another is the rest of something else. An error that a server has for nobody has 0.
    pub const fn counted(mut self) -> Self {
        self.due = Some(1);
        self
    }

    /// Takes what can be taken of `bytes`. Rows and column definitions are taken as they come;
    /// OK, ERR, EOF and first packets only when they are whole. After the end nothing is taken.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Fed, PeerFault> {
        let mut consumed = 0;
        loop {
            consumed += self.pass_ordinary(bytes.get(consumed..).unwrap_or_default());
            match self.step(bytes, consumed).map_err(backend_fault)? {
                TrackerStep::Took(len) => consumed += len,
                TrackerStep::Wait(len) => {
                    return Ok(Fed { consumed: consumed + len, event: Event::More });
                }
                TrackerStep::Event(len, event) => {
                    return Ok(Fed { consumed: consumed + len, event });
                }
            }
        }
    }

    /// The kind of reply.
    pub const fn kind(&self) -> ReplyKind {
        self.kind
    }

    /// Whether nothing more belongs to the reply.
    pub fn is_done(&self) -> bool {
        self.part == Part::Done
    }

    /// The rows that began so far.
    pub const fn rows(&self) -> u64 {
        self.tally.rows
    }

    /// The status that a result before the one at hand ended with: what holds when the one at hand
    /// fails. None in the first result.
    pub fn status_so_far(&self) -> Option<Status> {
        Some(self.tally.status).filter(|status| status.contains(Status::MORE_RESULTS))
    }

    /// The id that results before the one at hand told last; 0 for none.
    pub const fn insert_id_so_far(&self) -> u64 {
        self.tally.last_insert_id
    }

    /// The sequence number of the last frame seen.
    pub const fn last_seq(&self) -> u8 {
        self.last_seq
    }

    /// Where the payload of an OK or EOF packet lies that has just ended the reply, in the bytes
    /// fed; it ends with those that were taken.
    pub const fn end_at(&self) -> usize {
        self.whole_at
    }

    /// Whether an ERR packet numbered [`Self::last_seq`] + 1 may follow what was taken so far: not
    /// in the middle of a packet, nor among definitions, where clients take any packet for one.
    pub const fn takes_error(&self) -> bool {
        self.is_between_packets() && !matches!(self.part, Part::Definitions)
    }

    /// Whether what was taken so far ends with a whole packet.
    pub const fn is_between_packets(&self) -> bool {
        self.skip == 0 && !self.continued
    }

    #[inline]
    fn step(&mut self, bytes: &[u8], consumed: usize) -> Result<TrackerStep, Fault> {
        let rest = bytes.get(consumed..).unwrap_or_default();
        if !self.is_between_packets() {
            return self.pass_frame(rest);
        }
        match self.part {
            Part::Rows => self.pass_row_or_terminator(rest, consumed),
            Part::Definitions => self.pass_definition(rest, consumed),
            Part::First | Part::AfterFile | Part::DefinitionsEnd => self.read_whole(rest, consumed),
            Part::Done => Ok(TrackerStep::Event(0, Event::End(self.tally.clone()))),
        }
    }

    /// Passes ordinary definitions and rows that are whole: the loop in which most bytes of most
    /// replies go by. Returns how many were taken.
    #[inline]
    fn pass_ordinary(&mut self, bytes: &[u8]) -> usize {
        if !self.is_between_packets() {
            return 0;
        }
        match self.part {
            Part::Definitions => {
                let (len, definitions) = self.pass_packets::<true>(bytes, self.definitions);
                self.definitions -= definitions;
                len
            }
            Part::Rows => {
                let (len, rows) = self.pass_packets::<false>(bytes, 0);
                self.count_rows(u64::from(rows));
                len
            }
            _ => 0,
        }
    }

    /// Passes ordinary packets that are whole, so many at most if that is a limit; how many bytes
    /// and packets those were.
    #[inline]
    fn pass_packets<const LIMITED: bool>(
        &mut self,
        bytes: &[u8],
        packets_max: u32,
    ) -> (usize, u32) {
        let Some(mut due) = self.due else { return (0, 0) };
        let mut rest = bytes;
        let mut packets = 0;
        while (!LIMITED || packets < packets_max)
            && let Some(([a, b, c, seq, first], _)) = rest.split_first_chunk::<5>()
        {
            let len = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
            if *first >= 0xfe || *seq != due || len == 0 || len == MAX_PAYLOAD {
                break;
            }
            let Some(after) = rest.get(HEADER_BYTES + len..) else { break };
            rest = after;
            due = due.wrapping_add(1);
            packets += 1;
        }
        if packets > 0 {
            self.due = Some(due);
            self.last_seq = due.wrapping_sub(1);
        }
        (bytes.len() - rest.len(), packets)
    }

    /// Passes a row that is not ordinary or not whole, or reads what ends the rows.
    #[cold]
    fn pass_row_or_terminator(
        &mut self,
        rest: &[u8],
        consumed: usize,
    ) -> Result<TrackerStep, Fault> {
        let Some((header, first)) = peek(rest)? else { return Ok(TrackerStep::Wait(0)) };
        let ends = match first {
            0xff => true,
            0xfe => {
                let is_short = header.len < EOF_BYTES_MAX;
                is_short || self.caps.contains(Caps::DEPRECATE_EOF) && !header.is_continued()
            }
            _ => false,
        };
        if ends {
            return self.read_whole(rest, consumed);
        }
        self.begin_frame(header)?;
        self.count_rows(1);
        Ok(TrackerStep::Took(HEADER_BYTES))
    }

    fn pass_definition(&mut self, rest: &[u8], consumed: usize) -> Result<TrackerStep, Fault> {
        if self.definitions == 0 {
            self.end_definitions();
            return Ok(TrackerStep::Took(0));
        }
        let Some((header, first)) = peek(rest)? else { return Ok(TrackerStep::Wait(0)) };
        match first {
            0xff => self.read_whole(rest, consumed),
            0xfe => Err(Fault::Unexpected { first }),
            _ => {
                self.begin_frame(header)?;
                self.definitions -= 1;
                Ok(TrackerStep::Took(HEADER_BYTES))
            }
        }
    }

    /// So many definitions are due, unless the server leaves them out.
    pub(super) fn begin_definitions(&mut self, count: u32) {
        self.definitions = if self.is_bare { 0 } else { count };
        self.part = Part::Definitions;
    }

    /// After the last definition: the EOF packet, or what comes when there is none.
    fn end_definitions(&mut self) {
        match self.caps.contains(Caps::DEPRECATE_EOF) {
            true => self.after_definitions(),
            false => self.part = Part::DefinitionsEnd,
        }
    }

    /// After the definitions and their EOF packet.
    pub(super) fn after_definitions(&mut self) {
        if self.kind != ReplyKind::Prepare {
            self.part = Part::Rows;
        } else if self.columns_after > 0 {
            let count = std::mem::take(&mut self.columns_after);
            self.begin_definitions(count);
        } else {
            self.part = Part::Done;
        }
    }

    /// Reads a packet that must be whole.
    fn read_whole(&mut self, rest: &[u8], consumed: usize) -> Result<TrackerStep, Fault> {
        let Some(header) = Header::parse(rest) else { return Ok(TrackerStep::Wait(0)) };
        if header.len > WHOLE_BYTES_MAX {
            return Err(Fault::TooLong { len: header.len });
        }
        let Some(payload) = rest.get(HEADER_BYTES..HEADER_BYTES + header.len) else {
            return Ok(TrackerStep::Wait(0));
        };
        self.whole_at = consumed + HEADER_BYTES;
        let event = self.on_whole(Whole { header, payload, at: self.whole_at })?;
        let len = HEADER_BYTES + header.len;
        Ok(match event {
            Some(event) => TrackerStep::Event(len, event),
            None => TrackerStep::Took(len),
        })
    }

    /// Passes what has come of the packet at hand.
    fn pass_frame(&mut self, rest: &[u8]) -> Result<TrackerStep, Fault> {
        if self.skip > 0 {
            let taken = self.skip.min(rest.len());
            self.skip -= taken;
            let is_whole = self.skip == 0;
            return Ok(if is_whole { TrackerStep::Took(taken) } else { TrackerStep::Wait(taken) });
        }
        let Some(header) = Header::parse(rest) else { return Ok(TrackerStep::Wait(0)) };
        self.begin_frame(header)?;
        Ok(TrackerStep::Took(HEADER_BYTES))
    }

    /// Takes the header of a frame whose payload is passed as it comes.
    fn begin_frame(&mut self, header: Header) -> Result<(), Fault> {
        self.count_frame(header)?;
        self.skip = header.len;
        self.continued = header.is_continued();
        Ok(())
    }

    /// Checks the number of a frame and counts on.
    pub(super) fn count_frame(&mut self, header: Header) -> Result<(), Fault> {
        if let Some(expected) = self.due.filter(|due| *due != header.seq) {
            self.miscounted(expected, header.seq)?;
        }
        self.accept_frame(header);
        Ok(())
    }

    /// Numbers of a binary log begin anew where the client acknowledges an event.
    #[cold]
    fn miscounted(&self, expected: u8, found: u8) -> Result<(), Fault> {
        match self.kind {
            ReplyKind::Binlog => Ok(()),
            _ => Err(Fault::Sequence { expected, found }),
        }
    }

    /// Counts a frame whatever its number.
    pub(super) fn accept_frame(&mut self, header: Header) {
        self.due = Some(header.seq.wrapping_add(1));
        self.last_seq = header.seq;
    }

    fn count_rows(&mut self, rows: u64) {
        if !matches!(self.kind, ReplyKind::FieldList | ReplyKind::Binlog) {
            self.tally.rows += rows;
        }
    }
}

/// The header and the first byte of the payload. A packet of no bytes cannot stand where it is
/// looked for.
fn peek(rest: &[u8]) -> Result<Option<(Header, u8)>, Fault> {
    let Some(header) = Header::parse(rest) else { return Ok(None) };
    if header.len == 0 {
        return Err(Fault::Unexpected { first: 0 });
    }
    Ok(rest.get(HEADER_BYTES).map(|first| (header, *first)))
}

fn backend_fault(fault: Fault) -> PeerFault {
    PeerFault { side: Side::Backend, fault }
}

/// A packet that begins with 0xfe is an EOF packet when it is shorter than this; a row that begins
/// with 0xfe has a length of eight bytes there.
pub(super) const EOF_BYTES_MAX: usize = 9;
