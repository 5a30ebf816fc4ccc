//! Clients whose packets are compressed from the end of their login on, done by hand.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::{Result, ensure};
use client::{Login, Packets};
use compression::{Compressors, Leg};
use wire::Caps;
use wire::connect::Compression;

/// A stream that is compressed once it is told to be.
pub struct Stream<S = TcpStream> {
    stream: S,
    codec: Option<Box<dyn ::io::Codec>>,
    /// How many bytes came, compressed ones where they are.
    pub received: usize,
    /// What arrived and is not decompressed, and what is and was not asked for.
    wire: Vec<u8>,
    plain: Vec<u8>,
    /// For what a step of the codec gives.
    room: Vec<u8>,
}

/// A connection whose packets are compressed, or not.
pub type Compressed = Packets<Stream>;

impl<S: Read + Write> Stream<S> {
    /// Bytes as they are until [`Stream::compress`].
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            codec: None,
            received: 0,
            wire: Vec::new(),
            plain: Vec::new(),
            room: Vec::new(),
        }
    }

    /// What was agreed on begins.
    pub fn compress(&mut self, agreed: Option<Compression>) {
        self.room.resize(::io::CODEC_ROOM_BYTES, 0);
        self.codec = agreed.map(|it| compression::codec(Leg::Server, it, &Compressors::default()));
    }

    /// What carries it.
    pub fn carrier(&self) -> &S {
        &self.stream
    }

    /// Bytes as they are, in place of compressed ones.
    pub fn write_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    fn decode(&mut self) -> io::Result<bool> {
        let Some(codec) = &mut self.codec else { return Ok(false) };
        let room = &mut self.room;
        loop {
            let step = codec.decode(&mut self.wire, room).map_err(io::Error::from_raw_os_error)?;
            self.wire.drain(..step.taken);
            self.plain.extend_from_slice(&room[..step.given]);
            if step.given > 0 || step.taken == 0 {
                return Ok(step.given > 0);
            }
        }
    }
}

impl<S: Read + Write> Read for Stream<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.codec.is_none() {
            let count = self.stream.read(into)?;
            self.received += count;
            return Ok(count);
        }
        while self.plain.is_empty() && !self.decode()? {
            let mut room = [0; 1 << 16];
            match self.stream.read(&mut room)? {
                0 => return Ok(0),
                count => {
                    self.received += count;
                    self.wire.extend_from_slice(&room[..count]);
                }
            }
        }
        let count = self.plain.len().min(into.len());
        into[..count].copy_from_slice(&self.plain[..count]);
        self.plain.drain(..count);
        Ok(count)
    }
}

impl<S: Read + Write> Write for Stream<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(codec) = &mut self.codec else { return self.stream.write(bytes) };
        let room = &mut self.room;
        let step = codec.encode(bytes, room).map_err(io::Error::from_raw_os_error)?;
        self.stream.write_all(&room[..step.given])?;
        loop {
            match codec.pending(room).map_err(io::Error::from_raw_os_error)? {
                0 => return Ok(step.taken),
                given => self.stream.write_all(&room[..given])?,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Logs in with more capabilities than usual, of which those for compression have to be agreed on.
pub fn log_in(port: u16, (user, password): (&str, &str), caps: Caps) -> Result<Compressed> {
    let address = (Ipv4Addr::LOCALHOST, port).into();
    let stream = Packets::tcp(address, Duration::from_secs(15))?.stream.into_inner();
    let mut packets = Packets::over(Stream::new(stream));
    let login = Login::new(user, password);
    let login = Login { caps: login.caps.union(caps), ..login };
    let welcome = packets.log_in(&login)?;
    let wanted = caps.intersect(Compression::CAPS);
    ensure!(welcome.offered.contains(wanted), "it is not offered");
    let agreed = Compression::agreed(wanted, Compression::ZSTD_LEVEL);
    packets.stream.get_mut().compress(agreed);
    Ok(packets)
}
