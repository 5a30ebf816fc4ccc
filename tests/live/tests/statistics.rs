//! What the proxy counts of queries against what was sent: by digest, by class of statement and by
//! rule, over all workers.

use std::collections::BTreeMap;

use lab::{Flavour, SplitOptions};
use live::Proxy;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use serde_json::Value;

/// Clients, so that each worker gets some.
const CLIENTS: u64 = 8;

#[test]
fn every_query_is_counted_once_under_what_it_was() {
    let Some(cluster) = live::cluster("statistics", Flavour::MariaDb, 0) else { return };
    let table = "CREATE TABLE test.counted (id INT PRIMARY KEY, name VARCHAR(20))";
    cluster.primary().sql(table).expect("made");
    let options = SplitOptions { variables: "threads = 2".into(), ..Default::default() };
    let proxy = Proxy::start(|interfaces| {
        lab::split_toml(&cluster, &SplitOptions { interfaces, ..options.clone() })
    })
    .expect("tidegate starts");
    for number in 0..CLIENTS {
        one_client(&proxy, number);
    }
    let told = proxy.statistics().expect("they are told");
    assert_eq!((&told["workers"], &told["workers_answered"]), (&2.into(), &2.into()));

    let insert = digest(&told, "INSERT INTO counted VALUES (?,?)");
    assert_columns(insert, &[("count_star", 10), ("sum_rows_affected", 10), ("hostgroup", 0)]);
    let select = digest(&told, "SELECT id FROM counted WHERE id < ?");
    assert_columns(select, &[("count_star", 20), ("sum_rows_sent", 50), ("hostgroup", 1)]);
    assert_columns(select, &[("sum_rows_affected", 0)]);
    let prepared = digest(&told, "SELECT name FROM counted WHERE id = ?");
    // each client prepares it, and hears of most of that without a server
    assert_columns(prepared, &[("count_star", 6), ("sum_rows_sent", 5), ("hostgroup", 1)]);
    let failed = digest(&told, "SELECT nothing FROM nowhere");
    assert_columns(failed, &[("count_star", 1), ("sum_rows_sent", 0)]);
    for row in [insert, select, prepared, failed] {
        let time = |name: &str| row[name].as_u64().expect("a number");
        assert!(time("min_time") > 0 || row == prepared, "{row}");
        assert!(time("min_time") <= time("p50_time"), "{row}");
        assert!(time("p50_time") <= time("p95_time") && time("p99_time") <= time("max_time"));
        assert!(time("first_seen") <= time("last_seen") && time("first_seen") > 1_700_000_000);
        assert_eq!((&row["schemaname"], &row["username"]), (&"test".into(), &"app".into()));
    }
    let class = |name: &str| {
        let rows = told["stats_mysql_commands_counters"].as_array().expect("a table");
        rows.iter().find(|row| row["Command"] == name).expect("a row")["Total_cnt"].as_u64()
    };
    assert_eq!(class("INSERT"), Some(10 * CLIENTS));
    assert!(class("SELECT") >= Some(26 * CLIENTS), "{:?}", class("SELECT"));
    let rules = told["stats_mysql_query_rules"].as_array().expect("a table");
    assert_eq!((&rules[0]["rule_id"], &rules[0]["hits"]), (&1.into(), &0.into()));
    assert!(rules[1]["hits"].as_u64() >= Some(26 * CLIENTS), "{}", rules[1]);
    let all = told["digests_all"]["count_star"].as_u64();
    assert!(all >= Some(36 * CLIENTS), "{all:?}");
    let again = proxy.statistics().expect("they are told");
    assert_eq!(again["digests_all"]["count_star"].as_u64(), all, "looking resets nothing");
}

/// Ten inserts, twenty selects of 50 rows in all, five executions and an error.
fn one_client(proxy: &Proxy, number: u64) {
    let mut client = live::client::connect(live::client::options(proxy.port));
    let first = number * 10;
    for id in first..first + 10 {
        client.query_drop(format!("INSERT INTO counted VALUES ({id}, 'n{id}')")).expect("inserted");
    }
    for times in 0..20 {
        let below = if times < 10 { 5 } else { 0 };
        let text = format!("SELECT id FROM counted WHERE id < {below}");
        let rows: Vec<u64> = client.query(text).expect("read");
        assert_eq!(rows.len(), below);
    }
    let statement = client.prep("SELECT name FROM counted WHERE id = ?").expect("prepared");
    for id in 0..5 {
        let rows: Vec<String> = client.exec(&statement, (id,)).expect("executed");
        assert_eq!(rows.len(), 1);
    }
    client.query_drop("SELECT nothing FROM nowhere").expect_err("there is no such table");
}

