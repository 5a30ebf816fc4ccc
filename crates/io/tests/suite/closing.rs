//! Ends: drained closes, refusals, what comes before an end and that nothing comes after.

use io::{Failure, Loop, Op, Sock};

use super::coding::CUT_OFF;
use super::recorder::{Habit, Recorder, Seen, noise};
use super::talking::{Pair, pair};
use super::world::World;

pub fn everything_sent_before_close_drained_arrives<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    let (sock, server_sock) = pair.connect(world);
    let bytes = noise(5, 3 << 20);
    let (_, io) = pair.server.parts_mut();
    io.send(server_sock, &[&bytes]);
    io.queue(server_sock, &[b"last"]);
    io.close_drained(server_sock);
    // nothing more is taken
    assert!(io.send(server_sock, &[b"too late"]) == 0);
    world.until(&mut pair.server, &mut pair.client, "the end", |_, client| {
        client.service().gone(sock).is_some()
    });
    let received = pair.client.service().received(sock);
    assert!(received[..bytes.len()] == bytes && received[bytes.len()..] == *b"last");
    assert_eq!(pair.client.service().gone(sock), Some(None));
    world.settle(&mut pair.server, &mut pair.client);
    assert_eq!(pair.server.stats().sockets, 0);
    assert_eq!(pair.server.service().gone(server_sock), None);
}

pub fn a_drained_close_survives_unread_bytes<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Leave);
    pair.server.service_mut().pauses_accepted = true;
    let (sock, server_sock) = pair.connect(world);
    pair.send(sock, &noise(6, 1 << 20));
    world.settle(&mut pair.server, &mut pair.client);
    let (_, io) = pair.server.parts_mut();
    io.send(server_sock, &[b"go away"]);
    io.close_drained(server_sock);
    pair.client_has(world, sock, 7);
    assert_eq!(pair.client.service().received(sock), b"go away");
    world.until(&mut pair.server, &mut pair.client, "both closed", |server, client| {
        server.stats().sockets + client.stats().sockets == 0
    });
}

pub fn a_refused_connect_is_reported_once<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    let sock = pair.client.parts_mut().1.connect(&world.nowhere()).unwrap();
    world.until(&mut pair.server, &mut pair.client, "the refusal", |_, client| {
        !client.service().seen.is_empty()
    });
    world.settle(&mut pair.server, &mut pair.client);
    let refused = Failure::new(Op::Connect, 111);
    assert_eq!(refused.to_string(), "connect: Connection refused (111)");
    assert_eq!(pair.client.service().seen, [Seen::Connected(sock, Err(refused))]);
    assert_eq!(pair.client.stats().sockets, 0);
}

pub fn bytes_before_the_end_come_before_the_end<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    let (sock, server_sock) = pair.connect(world);
    let bytes = noise(7, 500_000);
    let (_, io) = pair.client.parts_mut();
    io.send(sock, &[&bytes]);
    io.close_drained(sock);
    world.until(&mut pair.server, &mut pair.client, "the end", |server, _| {
        server.service().gone(server_sock).is_some()
    });
    assert_eq!(pair.server.service().gone(server_sock), Some(None));
    assert!(pair.server.service().received(server_sock) == bytes);
    assert_eq!(pair.server.stats().sockets, 0);
}

/// The client sends nothing more, once the system has taken the farewells of its codecs.
fn end_sending<W: World>(world: &W, pair: &mut Pair<W>, sock: Sock) {
    world.until(&mut pair.server, &mut pair.client, "the end of sending", |_, client| {
        client.parts_mut().1.end_sending(sock)
    });
}

pub fn who_has_ended_sending_still_hears<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    let farewell = noise(9, 300_000);
    pair.server.service_mut().farewell.clone_from(&farewell);
    let (sock, server_sock) = pair.connect(world);
    let (_, io) = pair.client.parts_mut();
    assert_eq!(io.send(sock, &[b"last"]), 0);
    end_sending(world, &mut pair, sock);
    world.until(&mut pair.server, &mut pair.client, "both closed", |server, client| {
        server.stats().sockets + client.stats().sockets == 0
    });
    assert_eq!(pair.server.service().received(server_sock), b"last");
    assert!(pair.client.service().received(sock) == farewell);
    assert_eq!(pair.client.service().gone(sock), Some(None));
    assert!(!pair.client.parts_mut().1.end_sending(sock), "there is nobody");
}

