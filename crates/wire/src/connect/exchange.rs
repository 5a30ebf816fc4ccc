//! What server and client say to each other between the handshake response and the OK packet.

use crate::Malformed;
use crate::auth::Plugin;
use crate::connect::SCRAMBLE_BYTES;
use crate::fault::What;
use crate::reader::Reader;

/// The server asks for another plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthSwitch<'a> {
    /// The plugin's name.
    pub plugin: &'a [u8],
    /// The plugin's data, a nonce as a rule; without its closing NUL.
    pub data: &'a [u8],
}

impl<'a> AuthSwitch<'a> {
    /// The first byte of the payload.
    pub const MARKER: u8 = 0xfe;

    /// Reads the payload. A payload of one byte is the request of old servers for the password
    /// hash of MySQL 3: its plugin is `mysql_old_password`.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut read = Reader::new(payload);
        read.marker(Self::MARKER)?;
        if read.is_empty() {
            return Ok(Self { plugin: b"mysql_old_password", data: &[] });
        }
        let plugin = read.nul_bytes_or_rest();
        let data = read.take_rest();
        Ok(Self { plugin, data: data.strip_suffix(&[0]).unwrap_or(data) })
    }

    /// Appends the payload. As with servers, the longer nonce has no closing NUL: clients count
    /// its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(Self::MARKER);
        out.extend_from_slice(self.plugin);
        out.push(0);
        out.extend_from_slice(self.data);
        if self.data.len() != CHALLENGE_BYTES {
            out.push(0);
        }
    }

    /// The data as the nonce of the password plugins.
    pub fn scramble(&self) -> Result<[u8; SCRAMBLE_BYTES], Malformed> {
        self.data.try_into().map_err(|_| Malformed::new(What::Scramble, 2 + self.plugin.len()))
    }

    /// The data as the longer nonce of `client_ed25519` and `parsec`, whose last byte may be taken
    /// for a closing NUL.
    pub fn challenge(&self) -> Result<[u8; CHALLENGE_BYTES], Malformed> {
        let mut bytes = self.data.to_vec();
        if bytes.len() + 1 == CHALLENGE_BYTES {
            bytes.push(0);
        }
        let wrong = |_| Malformed::new(What::Scramble, 2 + self.plugin.len());
        bytes.try_into().map_err(wrong)
    }
}

/// The length of the longer nonce.
pub const CHALLENGE_BYTES: usize = 32;

/// The server's plugin says more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthMore<'a> {
    /// What it says.
    pub data: &'a [u8],
}

impl<'a> AuthMore<'a> {
    /// The byte that servers set before the data.
    pub const MARKER: u8 = 0x01;
    /// The data of `caching_sha2_password` when the scramble was right: an OK packet follows.
    pub const FAST_OK: u8 = 0x03;
    /// The data of `caching_sha2_password` when the server needs the password itself.
    pub const FULL_AUTH: u8 = 0x04;

    /// Reads the payload. The marker may be missing, as plugins of old servers leave it out.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        match payload.split_first() {
            None => Err(Malformed::new(What::Empty, 0)),
            Some((&Self::MARKER, data)) => Ok(Self { data }),
            Some(_) => Ok(Self { data: payload }),
        }
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(Self::MARKER);
        out.extend_from_slice(self.data);
    }
}

/// A client asks for the server's public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKeyRequest;

impl PublicKeyRequest {
    /// The whole payload of a client of `caching_sha2_password`.
    pub const PAYLOAD: [u8; 1] = [0x02];

    /// The same of a client of `sha256_password`.
    pub const OF_SHA256: [u8; 1] = [0x01];

    /// Whether a client's payload is the request by that plugin.
    pub fn is(payload: &[u8], plugin: Plugin) -> bool {
        payload == if plugin == Plugin::Sha256Password { Self::OF_SHA256 } else { Self::PAYLOAD }
    }
}
