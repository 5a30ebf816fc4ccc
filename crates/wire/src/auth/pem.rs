//! Base64, and the PEM text of public keys: base64 between two lines.

/// The PEM text of a public key's DER bytes.
pub(super) fn encode(der: &[u8]) -> Vec<u8> {
    let mut out = BEGIN.to_vec();
    for (at, group) in der.chunks(3).enumerate() {
        if at % (LINE / 4) == 0 {
            out.push(b'\n');
        }
        let mut bytes = [0; 4];
        for (to, from) in bytes.iter_mut().skip(1).zip(group) {
            *to = *from;
        }
        let bits = u32::from_be_bytes(bytes);
        for digit in 0..4 {
            out.push(match digit <= group.len() {
                true => letter(bits >> (18 - 6 * digit)),
                false => b'=',
            });
        }
    }
    out.push(b'\n');
    out.extend_from_slice(END);
    out.push(b'\n');
    out
}

/// The DER bytes in PEM text.
pub(super) fn decode(pem: &[u8]) -> Option<Vec<u8>> {
    let begin = memchr::memmem::find(pem, BEGIN)? + BEGIN.len();
    let body = pem.get(begin..)?;
    base64(body.get(..memchr::memmem::find(body, END)?)?)
}

/// The bytes in base64 text, with or without padding and blanks.
pub(super) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for &byte in text.iter().filter(|byte| !byte.is_ascii_whitespace() && **byte != b'=') {
        let digit = ALPHABET.iter().position(|letter| *letter == byte)?;
        bits = bits << 6 | u32::try_from(digit).ok()?;
        held += 6;
        if held >= 8 {
            held -= 8;
            let [.., low] = (bits >> held).to_be_bytes();
            out.push(low);
        }
    }
    Some(out)
}

/// The letter for the low six bits.
fn letter(bits: u32) -> u8 {
    ALPHABET.get(bits as usize & 0x3f).copied().unwrap_or(b'=')
}

const BEGIN: &[u8] = b"-----BEGIN PUBLIC KEY-----";
const END: &[u8] = b"-----END PUBLIC KEY-----";
const LINE: usize = 64;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_have_64_letters_and_padding_ends_them() {
        let pem = String::from_utf8(encode(&[0xff; 49])).unwrap();
        let lines: Vec<&str> = pem.lines().collect();
        assert_eq!(lines[1], "/".repeat(64));
        assert_eq!(lines[2], "/w==");
        assert_eq!(lines.len(), 4);
    }

    #[test]
    fn foreign_letters_are_refused() {
        assert_eq!(decode(b"-----BEGIN PUBLIC KEY-----\n*\n-----END PUBLIC KEY-----"), None);
        assert_eq!(decode(b"MII"), None);
    }

    proptest! {
        #[test]
        fn decoding_gives_back_what_was_encoded(der in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(decode(&encode(&der)), Some(der));
        }
    }
}
