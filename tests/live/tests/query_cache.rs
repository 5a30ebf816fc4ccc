//! Answers from the query cache, in front of real servers: whose they are, how long they are told,
//! and what never comes there.

use std::time::Duration;

use lab::{Cluster, Flavour, SplitOptions};
use live::compressed::log_in;
use live::exchange::{CAPS, asked, difference, exchange, query};
use live::{Proxy, Shared, client as driver, eventually};
use mysql::Conn;
use mysql::prelude::Queryable;
use wire::command::code;
use wire::result::ReplyKind;

static MARIADB: Shared = Shared::new("query cache: MariaDB", Flavour::MariaDb, 0);
static MYSQL: Shared = Shared::new("query cache: MySQL", Flavour::MySql, 0);

/// Whatever matches the pattern is in the cache for so many milliseconds.
fn proxy(cluster: &Cluster, pattern: &str, ttl_ms: u64, variables: &str) -> Proxy {
    let proxy = Proxy::start(|interfaces| {
        let variables = format!("threads = 1\n{variables}\n");
        let options = SplitOptions { interfaces, variables, ..Default::default() };
        let rule = format!(
            "\n[[mysql_query_rules]]\nrule_id = 0\nactive = 1\nmatch_pattern = '{pattern}'\n\
             cache_ttl = {ttl_ms}\n"
        );
        lab::split_toml(cluster, &options) + &rule
    })
    .expect("tidegate starts");
    let listens = || live::greeting_of(proxy.admin_port).is_ok();
    eventually("the administrative interface listens", Duration::from_secs(10), listens);
    proxy
}

fn session(proxy: &Proxy) -> Conn {
    driver::connect(driver::options(proxy.port))
}

fn number(conn: &mut Conn, text: &str) -> u64 {
    conn.query_first(text).expect("answered").expect("a row")
}

fn admin(proxy: &Proxy) -> Conn {
    let account = driver::account(proxy.admin_port, "admin", "admin").db_name(None::<String>);
    driver::connect(account)
}

/// A table of its own, with the value 1 in rows 1 and 2.
fn table(cluster: &Cluster, name: &str) {
    let text = format!(
        "DROP TABLE IF EXISTS test.{name};
         CREATE TABLE test.{name} (id INT PRIMARY KEY, v INT, s VARCHAR(20));
         INSERT INTO test.{name} VALUES (1, 1, 'a'), (2, 1, 'B')"
    );
    for statement in text.split(';') {
        cluster.primary().sql(statement).expect("defined");
    }
}

fn set(cluster: &Cluster, name: &str, value: u64) {
    cluster.primary().sql(&format!("UPDATE test.{name} SET v = {value}")).expect("changed");
}

/// Waits until the proxy has read what the servers have, so that nothing is presumed of it.
fn knows(proxy: &Proxy, conn: &mut Conn, text: &str) {
    eventually("an answer is kept", Duration::from_secs(20), || {
        number(conn, text);
        proxy.counter("cache_fills").expect("a counter") > 0
    });
}

