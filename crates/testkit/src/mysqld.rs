//! Fake servers: they speak the protocol, keep a connection's state, answer by what a statement's
//! words ask for, and check that what arrives fits. They know no SQL.
//!
//! One [`Mysqlds`] serves all servers of a simulation, one listener each, in order.

mod conn;
mod dump;
pub(crate) mod execute;
pub(crate) mod login;
pub(crate) mod set;

use std::collections::BTreeMap;

use io::{Addr, Driver, Edge, Failure, Listener, Micros, Service, Sock};
use wire::frame::{self, Framed};

use crate::board::SharedBoard;
use crate::dice::Dice;
use crate::planted::Planted;
use conn::{Busy, Conn};

/// The fake servers of every simulation: one that takes writes, and two that do not.
pub fn three(mut sha2: impl FnMut() -> bool) -> Vec<Mysqld> {
    let names = crate::client::PRIMARY.into_iter().chain(crate::client::READERS);
    let writable = |name| name == crate::client::PRIMARY[0];
    let server =
        |name| Mysqld { name, writable: writable(name), sha2: sha2(), seats: None, bug: None };
    names.map(server).collect()
}

/// How many there are.
pub(crate) const SERVERS: usize = 3;

/// The place of a server of that name.
pub(crate) fn place_of(name: &str) -> usize {
    let mut names = crate::client::PRIMARY.into_iter().chain(crate::client::READERS);
    names.position(|known| known == name).unwrap_or_default()
}

/// A fake server.
#[derive(Clone, Debug)]
pub struct Mysqld {
    /// Its name, which it puts into its answers.
    pub name: &'static str,
    /// Writes are right here.
    pub writable: bool,
    /// It begins with `caching_sha2_password`.
    pub sha2: bool,
    /// How many connections it lets in, if that is less than anybody asks for.
    pub seats: Option<usize>,
    /// A planted bug that shows in what it does.
    pub bug: Option<Planted>,
}

/// What ends so is answered twice: nobody asked for the second answer.
pub const TWICE: &str = "/*twice*/";

/// How the question ends that the proxy asks last of a connection that is new.
const OWN_QUESTION: &str = "@@init_connect<>''";

/// The number of an error that belongs to nothing.
pub const BLURTED: u16 = 1105;

/// How servers behave, as chances of a hundred.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manners {
    /// An answer comes late.
    pub late: u64,
    /// An answer stops in the middle for a while.
    pub halting: u64,
    /// A connection dies before or in the middle of an answer.
    pub dying: u64,
    /// How late, at most, in microseconds.
    pub delay_us: u64,
    /// Idle connections say good-bye unasked.
    pub leaving: u64,
    /// An error that belongs to nothing is sent right behind what the proxy asked for itself.
    pub blurting: u64,
    /// A kill hits what the proxy asks for itself as well.
    pub hits_steps: bool,
}

/// What a command led to.
enum Reaction {
    /// Bytes to be sent.
    Reply(Vec<u8>),
    /// Nothing.
    Silent,
    /// The connection ends.
    Close,
}

/// All fake servers of a simulation.
pub struct Mysqlds {
    servers: Vec<Mysqld>,
    manners: Manners,
    dice: Dice,
    board: SharedBoard,
    conns: BTreeMap<u64, Conn>,
    timers: BTreeMap<u64, Sock>,
    made: u32,
    next_timer: u64,
}

impl Mysqlds {
    /// Servers without connections.
    pub fn new(servers: Vec<Mysqld>, manners: Manners, dice: Dice, board: SharedBoard) -> Self {
        let (conns, timers) = (BTreeMap::new(), BTreeMap::new());
        Self { servers, manners, dice, board, conns, timers, made: 0, next_timer: 0 }
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.conns.len()
    }

    /// From now on they answer like this.
    pub fn behave(&mut self, manners: Manners) {
        self.manners = manners;
    }

    /// From now on the server at that place takes writes, and no other does.
    pub fn give_writes_to(&mut self, place: usize) {
        let servers = self.servers.iter_mut().enumerate();
        servers.for_each(|(at, server)| server.writable = at == place);
    }

    /// These connections of the server at that place are gone: nothing is heard any more of what is
    /// on its way there.
    pub fn lose(&mut self, place: usize, is_gone: impl Fn(u32) -> bool) {
        let of_it = self.conns.values_mut().filter(|conn| conn.server == place);
        let of_it = of_it.filter(|conn| is_gone(conn.thread));
        of_it.for_each(|conn| conn.mute = true);
    }

