//! How texts are read under a `sql_mode`, and in a client's character set.

use std::borrow::Cow;

use sql::lexer::{Lexer, Token, TokenKind};
use sql::{HighBytes, Modes};
use wire::collation_table as collation;

/// The character set that `character_set_client` has when it is set by this text; `None` where that
/// is not known.
pub(super) fn client_of(value: &[u8]) -> Option<&'static str> {
    let value = value.trim_ascii();
    if let Some(id) = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()) {
        return collation::find_id(id).map(|found| found.charset);
    }
    let is_quote = |byte: &u8| matches!(byte, b'\'' | b'"');
    let mut parts = value.split(is_quote);
    let name = match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(name), None, None, None) => name,
        // a string may say what it is itself written in, and its collation
        (Some(before), Some(name), Some(behind), None)
            if [before, behind]
                .concat()
                .iter()
                .all(|b| b" _".contains(b) || b.is_ascii_alphanumeric()) =>
        {
            name
        }
        _ => return None,
    };
    collation::find_charset_default(name).map(|found| found.charset)
}

/// Whether each character of ASCII takes several bytes in a character set.
pub(super) fn is_padded(charset: &str) -> bool {
    matches!(charset, "ucs2" | "utf16" | "utf16le" | "utf32")
}

/// What bytes from 0x80 up are in the character set of a collation; every query asks.
#[inline]
pub(super) fn high_bytes_of(id: u16) -> HighBytes {
    match id {
        // those that most clients have
        33 | 45 | 224 | 255 => HighBytes::Letters,
        8 => HighBytes::Latin,
        _ => high_bytes_of_any(id),
    }
}

#[inline(never)]
fn high_bytes_of_any(id: u16) -> HighBytes {
    collation::find_id(id).map_or(HighBytes::Letters, |known| HighBytes::of(known.charset))
}

/// How texts are read on a connection whose `sql_mode` is set by this text; `None` where that is
/// not known, or not how this proxy reads. Only names that are written out, joined and taken away
/// are known: a number or a function may come to any mode.
pub(super) fn modes_of(value: &[u8]) -> Option<Modes> {
    /// Grammars of their own.
    const OTHERS: [&[u8]; 2] = [b"MSSQL", b"ORACLE"];
    let value = without_plain(value);
    let mut value = Value { lexer: Lexer::new(&value, Modes::default()), token: None };
    value.next();
    let named = value.term()?.text;
    if value.token.is_some() || OTHERS.into_iter().any(|other| names(&named, other)) {
        return None;
    }
    Some(named_by(&named))
}

/// Whether a value has a word in it, in letters of either case.
fn names(value: &[u8], word: &[u8]) -> bool {
    value.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

/// A value of `sql_mode` that is being read.
struct Value<'a> {
    lexer: Lexer<'a>,
    token: Option<Token>,
}

impl<'a> Value<'a> {
    fn next(&mut self) -> Option<Token> {
        std::mem::replace(&mut self.token, self.lexer.next_token())
    }

    fn takes(&mut self, mark: u8) -> bool {
        let found = self.token.is_some_and(|token| token.kind == TokenKind::Punct(mark));
        if found {
            self.next();
        }
        found
    }

