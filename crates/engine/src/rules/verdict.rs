//! What the rules decided about a query: one field for each column that acts.

use std::sync::Arc;

use crate::ids::HostgroupId;
use crate::json;

/// The outcome of a chain of rules; `None` where no matching rule said anything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RuleVerdict {
    /// Hostgroup the query goes to.
    pub destination: Option<HostgroupId>,
    /// Milliseconds for which the result is cached.
    pub cache_ttl_ms: Option<u32>,
    /// Whether an empty result is cached too.
    pub cache_empty_result: Option<bool>,
    /// What ends an answer beside its time.
    pub invalidation: Option<Invalidation>,
    /// Milliseconds after which the query is killed.
    pub timeout_ms: Option<u32>,
    /// Times the query is run again after a failure.
    pub retries: Option<u32>,
    /// Milliseconds the query waits before it is run.
    pub delay_ms: Option<u32>,
    /// Flag that the chain of the session's next query begins with.
    pub next_query_flag_in: Option<u32>,
    /// Flag that the chain of the mirrored copy begins with.
    pub mirror_flag_out: Option<u32>,
    /// Hostgroup of the mirrored copy.
    pub mirror_hostgroup: Option<HostgroupId>,
    /// The query is answered with this error.
    pub error_msg: Option<Arc<str>>,
    /// The query is answered with OK and this text; wins over `error_msg`.
    pub ok_msg: Option<Arc<str>>,
    /// What becomes of sharing the connection.
    pub multiplex: Option<Multiplex>,
    /// The server must have what this session last wrote in that hostgroup.
    pub gtid_from_hostgroup: Option<HostgroupId>,
    /// Whether the query is logged.
    pub log: Option<bool>,
    /// Commands of several sessions that its connection may carry.
    pub pipeline_depth: Option<u32>,
    /// Whether those who ask the same at the same time share an answer; without a time for which
    /// it is cached, only an answer to a statement that was sent after all of them had asked.
    pub coalesce: Option<bool>,
    /// Milliseconds for which a cached result may be told beyond its time where no server can
    /// answer; 0 for none.
    pub serve_stale_ms: u32,
    /// The chain's flag at its end.
    pub flag: u32,
    /// Whether a rule with `apply=1` ended the evaluation.
    pub applied: bool,
    /// Whether the text was rewritten; the new one is in the scratch.
    pub rewritten: bool,
}

/// Made and moved for each query: of this size that takes no call.
const _: () = assert!(size_of::<RuleVerdict>() <= 128);

/// What ends a cached answer beside its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalidation {
    /// A change of a table that it reads, as the servers' binary logs tell; nothing is cached
    /// while they cannot be followed.
    Binlog,
    /// The same, but for times when they cannot be followed.
    BinlogOrTtl,
}

impl Invalidation {
    /// What a column that holds JSON says of it.
    pub(crate) fn of(text: &str) -> Result<Option<Self>, String> {
        let words = [("binlog", Self::Binlog), ("binlog_or_ttl", Self::BinlogOrTtl)];
        json::word(text, "invalidate", &words)
    }
}

/// What a rule says about sharing the connection that a query runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Multiplex {
    /// 0: the session keeps its connection from here on.
    Off,
    /// 1: the connection may be shared again.
    On,
    /// 2: a `@` in this query is no reason to keep the connection.
    IgnoreVariables,
}
