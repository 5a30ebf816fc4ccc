//! How what a keeper knows and is told is written, type by type.

use engine::clusters::{AlsoRead, Aurora, Check, Cluster, ClusterKind, Clusters, Pair};
use engine::hostgroups::SeveralWriters;
use engine::rows::{Cell, Column, Row, ServerRow};
use engine::topology::{Placed, Stand};
use serde_json::Value;

use super::value::{Recorded, member, named, object, recorded, variant, wanted};
use crate::Keeper;
use crate::aurora::{AuroraAnswer, AuroraInstance};
use crate::cluster::{GaleraAnswer, GroupAnswer, Verdict};
use crate::contest::Because;
use crate::placement::PlacementRole;
use crate::report::{Endpoint, Failure, GtidAnswer, Lag, Seen};
use crate::wanted::{Limits, Wanted};

recorded!(Endpoint { hostname, port });
recorded!(Wanted { servers, clusters, limits, defaults, several_writers } or default);
recorded!(Clusters { pairs, members, aurora } or default);
recorded!(Aurora {
    writer,
    reader,
    port,
    domain,
    max_lag_ms,
    every_ms,
    limit_ms,
    writer_is_read,
    reader_weight,
    add_lag_ms,
    min_lag_ms,
    lag_checks,
});
recorded!(Pair { writer, reader, check });
recorded!(Cluster { kind, writer, backup, reader, offline, max_writers, also_read, max_behind });
recorded!(Limits {
    enabled,
    ping_failures,
    read_only_failures,
    latency_ms,
    lag_count,
    lag_when_unknown_s,
    writer_is_also_reader,
    evaluate_lag_on_load,
    group_failures,
    group_behind_count,
    group_behind_for,
    finds_rds,
    galera_failures,
} or default);
recorded!(GtidAnswer { gtids, asked_us });
recorded!(GroupAnswer { is_viable, read_only, behind, members });
recorded!(GaleraAnswer {
    is_primary,
    local_state,
    desync,
    rejects_queries,
    donor_rejects,
    in_maintenance,
    read_only,
    behind,
});
recorded!(AuroraAnswer { instances });
recorded!(AuroraInstance { server_id, writes, lag_ms, age_us } or default);
recorded!(Placed { row, stand });

named!(Check { ReadOnly, InnodbReadOnly, SuperReadOnly, Both, Either });
named!(SeveralWriters { All, NewestGtid, None });
named!(Because { Alone, Before, Newest, Typed, First, Diverged, Unknown, Forbidden });
named!(ClusterKind { Group, Galera });
named!(AlsoRead { Nobody, Writers, Backups });
named!(Verdict { Offline, Leaving, Reader, Writer });

impl Recorded for Seen {
    fn write(&self) -> Value {
        match self {
            Self::Ping(outcome) => object([("ping", outcome.write())]),
            Self::ReadOnly(check, outcome) => object([("read_only", write_pair(check, outcome))]),
            Self::Gtids(outcome) => object([("gtids", outcome.write())]),
            Self::Lag(hostgroup, outcome) => object([("lag", write_pair(hostgroup, outcome))]),
            Self::Group(outcome) => object([("group", outcome.write())]),
            Self::Galera(outcome) => object([("galera", outcome.write())]),
            Self::Aurora(writer, outcome) => object([("aurora", write_pair(writer, outcome))]),
            Self::Rds(outcome) => object([("rds", outcome.write())]),
        }
    }

    fn read(value: &Value) -> Result<Self, String> {
        let (name, value) = variant(value)?;
        match name {
            "ping" => Recorded::read(value).map(Self::Ping),
            "read_only" => <(_, _)>::read(value).map(|(check, out)| Self::ReadOnly(check, out)),
            "gtids" => Recorded::read(value).map(Self::Gtids),
            "lag" => <(_, _)>::read(value).map(|(hostgroup, out)| Self::Lag(hostgroup, out)),
            "group" => Recorded::read(value).map(Self::Group),
            "galera" => Recorded::read(value).map(Self::Galera),
            "aurora" => <(_, _)>::read(value).map(|(writer, out)| Self::Aurora(writer, out)),
            "rds" => Recorded::read(value).map(Self::Rds),
            other => Err(format!("`{other}` is no kind of report")),
        }
        .map_err(|why| format!("`{name}`: {why}"))
    }
}

fn write_pair(one: &impl Recorded, other: &impl Recorded) -> Value {
    Value::Array(vec![one.write(), other.write()])
}

/// What a check came to.
impl<T: Recorded> Recorded for Result<T, Failure> {
    fn write(&self) -> Value {
        match self {
            Ok(answer) => object([("ok", answer.write())]),
            Err(failure) => failure.write(),
        }
    }

    fn read(value: &Value) -> Result<Self, String> {
        match value.get("ok") {
            Some(answer) => T::read(answer).map(Ok),
            None => Failure::read(value).map(Err),
        }
    }
}

impl Recorded for Failure {
    fn write(&self) -> Value {
        match self {
            Self::NoAnswer => "no_answer".into(),
            Self::Error(code) => object([("error", code.write())]),
            Self::OwnDelay => "own_delay".into(),
        }
    }

    fn read(value: &Value) -> Result<Self, String> {
        match variant(value)? {
            ("no_answer", _) => Ok(Self::NoAnswer),
            ("error", code) => u16::read(code).map(Self::Error),
            ("own_delay", _) => Ok(Self::OwnDelay),
            _ => Err(wanted("`ok`, `error`, `no_answer` or `own_delay`", value)),
        }
    }
}

