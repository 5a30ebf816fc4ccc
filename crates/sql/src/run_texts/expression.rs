//! What an expression may come to that makes a text: literals, variables, and functions that put
//! them together.

use std::borrow::Cow;

use super::Walk;
use super::made::{ALTERNATIVES, Made};
use crate::cursor::Cursor;
use crate::facts::unescaped;
use crate::keyword::Keyword;
use crate::lexer::{Token, TokenKind};

/// How deep calls may lie in each other.
pub(super) const DEPTH: usize = 16;

impl<'a, 'k: 'a> Walk<'a, 'k> {
    /// Goes past an expression; what it may come to.
    pub(super) fn expression(&mut self, depth: usize) -> Vec<Made> {
        let mut all = self.operand(depth);
        loop {
            if self.words.takes(b"COLLATE") {
                self.words.advance();
            } else if self.words.take_punct(b'|') {
                if !self.words.take_punct(b'|') {
                    return all;
                }
                let next = self.operand(depth);
                all = self.joined(all, &next);
            } else {
                return all;
            }
        }
    }

    fn operand(&mut self, depth: usize) -> Vec<Made> {
        let Some(token) = self.words.token else { return Made::unknown() };
        let Some(depth) = depth.checked_sub(1) else {
            self.words.advance();
            return Made::unread();
        };
        match token.kind {
            TokenKind::Text | TokenKind::Bits => self.literal(&[]),
            TokenKind::Number => {
                self.words.advance();
                vec![Made { text: self.words.lexer.slice(token).to_vec(), unread: None }]
            }
            TokenKind::At => {
                let name = self.variable(token);
                if self.words.take(TokenKind::Assign).is_some() {
                    let all = self.expression(depth);
                    self.put(name, false, &all);
                    return all;
                }
                self.value_of(name, depth)
            }
            TokenKind::SystemAt => {
                self.words.advance();
                self.name();
                Made::unread()
            }
            TokenKind::Punct(b'(') => {
                self.words.advance();
                let is_query = matches!(
                    self.words.keyword(),
                    Keyword::Select | Keyword::With | Keyword::Values | Keyword::Table
                );
                let all = if is_query { Made::unknown() } else { self.expression(depth) };
                self.close();
                all
            }
            TokenKind::Punct(b'-' | b'+' | b'!' | b'~') => {
                self.words.advance();
                self.operand(depth)
            }
            TokenKind::Word if self.words.takes(b"CASE") => self.case(depth),
            TokenKind::Word if self.words.lexer.slice(token).starts_with(b"_") => {
                let name = self.name();
                match self.words.kind() {
                    Some(TokenKind::Text | TokenKind::Bits) => {
                        self.literal(name.as_deref().unwrap_or_default())
                    }
                    _ => self.value_of(name, depth),
                }
            }
            TokenKind::Word | TokenKind::Quoted => {
                let name = self.name();
                if self.words.take_punct(b'(') {
                    return self.call(&name.unwrap_or_default(), depth);
                }
                match name.as_deref() {
                    Some(b"binary") => self.operand(depth),
                    _ => self.value_of(name, depth),
                }
            }
            _ => Made::unknown(),
        }
    }

    /// At a literal, and those behind it that are one with it; `introducer` names the character set
    /// of the first one.
    fn literal(&mut self, introducer: &[u8]) -> Vec<Made> {
        let mut text = Vec::new();
        while let Some(token) = self.words.token {
            let literal = self.words.lexer.slice(token);
            let bytes = match token.kind {
                TokenKind::Bits => Cow::Owned(bytes_of(literal)),
                TokenKind::Text => {
                    let national = usize::from(matches!(literal, [b'n' | b'N', ..]));
                    let string = Token { start: token.start + national, ..token };
                    let quote = literal.get(national).copied().unwrap_or(b'\'');
                    unescaped(self.words.lexer.unquoted(string), quote, self.modes)
                }
                _ => break,
            };
            match text.is_empty() {
                true => text = in_utf8(&bytes, introducer),
                false => text.extend_from_slice(&bytes),
            }
            self.words.advance();
        }
        let is_unlike = introducer.get(1..).is_some_and(|charset| UNLIKE_ASCII.contains(&charset));
        let unread = (is_unlike || !self.spends(text.len())).then_some(0);
        vec![Made { text, unread }]
    }

    /// At the `@` of a user variable: its name in small letters, with that.
    pub(super) fn variable(&mut self, at: Token) -> Option<Vec<u8>> {
        self.words.advance();
        let token = self.words.token.filter(|token| token.start == at.end)?;
        if matches!(token.kind, TokenKind::Text | TokenKind::Quoted) {
            self.words.advance();
            return Some(small(&[b"@", self.words.lexer.unquoted(token)].concat()));
        }
        let is_part = |kind| {
            matches!(kind, TokenKind::Word | TokenKind::Number | TokenKind::Bits)
                || kind == TokenKind::Punct(b'.')
        };
        let mut end = at.end;
        while let Some(part) = self.words.token.filter(|it| it.start == end && is_part(it.kind)) {
            end = part.end;
            self.words.advance();
        }
        let name = self.words.lexer.between(at.end, end);
        (!name.is_empty()).then(|| small(&[b"@", name].concat()))
    }

    /// A name, with those in front of it and dots between them, in small letters.
    pub(super) fn name(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            match self.words.identifier() {
                Some(part) => name.extend(small(part)),
                None => {
                    // a quote that is not closed
                    let is_open = self.words.kind() == Some(TokenKind::Quoted);
                    if is_open {
                        self.words.advance();
                    }
                    return (!name.is_empty()).then_some(name);
                }
            }
            if !self.words.take_punct(b'.') {
                return Some(name);
            }
            name.push(b'.');
        }
    }

    fn value_of(&mut self, name: Option<Vec<u8>>, depth: usize) -> Vec<Made> {
        let Some(name) = name else { return Made::unknown() };
        let all = match self.set.get(&name) {
            Some(all) => all.clone(),
            None => {
                let known = name.strip_prefix(b"@").and_then(self.known);
                let Some(value) = known else { return Made::unknown() };
                if !self.spends(value.len()) {
                    return Made::unread();
                }
                // as every server reads it
                let own = std::mem::replace(&mut self.words, Cursor::new(value, self.modes));
                let all = self.expression(depth);
                self.words = own;
                all
            }
        };
        match self.spends(all.iter().map(|made| made.text.len()).sum()) {
            true => all,
            false => Made::unread(),
        }
    }

    /// Behind `CASE`; what another one in its conditions comes to is no matter.
    fn case(&mut self, depth: usize) -> Vec<Made> {
        let (mut all, mut inner) = (Vec::new(), 0_usize);
        while let Some(token) = self.words.token {
            if self.words.takes(b"THEN") || self.words.takes(b"ELSE") {
                let made = self.expression(depth);
                if inner == 0 {
                    all.extend(made);
                }
            } else if self.words.takes(b"END") {
                let Some(outer) = inner.checked_sub(1) else { break };
                inner = outer;
            } else if token.kind == TokenKind::Punct(b';') {
                break;
            } else if self.words.takes(b"CASE") {
                inner += 1;
            } else {
                self.words.advance();
            }
        }
        self.few(all)
    }

    /// Behind the parenthesis of a call.
    fn call(&mut self, function: &[u8], depth: usize) -> Vec<Made> {
        if AS_THEY_ARE.contains(&function) {
            let all = self.expression(depth);
            let names_type = self.words.takes(b"USING") || self.words.takes(b"AS");
            let mut is_read = names_type || self.words.kind() == Some(TokenKind::Punct(b')'));
            loop {
                if let Some(charset) = self.words.identifier() {
                    let charset = small(charset);
                    is_read &= width_of(&charset) == Width::One;
                    is_read &= !UNLIKE_ASCII.contains(&&*charset);
                } else if self.words.take_punct(b'(') {
                    // a length
                    self.close();
                } else {
                    break;
                }
            }
            self.close();
            return if is_read { all } else { Made::unread() };
        }
        if function != b"replace" && !READ.contains(&function) {
            self.close();
            return Made::unread();
        }
        let (arguments, is_literal) = self.arguments(depth);
        let mut arguments = arguments.into_iter();
        let first = arguments.next().unwrap_or_default();
        match function {
            b"concat" | b"concat_operator_oracle" => {
                arguments.fold(first, |all, next| self.joined(all, &next))
            }
            b"concat_ws" => {
                let begun = arguments.next().unwrap_or_default();
                arguments.fold(begun, |all, next| {
                    let all = self.joined(all, &first);
                    self.joined(all, &next)
                })
            }
            b"quote" => first.iter().map(Made::quoted).collect(),
            b"replace" if is_literal => {
                let (from, to) = (arguments.next(), arguments.next());
                self.replaced(&first, &from.unwrap_or_default(), &to.unwrap_or_default())
            }
            b"replace" => Made::unread(),
            b"if" | b"nvl2" | b"elt" => self.few(arguments.flatten().collect()),
            _ => self.few(first.into_iter().chain(arguments.flatten()).collect()),
        }
    }

    /// What the arguments of a call may come to; goes past its end. Whether the second one is a
    /// string.
    fn arguments(&mut self, depth: usize) -> (Vec<Vec<Made>>, bool) {
        let mut all = Vec::new();
        let mut is_literal = false;
        loop {
            is_literal |= all.len() == 1 && self.words.kind() == Some(TokenKind::Text);
            let mut argument = self.expression(depth);
            if !matches!(self.words.kind(), Some(TokenKind::Punct(b',' | b')')) | None) {
                argument = Made::unread();
                self.skip(true);
            }
            all.push(argument);
            if !self.words.take_punct(b',') {
                self.words.take_punct(b')');
                return (all, is_literal);
            }
        }
    }

    /// Goes past the parenthesis that closes what is open.
    fn close(&mut self) {
        self.skip(false);
        self.words.take_punct(b')');
    }

    /// Goes to the parenthesis that closes what is open, or to a comma.
    fn skip(&mut self, to_comma: bool) {
        let mut depth = 0_usize;
        while let Some(kind) = self.words.kind() {
            match kind {
                TokenKind::Punct(b';') => return,
                TokenKind::Punct(b')') if depth == 0 => return,
                TokenKind::Punct(b',') if depth == 0 && to_comma => return,
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')') => depth -= 1,
                _ => {}
            }
            self.words.advance();
        }
    }

    /// Each of the one kind with each of the other behind it.
    fn joined(&mut self, mut all: Vec<Made>, next: &[Made]) -> Vec<Made> {
        let added = |each: &[Made]| each.iter().map(|made| made.text.len()).sum::<usize>();
        let count = all.len() * next.len();
        let copied = if next.len() == 1 { 0 } else { added(&all) * next.len() };
        if count > ALTERNATIVES || !self.spends(copied + added(next) * all.len()) {
            return all.into_iter().map(Made::ends_unread).collect();
        }
        if let [next] = next {
            all.iter_mut().for_each(|made| made.push(next));
            return all;
        }
        let with = |made: &Made, next: &Made| {
            let mut made = made.clone();
            made.push(next);
            made
        };
        all.iter().flat_map(|made| next.iter().map(move |next| with(made, next))).collect()
    }

    /// `REPLACE` with a string that is known.
    fn replaced(&mut self, all: &[Made], from: &[Made], to: &[Made]) -> Vec<Made> {
        let ([from], [to]) = (from, to) else { return Made::unread() };
        let longest = all.iter().map(|made| made.text.len()).sum::<usize>();
        let times = to.text.len() / from.text.len().max(1) + 1;
        let is_read = all.iter().all(|made| made.unread.is_none()) && !from.text.is_empty();
        if !is_read || !self.spends(longest.saturating_mul(times)) {
            return Made::unread();
        }
        all.iter().map(|made| made.replaced(&from.text, to)).collect()
    }

    /// These, or what nobody reads where they are too many.
    fn few(&mut self, all: Vec<Made>) -> Vec<Made> {
        let mut few: Vec<Made> = Vec::new();
        for made in all {
            if few.contains(&made) {
                continue;
            }
            if few.len() == ALTERNATIVES {
                return Made::unread();
            }
            few.push(made);
        }
        few
    }
}

