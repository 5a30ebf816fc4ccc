//! The tables of the file: their columns, as ProxySQL names them.
//!
//! Data only; defaults are the rows' own, in `engine::rows`.

use engine::rows::{FastRoutingRow, HostgroupRow, RuleRow, ServerRow, UserRow};
use engine::vars::Family;

use super::columns::{Column, Field, Table};

/// Columns of `mysql_servers`.
pub(super) const SERVERS: Table<ServerRow> = Table {
    name: "mysql_servers",
    columns: &[
        needed("hostgroup_id", &["hostgroup"], Field::Int(|row| &mut row.hostgroup_id)),
        needed("hostname", &["address"], Field::Text(|row| &mut row.hostname)),
        column("port", Field::Int(|row| &mut row.port)),
        column("gtid_port", Field::Int(|row| &mut row.gtid_port)),
        column("status", Field::Text(|row| &mut row.status)),
        column("weight", Field::Int(|row| &mut row.weight)),
        column("compression", Field::Flag(|row| &mut row.compression)),
        column("max_connections", Field::Int(|row| &mut row.max_connections)),
        column("max_replication_lag", Field::Int(|row| &mut row.max_replication_lag)),
        column("use_ssl", Field::Flag(|row| &mut row.use_ssl)),
        column("max_latency_ms", Field::Int(|row| &mut row.max_latency_ms)),
        column("comment", Field::Text(|row| &mut row.comment)),
    ],
};

/// Columns of `mysql_hostgroup_attributes`.
pub(super) const HOSTGROUPS: Table<HostgroupRow> = Table {
    name: "mysql_hostgroup_attributes",
    columns: &[
        needed("hostgroup_id", &["hostgroup"], Field::Int(|row| &mut row.hostgroup_id)),
        column("max_num_online_servers", Field::Int(|row| &mut row.max_num_online_servers)),
        column("autocommit", Field::Int(|row| &mut row.autocommit)),
        column("free_connections_pct", Field::Int(|row| &mut row.free_connections_pct)),
        column("init_connect", Field::Text(|row| &mut row.init_connect)),
        column("multiplex", Field::Flag(|row| &mut row.multiplex)),
        column("connection_warming", Field::Flag(|row| &mut row.connection_warming)),
        column(
            "throttle_connections_per_sec",
            Field::Int(|row| &mut row.throttle_connections_per_sec),
        ),
        column("ignore_session_variables", Field::Text(|row| &mut row.ignore_session_variables)),
        column("hostgroup_settings", Field::Text(|row| &mut row.hostgroup_settings)),
        column("servers_defaults", Field::Text(|row| &mut row.servers_defaults)),
        column("comment", Field::Text(|row| &mut row.comment)),
    ],
};

/// Columns of `mysql_users`.
pub(super) const USERS: Table<UserRow> = Table {
    name: "mysql_users",
    columns: &[
        needed("username", &[], Field::Text(|row| &mut row.username)),
        column("password", Field::Bytes(|row| &mut row.password)),
        column("password_hex", Field::Hex(|row| &mut row.password)),
        column("active", Field::Flag(|row| &mut row.active)),
        column("use_ssl", Field::Flag(|row| &mut row.use_ssl)),
        column("default_hostgroup", Field::Int(|row| &mut row.default_hostgroup)),
        column("default_schema", Field::OptionalText(|row| &mut row.default_schema)),
        column("schema_locked", Field::Flag(|row| &mut row.schema_locked)),
        column("transaction_persistent", Field::Flag(|row| &mut row.transaction_persistent)),
        column("fast_forward", Field::Flag(|row| &mut row.fast_forward)),
        column("backend", Field::Flag(|row| &mut row.backend)),
        column("frontend", Field::Flag(|row| &mut row.frontend)),
        column("max_connections", Field::Int(|row| &mut row.max_connections)),
        column("attributes", Field::Text(|row| &mut row.attributes)),
        column("comment", Field::Text(|row| &mut row.comment)),
    ],
};

