//! Rows of the registry: statistics.
//!
//! Data only; what a row means is in the parent module.

use super::{NOT_NULL, NULL, SHOWN, Table, column};

/// The rows.
pub(super) const ROWS: &[Table] = &[
    Table {
        name: "global_variables",
        doc: "Variables, by their names with prefix; all values are text.",
        columns: &[
            column("variable_name", "VARCHAR", NOT_NULL, "", ""),
            column("variable_value", "VARCHAR", NOT_NULL, "", ""),
        ],
        key: &["variable_name"],
        ..SHOWN
    },
    Table {
        name: "stats_memory_metrics",
        doc: "Memory by what it is used for.",
        columns: &[
            column("Variable_Name", "VARCHAR", NOT_NULL, "", ""),
            column("Variable_Value", "VARCHAR", NOT_NULL, "", ""),
        ],
        key: &["Variable_Name"],
        ..SHOWN
    },
    Table {
        name: "stats_mysql_client_host_cache",
        doc: "Errors by client address.",
        columns: &[
            column("client_address", "VARCHAR", NOT_NULL, "", ""),
            column("error_count", "INT", NOT_NULL, "", ""),
            column("last_updated", "BIGINT", NOT_NULL, "", ""),
        ],
        key: &[],
        ..SHOWN
    },
    Table {
        name: "stats_mysql_client_host_cache_reset",
        doc: "Errors by client address. Reading it begins anew.",
        columns: &[
            column("client_address", "VARCHAR", NOT_NULL, "", ""),
            column("error_count", "INT", NOT_NULL, "", ""),
            column("last_updated", "BIGINT", NOT_NULL, "", ""),
        ],
        key: &[],
        ..SHOWN
    },
    Table {
        name: "stats_mysql_commands_counters",
        doc: "Queries by class of statement and duration.",
        columns: &[
            column("Command", "VARCHAR", NOT_NULL, "", ""),
            column("Total_Time_us", "INT", NOT_NULL, "", ""),
            column("Total_cnt", "INT", NOT_NULL, "", ""),
            column("cnt_100us", "INT", NOT_NULL, "", ""),
            column("cnt_500us", "INT", NOT_NULL, "", ""),
            column("cnt_1ms", "INT", NOT_NULL, "", ""),
            column("cnt_5ms", "INT", NOT_NULL, "", ""),
            column("cnt_10ms", "INT", NOT_NULL, "", ""),
            column("cnt_50ms", "INT", NOT_NULL, "", ""),
            column("cnt_100ms", "INT", NOT_NULL, "", ""),
            column("cnt_500ms", "INT", NOT_NULL, "", ""),
            column("cnt_1s", "INT", NOT_NULL, "", ""),
            column("cnt_5s", "INT", NOT_NULL, "", ""),
            column("cnt_10s", "INT", NOT_NULL, "", ""),
            column("cnt_INFs", "", NULL, "", ""),
        ],
        key: &["Command"],
        ..SHOWN
    },
    Table {
        name: "stats_mysql_connection_pool",
        doc: "Connections and traffic by server. MaxConnUsed adds up the most that each worker had in use at a time, which need not have been at the same time.",
        columns: &[
            column("hostgroup", "INT", NULL, "", ""),
            column("srv_host", "VARCHAR", NULL, "", ""),
            column("srv_port", "INT", NULL, "", ""),
            column("status", "VARCHAR", NULL, "", ""),
            column("ConnUsed", "INT", NULL, "", ""),
            column("ConnFree", "INT", NULL, "", ""),
            column("ConnOK", "INT", NULL, "", ""),
            column("ConnERR", "INT", NULL, "", ""),
            column("MaxConnUsed", "INT", NULL, "", ""),
            column("Queries", "INT", NULL, "", ""),
            column("Queries_GTID_sync", "INT", NULL, "", ""),
            column("Bytes_data_sent", "INT", NULL, "", ""),
            column("Bytes_data_recv", "INT", NULL, "", ""),
            column("Latency_us", "INT", NULL, "", ""),
        ],
        key: &[],
        ..SHOWN
    },
    Table {
        name: "stats_mysql_connection_pool_reset",
        doc: "Connections and traffic by server. MaxConnUsed adds up the most that each worker had in use at a time, which need not have been at the same time. Reading it begins anew.",
        columns: &[
            column("hostgroup", "INT", NULL, "", ""),
            column("srv_host", "VARCHAR", NULL, "", ""),
            column("srv_port", "INT", NULL, "", ""),
            column("status", "VARCHAR", NULL, "", ""),
            column("ConnUsed", "INT", NULL, "", ""),
            column("ConnFree", "INT", NULL, "", ""),
            column("ConnOK", "INT", NULL, "", ""),
            column("ConnERR", "INT", NULL, "", ""),
            column("MaxConnUsed", "INT", NULL, "", ""),
            column("Queries", "INT", NULL, "", ""),
            column("Queries_GTID_sync", "INT", NULL, "", ""),
            column("Bytes_data_sent", "INT", NULL, "", ""),
            column("Bytes_data_recv", "INT", NULL, "", ""),
            column("Latency_us", "INT", NULL, "", ""),
        ],
        key: &[],
        ..SHOWN
    },
    Table {
        name: "stats_mysql_errors",
        doc: "Errors that servers answered.",
        columns: &[
            column("hostgroup", "INT", NOT_NULL, "", ""),
            column("hostname", "VARCHAR", NOT_NULL, "", ""),
            column("port", "INT", NOT_NULL, "", ""),
            column("username", "VARCHAR", NOT_NULL, "", ""),
            column("client_address", "VARCHAR", NOT_NULL, "", ""),
            column("schemaname", "VARCHAR", NOT_NULL, "", ""),
            column("errno", "INT", NOT_NULL, "", ""),
            column("count_star", "INTEGER", NOT_NULL, "", ""),
            column("first_seen", "INTEGER", NOT_NULL, "", ""),
            column("last_seen", "INTEGER", NOT_NULL, "", ""),
            column("last_error", "VARCHAR", NOT_NULL, "''", ""),
        ],
        key: &["hostgroup", "hostname", "port", "username", "schemaname", "errno"],
        ..SHOWN
    },
    Table {
        name: "stats_mysql_errors_reset",
        doc: "Errors that servers answered. Reading it begins anew.",
        columns: &[
            column("hostgroup", "INT", NOT_NULL, "", ""),
            column("hostname", "VARCHAR", NOT_NULL, "", ""),
            column("port", "INT", NOT_NULL, "", ""),
            column("username", "VARCHAR", NOT_NULL, "", ""),
            column("client_address", "VARCHAR", NOT_NULL, "", ""),
            column("schemaname", "VARCHAR", NOT_NULL, "", ""),
            column("errno", "INT", NOT_NULL, "", ""),
            column("count_star", "INTEGER", NOT_NULL, "", ""),
            column("first_seen", "INTEGER", NOT_NULL, "", ""),
            column("last_seen", "INTEGER", NOT_NULL, "", ""),
            column("last_error", "VARCHAR", NOT_NULL, "''", ""),
        ],
        key: &["hostgroup", "hostname", "port", "username", "schemaname", "errno"],
        ..SHOWN
    },
    Table {
        name: "stats_mysql_free_connections",
        doc: "Idle connections to servers.",
        columns: &[
            column("fd", "INT", NOT_NULL, "", ""),
            column("hostgroup", "INT", NOT_NULL, "", ""),
            column("srv_host", "VARCHAR", NOT_NULL, "", ""),
            column("srv_port", "INT", NOT_NULL, "", ""),
            column("user", "VARCHAR", NOT_NULL, "", ""),
            column("schema", "VARCHAR", NULL, "", ""),
            column("init_connect", "VARCHAR", NULL, "", ""),
            column("time_zone", "VARCHAR", NULL, "", ""),
            column("sql_mode", "VARCHAR", NULL, "", ""),
            column("autocommit", "VARCHAR", NULL, "", ""),
            column("idle_ms", "INT", NULL, "", ""),
            column("statistics", "VARCHAR", NULL, "", ""),
            column("mysql_info", "VARCHAR", NULL, "", ""),
        ],
        key: &[],
        ..SHOWN
    },
    Table {
        name: "stats_mysql_global",
        doc: "Counters of the whole process.",
        columns: &[
            column("Variable_Name", "VARCHAR", NOT_NULL, "", ""),
            column("Variable_Value", "VARCHAR", NOT_NULL, "", ""),
        ],
        key: &["Variable_Name"],
        ..SHOWN
    },
    Table {
        name: "stats_mysql_gtid_executed",
        doc: "Transactions that servers are known to have executed.",
        columns: &[
            column("hostname", "VARCHAR", NOT_NULL, "", ""),
            column("port", "INT", NOT_NULL, "3306", ""),
            column("gtid_executed", "VARCHAR", NULL, "", ""),
            column("events", "INT", NOT_NULL, "", ""),
        ],
        key: &[],
        ..SHOWN
    },
    Table {
        name: "stats_mysql_prepared_statements_info",
        doc: "Prepared statements and who uses them.",
        columns: &[
            column("global_stmt_id", "INT", NOT_NULL, "", ""),
            column("schemaname", "VARCHAR", NOT_NULL, "", ""),
            column("username", "VARCHAR", NOT_NULL, "", ""),
            column("digest", "VARCHAR", NOT_NULL, "", ""),
            column("ref_count_client", "INT", NOT_NULL, "", ""),
            column("ref_count_server", "INT", NOT_NULL, "", ""),
            column("num_columns", "INT", NOT_NULL, "", ""),
            column("num_params", "INT", NOT_NULL, "", ""),
            column("query", "VARCHAR", NOT_NULL, "", ""),
        ],
        key: &[],
        ..SHOWN
    },
    Table {
        name: "stats_mysql_processlist",
        doc: "Sessions and what they do.",
        columns: &[
            column("ThreadID", "INT", NOT_NULL, "", ""),
            column("SessionID", "INTEGER", NULL, "", ""),
            column("user", "VARCHAR", NULL, "", ""),
            column("db", "VARCHAR", NULL, "", ""),
            column("cli_host", "VARCHAR", NULL, "", ""),
            column("cli_port", "INT", NULL, "", ""),
            column("hostgroup", "INT", NULL, "", ""),
            column("l_srv_host", "VARCHAR", NULL, "", ""),
            column("l_srv_port", "INT", NULL, "", ""),
            column("srv_host", "VARCHAR", NULL, "", ""),
            column("srv_port", "INT", NULL, "", ""),
            column("command", "VARCHAR", NULL, "", ""),
            column("time_ms", "INT", NOT_NULL, "", ""),
            column("info", "VARCHAR", NULL, "", ""),
            column("status_flags", "INT", NULL, "", ""),
            column("extended_info", "VARCHAR", NULL, "", ""),
        ],
        key: &["SessionID"],
        ..SHOWN
    },
    Table {
        name: "stats_mysql_query_digest",
        doc: "Queries by digest.",
        columns: &[
            column("hostgroup", "INT", NULL, "", ""),
            column("schemaname", "VARCHAR", NOT_NULL, "", ""),
            column("username", "VARCHAR", NOT_NULL, "", ""),
            column("client_address", "VARCHAR", NOT_NULL, "", ""),
            column("digest", "VARCHAR", NOT_NULL, "", ""),
            column("digest_text", "VARCHAR", NOT_NULL, "", ""),
            column("count_star", "INTEGER", NOT_NULL, "", ""),
            column("first_seen", "INTEGER", NOT_NULL, "", ""),
            column("last_seen", "INTEGER", NOT_NULL, "", ""),
            column("sum_time", "INTEGER", NOT_NULL, "", ""),
            column("min_time", "INTEGER", NOT_NULL, "", ""),
            column("max_time", "INTEGER", NOT_NULL, "", ""),
            column("sum_rows_affected", "INTEGER", NOT_NULL, "", ""),
            column("sum_rows_sent", "INTEGER", NOT_NULL, "", ""),
            column("p50_time", "INTEGER", NOT_NULL, "0", ""),
            column("p95_time", "INTEGER", NOT_NULL, "0", ""),
            column("p99_time", "INTEGER", NOT_NULL, "0", ""),
        ],
        key: &["hostgroup", "schemaname", "username", "client_address", "digest"],
        ..SHOWN
    },
    Table {
        name: "stats_mysql_query_digest_reset",
        doc: "Queries by digest. Reading it begins anew.",
        columns: &[
            column("hostgroup", "INT", NULL, "", ""),
            column("schemaname", "VARCHAR", NOT_NULL, "", ""),
            column("username", "VARCHAR", NOT_NULL, "", ""),
            column("client_address", "VARCHAR", NOT_NULL, "", ""),
            column("digest", "VARCHAR", NOT_NULL, "", ""),
            column("digest_text", "VARCHAR", NOT_NULL, "", ""),
            column("count_star", "INTEGER", NOT_NULL, "", ""),
            column("first_seen", "INTEGER", NOT_NULL, "", ""),
            column("last_seen", "INTEGER", NOT_NULL, "", ""),
            column("sum_time", "INTEGER", NOT_NULL, "", ""),
            column("min_time", "INTEGER", NOT_NULL, "", ""),
            column("max_time", "INTEGER", NOT_NULL, "", ""),
            column("sum_rows_affected", "INTEGER", NOT_NULL, "", ""),
            column("sum_rows_sent", "INTEGER", NOT_NULL, "", ""),
            column("p50_time", "INTEGER", NOT_NULL, "0", ""),
            column("p95_time", "INTEGER", NOT_NULL, "0", ""),
            column("p99_time", "INTEGER", NOT_NULL, "0", ""),
        ],
        key: &["hostgroup", "schemaname", "username", "client_address", "digest"],
        ..SHOWN
    },
    Table {
        name: "stats_mysql_query_rules",
        doc: "How often each active rule matched.",
        columns: &[
            column("rule_id", "INTEGER", NULL, "", ""),
            column("hits", "INT", NOT_NULL, "", ""),
        ],
        key: &["rule_id"],
        ..SHOWN
    },
    Table {
        name: "stats_mysql_users",
        doc: "Client connections by account.",
        columns: &[
            column("username", "VARCHAR", NULL, "", ""),
            column("frontend_connections", "INT", NOT_NULL, "", ""),
            column("frontend_max_connections", "INT", NOT_NULL, "", ""),
        ],
        key: &["username"],
        ..SHOWN
    },
    Table {
        name: "stats_proxysql_message_metrics",
        doc: "Log messages by place of origin.",
        columns: &[
            column("message_id", "VARCHAR", NOT_NULL, "", ""),
            column("filename", "VARCHAR", NOT_NULL, "", ""),
            column("line", "INT", NOT_NULL, "0", "line >= 0"),
            column("func", "VARCHAR", NOT_NULL, "", ""),
            column("count_star", "INTEGER", NOT_NULL, "", ""),
            column("first_seen", "INTEGER", NOT_NULL, "", ""),
            column("last_seen", "INTEGER", NOT_NULL, "", ""),
        ],
        key: &["filename", "line", "func"],
        ..SHOWN
    },
    Table {
        name: "stats_proxysql_message_metrics_reset",
        doc: "Log messages by place of origin. Reading it begins anew.",
        columns: &[
            column("message_id", "VARCHAR", NOT_NULL, "", ""),
            column("filename", "VARCHAR", NOT_NULL, "", ""),
            column("line", "INT", NOT_NULL, "0", ""),
            column("func", "VARCHAR", NOT_NULL, "", ""),
            column("count_star", "INTEGER", NOT_NULL, "", ""),
            column("first_seen", "INTEGER", NOT_NULL, "", ""),
            column("last_seen", "INTEGER", NOT_NULL, "", ""),
        ],
        key: &["filename", "line", "func"],
        ..SHOWN
    },
    Table {
        name: "stats_proxysql_servers_checksums",
        doc: "Checksums of the modules of other members.",
        columns: &[
            column("hostname", "VARCHAR", NOT_NULL, "", ""),
            column("port", "INT", NOT_NULL, "6032", ""),
            column("name", "VARCHAR", NOT_NULL, "", ""),
            column("version", "INT", NOT_NULL, "", ""),
            column("epoch", "INT", NOT_NULL, "", ""),
            column("checksum", "VARCHAR", NOT_NULL, "", ""),
            column("changed_at", "INT", NOT_NULL, "", ""),
            column("updated_at", "INT", NOT_NULL, "", ""),
            column("diff_check", "INT", NOT_NULL, "", ""),
        ],
        key: &["hostname", "port", "name"],
        ..SHOWN
    },
    Table {
        name: "stats_proxysql_servers_clients_status",
        doc: "Members that have looked at this one.",
        columns: &[
            column("uuid", "VARCHAR", NOT_NULL, "", ""),
            column("hostname", "VARCHAR", NOT_NULL, "", ""),
            column("port", "INT", NOT_NULL, "", ""),
            column("admin_mysql_ifaces", "VARCHAR", NOT_NULL, "", ""),
            column("last_seen_at", "INT", NOT_NULL, "", ""),
        ],
        key: &["uuid", "hostname", "port"],
        ..SHOWN
    },
    Table {
        name: "stats_proxysql_servers_metrics",
        doc: "How other members do.",
        columns: &[
            column("hostname", "VARCHAR", NOT_NULL, "", ""),
            column("port", "INT", NOT_NULL, "6032", ""),
            column("weight", "INT", NOT_NULL, "0", "weight >= 0"),
            column("comment", "VARCHAR", NOT_NULL, "''", ""),
            column("response_time_ms", "INT", NOT_NULL, "", ""),
            column("Uptime_s", "INT", NOT_NULL, "", ""),
            column("last_check_ms", "INT", NOT_NULL, "", ""),
            column("Queries", "INT", NOT_NULL, "", ""),
            column("Client_Connections_connected", "INT", NOT_NULL, "", ""),
            column("Client_Connections_created", "INT", NOT_NULL, "", ""),
        ],
        key: &["hostname", "port"],
        ..SHOWN
    },
    Table {
        name: "stats_proxysql_servers_status",
        doc: "Accepted; without effect.",
        columns: &[
            column("hostname", "VARCHAR", NOT_NULL, "", ""),
            column("port", "INT", NOT_NULL, "6032", ""),
            column("weight", "INT", NOT_NULL, "0", "weight >= 0"),
            column("master", "VARCHAR", NOT_NULL, "", ""),
            column("global_version", "INT", NOT_NULL, "", ""),
            column("check_age_us", "INT", NOT_NULL, "", ""),
            column("ping_time_us", "INT", NOT_NULL, "", ""),
            column("checks_OK", "INT", NOT_NULL, "", ""),
            column("checks_ERR", "INT", NOT_NULL, "", ""),
        ],
        key: &["hostname", "port"],
        ..SHOWN
    },
    Table {
        name: "stats_tidegate_servers",
        doc: "What keeps servers from being asked: last_fault is why the last connect failed, if none worked since; shunned_ms how long the server is left out for it. still_workers find that it stands still, the first of them for still_ms: it gets nothing new while another server of its hostgroup answers.",
        columns: &[
            column("hostgroup", "INT", NOT_NULL, "", ""),
            column("srv_host", "VARCHAR", NOT_NULL, "", ""),
            column("srv_port", "INT", NOT_NULL, "", ""),
            column("status", "VARCHAR", NOT_NULL, "", ""),
            column("last_fault", "VARCHAR", NOT_NULL, "", ""),
            column("shunned_ms", "INT", NOT_NULL, "", ""),
            column("still_workers", "INT", NOT_NULL, "", ""),
            column("still_ms", "INT", NOT_NULL, "", ""),
        ],
        key: &["hostgroup", "srv_host", "srv_port"],
        ..SHOWN
    },
    Table {
        name: "stats_tidegate_switchovers",
        doc: "What TIDEGATE SWITCHOVER did, the last 1000 steps: number is the order's, outcome OK or FAILED; the last step of an order is called switchover, or dry run.",
        columns: &[
            column("number", "INT", NOT_NULL, "", ""),
            column("time_us", "INT", NOT_NULL, "", ""),
            column("writer_hostgroup", "INT", NOT_NULL, "", ""),
            column("srv_host", "VARCHAR", NOT_NULL, "", ""),
            column("srv_port", "INT", NOT_NULL, "", ""),
            column("step", "VARCHAR", NOT_NULL, "", ""),
            column("outcome", "VARCHAR", NOT_NULL, "", ""),
            column("told", "VARCHAR", NOT_NULL, "", ""),
        ],
        ..SHOWN
    },
    Table {
        name: "stats_tidegate_topology",
        doc: "Where each server stands: role is what its hostgroup is for, where servers move between hostgroups by themselves; lag_s how far it was behind when that was last asked; latency_us the mean of its last pings; since and reason tell the last change. SHOW TOPOLOGY shows it.",
        columns: &[
            column("hostgroup", "INT", NOT_NULL, "", ""),
            column("srv_host", "VARCHAR", NOT_NULL, "", ""),
            column("srv_port", "INT", NOT_NULL, "", ""),
            column("role", "VARCHAR", NOT_NULL, "", ""),
            column("status", "VARCHAR", NOT_NULL, "", ""),
            column("lag_s", "INT", NULL, "", ""),
            column("latency_us", "INT", NULL, "", ""),
            column("since", "INT", NULL, "", ""),
            column("reason", "VARCHAR", NULL, "", ""),
        ],
        key: &["hostgroup", "srv_host", "srv_port"],
        ..SHOWN
    },
    Table {
        name: "stats_tidegate_topology_events",
        doc: "Changes of where servers stand, the last 10000: when, from which status to which (NULL: the server was not, or is no longer, in that hostgroup), and why.",
        columns: &[
            column("id", "INT", NOT_NULL, "", ""),
            column("time_us", "INT", NOT_NULL, "", ""),
            column("hostgroup", "INT", NOT_NULL, "", ""),
            column("srv_host", "VARCHAR", NOT_NULL, "", ""),
            column("srv_port", "INT", NOT_NULL, "", ""),
            column("from_status", "VARCHAR", NULL, "", ""),
            column("to_status", "VARCHAR", NULL, "", ""),
            column("reason", "VARCHAR", NOT_NULL, "", ""),
        ],
        key: &["id"],
        ..SHOWN
    },
    Table {
        name: "stats_tidegate_users",
        doc: "Connections that each user has to each server, those being opened included, over all workers; no row where there is none. max_connections is how many it may have (`max_backend_connections` of its attributes, else mysql-max_backend_connections_per_user), 0 for no limit of its own.",
        columns: &[
            column("username", "VARCHAR", NOT_NULL, "", ""),
            column("hostgroup", "INT", NOT_NULL, "", ""),
            column("srv_host", "VARCHAR", NOT_NULL, "", ""),
            column("srv_port", "INT", NOT_NULL, "", ""),
            column("connections", "INT", NOT_NULL, "", ""),
            column("max_connections", "INT", NOT_NULL, "", ""),
        ],
        key: &["username", "hostgroup", "srv_host", "srv_port"],
        ..SHOWN
    },
];
