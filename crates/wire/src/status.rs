//! Status flags of a session, as OK and EOF packets carry them.
//!
//! Says what the bits are called; what follows from them is decided elsewhere.

use std::fmt;

/// The status flags of a server's session.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Status(pub u16);

impl Status {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// A transaction is open.
    pub const IN_TRANS: Self = Self(1);
    /// Autocommit is on.
    pub const AUTOCOMMIT: Self = Self(1 << 1);
    /// Another result follows this one.
    pub const MORE_RESULTS: Self = Self(1 << 3);
    /// The statement used no good index.
    pub const NO_GOOD_INDEX_USED: Self = Self(1 << 4);
    /// The statement used no index.
    pub const NO_INDEX_USED: Self = Self(1 << 5);
    /// The statement opened a cursor: its rows come by `COM_STMT_FETCH`.
    pub const CURSOR_EXISTS: Self = Self(1 << 6);
    /// The cursor has no more rows.
    pub const LAST_ROW_SENT: Self = Self(1 << 7);
    /// A schema was dropped.
    pub const DB_DROPPED: Self = Self(1 << 8);
    /// The SQL mode has `NO_BACKSLASH_ESCAPES`.
    pub const NO_BACKSLASH_ESCAPES: Self = Self(1 << 9);
    /// A prepared statement has other columns than when it was prepared.
    pub const METADATA_CHANGED: Self = Self(1 << 10);
    /// The statement was slow.
    pub const QUERY_WAS_SLOW: Self = Self(1 << 11);
    /// This result holds the OUT parameters of a procedure.
    pub const PS_OUT_PARAMS: Self = Self(1 << 12);
    /// The open transaction is read-only.
    pub const IN_TRANS_READONLY: Self = Self(1 << 13);
    /// Session-track data follows in the OK packet.
    pub const SESSION_STATE_CHANGED: Self = Self(1 << 14);
    /// MariaDB: the result is one of `ANSI_QUOTES` mode.
    pub const ANSI_QUOTES: Self = Self(1 << 15);

    /// Whether every flag of `other` is set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The flags that are in both.
    #[must_use]
    pub const fn intersect(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// These flags but for those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl std::ops::BitOr for Status {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Status({:#06x})", self.0)
    }
}
