//! The interface on a loop of its own: sockets on one side, clients on the other.
//!
//! It frames packets, bounds what clients may hold, and gives them a time to log in. Which clients
//! may wait for that, and when a password is judged, is decided by `entrance`.

mod entrance;
mod presented;
mod readers;

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use engine::report::{Printable, Quota};
use engine::snapshot::Draft;
use io::{Addr, Driver, Edge, Failure, Listener, Micros, Sock};
use mysql_server::{Next, Packets, TooLong};
use tls::{Acceptor, Watch};
use wire::auth::nonce_of;
use wire::reply::{self, ErrPacket};

use crate::admin::Admin;
use crate::client::InterfaceClient;
use crate::clock::unix_seconds;
use crate::database::random;
use crate::fault::AdminFault;
use entrance::{Admission, Entrance, LOGIN_LIMIT, Origin, Turn};
use readers::Readers;

/// The interface as a service of a loop.
pub struct Service {
    admin: Admin,
    clients: HashMap<Sock, Connected>,
    entrance: Entrance,
    readers: Readers,
    log: Box<dyn Fn(&Report) + Send>,
    last_id: u32,
    /// Its listeners and where they listen.
    doors: Vec<(Listener, Addr)>,
    /// Clients that were turned away when that was last said.
    said_turned_away: u64,
    /// Lines of the log about clients that were refused.
    refusal_lines: Quota,
}

/// What other threads may tell the interface.
#[derive(Debug)]
pub enum Mail {
    /// Accept clients on this socket, too, which listens there.
    Listen(OwnedFd, Addr),
    /// Accept none there any more; those that came from there stay.
    Unlisten(Addr),
    /// The configuration file was read again and is in force.
    Reloaded {
        /// What was in force before.
        before: Arc<Draft>,
    },
    /// End the loop.
    Stop,
}

/// What is worth a line in the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
    /// A client was refused.
    Refused {
        /// The account it named.
        user: String,
        /// Where it came from.
        from: String,
        /// Why.
        why: String,
        /// Refusals of that address in a row.
        times: u32,
    },
    /// The TLS of a client did not come about, or could not go on.
    NotSecured {
        /// Where it came from.
        from: String,
        /// Why.
        why: String,
    },
    /// A header of the PROXY protocol was refused.
    NotPresented {
        /// Why.
        why: String,
    },
    /// Clients were refused without a line each.
    Untold {
        /// How many.
        clients: u64,
    },
    /// Clients were turned away, as too many waited to log in. Told once a second at most.
    TurnedAway {
        /// How many since the last time.
        clients: u64,
    },
    /// A sample of statistics was not recorded.
    NotRecorded {
        /// Why.
        why: String,
    },
}

struct Connected {
    client: InterfaceClient,
    origin: Origin,
    /// Where the connection itself comes from; `None` for a Unix socket.
    ip: Option<IpAddr>,
    /// What it says first has not been looked at.
    begins: bool,
    /// What it may have TLS from.
    acceptor: Option<Arc<Acceptor>>,
    /// Where its TLS is seen.
    watch: Option<Watch>,
    /// When its time to log in is over; `None` once it is in.
    leaves_at: Option<Micros>,
    packets: Packets,
    /// Not read from until it took its answers.
    paused: bool,
    /// When a packet of it came last.
    heard_at: Micros,
}

impl Service {
    /// A service over `admin`; `log` is told what is worth a line.
    pub fn new(admin: Admin, log: Box<dyn Fn(&Report) + Send>) -> Self {
        let (clients, entrance, doors) = (HashMap::new(), Entrance::default(), Vec::new());
        let (readers, refusal_lines) = Default::default();
        let (last_id, said_turned_away) = (0, 0);
        Self {
            admin,
            clients,
            entrance,
            readers,
            log,
            last_id,
            doors,
            said_turned_away,
            refusal_lines,
        }
    }

    /// Tells where the listeners listen that its loop was given, in their order.
    pub fn listens_on(&mut self, addresses: Vec<Addr>) {
        self.doors = (0..).map(Listener).zip(addresses).collect();
    }

    /// Sets off what happens without any client; once, before the loop runs.
    pub fn start<D: Driver>(&self, io: &mut Edge<D>) {
        io.set_timer(TICK, io.now() + TICK_EVERY);
    }

    fn on_tick<D: Driver>(&mut self, io: &mut Edge<D>) {
        for fault in self.admin.take_samples(unix_seconds()) {
            (self.log)(&Report::NotRecorded { why: fault.message });
        }
        if let Some(clients) = self.refusal_lines.take_untold(io.now().0) {
            (self.log)(&Report::Untold { clients });
        }
        let turned_away = self.admin.turned_away;
        if turned_away > self.said_turned_away {
            (self.log)(&Report::TurnedAway { clients: turned_away - self.said_turned_away });
            self.said_turned_away = turned_away;
        }
        self.start(io);
    }

