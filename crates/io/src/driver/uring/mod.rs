//! The driver on io_uring: multishot accept and receive into provided blocks; sends stay plain
//! `send(2)`, which cost the same and say at once what was taken.
//!
//! Every operation that goes on by itself is a [`Shot`]: wanted or not, and armed, idle, or on its
//! way from one to the other; a receive is never armed twice, or bytes would change places. The
//! descriptor of a closed socket stays open until what names it has been submitted, so that an
//! operation can never meet a number's next owner; the names in completions carry generations, so
//! that a socket's late completions are not heard by the slot's next.
//!
//! Deliberately knows neither buffers of unconsumed bytes nor phases.

mod blocks;
mod ring;

use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

pub use blocks::Block;
use ring::{Completion, Ring};

use super::epoll::{start_connect, tune};
use super::{Driver, Event, Interest, Started};
use crate::addr::{Addr, Failure, Op};
use crate::mailbox::Waker;
use crate::micros::Micros;
use crate::sockets::{Listener, Sock};
use crate::sys::{fds, socket};

/// What an operation is for; the upper bits of a token's slot part.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Kind {
    Recv,
    Write,
    Accept,
    Bell,
    Cancel,
}

/// The most completions taken in a turn.
const COMPLETIONS_MAX: usize = 1024;
const KIND_SHIFT: u32 = 28;
const INDEX_MASK: u64 = (1 << KIND_SHIFT) - 1;

fn token(kind: Kind, sock: Sock) -> u64 {
    debug_assert!(sock.index() as u64 <= INDEX_MASK);
    sock.to_raw() | (kind as u64) << KIND_SHIFT
}

fn kind_of(token: u64) -> Kind {
    match token >> KIND_SHIFT & 0xf {
        0 => Kind::Recv,
        1 => Kind::Write,
        2 => Kind::Accept,
        3 => Kind::Bell,
        _ => Kind::Cancel,
    }
}

fn sock_of(token: u64) -> Sock {
    Sock::from_raw(token & !(0xf << KIND_SHIFT))
}

/// Where an operation that goes on by itself stands.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Idle,
    Armed,
    /// Cancelled; its last completion is still to come.
    Ending,
}

#[derive(Copy, Clone, Debug, Default)]
struct Shot {
    stage: Stage,
    wanted: bool,
}

/// What has to be done to make a shot as wanted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Change {
    Arm,
    Cancel,
    Nothing,
}

impl Shot {
    fn want(&mut self, wanted: bool) -> Change {
        self.wanted = wanted;
        self.catch_up()
    }

    fn catch_up(&mut self) -> Change {
        match (self.stage, self.wanted) {
            (Stage::Idle, true) => {
                self.stage = Stage::Armed;
                Change::Arm
            }
            (Stage::Armed, false) => {
                self.stage = Stage::Ending;
                Change::Cancel
            }
            _ => Change::Nothing,
        }
    }
}

/// The operations of one socket.
#[derive(Debug)]
struct Slot {
    sock: Sock,
    fd: RawFd,
    recv: Shot,
    write: Shot,
}

/// Completions by io_uring.
#[derive(Debug)]
pub struct UringDriver {
    ring: Ring,
    waker: Arc<Waker>,
    /// By their numbers; those that were let go of have no socket.
    listeners: Vec<(Option<OwnedFd>, Shot)>,
    slots: Vec<Option<Slot>>,
    /// Sockets whose writability was reported and may be wanted again.
    written: Vec<Sock>,
    /// Sockets whose receive found no block; bytes wait for them.
    starved: VecDeque<Sock>,
    /// Closed sockets that unsubmitted operations may name.
    closing: Vec<OwnedFd>,
}

impl UringDriver {
    /// A driver; from its first wait on it belongs to the thread that waits.
    pub fn new() -> Result<Self, Failure> {
        Self::start().map_err(|errno| Failure::new(Op::Setup, errno))
    }

    fn start() -> Result<Self, i32> {
        let mut driver = UringDriver {
            ring: Ring::new()?,
            waker: Waker::eventfd()?,
            listeners: Vec::new(),
            slots: Vec::new(),
            written: Vec::new(),
            starved: VecDeque::new(),
            closing: Vec::new(),
        };
        driver.watch_bell();
        Ok(driver)
    }

    fn watch_bell(&mut self) {
        if let Some(bell) = self.waker.descriptor() {
            self.ring.bell(bell.as_raw_fd(), token(Kind::Bell, Sock::from_raw(0)));
        }
    }

