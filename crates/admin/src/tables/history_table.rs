//! Rows of the registry: samples of statistics.
//!
//! Data only; what a row means is in the parent module.

use super::{NOT_NULL, NULL, SHOWN, Table, column};

/// The rows.
pub(super) const ROWS: &[Table] = &[
    Table {
        name: "history_mysql_query_digest",
        doc: "Digests as they were dumped.",
        columns: &[
            column("dump_time", "INT", NULL, "", ""),
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
        ],
        key: &[],
        ..SHOWN
    },
    Table {
        name: "history_mysql_status_variables",
        doc: "Samples of the counters.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
            column("variable_id", "INT", NOT_NULL, "", ""),
            column("variable_value", "VARCHAR", NOT_NULL, "", ""),
        ],
        key: &["timestamp", "variable_id"],
        ..SHOWN
    },
    Table {
        name: "history_mysql_status_variables_lookup",
        doc: "Numbers of the sampled counters.",
        columns: &[
            column("variable_id", "INTEGER", NOT_NULL, "", ""),
            column("variable_name", "VARCHAR", NOT_NULL, "", ""),
        ],
        key: &["variable_id"],
        unique: &["variable_name"],
        ..SHOWN
    },
    Table {
        name: "history_stats_mysql_connection_pool",
        doc: "Samples of the connection pool.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
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
        key: &["timestamp", "hostgroup", "srv_host", "srv_port"],
        ..SHOWN
    },
    Table {
        name: "myhgm_connections",
        doc: "Samples of checkouts from the connection pool.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
            column("MyHGM_myconnpoll_destroy", "INT", NOT_NULL, "", ""),
            column("MyHGM_myconnpoll_get", "INT", NOT_NULL, "", ""),
            column("MyHGM_myconnpoll_get_ok", "INT", NOT_NULL, "", ""),
            column("MyHGM_myconnpoll_push", "INT", NOT_NULL, "", ""),
            column("MyHGM_myconnpoll_reset", "INT", NOT_NULL, "", ""),
        ],
        key: &["timestamp"],
        ..SHOWN
    },
    Table {
        name: "myhgm_connections_day",
        doc: "Samples of checkouts from the connection pool, by day.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
            column("MyHGM_myconnpoll_destroy", "INT", NOT_NULL, "", ""),
            column("MyHGM_myconnpoll_get", "INT", NOT_NULL, "", ""),
            column("MyHGM_myconnpoll_get_ok", "INT", NOT_NULL, "", ""),
            column("MyHGM_myconnpoll_push", "INT", NOT_NULL, "", ""),
            column("MyHGM_myconnpoll_reset", "INT", NOT_NULL, "", ""),
        ],
        key: &["timestamp"],
        ..SHOWN
    },
    Table {
        name: "myhgm_connections_hour",
        doc: "Samples of checkouts from the connection pool. By hour.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
            column("MyHGM_myconnpoll_destroy", "INT", NOT_NULL, "", ""),
            column("MyHGM_myconnpoll_get", "INT", NOT_NULL, "", ""),
            column("MyHGM_myconnpoll_get_ok", "INT", NOT_NULL, "", ""),
            column("MyHGM_myconnpoll_push", "INT", NOT_NULL, "", ""),
            column("MyHGM_myconnpoll_reset", "INT", NOT_NULL, "", ""),
        ],
        key: &["timestamp"],
        ..SHOWN
    },
    Table {
        name: "mysql_connections",
        doc: "Samples of client and server connections.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
            column("Client_Connections_aborted", "INT", NOT_NULL, "", ""),
            column("Client_Connections_connected", "INT", NOT_NULL, "", ""),
            column("Client_Connections_created", "INT", NOT_NULL, "", ""),
            column("Server_Connections_aborted", "INT", NOT_NULL, "", ""),
            column("Server_Connections_connected", "INT", NOT_NULL, "", ""),
            column("Server_Connections_created", "INT", NOT_NULL, "", ""),
            column("ConnPool_get_conn_failure", "INT", NOT_NULL, "", ""),
            column("ConnPool_get_conn_immediate", "INT", NOT_NULL, "", ""),
            column("ConnPool_get_conn_success", "INT", NOT_NULL, "", ""),
            column("Questions", "INT", NOT_NULL, "", ""),
            column("Slow_queries", "INT", NOT_NULL, "", ""),
            column("GTID_consistent_queries", "INT", NOT_NULL, "", ""),
        ],
        key: &["timestamp"],
        ..SHOWN
    },
    Table {
        name: "mysql_connections_day",
        doc: "Samples of client and server connections, by day.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
            column("Client_Connections_aborted", "INT", NOT_NULL, "", ""),
            column("Client_Connections_connected", "INT", NOT_NULL, "", ""),
            column("Client_Connections_created", "INT", NOT_NULL, "", ""),
            column("Server_Connections_aborted", "INT", NOT_NULL, "", ""),
            column("Server_Connections_connected", "INT", NOT_NULL, "", ""),
            column("Server_Connections_created", "INT", NOT_NULL, "", ""),
            column("ConnPool_get_conn_failure", "INT", NOT_NULL, "", ""),
            column("ConnPool_get_conn_immediate", "INT", NOT_NULL, "", ""),
            column("ConnPool_get_conn_success", "INT", NOT_NULL, "", ""),
            column("Questions", "INT", NOT_NULL, "", ""),
            column("Slow_queries", "INT", NOT_NULL, "", ""),
            column("GTID_consistent_queries", "INT", NOT_NULL, "", ""),
        ],
        key: &["timestamp"],
        ..SHOWN
    },
    Table {
        name: "mysql_connections_hour",
        doc: "Samples of client and server connections. By hour.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
            column("Client_Connections_aborted", "INT", NOT_NULL, "", ""),
            column("Client_Connections_connected", "INT", NOT_NULL, "", ""),
            column("Client_Connections_created", "INT", NOT_NULL, "", ""),
            column("Server_Connections_aborted", "INT", NOT_NULL, "", ""),
            column("Server_Connections_connected", "INT", NOT_NULL, "", ""),
            column("Server_Connections_created", "INT", NOT_NULL, "", ""),
            column("ConnPool_get_conn_failure", "INT", NOT_NULL, "", ""),
            column("ConnPool_get_conn_immediate", "INT", NOT_NULL, "", ""),
            column("ConnPool_get_conn_success", "INT", NOT_NULL, "", ""),
            column("Questions", "INT", NOT_NULL, "", ""),
            column("Slow_queries", "INT", NOT_NULL, "", ""),
            column("GTID_consistent_queries", "INT", NOT_NULL, "", ""),
        ],
        key: &["timestamp"],
        ..SHOWN
    },
    Table {
        name: "mysql_query_cache",
        doc: "Samples of the query cache.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
            column("count_GET", "INT", NOT_NULL, "", ""),
            column("count_GET_OK", "INT", NOT_NULL, "", ""),
            column("count_SET", "INT", NOT_NULL, "", ""),
            column("bytes_IN", "INT", NOT_NULL, "", ""),
            column("bytes_OUT", "INT", NOT_NULL, "", ""),
            column("Entries_Purged", "INT", NOT_NULL, "", ""),
            column("Entries_In_Cache", "INT", NOT_NULL, "", ""),
            column("Memory_Bytes", "INT", NOT_NULL, "", ""),
        ],
        key: &["timestamp"],
        ..SHOWN
    },
    Table {
        name: "mysql_query_cache_day",
        doc: "Samples of the query cache, by day.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
            column("count_GET", "INT", NOT_NULL, "", ""),
            column("count_GET_OK", "INT", NOT_NULL, "", ""),
            column("count_SET", "INT", NOT_NULL, "", ""),
            column("bytes_IN", "INT", NOT_NULL, "", ""),
            column("bytes_OUT", "INT", NOT_NULL, "", ""),
            column("Entries_Purged", "INT", NOT_NULL, "", ""),
            column("Entries_In_Cache", "INT", NOT_NULL, "", ""),
            column("Memory_Bytes", "INT", NOT_NULL, "", ""),
        ],
        key: &["timestamp"],
        ..SHOWN
    },
    Table {
        name: "mysql_query_cache_hour",
        doc: "Samples of the query cache. By hour.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
            column("count_GET", "INT", NOT_NULL, "", ""),
            column("count_GET_OK", "INT", NOT_NULL, "", ""),
            column("count_SET", "INT", NOT_NULL, "", ""),
            column("bytes_IN", "INT", NOT_NULL, "", ""),
            column("bytes_OUT", "INT", NOT_NULL, "", ""),
            column("Entries_Purged", "INT", NOT_NULL, "", ""),
            column("Entries_In_Cache", "INT", NOT_NULL, "", ""),
            column("Memory_Bytes", "INT", NOT_NULL, "", ""),
        ],
        key: &["timestamp"],
        ..SHOWN
    },
    Table {
        name: "system_cpu",
        doc: "Samples of processor use.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
            column("tms_utime", "INT", NOT_NULL, "", ""),
            column("tms_stime", "INT", NOT_NULL, "", ""),
        ],
        key: &["timestamp"],
        ..SHOWN
    },
    Table {
        name: "system_cpu_day",
        doc: "Samples of processor use, by day.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
            column("tms_utime", "INT", NOT_NULL, "", ""),
            column("tms_stime", "INT", NOT_NULL, "", ""),
        ],
        key: &["timestamp"],
        ..SHOWN
    },
    Table {
        name: "system_cpu_hour",
        doc: "Samples of processor use. By hour.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
            column("tms_utime", "INT", NOT_NULL, "", ""),
            column("tms_stime", "INT", NOT_NULL, "", ""),
        ],
        key: &["timestamp"],
        ..SHOWN
    },
    Table {
        name: "system_memory",
        doc: "Samples of memory use.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
            column("allocated", "INT", NOT_NULL, "", ""),
            column("resident", "INT", NOT_NULL, "", ""),
            column("active", "INT", NOT_NULL, "", ""),
            column("mapped", "INT", NOT_NULL, "", ""),
            column("metadata", "INT", NOT_NULL, "", ""),
            column("retained", "INT", NOT_NULL, "", ""),
        ],
        key: &["timestamp"],
        ..SHOWN
    },
    Table {
        name: "system_memory_day",
        doc: "Samples of memory use, by day.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
            column("allocated", "INT", NOT_NULL, "", ""),
            column("resident", "INT", NOT_NULL, "", ""),
            column("active", "INT", NOT_NULL, "", ""),
            column("mapped", "INT", NOT_NULL, "", ""),
            column("metadata", "INT", NOT_NULL, "", ""),
            column("retained", "INT", NOT_NULL, "", ""),
        ],
        key: &["timestamp"],
        ..SHOWN
    },
    Table {
        name: "system_memory_hour",
        doc: "Samples of memory use. By hour.",
        columns: &[
            column("timestamp", "INT", NOT_NULL, "", ""),
            column("allocated", "INT", NOT_NULL, "", ""),
            column("resident", "INT", NOT_NULL, "", ""),
            column("active", "INT", NOT_NULL, "", ""),
            column("mapped", "INT", NOT_NULL, "", ""),
            column("metadata", "INT", NOT_NULL, "", ""),
            column("retained", "INT", NOT_NULL, "", ""),
        ],
        key: &["timestamp"],
        ..SHOWN
    },
];
