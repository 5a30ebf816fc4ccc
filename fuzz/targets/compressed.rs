//! Compressed packets: the same wherever the bytes are cut, and all that was sent arrives.
#![no_main]

use compression::{Compressors, Leg, codec};
use io::{CODEC_ROOM_BYTES, Codec};
use libfuzzer_sys::fuzz_target;
use wire::connect::Compression;

fuzz_target!(|data: &[u8]| {
    let [choice, piece, bytes @ ..] = data else { return };
    let compression = match choice & 1 {
        0 => Compression::Zlib,
        _ => Compression::Zstd(*choice),
    };
    let legs = match choice & 2 {
        0 => [Leg::Server, Leg::Client],
        _ => [Leg::Client, Leg::Server],
    };
    let compressors = Compressors::default();
    let [mut near, mut far, mut other] =
        [legs[0], legs[1], legs[1]].map(|leg| codec(leg, compression, &compressors));
    let piece = usize::from(*piece).max(1);
    let (cut, cut_failed) = decoded(&mut *other, bytes, piece);
    let (uncut, failed) = decoded(&mut *far, bytes, bytes.len().max(1));
    assert_eq!(cut_failed, failed);
    // what comes in front of bytes that are wrong may be given with these or not at all
    assert!(cut == uncut || failed && (cut.starts_with(&uncut) || uncut.starts_with(&cut)));
    let mut far = codec(legs[1], compression, &compressors);
    let mut wire = Vec::new();
    bytes.chunks(piece).for_each(|piece| encode(&mut *near, piece, &mut wire));
    let (arrived, failed) = decoded(&mut *far, &wire, piece);
    assert_eq!((arrived.len(), failed), (whole(bytes), false));
});

/// What came of it, and whether it failed behind that.
fn decoded(codec: &mut dyn Codec, wire: &[u8], piece: usize) -> (Vec<u8>, bool) {
    let (mut plain, mut left, mut room) = (Vec::new(), Vec::new(), vec![0; CODEC_ROOM_BYTES]);
    for piece in wire.chunks(piece) {
        left.extend_from_slice(piece);
        loop {
            let Ok(step) = codec.decode(&mut left, &mut room) else { return (plain, true) };
            left.drain(..step.taken);
            plain.extend_from_slice(&room[..step.given]);
            if (step.taken, step.given) == (0, 0) {
                break;
            }
        }
    }
    (plain, false)
}

fn encode(codec: &mut dyn Codec, mut plain: &[u8], wire: &mut Vec<u8>) {
    let mut room = vec![0; CODEC_ROOM_BYTES];
    loop {
        let given = codec.pending(&mut room).expect("there is memory");
        wire.extend_from_slice(&room[..given]);
        if given == 0 {
            if plain.is_empty() {
                return;
            }
            let step = codec.encode(plain, &mut room).expect("there is memory");
            assert!(step.taken > 0 || step.given > 0, "nothing is held back");
            plain = &plain[step.taken..];
            wire.extend_from_slice(&room[..step.given]);
        }
    }
}

/// How many of these bytes are whole packets.
fn whole(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some([a, b, c, _]) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let length = usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16;
        if bytes.len() - at < 4 + length {
            break;
        }
        at += 4 + length;
    }
    at
}
