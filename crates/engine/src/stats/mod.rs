//! Statistics of one worker, written by nobody else: no sharing, no atomics, no locks.
//!
//! Whoever reads them asks each worker for its share and adds the shares up.

mod collected;
mod commands;
mod counters;
mod digests;
mod index;
mod interner;
mod latencies;
mod page;
mod totals;

use sql::CommandClass;

pub use collected::{Collected, DigestShare, Parts, RuleHits, Share};
pub use commands::{BOUNDS_US, CommandCounters, CommandRow};
pub use counters::Counters;
pub use digests::{DigestRow, DigestStats};
pub use latencies::Latencies;
pub use page::DigestPage;
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
}

impl QueryStats {
    /// Nothing counted yet; `secret` is a random number.
    pub fn new(vars: &Vars, secret: u64) -> Self {
        let bytes_max = vars.query_digests_memory_bytes_max / u64::from(vars.threads.max(1));
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        Self { digests: DigestStats::new(bytes_max, secret), commands: CommandCounters::default() }
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
