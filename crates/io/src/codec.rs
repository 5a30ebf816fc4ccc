//! What may stand between the bytes of a socket and the bytes of its service: encryption,
//! compression. The trait, and the stack of codecs that one socket has. Deliberately knows no
//! socket and no system call.

use std::fmt;

use crate::buffer::{Buffer, BufferPool};

/// The least room that a codec is given to write to. A record of TLS has 16 KiB of content, and 18
/// KiB in all (RFC 8446, section 5.1).
pub const CODEC_ROOM_BYTES: usize = 20 * 1024;
/// How much is decoded before it is offered, and encoded before it is sent.
const STRIDE_BYTES: usize = 64 * 1024;

/// What one call of a codec did.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// How many bytes of the first slice it has no further use for.
    pub taken: usize,
    /// How many bytes it wrote to the start of the second slice.
    pub given: usize,
}

/// What a codec knows of the end of the stream that it decodes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum StreamEnd {
    /// The other side says farewell at the end of its stream, and has not yet: an end of the
    /// connection cuts the stream off.
    Awaited,
    /// The other side said farewell. Whatever follows is taken and ignored.
    Heard,
    /// There is no such thing as a farewell: an end of the connection behind whole frames is the
    /// end of the stream.
    Untold,
}

/// What turns the bytes of the wire into a stream's and back.
///
/// A codec keeps no bytes that its caller could keep: it takes no more than it can give at once.
/// The loop keeps the rest and counts it with its own buffers ([`crate::Edge::backlog`],
/// [`crate::Edge::kept`]). An error is a system error number, `EPROTO` or a more telling one. It
/// ends the socket, and a call after it gives it again. `EBADMSG` ends only what arrives: `encode`
/// goes on, so that the other side can be told.
///
/// Which calls of rustls 0.23 these are, of its `Connection` and of its unbuffered one:
///
/// - `decode`: `read_tls` of one record, `process_new_packets`, `reader().read`;
///   `process_tls_records`, which decrypts in place, and `ReadTraffic::next_record`. What they
///   discard is taken.
/// - `encode`: nothing while `is_handshaking`, then `writer().write` of at most 16 KiB and
///   `write_tls`; `WriteTraffic::encrypt`.
/// - `pending`: `write_tls` while `wants_write`; `EncodeTlsData::encode` and
///   `TransmitTlsData::done`.
/// - `close`: `send_close_notify` and `write_tls`; `WriteTraffic::queue_close_notify`.
/// - `end`: `IoState::peer_has_closed`; `ConnectionState::PeerClosed`. Never `Untold`.
///
/// Compressed packets, of zlib or zstd: `decode` takes a header with the whole packet behind it
/// and gives what it inflates to, in several calls where that is more than the room; `encode`
/// makes one packet of no more than it can give. `pending` and `close` write nothing, `end` is
/// `Untold`.
pub trait Codec: Send {
    /// Bytes from the wire, behind which more may follow, to bytes of the stream. It may use
    /// `wire` as its own memory: what it takes is thrown away, what it leaves comes again, and is
    /// all that it has yet to give something of. Taking and giving nothing says that more has to
    /// arrive. Has room for [`CODEC_ROOM_BYTES`].
    fn decode(&mut self, wire: &mut [u8], plain: &mut [u8]) -> Result<Step, i32>;

    /// Bytes of the stream, never none, to bytes for the wire. Taking nothing says that it cannot
    /// yet, as in a handshake. Has room for [`CODEC_ROOM_BYTES`].
    fn encode(&mut self, plain: &[u8], wire: &mut [u8]) -> Result<Step, i32>;

    /// Bytes that it wants to send by itself: its part of a handshake, an alert behind an error.
    /// Asked again until it writes none. Has room for [`CODEC_ROOM_BYTES`].
    fn pending(&mut self, wire: &mut [u8]) -> Result<usize, i32>;

    /// Its farewell, said once behind everything else. Has room for [`CODEC_ROOM_BYTES`].
    fn close(&mut self, wire: &mut [u8]) -> Result<usize, i32>;

