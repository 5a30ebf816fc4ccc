//! `SET` statements whose outcome is known from their text alone.
//!
//! What is returned may be replayed on another connection with the same outcome; whether a
//! variable exists, is tracked, or takes that value is not known here.

use std::borrow::Cow;

use crate::Modes;
use crate::facts::undoubled;
use crate::keyword::{Keyword, keyword};
use crate::lexer::{Lexer, Token, TokenKind};

/// The assignments of one `SET` statement, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SetStatement<'a> {
    /// What is assigned; never empty.
    pub assignments: Vec<Assignment<'a>>,
}

/// One assignment to the session. Names and values are slices of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Assignment<'a> {
    /// `SET NAMES charset [COLLATE collation]`.
    Names {
        /// Character set, as written, without quotes.
        charset: &'a [u8],
        /// Collation, as written, without quotes.
        collation: Option<&'a [u8]>,
    },
    /// `SET CHARACTER SET charset`.
    CharacterSet {
        /// Character set, as written, without quotes.
        charset: &'a [u8],
    },
    /// `SET autocommit = …`.
    Autocommit(bool),
    /// A session system variable with a literal value.
    Variable {
        /// Name as written, without scope and quotes; compare without regard to case.
        name: &'a [u8],
        /// Its value.
        literal: Literal<'a>,
    },
    /// `SET SESSION TRANSACTION ISOLATION LEVEL …`.
    SessionIsolation(IsolationLevel),
    /// `SET SESSION TRANSACTION READ ONLY` (true) or `READ WRITE` (false).
    SessionReadOnly(bool),
}

/// A literal on the right of an assignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Literal<'a> {
    /// What it is.
    pub kind: LiteralKind,
    /// As written, quotes included: may be replayed verbatim. Only ASCII, without backslashes.
    pub raw: &'a [u8],
}

/// Kind of a literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LiteralKind {
    /// A bare word: `ON`, `utf8mb4`.
    Word,
    /// A quoted string.
    Text,
    /// A number, possibly with a sign.
    Number,
    /// `NULL`.
    Null,
}

/// An isolation level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IsolationLevel {
    /// `READ UNCOMMITTED`.
    ReadUncommitted,
    /// `READ COMMITTED`.
    ReadCommitted,
    /// `REPEATABLE READ`.
    RepeatableRead,
    /// `SERIALIZABLE`.
    Serializable,
}

impl<'a> Literal<'a> {
    /// The value the server sees: quotes removed, doubled quotes made single.
    pub fn value(&self) -> Cow<'a, [u8]> {
        match (self.kind, self.raw) {
            (LiteralKind::Text, [quote, body @ .., _]) => undoubled(body, *quote),
            _ => Cow::Borrowed(self.raw),
        }
    }
}

/// Every assignment of `text`, or `None` when any part of it is not understood: global and user
/// variables, expressions, `DEFAULT`, names whose assignment has other effects, and the rest.
pub fn parse_set(text: &[u8]) -> Option<SetStatement<'_>> {
    let mut parser = Parser::new(text);
    if parser.take_keyword() != Keyword::Set {
        return None;
    }
    let assignments = match parser.session_transaction() {
        Some(assignments) => assignments,
        None => parser.assignments()?,
    };
    parser.finish()?;
    Some(SetStatement { assignments })
}

