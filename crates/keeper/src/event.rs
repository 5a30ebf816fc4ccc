//! What changed, and why.

use std::collections::BTreeMap;

use engine::topology::Placed;

use crate::contest::Because;
use crate::report::Endpoint;

/// Something that changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatusChange {
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
    /// It does not know how far it is behind, because it does not copy at the moment.
    LagUnknown {
        /// What that counts as, in seconds.
        counts_as_s: u32,
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
    /// Its pings take too long.
    LatencyAbove {
        /// How long, in microseconds.
        latency_us: u64,
        /// How long they may, in milliseconds.
        limit_ms: u64,
    },
    /// They no longer do.
    LatencyWithin {
        /// How long, in microseconds.
        latency_us: u64,
        /// How long they may, in milliseconds.
        limit_ms: u64,
    },
    /// It copies no server any more, so that it is behind none.
    NoReplica,
    /// Which servers say that they take writes has changed, or which of them does.
    SeveralWriters {
        /// How many say so.
        count: u32,
        /// How many are typed as writers and have not said what they are.
        unheard: u32,
        /// Which one does.
        writer: Option<Endpoint>,
        /// Why that one, or none.
        because: Because,
    },
    /// Another server was put in its place.
    Deposed,
    /// It follows the server that was put in its place.
    Rejoined,
    /// A member of its group named it, or no longer does.
    Discovered {
        /// That member.
        by: Endpoint,
    },
    /// A server of its Aurora cluster told which one is written to.
    AuroraWriter {
        /// That one.
        writer: Endpoint,
    },
    /// A server of its Aurora cluster told that it is a replica, and named no writer.
    AuroraReplica,
    /// How far a replica of Aurora counts as behind: more than it may, or no more.
    AuroraLag {
        /// So far.
        lag_ms: u64,
        /// How far it may be.
        limit_ms: u64,
    },
    /// A cluster's check was answered with an error.
    CheckRefused {
        /// The error's number.
        code: u16,
    },
    /// Checks of a cluster's member were not answered.
    ChecksMissed {
        /// Times, one behind the other.
        count: u32,
    },
    /// The member is not online, or not in the majority.
    NotViable,
    /// The node is cut off from most of the cluster.
    NoPrimaryPartition,
    /// The node is taken out of the cluster's flow control.
    Desynced,
    /// The node has not all that the cluster has.
    NotSynced {
        /// `wsrep_local_state`.
        local_state: u32,
    },
    /// The node is set to reject queries.
    RejectsQueries,
    /// The node is in maintenance.
    InMaintenance,
    /// How much it has to apply yet: more than it may, or no more.
    Behind {
        /// Transactions.
        by: u64,
        /// How many it may have.
        limit: u64,
    },
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = |us: &u64| format!("{}.{:03} s", us / 1_000_000, us / 1_000 % 1_000);
        match self {
            Self::Configured => f.write_str("the configuration was changed"),
            Self::ReadOnly { is } => write!(f, "it answered read_only={}", u8::from(*is)),
            Self::ReadOnlyMissed { count } => {
                let checks = counted(*count, "read_only check");
                write!(f, "it missed {checks}, which counts as read_only=1")
            }
            Self::PingsMissed { count } => write!(f, "it missed {}", counted(*count, "ping")),
            Self::PingAnswered => f.write_str("it answered a ping"),
            Self::LagAbove { lag_us, limit_s, count } => {
                let (lag, checks) = (seconds(lag_us), counted(*count, "check"));
                write!(f, "it was {lag} behind, more than {limit_s} s, in {checks}")
            }
            Self::LagUnknown { counts_as_s, limit_s, count } => {
                let checks = counted(*count, "check");
                write!(
                    f,
                    "it copied nothing in {checks}, which counts as {counts_as_s} s behind, more \
                     than {limit_s} s"
                )
            }
            Self::LagWithin { lag_us, limit_s } => {
                write!(f, "it is {} behind, no more than {limit_s} s", seconds(lag_us))
            }
            Self::LatencyAbove { latency_us, limit_ms } => {
                write!(f, "its pings take {} ms, more than {limit_ms} ms", latency_us / 1_000)
            }
            Self::LatencyWithin { latency_us, limit_ms } => {
                write!(f, "its pings take {} ms, no more than {limit_ms} ms", latency_us / 1_000)
            }
            Self::NoReplica => f.write_str("it is no replica"),
            Self::SeveralWriters { count, unheard, writer, because } => {
                write_writers(f, (*count, *unheard), writer.as_ref(), *because)
            }
            Self::Deposed => f.write_str("it does not follow the new primary"),
            Self::Rejoined => f.write_str("it is left out no longer"),
            Self::AuroraWriter { writer } => write!(f, "its cluster's writer is {writer}"),
            Self::AuroraReplica => f.write_str("its cluster has it as a replica"),
            Self::AuroraLag { lag_ms, limit_ms } if lag_ms > limit_ms => {
                write!(f, "it was {lag_ms} ms behind, more than {limit_ms} ms")
            }
            Self::AuroraLag { lag_ms, limit_ms } => {
                write!(f, "it is {lag_ms} ms behind, no more than {limit_ms} ms")
            }
            Self::Discovered { by } => write!(f, "{by} told the members of its group"),
            Self::CheckRefused { code } => write!(f, "it answered a check with error {code}"),
            Self::ChecksMissed { count } => write!(f, "it missed {}", counted(*count, "check")),
            Self::NotViable => f.write_str("it is not online in the group's majority"),
            Self::NoPrimaryPartition => f.write_str("it is in no primary partition"),
            Self::Desynced => f.write_str("it is desynced (wsrep_desync)"),
            Self::NotSynced { local_state } => {
                write!(f, "it is not synced (wsrep_local_state={local_state})")
            }
            Self::RejectsQueries => f.write_str("it rejects queries (wsrep_reject_queries)"),
            Self::InMaintenance => f.write_str("it is in maintenance (pxc_maint_mode)"),
            Self::Behind { by, limit } => {
                write!(f, "it has {by} transactions to apply, with {limit} allowed")
            }
        }
    }
}

