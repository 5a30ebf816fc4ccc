//! Cuts a text into tokens with spans, in one pass, without allocating and without ever failing.
//!
//! MySQL's and MariaDB's lexers give the rules, corners included. `1FOR` is a word, `1e5FOR` is a
//! number and a word, `--1` is no comment, `/*!50000 x */` is `x`. A byte from 0x80 up belongs to a
//! word unless the modes say otherwise, so invalid UTF-8 needs no special care. What tokens mean
//! together is not known here.

use memchr::{memchr, memchr2, memmem};

use crate::as_run::Version;
use crate::{HighBytes, Modes};

/// Kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenKind {
    /// A bare word: keyword or identifier.
    Word,
    /// An identifier in back quotes, or in double quotes under `ANSI_QUOTES`.
    Quoted,
    /// A string.
    Text,
    /// A decimal number, without a sign.
    Number,
    /// A hexadecimal or bit literal: `0x1f`, `x'1f'`, `0b01`, `b'01'`.
    Bits,
    /// `@`.
    At,
    /// `@@`.
    SystemAt,
    /// `:=`.
    Assign,
    /// A comment that is not code.
    Comment,
    /// Any other byte.
    Punct(u8),
}

/// A piece of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Offset of its first byte.
    pub start: usize,
    /// Offset after its last byte.
    pub end: usize,
}

/// Gives the tokens of a text one after the other.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    modes: Modes,
    classes: &'static Classes,
    /// Whose comments are code; `None` for those of anybody.
    version: Option<Version>,
    /// Within a comment that is code. Another one within it is part of it: the first end ends both.
    in_code: bool,
    ambiguous: bool,
    skipped_dot: bool,
}

impl<'a> Lexer<'a> {
    /// A lexer at the beginning of `bytes`.
    pub fn new(bytes: &'a [u8], modes: Modes) -> Self {
        Self {
            bytes,
            at: 0,
            modes,
            classes: Classes::of(modes.high_bytes),
            version: None,
            in_code: false,
            ambiguous: false,
            skipped_dot: false,
        }
    }

    /// The same for one server: what is no code to that is a comment.
    pub(crate) fn of_version(bytes: &'a [u8], modes: Modes, version: Version) -> Self {
        Self { version: Some(version), ..Self::new(bytes, modes) }
    }

    /// The next token that is not a comment.
    pub fn next_token(&mut self) -> Option<Token> {
        loop {
            let token = self.next_lexeme()?;
            if token.kind != TokenKind::Comment {
                return Some(token);
            }
        }
    }

    /// The next token, comments included. The marks of code comments are never seen.
    pub fn next_lexeme(&mut self) -> Option<Token> {
        loop {
            let start = self.at;
            let byte = *self.bytes.get(start)?;
            let kind = match self.classes.class(byte) {
                Class::Blank => {
                    self.at += 1;
                    continue;
                }
                Class::Letter => self.word(start, byte),
                Class::Digit => self.number_or_word(start),
                Class::Quote => self.quoted(byte),
                Class::Special => match self.special(start, byte) {
                    Some(kind) => kind,
                    None => continue,
                },
                Class::Other => {
                    self.at += 1;
                    TokenKind::Punct(byte)
                }
            };
            return Some(Token { kind, start, end: self.at });
        }
    }

    /// Goes past tokens that say nothing outside a statement's head: words and quoted text that
    /// `dull` calls so, numbers, and all marks but `;` and `@`. Whether there were any.
    pub(crate) fn skip_dull(&mut self, dull: impl Fn(&[u8]) -> bool) -> bool {
        let bytes = self.bytes;
        let none = bytes.len();
        let mut last = none;
        while let Some(&byte) = bytes.get(self.at) {
            let start = self.at;
            match self.classes.class(byte) {
                Class::Blank => {
                    self.at += 1;
                    continue;
                }
                Class::Letter => {
                    self.word(start, byte);
                    let word = bytes.get(start..self.at).unwrap_or_default();
                    if byte == b'$' || !dull(word) {
                        self.at = start;
                        break;
                    }
                }
                Class::Digit => {
                    self.number_or_word(start);
                }
                Class::Quote => {
                    let kind = self.quoted(byte);
                    if !dull(self.unquoted(Token { kind, start, end: self.at })) {
                        self.at = start;
                        break;
                    }
                }
                Class::Special if byte == b'@' => break,
                Class::Special => match self.special(start, byte) {
                    None | Some(TokenKind::Comment) => continue,
                    Some(_) => {}
                },
                Class::Other if byte == b';' => break,
                Class::Other => self.at += 1,
            }
            last = start;
        }
        self.skipped_dot = self.is_dot(last);
        last != none
    }

