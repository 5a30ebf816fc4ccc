//! Statistics as one JSON document, for scripts and for operators without an admin interface.
//!
//! Tables and columns have the names by which ProxySQL's admin interface knows them.

use std::cmp::Reverse;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use engine::rules::RuleSet;
use engine::stats::{CommandRow, DigestRow, Parts, Totals};
use serde_json::{Map, Value, json};

use crate::collector::{Collector, Found};

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

    /// Writes a report now; these rules are in force.
    pub(crate) fn report(&mut self, rules: &RuleSet) {
        let parts = Parts { digests: true, commands: true, ..Parts::default() };
        // a collector is whole between its calls, whatever happened to the thread that held it
        let mut collector = self.collector.lock().unwrap_or_else(PoisonError::into_inner);
        let found = collector.collect(parts, LIMIT);
        drop(collector);
        let slow_patterns = rules.slow_patterns().iter().map(ToString::to_string);
        let document = document(&found, &slow_patterns.collect::<Vec<_>>(), unix_us());
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
fn document(found: &Found, slow_patterns: &[String], unix_us: u64) -> Value {
    let collected = &found.collected;
    let clock = Clock { unix_us, now_us: collected.now_us };
    let hits = collected.rule_hits.iter();
    let (evicted, evictions) = collected.digests.evicted();
    let mut digests: Vec<DigestRow<'_>> = collected.digests.rows().collect();
    let mut all = evicted.clone();
    digests.iter().for_each(|row| {
        all.merge(row.totals);
    });
    let known = digests.len();
    digests.sort_by_key(|row| (Reverse(row.totals.sum_time_us), row.digest));
    digests.truncate(DIGESTS_MAX);
    let commands = collected.commands.rows().map(|(class, row)| command(class.name(), row));
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
        "stats_mysql_query_rules": hits
            .map(|(rule_id, rule)| json!({ "rule_id": rule_id, "hits": rule.hits,
                "limit_hits": rule.limit_hits }))
            .collect::<Vec<Value>>(),
        "slow_patterns": slow_patterns,
        "Query_Processor_time_nsec": collected.processor_ns,
        "stats_mysql_commands_counters": commands.collect::<Vec<Value>>(),
        "stats_mysql_query_digest": digests.iter().map(|row| clock.digest(row))
            .collect::<Vec<Value>>(),
        "digests_known": known,
        "digests_all": clock.totals(&all),
        "digests_evicted": evictions,
        "digests_evicted_all": clock.totals(evicted),
    })
}

/// How the loops' clock relates to the calendar.
struct Clock {
    unix_us: u64,
    now_us: u64,
}

impl Clock {
    fn digest(&self, row: &DigestRow<'_>) -> Value {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut columns = self.totals(row.totals);
        for (name, value) in [
            ("hostgroup", row.hostgroup.map_or(json!(-1), |hostgroup| json!(hostgroup.0))),
            ("schemaname", text(row.schema).into()),
            ("username", text(row.user).into()),
            ("client_address", text(row.client).into()),
            ("digest", format!("0x{:016X}", row.digest).into()),
            ("digest_text", text(row.text).into()),
        ] {
            columns.insert(name.to_owned(), value);
        }
        columns.into()
    }

    fn totals(&self, totals: &Totals) -> Map<String, Value> {
        [
            ("count_star", totals.count),
            ("first_seen", self.unix_sec(totals.first_seen_us)),
            ("last_seen", self.unix_sec(totals.last_seen_us)),
            ("sum_time", totals.sum_time_us),
            ("min_time", totals.min_time_us),
            ("max_time", totals.max_time_us),
            ("sum_rows_affected", totals.rows_affected),
            ("sum_rows_sent", totals.rows_sent),
            ("p50_time", totals.quantile_us(0.50)),
            ("p95_time", totals.quantile_us(0.95)),
            ("p99_time", totals.quantile_us(0.99)),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect()
    }

    fn unix_sec(&self, at_us: u64) -> u64 {
        let ago_us = self.now_us.saturating_sub(at_us);
        self.unix_us.saturating_sub(ago_us) / 1_000_000
    }
}

fn command(name: &str, row: &CommandRow) -> Value {
    let mut columns = Map::new();
    columns.insert("Command".to_owned(), name.into());
    columns.insert("Total_Time_us".to_owned(), row.time_us.into());
    columns.insert("Total_cnt".to_owned(), row.count.into());
    for (name, count) in BUCKETS.iter().zip(row.buckets) {
        columns.insert((*name).to_owned(), count.into());
    }
    columns.into()
}

fn unix_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Columns of `stats_mysql_commands_counters` in the order of the buckets.
const BUCKETS: [&str; 12] = [
    "cnt_100us",
    "cnt_500us",
    "cnt_1ms",
    "cnt_5ms",
    "cnt_10ms",
    "cnt_50ms",
    "cnt_100ms",
    "cnt_500ms",
    "cnt_1s",
    "cnt_5s",
    "cnt_10s",
    "cnt_INFs",
];

/// Most rows by digest in a report: those that took the most time.
const DIGESTS_MAX: usize = 1000;

/// Time the workers have to answer.
const LIMIT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use engine::ids::HostgroupId;
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
        let found = Found { collected, answered: 1, workers: 1 };
        let told = document(&found, &["rule 7: slow".to_owned()], 1_700_000_000_000_000);
        assert_eq!(told["counters"]["queries"], 2);
        let rules = json!([{ "rule_id": 7, "hits": 2, "limit_hits": 1 }]);
        assert_eq!(told["stats_mysql_query_rules"], rules);
        assert_eq!(told["slow_patterns"], json!(["rule 7: slow"]));
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
