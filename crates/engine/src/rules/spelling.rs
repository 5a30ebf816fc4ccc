//! Patterns as PCRE spells them, put into the spelling of the linear-time engine's parser.
//!
//! Only what is written otherwise and means the same is respelled here, sign by sign; what has
//! another meaning is the business of `dialect`.

use super::Engine;

/// A pattern that was respelled.
pub(super) struct Spelled {
    /// How the parser spells it.
    pub(super) text: String,
    /// For each byte of the text, the byte of the pattern that it comes from.
    origins: Vec<usize>,
}

impl Spelled {
    /// Respells for the linear-time engine.
    pub(super) fn for_linear(pattern: &str, engine: Engine) -> Self {
        Speller { pattern, at: 0, linear: true, engine, out: Self::empty(pattern), newlines: 0 }
            .spell()
    }

    /// Respells for PCRE2, which reads a few things otherwise than the PCRE that patterns are
    /// written for.
    pub(super) fn for_backtracking(pattern: &str) -> Self {
        let engine = Engine::Pcre;
        Speller { pattern, at: 0, linear: false, engine, out: Self::empty(pattern), newlines: 0 }
            .spell()
    }

    fn empty(pattern: &str) -> Self {
        let bytes = pattern.len() + 16;
        Self { text: String::with_capacity(bytes), origins: Vec::with_capacity(bytes) }
    }

    /// The byte of the pattern that a byte of the text comes from.
    pub(super) fn origin(&self, offset: usize) -> usize {
        match self.origins.get(offset) {
            Some(origin) => *origin,
            None => self.origins.last().map_or(0, |last| last + 1),
        }
    }
}

/// Begins the names of groups that stand for a final newline before which `$` or `\Z` matches.
pub(super) const NEWLINE_GROUP: &str = "tidegate_newline_";

struct Speller<'a> {
    pattern: &'a str,
    at: usize,
    linear: bool,
    engine: Engine,
    out: Spelled,
    newlines: usize,
}

impl<'a> Speller<'a> {
    fn spell(mut self) -> Spelled {
        while let Some(sign) = self.rest().chars().next() {
            match sign {
                '\\' => self.escape(false),
                '[' => self.class(),
                '{' if !is_quantifier(self.rest()) => self.put("\\{", 1),
                _ => self.copy(sign.len_utf8()),
            }
        }
        self.out
    }

