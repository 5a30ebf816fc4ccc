//! Packets as they lie on the wire: a header of four bytes, then the payload.
//!
//! A payload of 16 MiB - 1 bytes or more is carried by several frames. A frame that is full is
//! always followed by another one, if need be by an empty one. This module knows lengths and
//! sequence numbers, never what a payload means.

/// The length of a frame's header.
pub const HEADER_BYTES: usize = 4;

/// The longest payload of one frame. A frame of this length is continued by the next one.
pub const MAX_PAYLOAD: usize = 0xff_ffff;

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The length of the frame's payload.
    pub len: usize,
    /// The frame's sequence number.
    pub seq: u8,
}

impl Header {
    /// The header at the beginning of `bytes`, if it is whole.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, seq] = *bytes.first_chunk()?;
        Some(Self { len: u32::from_le_bytes([a, b, c, 0]) as usize, seq })
    }

    /// The header as bytes. Only the low three bytes of the length are used.
    #[inline]
    pub const fn encode(self) -> [u8; HEADER_BYTES] {
        let [a, b, c, ..] = self.len.to_le_bytes();
        [a, b, c, self.seq]
    }

    /// Whether the packet goes on in the next frame.
    #[inline]
    pub const fn is_continued(self) -> bool {
        self.len == MAX_PAYLOAD
    }
}

/// What stands at the beginning of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framed<'a> {
    /// A packet that is not whole: at least so many bytes are missing.
    Need(usize),
    /// A whole packet in one frame.
    Packet(Packet<'a>),
    /// A packet of several frames: follow it with a [`Span`].
    Long {
        /// The bytes of the first frame with its header.
        first_frame_len: usize,
    },
}

/// A packet of one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// What the packet says.
    pub payload: &'a [u8],
    /// The sequence number of its last frame.
    pub seq: u8,
    /// Its length on the wire, with the header.
    pub len: usize,
}

/// The packet at the beginning of `bytes`. A packet of several frames is reported as soon as its
/// first header is there, since it is not meant to be kept.
pub fn next_packet(bytes: &[u8]) -> Framed<'_> {
    let Some(header) = Header::parse(bytes) else {
        return Framed::Need(HEADER_BYTES - bytes.len());
    };
    let len = HEADER_BYTES + header.len;
    if header.is_continued() {
        return Framed::Long { first_frame_len: len };
    }
    match bytes.get(HEADER_BYTES..len) {
        Some(payload) => Framed::Packet(Packet { payload, seq: header.seq, len }),
        None => Framed::Need(len - bytes.len()),
    }
}

/// Follows one packet of any length through the bytes that arrive, and keeps none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Bytes of the current frame's payload that are still to come.
    left: usize,
    /// Whether another frame follows the current one (at first: the first one).
    open: bool,
    payload: u64,
    seq: u8,
}

/// What [`Span::feed`] made of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanFed {
    /// How many of the bytes belong to the packet.
    pub consumed: usize,
    /// Whether the packet ends with them.
    pub done: bool,
}

impl Default for Span {
    fn default() -> Self {
        Self::begin()
    }
}

impl Span {
    /// Before the first byte of a packet.
    pub const fn begin() -> Self {
        Self { left: 0, open: true, payload: 0, seq: 0 }
    }

    /// Takes what belongs to the packet. A header is taken only when it is whole.
    pub fn feed(&mut self, bytes: &[u8]) -> SpanFed {
        let mut consumed = 0;
        loop {
            let rest = bytes.get(consumed..).unwrap_or_default();
            if self.left > 0 {
                let taken = self.left.min(rest.len());
                self.left -= taken;
                self.payload += taken as u64;
                consumed += taken;
                if self.left > 0 {
                    return SpanFed { consumed, done: false };
                }
            } else if !self.open {
                return SpanFed { consumed, done: true };
            } else if let Some(header) = Header::parse(rest) {
                self.left = header.len;
                self.open = header.is_continued();
                self.seq = header.seq;
                consumed += HEADER_BYTES;
            } else {
                return SpanFed { consumed, done: false };
            }
        }
    }

    /// Whether the whole packet went by.
    pub const fn is_done(&self) -> bool {
        !self.open && self.left == 0
    }

    /// The bytes of payload that went by.
    pub const fn payload_bytes(&self) -> u64 {
        self.payload
    }

    /// The sequence number of the last frame seen.
    pub const fn last_seq(&self) -> u8 {
        self.seq
    }
}

/// Appends `payload` as one packet, in as many frames as it takes. `seq` is the number of the
/// first frame; afterwards it is the number that follows the last one.
pub fn write_packet(out: &mut Vec<u8>, seq: &mut u8, payload: &[u8]) {
    let mut rest = payload;
    loop {
        let (frame, after) = rest.split_at(rest.len().min(MAX_PAYLOAD));
        out.extend_from_slice(&Header { len: frame.len(), seq: *seq }.encode());
        out.extend_from_slice(frame);
        *seq = seq.wrapping_add(1);
        rest = after;
        if frame.len() < MAX_PAYLOAD {
            return;
        }
    }
}

/// Appends a packet whose payload `fill` appends in place. `seq` as for [`write_packet`].
pub fn write_with(out: &mut Vec<u8>, seq: &mut u8, fill: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    fill(out);
    let len = out.len() - at - HEADER_BYTES;
    if len >= MAX_PAYLOAD {
        let payload = out.split_off(at + HEADER_BYTES);
        out.truncate(at);
        write_packet(out, seq, &payload);
        return;
    }
    let header = Header { len, seq: *seq }.encode();
    if let Some(place) = out.get_mut(at..at + HEADER_BYTES) {
        place.copy_from_slice(&header);
    }
    *seq = seq.wrapping_add(1);
}

#[cfg(test)]
mod tests;
