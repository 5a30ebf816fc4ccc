//! Why nothing looks at a variable that is accepted: by the beginnings of full names.
//!
//! Data only; a variable that acts needs no reason, whether it is told here or not.

/// Beginnings and the reason; the longest that fits counts.
pub(super) const REASONS: &[(&[&str], &str)] = &[
    (&["mysql-stacksize"], "the stacks of our threads need no such choice"),
    (&["mysql-server_capabilities"], "what is offered follows from what the servers can do"),
    (&["admin-ssl_"], "keys of sessions are not written anywhere yet"),
    (&["mysql-have_compress"], "the protocol is not compressed yet"),
    (
        &["mysql-enable_client_deprecate_eof", "mysql-enable_server_deprecate_eof"],
        "both sides always agree on one way, so that results pass unchanged",
    ),
    (&["mysql-client_host_"], "failures by client address are not counted yet"),
    (&["mysql-enable_load_data_local"], "files of clients pass by a connection of their own"),
    (
        &["mysql-default_charset", "mysql-default_collation", "mysql-handle_unknown"],
        "what a client asks for is passed to servers, known or not",
    ),
    (
        &["mysql-default_session_track", "mysql-client_session_track", "mysql-binlog_reader"],
        "transactions are not followed by GTID yet",
    ),
    (
        &["mysql-set_parser", "mysql-keep_multiplexing"],
        "what cannot be replayed holds its connection, and no hostgroup",
    ),
    (
        &["mysql-enforce_autocommit", "mysql-autocommit_false"],
        "what is a transaction is told by the servers' status flags",
    ),
    (
        &["mysql-add_ldap", "mysql-ldap", "admin-cluster_ldap", "admin-checksum_ldap"],
        "there is no LDAP plugin",
    ),
    (&["mysql-default_reconnect"], "ProxySQL has no effect for it either"),
    (
        &["mysql-auto_increment_delay"],
        "LAST_INSERT_ID() is right on every connection, so none has to be kept for it",
    ),
    (
        &["mysql-throttle_max_bytes", "mysql-throttle_ratio"],
        "how fast clients read is theirs to say",
    ),
    (
        &["mysql-connpoll_reset", "mysql-reset_connection"],
        "a connection is reset at once, before it is shared",
    ),
    (&["mysql-unshun"], "all of a server's hostgroups share what is known of it"),
    (&["mysql-aurora_"], "replicas are not chosen by what a query says of lag yet"),
    (&["mysql-monitor_local_dns"], "a server stays at its address until the name has another one"),
    (&["mysql-monitor_query"], "no check uses it"),
    (&["mysql-monitor_threads"], "one thread checks all servers"),
    (&["mysql-poll_timeout"], "a worker sleeps until something happens or a timer is due"),
    (&["mysql-query_rules_fast"], "there is one way to find such rules, and it is fast"),
    (&["mysql-query_digests_normalize"], "digest texts are kept once by their hash anyway"),
    (&["mysql-parse_failure"], "a statement that is not understood is in the statistics by digest"),
    (&["mysql-verbose_query"], "errors of Tidegate's own always name the server"),
    (&["mysql-log_"], "warnings of servers pass to the client and to no log"),
    (&["mysql-firewall", "mysql-automatic_detect"], "there is no firewall yet"),
    (&["mysql-servers_stats"], "statistics of servers are always counted"),
    (&["mysql-query_cache"], "there is no query cache yet"),
    (&["mysql-session", "mysql-show_processlist"], "the list of sessions has one form yet"),
    (&["mysql-eventslog", "mysql-auditlog"], "there are no logs of events yet"),
    (
        &["mysql-hostgroup_manager", "mysql-data_packets", "mysql-session_debug", "admin-debug"],
        "it is of debug builds",
    ),
    (&["admin-telnet"], "ProxySQL has no such interface either"),
    (&["admin-refresh", "admin-vacuum"], "statistics tables are filled by who reads them"),
    (&["admin-version"], "it is told, not set"),
    (&["admin-cluster", "admin-checksum"], "there are no clusters of proxies"),
    (&["admin-stats_mysql_query_cache"], "there is no query cache yet"),
    (&["admin-prometheus"], "memory is read when metrics are asked for"),
    (&["admin-web"], "there is no web interface"),
    (&["admin-coredump"], "the process does not dump itself"),
];
