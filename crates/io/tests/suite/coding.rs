//! Codecs that come in the middle of a stream, hold bytes back, fail, and are cut off.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use io::{Codec, DecodeCost, Failure, Op, Sock, Step, StreamEnd};

use super::masked::{ALERT, EPROTO, Masked};
use super::recorder::{Habit, Seen, noise};
use super::talking::{Pair, pair};
use super::world::World;

/// The end of a stream whose other side said no farewell; `ENODATA` as Linux counts.
pub const CUT_OFF: Failure = Failure { op: Op::Decode, errno: 61 };
/// The hello of a codec with the head of its frame.
const HELLO_BYTES: usize = 8;

/// Where the server puts its codec on.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Where {
    /// As the bytes arrive.
    OnArrival,
    /// As they are offered again.
    OnRedelivery,
    /// While the loop keeps them.
    Between,
}

pub fn a_codec_put_on_in_the_middle_gets_what_is_behind<W: World>(world: &W) {
    for place in [Where::OnArrival, Where::OnRedelivery, Where::Between] {
        let mut pair = pair(world, Habit::Leave);
        let (sock, server_sock) = pair.connect(world);
        let coding = world.coding().clone();
        pair.server.service_mut().codecs = Rc::new(move || vec![coding.codec()]);
        if place == Where::OnArrival {
            pair.server.service_mut().upgrades_after = Some(7);
            pair.server.service_mut().habit = Habit::Echo;
        }
        // one send, the codec's hello right behind
        let (_, io) = pair.client.parts_mut();
        io.queue(sock, &[b"upgrade"]);
        io.put_on(sock, world.codec());
        io.queue(sock, &[b"secret"]);
        if place != Where::OnArrival {
            upgrade_what_is_kept(world, &mut pair, server_sock, place);
        }
        pair.client_has(world, sock, 6);
        let server = pair.server.service();
        assert_eq!(server.received(server_sock), b"upgradesecret", "{place:?}");
        assert_eq!(pair.client.service().received(sock), b"secret", "{place:?}");
        assert_eq!(pair.server.parts_mut().1.kept(server_sock), 0);
    }
}

fn upgrade_what_is_kept<W: World>(world: &W, pair: &mut Pair<W>, server_sock: Sock, place: Where) {
    world.until(&mut pair.server, &mut pair.client, "bytes to keep", |server, _| {
        server.parts_mut().1.kept(server_sock) == 7 + HELLO_BYTES
    });
    let (service, io) = pair.server.parts_mut();
    service.upgrades_after = Some(7);
    io.redeliver(server_sock);
    if place == Where::Between {
        // takes the seven bytes, and nothing is put on there
        let codecs = std::mem::replace(&mut service.codecs, Rc::new(Vec::new));
        pair.server.service_mut().habit = Habit::Leave;
        world.until(&mut pair.server, &mut pair.client, "seven bytes", |server, _| {
            server.service().received(server_sock).len() == 7
        });
        let (_, io) = pair.server.parts_mut();
        assert_eq!(io.kept(server_sock), HELLO_BYTES);
        codecs().into_iter().for_each(|codec| io.put_on(server_sock, codec));
    }
    pair.server.service_mut().habit = Habit::Echo;
}

pub fn a_stream_without_a_farewell_is_cut_off<W: World>(world: &W) {
    for pauses in [false, true] {
        let mut pair = pair(world, Habit::Take);
        let (sock, server_sock) = pair.connect(world);
        let (_, io) = pair.client.parts_mut();
        io.put_on(sock, world.silent_codec());
        io.send(sock, &[b"not all"]);
        let (_, io) = pair.server.parts_mut();
        io.put_on(server_sock, world.codec());
        if pauses {
            io.pause(server_sock);
        }
        pair.client.parts_mut().1.close_drained(sock);
        world.settle(&mut pair.server, &mut pair.client);
        pair.server.parts_mut().1.resume(server_sock);
        world.until(&mut pair.server, &mut pair.client, "the end", |server, _| {
            server.service().gone(server_sock).is_some()
        });
        let server = pair.server.service();
        assert_eq!(server.received(server_sock), b"not all");
        assert_eq!(server.gone(server_sock), Some(Some(CUT_OFF)));
        assert_eq!(CUT_OFF.to_string(), "decode: No data available (61)");
    }
}