    /// Whether the token that begins there is a dot, and no number.
    fn is_dot(&self, start: usize) -> bool {
        let rest = self.bytes.get(start..).unwrap_or_default();
        matches!(rest, [b'.', next @ ..] if !next.first().is_some_and(u8::is_ascii_digit))
    }

    /// How the text is read.
    pub(crate) fn modes(&self) -> Modes {
        self.modes
    }

    /// Whether a dot was the last of the dull tokens that were gone past.
    pub(crate) fn skipped_dot(&self) -> bool {
        self.skipped_dot
    }

    /// The bytes of this text from one offset to another.
    pub(crate) fn between(&self, start: usize, end: usize) -> &'a [u8] {
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Goes past the string that newer servers of MySQL take a word for, `$$…$$` or `$tag$…$tag$`,
    /// an open one to the end; where it ends, if it may be one.
    pub(crate) fn skip_dollars(&mut self, word: Token) -> Option<usize> {
        let slice = self.slice(word);
        let rest = slice.strip_prefix(b"$").filter(|_| word.kind == TokenKind::Word)?;
        let len = memchr(b'$', rest)? + 2;
        let (mark, body) = (slice.get(..len)?, word.start + len);
        let end = memmem::find(self.bytes.get(body..)?, mark);
        self.at = end.map_or(self.bytes.len(), |end| body + end + len);
        Some(self.at)
    }

