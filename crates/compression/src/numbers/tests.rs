use io::CODEC_ROOM_BYTES;
use wire::command::code;
use wire::connect::Compression;

use super::*;
use crate::outgoing::Outgoing;
use crate::results::Results;
use crate::streams::Compressors;

/// Packets of a few bytes with these numbers.
fn packets(numbers: &[u8]) -> Vec<u8> {
    numbers.iter().flat_map(|number| [3, 0, 0, *number, 7, 7, 7]).collect()
}

/// The numbers in the headers of packets like that.
fn numbers_in(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(7).map(|packet| packet[3]).collect()
}

/// Of each compressed packet that is made of packets with these numbers: how many are in it, and
/// its own number.
fn sent(ends: &mut Ends, of: &[u8]) -> Vec<(usize, u8)> {
    let sent = compressed(ends, &packets(of)).into_iter();
    sent.map(|(number, content)| (content.len() / 7, number)).collect()
}

/// The number of each compressed packet that is made of these bytes, and what is in it.
fn compressed((numbers, outgoing): &mut Ends, mut plain: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let (mut wire, mut room) = (Vec::new(), vec![0; CODEC_ROOM_BYTES]);
    while !plain.is_empty() {
        let mut results = Results::default();
        let step = outgoing.encode((numbers, &mut results), plain, &mut room).expect("encoded");
        plain = &plain[step.taken..];
        wire.extend_from_slice(&room[..step.given]);
        while let given @ 1.. = outgoing.pending(&mut room) {
            wire.extend_from_slice(&room[..given]);
        }
    }
    let mut sent = Vec::new();
    let mut wire = wire.as_slice();
    while let [a, b, c, number, d, e, f, rest @ ..] = wire {
        let length =
            |[a, b, c]: [&u8; 3]| usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16;
        let (packed, plain) = (length([a, b, c]), length([d, e, f]));
        let (packed, rest) = rest.split_at(packed);
        let mut content = packed.to_vec();
        if plain > 0 {
            content = vec![0; plain];
            let compressors = Compressors::default();
            let inflater = compressors.inflater(compressors.ticket(), Compression::Zlib);
            let (mut inflater, _) = inflater.expect("one");
            assert_eq!(inflater.inflate(packed, &mut content).expect("inflated").given, plain);
        }
        sent.push((*number, content));
        wire = rest;
    }
    sent
}

type Ends = (Numbers, Outgoing);

/// What becomes of packets with these numbers that came in a compressed one.
fn heard((numbers, _): &mut Ends, compressed: u8, of: &[u8]) -> Vec<u8> {
    let mut bytes = packets(of);
    numbers.hear(compressed);
    numbers.recount(&mut bytes, |_| {});
    numbers_in(&bytes)
}

/// The number of the compressed packet that a command with this first byte is sent in.
fn command(ends: &mut Ends, first: u8) -> u8 {
    compressed(ends, &[1, 0, 0, 0, first])[0].0
}

fn ends(leg: Leg) -> Ends {
    (Numbers::new(leg), Outgoing::new(leg, Compression::Zlib, Compressors::default()))
}

#[test]
fn commands_to_a_server_have_compressed_packets_of_their_own() {
    let mut numbers = ends(Leg::Server);
    assert_eq!(sent(&mut numbers, &[0, 0, 0]), [(1, 0), (1, 0), (1, 0)]);
    assert_eq!(heard(&mut numbers, 1, &[1, 2, 3]), [1, 2, 3]);
    assert_eq!(heard(&mut numbers, 1, &[1]), [1]);
    // a command of several packets
    assert_eq!(sent(&mut numbers, &[0, 1, 2]), [(3, 0)]);
}

