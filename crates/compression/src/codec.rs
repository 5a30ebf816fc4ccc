//! The codec: compressed packets to bytes of a stream, and what is to be sent handed on.
//!
//! Decides whether what arrives is what its headers say. How packets are counted is `numbers`',
//! what goes into a compressed one `outgoing`'s.

use io::{Codec, Step, StreamEnd};

use wire::connect::Compression;

use crate::numbers::{Leg, Numbers};
use crate::outgoing::{COMPRESSED_HEADER_BYTES, Outgoing};
use crate::results::Results;
use crate::streams::{Compressors, Inflater};

/// The codec of a connection to a client or a server. Fails with `EPROTO` where what arrives cannot
/// be decompressed, or comes to another length than it says.
pub fn codec(leg: Leg, compression: Compression, compressors: &Compressors) -> Box<dyn Codec> {
    Box::new(Packets {
        leg,
        compression,
        compressors: compressors.clone(),
        numbers: Numbers::new(leg),
        results: Results::default(),
        outgoing: Outgoing::new(leg, compression, compressors.clone()),
        within: Within::Nothing,
        failed: false,
    })
}

struct Packets {
    leg: Leg,
    compression: Compression,
    compressors: Compressors,
    numbers: Numbers,
    results: Results,
    outgoing: Outgoing,
    within: Within,
    failed: bool,
}

/// Which packet bytes belong to that arrive.
enum Within {
    /// A new one.
    Nothing,
    /// One that is sent as it is, of which so much is to come.
    Stored(usize),
    /// One that is compressed.
    Packed(Packed),
}

struct Packed {
    inflater: Inflater,
    /// What is to come, and what is to become of it.
    packed: usize,
    plain: usize,
}

impl Packed {
    /// Whether the packet is at its end with this, and what was done.
    fn inflate(&mut self, wire: &[u8], plain: &mut [u8]) -> Result<(Step, bool), i32> {
        let wire = &wire[..wire.len().min(self.packed)];
        // where all is given that was declared, its end may have to be read
        let mut none = [0];
        let plain = match self.plain {
            0 => &mut none[..],
            most => {
                let room = plain.len().min(most);
                &mut plain[..room]
            }
        };
        let done = self.inflater.inflate(wire, plain)?;
        self.packed -= done.taken;
        self.plain = self.plain.checked_sub(done.given).ok_or(libc::EPROTO)?;
        let is_exact = self.packed == 0 && self.plain == 0;
        let is_stuck = self.packed == 0 && done.given < plain.len()
            || (done.taken, done.given) == (0, 0) && !wire.is_empty();
        match done.is_whole {
            true if is_exact => {}
            false if !is_stuck => {}
            _ => return Err(libc::EPROTO),
        }
        Ok((Step { taken: done.taken, given: done.given }, done.is_whole))
    }
}

impl Packets {
    fn begin(&mut self, header: [u8; COMPRESSED_HEADER_BYTES]) -> Result<(), i32> {
        let [a, b, c, number, d, e, f] = header;
        let length =
            |bytes: [u8; 3]| bytes.iter().rev().fold(0, |all, byte| all << 8 | usize::from(*byte));
        let (packed, plain) = (length([a, b, c]), length([d, e, f]));
        self.numbers.hear(number);
        self.within = match plain {
            0 => Within::Stored(packed),
            _ => Within::Packed(Packed {
                inflater: self.compressors.inflater(self.compression)?,
                packed,
                plain,
            }),
        };
        Ok(())
    }

    fn end_packet(&mut self) {
        if let Within::Packed(ended) = std::mem::replace(&mut self.within, Within::Nothing) {
            self.compressors.give_back_inflater(ended.inflater);
        }
    }

    fn go_on(&mut self, wire: &[u8], plain: &mut [u8]) -> Result<Step, i32> {
        match &mut self.within {
            Within::Nothing => {
                let Some(header) = wire.first_chunk() else { return Ok(Step::default()) };
                self.begin(*header)?;
                Ok(Step { taken: COMPRESSED_HEADER_BYTES, given: 0 })
            }
            Within::Stored(left) => {
                let count = wire.len().min(plain.len()).min(*left);
                plain[..count].copy_from_slice(&wire[..count]);
                *left -= count;
                if *left == 0 {
                    self.end_packet();
                }
                Ok(Step { taken: count, given: count })
            }
            Within::Packed(packed) => {
                let (step, is_whole) = packed.inflate(wire, plain)?;
                if is_whole {
                    self.end_packet();
                }
                Ok(step)
            }
        }
    }
}

impl Codec for Packets {
    fn decode(&mut self, wire: &mut [u8], plain: &mut [u8]) -> Result<Step, i32> {
        if self.failed {
            return Err(libc::EPROTO);
        }
        let mut done = Step::default();
        while done.given < plain.len() {
            let was_within = !matches!(self.within, Within::Nothing);
            let step = self.go_on(&wire[done.taken..], &mut plain[done.given..]);
            self.failed = step.is_err();
            let step = match step {
                Ok(step) => step,
                // what came in front of it is given first
                Err(_) if done.given > 0 => break,
                Err(errno) => return Err(errno),
            };
            done.taken += step.taken;
            done.given += step.given;
            let is_within = !matches!(self.within, Within::Nothing);
            if step == Step::default() && was_within == is_within {
                break;
            }
        }
        let plain = &mut plain[..done.given];
        match self.leg {
            Leg::Client => self.numbers.recount(plain, |first| self.results.command(first)),
            Leg::Server => self.numbers.recount(plain, |_| {}),
        }
        Ok(done)
    }

    fn encode(&mut self, plain: &[u8], wire: &mut [u8]) -> Result<Step, i32> {
        self.outgoing.encode((&mut self.numbers, &mut self.results), plain, wire)
    }

    fn pending(&mut self, wire: &mut [u8]) -> Result<usize, i32> {
        Ok(self.outgoing.pending(wire))
    }

    fn close(&mut self, _wire: &mut [u8]) -> Result<usize, i32> {
        Ok(0)
    }

    fn end(&self) -> StreamEnd {
        match self.within {
            Within::Nothing => StreamEnd::Untold,
            Within::Stored(_) | Within::Packed(_) => StreamEnd::Awaited,
        }
    }

    fn has_more(&self) -> bool {
        matches!(&self.within, Within::Packed(packet) if packet.packed == 0)
    }
}

#[cfg(test)]
mod tests;
