use io::{CODEC_ROOM_BYTES, Codec, DecodeCost, StreamEnd};
use proptest::prelude::*;

use super::*;
use crate::ZSTD_LEVEL_MAX;
use crate::streams::INFLATERS_MAX;

fn codec(leg: Leg, compression: Compression) -> Box<dyn Codec> {
    super::codec(leg, compression, &Compressors::default())
}

const METHODS: [Compression; 3] =
    [Compression::Zlib, Compression::Zstd(Compression::ZSTD_LEVEL), Compression::Zstd(22)];

/// Packets of the protocol, one behind the other: a command each, or a reply.
fn stream(first: u8, lengths: &[usize]) -> Vec<u8> {
    let mut stream = Vec::new();
    for (at, length) in lengths.iter().enumerate() {
        stream.extend_from_slice(&length.to_le_bytes()[..3]);
        stream.push(if first == 0 { 0 } else { (at + 1) as u8 });
        stream.extend((0..*length).map(|byte| (byte / 7) as u8));
    }
    stream
}

fn encoded(codec: &mut dyn Codec, mut plain: &[u8]) -> Vec<u8> {
    let (mut wire, mut room) = (Vec::new(), vec![0; CODEC_ROOM_BYTES]);
    loop {
        let given = codec.pending(&mut room).expect("encoded");
        wire.extend_from_slice(&room[..given]);
        if given > 0 {
            continue;
        }
        if plain.is_empty() {
            return wire;
        }
        let step = codec.encode(plain, &mut room).expect("encoded");
        assert!(step.taken > 0 || step.given > 0, "nothing is held back");
        plain = &plain[step.taken..];
        wire.extend_from_slice(&room[..step.given]);
    }
}

/// Feeds `wire` in pieces of this length, as a loop does.
fn decoded(codec: &mut dyn Codec, wire: &[u8], piece: usize) -> Result<Vec<u8>, i32> {
    let (mut plain, mut left, mut room) = (Vec::new(), Vec::new(), vec![0; CODEC_ROOM_BYTES]);
    for piece in wire.chunks(piece) {
        left.extend_from_slice(piece);
        loop {
            let step = codec.decode(&mut left, &mut room)?;
            left.drain(..step.taken);
            plain.extend_from_slice(&room[..step.given]);
            if (step.taken, step.given) == (0, 0) {
                break;
            }
        }
    }
    assert_eq!(left, b"", "all is taken");
    Ok(plain)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_sent_is_what_arrives_however_it_is_cut(
        lengths in proptest::collection::vec(prop_oneof![0_usize..100, 0_usize..70_000], 1..6),
        first in 0_u8..2,
        sent in 1_usize..40_000,
        piece in 1_usize..5_000,
    ) {
        let plain = stream(first, &lengths);
        let legs = if first == 0 { [Leg::Server, Leg::Client] } else { [Leg::Client, Leg::Server] };
        for method in METHODS {
            let [mut near, mut far] = legs.map(|leg| codec(leg, method));
            let parts = plain.chunks(sent);
            let wire: Vec<u8> = parts.flat_map(|part| encoded(&mut *near, part)).collect();
            prop_assert_eq!(decoded(&mut *far, &wire, piece), Ok(plain.clone()));
            prop_assert_eq!(far.end(), StreamEnd::Untold);
        }
    }

    #[test]
    fn bytes_that_nobody_has_compressed_are_refused_or_taken_and_never_more(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..400),
        lengths in any::<[u8; 2]>(),
    ) {
        for method in METHODS {
            if let [packed, _, _, _, plain, ..] = bytes.as_mut_slice() {
                [*packed, *plain] = lengths;
            }
            let mut far = codec(Leg::Client, method);
            let (mut wire, mut room) = (bytes.clone(), vec![0; CODEC_ROOM_BYTES]);
            while let Ok(step) = far.decode(&mut wire, &mut room) {
                wire.drain(..step.taken);
                if (step.taken, step.given) == (0, 0) {
                    break;
                }
            }
        }
    }
}