pub fn what_is_queued_arrives_before_the_end<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    let (closed, at_closed) = pair.connect(world);
    let (silent, at_silent) = pair.connect(world);
    let (given, at_given) = pair.connect(world);
    let (_, io) = pair.client.parts_mut();
    for sock in [closed, silent, given] {
        assert_eq!(io.queue(sock, &[b"!"]), 0);
    }
    let blocked = io.stats().sends_blocked;
    io.close(closed);
    let cut_off = io.stats().sends_blocked > blocked;
    assert!(io.end_sending(silent));
    let taken_along = io.detach(given);
    pair.server_has(world, at_given, 1);
    drop(taken_along);
    world.until(&mut pair.server, &mut pair.client, "the ends", |server, _| {
        [at_closed, at_silent].iter().all(|sock| server.service().gone(*sock).is_some())
    });
    for sock in [at_closed, at_silent] {
        assert_eq!(pair.server.service().received(sock), b"!");
        // a system that took the byte and not all of the farewell behind it cut the stream off
        let why = (cut_off && sock == at_closed).then_some(CUT_OFF);
        assert_eq!(pair.server.service().gone(sock), Some(why));
    }
}

pub fn who_has_ended_sending_is_answered_all_it_asked<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Leave);
    pair.server.service_mut().stays_until = 9;
    pair.server.service_mut().farewell = b"!".into();
    let (sock, server_sock) = pair.connect(world);
    let (_, io) = pair.client.parts_mut();
    assert_eq!(io.send(sock, &[b"what?"]), 0);
    end_sending(world, &mut pair, sock);
    world.settle(&mut pair.server, &mut pair.client);
    let before = pair.server.stats().events;
    world.settle(&mut pair.server, &mut pair.client);
    assert_eq!(pair.server.stats().events, before, "an end that is known is told again");
    assert_eq!(pair.server.service().gone(server_sock), None);

    pair.server.service_mut().habit = Habit::Echo;
    pair.server.service_mut().stays_until = 5;
    pair.server.parts_mut().1.redeliver(server_sock);
    world.until(&mut pair.server, &mut pair.client, "both closed", |server, client| {
        server.stats().sockets + client.stats().sockets == 0
    });
    assert_eq!(pair.client.service().received(sock), b"what?!");
    assert_eq!(pair.server.service().gone(server_sock), Some(None));
}

pub fn a_closed_socket_reports_nothing_more<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    let (sock, server_sock) = pair.connect(world);
    for _ in 0..20 {
        pair.send(sock, &noise(8, 10_000));
    }
    pair.server.parts_mut().1.close(server_sock);
    // the recorder panics when it hears of a closed socket
    pair.server.service_mut().closed.insert(server_sock);
    pair.server.parts_mut().1.set_timer(1, io::Micros(0));
    world.until(&mut pair.server, &mut pair.client, "the reset", |server, client| {
        client.service().gone(sock).is_some() && server.service().seen.contains(&Seen::Timer(1))
    });
    assert_eq!(pair.server.service().gone(server_sock), None);
}

pub fn the_end_of_a_paused_socket_waits_for_its_bytes<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    let (sock, server_sock) = pair.connect(world);
    pair.server.parts_mut().1.pause(server_sock);
    let (_, io) = pair.client.parts_mut();
    io.send(sock, &[b"before the end"]);
    io.close_drained(sock);
    world.settle(&mut pair.server, &mut pair.client);
    assert_eq!(pair.server.service().received(server_sock), b"");
    assert_eq!(pair.server.service().gone(server_sock), None);
    pair.server.parts_mut().1.resume(server_sock);
    world.until(&mut pair.server, &mut pair.client, "the end", |server, _| {
        server.service().gone(server_sock).is_some()
    });
    assert_eq!(pair.server.service().received(server_sock), b"before the end");
    assert_eq!(pair.server.service().gone(server_sock), Some(None));
}