/// The token at hand and those behind it.
#[derive(Clone)]
struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Option<Token>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8]) -> Self {
        let mut lexer = Lexer::new(text, Modes::default());
        let token = lexer.next_token();
        Self { lexer, token }
    }

    fn assignments(&mut self) -> Option<Vec<Assignment<'a>>> {
        let mut assignments = Vec::with_capacity(1);
        loop {
            assignments.push(self.assignment()?);
            if !self.take_punct(b',') {
                return Some(assignments);
            }
        }
    }

    fn assignment(&mut self) -> Option<Assignment<'a>> {
        if self.kind() == Some(TokenKind::SystemAt) {
            return self.system_variable();
        }
        match self.keyword() {
            Keyword::Session | Keyword::Local => {
                self.advance();
                self.variable(Scope::Session)
            }
            Keyword::Names => self.names(),
            Keyword::Character | Keyword::Char | Keyword::Charset => self.character_set(),
            _ => self.variable(Scope::Session),
        }
    }

    /// At `@@`.
    fn system_variable(&mut self) -> Option<Assignment<'a>> {
        self.advance();
        match self.keyword() {
            Keyword::Session | Keyword::Local => {
                self.advance();
                if !self.take_punct(b'.') {
                    return None;
                }
                self.variable(Scope::Session)
            }
            Keyword::Global | Keyword::Persist | Keyword::PersistOnly => None,
            _ => self.variable(Scope::None),
        }
    }

    /// `name = literal`.
    fn variable(&mut self, scope: Scope) -> Option<Assignment<'a>> {
        let token = self.token?;
        let name = match token.kind {
            TokenKind::Word => self.lexer.slice(token),
            TokenKind::Quoted if self.lexer.is_closed(token) => self.lexer.unquoted(token),
            _ => return None,
        };
        self.advance();
        if !self.take_punct(b'=') && !self.take(TokenKind::Assign) {
            return None;
        }
        if is_special(name) || (scope == Scope::None && is_next_transaction_only(name)) {
            return None;
        }
        let literal = self.literal()?;
        if name.eq_ignore_ascii_case(b"autocommit") {
            return Some(Assignment::Autocommit(boolean(&literal)?));
        }
        Some(Assignment::Variable { name, literal })
    }

    fn literal(&mut self) -> Option<Literal<'a>> {
        let first = self.token?;
        let signed = matches!(first.kind, TokenKind::Punct(b'-' | b'+'));
        if signed {
            self.advance();
        }
        let last = self.token?;
        let kind = match last.kind {
            TokenKind::Number => LiteralKind::Number,
            TokenKind::Text if !signed => LiteralKind::Text,
            TokenKind::Word if !signed => match keyword(self.lexer.slice(last)) {
                Keyword::Default => return None,
                Keyword::Null => LiteralKind::Null,
                _ => LiteralKind::Word,
            },
            _ => return None,
        };
        let raw = self.lexer.slice(Token { start: first.start, ..last });
        let plain = match kind {
            LiteralKind::Word => is_plain(raw) && !is_function(raw),
            LiteralKind::Text => is_plain(raw) && self.lexer.is_closed(last),
            LiteralKind::Number => raw.iter().all(|b| !matches!(b, b'/' | b'#' | b'\n')),
            LiteralKind::Null => true,
        };
        self.advance();
        plain.then_some(Literal { kind, raw })
    }

    /// At `NAMES`.
    fn names(&mut self) -> Option<Assignment<'a>> {
        self.advance();
        let charset = self.charset()?;
        let collation = if self.keyword() == Keyword::Collate {
            self.advance();
            Some(self.charset()?)
        } else {
            None
        };
        Some(Assignment::Names { charset, collation })
    }

    /// At `CHARACTER SET`, `CHAR SET` or `CHARSET`.
    fn character_set(&mut self) -> Option<Assignment<'a>> {
        if self.take_keyword() != Keyword::Charset && self.take_keyword() != Keyword::Set {
            return None;
        }
        Some(Assignment::CharacterSet { charset: self.charset()? })
    }

    /// Name of a character set or collation, bare or quoted.
    fn charset(&mut self) -> Option<&'a [u8]> {
        let token = self.token?;
        let name = match token.kind {
            TokenKind::Word if self.keyword() != Keyword::Default => self.lexer.slice(token),
            TokenKind::Text | TokenKind::Quoted if self.lexer.is_closed(token) => {
                self.lexer.unquoted(token)
            }
            _ => return None,
        };
        self.advance();
        let named = name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
        (named && !name.is_empty()).then_some(name)
    }

    /// `SESSION TRANSACTION …`, after which nothing else may stand.
    fn session_transaction(&mut self) -> Option<Vec<Assignment<'a>>> {
        let mut ahead = self.clone();
        if !matches!(ahead.take_keyword(), Keyword::Session | Keyword::Local)
            || ahead.take_keyword() != Keyword::Transaction
        {
            return None;
        }
        let mut assignments = Vec::with_capacity(1);
        loop {
            assignments.push(ahead.characteristic()?);
            if !ahead.take_punct(b',') {
                break;
            }
        }
        *self = ahead;
        Some(assignments)
    }

    fn characteristic(&mut self) -> Option<Assignment<'a>> {
        match (self.take_keyword(), self.take_keyword()) {
            (Keyword::Isolation, Keyword::Level) => {
                let level = match self.take_keyword() {
                    Keyword::Serializable => IsolationLevel::Serializable,
                    first => match (first, self.take_keyword()) {
                        (Keyword::Read, Keyword::Uncommitted) => IsolationLevel::ReadUncommitted,
                        (Keyword::Read, Keyword::Committed) => IsolationLevel::ReadCommitted,
                        (Keyword::Repeatable, Keyword::Read) => IsolationLevel::RepeatableRead,
                        _ => return None,
                    },
                };
                Some(Assignment::SessionIsolation(level))
            }
            (Keyword::Read, Keyword::Only) => Some(Assignment::SessionReadOnly(true)),
            (Keyword::Read, Keyword::Write) => Some(Assignment::SessionReadOnly(false)),
            _ => None,
        }
    }

    /// Nothing but semicolons may follow.
    fn finish(&mut self) -> Option<()> {
        while self.take_punct(b';') {}
        (self.token.is_none() && !self.lexer.is_ambiguous()).then_some(())
    }

    fn advance(&mut self) {
        self.token = self.lexer.next_token();
    }

    fn kind(&self) -> Option<TokenKind> {
        self.token.map(|token| token.kind)
    }

    fn keyword(&self) -> Keyword {
        match self.token {
            Some(token) if token.kind == TokenKind::Word => keyword(self.lexer.slice(token)),
            _ => Keyword::None,
        }
    }

    fn take_keyword(&mut self) -> Keyword {
        let keyword = self.keyword();
        self.advance();
        keyword
    }

    fn take_punct(&mut self, punct: u8) -> bool {
        self.take(TokenKind::Punct(punct))
    }

    fn take(&mut self, kind: TokenKind) -> bool {
        let found = self.kind() == Some(kind);
        if found {
            self.advance();
        }
        found
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Said, or implied by a bare name.
    Session,
    /// `@@name`: for the characteristics of transactions, the next transaction only.
    None,
}

