//! Why nothing looks at a variable that is accepted: by the beginnings of full names.
//!
//! Data only; a variable that acts needs no reason, whether it is told here or not.

/// Beginnings and the reason; the longest that fits counts.
pub(super) const REASONS: &[(&[&str], &str)] = &[
    (&["mysql-stacksize"], "the default stack is enough"),
    (&["mysql-server_capabilities"], "what is offered follows from what the servers can do"),
    (&["admin-ssl_"], "keys of sessions are not written anywhere yet"),
    (
        &["mysql-enable_client_deprecate_eof", "mysql-enable_server_deprecate_eof"],
        "both sides always agree on one way, so that results pass unchanged",
    ),
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
        "a SET that cannot be replayed keeps its connection, whatever this says",
    ),
    (
        &["mysql-enforce_autocommit", "mysql-autocommit_false"],
        "what is a transaction is told by the servers' status flags",
    ),
    (
        &["mysql-add_ldap", "mysql-ldap", "admin-cluster_ldap", "admin-checksum_ldap"],
        "there is no LDAP plugin",
    ),
    (&["mysql-default_reconnect"], "it has no effect in ProxySQL either"),
    (
        &["mysql-auto_increment_delay"],
        "LAST_INSERT_ID() is right on every connection, so none has to be kept for it",
    ),
    (
        &["mysql-connpoll_reset", "mysql-reset_connection"],
        "a connection is reset at once, before it is shared",
    ),
    (&["mysql-unshun"], "all of a server's hostgroups share what is known of it"),
    (&["mysql-monitor_local_dns"], "a server stays at its address until the name has another one"),
    (&["mysql-monitor_query"], "no check uses it"),
    (&["mysql-monitor_threads"], "one thread checks all servers"),
    (&["mysql-poll_timeout"], "a worker sleeps until something happens or a timer is due"),
    (&["mysql-query_rules_fast"], "there is one way to find such rules, and it is fast"),
    (&["mysql-query_digests_normalize"], "digest texts are kept once by their hash anyway"),
    (&["mysql-parse_failure"], "a statement that is not understood is in the statistics by digest"),
    (&["mysql-verbose_query"], "errors of Tidegate's own always name the server"),
    (&["mysql-log_unhealthy"], "a broken client connection is counted and not logged"),
    (&["mysql-log_"], "warnings of servers pass to the client and to no log"),
    (&["mysql-firewall", "mysql-automatic_detect"], "there is no firewall yet"),
    (&["mysql-servers_stats"], "statistics of servers are always counted"),
    (
        &["mysql-sessions_sort", "mysql-session_idle_ms"],
        "workers serve sessions as events come, and have no idle threads",
    ),
    (&["mysql-eventslog", "mysql-auditlog"], "there are no logs of events yet"),
    (
        &["mysql-hostgroup_manager", "mysql-data_packets", "mysql-session_debug", "admin-debug"],
        "it is of debug builds",
    ),
    (&["admin-telnet"], "ProxySQL has no such interface either"),
    (&["admin-refresh", "admin-vacuum"], "statistics tables are filled by who reads them"),
    (&["admin-version"], "it is told, not set"),
    (&["admin-cluster", "admin-checksum"], "there are no clusters of proxies"),
    (&["admin-prometheus"], "memory is read when metrics are asked for"),
    (&["admin-web"], "there is no web interface"),
    (&["admin-coredump"], "the process does not dump itself"),
];
