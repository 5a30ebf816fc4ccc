//! MySQL text to tokens: strings with backslashes, backquotes, comments, variables, literals.
//!
//! Knows nothing of statements beyond the semicolon. Comments disappear, except that the inside of
//! `/*! … */` is part of the text. Bytes that are not UTF-8 may stand in string literals only.

use crate::fault::Fault;

/// One token and where it stood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Token<'a> {
    /// What it is.
    pub(crate) kind: Kind,
    /// The token as written.
    pub(crate) source: &'a str,
    /// White space before it (a comment counts as one space).
    pub(crate) gap: &'a str,
}

/// Kinds of tokens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A keyword or a bare name.
    Word,
    /// A name in backquotes, without them.
    Name(String),
    /// A string literal's value.
    Text(Vec<u8>),
    /// A hexadecimal or bit literal's value.
    Bytes(Vec<u8>),
    /// A number as written.
    Number,
    /// `@x`.
    UserVariable(String),
    /// `@@x`, `@@session.x`: scope (lower case, may be empty) and name (lower case).
    SystemVariable(String, String),
    /// `?`.
    Parameter,
    /// An operator or punctuation.
    Symbol,
}

impl Token<'_> {
    /// Whether it is this keyword.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.source.eq_ignore_ascii_case(word)
    }

    /// Whether it is any of these keywords.
    pub(crate) fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    /// Whether it is this operator or punctuation.
    pub(crate) fn symbol(&self, symbol: &str) -> bool {
        self.kind == Kind::Symbol && self.source == symbol
    }

    /// The name it gives, if it can be one.
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word => Some(self.source),
            Kind::Name(name) => Some(name),
            _ => None,
        }
    }
}

/// Splits `text` into statements; empty ones are left out.
pub(crate) fn statements(text: &[u8]) -> Result<Vec<Vec<Token<'_>>>, Fault> {
    let mut lexer = Lexer { text, at: 0, gap_from: 0, commented: false, in_executable: false };
    let mut all = Vec::new();
    let mut statement = Vec::new();
    while let Some(token) = lexer.next_token()? {
        if token.symbol(";") {
            if !statement.is_empty() {
                all.push(std::mem::take(&mut statement));
            }
        } else {
            statement.push(token);
        }
    }
    if !statement.is_empty() {
        all.push(statement);
    }
    Ok(all)
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    gap_from: usize,
    commented: bool,
    in_executable: bool,
}