fn told_for_its_time(servers: &Shared) {
    let Some(cluster) = servers.cluster() else { return };
    table(&cluster, "told");
    let proxy = proxy(&cluster, "FROM test.told", 3_600_000, "");
    let (mut one, mut other) = (session(&proxy), session(&proxy));
    let text = "SELECT v FROM test.told WHERE id = 1";
    knows(&proxy, &mut one, text);
    set(&cluster, "told", 2);
    assert_eq!([number(&mut one, text), number(&mut other, text)], [1, 1]);
    // other bytes are another question, and so is an execution
    assert_eq!(number(&mut one, "SELECT v FROM test.told WHERE id = 1 "), 2);
    let stmt = one.prep("SELECT v FROM test.told WHERE id = ?").expect("prepared");
    let mut run = |id: u64| one.exec_first::<u64, _, _>(&stmt, (id,)).expect("answered");
    assert_eq!([run(1), run(2), run(7)], [Some(2), Some(2), None]);
    set(&cluster, "told", 3);
    assert_eq!([run(1), run(2), run(7)], [Some(2), Some(2), None]);
    let elsewhere = other.prep("SELECT v FROM test.told WHERE id = ?").expect("prepared");
    let executed = other.exec_first::<u64, _, _>(&elsewhere, (2_u64,)).expect("answered");
    assert_eq!(executed, Some(2));
    let mut admin = admin(&proxy);
    let figure = |admin: &mut Conn, name: &str| {
        let text =
            format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'");
        number(admin, &text)
    };
    assert_eq!(figure(&mut admin, "Query_Cache_Entries"), 5);
    assert_eq!(figure(&mut admin, "Query_Cache_count_GET_OK"), 6);
    assert!(figure(&mut admin, "Query_Cache_Memory_bytes") > 5 * 300);
    // of no hostgroup, as ProxySQL has it
    let counted: Option<u64> = admin
        .query_first("SELECT SUM(count_star) FROM stats_mysql_query_digest WHERE hostgroup = -1")
        .expect("answered");
    assert_eq!(counted, Some(6));
    admin.query_drop("PROXYSQL FLUSH QUERY CACHE").expect("flushed");
    assert_eq!(admin.affected_rows(), 5);
    assert_eq!(number(&mut other, text), 3);
    assert_eq!(figure(&mut admin, "Query_Cache_Entries"), 1);
}

#[test]
fn an_answer_of_mariadb_is_told_until_a_flush() {
    told_for_its_time(&MARIADB);
}

#[test]
fn an_answer_of_mysql_is_told_until_a_flush() {
    told_for_its_time(&MYSQL);
}

#[test]
fn an_answer_is_fetched_anew_when_its_time_is_over() {
    let Some(cluster) = MARIADB.cluster() else { return };
    table(&cluster, "over");
    let proxy = proxy(&cluster, "FROM test.over", 400, "");
    let mut conn = session(&proxy);
    let text = "SELECT v FROM test.over WHERE id = 1";
    knows(&proxy, &mut conn, text);
    set(&cluster, "over", 2);
    eventually("the new value is told", Duration::from_secs(10), || number(&mut conn, text) == 2);
}

/// Results of every type and size, as texts and as executions.
fn questions() -> Vec<live::exchange::Asked> {
    let texts = [
        "SELECT id, v, s FROM test.alike ORDER BY id",
        "SELECT * FROM test.alike WHERE id = 99",
        "SELECT CAST(1.5 AS DECIMAL(10,3)), 1e0/3, X'00ff', NULL, DATE'2024-02-29', 'ä'",
        "SELECT REPEAT('x', 70000), id FROM test.alike",
        "SELECT COUNT(*) AS n, MAX(s) FROM test.alike GROUP BY v HAVING n > 0",
    ];
    let of = |text: &&str| {
        let execute = [&[0_u8][..], &1_u32.to_le_bytes()].concat();
        [
            query(text),
            asked(code::STMT_PREPARE, *text, ReplyKind::Prepare),
            asked(code::STMT_EXECUTE, execute, ReplyKind::Execute),
        ]
    };
    texts.iter().flat_map(of).collect()
}

fn alike(servers: &Shared) {
    let Some(cluster) = servers.cluster() else { return };
    table(&cluster, "alike");
    let proxy = proxy(&cluster, "^SELECT", 3_600_000, "");
    knows(&proxy, &mut session(&proxy), "SELECT v FROM test.alike WHERE id = 1");
    let before = proxy.counter("cache_hits").expect("a counter");
    let open = |port| log_in(port, ("app", "app"), CAPS).expect("logged in");
    let mut direct = open(cluster.primary().port);
    let (mut stmt, mut stmt_of_proxy) = (0, 0);
    for round in 0..3 {
        let mut through = open(proxy.port);
        for question in &questions() {
            let expected = exchange((&mut direct, &mut stmt), question, "directly");
            let what = format!("round {round}: {}", question.text());
            let told = exchange((&mut through, &mut stmt_of_proxy), question, &what);
            assert_eq!(difference(&expected, &told), None, "{what}");
        }
    }
    // five texts and five executions, in two of three rounds
    assert_eq!(proxy.counter("cache_hits").expect("a counter") - before, 20);
}

