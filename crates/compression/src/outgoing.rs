//! What is to be sent, gathered to compressed packets.
//!
//! A compressed packet has whole packets of the stream, or one that is long, for which it is as
//! long as it has to be. Some clients do not read a packet that is spread over more than two of
//! them. A long one is compressed as it comes, so that its receiver does not wait for all of it.
//! Knows nothing of what arrives.

use io::Step;
use wire::connect::Compression;

use crate::codec::copy_first;
use crate::numbers::{HEADER_BYTES, Leg, Numbers};
use crate::results::Results;
use crate::streams::{Compressors, Deflater};

/// The header of a compressed packet: length of what follows, number, and how long that was
/// before, or 0.
pub(crate) const COMPRESSED_HEADER_BYTES: usize = 7;
/// Most of the stream in one compressed packet, unless a single packet is longer: as much as
/// MySQL's buffers hold.
const CONTENT_BYTES_MAX: usize = 1 << 14;
/// What is shorter is sent as it is, as servers do.
const PACKED_BYTES_MIN: usize = 50;
/// Most of a long packet in one compressed packet: with what zlib or zstd may add, the length fits
/// into three bytes.
const LONG_BYTES_MAX: usize = (1 << 24) - (1 << 17);

/// What is to be sent.
pub(crate) struct Outgoing {
    compression: Compression,
    compressors: Compressors,
    leg: Leg,
    /// Whole packets, and behind `whole` bytes of these one that is not.
    gathered: Vec<u8>,
    whole: usize,
    /// How much of that is to come, once its header is there and taken note of.
    left: Option<usize>,
    long: Option<LongPacket>,
    /// Nothing came yet of the content of that packet.
    is_fresh: bool,
    /// A long packet, compressed, of which so much is sent.
    ready: Vec<u8>,
    sent: usize,
}

/// A long packet that is being compressed.
struct LongPacket {
    deflater: Deflater,
    /// How much of it is to come, and how much there was of it in this compressed packet.
    left: usize,
    plain: usize,
}

impl LongPacket {
    fn new(compression: Compression, left: usize) -> Result<Self, i32> {
        let room = vec![0; COMPRESSED_HEADER_BYTES];
        Ok(Self { deflater: Deflater::behind(room, compression)?, left, plain: 0 })
    }
}

impl Outgoing {
    pub(crate) fn new(leg: Leg, compression: Compression, compressors: Compressors) -> Self {
        Self {
            compression,
            compressors,
            leg,
            gathered: Vec::new(),
            whole: 0,
            left: None,
            long: None,
            is_fresh: false,
            ready: Vec::new(),
            sent: 0,
        }
    }

    /// What is ready of a long packet.
    pub(crate) fn pending(&mut self, wire: &mut [u8]) -> usize {
        let count = copy_first(self.ready.get(self.sent..).unwrap_or_default(), wire);
        self.sent += count;
        if self.sent == self.ready.len() && count > 0 {
            (self.ready, self.sent) = (Vec::new(), 0);
        }
        count
    }

    /// Takes of `plain` until there is a compressed packet, or everything.
    pub(crate) fn encode(
        &mut self,
        (numbers, results): (&mut Numbers, &mut Results),
        plain: &[u8],
        wire: &mut [u8],
    ) -> Result<Step, i32> {
        let mut taken = 0;
        while let Some(rest @ [first, ..]) = plain.get(taken..)
            && self.ready.is_empty()
        {
            if std::mem::take(&mut self.is_fresh) {
                numbers.note_first(Some(*first));
            }
            if self.long.is_some() {
                taken += self.go_on(numbers, rest)?;
                continue;
            }
            let Some(left) = self.left else {
                let (count, given) = self.take_header((numbers, results), rest, wire)?;
                taken += count;
                if given > 0 {
                    return Ok(Step { taken, given });
                }
                continue;
            };
            let content = rest.get(..left).unwrap_or(rest);
            self.gathered.extend_from_slice(content);
            taken += content.len();
            self.left = Some(left - content.len());
            if self.end_if_whole((numbers, results)) {
                let given = self.give(numbers, wire);
                numbers.count_from_next();
                return Ok(Step { taken, given });
            }
        }
        let given = if self.whole > 0 { self.give(numbers, wire) } else { 0 };
        Ok(Step { taken, given })
    }