#[test]
fn a_long_packet_is_spread_over_no_more_than_it_must() {
    let mut numbers = ends(Leg::Server);
    let long = |length: usize| {
        let mut plain = length.to_le_bytes()[..3].to_vec();
        plain.resize(4 + length, 0);
        plain
    };
    for (length, expected) in [
        (16_380, &[(0, 16_384)][..]),
        (16_381, &[(0, 16_385)]),
        (5_000_000, &[(0, 5_000_004)]),
        (16_777_214, &[(0, 16_646_144), (1, 131_074)]),
    ] {
        let told = compressed(&mut numbers, &long(length));
        let told: Vec<_> = told.iter().map(|(number, content)| (*number, content.len())).collect();
        assert_eq!(told, expected, "{length}");
    }
    assert_eq!(sent(&mut numbers, &[0]), [(1, 0)]);
    // nothing else is in its compressed packets
    let mut numbers = ends(Leg::Client);
    heard(&mut numbers, 0, &[0]);
    let mut row = long(20_000);
    row[3] = 2;
    let reply = [packets(&[1]), row, packets(&[3, 4])].concat();
    let told = compressed(&mut numbers, &reply);
    let told: Vec<_> = told.iter().map(|(number, content)| (*number, content.len())).collect();
    assert_eq!(told, [(1, 7), (2, 20_004), (3, 14)]);
}

#[test]
fn replies_begin_with_one_each() {
    let mut numbers = ends(Leg::Client);
    assert_eq!(heard(&mut numbers, 0, &[0, 0]), [0, 0]);
    assert_eq!(sent(&mut numbers, &[1, 2, 3, 1]), [(3, 1), (1, 1)]);
    // in two parts
    assert_eq!(heard(&mut numbers, 0, &[0]), [0]);
    assert_eq!(sent(&mut numbers, &[1, 2]), [(2, 1)]);
    assert_eq!(sent(&mut numbers, &[3]), [(1, 2)]);
}

#[test]
fn a_reply_of_256_packets_is_told_from_the_next() {
    let mut numbers = ends(Leg::Client);
    let long: Vec<u8> = (1..=256_u16).map(|number| (number % 256) as u8).collect();
    heard(&mut numbers, 0, &[0]);
    assert_eq!(sent(&mut numbers, &long), [(256, 1)]);
    assert_eq!(sent(&mut numbers, &[1, 2]), [(2, 2)], "it goes on");
    heard(&mut numbers, 0, &[0]);
    assert_eq!(sent(&mut numbers, &long), [(256, 1)]);
    heard(&mut numbers, 0, &[0]);
    assert_eq!(sent(&mut numbers, &[1, 2]), [(2, 1)], "it is the next");
}

#[test]
fn a_file_goes_on_behind_the_request_and_its_end_is_counted_as_by_the_one_who_sent_it() {
    // two results before it: the server counts otherwise inside than a server does that is plain
    let mut numbers = ends(Leg::Server);
    sent(&mut numbers, &[0]);
    assert_eq!(heard(&mut numbers, 1, &[1, 2, 3, 4]), [1, 2, 3, 4]);
    assert_eq!(heard(&mut numbers, 2, &[2]), [5], "the request");
    let file: Vec<u8> = (6..=255).chain(0..=3).collect();
    assert_eq!(sent(&mut numbers, &file), [(254, 3)]);
    assert_eq!(heard(&mut numbers, 4, &[4]), [4], "behind 3");
    assert_eq!(sent(&mut numbers, &[0]), [(1, 0)]);
    assert_eq!(heard(&mut numbers, 1, &[1]), [1]);
    // the same from a client
    let mut numbers = ends(Leg::Client);
    assert_eq!(heard(&mut numbers, 0, &[0]), [0]);
    assert_eq!(sent(&mut numbers, &[1, 2, 3, 4, 5]), [(5, 1)]);
    assert_eq!(heard(&mut numbers, 2, &[2, 3, 4]), [6, 7, 8]);
    assert_eq!(sent(&mut numbers, &[9]), [(1, 3)]);
    assert_eq!(heard(&mut numbers, 0, &[0]), [0]);
    assert_eq!(sent(&mut numbers, &[1]), [(1, 1)]);
}

