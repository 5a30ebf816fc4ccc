//! The simulated driver: several loops on one network in memory, under one virtual clock, where a
//! seed decides whose turn it is, how bytes are cut and what breaks.
//!
//! ```
//! use io::{Addr, Faults, Loop, Options, SimNet};
//! # use io::{Driver, Edge, Failure, Listener, Sock};
//! # struct Quiet;
//! # impl io::Service for Quiet {
//! #     type Mail = ();
//! #     fn on_accepted<D: Driver>(&mut self, _: &mut Edge<D>, _: Listener, _: Sock, _: Addr) {}
//! #     fn on_connected<D: Driver>(
//! #         &mut self, _: &mut Edge<D>, _: Sock, _: Result<(), Failure>) {}
//! #     fn on_bytes<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock, bytes: &[u8]) -> usize {
//! #         bytes.len()
//! #     }
//! #     fn on_gone<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock, _: Option<Failure>) {}
//! #     fn on_drained<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock) {}
//! #     fn on_timer<D: Driver>(&mut self, _: &mut Edge<D>, _: u64) {}
//! #     fn on_mail<D: Driver>(&mut self, _: &mut Edge<D>, _: ()) {}
//! #     fn on_turn_end<D: Driver>(&mut self, _: &mut Edge<D>) {}
//! # }
//! let net = SimNet::new(42, Faults::cuts());
//! let addr = Addr::Tcp("127.0.0.1:3306".parse().unwrap());
//! let mut server = Loop::new(net.driver(), Quiet, Options::default());
//! server.add_listener(net.listen(&addr));
//! let mut client = Loop::new(net.driver(), Quiet, Options::default());
//! client.parts_mut().1.connect(&addr).unwrap();
//! while net.step(&mut [&mut server, &mut client]) {}
//! assert_eq!(server.stats().accepts, 1);
//! ```
//!
//! Deliberately knows no real socket and no thread; equal seeds give equal runs.

mod faults;
mod places;
mod signs;
mod wires;

use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;

pub use faults::Faults;
use signs::{Sign, When};
use wires::Wires;

use super::{Driver, Event, Interest, Started};
use crate::addr::Addr;
use crate::event_loop::{Loop, Service};
use crate::mailbox::Waker;
use crate::micros::Micros;
use crate::sockets::{Listener, Sock};

/// A loop as the simulated network sees it; every [`Loop`] on a [`SimDriver`] is one.
pub trait SimTurn {
    /// Whether a turn would find something to do now.
    fn is_ready(&self) -> bool;
    /// The next moment at which a turn will have something to do, if any is known.
    fn wakes_at(&self) -> Option<Micros>;
    /// One turn, without waiting.
    fn take_turn(&mut self);
}

impl<S: Service> SimTurn for Loop<SimDriver, S> {
    fn is_ready(&self) -> bool {
        if self.is_stopped() {
            return false;
        }
        let due = self.due_at().is_some_and(|at| at <= self.driver().now());
        due || self.has_work() || self.driver().first_sign() == When::Now
    }

    fn wakes_at(&self) -> Option<Micros> {
        if self.is_stopped() {
            return None;
        }
        let sign = match self.driver().first_sign() {
            When::Now => Some(self.driver().now()),
            When::At(at) => Some(at),
            When::Never => None,
        };
        self.due_at().into_iter().chain(sign).min()
    }

    fn take_turn(&mut self) {
        self.turn(Some(Micros(0)));
    }
}

/// A network in memory. Clones are the same network.
#[derive(Clone, Debug)]
pub struct SimNet {
    wires: Rc<RefCell<Wires>>,
}

impl SimNet {
    /// A network whose every accident follows from `seed`.
    pub fn new(seed: u64, faults: Faults) -> Self {
        SimNet { wires: Rc::new(RefCell::new(Wires::new(seed, faults))) }
    }

    /// A driver for one more loop.
    pub fn driver(&self) -> SimDriver {
        let id = self.wires.borrow_mut().add_driver();
        SimDriver { net: self.clone(), id, waker: Waker::flag(), places: Vec::new() }
    }

