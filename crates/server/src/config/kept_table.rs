//! Tables and settings that are known and kept, and what a file calls them. Columns and defaults are
//! those of the interface's registry.

use std::sync::LazyLock;

use admin::tables::{Column, Table};

use super::document::ROW_TABLES;
use super::kept::{Absent, KeptColumn, KeptTable, Type};

/// The tables: those of the registry that nothing in the configuration is made from.
pub(super) static TABLES: LazyLock<Vec<KeptTable>> = LazyLock::new(|| {
    let all = admin::tables::configured().iter();
    all.filter(|table| table.name != "global_variables" && !ROW_TABLES.contains(&table.name))
        .map(kept)
        .collect()
});

fn kept(table: &'static Table) -> KeptTable {
    let renamed = SECTIONS.iter().find(|(name, _)| *name == table.name);
    let section = renamed.map_or(table.name, |(_, section)| section);
    let columns = table.columns.iter().map(|column| {
        let other = ALIASES.iter().find(|(of, name, _)| *of == table.name && *name == column.name);
        KeptColumn {
            name: column.name,
            alias: other.map_or("", |(.., alias)| alias),
            wants: if column.kind.starts_with("INT") { Type::Int } else { Type::Text },
            absent: absent(column),
        }
    });
    KeptTable { name: table.name, section, columns: columns.collect() }
}

fn absent(column: &Column) -> Absent {
    let default = column.default.trim_matches(['(', ')']);
    match default.parse() {
        Ok(number) => Absent::Int(number),
        Err(_) if !default.is_empty() => Absent::Text(default.trim_matches('\'')),
        Err(_) if column.null => Absent::Null,
        // nobody has to comment
        Err(_) if column.name == "comment" => Absent::Text(""),
        Err(_) => Absent::Needed,
    }
}

/// Tables that `proxysql.cnf` calls otherwise.
const SECTIONS: [(&str, &str); 1] = [("restapi_routes", "restapi")];

/// Columns that may be written by another name, too.
const ALIASES: [(&str, &str, &str); 2] =
    [("proxysql_servers", "hostname", "address"), ("restapi_routes", "timeout_ms", "interval_ms")];

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
