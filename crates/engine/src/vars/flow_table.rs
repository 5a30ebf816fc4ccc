//! Rows of the registry: how much is held in memory and how fast it flows.
//!
//! Data only; what a row means is in the parent module.

use super::{Effect, Kind, Unit, Variable, int, mysql};

/// The rows.
pub(super) const ROWS: &[Variable] = &[
    mysql(
        "threshold_query_length",
        int(1024, 1_073_741_824),
        "524288",
        "Bytes of a query that are read for what it may do; the connection of a longer one is reset \
         before others get it.",
    )
    .unit(Unit::Bytes)
    .acts(Effect::AtOnce),
    mysql(
        "threshold_resultset_size",
        int(1024, 1_073_741_824),
        "4194304",
        "Result bytes held for a slow client before its server is made to wait; more than 65536 \
         count as 65536. Also the largest result that is cached.",
    )
    .unit(Unit::Bytes)
    .acts(Effect::AtOnce),
    mysql(
        "throttle_max_bytes_per_second_to_client",
        int(0, 2_147_483_647),
        "0",
        "Bytes a client is sent in a second at most, after compression and TLS; 0 sets no limit.",
    )
    .unit(Unit::Bytes)
    .acts(Effect::AtOnce),
    mysql(
        "throttle_ratio_server_to_client",
        int(0, 100),
        "0",
        "Share of a second's bytes that may wait for a client before its server is made to wait; 0 \
         leaves that to `mysql-threshold_resultset_size`.",
    )
    .unit(Unit::Percent)
    .acts(Effect::AtOnce),
    mysql(
        "sessions_sort",
        Kind::Bool,
        "true",
        "Whether sessions nearest to their limits are served first.",
    ),
    mysql(
        "session_idle_ms",
        int(1, 3_600_000),
        "1",
        "Idle time after which a session moves to an idle thread; Tidegate needs none.",
    )
    .unit(Unit::Milliseconds),
    mysql(
        "session_idle_show_processlist",
        Kind::Bool,
        "true",
        "Whether idle sessions are shown in the process list.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "show_processlist_extended",
        int(0, 2),
        "0",
        "How much the process list tells of each session.",
    )
    .acts(Effect::AtOnce),
];
