//! Statistics as one JSON document, for scripts and for operators without an admin interface.
//!
//! Tables and columns have the names by which ProxySQL's admin interface knows them.

use std::cmp::Reverse;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use admin::statistics::{self, OfInterface, Seen};
use engine::snapshot::Snapshot;
use engine::stats::Parts;
use monitor::Totals;
use serde_json::{Map, Value, json};

use crate::clock::unix_us;
use crate::collector::{Collector, WorkersTold};
use crate::publisher::Publisher;

/// Collects and writes reports.
pub(crate) struct Reporter {
    collector: Arc<Mutex<Collector>>,
    file: Option<PathBuf>,
}

impl Reporter {
    /// Writes what `collector` finds to `file`, or to the log.
    pub(crate) fn new(collector: Arc<Mutex<Collector>>, file: Option<&Path>) -> Self {
        Self { collector, file: file.map(Path::to_owned) }
    }

    /// Writes a report now, of what this has in force.
    pub(crate) fn report(&mut self, publisher: &Publisher) {
        let parts = Parts { digests: true, commands: true, servers: true, ..Parts::NONE };
        // a collector is whole between its calls, whatever happened to the thread that held it
        let mut collector = self.collector.lock().unwrap_or_else(PoisonError::into_inner);
        let found = collector.collect(parts, LIMIT);
        drop(collector);
        let in_force = (&*publisher.current(), publisher.checks());
        let document = document(&found, in_force, unix_us());
        let Some(file) = &self.file else {
            tracing::info!(statistics = %document, "statistics");
            return;
        };
        let written = OpenOptions::new().create(true).append(true).open(file).and_then(|mut to| {
            // one write, so that a reader sees whole lines
            to.write_all(format!("{document}\n").as_bytes())
        });
        match written {
            Ok(()) => tracing::info!(file = %file.display(), "statistics written"),
            Err(error) => tracing::warn!("cannot write {}: {error}", file.display()),
        }
    }
}

/// The report of what was found at this time of the calendar.
fn document(found: &WorkersTold, (snapshot, checks): (&Snapshot, Totals), unix_us: u64) -> Value {
    let collected = &found.collected;
    let pool_since = Mutex::default();
    let seen = Seen {
        collected,
        snapshot,
        unix_us,
        pool_since: &pool_since,
        checks,
        runtime: None,
        interface: OfInterface::default(),
        reset: false,
    };
    let hits = collected.rule_hits.iter();
    let (evicted, evictions) = collected.digests.evicted();
    let mut all = evicted.clone();
    collected.digests.rows().for_each(|row| {
        all.merge(row.totals);
    });
    let mut digests = table("stats_mysql_query_digest", &seen);
    digests.retain(|row| row["digest"] != NO_DIGEST);
    let known = digests.len();
    digests.sort_by_key(|row| (Reverse(row["sum_time"].as_u64()), row["digest"].to_string()));
    digests.truncate(DIGESTS_MAX);
    let slow_patterns = snapshot.rules.slow_patterns().iter().map(ToString::to_string);
    json!({
        "time_ms": unix_us / 1000,
        "workers": found.workers,
        "workers_answered": found.answered,
        "sessions": collected.sessions,
        "lanes": collected.lanes,
        "Mirror_concurrency": collected.mirrors,
        "Mirror_queue_length": collected.mirrors_queued,
        "counters": collected.counters.pairs().map(|(k, v)| (k.into(), v.into()))
            .collect::<Map<String, Value>>(),
        "held_for": collected.counters.holds.pairs().map(|(k, v)| (k.into(), v.into()))
            .collect::<Map<String, Value>>(),
        "stats_mysql_query_rules": hits
            .map(|(rule_id, rule)| json!({ "rule_id": rule_id, "hits": rule.hits,
                "limit_hits": rule.limit_hits }))
            .collect::<Vec<Value>>(),
        "slow_patterns": slow_patterns.collect::<Vec<_>>(),
        "Query_Processor_time_nsec": collected.processor_ns,
        "stats_mysql_commands_counters": table("stats_mysql_commands_counters", &seen),
        "stats_mysql_connection_pool": table("stats_mysql_connection_pool", &seen),
        "stats_mysql_query_digest": digests,
        "digests_known": known,
        "digests_all": object(statistics::digest_totals(&seen, &all)),
        "digests_evicted": evictions,
        "digests_evicted_all": object(statistics::digest_totals(&seen, evicted)),
    })
}

