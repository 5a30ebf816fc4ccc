//! A session is told what it has written, however it wrote and wherever its reads go, though others
//! have kept the answers of before; also while servers change places.

use std::time::{Duration, Instant};

use lab::{Flavour, Server};
use live::followed::{REPLICATION, admin, followed_cluster, following, number, warm};
use live::{client as driver, eventually};
use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler};

const LIMIT: Duration = Duration::from_secs(30);

/// How long a session asks for what it has written: beyond some pulses.
const ASKS_FOR: Duration = Duration::from_millis(120);

const K: &str = "SELECT v FROM test.k WHERE id = 1";

/// What sends a file whose only row is 1 and the file's name.
fn session(port: u16) -> Conn {
    let options = driver::options(port)
        .additional_capabilities(mysql::consts::CapabilityFlags::CLIENT_MULTI_STATEMENTS);
    let mut conn = driver::connect(options);
    conn.set_local_infile_handler(Some(LocalInfileHandler::new(|name, file| {
        use std::io::Write;
        writeln!(file, "1\t{}", String::from_utf8_lossy(name))
    })));
    conn
}

fn define(server: &Server) {
    let text = "CREATE TABLE test.k (id INT PRIMARY KEY, v INT);
        INSERT INTO test.k VALUES (1, 1);
        CREATE VIEW test.near AS SELECT id, v FROM test.k;
        CREATE TABLE test.src (v INT PRIMARY KEY);
        CREATE TRIGGER test.follows AFTER INSERT ON test.src
            FOR EACH ROW UPDATE test.k SET v = NEW.v;
        CREATE PROCEDURE test.sets (n INT) UPDATE test.k SET v = n WHERE id = 1;
        CREATE FUNCTION test.gives (n INT) RETURNS INT DETERMINISTIC
            BEGIN UPDATE test.k SET v = n WHERE id = 1; RETURN n; END";
    server.sql(text).expect("defined");
}

/// How a session writes `#`: its texts, one after the other. `?` in front has one prepared.
const WRITES: &[&[&str]] = &[
    &["UPDATE test.k SET v = #"],
    &["?UPDATE test.k SET v = #"],
    &["SELECT 1; UPDATE test.k SET v = #"],
    &["UPDATE test.k SET v = #; SELECT 1"],
    &["BEGIN", "UPDATE test.k SET v = #", "COMMIT"],
    &["BEGIN", K, "?UPDATE test.k SET v = #", "?COMMIT"],
    &["BEGIN", "UPDATE test.k SET v = #", "BEGIN", "ROLLBACK"],
    &[
        "BEGIN",
        "UPDATE test.k SET v = #",
        "SAVEPOINT a",
        "DELETE FROM test.k",
        "ROLLBACK TO a",
        "COMMIT",
    ],
    &["SET autocommit = 0", "UPDATE test.k SET v = #", "COMMIT", "SET autocommit = 1"],
    &["SET autocommit = 0", "UPDATE test.k SET v = #", K, "SET autocommit = 1"],
    &["SELECT test.gives(#)"],
    &["?SELECT test.gives(#)"],
    &["DO test.gives(#)"],
    &["SET @a = test.gives(#)"],
    &["CALL test.sets(#)"],
    &["?CALL test.sets(#)"],
    &["INSERT INTO test.src VALUES (#)"],
    &["INSERT INTO test.src VALUES (#) ON DUPLICATE KEY UPDATE v = v"],
    &["REPLACE INTO test.k SELECT 1, #"],
    &["UPDATE test.near SET v = #"],
    &["PREPARE s FROM 'UPDATE test.k SET v = #'", "EXECUTE s"],
    &["LOAD DATA LOCAL INFILE '#' REPLACE INTO TABLE test.k"],
    &["XA START '#'", "UPDATE test.k SET v = #", "XA END '#'", "XA PREPARE '#'", "XA COMMIT '#'"],
    &["XA START '#'", "UPDATE test.k SET v = #", "XA END '#'", "XA COMMIT '#' ONE PHASE"],
    &["ALTER TABLE test.k DROP COLUMN v, ADD COLUMN v INT NOT NULL DEFAULT #"],
    &[
        "CREATE TABLE test.n SELECT 1 AS id, # AS v",
        "RENAME TABLE test.k TO test.b, test.n TO test.k",
        "DROP TABLE test.b",
        "ALTER TABLE test.k ADD PRIMARY KEY (id)",
    ],
];

