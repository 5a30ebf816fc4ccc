//! Replies made by hand: one for each way in which a reply can go on or end.

use super::{End, Event, Fed, ReplyKind, ReplyTracker, WHOLE_BYTES_MAX};
use crate::fault::What;
use crate::frame::{HEADER_BYTES, Header, MAX_PAYLOAD, write_packet};
use crate::{Caps, Fault, Side, Status};

const OLD: Caps = Caps::PROTOCOL_41;
const NEW: Caps = Caps(Caps::PROTOCOL_41.0 | Caps::DEPRECATE_EOF.0);

const OK: &[u8] = b"\x00\x05\x07\x02\x00\x01\x00";
const OK_MORE: &[u8] = b"\x00\x01\x00\x0a\x00\x00\x00";
const EOF: &[u8] = b"\xfe\x00\x00\x02\x00";
const EOF_MORE: &[u8] = b"\xfe\x00\x00\x0a\x00";
const OK_AS_EOF: &[u8] = b"\xfe\x00\x00\x02\x00\x00\x00";
const OK_AS_EOF_MORE: &[u8] = b"\xfe\x00\x00\x0a\x00\x00\x00";
const ERR: &[u8] = b"\xff\x26\x04#23000Duplicate";
const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x15\0\0\0\x08\x80\0\0\0\0";

/// The packets as they come from a server, numbered from 1.
fn packets(payloads: &[&[u8]]) -> Vec<u8> {
    packets_from(1, payloads)
}

fn packets_from(mut seq: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    payloads.iter().for_each(|payload| write_packet(&mut out, &mut seq, payload));
    out
}

/// Feeds all bytes at once and returns every event but the last `More`, with the total consumed.
fn follow(tracker: &mut ReplyTracker, bytes: &[u8]) -> Result<(Vec<Event>, usize), Fault> {
    let (mut events, mut at) = (Vec::new(), 0);
    loop {
        let fed = tracker.feed(&bytes[at..]).map_err(|fault| {
            assert_eq!(fault.side, Side::Backend);
            fault.fault
        })?;
        at += fed.consumed;
        match fed.event {
            Event::More => return Ok((events, at)),
            last @ (Event::End(_) | Event::Err { .. }) => {
                assert!(tracker.is_done());
                events.push(last);
                return Ok((events, at));
            }
            event => events.push(event),
        }
    }
}

fn run(kind: ReplyKind, caps: Caps, payloads: &[&[u8]]) -> Vec<Event> {
    let bytes = packets(payloads);
    let (events, consumed) = follow(&mut ReplyTracker::new(kind, caps), &bytes).unwrap();
    assert_eq!(consumed, bytes.len());
    events
}

fn end_of(events: Vec<Event>) -> End {
    let Some(Event::End(end)) = events.last() else { panic!("no end in {events:?}") };
    end.clone()
}

fn fault_of(kind: ReplyKind, caps: Caps, payloads: &[&[u8]]) -> Fault {
    follow(&mut ReplyTracker::new(kind, caps), &packets(payloads)).unwrap_err()
}

#[test]
fn an_ok_packet_alone_is_told_with_all_it_says() {
    let end = end_of(run(ReplyKind::Result, NEW, &[OK]));
    let expected = End {
        status: Status::AUTOCOMMIT,
        warnings: 1,
        affected_rows: 5,
        last_insert_id: 7,
        ok_only: true,
        row_count: 5,
        ..End::default()
    };
    assert_eq!(end, expected);
}

#[test]
fn a_result_set_ends_at_its_second_eof_packet() {
    for kind in [ReplyKind::Result, ReplyKind::Execute] {
        let end = end_of(run(kind, OLD, &[b"\x01", COLUMN, EOF, b"\x011", b"\x012", EOF]));
        assert_eq!((end.rows, end.resultsets, end.ok_only), (2, 1, false));
        assert!(!end.several);
    }
}

