//! Bytes of a client to packets.

use wire::frame::{HEADER_BYTES, Header};

/// Frames of a packet that has more than one.
#[derive(Default, Debug)]
pub struct Packets {
    begun: Vec<u8>,
}

/// A packet's payload and its sequence number.
pub type Packet = (Vec<u8>, u8);

/// A packet is longer than allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong;

impl Packets {
    /// The packet at the beginning of `bytes`, of at most `max` bytes, and how many bytes were
    /// taken: of a packet of several frames also before it is whole.
    pub fn next(&mut self, bytes: &[u8], max: usize) -> Result<(usize, Option<Packet>), TooLong> {
        let mut taken = 0;
        loop {
            let rest = bytes.get(taken..).unwrap_or_default();
            let Some(header) = Header::parse(rest) else { return Ok((taken, None)) };
            if self.begun.len() + header.len > max {
                return Err(TooLong);
            }
            let frame = HEADER_BYTES + header.len;
            let Some(payload) = rest.get(HEADER_BYTES..frame) else { return Ok((taken, None)) };
            taken += frame;
            self.begun.extend_from_slice(payload);
            if !header.is_continued() {
                return Ok((taken, Some((std::mem::take(&mut self.begun), header.seq))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(seq: u8, payload: &[u8]) -> Vec<u8> {
        let len = u32::try_from(payload.len()).expect("short").to_le_bytes();
        [&len[..3], &[seq], payload].concat()
    }

    #[test]
    fn packets_come_out_whole_however_their_bytes_come() {
        let long = vec![7; 0xff_ffff + 10];
        let bytes = [
            frame(0, b"one"),
            frame(0, b""),
            frame(3, &long[..0xff_ffff]),
            frame(4, &long[0xff_ffff..]),
        ]
        .concat();
        let wanted = [(b"one".to_vec(), 0), (Vec::new(), 0), (long, 4)];
        for piece in [1 << 20, 5, bytes.len()] {
            let (mut packets, mut at, mut end, mut found) = (Packets::default(), 0, 0, Vec::new());
            while at < bytes.len() {
                end = bytes.len().min(end + piece);
                while let Ok((taken, packet)) = packets.next(&bytes[at..end], 1 << 25) {
                    at += taken;
                    match packet {
                        Some(packet) => found.push(packet),
                        None => break,
                    }
                }
            }
            assert!(found == wanted, "in pieces of {piece}");
        }
    }

    #[test]
    fn a_packet_beyond_the_limit_is_refused_by_its_header_alone() {
        let mut packets = Packets::default();
        assert_eq!(packets.next(&[11, 0, 0, 0], 10), Err(TooLong));
        assert_eq!(packets.next(&[10, 0, 0, 0], 10), Ok((0, None)));
        // and as the sum of its frames
        let first = frame(0, &vec![0; 0xff_ffff]);
        assert_eq!(packets.next(&first, 0xff_ffff), Ok((first.len(), None)));
        assert_eq!(packets.next(&[1, 0, 0, 1], 0xff_ffff), Err(TooLong));
    }
}
