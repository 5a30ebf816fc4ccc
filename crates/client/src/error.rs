//! What may come in place of an answer. What to do about it is the caller's.

use std::{fmt, io};

use wire::reply::ErrPacket;
use wire::{Fault, Malformed};

/// Why there is no answer. After a [`Error::Refused`] statement the connection is in order; after
/// anything else it may not be.
#[derive(Debug)]
pub enum Error {
    /// The server answered with an error.
    Refused(ServerError),
    /// The connection cannot be made, has ended, or was silent for too long.
    Connection(io::Error),
    /// The server sent what has no place in the protocol, or none for this client.
    Protocol(Fault),
    /// The server wants more of a password than its hash, or a plugin that is not spoken.
    Unproven,
}

/// An error that a server answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// Its number, such as 1146.
    pub code: u16,
    /// Its SQLSTATE; `HY000` where the server told none.
    pub sqlstate: String,
    /// Its text.
    pub message: String,
}

impl Error {
    /// The server's own error, if that is what came.
    pub const fn refusal(&self) -> Option<&ServerError> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// What the payload of an ERR packet says.
    pub fn told(payload: &[u8]) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match ErrPacket::parse(payload) {
            Ok(ErrPacket { code, sqlstate, message }) => {
                let (sqlstate, message) = (text(&sqlstate), text(message));
                Self::Refused(ServerError { code, sqlstate, message })
            }
            Err(malformed) => malformed.into(),
        }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code, self.sqlstate, self.message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Connection(error) => error.fmt(f),
            Self::Protocol(fault) => fault.fmt(f),
            Self::Unproven => f.write_str("the server asks for more than this client can prove"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

impl From<Malformed> for Error {
    fn from(malformed: Malformed) -> Self {
        Self::Protocol(malformed.into())
    }
}