#[test]
fn a_result_set_without_eof_packets_ends_at_an_ok_packet_in_their_place() {
    let end = end_of(run(ReplyKind::Result, NEW, &[b"\x01", COLUMN, b"\x011", OK_AS_EOF]));
    assert_eq!((end.rows, end.status), (1, Status::AUTOCOMMIT));
}

#[test]
fn several_results_are_one_reply() {
    let old: &[&[u8]] =
        &[OK_MORE, b"\x01", COLUMN, EOF, b"\x011", EOF_MORE, b"\x01", COLUMN, EOF, EOF_MORE, OK];
    let end = end_of(run(ReplyKind::Result, OLD, old));
    assert_eq!((end.rows, end.resultsets, end.affected_rows), (1, 2, 6));
    assert_eq!((end.ok_only, end.row_count, end.rows_before), (false, 5, 1));
    assert!(end.several);
    let new: &[&[u8]] = &[b"\x01", COLUMN, OK_AS_EOF_MORE, b"\x01", COLUMN, b"\x011", OK_AS_EOF];
    let end = end_of(run(ReplyKind::Execute, NEW, new));
    assert_eq!((end.resultsets, end.row_count, end.rows - end.rows_before), (2, -1, 1));
}

#[test]
fn an_error_ends_the_reply_wherever_it_stands() {
    let cases: &[&[&[u8]]] = &[
        &[ERR],
        &[OK_MORE, ERR],
        &[b"\x01", ERR],
        &[b"\x01", COLUMN, ERR],
        &[b"\x01", COLUMN, EOF, ERR],
        &[b"\x01", COLUMN, EOF, b"\x011", ERR],
    ];
    for case in cases {
        let bytes = packets(case);
        let mut tracker = ReplyTracker::new(ReplyKind::Result, OLD);
        let (events, consumed) = follow(&mut tracker, &bytes).unwrap();
        assert_eq!(consumed, bytes.len());
        let Some(Event::Err { code, sqlstate, .. }) = events.last() else { panic!("{case:?}") };
        assert_eq!((*code, sqlstate), (1062, b"23000"));
    }
}

#[test]
fn the_status_before_an_error_is_that_of_the_results_before_it() {
    let cases: &[(&[&[u8]], Option<Status>)] = &[
        (&[ERR], None),
        (&[b"\x01", COLUMN, EOF, ERR], None),
        (&[OK_MORE, ERR], Some(Status(0x0a))),
        (&[b"\x01", COLUMN, EOF, EOF_MORE, b"\x01", COLUMN, EOF, ERR], Some(Status(0x0a))),
    ];
    for (case, status) in cases {
        let mut tracker = ReplyTracker::new(ReplyKind::Result, OLD);
        follow(&mut tracker, &packets(case)).unwrap();
        assert_eq!(tracker.status_so_far(), *status, "{case:?}");
    }
}

#[test]
fn ranges_are_positions_in_the_bytes_fed() {
    let bytes = packets(&[b"\x01", COLUMN, EOF, b"\x011", ERR]);
    let fed = ReplyTracker::new(ReplyKind::Result, OLD).feed(&bytes).unwrap();
    let Event::Err { at, .. } = fed.event else { panic!() };
    assert_eq!(&bytes[at], ERR);

    let caps = NEW | Caps::SESSION_TRACK;
    let tracked = b"\x00\x00\x00\x02\x40\x00\x00\x00\x04\x01\x02\x01a";
    let more = b"\x00\x00\x00\x0a\x40\x00\x00\x00\x04\x01\x02\x01b";
    let bytes = packets(&[more, tracked]);
    let mut tracker = ReplyTracker::new(ReplyKind::Result, caps);
    let Fed { consumed, event: Event::Track { at } } = tracker.feed(&bytes).unwrap() else {
        panic!()
    };
    assert_eq!(&bytes[at], more);
    let Fed { event: Event::End(end), .. } = tracker.feed(&bytes[consumed..]).unwrap() else {
        panic!()
    };
    assert_eq!(&bytes[consumed..][end.track.unwrap()], tracked);
}

