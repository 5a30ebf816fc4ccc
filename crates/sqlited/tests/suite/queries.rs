//! Identity, results of every type, several results, large ones.

use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};

use crate::group::Group;

#[test]
fn every_server_says_who_it_is() {
    let group = Group::start();
    let ask = "SELECT @@hostname, @@port, @@server_id, @@read_only";
    let primary: (String, u16, u32, u8) = group.primary().query_first(ask).unwrap().unwrap();
    let replica: (String, u16, u32, u8) = group.replica().query_first(ask).unwrap().unwrap();
    assert_eq!(primary, ("db-1".into(), group.port(0), 1, 0));
    assert_eq!(replica, ("db-2".into(), group.port(1), 2, 1));
}

#[test]
fn both_password_plugins_and_an_empty_password_let_clients_in() {
    let group = Group::start();
    for (user, password) in [("demo", "demo"), ("sha", "secret"), ("open", "")] {
        let mut conn = Conn::new(group.options(0, user, password)).unwrap();
        let name: String = conn.query_first("SELECT USER()").unwrap().unwrap();
        assert_eq!(name, format!("{user}@127.0.0.1"));
    }
}

#[test]
fn replicas_see_what_the_primary_wrote() {
    let group = Group::start();
    let mut primary = group.primary();
    primary.query_drop("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT)").unwrap();
    primary.query_drop("INSERT INTO t (a) VALUES (1), (2)").unwrap();
    assert_eq!((primary.affected_rows(), primary.last_insert_id()), (2, 1));
    let sum: i64 = group.replica().query_first("SELECT SUM(a) FROM t").unwrap().unwrap();
    assert_eq!(sum, 3);
}

#[test]
fn a_zero_asks_for_the_next_number() {
    let group = Group::start();
    let mut conn = group.primary();
    conn.query_drop("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT)").unwrap();
    for id in 1..=2 {
        conn.query_drop("INSERT INTO t VALUES (0, 7)").unwrap();
        assert_eq!((conn.affected_rows(), conn.last_insert_id()), (1, id));
    }
    conn.query_drop("INSERT INTO t VALUES (0, 8), (0, 9)").unwrap();
    conn.query_drop("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'; INSERT INTO t VALUES (0, 1)").unwrap();
    let rows: Vec<(u8, u8)> = conn.query("SELECT id, a FROM t ORDER BY id").unwrap();
    assert_eq!(rows, [(0, 1), (1, 7), (2, 7), (3, 8), (4, 9)]);
}

#[test]
fn last_insert_id_of_an_expression_is_remembered_and_told() {
    let group = Group::start();
    let mut conn = group.primary();
    conn.query_drop("CREATE TABLE counter (n INT); INSERT INTO counter VALUES (41)").unwrap();
    conn.query_drop("UPDATE counter SET n = LAST_INSERT_ID(n + 1)").unwrap();
    assert_eq!(conn.last_insert_id(), 42);
    let id: u8 = conn.query_first("SELECT LAST_INSERT_ID()").unwrap().unwrap();
    assert_eq!(id, 42);
    conn.query_drop("SET last_insert_id = 7").unwrap();
    let ids: (u8, u8) = conn.query_first("SELECT LAST_INSERT_ID(), @@identity").unwrap().unwrap();
    assert_eq!(ids, (7, 7));
}

#[test]
fn values_come_back_as_text_and_as_binary() {
    let group = Group::start();
    let mut conn = group.primary();
    conn.query_drop(
        "CREATE TABLE t (i INT, b BIGINT, d DOUBLE, n DECIMAL(10,2), s VARCHAR(20), x BLOB, \
         at DATETIME(6), day DATE, span TIME, y YEAR, z TEXT, \
         m SET('a', 'b'))",
    )
    .unwrap();
    conn.query_drop(
        "INSERT INTO t VALUES (-5, 9223372036854775807, 0.5, 12.5, 'häuser 🎈', 0x00ff, \
         '2024-02-29 12:34:56.789', '2024-02-29', '-12:30:00', 2024, NULL, 'a,b')",
    )
    .unwrap();
    let text: Row = conn.query_first("SELECT * FROM t").unwrap().unwrap();
    let texts: Vec<Value> = text.unwrap();
    assert_eq!(texts[3], Value::Bytes(b"12.50".to_vec()));
    assert_eq!(texts[5], Value::Bytes(vec![0, 255]));
    assert_eq!(texts[6], Value::Bytes(b"2024-02-29 12:34:56.789".to_vec()));
    assert_eq!(texts[10], Value::NULL);
    let binary: Row = conn.exec_first("SELECT * FROM t", ()).unwrap().unwrap();
    assert_eq!(
        binary.unwrap(),
        [
            Value::Int(-5),
            Value::Int(i64::MAX),
            Value::Double(0.5),
            Value::Bytes(b"12.50".to_vec()),
            Value::Bytes("häuser 🎈".into()),
            Value::Bytes(vec![0, 255]),
            Value::Date(2024, 2, 29, 12, 34, 56, 789_000),
            Value::Date(2024, 2, 29, 0, 0, 0, 0),
            Value::Time(true, 0, 12, 30, 0, 0),
            Value::Int(2024),
            Value::NULL,
            Value::Bytes(b"a,b".to_vec()),
        ]
    );
}