fn run(conn: &mut Conn, text: &str) {
    match text.strip_prefix('?') {
        Some(text) => conn.exec_drop(text, ()),
        None => conn.query_drop(text),
    }
    .unwrap_or_else(|error| panic!("{text}: {error}"));
}

/// Asks for what a session has written, at once and for a while, by texts and executions.
fn reads_back(conn: &mut Conn, value: u64, how: &str) {
    let (until, mut asked) = (Instant::now() + ASKS_FOR, 0);
    while asked < 10 || Instant::now() < until {
        asked += 1;
        assert_eq!(number(conn, K), value, "{how}, question {asked}");
        let told: Option<u64> = conn.exec_first(K, ()).expect(how);
        assert_eq!(told, Some(value), "{how}, execution {asked}");
    }
}

fn own_writes(flavour: Flavour, more: &[&[&str]]) {
    let Some(cluster) = followed_cluster("own writes of every kind", flavour, 0) else { return };
    define(cluster.primary());
    let proxy = following(&cluster, REPLICATION);
    let (mut other, mut value) = (session(proxy.port), 100);
    for _ in 0..2 {
        // a session that ran what is not understood keeps its connection
        let mut conn = session(proxy.port);
        for texts in WRITES.iter().chain(more) {
            value += 1;
            warm(&proxy, &mut other, K);
            for text in *texts {
                run(&mut conn, &text.replace('#', &value.to_string()));
            }
            reads_back(&mut conn, value, &format!("{texts:?}"));
            value += 1;
            conn.query_drop(format!("UPDATE test.k SET v = {value}")).expect("written");
            conn.reset().expect("reset");
            reads_back(&mut conn, value, "behind a reset");
        }
    }
}

#[test]
fn a_session_of_mariadb_is_told_what_it_wrote_in_any_way() {
    own_writes(
        Flavour::MariaDb,
        &[
            &["EXECUTE IMMEDIATE 'UPDATE test.k SET v = #'"],
            &["BEGIN NOT ATOMIC UPDATE test.k SET v = #; END"],
            &["INSERT INTO test.src VALUES (#) RETURNING v"],
            &["SET STATEMENT max_statement_time = 10 FOR UPDATE test.k SET v = #"],
        ],
    );
}

#[test]
fn a_session_of_mysql_is_told_what_it_wrote_in_any_way() {
    own_writes(
        Flavour::MySql,
        &[&["WITH c AS (SELECT # AS n) UPDATE test.k JOIN c SET k.v = c.n"]],
    );
}

/// A session ends what another one has prepared, and is told of it.
fn prepared_elsewhere(flavour: Flavour) {
    let Some(cluster) = followed_cluster("transactions of others", flavour, 0) else { return };
    define(cluster.primary());
    let proxy = following(&cluster, REPLICATION);
    let mut other = session(proxy.port);
    for value in 100..120 {
        let mut first = session(proxy.port);
        for text in [
            format!("XA START '{value}'"),
            format!("UPDATE test.k SET v = {value}"),
            format!("XA END '{value}'"),
            format!("XA PREPARE '{value}'"),
        ] {
            first.query_drop(&text).expect(&text);
        }
        drop(first);
        warm(&proxy, &mut other, K);
        let mut second = session(proxy.port);
        eventually("it is nobody's", LIMIT, || {
            second.query_drop(format!("XA COMMIT '{value}'")).is_ok()
        });
        for question in 0..20 {
            assert_eq!(number(&mut second, K), value, "question {question}");
        }
    }
}

#[test]
fn whoever_ends_what_another_prepared_on_mariadb_is_told_of_it() {
    prepared_elsewhere(Flavour::MariaDb);
}

#[test]
fn whoever_ends_what_another_prepared_on_mysql_is_told_of_it() {
    prepared_elsewhere(Flavour::MySql);
}

/// Everything stands still but the server.
#[test]
fn a_process_that_was_stopped_tells_nothing_from_before() {
    let Some(cluster) = followed_cluster("a process that was stopped", Flavour::MariaDb, 0) else {
        return;
    };
    let server = cluster.primary();
    define(server);
    let proxy = following(&cluster, REPLICATION);
    let mut conn = session(proxy.port);
    for value in 100..105 {
        warm(&proxy, &mut conn, K);
        proxy.halt().expect("stopped");
        let told = std::thread::scope(|scope| {
            let asked = scope.spawn(|| number(&mut conn, K));
            server.sql(&format!("UPDATE test.k SET v = {value}")).expect("changed");
            // longer than logs may lag
            std::thread::sleep(Duration::from_millis(800));
            proxy.signal("CONT").expect("let go on");
            asked.join().expect("answered")
        });
        assert_eq!(told, value, "it was changed long before");
    }
}