#[test]
fn nothing_begins_but_replies_to_commands() {
    // behind a file, as many compressed packets as there are numbers: the result counts from 1
    let mut numbers = ends(Leg::Server);
    sent(&mut numbers, &[0]);
    assert_eq!(heard(&mut numbers, 1, &[1]), [1], "the request");
    sent(&mut numbers, &[2, 3]);
    assert_eq!(heard(&mut numbers, 0, &[0]), [4]);
    assert_eq!(heard(&mut numbers, 1, &[1, 2]), [5, 6]);
    // behind a result of as many
    assert_eq!(command(&mut numbers, code::QUERY), 0);
    assert_eq!(heard(&mut numbers, 1, &[1, 2, 3]), [1, 2, 3]);
    assert_eq!(heard(&mut numbers, 1, &[1, 2]), [4, 5]);
    // commands without a reply
    for unanswered in [code::STMT_CLOSE, code::STMT_SEND_LONG_DATA] {
        assert_eq!(command(&mut numbers, unanswered), 0);
        assert_eq!(heard(&mut numbers, 1, &[1]), [6], "{unanswered}");
        assert_eq!(command(&mut numbers, code::QUERY), 0);
        assert_eq!(heard(&mut numbers, 1, &[1, 2, 3, 4, 5]), [1, 2, 3, 4, 5]);
    }
}

#[test]
fn a_file_begins_behind_a_request_of_any_number() {
    let mut numbers = ends(Leg::Server);
    sent(&mut numbers, &[0]);
    let result: Vec<u8> = (1..=255).chain([0]).collect();
    assert_eq!(heard(&mut numbers, 1, &result), result);
    assert_eq!(sent(&mut numbers, &[1, 2]), [(2, 2)]);
    assert_eq!(heard(&mut numbers, 3, &[3]), [3]);
}

#[test]
fn several_results_of_a_server_are_counted_as_one_reply() {
    let mut numbers = ends(Leg::Server);
    sent(&mut numbers, &[0]);
    assert_eq!(heard(&mut numbers, 1, &[1, 2, 3]), [1, 2, 3]);
    assert_eq!(heard(&mut numbers, 2, &[2, 3]), [4, 5]);
    assert_eq!(heard(&mut numbers, 3, &[3]), [6]);
    sent(&mut numbers, &[0]);
    assert_eq!(heard(&mut numbers, 1, &[1, 2]), [1, 2]);
}

/// A packet with this number and content.
fn packet(number: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_le_bytes();
    [&length[..3], &[number], content].concat()
}

/// The number given to a packet with this number and content that came in a compressed one.
fn heard_one((numbers, _): &mut Ends, compressed: u8, number: u8, content: &[u8]) -> u8 {
    let mut bytes = packet(number, content);
    numbers.hear(compressed);
    numbers.recount(&mut bytes, |_| {});
    bytes[3]
}

#[test]
fn an_error_that_a_server_has_for_nobody_keeps_its_number() {
    for is_idle in [true, false] {
        let mut numbers = ends(Leg::Server);
        sent(&mut numbers, &[0]);
        assert_eq!(heard(&mut numbers, 1, &[1, 2]), [1, 2]);
        if !is_idle {
            sent(&mut numbers, &[0]);
        }
        let error = b"\xff\xbf\x0f#HY000disconnected";
        assert_eq!(heard_one(&mut numbers, 0, 0, error), 0, "idle: {is_idle}");
    }
    // a further result that happens to come with that number
    let mut numbers = ends(Leg::Server);
    sent(&mut numbers, &[0]);
    assert_eq!(heard(&mut numbers, 1, &[1, 2]), [1, 2]);
    assert_eq!(heard(&mut numbers, 0, &[0, 1]), [3, 4]);
}

