//! The greeting: the first packet of a connection, sent by the server.
//!
//! Reads and writes protocol version 10 of MySQL and MariaDB. A server may send an ERR packet
//! instead ("too many connections"); the caller looks for that first.

use crate::connect::SCRAMBLE_BYTES;
use crate::fault::What;
use crate::reader::Reader;
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
    /// The first byte of the payload: the version of the protocol.
    pub const VERSION: u8 = 10;

    /// Reads a greeting's payload.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut read = Reader::new(payload);
        match read.u8().map_err(|_| Malformed::new(What::Empty, 0))? {
            Self::VERSION => {}
            _ => return Err(Malformed::new(What::GreetingVersion, 0)),
        }
        let server_version = read.nul_bytes()?;
        let connection_id = read.u32()?;
        let first: [u8; FIRST_PART] = read.array()?;
        read.u8()?;
        let [caps_0, caps_1] = read.array()?;
        let collation = read.u8()?;
        let status = Status(read.u16()?);
        let [caps_2, caps_3] = read.array()?;
        let scramble_len = usize::from(read.u8()?);
        let _reserved: [u8; 6] = read.array()?;
        let extended: [u8; 4] = read.array()?;
        let mut caps = Caps::from_bytes([caps_0, caps_1, caps_2, caps_3], extended);
        if caps.contains(Caps::MYSQL) {
            caps = caps.without(Caps::MARIADB_ALL);
        }
        let scramble = read_second_part(&mut read, first, scramble_len)?;
        let plugin = match caps.contains(Caps::PLUGIN_AUTH) {
            true => read.nul_bytes_or_rest(),
            false => &[],
        };
        Ok(Self { server_version, connection_id, scramble, caps, collation, status, plugin })
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (first, second) = self.scramble.split_at(FIRST_PART);
        let [caps_0, caps_1, caps_2, caps_3] = self.caps.mysql_bytes();
        out.push(Self::VERSION);
        out.extend_from_slice(self.server_version);
        out.push(0);
        out.extend_from_slice(&self.connection_id.to_le_bytes());
        out.extend_from_slice(first);
        out.extend_from_slice(&[0, caps_0, caps_1, self.collation]);
        out.extend_from_slice(&self.status.0.to_le_bytes());
        out.extend_from_slice(&[caps_2, caps_3]);
        out.push(if self.caps.contains(Caps::PLUGIN_AUTH) { SENT_LEN } else { 0 });
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&match self.caps.contains(Caps::MYSQL) {
            true => [0; 4],
            false => self.caps.mariadb_bytes(),
        });
        out.extend_from_slice(second);
        out.push(0);
        if self.caps.contains(Caps::PLUGIN_AUTH) {
            out.extend_from_slice(self.plugin);
            out.push(0);
        }
    }

    /// Whether the server is a MariaDB, by its flags or by its version.
    pub fn is_mariadb(&self) -> bool {
        !self.caps.contains(Caps::MYSQL)
            || memchr::memmem::find(self.server_version, b"MariaDB").is_some()
    }

    /// The version without the `5.5.5-` that MariaDB sets before its own for old replicas.
    pub fn version(&self) -> &'a [u8] {
        match self.server_version.strip_prefix(b"5.5.5-") {
            Some(own) if self.is_mariadb() => own,
            _ => self.server_version,
        }
    }
}

/// Reads the second part of the scramble with its filling up to at least 13 bytes. What is sent
/// beyond 20 bytes is a NUL, or belongs to plugins that are not spoken here.
fn read_second_part(
    read: &mut Reader<'_>,
    first: [u8; FIRST_PART],
    stated_len: usize,
) -> Result<[u8; SCRAMBLE_BYTES], Malformed> {
    let fault = read.fault(What::Scramble);
    let second: [u8; SCRAMBLE_BYTES - FIRST_PART] = read.array().map_err(|_| fault)?;
    let filling = stated_len.saturating_sub(SCRAMBLE_BYTES).max(1);
    let _ = read.bytes(filling.min(read.rest().len()));
    let mut scramble = [0; SCRAMBLE_BYTES];
    for (to, from) in scramble.iter_mut().zip(first.into_iter().chain(second)) {
        *to = from;
    }
    Ok(scramble)
}

/// The bytes of the scramble that stand before the capabilities.
const FIRST_PART: usize = 8;

/// The scramble's length as servers state it: with a closing NUL.
const SENT_LEN: u8 = 21;
