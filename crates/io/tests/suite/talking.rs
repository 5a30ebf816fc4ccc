//! Bytes go out and come back: order, cuts, crowds.

use io::{Addr, Loop, Sock};

use super::recorder::{Habit, MakeCodecs, Recorder, noise, put_on};
use super::world::World;

/// A server with `habit` and a client that takes everything.
pub struct Pair<W: World> {
    pub server: Loop<W::D, Recorder>,
    pub client: Loop<W::D, Recorder>,
    pub addr: Addr,
    codecs: MakeCodecs,
}

pub fn pair<W: World>(world: &W, habit: Habit) -> Pair<W> {
    let (listener, addr) = world.listen();
    let codecs = world.codecs();
    let mut server = world.new_loop(Recorder { codecs: codecs.clone(), ..Recorder::new(habit) });
    server.add_listener(listener);
    Pair { server, client: world.new_loop(Recorder::new(Habit::Take)), addr, codecs }
}

impl<W: World> Pair<W> {
    /// Connects once; the client's name for the socket and the server's.
    pub fn connect(&mut self, world: &W) -> (Sock, Sock) {
        let before = self.server.service().accepted().len();
        let sock = self.dial();
        world.until(&mut self.server, &mut self.client, "connected", |server, client| {
            client.service().connected(sock)
                && server.service().accepted().len() > before
                && (server.service().pauses_accepted || world.has_greeted())
        });
        (sock, *self.server.service().accepted().last().unwrap())
    }

    /// Starts a connection, with what the world's sockets have.
    pub fn dial(&mut self) -> Sock {
        let (_, io) = self.client.parts_mut();
        let sock = io.connect(&self.addr).unwrap();
        put_on(io, sock, &self.codecs);
        sock
    }

    pub fn send(&mut self, sock: Sock, bytes: &[u8]) {
        self.client.parts_mut().1.send(sock, &[bytes]);
    }

    pub fn client_has(&mut self, world: &W, sock: Sock, count: usize) {
        world.until(&mut self.server, &mut self.client, "bytes at the client", |_, client| {
            client.service().received(sock).len() >= count
        });
    }

    pub fn server_has(&mut self, world: &W, sock: Sock, count: usize) {
        world.until(&mut self.server, &mut self.client, "bytes at the server", |server, _| {
            server.service().received(sock).len() >= count
        });
    }
}

pub fn what_is_sent_comes_back<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Echo);
    let (sock, _) = pair.connect(world);
    let mut expected = Vec::new();
    for (round, size) in [1, 2, 100, 4_096, 70_000, 1, 300_000].into_iter().enumerate() {
        let bytes = noise(round, size);
        pair.send(sock, &bytes);
        expected.extend_from_slice(&bytes);
        pair.client_has(world, sock, expected.len());
    }
    assert!(pair.client.service().received(sock) == expected);
    let stats = pair.server.stats();
    if world.is_coded() {
        assert!(stats.bytes_in > expected.len() as u64 && stats.bytes_out > expected.len() as u64);
    } else {
        assert_eq!((stats.bytes_in, stats.bytes_out), [expected.len() as u64; 2].into());
    }
}

pub fn frames_cut_anywhere_are_offered_until_whole<W: World>(world: &W) {
    let mut pair = pair(world, Habit::EchoFrames);
    let (sock, server_sock) = pair.connect(world);
    let mut expected = Vec::new();
    for (round, size) in [0, 1, 5, 3_000, 20_000, 2, 150_000, 0, 7].into_iter().enumerate() {
        let mut frame = (size as u32).to_le_bytes().to_vec();
        frame.extend(noise(round, size));
        expected.extend_from_slice(&frame);
        // in pieces, so that real sockets cut as well
        let pieces = 1 + round % 4;
        for piece in frame.chunks(frame.len().div_ceil(pieces)) {
            pair.send(sock, piece);
            for _ in 0..3 {
                world.step(&mut pair.server, &mut pair.client);
            }
        }
    }
    pair.client_has(world, sock, expected.len());
    assert!(pair.client.service().received(sock) == expected);
    assert_eq!(pair.server.parts_mut().1.kept(server_sock), 0);
}

