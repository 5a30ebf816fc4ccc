//! Bugs planted on purpose between the network and the worker, or in what servers make of what the
//! worker sends, to see that they are found. With none planted everything is passed on unchanged.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::snapshot::Snapshot;
use io::{Addr, Driver, Edge, Failure, Listener, Service, Sock};
use worker::{Mail, Worker};

use crate::board::SharedBoard;
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
    /// As before, where rows are the answer.
    ChangeInRowsNotTold,
    /// What a session set is taken to be so on a connection where it is not.
    StateNotReplayed,
    /// What a session's last insert id is taken to be so on a connection where it is another one's.
    InsertIdNotBrought,
    /// What a session's statement before came to is taken for what its connection's came to.
    CountsOfOthers,
    /// A connection is taken to be like a new one, and keeps what a session left on it.
    ResetNotDone,
    /// An execution goes without parameter types to where it is the first.
    TypesNotAdded,
    /// An execution relies on the parameter types of one before it whose answer is not known.
    TypesReliedOn,
    /// Two connections that are given to another worker are taken for each other.
    LanesMixedUp,
    /// A connection that another worker gave is closed without its permit.
    PermitLostOnTheWay,
    /// An answer is taken for the next one, too.
    AnsweredTwice,
    /// A server ends a connection, and nobody notices.
    EndUnnoticed,
    /// What a server tells of a session's warnings is taken for what it tells of another one's.
    WarningsMixedUp,
    /// What a server tells of a session's warnings gets lost.
    WarningsForgotten,
    /// A worker is told where servers stand now, and goes on as before.
    MoveUnnoticed,
    /// What a log told is taken for visible at once, and not told again when it is.
    ToldOnce,
    /// A stream of a log breaks, and nobody notices.
    BreakUnnoticed,
    /// Of a transaction that changes two tables, one is told.
    OneTableOnly,
    /// Logs that have not been read so far are taken to have passed what a writer has.
    PassedEarly,
    /// A log is read from its end on, whatever is visible of what stands in front of it.
    BegunAtTheEnd,
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
    /// A lane on its way here that another one may be taken for.
    held_back: Option<Mail>,
    /// What a server told of warnings last.
    told: Option<Vec<u8>>,
    /// The configuration that it was told last.
    before: Option<Arc<Snapshot>>,
    board: SharedBoard,
    /// Of a million places where the worker may panic.
    panics_per_million: Arc<AtomicU64>,
}

impl Crooked {
    /// The worker, with a bug or without.
    pub fn new(
        worker: Worker,
        planted: Option<Planted>,
        dice: Dice,
        board: SharedBoard,
        panics_per_million: Arc<AtomicU64>,
    ) -> Self {
        let (lanes, clients, prepared, again) = Default::default();
        let (held_back, told, before) = (None, None, None);
        Self {
            worker,
            planted,
            dice,
            lanes,
            clients,
            prepared,
            again,
            held_back,
            told,
            before,
            board,
            panics_per_million,
        }
    }

    /// The worker itself.
    pub fn worker(&self) -> &Worker {
        &self.worker
    }

    /// From now on the worker panics wherever it is said to.
    pub fn plant_panics(&mut self, strikes: Arc<dyn Fn() -> bool + Send + Sync>) {
        self.worker.plant_panics(strikes);
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
        if self.planted == Some(Planted::WarningsMixedUp) && tells_of_warnings(bytes) {
            let before = self.told.replace(bytes.to_vec());
            if let Some(before) = before.filter(|before| before.len() == bytes.len()) {
                return self.worker.on_bytes(io, sock, &before);
            }
        }
        if bytes.starts_with(&[7, 0, 0, 1, 0]) && self.strikes(Planted::AnsweredTwice, 3) {
            let both = [bytes, bytes].concat();
            return self.worker.on_bytes(io, sock, &both).min(bytes.len());
        }
        self.worker.on_bytes(io, owner, bytes)
    }

    /// A lane comes from another worker.
    fn given<D: Driver>(&mut self, io: &mut Edge<D>, mail: Mail) {
        let Mail::Given { socket, parcel } = mail else { return };
        if self.strikes(Planted::PermitLostOnTheWay, 20) {
            std::mem::forget(parcel);
            let lost = io.attach(socket);
            return lost.into_iter().for_each(|sock| io.close(sock));
        }
        if self.planted != Some(Planted::LanesMixedUp) {
            return self.worker.on_mail(io, Mail::Given { socket, parcel });
        }
        match self.held_back.take() {
            None => self.held_back = Some(Mail::Given { socket, parcel }),
            Some(Mail::Given { socket: other, parcel: before }) => {
                self.worker.on_mail(io, Mail::Given { socket, parcel: before });
                self.worker.on_mail(io, Mail::Given { socket: other, parcel });
            }
            Some(other) => self.worker.on_mail(io, other),
        }
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

/// Whether it is the beginning of a result of three columns, the first of which is the level.
fn tells_of_warnings(bytes: &[u8]) -> bool {
    let level = |bytes: &[u8]| bytes.windows(5).any(|name| name == b"Level");
    bytes.starts_with(&[1, 0, 0, 1, 3]) && bytes.get(..64).is_some_and(level)
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

    fn on_end<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) -> bool {
        self.worker.on_end(io, sock)
    }

    fn on_hung_up<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, is_gone: bool) {
        self.worker.on_hung_up(io, sock, is_gone);
    }

    fn on_gone<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, why: Option<Failure>) {
        let is_lane = !self.clients.contains(&sock);
        self.clients.retain(|other| *other != sock);
        self.lanes.retain(|other| *other != sock);
        if is_lane && why.is_none() && self.strikes(Planted::EndUnnoticed, 20) {
            return;
        }
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
        if let Some(mail) = self.held_back.take_if(|_| self.dice.percent(10)) {
            self.worker.on_mail(io, mail);
        }
        self.worker.on_timer(io, key);
    }

    fn on_mail<D: Driver>(&mut self, io: &mut Edge<D>, mut mail: Mail) {
        if let Mail::Snapshot { snapshot, .. } = &mut mail {
            let before = self.before.replace(snapshot.clone());
            if let Some(before) = before.filter(|_| self.strikes(Planted::MoveUnnoticed, 30)) {
                *snapshot = before;
            }
        }
        let what = match mail {
            Mail::Given { .. } => return self.given(io, mail),
            Mail::Snapshot { .. } => "panic: changed configuration",
            Mail::Collect { .. } => "panic: collect",
            Mail::Pause => "panic: pause",
            Mail::EndSessions => "panic: end of all sessions",
            _ => "panic: other mail",
        };
        let panics = self.worker.proxy().stats.panics;
        // there is little of it
        let often = self.panics_per_million.load(Ordering::Relaxed);
        self.panics_per_million.store(often * 20, Ordering::Relaxed);
        self.worker.on_mail(io, mail);
        self.panics_per_million.store(often, Ordering::Relaxed);
        if self.worker.proxy().stats.panics > panics {
            self.board.borrow_mut().count(what);
        }
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
