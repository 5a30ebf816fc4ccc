//! `SET` statements whose outcome is known from their text alone.
//!
//! What is returned may be replayed on another connection with the same outcome; whether a
//! variable exists, is tracked, or takes that value is not known here.

use std::borrow::Cow;

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
        Cow::Borrowed(self.raw)
    }
}

/// Every assignment of `text`, or `None` when any part of it is not understood.
pub fn parse_set(_text: &[u8]) -> Option<SetStatement<'_>> {
    None
}
