//! Tables that are known and kept, and have no effect in this version: names, columns, defaults.
//!
//! Data only. Names and defaults are ProxySQL's; a test compares them with the recorded ones.

use super::kept::{Absent, KeptColumn, KeptTable, Type};

/// The tables.
pub(super) const TABLES: &[KeptTable] = &[
    KeptTable {
        name: "mysql_replication_hostgroups",
        section: "mysql_replication_hostgroups",
        columns: &[
            column("writer_hostgroup", "", Type::Int, Absent::Needed),
            column("reader_hostgroup", "", Type::Int, Absent::Needed),
            column("check_type", "", Type::Text, Absent::Text("read_only")),
            column("comment", "", Type::Text, Absent::Text("")),
        ],
    },
    KeptTable {
        name: "mysql_group_replication_hostgroups",
        section: "mysql_group_replication_hostgroups",
        columns: &[
            column("writer_hostgroup", "", Type::Int, Absent::Needed),
            column("backup_writer_hostgroup", "", Type::Int, Absent::Needed),
            column("reader_hostgroup", "", Type::Int, Absent::Needed),
            column("offline_hostgroup", "", Type::Int, Absent::Needed),
            column("active", "", Type::Int, Absent::Int(1)),
            column("max_writers", "", Type::Int, Absent::Int(1)),
            column("writer_is_also_reader", "", Type::Int, Absent::Int(0)),
            column("max_transactions_behind", "", Type::Int, Absent::Int(0)),
            column("comment", "", Type::Text, Absent::Null),
        ],
    },
    KeptTable {
        name: "mysql_galera_hostgroups",
        section: "mysql_galera_hostgroups",
        columns: &[
            column("writer_hostgroup", "", Type::Int, Absent::Needed),
            column("backup_writer_hostgroup", "", Type::Int, Absent::Needed),
            column("reader_hostgroup", "", Type::Int, Absent::Needed),
            column("offline_hostgroup", "", Type::Int, Absent::Needed),
            column("active", "", Type::Int, Absent::Int(1)),
            column("max_writers", "", Type::Int, Absent::Int(1)),
            column("writer_is_also_reader", "", Type::Int, Absent::Int(0)),
            column("max_transactions_behind", "", Type::Int, Absent::Int(0)),
            column("comment", "", Type::Text, Absent::Null),
        ],
    },
    KeptTable {
        name: "mysql_aws_aurora_hostgroups",
        section: "mysql_aws_aurora_hostgroups",
        columns: &[
            column("writer_hostgroup", "", Type::Int, Absent::Needed),
            column("reader_hostgroup", "", Type::Int, Absent::Needed),
            column("active", "", Type::Int, Absent::Int(1)),
            column("aurora_port", "", Type::Int, Absent::Int(3306)),
            column("domain_name", "", Type::Text, Absent::Needed),
            column("max_lag_ms", "", Type::Int, Absent::Int(600000)),
            column("check_interval_ms", "", Type::Int, Absent::Int(1000)),
            column("check_timeout_ms", "", Type::Int, Absent::Int(800)),
            column("writer_is_also_reader", "", Type::Int, Absent::Int(0)),
            column("new_reader_weight", "", Type::Int, Absent::Int(1)),
            column("add_lag_ms", "", Type::Int, Absent::Int(30)),
            column("min_lag_ms", "", Type::Int, Absent::Int(30)),
            column("lag_num_checks", "", Type::Int, Absent::Int(1)),
            column("comment", "", Type::Text, Absent::Null),
        ],
    },
    KeptTable {
        name: "mysql_hostgroup_attributes",
        section: "mysql_hostgroup_attributes",
        columns: &[
            column("hostgroup_id", "", Type::Int, Absent::Needed),
            column("max_num_online_servers", "", Type::Int, Absent::Int(1000000)),
            column("autocommit", "", Type::Int, Absent::Int(-1)),
            column("free_connections_pct", "", Type::Int, Absent::Int(10)),
            column("init_connect", "", Type::Text, Absent::Text("")),
            column("multiplex", "", Type::Int, Absent::Int(1)),
            column("connection_warming", "", Type::Int, Absent::Int(0)),
            column("throttle_connections_per_sec", "", Type::Int, Absent::Int(1000000)),
            column("ignore_session_variables", "", Type::Text, Absent::Text("")),
            column("hostgroup_settings", "", Type::Text, Absent::Text("")),
            column("servers_defaults", "", Type::Text, Absent::Text("")),
            column("comment", "", Type::Text, Absent::Text("")),
        ],
    },
    KeptTable {
        name: "mysql_servers_ssl_params",
        section: "mysql_servers_ssl_params",
        columns: &[
            column("hostname", "", Type::Text, Absent::Needed),
            column("port", "", Type::Int, Absent::Int(3306)),
            column("username", "", Type::Text, Absent::Text("")),
            column("ssl_ca", "", Type::Text, Absent::Text("")),
            column("ssl_cert", "", Type::Text, Absent::Text("")),
            column("ssl_key", "", Type::Text, Absent::Text("")),
            column("ssl_capath", "", Type::Text, Absent::Text("")),
            column("ssl_crl", "", Type::Text, Absent::Text("")),
            column("ssl_crlpath", "", Type::Text, Absent::Text("")),
            column("ssl_cipher", "", Type::Text, Absent::Text("")),
            column("tls_version", "", Type::Text, Absent::Text("")),
            column("comment", "", Type::Text, Absent::Text("")),
        ],
    },
    KeptTable {
        name: "mysql_firewall_whitelist_users",
        section: "mysql_firewall_whitelist_users",
        columns: &[
            column("active", "", Type::Int, Absent::Int(1)),
            column("username", "", Type::Text, Absent::Needed),
            column("client_address", "", Type::Text, Absent::Needed),
            column("mode", "", Type::Text, Absent::Text("OFF")),
            column("comment", "", Type::Text, Absent::Text("")),
        ],
    },
    KeptTable {
        name: "mysql_firewall_whitelist_rules",
        section: "mysql_firewall_whitelist_rules",
        columns: &[
            column("active", "", Type::Int, Absent::Int(1)),
            column("username", "", Type::Text, Absent::Needed),
            column("client_address", "", Type::Text, Absent::Needed),
            column("schemaname", "", Type::Text, Absent::Needed),
            column("flagIN", "", Type::Int, Absent::Int(0)),
            column("digest", "", Type::Text, Absent::Needed),
            column("comment", "", Type::Text, Absent::Text("")),
        ],
    },
    KeptTable {
        name: "mysql_firewall_whitelist_sqli_fingerprints",
        section: "mysql_firewall_whitelist_sqli_fingerprints",
        columns: &[
            column("active", "", Type::Int, Absent::Int(1)),
            column("fingerprint", "", Type::Text, Absent::Needed),
        ],
    },
    KeptTable {
        name: "proxysql_servers",
        section: "proxysql_servers",
        columns: &[
            column("hostname", "address", Type::Text, Absent::Needed),
            column("port", "", Type::Int, Absent::Int(6032)),
            column("weight", "", Type::Int, Absent::Int(0)),
            column("comment", "", Type::Text, Absent::Text("")),
        ],
    },
    KeptTable {
        name: "scheduler",
        section: "scheduler",
        columns: &[
            column("id", "", Type::Int, Absent::Needed),
            column("active", "", Type::Int, Absent::Int(1)),
            column("interval_ms", "", Type::Int, Absent::Needed),
            column("filename", "", Type::Text, Absent::Needed),
            column("arg1", "", Type::Text, Absent::Null),
            column("arg2", "", Type::Text, Absent::Null),
            column("arg3", "", Type::Text, Absent::Null),
            column("arg4", "", Type::Text, Absent::Null),
            column("arg5", "", Type::Text, Absent::Null),
            column("comment", "", Type::Text, Absent::Text("")),
        ],
    },
    KeptTable {
        name: "restapi_routes",
        section: "restapi",
        columns: &[
            column("id", "", Type::Int, Absent::Needed),
            column("active", "", Type::Int, Absent::Int(1)),
            column("timeout_ms", "interval_ms", Type::Int, Absent::Needed),
            column("method", "", Type::Text, Absent::Needed),
            column("uri", "", Type::Text, Absent::Needed),
            column("script", "", Type::Text, Absent::Needed),
            column("comment", "", Type::Text, Absent::Text("")),
        ],
    },
];

