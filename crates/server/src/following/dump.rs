//! A dump of a server's log, packet by packet, each passed on in parts so that none is kept.

use std::io::Read;

use binlog::Position;
use client::{Client, Packets};
use wire::command::code;
use wire::frame::{HEADER_BYTES, Header};
use wire::reply::ErrPacket;

use super::server::explained;
use crate::connections::Stream;

/// A connection on which a log is sent.
pub(super) struct Dump {
    packets: Packets<Box<dyn Stream>>,
    part: Vec<u8>,
    is_mariadb: bool,
}

/// How much of a packet is there at a time.
const PART_BYTES: usize = 1 << 16;

impl Dump {
    /// Asks for everything behind `from`.
    pub(super) fn begin(
        mut client: Client<Box<dyn Stream>>,
        reader_id: u32,
        from: &Position,
        is_mariadb: bool,
    ) -> Result<Self, String> {
        let body = binlog::dump(reader_id, from).ok_or_else(|| {
            format!("its log ends at {from}, beyond 4 GiB of a file: FLUSH BINARY LOGS helps")
        })?;
        client.query(binlog::REGISTER).map_err(|error| error.to_string())?;
        let mut packets = client.packets;
        packets.command(code::BINLOG_DUMP, &body).map_err(|error| error.to_string())?;
        Ok(Self { packets, part: vec![0; PART_BYTES], is_mariadb })
    }

    /// Passes the next event on.
    pub(super) fn packet(
        &mut self,
        mut feed: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut is_first = true;
        loop {
            let header = self.header()?;
            let mut left = header.len;
            while left > 0 {
                let length = left.min(PART_BYTES);
                let part = self.part.get_mut(..length).unwrap_or_default();
                self.packets.stream.read_exact(part).map_err(|error| told(&error))?;
                left -= length;
                let mut part = &*part;
                if is_first {
                    part = event_of(part, self.is_mariadb)?;
                    is_first = false;
                }
                feed(part)?;
            }
            if !header.is_continued() {
                return Ok(());
            }
        }
    }

    fn header(&mut self) -> Result<Header, String> {
        let mut bytes = [0; HEADER_BYTES];
        self.packets.stream.read_exact(&mut bytes).map_err(|error| told(&error))?;
        Header::parse(&bytes).ok_or_else(|| "a packet has no header".to_owned())
    }
}

/// What follows the first byte of a packet, where that says that it is an event.
fn event_of(packet: &[u8], is_mariadb: bool) -> Result<&[u8], String> {
    const EVENT: u8 = 0;
    match packet.split_first() {
        Some((&EVENT, event)) => Ok(event),
        Some((&ErrPacket::MARKER, _)) => Err(explained(&client::Error::told(packet), is_mariadb)),
        _ => Err("it has ended the dump of its log".to_owned()),
    }
}

fn told(error: &std::io::Error) -> String {
    use std::io::ErrorKind::{TimedOut, UnexpectedEof, WouldBlock};
    match error.kind() {
        UnexpectedEof => "it has closed the connection of its log".to_owned(),
        TimedOut | WouldBlock => "its log was silent for too long".to_owned(),
        _ => error.to_string(),
    }
}
