//! Accepted sockets that are sent no more than so many bytes in a second.

use io::{Edge, Micros, Sock};

use super::recorder::{Habit, Seen, noise};
use super::talking::pair;
use super::world::World;

const BYTES_PER_S: u32 = 200_000;
/// What is sent at once.
const SHARE: u64 = 20_000;

pub fn an_accepted_socket_is_sent_no_more_than_its_rate<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Echo);
    pair.server.parts_mut().1.limit_rate(BYTES_PER_S);
    let (sock, server_sock) = pair.connect(world);
    let bytes = noise(3, 100_000);
    let begun = pair.server.stats();
    let (_, io) = pair.server.parts_mut();
    let (since, unsent) = (io.now(), io.send(server_sock, &[&bytes]));
    assert!(unsent > 0, "a part waits");
    let mut before = (since, 0);
    world.until(&mut pair.server, &mut pair.client, "the bytes", |server, client| {
        let sent = server.stats().bytes_out - begun.bytes_out;
        let now = server.parts_mut().1.now();
        if sent > before.1 {
            assert!(sent - before.1 <= 2 * SHARE, "{} at once", sent - before.1);
            before = (now, sent);
        }
        let took_us = now.since(since).0;
        let most = took_us * u64::from(BYTES_PER_S) / 1_000_000 + 2 * SHARE;
        assert!(sent <= most, "{sent} bytes in {took_us} us");
        client.service().received(sock).len() == bytes.len()
    });
    assert!(pair.client.service().received(sock) == bytes);
    let took = pair.server.parts_mut().1.now().since(since);
    assert!(took >= Micros::from_ms(350), "{took:?} of half a second");
    let paced = pair.server.stats().sends_paced - begun.sends_paced;
    assert!((4..=12).contains(&paced), "{paced} times");
    world.until(&mut pair.server, &mut pair.client, "it is told", |server, _| {
        server.service().seen.contains(&Seen::Drained(server_sock))
    });
    // the other direction has no limit
    let begun = pair.server.parts_mut().1.now();
    pair.server.service_mut().habit = Habit::Take;
    pair.send(sock, &noise(4, 1_000_000));
    pair.server_has(world, server_sock, 1_000_000);
    let took = pair.server.parts_mut().1.now().since(begun);
    assert!(took < Micros::from_ms(4_000), "{took:?}, as if it were paced");
}

pub fn a_socket_that_closes_has_no_time_to_lose<W: World>(world: &W) {
    arrives_at_once(world, |io, sock| io.close_drained(sock));
}

pub fn a_limit_that_is_lifted_holds_for_what_waits<W: World>(world: &W) {
    arrives_at_once(world, |io, _| io.limit_rate(0));
}

/// What is sent at a rate at which it would take 100 seconds comes at once behind this.
fn arrives_at_once<W: World>(world: &W, then: impl FnOnce(&mut Edge<W::D>, Sock)) {
    let mut pair = pair(world, Habit::Take);
    pair.server.parts_mut().1.limit_rate(1_000);
    let (sock, server_sock) = pair.connect(world);
    let bytes = noise(5, 100_000);
    let (_, io) = pair.server.parts_mut();
    let begun = io.now();
    io.send(server_sock, &[&bytes]);
    then(io, server_sock);
    pair.client_has(world, sock, bytes.len());
    assert!(pair.client.service().received(sock) == bytes);
    let took = pair.server.parts_mut().1.now().since(begun);
    assert!(took < Micros::from_ms(4_000), "{took:?} of 100 seconds");
}
