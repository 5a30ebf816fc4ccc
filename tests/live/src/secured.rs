//! Clients with TLS, or without, and compressed packets in it, or not; by the plugin they prefer.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use client::{Error, Login, Packets};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, HandshakeKind, ProtocolVersion, StreamOwned};
use wire::Caps;
use wire::auth::{Plugin, native, rsa, sha2};
use wire::connect::{
    AuthMore, AuthSwitch, Compression, Greeting, PublicKeyRequest, SCRAMBLE_BYTES, SslRequest,
};
use wire::reply::{ErrPacket, OkPacket};

use crate::compressed::Stream;

/// What carries the packets.
#[derive(Debug)]
pub enum Carrier {
    /// A connection in clear text.
    Plain(TcpStream),
    /// An encrypted one.
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Read for Carrier {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(into),
            Self::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for Carrier {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// As whom a client logs in, and how.
#[derive(Debug, Clone)]
pub struct How<'a> {
    /// Name and password.
    pub account: (&'a str, &'a str),
    /// The plugin that the client begins with, whatever the greeting says.
    pub plugin: Plugin,
    /// Its TLS, towards a server called `localhost`; none is clear text.
    pub tls: Option<&'a Arc<ClientConfig>>,
    /// What it can do besides; a compression has to be agreed on.
    pub caps: Caps,
}

/// A client that is logged in.
pub struct Secured {
    /// Its connection.
    pub packets: Packets<Stream<Carrier>>,
    /// Whether the password itself was asked for.
    pub has_shown: bool,
}

impl Secured {
    /// Connects and logs in.
    pub fn log_in(port: u16, how: &How<'_>) -> Result<Self> {
        let address = (Ipv4Addr::LOCALHOST, port).into();
        let mut packets = Packets::tcp(address, Duration::from_secs(30))?;
        let (mut seq, packet) = packets.receive()?;
        if ErrPacket::is(&packet) {
            return Err(Error::told(&packet).into());
        }
        let greeting = Greeting::parse(&packet)?;
        let login = Login::new(how.account.0, how.account.1);
        let tls = if how.tls.is_some() { Caps::SSL } else { Caps::NONE };
        let login = Login { caps: login.caps.union(how.caps).union(tls), ..login };
        let wanted = login.caps.intersect(Compression::CAPS.union(Caps::SSL));
        ensure!(greeting.caps.contains(wanted), "it is not offered");
        let carrier = match how.tls {
            None => Carrier::Plain(packets.stream.into_inner()),
            Some(tls) => {
                let mut request = Vec::new();
                SslRequest { caps: login.caps, max_packet: 1 << 24, collation: 45 }
                    .encode(&mut request);
                seq += 1;
                packets.send(seq, &request)?;
                let client =
                    ClientConnection::new(tls.clone(), ServerName::try_from("localhost")?)?;
                Carrier::Tls(Box::new(StreamOwned::new(client, packets.stream.into_inner())))
            }
        };
        let packets = Packets::over(Stream::new(carrier));
        let mut secured = Self { packets, has_shown: false };
        let answer = proof(how.plugin, how.account.1, &greeting.scramble)?;
        secured.packets.send(seq + 1, &login.response(how.plugin, &answer))?;
        secured.authenticate(how.account.1, greeting.scramble)?;
        let agreed =
            Compression::agreed(how.caps.intersect(Compression::CAPS), Compression::ZSTD_LEVEL);
        secured.packets.stream.get_mut().compress(agreed);
        Ok(secured)
    }

    /// Answers what the server asks, with the password itself where it wants that.
    fn authenticate(&mut self, password: &str, mut scramble: [u8; SCRAMBLE_BYTES]) -> Result<()> {
        loop {
            let (seq, packet) = self.packets.receive()?;
            match packet[..] {
                [OkPacket::MARKER, ..] => return Ok(()),
                [AuthSwitch::MARKER, ..] => {
                    let switch = AuthSwitch::parse(&packet)?;
                    scramble = switch.scramble()?;
                    let plugin = Plugin::from_name(switch.plugin);
                    self.packets.send(seq + 1, &proof(plugin, password, &scramble)?)?;
                }
                [AuthMore::MARKER, AuthMore::FAST_OK] => {}
                [AuthMore::MARKER, AuthMore::FULL_AUTH] => {
                    self.has_shown = true;
                    if self.tls().is_some() {
                        self.packets.send(seq + 1, &[password.as_bytes(), &[0]].concat())?;
                        continue;
                    }
                    self.packets.send(seq + 1, &PublicKeyRequest::PAYLOAD)?;
                    let (seq, key) = self.packets.receive()?;
                    let key = AuthMore::parse(&key)?.data;
                    let shown = rsa::encrypt_password(key, password.as_bytes(), &scramble);
                    self.packets.send(seq + 1, &shown.context("a key that can be used")?)?;
                }
                _ => return Err(Error::told(&packet).into()),
            }
        }
    }

    /// The version of its TLS, and how that came about.
    pub fn tls(&self) -> Option<(ProtocolVersion, HandshakeKind)> {
        match self.packets.stream.get_ref().carrier() {
            Carrier::Plain(_) => None,
            Carrier::Tls(tls) => tls.conn.protocol_version().zip(tls.conn.handshake_kind()),
        }
    }
}

/// What is answered to a plugin's nonce.
fn proof(plugin: Plugin, password: &str, nonce: &[u8; SCRAMBLE_BYTES]) -> Result<Vec<u8>> {
    let password = password.as_bytes();
    ensure!(matches!(plugin, Plugin::NativePassword | Plugin::CachingSha2), "asked by {plugin:?}");
    Ok(match plugin {
        _ if password.is_empty() => Vec::new(),
        Plugin::CachingSha2 => sha2::scramble(password, nonce).into(),
        _ => native::scramble(password, nonce).into(),
    })
}
