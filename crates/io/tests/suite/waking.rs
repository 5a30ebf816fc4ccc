//! What moves a loop besides bytes: timers, mail, accepting, stopping.

use io::Micros;

use super::recorder::{Habit, Seen};
use super::talking::pair;
use super::world::World;

pub fn timers_fire_in_order_and_not_early<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    let (_, io) = pair.server.parts_mut();
    let start = io.now();
    for key in [5_u64, 1, 4, 2, 3] {
        io.set_timer(key, start + Micros(key * 3_000));
    }
    io.set_timer(3, start + Micros(9_000));
    let mut seen = 0;
    while seen < 6 {
        world.step(&mut pair.server, &mut pair.client);
        let now = pair.server.parts_mut().1.now();
        let timers = &pair.server.service().seen;
        for timer in &timers[seen..] {
            let Seen::Timer(key) = timer else { panic!("{timer:?}") };
            assert!(now >= start + Micros(key * 3_000), "timer {key} fired early");
        }
        seen = timers.len();
    }
    let expected: Vec<Seen> = [1, 2, 3, 3, 4, 5].into_iter().map(Seen::Timer).collect();
    assert_eq!(pair.server.service().seen, expected);
}

pub fn mail_is_delivered_in_order<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    let mailbox = pair.server.mailbox();
    for number in 0..1_000 {
        mailbox.post(number).unwrap();
    }
    world.until(&mut pair.server, &mut pair.client, "all mail", |server, _| {
        server.service().seen.len() == 1_000
    });
    let expected: Vec<Seen> = (0..1_000).map(Seen::Mail).collect();
    assert_eq!(pair.server.service().seen, expected);
    drop(pair.server);
    assert_eq!(mailbox.post(7), Err(7));
}

pub fn paused_accepting_leaves_connections_waiting<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Echo);
    world.settle(&mut pair.server, &mut pair.client);
    pair.server.parts_mut().1.pause_accepting();
    world.settle(&mut pair.server, &mut pair.client);
    let sock = pair.dial();
    pair.send(sock, b"patience");
    world.settle(&mut pair.server, &mut pair.client);
    assert_eq!(pair.server.stats().accepts, 0);
    assert!(pair.client.service().connected(sock));
    pair.server.parts_mut().1.resume_accepting();
    pair.client_has(world, sock, 8);
    assert_eq!(pair.client.service().received(sock), b"patience");
}

pub fn a_stopped_loop_says_so<W: World>(world: &W) {
    let mut pair = pair(world, Habit::Take);
    assert!(pair.server.turn(Some(Micros(0))));
    pair.server.parts_mut().1.stop();
    assert!(!pair.server.turn(Some(Micros(0))));
    assert!(pair.server.is_stopped());
    assert!(!pair.client.is_stopped());
}
