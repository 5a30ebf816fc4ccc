//! Holding what arrives against what must: byte for byte, with every right answer as a candidate.
//! Knows which errors the proxy may give in place of an answer; knows no sockets.

use std::ops::Range;

use wire::frame::{self, Framed, HEADER_BYTES};
use wire::reply::ErrPacket;

use super::model::Effect;
use crate::meta::{Counts, Meta};
use crate::shared_questions::SharedAsking;

/// An answer that is awaited.
#[derive(Clone, Debug, Default)]
pub(super) struct Expect {
    pub(super) number: u32,
    /// Every right answer.
    pub(super) candidates: Vec<Vec<u8>>,
    /// Bytes that may be any: the id of a prepared statement.
    pub(super) mask: Option<Range<usize>>,
    /// Bytes of it that came already.
    pub(super) position: usize,
    pub(super) masked: Vec<u8>,
    /// One packet of any content.
    pub(super) any: bool,
    /// An error of the proxy's that is right.
    pub(super) error: Option<u16>,
    /// The session that it kills may be gone, or another user's.
    pub(super) kills: bool,
    /// Its server may have lost the statement, and nobody knows what code ran before it said so.
    pub(super) may_be_lost: bool,
    pub(super) effects: Vec<Effect>,
    /// What the session may ask for then.
    pub(super) counts: Option<Counts>,
    /// The file to be sent when the request for it has come.
    pub(super) file: Option<Meta>,
    /// What many ask, whose right answers follow from what servers say.
    pub(super) shared: Option<SharedAsking>,
    /// The account of a `COM_CHANGE_USER`, whose packets are read one by one.
    pub(super) change_user: Option<String>,
}

/// What came of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReplyProgress {
    /// More is to come.
    More,
    /// A right answer is complete.
    Done,
    /// An error of the proxy's own takes the place of the answer or of its rest.
    Error { code: u16, message: String },
    /// Nothing that is right goes on like that.
    Wrong(String),
}

impl Expect {
    /// Whether the next command may be sent before this one is answered.
    pub(super) fn is_harmless(&self) -> bool {
        self.effects.is_empty() && self.file.is_none()
    }

    /// Whether the client has to send something in the middle of it.
    pub(super) fn asks_for_more(&self) -> bool {
        self.file.is_some() || self.change_user.is_some()
    }

    /// Takes whole packets until something has come of them; returns how many bytes it took.
    pub(super) fn take(&mut self, input: &[u8]) -> (usize, ReplyProgress) {
        let mut taken = 0;
        while let Framed::Packet(packet) = frame::next_packet(&input[taken..]) {
            let raw = &input[taken..taken + packet.len];
            taken += packet.len;
            match self.packet(raw, packet.payload, packet.seq) {
                ReplyProgress::More => {}
                outcome => return (taken, outcome),
            }
        }
        (taken, ReplyProgress::More)
    }

    fn packet(&mut self, raw: &[u8], payload: &[u8], seq: u8) -> ReplyProgress {
        if self.any {
            return ReplyProgress::Done;
        }
        let from = self.position;
        let fits = self.candidates.iter().any(|right| self.goes_on(right, raw));
        if !fits && ErrPacket::is(payload) {
            return self.error(payload, seq);
        }
        if !fits {
            let right = self.candidates.first().map(|right| right[from..].to_vec());
            return ReplyProgress::Wrong(difference(&right.unwrap_or_default(), from, raw));
        }
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.retain(|right| self.goes_on(right, raw));
        self.candidates = candidates;
        if let Some(mask) = &self.mask {
            let bytes = raw.iter().enumerate().filter(|(at, _)| mask.contains(&(from + at)));
            self.masked.extend(bytes.map(|(_, byte)| *byte));
        }
        self.position += raw.len();
        match self.candidates.iter().any(|right| right.len() == self.position) {
            true => ReplyProgress::Done,
            false => ReplyProgress::More,
        }
    }

    /// Whether a right answer goes on with these bytes.
    fn goes_on(&self, right: &[u8], bytes: &[u8]) -> bool {
        let from = self.position;
        let Some(rest) = right.get(from..from + bytes.len()) else { return false };
        match &self.mask {
            None => rest == bytes,
            Some(mask) => {
                (0..bytes.len()).all(|at| mask.contains(&(from + at)) || rest[at] == bytes[at])
            }
        }
    }