/// As without a codec: the end waits for who has not taken all that came before it.
pub fn who_takes_slowly_gets_all_of_a_stream_that_was_cut_off<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Leave);
    pair.server.service_mut().stays_until = 7;
    let (sock, server_sock) = pair.connect(world);
    let (_, io) = pair.client.parts_mut();
    io.put_on(sock, world.silent_codec());
    io.send(sock, &[b"not all"]);
    pair.server.parts_mut().1.put_on(server_sock, world.codec());
    world.settle(&mut pair.server, &mut pair.client);
    pair.client.parts_mut().1.close_drained(sock);
    world.settle(&mut pair.server, &mut pair.client);
    assert_eq!(pair.server.service().gone(server_sock), None);
    let (service, io) = pair.server.parts_mut();
    service.habit = Habit::Take;
    io.redeliver(server_sock);
    world.until(&mut pair.server, &mut pair.client, "the end", |server, _| {
        server.service().gone(server_sock).is_some()
    });
    assert_eq!(pair.server.service().received(server_sock), b"not all");
    assert_eq!(pair.server.service().gone(server_sock), Some(None));
}

pub fn bytes_that_no_codec_knows_end_the_socket_behind_those_it_knew<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    let (sock, server_sock) = pair.connect(world);
    pair.server.parts_mut().1.put_on(server_sock, world.codec());
    pair.client_has(world, sock, HELLO_BYTES);
    // a client that encodes by itself
    let mut hello = pair.client.service().received(sock).to_vec();
    let mut codec = Masked::default();
    let mut wire = vec![0; 2 * io::CODEC_ROOM_BYTES];
    let mut plain = vec![0; io::CODEC_ROOM_BYTES];
    codec.decode(&mut hello, &mut plain).unwrap();
    let mut len = codec.pending(&mut wire).unwrap();
    len += codec.encode(b"known", &mut wire[len..]).unwrap().given;
    pair.send(sock, &[&wire[..len], &[0xff; 10]].concat());
    world.until(&mut pair.server, &mut pair.client, "both closed", |server, client| {
        server.stats().sockets + client.stats().sockets == 0
    });
    let server = pair.server.service();
    assert_eq!(server.received(server_sock), b"known");
    let failure = Failure::new(Op::Decode, EPROTO);
    let gone = |seen: &&Seen| matches!(seen, Seen::Gone(..));
    let told: Vec<_> = server.seen.iter().filter(gone).collect();
    assert_eq!(told, [&Seen::Gone(server_sock, Some(failure))]);
    assert_eq!(&pair.client.service().received(sock)[HELLO_BYTES..], ALERT);
}

/// Knows every byte but one, and speaks on when that has come.
struct Deaf;

impl Codec for Deaf {
    fn decode(&mut self, wire: &mut [u8], plain: &mut [u8]) -> Result<Step, i32> {
        match wire.iter().position(|byte| *byte == u8::MAX).unwrap_or(wire.len()) {
            0 if !wire.is_empty() => Err(DEAF.errno),
            known => Ok(as_it_is(&wire[..known], plain)),
        }
    }

    fn encode(&mut self, plain: &[u8], wire: &mut [u8]) -> Result<Step, i32> {
        Ok(as_it_is(plain, wire))
    }

    fn pending(&mut self, _: &mut [u8]) -> Result<usize, i32> {
        Ok(0)
    }

    fn close(&mut self, _: &mut [u8]) -> Result<usize, i32> {
        Ok(0)
    }

    fn end(&self) -> StreamEnd {
        StreamEnd::Untold
    }
}

/// `EBADMSG` as Linux counts.
const DEAF: Failure = Failure { op: Op::Decode, errno: 74 };

