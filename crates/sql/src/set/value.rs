//! The right side of an assignment: literals, and expressions that depend on nothing but variables,
//! so that they can be given again once these variables are put in.

use std::borrow::Cow;

use crate::Modes;
use crate::cursor::Cursor;
use crate::facts::undoubled;
use crate::keyword::{Keyword, keyword};
use crate::lexer::{Token, TokenKind};

/// What a variable is set to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetValue<'a> {
    /// What it is.
    pub kind: ValueKind,
    /// As written, quotes included. Only ASCII, without backslashes.
    pub raw: &'a [u8],
}

/// Kind of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueKind {
    /// A bare word: `ON`, `utf8mb4`.
    Word,
    /// A quoted string.
    Text,
    /// A number, possibly with a sign.
    Number,
    /// `NULL`.
    Null,
    /// `DEFAULT`.
    Default,
    /// Calls of functions that only look at their arguments, variables, literals in them.
    Expression,
}

/// A variable that an expression reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Read<'a> {
    /// `@@x` or `@@session.x`.
    Session(&'a [u8]),
    /// `@@global.x`.
    Global(&'a [u8]),
    /// `@x`.
    User(&'a [u8]),
}

impl<'a> SetValue<'a> {
    /// The value the server sees: quotes removed, doubled quotes made single.
    pub fn unquoted(&self) -> Cow<'a, [u8]> {
        match (self.kind, self.raw) {
            (ValueKind::Text, [quote, body @ .., _]) => undoubled(body, *quote),
            _ => Cow::Borrowed(self.raw),
        }
    }

    /// The value in the one form that every server reads alike, whatever its `sql_mode`, with
    /// what `known` gives in the places of variables. `None` when it does not know one.
    pub fn resolved(
        &self,
        known: &mut impl FnMut(Read<'a>, &mut Vec<u8>) -> bool,
    ) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(self.raw.len());
        match self.kind {
            ValueKind::Text => quote(&self.unquoted(), &mut out),
            ValueKind::Expression => {
                let mut cursor = Cursor::new(self.raw, Modes::default());
                cursor.expression(&mut Some((&mut out, known)), DEPTH)?;
                if !cursor.is_over() {
                    return None;
                }
            }
            _ => out.extend_from_slice(self.raw),
        }
        Some(out)
    }
}

/// Where an expression is written to while it is read, and what its variables are.
type Rewriting<'o, 'k, F> = Option<(&'o mut Vec<u8>, &'k mut F)>;

/// No rewriting.
type Nothing<'a> = fn(Read<'a>, &mut Vec<u8>) -> bool;

/// Longest expression with values in the places of variables: a short one may name long values any
/// number of times.
const RESOLVED_MAX: usize = 1 << 13;

/// How deep calls may lie in each other.
const DEPTH: usize = 8;

