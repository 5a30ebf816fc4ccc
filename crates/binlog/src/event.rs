//! Events as pieces of bytes: their headers, heads and checksums.

use flate2::Crc;
use wire::reader::Reader;

use crate::fault::Flaw;

/// How much of an event is kept: names, and the beginning of a statement.
pub const HEAD_BYTES_MAX: usize = 4096;

/// Bytes of every event's header.
pub(crate) const HEADER_BYTES: usize = 19;

/// Bytes of a checksum.
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// What every event begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Header {
    pub(crate) kind: u8,
    pub(crate) server: u32,
    /// Bytes of the event, with this header and the checksum.
    pub(crate) length: u32,
    /// The low bytes of the offset behind it; 0 where it is in no file.
    pub(crate) end: u32,
    pub(crate) flags: u16,
}

impl Header {
    /// `None` where that is shorter than a header.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        reader.u32().ok()?;
        Some(Self {
            kind: reader.u8().ok()?,
            server: reader.u32().ok()?,
            length: reader.u32().ok()?,
            end: reader.u32().ok()?,
            flags: reader.u16().ok()?,
        })
    }

    /// Whether it is in no file: the server made it for its reader.
    pub(crate) fn is_artificial(self) -> bool {
        const ARTIFICIAL: u16 = 0x20;
        self.end == 0 || self.flags & ARTIFICIAL != 0
    }
}

/// An event, as far as it has come.
#[derive(Default)]
pub(crate) struct Pieces {
    /// Its first bytes, the header among them.
    head: Vec<u8>,
    header: Option<Header>,
    /// How many bytes of it have come.
    seen: u64,
    crc: Crc,
    /// Its last bytes: the checksum, where there is one.
    checksum: Vec<u8>,
}

/// What became of bytes that came.
pub(crate) struct Taken {
    /// How many of them are part of the event.
    pub(crate) count: usize,
    /// Whether that is all of the event.
    pub(crate) is_whole: bool,
}

impl Pieces {
    /// Takes what belongs to this event.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Taken, Flaw> {
        let mut count = 0;
        if self.header.is_none() {
            count = bytes.len().min(HEADER_BYTES.saturating_sub(self.head.len()));
            self.note(bytes.get(..count).unwrap_or_default());
            let Some(header) = Header::parse(&self.head) else {
                return Ok(Taken { count, is_whole: false });
            };
            if header.length < u32::try_from(HEADER_BYTES).unwrap_or(0) {
                return Err(Flaw::Length);
            }
            self.header = Some(header);
        }
        let left = u64::from(self.length()).saturating_sub(self.seen);
        let rest = bytes.get(count..).unwrap_or_default();
        let more = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.note(rest.get(..more).unwrap_or_default());
        Ok(Taken { count: count + more, is_whole: self.seen == u64::from(self.length()) })
    }

    fn note(&mut self, bytes: &[u8]) {
        let room = HEAD_BYTES_MAX.saturating_sub(self.head.len());
        self.head.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        let hashed = match self.header {
            Some(header) => u64::from(header.length)
                .saturating_sub(CHECKSUM_BYTES as u64)
                .saturating_sub(self.seen),
            None => HEADER_BYTES as u64,
        };
        let hashed = usize::try_from(hashed).unwrap_or(usize::MAX).min(bytes.len());
        let (hashed, last) = bytes.split_at(hashed);
        self.crc.update(hashed);
        self.checksum.extend_from_slice(last);
        self.seen = self.seen.saturating_add(bytes.len() as u64);
    }

    fn length(&self) -> u32 {
        self.header.map_or(0, |header| header.length)
    }

    /// Its header, once that is there.
    pub(crate) const fn header(&self) -> Option<Header> {
        self.header
    }

    /// Whether nothing has come.
    pub(crate) const fn is_empty(&self) -> bool {
        self.seen == 0
    }

    /// What has come behind the header, in the part with which that came.
    pub(crate) fn latest<'p>(&self, part: &'p [u8]) -> &'p [u8] {
        let behind = self.seen.saturating_sub(HEADER_BYTES as u64);
        let behind = usize::try_from(behind).unwrap_or(usize::MAX).min(part.len());
        part.get(part.len() - behind..).unwrap_or_default()
    }

    /// How many bytes have come.
    pub(crate) const fn seen(&self) -> u64 {
        self.seen
    }

    /// What is kept of it behind its header, without its checksum.
    pub(crate) fn body(&self, has_checksum: bool) -> &[u8] {
        let end = if has_checksum { CHECKSUM_BYTES as u64 } else { 0 };
        let end = usize::try_from(self.seen.saturating_sub(end)).unwrap_or(usize::MAX);
        self.head.get(HEADER_BYTES..end.min(self.head.len())).unwrap_or_default()
    }

    /// Whether more has come than is kept.
    pub(crate) fn is_cut(&self) -> bool {
        self.seen > HEAD_BYTES_MAX as u64
    }

    /// Whether its last bytes are the checksum of those in front of them.
    pub(crate) fn fits_checksum(&self) -> bool {
        *self.checksum == self.crc.sum().to_le_bytes()
    }

    /// Makes room for the next one.
    pub(crate) fn clear(&mut self) {
        self.head.clear();
        self.checksum.clear();
        (self.header, self.seen) = (None, 0);
        self.crc.reset();
    }
}