    fn word(&mut self) -> Option<&'a [u8]> {
        let token = self.next().filter(|token| token.kind == TokenKind::Word)?;
        Some(self.lexer.slice(token))
    }

    /// What a part of the value says.
    fn term(&mut self) -> Option<Said> {
        match self.token?.kind {
            TokenKind::Punct(b'(') => {
                self.next();
                if self.token.is_some_and(|token| names(self.lexer.slice(token), b"SELECT")) {
                    self.next();
                }
                self.term().filter(|_| self.takes(b')'))
            }
            TokenKind::Text => self.literal(),
            TokenKind::Number => {
                let token = self.next()?;
                (self.lexer.slice(token) == b"0").then(Said::default)
            }
            TokenKind::SystemAt => self.variable(),
            TokenKind::Word => {
                let word = self.word()?;
                match self.token.map(|token| token.kind) {
                    Some(TokenKind::Punct(b'(')) => self.call(word),
                    // its character set
                    Some(TokenKind::Text) if word.starts_with(b"_") => self.literal(),
                    _ => Some(Said { text: word.to_vec(), more: false }),
                }
            }
            _ => None,
        }
    }

    /// A string in which every byte stands for itself.
    fn literal(&mut self) -> Option<Said> {
        let token = self.next().filter(|token| token.kind == TokenKind::Text)?;
        let text = self.lexer.unquoted(token);
        let is_plain = !text.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'\\' | 0x80..));
        is_plain.then(|| Said { text: text.to_vec(), more: false })
    }

    /// `@@global.sql_mode`, of which it is known otherwise how texts are read under it.
    fn variable(&mut self) -> Option<Said> {
        self.next();
        let mut name = self.word()?;
        while self.takes(b'.') {
            name = self.word()?;
        }
        let is_mode = name.eq_ignore_ascii_case(b"sql_mode");
        is_mode.then(|| Said { text: Vec::new(), more: true })
    }

    /// `CONCAT(a, b)` joins; `REPLACE(a, b, c)` is computed, or takes plain names away from what
    /// the server says.
    fn call(&mut self, function: &[u8]) -> Option<Said> {
        self.next();
        let mut parts = vec![self.term()?];
        while self.takes(b',') {
            parts.push(self.term()?);
        }
        let is_plain = |part: &Said| named_by(&part.text) == Modes::default();
        match &*parts {
            _ if !self.takes(b')') => None,
            all if function.eq_ignore_ascii_case(b"CONCAT") => Some(Said {
                text: all.iter().flat_map(|part| part.text.iter().copied()).collect(),
                more: all.iter().any(|part| part.more),
            }),
            [from, what, by]
                if function.eq_ignore_ascii_case(b"REPLACE") && !what.more && !by.more =>
            {
                let text = replaced(&from.text, &what.text, &by.text);
                let said = Said { text, more: from.more };
                // a server spells ANSI out before anything is taken from it
                let is_known = [from, what, &said].into_iter().all(is_plain)
                    && (by.text.is_empty() || !from.more);
                is_known.then_some(said)
            }
            _ => None,
        }
    }
}

/// What a part of a value says.
#[derive(Default)]
struct Said {
    /// As far as it is written out.
    text: Vec<u8>,
    /// What a server says stands in it as well, before or behind.
    more: bool,
}

/// A text with all places of `what` filled by `by`.
fn replaced(text: &[u8], what: &[u8], by: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        match rest.strip_prefix(what).filter(|_| !what.is_empty()) {
            Some(next) => {
                out.extend_from_slice(by);
                rest = next;
            }
            None => {
                out.push(*first);
                rest = behind;
            }
        }
    }
    out
}

/// The modes that a value names, whatever else it says.
pub(super) fn named_by(value: &[u8]) -> Modes {
    const ANSI: [&[u8]; 4] = [b"ANSI", b"DB2", b"MAXDB", b"POSTGRES"];
    let value = without_plain(value);
    Modes {
        no_backslash_escapes: names(&value, b"NO_BACKSLASH"),
        ansi_quotes: ANSI.into_iter().any(|mode| names(&value, mode)),
        ..Modes::default()
    }
}

/// The `sql_mode` that a server begins with, unless texts are read in another way under it: what a
/// session has that was told of no such mode at its login. Has no comma, as what it stands beside.
/// Means the same on a connection with any character set.
pub(super) const PLAIN: &str = "CASE WHEN @@global.sql_mode REGEXP _utf8mb4\
    'ANSI|NO_BACKSLASH|DB2|MAXDB|MSSQL|ORACLE|POSTGRES' THEN _utf8mb4'' ELSE @@global.sql_mode END";

