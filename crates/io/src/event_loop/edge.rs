//! What a service may ask of its loop. Deliberately never calls the service back: everything a
//! request causes is reported later in the turn.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use super::options::{LoopStats, Options};
use crate::addr::{Addr, Failure, Op};
use crate::buffer::BufferPool;
use crate::codec::Coded;
use crate::driver::{Driver, Interest, Started};
use crate::micros::Micros;
use crate::sockets::{Ended, Listener, Phase, Sock, Socket, Table};
use crate::timers::Timers;

/// How long accepting rests when the process has no descriptors or memory left.
const ACCEPT_REST: Micros = Micros::from_ms(100);

/// A socket between two loops, with its codecs; dropping it closes the socket.
#[derive(Debug)]
pub struct Detached {
    socket: OwnedFd,
    coded: Option<Box<Coded>>,
}

/// The loop as its service sees it: sockets, time, and what to do with them.
pub struct Edge<D: Driver> {
    pub(super) driver: D,
    pub(super) now: Micros,
    pub(super) sockets: Table<D::Handle>,
    pub(super) pool: BufferPool,
    pub(super) timers: Timers,
    /// When sockets may be sent more that are held back.
    pub(super) held: Timers,
    /// Sockets with queued bytes, flushed at the end of the turn.
    pub(super) dirty: Vec<Sock>,
    /// Sockets whose kept bytes are to be offered again.
    pub(super) offers: Vec<Sock>,
    /// Sockets whose codecs go on decoding in the next turn.
    pub(super) decoding: Vec<Sock>,
    /// Bytes that codecs have decoded so far; begins anew at the end of its range.
    pub(super) decoded: usize,
    /// Connects that completed at once and are not reported yet.
    pub(super) connected: Vec<Sock>,
    /// Ends that are not reported yet.
    pub(super) ended: Vec<Ended>,
    /// Sockets whose codecs held something back that is sent now; not reported yet.
    pub(super) drained: Vec<Sock>,
    /// When to give up on sockets that drain; all spans are equal, so the list is in order.
    pub(super) closing: VecDeque<(Micros, Sock)>,
    pub(super) accepting: Accepting,
    pub(super) stats: LoopStats,
    pub(super) stopping: bool,
    pub(super) options: Options,
}

/// Which listeners are on, and why not.
#[derive(Debug)]
pub(super) struct Accepting {
    wanted: bool,
    retry_at: Option<Micros>,
    /// Whether each of them is on; those that were let go of are none.
    on: Vec<Option<bool>>,
}

impl<D: Driver> Edge<D> {
    pub(super) fn new(driver: D, options: Options) -> Self {
        Edge {
            now: driver.now(),
            driver,
            sockets: Table::new(),
            pool: BufferPool::new(options.pooled_bytes_max),
            timers: Timers::default(),
            held: Timers::default(),
            dirty: Vec::new(),
            offers: Vec::new(),
            decoding: Vec::new(),
            decoded: 0,
            connected: Vec::new(),
            ended: Vec::new(),
            drained: Vec::new(),
            closing: VecDeque::new(),
            accepting: Accepting { wanted: true, retry_at: None, on: Vec::new() },
            stats: LoopStats::default(),
            stopping: false,
            options,
        }
    }

    /// The time, read once a turn.
    pub fn now(&self) -> Micros {
        self.now
    }

    /// Of sockets made from now on, ends that vanished are noticed like this, as
    /// [`crate::Options::keepalive_s`] says.
    pub fn keep_alive(&mut self, seconds: Option<u32>) {
        self.options.keepalive_s = seconds;
    }

    /// From now on accepted sockets are sent so many bytes in a second at most, as
    /// [`crate::Options::bytes_per_s_max`] says.
    pub fn limit_rate(&mut self, bytes_per_s: u32) {
        self.options.bytes_per_s_max = bytes_per_s;
    }

    /// Starts a connection; [`crate::Service::on_connected`] tells how it ended. Sends before that
    /// are kept. A connect that fails at once fails here and nothing follows.
    pub fn connect(&mut self, to: &Addr) -> Result<Sock, Failure> {
        let started = self.driver.connect(to).map_err(|errno| Failure::new(Op::Connect, errno))?;
        self.stats.connects += 1;
        let (handle, done) = match started {
            Started::Done(handle) => (handle, true),
            Started::Pending(handle) => (handle, false),
        };
        self.driver.tune(&handle, to, self.options.keepalive_s);
        let sock = self.sockets.insert(Socket::new(handle, Phase::Connecting, Interest::NONE));
        if done {
            self.connected.push(sock);
        } else if let Err(errno) = self.watch(sock, Interest::WRITE) {
            self.close(sock);
            return Err(Failure::new(Op::Register, errno));
        }
        Ok(sock)
    }

