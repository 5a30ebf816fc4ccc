//! What is different for a socket with codecs: the way in by way of them, and the way out.
//! Deliberately knows no codec, and nothing of sockets without one.

use super::dispatch::Found;
use super::{Edge, Loop, Service};
use crate::addr::{Failure, Op};
use crate::codec::{Codec, DecodeCost};
use crate::driver::Driver;
use crate::sockets::{Phase, Sock};

/// The least room that bytes for a codec are received into.
const RECV_ROOM_MIN: usize = 32 * 1024;
/// How much is decoded of one socket in a turn before others have theirs, and of all together that
/// go on from the turn before: a few bytes may come to any number of them, and the service has
/// something to do for each.
const DECODED_BYTES_MAX: usize = 64 * 1024;

impl<D: Driver> Edge<D> {
    /// Puts a codec on a socket, between those it has and the service. Bytes that arrived and were
    /// not consumed are its to decode, those that the `on_bytes` running now will leave included.
    /// Bytes that were sent or queued before stay as they are. A paused socket decodes nothing.
    pub fn put_on(&mut self, sock: Sock, codec: Box<dyn Codec>) {
        let Some(socket) = self.sockets.find_mut(sock) else { return };
        if !socket.takes_output() {
            return;
        }
        let arrived = std::mem::take(&mut socket.input);
        socket.coded.get_or_insert_default().push(codec, arrived);
        self.flush_later(sock);
        self.redeliver(sock);
    }

    /// As [`Edge::send`], for a socket with codecs.
    pub(super) fn send_coded(&mut self, sock: Sock, parts: &[&[u8]]) -> usize {
        let Some(socket) = self.sockets.find_mut(sock) else { return 0 };
        if socket.coded.as_ref().is_some_and(|coded| coded.is_closed) {
            self.fail(sock, Failure::new(Op::Send, libc::EPIPE));
            return 0;
        }
        for part in parts {
            socket.outgoing().append(part, &mut self.pool);
        }
        self.flush(sock);
        self.backlog(sock)
    }

    /// Encodes and sends until nothing is left, the system takes no more, or a codec holds it back.
    pub(super) fn flush_coded(&mut self, sock: Sock) {
        loop {
            let Some(socket) = self.sockets.find_mut(sock) else { return };
            let Some(coded) = &mut socket.coded else { return };
            if socket.blocked {
                return;
            }
            if let Err(errno) = coded.encode(&mut socket.output, &mut self.pool) {
                socket.drop_outgoing(&mut self.pool);
                return self.fail(sock, Failure::new(Op::Encode, errno));
            }
            if socket.output.is_empty() {
                let holds = coded.unencoded() > 0;
                let held = std::mem::replace(&mut coded.holds, holds);
                if !holds && std::mem::take(&mut coded.speaks) && held {
                    self.drained.push(sock);
                }
                return;
            }
            self.send_now(sock, &[]);
        }
    }

    /// Has the codecs say farewell behind everything else; whether nothing is left to be sent.
    /// A stream of which something was not encoded gets none: it has not come to its end.
    pub(super) fn say_farewell(&mut self, sock: Sock) -> bool {
        let Some(socket) = self.sockets.find_mut(sock) else { return false };
        let Some(coded) = &mut socket.coded else { return true };
        let speaks = matches!(socket.phase, Phase::Open | Phase::Ending | Phase::Draining);
        if speaks && !coded.is_closed && coded.unencoded() == 0 {
            if let Err(errno) = coded.close(&mut socket.output, &mut self.pool) {
                socket.drop_outgoing(&mut self.pool);
                self.fail(sock, Failure::new(Op::Encode, errno));
                return false;
            }
            self.flush(sock);
        }
        self.sockets.find(sock).is_some_and(|socket| socket.unsent() == 0)
    }