impl<'a> Lexer<'a> {
    fn next_token(&mut self) -> Result<Option<Token<'a>>, Fault> {
        self.gap_from = self.at;
        self.commented = false;
        self.skip_blank()?;
        let start = self.at;
        let gap = if self.commented { " " } else { self.utf8(self.gap_from, start)? };
        let Some(first) = self.peek(0) else { return Ok(None) };
        let kind = self.token(first)?;
        let source = match kind {
            Kind::Text(_) => self.utf8(start, self.at).unwrap_or(""),
            _ => self.utf8(start, self.at)?,
        };
        Ok(Some(Token { kind, source, gap }))
    }

    fn token(&mut self, first: u8) -> Result<Kind, Fault> {
        match first {
            b'\'' | b'"' => self.string(first).map(Kind::Text),
            b'`' => self.backquoted().map(Kind::Name),
            b'?' => {
                self.at += 1;
                Ok(Kind::Parameter)
            }
            b'@' => self.variable(),
            b'0' if matches!(self.peek(1), Some(b'x' | b'b')) => self.prefixed_number(),
            b'x' | b'X' | b'b' | b'B' if self.peek(1) == Some(b'\'') => {
                self.at += 1;
                let digits = self.string(b'\'')?;
                self.bytes_of(&digits, first.eq_ignore_ascii_case(&b'x'))
            }
            b'n' | b'N' if self.peek(1) == Some(b'\'') => {
                self.at += 1;
                self.string(b'\'').map(Kind::Text)
            }
            b'0'..=b'9' => Ok(self.number()),
            b'.' if self.peek(1).is_some_and(|b| b.is_ascii_digit()) => Ok(self.number()),
            _ if is_word(first) => {
                self.take_while(is_word);
                Ok(Kind::Word)
            }
            _ => Ok(self.operator()),
        }
    }

    fn skip_blank(&mut self) -> Result<(), Fault> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b), _) if b.is_ascii_whitespace() => self.at += 1,
                (Some(b'#'), _) => self.skip_line(),
                (Some(b'-'), Some(b'-')) if self.peek(2).is_none_or(|b| b <= b' ') => {
                    self.skip_line();
                }
                (Some(b'/'), Some(b'*')) => self.open_comment()?,
                (Some(b'*'), Some(b'/')) if self.in_executable => {
                    self.in_executable = false;
                    self.commented = true;
                    self.at += 2;
                }
                _ => return Ok(()),
            }
        }
    }

    fn skip_line(&mut self) {
        self.commented = true;
        self.take_while(|b| b != b'\n');
    }

    fn open_comment(&mut self) -> Result<(), Fault> {
        self.commented = true;
        if self.peek(2) == Some(b'!') && !self.in_executable {
            self.at += 3;
            self.take_while(|b| b.is_ascii_digit());
            self.in_executable = true;
            return Ok(());
        }
        let rest = &self.text[self.at + 2..];
        let Some(end) = rest.windows(2).position(|pair| pair == b"*/") else {
            return Err(self.unfinished(self.at));
        };
        self.at += end + 4;
        Ok(())
    }

    fn string(&mut self, quote: u8) -> Result<Vec<u8>, Fault> {
        let start = self.at;
        self.at += 1;
        let mut value = Vec::new();
        loop {
            let plain = self.text[self.at..].iter().position(|&b| b == quote || b == b'\\');
            let Some(plain) = plain else { return Err(self.unfinished(start)) };
            value.extend_from_slice(&self.text[self.at..self.at + plain]);
            self.at += plain;
            match (self.peek(0), self.peek(1)) {
                (Some(b'\\'), Some(escaped)) => {
                    match escaped {
                        b'%' | b'_' => value.extend_from_slice(&[b'\\', escaped]),
                        other => value.push(unescape(other)),
                    }
                    self.at += 2;
                }
                (Some(b'\\'), None) => return Err(self.unfinished(start)),
                (_, Some(next)) if next == quote => {
                    value.push(quote);
                    self.at += 2;
                }
                _ => {
                    self.at += 1;
                    return Ok(value);
                }
            }
        }
    }

    fn backquoted(&mut self) -> Result<String, Fault> {
        let start = self.at;
        self.at += 1;
        let mut value = Vec::new();
        loop {
            match (self.peek(0), self.peek(1)) {
                (None, _) => return Err(self.unfinished(start)),
                (Some(b'`'), Some(b'`')) => {
                    value.push(b'`');
                    self.at += 2;
                }
                (Some(b'`'), _) => {
                    self.at += 1;
                    return String::from_utf8(value).map_err(|_| self.unfinished(start));
                }
                (Some(other), _) => {
                    value.push(other);
                    self.at += 1;
                }
            }
        }
    }

    fn variable(&mut self) -> Result<Kind, Fault> {
        let start = self.at;
        self.at += 1;
        if self.peek(0) == Some(b'@') {
            self.at += 1;
            let from = self.at;
            self.take_while(|b| is_word(b) || b == b'.' || b == b'`');
            let whole = self.utf8(from, self.at)?.replace('`', "").to_ascii_lowercase();
            let (scope, name) = match whole.split_once('.') {
                Some((scope, name)) => (scope.to_owned(), name.to_owned()),
                None => (String::new(), whole),
            };
            return Ok(Kind::SystemVariable(scope, name));
        }
        let name = match self.peek(0) {
            Some(b'`') => self.backquoted()?,
            Some(quote @ (b'\'' | b'"')) => {
                String::from_utf8(self.string(quote)?).map_err(|_| self.unfinished(start))?
            }
            _ => {
                let from = self.at;
                self.take_while(|b| is_word(b) || b == b'.');
                self.utf8(from, self.at)?.to_owned()
            }
        };
        Ok(Kind::UserVariable(name.to_ascii_lowercase()))
    }

    fn prefixed_number(&mut self) -> Result<Kind, Fault> {
        let hex = self.peek(1) == Some(b'x');
        let start = self.at;
        self.at += 2;
        let from = self.at;
        self.take_while(|b| if hex { b.is_ascii_hexdigit() } else { matches!(b, b'0' | b'1') });
        if self.at == from || self.peek(0).is_some_and(is_word) {
            self.at = start;
            self.take_while(is_word);
            return Ok(Kind::Word);
        }
        let digits = self.text[from..self.at].to_vec();
        self.bytes_of(&digits, hex)
    }

    fn bytes_of(&self, digits: &[u8], hex: bool) -> Result<Kind, Fault> {
        let per_byte = if hex { 2 } else { 8 };
        let radix = if hex { 16 } else { 2 };
        let digits = std::str::from_utf8(digits).map_err(|_| self.unfinished(self.at))?;
        let missing = (per_byte - digits.len() % per_byte) % per_byte;
        let padded = format!("{}{digits}", "0".repeat(missing));
        padded
            .as_bytes()
            .chunks(per_byte)
            .map(|chunk| {
                let text = std::str::from_utf8(chunk).unwrap_or_default();
                u8::from_str_radix(text, radix).map_err(|_| self.unfinished(self.at))
            })
            .collect::<Result<Vec<u8>, Fault>>()
            .map(Kind::Bytes)
    }

    fn number(&mut self) -> Kind {
        self.take_while(|b| b.is_ascii_digit());
        if self.peek(0) == Some(b'.') {
            self.at += 1;
            self.take_while(|b| b.is_ascii_digit());
        }
        if matches!(self.peek(0), Some(b'e' | b'E')) {
            let signed = usize::from(matches!(self.peek(1), Some(b'+' | b'-')));
            if self.peek(1 + signed).is_some_and(|b| b.is_ascii_digit()) {
                self.at += 1 + signed;
                self.take_while(|b| b.is_ascii_digit());
            }
        }
        Kind::Number
    }

    fn operator(&mut self) -> Kind {
        let rest = &self.text[self.at..];
        let known = OPERATORS.iter().find(|op| rest.starts_with(op.as_bytes()));
        self.at += known.map_or(1, |op| op.len());
        Kind::Symbol
    }

    fn take_while(&mut self, keep: impl Fn(u8) -> bool) {
        while self.peek(0).is_some_and(&keep) {
            self.at += 1;
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn utf8(&self, from: usize, to: usize) -> Result<&'a str, Fault> {
        std::str::from_utf8(&self.text[from..to]).map_err(|_| {
            Fault::new(1300, b"HY000", "Invalid utf8mb4 character string outside of a literal")
        })
    }

    fn unfinished(&self, from: usize) -> Fault {
        Fault::syntax(&String::from_utf8_lossy(&self.text[from..]))
    }
}