#[test]
fn nothing_of_the_next_reply_is_taken() {
    let mut bytes = packets(&[b"\x01", COLUMN, b"\x011", OK_AS_EOF]);
    let len = bytes.len();
    bytes.extend(packets(&[OK]));
    let mut tracker = ReplyTracker::new(ReplyKind::Result, NEW);
    assert_eq!(follow(&mut tracker, &bytes).unwrap().1, len);
    let again = tracker.feed(&bytes[len..]).unwrap();
    assert_eq!(again.consumed, 0);
    assert!(matches!(again.event, Event::End(_)));
}

#[test]
fn rows_are_taken_as_they_come_and_terminators_only_when_whole() {
    let bytes = packets(&[b"\x01", COLUMN, b"\x0aabcdefghij", OK_AS_EOF]);
    let row = bytes.len() - OK_AS_EOF.len() - HEADER_BYTES - 11;
    let mut tracker = ReplyTracker::new(ReplyKind::Result, NEW);
    assert_eq!(tracker.feed(&bytes[..row - 1]).unwrap().consumed, row - HEADER_BYTES);
    assert!(tracker.is_between_packets());
    let mut taken = row - HEADER_BYTES;
    taken += tracker.feed(&bytes[taken..row + 3]).unwrap().consumed;
    assert_eq!(taken, row + 3);
    assert!(!tracker.is_between_packets());
    assert_eq!((tracker.rows(), tracker.last_seq()), (1, 3));
    taken += tracker.feed(&bytes[taken..bytes.len() - 1]).unwrap().consumed;
    assert_eq!(taken, row + 11);
    assert!(matches!(tracker.feed(&bytes[taken..]).unwrap().event, Event::End(_)));
}

/// A row of exactly `payload` bytes that begins with an eight-byte length, in frames from `seq`.
fn long_row(payload: usize, seq: u8) -> Vec<u8> {
    let mut row = vec![b'x'; payload];
    row[0] = 0xfe;
    packets_from(seq, &[&row])
}

#[test]
fn rows_that_span_frames_are_one_row() {
    for payload in [MAX_PAYLOAD, MAX_PAYLOAD + 1, 2 * MAX_PAYLOAD, 2 * MAX_PAYLOAD + 77] {
        for caps in [OLD, NEW] {
            let mut tracker = ReplyTracker::new(ReplyKind::Result, caps);
            let columns: &[&[u8]] = &[b"\x01", COLUMN, EOF];
            let head = packets(&columns[..if caps == OLD { 3 } else { 2 }]);
            follow(&mut tracker, &head).unwrap();
            let row = long_row(payload, tracker.last_seq() + 1);
            let mut at = 0;
            for end in (0..row.len()).step_by(1 << 16).chain([row.len()]) {
                let fed = tracker.feed(&row[at..end]).unwrap();
                assert_eq!(fed.event, Event::More);
                at += fed.consumed;
            }
            assert_eq!(at, row.len(), "{payload}");
            assert!(tracker.is_between_packets());
            let last = if caps == OLD { EOF } else { OK_AS_EOF };
            let tail = packets_from(tracker.last_seq() + 1, &[b"\xfb", last]);
            let (events, _) = follow(&mut tracker, &tail).unwrap();
            assert_eq!(end_of(events).rows, 2);
        }
    }
}

#[test]
fn the_empty_frame_after_a_full_one_is_waited_for() {
    let mut tracker = ReplyTracker::new(ReplyKind::Result, NEW);
    follow(&mut tracker, &packets(&[b"\x01", COLUMN])).unwrap();
    let row = long_row(MAX_PAYLOAD, 3);
    let (_, consumed) = follow(&mut tracker, &row[..row.len() - 2]).unwrap();
    assert_eq!(consumed, row.len() - HEADER_BYTES);
    assert!(!tracker.is_between_packets());
}