    /// A packet; `false` when nothing more is to be read for now.
    fn on_packet<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, packet: (&[u8], u8)) -> bool {
        let Some(connected) = self.clients.get_mut(&sock) else { return false };
        let mut out = Vec::new();
        connected.heard_at = io.now();
        let reads = connected.client.is_in() && connected.client.is_reader();
        let began = Instant::now();
        let next = connected.client.on_packet(&mut self.admin, packet, &mut out);
        if reads {
            self.readers.took(io.now(), began.elapsed());
        }
        self.go_on(io, sock, next, &out)
    }

    /// Does what becomes of a client; `false` when nothing more is to be read for now.
    fn go_on<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, next: Next, out: &[u8]) -> bool {
        let Some(connected) = self.clients.get_mut(&sock) else { return false };
        if let Next::Refused { user, why } = &next {
            let times = self.entrance.fail(connected.origin, user, io.now());
            let (user, from, why) = (user.clone(), connected.client.from.clone(), why.clone());
            if self.refusal_lines.admits(io.now().0) {
                (self.log)(&Report::Refused { user, from, why, times });
            }
        }
        io.send(sock, &[out]);
        match next {
            Next::Go => {}
            Next::Secure => {
                let acceptor = connected.acceptor.take();
                match acceptor.and_then(|acceptor| acceptor.accept().ok()) {
                    Some((codec, watch)) => {
                        connected.watch = Some(watch);
                        io.put_on(sock, codec);
                    }
                    None => self.let_go(io, sock),
                }
                return false;
            }
            Next::Judge => return self.judge_in_turn(io, sock),
            Next::Welcome { user } => {
                let origin = connected.origin;
                connected.leaves_at = None;
                self.entrance.succeed(origin, &user);
                self.entrance.leave(sock, origin);
                self.call_next(io, origin);
                self.bound_readers_places(io);
            }
            Next::Close | Next::Refused { .. } => {
                self.remove(io, sock);
                io.close_drained(sock);
                return false;
            }
        }
        if io.backlog(sock) > BACKLOG_BYTES_MAX
            && let Some(connected) = self.clients.get_mut(&sock)
        {
            connected.paused = true;
            io.pause(sock);
            self.bound_readers(io);
            return false;
        }
        true
    }

    /// Lets the reader go that has left most of its answers, when readers have left too many.
    fn bound_readers<D: Driver>(&mut self, io: &mut Edge<D>) {
        let readers = self.clients.iter().filter(|(_, connected)| connected.client.is_reader());
        let left: Vec<(usize, Sock)> =
            readers.map(|(sock, _)| (io.backlog(*sock), *sock)).collect();
        if left.iter().map(|(bytes, _)| bytes).sum::<usize>() > READERS_BACKLOG_BYTES_MAX
            && let Some((_, sock)) = left.into_iter().max_by_key(|(bytes, _)| *bytes)
        {
            self.let_go(io, sock);
        }
    }

    /// Closes a connection without a word.
    fn let_go<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        self.remove(io, sock);
        io.close(sock);
    }

    /// Lets the reader go that has been silent for longest, when there are too many.
    fn bound_readers_places<D: Driver>(&mut self, io: &mut Edge<D>) {
        let is_one =
            |connected: &Connected| connected.leaves_at.is_none() && connected.client.is_reader();
        let readers = self.clients.iter().filter(|(_, connected)| is_one(connected));
        let since: Vec<(Micros, Sock)> =
            readers.map(|(sock, connected)| (connected.heard_at, *sock)).collect();
        if since.len() > READERS_MAX
            && let Some((_, sock)) = since.into_iter().min_by_key(|(at, _)| *at)
        {
            self.turn_away(io, sock);
        }
    }

    /// Puts a reader off whose packet is not served yet, as readers have had their time.
    fn put_off<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) -> bool {
        let reads = |found: &Connected| found.client.is_in() && found.client.is_reader();
        let Some(until) = self.readers.wait(io.now()) else { return false };
        if !self.clients.get(&sock).is_some_and(reads) {
            return false;
        }
        io.pause(sock);
        if self.readers.put_off(sock) {
            io.set_timer(READERS, until);
        }
        true
    }

    /// Judges a password now, or when it is its turn.
    fn judge_in_turn<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) -> bool {
        let Some(connected) = self.clients.get_mut(&sock) else { return false };
        let origin = connected.origin;
        match self.entrance.on_password(sock, origin, io.now()) {
            Turn::Now => return self.judge(io, sock),
            Turn::Later => {
                // its turn comes within as long again
                connected.leaves_at = None;
                self.call_next(io, origin);
            }
            Turn::Never => self.turn_away(io, sock),
        }
        false
    }

    /// Sees to it that the next password of an origin is judged when it is time.
    fn call_next<D: Driver>(&mut self, io: &mut Edge<D>, origin: Origin) {
        if let Some((sock, at)) = self.entrance.next(origin) {
            io.set_timer(sock.to_raw(), at.max(io.now()));
        }
    }

    fn judge<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) -> bool {
        let Some(connected) = self.clients.get_mut(&sock) else { return false };
        let mut out = Vec::new();
        let next = connected.client.judge(&mut self.admin, &mut out);
        self.go_on(io, sock, next, &out)
    }

    /// Forgets a client.
    fn remove<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) -> Option<Connected> {
        let connected = self.clients.remove(&sock)?;
        self.entrance.leave(sock, connected.origin);
        self.call_next(io, connected.origin);
        Some(connected)
    }

    /// Tells a client that there is no place, also instead of a greeting.
    fn turn_away<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        self.admin.turned_away += 1;
        if self.is_amid_handshake(sock) {
            return self.let_go(io, sock);
        }
        let AdminFault { code, sqlstate, message, .. } = AdminFault::too_many_connections();
        let mut seq = self.remove(io, sock).map_or(0, |connected| connected.client.seq());
        let mut out = Vec::new();
        let err = ErrPacket { code, sqlstate, message: message.as_bytes() };
        reply::write_err(&mut out, &mut seq, &err);
        io.send(sock, &[&out]);
        io.close_drained(sock);
    }

    /// Whether nothing can be told to a client, whose TLS is not there yet.
    fn is_amid_handshake(&self, sock: Sock) -> bool {
        let watch = self.clients.get(&sock).and_then(|connected| connected.watch.as_ref());
        watch.is_some_and(|watch| watch.handshake().is_none())
    }

    fn close_with<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, fault: AdminFault) {
        if self.is_amid_handshake(sock) {
            return self.let_go(io, sock);
        }
        if let Some(mut connected) = self.remove(io, sock) {
            let mut out = Vec::new();
            connected.client.write_fault(fault, &mut out);
            io.send(sock, &[&out]);
            io.close_drained(sock);
        }
    }
}

