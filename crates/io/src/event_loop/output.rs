//! The way out of a socket: sends tried at once, backlogs, batches of a turn, and the last bytes
//! before a close. Deliberately knows nothing of receiving.

use super::Edge;
use crate::addr::{Failure, Op};
use crate::driver::{Driver, Interest};
use crate::micros::Micros;
use crate::sockets::{Phase, Sock, Socket};
use crate::sys::socket::PARTS_MAX;

/// The most bytes of a socket that wait for the end of a turn: one block of a buffer.
const QUEUED_BYTES_MAX: usize = 4 * 1024;
/// How long a socket may take to drain.
const DRAIN_SPAN: Micros = Micros::from_secs(5);

impl<D: Driver> Edge<D> {
    /// Sends `parts` in order with one system call, behind whatever was queued. What the system
    /// does not take is copied into the socket's outgoing buffer and follows when it can. Returns
    /// that backlog in bytes. A failure surfaces as `on_gone` later in the turn.
    pub fn send(&mut self, sock: Sock, parts: &[&[u8]]) -> usize {
        let Some(socket) = self.sockets.find_mut(sock) else { return 0 };
        if !socket.takes_output() {
            return 0;
        }
        if socket.coded.is_some() {
            return self.send_coded(sock, parts);
        }
        if socket.blocked || socket.phase == Phase::Connecting {
            for part in parts {
                socket.output.append(part, &mut self.pool);
            }
            return socket.output.len();
        }
        self.send_now(sock, parts)
    }

    /// As [`Edge::send`], but at the end of the turn, with one system call for all that is queued
    /// for a socket until then; more than 4 KiB go out at once. Returns the backlog that the
    /// system left, which is none as long as it was not asked.
    pub fn queue(&mut self, sock: Sock, parts: &[&[u8]]) -> usize {
        let Some(socket) = self.sockets.find_mut(sock) else { return 0 };
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let waits = socket.blocked || socket.phase == Phase::Connecting;
        if waits || socket.unsent() + bytes > QUEUED_BYTES_MAX {
            return self.send(sock, parts);
        }
        if socket.takes_output() && bytes > 0 {
            for part in parts {
                socket.outgoing().append(part, &mut self.pool);
            }
            self.flush_later(sock);
        }
        0
    }

    /// How many bytes the system has not taken yet, encoded or not.
    pub fn backlog(&self, sock: Sock) -> usize {
        self.sockets.find(sock).map_or(0, Socket::unsent)
    }

    /// Closes once everything is sent, at the latest after 5 seconds; received bytes are dropped
    /// meanwhile and nothing more is reported. Bytes that the other side sent and nobody read
    /// would make the system reset the connection and lose our last words; so then the end is
    /// announced first, and the close follows the other side's.
    pub fn close_drained(&mut self, sock: Sock) {
        let Some(socket) = self.sockets.find_mut(sock) else { return };
        match socket.phase {
            Phase::Connecting | Phase::Failed => return self.close(sock),
            Phase::Draining | Phase::Lingering => return,
            Phase::Open => {}
            // the end of the stream would be reported over and over
            Phase::Ending => socket.ended = !socket.is_deaf(),
        }
        socket.phase = Phase::Draining;
        socket.paused = false;
        self.let_loose(sock);
        let Some(socket) = self.sockets.find_mut(sock) else { return };
        socket.input.clear(&mut self.pool);
        let to = Interest { read: !socket.ended, ..socket.interest };
        self.watch_or_fail(sock, to);
        self.drop_arrived(sock);
        self.drained_while_closing(sock);
        if self.sockets.find(sock).is_some() {
            self.closing.push_back((self.now + DRAIN_SPAN, sock));
        }
    }

    /// Announces that nothing more will be sent, and goes on receiving; `false` where something
    /// still has to be sent, or the socket is no open one.
    pub fn end_sending(&mut self, sock: Sock) -> bool {
        self.flush(sock);
        let is_said = self.say_farewell(sock);
        let Some(socket) = self.sockets.find(sock) else { return false };
        let can = is_said && socket.phase == Phase::Open && socket.output.is_empty();
        if can {
            self.driver.shutdown_send(&socket.handle);
        }
        can
    }

    /// The backlog of a draining socket is sent: close, unless that would destroy it.
    fn finish_draining(&mut self, sock: Sock) {
        if !self.say_farewell(sock) {
            return;
        }
        let Some(socket) = self.sockets.find_mut(sock) else { return };
        // whoever is not heard may be in the middle of a packet
        let is_silent = !socket.is_deaf() && self.driver.unread(&socket.handle) == 0;
        if socket.ended || is_silent {
            return self.close(sock);
        }
        socket.phase = Phase::Lingering;
        self.driver.shutdown_send(&socket.handle);
    }

    /// Closes sockets that took too long to drain.
    pub(super) fn end_overdue_drains(&mut self) {
        while let Some(&(at, sock)) = self.closing.front()
            && at <= self.now
        {
            self.closing.pop_front();
            self.close(sock);
        }
    }

    pub(super) fn flush_later(&mut self, sock: Sock) {
        if let Some(socket) = self.sockets.find_mut(sock)
            && !socket.dirty
            && !socket.blocked
            && socket.phase != Phase::Connecting
        {
            socket.dirty = true;
            self.dirty.push(sock);
        }
    }

