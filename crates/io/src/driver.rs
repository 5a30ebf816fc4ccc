//! What a loop needs of the system below it: events in, sends tried at once.
//! Deliberately knows no buffers and no service; a driver never keeps bytes.

pub(crate) mod epoll;
pub(crate) mod sim;

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::addr::Addr;
use crate::mailbox::Waker;
use crate::micros::Micros;
use crate::sockets::{Listener, Sock};

/// What a driver is to report about a socket.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Interest {
    /// Bytes, the end of the stream, or a failure.
    pub read: bool,
    /// That the system takes bytes again, or that a connect completed.
    pub write: bool,
    /// That the other side ended what it sends, or is gone: once each, and only of a socket of
    /// which nothing else is to be reported.
    pub end: bool,
}

impl Interest {
    /// Nothing at all, not even a failure.
    pub const NONE: Interest = Interest { read: false, write: false, end: false };
    /// What an idle socket wants.
    pub const READ: Interest = Interest { read: true, ..Self::NONE };
    /// What a connecting socket wants.
    pub const WRITE: Interest = Interest { write: true, ..Self::NONE };

    /// Whether nothing but the end is to be reported.
    pub const fn is_end(self) -> bool {
        self.end && !self.read && !self.write
    }
}

/// A connect that did not fail at once.
#[derive(Debug)]
pub enum Started<H> {
    /// Connected already.
    Done(H),
    /// Connected or failed when the socket becomes writable.
    Pending(H),
}

/// Something that happened below.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// [`Driver::accept`] has something to give.
    Acceptable(Listener),
    /// The socket's state changed: [`Driver::recv`] or [`Driver::send`] will tell.
    Ready {
        /// The socket.
        sock: Sock,
        /// Bytes, the end, or a failure wait to be received.
        readable: bool,
        /// The system takes bytes, or a connect completed.
        writable: bool,
        /// The other side ended what it sends. Where the socket is `readable` too, though nobody
        /// asked for that, it is gone. Not told of sockets that are read.
        ended: bool,
    },
}

/// The system below a loop. All errors are system error numbers.
pub trait Driver: Sized {
    /// What a listener is made of.
    type Listening;
    /// What a socket is made of; dropping it closes the socket.
    type Handle: fmt::Debug;

    /// Reads the clock.
    fn now(&self) -> Micros;
    /// The bell that ends a wait from other threads.
    fn waker(&self) -> Arc<Waker>;
    /// Appends what happened to `events`, waiting for the first of it until `until` (for ever
    /// when `None`; not at all when that is not after `now`).
    fn wait(&mut self, now: Micros, until: Option<Micros>, events: &mut Vec<Event>);

    /// Takes a listener over; it reports nothing until [`Driver::set_accepting`].
    fn add_listener(&mut self, listener: Listener, on: Self::Listening);
    /// A listening socket of the system as this driver has it; `None` when it has none such.
    fn listening(socket: OwnedFd) -> Option<Self::Listening>;
    /// Lets a listener go; it is turned off, and never named again.
    fn remove_listener(&mut self, listener: Listener);
    /// Turns reports of a listener on or off.
    fn set_accepting(&mut self, listener: Listener, accepting: bool) -> Result<(), i32>;
    /// Takes one waiting connection; `EAGAIN` when there is none.
    fn accept(&mut self, listener: Listener) -> Result<(Self::Handle, Addr), i32>;
    /// Starts a connection.
    fn connect(&mut self, to: &Addr) -> Result<Started<Self::Handle>, i32>;
    /// Sets the socket's options: small packets at once, and whether vanished ends are noticed.
    fn tune(&mut self, handle: &Self::Handle, addr: &Addr, keepalive_s: Option<u32>);

    /// Changes what is reported for `sock`; a new socket comes from [`Interest::NONE`].
    fn set_interest(
        &mut self,
        sock: Sock,
        handle: &Self::Handle,
        from: Interest,
        to: Interest,
    ) -> Result<(), i32>;
    /// Receives what is there, without waiting; 0 is the end of the stream.
    fn recv(&mut self, handle: &Self::Handle, into: &mut [u8]) -> Result<usize, i32>;
    /// Sends what the system takes, without waiting; may take fewer parts than given.
    fn send(&mut self, handle: &Self::Handle, parts: &[&[u8]]) -> Result<usize, i32>;
    /// Received bytes that nobody has taken yet.
    fn unread(&self, handle: &Self::Handle) -> usize;
    /// The failure a pending connect ended with; 0 when it succeeded.
    fn pending_error(&self, handle: &Self::Handle) -> i32;

    /// What the system knows it by, and where it is on this side; `None` without a system.
    fn local(&self, _: &Self::Handle) -> Option<(i32, Addr)> {
        None
    }
    /// Lets a socket go without closing it, so that another driver may have it; closes it where
    /// that cannot be.
    fn detach(&mut self, sock: Sock, handle: Self::Handle, from: Interest) -> Option<OwnedFd>;
    /// A socket that another driver of the same kind let go; `None` where it is of no use.
    fn attach(&mut self, socket: OwnedFd) -> Option<Self::Handle>;
    /// Announces that nothing more will be sent.
    fn shutdown_send(&mut self, handle: &Self::Handle);
    /// Closes a socket; nothing that it reports afterwards is heard.
    fn close(&mut self, sock: Sock, handle: Self::Handle, interest: Interest);
}
