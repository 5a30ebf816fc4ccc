//! The scenarios by name.
//!
//! Decides what one pass of each is; a pass never depends on the one before.

use std::hint::black_box;

use engine::ids::HostgroupId;
use engine::stats::{QueryEnd, QueryStats};
use engine::vars::Vars;
use wire::auth::native;
use wire::command::Command;
use wire::frame::{Framed, next_packet};
use wire::result::{Event, ReplyKind, ReplyTracker};

use crate::crowd::{self, Kind};
use crate::packets::{self, CAPS, INSERT, LONG_SELECT, POINT_SELECT, POINT_UPDATE, QUERY_200};
use crate::rules::{self, By};
use crate::world::World;

/// Something to be done many times.
pub struct Scenario {
    /// What it is asked for by, and its row in the baseline.
    pub name: &'static str,
    /// Sets up, and gives what does it once.
    pub begin: fn() -> Pass,
}

/// Does a scenario once.
pub type Pass = Box<dyn FnMut()>;

/// All of them, from the smallest part to the whole.
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "framing", begin: framing },
    Scenario { name: "native-password", begin: native_password },
    Scenario { name: "tracker-1-row", begin: || tracker(1) },
    Scenario { name: "tracker-1000-rows", begin: || tracker(1000) },
    Scenario { name: "lexing-short", begin: || lexing(POINT_SELECT) },
    Scenario { name: "lexing-long", begin: || lexing(LONG_SELECT) },
    Scenario { name: "stats-known", begin: || stats(false) },
    Scenario { name: "stats-flood", begin: || stats(true) },
    Scenario { name: "digest-and-class", begin: digest },
    Scenario { name: "handshake", begin: handshake },
    Scenario { name: "query-1-row", begin: || query(World::new(), 1) },
    Scenario { name: "query-1000-rows", begin: || query(World::new(), 1000) },
    Scenario { name: "update-1-row", begin: || write(POINT_UPDATE) },
    Scenario { name: "insert-1-row", begin: || write(INSERT) },
    Scenario { name: "execute-1-row", begin: || execute(World::new()) },
    Scenario { name: "shared-query", begin: || shared(query) },
    Scenario { name: "shared-execute", begin: || shared(|world, _| execute(world)) },
    Scenario { name: "query-new-text", begin: || new_text(World::new()) },
    Scenario { name: "cache-hit-text", begin: || hit(query) },
    Scenario { name: "cache-hit-execute", begin: || hit(|world, _| execute(world)) },
    Scenario { name: "cache-miss", begin: miss },
    Scenario { name: "crowd-shared", begin: || crowd::pass(&CROWD) },
    Scenario { name: "crowd-shared-execute", begin: || crowd::pass(&EXECUTING_CROWD) },
    Scenario { name: "crowd-exclusive", begin: || crowd::pass(&EXCLUSIVE_CROWD) },
    Scenario { name: "rules-0-warm", begin: || rules::warm(0, By::Digest) },
    Scenario { name: "rules-10-warm", begin: || rules::warm(10, By::Digest) },
    Scenario { name: "rules-1000-warm", begin: || rules::warm(1000, By::Digest) },
    Scenario { name: "rules-10000-warm", begin: || rules::warm(10_000, By::Digest) },
    Scenario { name: "rules-10000-text", begin: || rules::warm(10_000, By::Text) },
    Scenario { name: "rules-10-cold", begin: || rules::cold(10, By::Digest) },
    Scenario { name: "rules-10000-cold", begin: || rules::cold(10_000, By::Digest) },
    Scenario { name: "rules-10-cold-text", begin: || rules::cold(10, By::Text) },
    Scenario { name: "rules-10000-cold-text", begin: || rules::cold(10_000, By::Text) },
    Scenario { name: "rules-hostile-text", begin: rules::hostile },
];

/// Four times as many as the lanes carry.
const CROWD: Kind = Kind { clients: 256, connections: 4, shares: true, executes: false };
const EXECUTING_CROWD: Kind = Kind { executes: true, ..CROWD };
/// As many wait as in the benchmark's narrow split.
const EXCLUSIVE_CROWD: Kind = Kind { clients: 64, connections: 16, shares: false, executes: false };

/// What is counted: so many passes. Never inlined, for callgrind knows it by its name.
#[inline(never)]
pub fn counted_passes(pass: &mut Pass, times: u64) {
    for _ in 0..times {
        pass();
    }
}

/// A command is found in a buffer and recognised.
fn framing() -> Pass {
    let bytes = packets::query(POINT_SELECT);
    Box::new(move || {
        let Framed::Packet(packet) = next_packet(black_box(&bytes)) else {
            unreachable!("the buffer holds one packet")
        };
        black_box(Command::parse(packet.payload));
    })
}

