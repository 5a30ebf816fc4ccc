//! Digests once more, slow and plain: four stages, each over the whole text.
//!
//! Written from what was observed, stage by stage, and not from the code. What happens where there
//! is no room, because of `max_query_length` or because kept comments make a text longer, is not
//! modelled.

use sql::DigestOptions;

/// The text of the digest of `text`; none where it needs more room than there is.
pub(crate) fn digest(text: &[u8], options: &DigestOptions) -> Option<Vec<u8>> {
    if text.len() > options.max_query_length {
        return None;
    }
    let joined = join(cut(text, options)?, options);
    let folded = fold_values(&joined, options.grouping_limit);
    let folded = fold_lists(&folded, options.grouping_limit, options.groups_grouping_limit);
    let mut out = without_end(folded);
    out.truncate(options.max_digest_length);
    Some(out)
}

/// First stage: values become `?`, comments and needless blanks go.
struct Cut<'a> {
    text: &'a [u8],
    options: &'a DigestOptions,
    at: usize,
    state: State,
    out: Vec<u8>,
}

#[derive(Clone, Copy)]
enum State {
    /// Between words.
    Text,
    /// In a word that began here in the output; one that goes on behind a mark is no `NULL`.
    Word { start: usize, goes_on: bool },
    /// In what began with a digit here.
    Number { start: usize },
    /// In a string of this quote.
    String { quote: u8 },
    /// Up to the end of the line.
    LineComment,
    /// Up to `*/`; what is kept of it began here, and it is code.
    Comment { start: usize, code: bool },
    /// Nothing more is seen.
    Over,
    /// What was written is longer than what was read.
    Outgrown,
}

fn cut(text: &[u8], options: &DigestOptions) -> Option<Vec<u8>> {
    let mut cut = Cut { text, options, at: 0, state: State::Text, out: Vec::new() };
    loop {
        match cut.state {
            State::Text => cut.between_words(),
            State::Word { start, goes_on } => cut.in_word(start, goes_on),
            State::Number { start } => cut.in_number(start),
            State::String { quote } => cut.in_string(quote),
            State::LineComment => cut.in_line_comment(),
            State::Comment { start, code } => cut.in_comment(start, code),
            State::Over => return Some(cut.out),
            State::Outgrown => return None,
        }
    }
}

