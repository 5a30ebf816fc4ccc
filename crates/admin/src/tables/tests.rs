//! The registry of tables against the tables recorded from ProxySQL.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde_json::Value;

use super::*;

/// A column as SQLite describes it.
type Described = (String, String, i64, Option<String>, bool);

fn recorded() -> Value {
    serde_json::from_str(include_str!("../../testdata/admin.json")).expect("it is JSON")
}

fn described(connection: &Connection, table: &str) -> Vec<Described> {
    let mut statement = connection
        .prepare("SELECT name, type, \"notnull\", dflt_value, pk > 0 FROM pragma_table_info(?1)")
        .expect("the pragma exists");
    let rows = statement.query_map([table], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    });
    rows.expect("it runs").map(|row| row.expect("it is well")).collect()
}

#[test]
fn every_recorded_table_is_there_with_its_columns_types_and_defaults() {
    let recorded = recorded();
    for schema in Schema::ALL {
        let connection = Connection::open_in_memory().expect("SQLite works");
        let ours: BTreeMap<String, &Table> = schema.tables().into_iter().collect();
        for (name, table) in &ours {
            connection.execute(&create(table, "main", name), ()).expect(name);
        }
        let tables = recorded["tables"][schema.name()].as_object().expect("an object");
        assert!(!tables.is_empty());
        for (name, columns) in tables {
            let columns = columns.as_array().expect("a list");
            let expected: Vec<Described> = columns
                .iter()
                .map(|column| {
                    let text = |key: &str| column[key].as_str().map(str::to_owned);
                    let number = |key: &str| column[key].as_i64().expect("a number");
                    (
                        text("name").expect("a name"),
                        text("type").expect("a type"),
                        number("notnull"),
                        text("default"),
                        number("pk") > 0,
                    )
                })
                .collect();
            let found = described(&connection, name);
            let place = format!("{}.{name}", schema.name());
            assert!(found.len() >= expected.len(), "{place} has {found:?}");
            assert_eq!(found[..expected.len()], expected[..], "{place}");
            let own: Vec<&str> =
                found[expected.len()..].iter().map(|column| column.0.as_str()).collect();
            let allowed: &[&str] = match name.as_str() {
                "stats_mysql_query_digest" | "stats_mysql_query_digest_reset" => {
                    &["p50_time", "p95_time", "p99_time"]
                }
                "mysql_servers_ssl_params" | "runtime_mysql_servers_ssl_params" => &["ssl_verify"],
                _ => &[],
            };
            assert_eq!(own, allowed, "columns of our own in {place}");
        }
        let missing: Vec<&String> =
            ours.keys().filter(|name| !tables.contains_key(*name)).collect();
        let allowed: &[&str] = match schema {
            Schema::Stats => &[
                "stats_tidegate_certificates",
                "stats_tidegate_query_cache",
                "stats_tidegate_query_cache_reset",
                "stats_tidegate_query_cache_streams",
                "stats_tidegate_redirects",
                "stats_tidegate_servers",
                "stats_tidegate_switchovers",
                "stats_tidegate_topology",
                "stats_tidegate_topology_events",
                "stats_tidegate_users",
            ],
            Schema::Main => {
                &["runtime_tidegate_replication_clusters", "tidegate_replication_clusters"]
            }
            Schema::Disk => &["tidegate_replication_clusters"],
            _ => &[],
        };
        assert_eq!(missing, allowed, "tables of our own in {}", schema.name());
    }
}

#[test]
fn constraints_refuse_what_makes_no_sense() {
    let connection = Connection::open_in_memory().expect("SQLite works");
    for (name, table) in Schema::Main.tables() {
        connection.execute(&create(table, "main", &name), ()).expect("it is valid");
    }
    for (statement, constraint) in [
        ("INSERT INTO mysql_servers (hostname, status) VALUES ('a', 'FOO')", "UPPER(status)"),
        ("INSERT INTO mysql_servers (hostname, port) VALUES ('a', 65536)", "port >= 0"),
        ("INSERT INTO mysql_servers (hostname) VALUES (NULL)", "NOT NULL"),
        ("INSERT INTO mysql_users (username, active) VALUES ('a', 2)", "active IN (0,1)"),
        ("INSERT INTO mysql_users (username, attributes) VALUES ('a', '{')", "JSON_VALID"),
        ("INSERT INTO mysql_query_rules (replace_pattern) VALUES ('a')", "replace_pattern"),
        ("INSERT INTO mysql_replication_hostgroups VALUES (1, 1, 'read_only', '')", "<>writer"),
        ("INSERT INTO scheduler (interval_ms, filename) VALUES (99, 'a')", "interval_ms>=100"),
        ("INSERT INTO restapi_routes VALUES (1, 1, 100, 'PUT', 'a', 'b', '')", "UPPER(method)"),
    ] {
        let error = connection.execute(statement, ()).expect_err(statement).to_string();
        assert!(error.contains(constraint), "{statement}: {error}");
    }
    let rule = "INSERT INTO mysql_query_rules (active) VALUES (1) RETURNING rule_id, re_modifiers";
    let row: (i64, String) =
        connection.query_row(rule, (), |row| Ok((row.get(0)?, row.get(1)?))).expect("it is valid");
    assert_eq!(row, (1, "CASELESS".to_owned()));
}
