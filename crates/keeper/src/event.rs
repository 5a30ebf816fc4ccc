//! What changed, and why.

use std::collections::BTreeMap;

use crate::Decided;
use crate::report::Endpoint;

/// How a server stands in a hostgroup, beyond what its row says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stand {
    /// Nothing is known against it.
    Well,
    /// It misses pings: its connections are given up, and it gets none.
    Silent,
    /// It is too far behind to be read from.
    Lagging {
        /// So far, in microseconds.
        lag_us: u64,
    },
}

/// Something that changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// When, in microseconds.
    pub at_us: u64,
    /// In which hostgroup.
    pub hostgroup: i64,
    /// Of which server.
    pub server: Endpoint,
    /// The status as it was shown; `None` where the server was not there.
    pub from: Option<String>,
    /// The status as it is shown; `None` where the server is no longer there.
    pub to: Option<String>,
    /// What it follows from.
    pub reason: Reason,
}

/// What a decision follows from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The configuration was changed.
    Configured,
    /// The server said whether it refuses writes.
    ReadOnly {
        /// Whether it does.
        is: bool,
    },
    /// It did not say so, so many times one behind the other.
    ReadOnlyMissed {
        /// Times.
        count: u32,
    },
    /// It did not answer pings.
    PingsMissed {
        /// Times, one behind the other.
        count: u32,
    },
    /// It answers pings again.
    PingAnswered,
    /// It is too far behind.
    LagAbove {
        /// How far, in microseconds.
        lag_us: u64,
        /// How far it may be, in seconds.
        limit_s: i64,
        /// How often that was seen, one behind the other.
        count: u32,
    },
    /// It is no longer too far behind.
    LagWithin {
        /// How far, in microseconds.
        lag_us: u64,
        /// How far it may be, in seconds.
        limit_s: i64,
    },
    /// It copies no server any more, so that it is behind none.
    NoReplica,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = |us: &u64| format!("{}.{:03} s", us / 1_000_000, us / 1_000 % 1_000);
        match self {
            Self::Configured => f.write_str("the configuration was changed"),
            Self::ReadOnly { is } => write!(f, "it answered read_only={}", u8::from(*is)),
            Self::ReadOnlyMissed { count } => {
                write!(f, "it missed {count} read_only checks, which counts as read_only=1")
            }
            Self::PingsMissed { count } => write!(f, "it missed {count} pings"),
            Self::PingAnswered => f.write_str("it answered a ping"),
            Self::LagAbove { lag_us, limit_s, count } => {
                let lag = seconds(lag_us);
                write!(f, "it was {lag} behind, more than {limit_s} s, in {count} checks")
            }
            Self::LagWithin { lag_us, limit_s } => {
                write!(f, "it is {} behind, no more than {limit_s} s", seconds(lag_us))
            }
            Self::NoReplica => f.write_str("it is no replica"),
        }
    }
}

/// The status that is shown of a row.
fn shown(decided: &Decided) -> String {
    match decided.stand {
        // what the operator wants comes first
        _ if !decided.row.status.eq_ignore_ascii_case("ONLINE") => decided.row.status.clone(),
        Stand::Well => decided.row.status.clone(),
        Stand::Silent => "SHUNNED".to_owned(),
        Stand::Lagging { .. } => "SHUNNED_REPLICATION_LAG".to_owned(),
    }
}

/// What differs between two decisions.
pub(crate) fn between(
    before: &[Decided],
    after: &[Decided],
    at_us: u64,
    reason: &Reason,
) -> Vec<Event> {
    let statuses = |decided: &[Decided]| -> BTreeMap<(i64, Endpoint), String> {
        let key = |decided: &Decided| (decided.row.hostgroup_id, Endpoint::of(&decided.row));
        decided.iter().map(|decided| (key(decided), shown(decided))).collect()
    };
    let (mut before, after) = (statuses(before), statuses(after));
    let mut changes = Vec::new();
    for (key, to) in after {
        let from = before.remove(&key);
        if from.as_ref() != Some(&to) {
            changes.push((key, from, Some(to)));
        }
    }
    changes.extend(before.into_iter().map(|(key, from)| (key, Some(from), None)));
    let event = |((hostgroup, server), from, to)| Event {
        at_us,
        hostgroup,
        server,
        from,
        to,
        reason: reason.clone(),
    };
    changes.into_iter().map(event).collect()
}