impl io::Service for Service {
    type Mail = Mail;

    fn on_accepted<D: Driver>(&mut self, io: &mut Edge<D>, _: Listener, sock: Sock, from: Addr) {
        // without random bytes nobody can be told from another
        let Ok(bytes) = random::<20>() else { return io.close(sock) };
        let origin = Origin::of(&from);
        match self.entrance.admit(sock, origin, self.clients.len()) {
            Admission::Granted => {}
            Admission::InPlaceOf(other) => self.turn_away(io, other),
            Admission::Refused => return self.turn_away(io, sock),
        }
        self.last_id = self.last_id.wrapping_add(1).max(1);
        let mut out = Vec::new();
        let acceptor = match from {
            Addr::Tcp(_) => self.admin.runtime.acceptor(),
            Addr::Unix(_) => None,
        };
        let greeting = (nonce_of(bytes), acceptor.is_some());
        let client = InterfaceClient::greet(&self.admin, self.last_id, &from, greeting, &mut out);
        io.send(sock, &[&out]);
        let leaves_at = io.now() + LOGIN_LIMIT;
        io.set_timer(sock.to_raw(), leaves_at);
        let connected = Connected {
            client,
            origin,
            ip: presented::ip_of(&from),
            begins: true,
            acceptor,
            watch: None,
            leaves_at: Some(leaves_at),
            packets: Packets::default(),
            paused: false,
            heard_at: io.now(),
        };
        self.clients.insert(sock, connected);
    }

