//! Compressed packets of the MySQL protocol between a socket and its service: an [`io::Codec`].
//!
//! A [`codec`] is put on a connection when its login is over, where both ends agreed on a
//! [`wire::connect::Compression`]; it borrows what compresses of its worker's [`Compressors`].
//! Outside format: the compressed packets of MySQL's client/server protocol. Each has a header of
//! seven bytes, and what zlib (RFC 1950) or zstd (RFC 8878) made of up to 16 MiB of the stream.
//!
//! **Invariant.** Nothing that arrives makes a codec panic. None gives more of a packet than that
//! declares, and none keeps anything large of what arrives. A packet is decompressed when all of it
//! is there, by one of a worker's few decompressors. **Not here:** sockets, TLS, and what the two
//! ends agree on, which its users decide.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        clippy::panic
    )
)]

mod codec;
mod numbers;
mod outgoing;
mod results;
mod streams;

pub use codec::codec;
pub use numbers::Leg;
pub use streams::Compressors;

/// The level of zlib: what it gains above that costs servers more than it saves on the way.
pub const ZLIB_LEVEL: u32 = 3;
/// The highest level of zstd that the other end may ask for: time is spent on this side.
pub const ZSTD_LEVEL_MAX: u8 = 9;
