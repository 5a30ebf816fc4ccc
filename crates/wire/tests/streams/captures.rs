//! Replies captured from real servers are followed to their end, and reported as recorded.
//!
//! Each line of the file: a name, the kind of reply, the capabilities in hexadecimal, the bytes
//! that the server sent, and what the tracker must report.

use crate::registry::{KINDS, follow};
use wire::connect::Greeting;
use wire::result::ReplyKind;
use wire::{Caps, Status};

const MARIADB: &str = include_str!("../../testdata/mariadb_10_11.txt");
const MYSQL: &str = include_str!("../../testdata/mysql_9_7.txt");

struct Capture {
    name: &'static str,
    kind: ReplyKind,
    caps: Caps,
    bytes: Vec<u8>,
    report: &'static str,
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

fn captures() -> Vec<Capture> {
    let lines = [MARIADB, MYSQL].into_iter().flat_map(str::lines);
    let replies = lines.filter(|line| !line.starts_with("greeting|"));
    replies
        .map(|line| {
            let fields: Vec<&str> = line.splitn(5, '|').collect();
            let kind = KINDS.into_iter().find(|kind| format!("{kind:?}") == fields[1]);
            Capture {
                name: fields[0],
                kind: kind.unwrap(),
                caps: Caps(u64::from_str_radix(fields[2], 16).unwrap()),
                bytes: unhex(fields[3]),
                report: fields.get(4).copied().unwrap_or_default(),
            }
        })
        .collect()
}

#[test]
fn each_reply_is_reported_as_recorded() {
    let captures = captures();
    assert!(captures.len() > 400);
    for capture in captures {
        let report = follow(capture.kind, capture.caps, &capture.bytes, &[]).join("; ");
        assert_eq!(report, capture.report, "{}", capture.name);
        assert!(report.contains(&format!("took {}", capture.bytes.len())), "{}", capture.name);
    }
}

#[test]
fn each_reply_is_reported_the_same_wherever_it_is_cut() {
    for Capture { name, kind, caps, bytes, .. } in captures() {
        let whole = follow(kind, caps, &bytes, &[]);
        for first in 0..bytes.len() {
            assert_eq!(follow(kind, caps, &bytes, &[first]), whole, "{name} cut at {first}");
            for second in (first + 1..bytes.len()).filter(|_| bytes.len() < 90) {
                let cut = follow(kind, caps, &bytes, &[first, second]);
                assert_eq!(cut, whole, "{name} cut at {first} and {second}");
            }
        }
        let every: Vec<usize> = (0..bytes.len()).collect();
        assert_eq!(follow(kind, caps, &bytes, &every), whole, "{name} byte by byte");
    }
}

#[test]
fn two_replies_in_one_buffer_are_told_apart() {
    for Capture { name, kind, caps, bytes, report } in captures() {
        let both = [bytes.as_slice(), bytes.as_slice()].concat();
        assert_eq!(follow(kind, caps, &both, &[]).join("; "), report, "{name}");
    }
}

fn greeting_of(file: &str) -> Vec<u8> {
    unhex(file.lines().next().unwrap().split('|').nth(3).unwrap())
}

#[test]
fn the_greeting_of_mysql_is_read() {
    let bytes = greeting_of(MYSQL);
    let greeting = Greeting::parse(&bytes[4..]).unwrap();
    assert_eq!(greeting.server_version, b"9.7.4-2");
    assert_eq!(greeting.version(), b"9.7.4-2");
    assert!(!greeting.is_mariadb());
    assert_eq!(greeting.plugin, b"caching_sha2_password");
    assert_eq!(greeting.collation, 255);
    assert_eq!(greeting.status, Status::AUTOCOMMIT);
    assert!(greeting.caps.contains(Caps::MYSQL | Caps::QUERY_ATTRIBUTES | Caps::DEPRECATE_EOF));
    assert!(!greeting.caps.intersects(Caps::MARIADB_ALL));
    let mut again = Vec::new();
    greeting.encode(&mut again);
    assert_eq!(again, bytes[4..]);
}

#[test]
fn the_greeting_of_mariadb_is_read() {
    let bytes = greeting_of(MARIADB);
    let greeting = Greeting::parse(&bytes[4..]).unwrap();
    assert_eq!(greeting.server_version, b"5.5.5-10.11.19-MariaDB-0+deb12u1");
    assert_eq!(greeting.version(), b"10.11.19-MariaDB-0+deb12u1");
    assert!(greeting.is_mariadb());
    assert_eq!(greeting.plugin, b"mysql_native_password");
    assert!(greeting.caps.contains(Caps::MARIADB_CACHE_METADATA | Caps::MARIADB_BULK));
    assert!(greeting.caps.contains(Caps::DEPRECATE_EOF | Caps::SESSION_TRACK));
    assert!(!greeting.caps.contains(Caps::MYSQL));
    let mut again = Vec::new();
    greeting.encode(&mut again);
    assert_eq!(again, bytes[4..]);
}