impl Recorded for Lag {
    fn write(&self) -> Value {
        match self {
            Self::NoReplica => "no_replica".into(),
            Self::Unknown => "unknown".into(),
            Self::Micros(lag_us) => object([("us", lag_us.write())]),
        }
    }

    fn read(value: &Value) -> Result<Self, String> {
        match variant(value)? {
            ("no_replica", _) => Ok(Self::NoReplica),
            ("unknown", _) => Ok(Self::Unknown),
            ("us", lag_us) => u64::read(lag_us).map(Self::Micros),
            _ => Err(wanted("`us`, `unknown` or `no_replica`", value)),
        }
    }
}

impl Recorded for Stand {
    fn write(&self) -> Value {
        match self {
            Self::Well => "well".into(),
            Self::Silent => "silent".into(),
            Self::Lagging { lag_us } => object([("lagging_us", lag_us.write())]),
            Self::Slow { latency_us } => object([("slow_us", latency_us.write())]),
            Self::Behind => "behind".into(),
            Self::FarBehind => "far_behind".into(),
            Self::Surplus => "surplus".into(),
            Self::Leaving => "leaving".into(),
            Self::Astray => "astray".into(),
            Self::Outdone => "outdone".into(),
        }
    }

    fn read(value: &Value) -> Result<Self, String> {
        Ok(match variant(value)? {
            ("well", _) => Self::Well,
            ("silent", _) => Self::Silent,
            ("lagging_us", lag_us) => Self::Lagging { lag_us: u64::read(lag_us)? },
            ("slow_us", latency_us) => Self::Slow { latency_us: u64::read(latency_us)? },
            ("behind", _) => Self::Behind,
            ("far_behind", _) => Self::FarBehind,
            ("surplus", _) => Self::Surplus,
            ("leaving", _) => Self::Leaving,
            ("astray", _) => Self::Astray,
            ("outdone", _) => Self::Outdone,
            (other, _) => return Err(format!("`{other}` is no way to stand")),
        })
    }
}

impl Recorded for PlacementRole {
    fn write(&self) -> Value {
        match self {
            Self::AsTyped => "as_typed".into(),
            Self::Promoted { reads } => object([("promoted_reads", reads.write())]),
            Self::Demoted => "demoted".into(),
        }
    }

    fn read(value: &Value) -> Result<Self, String> {
        Ok(match variant(value)? {
            ("as_typed", _) => Self::AsTyped,
            ("promoted_reads", reads) => Self::Promoted { reads: bool::read(reads)? },
            ("demoted", _) => Self::Demoted,
            (other, _) => return Err(format!("`{other}` is no role")),
        })
    }
}

/// The columns that differ from their defaults. Secret ones are never written.
impl Recorded for ServerRow {
    fn write(&self) -> Value {
        let default = Self::default();
        let columns = Self::TABLE.columns.iter().zip(Self::FIELDS);
        let told = columns.filter_map(|(column, field)| {
            let cell = (field.get)(self);
            let is_told = !column.secret && cell != (field.get)(&default);
            is_told.then(|| (column.name, write_cell(cell)))
        });
        object(told)
    }

    fn read(value: &Value) -> Result<Self, String> {
        let members = value.as_object().ok_or_else(|| wanted("an object", value))?;
        let mut row = Self::default();
        for (name, value) in members {
            let mut columns = Self::TABLE.columns.iter().zip(Self::FIELDS);
            let found = columns.find(|(column, _): &(&Column, _)| column.name == name);
            let (_, field) = found.ok_or_else(|| format!("`{name}` is no column of a server"))?;
            let set = read_cell(value).and_then(|cell| (field.set)(&mut row, cell));
            set.map_err(|why| format!("`{name}`: {why}"))?;
        }
        Ok(row)
    }
}

fn write_cell(cell: Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Int(number) => number.into(),
        Cell::Text(_) | Cell::Bytes(_) => cell.shown().into(),
    }
}

fn read_cell(value: &Value) -> Result<Cell, String> {
    match value {
        Value::Null => Ok(Cell::Null),
        Value::String(text) => Ok(Cell::Text(text.clone())),
        value => i64::read(value).map(Cell::Int),
    }
}

impl Recorded for Keeper {
    fn write(&self) -> Value {
        let Self {
            wanted,
            known: _,
            facts,
            roles,
            lags,
            members,
            instances,
            decided,
            typed,
            deposed,
            contests,
            found,
        } = self;
        object([
            ("wanted", wanted.write()),
            ("facts", facts.write()),
            ("roles", roles.write()),
            ("lags", lags.write()),
            ("members", members.write()),
            ("instances", instances.write()),
            ("decided", decided.write()),
            ("typed", typed.write()),
            ("deposed", deposed.write()),
            ("contests", contests.write()),
            ("found", found.write()),
        ])
    }

    fn read(value: &Value) -> Result<Self, String> {
        let wanted: Wanted = member(value, "wanted")?;
        Ok(Self {
            known: wanted.servers.iter().map(Endpoint::of).collect(),
            wanted,
            facts: member(value, "facts")?,
            roles: member(value, "roles")?,
            lags: member(value, "lags")?,
            members: member(value, "members")?,
            instances: member(value, "instances")?,
            decided: member(value, "decided")?,
            typed: member(value, "typed")?,
            deposed: member(value, "deposed")?,
            // a version before had none
            contests: member::<Option<_>>(value, "contests")?.unwrap_or_default(),
            found: member(value, "found")?,
        })
    }
}