    /// One send for each socket with queued bytes.
    pub(super) fn flush_dirty(&mut self) {
        // sending never makes another socket dirty
        let mut at = 0;
        while let Some(&sock) = self.dirty.get(at) {
            at += 1;
            let Some(socket) = self.sockets.find_mut(sock) else { continue };
            socket.dirty = false;
            self.flush(sock);
            self.drained_while_closing(sock);
        }
        self.dirty.clear();
    }

    /// Sends what waits for the end of the turn.
    pub(super) fn flush(&mut self, sock: Sock) {
        if let Some(socket) = self.sockets.find(sock)
            && matches!(socket.phase, Phase::Open | Phase::Ending | Phase::Draining)
            && !socket.blocked
        {
            if socket.coded.is_some() {
                self.flush_coded(sock);
            } else if !socket.output.is_empty() {
                self.send_now(sock, &[]);
            }
        }
    }

    /// The socket is writable: sends the backlog. True when none is left and somebody waits for
    /// that.
    pub(super) fn unblock(&mut self, sock: Sock) -> bool {
        let Some(socket) = self.sockets.find_mut(sock) else { return false };
        if !socket.blocked {
            return false;
        }
        socket.blocked = false;
        let waits = socket.coded.as_ref().is_none_or(|coded| coded.speaks);
        if let Some(coded) = &mut socket.coded {
            // whatever it held is told of here
            coded.holds = false;
        }
        self.flush(sock);
        let Some(socket) = self.sockets.find(sock) else { return false };
        if socket.blocked || socket.phase == Phase::Failed {
            return false;
        }
        let to = Interest { write: false, ..socket.interest };
        self.watch_or_fail(sock, to);
        self.drained_while_closing(sock);
        let Some(socket) = self.sockets.find(sock) else { return false };
        socket.phase == Phase::Open && socket.unsent() == 0 && waits
    }

    pub(super) fn drained_while_closing(&mut self, sock: Sock) {
        let Some(socket) = self.sockets.find(sock) else { return };
        if socket.phase != Phase::Draining {
            return;
        }
        if socket.unsent() == 0 {
            self.finish_draining(sock);
        } else if socket.ended && socket.coded.as_ref().is_some_and(|coded| coded.holds) {
            // what the codec waits for will not come
            self.close(sock);
        }
    }

    /// Sends the outgoing buffer and then `parts`; keeps what is not taken.
    pub(super) fn send_now(&mut self, sock: Sock, parts: &[&[u8]]) -> usize {
        let Some(socket) = self.sockets.find_mut(sock) else { return 0 };
        if self.options.bytes_per_s_max > 0 && socket.is_paced {
            return self.send_paced(sock, parts);
        }
        let pending = socket.output.len();
        let sent = if pending == 0 {
            if parts.iter().all(|part| part.is_empty()) {
                return 0;
            }
            self.driver.send(&socket.handle, parts)
        } else if parts.is_empty() {
            self.driver.send(&socket.handle, &[socket.output.bytes()])
        } else {
            let mut all: [&[u8]; PARTS_MAX] = [&[]; PARTS_MAX];
            let before = std::iter::once(socket.output.bytes());
            let count = all.iter_mut().zip(before.chain(parts.iter().copied()));
            let count = count.map(|(to, part)| *to = part).count();
            self.driver.send(&socket.handle, all.get(..count).unwrap_or(&all))
        };
        let Some(taken) = self.note_sent(sock, sent) else { return 0 };
        let Some(socket) = self.sockets.find_mut(sock) else { return 0 };
        if pending > 0 {
            socket.output.consume(taken.min(pending), &mut self.pool);
        }
        let mut skip = taken.saturating_sub(pending);
        for part in parts {
            let rest = part.get(skip..).unwrap_or_default();
            skip -= part.len() - rest.len();
            if !rest.is_empty() {
                socket.output.append(rest, &mut self.pool);
            }
        }
        let backlog = socket.output.len();
        if backlog > 0 {
            self.await_writable(sock);
        }
        backlog
    }

    /// How many bytes a send moved; `None` where the socket has failed.
    pub(super) fn note_sent(&mut self, sock: Sock, sent: Result<usize, i32>) -> Option<usize> {
        let taken = match sent {
            Ok(taken) => taken,
            Err(libc::EAGAIN | libc::EINTR) => 0,
            Err(errno) => {
                let socket = self.sockets.find_mut(sock)?;
                socket.drop_outgoing(&mut self.pool);
                self.fail(sock, Failure::new(Op::Send, errno));
                return None;
            }
        };
        self.stats.sends += 1;
        self.stats.bytes_out += taken as u64;
        Some(taken)
    }

    /// The system took less than it was given: what is left follows when it can.
    pub(super) fn await_writable(&mut self, sock: Sock) {
        let Some(socket) = self.sockets.find_mut(sock) else { return };
        socket.blocked = true;
        self.stats.sends_blocked += 1;
        let to = Interest { write: true, ..socket.interest };
        self.watch_or_fail(sock, to);
    }
}