    /// What it knows of the end of the stream.
    fn end(&self) -> StreamEnd;

    /// What it takes to decode what comes next: steps that take long have turns with others between
    /// them.
    fn cost(&self) -> DecodeCost {
        DecodeCost::Little
    }
}

/// What a step of decoding takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DecodeCost {
    /// As long as its bytes do.
    Little,
    /// Long, as something has to be decoded once more.
    Again,
    /// Long, as a step of a handshake.
    Handshake,
}

/// One codec and what waits for it.
struct Layer {
    codec: Box<dyn Codec>,
    /// Arrived, not decoded.
    wire: Buffer,
    /// To be sent, not encoded.
    plain: Buffer,
}

/// The codecs of one socket, from the wire to the service.
#[derive(Default)]
pub(crate) struct Coded {
    layers: Vec<Layer>,
    /// Everything is said, or there is nobody to say it to.
    pub(crate) is_closed: bool,
    /// A codec could not encode everything yet.
    pub(crate) holds: bool,
    /// Bytes of the service are, or were, among those that are not sent.
    pub(crate) speaks: bool,
    /// Nothing more is decoded: what arrives is of no use.
    pub(crate) is_deaf: bool,
    /// It has had its share of this turn, or waits for its turn, and goes on decoding in the next.
    pub(crate) goes_on: bool,
}

impl fmt::Debug for Coded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Coded({} layers)", self.layers.len())
    }
}

impl Coded {
    /// Puts a codec between the others and the service; it gets what arrived and is not consumed.
    pub(crate) fn push(&mut self, codec: Box<dyn Codec>, wire: Buffer) {
        self.layers.push(Layer { codec, wire, plain: Buffer::default() });
    }

    pub(crate) fn len(&self) -> usize {
        self.layers.len()
    }

    /// What arrives.
    pub(crate) fn wire(&mut self) -> &mut Buffer {
        &mut self.layers.first_mut().expect("it has one from the start").wire
    }

    /// What a codec, counted from the wire, has yet to decode.
    pub(crate) fn find_wire(&mut self, at: usize) -> Option<&mut Buffer> {
        self.layers.get_mut(at).map(|layer| &mut layer.wire)
    }

    /// Where the service's bytes go.
    pub(crate) fn plain(&mut self) -> &mut Buffer {
        self.speaks = true;
        &mut self.layers.last_mut().expect("it has one from the start").plain
    }

    /// Bytes that arrived and are not decoded.
    pub(crate) fn undecoded(&self) -> usize {
        self.layers.iter().map(|layer| layer.wire.len()).sum()
    }

    /// Whether anything that arrived has not come to the service: not decoded, or not given.
    pub(crate) fn has_ungiven(&self) -> bool {
        self.layers.iter().any(|layer| !layer.wire.is_empty())
    }

    /// What it takes to decode what has arrived.
    pub(crate) fn cost(&self) -> DecodeCost {
        let arrived = self.layers.iter().filter(|layer| !layer.wire.is_empty());
        arrived.map(|layer| layer.codec.cost()).max().unwrap_or(DecodeCost::Little)
    }

    /// Bytes that are to be sent and not encoded.
    pub(crate) fn unencoded(&self) -> usize {
        self.layers.iter().map(|layer| layer.plain.len()).sum()
    }

    /// Drops everything that is to be sent.
    pub(crate) fn drop_plain(&mut self, pool: &mut BufferPool) {
        self.layers.iter_mut().for_each(|layer| layer.plain.clear(pool));
    }

    /// Drops everything that arrived and is not decoded.
    pub(crate) fn drop_wire(&mut self, pool: &mut BufferPool) {
        self.layers.iter_mut().for_each(|layer| layer.wire.clear(pool));
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self, pool: &mut BufferPool) {
        self.drop_plain(pool);
        self.drop_wire(pool);
    }