    /// The bytes of a token of this text.
    pub fn slice(&self, token: Token) -> &'a [u8] {
        self.bytes.get(token.start..token.end).unwrap_or_default()
    }

    /// What stands between the quotes of a [`TokenKind::Quoted`] or [`TokenKind::Text`] token.
    pub fn unquoted(&self, token: Token) -> &'a [u8] {
        let slice = self.slice(token);
        let inner = slice.get(1..).unwrap_or_default();
        match (slice.first(), inner.split_last()) {
            (Some(open), Some((close, body))) if open == close => body,
            _ => inner,
        }
    }

    /// Whether a quoted token ends with its quote, and not with the text.
    pub fn is_closed(&self, token: Token) -> bool {
        match self.slice(token) {
            [open, body @ .., close] if open == close => {
                body.iter().filter(|b| *b == open).count() % 2 == 0
            }
            _ => false,
        }
    }

    /// Whether a comment was seen that is code for some servers only: `/*M! */`, or `/*!nnnnn */`
    /// with a version above that of the oldest server still about; at the end, whether one of
    /// code does not end.
    pub fn is_ambiguous(&self) -> bool {
        self.ambiguous || self.in_code && self.at == self.bytes.len()
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    #[inline]
    fn word(&mut self, start: usize, first: u8) -> TokenKind {
        if self.modes.high_bytes.are_paired() || self.peek(1) == b'\'' {
            return self.unusual_word(start, first);
        }
        self.narrow_word(start);
        TokenKind::Word
    }

    /// One with a quote in it, or that may have one.
    #[inline(never)]
    fn unusual_word(&mut self, start: usize, first: u8) -> TokenKind {
        if self.peek(1) == b'\'' {
            match first {
                b'x' | b'X' | b'b' | b'B' => {
                    self.at += 1;
                    self.quoted(b'\'');
                    return TokenKind::Bits;
                }
                b'n' | b'N' => {
                    self.at += 1;
                    self.quoted(b'\'');
                    return TokenKind::Text;
                }
                _ => {}
            }
        }
        // the name of a variable is read byte by byte
        let is_variable = start > 0 && self.bytes.get(start - 1) == Some(&b'@');
        if self.modes.high_bytes.are_paired() && !is_variable {
            self.wide_word();
        } else {
            self.narrow_word(start);
        }
        TokenKind::Word
    }

    fn narrow_word(&mut self, start: usize) {
        let (rest, classes) = (self.bytes.get(start..).unwrap_or_default(), self.classes);
        let len = rest.iter().position(|b| !classes.is_word(*b)).unwrap_or(rest.len());
        self.at = start + len.max(1);
    }

    fn wide_word(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !self.classes.is_word(byte) {
                break;
            }
            self.at += 1 + usize::from(self.is_pair(byte));
        }
    }

    /// Whether `byte`, the one at hand, and the next are one character of a wide character set.
    fn is_pair(&self, byte: u8) -> bool {
        self.modes.high_bytes.is_pair(byte, self.peek(1))
    }

    fn number_or_word(&mut self, start: usize) -> TokenKind {
        // behind the dot that parts names there are no numbers
        if start > 0 && self.bytes.get(start - 1) == Some(&b'.') {
            return self.word_from_digits();
        }
        if self.peek(0) == b'0' && self.bits(start) {
            return TokenKind::Bits;
        }
        self.digits();
        let next = self.peek(0);
        if next == b'.' {
            self.at += 1;
            self.fraction();
            return TokenKind::Number;
        }
        if matches!(next, b'e' | b'E') && self.exponent() {
            return TokenKind::Number;
        }
        if self.classes.is_word(next) {
            return self.word_from_digits();
        }
        TokenKind::Number
    }

    fn word_from_digits(&mut self) -> TokenKind {
        let at = self.at;
        self.word(at, 0)
    }

    /// `0x…` and `0b…` when nothing of a word follows.
    fn bits(&mut self, start: usize) -> bool {
        let digits = self.bytes.get(start + 2..).unwrap_or_default();
        let len = match self.peek(1) {
            b'x' => digits.iter().position(|b| !b.is_ascii_hexdigit()),
            b'b' => digits.iter().position(|b| !matches!(b, b'0' | b'1')),
            _ => return false,
        }
        .unwrap_or(digits.len());
        if len == 0 || digits.get(len).is_some_and(|b| self.classes.is_word(*b)) {
            return false;
        }
        self.at = start + 2 + len;
        true
    }

    fn digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    /// Digits and an exponent after the point.
    fn fraction(&mut self) {
        self.digits();
        if matches!(self.peek(0), b'e' | b'E') {
            self.exponent();
        }
    }

    /// Takes `e5`, `e+5` or `e-5`, or nothing.
    fn exponent(&mut self) -> bool {
        let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
        if !self.peek(1 + sign).is_ascii_digit() {
            return false;
        }
        self.at += 1 + sign;
        self.digits();
        true
    }

    /// From an opening quote to its closing one, or to the end.
    fn quoted(&mut self, quote: u8) -> TokenKind {
        let name = quote == b'`' || (quote == b'"' && self.modes.ansi_quotes);
        let escapes = !name && !self.modes.no_backslash_escapes;
        self.at += 1;
        if self.modes.high_bytes.are_paired() {
            self.wide_quoted(quote, escapes);
        } else {
            self.narrow_quoted(quote, escapes);
        }
        if name { TokenKind::Quoted } else { TokenKind::Text }
    }

    fn narrow_quoted(&mut self, quote: u8, escapes: bool) {
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let found = if escapes { memchr2(quote, b'\\', rest) } else { memchr(quote, rest) };
            let Some(found) = found else {
                self.at = self.bytes.len();
                return;
            };
            let byte = rest.get(found).copied().unwrap_or(quote);
            let doubled = rest.get(found + 1) == Some(&quote);
            if byte == quote && !doubled {
                self.at += found + 1;
                return;
            }
            self.at = (self.at + found + 2).min(self.bytes.len());
        }
    }

    fn wide_quoted(&mut self, quote: u8, escapes: bool) {
        while let Some(&byte) = self.bytes.get(self.at) {
            let pair = self.is_pair(byte)
                || (byte == quote && self.peek(1) == quote)
                || (escapes && byte == b'\\');
            self.at = (self.at + 1 + usize::from(pair)).min(self.bytes.len());
            if byte == quote && !pair {
                return;
            }
        }
    }

    /// Bytes that may begin something longer; `None` when it was nothing to report.
    fn special(&mut self, start: usize, byte: u8) -> Option<TokenKind> {
        let next = self.peek(1);
        match (byte, next) {
            (b'/', b'*') => return self.long_comment(start),
            (b'*', b'/') if self.in_code => {
                self.in_code = false;
                self.at += 2;
                // a server that forgot the code at a semicolon sees another comment begin here
                self.ambiguous |= self.peek(0) == b'*';
                return None;
            }
            (b'#', _) => return Some(self.line_comment()),
            (b'-', b'-') if self.ends_dashes(self.bytes.get(start + 2).copied()) => {
                return Some(self.line_comment());
            }
            (b'@', b'@') => {
                self.at += 2;
                return Some(TokenKind::SystemAt);
            }
            (b'@', _) => {
                self.at += 1;
                return Some(TokenKind::At);
            }
            (b':', b'=') => {
                self.at += 2;
                return Some(TokenKind::Assign);
            }
            (b'.', b'0'..=b'9') => return Some(self.dot_before_digit(start)),
            _ => {}
        }
        self.at += 1;
        Some(TokenKind::Punct(byte))
    }

    /// A number, or right behind a bare word the dot that parts it from the next name.
    #[cold]
    #[inline(never)]
    fn dot_before_digit(&mut self, start: usize) -> TokenKind {
        let before = self.bytes.get(..start).unwrap_or_default().iter().rev();
        let classes = before.map(|byte| self.classes.class(*byte));
        let mut word = classes.take_while(|class| matches!(class, Class::Letter | Class::Digit));
        let parts_names = word.any(|class| class == Class::Letter);
        self.at += 1;
        if parts_names {
            return TokenKind::Punct(b'.');
        }
        self.fraction();
        TokenKind::Number
    }

    /// Two dashes begin a comment only before a blank, a control character or the end.
    fn ends_dashes(&self, next: Option<u8>) -> bool {
        next.is_none_or(|byte| match byte {
            0x80.. => self.classes.class(byte) != Class::Letter,
            _ => byte == b' ' || byte.is_ascii_control(),
        })
    }

    fn line_comment(&mut self) -> TokenKind {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += memchr(b'\n', rest).map_or(rest.len(), |found| found + 1);
        TokenKind::Comment
    }

    #[inline(never)]
    fn long_comment(&mut self, start: usize) -> Option<TokenKind> {
        let rest = self.bytes.get(start + 2..).unwrap_or_default();
        let mark = match (rest, self.version) {
            ([b'!', ..], _) => 1,
            ([b'M', b'!', ..], None | Some(Version::MariaDb(_))) => 2,
            _ => {
                let end = memmem::find(rest, b"*/").map_or(rest.len(), |found| found + 2);
                self.at = start + 2 + end;
                return Some(TokenKind::Comment);
            }
        };
        let most = if matches!(self.version, Some(Version::OldMySql(_))) { 5 } else { 6 };
        let digits = rest.get(mark..).unwrap_or_default().iter().take(most);
        let digits = digits.take_while(|b| b.is_ascii_digit());
        let (len, version) =
            digits.fold((0, 0), |(len, v), b| (len + 1, v * 10 + u32::from(*b - b'0')));
        let versioned = len >= 5;
        match self.version {
            None => self.ambiguous |= mark == 2 || (versioned && version > NEWEST_FOR_ALL),
            Some(server) if server.runs(mark == 2, versioned.then_some(version)) => {}
            Some(_) => {
                self.at = self.end_of_skipped(start + 2);
                return Some(TokenKind::Comment);
            }
        }
        self.in_code = true;
        self.at = start + 2 + mark + if versioned { len } else { 0 };
        None
    }

    /// Where a comment ends whose inside begins at `from`, and which may have one inside.
    fn end_of_skipped(&self, from: usize) -> usize {
        let mut at = from;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let Some(found) = rest.windows(2).position(|two| matches!(two, b"*/" | b"/*")) else {
                return self.bytes.len();
            };
            at += found + 2;
            if rest.get(found) == Some(&b'*') {
                return at;
            }
            let inside = self.bytes.get(at..).unwrap_or_default();
            at += memmem::find(inside, b"*/").map_or(inside.len(), |end| end + 2);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    Blank,
    Letter,
    Digit,
    Quote,
    Special,
    Other,
}