fn write_writers(
    f: &mut std::fmt::Formatter<'_>,
    (count, unheard): (u32, u32),
    writer: Option<&Endpoint>,
    because: Because,
) -> std::fmt::Result {
    let answer = if count == 1 { "server answers" } else { "servers answer" };
    let unheard = match unheard {
        0 => String::new(),
        unheard => format!(", {unheard} did not answer"),
    };
    let claims = format!("{count} {answer} read_only=0{unheard}");
    if let Some(writer) = writer {
        let why = match because {
            Because::Alone => return write!(f, "{writer} alone answers read_only=0"),
            Because::Newest => "has the newest GTIDs",
            Because::Typed => "has the same GTIDs, and is the writer that is configured",
            Because::First => "has the same GTIDs, and is the first",
            _ => "stays the writer",
        };
        return write!(f, "{claims}: {writer} {why}");
    }
    let why = match because {
        Because::Forbidden => "none is written to",
        Because::Diverged => "none has all GTIDs of the others",
        _ => "which has the newest GTIDs is not known",
    };
    write!(f, "{claims}: {why}")
}

fn counted(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What differs between two decisions.
pub(crate) fn between(
    before: &[Placed],
    after: &[Placed],
    at_us: u64,
    reason: &Reason,
) -> Vec<StatusChange> {
    let statuses = |decided: &[Placed]| -> BTreeMap<(i64, Endpoint), String> {
        let key = |decided: &Placed| (decided.row.hostgroup_id, Endpoint::of(&decided.row));
        decided.iter().map(|decided| (key(decided), decided.told().to_owned())).collect()
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
    let event = |((hostgroup, server), from, to)| StatusChange {
        at_us,
        hostgroup,
        server,
        from,
        to,
        reason: reason.clone(),
    };
    changes.into_iter().map(event).collect()
}