#[test]
fn headers_say_what_the_protocol_wants() {
    let mut near = codec(Leg::Server, Compression::Zlib);
    assert_eq!(encoded(&mut *near, b"\x01\0\0\0\x0e"), b"\x05\0\0\0\0\0\0\x01\0\0\0\x0e");
    let plain = stream(0, &[1000]);
    let wire = encoded(&mut *near, &plain);
    let length = u16::from_le_bytes([wire[0], wire[1]]);
    assert_eq!(usize::from(length), wire.len() - COMPRESSED_HEADER_BYTES);
    assert_eq!(wire[2..COMPRESSED_HEADER_BYTES], [0, 0, 0xec, 3, 0]);
    assert!(wire.len() < 900, "{}", wire.len());
    assert_eq!(wire[COMPRESSED_HEADER_BYTES], 0x78, "a stream of zlib");
    let wire = encoded(&mut *codec(Leg::Server, Compression::Zstd(3)), &plain);
    assert_eq!(wire[COMPRESSED_HEADER_BYTES..][..4], [0x28, 0xb5, 0x2f, 0xfd], "a frame of zstd");
}

#[test]
fn a_packet_that_comes_to_another_length_than_it_says_ends_the_stream() {
    let plain = stream(0, &[3000]);
    for method in METHODS {
        let wire = encoded(&mut *codec(Leg::Server, method), &plain);
        let with = |at: usize, change: i8| {
            let mut wire = wire.clone();
            wire[at] = wire[at].wrapping_add_signed(change);
            wire
        };
        // it declares less than it holds, and more; its end is missing, and something follows it
        for bad in [with(4, -1), with(4, 1), with(0, -1), with(0, 1)] {
            let mut far = codec(Leg::Client, method);
            let mut bad = bad;
            bad.push(0);
            let told = decoded(&mut *far, &bad, 100);
            assert_eq!(told, Err(libc::EBADMSG), "{method:?}");
            let mut far = codec(Leg::Client, method);
            let told = decoded(&mut *far, &bad, bad.len());
            assert_eq!(told, Err(libc::EBADMSG), "{method:?}");
            assert_eq!(far.decode(&mut bad, &mut [0; 100]), Err(libc::EBADMSG), "again");
        }
        // one whose end is missing waits for that where it arrived
        let mut far = codec(Leg::Client, method);
        let mut part = wire[..wire.len() - 1].to_vec();
        assert_eq!(far.decode(&mut part, &mut [0; 100]), Ok(Step::default()), "{method:?}");
    }
}

#[test]
fn sixteen_mebibytes_of_nothing_come_in_steps_that_fit() {
    let zeros = vec![0; (1 << 24) - 1];
    let mut packed = vec![0; 1 << 20];
    for method in [Compression::Zlib, Compression::Zstd(ZSTD_LEVEL_MAX)] {
        let length = Compressors::default().pack(method, &zeros, &mut packed).expect("it fits");
        let mut wire = length.to_le_bytes()[..3].to_vec();
        wire.extend([0, 0xff, 0xff, 0xff]);
        wire.extend_from_slice(&packed[..length]);
        let mut far = codec(Leg::Client, method);
        let plain = decoded(&mut *far, &wire, 100_000).expect("decoded");
        assert_eq!(plain.len(), zeros.len());
        assert_eq!(far.end(), StreamEnd::Untold);
    }
}

/// A compressed packet, and what it comes to.
fn packed(method: Compression, number: usize) -> (Vec<u8>, Vec<u8>) {
    let payload = (0..900_000_usize).map(|at| (at / 7 % (200 + number)) as u8);
    let plain: Vec<u8> = [0xa0, 0xbb, 0x0d, 0].into_iter().chain(payload).collect();
    let mut packed = vec![0; 1 << 20];
    let length = Compressors::default().pack(method, &plain, &mut packed).expect("it fits");
    let mut wire = length.to_le_bytes()[..3].to_vec();
    wire.push(0);
    wire.extend_from_slice(&plain.len().to_le_bytes()[..3]);
    wire.extend_from_slice(&packed[..length]);
    (wire, plain)
}

