//! What is told of changes.

use std::fmt;

use crate::{Gtid, Position};

/// A change, and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Noted<'a> {
    /// The end of the event that tells of it.
    pub at: &'a Position,
    /// The transaction that it is part of; `None` where the stream began in the middle of it.
    pub gtid: Option<&'a Gtid>,
    /// The change.
    pub change: LogChange<'a>,
}

/// What has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogChange<'a> {
    /// Rows of a table.
    Table {
        /// The table's schema, as the server has it.
        schema: &'a [u8],
        /// Its name.
        table: &'a [u8],
    },
    /// Any table, as far as is known.
    All(Why),
}

/// Why any table may have changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// A statement that was logged as text, and changes no definition.
    Statement,
    /// A statement that may define tables, or what else is not known to be harmless.
    Definition,
    /// A transaction of the XA kind: its end names no tables.
    Xa,
    /// The server says that its log lacks something.
    Incident,
    /// Rows of a table that the log did not name.
    UnnamedTable,
    /// An event of a kind that is not known: its number.
    UnknownEvent(u8),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Statement => f.write_str("a statement that was logged as text"),
            Self::Definition => f.write_str("a definition"),
            Self::Xa => f.write_str("an XA transaction"),
            Self::Incident => f.write_str("an incident: the log lacks changes"),
            Self::UnnamedTable => f.write_str("rows of a table that the log did not name"),
            Self::UnknownEvent(kind) => write!(f, "an event of the unknown kind {kind}"),
        }
    }
}
