//! Cuts a query into what a digest is made of: words, single marks, blanks and values.
//!
//! Back quotes mean nothing here, backslashes always escape, and a double quote always opens a
//! string, whatever the session's mode: that is how texts are known to ProxySQL's users. What is
//! between a blank and its neighbours is decided by `join`.

use memchr::{memchr_iter, memchr2};

use super::join::Join;
use super::{DigestOptions, Omitted};

/// One query being cut.
pub(super) struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    /// Comments beyond this offset are not seen as such.
    limit: usize,
    lowercase: bool,
    replace_null: bool,
    /// Words cannot be copied together: each may hold digits or be a `NULL` to be replaced.
    word_by_word: bool,
    keep_comment: bool,
    join: Join,
    /// A word was cut for want of room and goes on here.
    inside_word: bool,
    first_comment: Option<&'a [u8]>,
}

/// What a query was cut into.
pub(super) struct Scanned<'a> {
    pub(super) out: Vec<u8>,
    pub(super) first_comment: Option<&'a [u8]>,
    pub(super) omitted: Omitted,
}

/// Whether to go on after a piece.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    GoOn,
    Stop,
}

impl<'a> Scan<'a> {
    /// At the beginning of `text`; no more than `limit` bytes are written to `out`.
    pub(super) fn new(text: &'a [u8], limit: usize, options: &DigestOptions, out: Vec<u8>) -> Self {
        let word_by_word = options.replace_null || options.no_digits;
        let mut join = Join::new(out, limit, options);
        if word_by_word || limit < text.len() {
            join.omits(Omitted::More);
        }
        Self {
            text,
            at: 0,
            limit,
            lowercase: options.lowercase,
            replace_null: options.replace_null,
            word_by_word,
            keep_comment: options.keep_comment,
            join,
            inside_word: false,
            first_comment: None,
        }
    }

