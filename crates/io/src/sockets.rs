//! The table of a loop's sockets: which are open, in which phase, with which bytes waiting.
//! Deliberately knows no system call and no service.

use std::fmt;

use crate::addr::Failure;
use crate::buffer::{Buffer, BufferPool};
use crate::codec::Coded;
use crate::driver::Interest;
use crate::micros::Micros;

/// A socket of a loop: slot and generation, so that a name is never valid for two sockets.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sock(u64);

impl Sock {
    pub(crate) fn new(index: u32, generation: u32) -> Self {
        Sock(u64::from(generation) << 32 | u64::from(index))
    }

    /// The whole name as a number, for use as a key or in a message.
    pub fn to_raw(self) -> u64 {
        self.0
    }

    /// The name that `to_raw` gave.
    pub fn from_raw(raw: u64) -> Self {
        Sock(raw)
    }

    /// The slot: small, dense, used again after the socket is closed.
    pub fn index(self) -> usize {
        (self.0 & 0xffff_ffff) as usize
    }

    /// The same, as it is numbered.
    pub(crate) fn slot(self) -> u32 {
        (self.0 & 0xffff_ffff) as u32
    }

    /// How often the slot has been used before.
    pub fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl fmt::Debug for Sock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sock({}.{})", self.index(), self.generation())
    }
}

/// A listener of a loop, numbered in the order of [`crate::Loop::add_listener`].
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Listener(pub u32);

/// What may still happen to a socket.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// The connect has not completed; sends are kept.
    Connecting,
    /// Both directions are in use.
    Open,
    /// Broken; `on_gone` is due this turn, sends are dropped.
    Failed,
    /// The end was reported or is just being reported; only sends are still taken.
    Ending,
    /// Closes once the backlog is sent; the service has let go of it.
    Draining,
    /// Everything is sent and the end announced; waits for the other side's end.
    Lingering,
}

/// One socket. Kept small: an idle one is nothing but this.
#[derive(Debug)]
pub(crate) struct Socket<H> {
    pub(crate) handle: H,
    pub(crate) phase: Phase,
    /// What the driver was last told to report.
    pub(crate) interest: Interest,
    /// The service wants no bytes for now.
    pub(crate) paused: bool,
    /// The system took less than it was given; wait until it is writable.
    pub(crate) blocked: bool,
    /// It was accepted, so that it is not sent more than [`crate::Options::bytes_per_s_max`].
    pub(crate) is_paced: bool,
    /// Blocked until its time comes, whatever the system would take.
    pub(crate) is_held: bool,
    /// Listed for the flush at the end of the turn.
    pub(crate) dirty: bool,
    /// Listed for another offer of its unconsumed bytes.
    pub(crate) offered: bool,
    /// The other side sends nothing more, and the system is asked for nothing more.
    pub(crate) ended: bool,
    /// When it may be sent more, if it is paced.
    pub(crate) free_at: Micros,
    /// Received, not consumed.
    pub(crate) input: Buffer,
    /// Sent by the service, not yet taken by the system.
    pub(crate) output: Buffer,
    /// What stands between these and the service.
    pub(crate) coded: Option<Box<Coded>>,
}

impl<H> Socket<H> {
    pub(crate) fn new(handle: H, phase: Phase, interest: Interest) -> Self {
        Socket {
            handle,
            phase,
            interest,
            paused: false,
            blocked: false,
            is_paced: false,
            is_held: false,
            free_at: Micros(0),
            dirty: false,
            offered: false,
            ended: false,
            input: Buffer::default(),
            output: Buffer::default(),
            coded: None,
        }
    }

    pub(crate) fn takes_output(&self) -> bool {
        matches!(self.phase, Phase::Connecting | Phase::Open | Phase::Ending)
    }

