//! A client as cheap as can be: thousands of them must not cost more than what they ask. It asks
//! for a text that nobody else asks for and takes no other answer.

use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use client::{Client, Error, Login, Packets};
use wire::command::code;
use wire::reply::ErrPacket;

/// A client that is logged in.
#[derive(Debug)]
pub struct Asker {
    client: Client<TcpStream>,
    /// The statement that it prepared.
    stmt: Option<[u8; 4]>,
}

impl Asker {
    /// Connects and logs in as `app`.
    pub fn connect(port: u16) -> Result<Self> {
        let address = (Ipv4Addr::LOCALHOST, port).into();
        let packets = Packets::tcp(address, Duration::from_secs(15))?;
        Ok(Self { client: Client::log_in(packets, &Login::new("app", "app"))?, stmt: None })
    }

    /// Asks for a text by a query, and compares the answer.
    pub fn ask(&mut self, text: &str) -> Result<()> {
        let reply = self.client.query(&format!("SELECT CONCAT('{text}', '')"))?;
        ensure!(reply.rows == [[Some(text.to_owned())]], "asked for {text}, got {reply:?}");
        self.is_all()
    }

    /// Asks for a text by a statement that is prepared once, and compares the answer.
    pub fn ask_prepared(&mut self, text: &str) -> Result<()> {
        const STRING: u8 = 253;
        let stmt = match self.stmt {
            Some(stmt) => stmt,
            None => self.prepare("SELECT CONCAT(?, '')")?,
        };
        // no cursor, one iteration, no NULL, types follow
        let mut body = [&stmt[..], &[0, 1, 0, 0, 0, 0, 1, STRING, 0]].concat();
        wire::lenenc::write_bytes(&mut body, text.as_bytes());
        self.client.packets.command(code::STMT_EXECUTE, &body)?;
        let [count, .., row, _] = self.five_packets()?;
        ensure!(count == [1], "{count:?}");
        // a header, the map of NULLs, the length
        ensure!(row.get(3..) == Some(text.as_bytes()), "asked for {text}, got {row:?}");
        Ok(())
    }

    /// Runs a statement that has no result set.
    pub fn run(&mut self, statement: &str) -> Result<()> {
        let reply = self.client.query(statement)?;
        ensure!(reply.rows.is_empty(), "{statement}: {reply:?}");
        self.is_all()
    }

    /// Says that it goes, and goes.
    pub fn quit(mut self) -> Result<()> {
        Ok(self.client.packets.command(code::QUIT, b"")?)
    }

    fn prepare(&mut self, text: &str) -> Result<[u8; 4]> {
        self.client.packets.command(code::STMT_PREPARE, text.as_bytes())?;
        // one parameter, one column, an end after each
        let [head, ..] = self.five_packets()?;
        let id = *head.get(1..).and_then(<[u8]>::first_chunk).context("the id of a statement")?;
        self.stmt = Some(id);
        Ok(id)
    }

    /// An answer of so many packets, unless the first is an error, which is ours.
    fn five_packets(&mut self) -> Result<[Vec<u8>; 5]> {
        let mut packets = <[Vec<u8>; 5]>::default();
        for packet in &mut packets {
            *packet = self.client.packets.receive()?.1;
            if ErrPacket::is(packet) {
                return Err(Error::told(packet).into());
            }
        }
        self.is_all()?;
        Ok(packets)
    }

    /// Whether nothing came that was not asked for.
    fn is_all(&self) -> Result<()> {
        let more = self.client.packets.stream.buffer();
        ensure!(more.is_empty(), "more than was asked for: {more:?}");
        Ok(())
    }
}
