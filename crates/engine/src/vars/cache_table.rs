//! Rows of the registry: the query cache.
//!
//! Data only; what a row means is in the parent module.

use super::{Kind, Unit, Variable, int, mysql};

/// The rows.
pub(super) const ROWS: &[Variable] = &[
    mysql("query_cache_size_MB", int(0, 10_485_760), "256", "Memory that cached results may take.")
        .unit(Unit::Mebibytes),
    mysql(
        "query_cache_soft_ttl_pct",
        int(0, 100),
        "0",
        "Share of its lifetime after which one session refreshes a cached result.",
    )
    .unit(Unit::Percent),
    mysql(
        "query_cache_handle_warnings",
        int(0, 1),
        "0",
        "1 also caches results that came with warnings.",
    ),
    mysql(
        "query_cache_stores_empty_result",
        Kind::Bool,
        "true",
        "Whether results without rows are cached.",
    ),
];
