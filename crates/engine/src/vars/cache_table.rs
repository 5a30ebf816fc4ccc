//! Rows of the registry: the query cache.
//!
//! Data only; what a row means is in the parent module.

use super::{Effect, Kind, Unit, Variable, int, mysql};

/// The rows.
pub(super) const ROWS: &[Variable] = &[
    mysql(
        "query_cache_size_MB",
        int(0, 10_485_760),
        "256",
        "Memory that cached results may take, with their keys; 0 caches nothing.",
    )
    .unit(Unit::Mebibytes)
    .acts(Effect::AtOnce),
    mysql(
        "query_cache_soft_ttl_pct",
        int(0, 100),
        "0",
        "Share of its lifetime after which one session refreshes a cached result.",
    )
    .unit(Unit::Percent)
    .acts(Effect::AtOnce),
    mysql(
        "query_cache_coalesce_wait_ms",
        int(0, 600_000),
        "1000",
        "How long a query waits for the answer to the same one that runs already; 0 for not at all.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "query_cache_handle_warnings",
        int(0, 1),
        "0",
        "1 also caches results that came with warnings, of which clients are then told nothing.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "query_cache_stores_empty_result",
        Kind::Bool,
        "true",
        "Whether results without rows are cached where the rule's `cache_empty_result` is NULL.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "query_cache_binlog_max_lag_ms",
        int(10, 3_600_000),
        "500",
        "How late changes may be seen in a server's binary log; beyond that no result is told that \
         rests on them.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "query_cache_sample",
        int(0, 1_000_000),
        "512",
        "One in so many queries that no rule caches is watched, for `TIDEGATE CACHE ADVICE`: 1 for \
         each, 0 for none.",
    )
    .acts(Effect::AtOnce),
];