    fn on_connected<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, _: Result<(), Failure>) {
        // the interface connects to nobody
        io.close(sock);
    }

    fn on_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        if let Some(connected) = self.clients.get_mut(&sock) {
            connected.note_handshake();
        }
        let mut taken = 0;
        loop {
            let rest = bytes.get(taken..).unwrap_or_default();
            if rest.is_empty() || self.put_off(io, sock) {
                return taken;
            }
            if self.clients.get(&sock).is_some_and(|connected| connected.begins) {
                match self.take_header(io, sock, rest) {
                    Some(more) => taken += more,
                    None => return taken,
                }
                continue;
            }
            let Some(connected) = self.clients.get_mut(&sock) else { return bytes.len() };
            let bytes_max = connected.packet_bytes_max();
            let packet = match connected.packets.next(rest, bytes_max) {
                Ok((more, packet)) => {
                    taken += more;
                    packet
                }
                Err(TooLong) => {
                    let message = "Got a packet bigger than 'max_allowed_packet' bytes";
                    self.close_with(io, sock, AdminFault::new(1153, *b"08S01", message));
                    return bytes.len();
                }
            };
            let Some((payload, seq)) = packet else { return taken };
            if !self.on_packet(io, sock, (&payload, seq)) {
                return taken;
            }
        }
    }

    fn on_gone<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, _: Option<Failure>) {
        let Some(connected) = self.remove(io, sock) else { return };
        let fault = connected.watch.as_ref().and_then(|watch| watch.fault());
        if let Some(why) = fault
            && self.refusal_lines.admits(io.now().0)
        {
            let (from, why) = (connected.client.from.clone(), why.to_owned());
            (self.log)(&Report::NotSecured { from, why });
        }
    }

    fn on_drained<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        if let Some(connected) = self.clients.get_mut(&sock)
            && std::mem::take(&mut connected.paused)
        {
            io.resume(sock);
        }
    }

    fn on_timer<D: Driver>(&mut self, io: &mut Edge<D>, key: u64) {
        if key == TICK {
            return self.on_tick(io);
        }
        if key == READERS {
            return self.readers.called().into_iter().for_each(|sock| io.resume(sock));
        }
        let sock = Sock::from_raw(key);
        let Some(connected) = self.clients.get_mut(&sock) else { return };
        let is_over = |at: Micros| at <= io.now();
        let next = self.entrance.next(connected.origin);
        if next.is_some_and(|(next, at)| next == sock && is_over(at)) {
            self.judge(io, sock);
        } else if connected.leaves_at.is_some_and(is_over) {
            self.close_with(io, sock, AdminFault::too_slow());
        }
    }

    fn on_mail<D: Driver>(&mut self, io: &mut Edge<D>, mail: Mail) {
        match mail {
            Mail::Listen(socket, on) => {
                self.doors.extend(io.take_listener(socket).map(|listener| (listener, on)));
            }
            Mail::Unlisten(on) => self.doors.retain(|(listener, addr)| {
                if *addr == on {
                    io.remove_listener(*listener);
                }
                *addr != on
            }),
            Mail::Reloaded { before } => self.admin.take_over(&before),
            Mail::Stop => io.stop(),
        }
    }

    fn on_turn_end<D: Driver>(&mut self, _: &mut Edge<D>) {}
}

impl Connected {
    /// Hands on what came of the handshake, once that is over.
    fn note_handshake(&mut self) {
        if let Some(handshake) = self.watch.as_ref().and_then(Watch::handshake) {
            self.client.secured(handshake.own_digest);
        }
    }

    fn packet_bytes_max(&self) -> usize {
        match self.client.is_reader() {
            _ if !self.client.is_in() => LOGIN_PACKET_BYTES_MAX,
            true => READERS_PACKET_BYTES_MAX,
            false => PACKET_BYTES_MAX,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Refused { user, from, why, times } => {
                let user = Printable(user);
                write!(f, "admin: user '{user}' from {from} was refused: {why} ({times} in a row)")
            }
            Report::NotSecured { from, why } => {
                write!(f, "admin: TLS with a client from {from}: {}", Printable(why))
            }
            Report::NotPresented { why } => write!(f, "admin: {}", Printable(why)),
            Report::Untold { clients } => {
                write!(f, "admin: {clients} more clients were refused within a minute")
            }
            Report::TurnedAway { clients } => write!(
                f,
                "admin: {clients} clients were turned away: too many waited to log in, or to have \
                 their password judged"
            ),
            Report::NotRecorded { why } => write!(f, "admin: statistics are not recorded: {why}"),
        }
    }
}

/// The key of the timer that fires once a second; no socket has it.
const TICK: u64 = u64::MAX;
/// The key of the timer that fires when readers have waited.
const READERS: u64 = u64::MAX - 1;
/// How often it is looked what is due.
const TICK_EVERY: Micros = Micros::from_ms(1000);
/// Bytes of a packet.
const PACKET_BYTES_MAX: usize = 64 << 20;
/// Bytes of a packet of a statistics account.
const READERS_PACKET_BYTES_MAX: usize = 256 << 10;
/// Clients of statistics accounts.
const READERS_MAX: usize = 256;
/// Bytes of a packet of a client that is not in.
const LOGIN_PACKET_BYTES_MAX: usize = 16 << 10;
/// Bytes of answers that a client may leave before it is read from again.
const BACKLOG_BYTES_MAX: usize = 1 << 20;
/// Bytes of answers that all readers may leave.
const READERS_BACKLOG_BYTES_MAX: usize = 256 << 20;

#[cfg(test)]
mod tests;