/// Settings outside of all tables that are known and kept.
pub(super) const SETTINGS: &[(&str, Type)] = &[
    ("datadir", Type::Text),
    ("errorlog", Type::Text),
    ("pidfile", Type::Text),
    ("uuid", Type::Text),
    ("restart_on_missing_heartbeats", Type::Int),
    ("execute_on_exit_failure", Type::Text),
    ("cluster_sync_interfaces", Type::Bool),
];

/// What is left out, by the beginnings of names, with the reason.
pub(super) const LEFT_OUT: &[(&str, &str)] = &[
    ("pgsql", "Tidegate does not speak PostgreSQL's protocol"),
    ("clickhouse", "Tidegate does not speak to ClickHouse"),
    ("sqliteserver", "Tidegate has no SQLite server"),
    ("ldap", "there is no LDAP plugin"),
    ("mysql_ldap", "there is no LDAP plugin"),
    ("sqlite3_plugin", "there are no plugins"),
    ("web_interface_plugin", "there are no plugins"),
    ("debug", "it is of debug builds only"),
    ("coredump", "there are no filters for core dumps"),
];

/// `alias` is empty for none.
const fn column(
    name: &'static str,
    alias: &'static str,
    wants: Type,
    absent: Absent,
) -> KeptColumn {
    KeptColumn { name, alias, wants, absent }
}