    fn error(&self, payload: &[u8], seq: u8) -> ReplyProgress {
        let numbers = self.candidates.iter().filter_map(|right| right.get(self.position + 3));
        if !self.candidates.is_empty() && !numbers.clone().any(|right| *right == seq) {
            return ReplyProgress::Wrong(format!("an error with the sequence number {seq}"));
        }
        match ErrPacket::parse(payload) {
            Ok(err) => {
                let message = String::from_utf8_lossy(err.message).into();
                ReplyProgress::Error { code: err.code, message }
            }
            Err(_) => ReplyProgress::Wrong("an error that cannot be read".into()),
        }
    }

    /// Whether what came of a packet that is not whole may be the beginning of a right one.
    pub(super) fn may_begin(&self, bytes: &[u8]) -> bool {
        let open = self.any || self.candidates.is_empty();
        let error = bytes.get(HEADER_BYTES).is_none_or(|first| *first == ErrPacket::MARKER);
        error || open || self.candidates.iter().any(|right| self.goes_on(right, bytes))
    }
}

/// Shows `input`, which came at position `from` of an answer, beside the right bytes from there on.
fn difference(right: &[u8], from: usize, input: &[u8]) -> String {
    let at = right.iter().zip(input).take_while(|(a, b)| a == b).count();
    let around = at.saturating_sub(24);
    let show = |bytes: &[u8]| {
        let end = bytes.len().min(around + 72);
        bytes.get(around..end).unwrap_or_default().escape_ascii().to_string()
    };
    format!("at byte {}: got \"{}\", not \"{}\"", from + at, show(input), show(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expect(candidates: &[&[u8]]) -> Expect {
        let candidates = candidates.iter().map(|right| right.to_vec()).collect();
        Expect { candidates, ..Expect::default() }
    }

    const ONE: &[u8] = b"\x03\0\0\x01\0ab\x01\0\0\x02x";
    const TWO: &[u8] = b"\x03\0\0\x01\0cd\x01\0\0\x02y";

    #[test]
    fn a_right_answer_is_seen_to_its_end_in_pieces() {
        let mut awaited = expect(&[ONE, TWO]);
        assert_eq!(awaited.take(&ONE[..9]), (7, ReplyProgress::More));
        assert!(awaited.may_begin(&ONE[7..9]));
        assert_eq!(awaited.take(b"\x01\0\0\x02xZ"), (5, ReplyProgress::Done));
    }

    #[test]
    fn a_wrong_byte_is_wrong_even_when_another_candidate_had_it_there() {
        let mut awaited = expect(&[ONE, TWO]);
        assert_eq!(awaited.take(&ONE[..7]), (7, ReplyProgress::More));
        assert!(matches!(awaited.take(&TWO[7..]), (5, ReplyProgress::Wrong(_))));
    }

    #[test]
    fn what_is_wrong_behind_the_first_packet_is_shown_beside_what_is_right_there() {
        let mut awaited = expect(&[ONE]);
        assert_eq!(awaited.take(&ONE[..7]), (7, ReplyProgress::More));
        let told = "at byte 11: got \"\\x01\\x00\\x00\\x02y\", not \"\\x01\\x00\\x00\\x02x\"";
        assert_eq!(awaited.take(&TWO[7..]), (5, ReplyProgress::Wrong(told.into())));
    }

    #[test]
    fn an_error_nobody_expected_is_told_by_its_number_where_its_sequence_is_right() {
        let error = |seq| [b"\x0c\0\0".as_slice(), &[seq], b"\xff\xdd\x07#HY000abc"].concat();
        let told = || ReplyProgress::Error { code: 2013, message: "abc".into() };
        assert_eq!(expect(&[ONE]).take(&error(1)), (16, told()));
        let mut awaited = expect(&[ONE]);
        assert_eq!(awaited.take(&ONE[..7]), (7, ReplyProgress::More));
        assert!(matches!(awaited.clone().take(&error(1)), (16, ReplyProgress::Wrong(_))));
        assert_eq!(awaited.take(&error(2)), (16, told()));
    }
}
