//! A text without what is half a character, for readers that go byte by byte.
//!
//! Only digests are made of it; servers get texts as they are.

use crate::Modes;

/// The text with something else in place of each sign that is the second byte of a character;
/// `None` where there is none because of how texts are read. Letters and digits stay: they end
/// nothing.
pub fn without_halves(text: &[u8], modes: Modes) -> Option<Vec<u8>> {
    /// Not ASCII, and so like a letter.
    const FILLING: u8 = 0x80;
    if !modes.high_bytes.are_paired() || text.is_ascii() {
        return None;
    }
    let mut out = text.to_vec();
    let mut bytes = out.iter_mut().peekable();
    while let Some(first) = bytes.next() {
        let escapes = *first == b'\\' && !modes.no_backslash_escapes;
        let Some(second) =
            bytes.next_if(|second| escapes || modes.high_bytes.is_pair(*first, **second))
        else {
            continue;
        };
        if second.is_ascii_punctuation() && !escapes {
            *second = FILLING;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DigestOptions, Digester, HighBytes};

    #[test]
    fn a_digest_takes_no_half_of_a_character_for_a_sign() {
        let wide = Modes { high_bytes: HighBytes::Gbk, ..Modes::default() };
        let digest = |text: &[u8]| {
            let text = without_halves(text, wide).unwrap_or_else(|| text.to_vec());
            Digester::new().digest(&text, &DigestOptions::default()).text.to_vec()
        };
        let plain = digest(b"SELECT 'x', GET_LOCK('zz', 0)");
        assert_eq!(digest(b"SELECT '\xbf\x5c', GET_LOCK('zz', 0)"), plain);
        assert_eq!(digest(b"SELECT '\\'\xe5\x5c', GET_LOCK('zz', 0)"), plain);
        assert_eq!(digest(b"SELECT '\\\xe5\x5c'', GET_LOCK('zz', 0)"), plain);
        assert_eq!(
            without_halves(b"SELECT '\xe5\x41'", wide).as_deref(),
            Some(&b"SELECT '\xe5A'"[..])
        );
        assert_eq!(without_halves(b"SELECT '\\'", wide), None);
        assert_eq!(without_halves(b"SELECT '\xbf\x5c'", Modes::default()), None);
    }
}
