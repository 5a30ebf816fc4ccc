//! Stored code that a MySQL keeps with a connection as it read it first, and who meets it there.

use super::*;

const DEFINITIONS: [&str; 13] = [
    "DROP VIEW IF EXISTS test.who_view",
    "DROP TABLE IF EXISTS test.who_table, test.who_rows",
    "DROP FUNCTION IF EXISTS test.who",
    "CREATE FUNCTION test.who() RETURNS VARCHAR(20) READS SQL DATA RETURN @who",
    "CREATE VIEW test.who_view AS SELECT test.who() AS a",
    "CREATE TABLE test.who_rows (a VARCHAR(20))",
    "CREATE TABLE test.who_table (a VARCHAR(20))",
    "CREATE TRIGGER test.who_trigger BEFORE INSERT ON test.who_table FOR EACH ROW \
     SET NEW.a = test.who()",
    "DROP VIEW IF EXISTS test.noon_view",
    "DROP FUNCTION IF EXISTS test.noon",
    "CREATE FUNCTION test.noon() RETURNS DATETIME DETERMINISTIC \
     RETURN CAST('2020-01-01 12:00:00' AS DATETIME)",
    "CREATE VIEW test.noon_view AS SELECT test.noon() AS a",
    "DROP FUNCTION IF EXISTS test.third",
];

/// What only a MySQL has.
const OF_MYSQL: [&str; 3] = [
    "DROP FUNCTION test.noon",
    "CREATE FUNCTION test.noon() RETURNS DATETIME DETERMINISTIC \
     RETURN TIMESTAMP'2020-01-01 12:00:00+00:00'",
    "CREATE FUNCTION test.third() RETURNS VARCHAR(40) DETERMINISTIC RETURN 1 / 3",
];

fn define(cluster: &Cluster, servers: &Shared) {
    for statement in DEFINITIONS {
        cluster.primary().sql(statement).expect(statement);
    }
    if std::ptr::eq(servers, &MYSQL) {
        for statement in OF_MYSQL {
            cluster.primary().sql(statement).expect(statement);
        }
    }
}

fn text(conn: &mut Conn, query: &str) -> String {
    conn.query_first::<Option<String>, _>(query).expect("answered").flatten().expect("a text")
}

#[test]
fn a_variable_is_what_its_session_set_in_code_that_nobody_has_read_yet() {
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        define(&cluster, servers);
        for connections in [1, 2] {
            for reads in ["SELECT a FROM who_view", "SELECT CONCAT(a, '') FROM who_view"] {
                // the first statements that it has ever seen
                let proxy = proxy_with(&cluster, connections);
                let mut both = [17, 0].map(|_| client::connect(client::options(proxy.port)));
                for (conn, set) in both.iter_mut().zip(["SET @who = 17", "SET @who = 'bob'"]) {
                    conn.query_drop(set).expect(set);
                }
                let told = both.each_mut().map(|conn| text(conn, reads));
                assert_eq!(told, ["17", "bob"], "{reads}, {connections} connections");
            }
            let proxy = proxy_with(&cluster, connections);
            let mut both = [17, 0].map(|_| client::connect(client::options(proxy.port)));
            both[0].query_drop("DELETE FROM who_table").expect("emptied");
            both[0].query_drop("DELETE FROM who_rows").expect("emptied");
            for (conn, set) in both.iter_mut().zip(["SET @who = 17", "SET @who = 'bob'"]) {
                conn.query_drop(set).expect(set);
                conn.query_drop("INSERT INTO who_table VALUES ('x')").expect("inserted");
                let statement = "INSERT INTO who_rows SELECT a FROM who_view WHERE 1 = ?";
                conn.exec_drop(statement, (1,)).expect("inserted");
            }
            for table in ["who_table", "who_rows"] {
                let rows = format!("SELECT GROUP_CONCAT(a ORDER BY a) FROM {table}");
                assert_eq!(text(&mut both[0], &rows), "17,bob", "{table}, {connections}");
            }
        }
    }
}

#[test]
fn a_view_that_was_made_behind_the_last_reading_is_as_its_session_has_set_its_variable() {
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        define(&cluster, servers);
        let proxy = proxy_with(&cluster, 1);
        let [mut first, mut second] = after_a_reading(&proxy);
        first.query_drop("SET @who = 17").expect("set");
        second.query_drop("SET @who = 'bob'").expect("set");
        for (at, past) in [(0, false), (1, true), (2, false)] {
            let view = format!("late_view_{at}");
            let drops = format!("DROP VIEW IF EXISTS test.{view}");
            let makes = format!("CREATE VIEW test.{view} AS SELECT test.who() AS a");
            if past {
                cluster.primary().sql(&drops).expect("dropped");
                cluster.primary().sql(&makes).expect("made");
            } else {
                first.query_drop(&drops).expect("dropped");
                first.query_drop(&makes).expect("made");
            }
            let reads = format!("SELECT a FROM {view}");
            let told = [&mut first, &mut second].map(|conn| text(conn, &reads));
            assert_eq!(told, ["17", "bob"], "{view}");
        }
    }
}

