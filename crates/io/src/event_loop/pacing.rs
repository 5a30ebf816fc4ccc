//! Sockets that are sent no more than so many bytes in a second: what may go out at a time, and
//! when the next may. Deliberately knows nothing of receiving.

use super::{Edge, Loop, Service};
use crate::driver::{Driver, Interest};
use crate::micros::Micros;
use crate::sockets::Sock;

const SECOND: u64 = 1_000_000;
/// A socket is sent its bytes of so much time at once, so that a high rate costs few sends.
const SHARE: u64 = SECOND / 10;

/// How many bytes go out at once.
fn share_bytes(bytes_per_s: u32) -> usize {
    let bytes = u64::from(bytes_per_s) * SHARE / SECOND;
    usize::try_from(bytes.max(1)).unwrap_or(usize::MAX)
}

/// How long so many bytes last.
fn lasts(bytes: usize, bytes_per_s: u32) -> Micros {
    Micros((bytes as u64).saturating_mul(SECOND) / u64::from(bytes_per_s.max(1)))
}

impl<D: Driver> Edge<D> {
    /// As `send_now`: a share of what waits, or nothing before its time.
    #[cold]
    pub(super) fn send_paced(&mut self, sock: Sock, parts: &[&[u8]]) -> usize {
        let (now, bytes_per_s) = (self.now, self.options.bytes_per_s_max);
        let Some(socket) = self.sockets.find_mut(sock) else { return 0 };
        for part in parts {
            socket.output.append(part, &mut self.pool);
        }
        let pending = socket.output.len();
        if pending == 0 {
            return 0;
        }
        if socket.free_at > now {
            return self.hold(sock);
        }
        let share = pending.min(share_bytes(bytes_per_s));
        let bytes = socket.output.bytes().get(..share).unwrap_or_default();
        let sent = self.driver.send(&socket.handle, &[bytes]);
        let Some(taken) = self.note_sent(sock, sent) else { return 0 };
        let Some(socket) = self.sockets.find_mut(sock) else { return 0 };
        socket.output.consume(taken, &mut self.pool);
        socket.free_at = now + lasts(taken, bytes_per_s);
        if taken == share {
            return if pending > share { self.hold(sock) } else { 0 };
        }
        let backlog = socket.output.len();
        self.await_writable(sock);
        backlog
    }

    /// What waits for a socket goes out when its time comes; how much that is.
    fn hold(&mut self, sock: Sock) -> usize {
        let Some(socket) = self.sockets.find_mut(sock) else { return 0 };
        (socket.blocked, socket.is_held) = (true, true);
        self.stats.sends_paced += 1;
        self.held.set(sock.to_raw(), socket.free_at);
        let backlog = socket.output.len();
        if socket.interest.write {
            let to = Interest { write: false, ..socket.interest };
            self.watch_or_fail(sock, to);
        }
        backlog
    }

    /// A socket that is about to be closed has no time to lose.
    pub(super) fn let_loose(&mut self, sock: Sock) {
        let Some(socket) = self.sockets.find_mut(sock) else { return };
        socket.is_paced = false;
        if std::mem::take(&mut socket.is_held) {
            socket.blocked = false;
            self.flush_later(sock);
        }
    }
}

impl<D: Driver, S: Service> Loop<D, S> {
    /// Goes on with the sockets whose time has come.
    pub(super) fn send_held(&mut self) {
        let mark = self.edge.held.mark();
        while let Some(raw) = self.edge.held.pop_due(self.edge.now, mark) {
            let sock = Sock::from_raw(raw);
            let socket = self.edge.sockets.find_mut(sock);
            let was_held = socket.is_some_and(|socket| std::mem::take(&mut socket.is_held));
            if was_held && self.edge.unblock(sock) {
                self.service.on_drained(&mut self.edge, sock);
            }
        }
    }
}
