//! The pool of connections to servers: what becomes of those that are idle or dirty, how many there
//! are, and how fast they are made.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour};
use live::{Load, Proxy, Shared, client};
use mysql::Conn;
use mysql::prelude::Queryable;

static MARIADB: Shared = Shared::new("the pool", Flavour::MariaDb, 0);
static MYSQL: Shared = Shared::new("the pool with MySQL", Flavour::MySql, 0);

/// A proxy in front of one server, which is there in hostgroups 0 and 1.
fn proxy(cluster: &Cluster, connections: u32, variables: &str) -> Proxy {
    let ports = [cluster.primary().port; 2];
    Proxy::start(|interfaces| configuration(ports, connections, &interfaces, variables))
        .expect("tidegate starts")
}

/// The server of hostgroup 0 and the one of hostgroup 1.
fn configuration(ports: [u16; 2], connections: u32, interfaces: &str, variables: &str) -> String {
    let server = |hostgroup: usize| {
        format!(
            "[[mysql_servers]]\nhostgroup_id = {hostgroup}\nhostname = \"127.0.0.1\"\n\
             port = {}\nmax_connections = {connections}\n",
            ports[hostgroup]
        )
    };
    format!(
        "[mysql_variables]\ninterfaces = \"{interfaces}\"\n\
         get_server_public_key = true\n{variables}\n{}{}\
         [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
         [[mysql_query_rules]]\nrule_id = 1\nactive = 1\nmatch_digest = 'SLEEP'\n\
         destination_hostgroup = 1\napply = 1\n",
        server(0),
        server(1)
    )
}

fn counter(proxy: &Proxy, name: &str) -> u64 {
    proxy.counter(name).expect("counted")
}

/// Connections to servers now.
fn lanes(proxy: &Proxy) -> u64 {
    proxy.statistics().expect("told")["lanes"].as_u64().expect("a number")
}

fn number(conn: &mut Conn, query: &str) -> Option<i64> {
    conn.query_first::<Option<i64>, _>(query).expect("answered").flatten()
}

#[test]
fn idle_connections_are_closed_before_their_server_does_it() {
    let Some(cluster) = MARIADB.cluster() else { return };
    cluster.primary().sql("SET GLOBAL wait_timeout = 4").expect("set");
    let proxy = proxy(&cluster, 10, "threads = 1");
    let mut conn = client::connect(client::options(proxy.port));
    assert_eq!(number(&mut conn, "SELECT 7"), Some(7));
    assert_eq!(lanes(&proxy), 1);
    let aborted = cluster.primary().status("Aborted_clients").expect("a counter");
    live::eventually("it is closed", Duration::from_secs(8), || lanes(&proxy) == 0);
    assert_eq!(counter(&proxy, "lanes_expired"), 1);
    let after = cluster.primary().status("Aborted_clients").expect("a counter");
    assert_eq!(after, aborted, "the server had nothing to close");
    cluster.primary().sql("SET GLOBAL wait_timeout = DEFAULT").expect("set");
}

#[test]
fn an_idle_connection_to_a_server_that_does_not_answer_is_given_up() {
    let Some(cluster) = MARIADB.cluster() else { return };
    let variables = "threads = 1\nping_interval_server_msec = 1000\nping_timeout_server = 300";
    let proxy = proxy(&cluster, 10, variables);
    let mut conn = client::connect(client::options(proxy.port));
    assert_eq!(number(&mut conn, "SELECT 7"), Some(7));
    live::eventually("it is tested", Duration::from_secs(10), || counter(&proxy, "lane_pings") > 1);
    assert_eq!((lanes(&proxy), counter(&proxy, "lane_pings_failed")), (1, 0));
    cluster.primary().pause().expect("paused");
    live::eventually("it is given up", Duration::from_secs(10), || {
        counter(&proxy, "lane_pings_failed") == 1 && lanes(&proxy) == 0
    });
    cluster.primary().resume().expect("resumed");
    assert_eq!(number(&mut conn, "SELECT 8"), Some(8));
}