    /// Writes the normalised text.
    pub(super) fn run(mut self) -> Scanned<'a> {
        while let Some(&byte) = self.text.get(self.at) {
            if self.join.is_full() && !self.join.settle() {
                break;
            }
            if self.piece(byte) == Then::Stop {
                self.join.omits(Omitted::More);
                break;
            }
        }
        let (out, omitted) = self.join.finish();
        Scanned { out, first_comment: self.first_comment, omitted }
    }

    #[inline]
    fn piece(&mut self, byte: u8) -> Then {
        match class(byte) {
            Class::Letter => return self.word(byte),
            Class::Digit if self.inside_word => return self.word(byte),
            Class::Digit => return self.number(),
            Class::Blank => {
                self.at += 1;
                self.join.blank();
            }
            Class::Quote => return self.string(byte),
            Class::Special => return self.special(byte),
            Class::Plain | Class::Mark | Class::Closing => {
                self.at += 1;
                self.join.mark(byte);
            }
        }
        self.inside_word = false;
        Then::GoOn
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn word(&mut self, first: u8) -> Then {
        let rest = self.rest();
        if !self.word_by_word && !self.inside_word {
            let words = rest.get(..words_len(rest)).unwrap_or_default();
            return self.copy_word(words);
        }
        let len = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
        let word = rest.get(..len).unwrap_or_default();
        if self.replace_null
            && matches!(first, b'n' | b'N')
            && !self.inside_word
            && word.eq_ignore_ascii_case(b"null")
        {
            self.at += len;
            self.join.value();
            return Then::GoOn;
        }
        self.copy_word(word)
    }

    /// Copies as much of a word as there is room for.
    #[inline]
    fn copy_word(&mut self, word: &[u8]) -> Then {
        let part = word.get(..self.join.room()).unwrap_or(word);
        self.at += part.len();
        self.inside_word = part.len() < word.len();
        self.join.word(part, self.lowercase);
        Then::GoOn
    }

    #[inline]
    fn number(&mut self) -> Then {
        let (len, digits) = number(self.rest());
        match digits {
            Digits::Word => {
                let word = self.rest().get(..len).unwrap_or_default();
                return self.copy_word(word);
            }
            Digits::Decimal => {}
            Digits::Number => self.join.omits(Omitted::More),
        }
        // digits are copied until the number's end is seen, and need room for so long
        let room = self.join.room();
        let fits = len < room || (len == room && self.at + len == self.text.len());
        if fits || !self.join.settle() {
            self.at += len;
            self.join.value();
            return if fits { Then::GoOn } else { Then::Stop };
        }
        Then::GoOn
    }

    /// A string is a value once its end is found; what an open one would be is not known.
    #[inline]
    fn string(&mut self, quote: u8) -> Then {
        self.inside_word = false;
        self.at += 1;
        // in some modes a double quote opens a name
        let mut omitted = if quote == b'"' { Omitted::More } else { Omitted::Strings };
        loop {
            let rest = self.rest();
            let Some(found) = find_in_string(quote, rest) else { return Then::Stop };
            let closes = rest.get(found) == Some(&quote);
            let doubled = rest.get(found + 1) == Some(&quote);
            if closes && !doubled {
                self.at += found + 1;
                self.join.omits(omitted);
                self.join.value();
                return Then::GoOn;
            }
            if !closes {
                // in some modes a backslash is itself
                omitted = Omitted::More;
            }
            self.at += found + 2;
        }
    }

    fn special(&mut self, byte: u8) -> Then {
        self.inside_word = false;
        let next = self.text.get(self.at + 1).copied();
        match byte {
            b'/' if next == Some(b'*') && self.at + 1 < self.limit => return self.comment(),
            b'#' => self.line_comment(1, NO_HASH_COMMENT),
            b'-' if next == Some(b'-') && self.opens_line_comment() => {
                self.line_comment(2, NO_DASH_COMMENT);
            }
            0 => return Then::Stop,
            _ => {
                if (byte, next) == (b'-', Some(b'-')) {
                    // servers may see a comment here
                    self.join.omits(Omitted::More);
                }
                self.at += 1;
                self.join.mark(byte);
            }
        }
        Then::GoOn
    }

    fn opens_line_comment(&self) -> bool {
        let after = self.text.get(self.at + 2);
        self.at + 2 < self.limit && after.is_some_and(|byte| class(*byte) == Class::Blank)
    }

    /// A comment up to the end of its line. With `none` bytes left, only the mark is dropped and
    /// the rest is text; a word in front of the mark goes on behind it.
    fn line_comment(&mut self, mark: usize, none: usize) {
        if self.at + none == self.limit {
            self.at += mark;
            self.join.omits(Omitted::More);
            self.inside_word = is_word(self.join.last());
            return;
        }
        let rest = self.rest();
        self.at += memchr2(b'\n', b'\r', rest).map_or(rest.len(), |found| found + 1);
        self.join.omits(Omitted::More);
        self.join.blank();
    }

    fn comment(&mut self) -> Then {
        self.join.omits(Omitted::More);
        let inside = self.text.get(self.at + 2..).unwrap_or_default();
        let Some(Comment { kept, is_code, len }) = Comment::at(inside) else { return Then::Stop };
        let whole = inside.get(..len).unwrap_or_default();
        let is_annotation = !matches!(whole, [b'!' | b'+', ..]);
        if is_annotation && self.first_comment.is_none() {
            self.first_comment = Some(whole.get(..FIRST_COMMENT_BYTES).unwrap_or(whole));
        }
        let code = without_version(kept);
        let (open, kept, close) = match (self.keep_comment, is_code) {
            _ if code.is_empty() => (&b""[..], code, &b""[..]),
            (true, _) => {
                let left = COMMENT_BYTES.saturating_sub(kept.len());
                (&b"/*"[..], kept, b"*/".get(..left).unwrap_or(b"*/"))
            }
            (false, true) => (&b""[..], code, &b""[..]),
            (false, false) => (&b""[..], &b""[..], &b""[..]),
        };
        let room = self.join.room();
        let size = open.len() + kept.len() + close.len();
        if size > room && self.join.settle() {
            return Then::GoOn;
        }
        let bytes = [open, kept, close].into_iter().flatten();
        bytes.take(room).for_each(|byte| self.join.raw(*byte));
        if size > room {
            return Then::Stop;
        }
        self.at += len + 4;
        if !self.join.is_full() || self.join.settle() {
            self.join.blank();
        }
        Then::GoOn
    }
}

/// A comment behind its `/*`.
struct Comment<'a> {
    /// What is behind the last mark within it that opens one, as far as it is kept.
    kept: &'a [u8],
    /// One of these marks is `/*!`.
    is_code: bool,
    /// What is in front of its `*/`.
    len: usize,
}

impl<'a> Comment<'a> {
    /// `None` where it has no end.
    fn at(text: &'a [u8]) -> Option<Self> {
        let mut is_code = text.first() == Some(&b'!');
        let mut start = usize::from(is_code);
        for star in memchr_iter(b'*', text) {
            let opens = star > start && text.get(star - 1) == Some(&b'/');
            let after = text.get(star + 1);
            if opens {
                is_code |= after == Some(&b'!');
                start = star + 1 + usize::from(is_code);
            } else if star >= start && after == Some(&b'/') {
                let kept = text.get(start..star).unwrap_or_default();
                let kept = kept.get(..COMMENT_BYTES).unwrap_or(kept);
                return Some(Self { kept, is_code, len: star });
            }
        }
        None
    }
}

/// The next quote or backslash. Most strings are too short for a call to pay.
#[inline]
fn find_in_string(quote: u8, text: &[u8]) -> Option<usize> {
    let near = text.get(..SHORT_STRING).unwrap_or(text);
    near.iter().position(|byte| *byte == quote || *byte == b'\\').or_else(|| {
        let far = text.get(near.len()..).unwrap_or_default();
        memchr2(quote, b'\\', far).map(|found| near.len() + found)
    })
}

