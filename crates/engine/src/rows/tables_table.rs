//! Every table that an operator configures, in order. Tables whose rows have no type of their own
//! have their columns here: nothing in this version acts on them, but for variables.
//!
//! Data only.

use super::column::{Table, int, table, text};
use super::{
    AuroraRow, FastRoutingRow, GaleraRow, GroupReplicationRow, HostgroupRow, ReplicationClusterRow,
    ReplicationRow, RestapiRouteRow, Row, RuleRow, SchedulerRow, ServerRow, ServerTlsRow, UserRow,
};

/// The tables.
pub static TABLES: &[Table] = &[
    GLOBAL_VARIABLES,
    *AuroraRow::TABLE,
    MYSQL_FIREWALL_WHITELIST_RULES,
    MYSQL_FIREWALL_WHITELIST_SQLI_FINGERPRINTS,
    MYSQL_FIREWALL_WHITELIST_USERS,
    *GaleraRow::TABLE,
    *GroupReplicationRow::TABLE,
    *HostgroupRow::TABLE,
    *RuleRow::TABLE,
    *FastRoutingRow::TABLE,
    *ReplicationRow::TABLE,
    *ServerRow::TABLE,
    *ServerTlsRow::TABLE,
    *UserRow::TABLE,
    PROXYSQL_SERVERS,
    *RestapiRouteRow::TABLE,
    *SchedulerRow::TABLE,
    *ReplicationClusterRow::TABLE,
];

const GLOBAL_VARIABLES: Table =
    table("global_variables", "Variables, by their names with prefix; all values are text.")
        .key(&["variable_name"])
        .drafted()
        .columns(&[text("variable_name"), text("variable_value")]);

const MYSQL_FIREWALL_WHITELIST_RULES: Table =
    table("mysql_firewall_whitelist_rules", "Queries that the firewall lets through.")
        .key(&["username", "client_address", "schemaname", "flagIN", "digest"])
        .columns(&[
            int("active").default("1").check("active IN (0,1)"),
            text("username"),
            text("client_address"),
            text("schemaname"),
            int("flagIN").default("0"),
            text("digest"),
            text("comment").not_needed(),
        ]);

const MYSQL_FIREWALL_WHITELIST_SQLI_FINGERPRINTS: Table = table(
    "mysql_firewall_whitelist_sqli_fingerprints",
    "Fingerprints that are not taken for an injection.",
)
.key(&["fingerprint"])
.columns(&[int("active").default("1").check("active IN (0,1)"), text("fingerprint")]);

const MYSQL_FIREWALL_WHITELIST_USERS: Table =
    table("mysql_firewall_whitelist_users", "What the firewall does about an account.")
        .key(&["username", "client_address"])
        .columns(&[
            int("active").default("1").check("active IN (0,1)"),
            text("username"),
            text("client_address"),
            text("mode").default("'OFF'").check("mode IN ('OFF','DETECTING','PROTECTING')"),
            text("comment").not_needed(),
        ]);

const PROXYSQL_SERVERS: Table =
    table("proxysql_servers", "Members of the cluster.").key(&["hostname", "port"]).columns(&[
        text("hostname").also(&["address"]),
        int("port").default("6032"),
        int("weight").default("0").check("weight >= 0"),
        text("comment").default("''"),
    ]);
