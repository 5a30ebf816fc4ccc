//! The interface on a loop of its own: sockets on one side, clients on the other.
//!
//! It frames packets, bounds what clients may hold, and holds back refusals: the more of them an
//! address had, the longer.

use std::collections::HashMap;
use std::fmt;
use std::os::fd::OwnedFd;

use io::{Addr, Driver, Edge, Failure, Listener, Micros, Sock};
use wire::auth::nonce_of;
use wire::frame::{HEADER_BYTES, Header};

use crate::admin::Admin;
use crate::client::{Client, Next};
use crate::clock::unix_seconds;
use crate::database::random;
use crate::fault::AdminFault;

/// The interface as a service of a loop.
pub struct Service {
    admin: Admin,
    clients: HashMap<Sock, Connected>,
    failures: Failures,
    log: Box<dyn Fn(&Report) + Send>,
    last_id: u32,
    /// Its listeners and where they listen.
    doors: Vec<(Listener, Addr)>,
}

/// What other threads may tell the interface.
#[derive(Debug)]
pub enum Mail {
    /// Accept clients on this socket, too, which listens there.
    Listen(OwnedFd, Addr),
    /// Accept none there any more; those that came from there stay.
    Unlisten(Addr),
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
    /// A sample of statistics was not recorded.
    NotRecorded {
        /// Why.
        why: String,
    },
}

struct Connected {
    client: Client,
    /// Frames of a packet that has more than one.
    assembly: Vec<u8>,
    /// An answer that is held back; the connection ends with it.
    held: Option<Vec<u8>>,
    /// Not read from until it took its answers.
    paused: bool,
}

impl Service {
    /// A service over `admin`; `log` is told what is worth a line.
    pub fn new(admin: Admin, log: Box<dyn Fn(&Report) + Send>) -> Self {
        let (clients, failures) = (HashMap::new(), Failures::default());
        Self { admin, clients, failures, log, last_id: 0, doors: Vec::new() }
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
        self.start(io);
    }

    /// A packet; `false` when nothing more is to be read for now.
    fn on_packet<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        sock: Sock,
        payload: &[u8],
        seq: u8,
    ) -> bool {
        let Some(connected) = self.clients.get_mut(&sock) else { return false };
        let mut out = Vec::new();
        match connected.client.on_packet(&mut self.admin, payload, seq, &mut out) {
            Next::Go => {
                io.send(sock, &[&out]);
            }
            Next::Welcome => {
                self.failures.forget(&connected.client.from);
                io.send(sock, &[&out]);
            }
            Next::Close => {
                io.send(sock, &[&out]);
                self.clients.remove(&sock);
                io.close_drained(sock);
                return false;
            }
            Next::Refused { user, why } => {
                let from = connected.client.from.clone();
                let (times, delay) = self.failures.add(&from, io.now());
                (self.log)(&Report::Refused { user, from, why, times });
                connected.held = Some(out);
                io.pause(sock);
                io.set_timer(sock.to_raw(), io.now() + delay);
                return false;
            }
        }
        if io.backlog(sock) > BACKLOG_BYTES_MAX {
            connected.paused = true;
            io.pause(sock);
            return false;
        }
        true
    }

    fn close_with<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, fault: &AdminFault) {
        if let Some(mut connected) = self.clients.remove(&sock) {
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
        if self.clients.len() >= CLIENTS_MAX {
            return io.close(sock);
        }
        self.last_id = self.last_id.wrapping_add(1).max(1);
        let mut out = Vec::new();
        let client = Client::greet(&self.admin, self.last_id, &from, nonce_of(bytes), &mut out);
        io.send(sock, &[&out]);
        let connected = Connected { client, assembly: Vec::new(), held: None, paused: false };
        self.clients.insert(sock, connected);
    }

    fn on_connected<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, _: Result<(), Failure>) {
        // the interface connects to nobody
        io.close(sock);
    }

    fn on_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        let mut taken = 0;
        loop {
            let Some(connected) = self.clients.get_mut(&sock) else { return bytes.len() };
            let rest = bytes.get(taken..).unwrap_or_default();
            let Some(header) = Header::parse(rest) else { return taken };
            if connected.assembly.len() + header.len > PACKET_BYTES_MAX {
                let message = "Got a packet bigger than 'max_allowed_packet' bytes";
                self.close_with(io, sock, &AdminFault::new(1153, *b"08S01", message));
                return bytes.len();
            }
            let whole = HEADER_BYTES + header.len;
            let Some(payload) = rest.get(HEADER_BYTES..whole) else { return taken };
            taken += whole;
            let goes_on = if header.is_continued() || !connected.assembly.is_empty() {
                connected.assembly.extend_from_slice(payload);
                if header.is_continued() {
                    continue;
                }
                let assembled = std::mem::take(&mut connected.assembly);
                self.on_packet(io, sock, &assembled, header.seq)
            } else {
                self.on_packet(io, sock, payload, header.seq)
            };
            if !goes_on {
                return taken;
            }
        }
    }

    fn on_gone<D: Driver>(&mut self, _: &mut Edge<D>, sock: Sock, _: Option<Failure>) {
        self.clients.remove(&sock);
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
        let sock = Sock::from_raw(key);
        if let Some(connected) = self.clients.remove(&sock) {
            io.send(sock, &[&connected.held.unwrap_or_default()]);
            io.close_drained(sock);
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
            Mail::Stop => io.stop(),
        }
    }

    fn on_turn_end<D: Driver>(&mut self, _: &mut Edge<D>) {}
}