impl Cut<'_> {
    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn go(&mut self, bytes: usize, state: State) {
        self.at += bytes;
        self.state = state;
    }

    fn between_words(&mut self) {
        let Some(byte) = self.byte(0) else { return self.go(0, State::Over) };
        let left = self.text.len() - self.at;
        let is_dashes = byte == b'-' && self.byte(1) == Some(b'-');
        match byte {
            0 => self.go(0, State::Over),
            b'\'' | b'"' => self.go(1, State::String { quote: byte }),
            b'/' if self.byte(1) == Some(b'*') => {
                self.open_comment(false);
            }
            b'#' if left == 3 => self.drop_hash(),
            b'#' => self.go(1, State::LineComment),
            b'-' if is_dashes && self.byte(2).is_some_and(is_blank) => {
                self.go(2, if left == 7 { State::Text } else { State::LineComment });
            }
            b'0'..=b'9' => self.go(0, State::Number { start: self.at }),
            _ if is_word(byte) => {
                self.go(0, State::Word { start: self.out.len(), goes_on: false });
            }
            _ => {
                if is_blank(byte) {
                    put_blank(&mut self.out);
                } else {
                    self.out.push(byte);
                }
                self.go(1, State::Text);
            }
        }
    }

    /// A word may go on behind it.
    fn drop_hash(&mut self) {
        let goes_on = self.out.last().copied().is_some_and(is_word);
        let word = State::Word { start: self.out.len(), goes_on };
        self.go(1, if goes_on { word } else { State::Text });
    }

    fn in_word(&mut self, start: usize, goes_on: bool) {
        if let Some(byte) = self.byte(0).filter(|byte| is_word(*byte)) {
            self.out.push(if self.options.lowercase { byte.to_ascii_lowercase() } else { byte });
            return self.go(1, self.state);
        }
        let is_null = !goes_on && self.out[start..].eq_ignore_ascii_case(b"null");
        if self.options.replace_null && is_null {
            self.out.truncate(start);
            self.out.push(b'?');
        }
        self.go(0, State::Text);
    }

    fn in_number(&mut self, start: usize) {
        let follows_e = self.at > start && matches!(self.text[self.at - 1], b'e' | b'E');
        let next = self.byte(0);
        if next.is_some_and(|byte| {
            is_word(byte) || byte == b'.' || follows_e && matches!(byte, b'+' | b'-')
        }) {
            return self.go(1, self.state);
        }
        let token = &self.text[start..self.at];
        // the last byte of a text is not looked at
        let unseen = usize::from(next.is_none() && token.len() > 1);
        if is_number(&token[..token.len() - unseen]) {
            self.out.push(b'?');
        } else if self.options.lowercase {
            self.out.extend(token.to_ascii_lowercase());
        } else {
            self.out.extend(token);
        }
        self.go(0, State::Text);
    }

    fn in_string(&mut self, quote: u8) {
        match (self.byte(0), self.byte(1)) {
            (None, _) => self.go(0, State::Over),
            (Some(b'\\'), _) => self.go(2, self.state),
            (Some(end), Some(again)) if end == quote && again == quote => self.go(2, self.state),
            (Some(end), _) if end == quote => {
                self.out.push(b'?');
                self.go(1, State::Text);
            }
            _ => self.go(1, self.state),
        }
    }

    fn in_line_comment(&mut self) {
        if matches!(self.byte(0), Some(byte) if byte != b'\n' && byte != b'\r') {
            return self.go(1, self.state);
        }
        put_blank(&mut self.out);
        self.go(1, State::Text);
    }

    /// What came before within a comment is forgotten, but whether it is code.
    fn open_comment(&mut self, was_code: bool) {
        let code = was_code || self.byte(2) == Some(b'!');
        let mark = if code { 3 } else { 2 };
        self.go(mark, State::Comment { start: self.at + mark, code });
    }

    fn in_comment(&mut self, start: usize, code: bool) {
        match (self.byte(0), self.byte(1)) {
            (None, _) => self.go(0, State::Over),
            (Some(b'*'), Some(b'/')) => {
                put_comment(&mut self.out, &self.text[start..self.at], code, self.options);
                put_blank(&mut self.out);
                let fits = self.out.len() <= self.at + 2;
                self.go(2, if fits { State::Text } else { State::Outgrown });
            }
            (Some(b'/'), Some(b'*')) => self.open_comment(code),
            _ => self.go(1, self.state),
        }
    }
}

/// None at the beginning, and one for any number of them.
fn put_blank(out: &mut Vec<u8>) {
    if !matches!(out.last(), None | Some(b' ' | 0)) {
        out.push(b' ');
    }
}

/// A comment fits into a buffer of 1,024 bytes, its end included, or is cut there.
fn put_comment(out: &mut Vec<u8>, inside: &[u8], code: bool, options: &DigestOptions) {
    let version = b"/*! 0123456789";
    let Some(first) = inside.iter().take(1021).position(|byte| !version.contains(byte)) else {
        return;
    };
    if options.keep_comment {
        let whole = [b"/*", inside, b"*/"].concat();
        out.extend(&whole[..whole.len().min(1023)]);
    } else if code {
        out.extend(&inside[first..inside.len().min(1021)]);
    }
}

/// Second stage: within its buffer, moves what stays towards the beginning. Its view of the two
/// places before a byte is what the buffer holds there by then.
fn join(mut buffer: Vec<u8>, options: &DigestOptions) -> Vec<u8> {
    let came = buffer.clone();
    let mut written = 0;
    for (at, &byte) in came.iter().enumerate() {
        let next = came.get(at + 1).copied().unwrap_or(0);
        let before = if at > 0 { buffer[at - 1] } else { 0 };
        let before_that = if at > 1 { buffer[at - 2] } else { 0 };
        let put = match byte {
            b' ' => blank_stays(before_that, before, next).then_some(b' '),
            b'+' | b'-' => sign_stays(before_that, before, next).then_some(byte),
            b'0'..=b'9' if options.no_digits => {
                let is_first = at > 0 && came[at - 1] != 0 && !came[at - 1].is_ascii_digit();
                is_first.then_some(b'?')
            }
            _ => Some(byte),
        };
        if let Some(put) = put {
            buffer[written] = put;
            written += 1;
        }
    }
    buffer.truncate(written);
    buffer
}

