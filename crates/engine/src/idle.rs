//! Which columns are accepted and have no effect in this version, and where a draft uses one.
//!
//! Data and a look at it; whether whoever loads the draft is told each row or each column is his.
//! Columns that never act, as in ProxySQL, are not among them: nobody waits for those.

use std::collections::HashMap;

use crate::config_fault::ConfigFault;
use crate::json::Json;
use crate::rows::{HostgroupRow, RuleRow, ServerRow, UserRow};
use crate::snapshot::Draft;

/// Every value of a draft that is not its column's default and that nothing looks at.
pub fn idle(draft: &Draft) -> Vec<ConfigFault> {
    let mut found = of_table("mysql_servers", &draft.servers, SERVERS);
    found.extend(of_table("mysql_hostgroup_attributes", &draft.hostgroups, HOSTGROUPS));
    found.extend(of_table("mysql_query_rules", &draft.rules, RULES));
    found.extend(of_users(&draft.users));
    for (at, row) in draft.users.iter().enumerate() {
        let known =
            ["pipeline_depth", "replication", "annotations", "default-transaction_isolation"];
        found.extend(members(("mysql_users", at, "attributes"), &row.attributes, &known));
    }
    for (at, row) in draft.rules.iter().enumerate() {
        let known = ["pipeline_depth", "flagOUTs"];
        found.extend(members(("mysql_query_rules", at, "attributes"), &row.attributes, &known));
    }
    for (at, row) in draft.hostgroups.iter().enumerate() {
        let place = ("mysql_hostgroup_attributes", at, "hostgroup_settings");
        found.extend(members(
            place,
            &row.hostgroup_settings,
            &["pipeline_depth", "handle_warnings"],
        ));
    }
    found
}

