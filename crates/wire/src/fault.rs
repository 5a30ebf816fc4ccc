//! What can be wrong with received bytes, as data.
//!
//! Says what was malformed, where, and which side sent it. Does not know what becomes of the
//! connection: that is decided where the fault is handled.

use std::fmt;

/// A payload that is not what it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// The thing that could not be read.
    pub what: What,
    /// Where in the payload reading stopped.
    pub offset: usize,
}

/// The things that are read from payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A length-encoded integer.
    LengthInteger,
    /// A string that is shorter than its stated length.
    LengthString,
    /// A string without its terminating NUL.
    NulString,
    /// A field of fixed size.
    FixedField,
    /// A greeting of a protocol version other than 10.
    GreetingVersion,
    /// A scramble that is not 20 bytes long.
    Scramble,
    /// A handshake response of a client that does not speak protocol 4.1.
    AncientClient,
    /// A packet that begins with another byte than its kind does.
    Marker,
    /// Session-track data of an OK packet.
    SessionTrack,
    /// A parameter type, or parameters sent without types when none are known.
    ParameterType,
    /// A parameter value that its type cannot have.
    ParameterValue,
    /// Bytes after the end of something.
    Trailing,
    /// An empty payload.
    Empty,
}

/// The two sides of a proxied connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The application that connected to the proxy.
    Client,
    /// The server that the proxy connected to.
    Backend,
}

/// A violation of the protocol: the connection to that side cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerFault {
    /// Who sent it.
    pub side: Side,
    /// What is wrong.
    pub fault: Fault,
}

/// The violations of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A packet that cannot be read.
    Malformed(Malformed),
    /// A frame with another sequence number than the one due.
    Sequence {
        /// The number due.
        expected: u8,
        /// The number received.
        found: u8,
    },
    /// A packet that must be read whole and is longer than [`crate::result::WHOLE_BYTES_MAX`].
    TooLong {
        /// Its stated length.
        len: usize,
    },
    /// A packet that cannot come now.
    Unexpected {
        /// Its first byte, 0 when it is empty.
        first: u8,
    },
}

impl Malformed {
    /// A fault of `what` at `offset`.
    pub const fn new(what: What, offset: usize) -> Self {
        Self { what, offset }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LengthInteger => "a length-encoded integer is cut short or invalid",
            Self::LengthString => "a string is shorter than its stated length",
            Self::NulString => "a string lacks its terminating NUL",
            Self::FixedField => "a field of fixed size is cut short",
            Self::GreetingVersion => "the greeting is not of protocol version 10",
            Self::Scramble => "the scramble is not 20 bytes long",
            Self::AncientClient => "the client does not speak protocol 4.1",
            Self::Marker => "the packet begins with a wrong byte",
            Self::SessionTrack => "session-track data cannot be read",
            Self::ParameterType => "a parameter has no type or an unknown one",
            Self::ParameterValue => "a parameter has a value its type cannot have",
            Self::Trailing => "bytes follow the end",
            Self::Empty => "the packet is empty",
        })
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {})", self.what, self.offset)
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client",
            Self::Backend => "backend",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::Sequence { expected, found } => {
                write!(f, "packet number {found} where {expected} was due")
            }
            Self::TooLong { len } => write!(f, "a packet of {len} bytes is too long to be read"),
            Self::Unexpected { first } => {
                write!(f, "a packet beginning with byte {first:#04x} cannot come here")
            }
        }
    }
}

impl fmt::Display for PeerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "protocol violation by the {}: {}", self.side, self.fault)
    }
}

impl std::error::Error for Malformed {}
impl std::error::Error for PeerFault {}

impl From<Malformed> for Fault {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}
