//! Embedded servers on a thread of their own: from options to listening, and back.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use io::{Addr, EpollDriver, Failure, Loop, Mailbox, bound_to, listen};

use crate::options::ServerOptions;
use crate::service::{Mail, Servers};
use crate::store::{Store, StoreFault};

/// Embedded servers at work; they stop when this is dropped.
#[derive(Debug)]
pub struct Running {
    addrs: Vec<Addr>,
    mailbox: Mailbox<Mail>,
    thread: Option<JoinHandle<()>>,
}

/// Starts `servers` over one store, all on one new thread.
pub fn start(store: Store, servers: Vec<ServerOptions>) -> Result<Running, StartFault> {
    let (mut listeners, mut addrs, mut placed) = (Vec::new(), Vec::new(), Vec::new());
    for options in servers {
        let listener = listen(&options.addr, BACKLOG, false)?;
        let addr = bound_to(&listener)?;
        let port = match &addr {
            Addr::Tcp(address) => address.port(),
            Addr::Unix(_) => 0,
        };
        listeners.push(listener);
        addrs.push(addr);
        placed.push((options, port));
    }
    let service = Servers::new(store, placed).map_err(StartFault::System)?;
    let mut turning = Loop::new(EpollDriver::new()?, service, io::Options::default());
    for listener in listeners {
        turning.add_listener(listener);
    }
    let mailbox = turning.mailbox();
    let thread = std::thread::Builder::new()
        .name("sqlited".to_owned())
        .spawn(move || turning.run())
        .map_err(StartFault::System)?;
    Ok(Running { addrs, mailbox, thread: Some(thread) })
}

impl Running {
    /// Where each server listens, in the order of the options.
    pub fn addrs(&self) -> &[Addr] {
        &self.addrs
    }

    /// The TCP address of the server at `index`.
    pub fn tcp(&self, index: usize) -> Option<SocketAddr> {
        match self.addrs.get(index)? {
            Addr::Tcp(address) => Some(*address),
            Addr::Unix(_) => None,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // when the mailbox is closed the loop has ended already
        let _ = self.mailbox.post(Mail::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Why servers do not start.
#[derive(Debug)]
pub enum StartFault {
    /// An address cannot be listened on, or the loop cannot be made.
    Loop(Failure),
    /// The system refused a file or a thread.
    System(std::io::Error),
    /// The data cannot be kept.
    Store(StoreFault),
}

impl std::fmt::Display for StartFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Loop(failure) => failure.fmt(f),
            Self::System(error) => error.fmt(f),
            Self::Store(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for StartFault {}

impl From<Failure> for StartFault {
    fn from(failure: Failure) -> Self {
        Self::Loop(failure)
    }
}

impl From<StoreFault> for StartFault {
    fn from(fault: StoreFault) -> Self {
        Self::Store(fault)
    }
}

/// Connections the system holds for each listener.
const BACKLOG: u32 = 1024;
