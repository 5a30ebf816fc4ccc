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
];
