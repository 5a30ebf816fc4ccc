//! From the greeting to the OK packet: `mysql_native_password`, the fast path of
//! `caching_sha2_password`, and no password at all, which every plugin takes as nothing.

use std::io::{Read, Write};

use wire::auth::{Plugin, native, sha2};
use wire::collation_table::UTF8MB4_GENERAL_CI;
use wire::connect::{AuthMore, AuthSwitch, Compression, Greeting, HandshakeResponse};
use wire::reply::{ErrPacket, OkPacket};
use wire::{Caps, Fault, Status};

use crate::{Error, Packets};

/// As whom, and as what, a client logs in.
#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    /// The user's name.
    pub user: &'a str,
    /// The password; an empty one is none.
    pub password: &'a str,
    /// The schema to begin with.
    pub schema: Option<&'a str>,
    /// The low byte of the id of the collation.
    pub collation: u8,
    /// What the client can do, said whether the server offers it or not.
    pub caps: Caps,
}

impl<'a> Login<'a> {
    /// A login without a schema, in utf8mb4, as a client that can do what every client can.
    pub const fn new(user: &'a str, password: &'a str) -> Self {
        Self { user, password, schema: None, collation: UTF8MB4_GENERAL_CI, caps: CAPS }
    }

    /// The payload of the handshake response with this answer to a plugin.
    pub fn response(&self, plugin: Plugin, answer: &[u8]) -> Vec<u8> {
        let response = HandshakeResponse {
            caps: self.caps,
            max_packet: 1 << 24,
            collation: self.collation,
            user: self.user.as_bytes(),
            auth_response: answer,
            schema: self.schema.map(str::as_bytes),
            plugin: Some(plugin.name().as_bytes()),
            attributes: &[],
            zstd_level: Compression::ZSTD_LEVEL,
        };
        let mut payload = Vec::new();
        response.encode(&mut payload);
        payload
    }
}

/// What a server told at a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Welcome {
    /// What the greeting called the connection.
    pub connection_id: u32,
    /// Status flags of the greeting.
    pub greeted_status: Status,
    /// What the greeting offered.
    pub offered: Caps,
    /// Status flags that the login ended with.
    pub login_status: Status,
}

impl<S: Read + Write> Packets<S> {
    /// Takes the greeting and logs in.
    pub fn log_in(&mut self, login: &Login<'_>) -> Result<Welcome, Error> {
        let (seq, packet) = self.receive()?;
        if ErrPacket::is(&packet) {
            return Err(Error::told(&packet));
        }
        let greeting = Greeting::parse(&packet)?;
        // a server with a plugin of its own asks for another one by the account
        let plugin = match Plugin::from_name(greeting.plugin) {
            Plugin::CachingSha2 => Plugin::CachingSha2,
            _ => Plugin::NativePassword,
        };
        let answer = proof(plugin, login.password, &greeting.scramble)?;
        self.send(seq.wrapping_add(1), &login.response(plugin, &answer))?;
        let login_status = self.authenticate(login.password)?;
        let Greeting { connection_id, status, caps, .. } = greeting;
        Ok(Welcome { connection_id, greeted_status: status, offered: caps, login_status })
    }

    /// Proves the password as the server asks for it, after a handshake response or a
    /// `COM_CHANGE_USER`; gives the status flags at the end.
    pub fn authenticate(&mut self, password: &str) -> Result<Status, Error> {
        loop {
            let (seq, packet) = self.receive()?;
            match packet.first() {
                Some(&OkPacket::MARKER) => return Ok(OkPacket::parse(&packet, Caps::NONE)?.status),
                Some(&ErrPacket::MARKER) => return Err(Error::told(&packet)),
                Some(&AuthSwitch::MARKER) => {
                    let switch = AuthSwitch::parse(&packet)?;
                    let answer = proof(Plugin::from_name(switch.plugin), password, switch.data)?;
                    self.send(seq.wrapping_add(1), &answer)?;
                }
                Some(&AuthMore::MARKER) if packet.get(1) == Some(&AuthMore::FAST_OK) => {}
                Some(&AuthMore::MARKER) => return Err(Error::Unproven),
                first => {
                    let first = first.copied().unwrap_or(0);
                    return Err(Error::Protocol(Fault::Unexpected { first }));
                }
            }
        }
    }
}

/// What is answered to a plugin's nonce.
fn proof(plugin: Plugin, password: &str, nonce: &[u8]) -> Result<Vec<u8>, Error> {
    if password.is_empty() {
        return Ok(Vec::new());
    }
    let nonce = nonce.try_into().map_err(|_| Error::Unproven)?;
    match plugin {
        Plugin::NativePassword => Ok(native::scramble(password.as_bytes(), nonce).into()),
        Plugin::CachingSha2 => Ok(sha2::scramble(password.as_bytes(), nonce).into()),
        Plugin::Sha256Password
        | Plugin::ClearPassword
        | Plugin::Ed25519
        | Plugin::Parsec
        | Plugin::Other => Err(Error::Unproven),
    }
}

/// What every client can do.
const CAPS: Caps = Caps::MYSQL
    .union(Caps::LONG_FLAG)
    .union(Caps::PROTOCOL_41)
    .union(Caps::TRANSACTIONS)
    .union(Caps::SECURE_CONNECTION)
    .union(Caps::PLUGIN_AUTH);