/// MariaDB runs no `/*!nnnnn` from here to 99999, whatever its own version.
const NEWEST_FOR_ALL: u32 = 50_699;

/// The class of each byte.
#[derive(Debug)]
struct Classes([Class; 256]);

impl Classes {
    const fn of(high_bytes: HighBytes) -> &'static Self {
        match high_bytes {
            HighBytes::Letters | HighBytes::Big5 | HighBytes::Sjis | HighBytes::Gbk => {
                const { &Self::new(HighBytes::Letters) }
            }
            HighBytes::Latin => const { &Self::new(HighBytes::Latin) },
            HighBytes::Cp1250 => const { &Self::new(HighBytes::Cp1250) },
            HighBytes::Latin7 => const { &Self::new(HighBytes::Latin7) },
            HighBytes::Hebrew => const { &Self::new(HighBytes::Hebrew) },
            HighBytes::Dos => const { &Self::new(HighBytes::Dos) },
            HighBytes::Hp8 => const { &Self::new(HighBytes::Hp8) },
            HighBytes::MacRoman => const { &Self::new(HighBytes::MacRoman) },
        }
    }

    #[allow(clippy::cast_possible_truncation, clippy::indexing_slicing)] // at compile time only
    const fn new(high_bytes: HighBytes) -> Self {
        let mut classes = [Class::Other; 256];
        let mut byte = 0;
        while byte < 256 {
            classes[byte] = match byte as u8 {
                b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r' => Class::Blank,
                high @ 0x80.. if high_bytes.is_blank(high) => Class::Blank,
                high @ 0x80.. if high_bytes.is_control(high) => Class::Other,
                b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'$' | 0x80.. => Class::Letter,
                b'0'..=b'9' => Class::Digit,
                b'\'' | b'"' | b'`' => Class::Quote,
                b'/' | b'*' | b'#' | b'-' | b'@' | b':' | b'.' => Class::Special,
                _ => Class::Other,
            };
            byte += 1;
        }
        Self(classes)
    }

    #[inline]
    fn class(&self, byte: u8) -> Class {
        self.0.get(usize::from(byte)).copied().unwrap_or(Class::Other)
    }

    #[inline]
    fn is_word(&self, byte: u8) -> bool {
        matches!(self.class(byte), Class::Letter | Class::Digit)
    }
}

#[cfg(test)]
mod tests;
