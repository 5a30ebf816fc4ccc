//! The scenarios by name.
//!
//! Decides what one pass of each is; a pass never depends on the one before.

use std::hint::black_box;

use wire::auth::native;
use wire::command::Command;
use wire::frame::{Framed, next_packet};
use wire::result::{Event, ReplyKind, ReplyTracker};

use crate::packets::{self, CAPS, LONG_SELECT, POINT_SELECT};
use crate::world::World;

/// Something to be done many times.
pub struct Scenario {
    /// What it is asked for by, and its row in the baseline.
    pub name: &'static str,
    /// Sets up, then does it so many times.
    pub run: fn(u64),
}

/// All of them, from the smallest part to the whole.
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "framing", run: framing },
    Scenario { name: "native-password", run: native_password },
    Scenario { name: "tracker-1-row", run: |times| tracker(times, 1) },
    Scenario { name: "tracker-1000-rows", run: |times| tracker(times, 1000) },
    Scenario { name: "lexing-short", run: |times| lexing(times, POINT_SELECT) },
    Scenario { name: "lexing-long", run: |times| lexing(times, LONG_SELECT) },
    Scenario { name: "handshake", run: handshake },
    Scenario { name: "query-1-row", run: |times| query(times, 1) },
    Scenario { name: "query-1000-rows", run: |times| query(times, 1000) },
    Scenario { name: "execute-1-row", run: execute },
];

/// A command is found in a buffer and recognised.
fn framing(times: u64) {
    let bytes = packets::query(POINT_SELECT);
    for _ in 0..times {
        let Framed::Packet(packet) = next_packet(black_box(&bytes)) else {
            unreachable!("the buffer holds one packet")
        };
        black_box(Command::parse(packet.payload));
    }
}

/// A client's answer to `mysql_native_password` is checked.
fn native_password(times: u64) {
    let nonce = *b"abcdefghijklmnopqrst";
    let stored = native::double_sha1(b"app");
    let response = native::scramble(b"app", &nonce);
    for _ in 0..times {
        assert!(native::verify(black_box(&response), &nonce, &stored).is_some());
    }
}

/// A reply is followed to its end.
fn tracker(times: u64, rows: usize) {
    let bytes = packets::result(rows);
    for _ in 0..times {
        let mut tracker = ReplyTracker::new(ReplyKind::Result, CAPS);
        let mut rest = black_box(&bytes[..]);
        loop {
            let fed = tracker.feed(rest).expect("a well-formed result");
            rest = &rest[fed.consumed..];
            if matches!(fed.event, Event::End(_)) {
                break;
            }
        }
        assert_eq!(tracker.rows(), rows as u64);
    }
}

/// A statement's facts are found.
fn lexing(times: u64, text: &[u8]) {
    for _ in 0..times {
        black_box(sql::facts(black_box(text)));
    }
}

/// A client arrives, logs in and leaves.
fn handshake(times: u64) {
    let mut world = World::new();
    for _ in 0..times {
        let session = world.log_in();
        world.leave(session);
    }
}

/// A text query goes to a lane and its reply comes back: rules, pool and all.
fn query(times: u64, rows: usize) {
    let mut world = World::new();
    let session = world.log_in();
    let command = packets::query(POINT_SELECT);
    let reply = packets::result(rows);
    for _ in 0..times {
        let relayed = world.exchange(session, &command, &reply);
        assert_eq!(relayed, reply.len());
    }
}

/// The same for a prepared statement.
fn execute(times: u64) {
    let mut world = World::new();
    let session = world.log_in();
    let command = world.prepare(session, b"SELECT c FROM sbtest1 WHERE id=?");
    let reply = packets::result(1);
    for _ in 0..times {
        let relayed = world.exchange(session, &command, &reply);
        assert_eq!(relayed, reply.len());
    }
}