#[test]
fn what_a_session_leaves_behind_is_reset_and_the_connection_used_again() {
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        let proxy = proxy(&cluster, 10, "threads = 1\nstored_code = false");
        let options = client::options(proxy.port);
        let mut first = client::connect(options.clone());
        for statement in [
            "CREATE TABLE kept (a INT) ENGINE=InnoDB",
            "SET NAMES latin1",
            "SELECT @a := 5",
            "CREATE TEMPORARY TABLE gone (a INT)",
            "DO GET_LOCK('held', 0)",
            "SET autocommit = 0",
            "INSERT INTO kept VALUES (1)",
        ] {
            first.query_drop(statement).expect(statement);
        }
        drop(first);
        live::eventually("it is reset", Duration::from_secs(5), || {
            counter(&proxy, "lanes_reset") == 1
        });
        let mut second = client::connect(options);
        assert_eq!(number(&mut second, "SELECT COUNT(*) FROM kept"), Some(0), "rolled back");
        assert_eq!(number(&mut second, "SELECT @a"), None);
        assert_eq!(number(&mut second, "SELECT IS_FREE_LOCK('held')"), Some(1));
        assert_eq!(number(&mut second, "SELECT @@autocommit"), Some(1));
        assert!(second.query_drop("SELECT * FROM gone").is_err(), "no temporary table");
        let charset: Option<String> =
            second.query_first("SELECT @@character_set_client").expect("answered");
        assert_eq!(charset.as_deref(), Some("utf8mb4"));
        assert_eq!(counter(&proxy, "lanes_created"), 1, "the same connection");
    }
}

#[test]
fn a_connection_on_which_a_set_failed_is_reset_and_used_again() {
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        let proxy = proxy(&cluster, 1, "threads = 1");
        let options = client::options(proxy.port);
        let (mut conn, mut other) = (client::connect(options.clone()), client::connect(options));
        conn.query_drop("SET @a = 'mine'").expect("set");
        let id = client::server_id(&mut other, "");
        for round in 1..=3 {
            let refused = conn.query_drop("SET @b = 1, sql_mode = 'NONSENSE'");
            let refused = client::refusal(&refused.expect_err("no such mode"));
            let said = "Variable 'sql_mode' can't be set to the value of 'NONSENSE'";
            assert_eq!(refused, (1231, "42000".into(), said.into()));
            // until then it may ask for the warnings
            let mine: Option<String> = conn.query_first("SELECT @a").expect("answered");
            assert_eq!(mine.as_deref(), Some("mine"));
            assert_eq!(number(&mut other, "SELECT @a"), None);
            assert_eq!(number(&mut other, "SELECT @b"), None);
            assert_eq!(client::server_id(&mut other, ""), id, "the same one");
            assert_eq!(counter(&proxy, "lanes_reset"), round);
        }
        assert_eq!(counter(&proxy, "lanes_created"), 1);
    }
}

#[test]
fn sessions_that_idle_after_an_error_keep_nobody_waiting() {
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        let rows: Vec<String> = (1..=50).map(|a| format!("({a})")).collect();
        let table = format!(
            "CREATE TABLE test.taken (a INT PRIMARY KEY); INSERT INTO test.taken VALUES {}",
            rows.join(",")
        );
        cluster.primary().sql(&table).expect("made");
        let proxy = proxy(&cluster, 5, "threads = 1\nstored_code = false");
        let mut conns: Vec<_> =
            (0..50).map(|_| client::connect(client::options(proxy.port))).collect();
        let began = Instant::now();
        for (at, conn) in conns.iter_mut().enumerate() {
            let text = format!("INSERT INTO taken VALUES ({})", at + 1);
            let refused = conn.query_drop(text).expect_err("it is there already");
            assert_eq!(client::refusal(&refused).0, 1062);
        }
        let took = began.elapsed();
        println!("fifty errors over five connections took {took:?}");
        assert!(took < Duration::from_secs(2), "{took:?}");
        assert_eq!((counter(&proxy, "lanes_created"), counter(&proxy, "lanes_reset")), (5, 0));
        // whoever asks later is told of its own
        for (at, conn) in conns.iter_mut().enumerate() {
            let said: Vec<(String, u16, String)> = conn.query("SHOW WARNINGS").expect("told");
            let [(level, 1062, message)] = said.as_slice() else { panic!("{said:?}") };
            assert_eq!(level, "Error");
            assert!(message.contains(&format!("'{}'", at + 1)), "{message}");
        }
        assert!(counter(&proxy, "diagnostics_kept") >= 45);
        assert_eq!(counter(&proxy, "connect_timeouts"), 0);
    }
}