/// Also in the middle of what it sends, which would otherwise have the system drop the last words.
pub fn who_is_not_understood_is_told_so<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    pair.server.service_mut().farewell = b"what was that".to_vec();
    for more in [0, 1, 300_000] {
        let (sock, server_sock) = pair.connect(world);
        pair.server.parts_mut().1.put_on(server_sock, Box::new(Deaf));
        pair.send(sock, &[b"known".as_slice(), &[u8::MAX], &vec![0; more]].concat());
        world.until(&mut pair.server, &mut pair.client, "the end", |_, client| {
            client.service().gone(sock).is_some()
        });
        assert_eq!(pair.server.service().received(server_sock), b"known");
        assert_eq!(pair.server.service().gone(server_sock), Some(Some(DEAF)));
        assert_eq!(pair.client.service().received(sock), b"what was that", "{more}");
        assert_eq!(pair.client.service().gone(sock), Some(None), "{more}");
    }
    world.until(&mut pair.server, &mut pair.client, "both closed", |server, client| {
        server.stats().sockets + client.stats().sockets == 0
    });
}

pub fn what_a_codec_holds_back_is_a_backlog<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Leave);
    let (sock, server_sock) = pair.connect(world);
    let bytes = noise(3, 100_000);
    let (_, io) = pair.client.parts_mut();
    io.put_on(sock, world.codec());
    assert!(io.send(sock, &[&bytes]) >= bytes.len());
    world.settle(&mut pair.server, &mut pair.client);
    assert_eq!(pair.client.parts_mut().1.backlog(sock), bytes.len());
    assert!(!pair.client.service().seen.contains(&Seen::Drained(sock)));
    let (service, io) = pair.server.parts_mut();
    assert_eq!(io.kept(server_sock), HELLO_BYTES);
    service.habit = Habit::Take;
    io.put_on(server_sock, world.codec());
    pair.server_has(world, server_sock, bytes.len());
    assert!(pair.server.service().received(server_sock) == bytes);
    assert_eq!(pair.client.parts_mut().1.backlog(sock), 0);
    world.settle(&mut pair.server, &mut pair.client);
    let drained = pair.client.service().seen.iter().filter(|seen| **seen == Seen::Drained(sock));
    assert_eq!(drained.count(), 1);
}

pub fn a_socket_takes_its_codecs_along<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Echo);
    let (sock, server_sock) = pair.connect(world);
    let (_, io) = pair.server.parts_mut();
    io.put_on(server_sock, world.codec());
    pair.client.parts_mut().1.put_on(sock, world.codec());
    pair.send(sock, b"before");
    pair.client_has(world, sock, 6);
    let (_, io) = pair.server.parts_mut();
    let detached = io.detach(server_sock).expect("nothing waits");
    let attached = io.attach(detached).expect("it can be watched");
    pair.send(sock, b" and behind");
    pair.client_has(world, sock, 17);
    assert_eq!(pair.client.service().received(sock), b"before and behind");
    assert_eq!(pair.server.service().received(attached), b" and behind");
}

/// Passes on what there is room for.
fn as_it_is(from: &[u8], to: &mut [u8]) -> Step {
    let count = from.len().min(to.len());
    to[..count].copy_from_slice(&from[..count]);
    Step { taken: count, given: count }
}

/// Makes a mebibyte of each byte.
struct Swelling {
    left: usize,
}

const SWOLLEN_BYTES: usize = 1 << 20;

impl Codec for Swelling {
    fn decode(&mut self, wire: &mut [u8], plain: &mut [u8]) -> Result<Step, i32> {
        if self.left == 0 && !wire.is_empty() {
            self.left = SWOLLEN_BYTES;
        }
        let given = self.left.min(plain.len());
        plain[..given].fill(0);
        self.left -= given;
        Ok(Step { taken: usize::from(given > 0 && self.left == 0), given })
    }

    fn encode(&mut self, plain: &[u8], wire: &mut [u8]) -> Result<Step, i32> {
        Ok(as_it_is(plain, wire))
    }

