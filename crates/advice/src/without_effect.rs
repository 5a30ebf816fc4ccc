//! Which columns are accepted and have no effect in this version, and where a draft uses one.
//!
//! The registry knows the columns; whether each row is told or each column is the loader's matter.

use std::collections::HashMap;

use engine::config_fault::ConfigFault;
use engine::rows::{Acts, Cell, Column, Table, TableRows, UserRow};
use engine::snapshot::Draft;
use serde_json::Value;

/// Every value of a draft that is not its column's default and that nothing looks at.
pub fn without_effect(draft: &Draft) -> Vec<ConfigFault> {
    let tables = || draft.tables().into_iter();
    let mut found: Vec<_> = tables().flat_map(columns).collect();
    found.extend(of_users(&draft.users));
    found.extend(tables().flat_map(members));
    found
}

/// Values of columns that nothing looks at.
fn columns(rows: &dyn TableRows) -> Vec<ConfigFault> {
    let (table, initial) = (rows.table(), rows.initial());
    if table.columns.iter().all(|column| column.acts != Acts::NotYet) {
        return Vec::new();
    }
    let of_row = |at| {
        let values = rows.cells(at);
        let columns = table.columns.iter().zip(values.into_iter().zip(&initial));
        let used = columns
            .filter(|(column, (value, initial))| column.acts == Acts::NotYet && value != *initial);
        used.map(|(column, _)| fault(table, at, column, WITHOUT_EFFECT.to_owned()))
            .collect::<Vec<_>>()
    };
    (0..rows.count()).flat_map(of_row).collect()
}

/// Members of JSON texts that nothing looks at.
fn members(rows: &dyn TableRows) -> Vec<ConfigFault> {
    let table = rows.table();
    let mut found = Vec::new();
    for at in 0..rows.count() {
        for (column, value) in table.columns.iter().zip(rows.cells(at)) {
            let (Some(known), Cell::Text(text)) = (column.members, value) else { continue };
            let mut tell = |what| {
                found.push(fault(table, at, column, format!("{what} is {WITHOUT_EFFECT}")));
            };
            match serde_json::from_str(&text) {
                Ok(Value::Object(members)) => {
                    let others = members.keys().filter(|name| !known.contains(&name.as_str()));
                    others.for_each(|name| tell(format!("`{name}`")));
                }
                Ok(_) => tell("JSON that is no object".to_owned()),
                // an empty text, as what is no JSON is refused
                Err(_) => {}
            }
        }
    }
    found
}

fn fault(table: &Table, row: usize, column: &Column, reason: String) -> ConfigFault {
    let column = column.name.to_owned();
    ConfigFault { table: table.name, row: Some(row), column, reason }
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

const WITHOUT_EFFECT: &str = "accepted, but without effect in this version";

#[cfg(test)]
mod tests {
    use super::*;
    use engine::rows::{HostgroupRow, RuleRow, ServerRow};

    #[test]
    fn only_values_that_nothing_looks_at_are_told_with_their_place() {
        let hostgroup = HostgroupRow {
            init_connect: "SET @a = 1".into(),
            autocommit: 1,
            ignore_session_variables: "[]".into(),
            ..HostgroupRow::default()
        };
        let draft = Draft {
            servers: vec![ServerRow::default(), ServerRow { gtid_port: 1, ..Default::default() }],
            hostgroups: vec![hostgroup],
            rules: vec![RuleRow { log: Some(0), sticky_conn: Some(1), ..Default::default() }],
            ..Draft::default()
        };
        let told: Vec<_> = without_effect(&draft).iter().map(ToString::to_string).collect();
        let said = |place: &str| format!("{place}: accepted, but without effect in this version");
        let places = [
            "mysql_servers row 2 column gtid_port",
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
        let told = |draft: Draft| {
            without_effect(&draft).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
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
        let attributes = r#"{"annotations": false, "max_conns": "x"}"#.to_owned();
        let with = UserRow { attributes, ..user(1, 1, "") };
        assert_eq!(
            users(&[with]),
            ["mysql_users row 1 column attributes: `max_conns` is accepted, but without \
                 effect in this version"]
        );
        let settings = [
            r#"{"handle_warnings": 1, "monitor_slave_lag_when_null": 0}"#,
            r#"["several_writers", "none"]"#,
            r#"{"several_writers": "none", "balance": "weight", "zones": {}}"#,
        ];
        let hostgroups = settings.map(|text| HostgroupRow {
            hostgroup_settings: text.to_owned(),
            ..HostgroupRow::default()
        });
        let place = "column hostgroup_settings";
        let idle = "accepted, but without effect in this version";
        assert_eq!(
            told(Draft { hostgroups: hostgroups.into(), ..Draft::default() }),
            [
                format!(
                    "mysql_hostgroup_attributes row 1 {place}: `monitor_slave_lag_when_null` is \
                     {idle}"
                ),
                format!(
                    "mysql_hostgroup_attributes row 2 {place}: JSON that is no object is {idle}"
                ),
            ]
        );
    }
}
