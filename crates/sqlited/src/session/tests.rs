//! Sessions without sockets: packets in, packets out, followed by the tracker the proxy uses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use wire::auth::{Plugin, native};
use wire::command::{code, write};
use wire::connect::{Greeting, HandshakeResponse};
use wire::frame::{HEADER_BYTES, Header};
use wire::result::{Event, ReplyKind, ReplyTracker};

use super::*;
use crate::facts::Server;
use crate::options::{ServerOptions, User};

struct Bench {
    store: Store,
    server: Arc<Server>,
}

impl Bench {
    fn new() -> Self {
        let mut options = ServerOptions::new("db", io::Addr::Unix("/x".into()));
        options.users.push(User::new("demo", "demo"));
        let server = Server {
            read_only: AtomicBool::new(false),
            options,
            port: 0,
            schema: "demo".into(),
            started_at: 0,
            questions: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            connected: AtomicU64::new(0),
            globals: Default::default(),
        };
        Self { store: Store::in_memory("demo").unwrap(), server: Arc::new(server) }
    }

    fn session(&mut self, caps: Caps) -> Session {
        let facts = Facts::new(Arc::clone(&self.server), 7, "localhost".into());
        let mut session = Session::new(facts, [b'x'; 20]);
        let mut out = Vec::new();
        session.greet(&mut out);
        let greeting = Greeting::parse(&out[HEADER_BYTES..]).unwrap();
        let response = HandshakeResponse {
            caps: caps | Caps::PROTOCOL_41 | Caps::SECURE_CONNECTION,
            max_packet: 1 << 24,
            collation: 45,
            user: b"demo",
            auth_response: &native::scramble(b"demo", &greeting.scramble),
            schema: Some(b"demo"),
            plugin: Some(Plugin::NativePassword.name().as_bytes()),
            attributes: &[],
        };
        let mut payload = Vec::new();
        response.encode(&mut payload);
        let (step, reply) = self.packet(&mut session, &payload, 1, 0);
        assert_eq!((step, reply[HEADER_BYTES]), (Step::Idle, 0));
        session
    }

    /// One packet at a moment: the step it ends with and all that was written.
    fn packet(
        &mut self,
        session: &mut Session,
        payload: &[u8],
        seq: u8,
        now_us: u64,
    ) -> (Step, Vec<u8>) {
        let mut out = Vec::new();
        let mut cx = Cx { store: &mut self.store, now_us, out: &mut out };
        let mut step = session.on_packet(&mut cx, payload, seq);
        while step == Step::More {
            step = session.go_on(&mut cx);
        }
        (step, out)
    }

    fn query(&mut self, session: &mut Session, text: &str) -> (Step, Vec<u8>) {
        let mut framed = Vec::new();
        write(&mut framed, code::QUERY, text.as_bytes());
        let header = Header::parse(&framed).unwrap();
        self.packet(session, &framed[HEADER_BYTES..], header.seq, 0)
    }

    /// The status a statement's reply ends with; the reply must be whole and in order.
    fn status(&mut self, session: &mut Session, text: &str) -> Status {
        let (step, reply) = self.query(session, text);
        assert_eq!(step, Step::Idle, "{text}");
        followed(&reply, ReplyKind::Result, session.caps).0
    }
}

/// Final status and number of rows of a whole reply.
fn followed(reply: &[u8], kind: ReplyKind, caps: Caps) -> (Status, u64) {
    let mut tracker = ReplyTracker::new(kind, caps);
    let mut at = 0;
    loop {
        let fed = tracker.feed(&reply[at..]).unwrap();
        at += fed.consumed;
        match fed.event {
            Event::End(end) => {
                assert_eq!(at, reply.len(), "bytes after the end");
                return (end.status, end.rows);
            }
            Event::Err { code, .. } => panic!("error {code}"),
            _ => assert!(at < reply.len(), "the reply does not end"),
        }
    }
}

#[test]
fn replies_end_where_the_proxy_expects_it_with_and_without_eof_packets() {
    for caps in [Caps::NONE, Caps::DEPRECATE_EOF] {
        let caps = caps | Caps::MULTI_STATEMENTS | Caps::MULTI_RESULTS;
        let mut bench = Bench::new();
        let mut session = bench.session(caps);
        bench.status(&mut session, "CREATE TABLE t (a INT)");
        bench.status(&mut session, "INSERT INTO t VALUES (1), (2); SELECT 1; SELECT * FROM t");
        let (_, reply) = bench.query(&mut session, "SELECT a, a + 1 FROM t; SELECT 'x'");
        assert_eq!(followed(&reply, ReplyKind::Result, session.caps).1, 3);
        let mut field_list = vec![code::FIELD_LIST];
        field_list.extend_from_slice(b"t\0");
        let (_, reply) = bench.packet(&mut session, &field_list, 0, 0);
        followed(&reply, ReplyKind::FieldList, session.caps);
        let mut prepare = vec![code::STMT_PREPARE];
        prepare.extend_from_slice(b"SELECT a FROM t WHERE a > ?");
        let (_, reply) = bench.packet(&mut session, &prepare, 0, 0);
        followed(&reply, ReplyKind::Prepare, session.caps);
        for simple in [&[code::PING][..], &[code::RESET_CONNECTION], &[code::SET_OPTION, 0, 0]] {
            let (_, reply) = bench.packet(&mut session, simple, 0, 0);
            followed(&reply, ReplyKind::Simple, session.caps);
        }
        let (_, reply) = bench.packet(&mut session, &[code::STATISTICS], 0, 0);
        followed(&reply, ReplyKind::Statistics, session.caps);
    }
}

