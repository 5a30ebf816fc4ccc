//! The tables of `monitor`: what each check of a server came to.

use engine::clusters;
use keeper::{Endpoint, Reason, StatusChange};
use monitor::{AuroraStatus, Check, CheckFound, Entry, ReplicaStatus};

use super::{LiveTable, Row, Seen, int, lock, text};
use crate::clock::calendar;
use crate::statistics::Value;

pub(super) const CONNECT: LiveTable =
    of("mysql_server_connect_log", |seen| rows(seen, Check::Connect, |_| Vec::new()));

pub(super) const PING: LiveTable =
    of("mysql_server_ping_log", |seen| rows(seen, Check::Ping, |_| Vec::new()));

pub(super) const READ_ONLY: LiveTable = of("mysql_server_read_only_log", |seen| {
    rows(seen, Check::ReadOnly(clusters::Check::ReadOnly), |found| {
        vec![match found {
            Some(CheckFound::ReadOnly(Some(read_only))) => flag(*read_only),
            _ => Value::Null,
        }]
    })
});

pub(super) const LAG: LiveTable = of("mysql_server_replication_lag_log", |seen| {
    rows(seen, Check::Lag(None), |found| {
        vec![match found {
            Some(CheckFound::Lag(Some(seconds))) => int(*seconds),
            _ => Value::Null,
        }]
    })
});

pub(super) const GROUP: LiveTable = of("mysql_server_group_replication_log", |seen| {
    rows(seen, Check::Group, |found| match found {
        Some(CheckFound::Group(member)) => {
            vec![yes(member.is_viable), yes(member.read_only), int(member.behind)]
        }
        _ => vec![yes(false), yes(true), int(0)],
    })
});

pub(super) const GALERA: LiveTable = of("mysql_server_galera_log", |seen| {
    rows(seen, Check::Galera, |found| match found {
        Some(CheckFound::Galera(member)) => vec![
            yes(member.is_primary),
            yes(member.read_only),
            int(member.behind),
            int(member.local_state),
            yes(member.desync),
            yes(member.rejects_queries),
            yes(member.donor_rejects),
            yes(member.in_maintenance),
        ],
        _ => {
            let [no, none] = [yes(false), int(0)];
            vec![no.clone(), yes(true), none.clone(), none, no.clone(), no.clone(), no.clone(), no]
        }
    })
});

pub(super) const AURORA: LiveTable = of("mysql_server_aws_aurora_log", |seen| {
    let Some(runtime) = seen.runtime else { return Vec::new() };
    let logs = runtime.logs();
    let logs = lock(&logs);
    let rows_of = |entry: &Entry| -> Vec<Row> {
        let told = |error: Value, of_server: [Value; 6]| {
            let [host, port, began, took] = of_check(entry);
            let mut row = vec![host, port, began, took, error];
            row.extend(of_server);
            row
        };
        let replicas = match &entry.found {
            Ok(CheckFound::Aurora(replicas)) => replicas,
            Ok(_) => return Vec::new(),
            Err(reason) => {
                let of_server = [text(""), Value::Null, Value::Null, int(0), int(0), int(0)];
                return vec![told(text(&**reason), of_server)];
            }
        };
        let of_server = |it: &ReplicaStatus| {
            [
                text(it.instance.server_id.as_str()),
                text(&*it.session_id),
                text(&*it.updated),
                int(it.instance.lag_ms),
                int(it.estimated_lag_ms),
                int(it.cpu),
            ]
        };
        replicas.iter().map(|it| told(Value::Null, of_server(it))).collect()
    };
    logs.of(Check::Aurora(0)).flat_map(rows_of).collect()
});

pub(super) const AURORA_STATUS: LiveTable = of("mysql_server_aws_aurora_check_status", |seen| {
    let Some(runtime) = seen.runtime else { return Vec::new() };
    let logs = runtime.logs();
    let logs = lock(&logs);
    let row = |((writer, server), status): (&(i64, Endpoint), &AuroraStatus)| {
        vec![
            int(*writer),
            text(server.hostname.as_str()),
            int(server.port),
            text(at(status.asked_unix_us)),
            int(status.counts.ok + status.counts.failed),
            int(status.counts.ok),
            status.last_error.as_deref().map_or(Value::Null, text),
        ]
    };
    logs.aurora().map(row).collect()
});

pub(super) const AURORA_FAILOVERS: LiveTable = of("mysql_server_aws_aurora_failovers", |seen| {
    let Some(runtime) = seen.runtime else { return Vec::new() };
    let logs = runtime.logs();
    let logs = lock(&logs);
    let row = |event: &StatusChange| {
        let is_its =
            matches!(&event.reason, Reason::AuroraWriter { writer } if *writer == event.server);
        let came = event.from.is_none() && is_its;
        let cluster = seen.snapshot.clusters.find_aurora(event.hostgroup);
        cluster.filter(|_| came).map(|cluster| {
            vec![int(cluster.writer), text(event.server.hostname.as_str()), text(at(event.at_us))]
        })
    };
    logs.events().filter_map(row).collect()
});

const fn of(name: &'static str, rows: fn(&Seen<'_>) -> Vec<Row>) -> LiveTable {
    LiveTable { name, parts: None, rows }
}

/// One row for each check of that kind: `columns` are between its time and its error.
fn rows(
    seen: &Seen<'_>,
    check: Check,
    columns: impl Fn(Option<&CheckFound>) -> Vec<Value>,
) -> Vec<Row> {
    let Some(runtime) = seen.runtime else { return Vec::new() };
    let logs = runtime.logs();
    let logs = lock(&logs);
    let row = |entry: &Entry| {
        let mut row = of_check(entry).to_vec();
        row.extend(columns(entry.found.as_ref().ok()));
        row.push(match &entry.found {
            Ok(_) => Value::Null,
            Err(reason) => text(&**reason),
        });
        row
    };
    logs.of(check).map(row).collect()
}

/// A time in microseconds since 1970, as it is read.
fn at(unix_us: u64) -> String {
    calendar(i64::try_from(unix_us / 1_000_000).unwrap_or(i64::MAX))
}

/// The columns that all logs have: the server that was asked, and when.
fn of_check(entry: &Entry) -> [Value; 4] {
    let Entry { server, began_unix_us, took_us, .. } = entry;
    let name = text(server.hostname.as_str());
    [name, int(server.port), int(*began_unix_us), int(took_us.unwrap_or(0))]
}

fn yes(is: bool) -> Value {
    text(if is { "YES" } else { "NO" })
}

fn flag(is: bool) -> Value {
    int(i64::from(is))
}