/// The length of the words and plain marks at the beginning of `text`, with the single blanks
/// between them: bytes that stay as they are.
fn words_len(text: &[u8]) -> usize {
    let mut rest = text;
    while let Some(found) = rest.iter().position(|byte| class(*byte) >= Class::Digit) {
        let Some((before, [stop, after @ ..])) = rest.split_at_checked(found) else { break };
        let stays = match stop {
            b' ' => after.first().is_some_and(|byte| class(*byte) < Class::Closing),
            b'0'..=b'9' => before.last().is_some_and(|byte| is_word(*byte)),
            _ => false,
        };
        if !stays {
            return text.len() - after.len() - 1;
        }
        let digits = match stop {
            b' ' => 0,
            _ => after.iter().take_while(|byte| byte.is_ascii_digit()).count(),
        };
        rest = after.get(digits..).unwrap_or_default();
    }
    text.len()
}

/// What begins with a digit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Digits {
    /// It is no number.
    Word,
    /// Digits and at most one point.
    Decimal,
    /// Any other number.
    Number,
}

/// The length of what begins with a digit, and what it is.
fn number(text: &[u8]) -> (usize, Digits) {
    let digits = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    match text.get(digits) {
        Some(next) if *next == b'.' || is_word(*next) => {}
        _ => return (digits, Digits::Decimal),
    }
    let mut before = b'0';
    let mut len = text.len();
    for (at, &byte) in text.iter().enumerate().skip(digits) {
        let exponent = matches!(before, b'e' | b'E') && matches!(byte, b'+' | b'-');
        if !exponent && byte != b'.' && !is_word(byte) {
            len = at;
            break;
        }
        before = byte;
    }
    // the last byte of a text is not looked at: `1a` is a number there
    let seen = if len == text.len() { len - 1 } else { len };
    if !is_number(text.get(..seen.max(1)).unwrap_or(text)) {
        return (len, Digits::Word);
    }
    let fraction = text.get(digits + 1..len).unwrap_or_default();
    let is_decimal = text.get(digits) == Some(&b'.') && fraction.iter().all(u8::is_ascii_digit);
    (len, if is_decimal { Digits::Decimal } else { Digits::Number })
}

fn is_number(word: &[u8]) -> bool {
    if let [b'0', b'x' | b'X', digits @ ..] = word {
        return digits.iter().all(u8::is_ascii_hexdigit);
    }
    word.iter()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'))
}

/// What a code comment holds, without the version it is for; nothing of what could be one.
fn without_version(code: &[u8]) -> &[u8] {
    let is_version = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'/' | b'*' | b'!' | b' ');
    let first = code.iter().position(|byte| !is_version(byte)).unwrap_or(code.len());
    code.get(first..).unwrap_or_default()
}

/// In this order, so that what simply stays is before the others, and what a blank stays before is
/// before the rest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Class {
    Letter,
    Plain,
    Digit,
    Quote,
    /// Means something to lists or signs.
    Mark,
    /// Drops the blank before it.
    Closing,
    Blank,
    /// May begin a comment, or end the text.
    Special,
}

const CLASSES: [Class; 256] = classes();

const fn classes() -> [Class; 256] {
    let mut classes = [Class::Plain; 256];
    let mut rest: &mut [Class] = &mut classes;
    let mut byte = 0u8;
    while let Some((class, after)) = rest.split_first_mut() {
        *class = match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'$' => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b' ' | b'\t' | b'\n' | b'\r' => Class::Blank,
            b'\'' | b'"' => Class::Quote,
            b'/' | b'#' | b'-' | 0 => Class::Special,
            b'(' | b'?' | b'+' | b'*' | b'%' => Class::Mark,
            b')' | b',' => Class::Closing,
            _ => Class::Plain,
        };
        byte = byte.wrapping_add(1);
        rest = after;
    }
    classes
}

fn class(byte: u8) -> Class {
    const { &CLASSES }.get(usize::from(byte)).copied().unwrap_or(Class::Plain)
}

/// Whether a byte belongs to a name or number. Bytes beyond ASCII do not.
pub(super) fn is_word(byte: u8) -> bool {
    matches!(class(byte), Class::Letter | Class::Digit)
}

/// Up to here a string's end is looked for byte by byte.
const SHORT_STRING: usize = 12;

/// With so many bytes left from `#` on, it opens no comment.
const NO_HASH_COMMENT: usize = 3;

/// With so many bytes left from `--` on, it opens no comment.
const NO_DASH_COMMENT: usize = 7;

/// How much of the first comment is read for annotations.
const FIRST_COMMENT_BYTES: usize = 1024;

/// How much of a comment is kept.
const COMMENT_BYTES: usize = 1021;
