//! What query rules do besides routing, against real servers: rewriting, answering, delaying,
//! limiting, retrying, mirroring, keeping connections, and rules for the next query.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, Server};
use live::{Load, Proxy, client, eventually};
use mysql::Conn;
use mysql::prelude::Queryable;

/// A rule in the configuration's words, `active` and in order.
fn rules(of: &[&str]) -> String {
    let mut text = String::new();
    for (at, columns) in of.iter().enumerate() {
        let id = 10 * (at + 1);
        let _ = write!(text, "\n[[mysql_query_rules]]\nrule_id = {id}\nactive = 1\n{columns}\n");
    }
    text
}

/// A proxy with these servers by hostgroup; `app` begins in hostgroup 0.
fn proxy(servers: &[(u32, &Server)], variables: &str, of: &[&str]) -> Proxy {
    let mut rest = String::from("\n");
    for (hostgroup, server) in servers {
        let (host, port) = (&server.host, server.port);
        let _ = write!(
            rest,
            "[[mysql_servers]]\nhostgroup_id = {hostgroup}\nhostname = \"{host}\"\n\
             port = {port}\n\n"
        );
    }
    rest += "[[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n";
    rest += &rules(of);
    let variables = variables.to_owned();
    Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n{variables}\n{rest}"
        )
    })
    .expect("tidegate starts")
}

fn session(proxy: &Proxy) -> Conn {
    client::connect(client::options(proxy.port))
}

fn number(conn: &mut Conn, text: &str) -> u64 {
    conn.query_first(text).expect("answered").expect("a row")
}

fn refusal(result: mysql::Result<()>) -> (u16, String, String) {
    client::refusal(&result.expect_err("refused"))
}

/// Reads a result to its end, where errors may be.
fn read(conn: &mut Conn, text: &str) -> mysql::Result<()> {
    conn.query::<u64, _>(text).map(drop)
}

/// A statement that runs for longer than any test.
fn endless(word: &str) -> String {
    format!("SELECT COUNT(*) AS {word} FROM seq_1_to_1000000000000 AS endless WHERE seq % 7 = 3")
}

/// Whether a server runs a statement that contains this.
fn runs(server: &Server, part: &str) -> bool {
    let text = format!(
        "SELECT COUNT(*) FROM information_schema.processlist \
         WHERE id <> CONNECTION_ID() AND info LIKE '%{part}%'"
    );
    server.value(&text).expect("counted") != "0"
}

#[test]
fn rules_rewrite_refuse_and_answer_texts_and_statements() {
    let Some(cluster) = live::cluster("rewriting", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(
        &[(0, cluster.primary())],
        "",
        &[
            "match_pattern = 'nine \\((\\d+)\\)'\nreplace_pattern = '9\\1'",
            "match_pattern = 'DROP'\nerror_msg = 'not in this house'",
            "match_pattern = 'OPTIMIZE'\nerror_msg = 'never'\nOK_msg = 'as you like'",
        ],
    );
    let mut conn = session(&proxy);
    assert_eq!(number(&mut conn, "SELECT nine (7)"), 97);
    let prepared: Option<u64> = conn.exec_first("SELECT nine (1) + ?", (5,)).expect("prepared");
    assert_eq!(prepared, Some(96));

    let refused = (1148, "42000".to_owned(), "not in this house".to_owned());
    assert_eq!(refusal(conn.query_drop("DROP TABLE t")), refused);
    assert_eq!(refusal(conn.exec_drop("DROP TABLE t", ())), refused);

    conn.query_drop("OPTIMIZE TABLE t").expect("answered by the rule");
    assert_eq!(conn.info_str(), "as you like");
    assert_eq!((conn.affected_rows(), conn.warnings()), (0, 0));
    let statement = conn.prep("OPTIMIZE TABLE t -- ?").expect("prepared by the proxy");
    conn.exec_drop(&statement, ()).expect("answered by the rule");
    let statement = conn.prep("SELECT 'OPTIMIZE', ?, '?'").expect("prepared by the proxy");
    assert_eq!(statement.num_params(), 1);
    conn.exec_drop(&statement, (1,)).expect("answered by the rule");
    assert_eq!(number(&mut conn, "SELECT 5"), 5);
    assert_eq!(proxy.counter("answered_by_rules").expect("told"), 7);
}

#[test]
fn a_delay_makes_the_query_wait_and_no_other() {
    let Some(cluster) = live::cluster("delays", Flavour::MariaDb, 0) else { return };
    let rule = "match_pattern = 'later'\ndelay = 700";
    let proxy = proxy(&[(0, cluster.primary())], "", &[rule]);
    let mut late = session(&proxy);
    let mut other = session(&proxy);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| number(&mut late, "SELECT 1 AS later"));
        while begun.elapsed() < Duration::from_millis(300) {
            assert_eq!(number(&mut other, "SELECT 2"), 2);
        }
        assert_eq!(waiting.join().expect("no panic"), 1);
    });
    assert!(begun.elapsed() >= Duration::from_millis(700), "{:?}", begun.elapsed());
    assert_eq!(proxy.counter("delayed").expect("told"), 1);
}