#[test]
fn a_server_that_refuses_what_another_one_took_keeps_its_connection() {
    let (Some(mariadb), Some(mysql)) = (MARIADB.cluster(), MYSQL.cluster()) else { return };
    let ports = [mariadb.primary().port, mysql.primary().port];
    let proxy = Proxy::start(|interfaces| configuration(ports, 1, &interfaces, "threads = 1"));
    let proxy = proxy.expect("tidegate starts");
    let options = client::options(proxy.port);
    let (mut conn, mut other) = (client::connect(options.clone()), client::connect(options));
    let id = client::server_id(&mut other, "SLEEP(0),");
    conn.query_drop("SET @a = 5, analyze_sample_percentage = 50").expect("MariaDB has it");
    for _ in 0..3 {
        let refused = conn.query_drop("SELECT SLEEP(0), @a").expect_err("MySQL has not");
        let said = "Unknown system variable 'analyze_sample_percentage'";
        assert_eq!(client::refusal(&refused), (1193, "HY000".into(), said.into()));
        assert_eq!(client::server_id(&mut other, "SLEEP(0),"), id, "the same one");
        assert_eq!(number(&mut other, "SELECT IF(SLEEP(0) = 0, @a, 1)"), None);
    }
    assert_eq!(number(&mut conn, "SELECT @@analyze_sample_percentage = 50"), Some(1));
    assert_eq!((counter(&proxy, "lanes_created"), counter(&proxy, "lanes_reset")), (2, 3));
}

