//! Bugs planted on purpose between the network and the worker, or in what servers make of what the
//! worker sends, to see that they are found. With none planted everything is passed on unchanged.

use io::{Addr, Driver, Edge, Failure, Listener, Service, Sock};
use worker::{Mail, Worker};

use crate::dice::Dice;

/// A bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Planted {
    /// Bytes of one backend connection are taken for another one's.
    WrongOwner,
    /// Two replies on one backend connection are taken for each other.
    WrongOrder,
    /// A permit for a backend connection is not given back.
    LostPermit,
    /// A client's command is served twice.
    CommandTwice,
    /// A piece of an answer gets lost.
    LostBytes,
    /// A statement that was just prepared is taken for one that was prepared before it.
    WrongStatement,
    /// A server changes its session's state and does not tell.
    ChangeNotTold,
    /// What a session set is taken to be so on a connection where it is not.
    StateNotReplayed,
}

/// The worker behind what was planted.
pub struct Crooked {
    worker: Worker,
    planted: Option<Planted>,
    dice: Dice,
    lanes: Vec<Sock>,
    clients: Vec<Sock>,
    /// The ids of statements by the connection they were prepared on last.
    prepared: Vec<(Sock, [u8; 4])>,
    /// Commands to be served once more.
    again: Vec<(Sock, Vec<u8>)>,
}

impl Crooked {
    /// The worker, with a bug or without.
    pub fn new(worker: Worker, planted: Option<Planted>, dice: Dice) -> Self {
        let (lanes, clients, prepared, again) = Default::default();
        Self { worker, planted, dice, lanes, clients, prepared, again }
    }

    /// The worker itself.
    pub fn worker(&self) -> &Worker {
        &self.worker
    }

    /// Starts the worker.
    pub fn start<D: Driver>(&mut self, io: &mut Edge<D>) {
        self.worker.start(io);
    }

    fn strikes(&mut self, bug: Planted, chance: u64) -> bool {
        self.planted == Some(bug) && self.dice.percent(chance)
    }

    fn lane_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        let owner = match self.strikes(Planted::WrongOwner, 3) {
            true => *self.dice.pick(&self.lanes),
            false => sock,
        };
        if bytes.len() > 100 && self.strikes(Planted::LostBytes, 3) {
            return 50 + self.worker.on_bytes(io, owner, &bytes[..bytes.len() - 50]);
        }
        if self.planted == Some(Planted::WrongStatement)
            && let Some(mixed) = self.mixed_up(sock, bytes)
        {
            return self.worker.on_bytes(io, sock, &mixed);
        }
        self.worker.on_bytes(io, owner, bytes)
    }

    /// The answer to a prepare with the id of the statement prepared before.
    fn mixed_up(&mut self, sock: Sock, bytes: &[u8]) -> Option<Vec<u8>> {
        const HEAD: [u8; 5] = [12, 0, 0, 1, 0];
        const ID: std::ops::Range<usize> = 5..9;
        if !bytes.starts_with(&HEAD) {
            return None;
        }
        let id = *bytes.get(ID)?.first_chunk()?;
        let before = self.prepared.iter().find(|(other, _)| *other == sock).map(|(_, id)| *id);
        self.prepared.retain(|(other, _)| *other != sock);
        self.prepared.push((sock, id));
        let mut mixed = bytes.to_vec();
        mixed.get_mut(ID)?.copy_from_slice(&before?);
        self.strikes(Planted::WrongStatement, 20).then_some(mixed)
    }

    fn client_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        let taken = self.worker.on_bytes(io, sock, bytes);
        let is_query = bytes.get(4) == Some(&wire::command::code::QUERY);
        if is_query && taken == bytes.len() && self.strikes(Planted::CommandTwice, 3) {
            self.again.push((sock, bytes.to_vec()));
        }
        taken
    }
}

impl Service for Crooked {
    type Mail = Mail;

    fn on_accepted<D: Driver>(&mut self, io: &mut Edge<D>, on: Listener, sock: Sock, from: Addr) {
        self.clients.push(sock);
        self.worker.on_accepted(io, on, sock, from);
    }

    fn on_connected<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        sock: Sock,
        result: Result<(), Failure>,
    ) {
        if result.is_ok() {
            self.lanes.push(sock);
        }
        self.worker.on_connected(io, sock, result);
    }

    fn on_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        match self.clients.contains(&sock) {
            true => self.client_bytes(io, sock, bytes),
            false => self.lane_bytes(io, sock, bytes),
        }
    }

    fn on_gone<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, why: Option<Failure>) {
        self.clients.retain(|other| *other != sock);
        self.lanes.retain(|other| *other != sock);
        self.worker.on_gone(io, sock, why);
        if self.strikes(Planted::LostPermit, 10)
            && let Some((_, lane)) = self.worker.proxy().lanes().next()
        {
            lane.server.gauge.take_permit(u32::MAX);
        }
    }

    fn on_drained<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        self.worker.on_drained(io, sock);
    }

    fn on_timer<D: Driver>(&mut self, io: &mut Edge<D>, key: u64) {
        self.worker.on_timer(io, key);
    }

    fn on_mail<D: Driver>(&mut self, io: &mut Edge<D>, mail: Mail) {
        self.worker.on_mail(io, mail);
    }

    fn on_turn_end<D: Driver>(&mut self, io: &mut Edge<D>) {
        let clients = &self.clients;
        let mut again = std::mem::take(&mut self.again);
        again.retain(|(sock, _)| clients.contains(sock));
        again.retain(|(sock, bytes)| self.worker.on_bytes(io, *sock, bytes) == 0);
        self.again = again;
        self.worker.on_turn_end(io);
    }
}