/// However many connections stop in the middle of packets, their worker keeps a few decompressors;
/// each connection goes on where it was.
#[test]
fn many_packets_that_nobody_takes_cost_what_they_came_as() {
    for method in METHODS {
        let compressors = Compressors::default();
        let mut all: Vec<_> = (0..40)
            .map(|number| {
                let (wire, plain) = packed(method, number);
                (super::codec(Leg::Client, method, &compressors), wire, plain, Vec::new())
            })
            .collect();
        let mut room = vec![0; 100_000];
        for turn in 0..10 {
            for (far, wire, plain, given) in &mut all {
                let was_costly = far.cost() > DecodeCost::Little;
                let step = far.decode(wire, &mut room).expect("decoded");
                wire.drain(..step.taken);
                given.extend_from_slice(&room[..step.given]);
                assert_eq!(given[..], plain[..given.len()], "{method:?}");
                assert!(
                    far.cost() == DecodeCost::Little && (turn > 0 || !was_costly),
                    "it is kept for the next"
                );
            }
            let kept = compressors.inflaters();
            assert!(kept <= INFLATERS_MAX, "{kept}");
            let lost = all.iter().filter(|(far, ..)| far.cost() > DecodeCost::Little).count();
            assert!(turn == 9 || lost == 40 - INFLATERS_MAX, "{lost}");
        }
        assert!(all.iter().all(|(_, wire, plain, given)| wire.is_empty() && given == plain));
    }
}

#[test]
fn a_connection_that_goes_takes_its_decompressor_along() {
    for method in METHODS {
        let compressors = Compressors::default();
        let mut far = super::codec(Leg::Client, method, &compressors);
        let (mut wire, _) = packed(method, 1);
        let step = far.decode(&mut wire, &mut [0; 1000]).expect("decoded");
        assert_eq!((step.given, compressors.inflaters()), (1000, 1));
        drop(far);
        assert_eq!(compressors.inflaters(), 0);
    }
}

#[test]
fn what_does_not_shrink_is_sent_as_it_is() {
    let mut state = 1_u32;
    let mut noise = [0_u8; 4096];
    for byte in &mut noise {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (state >> 24) as u8;
    }
    let plain = [&[0, 16, 0, 0], noise.as_slice()].concat();
    for method in METHODS {
        let wire = encoded(&mut *codec(Leg::Server, method), &plain);
        assert_eq!(wire.len(), plain.len() + COMPRESSED_HEADER_BYTES, "{method:?}");
        assert_eq!(wire[4..7], [0; 3]);
        assert_eq!(decoded(&mut *codec(Leg::Client, method), &wire, 999), Ok(plain.clone()));
    }
}

/// The first packet in each compressed one, of those that are sent as they are.
fn first_numbers(mut wire: &[u8]) -> Vec<(u8, u8)> {
    let mut numbers = Vec::new();
    while let [length, _, _, number, 0, 0, 0, _, _, _, first, ..] = wire {
        numbers.push((*number, *first));
        wire = &wire[COMPRESSED_HEADER_BYTES + usize::from(*length)..];
    }
    numbers
}

#[test]
fn a_further_result_is_counted_from_its_compressed_packet() {
    let mut near = codec(Leg::Client, Compression::Zlib);
    let command = *b"\x09\0\0\0\0\0\0\x05\0\0\0\x03a;b;";
    let asked = decoded(&mut *near, &command[..16], 16).expect("a command");
    assert_eq!(asked, b"\x05\0\0\0\x03a;b;");
    let ok = |number: u8, status: u8| vec![7, 0, 0, number, 0, 0, 0, status, 0, 0, 0];
    let reply = [ok(1, 10), ok(2, 10), ok(3, 2)].concat();
    assert_eq!(first_numbers(&encoded(&mut *near, &reply)), [(1, 1), (2, 2), (3, 3)]);
    decoded(&mut *near, &command[..16], 16).expect("a command");
    // a result of four packets in front: what follows has the number of its compressed packet
    let (columns, eof) = ([1, 0, 0, 1, 1], |number| vec![5, 0, 0, number, 0xfe, 0, 0, 10, 0]);
    let definition = [1, 0, 0, 2, 3];
    let reply = [&columns[..], &definition, &eof(3), &eof(4), &ok(5, 2)].concat();
    assert_eq!(first_numbers(&encoded(&mut *near, &reply)), [(1, 1), (2, 2)]);
}
