//! The greeting: the first packet of a connection, sent by the server.
//!
//! Reads and writes protocol version 10 of MySQL and MariaDB. A server may send an ERR packet
//! instead ("too many connections"); the caller looks for that first.

use crate::connect::SCRAMBLE_BYTES;
use crate::{Caps, Malformed, Status};

/// A greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting<'a> {
    /// The server's version, as sent.
    pub server_version: &'a [u8],
    /// The connection's id on the server.
    pub connection_id: u32,
    /// The nonce for the password exchange.
    pub scramble: [u8; SCRAMBLE_BYTES],
    /// What the server offers, MariaDB's extended capabilities included.
    pub caps: Caps,
    /// The low byte of the server's default collation id.
    pub collation: u8,
    /// The session's status flags.
    pub status: Status,
    /// The name of the authentication plugin the server begins with; empty when it names none.
    pub plugin: &'a [u8],
}

impl<'a> Greeting<'a> {
    /// Reads a greeting's payload.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let _ = payload;
        unimplemented!()
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let _ = out;
    }

    /// Whether the server is a MariaDB, by its flags or by its version.
    pub fn is_mariadb(&self) -> bool {
        !self.caps.contains(Caps::MYSQL)
    }
}
