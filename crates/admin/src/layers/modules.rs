//! What is moved between layers together.

use rusqlite::types::Value;

use crate::rows::Rows;
use crate::statistics::Row;

/// Tables that are moved together.
#[derive(Debug)]
pub(crate) struct Module {
    /// The words by which commands name it.
    pub(crate) words: &'static [&'static str],
    /// Its name in `runtime_checksums_values`.
    pub(crate) name: &'static str,
    /// Its tables.
    pub(crate) tables: &'static [&'static str],
    /// How the names of its variables begin, when it is some of `global_variables`.
    pub(crate) prefix: Option<&'static str>,
}

impl Module {
    /// Its words, for people.
    pub(crate) fn title(&self) -> String {
        self.words.join(" ")
    }

    /// Leaves only what belongs to it.
    pub(crate) fn narrow(&self, rows: &mut Rows) {
        rows.retain(|table, _| self.tables.contains(table));
        if let Some(rows) = rows.get_mut("global_variables") {
            rows.retain(|row| self.owns(row));
        }
    }

    /// Whether a row of one of its tables is its own.
    pub(crate) fn owns(&self, row: &Row) -> bool {
        match (self.prefix, row.first()) {
            (Some(prefix), Some(Value::Text(name))) => name.starts_with(prefix),
            (Some(_), _) => false,
            (None, _) => true,
        }
    }

    /// Of a fault in the engine's terms: whether it is of this module.
    pub(crate) fn concerns(&self, table: &str) -> bool {
        self.tables.contains(&table) || self.name == table
    }
}

const fn module(
    words: &'static [&'static str],
    name: &'static str,
    tables: &'static [&'static str],
) -> Module {
    Module { words, name, tables, prefix: None }
}

const fn variables(
    words: &'static [&'static str],
    name: &'static str,
    prefix: &'static str,
) -> Module {
    Module { words, name, tables: &["global_variables"], prefix: Some(prefix) }
}

/// Every module.
pub(crate) const MODULES: &[Module] = &[
    module(
        &["MYSQL", "SERVERS"],
        "mysql_servers",
        &[
            "mysql_servers",
            "mysql_replication_hostgroups",
            "mysql_group_replication_hostgroups",
            "mysql_galera_hostgroups",
            "mysql_aws_aurora_hostgroups",
            "mysql_hostgroup_attributes",
            "mysql_servers_ssl_params",
            "tidegate_replication_clusters",
        ],
    ),
    module(&["MYSQL", "USERS"], "mysql_users", &["mysql_users"]),
    module(
        &["MYSQL", "QUERY", "RULES"],
        "mysql_query_rules",
        &["mysql_query_rules", "mysql_query_rules_fast_routing"],
    ),
    variables(&["MYSQL", "VARIABLES"], "mysql_variables", "mysql-"),
    variables(&["ADMIN", "VARIABLES"], "admin_variables", "admin-"),
    module(&["PROXYSQL", "SERVERS"], "proxysql_servers", &["proxysql_servers"]),
    module(&["SCHEDULER"], "scheduler", &["scheduler"]),
    module(&["RESTAPI"], "restapi", &["restapi_routes"]),
    module(
        &["MYSQL", "FIREWALL"],
        "mysql_firewall",
        &[
            "mysql_firewall_whitelist_users",
            "mysql_firewall_whitelist_rules",
            "mysql_firewall_whitelist_sqli_fingerprints",
        ],
    ),
];