#[test]
fn a_row_of_nulls_and_one_with_a_long_text_are_no_terminators() {
    let mut long = vec![0xfd, 0x00, 0x00, 0x01];
    long.resize(4 + 0x1_0000, b'x');
    let rows: &[&[u8]] = &[b"\x01", COLUMN, b"\xfb", b"\xfb\xfb", &long, OK_AS_EOF];
    assert_eq!(end_of(run(ReplyKind::Result, NEW, rows)).rows, 3);
}

#[test]
fn sequence_numbers_wrap() {
    let mut payloads: Vec<&[u8]> = vec![b"\x01", COLUMN];
    payloads.extend([b"\x011".as_slice(); 700]);
    payloads.push(OK_AS_EOF);
    assert_eq!(end_of(run(ReplyKind::Result, NEW, &payloads)).rows, 700);
}

#[test]
fn a_number_out_of_order_is_a_fault_but_the_first_may_be_any() {
    let mut bytes = packets_from(9, &[b"\x01", COLUMN, b"\x011", b"\x012", OK_AS_EOF]);
    let mut tracker = ReplyTracker::new(ReplyKind::Result, NEW);
    assert!(matches!(follow(&mut tracker, &bytes).unwrap().0[..], [Event::End(_)]));
    let second_row = bytes.len() - OK_AS_EOF.len() - HEADER_BYTES - 2 - 1;
    bytes[second_row] = 77;
    let mut tracker = ReplyTracker::new(ReplyKind::Result, NEW);
    let fault = follow(&mut tracker, &bytes).unwrap_err();
    assert_eq!(fault, Fault::Sequence { expected: 12, found: 77 });
}

#[test]
fn the_reply_to_a_counted_command_begins_with_one() {
    let run = |number, payload: &[u8]| {
        let mut tracker = ReplyTracker::new(ReplyKind::Result, NEW).counted();
        follow(&mut tracker, &packets_from(number, &[payload])).map(|(events, _)| events.len())
    };
    for (number, payload, expected) in [
        (1, OK, Ok(1)),
        (6, OK, Err(Fault::Sequence { expected: 1, found: 6 })),
        (0, OK, Err(Fault::Sequence { expected: 1, found: 0 })),
        (2, b"\x01", Err(Fault::Sequence { expected: 1, found: 2 })),
        (1, ERR, Ok(1)),
        (0, ERR, Ok(1)),
        (6, ERR, Err(Fault::Sequence { expected: 1, found: 6 })),
    ] {
        assert_eq!(run(number, payload), expected, "{number} {payload:?}");
    }
}

#[test]
fn an_error_is_taken_whatever_its_number() {
    let mut bytes = packets(&[b"\x01", COLUMN]);
    bytes.extend(packets_from(0, &[ERR]));
    let mut tracker = ReplyTracker::new(ReplyKind::Result, NEW);
    let (events, consumed) = follow(&mut tracker, &bytes).unwrap();
    assert!(matches!(events[..], [Event::Err { code: 1062, .. }]));
    assert_eq!(consumed, bytes.len());
}

#[test]
fn a_file_request_is_told_and_an_ok_packet_follows_the_file() {
    let mut tracker = ReplyTracker::new(ReplyKind::Result, NEW);
    let (events, _) = follow(&mut tracker, &packets(&[b"\xfb/etc/passwd"])).unwrap();
    assert_eq!(events, [Event::Infile]);
    let (events, _) = follow(&mut tracker, &packets_from(42, &[OK])).unwrap();
    assert_eq!((events.len(), end_of(events).ok_only), (1, false));
    let rows: &[&[u8]] = &[b"\xfb/etc/passwd", b"\x01"];
    assert_eq!(fault_of(ReplyKind::Result, NEW, rows), Fault::Unexpected { first: 1 });
}

