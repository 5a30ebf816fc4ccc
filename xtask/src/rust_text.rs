//! Rust text with its comments and literals blanked out, so that a check sees only code.
//!
//! Decides where code is; does not know what any check looks for. It is not a parser: it keeps
//! every byte's position, so a line number in the masked text is one in the file.

/// The text with the contents of comments, strings and character literals replaced by spaces.
///
/// Newlines stay, and so do the quotes of strings, so `.expect("…")` keeps its shape.
pub(crate) fn mask(text: &str) -> String {
    let mut masker = Masker { text: text.as_bytes(), at: 0, out: Vec::with_capacity(text.len()) };
    while masker.at < masker.text.len() {
        masker.step();
    }
    String::from_utf8_lossy(&masker.out).into_owned()
}

struct Masker<'a> {
    text: &'a [u8],
    at: usize,
    out: Vec<u8>,
}

impl Masker<'_> {
    fn step(&mut self) {
        let rest = &self.text[self.at..];
        if rest.starts_with(b"//") {
            self.blank_line();
        } else if rest.starts_with(b"/*") {
            self.blank_block();
        } else if let Some((prefix, hashes)) = raw_string(rest).filter(|_| self.at_word_start()) {
            self.keep(prefix);
            self.blank_raw(hashes);
        } else if rest[0] == b'"' {
            self.keep(1);
            self.blank_string();
        } else if let Some(len) = char_literal(rest) {
            self.blank(len);
        } else {
            self.keep(1);
        }
    }

    /// Whether the byte before is not part of an identifier (`br"` against `attr"`).
    fn at_word_start(&self) -> bool {
        self.at == 0 || !is_word(self.text[self.at - 1])
    }

    fn keep(&mut self, len: usize) {
        self.out.extend_from_slice(&self.text[self.at..self.at + len]);
        self.at += len;
    }

    fn blank(&mut self, len: usize) {
        let end = (self.at + len).min(self.text.len());
        for &byte in &self.text[self.at..end] {
            self.out.push(if byte == b'\n' { b'\n' } else { b' ' });
        }
        self.at = end;
    }

    fn blank_line(&mut self) {
        let rest = &self.text[self.at..];
        self.blank(rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len()));
    }

    fn blank_block(&mut self) {
        let mut depth = 0;
        loop {
            let rest = &self.text[self.at..];
            if rest.is_empty() {
                return;
            } else if rest.starts_with(b"/*") {
                depth += 1;
                self.blank(2);
            } else if rest.starts_with(b"*/") {
                depth -= 1;
                self.blank(2);
                if depth == 0 {
                    return;
                }
            } else {
                self.blank(1);
            }
        }
    }

    fn blank_string(&mut self) {
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'\\' => self.blank(2),
                b'"' => return self.keep(1),
                _ => self.blank(1),
            }
        }
    }

    fn blank_raw(&mut self, hashes: usize) {
        let mut end = vec![b'#'; hashes + 1];
        end[0] = b'"';
        let rest = &self.text[self.at..];
        let len = rest.windows(end.len()).position(|w| w == end).unwrap_or(rest.len());
        self.blank(len);
        let tail = end.len().min(self.text.len() - self.at);
        self.keep(tail);
    }
}

/// Length of `r#"`, `br"`, `cr##"` at the start of `rest`, and how many hashes it has.
fn raw_string(rest: &[u8]) -> Option<(usize, usize)> {
    let prefix = usize::from(matches!(rest[0], b'b' | b'c'));
    if rest.get(prefix) != Some(&b'r') {
        return None;
    }
    let hashes = rest[prefix + 1..].iter().take_while(|&&b| b == b'#').count();
    (rest.get(prefix + 1 + hashes) == Some(&b'"')).then_some((prefix + 2 + hashes, hashes))
}

/// Length of a character literal at the start of `rest`; a lifetime is none.
fn char_literal(rest: &[u8]) -> Option<usize> {
    if rest[0] != b'\'' {
        return None;
    }
    if rest.get(1) == Some(&b'\\') {
        return rest.iter().skip(3).position(|&b| b == b'\'').map(|p| p + 4);
    }
    let first = std::str::from_utf8(&rest[1..rest.len().min(5)])
        .or_else(|e| std::str::from_utf8(&rest[1..1 + e.valid_up_to()]))
        .ok()?
        .chars()
        .next()?;
    let end = 1 + first.len_utf8();
    (rest.get(end) == Some(&b'\'')).then_some(end + 1)
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Every position at which `token` stands in `code` as a whole word.
pub(crate) fn whole_words<'a>(code: &'a str, token: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = code.as_bytes();
    code.match_indices(token).map(|(at, _)| at).filter(move |&at| {
        let before = at == 0 || !is_word(bytes[at - 1]) || !is_word(token.as_bytes()[0]);
        let last = token.as_bytes()[token.len() - 1];
        let after = bytes.get(at + token.len()).is_none_or(|&b| !is_word(b) || !is_word(last));
        before && after
    })
}

/// The line (from 1) of a position.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1
}

/// The position behind the brace that closes the one at `open`.
pub(crate) fn closing_brace(code: &str, open: usize) -> usize {
    let mut depth = 0usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return at + 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_positions_kept() {
        let text =
            "let a = \"un\\\"wrap\"; // unwrap\nlet b = r#\"x\"unwrap\"#; /* a /* b */ c */ f";
        let masked = mask(text);
        assert_eq!(masked.len(), text.len());
        assert!(!masked.contains("unwrap"));
        assert!(masked.ends_with(" f"));
        assert_eq!(masked.matches('\n').count(), 1);
    }

    #[test]
    fn a_lifetime_is_code_and_a_character_is_not() {
        assert_eq!(mask("fn f<'a>(x: &'a u8) { '{' }"), "fn f<'a>(x: &'a u8) {     }");
        assert_eq!(mask("['\\'', 'é', b'\"']"), "[    ,     , b   ]");
    }

    #[test]
    fn whole_words_do_not_match_inside_longer_ones() {
        let code = "static a; my_static; statics; (static)";
        assert_eq!(whole_words(code, "static").collect::<Vec<_>>(), vec![0, 31]);
    }

    #[test]
    fn braces_are_matched() {
        let code = "fn a() { if x { y } } fn b() {}";
        assert_eq!(&code[..closing_brace(code, 7)], "fn a() { if x { y } }");
    }
}