    pub(crate) fn reports(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Whether nothing that arrives is of use any more.
    pub(crate) fn is_deaf(&self) -> bool {
        self.coded.as_ref().is_some_and(|coded| coded.is_deaf)
    }

    /// How many codecs it has.
    pub(crate) fn layers(&self) -> usize {
        self.coded.as_ref().map_or(0, |coded| coded.len())
    }

    /// Received bytes that the service did not consume, or that no codec decoded.
    pub(crate) fn kept(&self) -> usize {
        self.input.len() + self.coded.as_ref().map_or(0, |coded| coded.undecoded())
    }

    /// Bytes that the system has not taken yet.
    pub(crate) fn unsent(&self) -> usize {
        self.output.len() + self.coded.as_ref().map_or(0, |coded| coded.unencoded())
    }

    /// Where the service's bytes go.
    pub(crate) fn outgoing(&mut self) -> &mut Buffer {
        match &mut self.coded {
            None => &mut self.output,
            Some(coded) => coded.plain(),
        }
    }

    /// Drops what is to be sent; no codec says anything more.
    pub(crate) fn drop_outgoing(&mut self, pool: &mut BufferPool) {
        self.output.clear(pool);
        if let Some(coded) = &mut self.coded {
            coded.drop_plain(pool);
            coded.is_closed = true;
        }
    }
}

/// A failure or an orderly end that `on_gone` has to tell.
pub(crate) type Ended = (Sock, Option<Failure>);

#[derive(Debug)]
struct Slot<H> {
    generation: u32,
    socket: Option<Socket<H>>,
}

/// All sockets of a loop by slot.
#[derive(Debug)]
pub(crate) struct Table<H> {
    slots: Vec<Slot<H>>,
    free: Vec<u32>,
    len: usize,
}

impl<H> Table<H> {
    pub(crate) fn new() -> Self {
        Table { slots: Vec::new(), free: Vec::new(), len: 0 }
    }

    pub(crate) fn insert(&mut self, socket: Socket<H>) -> Sock {
        self.len += 1;
        if let Some(index) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(index as usize)
        {
            debug_assert!(slot.socket.is_none(), "a free slot holds a socket");
            slot.socket = Some(socket);
            return Sock::new(index, slot.generation);
        }
        let index = u32::try_from(self.slots.len()).expect("fewer sockets than descriptors");
        self.slots.push(Slot { generation: 0, socket: Some(socket) });
        Sock::new(index, 0)
    }

    pub(crate) fn find(&self, sock: Sock) -> Option<&Socket<H>> {
        let slot = self.slots.get(sock.index())?;
        if slot.generation == sock.generation() { slot.socket.as_ref() } else { None }
    }

    pub(crate) fn find_mut(&mut self, sock: Sock) -> Option<&mut Socket<H>> {
        let slot = self.slots.get_mut(sock.index())?;
        if slot.generation == sock.generation() { slot.socket.as_mut() } else { None }
    }

    pub(crate) fn remove(&mut self, sock: Sock) -> Option<Socket<H>> {
        let slot = self.slots.get_mut(sock.index())?;
        if slot.generation != sock.generation() {
            return None;
        }
        let socket = slot.socket.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(sock.slot());
        self.len -= 1;
        Some(socket)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket() -> Socket<u8> {
        Socket::new(7, Phase::Open, Interest::READ)
    }

    #[test]
    fn a_name_is_worth_nothing_after_its_socket_is_removed() {
        let mut table = Table::new();
        let first = table.insert(socket());
        assert!(table.remove(first).is_some());
        let second = table.insert(socket());
        assert_eq!(first.index(), second.index());
        assert_ne!(first, second);
        assert!(table.find(first).is_none());
        assert!(table.remove(first).is_none());
        assert!(table.find(second).is_some());
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn a_name_survives_being_a_number() {
        let sock = Sock::new(u32::MAX, 3);
        assert_eq!(Sock::from_raw(sock.to_raw()), sock);
        assert_eq!((sock.index(), sock.generation()), (u32::MAX as usize, 3));
    }

    #[test]
    fn an_idle_socket_costs_less_than_a_hundred_and_twenty_bytes() {
        assert!(size_of::<Slot<std::os::fd::OwnedFd>>() <= 120);
    }
}