fn boolean(literal: &Literal<'_>) -> Option<bool> {
    let value = literal.value();
    let is = |word: &str| value.eq_ignore_ascii_case(word.as_bytes());
    match literal.kind {
        LiteralKind::Number => match literal.raw {
            b"0" => Some(false),
            b"1" => Some(true),
            _ => None,
        },
        LiteralKind::Word if is("TRUE") => Some(true),
        LiteralKind::Word if is("FALSE") => Some(false),
        LiteralKind::Word | LiteralKind::Text if is("ON") => Some(true),
        LiteralKind::Word | LiteralKind::Text if is("OFF") => Some(false),
        _ => None,
    }
}

/// What reads the same in every character set and mode.
fn is_plain(raw: &[u8]) -> bool {
    raw.is_ascii() && !raw.contains(&b'\\')
}

/// Words that are calls of functions although no parenthesis follows.
fn is_function(word: &[u8]) -> bool {
    const PREFIXES: [&[u8]; 5] = [b"CURRENT_", b"LOCALTIME", b"UTC_", b"SYSDATE", b"SYSTIME"];
    PREFIXES.iter().any(|p| word.get(..p.len()).is_some_and(|head| head.eq_ignore_ascii_case(p)))
}

/// Names whose assignment is not that of a lasting session variable.
fn is_special(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 13] = [
        b"default",
        b"global",
        b"gtid_next",
        b"identity",
        b"insert_id",
        b"last_insert_id",
        b"names",
        b"password",
        b"pseudo_thread_id",
        b"rand_seed1",
        b"rand_seed2",
        b"role",
        b"statement",
    ];
    NAMES.iter().any(|special| name.eq_ignore_ascii_case(special))
}

/// Variables of which `SET @@x` changes the next transaction, not the session.
fn is_next_transaction_only(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 4] =
        [b"transaction_isolation", b"tx_isolation", b"transaction_read_only", b"tx_read_only"];
    NAMES.iter().any(|special| name.eq_ignore_ascii_case(special))
}

#[cfg(test)]
mod tests;
