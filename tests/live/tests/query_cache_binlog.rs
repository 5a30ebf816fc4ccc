//! Cached answers that end with a change of what they read, in front of real servers: each kind of
//! change, own writes, replicas that are behind, and logs that cannot be followed.

use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, Server};
use live::followed::{
    REPLICATION, admin, followed_cluster, following, following_with, is_kept, number, streams, warm,
};
use live::{Proxy, client as driver, cluster_with, eventually};
use mysql::Conn;
use mysql::prelude::Queryable;

const LIMIT: Duration = Duration::from_secs(30);

/// How long writers and readers race.
const RACE: Duration = Duration::from_secs(6);

/// Answers of reads from `test` live as long as nothing changes.
fn start(cluster: &Cluster) -> Proxy {
    following(cluster, REPLICATION)
}

fn session(proxy: &Proxy) -> Conn {
    driver::connect(driver::options(proxy.port))
}

/// A table with a value in row 1, and others whose changes change it.
fn define(server: &Server) {
    let text = "DROP VIEW IF EXISTS test.far, test.near;
        DROP TABLE IF EXISTS test.child, test.parent, test.k, test.other, test.src,
            test.big;
        CREATE TABLE test.k (id INT PRIMARY KEY, v INT);
        INSERT INTO test.k VALUES (1, 1);
        CREATE TABLE test.other (id INT PRIMARY KEY, v INT);
        INSERT INTO test.other VALUES (1, 77);
        CREATE TABLE test.src (v INT PRIMARY KEY);
        CREATE TRIGGER test.follows AFTER INSERT ON test.src
            FOR EACH ROW UPDATE test.k SET v = NEW.v;
        CREATE TABLE test.big (b LONGBLOB);
        CREATE VIEW test.near AS SELECT id, v FROM test.k;
        CREATE VIEW test.far AS SELECT v AS w FROM test.near WHERE id > 0;
        CREATE TABLE test.parent (id INT PRIMARY KEY);
        CREATE TABLE test.child (id INT PRIMARY KEY, p INT,
            FOREIGN KEY (p) REFERENCES test.parent (id) ON DELETE CASCADE ON UPDATE CASCADE);
        INSERT INTO test.parent VALUES (1), (2), (3);
        INSERT INTO test.child VALUES (1, 1), (2, 2), (3, 3)";
    server.sql(text).expect("defined");
}

const V: &str = "SELECT v FROM test.k WHERE id = 1";
const CHILDREN: &str = "SELECT COUNT(*) FROM test.child";
const FAR: &str = "SELECT MAX(w) FROM test.far";
const BIG: &str = "SELECT COUNT(*) FROM test.big";
const PARENTS: &str = "SELECT MAX(p) FROM test.child";

/// What is done on a server, by nobody that Tidegate knows, and what a text answers behind it.
const CHANGES: &[(&str, &str, u64)] = &[
    ("UPDATE test.k SET v = 2", V, 2),
    ("UPDATE test.k SET v = 20", FAR, 20),
    (
        "BEGIN; UPDATE test.k SET v = 3; SAVEPOINT s; DELETE FROM test.k; ROLLBACK TO s; COMMIT",
        V,
        3,
    ),
    ("INSERT INTO test.src VALUES (4)", V, 4),
    ("PREPARE s FROM 'UPDATE test.k SET v = ?'; SET @v = 5; EXECUTE s USING @v", V, 5),
    ("DELETE FROM test.parent WHERE id = 1", CHILDREN, 2),
    ("UPDATE test.parent SET id = 30 WHERE id = 3", PARENTS, 30),
    ("SET SESSION binlog_format = STATEMENT; UPDATE test.k SET v = 6", V, 6),
    ("SET SESSION binlog_format = MIXED; UPDATE test.k SET v = 7", V, 7),
    ("SET SESSION binlog_format = ROW; UPDATE test.k SET v = 8", V, 8),
    ("XA START 'a'; UPDATE test.k SET v = 9; XA END 'a'; XA PREPARE 'a'; XA COMMIT 'a'", V, 9),
    ("XA START 'b'; UPDATE test.k SET v = 10; XA END 'b'; XA COMMIT 'b' ONE PHASE", V, 10),
    ("RENAME TABLE test.k TO test.k_, test.other TO test.k, test.k_ TO test.other", V, 77),
    ("REPLACE INTO test.k VALUES (1, 11)", V, 11),
    // an event of three packets
    ("INSERT INTO test.big VALUES (REPEAT('x', 40000000))", BIG, 1),
    ("FLUSH BINARY LOGS; UPDATE test.k SET v = 12", V, 12),
    (
        "CREATE TABLE test.late (p INT PRIMARY KEY, FOREIGN KEY (p) REFERENCES test.parent (id) \
      ON DELETE CASCADE); INSERT INTO test.late VALUES (2)",
        "SELECT COUNT(*) FROM test.late",
        1,
    ),
    ("DELETE FROM test.parent WHERE id = 2", "SELECT COUNT(*) FROM test.late", 0),
    ("DROP TABLE test.late; TRUNCATE test.child", CHILDREN, 0),
];

