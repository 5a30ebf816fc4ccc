//! What others have said, as a line of a log may show it.
//!
//! Names that clients give and errors that servers send may hold anything. A line feed would forge
//! a line, an escape sequence would speak to the terminal, a megabyte would fill the disk.

use std::fmt::{self, Display, Formatter, Write};

/// Shows a text on one line, without control characters, and not more than its beginning.
#[derive(Clone, Copy, Debug)]
pub struct Printable<T>(pub T);

impl<T: Display> Display for Printable<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut cutting = Cutting { out: f, room: SHOWN_CHARS_MAX, left_out: 0 };
        write!(cutting, "{}", self.0)?;
        match cutting.left_out {
            0 => Ok(()),
            bytes => write!(f, "… ({bytes} bytes more)"),
        }
    }
}

/// Passes on so many characters.
struct Cutting<'a, 'f> {
    out: &'a mut Formatter<'f>,
    room: usize,
    left_out: usize,
}

impl Write for Cutting<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for sign in text.chars() {
            if self.room == 0 {
                self.left_out += sign.len_utf8();
                continue;
            }
            self.room -= 1;
            if is_harmless(sign) {
                self.out.write_char(sign)?;
            } else {
                write!(self.out, "{}", sign.escape_default())?;
            }
        }
        Ok(())
    }
}

/// Whether a character neither moves the cursor nor turns the direction of what follows.
fn is_harmless(sign: char) -> bool {
    let turns =
        matches!(sign, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !(turns || sign.is_control() || matches!(sign, '\u{2028}' | '\u{2029}'))
}

/// Characters of a text that are shown.
const SHOWN_CHARS_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_others_say_forges_a_line_or_speaks_to_the_terminal() {
        for (text, shown) in [
            ("Zoë O'Neil", "Zoë O'Neil"),
            ("eve\n2026 INFO all is well", "eve\\n2026 INFO all is well"),
            ("\u{1b}[2J\r\0\u{9b}1m", "\\u{1b}[2J\\r\\u{0}\\u{9b}1m"),
            ("a\u{202e}b\u{2028}c\u{2066}", "a\\u{202e}b\\u{2028}c\\u{2066}"),
        ] {
            assert_eq!(Printable(text).to_string(), shown);
        }
    }

    #[test]
    fn what_is_long_is_cut_and_says_so() {
        let fits = "é".repeat(SHOWN_CHARS_MAX);
        assert_eq!(Printable(&fits).to_string(), fits);
        let long = format!("{fits}\u{1b}é");
        assert_eq!(Printable(&long).to_string(), format!("{fits}… (3 bytes more)"));
    }
}
