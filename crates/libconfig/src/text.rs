//! Texts in quotes: escapes to bytes and back.

use std::ops::Range;

/// Reads the text whose opening quote begins `rest`: its bytes, and how long it is with both
/// quotes; `None` when it is never closed. What is found on the way is told with its place.
pub(crate) fn read(
    rest: &str,
    mut tell: impl FnMut(Range<usize>, String, bool),
) -> Option<(Vec<u8>, usize)> {
    let mut bytes = Vec::new();
    let mut input = rest.bytes().enumerate().skip(1).peekable();
    while let Some((at, byte)) = input.next() {
        match byte {
            b'"' => return Some((bytes, at + 1)),
            b'\\' => {
                let Some(&(_, escape)) = input.peek() else { break };
                let hex = rest.get(at + 2..at + 4).and_then(hex_byte);
                match (escape, hex) {
                    (b'x', Some(value)) => {
                        bytes.push(value);
                        input.nth(2);
                    }
                    (b'x', None) => {
                        let reason = "two hexadecimal digits must follow `\\x`".to_owned();
                        tell(at..at + 2, reason, true);
                        input.next();
                    }
                    _ => match escaped(escape) {
                        Some(value) => {
                            bytes.push(value);
                            input.next();
                            if b"ab".contains(&escape) {
                                let shown = char::from(escape);
                                let reason = format!(
                                    "`\\{shown}` is a control character; a pattern's `\\{shown}` \
                                     is written `\\\\{shown}`"
                                );
                                tell(at..at + 2, reason, false);
                            }
                        }
                        // not an escape: the backslash stands for itself, as patterns want it
                        None => bytes.push(b'\\'),
                    },
                }
            }
            byte => bytes.push(byte),
        }
    }
    None
}

/// Bytes as a text in quotes that reads as the same bytes.
pub fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for found in chunk.valid().chars() {
            match found {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                found if found.is_ascii_control() => {
                    text.push_str(&format!("\\x{:02x}", u32::from(found)));
                }
                found => text.push(found),
            }
        }
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text.push('"');
    text
}

fn escaped(escape: u8) -> Option<u8> {
    Some(match escape {
        b'"' | b'\\' => escape,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'f' => 0x0c,
        b'a' => 0x07,
        b'b' => 0x08,
        b'v' => 0x0b,
        _ => return None,
    })
}

fn hex_byte(digits: &str) -> Option<u8> {
    let all = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| all)
}
