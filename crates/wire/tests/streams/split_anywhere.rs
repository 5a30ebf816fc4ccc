//! Every registered parser reports the same wherever its bytes are cut: in generated replies, in
//! garbage, and in generated replies with a broken byte.

use proptest::prelude::*;
use wire::connect::AuthSwitch;
use wire::frame::write_packet;
use wire::reply::{
    ColumnDef, EofPacket, ErrPacket, OkPacket, ResultWriter, SessionChange, write_auth_more,
    write_auth_switch, write_eof, write_err, write_infile, write_ok, write_prepare_ok,
};
use wire::result::ReplyKind;
use wire::value::Value;
use wire::{Caps, Status, error_table};

use crate::registry::{KINDS, PARSERS, caps_of, follow, tracker_input};

/// What a generated result is made of.
#[derive(Debug, Clone)]
enum Part {
    Ok { affected: u64, schema: Option<String> },
    Rows { columns: usize, rows: Vec<Option<Vec<u8>>>, error: bool },
    File,
    Error,
}

fn part() -> impl Strategy<Value = Part> {
    let value = prop_oneof![
        2 => Just(None),
        6 => prop::collection::vec(any::<u8>(), 0..12).prop_map(Some),
        1 => prop::collection::vec(any::<u8>(), 250..300).prop_map(Some),
    ];
    prop_oneof![
        2 => (any::<u64>(), prop::option::of("[a-z]{1,9}"))
            .prop_map(|(affected, schema)| Part::Ok { affected, schema }),
        6 => (1_usize..4, prop::collection::vec(value, 0..9), prop::bool::weighted(0.1))
            .prop_map(|(columns, rows, error)| Part::Rows { columns, rows, error }),
        1 => Just(Part::File),
        1 => Just(Part::Error),
    ]
}

/// Appends the parts as one reply of several results.
fn write_reply(kind: ReplyKind, caps: Caps, parts: &[Part]) -> Vec<u8> {
    let (mut out, mut seq) = (Vec::new(), 1);
    for (at, part) in parts.iter().enumerate() {
        let mut status = Status::AUTOCOMMIT;
        if at + 1 < parts.len() {
            status = status | Status::MORE_RESULTS;
        }
        match part {
            Part::Ok { affected, schema } => {
                let mut track = Vec::new();
                if let Some(schema) = schema {
                    SessionChange::Schema(schema.as_bytes()).encode(&mut track);
                }
                let ok = OkPacket {
                    affected_rows: *affected,
                    status,
                    session_track: &track,
                    ..OkPacket::default()
                };
                write_ok(&mut out, &mut seq, caps, &ok);
            }
            Part::Rows { columns, rows, error } => {
                let defs = vec![ColumnDef::text(b"c"); *columns];
                let mut result = ResultWriter::begin(&mut out, &mut seq, caps, &defs, status);
                for value in rows {
                    let value = value.as_deref();
                    match kind {
                        ReplyKind::Execute => {
                            let value = value.map_or(Value::Null, Value::Bytes);
                            result.binary_row(&defs, &vec![value; *columns]);
                        }
                        _ => result.text_row(vec![value; *columns]),
                    }
                }
                if *error {
                    result.fail(&ErrPacket::new(error_table::QUERY_INTERRUPTED, b"killed"));
                    return out;
                }
                result.end(status, 3);
            }
            Part::File => {
                write_infile(&mut out, &mut seq, b"/a/file");
                seq = seq.wrapping_add(7);
                write_ok(&mut out, &mut seq, caps, &OkPacket { status, ..OkPacket::default() });
            }
            Part::Error => {
                write_err(&mut out, &mut seq, &ErrPacket::new(error_table::DUP_ENTRY, b"dup"));
                return out;
            }
        }
    }
    out
}

/// Replies of the kinds that have one form only.
fn write_simple(kind: ReplyKind, caps: Caps, columns: usize, params: usize) -> Vec<u8> {
    let (mut out, mut seq) = (Vec::new(), 1);
    let column = ColumnDef::integer(b"n");
    match kind {
        ReplyKind::Prepare => {
            let (columns, params) = (vec![column; columns], vec![column; params]);
            write_prepare_ok(&mut out, &mut seq, caps, 7, &params, &columns, Status::AUTOCOMMIT);
        }
        ReplyKind::Fetch => {
            let mut result = ResultWriter::resume(&mut out, &mut seq, caps);
            (0..columns).for_each(|n| result.binary_row(&[column], &[Value::Int(n as i64)]));
            result.end(Status::LAST_ROW_SENT, 0);
        }
        ReplyKind::FieldList => {
            for _ in 0..columns {
                let mut payload = Vec::new();
                column.encode(caps, &mut payload);
                write_packet(&mut out, &mut seq, &payload);
            }
            write_eof(&mut out, &mut seq, caps, EofPacket::default());
        }
        ReplyKind::Auth => {
            let switch = AuthSwitch { plugin: b"caching_sha2_password", data: &[b'n'; 20] };
            write_auth_switch(&mut out, &mut seq, &switch);
            seq += 1;
            write_auth_more(&mut out, &mut seq, &[4]);
            write_ok(&mut out, &mut seq, caps, &OkPacket::default());
        }
        ReplyKind::Statistics => write_packet(&mut out, &mut seq, b"Uptime: 1"),
        _ => write_ok(&mut out, &mut seq, caps, &OkPacket::default()),
    }
    out
}