fn changes(flavour: Flavour, more: &[(&str, &str, u64)]) {
    let Some(cluster) = followed_cluster("answers that end with a change", flavour, 0) else {
        return;
    };
    let server = cluster.primary();
    define(server);
    let proxy = start(&cluster);
    let mut conn = session(&proxy);
    for (change, text, expected) in CHANGES.iter().chain(more) {
        let change_first = text.contains("late") && change.contains("CREATE");
        if !change_first {
            warm(&proxy, &mut conn, text);
            assert_ne!(number(&mut conn, text), *expected, "{change}");
        }
        server.sql(change).unwrap_or_else(|error| panic!("{change}: {error:#}"));
        eventually(change, LIMIT, || number(&mut conn, text) == *expected);
    }
    warm(&proxy, &mut conn, V);
    let mut admin = admin(&proxy);
    assert_eq!(streams(&mut admin)[0].0, "following");
    let row = "SELECT invalidations, fills FROM stats_tidegate_query_cache \
               WHERE digest_text = 'SELECT v FROM test.k WHERE id = ?'";
    let mut counted = || admin.query_first::<(u64, u64), _>(row).expect("answered").expect("a row");
    let before = counted();
    server.sql("UPDATE test.k SET v = 7777").expect("changed");
    eventually("the change is told", LIMIT, || number(&mut conn, V) == 7777);
    let after = counted();
    assert!(after.0 > before.0 && after.0 <= after.1, "{before:?} {after:?}");
}

#[test]
fn an_answer_of_mariadb_ends_with_every_kind_of_change() {
    let compressed = "SET GLOBAL log_bin_compress = ON, GLOBAL log_bin_compress_min_len = 10; \
                      UPDATE test.k SET v = 100";
    changes(Flavour::MariaDb, &[(compressed, V, 100)]);
}

#[test]
fn an_answer_of_mysql_ends_with_every_kind_of_change() {
    let compressed = "SET SESSION binlog_transaction_compression = ON; UPDATE test.k SET v = 100";
    let tagged = "SET SESSION binlog_transaction_compression = OFF; \
                  SET GTID_NEXT = 'AUTOMATIC:tag'; UPDATE test.k SET v = 101";
    // random bytes stay as many when they are compressed
    let large = "SET SESSION binlog_transaction_compression = ON, cte_max_recursion_depth = 20000; \
                 BEGIN; INSERT INTO test.big WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL \
                 SELECT i + 1 FROM n WHERE i < 20000) SELECT RANDOM_BYTES(1024) FROM n; \
                 UPDATE test.k SET v = 102; COMMIT";
    changes(Flavour::MySql, &[(compressed, V, 100), (tagged, V, 101), (large, V, 102)]);
}

fn own_writes(flavour: Flavour) {
    let Some(cluster) = followed_cluster("own writes before cached answers", flavour, 0) else {
        return;
    };
    define(cluster.primary());
    let proxy = start(&cluster);
    let mut conn = session(&proxy);
    warm(&proxy, &mut conn, V);
    for round in 1000..1200 {
        conn.query_drop(format!("UPDATE test.k SET v = {round}")).expect("written");
        assert_eq!(number(&mut conn, V), round);
    }
    warm(&proxy, &mut conn, V);
    assert_eq!(number(&mut conn, V), 1199);
    // a text and an execution of others are told apart, and both end
    let stmt = conn.prep("SELECT v FROM test.k WHERE id = ?").expect("prepared");
    let update = conn.prep("UPDATE test.k SET v = ?").expect("prepared");
    for round in 2000..2100 {
        conn.exec_drop(&update, (round,)).expect("written");
        assert_eq!(conn.exec_first::<u64, _, _>(&stmt, (1,)).expect("read"), Some(round));
    }
}

#[test]
fn a_session_reads_its_own_writes_on_mariadb() {
    own_writes(Flavour::MariaDb);
}

#[test]
fn a_session_reads_its_own_writes_on_mysql() {
    own_writes(Flavour::MySql);
}

