//! Rows of the registry: checks of the servers.
//!
//! Data only; what a row means is in the parent module.

use super::{Effect, Kind, Unit, Variable, int, mysql};

/// The rows.
pub(super) const ROWS: &[Variable] = &[
    mysql("monitor_enabled", Kind::Bool, "true", "Whether servers are checked at all.")
        .acts(Effect::AtOnce),
    mysql("monitor_username", Kind::Text, "monitor", "Account the checks use on every server.")
        .acts(Effect::AtOnce),
    mysql("monitor_password", Kind::Text, "monitor", "Password of that account, in clear text.")
        .secret()
        .acts(Effect::AtOnce),
    mysql(
        "monitor_history",
        int(1000, 604_800_000),
        "7200000",
        "Age up to which results of checks are kept.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "monitor_connect_interval",
        int(100, 604_800_000),
        "120000",
        "Pause between connect checks.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql("monitor_connect_timeout", int(100, 600_000), "600", "Time a connect check may take.")
        .unit(Unit::Milliseconds)
        .acts(Effect::AtOnce),
    mysql("monitor_ping_interval", int(100, 604_800_000), "8000", "Pause between pings.")
        .unit(Unit::Milliseconds)
        .acts(Effect::AtOnce),
    mysql("monitor_ping_timeout", int(100, 600_000), "1000", "Time a ping may take.")
        .unit(Unit::Milliseconds)
        .acts(Effect::AtOnce),
    mysql(
        "monitor_ping_max_failures",
        int(1, 1_000_000),
        "3",
        "Missed pings after which a server is shunned.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "monitor_read_only_interval",
        int(100, 604_800_000),
        "1000",
        "Pause between checks of read_only.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "monitor_read_only_timeout",
        int(100, 600_000),
        "800",
        "Time a check of read_only may take.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "monitor_read_only_max_timeout_count",
        int(1, 1_000_000),
        "3",
        "Timeouts in a row after which a server counts as read-only.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "monitor_replication_lag_interval",
        int(100, 604_800_000),
        "10000",
        "Pause between checks of replication lag.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "monitor_replication_lag_timeout",
        int(100, 600_000),
        "1000",
        "Time a check of replication lag may take.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "monitor_replication_lag_count",
        int(1, 10),
        "1",
        "Bad lag checks in a row after which a server is left out.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "monitor_replication_lag_group_by_host",
        Kind::Bool,
        "false",
        "Whether a server in several hostgroups is checked for lag only once.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "monitor_replication_lag_use_percona_heartbeat",
        Kind::Text,
        "",
        "Heartbeat table as schema.table; empty asks the replica itself.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "monitor_slave_lag_when_null",
        int(0, 604_800),
        "60",
        "Lag assumed of a replica that does not know its own.",
    )
    .unit(Unit::Seconds)
    .acts(Effect::AtOnce),
    mysql(
        "monitor_groupreplication_healthcheck_interval",
        int(100, 604_800_000),
        "5000",
        "Pause between checks of Group Replication.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "monitor_groupreplication_healthcheck_timeout",
        int(100, 600_000),
        "800",
        "Time a check of Group Replication may take.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "monitor_groupreplication_healthcheck_max_timeout_count",
        int(1, 10),
        "3",
        "Timeouts in a row after which a member is taken offline.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "monitor_groupreplication_max_transactions_behind_count",
        int(1, 10),
        "3",
        "Checks in a row that a member may be too far behind.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "monitor_groupreplication_max_transactions_behind_for_read_only",
        int(0, 2),
        "1",
        "Members whose backlog counts: 0 writers, 1 readers, 2 both.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "monitor_galera_healthcheck_interval",
        int(50, 604_800_000),
        "5000",
        "Pause between checks of Galera.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "monitor_galera_healthcheck_timeout",
        int(50, 600_000),
        "800",
        "Time a check of Galera may take.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "monitor_galera_healthcheck_max_timeout_count",
        int(1, 10),
        "3",
        "Timeouts in a row after which a Galera server is taken offline.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "monitor_aws_rds_topology_discovery_interval",
        int(0, 100_000),
        "0",
        "Read-only checks between two looks at the RDS topology; 0 never looks.",
    )
    .acts(Effect::AtOnce),
    mysql("monitor_query_interval", int(100, 604_800_000), "60000", "A pause that no check uses.")
        .unit(Unit::Milliseconds),
    mysql("monitor_query_timeout", int(100, 600_000), "100", "A time limit that no check uses.")
        .unit(Unit::Milliseconds),
    mysql(
        "monitor_wait_timeout",
        Kind::Bool,
        "true",
        "Whether connections of the checks set a wait_timeout on the server.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "monitor_writer_is_also_reader",
        Kind::Bool,
        "true",
        "Whether a server that becomes writer stays in the reader hostgroup.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "monitor_threads_min",
        int(2, 256),
        "8",
        "Least threads of the monitor; Tidegate needs none.",
    ),
    mysql(
        "monitor_threads_max",
        int(4, 1024),
        "128",
        "Most threads of the monitor; Tidegate needs none.",
    ),
    mysql(
        "monitor_threads_queue_maxsize",
        int(16, 1024),
        "128",
        "Checks that may wait for a monitor thread.",
    ),
    mysql(
        "monitor_local_dns_cache_ttl",
        int(0, 604_800_000),
        "300000",
        "Time a resolved server name is kept; 0 keeps none.",
    )
    .unit(Unit::Milliseconds),
    mysql(
        "monitor_local_dns_cache_refresh_interval",
        int(0, 604_800_000),
        "60000",
        "Pause between two resolutions of all server names; 0 for none of that kind.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "monitor_local_dns_resolver_queue_maxsize",
        int(16, 1024),
        "128",
        "Server names that may wait to be resolved.",
    ),
];
