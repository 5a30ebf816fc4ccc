//! Which columns are accepted and have no effect in this version, and where a draft uses one.
//!
//! Data and a look at it; whether whoever loads the draft is told each row or each column is his.
//! Columns that never act, as in ProxySQL, are not among them: nobody waits for those.

use crate::config_fault::ConfigFault;
use crate::rows::{HostgroupRow, RuleRow, ServerRow};
use crate::snapshot::Draft;

/// Every value of a draft that is not its column's default and that nothing looks at.
pub fn idle(draft: &Draft) -> Vec<ConfigFault> {
    let mut found = of_table("mysql_servers", &draft.servers, SERVERS);
    found.extend(of_table("mysql_hostgroup_attributes", &draft.hostgroups, HOSTGROUPS));
    found.extend(of_table("mysql_query_rules", &draft.rules, RULES));
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
            reason: "accepted, but without effect in this version".to_owned(),
        };
        used.map(told).collect::<Vec<_>>()
    };
    rows.iter().enumerate().flat_map(of_row).collect()
}

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
}