#[test]
fn a_command_in_several_compressed_packets_is_answered_behind_its_own() {
    let compress = compressed;
    for (length, compressed) in [(16_646_140, 1), (16_646_141, 2), (0xff_fffe, 2)] {
        let mut numbers = ends(Leg::Server);
        sent(&mut numbers, &[0]);
        assert_eq!(heard(&mut numbers, 1, &[1, 2, 3, 4, 5]), [1, 2, 3, 4, 5]);
        let told = compress(&mut numbers, &packet(0, &vec![3; length]));
        assert_eq!(told.len(), compressed, "{length}");
        let number = u8::try_from(compressed).expect("few");
        assert_eq!(heard(&mut numbers, number, &[number, number + 1]), [1, 2], "{length}");
        sent(&mut numbers, &[0]);
        assert_eq!(heard(&mut numbers, 1, &[1]), [1], "{length}");
    }
}

#[test]
fn replies_to_commands_sent_ahead_are_each_counted_by_its_own() {
    let mut numbers = ends(Leg::Server);
    compressed(&mut numbers, &packet(0, &vec![3; 0xff_fffe]));
    sent(&mut numbers, &[0, 0]);
    assert_eq!(heard(&mut numbers, 2, &[2, 3]), [1, 2]);
    assert_eq!(heard(&mut numbers, 1, &[1]), [1]);
    assert_eq!(heard(&mut numbers, 1, &[1]), [1]);
}

#[test]
fn a_long_command_may_be_sent_behind_another_one() {
    const OK: &[u8] = b"\0\0\0\x02\0\0\0";
    // the first reply comes before all of it is sent, or behind that
    for (length, is_early) in
        [0xff_fffe, 0xff_ffff, 33_554_430].into_iter().flat_map(|it| [(it, true), (it, false)])
    {
        let (mut numbers, mut outgoing) = ends(Leg::Server);
        let mut results = Results::default();
        let text = vec![3; length];
        let mut parts: Vec<_> = text.chunks(0xff_ffff).collect();
        if length % 0xff_ffff == 0 {
            parts.push(b"");
        }
        let packets = parts.len();
        let number = |at: usize| u8::try_from(at).expect("few");
        let long: Vec<u8> =
            parts.iter().enumerate().flat_map(|(at, part)| packet(number(at), part)).collect();
        let plain = [packet(0, b"\x0e"), long].concat();
        let (mut wire, mut room) = (Vec::new(), vec![0; CODEC_ROOM_BYTES]);
        let mut rest = plain.as_slice();
        let mut is_told = false;
        while !rest.is_empty() {
            let step = outgoing.encode((&mut numbers, &mut results), rest, &mut room);
            let step = step.expect("encoded");
            rest = &rest[step.taken..];
            wire.extend_from_slice(&room[..step.given]);
            while let given @ 1.. = outgoing.pending(&mut room) {
                wire.extend_from_slice(&room[..given]);
            }
            if is_early && !is_told && plain.len() - rest.len() > 1_000_000 {
                let mut ok = packet(1, OK);
                numbers.hear(1);
                numbers.recount(&mut ok, |_| {});
                (is_told, _) = (true, assert_eq!(ok[3], 1));
            }
        }
        let mut ends = (numbers, outgoing);
        if !is_early {
            assert_eq!(heard_one(&mut ends, 1, 1, OK), 1);
        }
        let compressed = compressed_numbers(&wire);
        let begins = compressed.iter().rposition(|number| *number == 0).expect("it begins");
        let count = number(compressed.len() - begins);
        let expected: Vec<u8> = (0..count).collect();
        assert_eq!(compressed[begins..], expected, "{length}, {is_early}");
        let told = heard(&mut ends, count, &[count, count + 1]);
        let first = number(packets);
        assert_eq!(told, [first, first + 1], "{length}, {is_early}");
    }
    // what belongs to a prepare is no reply to the command behind it
    let mut numbers = ends(Leg::Server);
    assert_eq!(command(&mut numbers, code::STMT_PREPARE), 0);
    compressed(&mut numbers, &packet(0, &vec![0x17; 0xff_fffe]));
    assert_eq!(heard_one(&mut numbers, 1, 1, b"\0\x01\0\0\0\0\0\x01\0\0\0\0"), 1);
    assert_eq!(heard(&mut numbers, 2, &[2, 3]), [2, 3]);
    assert_eq!(heard(&mut numbers, 2, &[2]), [1]);
}