/// Refusals by address.
#[derive(Default)]
struct Failures {
    by_address: HashMap<String, Failing>,
}

/// An address that was refused.
#[derive(Clone, Copy)]
struct Failing {
    times: u32,
    last: Micros,
}

impl Failures {
    /// One more refusal: how many there were in a row, and how long the answer is held back.
    fn add(&mut self, from: &str, now: Micros) -> (u32, Micros) {
        self.by_address.retain(|_, failing| now.0 - failing.last.0 < FORGOTTEN.0);
        if self.by_address.len() >= ADDRESSES_MAX {
            // who has so many addresses is slowed down by none; but memory has an end
            self.by_address.clear();
        }
        let failing =
            self.by_address.entry(from.to_owned()).or_insert(Failing { times: 0, last: now });
        failing.times += 1;
        failing.last = now;
        let doubled = DELAY_MIN.0 << (failing.times - 1).min(DOUBLINGS_MAX);
        (failing.times, Micros(doubled.min(DELAY_MAX.0)))
    }

    fn forget(&mut self, from: &str) {
        self.by_address.remove(from);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Refused { user, from, why, times } => {
                write!(f, "admin: user '{user}' from {from} was refused: {why} ({times} in a row)")
            }
            Report::NotRecorded { why } => write!(f, "admin: statistics are not recorded: {why}"),
        }
    }
}

/// The key of the timer that fires once a second; no socket has it.
const TICK: u64 = u64::MAX;
/// How often it is looked what is due.
const TICK_EVERY: Micros = Micros::from_ms(1000);
/// Bytes of a packet.
const PACKET_BYTES_MAX: usize = 64 << 20;
/// Bytes of answers that a client may leave before it is read from again.
const BACKLOG_BYTES_MAX: usize = 1 << 20;
/// Clients at a time.
const CLIENTS_MAX: usize = 1024;
/// Addresses whose refusals are counted.
const ADDRESSES_MAX: usize = 4096;
/// The first refusal is held back for so long, the next twice that.
const DELAY_MIN: Micros = Micros::from_ms(50);
/// No refusal is held back longer.
const DELAY_MAX: Micros = Micros::from_ms(5000);
/// Enough to come from the one to the other.
const DOUBLINGS_MAX: u32 = 10;
/// After so long without another, refusals are forgotten.
const FORGOTTEN: Micros = Micros::from_ms(600_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_in_a_row_is_held_back_longer_than_the_one_before() {
        let mut failures = Failures::default();
        let delays: Vec<u64> =
            (0..9).map(|at| failures.add("1.2.3.4", Micros(at)).1.0 / 1000).collect();
        assert_eq!(delays, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(failures.add("5.6.7.8", Micros(9)), (1, DELAY_MIN));
        failures.forget("1.2.3.4");
        assert_eq!(failures.add("1.2.3.4", Micros(10)).0, 1);
        let later = Micros(11 + FORGOTTEN.0);
        assert_eq!(failures.add("5.6.7.8", later).0, 1);
    }
}
