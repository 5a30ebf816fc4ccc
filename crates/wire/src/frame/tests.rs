//! Frames at the edges: full ones, empty ones, headers cut short.

use super::*;
use proptest::prelude::*;

#[test]
fn a_packet_cut_short_says_how_much_is_missing() {
    let bytes = [3, 0, 0, 7, b'a', b'b', b'c', 9];
    assert_eq!(next_packet(&bytes[..0]), Framed::Need(4));
    assert_eq!(next_packet(&bytes[..3]), Framed::Need(1));
    assert_eq!(next_packet(&bytes[..4]), Framed::Need(3));
    assert_eq!(next_packet(&bytes[..6]), Framed::Need(1));
    let packet = Packet { payload: b"abc", seq: 7, len: 7 };
    assert_eq!(next_packet(&bytes), Framed::Packet(packet));
}

#[test]
fn a_full_frame_is_reported_by_its_header_alone() {
    let long = Framed::Long { first_frame_len: MAX_PAYLOAD + 4 };
    assert_eq!(next_packet(&[0xff, 0xff, 0xff, 0]), long);
    assert_eq!(next_packet(&[0xfe, 0xff, 0xff, 0]), Framed::Need(MAX_PAYLOAD - 1));
}

#[test]
fn a_full_payload_is_followed_by_an_empty_frame() {
    for (len, frames) in [(0, 1), (MAX_PAYLOAD - 1, 1), (MAX_PAYLOAD, 2), (2 * MAX_PAYLOAD, 3)] {
        let payload = vec![b'x'; len];
        let (mut out, mut seq) = (Vec::new(), 254);
        write_packet(&mut out, &mut seq, &payload);
        assert_eq!(out.len(), len + frames * HEADER_BYTES);
        assert_eq!(seq, 254_u8.wrapping_add(u8::try_from(frames).unwrap()));
        let (mut in_place, mut seq) = (vec![b'-'], 254);
        write_with(&mut in_place, &mut seq, |out| out.extend_from_slice(&payload));
        assert!(in_place[1..] == out);
        let mut span = Span::begin();
        let fed = span.feed(&out);
        assert_eq!(fed, SpanFed { consumed: out.len(), done: true });
        assert_eq!((span.payload_bytes(), span.last_seq()), (len as u64, seq.wrapping_sub(1)));
    }
}

#[test]
fn a_span_ends_where_the_packet_does() {
    let mut span = Span::begin();
    assert_eq!(span.feed(&[2, 0]), SpanFed { consumed: 0, done: false });
    assert_eq!(span.feed(&[2, 0, 0, 5, b'a']), SpanFed { consumed: 5, done: false });
    assert!(!span.is_done());
    assert_eq!(span.feed(b"b\x01\x00"), SpanFed { consumed: 1, done: true });
    assert!(span.is_done());
    assert_eq!(span.feed(b"\x01"), SpanFed { consumed: 0, done: true });
}

proptest! {
    #[test]
    fn headers_are_read_as_written(len in 0..=MAX_PAYLOAD, seq in any::<u8>()) {
        let header = Header { len, seq };
        prop_assert_eq!(Header::parse(&header.encode()), Some(header));
    }

    #[test]
    fn packets_are_read_as_written(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6),
    ) {
        let (mut out, mut seq) = (Vec::new(), 250);
        payloads.iter().for_each(|payload| write_packet(&mut out, &mut seq, payload));
        let (mut rest, mut due) = (out.as_slice(), 250_u8);
        for payload in &payloads {
            let Framed::Packet(packet) = next_packet(rest) else { panic!("{rest:?}") };
            prop_assert_eq!((packet.payload, packet.seq), (payload.as_slice(), due));
            rest = &rest[packet.len..];
            due = due.wrapping_add(1);
        }
        prop_assert!(rest.is_empty());
    }
}
