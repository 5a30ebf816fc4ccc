//! A codec to try codecs with: frames of a little-endian length, a kind and that many bytes, each
//! byte XORed with a counter of its direction. Both sides say hello first and cannot say anything
//! else before they have heard the other's; both end with a farewell.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use io::{Codec, DecodeCost, Step, StreamEnd};

/// As Linux counts.
pub const EPROTO: i32 = 71;

const HELLO: u8 = b'H';
const BYTES: u8 = b'B';
const FAREWELL: u8 = b'F';
/// Length, kind.
const HEAD_BYTES: usize = 3;
/// The content of one frame.
const FRAME_BYTES_MAX: usize = 16 * 1024;

/// What a frame that is none is answered with.
pub const ALERT: &[u8] = b"\0\0A";

/// How many codecs there are, and how many have heard the other side's hello.
#[derive(Clone, Default)]
pub struct Greetings {
    made: Arc<AtomicUsize>,
    heard: Arc<AtomicUsize>,
}

impl Greetings {
    pub fn codec(&self) -> Box<dyn Codec> {
        self.made.fetch_add(1, Ordering::Relaxed);
        Box::new(Masked { greetings: self.clone(), ..Masked::default() })
    }

    /// One that ends without a farewell.
    pub fn silent_codec(&self) -> Box<dyn Codec> {
        self.made.fetch_add(1, Ordering::Relaxed);
        Box::new(Masked { greetings: self.clone(), is_silent: true, ..Masked::default() })
    }

    pub fn all_heard(&self) -> bool {
        self.made.load(Ordering::Relaxed) == self.heard.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
pub struct Masked {
    greetings: Greetings,
    greeted: bool,
    heard: bool,
    ended: bool,
    broken: bool,
    alerted: bool,
    is_silent: bool,
    sent: u8,
    received: u8,
}

impl Masked {
    fn write(&mut self, kind: u8, content: &[u8], wire: &mut [u8]) -> usize {
        let whole = HEAD_BYTES + content.len();
        wire[..2].copy_from_slice(&(content.len() as u16).to_le_bytes());
        wire[2] = kind;
        for (to, byte) in wire[HEAD_BYTES..whole].iter_mut().zip(content) {
            *to = byte ^ self.sent;
            self.sent = self.sent.wrapping_add(7);
        }
        whole
    }

    fn take(&mut self, kind: u8, content: &mut [u8], plain: &mut [u8]) -> Result<Step, i32> {
        for byte in content.iter_mut() {
            *byte ^= self.received;
            self.received = self.received.wrapping_add(7);
        }
        let mut given = 0;
        match (kind, self.heard) {
            (HELLO, false) if content == b"hello" => {
                self.heard = true;
                self.greetings.heard.fetch_add(1, Ordering::Relaxed);
            }
            (BYTES, true) => {
                plain[..content.len()].copy_from_slice(content);
                given = content.len();
            }
            (FAREWELL, true) if content.is_empty() => self.ended = true,
            _ => return Err(EPROTO),
        }
        Ok(Step { taken: HEAD_BYTES + content.len(), given })
    }
}

impl Codec for Masked {
    fn decode(&mut self, wire: &mut [u8], plain: &mut [u8]) -> Result<Step, i32> {
        assert!(plain.len() >= io::CODEC_ROOM_BYTES, "no room");
        if self.broken {
            return Err(EPROTO);
        }
        if self.ended {
            return Ok(Step { taken: wire.len(), given: 0 });
        }
        let Some((head, rest)) = wire.split_first_chunk_mut::<HEAD_BYTES>() else {
            return Ok(Step::default());
        };
        let len = usize::from(u16::from_le_bytes([head[0], head[1]]));
        if len > FRAME_BYTES_MAX {
            self.broken = true;
            return Err(EPROTO);
        }
        let Some(content) = rest.get_mut(..len) else { return Ok(Step::default()) };
        let step = self.take(head[2], content, plain);
        self.broken = step.is_err();
        step
    }

    fn encode(&mut self, plain: &[u8], wire: &mut [u8]) -> Result<Step, i32> {
        assert!(wire.len() >= io::CODEC_ROOM_BYTES && !plain.is_empty(), "nothing to do it with");
        if !self.heard {
            return Ok(Step::default());
        }
        let taken = plain.len().min(FRAME_BYTES_MAX);
        Ok(Step { taken, given: self.write(BYTES, &plain[..taken], wire) })
    }

    fn pending(&mut self, wire: &mut [u8]) -> Result<usize, i32> {
        if self.broken && !std::mem::replace(&mut self.alerted, true) {
            wire[..ALERT.len()].copy_from_slice(ALERT);
            return Ok(ALERT.len());
        }
        if std::mem::replace(&mut self.greeted, true) {
            return Ok(0);
        }
        Ok(self.write(HELLO, b"hello", wire))
    }

    fn cost(&self) -> DecodeCost {
        if self.heard { DecodeCost::Little } else { DecodeCost::Handshake }
    }

    fn close(&mut self, wire: &mut [u8]) -> Result<usize, i32> {
        Ok(if self.heard && !self.is_silent { self.write(FAREWELL, b"", wire) } else { 0 })
    }

    fn end(&self) -> StreamEnd {
        if self.ended { StreamEnd::Heard } else { StreamEnd::Awaited }
    }
}