    fn find(&mut self, sock: Sock) -> Option<&mut Slot> {
        self.slots.get_mut(sock.index())?.as_mut().filter(|slot| slot.sock == sock)
    }

    fn change_recv(&mut self, sock: Sock, fd: RawFd, change: Change) {
        let name = token(Kind::Recv, sock);
        match change {
            Change::Arm => self.ring.recv(fd, name),
            Change::Cancel => self.ring.cancel(name, token(Kind::Cancel, sock)),
            Change::Nothing => {}
        }
    }

    fn change_accept(&mut self, listener: Listener, fd: RawFd, change: Change) {
        let sock = Sock::from_raw(u64::from(listener.0));
        let name = token(Kind::Accept, sock);
        match change {
            Change::Arm => self.ring.accept(fd, name),
            Change::Cancel => self.ring.cancel(name, token(Kind::Cancel, sock)),
            Change::Nothing => {}
        }
    }

    /// A reported writability is used up; asks again where it is still wanted.
    fn ask_again(&mut self) {
        while let Some(sock) = self.written.pop() {
            let Some(slot) = self.find(sock) else { continue };
            let fd = slot.fd;
            if slot.write.catch_up() == Change::Arm {
                self.ring.writable(fd, token(Kind::Write, sock));
            }
        }
    }

    /// Receives again for as many starved sockets as there are blocks. True when some are left,
    /// which then must not wait: their bytes have arrived, so nothing else may wake the loop.
    fn feed_starved(&mut self) -> bool {
        for _ in 0..self.ring.blocks_free() {
            let Some(sock) = self.starved.pop_front() else { return false };
            let Some(slot) = self.find(sock) else { continue };
            let (fd, change) = (slot.fd, slot.recv.catch_up());
            self.change_recv(sock, fd, change);
        }
        !self.starved.is_empty()
    }

    fn on_completion(&mut self, done: Completion, events: &mut Vec<Event<Self>>) {
        let sock = sock_of(done.token);
        match kind_of(done.token) {
            Kind::Recv => self.on_recv(sock, done, events),
            Kind::Write => {
                let Some(slot) = self.find(sock) else { return };
                slot.write.stage = Stage::Idle;
                if slot.write.wanted {
                    self.written.push(sock);
                    events.push(Event::Ready { sock, readable: false, writable: true });
                }
            }
            Kind::Accept => self.on_accept(Listener(sock.index() as u32), &done, events),
            Kind::Bell if !done.more => self.watch_bell(),
            Kind::Bell | Kind::Cancel => {}
        }
    }

    fn on_recv(&mut self, sock: Sock, done: Completion, events: &mut Vec<Event<Self>>) {
        let (result, more) = (done.result, done.more);
        let Some(slot) = self.find(sock) else {
            // closed meanwhile
            if let Some(block) = done.block {
                self.ring.give(block);
            }
            return;
        };
        match done.block {
            Some(block) if result > 0 => events.push(Event::Received(sock, block)),
            Some(block) => {
                self.ring.give(block);
                return self.on_recv(sock, Completion { block: None, ..done }, events);
            }
            None => {}
        }
        if more {
            return;
        }
        slot.recv.stage = Stage::Idle;
        let goes_on = result > 0 || matches!(-result, libc::ECANCELED | libc::EINTR | libc::EAGAIN);
        if -result == libc::ENOBUFS {
            // not now: the blocks come back when this turn's events have been delivered
            self.starved.push_back(sock);
        } else if goes_on {
            let (fd, change) = (slot.fd, slot.recv.catch_up());
            self.change_recv(sock, fd, change);
        } else {
            slot.recv.wanted = false;
            events.push(Event::Ended(sock, -result));
        }
    }

    fn on_accept(&mut self, listener: Listener, done: &Completion, events: &mut Vec<Event<Self>>) {
        if done.result >= 0 {
            // SAFETY: the kernel just made this descriptor for us, and the completion that says
            // so is seen once.
            let handle = unsafe { OwnedFd::from_raw_fd(done.result) };
            // unnamed ends of Unix sockets, and those that left already, have no address
            let from = socket::other_address(handle.as_fd())
                .unwrap_or_else(|_| Addr::Unix(std::path::PathBuf::new()));
            events.push(Event::Accepted(listener, handle, from));
        }
        if done.more {
            return;
        }
        let Some((on, shot)) = self.listeners.get_mut(listener.0 as usize) else { return };
        shot.stage = Stage::Idle;
        if done.result >= 0 || matches!(-done.result, libc::ECANCELED | libc::EINTR) {
            let (fd, change) = (on.as_ref().map(AsRawFd::as_raw_fd), shot.catch_up());
            if let Some(fd) = fd {
                self.change_accept(listener, fd, change);
            }
        } else {
            shot.wanted = false;
            events.push(Event::AcceptFailed(listener, -done.result));
        }
    }
}