    /// A listener at `addr`, for [`Loop::add_listener`]. Several may stand at one address.
    pub fn listen(&self, addr: &Addr) -> SimListener {
        let place = self.wires.borrow_mut().listen(addr);
        SimListener { net: self.clone(), place }
    }

    /// The virtual time.
    pub fn now(&self) -> Micros {
        self.wires.borrow().now
    }

    /// Replaces the faults; existing connections keep their windows.
    pub fn set_faults(&self, faults: Faults) {
        self.wires.borrow_mut().faults = faults;
    }

    /// Throws the network's dice: a number below `bound`, for scripts that follow the seed too.
    pub fn random(&self, bound: u64) -> u64 {
        self.wires.borrow_mut().dice.below(bound)
    }

    /// Breaks all connections that were made to `addr`; the dice decide whether what was on its
    /// way still arrives. Says how many there were.
    pub fn kill(&self, addr: &Addr) -> usize {
        self.wires.borrow_mut().kill(addr)
    }

    /// Refuses connects to `addr` until [`SimNet::start`].
    pub fn stop(&self, addr: &Addr) {
        self.wires.borrow_mut().set_stopped(addr, true);
    }

    /// Takes connects to `addr` again.
    pub fn start(&self, addr: &Addr) {
        self.wires.borrow_mut().set_stopped(addr, false);
    }

    /// Lets nothing arrive on connections to `addr`, in both directions, for `span` from now.
    pub fn stall(&self, addr: &Addr, span: Micros) {
        let mut wires = self.wires.borrow_mut();
        let until = wires.now + span;
        wires.stall(addr, until);
    }

    /// How many sockets of connections to `addr` one loop has let go and no other taken over.
    pub fn between_loops(&self, addr: &Addr) -> usize {
        self.wires.borrow().count_between(addr)
    }

    /// One step: a loop chosen by the dice takes a turn, or, when none has anything to do, time
    /// moves to the next moment at which one will. False when nothing will ever happen again.
    pub fn step(&self, loops: &mut [&mut dyn SimTurn]) -> bool {
        let ready = loops.iter().filter(|turn| turn.is_ready()).count();
        if ready == 0 {
            let next = loops.iter().filter_map(|turn| turn.wakes_at()).min();
            let Some(next) = next else { return false };
            let mut wires = self.wires.borrow_mut();
            wires.now = wires.now.max(next);
            return true;
        }
        let chosen = self.wires.borrow_mut().dice.index(ready);
        let chosen = loops.iter_mut().filter(|turn| turn.is_ready()).nth(chosen);
        {
            let mut wires = self.wires.borrow_mut();
            let range = wires.faults.turn_us.clone();
            let span = Micros(wires.dice.within(&range));
            wires.now = wires.now + span;
        }
        if let Some(turn) = chosen {
            turn.take_turn();
        }
        true
    }
}

/// A listener in a simulated network.
#[derive(Debug)]
pub struct SimListener {
    net: SimNet,
    place: usize,
}

impl Drop for SimListener {
    fn drop(&mut self) {
        self.net.wires.borrow_mut().close_place(self.place);
    }
}

/// A socket in a simulated network; dropping it closes it.
pub struct SimSocket {
    net: SimNet,
    end: usize,
}

impl SimSocket {
    /// Its end, which stays open without it.
    fn keep_open(mut self) -> usize {
        std::mem::replace(&mut self.end, NO_END)
    }
}

impl fmt::Debug for SimSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimSocket({})", self.end)
    }
}

impl Drop for SimSocket {
    fn drop(&mut self) {
        self.net.wires.borrow_mut().close(self.end);
    }
}

/// What no end is called.
const NO_END: usize = 0;

/// One loop's way into a [`SimNet`].
#[derive(Debug)]
pub struct SimDriver {
    net: SimNet,
    id: usize,
    waker: Arc<Waker>,
    places: Vec<SimListener>,
}

impl SimDriver {
    fn first_sign(&self) -> When {
        self.net.wires.borrow_mut().first_sign(self.id)
    }
}

impl Driver for SimDriver {
    type Listening = SimListener;
    type Handle = SimSocket;

    fn now(&self) -> Micros {
        self.net.now()
    }

    fn waker(&self) -> Arc<Waker> {
        Arc::clone(&self.waker)
    }

