//! The handshake response: the first packet of a client, and the request for TLS before it.
//!
//! Reads and writes protocol 4.1; older clients are refused by a fault of their own.

use crate::{Caps, Malformed};

/// A client's answer to the greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandshakeResponse<'a> {
    /// What the client wants and the server offered, MariaDB's extended capabilities included.
    pub caps: Caps,
    /// The longest packet that the client will take.
    pub max_packet: u32,
    /// The low byte of the id of the client's collation.
    pub collation: u8,
    /// The user's name.
    pub user: &'a [u8],
    /// The answer to the plugin that the client assumed.
    pub auth_response: &'a [u8],
    /// The schema to begin with, when one is named.
    pub schema: Option<&'a [u8]>,
    /// The name of the plugin that the client assumed, when it names one.
    pub plugin: Option<&'a [u8]>,
    /// The connection attributes as sent, without their total length; see [`Attributes`].
    pub attributes: &'a [u8],
}

impl<'a> HandshakeResponse<'a> {
    /// Reads a handshake response's payload.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let _ = payload;
        unimplemented!()
    }

    /// Appends the payload. The optional parts are written as `caps` says.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let _ = out;
    }
}

/// A client's request to go on in TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SslRequest {
    /// What the client wants.
    pub caps: Caps,
    /// The longest packet that the client will take.
    pub max_packet: u32,
    /// The low byte of the id of the client's collation.
    pub collation: u8,
}

impl SslRequest {
    /// The request, when the payload is one and not a handshake response.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let _ = payload;
        None
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let _ = out;
    }
}

/// Connection attributes, pair by pair; ends early at a pair that is cut short.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a>(crate::reader::Reader<'a>);

impl<'a> Attributes<'a> {
    /// The pairs in `attributes`.
    pub const fn new(attributes: &'a [u8]) -> Self {
        Self(crate::reader::Reader::new(attributes))
    }

    /// Appends one pair to attributes that are being written.
    pub fn push(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
        crate::lenenc::write_bytes(out, name);
        crate::lenenc::write_bytes(out, value);
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let name = self.0.lenenc_bytes().ok()?;
        Some((name, self.0.lenenc_bytes().ok()?))
    }
}