impl Driver for UringDriver {
    type Listening = OwnedFd;
    type Handle = OwnedFd;
    type Chunk = Block;

    fn now(&self) -> Micros {
        fds::monotonic()
    }

    fn waker(&self) -> Arc<Waker> {
        Arc::clone(&self.waker)
    }

    fn wait(&mut self, now: Micros, until: Option<Micros>, events: &mut Vec<Event<Self>>) {
        self.ask_again();
        let until = if self.feed_starved() { Some(now) } else { until };
        self.ring.wait(until.map(|until| until.since(now)));
        // everything that named them is submitted
        self.closing.clear();
        for _ in 0..COMPLETIONS_MAX {
            let Some(done) = self.ring.next() else { return };
            self.on_completion(done, events);
        }
    }

    fn recycle(&mut self, chunk: Block) {
        self.ring.give(chunk);
    }

    fn add_listener(&mut self, listener: Listener, on: OwnedFd) {
        debug_assert_eq!(self.listeners.len(), listener.0 as usize);
        self.listeners.push((Some(on), Shot::default()));
    }

    fn listening(socket: OwnedFd) -> Option<OwnedFd> {
        Some(socket)
    }

    fn remove_listener(&mut self, listener: Listener) {
        if let Some((on, _)) = self.listeners.get_mut(listener.0 as usize) {
            // an operation that is cancelled may not be submitted yet
            self.closing.extend(on.take());
        }
    }

    fn set_accepting(&mut self, listener: Listener, accepting: bool) -> Result<(), i32> {
        let found = self.listeners.get_mut(listener.0 as usize);
        let Some((Some(on), shot)) = found else { return Err(libc::EBADF) };
        let (fd, change) = (on.as_raw_fd(), shot.want(accepting));
        self.change_accept(listener, fd, change);
        Ok(())
    }

    fn accept(&mut self, _listener: Listener) -> Result<(OwnedFd, Addr), i32> {
        Err(libc::EAGAIN)
    }

    fn connect(&mut self, to: &Addr) -> Result<Started<OwnedFd>, i32> {
        start_connect(to)
    }

    fn tune(&mut self, handle: &OwnedFd, addr: &Addr, keepalive_s: Option<u32>) {
        tune(handle, addr, keepalive_s);
    }

    fn set_interest(
        &mut self,
        sock: Sock,
        handle: &OwnedFd,
        _from: Interest,
        to: Interest,
    ) -> Result<(), i32> {
        let index = sock.index();
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        let fd = handle.as_raw_fd();
        let fresh = Slot { sock, fd, recv: Shot::default(), write: Shot::default() };
        let place = &mut self.slots[index];
        let slot = match place {
            Some(slot) if slot.sock == sock => slot,
            _ => place.insert(fresh),
        };
        let recv = slot.recv.want(to.read);
        // a question for writability answers itself; it is not worth a cancel
        slot.write.wanted = to.write;
        let write = if to.write { slot.write.catch_up() } else { Change::Nothing };
        self.change_recv(sock, fd, recv);
        if write == Change::Arm {
            self.ring.writable(fd, token(Kind::Write, sock));
        }
        Ok(())
    }

    /// Never has anything: bytes come as [`Event::Received`].
    fn recv(&mut self, _handle: &OwnedFd, _into: &mut [u8]) -> Result<usize, i32> {
        Err(libc::EAGAIN)
    }

    fn send(&mut self, handle: &OwnedFd, parts: &[&[u8]]) -> Result<usize, i32> {
        socket::send(handle, parts)
    }

    fn unread(&self, handle: &OwnedFd) -> usize {
        socket::unread(handle)
    }

    fn local(&self, handle: &OwnedFd) -> Option<(i32, Addr)> {
        Some((handle.as_raw_fd(), crate::listen::bound_to(handle).ok()?))
    }

    fn pending_error(&self, handle: &OwnedFd) -> i32 {
        socket::pending_error(handle)
    }

    fn shutdown_send(&mut self, handle: &OwnedFd) {
        socket::shutdown_send(handle);
    }