#[test]
fn a_log_is_followed_in_tls() {
    let Some(cluster) = followed_cluster("logs in TLS", Flavour::MySql, 0) else { return };
    let server = cluster.primary();
    define(server);
    server.sql("ALTER USER monitor@'%' REQUIRE SSL").expect("altered");
    let proxy = following_with(&cluster, REPLICATION, |text| {
        let text =
            text.replace("max_connections = 1000\n", "max_connections = 1000\nuse_ssl = 1\n");
        text.replacen("[mysql_variables]\n", "[mysql_variables]\nssl_p2s_verify = \"none\"\n", 1)
    });
    let mut conn = session(&proxy);
    warm(&proxy, &mut conn, V);
    server.sql("UPDATE test.k SET v = 2").expect("changed");
    eventually("a change that came in TLS", LIMIT, || number(&mut conn, V) == 2);
}

/// Writers that read what they wrote, while others have the same answers kept all the time; logs
/// may lag so far.
fn raced(flavour: Flavour, lag_max_ms: u64) {
    const WRITERS: u64 = 3;
    let Some(cluster) = followed_cluster("own writes among readers", flavour, 0) else { return };
    define(cluster.primary());
    let proxy = following_with(&cluster, REPLICATION, |text| {
        let lag = format!("[mysql_variables]\nquery_cache_binlog_max_lag_ms = {lag_max_ms}\n");
        text.replacen("[mysql_variables]\n", &lag, 1)
    });
    let row = |id: u64| format!("SELECT v FROM test.k WHERE id = {id}");
    let mut conn = session(&proxy);
    for id in 2..2 + WRITERS {
        conn.query_drop(format!("INSERT INTO test.k VALUES ({id}, 0)")).expect("written");
    }
    warm(&proxy, &mut conn, V);
    let (until, hits) = (Instant::now() + RACE, || proxy.counter("cache_hits").expect("a counter"));
    let before = hits();
    std::thread::scope(|scope| {
        for id in 2..2 + WRITERS {
            let (write, read) = (session(&proxy), session(&proxy));
            scope.spawn(move || {
                let mut conn = write;
                let mut value = 0;
                while Instant::now() < until {
                    value += 1;
                    let text = format!("UPDATE test.k SET v = {value} WHERE id = {id}");
                    conn.query_drop(text).expect("written");
                    // beyond the pulse that passes it, too
                    let asks = if value % 50 == 0 { 300 } else { 3 };
                    for _ in 0..asks {
                        assert_eq!(number(&mut conn, &row(id)), value, "row {id}");
                    }
                }
            });
            scope.spawn(move || {
                let mut conn = read;
                let mut last = 0;
                while Instant::now() < until {
                    let value = number(&mut conn, &row(id));
                    assert!(value >= last, "row {id} went from {last} back to {value}");
                    last = value;
                }
            });
        }
    });
    assert!(hits() > before + 100, "answers were kept meanwhile");
}

#[test]
fn nobody_is_told_an_older_value_again_by_mariadb() {
    raced(Flavour::MariaDb, 500);
}

#[test]
fn nobody_is_told_an_older_value_again_by_mysql_whose_log_is_late_now_and_then() {
    raced(Flavour::MySql, 20);
}

fn behind(flavour: Flavour) {
    let Some(cluster) = followed_cluster("replicas that are behind", flavour, 1) else { return };
    let (primary, replica) = (cluster.primary(), &cluster.replicas()[0]);
    define(primary);
    cluster.wait_replicated().expect("defined");
    let proxy = start(&cluster);
    let mut conn = session(&proxy);
    warm(&proxy, &mut conn, V);
    primary.sql("UPDATE test.k SET v = 2").expect("changed");
    eventually("the replica's log tells of it", LIMIT, || number(&mut conn, V) == 2);
    warm(&proxy, &mut conn, V);
    let (stop, start) = match flavour {
        Flavour::MariaDb => ("STOP SLAVE SQL_THREAD", "START SLAVE SQL_THREAD"),
        Flavour::MySql => ("STOP REPLICA SQL_THREAD", "START REPLICA SQL_THREAD"),
    };
    replica.sql(stop).expect("stopped");
    primary.sql("UPDATE test.k SET v = 3").expect("changed");
    let mut admin = admin(&proxy);
    let state = |admin: &mut Conn| streams(admin)[0].0.clone();
    eventually("it is seen to be behind", LIMIT, || state(&mut admin) == "lagging");
    assert!(!is_kept(&proxy, &mut conn, V), "nothing is told that may have changed");
    replica.sql(start).expect("started");
    eventually("it has caught up", LIMIT, || state(&mut admin) == "following");
    assert_eq!(number(&mut conn, V), 3);
    warm(&proxy, &mut conn, V);
    assert_eq!(number(&mut conn, V), 3);
}

#[test]
fn a_replica_of_mariadb_that_is_behind_keeps_nothing() {
    behind(Flavour::MariaDb);
}

#[test]
fn a_replica_of_mysql_that_is_behind_keeps_nothing() {
    behind(Flavour::MySql);
}