#[test]
fn a_prepared_statement_is_told_with_the_place_of_its_id() {
    let header: &[u8] = b"\x00\x2a\x00\x00\x01\x01\x00\x02\x00\x00\x03\x00";
    let old = packets(&[header, COLUMN, COLUMN, EOF, COLUMN, EOF]);
    let new = packets(&[header, COLUMN, COLUMN, COLUMN]);
    for (caps, bytes) in [(OLD, old), (NEW, new)] {
        let mut tracker = ReplyTracker::new(ReplyKind::Prepare, caps);
        let (events, consumed) = follow(&mut tracker, &bytes).unwrap();
        let [Event::Prepared { stmt_id, columns, params, id_at }, Event::End(end)] = &events[..]
        else {
            panic!("{events:?}")
        };
        assert_eq!((*stmt_id, *columns, *params, *id_at), (0x0100_002a, 1, 2, 5));
        assert_eq!((consumed, end.warnings, end.rows), (bytes.len(), 3, 0));
    }
}

#[test]
fn a_prepared_statement_without_definitions_ends_at_its_header() {
    let header: &[u8] = b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00";
    for caps in [OLD, NEW] {
        let events = run(ReplyKind::Prepare, caps, &[header]);
        assert!(matches!(events[..], [Event::Prepared { .. }, Event::End(_)]), "{events:?}");
    }
    assert!(matches!(run(ReplyKind::Prepare, NEW, &[ERR])[..], [Event::Err { .. }]));
}

#[test]
fn a_cursor_ends_an_execute_after_the_columns_and_no_query() {
    let eof: &[u8] = b"\xfe\x00\x00\x42\x00";
    let cursor: &[&[u8]] = &[b"\x01", COLUMN, eof];
    let end = end_of(run(ReplyKind::Execute, OLD, cursor));
    assert_eq!(end.status, Status::AUTOCOMMIT | Status::CURSOR_EXISTS);
    assert_eq!(run(ReplyKind::Result, OLD, cursor), []);
    let ok: &[u8] = b"\xfe\x00\x00\x42\x00\x00\x00";
    assert_eq!(end_of(run(ReplyKind::Execute, NEW, &[b"\x01", COLUMN, ok])).rows, 0);
}

#[test]
fn fetched_rows_and_listed_fields_end_at_the_first_terminator() {
    for (caps, last) in [(OLD, EOF_MORE), (NEW, OK_AS_EOF_MORE)] {
        assert_eq!(end_of(run(ReplyKind::Fetch, caps, &[b"\0\0a", b"\0\0b", last])).rows, 2);
        assert_eq!(end_of(run(ReplyKind::Fetch, caps, &[last])).rows, 0);
        assert_eq!(end_of(run(ReplyKind::FieldList, caps, &[COLUMN, last])).rows, 0);
    }
}

#[test]
fn progress_reports_are_passed_only_when_agreed_on() {
    let report: &[u8] = b"\xff\xff\xff\x01\x02\x03\x00\x00\x00\x05stage";
    let reply: &[&[u8]] = &[report, b"\x01", COLUMN, report, b"\x011", report, OK_AS_EOF];
    let end = end_of(run(ReplyKind::Result, NEW | Caps::MARIADB_PROGRESS, reply));
    assert_eq!((end.rows, end.resultsets), (1, 1));
    let mut tracker = ReplyTracker::new(ReplyKind::Result, NEW);
    let (events, _) = follow(&mut tracker, &packets(reply)).unwrap();
    assert!(matches!(events[..], [Event::Err { code: 0xffff, .. }]));
    let ok = run(ReplyKind::Simple, NEW | Caps::MARIADB_PROGRESS, &[report, OK]);
    assert!(end_of(ok).ok_only);
}

#[test]
fn columns_that_a_client_knows_already_are_left_out() {
    let caps = NEW | Caps::MARIADB_CACHE_METADATA;
    let known = run(ReplyKind::Execute, caps, &[b"\x02\x00", b"\0\0aa", OK_AS_EOF]);
    assert_eq!(end_of(known).rows, 1);
    let new = run(ReplyKind::Execute, caps, &[b"\x01\x01", COLUMN, b"\0\0aa", OK_AS_EOF]);
    assert_eq!(end_of(new).rows, 1);
    let caps = OLD | Caps::MARIADB_CACHE_METADATA;
    let old = run(ReplyKind::Execute, caps, &[b"\x01\x00", EOF, b"\0\0aa", EOF]);
    assert_eq!(end_of(old).rows, 1);
}