    /// Receives for a draining socket, whose codec may need it to go on.
    pub(super) fn drain_coded(&mut self, sock: Sock) {
        let Some(socket) = self.sockets.find_mut(sock) else { return };
        let Some(coded) = &mut socket.coded else { return };
        let room = coded.wire().room(RECV_ROOM_MIN, &mut self.pool);
        let result = self.driver.recv(&socket.handle, room);
        coded.wire().fill(*result.as_ref().unwrap_or(&0));
        match result {
            Ok(0) => {
                socket.ended = true;
                self.mute(sock);
            }
            Ok(_) | Err(libc::EAGAIN | libc::EINTR) => {}
            Err(_) => return self.close(sock),
        }
        self.drop_arrived(sock);
        self.drained_while_closing(sock);
    }

    /// Whether what has arrived waits for the next turn, behind the events of others, because it
    /// takes long to decode.
    fn lets_wait(&mut self, sock: Sock) -> bool {
        let Some(socket) = self.sockets.find_mut(sock) else { return false };
        let is_open = socket.phase == Phase::Open && !socket.paused;
        let Some(coded) =
            socket.coded.as_mut().filter(|it| is_open && it.cost() > DecodeCost::Little)
        else {
            return false;
        };
        if !std::mem::replace(&mut coded.goes_on, true) {
            self.decoding.push(sock);
        }
        true
    }

    /// Decodes what has arrived for a draining socket, and drops it; more than the share of a turn
    /// is not looked at, nor what comes behind that.
    pub(super) fn drop_arrived(&mut self, sock: Sock) {
        let Some(socket) = self.sockets.find_mut(sock) else { return };
        let Some(coded) = &mut socket.coded else { return };
        if coded.is_deaf {
            coded.drop_wire(&mut self.pool);
            return self.flush(sock);
        }
        let mut dropped = 0;
        while dropped < DECODED_BYTES_MAX {
            let (given, decoded) = coded.decode(&mut socket.input, &mut self.pool);
            socket.input.clear(&mut self.pool);
            if decoded.is_err() {
                return self.close(sock);
            }
            if given == 0 {
                return self.flush(sock);
            }
            dropped += given;
        }
        coded.drop_wire(&mut self.pool);
        self.mute(sock);
        self.flush(sock);
    }
}

impl<D: Driver, S: Service> Loop<D, S> {
    /// One receive for the codecs of a socket and, when it is not paused, what they make of it.
    pub(super) fn receive_coded(&mut self, sock: Sock) -> Found {
        let edge = &mut self.edge;
        let Some(socket) = edge.sockets.find_mut(sock) else { return Found::Nothing };
        let Some(coded) = &mut socket.coded else { return Found::Nothing };
        if coded.goes_on {
            return self.decode(sock);
        }
        let wire = coded.wire();
        let result = edge.driver.recv(&socket.handle, wire.room(RECV_ROOM_MIN, &mut edge.pool));
        wire.fill(*result.as_ref().unwrap_or(&0));
        wire.consume(0, &mut edge.pool);
        match result {
            Ok(0) => return self.end_coded(sock),
            Ok(count) => {
                edge.stats.recvs += 1;
                edge.stats.bytes_in += count as u64;
            }
            Err(libc::EAGAIN | libc::EINTR) => return Found::Nothing,
            Err(errno) => return Found::Failed(Failure::new(Op::Recv, errno)),
        }
        self.decode(sock)
    }

    /// Decodes what has arrived, now or, where that takes long, in the next turn.
    pub(super) fn decode(&mut self, sock: Sock) -> Found {
        if self.edge.lets_wait(sock) { Found::Bytes } else { self.decode_now(sock) }
    }

