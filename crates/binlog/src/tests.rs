//! Against logs of real servers (`recorded`): MariaDB 10.11 and MySQL 9.7, each with rows, a
//! cascade, a trigger, savepoints, XA, statements as text, loaded files and compressed events.

use super::*;
use crate::fault::Flaw;

const MARIADB: &[u8] = include_bytes!("../recorded/mariadb.binlog");
const MYSQL: &[u8] = include_bytes!("../recorded/mysql.binlog");

/// The events of a file.
fn events(file: &[u8]) -> Vec<&[u8]> {
    let mut rest = file.strip_prefix(b"\xfebin").expect("a binary log");
    let mut events = Vec::new();
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[9..13].try_into().expect("four bytes"));
        let (event, behind) = rest.split_at(length as usize);
        events.push(event);
        rest = behind;
    }
    events
}

fn start() -> LogStream {
    LogStream::new(Position { file: b"binlog.000002".to_vec(), offset: 4 }, true)
}

/// What is told of each transaction: its name's end, and what has changed.
fn told_of(events: &[&[u8]], part: usize) -> (Vec<String>, LogStream) {
    let mut stream = start();
    let mut told: Vec<String> = Vec::new();
    for event in events {
        let mut tell = |noted: Noted<'_>| {
            let gtid = noted.gtid.map(ToString::to_string).unwrap_or_default();
            let gtid = gtid.split_once([':', '-']).map_or("", |(_, number)| number).to_owned();
            let change = match noted.change {
                LogChange::Table { schema, table } => {
                    let text = String::from_utf8_lossy;
                    format!("{}.{}", text(schema), text(table))
                }
                LogChange::All(why) => why.to_string(),
            };
            told.push(format!("{gtid} {change}"));
        };
        for part in event.chunks(part) {
            stream.feed(part, &mut tell).expect("read");
        }
        stream.end(&mut tell).expect("read");
    }
    (told, stream)
}

/// The same with the texts of what is told, without the names of transactions.
fn changes(file: &[u8], part: usize) -> (Vec<String>, LogStream) {
    let (told, stream) = told_of(&events(file), part);
    let change = |told: String| told.split_once(' ').expect("two parts").1.to_owned();
    (told.into_iter().map(change).collect(), stream)
}

const TEXT: &str = "a statement that was logged as text";
const XA: &str = "an XA transaction";
const DEFINED: &str = "a definition";
const PARENT: &str = "test.parent";
const CHILD: &str = "test.child";

#[test]
fn a_log_of_mariadb_tells_every_change() {
    let (told, stream) = changes(MARIADB, usize::MAX);
    let rows = [PARENT, CHILD, PARENT, "test.m", "test.t", "test.t", PARENT];
    // from here on most is logged as text, until all is rows again, at last compressed
    let texts = [TEXT, TEXT, XA, XA, TEXT, TEXT, DEFINED, TEXT, TEXT, PARENT, TEXT, TEXT];
    let packed = ["test.m", "test.t", "test.t", "test.t", "test.t", TEXT];
    let made = [DEFINED, "test.made", PARENT];
    assert_eq!(told, [&rows[..], &texts, &made, &packed].concat());
    assert_eq!(stream.gtid().map(ToString::to_string).as_deref(), Some("0-1-29"));
    assert_eq!(stream.position().to_string(), "binlog.000003:4");
}

#[test]
fn a_log_of_mysql_tells_every_change() {
    let (told, stream) = changes(MYSQL, usize::MAX);
    let rows = [PARENT, CHILD, CHILD, PARENT, "test.t", "test.m", "test.t", PARENT, TEXT];
    let ends = [PARENT, XA, XA, PARENT, XA];
    let texts = [TEXT, TEXT, PARENT, TEXT, TEXT, DEFINED, "test.made", PARENT];
    let packed = [PARENT, CHILD, "test.t"];
    assert_eq!(told, [&rows[..], &ends, &texts, &packed, &["test.t", PARENT]].concat());
    let gtid = stream.gtid().expect("named").to_string();
    assert!(gtid.ends_with(":a_tag:1"), "{gtid}");
    assert_eq!(stream.position().to_string(), "binlog.000003:4");
}

#[test]
fn the_same_is_told_however_the_bytes_are_cut() {
    for file in [MARIADB, MYSQL] {
        let events = events(file);
        let whole = told_of(&events, usize::MAX).0;
        for part in [1, 2, 3, 18, 19, 20, 23, 64, 1000] {
            assert_eq!(told_of(&events, part).0, whole, "in parts of {part}");
        }
    }
}

