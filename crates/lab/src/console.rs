//! A minimal text-protocol client for the lab's own errands: `root` without a password over a
//! Unix socket, one statement at a time, values as text. It deliberately knows no other way to
//! log in, no TLS, no compression and no packet of 16 MiB.

use std::fmt;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// One row of a result: a value is `None` where the server says NULL.
pub type Row = Vec<Option<String>>;

/// What the server answered when it refused a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// The error number, such as 1146.
    pub code: u16,
    /// The text with the SQLSTATE in front.
    pub message: String,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {} {}", self.code, self.message)
    }
}

impl std::error::Error for ServerError {}

/// A connection of the lab's own to a server.
#[derive(Debug)]
pub struct Console {
    stream: UnixStream,
    seq: u8,
}

impl Console {
    /// Connects and logs in as `root`; a server that does not answer within a minute is an error.
    pub fn open(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket)
            .with_context(|| format!("cannot connect to {}", socket.display()))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let mut console = Console { stream, seq: 0 };
        let greeting = console.receive()?;
        let plugin = plugin_of(&greeting)?;
        console.send(&login(&plugin))?;
        loop {
            let answer = console.receive()?;
            match answer.first() {
                Some(0x00) => return Ok(console),
                // Another method: an empty password has an empty answer in all of them.
                Some(0xfe) => console.send(&[])?,
                Some(0x01) => {}
                Some(0xff) => return Err(server_error(&answer).into()),
                _ => bail!("unexpected packet during the login"),
            }
        }
    }

    /// Executes one or several statements; gives the rows of the last result.
    pub fn sql(&mut self, text: &str) -> Result<Vec<Row>> {
        let mut command = vec![0x03];
        command.extend_from_slice(text.as_bytes());
        self.seq = 0;
        self.send(&command)?;
        loop {
            let (rows, status) = self.result()?;
            if status & MORE_RESULTS == 0 {
                return Ok(rows);
            }
        }
    }

    /// Reads one result; gives its rows and the server status after it.
    fn result(&mut self) -> Result<(Vec<Row>, u16)> {
        let first = self.receive()?;
        match first.first() {
            Some(0x00) => {
                let mut rest = Cursor(&first[1..]);
                rest.length()?;
                rest.length()?;
                return Ok((Vec::new(), rest.u16()?));
            }
            Some(0xff) => return Err(server_error(&first).into()),
            Some(0xfb) => bail!("the console has no files to send"),
            _ => {}
        }
        let columns = Cursor(&first).length()?.context("no column count")?;
        for _ in 0..columns {
            self.receive()?;
        }
        self.receive()?; // EOF after the columns
        let mut rows = Vec::new();
        loop {
            let packet = self.receive()?;
            match packet.first() {
                Some(0xfe) if packet.len() < 9 => {
                    return Ok((rows, Cursor(&packet[3..]).u16()?));
                }
                Some(0xff) => return Err(server_error(&packet).into()),
                _ => rows.push(text_row(&packet, columns)?),
            }
        }
    }

    fn send(&mut self, payload: &[u8]) -> Result<()> {
        let len = u32::try_from(payload.len())?;
        ensure!(len < 0xff_ffff, "a statement of 16 MiB is too long for the console");
        let mut packet = len.to_le_bytes().to_vec();
        packet[3] = self.seq;
        packet.extend_from_slice(payload);
        self.stream.write_all(&packet)?;
        self.seq = self.seq.wrapping_add(1);
        Ok(())
    }

    fn receive(&mut self) -> Result<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).context("the server closed the connection")?;
        let [a, b, c, seq] = header;
        let len = u32::from_le_bytes([a, b, c, 0]);
        ensure!(len < 0xff_ffff, "a packet of 16 MiB is too long for the console");
        self.seq = seq.wrapping_add(1);
        let mut payload = vec![0; usize::try_from(len)?];
        self.stream.read_exact(&mut payload)?;
        Ok(payload)
    }
}

