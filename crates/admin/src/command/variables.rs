//! SHOW VARIABLES: ours, and those that clients ask every server for.

use super::show::filter;
use super::{CommandStep, Found};
use crate::admin::{Admin, Session};
use crate::statement::{Statement, is, literal};

pub(super) fn find(admin: &mut Admin, _: &Session, statement: &Statement<'_>) -> Found {
    if !is(statement.word(0), "SHOW") {
        return Ok(None);
    }
    let scoped = is(statement.word(2), "VARIABLES");
    if !scoped && !is(statement.word(1), "VARIABLES") {
        return Ok(None);
    }
    let (scope, at) = if scoped { (statement.word(1), 3) } else { ("", 2) };
    let family = match scope.to_ascii_uppercase().as_str() {
        "" | "GLOBAL" | "SESSION" | "LOCAL" | "ALL" => "",
        "MYSQL" => "mysql-",
        "ADMIN" => "admin-",
        "LDAP" => "ldap-",
        "SQLITESERVER" => "sqliteserver-",
        _ => return Ok(None),
    };
    let mut source = format!(
        "SELECT variable_name AS Variable_name, variable_value AS Value FROM global_variables \
         WHERE variable_name LIKE '{family}%'"
    );
    let Some(filter) = filter(statement, at) else { return Ok(None) };
    if !filter.is_empty() && family.is_empty() {
        for (name, value) in of_servers(admin) {
            source.push_str(&format!(" UNION ALL SELECT {}, {}", literal(name), literal(&value)));
        }
    }
    let text = format!("SELECT * FROM ({source}) {filter} ORDER BY 1");
    Ok(Some(CommandStep::Sql { text, named: Vec::new(), rights: None }))
}

/// Variables of servers that clients look at when they connect, and what they are here.
pub(super) fn of_servers(admin: &Admin) -> Vec<(&'static str, String)> {
    let told = admin.variable("mysql-server_version");
    let read_only = if admin.read_only { "1" } else { "0" };
    let mut all: Vec<(&'static str, String)> =
        FIXED.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    all.push(("version", admin.variable("admin-version")));
    all.push(("innodb_version", told));
    all.push(("read_only", read_only.to_owned()));
    all.push(("super_read_only", read_only.to_owned()));
    all
}

const FIXED: &[(&str, &str)] = &[
    ("version_comment", "(ProxySQL Admin Module)"),
    ("tidegate_version", env!("CARGO_PKG_VERSION")),
    ("version_compile_machine", std::env::consts::ARCH),
    ("version_compile_os", std::env::consts::OS),
    ("auto_increment_increment", "1"),
    ("autocommit", "1"),
    ("character_set_client", "utf8mb4"),
    ("character_set_connection", "utf8mb4"),
    ("character_set_database", "utf8mb4"),
    ("character_set_results", "utf8mb4"),
    ("character_set_server", "utf8mb4"),
    ("collation_connection", "utf8mb4_general_ci"),
    ("collation_database", "utf8mb4_general_ci"),
    ("collation_server", "utf8mb4_general_ci"),
    ("error_count", "0"),
    ("hostname", "localhost"),
    ("init_connect", ""),
    ("interactive_timeout", "28800"),
    ("license", "Apache-2.0 OR MIT"),
    ("lower_case_table_names", "0"),
    ("max_allowed_packet", "67108864"),
    ("net_buffer_length", "16384"),
    ("net_read_timeout", "30"),
    ("net_write_timeout", "60"),
    ("performance_schema", "0"),
    ("query_cache_size", "0"),
    ("query_cache_type", "OFF"),
    ("socket", ""),
    ("sql_mode", ""),
    ("sql_auto_is_null", "0"),
    ("system_time_zone", "UTC"),
    ("time_zone", "SYSTEM"),
    ("transaction_isolation", "READ-COMMITTED"),
    ("transaction_read_only", "0"),
    ("tx_isolation", "READ-COMMITTED"),
    ("tx_read_only", "0"),
    ("wait_timeout", "28800"),
    ("warning_count", "0"),
];