/// An event with its checksum.
fn event(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(19 + body.len() + 4).expect("short").to_le_bytes();
    let mut event = [&[0; 4][..], &[kind], &[1, 0, 0, 0], &length, &[100, 0, 0, 0, 0, 0]].concat();
    event.extend_from_slice(body);
    let mut crc = flate2::Crc::new();
    crc.update(&event);
    event.extend_from_slice(&crc.sum().to_le_bytes());
    event
}

fn flaw_of(event: &[u8]) -> Option<Flaw> {
    let mut stream = start();
    let mut tell = |_: Noted<'_>| {};
    let read = stream.feed(event, &mut tell).and_then(|()| stream.end(&mut tell));
    read.err().map(|fault| fault.flaw)
}

#[test]
fn every_byte_of_every_event_is_looked_at() {
    for file in [MARIADB, MYSQL] {
        for event in events(file).into_iter().filter(|event| event.len() < 400) {
            assert_eq!(flaw_of(event), None);
            for at in 0..event.len() {
                let mut other = event.to_vec();
                other[at] ^= 0x10;
                assert!(flaw_of(&other).is_some(), "byte {at} of {event:?}");
            }
            assert_eq!(flaw_of(&event[..event.len() - 1]), Some(Flaw::Length));
        }
    }
}

#[test]
fn an_event_that_is_wrong_is_named_with_its_place() {
    let mut stream = start();
    let mut wrong = event(16, &[0; 8]);
    wrong[20] = 1;
    stream.feed(&wrong, &mut |_| {}).expect("not looked at yet");
    let fault = stream.end(&mut |_| {}).expect_err("wrong");
    let text = "the event of kind 16 behind binlog.000002:4 of its log does not fit its checksum";
    assert_eq!(fault.to_string(), text);
}

#[test]
fn what_is_not_known_is_a_change_of_all() {
    let rows = [7, 0, 0, 0, 0, 0, 1, 0];
    let nothing = [0xff, 0xff, 0xff, 0, 0, 0, 1, 0];
    for (kind, body, told) in [
        (99, &[][..], Some("an event of the unknown kind 99")),
        (26, &[1, 0, 0], Some("an incident: the log lacks changes")),
        (30, &rows, Some("rows of a table that the log did not name")),
        (30, &nothing, None),
        (29, b"\x05words", None),
    ] {
        let expected: Vec<_> = told.map(|told| format!(" {told}")).into_iter().collect();
        assert_eq!(told_of(&[&event(kind, body)], usize::MAX).0, expected, "{kind}");
    }
}

#[test]
fn a_table_is_forgotten_when_its_statement_ends_or_its_file() {
    let name = event(19, b"\x07\0\0\0\0\0\0\0\x01s\0\x01t\0\x00");
    let rows = event(30, &[7, 0, 0, 0, 0, 0, 0, 0]);
    let last = event(30, &[7, 0, 0, 0, 0, 0, 1, 0]);
    let rotate = event(4, b"\x04\0\0\0\0\0\0\0binlog.000003");
    let unnamed = " rows of a table that the log did not name";
    let told = told_of(&[&name, &rows, &last, &rows], usize::MAX).0;
    assert_eq!(told, [" s.t", " s.t", unnamed]);
    assert_eq!(told_of(&[&name, &rotate, &rows], usize::MAX).0, [unnamed]);
}

#[test]
fn an_event_of_many_packets_is_never_kept() {
    let mut stream = start();
    let body = [&[7, 0, 0, 0, 0, 0, 1, 0][..], &vec![9; 40 << 20]].concat();
    let mut told = 0;
    for part in event(30, &body).chunks(1 << 16) {
        stream.feed(part, &mut |_| told += 1).expect("read");
    }
    stream.end(&mut |_| told += 1).expect("read");
    assert_eq!((told, stream.events()), (1, 1));
}

#[test]
fn a_heartbeat_moves_on_past_what_is_not_sent() {
    let mut stream = start();
    let mut feed = |event: &[u8]| {
        stream.feed(event, &mut |_| {}).and_then(|()| stream.end(&mut |_| {})).expect("read");
        stream.position().to_string()
    };
    assert_eq!(feed(&event(27, b"binlog.000001")), "binlog.000002:4", "of another file");
    assert_eq!(feed(&event(27, b"binlog.000002")), "binlog.000002:100");
    let fields = b"\x01\x0dbinlog.000002\x02\x03\xfc\x00\x10\x00";
    assert_eq!(feed(&event(41, fields)), "binlog.000002:4096");
}

#[test]
fn a_dump_is_asked_for_by_a_place() {
    let from = Position { file: b"binlog.000002".to_vec(), offset: 0x0102 };
    let body = dump(0x8000_0007, &from).expect("it has room");
    assert_eq!(body, b"\x02\x01\0\0\0\0\x07\0\0\x80binlog.000002");
    assert_eq!(dump(1, &Position { offset: 1 << 32, ..from }), None);
}