#[test]
fn the_status_says_when_a_transaction_is_open() {
    let mut bench = Bench::new();
    let mut session = bench.session(Caps::MULTI_STATEMENTS);
    bench.status(&mut session, "CREATE TABLE t (a INT)");
    for (text, open, autocommit) in [
        ("SELECT 1", false, true),
        ("BEGIN", true, true),
        ("INSERT INTO t VALUES (1)", true, true),
        ("SELECT * FROM t", true, true),
        ("COMMIT", false, true),
        ("SET autocommit = 0", false, false),
        ("SELECT 1", false, false),
        ("SELECT * FROM t", true, false),
        ("COMMIT AND CHAIN", true, false),
        ("CREATE TABLE u (a INT)", false, false),
        ("INSERT INTO t VALUES (1)", true, false),
        ("SET autocommit = 1", false, true),
    ] {
        let status = bench.status(&mut session, text);
        let found = (status.contains(Status::IN_TRANS), status.contains(Status::AUTOCOMMIT));
        assert_eq!(found, (open, autocommit), "{text}");
    }
}

#[test]
fn a_locked_write_waits_until_its_time_is_up() {
    let mut bench = Bench::new();
    let mut one = bench.session(Caps::MULTI_STATEMENTS);
    let mut two = bench.session(Caps::NONE);
    bench.status(&mut one, "CREATE TABLE t (a INT)");
    bench.status(&mut one, "BEGIN; INSERT INTO t VALUES (1)");
    let (step, reply) = bench.query(&mut two, "INSERT INTO t VALUES (2)");
    assert_eq!((step, reply.len()), (Step::Wait(LOCK_POLL_US), 0));
    assert!(two.awaits_lock() && two.is_busy());
    let mut out = Vec::new();
    let limit_us = bench.server.options.lock_wait_ms * 1000;
    let mut cx = Cx { store: &mut bench.store, now_us: limit_us - 1, out: &mut out };
    assert_eq!(two.go_on(&mut cx), Step::Wait(limit_us));
    cx.now_us = limit_us;
    assert_eq!(two.go_on(&mut cx), Step::Idle);
    assert_eq!(out[HEADER_BYTES], ErrPacket::MARKER);
    let err = ErrPacket::parse(&out[HEADER_BYTES..]).unwrap();
    assert_eq!((err.code, &err.sqlstate), (1205, b"HY000"));
    assert!(!two.is_busy());
}

#[test]
fn a_large_result_is_written_in_portions() {
    let mut bench = Bench::new();
    let mut session = bench.session(Caps::DEPRECATE_EOF);
    let text = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) \
                SELECT i, 'filling filling filling' FROM n";
    let mut payload = vec![code::QUERY];
    payload.extend_from_slice(text.as_bytes());
    let mut whole = Vec::new();
    let mut portions = 0;
    let mut out = Vec::new();
    let mut cx = Cx { store: &mut bench.store, now_us: 0, out: &mut out };
    let mut step = session.on_packet(&mut cx, &payload, 0);
    while step == Step::More {
        assert!(cx.out.len() < 2 * PORTION_BYTES);
        whole.append(cx.out);
        portions += 1;
        step = session.go_on(&mut cx);
    }
    whole.append(cx.out);
    assert_eq!((step, followed(&whole, ReplyKind::Result, session.caps).1), (Step::Idle, 50_000));
    assert!(portions > 10);
}

#[test]
fn nonsense_in_every_phase_is_answered_with_an_error() {
    let mut bench = Bench::new();
    let facts = Facts::new(Arc::clone(&bench.server), 8, "localhost".into());
    let mut stranger = Session::new(facts, [b'y'; 20]);
    let (step, reply) = bench.packet(&mut stranger, &[1, 2, 3], 1, 0);
    assert_eq!((step, ErrPacket::parse(&reply[HEADER_BYTES..]).unwrap().code), (Step::Close, 1043));
    let mut session = bench.session(Caps::NONE);
    for (payload, number) in [
        (&[][..], 1047),
        (&[0x55], 1047),
        (&[code::STMT_EXECUTE, 1], 1047),
        (&[code::STMT_EXECUTE, 9, 0, 0, 0, 0, 1, 0, 0, 0], 1243),
        (&[code::STMT_RESET, 9, 0, 0, 0], 1243),
    ] {
        let (step, reply) = bench.packet(&mut session, payload, 0, 0);
        let err = ErrPacket::parse(&reply[HEADER_BYTES..]).unwrap();
        assert_eq!((step, err.code), (Step::Idle, number), "{payload:?}");
    }
}