/// The row of a digest; there must be one only.
fn digest<'a>(told: &'a Value, text: &str) -> &'a Value {
    let rows = told["stats_mysql_query_digest"].as_array().expect("a table");
    let mut rows_of = rows.iter().filter(|row| row["digest_text"] == text);
    let row = rows_of.next().unwrap_or_else(|| panic!("no {text} in {rows:#?}"));
    assert!(rows_of.next().is_none(), "{text} has one row");
    row
}

/// Columns of a row, by what one client adds to them; the hostgroup is what it is.
fn assert_columns(row: &Value, columns: &[(&str, u64)]) {
    for (name, each) in columns {
        let expected = if *name == "hostgroup" { *each } else { each * CLIENTS };
        assert_eq!(row[*name].as_u64(), Some(expected), "{name} of {row:#}");
    }
}

/// The hostgroup of each digest of the table, and how often it was asked.
fn counted(admin: &mut Conn) -> BTreeMap<String, (i64, u64)> {
    let rows: Vec<(String, i64, u64)> = admin
        .query(
            "SELECT digest_text, hostgroup, count_star FROM stats_mysql_query_digest_reset \
             WHERE digest_text LIKE '%counted%'",
        )
        .expect("told");
    rows.into_iter().map(|(text, hostgroup, count)| (text, (hostgroup, count))).collect()
}

#[test]
fn what_candidate_rules_are_said_to_change_of_live_traffic_is_what_they_change() {
    let Some(cluster) = live::cluster("candidate rules", Flavour::MariaDb, 0) else { return };
    let table = "CREATE TABLE test.counted (id INT PRIMARY KEY, name VARCHAR(20))";
    cluster.primary().sql(table).expect("made");
    let proxy = Proxy::start(|interfaces| {
        lab::split_toml(&cluster, &SplitOptions { interfaces, ..Default::default() })
    })
    .expect("tidegate starts");
    let mut admin = live::client::connect(
        live::client::account(proxy.admin_port, "admin", "admin").db_name(None::<String>),
    );
    let traffic = || {
        let mut client = live::client::connect(live::client::options(proxy.port));
        let mut repeat = |times: u64, text: &str| {
            (0..times).all(|id| client.query_drop(format!("{text} {id}")).is_ok())
        };
        let read = repeat(7, "SELECT id FROM counted WHERE id =")
            && repeat(10, "SELECT name FROM counted WHERE id =");
        let written = repeat(5, "UPDATE counted SET name = 'a' WHERE id =");
        (read && written, repeat(3, "DELETE FROM counted WHERE id ="))
    };
    assert_eq!(traffic(), (true, true));
    let insert = "INSERT INTO mysql_query_rules (rule_id, active, match_digest, apply, ";
    for text in [
        "UPDATE mysql_query_rules SET rule_id = 20 WHERE rule_id = 2",
        &format!("{insert} destination_hostgroup) VALUES (10, 1, '^SELECT name', 1, 0)"),
        &format!("{insert} error_msg) VALUES (11, 1, '^DELETE', 1, 'nothing is deleted')"),
    ] {
        admin.query_drop(text).expect("changed");
    }
    let mut said: Vec<(String, u64, String, String, String)> = admin
        .query::<Row, _>("CANDIDATE MYSQL QUERY RULES")
        .expect("told")
        .into_iter()
        .map(|row| {
            let text = |name: &str| row.get::<String, _>(name).expect("a text");
            let count = text("count_star").parse().expect("a number");
            (text("digest_text"), count, text("what"), text("live"), text("new"))
        })
        .collect();
    said.sort();
    let line = |digest: &str, count, what: &str, live: &str, new: &str| {
        (digest.to_owned(), count, what.to_owned(), live.to_owned(), new.to_owned())
    };
    let (name, delete) =
        ("SELECT name FROM counted WHERE id = ?", "DELETE FROM counted WHERE id = ?");
    assert_eq!(
        said,
        [
            line(delete, 3, "answer", "none", "error nothing is deleted"),
            line(delete, 3, "hostgroup", "0", "none"),
            line(name, 10, "hostgroup", "1", "0"),
        ]
    );
    let before = counted(&mut admin);
    assert_eq!(before[name], (1, 10), "{before:?}");
    assert_eq!(traffic(), (true, true), "nothing is changed by asking");
    assert_eq!(counted(&mut admin), before);
    admin.query_drop("LOAD MYSQL QUERY RULES TO RUNTIME").expect("loaded");
    assert_eq!(traffic(), (true, false), "deletes are refused");
    let mut expected = before;
    expected.insert(name.to_owned(), (0, 10));
    let mut after = counted(&mut admin);
    // nobody is asked for what a rule answers
    expected.remove(delete);
    after.remove(delete);
    assert_eq!(after, expected);
}