    fn rest(&self) -> &'a str {
        self.pattern.get(self.at..).unwrap_or_default()
    }

    /// Takes `bytes` of the pattern as they are.
    fn copy(&mut self, bytes: usize) {
        let rest = self.rest();
        let taken = rest.get(..bytes).unwrap_or(rest);
        self.out.text.push_str(taken);
        self.out.origins.extend(self.at..self.at + taken.len());
        self.at += taken.len();
    }

    /// Puts `text` for `bytes` of the pattern.
    fn put(&mut self, text: &str, bytes: usize) {
        self.out.text.push_str(text);
        self.out.origins.extend(text.bytes().map(|_| self.at));
        self.at += bytes;
    }

    /// A backslash and what belongs to it.
    fn escape(&mut self, in_class: bool) {
        let rest = self.rest();
        let perl = self.linear && self.engine == Engine::Pcre;
        match rest.as_bytes().get(1) {
            Some(b'Q') if self.linear => self.quotation(),
            Some(b'E') if self.linear => self.put("", 2),
            Some(b'h') if perl && in_class => self.put(r"\t\x20\xa0", 2),
            Some(b'h') if perl => self.put(r"[\t\x20\xa0]", 2),
            Some(b'Z') if perl && !in_class => {
                let group = format!(r"(?:\z|(?P<{NEWLINE_GROUP}z{}>\n)\z)", self.newlines);
                self.newlines += 1;
                self.put(&group, 2);
            }
            // braces that belong to the escape
            Some(b'x' | b'p' | b'P' | b'g' | b'k' | b'o' | b'N') if rest.get(2..3) == Some("{") => {
                self.copy(rest.find('}').map_or(rest.len(), |end| end + 1));
            }
            Some(_) => self.copy(1 + rest.chars().nth(1).map_or(0, char::len_utf8)),
            None => self.copy(1),
        }
    }

    /// `\Q` to `\E`: every sign is itself.
    fn quotation(&mut self) {
        self.at += 2;
        while let Some(sign) = self.rest().chars().next() {
            if self.rest().starts_with(r"\E") {
                self.at += 2;
                return;
            }
            if sign.is_ascii_punctuation() && !matches!(sign, '<' | '>') {
                self.put("\\", 0);
            }
            self.copy(sign.len_utf8());
        }
    }

    /// A class in brackets.
    fn class(&mut self) {
        if self.linear && self.engine == Engine::Pcre {
            for (written, meant) in [("[[:<:]]", r"\b{start}"), ("[[:>:]]", r"\b{end}")] {
                if self.rest().starts_with(written) {
                    return self.put(meant, written.len());
                }
            }
        }
        self.copy(1);
        if self.rest().starts_with('^') {
            self.copy(1);
        }
        let mut is_first = true;
        while let Some(sign) = self.rest().chars().next() {
            match sign {
                ']' if !is_first => return self.copy(1),
                '\\' => self.escape(true),
                '[' => match posix_len(self.rest()) {
                    Some(bytes) => self.copy(bytes),
                    None if self.linear => self.put("\\[", 1),
                    None => self.copy(1),
                },
                '&' | '~' if self.linear => {
                    self.put("\\", 0);
                    self.copy(1);
                }
                _ => self.copy(sign.len_utf8()),
            }
            is_first = false;
        }
    }
}

/// Bytes of `[:name:]` at the start of a text.
fn posix_len(rest: &str) -> Option<usize> {
    let name = rest.strip_prefix("[:")?;
    let len = name.find(":]")?;
    let is_name = name.bytes().take(len).all(|byte| byte.is_ascii_lowercase() || byte == b'^');
    is_name.then_some(len + 4)
}

/// Whether a text begins with `{n}`, `{n,}` or `{n,m}`.
fn is_quantifier(rest: &str) -> bool {
    let Some((inside, _)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
        return false;
    };
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !least.is_empty() && digits(least) && digits(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_spelling_keeps_what_is_meant() {
        for (pattern, expected) in [
            ("a{2}b{2,}c{2,3}", "a{2}b{2,}c{2,3}"),
            ("a{,3}b{x}c{", r"a\{,3}b\{x}c\{"),
            (r"\x{41}\{,}", r"\x{41}\{,}"),
            (r"\Qa.b[\E.", r"a\.b\[."),
            (r"\Q<\\\E", r"<\\\\"),
            ("[a[b&&c]", r"[a\[b\&\&c]"),
            ("[]{,2}[]x", "[]{,2}\\[]x"),
            ("[^][:alpha:]{]", "[^][:alpha:]{]"),
            ("[[:<:]]a[[:>:]]", r"\b{start}a\b{end}"),
            (r"\h[\h]", r"[\t\x20\xa0][\t\x20\xa0]"),
            (r"\b{start}", r"\b\{start}"),
            (r"é\é\", r"é\é\"),
        ] {
            let spelled = Spelled::for_linear(pattern, Engine::Pcre);
            assert_eq!(spelled.text, expected, "{pattern}");
            assert_eq!(spelled.origins.len(), spelled.text.len(), "{pattern}");
        }
        assert_eq!(Spelled::for_linear("é{,3}(", Engine::Pcre).origin(7), 6);
        assert_eq!(Spelled::for_backtracking(r"\Qa{,1}\E[a[b]\Z{").text, r"\Qa\{,1}\E[a[b]\Z\{");
    }
}
