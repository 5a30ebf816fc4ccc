//! What compresses and decompresses: a few for each worker, which any of its connections borrows
//! for one call.
//!
//! Decides how many are kept, and how hard they try. Knows bytes and levels, nothing of packets.
//!
//! A decompressor may have a window as large as what a packet comes to, 16 MiB of a few hundred
//! bytes. So one that is in the middle of a packet is kept for that packet only while there are few
//! of them. Where there are more, one that chance chooses is lost, and its packet begins anew.

use std::io::Write;
use std::sync::Arc;

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::bulk::Compressor;
use zstd::stream::raw::{DParameter, Decoder, Operation};

use io::Lock;
use wire::connect::Compression;

use crate::{ZLIB_LEVEL, ZSTD_LEVEL_MAX};

/// The largest window of zstd that is decompressed, as a power of two: that of a whole packet.
const WINDOW_LOG_MAX: u32 = 24;
/// How many decompressors a worker keeps, in the middle of packets or for packets to come.
pub(crate) const INFLATERS_MAX: usize = 8;
/// How many buffers.
const BUFFERS_MAX: usize = 4;
/// The same of compressors: one for zlib, and one for each level of zstd, lest clients with other
/// levels have one made for each packet.
const PACKERS_MAX: usize = 1 + ZSTD_LEVEL_MAX as usize;
/// The largest buffer that is kept.
const BUFFER_BYTES_MAX: usize = 1 << 16;

/// What the connections of a worker borrow: compressors, decompressors and buffers. A connection
/// that goes to another worker goes on with those that it knows.
#[derive(Clone, Default)]
pub struct Compressors(Arc<Lock<Spare>>);

/// Who is not in use.
#[derive(Default)]
struct Spare {
    packers: Vec<Packer>,
    /// With the packet that each is in the middle of.
    inflaters: Vec<(Option<Ticket>, Inflater)>,
    buffers: Vec<Vec<u8>>,
    /// That was given last.
    ticket: u64,
    random: u64,
}

impl Spare {
    /// Keeps one more, at the cost of another where there are enough.
    fn keep(&mut self, ticket: Option<Ticket>, inflater: Inflater) {
        if self.inflaters.len() >= INFLATERS_MAX {
            let free = self.inflaters.iter().position(|(ticket, _)| ticket.is_none());
            let lost = free.unwrap_or_else(|| self.any_place());
            self.inflaters.swap_remove(lost);
        }
        self.inflaters.push((ticket, inflater));
    }

    /// One of the places of inflaters. Chance keeps those who never go on from staying for ever,
    /// and those who take turns from losing theirs each time.
    fn any_place(&mut self) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.random >> 33).unwrap_or(0) % self.inflaters.len().max(1)
    }
}

/// A packet that is being decompressed, among those of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticket(u64);

impl Compressors {
    /// An empty buffer.
    pub(crate) fn buffer(&self) -> Vec<u8> {
        self.0.take().buffers.pop().unwrap_or_default()
    }

    /// Is kept for others.
    pub(crate) fn give_back_buffer(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut spare = self.0.take();
        if spare.buffers.len() < BUFFERS_MAX && buffer.capacity() <= BUFFER_BYTES_MAX {
            spare.buffers.push(buffer);
        }
    }

    /// Packs `plain` into less room than it has; says how much it came to, or `None` where it does
    /// not fit.
    pub(crate) fn pack(
        &self,
        compression: Compression,
        plain: &[u8],
        packed: &mut [u8],
    ) -> Option<usize> {
        let level = level_of(compression);
        let is_meant = |packer: &Packer| match packer {
            Packer::Zlib(_) => compression == Compression::Zlib,
            Packer::Zstd(of, _) => compression != Compression::Zlib && *of == level,
        };
        let spare = {
            let packers = &mut self.0.take().packers;
            packers.iter().position(is_meant).map(|at| packers.swap_remove(at))
        };
        let mut packer = spare.or_else(|| Packer::new(compression))?;
        let length = packer.pack(plain, packed);
        let packers = &mut self.0.take().packers;
        if packers.len() < PACKERS_MAX {
            packers.push(packer);
        }
        length
    }

    /// For a packet that is to be decompressed.
    pub(crate) fn ticket(&self) -> Ticket {
        let mut spare = self.0.take();
        spare.ticket += 1;
        Ticket(spare.ticket)
    }

    /// The decompressor that was kept for a packet; else (`false`) one that begins anew.
    pub(crate) fn inflater(
        &self,
        ticket: Ticket,
        compression: Compression,
    ) -> Result<(Inflater, bool), i32> {
        let is_zlib = compression == Compression::Zlib;
        let is_free = |(of, it): &(Option<Ticket>, Inflater)| {
            of.is_none() && matches!(it, Inflater::Zlib(_)) == is_zlib
        };
        let kept = {
            let inflaters = &mut self.0.take().inflaters;
            let own = inflaters.iter().position(|(of, _)| *of == Some(ticket));
            let found = own.or_else(|| inflaters.iter().position(is_free));
            found.map(|at| (inflaters.swap_remove(at).1, own.is_some()))
        };
        kept.map_or_else(|| Ok((Inflater::new(compression)?, false)), Ok)
    }

    /// Is kept for the rest of a packet, as long as there is room.
    pub(crate) fn keep_inflater(&self, ticket: Ticket, inflater: Inflater) {
        self.0.take().keep(Some(ticket), inflater);
    }

