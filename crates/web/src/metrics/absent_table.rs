//! Families that ProxySQL has and Tidegate does not, each with the reason.

/// Name and reason.
pub(super) const ABSENT: &[(&str, &str)] = &[
    (
        "proxysql_servers_table_version_total",
        "versions of a configuration are in SHOW CONFIG VERSIONS",
    ),
    ("proxysql_myhgm_myconnpool_get_ping_total", "idle connections are not pinged in this version"),
    (
        "proxysql_myhgm_auto_increment_multiplex_total",
        "it is not counted apart from other holds: tidegate_holds_total",
    ),
    ("proxysql_gtid_consistent_queries_total", GTID),
    ("proxysql_gtid_session_collected_total", GTID),
    ("proxysql_connpool_get_conn_success_latency_awareness_total", AWARE),
    ("proxysql_backend_lagging_during_query_total", LAG),
    (
        "proxysql_backend_offline_during_query_total",
        "it is not counted apart from other lost connections: tidegate_lanes_lost_total",
    ),
    ("proxysql_queries_with_max_lag_total", LAG),
    ("proxysql_queries_with_max_lag__delayed_total", LAG),
    ("proxysql_queries_with_max_lag__total_wait_time_total", LAG),
    ("proxysql_mysql_unexpected_frontend_com_quit_total", "a quit is expected at any time"),
    ("proxysql_aws_aurora_replicas_skipped_during_query_total", AURORA),
    ("proxysql_automatic_detected_sql_injection_total", FIREWALL),
    ("proxysql_whitelisted_sqli_fingerprint_total", FIREWALL),
    ("proxysql_cluster_pulled_total", CLUSTER),
    ("proxysql_cluster_syn_conflict_total", CLUSTER),
    ("proxysql_jemalloc_allocated_bytes_total", ALLOCATOR),
    ("proxysql_mysql_monitor_workers_started_total", MONITOR),
    ("proxysql_mysql_monitor_connect_check_total", MONITOR),
    ("proxysql_mysql_monitor_ping_check_total", MONITOR),
    ("proxysql_mysql_monitor_read_only_check_total", MONITOR),
    ("proxysql_mysql_monitor_replication_lag_check_total", MONITOR),
    ("proxysql_mysql_monitor_dns_cache_queried", MONITOR),
    ("proxysql_mysql_monitor_dns_cache_lookup_success", MONITOR),
    ("proxysql_mysql_monitor_dns_cache_record_updated", MONITOR),
    ("proxysql_query_cache_count_get_total", CACHE),
    ("proxysql_query_cache_count_set_total", CACHE),
    ("proxysql_query_cache_bytes_total", CACHE),
    ("proxysql_query_cache_purged_total", CACHE),
    ("proxysql_query_cache_entries_total", CACHE),
    ("proxysql_mysql_backend_buffers_bytes", BUFFERS),
    ("proxysql_mysql_frontend_buffers_bytes", BUFFERS),
    ("proxysql_mysql_monitor_enabled", MONITOR),
    ("proxysql_mysql_monitor_ping_interval", MONITOR),
    ("proxysql_mysql_monitor_ping_timeout_seconds", MONITOR),
    ("proxysql_mysql_monitor_ping_max_failures", MONITOR),
    ("proxysql_mysql_monitor_aws_rds_topology_discovery_interval", MONITOR),
    ("proxysql_mysql_monitor_read_only_interval_seconds", MONITOR),
    ("proxysql_mysql_monitor_read_only_timeout_seconds", MONITOR),
    ("proxysql_mysql_monitor_writer_is_also_reader", MONITOR),
    ("proxysql_monitor_replication_lag_group_by_host", MONITOR),
    ("proxysql_mysql_monitor_replication_lag_interval_seconds", MONITOR),
    ("proxysql_mysql_monitor_replication_lag_timeout_seconds", MONITOR),
    ("proxysql_mysql_monitor_history_timeout_seconds", MONITOR),
    (
        "proxysql_sqlite3_memory_bytes",
        "only the administrative interface knows it: stats_memory_metrics",
    ),
    ("proxysql_jemalloc_bytes", ALLOCATOR),
    ("proxysql_mysql_query_rules_memory_bytes", "it is in stats_memory_metrics"),
    ("proxysql_mysql_firewall_users_table_bytes", FIREWALL),
    ("proxysql_mysql_firewall_users_config_bytes", FIREWALL),
    ("proxysql_mysql_firewall_rules_table_bytes", FIREWALL),
    ("proxysql_mysql_firewall_rules_config_bytes", FIREWALL),
    ("proxysql_stack_memory_mysql_threads_bytes", STACKS),
    ("proxysql_stack_memory_admin_threads_bytes", STACKS),
    ("proxysql_stack_memory_cluster_threads", CLUSTER),
    ("proxysql_stmt_client_active_unique", STATEMENTS),
    ("proxysql_stmt_server_active", STATEMENTS),
    ("proxysql_stmt_server_active_unique", STATEMENTS),
    ("proxysql_stmt_max_stmt_id", STATEMENTS),
    ("proxysql_stmt_cached", STATEMENTS),
    ("prepare_stmt_metadata_memory_bytes", STATEMENTS),
    ("prepare_stmt_backend_memory_bytes", STATEMENTS),
    ("proxysql_mysql_monitor_workers", MONITOR),
    ("proxysql_mysql_monitor_workers_aux", MONITOR),
    ("proxysql_query_cache_memory_bytes", CACHE),
];

const ALLOCATOR: &str = "the allocator is the system's: ADR 005";
const AURORA: &str = "replicas of Aurora are not chosen by lag in this version";
const AWARE: &str = "servers are not chosen by latency in this version";
const BUFFERS: &str = "buffers are the loops', which lend them for one call";
const CACHE: &str = "there is no query cache in this version";
const CLUSTER: &str = "there is no cluster in this version";
const FIREWALL: &str = "there is no firewall in this version";
const GTID: &str = "there are no causal reads in this version";
const LAG: &str = "servers are not left out for lag in this version";
const MONITOR: &str = "nothing monitors servers in this version";
const STACKS: &str =
    "the system does not tell stacks apart; process_resident_memory_bytes has them";
const STATEMENTS: &str = "statements are counted by session only: proxysql_stmt_client_active";