    fn wrong(&self, what: String) {
        self.board.borrow_mut().wrong(what);
    }

    /// Serves one packet.
    fn packet(&mut self, sock: Sock, payload: &[u8], seq: u8) -> Reaction {
        let Some(conn) = self.conns.get_mut(&sock.to_raw()) else { return Reaction::Close };
        if conn.login.is_some() {
            return conn.on_login(payload, seq, &mut self.board.borrow_mut());
        }
        if conn.infile.is_some() {
            return conn.on_file_packet(payload, seq, &mut self.board.borrow_mut());
        }
        if conn.dumping {
            return conn.on_packet_of_dump(payload, &mut self.board.borrow_mut());
        }
        if seq != 0 {
            let name = self.servers[conn.server].name;
            if !self.board.borrow().tolerant {
                self.wrong(format!("{name}: a command with sequence number {seq}"));
            }
            return Reaction::Close;
        }
        if let Some(thread) = execute::killed_thread(payload) {
            return self.kill(sock, thread);
        }
        let server = &self.servers[conn.server];
        conn.on_command(payload, server, &mut self.board.borrow_mut())
    }

    /// Interrupts what a connection is about to answer.
    fn kill(&mut self, killer: Sock, thread: u32) -> Reaction {
        self.board.borrow_mut().count("server: kill query");
        let server = self.conns.get(&killer.to_raw()).map(|conn| conn.server);
        let victim = self.conns.values_mut().find(|conn| conn.thread == thread);
        if let Some(victim) = victim {
            if Some(victim.server) != server {
                self.board.borrow_mut().wrong(format!("a kill of {thread} at the wrong server"));
            } else if let Some(busy) = &mut victim.busy
                && busy.killable
            {
                busy.reply = crate::answer::error(1317, "Query execution was interrupted");
                busy.killable = false;
                self.board.borrow_mut().count("server: query interrupted");
            }
        }
        match self.conns.get(&killer.to_raw()) {
            Some(conn) => Reaction::Reply(conn.plain_ok(&[])),
            None => Reaction::Close,
        }
    }

    /// Sends an answer: at once, late, in two parts, or never.
    fn reply<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, reply: Vec<u8>) {
        let Some(conn) = self.conns.get_mut(&sock.to_raw()) else { return };
        let logged_in = conn.login.is_none();
        let (dice, manners) = (&mut self.dice, &self.manners);
        let dies = logged_in && dice.percent(manners.dying);
        let halts = dice.percent(manners.halting);
        let late = dice.percent(manners.late);
        let hidden = conn.hidden_until.take();
        if !(dies || halts || late || hidden.is_some()) {
            io.send(sock, &[&reply]);
            return;
        }
        let sent = if halts { dice.index(reply.len()) } else { 0 };
        let at = Micros(io.now().0 + dice.within(1..=manners.delay_us.max(1)));
        // nobody is told of what cannot be seen
        let at = at.max(hidden.unwrap_or_default());
        io.send(sock, &[&reply[..sent]]);
        self.next_timer += 1;
        let key = self.next_timer;
        let killable = sent == 0 && (conn.killable || manners.hits_steps);
        conn.busy = Some(Busy { key, reply, sent, dies, killable });
        self.timers.insert(key, sock);
        io.set_timer(key, at);
    }

    /// Whether the answer to a query behind goes in front, which is a bug that is looked for.
    fn swaps(&mut self, sock: Sock, next: &frame::Packet<'_>) -> bool {
        let Some(conn) = self.conns.get(&sock.to_raw()) else { return false };
        let is_query = next.payload.first() == Some(&wire::command::code::QUERY);
        self.servers[conn.server].bug == Some(Planted::WrongOrder)
            && is_query
            && conn.infile.is_none()
            && self.dice.percent(10)
    }

    /// A connection ends unasked: at once, or by saying nothing more while it still listens.
    fn leave<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        let falls_silent = self.dice.percent(50) && io.end_sending(sock);
        match self.conns.get_mut(&sock.to_raw()).filter(|_| falls_silent) {
            Some(conn) => {
                conn.mute = true;
                self.board.borrow_mut().count("server: says no more");
            }
            None => self.drop_conn(io, sock),
        }
    }

    fn drop_conn<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        self.conns.remove(&sock.to_raw());
        io.close(sock);
    }
}

