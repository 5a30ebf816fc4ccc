//! From events to callbacks: accepting, receiving, offering kept bytes, reporting ends.
//! Deliberately sends nothing by itself.

use super::{Loop, Service};
use crate::addr::{Failure, Op};
use crate::buffer::Buffer;
use crate::driver::{Driver, Event, Interest};
use crate::sockets::{Listener, Phase, Sock};

/// The least room that a receive behind kept bytes gets.
const RECV_ROOM_MIN: usize = 8 * 1024;
/// The most that it takes at once, so that a service can pause the socket before there is more.
const RECV_BYTES_MAX: usize = 64 * 1024;
/// The most receives that look for last words on a socket that failed to send.
const LAST_RECVS_MAX: usize = 16;

/// What a receive found.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Found {
    Bytes,
    Nothing,
    End,
    Failed(Failure),
}

impl<D: Driver, S: Service> Loop<D, S> {
    pub(super) fn dispatch(&mut self, event: Event) {
        match event {
            Event::Acceptable(listener) => self.accept_burst(listener),
            Event::Ready { sock, readable, writable, ended } => {
                if ended {
                    self.on_ended(sock, readable);
                }
                self.on_ready(sock, readable, writable);
            }
        }
    }

    fn accept_burst(&mut self, listener: Listener) {
        for _ in 0..self.edge.options.accept_burst {
            if !self.edge.accepts() {
                return;
            }
            match self.edge.driver.accept(listener) {
                Ok((handle, from)) => {
                    if let Some(sock) = self.edge.adopt(handle, &from) {
                        self.service.on_accepted(&mut self.edge, listener, sock, from);
                    }
                }
                Err(libc::EAGAIN) => return,
                Err(errno) => self.accept_failed(errno),
            }
        }
    }

    fn accept_failed(&mut self, errno: i32) {
        match errno {
            // that one connection was lost before it was taken
            libc::ECONNABORTED | libc::EINTR | libc::EPROTO | libc::EPERM => {
                self.edge.stats.accept_failures += 1;
            }
            _ => self.edge.rest_accepting(),
        }
    }

    fn on_ready(&mut self, sock: Sock, readable: bool, writable: bool) {
        let Some(socket) = self.edge.sockets.find(sock) else { return };
        if socket.phase == Phase::Connecting {
            if writable {
                self.finish_connect(sock);
            }
            return;
        }
        if writable && socket.blocked && !socket.is_held && self.edge.unblock(sock) {
            self.service.on_drained(&mut self.edge, sock);
        }
        if readable {
            self.on_readable(sock);
        }
    }

    /// The end of what is not read came, before the bytes in front of it are taken.
    #[cold]
    fn on_ended(&mut self, sock: Sock, is_gone: bool) {
        if let Some(socket) = self.edge.sockets.find(sock)
            && socket.phase == Phase::Open
            && socket.paused
            && !socket.ended
        {
            self.service.on_hung_up(&mut self.edge, sock, is_gone);
        }
    }

    fn on_readable(&mut self, sock: Sock) {
        let Some(socket) = self.edge.sockets.find(sock) else { return };
        match socket.phase {
            Phase::Open => {}
            Phase::Draining | Phase::Lingering => return self.discard(sock),
            Phase::Connecting | Phase::Failed | Phase::Ending => return,
        }
        if socket.coded.as_ref().is_some_and(|coded| coded.goes_on) {
            // it has enough to do, and is reported again behind that
            return self.edge.mute(sock);
        }
        if socket.paused {
            let keeps = socket.kept() > 0 || self.edge.driver.unread(&socket.handle) > 0;
            if keeps {
                // level triggering would report these bytes again and again
                return self.edge.mute(sock);
            }
        }
        let found = self.receive(sock);
        self.conclude(sock, found);
    }

    pub(super) fn conclude(&mut self, sock: Sock, found: Found) {
        match found {
            Found::Bytes | Found::Nothing => {}
            Found::End => self.report_end(sock, None),
            Found::Failed(failure) => self.report_end(sock, Some(failure)),
        }
    }

