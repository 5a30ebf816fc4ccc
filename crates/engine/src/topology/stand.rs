//! What was seen of a server, as far as it is against using it.
//!
//! It is decided elsewhere, of checks; here is what it means to a session with work for the server.

use super::Status;
use crate::rows::ServerRow;

/// A row that is to be in force, and what was seen of its server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The row: as typed, or a copy in the hostgroup that the server's role puts it in.
    pub row: ServerRow,
    /// How it stands there.
    pub stand: Stand,
}

impl Placed {
    /// A row as it was typed, with nothing against its server.
    pub fn as_typed(row: &ServerRow) -> Self {
        Self { row: row.clone(), stand: Stand::Well }
    }

    /// What is told of it: what the operator wants comes first.
    pub fn told(&self) -> &str {
        match Status::Online.is_set(&self.row) {
            false => &self.row.status,
            true => self.stand.told(),
        }
    }
}

/// How a server stands in a hostgroup, beyond what its row says.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Stand {
    /// Nothing is known against it.
    #[default]
    Well,
    /// It misses pings: its connections are given up, and it gets none.
    Silent,
    /// It is too far behind to be read from.
    Lagging {
        /// So far, in microseconds.
        lag_us: u64,
    },
    /// Its pings take longer than they may.
    Slow {
        /// So long, in microseconds.
        latency_us: u64,
    },
    /// A member of a group that has too much to apply yet.
    Behind,
    /// The same for long: its connections are given up.
    FarBehind,
    /// One that could be written to, and others are.
    Surplus,
    /// It is in maintenance: what was begun there may end.
    Leaving,
    /// It does not follow the primary: what it has is another one's, or grows old.
    Astray,
    /// It takes writes, or may do so, and another server is the one to be written to, or none is:
    /// its connections are given up.
    Outdone,
}

impl std::fmt::Display for Stand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Well => f.write_str("is well"),
            Self::Silent => f.write_str("does not answer pings"),
            Self::Lagging { lag_us } => {
                let (seconds, ms) = (lag_us / 1_000_000, lag_us / 1_000 % 1_000);
                write!(f, "is {seconds}.{ms:03} s behind, more than it may be")
            }
            Self::Slow { latency_us } => {
                write!(f, "is slow: its pings take {} ms", latency_us / 1_000)
            }
            Self::Behind | Self::FarBehind => {
                f.write_str("has more to apply than max_transactions_behind")
            }
            Self::Surplus => f.write_str("is kept in reserve: max_writers are there"),
            Self::Leaving => f.write_str("is in maintenance"),
            Self::Astray => f.write_str("does not follow the primary"),
            Self::Outdone => f.write_str("is not the one to be written to (several_writers)"),
        }
    }
}

impl Stand {
    /// Whether a server that stands like this is given commands.
    #[inline]
    pub fn serves(self) -> bool {
        self == Self::Well
    }

    /// Whether what runs on it is given up too.
    pub fn ends_commands(self) -> bool {
        matches!(self, Self::Silent | Self::FarBehind | Self::Astray | Self::Outdone)
    }

    /// What is told of a server whose row says `ONLINE`: its status, or a word of our own where
    /// ProxySQL has none.
    pub fn told(self) -> &'static str {
        match self {
            Self::Slow { .. } => "SLOW",
            Self::Astray => "ASTRAY",
            _ => self.status(),
        }
    }

    /// The status that is shown of a server whose row says `ONLINE`.
    pub fn status(self) -> &'static str {
        match self {
            Self::Well | Self::Slow { .. } => "ONLINE",
            Self::Lagging { .. } | Self::FarBehind => "SHUNNED_REPLICATION_LAG",
            Self::Silent
            | Self::Behind
            | Self::Surplus
            | Self::Leaving
            | Self::Astray
            | Self::Outdone => "SHUNNED",
        }
    }
}
