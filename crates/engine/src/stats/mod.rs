//! Statistics of one worker, written by nobody else: no sharing, no atomics, no locks.
//!
//! Whoever reads them asks each worker for its share and adds the shares up.

mod counters;

pub use counters::Counters;

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
    /// From the moment the command was whole to the end of its answer, in microseconds.
    pub elapsed_us: u64,
    /// Rows that it changed.
    pub rows_affected: u64,
    /// Rows that went to the client.
    pub rows_sent: u64,
}

/// What queries came to on one worker.
#[derive(Default, Debug)]
pub struct QueryStats {
    count: u64,
}

impl QueryStats {
    /// Counts a query that ended at `now_us`, as far as the variables ask for it.
    pub fn record(&mut self, _vars: &Vars, _now_us: u64, _end: &QueryEnd<'_>) {
        self.count += 1;
    }
}