    /// Closes at once; nothing more is reported. What was queued is sent, but what the system does
    /// not take is dropped.
    pub fn close(&mut self, sock: Sock) {
        self.let_loose(sock);
        self.flush(sock);
        self.say_farewell(sock);
        let Some(mut socket) = self.sockets.remove(sock) else { return };
        socket.input.clear(&mut self.pool);
        socket.output.clear(&mut self.pool);
        if let Some(coded) = &mut socket.coded {
            coded.clear(&mut self.pool);
        }
        self.driver.close(sock, socket.handle, socket.interest);
    }

    /// Lets a socket go without closing it, for [`Edge::attach`] of another loop. Where that cannot
    /// be, because bytes wait in either direction, it is closed.
    pub fn detach(&mut self, sock: Sock) -> Option<Detached> {
        self.flush(sock);
        let socket = self.sockets.find(sock)?;
        let has_ungiven = socket.coded.as_ref().is_some_and(|coded| coded.has_ungiven());
        let is_quiet = socket.reports() && !socket.ended && socket.unsent() == 0;
        let is_quiet = is_quiet && socket.input.is_empty() && !has_ungiven;
        if !is_quiet {
            self.close(sock);
            return None;
        }
        let socket = self.sockets.remove(sock)?;
        let coded = socket.coded;
        let socket = self.driver.detach(sock, socket.handle, socket.interest)?;
        Some(Detached { socket, coded })
    }

    /// Takes over a socket that another loop let go; `None` when it cannot be watched and is
    /// closed.
    pub fn attach(&mut self, detached: Detached) -> Option<Sock> {
        let handle = self.driver.attach(detached.socket)?;
        let mut socket = Socket::new(handle, Phase::Open, Interest::NONE);
        socket.coded = detached.coded;
        if let Some(coded) = &mut socket.coded {
            coded.goes_on = false;
        }
        let sock = self.sockets.insert(socket);
        if self.watch(sock, Interest::READ).is_err() {
            self.close(sock);
            return None;
        }
        Some(sock)
    }

    /// Stops receiving. What arrived already is kept and not offered until [`Edge::resume`].
    /// Costs nothing unless bytes do arrive meanwhile, so it may be used freely.
    pub fn pause(&mut self, sock: Sock) {
        if let Some(socket) = self.sockets.find_mut(sock) {
            socket.paused = true;
            socket.offered = false;
        }
    }

    /// Receives again; bytes that were kept are offered again this turn.
    pub fn resume(&mut self, sock: Sock) {
        let Some(socket) = self.sockets.find_mut(sock) else { return };
        if !socket.paused {
            return;
        }
        socket.paused = false;
        if !socket.reports() {
            return;
        }
        self.receive_again(sock);
        self.redeliver(sock);
    }

    /// Has bytes of a socket reported again that decodes no more of what came before; of a paused
    /// one too, for an end that came meanwhile is told anew when it is muted.
    pub(super) fn receive_again(&mut self, sock: Sock) {
        let Some(socket) = self.sockets.find(sock) else { return };
        let goes_on = socket.coded.as_ref().is_some_and(|coded| coded.goes_on);
        let wants = socket.reports() && !socket.ended && !goes_on;
        if wants && !socket.interest.read {
            let to = Interest { read: true, ..socket.interest };
            self.watch_or_fail(sock, to);
        }
    }

    /// Offers the kept bytes again this turn, if there are any; also when the socket is paused.
    pub fn redeliver(&mut self, sock: Sock) {
        if let Some(socket) = self.sockets.find_mut(sock)
            && !socket.offered
        {
            socket.offered = true;
            self.offers.push(sock);
        }
    }

    /// Whether the system holds bytes of a socket that were not received yet.
    pub fn has_unread(&self, sock: Sock) -> bool {
        self.sockets.find(sock).is_some_and(|socket| self.driver.unread(&socket.handle) > 0)
    }

    /// Calls [`crate::Service::on_timer`] with `key` once, at `at` or soon after. Timers cannot be
    /// cancelled, and several may have one key: the service checks whether the reason still holds.
    pub fn set_timer(&mut self, key: u64, at: Micros) {
        self.timers.set(key, at);
    }

    /// Stops accepting on all listeners; connections wait in the system's backlog.
    pub fn pause_accepting(&mut self) {
        self.accepting.wanted = false;
        self.refresh_accepting();
    }

    /// Accepts again.
    pub fn resume_accepting(&mut self) {
        self.accepting.wanted = true;
        self.refresh_accepting();
    }

    /// Takes over a listening socket of the system while the loop runs; `None` when the driver has
    /// no use for one.
    pub fn take_listener(&mut self, socket: OwnedFd) -> Option<Listener> {
        D::listening(socket).map(|on| self.add_listener(on))
    }