    /// One receive and, when it brought bytes, one offer.
    fn receive(&mut self, sock: Sock) -> Found {
        let edge = &mut self.edge;
        let Some(socket) = edge.sockets.find_mut(sock) else { return Found::Nothing };
        if socket.coded.is_some() {
            return self.receive_coded(sock);
        }
        let behind = !socket.input.is_empty();
        let result = if behind {
            let room = socket.input.room(RECV_ROOM_MIN, &mut edge.pool);
            let len = room.len().min(RECV_BYTES_MAX);
            edge.driver.recv(&socket.handle, room.get_mut(..len).unwrap_or_default())
        } else {
            edge.driver.recv(&socket.handle, &mut self.received)
        };
        let count = match result {
            Ok(0) => return Found::End,
            Ok(count) => count,
            Err(libc::EAGAIN | libc::EINTR) => return Found::Nothing,
            Err(errno) => return Found::Failed(Failure::new(Op::Recv, errno)),
        };
        edge.stats.recvs += 1;
        edge.stats.bytes_in += count as u64;
        if behind {
            socket.input.fill(count);
            if !socket.paused {
                self.offer(sock);
            }
        } else if socket.paused {
            // it was the end that was expected here; bytes came first
            keep(&mut self.edge, sock, self.received.get(..count).unwrap_or_default());
        } else {
            let bytes = self.received.get(..count).unwrap_or_default();
            let taken = self.service.on_bytes(&mut self.edge, sock, bytes);
            keep(&mut self.edge, sock, bytes.get(taken..).unwrap_or_default());
        }
        Found::Bytes
    }

    /// Receives bytes that nobody wants any more.
    fn discard(&mut self, sock: Sock) {
        let Some(socket) = self.edge.sockets.find_mut(sock) else { return };
        if socket.coded.is_some() && socket.phase == Phase::Draining {
            return self.edge.drain_coded(sock);
        }
        match self.edge.driver.recv(&socket.handle, &mut self.received) {
            Ok(0) if socket.phase == Phase::Draining => {
                socket.ended = true;
                self.edge.mute(sock);
            }
            Ok(0) => self.edge.close(sock),
            Ok(_) | Err(libc::EAGAIN | libc::EINTR) => {}
            Err(_) => self.edge.close(sock),
        }
    }

    /// Offers the kept bytes of a socket, whether it is paused or not.
    pub(super) fn offer(&mut self, sock: Sock) {
        let Some(socket) = self.edge.sockets.find_mut(sock) else { return };
        // outside of the table, so that the service may do anything with the socket
        let mut input = std::mem::take(&mut socket.input);
        let layers = socket.layers();
        let taken = self.service.on_bytes(&mut self.edge, sock, input.bytes());
        input.consume(taken, &mut self.edge.pool);
        self.keep_buffer(sock, input, layers);
    }

    /// Takes back what the service did not consume; a codec that it put on meanwhile, on top of so
    /// many layers, decodes it first.
    fn keep_buffer(&mut self, sock: Sock, mut input: Buffer, layers: usize) {
        match self.edge.sockets.find_mut(sock) {
            Some(socket) if matches!(socket.phase, Phase::Open | Phase::Failed) => {
                match socket.coded.as_mut().and_then(|coded| coded.find_wire(layers)) {
                    Some(wire) => *wire = input,
                    None => socket.input = input,
                }
            }
            _ => input.clear(&mut self.edge.pool),
        }
    }

    /// Works through the sockets that asked for their kept bytes.
    pub(super) fn offer_again(&mut self) {
        let mut offers = std::mem::take(&mut self.offers);
        std::mem::swap(&mut offers, &mut self.edge.offers);
        for sock in offers.drain(..) {
            let Some(socket) = self.edge.sockets.find_mut(sock) else { continue };
            // a pause since then took the request back
            if !std::mem::take(&mut socket.offered) || socket.phase != Phase::Open {
                continue;
            }
            if !socket.input.is_empty() {
                self.offer(sock);
            }
            let Some(socket) = self.edge.sockets.find(sock) else { continue };
            if let Some(coded) = &socket.coded
                && !socket.ended
            {
                if coded.goes_on {
                    continue;
                }
                let found = self.decode(sock);
                self.conclude(sock, found);
                continue;
            }
            if socket.ended && !socket.paused && socket.phase == Phase::Open {
                self.report_end(sock, None);
            }
        }
        self.offers = offers;
    }