    /// Takes of a header, so many bytes; or gives, in so many, what was gathered before, where the
    /// packet has no place with it.
    fn take_header(
        &mut self,
        (numbers, results): (&mut Numbers, &mut Results),
        rest: &[u8],
        wire: &mut [u8],
    ) -> Result<(usize, usize), i32> {
        if self.gathered.is_empty() {
            self.gathered = self.compressors.buffer();
        }
        let lacks = HEADER_BYTES - (self.gathered.len() - self.whole);
        let header = rest.get(..lacks).unwrap_or(rest);
        let count = header.len();
        self.gathered.extend_from_slice(header);
        let Some(&[a, b, c, number]) = self.gathered.get(self.whole..) else {
            return Ok((count, 0));
        };
        let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        let begins = numbers.begins(number);
        let is_long = HEADER_BYTES + length > CONTENT_BYTES_MAX;
        let fits = self.whole + HEADER_BYTES + length <= CONTENT_BYTES_MAX;
        if self.whole > 0 && (begins || !fits) {
            // what is left of the header has it looked at again
            self.gathered.truncate(self.gathered.len() - count);
            return Ok((0, self.give(numbers, wire)));
        }
        if begins {
            numbers.begin(number);
            if self.leg == Leg::Client {
                results.begin();
            }
        }
        if let Some(last) = self.gathered.last_mut() {
            *last = numbers.note_sent(number, length);
        }
        self.is_fresh = length > 0;
        if is_long {
            results.ends_with(&[], length);
            let mut long = LongPacket::new(self.compression, HEADER_BYTES + length)?;
            let header = std::mem::take(&mut self.gathered);
            long.take(&header)?;
            self.compressors.give_back_buffer(header);
            self.long = Some(long);
        } else {
            self.left = Some(length);
            // one without content is whole with its header
            if length == 0 {
                numbers.note_first(None);
                self.end_if_whole((numbers, results));
            }
        }
        Ok((count, 0))
    }

    /// The packet that was gathered last is whole, if it is. Whether a result ends with it, and
    /// another one follows.
    fn end_if_whole(&mut self, (numbers, results): (&mut Numbers, &mut Results)) -> bool {
        if self.left != Some(0) {
            return false;
        }
        let payload = self.gathered.get(self.whole + HEADER_BYTES..).unwrap_or_default();
        let ends = self.leg == Leg::Client && results.ends_with(payload, payload.len());
        if results.asks_for_file() {
            numbers.note_file_asked();
        }
        (self.whole, self.left) = (self.gathered.len(), None);
        ends
    }

    /// Compresses more of a long packet; says how much.
    fn go_on(&mut self, numbers: &mut Numbers, rest: &[u8]) -> Result<usize, i32> {
        let Some(mut long) = self.long.take() else { return Ok(0) };
        let most = long.left.min(LONG_BYTES_MAX - long.plain);
        let content = rest.get(..most).unwrap_or(rest);
        let count = content.len();
        long.take(content)?;
        if long.left > 0 && long.plain < LONG_BYTES_MAX {
            self.long = Some(long);
            return Ok(count);
        }
        let (left, plain) = (long.left, long.plain);
        self.ready = long.deflater.finish()?;
        let length = self.ready.len() - COMPRESSED_HEADER_BYTES;
        if let Some(header) = self.ready.first_chunk_mut() {
            *header = header_of(length, numbers.take_next(), plain);
        }
        if left > 0 {
            self.long = Some(LongPacket::new(self.compression, left)?);
        }
        Ok(count)
    }

    /// The whole packets that were gathered, as a compressed packet of so many bytes.
    fn give(&mut self, numbers: &mut Numbers, wire: &mut [u8]) -> usize {
        let content = self.gathered.get(..self.whole).unwrap_or_default();
        // a codec is given more room than that takes
        let Some((header, body)) = wire.split_first_chunk_mut() else { return 0 };
        let packed = match content.len() >= PACKED_BYTES_MIN {
            true => {
                let room = body.get_mut(..content.len() - 1).unwrap_or_default();
                self.compressors.pack(self.compression, content, room)
            }
            false => None,
        };
        let (length, before) = match packed {
            Some(length) => (length, content.len()),
            None => (copy_first(content, body), 0),
        };
        *header = header_of(length, numbers.take_next(), before);
        self.gathered.drain(..self.whole);
        self.whole = 0;
        if self.gathered.is_empty() {
            self.compressors.give_back_buffer(std::mem::take(&mut self.gathered));
        }
        COMPRESSED_HEADER_BYTES + length
    }
}

impl LongPacket {
    fn take(&mut self, bytes: &[u8]) -> Result<(), i32> {
        self.left -= bytes.len();
        self.plain += bytes.len();
        self.deflater.take(bytes)
    }
}

/// The header of a compressed packet; both lengths have three bytes.
fn header_of(length: usize, number: u8, before: usize) -> [u8; COMPRESSED_HEADER_BYTES] {
    let ([a, b, c, ..], [d, e, f, ..]) = (length.to_le_bytes(), before.to_le_bytes());
    [a, b, c, number, d, e, f]
}