#[test]
fn a_query_over_its_time_is_killed_on_its_server_and_its_client_told() {
    let Some(cluster) = live::cluster("timeouts", Flavour::MariaDb, 0) else { return };
    let server = cluster.primary();
    let rule = "match_pattern = 'brief'\ntimeout = 500";
    let proxy = proxy(&[(0, server)], "", &[rule]);
    let mut conn = session(&proxy);
    let text = "Query execution was interrupted, query_timeout exceeded (limit 500 ms)";
    let expected = (1907, "70100".to_owned(), text.to_owned());

    let begun = Instant::now();
    assert_eq!(refusal(read(&mut conn, &endless("brief"))), expected);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    eventually("the query is gone", Duration::from_secs(5), || !runs(server, "endless"));
    assert_eq!(number(&mut conn, "SELECT 1"), 1);

    let prepared = conn.exec::<u64, _, _>(endless("brief") + " LIMIT ?", (5,));
    assert_eq!(refusal(prepared.map(drop)), expected);
    eventually("the execution is gone", Duration::from_secs(5), || !runs(server, "endless"));

    let hinted = refusal(read(&mut conn, &("/* query_timeout=300 */ ".to_owned() + &endless("x"))));
    assert_eq!(hinted.0, 1907, "{hinted:?}");
    assert!(hinted.2.contains("300 ms"), "{hinted:?}");

    // A transaction survives: only the statement is killed, and never the one after it.
    conn.query_drop("CREATE TABLE kept (a INT)").expect("created");
    conn.query_drop("BEGIN").expect("begun");
    for round in 0..5 {
        conn.query_drop(format!("INSERT INTO kept VALUES ({round})")).expect("inserted");
        assert_eq!(refusal(read(&mut conn, &endless("brief"))), expected);
        assert_eq!(number(&mut conn, "SELECT COUNT(*) FROM kept"), round + 1);
    }
    conn.query_drop("COMMIT").expect("committed");
    assert_eq!(number(&mut conn, "SELECT COUNT(*) FROM kept"), 5);
    assert_eq!(proxy.counter("timed_out").expect("told"), 8);
}

#[test]
fn a_server_that_does_not_obey_a_kill_loses_the_connection() {
    let Some(cluster) = live::cluster("a deaf server", Flavour::MariaDb, 0) else { return };
    let server = cluster.primary();
    let rule = "match_pattern = 'brief'\ntimeout = 500";
    let proxy = proxy(&[(0, server)], "stored_code = false", &[rule]);
    let mut conn = session(&proxy);
    assert_eq!(number(&mut conn, "SELECT 1"), 1);
    server.pause().expect("paused");
    let begun = Instant::now();
    let refused = refusal(read(&mut conn, "SELECT 2 AS brief"));
    server.resume().expect("resumed");
    assert_eq!(refused.0, 1907, "{refused:?}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    eventually("it works again", Duration::from_secs(30), || {
        conn.query_first::<u64, _>("SELECT 3").is_ok_and(|found| found == Some(3))
    });
}

#[test]
fn a_rule_s_retries_bring_a_read_over_a_dying_replica() {
    let Some(cluster) = live::cluster("retries", Flavour::MariaDb, 2) else { return };
    let [first, second] = cluster.replicas() else { unreachable!("two were asked for") };
    let proxy = proxy(
        &[(0, cluster.primary()), (1, first), (1, second)],
        "query_retries_on_failure = 0\nconnect_timeout_server_max = 20000",
        &["match_pattern = '^SELECT'\ndestination_hostgroup = 1\nretries = 3\napply = 1"],
    );
    let reads = Load::start(8, &client::options(proxy.port), |conn, turn| {
        match conn.query_first::<u64, _>(format!("SELECT SLEEP(0.05) + {turn}")) {
            Ok(Some(found)) if found == turn => Ok(()),
            Ok(found) => Err(format!("wrong answer {found:?} in turn {turn}")),
            Err(error) => Err(format!("{:?}", client::refusal(&error))),
        }
    });
    reads.await_more(50);
    first.kill9().expect("killed");
    reads.await_more(100);
    assert_eq!(reads.stop(), Vec::<String>::new(), "{}", proxy.log());
    assert!(proxy.counter("retried").expect("told") > 0);
}

