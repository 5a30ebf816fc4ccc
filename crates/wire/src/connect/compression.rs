//! Compression of a connection: what the two ends have agreed on at its login.
//!
//! Decides which it is; how packets are compressed is not known here.

use crate::Caps;

/// How the packets of a connection are compressed, once its login is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// By zlib.
    Zlib,
    /// By zstd, at this level of 1 to 22.
    Zstd(u8),
}

impl Compression {
    /// The level of zstd that MySQL's clients ask for where nobody says another.
    pub const ZSTD_LEVEL: u8 = 3;
    /// What has to be offered, and asked for.
    pub const CAPS: Caps = Caps::COMPRESS.union(Caps::ZSTD);

    /// What two ends have agreed on whose common capabilities are these, with the level that the
    /// client asks for. Where both kinds are among them it is zlib, as MySQL has it.
    pub const fn agreed(caps: Caps, zstd_level: u8) -> Option<Self> {
        if caps.contains(Caps::COMPRESS) {
            Some(Self::Zlib)
        } else if caps.contains(Caps::ZSTD) {
            Some(Self::Zstd(zstd_level))
        } else {
            None
        }
    }
}
