//! A small blocking client for the tour: connects, asks, reads rows as text.
//!
//! Knows no prepared statements, no TLS and no packets beyond 16 MiB; the tour needs none.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, bail};
use wire::auth::{Plugin, native, sha2};
use wire::connect::{AuthMore, AuthSwitch, Greeting, HandshakeResponse, SCRAMBLE_BYTES};
use wire::frame::{HEADER_BYTES, Header, write_packet};
use wire::reader::Reader;
use wire::reply::{ErrPacket, OkPacket};
use wire::{Caps, Status, command};

/// A connection.
pub(super) struct Client {
    stream: TcpStream,
    seq: u8,
}

/// What a statement answered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Reply {
    /// Rows of a result; NULL is `None`.
    pub(super) rows: Vec<Vec<Option<String>>>,
    /// Rows changed.
    pub(super) affected_rows: u64,
    /// Whether a transaction is open now.
    pub(super) in_transaction: bool,
}

/// An error that a server answered with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refused {
    /// Its number.
    pub(super) code: u16,
    text: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Refused {}

impl Reply {
    /// The value in the first row at `column`.
    pub(super) fn value(&self, column: usize) -> Option<&str> {
        self.rows.first()?.get(column)?.as_deref()
    }
}

impl Client {
    /// Connects and proves the password.
    pub(super) fn connect(to: SocketAddr, user: &str, password: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect_timeout(&to, PATIENCE)
            .with_context(|| format!("cannot connect to {to}"))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let mut client = Self { stream, seq: 0 };
        client.authenticate(user, password).with_context(|| format!("cannot log in at {to}"))?;
        Ok(client)
    }

    /// Runs one statement.
    pub(super) fn query(&mut self, text: &str) -> anyhow::Result<Reply> {
        let mut packet = Vec::new();
        command::write_query(&mut packet, text.as_bytes());
        self.stream.write_all(&packet)?;
        let first = self.packet()?;
        match first.first() {
            Some(&ErrPacket::MARKER) => Err(refused(&first).into()),
            Some(&OkPacket::MARKER) => done(&first, Vec::new()),
            _ => {
                let columns = Reader::new(&first).lenenc()?;
                for _ in 0..columns {
                    self.packet()?;
                }
                self.rows(columns)
            }
        }
        .with_context(|| text.to_owned())
    }

    fn rows(&mut self, columns: u64) -> anyhow::Result<Reply> {
        let mut rows = Vec::new();
        loop {
            let packet = self.packet()?;
            match packet.first() {
                Some(&ErrPacket::MARKER) => return Err(refused(&packet).into()),
                Some(&OkPacket::EOF_MARKER) => return done(&packet, rows),
                _ => {}
            }
            let mut read = Reader::new(&packet);
            let mut row = Vec::new();
            for _ in 0..columns {
                row.push(if read.rest().first() == Some(&wire::lenenc::NULL) {
                    read.u8()?;
                    None
                } else {
                    Some(String::from_utf8_lossy(read.lenenc_bytes()?).into_owned())
                });
            }
            rows.push(row);
        }
    }

    fn authenticate(&mut self, user: &str, password: &str) -> anyhow::Result<()> {
        let first = self.packet()?;
        if ErrPacket::is(&first) {
            return Err(refused(&first).into());
        }
        let greeting = Greeting::parse(&first)?;
        let plugin = Plugin::from_name(greeting.plugin);
        let response = HandshakeResponse {
            caps: CAPS.intersect(greeting.caps),
            max_packet: 1 << 24,
            collation: wire::collation_table::UTF8MB4_GENERAL_CI,
            user: user.as_bytes(),
            auth_response: &answer(plugin, password, &greeting.scramble),
            schema: Some(b"demo"),
            plugin: Some(plugin.name().as_bytes()),
            attributes: &[],
        };
        let mut payload = Vec::new();
        response.encode(&mut payload);
        self.send(&payload)?;
        loop {
            let packet = self.packet()?;
            match packet.first() {
                Some(&OkPacket::MARKER) => return Ok(()),
                Some(&ErrPacket::MARKER) => return Err(refused(&packet).into()),
                Some(&AuthSwitch::MARKER) => {
                    let switch = AuthSwitch::parse(&packet)?;
                    let plugin = Plugin::from_name(switch.plugin);
                    self.send(&answer(plugin, password, &switch.scramble()?))?;
                }
                Some(&AuthMore::MARKER) if packet.get(1) == Some(&AuthMore::FAST_OK) => {}
                _ => bail!("the server asks for more than this client can prove"),
            }
        }
    }

    fn send(&mut self, payload: &[u8]) -> anyhow::Result<()> {
        let mut packet = Vec::new();
        write_packet(&mut packet, &mut self.seq, payload);
        Ok(self.stream.write_all(&packet)?)
    }

    /// The payload of the next packet.
    fn packet(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut header = [0; HEADER_BYTES];
        self.stream.read_exact(&mut header).context("no answer")?;
        let header = Header::parse(&header).context("a header is four bytes")?;
        self.seq = header.seq.wrapping_add(1);
        let mut payload = vec![0; header.len];
        self.stream.read_exact(&mut payload).context("half an answer")?;
        Ok(payload)
    }
}

fn answer(plugin: Plugin, password: &str, scramble: &[u8; SCRAMBLE_BYTES]) -> Vec<u8> {
    match plugin {
        Plugin::CachingSha2 => sha2::scramble(password.as_bytes(), scramble).to_vec(),
        _ => native::scramble(password.as_bytes(), scramble).to_vec(),
    }
}

fn done(packet: &[u8], rows: Vec<Vec<Option<String>>>) -> anyhow::Result<Reply> {
    let ok = OkPacket::parse(packet, CAPS)?;
    let in_transaction = ok.status.contains(Status::IN_TRANS);
    Ok(Reply { rows, affected_rows: ok.affected_rows, in_transaction })
}

fn refused(packet: &[u8]) -> Refused {
    match ErrPacket::parse(packet) {
        Ok(err) => {
            let state = String::from_utf8_lossy(&err.sqlstate);
            let message = String::from_utf8_lossy(err.message);
            Refused { code: err.code, text: format!("ERROR {} ({state}): {message}", err.code) }
        }
        Err(_) => Refused { code: 0, text: "an error that cannot be read".to_owned() },
    }
}

/// What the client asks for.
const CAPS: Caps = Caps(
    Caps::MYSQL.0
        | Caps::PROTOCOL_41.0
        | Caps::SECURE_CONNECTION.0
        | Caps::PLUGIN_AUTH.0
        | Caps::CONNECT_WITH_DB.0
        | Caps::TRANSACTIONS.0
        | Caps::DEPRECATE_EOF.0,
);

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
