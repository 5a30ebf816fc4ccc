//! Prepared statements in the binary protocol.

use mysql::prelude::Queryable;
use mysql::{Error, Value, params};

use crate::group::Group;

#[test]
fn values_travel_both_ways_with_their_types() {
    let group = Group::start();
    let mut conn = group.primary();
    conn.query_drop("CREATE TABLE t (i BIGINT, d DOUBLE, s TEXT, x BLOB, at DATETIME, n INT)")
        .unwrap();
    let at = Value::Date(2024, 2, 29, 1, 2, 3, 0);
    let row = (i64::MIN, 0.25, "ünï 🎈", vec![0_u8, 159, 146, 150], at.clone(), Value::NULL);
    conn.exec_drop("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", row).unwrap();
    let back: mysql::Row = conn
        .exec_first("SELECT * FROM t WHERE i = :i", params! { "i" => i64::MIN })
        .unwrap()
        .unwrap();
    assert_eq!(
        back.unwrap(),
        [
            Value::Int(i64::MIN),
            Value::Double(0.25),
            Value::Bytes("ünï 🎈".into()),
            Value::Bytes(vec![0, 159, 146, 150]),
            at,
            Value::NULL,
        ]
    );
}

#[test]
fn a_statement_runs_again_and_again_with_other_values() {
    let group = Group::start();
    let mut conn = group.primary();
    conn.query_drop("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT)").unwrap();
    let insert = conn.prep("INSERT INTO t (a) VALUES (?)").unwrap();
    assert_eq!((insert.num_params(), insert.num_columns()), (1, 0));
    for number in 0..10 {
        conn.exec_drop(&insert, (number,)).unwrap();
        assert_eq!(conn.last_insert_id(), number + 1);
    }
    let select = conn.prep("SELECT a, id FROM t WHERE a >= ? AND a < ? ORDER BY a").unwrap();
    assert_eq!((select.num_params(), select.num_columns()), (2, 2));
    let names: Vec<String> =
        select.columns().iter().map(|column| column.name_str().into_owned()).collect();
    assert_eq!(names, ["a", "id"]);
    let some: Vec<(u8, u8)> = conn.exec(&select, (3, 5)).unwrap();
    assert_eq!(some, [(3, 4), (4, 5)]);
    conn.close(select).unwrap();
    conn.query_drop("DROP TABLE t").unwrap();
    match conn.exec_drop(&insert, (1,)) {
        Err(Error::MySqlError(error)) => assert_eq!(error.code, 1146),
        other => panic!("{other:?}"),
    }
}

#[test]
fn statements_about_the_server_can_be_prepared_too() {
    let group = Group::start();
    let mut conn = group.replica();
    let host: (String, u8) = conn.exec_first("SELECT @@hostname, ? + 1", (41,)).unwrap().unwrap();
    assert_eq!(host, ("db-2".into(), 42));
    let variable: (String, String) =
        conn.exec_first("SHOW VARIABLES LIKE 'read_only'", ()).unwrap().unwrap();
    assert_eq!(variable, ("read_only".into(), "ON".into()));
    conn.exec_drop("SET @x = 5", ()).unwrap();
    conn.exec_drop("BEGIN", ()).unwrap();
    match conn.prep("SELECT * FROM nix") {
        Err(Error::MySqlError(error)) => assert_eq!(error.code, 1146),
        other => panic!("{other:?}"),
    }
    match conn.prep("SELECT 1; SELECT 2") {
        Err(Error::MySqlError(error)) => assert_eq!(error.code, 1064),
        other => panic!("{other:?}"),
    }
}
