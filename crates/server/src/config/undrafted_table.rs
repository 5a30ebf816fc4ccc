//! Settings that are known and kept, and names that have no place here.

use super::undrafted::Type;

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