/// Reads whose copies go to the target; gives the longest time that one took.
fn mirrored_reads(conn: &mut Conn, count: u64) -> Duration {
    let times = (0..count).map(|turn| {
        let begun = Instant::now();
        assert_eq!(number(conn, &format!("SELECT {turn} AS twice")), turn);
        begun.elapsed()
    });
    times.max().unwrap_or_default()
}

fn mirroring(cluster: &Cluster) -> Proxy {
    let target = &cluster.replicas()[0];
    proxy(
        &[(0, cluster.primary()), (2, target)],
        "mirror_max_concurrency = 4\nmirror_max_queue_length = 8",
        &[
            "match_pattern = 'twice'\nmirror_hostgroup = 2\napply = 1",
            "match_pattern = 'altered'\nmirror_flagOUT = 5\napply = 1",
            "flagIN = 5\nmatch_pattern = 'altered'\nreplace_pattern = 'changed'\n\
             destination_hostgroup = 2\napply = 1",
        ],
    )
}

#[test]
fn a_copy_goes_to_its_hostgroup_and_may_be_rewritten_on_its_way() {
    let Some(cluster) = live::cluster("mirroring", Flavour::MariaDb, 1) else { return };
    let target = &cluster.replicas()[0];
    let proxy = mirroring(&cluster);
    let mut conn = session(&proxy);
    let before = target.status("Com_select").expect("counted");
    mirrored_reads(&mut conn, 1);
    eventually("the copy has run", Duration::from_secs(10), || {
        target.status("Com_select").expect("counted") > before
    });
    target.sql("SET GLOBAL general_log = 1, log_output = 'TABLE'").expect("set");
    let one: Option<u64> = conn.query_first("SELECT 1 altered").expect("answered");
    assert_eq!(one, Some(1));
    eventually("the rewritten copy has run", Duration::from_secs(10), || {
        let text = "SELECT COUNT(*) FROM mysql.general_log \
                    WHERE argument = 'SELECT 1 changed'";
        target.value(text).expect("counted") == "1"
    });
    // what is prepared has no copy
    conn.exec_drop("SELECT ? AS twice", (1,)).expect("answered");
    assert_eq!(proxy.counter("mirrored").expect("told"), 2);
    assert_eq!(proxy.counter("mirrors_dropped").expect("told"), 0);
}

#[test]
fn what_is_done_to_a_temporary_table_is_not_done_to_another_one_elsewhere() {
    let Some(cluster) = live::cluster("mirroring of its own", Flavour::MariaDb, 1) else { return };
    let target = &cluster.replicas()[0];
    for statement in
        ["CREATE TABLE test.base (a INT)", "INSERT INTO test.base VALUES (1), (2), (3)"]
    {
        cluster.primary().sql(statement).expect(statement);
    }
    cluster.wait_replicated().expect("replicated");
    let proxy = mirroring(&cluster);
    let mut conn = session(&proxy);
    for statement in [
        "CREATE TEMPORARY TABLE base (a INT)",
        "INSERT INTO base VALUES (9) /* twice */",
        "DELETE FROM base WHERE a > 1 /* twice */",
        "SET @none = (SELECT MIN(a) FROM base)",
        "INSERT INTO base VALUES (@none) /* twice */",
        "DROP TABLE base /* twice */",
    ] {
        conn.query_drop(statement).expect(statement);
    }
    assert_eq!(proxy.counter("mirrored").expect("told"), 0);
    // another session's are copied
    mirrored_reads(&mut session(&proxy), 1);
    assert_eq!(proxy.counter("mirrored").expect("told"), 1);
    assert_eq!(target.value("SELECT GROUP_CONCAT(a) FROM test.base").expect("there"), "1,2,3");
}

#[test]
fn an_original_does_not_feel_what_becomes_of_its_copies() {
    let Some(cluster) = live::cluster("broken mirrors", Flavour::MariaDb, 1) else { return };
    let target = &cluster.replicas()[0];
    let proxy = mirroring(&cluster);
    let mut conn = session(&proxy);
    mirrored_reads(&mut conn, 50);

    // it answers with errors: the table is not there
    cluster.primary().sql("SET sql_log_bin = 0; CREATE TABLE test.twice (a INT)").expect("made");
    let failed = proxy.counter("mirrors_failed").expect("told");
    for _ in 0..20 {
        read(&mut conn, "SELECT * FROM twice").expect("the original is served");
    }
    eventually("failed copies are counted", Duration::from_secs(10), || {
        proxy.counter("mirrors_failed").expect("told") >= failed + 5
    });

    // it hangs: copies pile up to the limit, and are dropped beyond it
    target.pause().expect("paused");
    let dropped = proxy.counter("mirrors_dropped").expect("told");
    let longest = mirrored_reads(&mut conn, 200);
    assert!(longest < Duration::from_secs(2), "{longest:?} with a target that hangs");
    assert!(proxy.counter("mirrors_dropped").expect("told") > dropped + 100);
    let told = proxy.statistics().expect("told");
    assert_eq!(
        (told["Mirror_concurrency"].as_u64(), told["Mirror_queue_length"].as_u64()),
        (Some(4), Some(8))
    );
    target.resume().expect("resumed");

    // it is gone
    target.kill9().expect("killed");
    let before = proxy.counter("mirrors_failed").expect("told");
    let longest = mirrored_reads(&mut conn, 200);
    assert!(longest < Duration::from_secs(2), "{longest:?} without a target");
    eventually("failed copies are counted", Duration::from_secs(10), || {
        mirrored_reads(&mut conn, 1);
        proxy.counter("mirrors_failed").expect("told") > before
    });
    assert_eq!(proxy.counter("err").expect("told"), 0, "no client saw an error");
}

