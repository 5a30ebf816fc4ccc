//! Errors with MySQL's numbers and SQLSTATEs.

use mysql::prelude::Queryable;
use mysql::{Conn, Error};

use crate::group::Group;

/// Number, SQLSTATE and text of the error a statement ends with.
fn error(conn: &mut Conn, statement: &str) -> (u16, String, String) {
    match conn.query_drop(statement) {
        Err(Error::MySqlError(error)) => (error.code, error.state, error.message),
        other => panic!("{statement}: {other:?}"),
    }
}

#[test]
fn failures_carry_the_numbers_that_mysql_gives_them() {
    let group = Group::start();
    let mut conn = group.primary();
    conn.query_drop("CREATE TABLE t (a INT PRIMARY KEY, b INT NOT NULL, CHECK (b > 0))").unwrap();
    conn.query_drop("INSERT INTO t VALUES (1, 1)").unwrap();
    for (statement, code, state) in [
        ("SELEC 1", 1064, "42000"),
        ("SELECT * FROM t WHERE", 1064, "42000"),
        ("SELECT 'x", 1064, "42000"),
        ("SELECT ?", 1064, "42000"),
        ("", 1065, "42000"),
        ("SELECT * FROM nix", 1146, "42S02"),
        ("DESCRIBE nix", 1146, "42S02"),
        ("DROP TABLE nix", 1146, "42S02"),
        ("SELECT nix FROM t", 1054, "42S22"),
        ("INSERT INTO t (nix) VALUES (1)", 1054, "42S22"),
        ("INSERT INTO t VALUES (1, 1)", 1062, "23000"),
        ("INSERT INTO t VALUES (2, NULL)", 1048, "23000"),
        ("INSERT INTO t VALUES (2, 0)", 3819, "HY000"),
        ("INSERT INTO t VALUES (1)", 1136, "21S01"),
        ("CREATE TABLE t (a INT)", 1050, "42S01"),
        ("USE nix", 1049, "42000"),
        ("SELECT nix(1)", 1305, "42000"),
        ("SELECT @@nix", 1193, "HY000"),
        ("SET nix = 1", 1193, "HY000"),
        ("SET port = 1", 1238, "HY000"),
        ("SET autocommit = 'maybe'", 1231, "42000"),
        ("SET GLOBAL read_only = 1", 1227, "42000"),
        ("CALL p()", 1235, "42000"),
    ] {
        let (found, found_state, message) = error(&mut conn, statement);
        assert_eq!((found, found_state.as_str()), (code, state), "{statement}: {message}");
    }
    assert_eq!(error(&mut conn, "SELECT * FROM nix").2, "Table 'demo.nix' doesn't exist");
    let warning: (String, u16, String) = conn.query_first("SHOW WARNINGS").unwrap().unwrap();
    assert_eq!((warning.0.as_str(), warning.1), ("Error", 1146));
}

#[test]
fn a_read_only_server_refuses_writes_with_mysqls_words() {
    let group = Group::start();
    group.primary().query_drop("CREATE TABLE t (a INT)").unwrap();
    let mut replica = group.replica();
    let words = "The MySQL server is running with the --read-only option so it cannot execute \
                 this statement";
    for statement in [
        "INSERT INTO t VALUES (1)",
        "DELETE FROM t",
        "SELECT * FROM t FOR UPDATE",
        "CREATE TABLE u (a INT)",
        "TRUNCATE t",
        "DROP TABLE t",
    ] {
        let found = error(&mut replica, statement);
        assert_eq!(found, (1290, "HY000".into(), words.into()), "{statement}");
    }
    replica.query_drop("SELECT * FROM t LOCK IN SHARE MODE").unwrap();
    let mut root = Conn::new(group.options(1, "root", "root")).unwrap();
    root.query_drop("INSERT INTO t VALUES (1)").unwrap();
    root.query_drop("SET GLOBAL read_only = OFF").unwrap();
    replica.query_drop("INSERT INTO t VALUES (2)").unwrap();
    root.query_drop("SET GLOBAL read_only = ON").unwrap();
    let found = error(&mut replica, "INSERT INTO t VALUES (3)");
    assert_eq!((found.0, found.1.as_str()), (1290, "HY000"));
}

#[test]
fn wrong_credentials_and_full_servers_turn_clients_away() {
    let group = Group::start_with(|options| options.max_connections = 2);
    let refused = |user: &str, password: &str| match Conn::new(group.options(0, user, password)) {
        Err(Error::MySqlError(error)) => (error.code, error.state, error.message),
        other => panic!("{other:?}"),
    };
    let denied = |user: &str, using: &str| {
        let text = format!("Access denied for user '{user}'@'127.0.0.1' (using password: {using})");
        (1045, "28000".to_owned(), text)
    };
    assert_eq!(refused("demo", "wrong"), denied("demo", "YES"));
    assert_eq!(refused("sha", "wrong"), denied("sha", "YES"));
    assert_eq!(refused("demo", ""), denied("demo", "NO"));
    assert_eq!(refused("nobody", "demo"), denied("nobody", "YES"));
    let nowhere = group.options(0, "demo", "demo").db_name(Some("nix"));
    match Conn::new(nowhere) {
        Err(Error::MySqlError(error)) => assert_eq!(error.code, 1049),
        other => panic!("{other:?}"),
    }
    let _both = (group.primary(), group.primary());
    let (code, _, message) = refused("demo", "demo");
    assert_eq!((code, message.as_str()), (1040, "Too many connections"));
}

#[test]
fn an_endless_statement_is_stopped() {
    let group = Group::start_with(|options| options.statement_ms = 50);
    let mut conn = group.primary();
    let endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                   SELECT COUNT(*) FROM n";
    assert_eq!(error(&mut conn, endless).0, 3024);
    let after: u8 = conn.query_first("SELECT 1").unwrap().unwrap();
    assert_eq!(after, 1);
}

#[test]
fn a_packet_beyond_the_limit_ends_the_session() {
    let group = Group::start_with(|options| options.max_packet_bytes = 100_000);
    let mut conn = group.primary();
    let long = format!("SELECT '{}'", "x".repeat(200_000));
    assert!(conn.query_drop(long).is_err());
    let after: u8 = group.primary().query_first("SELECT 1").unwrap().unwrap();
    assert_eq!(after, 1);
}
