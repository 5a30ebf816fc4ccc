//! The servers as a driver sees them: what they answer, what they refuse, and that replicas read
//! what the primary wrote.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use demo_servers::{DemoServers, ServerOptions};
use mysql::prelude::Queryable;
use mysql::{Conn, Error, OptsBuilder, Row, Value};

/// A primary and a replica.
struct Pair {
    servers: DemoServers,
    directory: PathBuf,
}

impl Pair {
    fn start() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidegate-demo-test-{}-{count}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir(&directory).expect("a directory");
        let server = |name: &str, read_only| ServerOptions { name: name.to_owned(), read_only };
        let options = [server("primary", false), server("replica", true)];
        let data = directory.join("data.db");
        let servers =
            DemoServers::start(&data, "demo", ("app", "secret"), &options).expect("started");
        Self { servers, directory }
    }

    fn try_connect(&self, at: usize, user: &str, password: &str) -> mysql::Result<Conn> {
        let address = self.servers.addresses()[at];
        Conn::new(
            OptsBuilder::new()
                .ip_or_hostname(Some(address.ip().to_string()))
                .tcp_port(address.port())
                .user(Some(user))
                .pass(Some(password))
                .db_name(Some("demo"))
                .prefer_socket(false),
        )
    }

    fn connect(&self, at: usize) -> Conn {
        self.try_connect(at, "app", "secret").expect("let in")
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.directory));
    }
}

fn code<T>(result: mysql::Result<T>) -> u16 {
    match result {
        Err(Error::MySqlError(error)) => error.code,
        Err(other) => panic!("{other}"),
        Ok(_) => 0,
    }
}

fn texts(conn: &mut Conn, statement: &str) -> Vec<Vec<String>> {
    let rows: Vec<Row> = conn.query(statement).expect(statement);
    let text = |value: Value| match value {
        Value::NULL => "NULL".to_owned(),
        Value::Bytes(bytes) => String::from_utf8(bytes).expect("text"),
        other => other.as_sql(true),
    };
    rows.into_iter().map(|row| row.unwrap().into_iter().map(text).collect()).collect()
}

#[test]
fn replicas_read_what_the_primary_wrote_and_write_nothing() {
    let pair = Pair::start();
    let (mut primary, mut replica) = (pair.connect(0), pair.connect(1));
    primary
        .query_drop("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a TEXT) ENGINE=InnoDB")
        .expect("made");
    primary.query_drop("INSERT INTO t (a) VALUES ('one'), ('it\\'s')").expect("written");
    assert_eq!((primary.affected_rows(), primary.last_insert_id()), (2, 1));
    let all = "SELECT @@hostname, id, a FROM demo.t ORDER BY id";
    let wanted = [["replica", "1", "one"], ["replica", "2", "it's"]];
    assert_eq!(texts(&mut replica, all), wanted);
    assert_eq!(code(replica.query_drop("INSERT INTO t (a) VALUES ('x')")), 1290);
    assert_eq!(code(replica.query_drop("SELECT a FROM t FOR UPDATE")), 1290);
    assert_eq!(code(primary.query_drop("SELECT a FROM t FOR UPDATE")), 0);
}

#[test]
fn transactions_are_seen_when_they_are_committed_and_keep_others_from_writing() {
    let pair = Pair::start();
    let (mut one, mut two) = (pair.connect(0), pair.connect(0));
    one.query_drop("CREATE TABLE t (a INT)").expect("made");
    one.query_drop("SET autocommit = 0; INSERT INTO t VALUES (1)").expect("written");
    assert_eq!(texts(&mut two, "SELECT COUNT(*) FROM t"), [["0"]]);
    assert_eq!(code(two.query_drop("DELETE FROM t")), 1205);
    one.query_drop("COMMIT").expect("committed");
    assert_eq!(texts(&mut two, "SELECT COUNT(*) FROM t"), [["1"]]);
    two.query_drop("BEGIN; DELETE FROM t; ROLLBACK").expect("rolled back");
    assert_eq!(texts(&mut one, "SELECT COUNT(*) FROM t"), [["1"]]);
    // whoever vanishes holds nothing
    one.query_drop("INSERT INTO t VALUES (2)").expect("written");
    drop(one);
    assert_eq!(code(two.query_drop("DELETE FROM t")), 0);
    assert_eq!(two.affected_rows(), 1);
}

#[test]
fn executions_take_values_and_give_rows_with_types() {
    let pair = Pair::start();
    let mut conn = pair.connect(0);
    conn.query_drop("CREATE TABLE t (i BIGINT, d DOUBLE, s TEXT)").expect("made");
    conn.exec_drop("INSERT INTO t VALUES (?, ?, ?)", (-7, 0.5, "x")).expect("written");
    conn.exec_drop("INSERT INTO t VALUES (?, ?, ?)", (1, 2.0, None::<&str>)).expect("written");
    let rows: Vec<(i64, f64, Option<String>)> =
        conn.exec("SELECT i, d, s FROM t WHERE i < ? ORDER BY i", (5,)).expect("read");
    assert_eq!(rows, [(-7, 0.5, Some("x".to_owned())), (1, 2.0, None)]);
    let named: Row =
        conn.exec_first("SELECT @@server_id, ? + 1", (1,)).expect("read").expect("one");
    assert_eq!(named.columns_ref()[0].name_str(), "@@server_id");
    assert_eq!(mysql::from_row::<(u32, i64)>(named), (1, 2));
}

