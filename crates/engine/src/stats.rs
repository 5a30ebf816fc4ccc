//! Statistics of one worker, which alone writes them: no sharing, no atomics, no locks.
//!
//! A reader asks each worker for its share and adds the shares up.

mod cached;
mod collected;
mod commands;
mod counters;
mod digests;
mod errors;
mod index;
mod interner;
mod latencies;
mod page;
mod repeats;
mod rows;
mod servers;
mod statements;
mod totals;

use sql::CommandClass;

pub use cached::{CacheRow, CacheStats};
pub use collected::{Collected, DigestShare, Parts, RuleHits, Share, Walk};
pub use commands::{BOUNDS_US, CommandCounters, CommandRow};
pub use counters::{Counters, HoldCounts, Overall};
pub use digests::{DigestRow, DigestStats};
pub use errors::{ErrorRow, ErrorSource, ErrorStats};
pub use latencies::Latencies;
pub use page::DigestPage;
pub use repeats::{LookedAt, ReadAsked, RepeatKey, RepeatRow, RepeatRows, Repeats, TTLS_MS};
pub use rows::{
    LaneRow, LogStreamRow, PoolPage, RedirectRow, SessionLane, SessionPage, SessionRow,
};
pub use servers::{ServerCounters, ServerShare, ServerStats, Servers, Traffic};
pub use statements::{StmtCounts, StmtRow, StmtRows};
pub use totals::Totals;

use crate::ids::HostgroupId;
use crate::vars::Vars;

/// What became of one query, told once when it has ended, however it ended.
///
/// Of the default only what is known needs to be overridden.
#[derive(Clone, Copy, Default, Debug)]
pub struct QueryEnd<'a> {
    /// Where it ran; `None` when the proxy answered it itself.
    pub hostgroup: Option<HostgroupId>,
    /// User name of the session.
    pub user: &'a [u8],
    /// Schema that the query began in; empty for none.
    pub schema: &'a [u8],
    /// Address of the client, without its port.
    pub client: &'a [u8],
    /// Hash of the digest text; `None` when no digest was computed.
    pub digest: Option<u64>,
    /// The digest text itself; only looked at when its hash is new.
    pub digest_text: &'a [u8],
    /// What kind of statement it was; `None` when it has no text.
    pub class: Option<CommandClass>,
    /// From the moment the command was whole to the end of its answer, in microseconds.
    pub elapsed_us: u64,
    /// Rows that it changed.
    pub rows_affected: u64,
    /// Rows that went to the client.
    pub rows_sent: u64,
}

/// What queries came to on one worker.
#[derive(Clone, Debug)]
pub struct QueryStats {
    /// By digest.
    pub digests: DigestStats,
    /// By class of statement.
    pub commands: CommandCounters,
    /// Errors of servers.
    pub errors: ErrorStats,
    /// What the cache came to.
    pub cached: CacheStats,
    /// How soon the same is asked again that the cache does not answer.
    pub repeats: Repeats,
}

impl QueryStats {
    /// Nothing counted yet; `secret` is a random number.
    pub fn new(vars: &Vars, secret: u64) -> Self {
        let digests = DigestStats::new(digest_bytes_max(vars), secret);
        let errors = ErrorStats::new(ERROR_ROWS_MAX, secret);
        let repeats = Repeats::new(vars.query_cache_sample, secret);
        let (commands, cached) = Default::default();
        Self { digests, commands, errors, cached, repeats }
    }

    /// These are the limits from now on.
    pub fn adopt(&mut self, vars: &Vars) {
        self.digests.set_bytes_max(digest_bytes_max(vars));
        self.repeats.set_every(vars.query_cache_sample);
    }

    /// Counts a query that ended at `now_us`, as far as the variables ask for it.
    pub fn record(&mut self, vars: &Vars, now_us: u64, end: &QueryEnd<'_>) {
        if vars.commands_stats
            && let Some(class) = end.class
        {
            self.commands.record(class, end.elapsed_us);
        }
        if vars.query_digests
            && let Some(digest) = end.digest
        {
            self.digests.record(now_us, digest, end, vars.query_digests_track_hostname);
        }
    }
}

/// Kinds of errors that a worker tells apart.
const ERROR_ROWS_MAX: usize = 1024;

/// One worker's share of the memory for digests.
fn digest_bytes_max(vars: &Vars) -> usize {
    let bytes_max = vars.query_digests_memory_bytes_max / u64::from(vars.threads.max(1));
    usize::try_from(bytes_max).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown of one query after another with these variables: digest rows by client
    /// address, and statements by class.
    fn shown(variables: &[(&str, &str)]) -> (Vec<(String, u64)>, u64) {
        let own = |(name, value): &(&str, &str)| (format!("mysql-{name}"), (*value).to_owned());
        let pairs: Vec<_> = variables.iter().map(own).collect();
        let vars = Vars::from_pairs(&pairs).expect("they are variables");
        let mut stats = QueryStats::new(&vars, 1);
        for client in ["10.0.0.1", "10.0.0.2", "10.0.0.2"] {
            let end = QueryEnd {
                client: client.as_bytes(),
                digest: Some(5),
                class: Some(sql::Verb::Select.into()),
                ..QueryEnd::default()
            };
            stats.record(&vars, 1, &end);
        }
        let client = |row: DigestRow<'_>| String::from_utf8_lossy(row.client).into_owned();
        let mut rows: Vec<_> =
            stats.digests.rows().map(|row| (client(row), row.totals.count)).collect();
        rows.sort();
        (rows, stats.commands.rows().map(|(_, row)| row.count).sum())
    }

    #[test]
    fn what_is_counted_is_what_the_variables_ask_for() {
        let together = vec![(String::new(), 3)];
        assert_eq!(shown(&[]), (together.clone(), 3));
        assert_eq!(shown(&[("commands_stats", "false")]), (together, 0));
        assert_eq!(shown(&[("query_digests", "false")]), (Vec::new(), 3));
        let apart = vec![("10.0.0.1".to_owned(), 1), ("10.0.0.2".to_owned(), 2)];
        assert_eq!(shown(&[("query_digests_track_hostname", "true")]), (apart, 3));
    }

    #[test]
    fn workers_share_the_memory_for_digests() {
        let rows = |threads: &str| {
            let pairs = [("query_digests_memory_bytes_max", "1048576"), ("threads", threads)];
            let pairs = pairs.map(|(name, value)| (format!("mysql-{name}"), value.to_owned()));
            let vars = Vars::from_pairs(&pairs).expect("they are variables");
            let mut stats = QueryStats::new(&vars, 1);
            for digest in 0..10_000 {
                let end = QueryEnd { digest: Some(digest), ..QueryEnd::default() };
                stats.record(&vars, 1, &end);
            }
            stats.digests.rows().count()
        };
        let (alone, one_of_four) = (rows("1"), rows("4"));
        assert!(one_of_four * 3 < alone && alone < one_of_four * 5, "{one_of_four} of {alone}");
    }
}
