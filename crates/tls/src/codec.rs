//! The codec: `rustls`' buffered connection, fed whole records.
//!
//! Its unbuffered one would save a copy. But it panics when it is asked to encrypt while a fragment
//! of a handshake message lies in a buffer that it is not given. The other side can bring that
//! about.

use io::{Codec, DecodeCost, Step, StreamEnd};
use rustls::{Connection, ProtocolVersion};
use std::io::{ErrorKind, Read, Write};

use crate::acceptor::Serves;
use crate::certificate;
use crate::connector::Called;
use crate::handshake::{Handshake, Watch};
use crate::suites;

/// Most content of a record (RFC 8446, section 5.1).
const CONTENT_BYTES_MAX: usize = 1 << 14;
/// What encryption may add to that, in TLS 1.2 (RFC 5246, section 6.2.3).
const ADDED_BYTES_MAX: usize = 2048;
const HEADER_BYTES: usize = 5;

/// One connection's records.
pub(crate) struct Records {
    connection: Connection,
    side: Side,
    watch: Watch,
    /// The handshake is over, and told.
    is_told: bool,
    /// The other side has said farewell.
    has_ended: bool,
    failed: bool,
}

/// Which side of a connection it is, and what a handshake is looked at with there.
pub(crate) enum Side {
    /// A server's.
    Server(Serves),
    /// A client's.
    Client(Called),
}

impl Records {
    pub(crate) fn new(connection: Connection, side: Side) -> (Self, Watch) {
        let watch = Watch::default();
        let records = Self {
            connection,
            side,
            watch: watch.clone(),
            is_told: false,
            has_ended: false,
            failed: false,
        };
        (records, watch)
    }

    fn fail(&mut self, fault: String) -> i32 {
        self.watch.fail(fault);
        self.failed = true;
        libc::EPROTO
    }

    /// Takes one record, or bytes that are none.
    fn take(&mut self, mut record: &[u8]) -> Result<(), i32> {
        while !record.is_empty() {
            match self.connection.read_tls(&mut record) {
                Ok(0) => return Err(self.fail("nothing more is taken".to_owned())),
                Ok(_) => {}
                Err(error) => return Err(self.fail(error.to_string())),
            }
        }
        match self.connection.process_new_packets() {
            Ok(state) => self.has_ended = state.peer_has_closed(),
            Err(error) => {
                let words = match &self.side {
                    Side::Server(_) => error.to_string(),
                    Side::Client(called) => called.words(&error),
                };
                return Err(self.fail(words));
            }
        }
        if !self.is_told && !self.connection.is_handshaking() {
            self.is_told = true;
            self.watch.set(self.handshake());
        }
        Ok(())
    }

    fn handshake(&self) -> Handshake {
        let connection = &self.connection;
        let version = match connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
            Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
            _ => "unknown",
        };
        let cipher = connection.negotiated_cipher_suite().map_or("unknown", suites::name);
        let is_resumed = connection.handshake_kind() == Some(rustls::HandshakeKind::Resumed);
        let others = connection.peer_certificates();
        let (server_name, own_digest, shown, server) = match (&self.side, connection) {
            (Side::Server(serves), Connection::Server(server)) => {
                let name = server.server_name();
                let shown = others.and_then(|shown| certificate::shown(shown, serves.trust()));
                (name.map(Into::into), serves.digest(name), shown, None)
            }
            (Side::Client(called), _) => (None, None, None, Some(called.seen(others))),
            (Side::Server(_), Connection::Client(_)) => (None, None, None, None),
        };
        Handshake { version, cipher, server_name, is_resumed, own_digest, shown, server }
    }

    /// Moves what is to be sent to `wire`; says how much that is.
    fn give(&mut self, mut wire: &mut [u8]) -> Result<usize, i32> {
        let room = wire.len();
        while self.connection.wants_write() && !wire.is_empty() {
            if let Err(error) = self.connection.write_tls(&mut wire) {
                return Err(self.fail(error.to_string()));
            }
        }
        Ok(room - wire.len())
    }
}

impl Codec for Records {
    fn decode(&mut self, wire: &mut [u8], plain: &mut [u8]) -> Result<Step, i32> {
        let mut taken = 0;
        loop {
            match self.connection.reader().read(plain) {
                Ok(given) if given > 0 => return Ok(Step { taken, given }),
                Err(error) if error.kind() != ErrorKind::WouldBlock => {
                    return Err(self.fail(error.to_string()));
                }
                _ => {}
            }
            if self.failed {
                return Err(libc::EPROTO);
            }
            if self.has_ended {
                return Ok(Step { taken: wire.len(), given: 0 });
            }
            let rest = wire.get(taken..).unwrap_or_default();
            let Some(record) = first_record(rest) else { return Ok(Step { taken, given: 0 }) };
            self.take(record)?;
            taken += record.len();
        }
    }

    fn encode(&mut self, plain: &[u8], wire: &mut [u8]) -> Result<Step, i32> {
        if self.connection.is_handshaking() {
            return Ok(Step::default());
        }
        let content = plain.get(..CONTENT_BYTES_MAX).unwrap_or(plain);
        let taken = match self.connection.writer().write(content) {
            Ok(taken) => taken,
            Err(error) => return Err(self.fail(error.to_string())),
        };
        Ok(Step { taken, given: self.give(wire)? })
    }

    fn pending(&mut self, wire: &mut [u8]) -> Result<usize, i32> {
        self.give(wire)
    }

    fn close(&mut self, wire: &mut [u8]) -> Result<usize, i32> {
        self.connection.send_close_notify();
        self.give(wire)
    }

    fn end(&self) -> StreamEnd {
        if self.has_ended { StreamEnd::Heard } else { StreamEnd::Awaited }
    }

    fn cost(&self) -> DecodeCost {
        match self.connection.is_handshaking() {
            true => DecodeCost::Handshake,
            false => DecodeCost::Little,
        }
    }
}

/// The record at the beginning of `wire`, once it is whole; everything where that is no record,
/// which is for `rustls` to say.
fn first_record(wire: &[u8]) -> Option<&[u8]> {
    let (kind, len) = match wire.first_chunk::<HEADER_BYTES>() {
        Some([kind, _, _, high, low]) => (*kind, usize::from(u16::from_be_bytes([*high, *low]))),
        None => return None,
    };
    // change of cipher, alert, handshake, content (RFC 8446, section 5.1)
    if !(20..=23).contains(&kind) || len > CONTENT_BYTES_MAX + ADDED_BYTES_MAX {
        return Some(wire);
    }
    wire.get(..HEADER_BYTES + len)
}

#[cfg(test)]
pub(crate) mod tests;