/// The numbers of compressed packets.
fn compressed_numbers(mut wire: &[u8]) -> Vec<u8> {
    let mut numbers = Vec::new();
    while let [a, b, c, number, _, _, _, rest @ ..] = wire {
        numbers.push(*number);
        let length = usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16;
        wire = &rest[length..];
    }
    numbers
}

#[test]
fn an_empty_command_is_answered_too() {
    let mut numbers = ends(Leg::Server);
    sent(&mut numbers, &[0]);
    assert_eq!(heard(&mut numbers, 1, &[1, 2, 3]), [1, 2, 3]);
    compressed(&mut numbers, &packet(0, b""));
    assert_eq!(heard(&mut numbers, 1, &[1]), [1]);
}

#[test]
fn a_file_is_no_command_where_its_first_packet_has_number_0() {
    let mut numbers = ends(Leg::Server);
    assert_eq!(command(&mut numbers, code::QUERY), 0);
    let result: Vec<u8> = (1..=254).collect();
    assert_eq!(heard(&mut numbers, 1, &result), result);
    assert_eq!(heard_one(&mut numbers, 2, 2, b"\xfbfile"), 255, "the request");
    assert_eq!(sent(&mut numbers, &[0, 1]), [(2, 3)]);
    assert_eq!(heard(&mut numbers, 4, &[4]), [2]);
    assert_eq!(heard(&mut numbers, 5, &[5, 6]), [3, 4]);
    assert_eq!(command(&mut numbers, code::QUERY), 0);
    assert_eq!(heard(&mut numbers, 1, &[1]), [1]);
}

#[test]
fn a_file_of_a_client_may_have_any_number_of_packets() {
    for packets in [253, 254, 255, 300, 600_usize] {
        let (mut numbers, mut outgoing) = ends(Leg::Client);
        let (mut results, mut room) = (Results::default(), vec![0; CODEC_ROOM_BYTES]);
        let mut commands = Vec::new();
        let mut query = packet(0, b"\x03LOAD");
        numbers.hear(0);
        numbers.recount(&mut query, |first| commands.push(first));
        results.command(code::QUERY);
        let request = packet(1, b"\xfbfile");
        outgoing.encode((&mut numbers, &mut results), &request, &mut room).expect("encoded");
        let number = |at: usize| u8::try_from((2 + at) % 256).expect("a remainder");
        let lines = (0..packets).flat_map(|at| packet(number(at), b"line"));
        let mut file: Vec<u8> = lines.chain(packet(number(packets), b"")).collect();
        let before = file.clone();
        numbers.hear(77);
        numbers.recount(&mut file, |first| commands.push(first));
        assert!(file == before, "{packets}: it is counted as it was");
        assert_eq!(commands, [code::QUERY], "{packets}");
        let end = packet(number(packets + 1), b"\0\0\0\x02\0\0\0");
        outgoing.encode((&mut numbers, &mut results), &end, &mut room).expect("encoded");
        assert_eq!(room[3], 78, "{packets}: behind the file");
        let mut next = packet(0, b"\x0e");
        numbers.hear(0);
        numbers.recount(&mut next, |first| commands.push(first));
        assert_eq!(commands, [code::QUERY, code::PING], "{packets}");
    }
}

