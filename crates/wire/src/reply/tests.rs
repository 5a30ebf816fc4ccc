//! Packets of replies byte by byte, and broken ones.

use super::*;
use crate::fault::What;
use crate::value::Value;
use crate::{Caps, Malformed, Status, error_table};

const OLD: Caps = Caps::PROTOCOL_41;
const NEW: Caps = Caps(OLD.0 | Caps::DEPRECATE_EOF.0 | Caps::SESSION_TRACK.0);

/// What `fill` writes, numbered from 1.
fn written(fill: impl FnOnce(&mut Vec<u8>, &mut u8)) -> Vec<u8> {
    let (mut out, mut seq) = (Vec::new(), 1);
    fill(&mut out, &mut seq);
    out
}

#[test]
fn an_ok_packet_with_a_text_is_read_from_old_and_new_servers() {
    let text = b"Rows matched: 1  Changed: 1  Warnings: 0";
    let mut payload = b"\x00\x01\x00\x02\x00\x00\x00\x28".to_vec();
    payload.extend_from_slice(text);
    for caps in [OLD, NEW] {
        let ok = OkPacket::parse(&payload, caps).unwrap();
        assert_eq!((ok.affected_rows, ok.info), (1, &text[..]));
        let mut again = Vec::new();
        ok.encode(caps, &mut again);
        assert_eq!(again, payload);
    }
    let bare = OkPacket::parse(b"\x00\x01\x00\x02\x00\x00\x00Records", OLD).unwrap();
    assert_eq!(bare.info, b"Records");
}

#[test]
fn session_track_data_is_read_only_when_the_status_announces_it() {
    let announced = b"\x00\x00\x00\x02\x40\x00\x00\x00\x07\x01\x05\x04shop";
    let ok = OkPacket::parse(announced, NEW).unwrap();
    assert_eq!(ok.session_track, b"\x01\x05\x04shop");
    let silent = b"\x00\x00\x00\x02\x00\x00\x00\x00\x07\x01\x05\x04shop";
    assert_eq!(OkPacket::parse(silent, NEW).unwrap().session_track, b"");
    let cut = &announced[..announced.len() - 1];
    assert_eq!(OkPacket::parse(cut, NEW).unwrap_err().what, What::LengthString);
}

#[test]
fn ok_packets_cut_short_are_malformed() {
    let whole = b"\x00\xfc\x01\x02\x00\x02\x00\x00\x00";
    assert_eq!(OkPacket::parse(whole, NEW).unwrap().affected_rows, 0x0201);
    for len in 0..whole.len() {
        assert!(OkPacket::parse(&whole[..len], NEW).is_err(), "{len}");
    }
    assert_eq!(OkPacket::parse(b"\x01", NEW), Err(Malformed::new(What::Marker, 0)));
}

#[test]
fn errors_before_the_handshake_have_no_sqlstate() {
    let err = ErrPacket::parse(b"\xff\x10\x04Too many connections").unwrap();
    assert_eq!((err.code, &err.sqlstate), (1040, b"HY000"));
    assert_eq!(err.message, b"Too many connections");
    assert_eq!(ErrPacket::parse(b"\xff\x10").unwrap_err().what, What::FixedField);
    assert_eq!(ErrPacket::parse(b"\xff\x10\x04#28").unwrap_err().what, What::FixedField);
    assert!(ErrPacket::is(b"\xff") && !ErrPacket::is(b"") && !ErrPacket::is(b"\x00"));
}

#[test]
fn errors_are_written_with_the_sqlstate_of_their_number() {
    let err = ErrPacket::new(error_table::ACCESS_DENIED_ERROR, b"no");
    let bytes = written(|out, seq| write_err(out, seq, &err));
    assert_eq!(bytes, b"\x0b\0\0\x01\xff\x15\x04#28000no");
}