    fn pending(&mut self, _: &mut [u8]) -> Result<usize, i32> {
        Ok(0)
    }

    fn close(&mut self, _: &mut [u8]) -> Result<usize, i32> {
        Ok(0)
    }

    fn end(&self) -> StreamEnd {
        if self.left > 0 { StreamEnd::Awaited } else { StreamEnd::Untold }
    }
}

pub fn an_end_waits_for_what_a_codec_has_yet_to_give<W: World>(world: &W) {
    let mut pair = pair(world, Habit::TakeAndPause);
    let (sock, server_sock) = pair.connect(world);
    let (_, io) = pair.server.parts_mut();
    io.put_on(server_sock, Box::new(Swelling { left: 0 }));
    pair.send(sock, &[1]);
    pair.client.parts_mut().1.close_drained(sock);
    pair.server_has(world, server_sock, 1);
    world.settle(&mut pair.server, &mut pair.client);
    assert!(pair.server.service().received(server_sock).len() < SWOLLEN_BYTES);
    assert_eq!(pair.server.service().gone(server_sock), None, "there is more to come");
    assert!(pair.server.parts_mut().1.detach(server_sock).is_none(), "it is not quiet");
    let (sock, server_sock) = pair.connect(world);
    pair.server.parts_mut().1.put_on(server_sock, Box::new(Swelling { left: 0 }));
    pair.send(sock, &[1]);
    pair.client.parts_mut().1.close_drained(sock);
    pair.server_has(world, server_sock, 1);
    world.settle(&mut pair.server, &mut pair.client);
    pair.server.service_mut().habit = Habit::Take;
    pair.server.parts_mut().1.resume(server_sock);
    world.until(&mut pair.server, &mut pair.client, "the end", |server, _| {
        server.service().gone(server_sock).is_some()
    });
    assert_eq!(pair.server.service().received(server_sock).len(), SWOLLEN_BYTES);
    assert_eq!(pair.server.service().gone(server_sock), Some(None));
}

/// Others are served between, and nothing is lost, the end behind it included.
pub fn what_makes_much_of_little_has_a_share_of_each_turn<W: World>(world: &W) {
    const BYTES: usize = 16;
    const SHARE_MAX: usize = 128 << 10;
    let mut pair = pair(world, Habit::Take);
    let (sock, server_sock) = pair.connect(world);
    let (_, io) = pair.server.parts_mut();
    io.put_on(server_sock, Box::new(Swelling { left: 0 }));
    pair.send(sock, &[1; BYTES]);
    pair.client.parts_mut().1.close_drained(sock);
    let (mut turns, mut received) = (pair.server.service().turns, 0);
    world.until(&mut pair.server, &mut pair.client, "the end", |server, _| {
        let service = server.service();
        let came = service.received(server_sock).len();
        let between = usize::try_from(service.turns - turns).expect("few");
        assert!(came - received <= between * SHARE_MAX, "{} in {between} turns", came - received);
        (turns, received) = (service.turns, came);
        service.gone(server_sock).is_some()
    });
    assert_eq!(received, BYTES * SWOLLEN_BYTES);
    assert_eq!(pair.server.service().gone(server_sock), Some(None));
}

/// The end of what is not read any more is told, though it came while bytes of before were decoded.
pub fn an_end_amid_decoding_is_heard_by_who_stops_reading<W: World>(world: &W) {
    const BYTES: usize = 16;
    let mut pair = pair(world, Habit::Take);
    let (sock, server_sock) = pair.connect(world);
    pair.server.parts_mut().1.put_on(server_sock, Box::new(Swelling { left: 0 }));
    pair.send(sock, &[1; BYTES]);
    pair.client.parts_mut().1.close_drained(sock);
    world.until(&mut pair.server, &mut pair.client, "some of it", |server, _| {
        server.service().received(server_sock).len() > 3 * SWOLLEN_BYTES
    });
    assert!(pair.server.service().received(server_sock).len() < BYTES * SWOLLEN_BYTES);
    pair.server.parts_mut().1.pause(server_sock);
    world.until(&mut pair.server, &mut pair.client, "the end", |server, _| {
        server.service().seen.contains(&Seen::HungUp(server_sock, false))
    });
    pair.server.parts_mut().1.resume(server_sock);
    world.until(&mut pair.server, &mut pair.client, "the rest", |server, _| {
        server.service().gone(server_sock).is_some()
    });
    assert_eq!(pair.server.service().received(server_sock).len(), BYTES * SWOLLEN_BYTES);
}