#[test]
fn several_statements_give_several_results() {
    let group = Group::start();
    let mut conn = group.primary();
    let mut results = conn.query_iter("SELECT 1; SET @a = 7; SELECT @a, 'x'").unwrap();
    let mut seen = Vec::new();
    while let Some(set) = results.iter() {
        seen.push(set.map(|row| row.unwrap().unwrap()).collect::<Vec<Vec<Value>>>());
    }
    drop(results);
    let one = Value::Bytes(b"1".to_vec());
    let last = vec![Value::Bytes(b"7".to_vec()), Value::Bytes(b"x".to_vec())];
    assert_eq!(seen, [vec![vec![one]], vec![], vec![last]]);
    let again: u8 = conn.query_first("SELECT 3").unwrap().unwrap();
    assert_eq!(again, 3);
}

#[test]
fn a_result_larger_than_any_buffer_arrives_whole() {
    let group = Group::start();
    let mut conn = group.primary();
    conn.query_drop("CREATE TABLE big (a LONGBLOB)").unwrap();
    let value: Vec<u8> = (0..20_000_000_u32).map(|i| i.to_le_bytes()[0] | 0x80).collect();
    conn.exec_drop("INSERT INTO big VALUES (?)", (&value,)).unwrap();
    let back: Vec<u8> = conn.query_first("SELECT a FROM big").unwrap().unwrap();
    assert!(back == value);
    let many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) \
                SELECT i, 'some text to make it long enough to matter' FROM n";
    let mut sum = 0_u64;
    for row in conn.query_iter(many).unwrap() {
        let (number, _): (u64, String) = mysql::from_row(row.unwrap());
        sum += number;
    }
    assert_eq!(sum, 200_000 * 200_001 / 2);
}

#[test]
fn drivers_and_people_get_their_usual_answers() {
    let group = Group::start();
    let mut conn = group.primary();
    conn.query_drop("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(9) NOT NULL)")
        .unwrap();
    for statement in [
        "SET NAMES utf8mb4",
        "SET autocommit=1, sql_mode='STRICT_TRANS_TABLES'",
        "SELECT @@version_comment LIMIT 1",
        "SHOW VARIABLES",
        "SHOW GLOBAL STATUS",
        "SHOW WARNINGS",
        "SHOW DATABASES",
        "SHOW CREATE TABLE t",
        "SHOW INDEX FROM t",
        "USE demo",
        "SELECT @@session.auto_increment_increment AS a, @@character_set_client AS b",
        "SELECT * FROM information_schema.columns WHERE table_name = 't'",
    ] {
        conn.query_drop(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    let tables: Vec<String> = conn.query("SHOW TABLES").unwrap();
    assert_eq!(tables, ["t"]);
    let like: (String, String) =
        conn.query_first("SHOW VARIABLES LIKE 'max\\_allowed%'").unwrap().unwrap();
    assert_eq!(like, ("max_allowed_packet".into(), "67108864".into()));
    let columns: Vec<(String, String, String, String)> = conn
        .query_map("DESCRIBE t", |row: Row| {
            (row.get(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap(), row.get(5).unwrap())
        })
        .unwrap();
    let text = |s: &str| s.to_owned();
    assert_eq!(
        columns,
        [
            (text("id"), text("int"), text("NO"), text("auto_increment")),
            (text("s"), text("varchar(9)"), text("NO"), text("")),
        ]
    );
    let schema: Option<String> = conn.query_first("SELECT DATABASE()").unwrap().unwrap();
    assert_eq!(schema.as_deref(), Some("demo"));
}

#[test]
fn resetting_a_connection_forgets_what_it_had() {
    let group = Group::start();
    let mut conn = group.primary();
    conn.query_drop("CREATE TABLE t (a INT)").unwrap();
    conn.query_drop(
        "SET @a = 1; CREATE TEMPORARY TABLE x (a INT); BEGIN; INSERT INTO t VALUES (1)",
    )
    .unwrap();
    conn.reset().unwrap();
    let after: (Option<u8>, u8) =
        conn.query_first("SELECT @a, (SELECT COUNT(*) FROM t)").unwrap().unwrap();
    assert_eq!(after, (None, 0));
    assert!(conn.query_drop("SELECT * FROM x").unwrap_err().to_string().contains("1146"));
    conn.change_user(
        mysql::ChangeUserOpts::new().with_user(Some("sha".into())).with_pass(Some("secret".into())),
    )
    .unwrap();
    let user: String = conn.query_first("SELECT CURRENT_USER").unwrap().unwrap();
    assert_eq!(user, "sha@%");
}
