//! The handshake response: the first packet of a client, and the request for TLS before it.
//!
//! Reads and writes protocol 4.1; older clients are refused by a fault of their own.

use crate::connect::Compression;
use crate::fault::What;
use crate::reader::Reader;
use crate::{Caps, Malformed, lenenc};

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
    /// The level of zstd that the client asks for; sent with [`Caps::ZSTD`] only.
    pub zstd_level: u8,
}

impl<'a> HandshakeResponse<'a> {
    /// Reads a handshake response's payload.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut read = Reader::new(payload);
        let start = SslRequest::read(&mut read)?;
        let caps = start.caps;
        let user = read.nul_bytes()?;
        let auth_response = if caps.contains(Caps::PLUGIN_AUTH_LENENC) {
            read.lenenc_bytes()?
        } else if caps.contains(Caps::SECURE_CONNECTION) {
            read.short_bytes()?
        } else {
            read.nul_bytes_or_rest()
        };
        let schema = optional(&mut read, caps, Caps::CONNECT_WITH_DB);
        let plugin = optional(&mut read, caps, Caps::PLUGIN_AUTH);
        let attributes = match caps.contains(Caps::CONNECT_ATTRS) && !read.is_empty() {
            true => read.lenenc_bytes()?,
            false => &[],
        };
        let zstd_level = match caps.contains(Caps::ZSTD) && !read.is_empty() {
            true => read.u8()?,
            false => Compression::ZSTD_LEVEL,
        };
        let SslRequest { max_packet, collation, .. } = start;
        Ok(Self {
            caps,
            max_packet,
            collation,
            user,
            auth_response,
            schema,
            plugin,
            attributes,
            zstd_level,
        })
    }

    /// Appends the payload. The capabilities written are `caps`, but for those of the schema, the
    /// plugin and the attributes, which are set when there is something to send. An answer of
    /// more than 255 bytes needs [`Caps::PLUGIN_AUTH_LENENC`].
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut caps = self.caps;
        for (sent, flag) in [
            (self.schema.is_some(), Caps::CONNECT_WITH_DB),
            (self.plugin.is_some(), Caps::PLUGIN_AUTH),
            (!self.attributes.is_empty(), Caps::CONNECT_ATTRS),
        ] {
            caps = if sent { caps.union(flag) } else { caps.without(flag) };
        }
        let Self { max_packet, collation, .. } = *self;
        SslRequest { caps, max_packet, collation }.encode(out);
        out.extend_from_slice(self.user);
        out.push(0);
        if caps.contains(Caps::PLUGIN_AUTH_LENENC) {
            lenenc::write_bytes(out, self.auth_response);
        } else if caps.contains(Caps::SECURE_CONNECTION) {
            write_short(out, self.auth_response);
        } else {
            out.extend_from_slice(self.auth_response);
            out.push(0);
        }
        for text in [self.schema, self.plugin].into_iter().flatten() {
            out.extend_from_slice(text);
            out.push(0);
        }
        if !self.attributes.is_empty() {
            lenenc::write_bytes(out, self.attributes);
        }
        if caps.contains(Caps::ZSTD) {
            out.push(self.zstd_level);
        }
    }
}

/// A NUL-terminated text that is sent with a capability only; some clients leave it out.
fn optional<'a>(read: &mut Reader<'a>, caps: Caps, flag: Caps) -> Option<&'a [u8]> {
    let sent = caps.contains(flag) && !read.is_empty();
    sent.then(|| read.nul_bytes_or_rest())
}

/// Appends bytes after a length of one byte; what goes beyond 255 bytes is cut off.
pub(super) fn write_short(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u8::try_from(bytes.len()).unwrap_or(u8::MAX);
    out.push(len);
    out.extend(bytes.iter().take(usize::from(len)));
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
    /// The payload's length.
    pub const BYTES: usize = 32;

    /// The request, when the payload is one and not a handshake response.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        if payload.len() != Self::BYTES {
            return None;
        }
        let request = Self::read(&mut Reader::new(payload)).ok()?;
        request.caps.contains(Caps::SSL).then_some(request)
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.caps.mysql_bytes());
        out.extend_from_slice(&self.max_packet.to_le_bytes());
        out.push(self.collation);
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&match self.caps.contains(Caps::MYSQL) {
            true => [0; 4],
            false => self.caps.mariadb_bytes(),
        });
    }

    /// Reads the beginning that a request shares with a handshake response.
    fn read(read: &mut Reader<'_>) -> Result<Self, Malformed> {
        let low: [u8; 2] = *read.rest().first_chunk().ok_or(read.fault(What::FixedField))?;
        if !Caps(u64::from(u16::from_le_bytes(low))).contains(Caps::PROTOCOL_41) {
            return Err(read.fault(What::AncientClient));
        }
        let mysql = read.array()?;
        let max_packet = read.u32()?;
        let collation = read.u8()?;
        let _filler: [u8; 19] = read.array()?;
        let mut caps = Caps::from_bytes(mysql, read.array()?);
        if caps.contains(Caps::MYSQL) {
            caps = caps.without(Caps::MARIADB_ALL);
        }
        Ok(Self { caps, max_packet, collation })
    }
}

/// Connection attributes, pair by pair; ends early at a pair that is cut short.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a>(Reader<'a>);

impl<'a> Attributes<'a> {
    /// The pairs in `attributes`.
    pub const fn new(attributes: &'a [u8]) -> Self {
        Self(Reader::new(attributes))
    }

    /// Appends one pair to attributes that are being written.
    pub fn push(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
        lenenc::write_bytes(out, name);
        lenenc::write_bytes(out, value);
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let name = self.0.lenenc_bytes().ok()?;
        Some((name, self.0.lenenc_bytes().ok()?))
    }
}