pub fn many_sockets_talk_at_once<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Echo);
    let crowd = world.crowd();
    let mut socks = Vec::new();
    for number in 0..crowd {
        let sock = pair.dial();
        socks.push(sock);
        let hello = noise(number, 100);
        pair.send(sock, &hello);
        if number % 200 == 0 {
            world.step(&mut pair.server, &mut pair.client);
        }
    }
    world.until(&mut pair.server, &mut pair.client, "all answers", |_, client| {
        client.service().offered == 100 * crowd as u64
    });
    for (number, sock) in socks.iter().enumerate() {
        assert!(pair.client.service().received(*sock) == noise(number, 100), "{sock:?}");
    }
    assert_eq!(pair.server.stats().accepts, crowd as u64);
    assert_eq!(pair.server.stats().sockets, crowd as u64);
    for sock in socks {
        pair.client.parts_mut().1.close(sock);
    }
    world.until(&mut pair.server, &mut pair.client, "all gone", |server, _| {
        server.stats().sockets == 0
    });
}

pub fn parts_and_queued_bytes_keep_their_order<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    let (sock, server_sock) = pair.connect(world);
    let (big, small) = (noise(1, 900_000), noise(2, 10));
    let mut expected = Vec::new();
    let (_, io) = pair.client.parts_mut();
    for round in 0..3 {
        io.queue(sock, &[&small]);
        // more parts than one call takes, an empty one among them
        let mut parts: Vec<&[u8]> = small.chunks(1).cycle().take(25).collect();
        parts[3] = b"";
        if round == 1 {
            parts.push(&big);
        }
        io.send(sock, &parts);
        io.queue(sock, &[b"end"]);
        expected.extend_from_slice(&small);
        expected.extend(parts.concat());
        expected.extend_from_slice(b"end");
    }
    assert!(io.backlog(sock) > 0);
    pair.server_has(world, server_sock, expected.len());
    assert!(pair.server.service().received(server_sock) == expected);
    let drained = pair.client.parts_mut().1.backlog(sock);
    assert_eq!(drained, 0);
}

pub fn what_is_queued_in_a_turn_is_one_send<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    let (sock, server_sock) = pair.connect(world);
    let before = pair.client.stats().sends;
    let (_, io) = pair.client.parts_mut();
    for _ in 0..512 {
        assert_eq!(io.queue(sock, &[b"four", b"", b"4444"]), 0);
    }
    assert_eq!((io.stats().sends - before, io.backlog(sock)), (0, 4096));
    pair.server_has(world, server_sock, 4096);
    // a network that takes a part of each send needs some more of them
    let sends = pair.client.stats().sends - before;
    assert!((1..16).contains(&sends), "{sends} sends");

    // what is too much to wait goes at once, behind what waits
    let before = pair.client.stats().sends;
    let (_, io) = pair.client.parts_mut();
    io.queue(sock, &[b"first"]);
    assert_eq!(io.stats().sends - before, 0);
    io.queue(sock, &[&noise(3, 4092)]);
    assert_eq!(io.stats().sends - before, 1);
    pair.server_has(world, server_sock, 4096 + 4097);
    let received = pair.server.service().received(server_sock);
    assert_eq!(&received[..4101], [b"four4444".repeat(512), b"first".to_vec()].concat());
    assert_eq!(&received[4101..], noise(3, 4092));
}

pub fn sends_before_the_connect_completes_are_kept<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Echo);
    let sock = pair.dial();
    let (_, io) = pair.client.parts_mut();
    assert_eq!(io.send(sock, &[b"one ", b"two "]), 8);
    io.queue(sock, &[b"three"]);
    pair.client_has(world, sock, 13);
    assert_eq!(pair.client.service().received(sock), b"one two three");
}