/// A client's answer to `mysql_native_password` is checked.
fn native_password() -> Pass {
    let nonce = *b"abcdefghijklmnopqrst";
    let stored = native::double_sha1(b"app");
    let response = native::scramble(b"app", &nonce);
    Box::new(move || {
        assert!(native::verify(black_box(&response), &nonce, &stored).is_some());
    })
}

/// A reply is followed to its end.
fn tracker(rows: usize) -> Pass {
    let bytes = packets::result(rows);
    Box::new(move || {
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
    })
}

/// A statement's facts are found.
fn lexing(text: &'static [u8]) -> Pass {
    Box::new(move || {
        black_box(sql::facts(black_box(text)));
    })
}

/// The end of a query is counted: of a known one in a full table, or of one that never was
/// before, for which another has to go.
fn stats(flood: bool) -> Pass {
    let pairs = [("mysql-query_digests_memory_bytes_max", "4194304"), ("mysql-threads", "1")];
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let vars = Vars::from_pairs(&pairs).expect("both are variables");
    let mut stats = QueryStats::new(&vars, 0x1234_5678_9abc_def1);
    let mut now_us = 1_000_000;
    let mut new = 0_u64;
    let mut record = move |digest: u64| {
        now_us += 100;
        let end = QueryEnd {
            hostgroup: Some(HostgroupId(1)),
            user: b"app",
            schema: b"sbtest",
            client: b"127.0.0.1",
            digest: Some(digest),
            digest_text: b"SELECT c FROM sbtest1 WHERE id=?",
            class: Some(sql::Verb::Select.into()),
            elapsed_us: 250,
            rows_sent: 1,
            ..QueryEnd::default()
        };
        stats.record(&vars, now_us, black_box(&end));
    };
    // enough to fill the table and to make the known one one of many executions
    (0..40_000).for_each(|digest: u64| {
        record(digest.wrapping_mul(ODD));
        record(1);
    });
    Box::new(move || match flood {
        true => {
            new += 1;
            record((40_000 + new).wrapping_mul(ODD));
        }
        false => record(1),
    })
}

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A statement is normalised, hashed and told what it is counted as.
fn digest() -> Pass {
    let mut digester = sql::Digester::new();
    let options = sql::DigestOptions::default();
    Box::new(move || {
        black_box(digester.digest(black_box(QUERY_200), &options));
        black_box(sql::command_class(&sql::facts(black_box(QUERY_200))));
    })
}

/// A client arrives, logs in and leaves.
fn handshake() -> Pass {
    let mut world = World::new();
    Box::new(move || {
        let session = world.log_in();
        world.leave(session);
    })
}

/// A text query goes to a lane and its reply comes back: rules, pool and all.
fn query(mut world: World, rows: usize) -> Pass {
    let session = world.log_in();
    let command = packets::query(POINT_SELECT);
    let reply = packets::result(rows);
    Box::new(move || assert_eq!(world.exchange(session, &command, &reply), reply.len()))
}

/// The same for a write, which is answered with OK.
fn write(text: &'static [u8]) -> Pass {
    let mut world = World::new();
    let session = world.log_in();
    let (command, reply) = (packets::query(text), packets::ok(1));
    Box::new(move || assert_eq!(world.exchange(session, &command, &[]), reply.len()))
}

/// The same for a prepared statement.
fn execute(mut world: World) -> Pass {
    let session = world.log_in();
    let command = world.prepare(session, b"SELECT c FROM sbtest1 WHERE id=?");
    let reply = packets::result(1);
    Box::new(move || assert_eq!(world.exchange(session, &command, &reply), reply.len()))
}

/// A read on a lane that others may use, known well enough for that.
fn shared(read: fn(World, usize) -> Pass) -> Pass {
    const RUNS: usize = 64;
    let mut pass = read(World::sharing(), 1);
    (0..RUNS).for_each(|_| pass());
    pass
}

/// A read that is answered from the query cache.
fn hit(read: fn(World, usize) -> Pass) -> Pass {
    let mut pass = read(World::caching(1 << 20), 1);
    (0..8).for_each(|_| pass());
    pass
}

/// A text that was never asked before goes to a lane and its reply comes back.
fn new_text(mut world: World) -> Pass {
    let session = world.log_in();
    let reply = packets::result(1);
    let mut number = 1_000_000_u64;
    Box::new(move || {
        number += 1;
        let text = format!("SELECT c FROM sbtest1 WHERE id={number}");
        let command = packets::query(text.as_bytes());
        assert_eq!(world.exchange(session, &command, &reply), reply.len());
    })
}

/// The same where it is looked for in a full query cache and kept there.
fn miss() -> Pass {
    const TO_FILL: usize = 4_000;
    let mut pass = new_text(World::caching(1 << 20));
    (0..TO_FILL).for_each(|_| pass());
    pass
}