/// A value with what the server begins with in the places of that one.
fn without_plain(value: &[u8]) -> Cow<'_, [u8]> {
    let plain = PLAIN.as_bytes();
    match value.windows(plain.len()).position(|part| part == plain) {
        None => Cow::Borrowed(value),
        Some(at) => {
            let (before, rest) = value.split_at(at);
            let rest = rest.get(plain.len()..).unwrap_or_default();
            Cow::Owned([before, b"@@global.sql_mode", &without_plain(rest)].concat())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_collations_of_most_clients_have_the_bytes_of_their_character_sets() {
        for known in collation::ALL {
            assert_eq!(high_bytes_of(known.id), HighBytes::of(known.charset), "{}", known.name);
        }
    }

    #[test]
    fn a_client_s_character_set_is_known_in_every_form() {
        let is_wide = |charset: &str| HighBytes::of(charset).are_paired();
        let wide =
            ["gbk", "GBK", "'gbk'", "\"sjis\"", "28", "_utf8'big5'", "N'cp932'", " gb18030 "];
        assert!(wide.iter().all(|value| client_of(value.as_bytes()).is_some_and(is_wide)));
        let narrow = ["utf8", "'utf8mb4'", "45", "latin1", "_latin1'utf8' COLLATE latin1_bin"];
        assert!(narrow.iter().all(|value| !client_of(value.as_bytes()).is_none_or(is_wide)));
        let unknown = ["DEFAULT", "CONCAT('gb','k')", "NULL", "'", "@@global.x", "x'67626b'"];
        let computed = ["REPLACE('latin1','latin1','gbk')", "('gbk')", "IF(0,'utf8','gbk')"];
        assert!(computed.iter().all(|value| client_of(value.as_bytes()).is_none()));
        assert!(unknown.iter().all(|value| client_of(value.as_bytes()).is_none()));
    }

    #[test]
    fn a_mode_says_how_texts_are_read_where_its_value_is_known() {
        let plain = Modes::default();
        let ansi = Modes { ansi_quotes: true, ..plain };
        let both = Modes { no_backslash_escapes: true, ..ansi };
        for (value, modes) in [
            ("''", Some(plain)),
            ("0", Some(plain)),
            ("'PIPES_AS_CONCAT,IGNORE_SPACE'", Some(plain)),
            ("CONCAT(@@global.sql_mode,',STRICT_ALL_TABLES')", Some(plain)),
            (PLAIN, Some(plain)),
            (&format!("CONCAT({PLAIN},',ANSI_QUOTES')"), Some(ansi)),
            (&format!("REPLACE({PLAIN},'STRICT_ALL_TABLES','')"), Some(plain)),
            ("REPLACE(@@global.sql_mode,'STRICT_ALL_TABLES','')", Some(plain)),
            ("'ANSI,TRADITIONAL'", Some(ansi)),
            ("ansi_quotes", Some(ansi)),
            ("_utf8'postgresql'", Some(ansi)),
            ("CONCAT(@@global.sql_mode,',ANSI_QUOTES')", Some(ansi)),
            ("'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'", Some(both)),
            ("REPLACE(@@global.sql_mode,'ANSI_QUOTES','')", None),
            ("CONCAT(REPLACE('ANSI_QUOTES','ANSI_QUOTES',''),'A')", None),
            ("(SELECT REPLACE(@@sql_mode,'ONLY_FULL_GROUP_BY',''))", Some(plain)),
            ("CONCAT('AN','SI_QUOTES')", Some(ansi)),
            ("REPLACE(@@global.sql_mode,'AUTO_VALUE','BACKSLASH')", None),
            ("REPLACE('ANSJ','J','I')", None),
            ("REPLACE('ANXSI_QUOTES','X','')", None),
            ("REPLACE('NO_XBACKSLASH_ESCAPES','X','')", None),
            ("CONCAT('AN',REPLACE('SI_QUOTES','z',''))", Some(ansi)),
            ("REPLACE('ORXACLE','X','')", None),
            ("REPLACE(CONCAT(@@sql_mode,'ANXSI'),'X','')", None),
            ("(SELECT 4)", None),
            ("0+4", None),
            ("x'414e5349'", None),
            ("REVERSE('ISNA')", None),
            ("'AN\\SI'", None),
            ("'ORACLE'", None),
            ("'MSSQL'", None),
            ("4", None),
        ] {
            assert_eq!(modes_of(value.as_bytes()), modes, "{value}");
        }
    }
}