fn blank_stays(before_that: u8, before: u8, next: u8) -> bool {
    let ends_comment = (before_that, before) == (b'*', b'/');
    let beside_comma = before == b',' || next == b',';
    let inside_parentheses = before == b'(' || next == b')';
    let beside_operator =
        is_arithmetic(before) && next == b'?' || before == b'?' && is_arithmetic(next);
    ends_comment || !(beside_comma || inside_parentheses || beside_operator)
}

fn sign_stays(before_that: u8, before: u8, next: u8) -> bool {
    let follows_operand = |byte| is_word(byte) || byte == b')' || byte == b'?';
    let meets_value = next == b'?' || next == b' ';
    match before {
        0 => true,
        b' ' if is_word(before_that) => false,
        b' ' => follows_operand(before_that) || !meets_value,
        _ => follows_operand(before) || !meets_value,
    }
}

/// Third stage: of many values in a row within parentheses some stay.
///
/// What is between `(` and the next parenthesis are elements between commas. One is a value if its
/// first `?` is its end and a comma or `)` follows. A run is a value, whatever its beginning, and
/// the elements after it that are nothing but `?`.
fn fold_values(text: &[u8], limit: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    let mut inside = false;
    loop {
        let len = rest.iter().position(|byte| matches!(byte, b'(' | b')')).unwrap_or(rest.len());
        let end = rest.get(len).copied();
        if inside && limit > 0 {
            out.extend(fold_elements(&rest[..len], end, limit));
        } else {
            out.extend(&rest[..len]);
        }
        let Some(end) = end else { return out };
        out.push(end);
        inside = end == b'(';
        rest = &rest[len + 1..];
    }
}

fn fold_elements(text: &[u8], end: Option<u8>, limit: usize) -> Vec<u8> {
    let elements: Vec<&[u8]> = text.split(|byte| *byte == b',').collect();
    let is_value = |at: usize| {
        let ends = at + 1 < elements.len() || end == Some(b')');
        ends && elements[at].iter().position(|byte| *byte == b'?').map(|first| first + 1)
            == Some(elements[at].len())
    };
    let mut out: Vec<&[u8]> = Vec::new();
    let mut at = 0;
    while at < elements.len() {
        let mut run = 0;
        if is_value(at) {
            run = 1;
            while at + run < elements.len() && elements[at + run] == b"?" && is_value(at + run) {
                run += 1;
            }
        }
        if run > limit + 1 {
            out.extend(&elements[at..at + limit]);
            out.push(b"...");
        } else {
            out.extend(&elements[at..at + run.max(1)]);
        }
        at += run.max(1);
    }
    out.join(&b',')
}

/// Fourth stage: of many folded lists in a row some stay.
fn fold_lists(text: &[u8], values: usize, limit: usize) -> Vec<u8> {
    let list = [b"(".to_vec(), b"?,".repeat(values), b"...)".to_vec()].concat();
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut run = 0;
        let mut after = rest;
        while let Some(tail) = after.strip_prefix(&list[..]) {
            run += 1;
            rest = tail;
            match tail.strip_prefix(b",") {
                Some(tail) => after = tail,
                None => break,
            }
        }
        if run == 0 {
            out.push(rest[0]);
            rest = &rest[1..];
        } else if limit == 0 || run <= limit {
            out.extend(vec![&list[..]; run].join(&b','));
        } else {
            out.extend(vec![&list[..]; limit].join(&b','));
            out.extend(b",...");
        }
    }
    out
}

/// Blanks and semicolons at the end go, a semicolon that is all there is stays.
fn without_end(mut text: Vec<u8>) -> Vec<u8> {
    while text.last() == Some(&b' ') || text.last() == Some(&b';') && text.len() > 1 {
        text.pop();
    }
    text
}

fn is_number(token: &[u8]) -> bool {
    match token {
        [b'0', b'x' | b'X', digits @ ..] => digits.iter().all(u8::is_ascii_hexdigit),
        _ => token.iter().all(|byte| b"0123456789.eE+-".contains(byte)),
    }
}

fn is_arithmetic(byte: u8) -> bool {
    b"+-*/%".contains(&byte)
}

fn is_blank(byte: u8) -> bool {
    b" \t\r\n".contains(&byte)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}