#[test]
fn code_that_a_statement_only_has_read_is_kept_from_who_has_set_something_else() {
    let Some(cluster) = MYSQL.cluster() else { return };
    define(&cluster, &MYSQL);
    for connections in [1, 2] {
        let proxy = proxy_with(&cluster, connections);
        let [mut first, mut second] = after_a_reading(&proxy);
        first.query_drop("SET time_zone = '+00:00'").expect("set");
        second.query_drop("SET time_zone = '+05:00'").expect("set");
        for (at, looks) in [
            "SHOW CREATE VIEW noon_view",
            "CHECK TABLE noon_view",
            "EXPLAIN SELECT * FROM noon_view",
            "EXPLAIN INSERT INTO who_rows SELECT * FROM noon_view",
            "ALTER VIEW noon_view AS SELECT noon() AS a",
            "LOCK TABLES noon_view READ",
            "PREPARE",
            "SELECT nosuch FROM noon_view",
        ]
        .into_iter()
        .enumerate()
        {
            if looks == "PREPARE" {
                let text = format!("SELECT a, {at} FROM noon_view WHERE noon() > ?");
                drop(first.prep(text).expect("prepared"));
            } else {
                let _ = first.query_drop(looks);
                let _ = first.query_drop("UNLOCK TABLES");
            }
            assert_eq!(text(&mut second, "SELECT noon()"), "2020-01-01 17:00:00", "{looks}");
        }
    }
}

#[test]
fn code_that_was_called_among_others_is_kept_from_who_has_set_something_else() {
    let Some(cluster) = MYSQL.cluster() else { return };
    define(&cluster, &MYSQL);
    let proxy = proxy_where(&cluster, 1, "pipeline_depth = 16\n");
    let [mut plain, mut third, mut fifth] = after_a_reading(&proxy);
    third.query_drop("SET time_zone = '+03:00'").expect("set");
    fifth.query_drop("SET time_zone = '+05:00'").expect("set");
    let query = "SELECT a FROM noon_view";
    let shared = || proxy.counter("shared_queries").expect("counted");
    live::eventually("it is known well enough to share", Duration::from_secs(10), || {
        let before = shared();
        plain.query_drop(query).expect("answered");
        shared() > before
    });
    for _ in 0..3 {
        assert_eq!(text(&mut third, query), "2020-01-01 15:00:00");
        // on a connection of its own, which nobody has brought to anything
        let before = shared();
        plain.query_drop(query).expect("answered");
        assert_eq!(shared(), before + 1);
        assert_eq!(text(&mut fifth, query), "2020-01-01 17:00:00");
    }
}

#[test]
fn code_of_a_statement_prepared_by_settings_of_before_is_kept_from_others() {
    let Some(cluster) = MYSQL.cluster() else { return };
    define(&cluster, &MYSQL);
    for (connections, more) in [(1, ""), (3, ""), (1, "pipeline_depth = 16\n")] {
        let proxy = proxy_where(&cluster, connections, more);
        let [_known] = after_a_reading(&proxy);
        for query in ["SELECT noon()", "SELECT a FROM noon_view"] {
            let [mut first, mut second] =
                [0; 2].map(|_| client::connect(client::options(proxy.port)));
            first.query_drop("SET time_zone = '+00:00'").expect("set");
            let prepared = first.prep(query).expect("prepared");
            for conn in [&mut first, &mut second] {
                conn.query_drop("SET time_zone = '+05:00'").expect("set");
            }
            first.exec_drop(&prepared, ()).expect("executed");
            drop(first);
            for _ in 0..2 {
                let told = text(&mut second, query);
                assert_eq!(told, "2020-01-01 17:00:00", "{query}, {connections} {more}");
            }
        }
    }
}

#[test]
fn stored_code_is_read_by_the_settings_of_the_session_that_calls_it() {
    let Some(cluster) = MYSQL.cluster() else { return };
    define(&cluster, &MYSQL);
    for connections in [1, 3] {
        let proxy = proxy_with(&cluster, connections);
        let [mut first, mut second] = after_a_reading(&proxy);
        first.query_drop("SET time_zone = '+00:00', div_precision_increment = 2").expect("set");
        second.query_drop("SET time_zone = '+05:00', div_precision_increment = 9").expect("set");
        for _ in 0..3 {
            for (query, of_first, of_second) in [
                ("SELECT noon()", "2020-01-01 12:00:00", "2020-01-01 17:00:00"),
                ("SELECT a FROM noon_view", "2020-01-01 12:00:00", "2020-01-01 17:00:00"),
                ("SELECT third()", "0.33", "0.333333333"),
            ] {
                let told = [&mut first, &mut second].map(|conn| text(conn, query));
                assert_eq!(told, [of_first, of_second], "{query}, {connections} connections");
            }
            let noon = "SELECT CAST(noon() AS CHAR) WHERE 1 = ?";
            let exec = |conn: &mut Conn| -> String {
                conn.exec_first(noon, (1,)).expect("answered").expect("a row")
            };
            let told = [exec(&mut first), exec(&mut second)];
            assert_eq!(told, ["2020-01-01 12:00:00", "2020-01-01 17:00:00"], "{connections}");
        }
        // what was set since counts, too, as far as others are concerned
        first.query_drop("SET time_zone = '+05:00'").expect("set");
        let mut third = client::connect(client::options(proxy.port));
        third.query_drop("SET time_zone = '+05:00', div_precision_increment = 2").expect("set");
        assert_eq!(text(&mut third, "SELECT noon()"), "2020-01-01 17:00:00");
        assert_eq!(text(&mut first, "SELECT third()"), "0.33");
        // of a text alone, and of one of several statements
        let alone = "SELECT /*+ SET_VAR(div_precision_increment=7) */ third()";
        assert!(text(&mut first, alone).starts_with("0.33"));
        assert_eq!(text(&mut third, "SELECT third()"), "0.33");
    }
}