#[test]
fn multiplex_off_keeps_the_connection_until_it_is_on_again() {
    let Some(cluster) = live::cluster("multiplex", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(
        &[(0, cluster.primary())],
        "stored_code = false",
        &[
            "match_pattern = 'keep'\nmultiplex = 0\nsticky_conn = 1",
            "match_pattern = 'share'\nmultiplex = 1",
            "match_pattern = 'ignore'\nmultiplex = 2",
        ],
    );
    let backend = |conn: &mut Conn, word: &str| client::server_id(conn, &format!("/* {word} */"));
    let mut keeper = session(&proxy);
    let mut other = session(&proxy);
    let kept = backend(&mut keeper, "keep");
    for _ in 0..5 {
        assert_ne!(backend(&mut other, "x"), kept, "the kept connection is nobody else's");
        assert_eq!(backend(&mut keeper, "x"), kept);
    }
    backend(&mut keeper, "share");
    eventually("the connection is shared again", Duration::from_secs(5), || {
        backend(&mut other, "x") == kept || backend(&mut keeper, "x") != kept
    });

    // a variable keeps a connection unless the rule says not to look
    let mut tied = session(&proxy);
    tied.query_drop("SELECT @ignore_me := 1").expect("answered");
    let pins = proxy.counter("pins").expect("told");
    tied.query_drop("SELECT @tie_me := 1").expect("answered");
    assert_eq!((pins, proxy.counter("pins").expect("told")), (0, 1));

    // a connection of its own is a new one
    let fresh = "/* create_new_connection=1 */";
    let (one, two) = (client::server_id(&mut other, fresh), client::server_id(&mut other, fresh));
    assert!(one != two && ![one, two].contains(&kept));
}

#[test]
fn a_rule_chooses_the_rules_of_the_next_query() {
    let Some(cluster) = live::cluster("next_query_flagIN", Flavour::MariaDb, 1) else { return };
    let (primary, replica) = (cluster.primary(), &cluster.replicas()[0]);
    let proxy = proxy(
        &[(0, primary), (1, replica)],
        "",
        &[
            "match_pattern = 'ahead'\nnext_query_flagIN = 3",
            "match_pattern = '^SELECT'\ndestination_hostgroup = 1\napply = 1",
            "flagIN = 3\nnext_query_flagIN = 0\ndestination_hostgroup = 0\napply = 1",
        ],
    );
    let options = client::options(proxy.port).stmt_cache_size(Some(0));
    let mut conn = client::connect(options);
    let (here, there) = (u64::from(primary.id), u64::from(replica.id));
    for _ in 0..3 {
        assert_eq!(number(&mut conn, "SELECT @@server_id AS ahead"), there);
        assert_eq!(number(&mut conn, "SELECT @@server_id"), here);
        assert_eq!(number(&mut conn, "SELECT @@server_id"), there);
        let ahead: Option<u64> = conn.exec_first("SELECT @@server_id AS ahead", ()).expect("run");
        assert_eq!(ahead, Some(here), "preparing it was a query, too");
        conn.query_drop("DO 1").expect("answered");
    }
}

#[test]
fn rules_know_where_clients_come_from_and_where_to() {
    let Some(cluster) = live::cluster("addresses", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(
        &[(0, cluster.primary())],
        "",
        &[
            "client_addr = '127.0.0.%'\nproxy_addr = '127.0.0.1'\nmatch_pattern = 'which'\n\
             replace_pattern = '1 AS'\napply = 1",
            "client_addr = 'localhost'\nproxy_port = 0\nmatch_pattern = 'which'\n\
             replace_pattern = '2 AS'\napply = 1",
        ],
    );
    let mut tcp = session(&proxy);
    assert_eq!(number(&mut tcp, "SELECT which a"), 1);
    let mut unix = client::connect(client::socket_options(&proxy.socket));
    assert_eq!(number(&mut unix, "SELECT which a"), 2);
}