#[test]
fn every_error_of_the_table_has_a_number_of_its_own() {
    let mut numbers: Vec<u16> = error_table::ALL.iter().map(|(_, code)| code.number).collect();
    numbers.sort_unstable();
    assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]));
    assert!(error_table::ALL.iter().all(|(_, code)| code.sqlstate.is_ascii()));
}

#[test]
fn a_text_result_is_written_for_old_and_new_clients() {
    let columns = [ColumnDef::integer(b"n"), ColumnDef::text(b"t")];
    let rows: [&[Option<&[u8]>]; 2] = [&[Some(b"1"), None], &[Some(b"-2"), Some(b"")]];
    let result = |caps| {
        written(|out, seq| {
            write_text_result(out, seq, caps, &columns, &rows, Status::AUTOCOMMIT);
        })
    };
    let column_n = b"\x17\0\0\x02\x03def\0\0\0\x01n\0\x0c\x3f\0\x15\0\0\0\x08\x80\0\0\0\0";
    let column_t = b"\x17\0\0\x03\x03def\0\0\0\x01t\0\x0c\x2d\0\0\x04\0\0\xfd\0\0\0\0\0";
    let old = [
        b"\x01\0\0\x01\x02".as_slice(),
        column_n,
        column_t,
        b"\x05\0\0\x04\xfe\0\0\x02\0",
        b"\x03\0\0\x05\x011\xfb",
        b"\x04\0\0\x06\x02-2\0",
        b"\x05\0\0\x07\xfe\0\0\x02\0",
    ];
    assert_eq!(result(OLD), old.concat());
    let new = [
        b"\x01\0\0\x01\x02".as_slice(),
        column_n,
        column_t,
        b"\x03\0\0\x04\x011\xfb",
        b"\x04\0\0\x05\x02-2\0",
        b"\x07\0\0\x06\xfe\0\0\x02\0\0\0",
    ];
    assert_eq!(result(NEW), new.concat());
}

#[test]
fn a_binary_row_holds_a_bit_for_each_null() {
    let columns = [ColumnDef::integer(b"n"); 7];
    let mut values = [Value::Null; 7];
    values[5] = Value::Int(-1);
    let bytes = written(|out, seq| {
        ResultWriter::resume(out, seq, NEW).binary_row(&columns, &values);
    });
    let minus_one = [0xff; 8];
    assert_eq!(bytes, [b"\x0b\0\0\x01\0\x7c\x01".as_slice(), &minus_one].concat());
}

#[test]
fn a_result_may_end_with_an_error() {
    let bytes = written(|out, seq| {
        let result = ResultWriter::begin(out, seq, NEW, &[], Status::NONE);
        assert_eq!((result.len(), result.is_empty()), (5, false));
        result.fail(&ErrPacket::new(error_table::QUERY_INTERRUPTED, b""));
    });
    assert_eq!(bytes, b"\x01\0\0\x01\0\x09\0\0\x02\xff\x25\x05#70100");
}

#[test]
fn a_prepared_statement_is_answered_with_its_definitions() {
    let column = [ColumnDef::integer(b"n")];
    let prepared = |caps| {
        written(|out, seq| {
            write_prepare_ok(out, seq, caps, 9, &[column[0]; 2], &column, Status::NONE)
        })
    };
    let header = b"\x0c\0\0\x01\0\x09\0\0\0\x01\0\x02\0\0\0\0";
    assert_eq!(&prepared(OLD)[..16], header);
    let definition = 4 + 23;
    assert_eq!(prepared(OLD).len(), 16 + 3 * definition + 2 * 9);
    assert_eq!(prepared(NEW).len(), 16 + 3 * definition);
    let bare = written(|out, seq| write_prepare_ok(out, seq, OLD, 9, &[], &[], Status::NONE));
    assert_eq!(bare, b"\x0c\0\0\x01\0\x09\0\0\0\0\0\0\0\0\0\0");
}

