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
];