/// The rows of a table of the administrative interface.
fn table(name: &str, seen: &Seen<'_>) -> Vec<Value> {
    let Some((columns, rows)) = statistics::rows_of(name, seen) else { return Vec::new() };
    let row = |row: statistics::Row| object(columns.iter().copied().zip(row));
    rows.into_iter().map(row).collect()
}

fn object(pairs: impl IntoIterator<Item = (&'static str, statistics::Value)>) -> Value {
    let json = |value| match value {
        statistics::Value::Integer(number) => number.into(),
        statistics::Value::Real(number) => number.into(),
        statistics::Value::Text(text) => text.into(),
        statistics::Value::Blob(bytes) => String::from_utf8_lossy(&bytes).into(),
        statistics::Value::Null => Value::Null,
    };
    let pairs = pairs.into_iter().map(|(name, value)| (name.to_owned(), json(value)));
    pairs.collect::<Map<_, _>>().into()
}

/// The digest of a row that stands for others.
const NO_DIGEST: &str = "0x0000000000000000";

/// Most rows by digest in a report: those that took the most time.
const DIGESTS_MAX: usize = 1000;

/// Time the workers have to answer.
const LIMIT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use engine::ids::HostgroupId;
    use engine::snapshot::Draft;
    use engine::stats::{Collected, QueryEnd, RuleHits};

    use super::*;

    #[test]
    fn a_report_has_the_tables_by_their_names_with_times_of_the_calendar() {
        let mut collected = Collected { now_us: 90_000_000, ..Collected::default() };
        let end = QueryEnd {
            hostgroup: Some(HostgroupId(4)),
            user: b"app",
            schema: b"shop",
            digest_text: b"SELECT ?",
            elapsed_us: 250,
            rows_sent: 2,
            ..QueryEnd::default()
        };
        collected.digests.record(30_000_000, 0xab, &end, false);
        collected.digests.record(89_500_000, 0xab, &QueryEnd { elapsed_us: 750, ..end }, false);
        collected.commands.record(sql::command_class(&sql::facts(b"select 1")), 250);
        collected.rule_hits.insert(7, RuleHits { hits: 2, limit_hits: 1 });
        collected.counters.queries = 2;
        let found = WorkersTold { collected, answered: 1, workers: 1 };
        let draft = Draft::default();
        let snapshot = Snapshot::compile(&draft).expect("nothing is wrong in nothing");
        let told = document(&found, (&snapshot, Totals::default()), 1_700_000_000_000_000);
        assert_eq!(told["counters"]["queries"], 2);
        let rules = json!([{ "rule_id": 7, "hits": 2, "limit_hits": 1 }]);
        assert_eq!(told["stats_mysql_query_rules"], rules);
        assert_eq!(told["slow_patterns"], json!([]));
        let commands = told["stats_mysql_commands_counters"].as_array().expect("a table");
        let select = commands.iter().find(|row| row["Command"] == "SELECT").expect("a row");
        assert_eq!((&select["Total_cnt"], &select["cnt_500us"]), (&json!(1), &json!(1)));
        let row = json!({
            "hostgroup": 4, "schemaname": "shop", "username": "app", "client_address": "",
            "digest": "0x00000000000000AB", "digest_text": "SELECT ?", "count_star": 2,
            "first_seen": 1_699_999_940, "last_seen": 1_699_999_999, "sum_time": 1000,
            "min_time": 250, "max_time": 750, "sum_rows_affected": 0, "sum_rows_sent": 4,
            "p50_time": 250, "p95_time": 750, "p99_time": 750,
        });
        let mut told_row = told["stats_mysql_query_digest"][0].clone();
        for percentile in ["p50_time", "p95_time", "p99_time"] {
            let (told, truth) = (told_row[percentile].as_u64(), row[percentile].as_u64());
            let (told, truth) = (told.expect("a number"), truth.expect("a number"));
            assert!(told.abs_diff(truth) * 16 <= truth, "{percentile}: {told} for {truth}");
            told_row[percentile] = truth.into();
        }
        assert_eq!(told_row, row);
        assert_eq!(told["digests_all"]["count_star"], 2);
        assert_eq!(told["digests_evicted"], 0);
    }
}