    fn wait(&mut self, _now: Micros, _until: Option<Micros>, events: &mut Vec<Event>) {
        let mut signs = Vec::new();
        let mut wires = self.net.wires.borrow_mut();
        wires.signs(self.id, &mut signs);
        // in any order, and not all of them at once
        while !signs.is_empty() {
            let at = wires.dice.index(signs.len());
            let sign = signs.swap_remove(at);
            let late = wires.faults.late_event_percent;
            if wires.dice.percent(late) {
                continue;
            }
            events.push(match sign {
                Sign::Acceptable(listener) => Event::Acceptable(listener),
                Sign::Ready { sock, readable, writable, ended } => {
                    if ended {
                        wires.note_told(self.id, sock);
                    }
                    Event::Ready { sock, readable, writable, ended }
                }
            });
        }
    }

    fn add_listener(&mut self, listener: Listener, on: SimListener) {
        self.net.wires.borrow_mut().own_place(on.place, self.id, listener);
        self.places.push(on);
    }

    fn listening(_: OwnedFd) -> Option<SimListener> {
        None
    }

    fn remove_listener(&mut self, listener: Listener) {
        if let Some(on) = self.places.get(listener.0 as usize) {
            self.net.wires.borrow_mut().close_place(on.place);
        }
    }

    fn set_accepting(&mut self, listener: Listener, accepting: bool) -> Result<(), i32> {
        let Some(on) = self.places.get(listener.0 as usize) else { return Err(libc::EBADF) };
        self.net.wires.borrow_mut().set_accepting(on.place, accepting);
        Ok(())
    }

    fn accept(&mut self, listener: Listener) -> Result<(SimSocket, Addr), i32> {
        let Some(on) = self.places.get(listener.0 as usize) else { return Err(libc::EBADF) };
        let (end, from) = self.net.wires.borrow_mut().accept(on.place)?;
        Ok((SimSocket { net: self.net.clone(), end }, from))
    }

    fn connect(&mut self, to: &Addr) -> Result<Started<SimSocket>, i32> {
        let end = self.net.wires.borrow_mut().connect(self.id, to);
        Ok(Started::Pending(SimSocket { net: self.net.clone(), end }))
    }

    fn tune(&mut self, _handle: &SimSocket, _addr: &Addr, _keepalive_s: Option<u32>) {}

    fn set_interest(
        &mut self,
        sock: Sock,
        handle: &SimSocket,
        _from: Interest,
        to: Interest,
    ) -> Result<(), i32> {
        self.net.wires.borrow_mut().register(handle.end, self.id, sock, to);
        Ok(())
    }

    fn recv(&mut self, handle: &SimSocket, into: &mut [u8]) -> Result<usize, i32> {
        self.net.wires.borrow_mut().recv(handle.end, into)
    }

    fn send(&mut self, handle: &SimSocket, parts: &[&[u8]]) -> Result<usize, i32> {
        self.net.wires.borrow_mut().send(handle.end, parts)
    }

    fn unread(&self, handle: &SimSocket) -> usize {
        self.net.wires.borrow().unread(handle.end)
    }

    fn pending_error(&self, handle: &SimSocket) -> i32 {
        self.net.wires.borrow_mut().pending_error(handle.end)
    }

    fn detach(&mut self, _sock: Sock, handle: SimSocket, _from: Interest) -> Option<OwnedFd> {
        // whoever gets it knows the end by the number of this
        let token = OwnedFd::from(File::open("/dev/null").ok()?);
        let end = handle.keep_open();
        self.net.wires.borrow_mut().let_go(end, token.as_raw_fd());
        Some(token)
    }

    fn attach(&mut self, token: OwnedFd) -> Option<SimSocket> {
        let end = self.net.wires.borrow_mut().take_over(token.as_raw_fd())?;
        Some(SimSocket { net: self.net.clone(), end })
    }

    fn shutdown_send(&mut self, handle: &SimSocket) {
        self.net.wires.borrow_mut().shutdown_send(handle.end);
    }

    fn close(&mut self, _sock: Sock, handle: SimSocket, _interest: Interest) {
        drop(handle);
    }
}