#[test]
fn a_cursor_is_announced_after_the_columns() {
    let columns = [ColumnDef::integer(b"n")];
    let opened =
        |caps| written(|out, seq| write_cursor(out, seq, caps, &columns, Status::AUTOCOMMIT));
    assert!(opened(OLD).ends_with(b"\x05\0\0\x03\xfe\0\0\x42\0"));
    assert!(opened(NEW).ends_with(b"\x07\0\0\x03\xfe\0\0\x42\0\0\0"));
}

#[test]
fn clients_that_know_columns_are_told_whether_they_follow() {
    let caps = NEW | Caps::MARIADB_CACHE_METADATA;
    let bytes = written(|out, seq| {
        ResultWriter::begin(out, seq, caps, &[ColumnDef::text(b"a")], Status::NONE);
    });
    assert_eq!(&bytes[..6], b"\x02\0\0\x01\x01\x01");
}

#[test]
fn requests_to_the_client_are_written_as_packets() {
    assert_eq!(written(|out, seq| write_infile(out, seq, b"/f")), b"\x03\0\0\x01\xfb/f");
    assert_eq!(written(|out, seq| write_auth_more(out, seq, &[4])), b"\x02\0\0\x01\x01\x04");
    let eof = EofPacket { warnings: 1, status: Status::AUTOCOMMIT };
    let bytes = written(|out, seq| write_eof(out, seq, OLD, eof));
    assert_eq!(EofPacket::parse(&bytes[4..]), Ok(eof));
    assert_eq!(EofPacket::parse(b"\xfe\0").unwrap_err().what, What::FixedField);
}

#[test]
fn several_variables_in_one_change_are_several_changes() {
    let track = b"\x00\x0c\x01a\x011\x01b\x012\x01c\x013\x01\x05\x04shop";
    let changes: Result<Vec<_>, _> = SessionTrack::new(track).collect();
    let variable = |name, value| SessionChange::SystemVariable { name, value };
    let expected = [
        variable(b"a", b"1"),
        variable(b"b", b"2"),
        variable(b"c", b"3"),
        SessionChange::Schema(b"shop"),
    ];
    assert_eq!(changes.unwrap(), expected);
}

/// As MariaDB 10.11 and MySQL 9.7 answer `SET @a = 1` with `session_track_state_change`.
#[test]
fn a_change_of_state_is_a_letter_without_a_length() {
    let payload = b"\x00\x00\x00\x02\x40\x00\x00\x00\x03\x02\x011";
    let ok = OkPacket::parse(payload, NEW).unwrap();
    let changes: Vec<_> = SessionTrack::new(ok.session_track).collect();
    assert_eq!(changes, [Ok(SessionChange::StateChange(true))]);
}

#[test]
fn a_change_of_state_can_be_left_out() {
    let track = b"\x01\x05\x04shop\x02\x011\x05\x09\x08T_______";
    let mut out = Vec::new();
    SessionTrack::write_without_state_change(track, &mut out);
    assert_eq!(out, b"\x01\x05\x04shop\x05\x09\x08T_______");
}

#[test]
fn broken_session_track_data_ends_with_a_fault() {
    for track in [&b"\x01\x05\x04sho"[..], b"\x00\x02\x01a", b"\x01\x02\x04s", b"\x03\x00", b"\x01"]
    {
        let changes: Vec<_> = SessionTrack::new(track).collect();
        let [Err(fault)] = changes[..] else { panic!("{changes:?}") };
        assert_eq!(fault.what, What::SessionTrack);
    }
}

#[test]
fn column_definitions_cut_short_are_malformed() {
    let mut payload = Vec::new();
    ColumnDef::text(b"name").encode(NEW, &mut payload);
    let filler = 2;
    for len in 0..payload.len() - filler {
        assert!(ColumnDef::parse(&payload[..len], NEW).is_err(), "{len}");
    }
    assert_eq!(ColumnDef::parse(&payload, NEW), Ok(ColumnDef::text(b"name")));
}