/// Functions of one text that leave it the statement that it is.
const AS_THEY_ARE: [&[u8]; 10] = [
    b"binary", b"cast", b"convert", b"lcase", b"lower", b"ltrim", b"rtrim", b"trim", b"ucase",
    b"upper",
];

/// Other functions that are read.
const READ: [&[u8]; 11] = [
    b"coalesce",
    b"concat",
    b"concat_operator_oracle",
    b"concat_ws",
    b"elt",
    b"if",
    b"ifnull",
    b"nullif",
    b"nvl",
    b"nvl2",
    b"quote",
];

/// Character sets in which a byte of ASCII, or another one in its place, is another character.
const UNLIKE_ASCII: [&[u8]; 2] = [b"armscii8", b"swe7"];

/// How many bytes each character has, and which comes first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Width {
    One,
    Two,
    TwoReversed,
    Four,
}

fn width_of(charset: &[u8]) -> Width {
    match charset {
        b"ucs2" | b"utf16" => Width::Two,
        b"utf16le" => Width::TwoReversed,
        b"utf32" => Width::Four,
        _ => Width::One,
    }
}

/// The bytes of a literal as UTF-8, where their character set has several for each character.
fn in_utf8(bytes: &[u8], introducer: &[u8]) -> Vec<u8> {
    let width = width_of(introducer.get(1..).unwrap_or_default());
    let size = match width {
        Width::One => return bytes.to_vec(),
        Width::Two | Width::TwoReversed => 2,
        Width::Four => 4,
    };
    let number = |all: u32, byte: &u8| all << 8 | u32::from(*byte);
    // the first one has zeros in front
    let characters = bytes.rchunks(size).rev().map(|unit| match width {
        Width::TwoReversed => unit.iter().rev().fold(0, number),
        _ => unit.iter().fold(0, number),
    });
    let text: String =
        characters.map(|it| char::from_u32(it).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    text.into()
}

/// In small letters.
fn small(name: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(name) {
        Ok(name) => name.to_lowercase().into_bytes(),
        Err(_) => name.to_ascii_lowercase(),
    }
}

/// The bytes of a hexadecimal or bit literal.
fn bytes_of(literal: &[u8]) -> Vec<u8> {
    let (digits, bits) = match literal {
        [b'0', b'x', digits @ ..] | [b'x' | b'X', b'\'', digits @ .., b'\''] => (digits, 4),
        [b'0', b'b', digits @ ..] | [b'b' | b'B', b'\'', digits @ .., b'\''] => (digits, 1),
        _ => return Vec::new(),
    };
    let value = |digit: &u8| char::from(*digit).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let values: Vec<u8> = digits.iter().filter_map(value).collect();
    // the first one has zeros in front
    let byte = |digits: &[u8]| digits.iter().fold(0, |byte, digit| byte << bits | digit);
    values.rchunks(8 / bits).rev().map(byte).collect()
}