    /// Decodes a stride of what arrived. Says how many bytes of the stream came of it, none when
    /// more has to arrive, and whether a codec failed behind them.
    pub(crate) fn decode(
        &mut self,
        input: &mut Buffer,
        pool: &mut BufferPool,
    ) -> (usize, Result<(), i32>) {
        let top = self.layers.len() - 1;
        let (mut given, mut at) = (0, top);
        // what lies nearest to the service goes first, so that little lies in between
        while given < STRIDE_BYTES {
            let from_here = self.layers.get_mut(at..).unwrap_or_default();
            let Some((layer, above)) = from_here.split_first_mut() else { break };
            let to = above.first_mut().map_or(&mut *input, |above| &mut above.wire);
            let room = to.room(CODEC_ROOM_BYTES, pool);
            let step = layer.codec.decode(layer.wire.bytes_mut(), room);
            let Step { taken, given: written } = *step.as_ref().unwrap_or(&Step::default());
            fill(to, written, pool);
            if let Err(errno) = step {
                return (given, Err(errno));
            }
            layer.wire.consume(taken, pool);
            match (written > 0, at == top) {
                (true, true) => given += written,
                (true, false) => at += 1,
                (false, _) if taken > 0 => {}
                (false, _) if at == 0 => break,
                (false, _) => at -= 1,
            }
        }
        (given, Ok(()))
    }

    /// Encodes a stride of what is to be sent, and what the codecs send by themselves.
    pub(crate) fn encode(&mut self, output: &mut Buffer, pool: &mut BufferPool) -> Result<(), i32> {
        let mut at = 0;
        // what lies nearest to the wire goes first
        while output.len() < STRIDE_BYTES {
            let Some((below, [layer, ..])) = self.layers.split_at_mut_checked(at) else { break };
            let to = below.last_mut().map_or(&mut *output, |below| &mut below.plain);
            let room = to.room(CODEC_ROOM_BYTES, pool);
            let mut step = layer.codec.pending(room).map(|given| Step { taken: 0, given });
            if step == Ok(Step::default()) && !layer.plain.is_empty() {
                step = layer.codec.encode(layer.plain.bytes(), room);
            }
            let Step { taken, given } = *step.as_ref().unwrap_or(&Step::default());
            fill(to, given, pool);
            step?;
            layer.plain.consume(taken, pool);
            match (given > 0, taken > 0) {
                (true, _) => at = at.saturating_sub(1),
                (false, true) => {}
                (false, false) if at + 1 == self.layers.len() => break,
                (false, false) => at += 1,
            }
        }
        Ok(())
    }

    /// Says every codec's farewell, once; nothing may be left to encode.
    pub(crate) fn close(&mut self, output: &mut Buffer, pool: &mut BufferPool) -> Result<(), i32> {
        self.is_closed = true;
        for at in (0..self.layers.len()).rev() {
            let Some((below, [layer, ..])) = self.layers.split_at_mut_checked(at) else { break };
            let to = below.last_mut().map_or(&mut *output, |below| &mut below.plain);
            let given = layer.codec.close(to.room(CODEC_ROOM_BYTES, pool));
            fill(to, *given.as_ref().unwrap_or(&0), pool);
            given?;
            self.encode(output, pool)?;
        }
        Ok(())
    }

    /// Whether the stream has ended, once nothing is left that could be decoded: whole (`true`) or
    /// cut off. `wire_ended` says that nothing more will arrive.
    pub(crate) fn end(&self, wire_ended: bool) -> Option<bool> {
        let heard = self.layers.iter().rposition(|layer| layer.codec.end() == StreamEnd::Heard);
        let from = if wire_ended { 0 } else { heard? };
        let is_whole = |layer: &Layer| match layer.codec.end() {
            StreamEnd::Awaited => false,
            StreamEnd::Heard => true,
            StreamEnd::Untold => layer.wire.is_empty(),
        };
        Some(self.layers.iter().skip(from).all(is_whole))
    }
}

/// Declares what was written to a buffer's room its content; an empty buffer holds no block.
fn fill(buffer: &mut Buffer, count: usize, pool: &mut BufferPool) {
    buffer.fill(count);
    if buffer.is_empty() {
        buffer.clear(pool);
    }
}
