//! The tables of the file: their columns, as ProxySQL names them.
//!
//! Data only; defaults are the rows' own, in `engine::rows`.

use engine::rows::{RuleRow, ServerRow, UserRow};

use super::columns::{Column, Field, Notice, Table};

/// Columns of `mysql_servers`.
pub(super) const SERVERS: Table<ServerRow> = Table {
    name: "mysql_servers",
    columns: &[
        needed("hostgroup_id", &["hostgroup"], Field::Int(|row| &mut row.hostgroup_id)),
        needed("hostname", &["address"], Field::Text(|row| &mut row.hostname)),
        column("port", Field::Int(|row| &mut row.port)),
        not_yet("gtid_port", Field::Int(|row| &mut row.gtid_port)),
        column("status", Field::Text(|row| &mut row.status)),
        column("weight", Field::Int(|row| &mut row.weight)),
        not_yet("compression", Field::Flag(|row| &mut row.compression)),
        column("max_connections", Field::Int(|row| &mut row.max_connections)),
        not_yet("max_replication_lag", Field::Int(|row| &mut row.max_replication_lag)),
        needs_tls("use_ssl", Field::Flag(|row| &mut row.use_ssl)),
        not_yet("max_latency_ms", Field::Int(|row| &mut row.max_latency_ms)),
        remark("comment", Field::Text(|row| &mut row.comment)),
    ],
    unsupported: &[],
};

/// Columns of `mysql_users`.
pub(super) const USERS: Table<UserRow> = Table {
    name: "mysql_users",
    columns: &[
        needed("username", &[], Field::Text(|row| &mut row.username)),
        column("password", Field::Bytes(|row| &mut row.password)),
        column("password_hex", Field::Hex(|row| &mut row.password)),
        column("active", Field::Flag(|row| &mut row.active)),
        needs_tls("use_ssl", Field::Flag(|row| &mut row.use_ssl)),
        column("default_hostgroup", Field::Int(|row| &mut row.default_hostgroup)),
        column("default_schema", Field::OptionalText(|row| &mut row.default_schema)),
        remark("schema_locked", Field::Flag(|row| &mut row.schema_locked)),
        column("transaction_persistent", Field::Flag(|row| &mut row.transaction_persistent)),
        column("fast_forward", Field::Flag(|row| &mut row.fast_forward)),
        column("backend", Field::Flag(|row| &mut row.backend)),
        column("frontend", Field::Flag(|row| &mut row.frontend)),
        column("max_connections", Field::Int(|row| &mut row.max_connections)),
        not_yet("attributes", Field::Text(|row| &mut row.attributes)),
        remark("comment", Field::Text(|row| &mut row.comment)),
    ],
    unsupported: &[],
};

/// Columns of `mysql_query_rules`.
pub(super) const RULES: Table<RuleRow> = Table {
    name: "mysql_query_rules",
    columns: &[
        needed("rule_id", &[], Field::Int(|row| &mut row.rule_id)),
        column("active", Field::Flag(|row| &mut row.active)),
        column("username", Field::OptionalText(|row| &mut row.username)),
        column("schemaname", Field::OptionalText(|row| &mut row.schemaname)),
        column("match_pattern", Field::OptionalText(|row| &mut row.match_pattern)),
        column("negate_match_pattern", Field::Flag(|row| &mut row.negate_match_pattern)),
        column("destination_hostgroup", Field::OptionalInt(|row| &mut row.destination_hostgroup)),
        column("apply", Field::Flag(|row| &mut row.apply)),
        remark("comment", Field::OptionalText(|row| &mut row.comment)),
    ],
    unsupported: &[
        "flagIN",
        "client_addr",
        "proxy_addr",
        "proxy_port",
        "digest",
        "match_digest",
        "re_modifiers",
        "flagOUT",
        "replace_pattern",
        "cache_ttl",
        "cache_empty_result",
        "cache_timeout",
        "reconnect",
        "timeout",
        "retries",
        "delay",
        "next_query_flagIN",
        "mirror_flagOUT",
        "mirror_hostgroup",
        "error_msg",
        "OK_msg",
        "sticky_conn",
        "multiplex",
        "gtid_from_hostgroup",
        "log",
        "attributes",
    ],
};

/// What else ProxySQL reads from its file; refused by name, as leaving it out would mislead.
pub(super) const UNSUPPORTED: &[&str] = &[
    "datadir",
    "errorlog",
    "pidfile",
    "uuid",
    "restart_on_missing_heartbeats",
    "execute_on_exit_failure",
    "cluster_sync_interfaces",
    "mysql_replication_hostgroups",
    "mysql_group_replication_hostgroups",
    "mysql_galera_hostgroups",
    "mysql_aws_aurora_hostgroups",
    "mysql_hostgroup_attributes",
    "mysql_servers_ssl_params",
    "mysql_query_rules_fast_routing",
    "mysql_firewall_whitelist_users",
    "mysql_firewall_whitelist_rules",
    "mysql_ldap_mapping",
    "scheduler",
    "restapi",
    "proxysql_servers",
];

const fn needed<R>(
    name: &'static str,
    aliases: &'static [&'static str],
    field: Field<R>,
) -> Column<R> {
    Column { name, aliases, field, notice: Notice::Needed }
}

const fn column<R>(name: &'static str, field: Field<R>) -> Column<R> {
    Column { name, aliases: &[], field, notice: Notice::Acts }
}

const fn remark<R>(name: &'static str, field: Field<R>) -> Column<R> {
    Column { name, aliases: &[], field, notice: Notice::Remark }
}

const fn not_yet<R>(name: &'static str, field: Field<R>) -> Column<R> {
    Column { name, aliases: &[], field, notice: Notice::NotYet }
}

const fn needs_tls<R>(name: &'static str, field: Field<R>) -> Column<R> {
    Column { name, aliases: &[], field, notice: Notice::NeedsTls }
}