/// Members of a JSON text that nothing looks at.
fn members(
    (table, row, column): (&'static str, usize, &str),
    text: &str,
    known: &[&str],
) -> Vec<ConfigFault> {
    let Ok(Json::Object(members)) = Json::parse(text) else { return Vec::new() };
    let others = members.iter().filter(|(name, _)| !known.contains(&name.as_str()));
    let told = |(name, _): &(String, Json)| ConfigFault {
        table,
        row: Some(row),
        column: column.to_owned(),
        reason: format!("`{name}` is {IDLE}"),
    };
    others.map(told).collect()
}

/// Accounts that are to be used on one side only, or otherwise on each.
fn of_users(rows: &[UserRow]) -> Vec<ConfigFault> {
    let active = || rows.iter().enumerate().filter(|(_, row)| row.active == 1);
    let of_servers = active().filter(|(_, row)| row.backend == 1);
    let of_servers: HashMap<_, _> =
        of_servers.map(|(_, row)| (row.username.as_str(), row)).collect();
    let mut found = Vec::new();
    for (at, row) in active().filter(|(_, row)| row.frontend == 1 && row.backend == 0) {
        let (column, reason) = match of_servers.get(row.username.as_str()) {
            None => ("backend", "0 is accepted, but the account is used towards servers, too"),
            Some(other) if other.password != row.password => {
                ("password", "this one is used towards servers, too, not that of the other row")
            }
            Some(_) => continue,
        };
        let (column, reason) = (column.to_owned(), reason.to_owned());
        found.push(ConfigFault { table: "mysql_users", row: Some(at), column, reason });
    }
    found
}

/// A column's name, and whether it differs between two rows.
type Column<R> = (&'static str, fn(&R, &R) -> bool);

fn of_table<R: Default>(
    table: &'static str,
    rows: &[R],
    columns: &[Column<R>],
) -> Vec<ConfigFault> {
    let initial = R::default();
    let of_row = |(at, row): (usize, &R)| {
        let used = columns.iter().filter(|(_, differs)| differs(row, &initial));
        let told = |(column, _): &Column<R>| ConfigFault {
            table,
            row: Some(at),
            column: (*column).to_owned(),
            reason: IDLE.to_owned(),
        };
        used.map(told).collect::<Vec<_>>()
    };
    rows.iter().enumerate().flat_map(of_row).collect()
}

const IDLE: &str = "accepted, but without effect in this version";

const SERVERS: &[Column<ServerRow>] = &[
    ("gtid_port", |row, other| row.gtid_port != other.gtid_port),
    ("compression", |row, other| row.compression != other.compression),
    ("max_replication_lag", |row, other| row.max_replication_lag != other.max_replication_lag),
    ("max_latency_ms", |row, other| row.max_latency_ms != other.max_latency_ms),
];

const HOSTGROUPS: &[Column<HostgroupRow>] = &[
    ("autocommit", |row, other| row.autocommit != other.autocommit),
    ("ignore_session_variables", |row, other| {
        row.ignore_session_variables != other.ignore_session_variables
    }),
    ("servers_defaults", |row, other| row.servers_defaults != other.servers_defaults),
];

const RULES: &[Column<RuleRow>] = &[
    ("cache_ttl", |row, other| row.cache_ttl != other.cache_ttl),
    ("cache_empty_result", |row, other| row.cache_empty_result != other.cache_empty_result),
    ("gtid_from_hostgroup", |row, other| row.gtid_from_hostgroup != other.gtid_from_hostgroup),
    ("log", |row, other| row.log != other.log),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_that_nothing_looks_at_are_told_with_their_place() {
        let hostgroup = HostgroupRow {
            init_connect: "SET @a = 1".into(),
            autocommit: 1,
            ignore_session_variables: "[]".into(),
            ..HostgroupRow::default()
        };
        let draft = Draft {
            servers: vec![ServerRow::default(), ServerRow { compression: 1, ..Default::default() }],
            hostgroups: vec![hostgroup],
            rules: vec![RuleRow { log: Some(0), sticky_conn: Some(1), ..Default::default() }],
            ..Draft::default()
        };
        let told: Vec<_> = idle(&draft).iter().map(ToString::to_string).collect();
        let said = |place: &str| format!("{place}: accepted, but without effect in this version");
        let places = [
            "mysql_servers row 2 column compression",
            "mysql_hostgroup_attributes row 1 column autocommit",
            "mysql_hostgroup_attributes row 1 column ignore_session_variables",
            "mysql_query_rules row 1 column log",
        ];
        assert_eq!(told, places.map(said));
    }

    #[test]
    fn members_of_json_and_sides_of_accounts_without_effect_are_told() {
        let user = |frontend, backend, password: &str| UserRow {
            username: "app".into(),
            password: password.into(),
            frontend,
            backend,
            ..UserRow::default()
        };
        let told = |draft: Draft| idle(&draft).iter().map(ToString::to_string).collect::<Vec<_>>();
        let users = |users: &[UserRow]| told(Draft { users: users.to_vec(), ..Draft::default() });
        assert_eq!(users(&[user(1, 1, "a"), user(0, 1, "a")]), [""; 0]);
        assert_eq!(users(&[user(1, 0, "a"), user(0, 1, "a")]), [""; 0]);
        assert_eq!(
            users(&[user(0, 1, "a"), user(1, 0, "b")]),
            ["mysql_users row 2 column password: this one is used towards servers, too, not that \
              of the other row"]
        );
        assert_eq!(
            users(&[user(1, 0, "a")]),
            ["mysql_users row 1 column backend: 0 is accepted, but the account is used towards \
              servers, too"]
        );
        let attributes = r#"{"annotations": false, "spiffe_id": "x"}"#.to_owned();
        let with = UserRow { attributes, ..user(1, 1, "") };
        assert_eq!(
            users(&[with]),
            ["mysql_users row 1 column attributes: `spiffe_id` is accepted, but without \
                 effect in this version"]
        );
        let hostgroup_settings =
            r#"{"handle_warnings": 1, "monitor_slave_lag_when_null": 0}"#.to_owned();
        let hostgroups = vec![HostgroupRow { hostgroup_settings, ..HostgroupRow::default() }];
        assert_eq!(
            told(Draft { hostgroups, ..Draft::default() }),
            ["mysql_hostgroup_attributes row 1 column hostgroup_settings: \
              `monitor_slave_lag_when_null` is accepted, but without effect in this version"]
        );
    }
}
