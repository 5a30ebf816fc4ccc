//! Clients that read binary logs: they stay sessions like any other, whatever a server answers.

use engine::snapshot::Draft;
use io::Sock;
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::command::code;
use wire::reply::ErrPacket;
use wire::{Caps, frame};

const REGISTER: u8 = 0x15;
const DUMP: u8 = 0x12;
const DUMP_GTID: u8 = 0x1e;

/// What a rule refuses, and the number that it is refused with.
const FORBIDDEN: &str = "SELECT v FROM forbidden_t";
const BY_RULE: u16 = 1148;

fn hall(amend: fn(&mut Draft)) -> (Hall, Sock) {
    let mut hall = Hall::in_weather(7, &Simulator::new(), &Weather { amend, ..Weather::cutting() });
    let sock = hall.login(Caps::DEPRECATE_EOF);
    (hall, sock)
}

fn send(hall: &mut Hall, sock: Sock, code: u8, text: &[u8]) {
    let mut bytes = Vec::new();
    frame::write_packet(&mut bytes, &mut 0, &[&[code], text].concat());
    hall.send(sock, &bytes);
}

fn command(hall: &mut Hall, sock: Sock, code: u8, text: &[u8]) -> Vec<u8> {
    send(hall, sock, code, text);
    hall.packet(sock).expect("answered").0
}

fn code_of(answer: &[u8]) -> u16 {
    ErrPacket::parse(answer).map_or(0, |error| error.code)
}

fn tally(hall: &Hall, what: &str) -> u64 {
    hall.stage.board.borrow().tally.get(what).copied().unwrap_or(0)
}

/// The events that come of a dump, until their end.
fn events(hall: &mut Hall, sock: Sock, end: impl Fn(usize, &[u8]) -> bool) -> usize {
    let mut count = 0;
    loop {
        let (packet, _) = hall.packet(sock).expect("the dump goes on");
        if end(count, &packet) {
            return count;
        }
        assert_eq!(packet, b"\0an event");
        count += 1;
    }
}

/// The session is what it was, and rules hold.
fn is_ordinary(hall: &mut Hall, sock: Sock) {
    assert_eq!(code_of(&hall.ask(sock, FORBIDDEN)), BY_RULE);
    assert_eq!(command(hall, sock, code::PING, b"").first(), Some(&0));
    let stranger = b"root\0\0\0\x2d\0mysql_native_password\0";
    let answer = command(hall, sock, code::CHANGE_USER, stranger);
    assert_ne!(answer.first(), Some(&0), "nobody is let in without a password");
}

#[test]
fn what_a_server_refuses_leaves_an_ordinary_session() {
    for refused in [REGISTER, DUMP, DUMP_GTID] {
        let (mut hall, sock) = hall(|_| ());
        let answer = command(&mut hall, sock, refused, b"no");
        assert!([1227, 1236].contains(&code_of(&answer)), "{}", answer.escape_ascii());
        is_ordinary(&mut hall, sock);
    }
}

#[test]
fn a_replica_that_is_registered_is_judged_by_rules() {
    let (mut hall, sock) = hall(|_| ());
    assert_eq!(command(&mut hall, sock, REGISTER, b"yes").first(), Some(&0));
    is_ordinary(&mut hall, sock);
}

#[test]
fn the_end_of_a_dump_is_seen_and_a_command_may_follow() {
    for code in [DUMP, DUMP_GTID] {
        let (mut hall, sock) = hall(|_| ());
        send(&mut hall, sock, code, b"end");
        let count = events(&mut hall, sock, |_, packet| packet.first() == Some(&0xfe));
        assert_eq!(count, 300);
        assert_eq!(hall.counters().ok, 1);
        is_ordinary(&mut hall, sock);
    }
}

#[test]
fn during_a_dump_a_client_may_acknowledge_events_and_leave_and_nothing_else() {
    let (mut hall, sock) = hall(|_| ());
    send(&mut hall, sock, DUMP, b"on");
    assert_eq!(events(&mut hall, sock, |count, _| count == 299), 299);
    send(&mut hall, sock, 0xef, b"\x04\0\0\0\0\0\0\0log.000001");
    assert_eq!(hall.packet(sock).expect("it goes on").0, b"\0one more");
    assert_eq!(tally(&hall, "server: event acknowledged"), 1);
    send(&mut hall, sock, code::CHANGE_USER, b"root\0\0\0\x2d\0mysql_native_password\0");
    hall.query(sock, FORBIDDEN);
    send(&mut hall, sock, 0xef, b"\x04\0\0\0\0\0\0\0log.000001");
    hall.wait_ms(500);
    assert_eq!(hall.take(sock), b"", "it waits for the end of the dump");
    assert_eq!(tally(&hall, "server: told something in a dump"), 0);
    assert_eq!(tally(&hall, "server: event acknowledged"), 1);

    let (mut hall, sock) = self::hall(|_| ());
    send(&mut hall, sock, DUMP, b"on");
    assert_eq!(events(&mut hall, sock, |count, _| count == 299), 299);
    send(&mut hall, sock, code::QUIT, b"");
    assert!(hall.ends(sock));
    assert!(hall.until(|hall| hall.sessions() == 0));
}

#[test]
fn a_dump_may_last_longer_than_any_query() {
    let limits = |draft: &mut Draft| {
        for name in ["mysql-default_query_timeout", "mysql-wait_timeout"] {
            draft.variables.push((name.into(), "1000".into()));
        }
    };
    let (mut hall, sock) = hall(limits);
    send(&mut hall, sock, DUMP, b"on");
    assert_eq!(events(&mut hall, sock, |count, _| count == 299), 299);
    hall.wait_ms(8000);
    send(&mut hall, sock, 0xef, b"\x04\0\0\0\0\0\0\0log.000001");
    assert_eq!(hall.packet(sock).expect("it goes on").0, b"\0one more");
    assert_eq!(hall.counters().timed_out, 0);
}

#[test]
fn an_account_that_may_not_read_logs_reaches_no_server() {
    let forbid = |draft: &mut Draft| {
        for user in &mut draft.users {
            user.attributes = r#"{"replication": false}"#.into();
        }
    };
    for code in [REGISTER, DUMP, DUMP_GTID] {
        let (mut hall, sock) = hall(forbid);
        assert_eq!(code_of(&command(&mut hall, sock, code, b"yes")), 1227);
        // the login has met one
        assert_eq!(hall.counters().checkouts, 1);
        is_ordinary(&mut hall, sock);
    }
}