    /// Is kept for another packet.
    pub(crate) fn give_back_inflater(&self, mut inflater: Inflater) {
        if inflater.begin_anew() {
            self.0.take().keep(None, inflater);
        }
    }

    /// Whether a decompressor is kept for the rest of a packet.
    pub(crate) fn keeps(&self, ticket: Ticket) -> bool {
        self.0.take().inflaters.iter().any(|(of, _)| *of == Some(ticket))
    }

    /// How many decompressors are kept.
    #[cfg(test)]
    pub(crate) fn inflaters(&self) -> usize {
        self.0.take().inflaters.len()
    }

    /// What was kept for a packet goes with that.
    pub(crate) fn forget(&self, ticket: Ticket) {
        self.0.take().inflaters.retain(|(of, _)| *of != Some(ticket));
    }
}

/// At which level it is done.
fn level_of(compression: Compression) -> i32 {
    match compression {
        Compression::Zlib => ZLIB_LEVEL.cast_signed(),
        Compression::Zstd(level) => i32::from(level.clamp(1, ZSTD_LEVEL_MAX)),
    }
}

/// A compressor of what is there as a whole.
enum Packer {
    Zlib(Compress),
    /// With its level.
    Zstd(i32, Compressor<'static>),
}

impl Packer {
    fn new(compression: Compression) -> Option<Self> {
        let level = level_of(compression);
        match compression {
            Compression::Zlib => {
                Some(Self::Zlib(Compress::new(flate2::Compression::new(ZLIB_LEVEL), true)))
            }
            Compression::Zstd(_) => Some(Self::Zstd(level, Compressor::new(level).ok()?)),
        }
    }

    fn pack(&mut self, plain: &[u8], packed: &mut [u8]) -> Option<usize> {
        match self {
            Self::Zlib(stream) => {
                stream.reset();
                let status = stream.compress(plain, packed, FlushCompress::Finish);
                let is_whole = matches!(status, Ok(Status::StreamEnd));
                is_whole.then(|| usize::try_from(stream.total_out()).ok()).flatten()
            }
            Self::Zstd(_, stream) => stream.compress_to_buffer(plain, packed).ok(),
        }
    }
}

/// A compressor of what comes in parts.
pub(crate) enum Deflater {
    Zlib(flate2::write::ZlibEncoder<Vec<u8>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Deflater {
    /// One that appends to `before`.
    pub(crate) fn behind(before: Vec<u8>, compression: Compression) -> Result<Self, i32> {
        Ok(match compression {
            Compression::Zlib => {
                let level = flate2::Compression::new(ZLIB_LEVEL);
                Self::Zlib(flate2::write::ZlibEncoder::new(before, level))
            }
            Compression::Zstd(_) => {
                let level = level_of(compression);
                let encoder = zstd::stream::write::Encoder::new(before, level);
                Self::Zstd(encoder.map_err(|_| libc::ENOMEM)?)
            }
        })
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), i32> {
        let taken = match self {
            Self::Zlib(encoder) => encoder.write_all(bytes),
            Self::Zstd(encoder) => encoder.write_all(bytes),
        };
        taken.map_err(|_| libc::ENOMEM)
    }

    /// What was there before, and all that was taken.
    pub(crate) fn finish(self) -> Result<Vec<u8>, i32> {
        let finished = match self {
            Self::Zlib(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        };
        finished.map_err(|_| libc::ENOMEM)
    }
}

/// A decompressor.
pub(crate) enum Inflater {
    Zlib(Decompress),
    Zstd(Decoder<'static>),
}

/// What one call of a decompressor did.
pub(crate) struct Inflated {
    pub(crate) taken: usize,
    pub(crate) given: usize,
    /// The packed bytes have come to their end.
    pub(crate) is_whole: bool,
}

impl Inflater {
    fn new(compression: Compression) -> Result<Self, i32> {
        match compression {
            Compression::Zlib => Ok(Self::Zlib(Decompress::new(true))),
            Compression::Zstd(_) => {
                let mut decoder = Decoder::new().map_err(|_| libc::ENOMEM)?;
                let limit = DParameter::WindowLogMax(WINDOW_LOG_MAX);
                decoder.set_parameter(limit).map_err(|_| libc::ENOMEM)?;
                Ok(Self::Zstd(decoder))
            }
        }
    }

    fn begin_anew(&mut self) -> bool {
        match self {
            Self::Zlib(stream) => {
                stream.reset(true);
                true
            }
            Self::Zstd(decoder) => decoder.reinit().is_ok(),
        }
    }

    /// An error says that the bytes are not of its kind.
    pub(crate) fn inflate(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<Inflated, i32> {
        match self {
            Self::Zlib(stream) => {
                let (taken, given) = (stream.total_in(), stream.total_out());
                let status = stream.decompress(packed, plain, FlushDecompress::None);
                let status = status.map_err(|_| libc::EBADMSG)?;
                let count = |now: u64, before: u64| usize::try_from(now - before).unwrap_or(0);
                Ok(Inflated {
                    taken: count(stream.total_in(), taken),
                    given: count(stream.total_out(), given),
                    is_whole: status == Status::StreamEnd,
                })
            }
            Self::Zstd(decoder) => {
                let status = decoder.run_on_buffers(packed, plain).map_err(|_| libc::EBADMSG)?;
                Ok(Inflated {
                    taken: status.bytes_read,
                    given: status.bytes_written,
                    is_whole: status.remaining == 0,
                })
            }
        }
    }
}
