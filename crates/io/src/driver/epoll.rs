//! The driver every Linux has: level-triggered epoll and plain socket calls.
//!
//! A socket stays registered for reading from accept to close, so that a query costs no
//! `epoll_ctl`; writability is asked for only while there is a backlog. Level triggering makes a
//! turn that did not take everything harmless: the rest is reported again.
//!
//! Deliberately knows neither buffers nor phases.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use super::{Driver, Event, Interest, Started};
use crate::addr::{Addr, Failure, Op};
use crate::mailbox::Waker;
use crate::micros::Micros;
use crate::sockets::{Listener, Sock};
use crate::sys::address::RawAddress;
use crate::sys::epoll::{Change, Epoll};
use crate::sys::{fds, socket};

/// The slot numbers from here on name no sockets: listeners count up, the bell is the last.
const LISTENERS_FROM: u32 = u32::MAX - 0x1_0000;
const BELL: u32 = u32::MAX;

/// Readiness by level-triggered epoll.
#[derive(Debug)]
pub struct EpollDriver {
    epoll: Epoll,
    waker: Arc<Waker>,
    /// By their numbers; those that were let go of are none.
    listeners: Vec<Option<OwnedFd>>,
    events: Vec<libc::epoll_event>,
}

impl EpollDriver {
    /// A driver that takes up to 256 events a turn.
    pub fn new() -> Result<Self, Failure> {
        Self::with_events_max(256)
    }

    /// A driver that takes up to `events_max` events a turn.
    pub fn with_events_max(events_max: usize) -> Result<Self, Failure> {
        Self::start(events_max).map_err(|errno| Failure::new(Op::Setup, errno))
    }

    fn start(events_max: usize) -> Result<Self, i32> {
        let epoll = Epoll::new()?;
        let waker = Waker::eventfd()?;
        if let Some(bell) = waker.descriptor() {
            // an edge for each ring: nobody has to read the counter
            let events = libc::EPOLLIN | libc::EPOLLET;
            epoll.control(Change::Add, bell, events, u64::from(BELL))?;
        }
        let events = Vec::with_capacity(events_max.max(1));
        Ok(EpollDriver { epoll, waker, listeners: Vec::new(), events })
    }

    fn listener(&self, listener: Listener) -> Result<&OwnedFd, i32> {
        let found = self.listeners.get(listener.0 as usize);
        found.and_then(Option::as_ref).ok_or(libc::EBADF)
    }
}

impl Driver for EpollDriver {
    type Listening = OwnedFd;
    type Handle = OwnedFd;

    fn now(&self) -> Micros {
        fds::monotonic()
    }

    fn waker(&self) -> Arc<Waker> {
        Arc::clone(&self.waker)
    }

    fn wait(&mut self, now: Micros, until: Option<Micros>, events: &mut Vec<Event>) {
        self.epoll.wait(until.map(|until| until.since(now)), &mut self.events);
        for event in &self.events {
            let flags = event.events as i32;
            let sock = Sock::from_raw(event.u64);
            let slot = sock.slot();
            if slot == BELL {
                continue;
            }
            if slot >= LISTENERS_FROM {
                events.push(Event::Acceptable(Listener(slot - LISTENERS_FROM)));
                continue;
            }
            let broken = flags & (libc::EPOLLERR | libc::EPOLLHUP) != 0;
            events.push(Event::Ready {
                sock,
                readable: broken || flags & libc::EPOLLIN != 0,
                writable: broken || flags & libc::EPOLLOUT != 0,
                ended: flags & libc::EPOLLRDHUP != 0,
            });
        }
    }

    fn add_listener(&mut self, listener: Listener, on: OwnedFd) {
        debug_assert_eq!(self.listeners.len(), listener.0 as usize);
        self.listeners.push(Some(on));
    }

    fn listening(socket: OwnedFd) -> Option<OwnedFd> {
        Some(socket)
    }

    fn remove_listener(&mut self, listener: Listener) {
        if let Some(on) = self.listeners.get_mut(listener.0 as usize) {
            *on = None;
        }
    }

    fn set_accepting(&mut self, listener: Listener, accepting: bool) -> Result<(), i32> {
        let on = self.listener(listener)?;
        let change = if accepting { Change::Add } else { Change::Remove };
        // of the workers that share a Unix listener, one is woken
        let events = libc::EPOLLIN | libc::EPOLLEXCLUSIVE;
        let data = u64::from(LISTENERS_FROM + listener.0);
        self.epoll.control(change, on.as_fd(), events, data)
    }

    fn accept(&mut self, listener: Listener) -> Result<(OwnedFd, Addr), i32> {
        socket::accept(self.listener(listener)?.as_fd())
    }

    fn connect(&mut self, to: &Addr) -> Result<Started<OwnedFd>, i32> {
        let address = RawAddress::new(to)?;
        let fd = socket::stream(&address)?;
        let done = socket::connect(&fd, &address)?;
        Ok(if done { Started::Done(fd) } else { Started::Pending(fd) })
    }

    fn tune(&mut self, handle: &OwnedFd, addr: &Addr, keepalive_s: Option<u32>) {
        if let Addr::Tcp(_) = addr {
            socket::set_no_delay(handle.as_fd());
            if let Some(seconds) = keepalive_s {
                socket::set_keepalive(handle.as_fd(), seconds);
            }
        }
    }

    fn set_interest(
        &mut self,
        sock: Sock,
        handle: &OwnedFd,
        from: Interest,
        to: Interest,
    ) -> Result<(), i32> {
        debug_assert!(sock.slot() < LISTENERS_FROM);
        let change = match (from, to) {
            (from, to) if from == to => return Ok(()),
            (Interest::NONE, _) => Change::Add,
            // a registered socket reports failures even when asked for nothing, again and again
            (_, Interest::NONE) => Change::Remove,
            _ => Change::Modify,
        };
        let read = if to.read { libc::EPOLLIN } else { 0 };
        let write = if to.write { libc::EPOLLOUT } else { 0 };
        // an edge for each change: the end of a stream lasts
        let end = if to.is_end() { libc::EPOLLRDHUP | libc::EPOLLET } else { 0 };
        self.epoll.control(change, handle.as_fd(), read | write | end, sock.to_raw())
    }

    fn recv(&mut self, handle: &OwnedFd, into: &mut [u8]) -> Result<usize, i32> {
        socket::recv(handle, into)
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

    fn detach(&mut self, sock: Sock, handle: OwnedFd, from: Interest) -> Option<OwnedFd> {
        // another set may have it only when this one has not
        self.set_interest(sock, &handle, from, Interest::NONE).ok()?;
        Some(handle)
    }

    fn attach(&mut self, socket: OwnedFd) -> Option<OwnedFd> {
        Some(socket)
    }

    fn pending_error(&self, handle: &OwnedFd) -> i32 {
        socket::pending_error(handle)
    }

    fn shutdown_send(&mut self, handle: &OwnedFd) {
        socket::shutdown_send(handle);
    }

    fn close(&mut self, _sock: Sock, handle: OwnedFd, _interest: Interest) {
        // closing the only descriptor of a socket also takes it out of the epoll set
        drop(handle);
    }
}
