use super::*;

const OK: &[u8] = &[0, 1, 0, 2, 0, 0, 0];
const OK_MORE: &[u8] = &[0, 1, 0, 0x0a, 0, 0, 0];
const END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
const END_MORE: &[u8] = &[0xfe, 0, 0, 0x0a, 0, 0, 0];
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
const EOF_MORE: &[u8] = &[0xfe, 0, 0, 0x0a, 0];
const COLUMNS: &[u8] = &[1];
const COLUMN: &[u8] = b"\x03def";
const ROW: &[u8] = b"\x00\x01\x00\x08\x00";
const FILE: &[u8] = b"\xfbany";
const ERR: &[u8] = b"\xff\x28\x04";
const PROGRESS: &[u8] = b"\xff\xff\xff\x01";

/// Behind which packets of a reply a result ends, and another one follows.
fn ends(command: u8, reply: &[&[u8]]) -> Vec<usize> {
    let mut results = Results::default();
    results.command(code::STMT_CLOSE);
    results.command(command);
    results.begin();
    let ends = |packet: &[u8]| results.ends_with(packet, packet.len());
    let told: Vec<bool> = reply.iter().copied().map(ends).collect();
    (0..told.len()).filter(|at| told[*at]).collect()
}

#[test]
fn a_result_ends_where_its_last_packet_says_that_another_follows() {
    let none: [usize; 0] = [];
    for (command, reply, expected) in [
        (code::QUERY, &[OK][..], &none[..]),
        (code::QUERY, &[OK_MORE, OK_MORE, OK], &[0, 1]),
        (code::QUERY, &[COLUMNS, COLUMN, ROW, END_MORE, COLUMNS, COLUMN, END], &[3]),
        (code::QUERY, &[COLUMNS, COLUMN, EOF_MORE, ROW, EOF_MORE, OK], &[4]),
        (code::QUERY, &[COLUMNS, COLUMN, EOF, ROW, EOF], &none),
        (code::STMT_EXECUTE, &[COLUMNS, COLUMN, ROW, END_MORE, OK], &[3]),
        (code::QUERY, &[PROGRESS, OK_MORE, FILE, OK_MORE, ERR], &[1, 3]),
        (code::QUERY, &[ERR, OK_MORE], &none),
        (code::QUERY, &[COLUMNS, COLUMN, ERR, OK_MORE], &none),
        (code::STMT_PREPARE, &[OK_MORE], &none),
        (code::PING, &[OK_MORE], &none),
    ] {
        assert_eq!(ends(command, reply), expected, "{command}: {reply:?}");
    }
}

#[test]
fn the_rest_of_a_long_packet_is_no_end() {
    let mut results = Results::default();
    results.command(code::QUERY);
    results.begin();
    for (payload, length, expected) in [
        (COLUMNS, 1, false),
        (COLUMN, 4, false),
        (ROW, frame::MAX_PAYLOAD, false),
        (END_MORE, 7, false),
        (END_MORE, 7, true),
    ] {
        assert_eq!(results.ends_with(payload, length), expected, "{payload:?}");
    }
}
