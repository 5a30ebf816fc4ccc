//! A connection as packets. Knows frames and their numbers, never what a payload means.

use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use wire::command;
use wire::frame::{HEADER_BYTES, Header, write_packet};

/// A connection on which packets are sent and received.
#[derive(Debug)]
pub struct Packets<S> {
    /// The connection itself, with what it received beyond the last packet taken.
    pub stream: BufReader<S>,
}

impl Packets<TcpStream> {
    /// Connects; nothing is read yet. `patience` bounds the connecting and each wait for an answer.
    pub fn tcp(to: SocketAddr, patience: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&to, patience)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_nodelay(true)?;
        Ok(Self::over(stream))
    }
}

impl Packets<UnixStream> {
    /// Connects; nothing is read yet. `patience` bounds each wait for an answer.
    pub fn unix(path: &Path, patience: Duration) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(patience))?;
        Ok(Self::over(stream))
    }
}

impl<S: Read + Write> Packets<S> {
    /// Packets over a connection that stands.
    pub fn over(stream: S) -> Self {
        Self { stream: BufReader::with_capacity(BUFFER_BYTES, stream) }
    }

    /// Sends the command that begins with `first` and goes on with `body`.
    pub fn command(&mut self, first: u8, body: &[u8]) -> io::Result<()> {
        let mut packet = Vec::with_capacity(HEADER_BYTES + 1 + body.len());
        command::write(&mut packet, first, body);
        self.bytes(&packet)
    }

    /// Sends one packet, in as many frames as it takes, of which the first has the number `seq`.
    pub fn send(&mut self, mut seq: u8, payload: &[u8]) -> io::Result<()> {
        let mut packet = Vec::with_capacity(HEADER_BYTES + payload.len());
        write_packet(&mut packet, &mut seq, payload);
        self.bytes(&packet)
    }

    /// Sends bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Receives one packet: the number of its last frame, and its payload.
    pub fn receive(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let (mut header, mut payload) = frame(&mut self.stream)?;
        while header.is_continued() {
            if payload.len() > PAYLOAD_BYTES_MAX {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a packet beyond 1 GiB"));
            }
            let (next, more) = frame(&mut self.stream)?;
            payload.extend_from_slice(&more);
            header = next;
        }
        Ok((header.seq, payload))
    }
}

/// Receives one frame with its payload, which may be a part of a longer packet.
pub fn frame(from: &mut impl Read) -> io::Result<(Header, Vec<u8>)> {
    let mut header = [0; HEADER_BYTES];
    from.read_exact(&mut header).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::new(error.kind(), "the connection was closed"),
        _ => error,
    })?;
    let header = Header::parse(&header).expect("a header is four bytes");
    let mut payload = vec![0; header.len];
    from.read_exact(&mut payload)?;
    Ok((header, payload))
}

/// What is received ahead: some answers, and little where thousands of clients are idle.
const BUFFER_BYTES: usize = 4096;

/// The longest packet that servers may be configured to send.
const PAYLOAD_BYTES_MAX: usize = 1 << 30;
