//! What a server's public key is known by: the SHA-256 of its DER bytes.

use std::fmt;

/// The SHA-256 of a public key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyHash(pub [u8; 32]);

impl KeyHash {
    /// Reads several, with `;` or blanks between them.
    pub fn parse_list(text: &str) -> Result<Vec<KeyHash>, String> {
        let parts = text.split([';', ',', ' ', '\t', '\n']).filter(|part| !part.is_empty());
        parts.map(Self::parse).collect()
    }

    fn parse(text: &str) -> Result<KeyHash, String> {
        let wrong = || format!("`{text}` is not {PREFIX} and 64 hexadecimal digits");
        let digits = text.strip_prefix(PREFIX).unwrap_or(text);
        if digits.len() != 64 || !digits.is_ascii() {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            let pair = digits.get(2 * at..2 * at + 2).filter(|pair| !pair.starts_with('+'));
            let parsed = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok());
            *byte = parsed.ok_or_else(wrong)?;
        }
        Ok(KeyHash(bytes))
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

const PREFIX: &str = "SHA256:";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written_in_one_spelling() {
        let digits = "0123456789abcdef".repeat(4);
        let list = format!("{} ;SHA256:{digits}", digits.to_uppercase());
        let read = KeyHash::parse_list(&list).unwrap();
        assert_eq!(
            read.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [format!("SHA256:{digits}"), format!("SHA256:{digits}")]
        );
        assert_eq!(KeyHash::parse_list(""), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_hash_is_refused() {
        let signed = "+1".repeat(32);
        for text in ["SHA256:12", "MD5:12", &"g".repeat(64), &"é".repeat(32), &signed] {
            let refusal = KeyHash::parse_list(text).unwrap_err();
            assert_eq!(refusal, format!("`{text}` is not SHA256: and 64 hexadecimal digits"));
        }
    }
}
