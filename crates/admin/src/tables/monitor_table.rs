//! Rows of the registry: what monitoring found.
//!
//! Data only; what a row means is in the parent module.

use super::{NOT_NULL, NULL, SHOWN, Table, column};

/// The rows.
pub(super) const ROWS: &[Table] = &[
    Table {
        name: "mysql_server_aws_aurora_check_status",
        doc: "How checks of Aurora clusters went.",
        columns: &[
            column("writer_hostgroup", "INT", NOT_NULL, "", ""),
            column("hostname", "VARCHAR", NOT_NULL, "", ""),
            column("port", "INT", NOT_NULL, "3306", ""),
            column("last_checked_at", "VARCHAR", NULL, "", ""),
            column("checks_tot", "INT", NOT_NULL, "0", ""),
            column("checks_ok", "INT", NOT_NULL, "0", ""),
            column("last_error", "VARCHAR", NULL, "", ""),
        ],
        key: &["writer_hostgroup", "hostname", "port"],
        ..SHOWN
    },
    Table {
        name: "mysql_server_aws_aurora_failovers",
        doc: "Failovers of Aurora clusters that were seen.",
        columns: &[
            column("writer_hostgroup", "INT", NOT_NULL, "", ""),
            column("hostname", "VARCHAR", NOT_NULL, "", ""),
            column("inserted_at", "VARCHAR", NOT_NULL, "", ""),
        ],
        key: &[],
        ..SHOWN
    },
    Table {
        name: "mysql_server_aws_aurora_log",
        doc: "Checks of Aurora members.",
        columns: &[
            column("hostname", "VARCHAR", NOT_NULL, "", ""),
            column("port", "INT", NOT_NULL, "3306", ""),
            column("time_start_us", "INT", NOT_NULL, "0", ""),
            column("success_time_us", "INT", NULL, "0", ""),
            column("error", "VARCHAR", NULL, "", ""),
            column("SERVER_ID", "VARCHAR", NOT_NULL, "''", ""),
            column("SESSION_ID", "VARCHAR", NULL, "", ""),
            column("LAST_UPDATE_TIMESTAMP", "VARCHAR", NULL, "", ""),
            column("replica_lag_in_milliseconds", "INT", NOT_NULL, "0", ""),
            column("estimated_lag_ms", "INT", NOT_NULL, "0", ""),
            column("CPU", "INT", NOT_NULL, "0", ""),
        ],
        key: &["hostname", "port", "time_start_us", "SERVER_ID"],
        ..SHOWN
    },
    Table {
        name: "mysql_server_connect_log",
        doc: "Checks that connected to servers.",
        columns: &[
            column("hostname", "VARCHAR", NOT_NULL, "", ""),
            column("port", "INT", NOT_NULL, "3306", ""),
            column("time_start_us", "INT", NOT_NULL, "0", ""),
            column("connect_success_time_us", "INT", NULL, "0", ""),
            column("connect_error", "VARCHAR", NULL, "", ""),
        ],
        key: &["hostname", "port", "time_start_us"],
        ..SHOWN
    },
    Table {
        name: "mysql_server_galera_log",
        doc: "Checks of Galera members.",
        columns: &[
            column("hostname", "VARCHAR", NOT_NULL, "", ""),
            column("port", "INT", NOT_NULL, "3306", ""),
            column("time_start_us", "INT", NOT_NULL, "0", ""),
            column("success_time_us", "INT", NULL, "0", ""),
            column("primary_partition", "VARCHAR", NOT_NULL, "'NO'", ""),
            column("read_only", "VARCHAR", NOT_NULL, "'YES'", ""),
            column("wsrep_local_recv_queue", "INT", NULL, "0", ""),
            column("wsrep_local_state", "INT", NULL, "0", ""),
            column("wsrep_desync", "VARCHAR", NOT_NULL, "'NO'", ""),
            column("wsrep_reject_queries", "VARCHAR", NOT_NULL, "'NO'", ""),
            column("wsrep_sst_donor_rejects_queries", "VARCHAR", NOT_NULL, "'NO'", ""),
            column("pxc_maint_mode", "VARCHAR", NOT_NULL, "'NO'", ""),
            column("error", "VARCHAR", NULL, "", ""),
        ],
        key: &["hostname", "port", "time_start_us"],
        ..SHOWN
    },
    Table {
        name: "mysql_server_group_replication_log",
        doc: "Checks of Group Replication members.",
        columns: &[
            column("hostname", "VARCHAR", NOT_NULL, "", ""),
            column("port", "INT", NOT_NULL, "3306", ""),
            column("time_start_us", "INT", NOT_NULL, "0", ""),
            column("success_time_us", "INT", NULL, "0", ""),
            column("viable_candidate", "VARCHAR", NOT_NULL, "'NO'", ""),
            column("read_only", "VARCHAR", NOT_NULL, "'YES'", ""),
            column("transactions_behind", "INT", NULL, "0", ""),
            column("error", "VARCHAR", NULL, "", ""),
        ],
        key: &["hostname", "port", "time_start_us"],
        ..SHOWN
    },
    Table {
        name: "mysql_server_ping_log",
        doc: "Checks that pinged servers.",
        columns: &[
            column("hostname", "VARCHAR", NOT_NULL, "", ""),
            column("port", "INT", NOT_NULL, "3306", ""),
            column("time_start_us", "INT", NOT_NULL, "0", ""),
            column("ping_success_time_us", "INT", NULL, "0", ""),
            column("ping_error", "VARCHAR", NULL, "", ""),
        ],
        key: &["hostname", "port", "time_start_us"],
        ..SHOWN
    },
    Table {
        name: "mysql_server_read_only_log",
        doc: "Checks of the read-only flag.",
        columns: &[
            column("hostname", "VARCHAR", NOT_NULL, "", ""),
            column("port", "INT", NOT_NULL, "3306", ""),
            column("time_start_us", "INT", NOT_NULL, "0", ""),
            column("success_time_us", "INT", NULL, "0", ""),
            column("read_only", "INT", NULL, "1", ""),
            column("error", "VARCHAR", NULL, "", ""),
        ],
        key: &["hostname", "port", "time_start_us"],
        ..SHOWN
    },
    Table {
        name: "mysql_server_replication_lag_log",
        doc: "Checks of the replication lag.",
        columns: &[
            column("hostname", "VARCHAR", NOT_NULL, "", ""),
            column("port", "INT", NOT_NULL, "3306", ""),
            column("time_start_us", "INT", NOT_NULL, "0", ""),
            column("success_time_us", "INT", NULL, "0", ""),
            column("repl_lag", "INT", NULL, "0", ""),
            column("error", "VARCHAR", NULL, "", ""),
        ],
        key: &["hostname", "port", "time_start_us"],
        ..SHOWN
    },
];