/// The name of the server's authentication method in its greeting.
fn plugin_of(greeting: &[u8]) -> Result<Vec<u8>> {
    if greeting.first() == Some(&0xff) {
        return Err(server_error(greeting).into());
    }
    let version = greeting.iter().skip(1).position(|&b| b == 0).context("no version")?;
    // id 4, scramble 8+1, flags 2, collation 1, status 2, flags 2, length 1, reserved 10
    let mut rest = Cursor(greeting.get(version + 2..).context("short greeting")?);
    rest.take(4 + 8 + 1 + 2 + 1 + 2 + 2)?;
    let scramble = rest.take(1)?.first().copied().unwrap_or_default();
    rest.take(10)?;
    rest.take(usize::from(scramble).saturating_sub(8).max(13))?;
    Ok(rest.0.iter().copied().take_while(|&b| b != 0).collect())
}

fn login(plugin: &[u8]) -> Vec<u8> {
    let flags = LONG_PASSWORD | PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION;
    let flags = flags | MULTI_STATEMENTS | MULTI_RESULTS | PLUGIN_AUTH;
    let mut payload = flags.to_le_bytes().to_vec();
    payload.extend_from_slice(&0xff_ffff_u32.to_le_bytes());
    payload.push(UTF8MB4_GENERAL_CI);
    payload.extend_from_slice(&[0; 23]);
    payload.extend_from_slice(b"root\0\0");
    payload.extend_from_slice(plugin);
    payload.push(0);
    payload
}

fn server_error(packet: &[u8]) -> ServerError {
    let mut rest = Cursor(packet.get(1..).unwrap_or_default());
    let code = rest.u16().unwrap_or_default();
    ServerError { code, message: String::from_utf8_lossy(rest.0).into_owned() }
}

fn text_row(packet: &[u8], columns: u64) -> Result<Row> {
    let mut rest = Cursor(packet);
    let mut row = Vec::new();
    for _ in 0..columns {
        row.push(match rest.length()? {
            None => None,
            Some(len) => {
                Some(String::from_utf8_lossy(rest.take(usize::try_from(len)?)?).into_owned())
            }
        });
    }
    Ok(row)
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).context("a packet ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    fn u16(&mut self) -> Result<u16> {
        let bytes = self.take(2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// A length-encoded number; `None` is the mark of NULL.
    fn length(&mut self) -> Result<Option<u64>> {
        let width = match self.take(1)?[0] {
            0xfb => return Ok(None),
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            small => return Ok(Some(u64::from(small))),
        };
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(self.take(width)?);
        Ok(Some(u64::from_le_bytes(bytes)))
    }
}

const MORE_RESULTS: u16 = 8;
const UTF8MB4_GENERAL_CI: u8 = 45;
const LONG_PASSWORD: u32 = 1;
const PROTOCOL_41: u32 = 1 << 9;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_STATEMENTS: u32 = 1 << 16;
const MULTI_RESULTS: u32 = 1 << 17;
const PLUGIN_AUTH: u32 = 1 << 19;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_encoded_numbers_of_all_widths() {
        let mut cursor =
            Cursor(&[5, 0xfb, 0xfc, 1, 2, 0xfd, 1, 0, 1, 0xfe, 0, 0, 0, 0, 1, 0, 0, 0]);
        let read: Vec<_> = (0..5).map(|_| cursor.length().expect("whole")).collect();
        assert_eq!(read, [Some(5), None, Some(0x201), Some(0x1_0001), Some(1 << 32)]);
        assert!(cursor.length().is_err());
    }

    #[test]
    fn a_text_row_keeps_null_apart_from_the_empty_text() {
        let row = text_row(&[1, b'a', 0xfb, 0], 3).expect("whole");
        assert_eq!(row, [Some("a".to_owned()), None, Some(String::new())]);
    }

    #[test]
    fn plugin_name_is_found_behind_the_scramble() {
        let mut greeting = b"\x0a10.11\0".to_vec();
        greeting.extend_from_slice(&[0; 4 + 8 + 1 + 2 + 1 + 2 + 2]);
        greeting.push(21);
        greeting.extend_from_slice(&[0; 10 + 13]);
        greeting.extend_from_slice(b"mysql_native_password\0");
        assert_eq!(plugin_of(&greeting).expect("found"), b"mysql_native_password");
    }
}