pub fn a_socket_that_fails_to_send_is_reported_gone_once<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    let (sock, server_sock) = pair.connect(world);
    pair.client.parts_mut().1.close(sock);
    // sends in one turn, before the loop can have heard of the end
    for _ in 0..3 {
        let (_, io) = pair.server.parts_mut();
        for _ in 0..3 {
            io.send(server_sock, &[b"anybody there?"]);
        }
        world.settle(&mut pair.server, &mut pair.client);
    }
    world.until(&mut pair.server, &mut pair.client, "the end", |server, _| {
        server.service().gone(server_sock).is_some()
    });
    let gone = |seen: &&Seen| matches!(seen, Seen::Gone(..));
    assert_eq!(pair.server.service().seen.iter().filter(gone).count(), 1);
    assert_eq!(pair.server.stats().sockets, 0);
}

pub fn names_of_closed_sockets_are_never_reused<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Echo);
    let mut names = std::collections::HashSet::new();
    for round in 0..50 {
        let (sock, server_sock) = pair.connect(world);
        assert!(names.insert(sock), "{sock:?} named a socket before");
        pair.send(sock, &noise(round, 20));
        pair.client_has(world, sock, 20);
        pair.client.parts_mut().1.close(sock);
        world.until(&mut pair.server, &mut pair.client, "closed", |server, _| {
            server.service().gone(server_sock).is_some()
        });
    }
    assert!(names.iter().all(|sock| sock.index() < 50));
}

/// Once each, while bytes of before wait; whoever only ends what it sends may still read.
pub fn whoever_is_not_read_is_heard_to_hang_up<W: World>(world: &W) {
    for vanishes in [false, true] {
        let mut pair = pair(world, Habit::Take);
        let (sock, server_sock) = pair.connect(world);
        pair.send(sock, b"first");
        pair.server_has(world, server_sock, 5);
        pair.server.parts_mut().1.pause(server_sock);
        let ahead = noise(9, 200);
        pair.send(sock, &ahead);
        let told = |server: &Loop<W::D, Recorder>| {
            let hung_up = |seen: &&Seen| matches!(seen, Seen::HungUp(..) | Seen::Gone(..));
            server.service().seen.iter().filter(hung_up).cloned().collect::<Vec<_>>()
        };
        world.until(&mut pair.server, &mut pair.client, "all is on its way", |_, client| {
            client.parts_mut().1.backlog(sock) == 0
        });
        world.settle(&mut pair.server, &mut pair.client);
        let (_, io) = pair.client.parts_mut();
        if vanishes {
            io.pause(sock);
            pair.server.parts_mut().1.send(server_sock, &[b"unread"]);
            world.settle(&mut pair.server, &mut pair.client);
            pair.client.parts_mut().1.close(sock);
        } else {
            assert!(io.end_sending(sock));
        }
        world.until(&mut pair.server, &mut pair.client, "the end", |server, _| {
            !told(server).is_empty()
        });
        let events = pair.server.stats().events;
        world.settle(&mut pair.server, &mut pair.client);
        assert!(pair.server.stats().events <= events + 2, "it is told over and over");
        if vanishes {
            assert_eq!(told(&pair.server).last(), Some(&Seen::HungUp(server_sock, true)));
            continue;
        }
        assert_eq!(told(&pair.server), [Seen::HungUp(server_sock, false)]);
        pair.server.parts_mut().1.send(server_sock, &[b"an answer"]);
        pair.client_has(world, sock, 9);
        pair.server.parts_mut().1.resume(server_sock);
        world.until(&mut pair.server, &mut pair.client, "the end", |server, _| {
            server.service().gone(server_sock).is_some()
        });
        assert_eq!(pair.server.service().received(server_sock), [&b"first"[..], &ahead].concat());
        assert_eq!(pair.server.service().gone(server_sock), Some(None));
    }
}