fn broken(flavour: Flavour) {
    let Some(cluster) = followed_cluster("streams that break", flavour, 0) else { return };
    let server = cluster.primary();
    define(server);
    let proxy = start(&cluster);
    let mut conn = session(&proxy);
    let mut admin = admin(&proxy);
    let mut reconnects = 0;
    let mut again = |admin: &mut Conn, conn: &mut Conn, value: u64| {
        reconnects += 1;
        eventually("it is followed again", LIMIT, || {
            let text = "SELECT reconnects FROM stats_tidegate_query_cache_streams";
            number(admin, text) >= reconnects && streams(admin)[0].0 == "following"
        });
        eventually("what changed meanwhile", LIMIT, || number(conn, V) == value);
        warm(&proxy, conn, V);
    };
    warm(&proxy, &mut conn, V);
    let dump = "SELECT ID FROM information_schema.PROCESSLIST \
                WHERE USER = 'monitor' AND COMMAND LIKE 'Binlog Dump%'";
    let id = server.value(dump).expect("a dump");
    server.sql(&format!("KILL {id}; UPDATE test.k SET v = 2")).expect("killed");
    again(&mut admin, &mut conn, 2);
    server.restart().expect("restarted");
    server.sql("UPDATE test.k SET v = 3").expect("changed");
    let mut conn = session(&proxy);
    again(&mut admin, &mut conn, 3);
    let file = |server: &Server| {
        let text = match flavour {
            Flavour::MariaDb => "SHOW MASTER STATUS",
            Flavour::MySql => "SHOW BINARY LOG STATUS",
        };
        server.value(text).expect("a file")
    };
    server.sql("FLUSH BINARY LOGS; FLUSH BINARY LOGS").expect("rotated");
    server.sql(&format!("PURGE BINARY LOGS TO '{}'", file(server))).expect("purged");
    server.sql("UPDATE test.k SET v = 4").expect("changed");
    eventually("behind a purge", LIMIT, || number(&mut conn, V) == 4);
    warm(&proxy, &mut conn, V);
    let reset = match flavour {
        Flavour::MariaDb => "RESET MASTER",
        Flavour::MySql => "RESET BINARY LOGS AND GTIDS",
    };
    server.sql(&format!("{reset}; UPDATE test.k SET v = 5")).expect("begun anew");
    again(&mut admin, &mut conn, 5);
}

#[test]
fn a_stream_of_mariadb_that_breaks_begins_anew() {
    broken(Flavour::MariaDb);
}

#[test]
fn a_stream_of_mysql_that_breaks_begins_anew() {
    broken(Flavour::MySql);
}

#[test]
fn a_log_that_cannot_be_followed_says_what_to_do() {
    let table = [
        (
            Flavour::MariaDb,
            &["--skip-log-bin"][..],
            "it writes no binary log: start it with log_bin",
        ),
        (
            Flavour::MariaDb,
            &["--binlog-ignore-db=x"],
            "its log leaves out schemas: binlog_ignore_db",
        ),
        (
            Flavour::MariaDb,
            &[],
            "the account cannot see all views and foreign keys: GRANT REFERENCES",
        ),
        (Flavour::MySql, &["--gtid-mode=OFF"], "its transactions have no names: set gtid_mode=ON"),
        (
            Flavour::MySql,
            &[],
            "the account cannot see all views and foreign keys: GRANT REFERENCES",
        ),
    ];
    for (flavour, words, expected) in table {
        let Some(cluster) = cluster_with("refusals", flavour, 0, words) else { continue };
        define(cluster.primary());
        let proxy = start(&cluster);
        let (mut conn, mut admin) = (session(&proxy), admin(&proxy));
        let mut told = Vec::new();
        eventually(expected, LIMIT, || {
            // followed from the first read on that is cached as far as is known of its tables
            assert_eq!(number(&mut conn, V), 1, "it is answered all the same");
            told = streams(&mut admin);
            told.first().is_some_and(|(_, reason)| reason.starts_with(expected))
        });
        assert_eq!(told[0].0, "failed");
        assert!(!is_kept(&proxy, &mut conn, V));
        assert_eq!(proxy.log().matches("the log of a server is not followed").count(), 1);
        if words.is_empty() {
            let text = "GRANT REFERENCES, SHOW VIEW ON *.* TO monitor@'%'";
            cluster.primary().sql(text).expect("granted");
            let asks = || streams(&mut admin)[0].1.contains("GRANT REPLICATION SLAVE");
            eventually("what else is to be granted", LIMIT, asks);
            let text = "GRANT REPLICATION SLAVE ON *.* TO monitor@'%'";
            cluster.primary().sql(text).expect("granted");
            warm(&proxy, &mut conn, V);
        }
    }
}