#[test]
fn every_byte_from_the_cache_is_that_of_mariadb() {
    alike(&MARIADB);
}

#[test]
fn every_byte_from_the_cache_is_that_of_mysql() {
    alike(&MYSQL);
}

fn kept_out(servers: &Shared) {
    let Some(cluster) = servers.cluster() else { return };
    table(&cluster, "out");
    let definitions = [
        "DROP VIEW IF EXISTS test.late",
        "CREATE VIEW test.late AS SELECT v, NOW(6) AS t FROM test.out",
        "DROP FUNCTION IF EXISTS test.twice",
        "CREATE FUNCTION test.twice(n INT) RETURNS INT DETERMINISTIC RETURN 2 * n",
    ];
    for definition in definitions {
        cluster.primary().sql(definition).expect("defined");
    }
    let proxy = proxy(&cluster, "out|late|test", 3_600_000, "");
    let mut conn = session(&proxy);
    knows(&proxy, &mut conn, "SELECT v FROM test.out WHERE id = 1");
    let counters = || {
        let names = ["cache_lookups", "uncached_statement", "uncached_varies", "uncached_code"];
        names.map(|name| proxy.counter(name).expect("a counter"))
    };
    let refused = |conn: &mut Conn, texts: &[&str], which: usize| {
        for text in texts {
            let before = counters();
            conn.query_drop(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let mut expected = before;
            expected[which] += 1;
            assert_eq!(counters(), expected, "{text}");
        }
    };
    let statements = [
        "SELECT v, @x FROM test.out",
        "SELECT v, @@autocommit FROM test.out",
        "SELECT v FROM test.out FOR UPDATE",
        "SELECT v, CONNECTION_ID() FROM test.out",
        "SELECT SQL_CALC_FOUND_ROWS v FROM test.out",
        "SHOW TABLES FROM test",
    ];
    refused(&mut conn, &statements, 1);
    let varying = [
        "SELECT v, NOW() FROM test.out",
        "SELECT v FROM test.out ORDER BY RAND()",
        "SELECT v, CURRENT_USER FROM test.out",
        "SELECT UUID() FROM test.out",
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'test'",
        "SELECT v FROM test.late",
        "SELECT test.twice(v) FROM test.out",
    ];
    let mut conn = session(&proxy);
    for text in varying {
        let before = counters();
        conn.query_drop(text).expect("answered");
        let after = counters();
        assert_eq!(after[0], before[0], "{text}");
        assert_eq!(after[2] + after[3], before[2] + before[3] + 1, "{text}");
    }
    // what a session has done keeps the next out
    let text = "SELECT v FROM test.out WHERE id = 1";
    set(&cluster, "out", 2);
    for (begin, end) in [
        ("START TRANSACTION", "COMMIT"),
        ("SET autocommit = 0", "SET autocommit = 1"),
        ("CREATE TEMPORARY TABLE test.mine (i INT)", "DROP TEMPORARY TABLE test.mine"),
        ("LOCK TABLES test.out READ", "UNLOCK TABLES"),
    ] {
        conn.query_drop(begin).expect(begin);
        assert_eq!(number(&mut conn, text), 2, "{begin}");
        conn.query_drop(end).expect(end);
        assert_eq!(number(&mut conn, text), 1, "{end}");
    }
}

#[test]
fn what_depends_on_more_than_data_is_asked_of_mariadb_each_time() {
    kept_out(&MARIADB);
}

#[test]
fn what_depends_on_more_than_data_is_asked_of_mysql_each_time() {
    kept_out(&MYSQL);
}

/// What a session may set, and a text that shows it.
const SETTINGS: &[(&str, &str)] = &[
    ("SET time_zone = '+09:00'", "SELECT FROM_UNIXTIME(id) FROM test.keyed"),
    ("SET sql_mode = 'PIPES_AS_CONCAT'", "SELECT s || s FROM test.keyed"),
    ("SET sql_mode = 'ANSI_QUOTES'", "SELECT \"s\" FROM test.keyed"),
    ("SET NAMES latin1", "SELECT 'ä', s FROM test.keyed"),
    ("SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SELECT 'a' = 'A' FROM test.keyed"),
    ("SET character_set_results = latin1", "SELECT CONVERT(X'c3a4' USING utf8mb4) FROM test.keyed"),
    ("SET group_concat_max_len = 4", "SELECT GROUP_CONCAT(s, s, s) FROM test.keyed"),
    ("SET div_precision_increment = 9", "SELECT 1 / 3 FROM test.keyed"),
    ("SET lc_time_names = 'de_DE'", "SELECT DATE_FORMAT('2024-03-01', '%M') FROM test.keyed"),
    ("SET default_week_format = 3", "SELECT WEEK('2024-01-01') FROM test.keyed"),
    ("SET sql_select_limit = 1", "SELECT id FROM test.keyed"),
    ("USE test", "SELECT DATABASE() FROM test.keyed"),
];

fn keyed(servers: &Shared) {
    let Some(cluster) = servers.cluster() else { return };
    table(&cluster, "keyed");
    let proxy = proxy(&cluster, "test.keyed", 3_600_000, "");
    knows(&proxy, &mut session(&proxy), "SELECT v FROM test.keyed WHERE id = 1");
    let told = |packets: &mut _, text: &str| exchange((packets, &mut 0), &query(text), text);
    let open = |port| log_in(port, ("app", "app"), CAPS).expect("logged in");
    for (statement, text) in SETTINGS {
        let (mut direct, mut plain) = (open(cluster.primary().port), open(proxy.port));
        let mut setting = open(proxy.port);
        told(&mut direct, statement);
        told(&mut setting, statement);
        let of_plain = told(&mut plain, text);
        let expected = told(&mut direct, text);
        for _ in 0..2 {
            assert_eq!(difference(&expected, &told(&mut setting, text)), None, "{statement}");
            assert_eq!(difference(&of_plain, &told(&mut plain, text)), None, "{statement}");
        }
        assert_ne!(expected, of_plain, "{statement} shows in {text}");
    }
}

#[test]
fn sessions_that_mariadb_would_answer_otherwise_share_no_answer() {
    keyed(&MARIADB);
}

#[test]
fn sessions_that_mysql_would_answer_otherwise_share_no_answer() {
    keyed(&MYSQL);
}

#[test]
fn what_is_too_large_or_empty_is_not_kept_and_a_limit_of_nothing_keeps_nothing() {
    let Some(cluster) = MARIADB.cluster() else { return };
    table(&cluster, "sized");
    let variables = "query_cache_size_MB = 1\nquery_cache_stores_empty_result = false";
    let proxy = proxy(&cluster, "FROM test.sized", 3_600_000, variables);
    let mut conn = session(&proxy);
    knows(&proxy, &mut conn, "SELECT v FROM test.sized WHERE id = 1");
    let counter = |name| proxy.counter(name).expect("a counter");
    conn.query_drop("SELECT REPEAT('x', 100000) FROM test.sized").expect("answered");
    conn.query_drop("SELECT v FROM test.sized WHERE id = 9").expect("answered");
    assert_eq!([counter("unkept_large"), counter("unkept_empty")], [1, 1]);
    let mut admin = admin(&proxy);
    admin.query_drop("SET mysql-query_cache_size_MB = 0").expect("set");
    admin.query_drop("LOAD MYSQL VARIABLES TO RUNTIME").expect("loaded");
    set(&cluster, "sized", 2);
    assert_eq!(number(&mut conn, "SELECT v FROM test.sized WHERE id = 1"), 2);
}

#[test]
fn what_is_forgotten_is_what_was_named_and_each_digest_has_its_figures() {
    let Some(cluster) = MARIADB.cluster() else { return };
    table(&cluster, "named");
    table(&cluster, "other");
    let proxy = proxy(&cluster, "FROM test.", 3_600_000, "");
    let mut conn = session(&proxy);
    let of_named = ["SELECT v FROM test.named", "SELECT COUNT(*) FROM test.named AS Named"];
    let of_other = "SELECT v + 0 FROM test.other";
    knows(&proxy, &mut conn, of_named[0]);
    knows(&proxy, &mut conn, of_other);
    let ask = |conn: &mut Conn| {
        let hits = proxy.counter("cache_hits").expect("a counter");
        for text in [of_named[0], of_named[1], of_other] {
            number(conn, text);
        }
        proxy.counter("cache_hits").expect("a counter") - hits
    };
    ask(&mut conn);
    assert_eq!(ask(&mut conn), 3);
    number(&mut conn, "SELECT RAND() * 0 FROM test.other");

    let mut admin = admin(&proxy);
    let row = |admin: &mut Conn, text: &str| -> (u64, u64, u64, String) {
        let text = format!(
            "SELECT hits, misses, fills, reasons FROM stats_tidegate_query_cache \
             WHERE digest_text LIKE '{text}'"
        );
        admin.query_first(text).expect("answered").expect("a row")
    };
    let (hits, misses, fills, reasons) = row(&mut admin, "SELECT v%test.other");
    assert!(hits > 1 && fills == 1 && misses >= 1, "{hits} {misses} {fills} {reasons}");
    let (hits, _, fills, reasons) = row(&mut admin, "SELECT RAND%");
    assert_eq!((hits, fills, reasons.as_str()), (0, 0, "varies: 1"));

    let digest: String = admin
        .query_first(
            "SELECT digest FROM stats_mysql_query_digest \
             WHERE digest_text LIKE 'SELECT v%test.other' AND hostgroup = -1",
        )
        .expect("answered")
        .expect("a row");
    let named = [
        ("TABLE named".to_owned(), 2, 1),
        (format!("DIGEST '{digest}'"), 1, 2),
        ("USER 'nobody'".to_owned(), 0, 3),
        ("USER 'app'".to_owned(), 3, 0),
    ];
    for (some, forgotten, left) in named {
        admin.query_drop(format!("PROXYSQL FLUSH QUERY CACHE {some}")).expect("flushed");
        assert_eq!(admin.affected_rows(), forgotten, "{some}");
        assert_eq!(ask(&mut conn), left, "{some}");
    }
}

#[test]
fn large_answers_that_are_asked_for_ahead_and_not_read_take_little_memory() {
    const ASKED: usize = 200;
    let Some(cluster) = MARIADB.cluster() else { return };
    table(&cluster, "ahead");
    let proxy = proxy(&cluster, "FROM test.ahead", 3_600_000, "");
    let mut conn = session(&proxy);
    knows(&proxy, &mut conn, "SELECT v FROM test.ahead WHERE id = 1");
    let text = "SELECT REPEAT('x', 1000000) FROM test.ahead WHERE id = 1";
    let hits = || proxy.counter("cache_hits").expect("a counter");
    let (before, resident_before) = (hits(), proxy.rss_bytes_max());
    let mut ahead = log_in(proxy.port, ("app", "app"), CAPS).expect("logged in");
    let mut asked = Vec::new();
    (0..ASKED).for_each(|_| wire::command::write_query(&mut asked, text.as_bytes()));
    ahead.bytes(&asked).expect("sent");
    let mut last = 0;
    eventually("it waits for its client", Duration::from_secs(10), || {
        let now = hits() - before;
        now > 0 && std::mem::replace(&mut last, now) == now
    });
    assert!(last < ASKED as u64 / 2, "{last} answers");
    let resident = proxy.rss_bytes_max() - resident_before;
    assert!(resident < 16 << 20, "{resident} bytes more");
    let mut direct = log_in(cluster.primary().port, ("app", "app"), CAPS).expect("logged in");
    let expected = exchange((&mut direct, &mut 0), &query(text), text);
    for _ in 0..ASKED {
        let mut told = vec![0; expected.len()];
        std::io::Read::read_exact(&mut ahead.stream, &mut told).expect("the whole reply");
        assert_eq!(difference(&expected, &told), None);
    }
    // the first one was the server's
    assert_eq!(hits() - before, ASKED as u64 - 1);
}
