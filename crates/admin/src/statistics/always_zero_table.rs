//! What ProxySQL tells and does not exist here: always 0, because collectors ask by name.

/// Counters of ProxySQL that count nothing here, by the reason.
pub(super) const COUNTERS: &[(&str, &[&str])] = &[
    (
        "one thread checks all servers",
        &["MySQL_Monitor_Workers_Aux", "MySQL_Monitor_Workers_Started"],
    ),
    (
        "names are looked up once for all, and not for each check",
        &[
            "MySQL_Monitor_dns_cache_lookup_success",
            "MySQL_Monitor_dns_cache_queried",
            "MySQL_Monitor_dns_cache_record_updated",
        ],
    ),
    (
        "a server that lags gets no new query, and one that runs goes on",
        &["backend_lagging_during_query", "get_aws_aurora_replicas_skipped_during_query"],
    ),
    ("there is no reading by GTID", &["GTID_consistent_queries", "GTID_session_collected"]),
    ("there is no firewall", &["automatic_detected_sql_injection", "whitelisted_sqli_fingerprint"]),
    ("wishes for a new connection are not told apart", &["new_req_conns_count"]),
    (
        "buffers are a loop's, of whichever side had them last",
        &["mysql_backend_buffers_bytes", "mysql_frontend_buffers_bytes"],
    ),
    ("a quit in the middle of a reply is read after it", &["mysql_unexpected_frontend_com_quit"]),
    (
        "a server set offline ends its connections at once, each of which is an error",
        &["backend_offline_during_query"],
    ),
];

/// Memory of ProxySQL's that nobody has here, by the reason.
pub(super) const MEMORY: &[(&str, &[&str])] = &[
    (
        "the allocator is the system's",
        &[
            "jemalloc_resident",
            "jemalloc_active",
            "jemalloc_allocated",
            "jemalloc_mapped",
            "jemalloc_metadata",
            "jemalloc_retained",
        ],
    ),
    ("it is a part of backend_connections_memory", &["prepare_statement_backend_memory"]),
    (
        "there is no firewall",
        &[
            "mysql_firewall_users_table",
            "mysql_firewall_users_config",
            "mysql_firewall_rules_table",
            "mysql_firewall_rules_config",
        ],
    ),
    (
        "the system does not tell stacks apart: stack_memory_mysql_threads has all",
        &["stack_memory_admin_threads", "stack_memory_cluster_threads"],
    ),
];