#[test]
fn an_authentication_goes_on_until_ok_or_error() {
    let mut tracker = ReplyTracker::new(ReplyKind::Auth, NEW);
    let switch = packets(&[b"\xfemysql_native_password\x0012345678901234567890\0"]);
    let Fed { consumed, event: Event::AuthSwitch { at } } = tracker.feed(&switch).unwrap() else {
        panic!()
    };
    assert_eq!((consumed, at), (switch.len(), 4..switch.len()));
    let Event::AuthMore { at } = tracker.feed(&packets_from(3, &[b"\x01\x04"])).unwrap().event
    else {
        panic!()
    };
    assert_eq!(at, 4..6);
    let (events, _) = follow(&mut tracker, &packets_from(7, &[OK])).unwrap();
    assert!(matches!(events[..], [Event::End(_)]));
}

#[test]
fn commands_with_one_packet_end_after_it() {
    assert_eq!(end_of(run(ReplyKind::Statistics, NEW, &[b"Uptime: 1"])).rows, 0);
    assert_eq!(end_of(run(ReplyKind::Simple, OLD, &[EOF])).status, Status::AUTOCOMMIT);
    assert_eq!(end_of(run(ReplyKind::Simple, NEW, &[OK_AS_EOF])).status, Status::AUTOCOMMIT);
    assert!(end_of(run(ReplyKind::Simple, NEW, &[OK_MORE])).ok_only);
    assert!(matches!(run(ReplyKind::Statistics, NEW, &[ERR])[..], [Event::Err { .. }]));
}

#[test]
fn a_command_without_a_reply_is_at_its_end() {
    let mut tracker = ReplyTracker::new(ReplyKind::None, NEW);
    let fed = tracker.feed(&packets(&[OK])).unwrap();
    assert_eq!(fed.consumed, 0);
    assert!(matches!(fed.event, Event::End(_)));
}

#[test]
fn packets_that_cannot_be_read_whole_are_faults() {
    let header = Header { len: WHOLE_BYTES_MAX + 1, seq: 1 }.encode();
    let mut tracker = ReplyTracker::new(ReplyKind::Result, NEW);
    let fault = follow(&mut tracker, &header).unwrap_err();
    assert_eq!(fault, Fault::TooLong { len: WHOLE_BYTES_MAX + 1 });
    let header = Header { len: WHOLE_BYTES_MAX, seq: 1 }.encode();
    let mut tracker = ReplyTracker::new(ReplyKind::Result, NEW);
    assert_eq!(follow(&mut tracker, &header).unwrap(), (vec![], 0));
}

#[test]
fn packets_out_of_place_are_faults() {
    let unexpected = |first| Fault::Unexpected { first };
    assert_eq!(fault_of(ReplyKind::Result, NEW, &[EOF]), unexpected(0xfe));
    assert_eq!(fault_of(ReplyKind::Result, NEW, &[b""]), unexpected(0));
    assert_eq!(fault_of(ReplyKind::Prepare, NEW, &[b"\x01"]), unexpected(1));
    assert_eq!(fault_of(ReplyKind::Simple, NEW, &[b"\x01"]), unexpected(1));
    assert_eq!(fault_of(ReplyKind::Result, NEW, &[b"\x01", b""]), unexpected(0));
    assert_eq!(fault_of(ReplyKind::Result, NEW, &[b"\x01", EOF]), unexpected(0xfe));
    assert_eq!(fault_of(ReplyKind::Result, OLD, &[b"\x01", COLUMN, b"\x011"]), unexpected(1));
    assert_eq!(fault_of(ReplyKind::Result, NEW, &[b"\x01", COLUMN, b""]), unexpected(0));
    let Fault::Malformed(short) = fault_of(ReplyKind::Result, NEW, &[b"\x00\x01"]) else {
        panic!()
    };
    assert_eq!((short.what, short.offset), (What::LengthInteger, 2));
}