/// A hostgroup whose only server is another one from one moment to the next.
fn moved(flavour: Flavour) {
    let Some(cluster) =
        followed_cluster("writes to a server that took another's place", flavour, 1)
    else {
        return;
    };
    define(cluster.primary());
    cluster.wait_replicated().expect("defined");
    cluster.replicas()[0].sql("SET GLOBAL read_only = 0").expect("set");
    let proxy = following(&cluster, "");
    let (mut conn, mut other) = (session(proxy.port), session(proxy.port));
    let mut admin = admin(&proxy);
    // reads of hostgroup 0 as well
    for text in [
        "UPDATE mysql_query_rules SET active = 0 WHERE rule_id = 2".to_owned(),
        "LOAD MYSQL QUERY RULES TO RUNTIME".to_owned(),
        "DELETE FROM mysql_servers WHERE hostgroup_id = 1".to_owned(),
        "LOAD MYSQL SERVERS TO RUNTIME".to_owned(),
    ] {
        admin.query_drop(&text).expect(&text);
    }
    let mut value = 100;
    for round in 0..20 {
        warm(&proxy, &mut other, K);
        let server = &cluster.servers()[(round + 1) % 2];
        let set = format!("UPDATE mysql_servers SET port = {}", server.port);
        admin.query_drop(set).expect("set");
        admin.query_drop("LOAD MYSQL SERVERS TO RUNTIME").expect("loaded");
        value += 1;
        conn.query_drop(format!("UPDATE test.k SET v = {value}")).expect("written");
        reads_back(&mut conn, value, &format!("round {round}"));
    }
}

#[test]
fn a_session_is_told_what_it_wrote_to_a_server_of_mariadb_that_took_anothers_place() {
    moved(Flavour::MariaDb);
}

#[test]
fn a_session_is_told_what_it_wrote_to_a_server_of_mysql_that_took_anothers_place() {
    moved(Flavour::MySql);
}

/// Reads of replicas whose writers are others from one moment to the next.
fn other_writers(flavour: Flavour) {
    let Some(cluster) = followed_cluster("reads behind writes to another server", flavour, 1)
    else {
        return;
    };
    define(cluster.primary());
    cluster.wait_replicated().expect("defined");
    let proxy = following(&cluster, REPLICATION);
    let (mut conn, mut other) = (session(proxy.port), session(proxy.port));
    warm(&proxy, &mut other, K);
    for value in 100..140 {
        conn.query_drop(format!("UPDATE test.k SET v = {value}")).expect("written");
        eventually("it is replicated", LIMIT, || number(&mut conn, K) == value);
        reads_back(&mut conn, value, "behind what its replica told");
        let _ = number(&mut other, K);
    }
}

#[test]
fn what_a_replica_of_mariadb_told_of_an_own_write_is_never_taken_back() {
    other_writers(Flavour::MariaDb);
}

#[test]
fn what_a_replica_of_mysql_told_of_an_own_write_is_never_taken_back() {
    other_writers(Flavour::MySql);
}

/// What a rule says of answers is so of those that are there already.
#[test]
fn a_rule_that_begins_to_follow_logs_ends_what_was_kept_without_them() {
    let Some(cluster) = followed_cluster("rules that change", Flavour::MariaDb, 0) else { return };
    let server = cluster.primary();
    define(server);
    let proxy = following(&cluster, REPLICATION);
    let mut conn = session(proxy.port);
    let mut admin = admin(&proxy);
    warm(&proxy, &mut conn, K);
    let rule = |admin: &mut Conn, attributes: &str| {
        let text =
            format!("UPDATE mysql_query_rules SET attributes = '{attributes}' WHERE rule_id = 0");
        admin.query_drop(text).expect("set");
        admin.query_drop("LOAD MYSQL QUERY RULES TO RUNTIME").expect("loaded");
    };
    rule(&mut admin, "");
    server.sql("UPDATE test.k SET v = 2").expect("changed");
    warm(&proxy, &mut conn, K);
    let by_time = number(&mut conn, K);
    server.sql("UPDATE test.k SET v = 3").expect("changed");
    assert_eq!(number(&mut conn, K), by_time, "its time is not over");
    rule(&mut admin, "{\"invalidate\": \"binlog\"}");
    eventually("it follows again", LIMIT, || number(&mut conn, K) == 3);
    warm(&proxy, &mut conn, K);
    server.sql("UPDATE test.k SET v = 4").expect("changed");
    eventually("a change", LIMIT, || number(&mut conn, K) == 4);
}