fn any_kind() -> impl Strategy<Value = ReplyKind> {
    prop::sample::select(KINDS.to_vec())
}

fn any_reply() -> impl Strategy<Value = (ReplyKind, Caps, Vec<u8>)> {
    let results = prop::collection::vec(part(), 1..5);
    (any_kind(), any::<u8>(), results, 0_usize..4, 0_usize..4).prop_map(
        |(kind, caps, parts, columns, params)| {
            let caps = caps_of(caps);
            let reply = match kind {
                ReplyKind::Result | ReplyKind::Execute => write_reply(kind, caps, &parts),
                _ => write_simple(kind, caps, columns, params),
            };
            (kind, caps, reply)
        },
    )
}

fn is_complete(line: &str) -> bool {
    line.starts_with("end ") || line.starts_with("error ")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn generated_replies_are_followed_to_their_end((kind, caps, reply) in any_reply()) {
        let log = follow(kind, caps, &reply, &[]);
        prop_assert!(log.iter().any(|line| is_complete(line)), "{log:?}");
        let taken = if kind == ReplyKind::None { 0 } else { reply.len() };
        prop_assert!(log.last().unwrap().starts_with(&format!("took {taken},")), "{log:?}");
    }

    #[test]
    fn short_replies_are_reported_the_same_cut_at_any_two_places(
        (kind, caps, reply) in any_reply(),
    ) {
        prop_assume!(reply.len() <= 120);
        let input = tracker_input(kind, caps, &reply);
        for parser in PARSERS {
            let whole = (parser.run)(&input, &[]);
            for first in 0..input.len() {
                for second in first..input.len() {
                    let cut = (parser.run)(&input, &[first, second]);
                    prop_assert_eq!(&cut, &whole, "{} at {} and {}", parser.name, first, second);
                }
            }
        }
    }

    #[test]
    fn replies_are_reported_the_same_cut_anywhere(
        (kind, caps, reply) in any_reply(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let input = tracker_input(kind, caps, &reply);
        let cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len())).collect();
        for parser in PARSERS {
            prop_assert_eq!((parser.run)(&input, &cuts), (parser.run)(&input, &[]));
        }
    }

    #[test]
    fn broken_replies_are_reported_the_same_cut_anywhere(
        (kind, caps, reply) in any_reply(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let mut input = tracker_input(kind, caps, &reply);
        let at = at.index(input.len());
        input[at] = byte;
        let cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len())).collect();
        for parser in PARSERS {
            prop_assert_eq!((parser.run)(&input, &cuts), (parser.run)(&input, &[]));
        }
    }

    #[test]
    fn headers_of_proxies_are_reported_the_same_cut_anywhere(
        begins in prop_oneof![
            Just(&b"PROXY TCP4 192.0.2.7 198.51.100.1 40000 3306\r\n"[..]),
            Just(&b"PROXY UNKNOWN what\r\n"[..]),
            Just(&b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c"[..]),
        ],
        rest in prop::collection::vec(any::<u8>(), 0..160),
        (at, byte) in (any::<prop::sample::Index>(), any::<u8>()),
        cuts in prop::collection::vec(0_usize..200, 0..20),
    ) {
        let mut input = [begins, &rest].concat();
        let at = at.index(input.len() * 2);
        if let Some(place) = input.get_mut(at) {
            *place = byte;
        }
        for parser in PARSERS {
            prop_assert_eq!((parser.run)(&input, &cuts), (parser.run)(&input, &[]));
        }
    }

    #[test]
    fn garbage_is_reported_the_same_cut_anywhere(
        input in prop::collection::vec(prop_oneof![0_u8..9, any::<u8>()], 2..200),
        cuts in prop::collection::vec(0_usize..200, 0..20),
    ) {
        for parser in PARSERS {
            prop_assert_eq!((parser.run)(&input, &cuts), (parser.run)(&input, &[]));
        }
    }
}
