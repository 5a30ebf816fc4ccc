//! What ends a stream.

use std::fmt;

use wire::{Malformed, What};

use crate::Position;

/// Why a stream cannot be read on; the next one begins anew.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogFault {
    /// The end of the last event that was read.
    pub after: Position,
    /// The kind of the event that cannot be; 0 where it is too short to have one.
    pub event: u8,
    /// What is wrong with it.
    pub flaw: Flaw,
}

/// What is wrong with an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// It is not what its kind must be.
    Malformed(Malformed),
    /// Its bytes are not those that its checksum is of.
    Checksum,
    /// It is longer or shorter than it says.
    Length,
    /// It cannot be decompressed.
    Packed,
}

impl From<Malformed> for Flaw {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl From<What> for Flaw {
    fn from(what: What) -> Self {
        Self::Malformed(Malformed::new(what, 0))
    }
}

impl fmt::Display for LogFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { after, event, flaw } = self;
        write!(f, "the event of kind {event} behind {after} of its log ")?;
        match flaw {
            Flaw::Malformed(malformed) => write!(f, "cannot be read: {malformed}"),
            Flaw::Checksum => f.write_str("does not fit its checksum"),
            Flaw::Length => f.write_str("is not as long as it says"),
            Flaw::Packed => f.write_str("cannot be decompressed"),
        }
    }
}

impl std::error::Error for LogFault {}
