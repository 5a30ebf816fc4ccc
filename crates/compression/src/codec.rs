//! The codec: compressed packets to bytes of a stream, and what is to be sent handed on.
//!
//! Decides whether what arrives is what its headers say. How packets are counted is `numbers`',
//! what goes into a compressed one `outgoing`'s.

use io::{Codec, DecodeCost, Step, StreamEnd};

use wire::connect::Compression;

use crate::numbers::{Leg, Numbers};
use crate::outgoing::{COMPRESSED_HEADER_BYTES, Outgoing};
use crate::results::Results;
use crate::streams::{Compressors, Inflater, Ticket};

/// The codec of a connection to a client or a server. Fails with `EBADMSG` where what arrives
/// cannot be decompressed, or comes to another length than it says.
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
    /// One that is compressed, all of which is there. It stays where it arrived until all is given
    /// that it comes to, so that its decompressor can be lost in between.
    Packed(Packed),
}

struct Packed {
    ticket: Ticket,
    /// How long it is, and what it comes to.
    packed: usize,
    plain: usize,
    /// How much of both is done.
    read: usize,
    given: usize,
}

impl Packed {
    /// Gives more of it, by a decompressor that is where this is or begins anew. Says how much, and
    /// whether the packet is at its end with that.
    fn inflate(
        &mut self,
        inflater: &mut Inflater,
        wire: &[u8],
        plain: &mut [u8],
    ) -> Result<(usize, bool), i32> {
        let packed = wire.get(self.read..self.packed).unwrap_or_default();
        // where all is given that was declared, its end may have to be read
        let mut none = [0];
        let plain = match self.plain - self.given {
            0 => &mut none[..],
            most => first_mut(plain, most),
        };
        let done = inflater.inflate(packed, plain)?;
        self.read += done.taken;
        self.given += done.given;
        let is_exact = self.read == self.packed && self.given == self.plain;
        let is_stuck = self.read == self.packed && done.given < plain.len()
            || (done.taken, done.given) == (0, 0);
        match done.is_whole {
            true if is_exact => {}
            false if !is_stuck && self.given <= self.plain => {}
            _ => return Err(libc::EBADMSG),
        }
        Ok((done.given, done.is_whole))
    }

    /// Its decompressor was lost: another one gets to where it was, by way of `room`.
    fn catch_up(
        &mut self,
        inflater: &mut Inflater,
        wire: &[u8],
        room: &mut [u8],
    ) -> Result<(), i32> {
        let given = std::mem::take(&mut self.given);
        self.read = 0;
        while self.given < given {
            let room = first_mut(room, given - self.given);
            self.inflate(inflater, wire, room)?;
        }
        Ok(())
    }
}

impl Packets {
    /// Begins with a packet, unless more of it has to arrive first.
    fn begin(&mut self, header: [u8; COMPRESSED_HEADER_BYTES], arrived: usize) -> Step {
        let [a, b, c, number, d, e, f] = header;
        let length =
            |bytes: [u8; 3]| bytes.iter().rev().fold(0, |all, byte| all << 8 | usize::from(*byte));
        let (packed, plain) = (length([a, b, c]), length([d, e, f]));
        if plain > 0 && arrived < packed {
            return Step::default();
        }
        self.numbers.hear(number);
        self.within = match plain {
            0 => Within::Stored(packed),
            _ => {
                let ticket = self.compressors.ticket();
                Within::Packed(Packed { ticket, packed, plain, read: 0, given: 0 })
            }
        };
        Step { taken: COMPRESSED_HEADER_BYTES, given: 0 }
    }

    /// More of the packet that is compressed.
    fn unpack(&mut self, wire: &[u8], plain: &mut [u8]) -> Result<Step, i32> {
        let Within::Packed(packed) = &mut self.within else { return Ok(Step::default()) };
        let (mut inflater, goes_on) = self.compressors.inflater(packed.ticket, self.compression)?;
        if !goes_on {
            packed.catch_up(&mut inflater, wire, plain)?;
        }
        let (given, is_whole) = packed.inflate(&mut inflater, wire, plain)?;
        if !is_whole {
            self.compressors.keep_inflater(packed.ticket, inflater);
            return Ok(Step { taken: 0, given });
        }
        let taken = packed.packed;
        self.compressors.give_back_inflater(inflater);
        self.within = Within::Nothing;
        Ok(Step { taken, given })
    }

    fn go_on(&mut self, wire: &[u8], plain: &mut [u8]) -> Result<Step, i32> {
        match &mut self.within {
            Within::Nothing => {
                let Some((header, behind)) = wire.split_first_chunk() else {
                    return Ok(Step::default());
                };
                Ok(self.begin(*header, behind.len()))
            }
            Within::Stored(left) => {
                let count = copy_first(wire.get(..*left).unwrap_or(wire), plain);
                *left -= count;
                if *left == 0 {
                    self.within = Within::Nothing;
                }
                Ok(Step { taken: count, given: count })
            }
            Within::Packed(_) => self.unpack(wire, plain),
        }
    }
}

impl Codec for Packets {
    fn decode(&mut self, wire: &mut [u8], plain: &mut [u8]) -> Result<Step, i32> {
        if self.failed {
            return Err(libc::EBADMSG);
        }
        let mut done = Step::default();
        while done.given < plain.len() {
            let was_within = !matches!(self.within, Within::Nothing);
            let rest = wire.get(done.taken..).unwrap_or_default();
            let step = self.go_on(rest, plain.get_mut(done.given..).unwrap_or_default());
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
        let plain = first_mut(plain, done.given);
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

    /// It does where a packet's decompressor was lost.
    fn cost(&self) -> DecodeCost {
        match &self.within {
            Within::Packed(packed)
                if packed.given > 0 && !self.compressors.keeps(packed.ticket) =>
            {
                DecodeCost::Again
            }
            _ => DecodeCost::Little,
        }
    }
}

/// As many bytes as there are, up to `most`.
fn first_mut(bytes: &mut [u8], most: usize) -> &mut [u8] {
    let count = bytes.len().min(most);
    bytes.get_mut(..count).unwrap_or_default()
}

/// Copies what there is room for; says how much.
pub(crate) fn copy_first(from: &[u8], to: &mut [u8]) -> usize {
    let count = from.len().min(to.len());
    if let (Some(from), Some(to)) = (from.get(..count), to.get_mut(..count)) {
        to.copy_from_slice(from);
    }
    count
}

impl Drop for Packets {
    fn drop(&mut self) {
        if let Within::Packed(packed) = &self.within {
            self.compressors.forget(packed.ticket);
        }
    }
}

#[cfg(test)]
mod tests;
