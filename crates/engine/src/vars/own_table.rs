//! Rows of the registry: what only Tidegate has.
//!
//! Data only; what a row means is in the parent module.

use super::{Effect, Unit, Variable, int, mysql};

/// The rows.
pub(super) const ROWS: &[Variable] = &[
    mysql(
        "listen_backlog",
        int(1, 65_535),
        "4096",
        "Connections that may wait to be accepted on each listening socket.",
    )
    .acts(Effect::Restart),
    mysql(
        "shutdown_timeout_ms",
        int(0, 3_600_000),
        "30000",
        "Time sessions have to end their transactions when Tidegate is told to stop.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "query_digests_memory_bytes_max",
        int(1 << 20, 1 << 40),
        "67108864",
        "Memory for statistics by digest, shared out to the workers; what matters least goes first.",
    )
    .unit(Unit::Bytes)
    .acts(Effect::AtOnce),
    mysql(
        "max_connects_per_server",
        int(1, 100_000),
        "32",
        "New connections to one server that may be under way at a time.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "pipeline_depth",
        int(0, 1024),
        "16",
        "Commands of several sessions that one backend connection carries at a time; 0 for one.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "pipeline_stall_us",
        int(1000, 60_000_000),
        "30000",
        "Microseconds without a byte on a shared connection after which the commands behind the \
         first go elsewhere.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "pipeline_max_latency_us",
        int(1, 60_000_000),
        "5000",
        "Microseconds that a read may take to share a connection, and that those before it there \
         may take together.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "pipeline_max_reply_bytes",
        int(64, 1 << 30),
        "16384",
        "Largest replies of a read that may share a connection.",
    )
    .unit(Unit::Bytes)
    .acts(Effect::AtOnce),
    mysql(
        "pipeline_min_runs",
        int(1, 64),
        "4",
        "Runs of a read by itself before it may share a connection.",
    )
    .acts(Effect::AtOnce),
];
