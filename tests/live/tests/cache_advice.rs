//! What is advised of the query cache under a load, and what comes of following it.

use std::time::Duration;

use lab::{Flavour, SplitOptions};
use live::{Proxy, Shared, client as driver, eventually};
use mysql::Conn;
use mysql::prelude::Queryable;

static MARIADB: Shared = Shared::new("advice on the cache: MariaDB", Flavour::MariaDb, 0);
static MYSQL: Shared = Shared::new("advice on the cache: MySQL", Flavour::MySql, 0);

const SOON: Duration = Duration::from_secs(30);

/// The digests that the advice on tables of `test` names, by what it says of them.
fn advised(admin: &mut Conn, kind: &str) -> Vec<Advised> {
    let rows: Vec<mysql::Row> = admin.query("TIDEGATE CACHE ADVICE").expect("answered");
    let cell = |row: &mysql::Row, name: &str| row.get::<String, _>(name).expect("a column");
    let is_meant = |row: &&mysql::Row| {
        cell(row, "advice") == kind && cell(row, "digest_text").contains(" test.advised")
    };
    let found = rows.iter().filter(is_meant).map(|row| Advised {
        text: cell(row, "digest_text"),
        ttl_ms: cell(row, "ttl_ms"),
        why: cell(row, "why"),
        rule: cell(row, "rule"),
        percent: cell(row, "repeats_pct"),
    });
    let mut found: Vec<_> = found.collect();
    found.sort_by(|a, b| a.text.cmp(&b.text));
    found
}

#[derive(Debug)]
struct Advised {
    text: String,
    ttl_ms: String,
    why: String,
    rule: String,
    percent: String,
}

fn texts(advised: &[Advised]) -> Vec<&str> {
    advised.iter().map(|one| one.text.as_str()).collect()
}

const HOT: &str = "SELECT v FROM test.advised WHERE id = 1";
const HOT_TEXT: &str = "SELECT v FROM test.advised WHERE id = ?";
const EXECUTED: &str = "SELECT id, v FROM test.advised WHERE id = ?";
const EXECUTED_TEXT: &str = "SELECT id,v FROM test.advised WHERE id = ?";

/// Every kind of read, some of them over and over; `from` is a number that was never asked for.
fn load(conn: &mut Conn, from: u64) {
    let run = |conn: &mut Conn, text: &str| conn.query_drop(text).expect("answered");
    let executed = conn.prep(EXECUTED).expect("prepared");
    let unlike = conn.prep("SELECT v, s FROM test.advised WHERE id = ?").expect("prepared");
    for number in from..from + 50 {
        run(conn, HOT);
        run(conn, &format!("SELECT s FROM test.advised WHERE id = {number}"));
        conn.exec_drop(&executed, (7,)).expect("answered");
        conn.exec_drop(&unlike, (number,)).expect("answered");
        run(conn, "SELECT NOW(), v FROM test.advised WHERE id = 1");
        run(conn, "SELECT v FROM test.advised WHERE id = 1 FOR UPDATE");
    }
    run(conn, "UPDATE test.advised SET v = v + 1 WHERE id = 9");
    run(conn, "BEGIN");
    for _ in 0..50 {
        run(conn, "SELECT COUNT(*) FROM test.advised");
    }
    run(conn, "COMMIT");
}

