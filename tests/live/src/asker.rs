//! A client as cheap as can be: thousands of them must not cost more than what they ask. It asks
//! for a text that nobody else asks for and takes no other answer.

use std::io::Read;

use anyhow::{Context, Result, bail, ensure};

use crate::Raw;

/// A client that is logged in.
#[derive(Debug)]
pub struct Asker {
    raw: Raw,
    /// The statement that it prepared.
    stmt: Option<u32>,
    buffer: Vec<u8>,
}

impl Asker {
    /// Connects and logs in as `app`.
    pub fn connect(port: u16) -> Result<Self> {
        let raw = Raw::login(port, "app", "app")?;
        Ok(Self { raw, stmt: None, buffer: Vec::new() })
    }

    /// Asks for a text by a query, and compares the answer.
    pub fn ask(&mut self, text: &str) -> Result<()> {
        self.raw.send(0, format!("\x03SELECT CONCAT('{text}', '')").as_bytes())?;
        let row = self.row()?;
        ensure!(row.get(1..) == Some(text.as_bytes()), "asked for {text}, got {row:?}");
        Ok(())
    }

    /// Asks for a text by a statement that is prepared once, and compares the answer.
    pub fn ask_prepared(&mut self, text: &str) -> Result<()> {
        const STRING: u8 = 253;
        let stmt = match self.stmt {
            Some(stmt) => stmt,
            None => self.prepare(b"\x16SELECT CONCAT(?, '')")?,
        };
        let mut command = vec![0x17];
        command.extend_from_slice(&stmt.to_le_bytes());
        // no cursor, one iteration, no NULL, types follow
        command.extend_from_slice(&[0, 1, 0, 0, 0, 0, 1, STRING, 0]);
        command.push(u8::try_from(text.len())?);
        command.extend_from_slice(text.as_bytes());
        self.raw.send(0, &command)?;
        let row = self.row()?;
        // a header, the map of NULLs, the length
        ensure!(row.get(3..) == Some(text.as_bytes()), "asked for {text}, got {row:?}");
        Ok(())
    }

    /// Runs a statement that has no result set.
    pub fn run(&mut self, statement: &str) -> Result<()> {
        self.raw.send(0, format!("\x03{statement}").as_bytes())?;
        let packets = self.packets(|_| true)?;
        ensure!(packets[0].first() == Some(&0), "{statement}: {}", told(&packets[0]));
        Ok(())
    }

    /// Says that it goes, and goes.
    pub fn quit(mut self) -> Result<()> {
        self.raw.send(0, b"\x01")
    }

    fn prepare(&mut self, command: &[u8]) -> Result<u32> {
        self.raw.send(0, command)?;
        // one parameter, one column, an end after each
        let packets = self.packets(|seen| seen.len() == 5)?;
        let id = packets[0].get(1..5).context("the id of a statement")?;
        let id = u32::from_le_bytes(id.try_into()?);
        self.stmt = Some(id);
        Ok(id)
    }

    /// The one row of a result set of one column.
    fn row(&mut self) -> Result<Vec<u8>> {
        let mut packets = self.packets(|seen| seen.len() == 5)?;
        ensure!(packets[0] == [1], "{packets:?}");
        Ok(packets.swap_remove(3))
    }

    /// Receives packets until they are whole or the first is an error, which is ours.
    fn packets(&mut self, are_whole: impl Fn(&[Vec<u8>]) -> bool) -> Result<Vec<Vec<u8>>> {
        let mut packets = Vec::new();
        loop {
            while let Some(packet) = self.next_packet() {
                if packet.first() == Some(&0xff) && packets.len() != 3 {
                    bail!("{}", told(&packet));
                }
                packets.push(packet);
                if are_whole(&packets) {
                    ensure!(self.buffer.is_empty(), "more than was asked for: {:?}", self.buffer);
                    return Ok(packets);
                }
            }
            let mut some = [0; 512];
            let len = self.raw.stream.read(&mut some).context("no answer")?;
            ensure!(len > 0, "the connection was closed");
            self.buffer.extend_from_slice(&some[..len]);
        }
    }

    fn next_packet(&mut self) -> Option<Vec<u8>> {
        let header = self.buffer.first_chunk::<4>()?;
        let end = 4 + u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        let packet = self.buffer.get(4..end)?.to_vec();
        self.buffer.drain(..end);
        Some(packet)
    }
}

/// What an error packet says.
fn told(packet: &[u8]) -> String {
    String::from_utf8_lossy(packet).into_owned()
}
