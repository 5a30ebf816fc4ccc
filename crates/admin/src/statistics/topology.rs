//! `stats_tidegate_topology`, `stats_tidegate_topology_events` and `stats_tidegate_switchovers`:
//! where servers stand and why, and how that came to be.

use engine::rows::ServerRow;
use engine::stats::Parts;
use failover::{FailoverStep, JournalEntry};
use keeper::{Endpoint, StatusChange};
use monitor::{Check, CheckFound, Logs};
use std::collections::BTreeMap;

use super::{LiveTable, Row, Seen, Value, int, lock, text};

pub(super) const TABLE: LiveTable =
    LiveTable { name: "stats_tidegate_topology", parts: Some(Parts::NONE), rows };

pub(super) const EVENTS: LiveTable =
    LiveTable { name: "stats_tidegate_topology_events", parts: None, rows: events };

pub(super) const SWITCHOVERS: LiveTable =
    LiveTable { name: "stats_tidegate_switchovers", parts: None, rows: switchovers };

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    let Some(runtime) = seen.runtime else { return Vec::new() };
    let logs = runtime.logs();
    let logs = lock(&logs);
    let (lags, last) = (lags(&logs), last_events(&logs));
    let row = |row: &ServerRow| {
        let server = Endpoint::of(row);
        let event = last.get(&(row.hostgroup_id, &server));
        let now_us = seen.collected.now_us;
        let found = seen.snapshot.topology.server_of(row);
        let status = match found {
            Some(server) if seen.snapshot.holds_back(server.hostgroup) => "HELD",
            Some(server) => server.state(now_us).told(),
            None => "",
        };
        vec![
            int(row.hostgroup_id),
            text(row.hostname.as_str()),
            int(row.port),
            text(seen.snapshot.clusters.role(row.hostgroup_id)),
            text(status),
            lags.get(&server).map_or(Value::Null, |seconds| int(*seconds)),
            runtime.latency_us(&server).map_or(Value::Null, int),
            event.map_or(Value::Null, |event| int(event.at_us / 1_000_000)),
            event.map_or(Value::Null, |event| text(event.reason.to_string())),
        ]
    };
    seen.snapshot.placed.iter().map(|placed| row(&placed.row)).collect()
}

/// How far servers were behind when that was last asked and known, in seconds.
fn lags(logs: &Logs) -> BTreeMap<Endpoint, u64> {
    let mut last = BTreeMap::new();
    for entry in logs.of(Check::Lag(None)).rev() {
        if !last.contains_key(&entry.server) {
            let lag = match entry.found {
                Ok(CheckFound::Lag(seconds)) => seconds,
                _ => None,
            };
            last.insert(entry.server.clone(), lag);
        }
    }
    last.into_iter().filter_map(|(server, lag)| Some((server, lag?))).collect()
}

/// What last happened to each server in each hostgroup.
fn last_events(logs: &Logs) -> BTreeMap<(i64, &Endpoint), &StatusChange> {
    logs.events().map(|event| ((event.hostgroup, &event.server), event)).collect()
}

fn events(seen: &Seen<'_>) -> Vec<Row> {
    let Some(runtime) = seen.runtime else { return Vec::new() };
    let logs = runtime.logs();
    let logs = lock(&logs);
    let first = logs.totals().changes - logs.events().count() as u64 + 1;
    let row = |(number, event): (u64, &StatusChange)| {
        let status = |status: &Option<String>| status.as_deref().map_or(Value::Null, text);
        vec![
            int(number),
            int(event.at_us),
            int(event.hostgroup),
            text(event.server.hostname.as_str()),
            int(event.server.port),
            status(&event.from),
            status(&event.to),
            text(event.reason.to_string()),
        ]
    };
    (first..).zip(logs.events()).map(row).collect()
}

fn switchovers(seen: &Seen<'_>) -> Vec<Row> {
    let Some(runtime) = seen.runtime else { return Vec::new() };
    let journal = runtime.switchovers();
    let journal = lock(&journal);
    let row = |entry: &JournalEntry| {
        let FailoverStep { server, what, outcome } = &entry.step;
        let (outcome, told) = match outcome {
            Ok(told) => ("OK", told),
            Err(why) => ("FAILED", why),
        };
        vec![
            int(entry.order),
            int(entry.at_us),
            int(entry.hostgroup),
            text(server.hostname.as_str()),
            int(server.port),
            text(what.as_str()),
            text(outcome),
            text(told.as_str()),
        ]
    };
    journal.entries().map(row).collect()
}