    /// Decodes what has arrived, and offers it, until more has to arrive, the service pauses or the
    /// share of a turn is reached.
    fn decode_now(&mut self, sock: Sock) -> Found {
        let mut shared = 0;
        loop {
            let edge = &mut self.edge;
            let Some(socket) = edge.sockets.find_mut(sock) else { return Found::Nothing };
            let Some(coded) = &mut socket.coded else { return Found::Nothing };
            if socket.paused || !matches!(socket.phase, Phase::Open | Phase::Failed) {
                return Found::Bytes;
            }
            if shared >= DECODED_BYTES_MAX {
                if !std::mem::replace(&mut coded.goes_on, true) {
                    edge.decoding.push(sock);
                }
                edge.flush_later(sock);
                return Found::Bytes;
            }
            let (given, decoded) = coded.decode(&mut socket.input, &mut edge.pool);
            if given > 0 {
                // an error behind these bytes comes again
                shared += given;
                self.edge.decoded = self.edge.decoded.wrapping_add(given);
                self.offer(sock);
                continue;
            }
            let end = coded.end(false);
            coded.is_deaf |= decoded == Err(libc::EBADMSG);
            self.edge.flush_later(sock);
            return match (decoded, end) {
                (Err(errno), _) => {
                    // the other side may be told why
                    self.edge.flush(sock);
                    Found::Failed(Failure::new(Op::Decode, errno))
                }
                (Ok(()), Some(whole)) => ended(whole),
                (Ok(()), None) => Found::Bytes,
            };
        }
    }

    /// Goes on with sockets that had their share of the turn before, or wait for their turn, until
    /// they have had one share together. A turn has one step of each kind that takes long: a
    /// handshake's takes some 200 us, and crowds connect at the same moment.
    pub(super) fn go_on_decoding(&mut self, socks: Vec<Sock>) {
        if socks.is_empty() {
            return;
        }
        let (mut shook, mut repeated, mut waiting) = (false, false, Vec::new());
        let before = self.edge.decoded;
        for sock in socks {
            let is_shared = self.edge.decoded.wrapping_sub(before) >= DECODED_BYTES_MAX;
            let socket = self.edge.sockets.find_mut(sock);
            let Some(coded) = socket.and_then(|socket| socket.coded.as_mut()) else { continue };
            // whoever has much to decode holds up no handshake
            let waits = match coded.cost() {
                DecodeCost::Handshake => std::mem::replace(&mut shook, true),
                DecodeCost::Again => std::mem::replace(&mut repeated, true),
                DecodeCost::Little => is_shared,
            };
            if waits {
                waiting.push(sock);
                continue;
            }
            coded.goes_on = false;
            let found = self.decode_now(sock);
            self.conclude(sock, found);
            self.edge.receive_again(sock);
        }
        // in front of those that came since
        waiting.append(&mut self.edge.decoding);
        self.edge.decoding = waiting;
    }

    /// The end of the connection came: is it that of the stream?
    fn end_coded(&mut self, sock: Sock) -> Found {
        match self.decode(sock) {
            Found::Bytes => {}
            other => return other,
        }
        let Some(socket) = self.edge.sockets.find(sock) else { return Found::Nothing };
        let Some(coded) = &socket.coded else { return Found::Nothing };
        if coded.goes_on || socket.paused && coded.has_ungiven() {
            // it comes again behind what is decoded first
            self.edge.mute(sock);
            return Found::Nothing;
        }
        match coded.end(true) {
            // the service has not taken all that came before it
            Some(false) if !socket.input.is_empty() => Found::End,
            end => end.map_or(Found::Nothing, ended),
        }
    }

    /// Tells what codecs held back and was sent since.
    pub(super) fn report_drained(&mut self) {
        for sock in std::mem::take(&mut self.edge.drained) {
            let socket = self.edge.sockets.find(sock);
            if socket.is_some_and(|socket| socket.phase == Phase::Open && socket.unsent() == 0) {
                self.service.on_drained(&mut self.edge, sock);
            }
        }
    }
}

/// What the end of a coded stream is.
fn ended(whole: bool) -> Found {
    if whole { Found::End } else { Found::Failed(Failure::new(Op::Decode, libc::ENODATA)) }
}