    pub(super) fn report_connected(&mut self) {
        // connects made by these reports wait for the next round
        for sock in std::mem::take(&mut self.edge.connected) {
            self.finish_connect(sock);
        }
    }

    fn finish_connect(&mut self, sock: Sock) {
        let Some(socket) = self.edge.sockets.find_mut(sock) else { return };
        if socket.phase != Phase::Connecting {
            return;
        }
        let errno = self.edge.driver.pending_error(&socket.handle);
        let result = if errno != 0 {
            Err(Failure::new(Op::Connect, errno))
        } else {
            socket.phase = Phase::Open;
            let watched = self.edge.watch(sock, Interest::READ);
            watched.map_err(|errno| Failure::new(Op::Register, errno))
        };
        if result.is_err() {
            self.edge.close(sock);
        } else {
            // what was sent before, and what a codec begins with
            self.edge.flush_later(sock);
        }
        self.service.on_connected(&mut self.edge, sock, result);
    }

    pub(super) fn report_ended(&mut self) {
        let mut ended = std::mem::take(&mut self.ended);
        std::mem::swap(&mut ended, &mut self.edge.ended);
        for (sock, why) in ended.drain(..) {
            self.hear_last_words(sock);
            self.report_end(sock, why);
        }
        self.ended = ended;
    }

    /// A socket that failed to send may still hold what the other side said before it closed.
    fn hear_last_words(&mut self, sock: Sock) {
        for _ in 0..LAST_RECVS_MAX {
            let Some(socket) = self.edge.sockets.find(sock) else { return };
            if socket.paused || self.receive(sock) != Found::Bytes {
                return;
            }
        }
    }

    /// Nothing more will come, and the service has still something to say: the end is reported
    /// again when bytes would be offered, and not by the system, over and over.
    fn note_end(&mut self, sock: Sock) {
        if let Some(socket) = self.edge.sockets.find_mut(sock)
            && socket.phase == Phase::Open
        {
            socket.ended = true;
            self.edge.mute(sock);
        }
    }

    /// Calls `on_gone` and closes, unless the service closed or drains the socket itself.
    fn report_end(&mut self, sock: Sock, why: Option<Failure>) {
        let Some(socket) = self.edge.sockets.find_mut(sock) else { return };
        if std::mem::take(&mut socket.offered) && !socket.input.is_empty() {
            // asked for and not offered yet
            self.offer(sock);
        }
        let Some(socket) = self.edge.sockets.find_mut(sock) else { return };
        if !matches!(socket.phase, Phase::Open | Phase::Failed) {
            return;
        }
        let orderly = why.is_none() && socket.phase == Phase::Open;
        if orderly && self.service.on_end(&mut self.edge, sock) {
            return self.note_end(sock);
        }
        let Some(socket) = self.edge.sockets.find_mut(sock) else { return };
        let speaks = orderly || socket.phase == Phase::Open && socket.is_deaf();
        socket.phase = if speaks { Phase::Ending } else { Phase::Failed };
        socket.input.clear(&mut self.edge.pool);
        self.service.on_gone(&mut self.edge, sock, why);
        if let Some(socket) = self.edge.sockets.find(sock)
            && matches!(socket.phase, Phase::Ending | Phase::Failed)
        {
            self.edge.close(sock);
        }
    }
}

/// Keeps bytes that the service did not take, if the socket still receives; a codec that it put on
/// meanwhile decodes them first.
fn keep<D: Driver>(edge: &mut super::Edge<D>, sock: Sock, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    if let Some(socket) = edge.sockets.find_mut(sock)
        && matches!(socket.phase, Phase::Open | Phase::Failed)
    {
        let kept = match &mut socket.coded {
            Some(coded) => coded.wire(),
            None => &mut socket.input,
        };
        kept.append(bytes, &mut edge.pool);
    }
}
