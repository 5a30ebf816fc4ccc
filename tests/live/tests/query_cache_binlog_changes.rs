//! Cached answers that end with a change of what they read: statements and circumstances of writes,
//! each made at the server by nobody that Tidegate knows.

use std::time::Duration;

use lab::{Flavour, Server};
use live::followed::{
    REPLICATION, admin, followed_cluster, following, is_kept, number, streams, warm,
};
use live::{client as driver, eventually};
use mysql::prelude::Queryable;

const LIMIT: Duration = Duration::from_secs(30);

const K: &str = "SELECT v FROM test.k WHERE id = 1";
const O: &str = "SELECT v FROM test.o WHERE id = 1";
const ROWS: &str = "SELECT COUNT(*) FROM test.k";
const VIEW: &str = "SELECT MAX(v) FROM test.seen";
const PARTS: &str = "SELECT MAX(v) FROM test.parts";
const SINGLE: &str = "SELECT MAX(v) FROM test.single";
const UNLOGGED: &str = "SELECT v FROM test.m WHERE id = 1";
const MORE: &str = "SELECT MAX(w) FROM test.grows";
const CHILD: &str = "SELECT COUNT(p) FROM test.child";

fn define(server: &Server) {
    let text = "CREATE TABLE test.k (id INT PRIMARY KEY, v INT);
        INSERT INTO test.k VALUES (1, 1), (2, 1), (3, 1);
        CREATE TABLE test.o (id INT PRIMARY KEY, v INT);
        INSERT INTO test.o VALUES (1, 1), (2, 1), (3, 1);
        CREATE VIEW test.seen AS SELECT v FROM test.k WHERE id = 1;
        CREATE TABLE test.parts (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id)
            (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
        INSERT INTO test.parts VALUES (1, 1), (11, 0);
        CREATE TABLE test.single (id INT PRIMARY KEY, v INT);
        INSERT INTO test.single VALUES (2, 50);
        CREATE TABLE test.m (id INT PRIMARY KEY, v INT) ENGINE = MyISAM;
        INSERT INTO test.m VALUES (1, 1);
        CREATE TABLE test.grows (w INT);
        INSERT INTO test.grows VALUES (1);
        CREATE TABLE test.parent (id INT PRIMARY KEY);
        CREATE TABLE test.child (id INT PRIMARY KEY, p INT,
            FOREIGN KEY (p) REFERENCES test.parent (id) ON DELETE SET NULL);
        INSERT INTO test.parent VALUES (1), (2);
        INSERT INTO test.child VALUES (1, 1), (2, 2);
        CREATE PROCEDURE test.sets (n INT) UPDATE test.k SET v = n WHERE id = 1;
        CREATE FUNCTION test.gives (n INT) RETURNS INT DETERMINISTIC
            BEGIN UPDATE test.k SET v = n WHERE id = 1; RETURN n; END";
    server.sql(text).expect("defined");
}

/// What is done on a server, and what a text answers behind it.
const CHANGES: &[(&str, &str, u64)] = &[
    ("UPDATE test.k JOIN test.o USING (id) SET k.v = 2, o.v = 3 WHERE id = 1", K, 2),
    ("UPDATE test.k JOIN test.o USING (id) SET k.v = 4, o.v = 5 WHERE id = 1", O, 5),
    ("DELETE test.k, test.o FROM test.k JOIN test.o USING (id) WHERE id = 3", ROWS, 2),
    ("INSERT INTO test.k SELECT id + 10, v FROM test.o", ROWS, 4),
    ("INSERT INTO test.k VALUES (1, 6) ON DUPLICATE KEY UPDATE v = VALUES(v)", K, 6),
    ("REPLACE INTO test.k SELECT id, 7 FROM test.o WHERE id = 1", K, 7),
    ("REPLACE INTO test.k VALUES (1, 8)", VIEW, 8),
    ("BEGIN; UPDATE test.k SET v = 1000; ROLLBACK; UPDATE test.k SET v = 9 WHERE id = 1", K, 9),
    (
        "CREATE TEMPORARY TABLE test.k (id INT, v INT); INSERT INTO test.k VALUES (1, 2000); \
         UPDATE test.k SET v = 3000; DROP TEMPORARY TABLE test.k; UPDATE test.k SET v = 10",
        K,
        10,
    ),
    ("SET SESSION binlog_row_image = MINIMAL; UPDATE test.k SET v = 11 WHERE id = 1", K, 11),
    ("DELETE FROM test.k WHERE id = 2; SET SESSION binlog_row_image = FULL", ROWS, 3),
    ("CALL test.sets(12)", K, 12),
    ("DO test.gives(13)", K, 13),
    ("SELECT test.gives(14) FROM test.o", VIEW, 14),
    ("CREATE OR REPLACE VIEW test.seen AS SELECT v + 100 AS v FROM test.k WHERE id = 1", VIEW, 114),
    ("ALTER VIEW test.seen AS SELECT v + 200 AS v FROM test.k WHERE id = 1", VIEW, 214),
    ("ALTER TABLE test.parts EXCHANGE PARTITION p0 WITH TABLE test.single", PARTS, 50),
    ("UPDATE test.single SET v = 51", SINGLE, 51),
    ("ALTER TABLE test.parts EXCHANGE PARTITION p0 WITH TABLE test.single", SINGLE, 50),
    ("ALTER TABLE test.parts TRUNCATE PARTITION p0", PARTS, 0),
    ("UPDATE test.m SET v = 2 WHERE id = 1", UNLOGGED, 2),
    ("ALTER TABLE test.grows DROP COLUMN w, ADD COLUMN w INT NOT NULL DEFAULT 16", MORE, 16),
    ("DROP TABLE test.grows; CREATE TABLE test.grows SELECT 17 AS w", MORE, 17),
    ("DELETE FROM test.parent WHERE id = 1", CHILD, 1),
    ("LOCK TABLES test.k WRITE; UPDATE test.k SET v = 18; UNLOCK TABLES", K, 18),
    (
        "SELECT 1, 19 INTO OUTFILE 'DATADIR/rows'; \
      LOAD DATA INFILE 'DATADIR/rows' REPLACE INTO TABLE test.k",
        K,
        19,
    ),
];

fn changes(flavour: Flavour, more: &[(&str, &str, u64)]) {
    let Some(cluster) = followed_cluster("statements that change", flavour, 0) else { return };
    let server = cluster.primary();
    define(server);
    let proxy = following(&cluster, REPLICATION);
    let mut conn = driver::connect(driver::options(proxy.port));
    let directory = server.value("SELECT TRIM(TRAILING '/' FROM @@datadir)").expect("told");
    for (change, text, expected) in CHANGES.iter().chain(more) {
        warm(&proxy, &mut conn, text);
        assert_ne!(number(&mut conn, text), *expected, "{change}");
        let change = change.replace("DATADIR", &directory);
        server.sql(&change).unwrap_or_else(|error| panic!("{change}: {error:#}"));
        eventually(&change, LIMIT, || number(&mut conn, text) == *expected);
    }
    warm(&proxy, &mut conn, K);
    server.sql("BEGIN; UPDATE test.k SET v = 4000; ROLLBACK").expect("rolled back");
    assert!(is_kept(&proxy, &mut conn, K), "what was never written ends nothing");
    assert_eq!(streams(&mut admin(&proxy))[0].0, "following");
    server
        .sql(
            "SET GLOBAL event_scheduler = ON; CREATE EVENT test.ticks ON SCHEDULE EVERY 1 SECOND \
             DO UPDATE test.k SET v = v + 1 WHERE id = 1",
        )
        .expect("scheduled");
    let before = number(&mut conn, K);
    for ticks in 2..4 {
        eventually("an event", LIMIT, || number(&mut conn, K) >= before + ticks);
        warm(&proxy, &mut conn, K);
    }
}

#[test]
fn an_answer_of_mariadb_ends_with_every_statement_that_changes() {
    let more = [
        ("BEGIN; UPDATE test.k SET v = 15; UPDATE test.m SET v = 3; ROLLBACK", UNLOGGED, 3),
        ("CREATE OR REPLACE TABLE test.grows SELECT 20 AS w", MORE, 20),
        ("INSERT INTO test.grows VALUES (21) RETURNING w", MORE, 21),
        ("BEGIN NOT ATOMIC UPDATE test.grows SET w = 22; END", MORE, 22),
    ];
    changes(Flavour::MariaDb, &more);
}

#[test]
fn an_answer_of_mysql_ends_with_every_statement_that_changes() {
    let more = [
        ("WITH c AS (SELECT 20 AS w) UPDATE test.grows JOIN c SET grows.w = c.w", MORE, 20),
        (
            "ALTER TABLE test.grows ADD COLUMN j JSON; \
             UPDATE test.grows SET w = 21, j = '{\"a\": 1}'; \
             SET SESSION binlog_row_value_options = PARTIAL_JSON; \
             UPDATE test.grows SET w = 22, j = JSON_SET(j, '$.a', 2)",
            MORE,
            22,
        ),
    ];
    changes(Flavour::MySql, &more);
}

/// A server whose readers see what may never be written has no log that tells of it.
fn uncommitted(flavour: Flavour) {
    let Some(cluster) = followed_cluster("reads of what is not written", flavour, 0) else {
        return;
    };
    let server = cluster.primary();
    define(server);
    let proxy = following(&cluster, REPLICATION);
    let mut conn = driver::connect(driver::options(proxy.port));
    let mut writer = driver::connect(driver::options(server.port));
    warm(&proxy, &mut conn, K);
    let set = "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED";
    conn.query_drop(set).expect("set");
    writer.query_drop("BEGIN").expect("begun");
    writer.query_drop("UPDATE test.k SET v = 66 WHERE id = 1").expect("written");
    assert_eq!(number(&mut conn, K), 66, "it sees what is not committed");
    writer.query_drop("ROLLBACK").expect("rolled back");
    assert_eq!(number(&mut conn, K), 1, "nobody has ever written 66");
}

#[test]
fn what_mariadb_takes_back_is_not_kept() {
    uncommitted(Flavour::MariaDb);
}

#[test]
fn what_mysql_takes_back_is_not_kept() {
    uncommitted(Flavour::MySql);
}
