//! What was seen of a server, and when.

use engine::clusters::Check;
use engine::rows::ServerRow;

use crate::aurora::AuroraAnswer;
use crate::cluster::{GaleraAnswer, GroupAnswer};

/// A server, whatever hostgroups it is in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Endpoint {
    /// Name, address, or path of a Unix socket.
    pub hostname: String,
    /// TCP port; 0 for a Unix socket.
    pub port: i64,
}

impl Endpoint {
    /// Whether it may have a row, though a server and no operator named it.
    pub(crate) fn is_sound(&self) -> bool {
        is_name(&self.hostname, HOST_BYTES) && (1..=i64::from(u16::MAX)).contains(&self.port)
    }

    /// Its row, which is otherwise like another.
    pub(crate) fn row_like(&self, row: &ServerRow) -> ServerRow {
        ServerRow { hostname: self.hostname.clone(), port: self.port, ..row.clone() }
    }

    /// The server of a row.
    pub fn of(row: &ServerRow) -> Self {
        Self { hostname: row.hostname.clone(), port: row.port }
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.port {
            0 => f.write_str(&self.hostname),
            port => write!(f, "{}:{port}", self.hostname),
        }
    }
}

/// Bytes of a host name, at most.
const HOST_BYTES: usize = 253;

/// Whether a text can be a host name or an address, of so many bytes at most.
pub(crate) fn is_name(text: &str, bytes_max: usize) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:%".contains(&byte);
    (1..=bytes_max).contains(&text.len())
        && text.bytes().all(is_part)
        && !text.starts_with(['-', '.'])
}

/// One thing that was seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// When, in microseconds.
    pub at_us: u64,
    /// Of which server.
    pub server: Endpoint,
    /// What.
    pub seen: Seen,
}

/// What a check came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Seen {
    /// A ping, and how many microseconds it took.
    Ping(Result<u64, Failure>),
    /// Whether the server refuses writes, by the variables that were asked for.
    ReadOnly(Check, Result<bool, Failure>),
    /// The GTIDs that it has.
    Gtids(Result<GtidAnswer, Failure>),
    /// How far the server is behind, as seen for one hostgroup or for all that it is in.
    Lag(Option<i64>, Result<Lag, Failure>),
    /// What a member of Group Replication said of itself.
    Group(Result<GroupAnswer, Failure>),
    /// What a node of a Galera cluster said of itself.
    Galera(Result<GaleraAnswer, Failure>),
    /// What a server of Aurora said of its cluster, which has that hostgroup of writers.
    Aurora(i64, Result<AuroraAnswer, Failure>),
    /// The servers of its cluster that a server of RDS Multi-AZ named.
    Rds(Result<Vec<Endpoint>, Failure>),
}

impl Seen {
    /// Whether it says nothing of the server, because the proxy itself was late.
    pub fn is_own_delay(&self) -> bool {
        self.failure() == Some(&Failure::OwnDelay)
    }

    /// Whether the server did not answer.
    pub fn is_missed(&self) -> bool {
        self.failure() == Some(&Failure::NoAnswer)
    }

    fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Ping(outcome) => outcome.as_ref().err(),
            Self::ReadOnly(_, outcome) => outcome.as_ref().err(),
            Self::Gtids(outcome) => outcome.as_ref().err(),
            Self::Lag(_, outcome) => outcome.as_ref().err(),
            Self::Group(outcome) => outcome.as_ref().err(),
            Self::Galera(outcome) => outcome.as_ref().err(),
            Self::Aurora(_, outcome) => outcome.as_ref().err(),
            Self::Rds(outcome) => outcome.as_ref().err(),
        }
    }
}

/// The GTIDs of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GtidAnswer {
    /// MySQL's `gtid_executed`; MariaDB's `gtid_binlog_state` and `gtid_slave_pos`, by a comma.
    pub gtids: String,
    /// When they were asked for, in microseconds, or before.
    pub asked_us: u64,
}

/// How far a server is behind the one that it copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lag {
    /// It copies none.
    NoReplica,
    /// It does not know, because it does not copy at the moment.
    Unknown,
    /// So many microseconds.
    Micros(u64),
}

/// Why a check came to nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// No answer in time, or no connection.
    NoAnswer,
    /// The server answered with an error, of this number: it lives.
    Error(u16),
    /// The proxy itself was late: nothing is known of the server.
    OwnDelay,
}