fn followed(servers: &Shared) {
    let Some(cluster) = servers.cluster() else { return };
    for statement in [
        "DROP TABLE IF EXISTS test.advised",
        "CREATE TABLE test.advised (id INT PRIMARY KEY, v INT, s VARCHAR(20))",
        "INSERT INTO test.advised VALUES (1, 1, 'a'), (7, 7, 'b')",
    ] {
        cluster.primary().sql(statement).expect("defined");
    }
    let proxy = Proxy::start(|interfaces| {
        let variables = "threads = 1\nquery_cache_sample = 1\n".to_owned();
        lab::split_toml(&cluster, &SplitOptions { interfaces, variables, ..Default::default() })
    })
    .expect("tidegate starts");
    let listens = || live::greeting_of(proxy.admin_port).is_ok();
    eventually("the administrative interface listens", SOON, listens);
    let mut conn = driver::connect(driver::options(proxy.port));
    let admin = driver::account(proxy.admin_port, "admin", "admin").db_name(None::<String>);
    let mut admin = driver::connect(admin);

    let mut from = 100;
    eventually("what repeats is advised", SOON, || {
        load(&mut conn, from);
        from += 50;
        texts(&advised(&mut admin, "cache")) == [EXECUTED_TEXT, HOT_TEXT]
    });
    let advice = advised(&mut admin, "cache");
    for one in &advice {
        assert_eq!(one.ttl_ms, "1000");
        assert!(one.why.contains("`advised` is written "), "{one:?}");
    }
    let never = advised(&mut admin, "never");
    let reason = |text: &str| {
        let one = never.iter().find(|one| one.text.starts_with(text));
        one.unwrap_or_else(|| panic!("{text} in {never:?}")).why.clone()
    };
    assert!(reason("SELECT NOW").contains("without a change of data"));
    assert!(reason("SELECT COUNT").contains("has a transaction"));
    assert_eq!(never.len(), 2, "{never:?}");

    // all of it is pasted as it is told
    for one in &advice {
        admin.query_drop(&one.rule).unwrap_or_else(|error| panic!("{}: {error}", one.rule));
    }
    admin.query_drop("LOAD MYSQL QUERY RULES TO RUNTIME").expect("loaded");
    assert_eq!(texts(&advised(&mut admin, "cached")), [EXECUTED_TEXT, HOT_TEXT]);
    assert!(advised(&mut admin, "cache").is_empty());
    let hits = || proxy.counter("cache_hits").expect("a counter");
    let before = hits();
    load(&mut conn, from);
    assert!(hits() - before >= 90, "{} of 100", hits() - before);
    let text: String = conn.query_first(HOT).expect("answered").expect("a row");
    assert_eq!(text, "1");
    for one in advised(&mut admin, "cached") {
        let percent: f64 = one.percent.parse().expect("a number");
        assert!(percent > 80.0 && one.why.contains("were answered from the cache"), "{one:?}");
    }
}

#[test]
fn what_repeats_at_mariadb_is_advised_and_hits_follow_the_pasted_rules() {
    followed(&MARIADB);
}

#[test]
fn what_repeats_at_mysql_is_advised_and_hits_follow_the_pasted_rules() {
    followed(&MYSQL);
}

#[test]
fn nothing_is_watched_where_the_sample_is_off_and_the_advice_says_so() {
    let Some(cluster) = MARIADB.cluster() else { return };
    let proxy = Proxy::start(|interfaces| {
        let variables = "threads = 1\nquery_cache_sample = 0\nquery_cache_size_MB = 0\n".to_owned();
        lab::split_toml(&cluster, &SplitOptions { interfaces, variables, ..Default::default() })
    })
    .expect("tidegate starts");
    let mut conn = driver::connect(driver::options(proxy.port));
    for _ in 0..200 {
        conn.query_drop("SELECT 1").expect("answered");
    }
    let admin = driver::account(proxy.admin_port, "admin", "admin").db_name(None::<String>);
    let mut admin = driver::connect(admin);
    let rows: Vec<mysql::Row> = admin.query("PROXYSQL CACHE ADVICE").expect("answered");
    assert!(rows.is_empty(), "{rows:?}");
    let notes: Vec<(String, u16, String)> = admin.query("SHOW WARNINGS").expect("answered");
    let notes: Vec<_> = notes.into_iter().map(|(_, _, text)| text).collect();
    assert_eq!(
        notes,
        [
            "mysql-query_cache_sample is 0: no query is watched",
            "mysql-query_cache_size_MB is 0: nothing is cached",
        ]
    );
}