#[test]
fn variables_are_set_and_shown_and_unknown_ones_refused() {
    let pair = Pair::start();
    let mut conn = pair.connect(0);
    conn.query_drop("SET NAMES latin1, @a = 1 + 1, SESSION sql_mode = 'ANSI'").expect("set");
    let asked = "SELECT @@character_set_client, @a, @@session.sql_mode, @b";
    assert_eq!(texts(&mut conn, asked), [["latin1", "2", "ANSI", "NULL"]]);
    assert_eq!(texts(&mut conn, "SHOW VARIABLES LIKE 'sql\\_mode'"), [["sql_mode", "ANSI"]]);
    assert_eq!(code(conn.query_drop("SET @c = 1, no_such = 1")), 1193);
    assert_eq!(texts(&mut conn, "SELECT @c"), [["NULL"]]);
    assert_eq!(code(conn.query_drop("SELECT @@no_such")), 1193);
    assert_eq!(code(conn.query_drop("SET GLOBAL sql_mode = ''")), 1235);
    conn.query_drop("SET last_insert_id = 7").expect("set");
    assert_eq!(texts(&mut conn, "SELECT LAST_INSERT_ID(), @@last_insert_id"), [["7", "7"]]);
    conn.reset().expect("reset");
    assert_eq!(texts(&mut conn, asked), [["utf8mb4", "NULL", "", "NULL"]]);
}

#[test]
fn people_find_their_way_about() {
    let pair = Pair::start();
    let mut conn = pair.connect(0);
    conn.query_drop("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9) DEFAULT 'x')").expect("made");
    assert_eq!(texts(&mut conn, "SHOW TABLES"), [["t"]]);
    assert_eq!(texts(&mut conn, "SHOW DATABASES"), [["demo"]]);
    let columns = texts(&mut conn, "DESCRIBE t");
    assert_eq!(columns[1], ["a", "varchar(9)", "YES", "", "'x'", ""]);
    let process = texts(&mut conn, "SHOW PROCESSLIST");
    assert_eq!(process[0][1..], ["app", "127.0.0.1", "demo", "Query", "0", "", "SHOW PROCESSLIST"]);
    let questions = "SHOW GLOBAL STATUS LIKE 'Questions'";
    let count = |rows: Vec<Vec<String>>| rows[0][1].parse::<u64>().expect("a number");
    let before = count(texts(&mut conn, questions));
    assert_eq!(count(texts(&mut conn, questions)), before + 1);
}

#[test]
fn errors_have_mysqls_numbers() {
    let pair = Pair::start();
    let mut conn = pair.connect(0);
    conn.query_drop("CREATE TABLE t (a INT PRIMARY KEY, b INT NOT NULL CHECK (b > 0))")
        .expect("ok");
    conn.query_drop("INSERT INTO t VALUES (1, 1)").expect("written");
    for (statement, wanted) in [
        ("SELEC 1", 1235),
        ("SELECT 1 +", 1064),
        ("SELECT * FROM none", 1146),
        ("SELECT c FROM t", 1054),
        ("SELECT f(1)", 1305),
        ("INSERT INTO t VALUES (1, 2)", 1062),
        ("INSERT INTO t VALUES (2, NULL)", 1048),
        ("INSERT INTO t VALUES (2, 0)", 3819),
        ("CREATE TABLE t (a INT)", 1050),
        ("USE other", 1049),
        ("CALL p()", 1235),
        ("KILL 99999", 1094),
        ("", 1065),
    ] {
        assert_eq!(code(conn.query_drop(statement)), wanted, "{statement}");
    }
    assert_eq!(code(pair.try_connect(0, "app", "wrong")), 1045);
    assert_eq!(code(pair.try_connect(0, "nobody", "secret")), 1045);
}

#[test]
fn a_sleeper_is_ended_by_kill_and_serves_on() {
    let pair = Pair::start();
    let (mut sleeper, mut other) = (pair.connect(0), pair.connect(0));
    let id: u32 = sleeper.query_first("SELECT CONNECTION_ID()").expect("asked").expect("a row");
    let sleeps = std::thread::spawn(move || {
        let slept = sleeper.query_first::<u8, _>("SELECT SLEEP(60)");
        (slept.map_or(1, |slept| slept.expect("a row")), sleeper)
    });
    let is_asleep = |row: &Vec<String>| row[0] == id.to_string() && row[4] == "Query";
    while !texts(&mut other, "SHOW PROCESSLIST").iter().any(is_asleep) {}
    other.query_drop(format!("KILL QUERY {id}")).expect("killed");
    let (interrupted, mut sleeper) = sleeps.join().expect("no panic");
    assert_eq!(interrupted, 1);
    assert_eq!(texts(&mut sleeper, "SELECT 1"), [["1"]]);
    other.query_drop(format!("KILL {id}")).expect("killed");
    assert!(sleeper.query_drop("SELECT 1").is_err());
}