impl<'a> Cursor<'a> {
    pub(super) fn value(&mut self) -> Option<SetValue<'a>> {
        let first = self.token?;
        let kind = match first.kind {
            TokenKind::Word => match keyword(self.lexer.slice(first)) {
                Keyword::Default => ValueKind::Default,
                Keyword::Null => ValueKind::Null,
                _ => ValueKind::Word,
            },
            TokenKind::Text => ValueKind::Text,
            TokenKind::Number => ValueKind::Number,
            TokenKind::Punct(b'-' | b'+') => return self.signed(first),
            _ => ValueKind::Expression,
        };
        let mut ahead = self.clone();
        ahead.advance();
        let called = ahead.kind() == Some(TokenKind::Punct(b'('));
        if kind == ValueKind::Expression || (kind == ValueKind::Word && called) {
            return self.whole_expression(first);
        }
        let raw = self.lexer.slice(first);
        let plain = match kind {
            ValueKind::Word => is_plain(raw) && !is_function(raw),
            ValueKind::Text => is_plain(raw) && self.lexer.is_closed(first),
            ValueKind::Number => is_number(raw),
            _ => true,
        };
        self.advance();
        plain.then_some(SetValue { kind, raw })
    }

    fn signed(&mut self, sign: Token) -> Option<SetValue<'a>> {
        self.advance();
        let number = self.token.filter(|token| token.kind == TokenKind::Number)?;
        let raw = self.lexer.slice(Token { start: sign.start, ..number });
        self.advance();
        is_number(raw).then_some(SetValue { kind: ValueKind::Number, raw })
    }

    fn whole_expression(&mut self, first: Token) -> Option<SetValue<'a>> {
        let end = self.expression::<Nothing<'a>>(&mut None, DEPTH)?;
        let raw = self.lexer.slice(Token { start: first.start, end, ..first });
        is_plain(raw).then_some(SetValue { kind: ValueKind::Expression, raw })
    }

    /// Reads an expression, writing it if asked to; gives the offset of its end.
    fn expression<F: FnMut(Read<'a>, &mut Vec<u8>) -> bool>(
        &mut self,
        out: &mut Rewriting<'_, '_, F>,
        depth: usize,
    ) -> Option<usize> {
        let depth = depth.checked_sub(1)?;
        let token = self.token?;
        let raw = self.lexer.slice(token);
        match token.kind {
            TokenKind::At => {
                let end = self.token_after(token)?.end;
                let name = self.user_name()?;
                put_variable(out, Read::User(name))?;
                return Some(end);
            }
            TokenKind::SystemAt => return self.system_read(out),
            TokenKind::Punct(b'(') => {
                self.advance();
                put(out, b"(");
                if self.keyword() == Keyword::Select {
                    put(out, b"SELECT ");
                    self.advance();
                }
                self.expression(out, depth)?;
                return self.closing(out);
            }
            TokenKind::Number if is_number(raw) => put(out, raw),
            TokenKind::Text if is_plain(raw) && self.lexer.is_closed(token) => {
                if let Some((out, _)) = out {
                    quote(&SetValue { kind: ValueKind::Text, raw }.unquoted(), out);
                }
            }
            TokenKind::Word if keyword(raw) == Keyword::Null => put(out, raw),
            TokenKind::Word if depends_on_arguments_only(raw) => {
                self.advance();
                put(out, raw);
                if !self.take_punct(b'(') {
                    return None;
                }
                put(out, b"(");
                loop {
                    self.expression(out, depth)?;
                    if !self.take_punct(b',') {
                        return self.closing(out);
                    }
                    put(out, b",");
                }
            }
            _ => return None,
        }
        self.advance();
        Some(token.end)
    }

    fn token_after(&self, token: Token) -> Option<Token> {
        let mut ahead = self.clone();
        ahead.advance();
        ahead.token.filter(|next| next.start == token.end)
    }

    fn closing<F>(&mut self, out: &mut Rewriting<'_, '_, F>) -> Option<usize> {
        let end = self.token?.end;
        put(out, b")");
        self.take_punct(b')').then_some(end)
    }

    /// At `@@` in an expression.
    fn system_read<F: FnMut(Read<'a>, &mut Vec<u8>) -> bool>(
        &mut self,
        out: &mut Rewriting<'_, '_, F>,
    ) -> Option<usize> {
        self.advance();
        let scope = self.keyword();
        let scoped = matches!(scope, Keyword::Session | Keyword::Local | Keyword::Global);
        if scoped {
            self.advance();
            if !self.take_punct(b'.') {
                return None;
            }
        }
        let end = self.token?.end;
        let name = self.name()?;
        let read = if scope == Keyword::Global { Read::Global(name) } else { Read::Session(name) };
        put_variable(out, read)?;
        Some(end)
    }
}

fn put<F>(out: &mut Rewriting<'_, '_, F>, bytes: &[u8]) {
    if let Some((out, _)) = out {
        out.extend_from_slice(bytes);
    }
}

fn put_variable<'a, F: FnMut(Read<'a>, &mut Vec<u8>) -> bool>(
    out: &mut Rewriting<'_, '_, F>,
    read: Read<'a>,
) -> Option<()> {
    match out {
        Some((out, known)) => (known(read, out) && out.len() <= RESOLVED_MAX).then_some(()),
        None => Some(()),
    }
}

/// Writes a string as all modes read it; of characters without a backslash among them.
pub fn quote(value: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for byte in value {
        out.push(*byte);
        if *byte == b'\'' {
            out.push(b'\'');
        }
    }
    out.push(b'\'');
}

/// What reads the same in every character set and mode.
fn is_plain(raw: &[u8]) -> bool {
    raw.is_ascii() && !raw.contains(&b'\\')
}

/// A number and its sign, without comments in between.
fn is_number(raw: &[u8]) -> bool {
    // one beyond the range of a double is refused
    let number = str::from_utf8(raw).ok().and_then(|text| text.parse::<f64>().ok());
    number.is_none_or(f64::is_finite) && raw.iter().all(|b| !matches!(b, b'/' | b'#' | b'\n'))
}

/// Words that are calls of functions although no parenthesis follows.
fn is_function(word: &[u8]) -> bool {
    const PREFIXES: [&[u8]; 5] = [b"CURRENT_", b"LOCALTIME", b"UTC_", b"SYSDATE", b"SYSTIME"];
    PREFIXES.iter().any(|p| word.get(..p.len()).is_some_and(|head| head.eq_ignore_ascii_case(p)))
}

/// Functions whose result is known once their arguments are.
fn depends_on_arguments_only(word: &[u8]) -> bool {
    const FUNCTIONS: [&[u8]; 13] = [
        b"COALESCE",
        b"CONCAT",
        b"CONCAT_WS",
        b"GREATEST",
        b"IF",
        b"IFNULL",
        b"LEAST",
        b"LOWER",
        b"NULLIF",
        b"REPLACE",
        b"SUBSTRING",
        b"TRIM",
        b"UPPER",
    ];
    FUNCTIONS.iter().any(|known| word.eq_ignore_ascii_case(known))
}