/// Operators longer than one byte, longest first.
const OPERATORS: &[&str] =
    &["<=>", "->>", "->", ":=", "&&", "||", "<=", ">=", "<>", "!=", "<<", ">>"];

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80
}

fn unescape(escaped: u8) -> u8 {
    match escaped {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        let mut all = statements(text.as_bytes()).unwrap();
        assert_eq!(all.len(), 1);
        all.remove(0).into_iter().map(|t| t.kind).collect()
    }

    #[test]
    fn strings_keep_their_value_through_both_ways_of_quoting() {
        assert_eq!(
            kinds(r#"'it''s' "a\"b" 'tab\t\\ \%' "#),
            [
                Kind::Text(b"it's".to_vec()),
                Kind::Text(b"a\"b".to_vec()),
                Kind::Text(b"tab\t\\ \\%".to_vec())
            ]
        );
    }

    #[test]
    fn a_literal_may_hold_bytes_that_are_not_utf8() {
        let all = statements(b"select '\xff\xfe'").unwrap();
        assert_eq!(all[0][1].kind, Kind::Text(vec![0xff, 0xfe]));
    }

    #[test]
    fn comments_vanish_and_executable_comments_are_text() {
        let all = statements(b"a /* b */ c -- d\n # e\n /*!40101 f */ g; ; h").unwrap();
        let words: Vec<Vec<&str>> =
            all.iter().map(|s| s.iter().map(|t| t.source).collect()).collect();
        assert_eq!(words, [vec!["a", "c", "f", "g"], vec!["h"]]);
    }

    #[test]
    fn variables_split_into_scope_and_name() {
        assert_eq!(
            kinds("@@session.Sql_Mode @@x @a @`b c`"),
            [
                Kind::SystemVariable("session".into(), "sql_mode".into()),
                Kind::SystemVariable(String::new(), "x".into()),
                Kind::UserVariable("a".into()),
                Kind::UserVariable("b c".into())
            ]
        );
    }

    #[test]
    fn hexadecimal_and_bit_literals_are_bytes() {
        assert_eq!(
            kinds("0x0aFF x'41' b'101' 0xg"),
            [
                Kind::Bytes(vec![0x0a, 0xff]),
                Kind::Bytes(vec![0x41]),
                Kind::Bytes(vec![5]),
                Kind::Word
            ]
        );
    }

    #[test]
    fn an_unfinished_string_is_a_syntax_error_at_its_start() {
        let fault = statements(b"select 'abc").unwrap_err();
        assert_eq!(fault.code, 1064);
        assert!(fault.message.contains("near ''abc'"), "{}", fault.message);
    }
}
