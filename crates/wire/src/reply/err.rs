//! The ERR packet: a command failed.

use crate::fault::What;
use crate::reader::Reader;
use crate::{Malformed, error_table::ErrorCode};

/// An ERR packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrPacket<'a> {
    /// The error's number.
    pub code: u16,
    /// The SQLSTATE; `HY000` when the packet has none, as before the handshake.
    pub sqlstate: [u8; 5],
    /// The text.
    pub message: &'a [u8],
}

impl<'a> ErrPacket<'a> {
    /// The first byte of the payload.
    pub const MARKER: u8 = 0xff;
    /// The number that marks a progress report of MariaDB, which is no error.
    pub const PROGRESS: u16 = 0xffff;

    /// An error with the SQLSTATE that belongs to its number.
    pub const fn new(code: ErrorCode, message: &'a [u8]) -> Self {
        Self { code: code.number, sqlstate: code.sqlstate, message }
    }

    /// Reads the payload.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut read = Reader::new(payload);
        read.marker(Self::MARKER)?;
        let code = read.u16()?;
        let sqlstate = match read.rest().first() {
            Some(b'#') => {
                read.u8()?;
                read.array().map_err(|_| read.fault(What::FixedField))?
            }
            _ => *b"HY000",
        };
        Ok(Self { code, sqlstate, message: read.take_rest() })
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(Self::MARKER);
        out.extend_from_slice(&self.code.to_le_bytes());
        out.push(b'#');
        out.extend_from_slice(&self.sqlstate);
        out.extend_from_slice(self.message);
    }

    /// Whether a payload is an ERR packet, by its first byte.
    pub fn is(payload: &[u8]) -> bool {
        payload.first() == Some(&Self::MARKER)
    }
}