    fn close(&mut self, sock: Sock, handle: OwnedFd, _interest: Interest) {
        // an operation that is being cancelled keeps the socket open; the other side need not wait
        socket::shutdown_send(&handle);
        if let Some(slot) = self.slots.get_mut(sock.index())
            && let Some(open) = slot.take_if(|slot| slot.sock == sock)
        {
            for (kind, shot) in [(Kind::Recv, open.recv), (Kind::Write, open.write)] {
                if shot.stage == Stage::Armed {
                    self.ring.cancel(token(kind, sock), token(Kind::Cancel, sock));
                }
            }
        }
        self.closing.push(handle);
    }
}

/// Whether io_uring can carry the driver here, tried for real: a ring, provided blocks, and a
/// byte received by a multishot receive. On `Err`, the reason in words.
pub fn probe_uring() -> Result<(), String> {
    let mut driver = UringDriver::new().map_err(refusal)?;
    let (one, two) = UnixStream::pair().map_err(|error| error.to_string())?;
    let (one, two) = (OwnedFd::from(one), OwnedFd::from(two));
    let sock = Sock::from_raw(0);
    let outcome = driver
        .set_interest(sock, &one, Interest::NONE, Interest::READ)
        .and_then(|()| driver.send(&two, &[b"?"]));
    outcome.map_err(|errno| Failure::new(Op::Send, errno).to_string())?;
    let now = driver.now();
    let mut events = Vec::new();
    driver.wait(now, Some(now + Micros::from_secs(1)), &mut events);
    match events.as_slice() {
        [Event::Received(at, block)] if *at == sock && block.as_ref() == b"?" => Ok(()),
        [Event::Ended(_, errno)] => {
            Err(format!("multishot receive: {}", Failure::new(Op::Recv, *errno)))
        }
        other => Err(format!("multishot receive did not work: {other:?}")),
    }
}

fn refusal(failure: Failure) -> String {
    match failure.errno {
        libc::ENOSYS => "the kernel has no io_uring, or one that is too old".to_string(),
        libc::EPERM => "refused (seccomp profile or kernel.io_uring_disabled)".to_string(),
        _ => failure.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_send<T: Send>() {}

    #[test]
    fn a_driver_may_be_made_on_one_thread_and_run_on_another() {
        is_send::<UringDriver>();
        is_send::<crate::EpollDriver>();
    }

    #[test]
    fn a_refusal_says_where_to_look() {
        let failure = |errno| Failure::new(Op::Setup, errno);
        assert!(refusal(failure(libc::EPERM)).contains("seccomp"));
        assert_eq!(refusal(failure(libc::ENOMEM)), "set up: Cannot allocate memory (12)");
    }

    #[test]
    fn tokens_keep_kind_slot_and_generation_apart() {
        let sock = Sock::new(0x0abc_def0, 0xffff_fffe);
        for kind in [Kind::Recv, Kind::Write, Kind::Accept, Kind::Bell, Kind::Cancel] {
            assert_eq!(kind_of(token(kind, sock)), kind);
            assert_eq!(sock_of(token(kind, sock)), sock);
        }
    }

    #[test]
    fn a_receive_is_never_armed_twice() {
        let mut shot = Shot::default();
        assert_eq!(shot.want(true), Change::Arm);
        assert_eq!(shot.want(true), Change::Nothing);
        assert_eq!(shot.want(false), Change::Cancel);
        assert_eq!(shot.want(true), Change::Nothing);
        shot.stage = Stage::Idle;
        assert_eq!(shot.catch_up(), Change::Arm);
    }

    #[test]
    fn a_dropped_driver_ends_what_it_armed() {
        if let Err(why) = probe_uring() {
            eprintln!("SKIPPED: io_uring cannot be tried here: {why}");
            return;
        }
        let mut driver = UringDriver::new().unwrap();
        let pairs: Vec<_> = (0..300).map(|_| UnixStream::pair().unwrap()).collect();
        for (index, (one, _)) in (0..).zip(&pairs) {
            let handle = OwnedFd::from(one.try_clone().unwrap());
            let sock = Sock::new(index, 0);
            driver.set_interest(sock, &handle, Interest::NONE, Interest::READ).unwrap();
            driver.closing.push(handle);
        }
        driver.wait(Micros(0), Some(Micros(0)), &mut Vec::new());
        assert!(driver.ring.end_all(u64::MAX), "the kernel holds on to operations");
    }
}