/// Takes its time for the first bytes that it decodes, and counts that.
struct Heavy {
    decoded: Arc<AtomicUsize>,
    cost: DecodeCost,
}

impl Codec for Heavy {
    fn decode(&mut self, wire: &mut [u8], plain: &mut [u8]) -> Result<Step, i32> {
        if !wire.is_empty() && self.cost() > DecodeCost::Little {
            self.cost = DecodeCost::Little;
            self.decoded.fetch_add(1, Ordering::Relaxed);
        }
        Ok(as_it_is(wire, plain))
    }

    fn encode(&mut self, plain: &[u8], wire: &mut [u8]) -> Result<Step, i32> {
        Ok(as_it_is(plain, wire))
    }

    fn pending(&mut self, _: &mut [u8]) -> Result<usize, i32> {
        Ok(0)
    }

    fn close(&mut self, _: &mut [u8]) -> Result<usize, i32> {
        Ok(0)
    }

    fn end(&self) -> StreamEnd {
        StreamEnd::Untold
    }

    fn cost(&self) -> DecodeCost {
        self.cost
    }
}

/// Nobody waits for a crowd of handshakes that came at the same moment.
pub fn steps_that_take_long_have_turns<W: World>(world: &W) {
    const CROWD: usize = 40;
    let decoded = Arc::new(AtomicUsize::new(0));
    let mut pair = pair(world, Habit::Take);
    let crowd: Vec<_> = (0..CROWD).map(|_| pair.connect(world)).collect();
    for (sock, server_sock) in &crowd {
        let heavy = Heavy { decoded: decoded.clone(), cost: DecodeCost::Handshake };
        pair.server.parts_mut().1.put_on(*server_sock, Box::new(heavy));
        pair.send(*sock, b"both");
    }
    let (mut turns, mut before) = (pair.server.service().turns, 0);
    world.until(&mut pair.server, &mut pair.client, "all of them", |server, _| {
        let service = server.service();
        let now = decoded.load(Ordering::Relaxed);
        let between = usize::try_from(service.turns - turns).expect("few");
        assert!(now - before <= between, "{} in {between} turns", now - before);
        (turns, before) = (service.turns, now);
        crowd.iter().all(|(_, sock)| service.received(*sock) == b"both")
    });
    assert_eq!(before, CROWD);
}

/// Nor does a handshake wait for those who have to decode once more.
pub fn handshakes_wait_for_no_other_steps<W: World>(world: &W) {
    const CROWD: usize = 40;
    let decoded = Arc::new(AtomicUsize::new(0));
    let mut pair = pair(world, Habit::Take);
    let crowd: Vec<_> = (0..CROWD).map(|_| pair.connect(world)).collect();
    let (last, last_at_server) = pair.connect(world);
    let mut put_on = |sock, cost, decoded: &Arc<AtomicUsize>| {
        let heavy = Heavy { decoded: decoded.clone(), cost };
        pair.server.parts_mut().1.put_on(sock, Box::new(heavy));
    };
    crowd.iter().for_each(|(_, sock)| put_on(*sock, DecodeCost::Again, &decoded));
    put_on(last_at_server, DecodeCost::Handshake, &Arc::default());
    crowd.iter().chain([&(last, last_at_server)]).for_each(|(sock, _)| pair.send(*sock, b"all"));
    world.until(&mut pair.server, &mut pair.client, "the handshake", |server, _| {
        server.service().received(last_at_server) == b"all"
    });
    let others = decoded.load(Ordering::Relaxed);
    assert!(others < CROWD / 2, "{others} went first");
}