#[test]
fn events_behind_one_that_is_acknowledged_are_counted_from_1() {
    // as a MariaDB counts them, and as a MySQL does
    for first in [1, 0] {
        let mut numbers = ends(Leg::Server);
        sent(&mut numbers, &[0]);
        assert_eq!(heard(&mut numbers, 1, &[1]), [1]);
        assert_eq!(command(&mut numbers, code::BINLOG_DUMP_GTID), 0);
        assert_eq!(heard_one(&mut numbers, 1, 1, b"\0\xef\0event"), 1);
        assert_eq!(heard_one(&mut numbers, 2, 2, b"\0\xef\x01event"), 2);
        // the next is on its way before the acknowledgement is
        assert_eq!(heard_one(&mut numbers, first, first, b"\0\xef\x01event"), 1);
        assert_eq!(command(&mut numbers, 0xef), 0);
        assert_eq!(command(&mut numbers, 0xef), 0);
        assert_eq!(heard_one(&mut numbers, first, first, b"\0\xef\0event"), 1);
        assert_eq!(heard_one(&mut numbers, first + 1, first + 1, b"\0\xef\0event"), 2);
        assert_eq!(command(&mut numbers, code::PING), 0);
        assert_eq!(heard(&mut numbers, 1, &[1]), [1]);
    }
}

#[test]
fn a_reply_to_a_command_of_several_packets_begins_behind_these() {
    // as a server counts that is compressed, and as one that is not
    for number in [3, 2] {
        let mut numbers = ends(Leg::Server);
        sent(&mut numbers, &[0]);
        assert_eq!(heard(&mut numbers, 1, &[1, 2, 3, 4, 5, 6]), [1, 2, 3, 4, 5, 6]);
        let mut plain = vec![0xff, 0xff, 0xff, 0];
        plain.resize(4 + 0xff_ffff, 0);
        plain.extend(packets(&[1]));
        let told = compressed(&mut numbers, &plain);
        assert_eq!(told.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(heard(&mut numbers, 3, &[number, number + 1]), [2, 3]);
        sent(&mut numbers, &[0]);
        assert_eq!(heard(&mut numbers, 1, &[1, 2]), [1, 2]);
    }
}

#[test]
fn an_exchange_of_a_login_counts_on_from_side_to_side() {
    let mut numbers = ends(Leg::Client);
    assert_eq!(heard(&mut numbers, 0, &[0]), [0]);
    assert_eq!(sent(&mut numbers, &[1]), [(1, 1)]);
    assert_eq!(heard(&mut numbers, 2, &[2]), [2]);
    assert_eq!(sent(&mut numbers, &[3]), [(1, 3)]);
    let mut numbers = ends(Leg::Server);
    assert_eq!(sent(&mut numbers, &[0]), [(1, 0)]);
    assert_eq!(heard(&mut numbers, 1, &[1]), [1]);
    assert_eq!(sent(&mut numbers, &[2]), [(1, 2)]);
    assert_eq!(heard(&mut numbers, 3, &[3]), [3]);
}

#[test]
fn a_header_in_parts_is_no_matter() {
    let mut numbers = ends(Leg::Client);
    heard(&mut numbers, 0, &[0]);
    let plain = packets(&[1]);
    assert_eq!(compressed(&mut numbers, &plain[..2]), []);
    assert_eq!(compressed(&mut numbers, &plain[2..]), [(1, plain)]);
    assert_eq!(sent(&mut numbers, &[2]), [(1, 2)]);
    let mut bytes = packets(&[0]);
    let (before, behind) = bytes.split_at_mut(3);
    numbers.0.recount(before, |_| {});
    numbers.0.recount(behind, |_| {});
    assert_eq!(sent(&mut numbers, &[1]), [(1, 1)], "nothing was heard, but it cannot go on");
}

#[test]
fn a_further_part_of_a_command_goes_on_whatever_its_number() {
    let mut numbers = ends(Leg::Client);
    heard(&mut numbers, 0, &[0]);
    sent(&mut numbers, &[1, 2, 3]);
    let mut command = vec![0xff, 0xff, 0xff, 0];
    command.resize(4 + 0xff_ffff, 0);
    command.extend(packets(&[9]));
    numbers.0.recount(&mut command, |_| {});
    assert_eq!((command[3], command[4 + 0xff_ffff + 3]), (0, 1));
}