#[test]
fn sessions_that_read_texts_otherwise_share_connections() {
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        cluster.primary().sql("CREATE TABLE IF NOT EXISTS test.said (a INT)").expect("created");
        let proxy = proxy(&cluster, 1, "threads = 1");
        let options = client::options(proxy.port);
        let (mut ansi, mut plain) = (client::connect(options.clone()), client::connect(options));
        ansi.query_drop("SET sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES'").expect("set");
        for _ in 0..20 {
            ansi.query_drop(r#"CREATE TEMPORARY TABLE "m" ("a" INT)"#).expect("created");
            assert_eq!(
                number(&mut ansi, r#"SELECT LENGTH('\') FROM "m" RIGHT JOIN (SELECT 1) x ON 1"#),
                Some(1)
            );
            ansi.query_drop(r#"DROP TEMPORARY TABLE "m""#).expect("dropped");
            assert_eq!(number(&mut ansi, r#"SELECT COUNT("a") FROM "said""#), Some(0));
            assert_eq!(number(&mut plain, r#"SELECT LENGTH("\'")"#), Some(1));
        }
        assert_eq!(counter(&proxy, "lanes_created"), 1);
        let held = proxy.statistics().expect("told")["held_for"]["set"].as_u64();
        assert_eq!(held, Some(0), "{}", proxy.log());
    }
}

#[test]
fn new_connections_run_the_operators_statement() {
    let Some(cluster) = live::cluster("init_connect", Flavour::MariaDb, 0) else { return };
    let variables =
        "threads = 1\nstored_code = false\ninit_connect = \"SET group_concat_max_len = 7777\"";
    let proxied = proxy(&cluster, 10, variables);
    for resets in 0..3 {
        let mut conn = client::connect(client::options(proxied.port));
        assert_eq!(number(&mut conn, "SELECT @@group_concat_max_len"), Some(7777));
        // it has to be reset after this, and goes on as a new one
        assert_eq!(number(&mut conn, "SELECT @x := 1"), Some(1));
        drop(conn);
        live::eventually("it is reset", Duration::from_secs(5), || {
            counter(&proxied, "lanes_reset") == resets + 1
        });
    }
    assert_eq!(lanes(&proxied), 1);
    let port = cluster.primary().port;
    for (statement, code) in [("SELECT 1", 1105), ("SET no_such_variable = 1", 1193)] {
        let proxied = proxy(&cluster, 10, &format!("threads = 1\ninit_connect = \"{statement}\""));
        let place = format!("mysql-init_connect failed at server 127.0.0.1:{}: ", port);
        for _ in 0..2 {
            let refused =
                Conn::new(client::options(proxied.port)).expect_err("no connection is usable");
            let (refused, _, message) = client::refusal(&refused);
            assert_eq!(refused, code, "{statement}: {message}");
            assert!(message.starts_with(&place), "{message}");
        }
        assert_eq!(lanes(&proxied), 0, "none is left");
        let logged = format!("in hostgroup 0 can be used: {code} (");
        live::eventually("it is logged, once", Duration::from_secs(5), || {
            proxied.log().matches(&logged).count() == 1
        });
    }
}

#[test]
fn a_connection_is_kept_for_as_long_after_a_query_as_asked() {
    let Some(cluster) = live::cluster("delay", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster, 1, "threads = 1\nconnection_delay_multiplex_ms = 1200");
    let mut keeper = client::connect(client::options(proxy.port));
    assert_eq!(number(&mut keeper, "SELECT 7"), Some(7));
    let since = Instant::now();
    let mut other = client::connect(client::options(proxy.port));
    assert_eq!(number(&mut other, "SELECT 8"), Some(8));
    let waited = since.elapsed();
    assert!(waited > Duration::from_millis(900), "{waited:?}");
    assert_eq!(number(&mut keeper, "SELECT 9"), Some(9));
}

#[test]
fn a_transaction_that_lasts_too_long_ends_with_its_session() {
    let Some(cluster) = live::cluster("long transactions", Flavour::MariaDb, 0) else { return };
    cluster.primary().sql("CREATE TABLE test.lasting (a INT)").expect("created");
    let proxy = proxy(&cluster, 10, "threads = 1\nmax_transaction_time = 1000");
    let mut without = client::connect(client::options(proxy.port));
    let mut conn = client::connect(client::options(proxy.port));
    conn.query_drop("BEGIN").expect("begun");
    let since = Instant::now();
    // never idle for long
    while conn.query_drop("INSERT INTO lasting VALUES (1)").is_ok() {
        assert!(since.elapsed() < Duration::from_secs(5), "it goes on and on");
        assert_eq!(number(&mut without, "SELECT 7"), Some(7));
    }
    assert!(since.elapsed() > Duration::from_millis(900), "{:?}", since.elapsed());
    live::eventually("it is rolled back", Duration::from_secs(5), || {
        number(&mut without, "SELECT COUNT(*) FROM lasting") == Some(0)
    });
}

#[test]
fn connections_are_opened_ahead_of_need_and_as_slowly_as_asked() {
    let Some(cluster) = MARIADB.cluster() else { return };
    let variables = "threads = 1\nconnection_warming = true\nfree_connections_pct = 30\n\
                     throttle_connections_per_sec_to_hostgroup = 2";
    let proxy = proxy(&cluster, 20, variables);
    let began = Instant::now();
    let mut conn = client::connect(client::options(proxy.port));
    assert_eq!(number(&mut conn, "SELECT 7"), Some(7));
    live::eventually("a third of them is open", Duration::from_secs(20), || lanes(&proxy) == 6);
    assert!(
        began.elapsed() > Duration::from_millis(1500),
        "two in a second: {:?}",
        began.elapsed()
    );
    assert_eq!(counter(&proxy, "lanes_warmed"), 5);
}

#[test]
fn no_server_gets_more_connections_than_it_may_and_every_worker_gets_some() {
    let Some(cluster) = MARIADB.cluster() else { return };
    let proxy = proxy(&cluster, 8, "threads = 4\npipeline_depth = 0");
    let options = client::options(proxy.port);
    let least = Arc::new((0..48).map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
    let next = AtomicU64::new(0);
    let loads: Vec<_> = (0..48)
        .map(|_| {
            let (least, client) = (Arc::clone(&least), next.fetch_add(1, Ordering::Relaxed));
            Load::start(1, &options, move |conn, turn| {
                let at = usize::try_from(client).map_err(|error| error.to_string())?;
                let text = format!("SELECT {turn} + 0 * BENCHMARK(20000, 1 + 1)");
                match conn.query_first::<u64, _>(text) {
                    Ok(Some(answer)) if answer == turn => {
                        least[at].fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    }
                    other => Err(format!("{other:?}")),
                }
            })
        })
        .collect();
    let mut most = 0;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(if live::full() { 30 } else { 3 }) {
        let sessions = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'app'";
        let seen = cluster.primary().sql(sessions).expect("counted");
        let seen = seen[0][0].as_deref().expect("a number");
        most = most.max(seen.parse::<u32>().expect("a number"));
        std::thread::sleep(Duration::from_millis(20));
    }
    let wrong: Vec<_> = loads.into_iter().flat_map(Load::stop).collect();
    assert!(wrong.is_empty(), "{wrong:?}\n{}", proxy.log());
    assert_eq!(most, 8, "all of them and no more");
    let done: Vec<_> = least.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    let (least, most) = (done.iter().min().copied(), done.iter().max().copied());
    println!("answers by client: {done:?}");
    assert!(least.zip(most).is_some_and(|(least, most)| least * 10 > most), "{done:?}");
}