/// Columns of `mysql_query_rules`.
pub(super) const RULES: Table<RuleRow> = Table {
    name: "mysql_query_rules",
    columns: &[
        needed("rule_id", &[], Field::Int(|row| &mut row.rule_id)),
        column("active", Field::Flag(|row| &mut row.active)),
        column("username", Field::OptionalText(|row| &mut row.username)),
        column("schemaname", Field::OptionalText(|row| &mut row.schemaname)),
        column("flagIN", Field::Int(|row| &mut row.flag_in)),
        column("client_addr", Field::OptionalText(|row| &mut row.client_addr)),
        column("proxy_addr", Field::OptionalText(|row| &mut row.proxy_addr)),
        column("proxy_port", Field::OptionalInt(|row| &mut row.proxy_port)),
        column("digest", Field::OptionalText(|row| &mut row.digest)),
        column("match_digest", Field::OptionalText(|row| &mut row.match_digest)),
        column("match_pattern", Field::OptionalText(|row| &mut row.match_pattern)),
        column("negate_match_pattern", Field::Flag(|row| &mut row.negate_match_pattern)),
        column("re_modifiers", Field::OptionalText(|row| &mut row.re_modifiers)),
        column("flagOUT", Field::OptionalInt(|row| &mut row.flag_out)),
        column("replace_pattern", Field::OptionalText(|row| &mut row.replace_pattern)),
        column("destination_hostgroup", Field::OptionalInt(|row| &mut row.destination_hostgroup)),
        column("cache_ttl", Field::OptionalInt(|row| &mut row.cache_ttl)),
        column("cache_empty_result", Field::OptionalFlag(|row| &mut row.cache_empty_result)),
        column("cache_timeout", Field::OptionalInt(|row| &mut row.cache_timeout)),
        column("reconnect", Field::OptionalFlag(|row| &mut row.reconnect)),
        column("timeout", Field::OptionalInt(|row| &mut row.timeout)),
        column("retries", Field::OptionalInt(|row| &mut row.retries)),
        column("delay", Field::OptionalInt(|row| &mut row.delay)),
        column("next_query_flagIN", Field::OptionalInt(|row| &mut row.next_query_flag_in)),
        column("mirror_flagOUT", Field::OptionalInt(|row| &mut row.mirror_flag_out)),
        column("mirror_hostgroup", Field::OptionalInt(|row| &mut row.mirror_hostgroup)),
        column("error_msg", Field::OptionalText(|row| &mut row.error_msg)),
        column("OK_msg", Field::OptionalText(|row| &mut row.ok_msg)),
        column("sticky_conn", Field::OptionalFlag(|row| &mut row.sticky_conn)),
        column("multiplex", Field::OptionalInt(|row| &mut row.multiplex)),
        column("gtid_from_hostgroup", Field::OptionalInt(|row| &mut row.gtid_from_hostgroup)),
        column("log", Field::OptionalFlag(|row| &mut row.log)),
        column("apply", Field::Flag(|row| &mut row.apply)),
        column("attributes", Field::Text(|row| &mut row.attributes)),
        column("comment", Field::OptionalText(|row| &mut row.comment)),
    ],
};

/// Columns of `mysql_query_rules_fast_routing`.
pub(super) const FAST_ROUTING: Table<FastRoutingRow> = Table {
    name: "mysql_query_rules_fast_routing",
    columns: &[
        needed("username", &[], Field::Text(|row| &mut row.username)),
        needed("schemaname", &[], Field::Text(|row| &mut row.schemaname)),
        column("flagIN", Field::Int(|row| &mut row.flag_in)),
        needed("destination_hostgroup", &[], Field::Int(|row| &mut row.destination_hostgroup)),
        column("comment", Field::Text(|row| &mut row.comment)),
    ],
};

/// Whether a word is the name of a table or column of any of these, or of another one that is
/// configured.
pub(super) fn knows(word: &str) -> bool {
    let has = |table: &admin::tables::Table| table.name == word || table.position(word).is_some();
    SERVERS.knows(word)
        || HOSTGROUPS.knows(word)
        || USERS.knows(word)
        || RULES.knows(word)
        || FAST_ROUTING.knows(word)
        || Family::Mysql.table() == word
        || Family::Admin.table() == word
        || admin::tables::configured().iter().any(has)
}

const fn needed<R>(
    name: &'static str,
    aliases: &'static [&'static str],
    field: Field<R>,
) -> Column<R> {
    Column { name, aliases, field, needed: true }
}

const fn column<R>(name: &'static str, field: Field<R>) -> Column<R> {
    Column { name, aliases: &[], field, needed: false }
}