impl Service for Mysqlds {
    type Mail = ();

    fn on_accepted<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        listener: Listener,
        sock: Sock,
        _: Addr,
    ) {
        self.made += 1;
        let server = listener.0 as usize;
        let seated = self.conns.values().filter(|conn| conn.server == server).count();
        if self.servers[server].seats.is_some_and(|seats| seated >= seats) {
            self.board.borrow_mut().count("server: full");
            io.send(sock, &[&login::too_many()]);
            return io.close_drained(sock);
        }
        let conn = Conn::new(server, self.made, &self.servers[server], &mut self.dice);
        io.send(sock, &[&conn.greeting()]);
        self.conns.insert(sock.to_raw(), conn);
    }

    fn on_connected<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock, _: Result<(), Failure>) {}

    fn on_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        let mut taken = 0;
        if let Some(conn) = self.conns.get_mut(&sock.to_raw()) {
            conn.now = io.now();
        }
        loop {
            let Some(conn) = self.conns.get(&sock.to_raw()) else { return bytes.len() };
            if conn.mute {
                return bytes.len();
            }
            if conn.busy.is_some() {
                return taken;
            }
            let packet = match frame::next_packet(&bytes[taken..]) {
                Framed::Packet(packet) => packet,
                Framed::Need(_) => return taken,
                Framed::Long { .. } => {
                    self.wrong("a packet of 16 MiB".into());
                    self.drop_conn(io, sock);
                    return bytes.len();
                }
            };
            if taken > 0 && packet.payload.ends_with(b"SELECT LAST_INSERT_ID() LIMIT 1") {
                self.board.borrow_mut().count("server: asked for an id in the same send");
            }
            taken += packet.len;
            let mut reaction = self.packet(sock, packet.payload, packet.seq);
            if let Framed::Packet(next) = frame::next_packet(&bytes[taken..])
                && let Reaction::Reply(first) = &reaction
                && self.swaps(sock, &next)
            {
                taken += next.len;
                // only a query answers a query
                if let Reaction::Reply(second) = self.packet(sock, next.payload, next.seq) {
                    reaction = Reaction::Reply([second.as_slice(), first].concat());
                }
            }
            match reaction {
                Reaction::Reply(mut reply) => {
                    if packet.payload.ends_with(TWICE.as_bytes()) {
                        reply.extend_from_within(..);
                    }
                    let blurting = self.manners.blurting;
                    if packet.payload.ends_with(OWN_QUESTION.as_bytes())
                        && blurting > 0
                        && self.dice.percent(blurting)
                    {
                        reply.extend(crate::answer::error(BLURTED, "nobody has asked"));
                    }
                    self.reply(io, sock, reply);
                }
                Reaction::Silent => {}
                Reaction::Close => self.drop_conn(io, sock),
            }
        }
    }

    fn on_gone<D: Driver>(&mut self, _: &mut Edge<D>, sock: Sock, _: Option<Failure>) {
        self.conns.remove(&sock.to_raw());
    }

    fn on_drained<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock) {}

    fn on_timer<D: Driver>(&mut self, io: &mut Edge<D>, key: u64) {
        let Some(sock) = self.timers.remove(&key) else { return };
        let Some(conn) = self.conns.get_mut(&sock.to_raw()) else { return };
        let Some(busy) = conn.busy.take_if(|busy| busy.key == key) else { return };
        if busy.dies {
            self.board.borrow_mut().count("server: died in an answer");
            return self.leave(io, sock);
        }
        io.send(sock, &[&busy.reply[busy.sent..]]);
        io.redeliver(sock);
    }

    fn on_mail<D: Driver>(&mut self, _: &mut Edge<D>, (): ()) {}

    fn on_turn_end<D: Driver>(&mut self, io: &mut Edge<D>) {
        if self.manners.leaving == 0 || self.dice.below(1000) >= self.manners.leaving {
            return;
        }
        let idle: Vec<u64> = self
            .conns
            .iter()
            .filter(|(_, conn)| conn.login.is_none() && conn.busy.is_none() && !conn.mute)
            .map(|(raw, _)| *raw)
            .collect();
        if !idle.is_empty() {
            let raw = *self.dice.pick(&idle);
            self.board.borrow_mut().count("server: left unasked");
            self.leave(io, Sock::from_raw(raw));
        }
    }
}
