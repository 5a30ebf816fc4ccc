//! Back-pressure: pausing, resuming, kept bytes, slow readers.

use std::collections::HashMap;

use io::{Addr, Driver, Edge, Failure, Listener, Service, Sock};

use super::recorder::{Habit, MakeCodecs, noise, put_on};
use super::talking::pair;
use super::world::World;

/// Relays each accepted connection to one server, pausing either side while the other is slow.
pub struct Relay {
    to: Addr,
    other: HashMap<Sock, Sock>,
    codecs: MakeCodecs,
    pub backlog_max: usize,
}

const BACKLOG_MAX: usize = 128 * 1024;

impl Relay {
    pub fn new(to: Addr, codecs: MakeCodecs) -> Self {
        Relay { to, other: HashMap::new(), codecs, backlog_max: 0 }
    }
}

impl Service for Relay {
    type Mail = ();

    fn on_accepted<D: Driver>(&mut self, io: &mut Edge<D>, _: Listener, sock: Sock, _: Addr) {
        let server = io.connect(&self.to).unwrap();
        put_on(io, sock, &self.codecs);
        put_on(io, server, &self.codecs);
        self.other.insert(sock, server);
        self.other.insert(server, sock);
    }

    fn on_connected<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock, result: Result<(), Failure>) {
        result.unwrap();
    }

    fn on_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        let other = self.other[&sock];
        let backlog = io.send(other, &[bytes]);
        self.backlog_max = self.backlog_max.max(backlog);
        if backlog > BACKLOG_MAX {
            io.pause(sock);
        }
        bytes.len()
    }

    fn on_gone<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, _: Option<Failure>) {
        if let Some(other) = self.other.remove(&sock) {
            self.other.remove(&other);
            io.close_drained(other);
        }
    }

    fn on_drained<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        io.resume(self.other[&sock]);
    }

    fn on_timer<D: Driver>(&mut self, _: &mut Edge<D>, _: u64) {}
    fn on_mail<D: Driver>(&mut self, _: &mut Edge<D>, (): ()) {}
    fn on_turn_end<D: Driver>(&mut self, _: &mut Edge<D>) {}
}

/// Serves `volume` bytes to whoever connects, and reads a connection of its own slowly.
struct Ends {
    block: Vec<u8>,
    to_send: usize,
    received: usize,
    intact: bool,
    codecs: MakeCodecs,
    ended: bool,
}

impl Ends {
    fn refill<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        while self.to_send > 0 {
            let count = self.to_send.min(self.block.len());
            self.to_send -= count;
            if io.send(sock, &[&self.block[..count]]) > 0 {
                return;
            }
        }
        io.close_drained(sock);
    }
}

impl Service for Ends {
    type Mail = ();

    fn on_accepted<D: Driver>(&mut self, io: &mut Edge<D>, _: Listener, sock: Sock, _: Addr) {
        put_on(io, sock, &self.codecs);
        self.refill(io, sock);
    }

    fn on_connected<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock, result: Result<(), Failure>) {
        result.unwrap();
    }

    fn on_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        let at = self.received % self.block.len();
        let count = bytes.len().min(self.block.len() - at);
        self.intact &= bytes[..count] == self.block[at..at + count];
        self.received += bytes.len();
        // slow: rests after every receive until the timer
        io.pause(sock);
        io.set_timer(sock.to_raw(), io.now() + io::Micros(20));
        bytes.len()
    }

    fn on_gone<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock, why: Option<Failure>) {
        assert_eq!(why, None);
        self.ended = true;
    }

    fn on_drained<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        self.refill(io, sock);
    }

    fn on_timer<D: Driver>(&mut self, io: &mut Edge<D>, key: u64) {
        io.resume(Sock::from_raw(key));
    }

    fn on_mail<D: Driver>(&mut self, _: &mut Edge<D>, (): ()) {}
    fn on_turn_end<D: Driver>(&mut self, _: &mut Edge<D>) {}
}

pub fn a_slow_reader_bounds_what_the_relay_holds<W: World>(world: &W) {
    let volume = world.volume();
    let (server_listener, server_addr) = world.listen();
    let (relay_listener, relay_addr) = world.listen();
    let ends = Ends {
        block: noise(9, 1 << 18),
        to_send: volume,
        received: 0,
        intact: true,
        codecs: world.codecs(),
        ended: false,
    };
    let mut ends = world.new_loop(ends);
    ends.add_listener(server_listener);
    let mut relay = world.new_loop(Relay::new(server_addr, world.codecs()));
    relay.add_listener(relay_listener);
    let (_, io) = ends.parts_mut();
    let reading = io.connect(&relay_addr).unwrap();
    put_on(io, reading, &world.codecs());
    world.until(&mut ends, &mut relay, "the whole volume", |ends, _| ends.service().ended);
    assert_eq!(ends.service().received, volume);
    assert!(ends.service().intact);
    let held = relay.service().backlog_max;
    assert!(held <= BACKLOG_MAX + 64 * 1024, "the relay held {held} bytes");
    assert!(world.is_coded() || relay.stats().bytes_out == volume as u64);
}

pub fn a_paused_socket_delivers_only_after_resume<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    let (sock, server_sock) = pair.connect(world);
    pair.server.parts_mut().1.pause(server_sock);
    let bytes = noise(3, 5_000);
    pair.send(sock, &bytes);
    world.settle(&mut pair.server, &mut pair.client);
    assert_eq!(pair.server.service().received(server_sock), b"");
    pair.server.parts_mut().1.resume(server_sock);
    pair.server_has(world, server_sock, bytes.len());
    assert!(pair.server.service().received(server_sock) == bytes);
}

pub fn kept_bytes_are_offered_on_redeliver_even_when_paused<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Leave);
    let (sock, server_sock) = pair.connect(world);
    pair.send(sock, b"kept");
    world.until(&mut pair.server, &mut pair.client, "bytes to keep", |server, _| {
        server.parts_mut().1.kept(server_sock) == 4
    });
    let offered = pair.server.service().offered;
    let (service, io) = pair.server.parts_mut();
    service.habit = Habit::Take;
    io.pause(server_sock);
    // a pause takes an earlier request back
    io.redeliver(server_sock);
    io.pause(server_sock);
    world.settle(&mut pair.server, &mut pair.client);
    assert_eq!(pair.server.service().offered, offered);
    pair.server.parts_mut().1.redeliver(server_sock);
    pair.server_has(world, server_sock, 4);
    assert_eq!(pair.server.service().received(server_sock), b"kept");
    assert_eq!(pair.server.service().offered, offered + 4);
}

pub fn a_paused_and_flooded_socket_does_not_spin<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    pair.server.service_mut().pauses_accepted = true;
    let (sock, server_sock) = pair.connect(world);
    pair.send(sock, &noise(4, 3 << 20));
    world.settle(&mut pair.server, &mut pair.client);
    let before = pair.server.stats().events;
    world.settle(&mut pair.server, &mut pair.client);
    assert!(pair.server.stats().events <= before + 2);
    // the client gives up: a reset, which epoll would report for ever
    pair.client.parts_mut().1.close(sock);
    world.settle(&mut pair.server, &mut pair.client);
    let before = pair.server.stats().events;
    world.settle(&mut pair.server, &mut pair.client);
    assert!(pair.server.stats().events <= before + 2);
    pair.server.parts_mut().1.resume(server_sock);
    world.until(&mut pair.server, &mut pair.client, "the end", |server, _| {
        server.service().gone(server_sock).is_some()
    });
}