    /// Lets a listener go; what it accepted stays.
    pub fn remove_listener(&mut self, listener: Listener) {
        let found = self.accepting.on.get_mut(listener.0 as usize);
        if let Some(on) = found.and_then(Option::take) {
            if on {
                // a failure would be that it is off already
                let _ = self.driver.set_accepting(listener, false);
            }
            self.driver.remove_listener(listener);
        }
    }

    /// Makes the loop return after this turn.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// What the loop has done so far.
    pub fn stats(&self) -> LoopStats {
        LoopStats { sockets: self.sockets.len() as u64, ..self.stats }
    }

    /// How many received bytes of a socket the loop keeps, decoded or not, outside of its
    /// `on_bytes`.
    pub fn kept(&self, sock: Sock) -> usize {
        self.sockets.find(sock).map_or(0, Socket::kept)
    }

    /// What the system knows a socket by, and where it is on this side; `None` without a system
    /// below.
    pub fn local(&self, sock: Sock) -> Option<(i32, Addr)> {
        let socket = self.sockets.find(sock)?;
        self.driver.local(&socket.handle)
    }

    pub(super) fn add_listener(&mut self, on: D::Listening) -> Listener {
        let listener = Listener(
            u32::try_from(self.accepting.on.len()).expect("listeners are fewer than descriptors"),
        );
        self.accepting.on.push(Some(false));
        self.driver.add_listener(listener, on);
        self.refresh_accepting();
        listener
    }

    pub(super) fn accepts(&self) -> bool {
        self.accepting.wanted && self.accepting.retry_at.is_none() && !self.stopping
    }

    /// The process is out of something: rest a while.
    pub(super) fn rest_accepting(&mut self) {
        self.stats.accept_failures += 1;
        self.accepting.retry_at = Some(self.now + ACCEPT_REST);
        self.refresh_accepting();
    }

    pub(super) fn accept_retry_at(&self) -> Option<Micros> {
        self.accepting.retry_at
    }

    pub(super) fn end_accept_rest(&mut self) {
        if self.accepting.retry_at.is_some_and(|at| at <= self.now) {
            self.accepting.retry_at = None;
            self.refresh_accepting();
        }
    }

    fn refresh_accepting(&mut self) {
        let wanted = self.accepting.wanted && self.accepting.retry_at.is_none();
        for (listener, on) in (0_u32..).map(Listener).zip(&mut self.accepting.on) {
            let Some(on) = on else { continue };
            if *on == wanted {
                continue;
            }
            match self.driver.set_accepting(listener, wanted) {
                Ok(()) => *on = wanted,
                Err(_) => {
                    self.stats.accept_failures += 1;
                    self.accepting.retry_at = Some(self.now + ACCEPT_REST);
                }
            }
        }
    }

    /// Registers a freshly accepted socket; `None` when it could not be watched and is closed.
    pub(super) fn adopt(&mut self, handle: D::Handle, from: &Addr) -> Option<Sock> {
        self.driver.tune(&handle, from, self.options.keepalive_s);
        let socket = Socket::new(handle, Phase::Open, Interest::NONE);
        let sock = self.sockets.insert(Socket { is_paced: true, ..socket });
        if self.watch(sock, Interest::READ).is_err() {
            self.stats.accept_failures += 1;
            self.close(sock);
            return None;
        }
        self.stats.accepts += 1;
        Some(sock)
    }

    pub(super) fn watch(&mut self, sock: Sock, to: Interest) -> Result<(), i32> {
        let Some(socket) = self.sockets.find_mut(sock) else { return Ok(()) };
        if socket.interest != to {
            self.driver.set_interest(sock, &socket.handle, socket.interest, to)?;
            socket.interest = to;
        }
        Ok(())
    }

    pub(super) fn watch_or_fail(&mut self, sock: Sock, to: Interest) {
        if let Err(errno) = self.watch(sock, to) {
            self.fail(sock, Failure::new(Op::Register, errno));
        }
    }

    /// Stops reports of incoming bytes, for a socket that must not take them now. The end of what
    /// the other side sends is reported.
    pub(super) fn mute(&mut self, sock: Sock) {
        if let Some(socket) = self.sockets.find(sock) {
            let to = Interest { read: false, end: true, ..socket.interest };
            self.watch_or_fail(sock, to);
        }
    }

    /// Remembers that the socket is broken; `on_gone` tells later in the turn.
    pub(super) fn fail(&mut self, sock: Sock, failure: Failure) {
        let Some(socket) = self.sockets.find_mut(sock) else { return };
        match socket.phase {
            Phase::Open | Phase::Connecting => {
                socket.phase = Phase::Failed;
                self.ended.push((sock, Some(failure)));
            }
            Phase::Failed => {}
            Phase::Ending => socket.phase = Phase::Failed,
            Phase::Draining | Phase::Lingering => self.close(sock),
        }
    }
}
