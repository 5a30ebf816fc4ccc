//! Statistics as an administrator reads them, against what clients have done.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, SplitOptions};
use live::{Load, Proxy, Raw, client, eventually};
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

/// Answers queries itself, so that a million of them take seconds.
const ANSWERING: &str = "server_version = \"8.0.11\"\nthreads = 2\n\
    [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = 1\n\
    [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
    [[mysql_query_rules]]\nrule_id = 1\nactive = 1\nmatch_pattern = \".\"\nOK_msg = \"yes\"\n\
    apply = 1\n";

fn answering(variables: &str) -> Proxy {
    Proxy::start(|interfaces| {
        format!("[mysql_variables]\n{variables}interfaces = \"{interfaces}\"\n{ANSWERING}")
    })
    .expect("tidegate starts")
}

fn split(cluster: &Cluster) -> Proxy {
    // counters are of what clients ask
    split_with(cluster, "threads = 2\nstored_code = false\n")
}

fn split_with(cluster: &Cluster, variables: &str) -> Proxy {
    let options = SplitOptions { variables: variables.into(), ..Default::default() };
    Proxy::start(|interfaces| {
        lab::split_toml(cluster, &SplitOptions { interfaces, ..options.clone() })
    })
    .expect("tidegate starts")
}

fn admin(proxy: &Proxy) -> Conn {
    // it opens after clients are served
    eventually("the interface greets", Duration::from_secs(10), || {
        live::greeting_of(proxy.admin_port).is_ok()
    });
    let options = client::account(proxy.admin_port, "admin", "admin").db_name(None::<String>);
    client::connect(options)
}

/// The rows of a query, columns by name.
fn rows(admin: &mut Conn, query: &str) -> Vec<BTreeMap<String, String>> {
    let rows: Vec<Row> = admin.query(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let named = |row: Row| {
        let names = row.columns();
        let names = names.iter().map(|column| column.name_str().into_owned());
        let cell = |value: mysql::Value| match value {
            mysql::Value::NULL => String::new(),
            value => mysql::from_value(value),
        };
        names.zip(row.unwrap().into_iter().map(cell)).collect()
    };
    rows.into_iter().map(named).collect()
}

fn number(admin: &mut Conn, query: &str) -> u64 {
    let value: Option<Option<String>> = admin.query_first(query).expect("it is SQL");
    value.flatten().map_or(0, |value| value.parse().expect("a number"))
}

/// Sends `count` queries over each of some connections, many at a time, and reads every answer.
fn ask(port: u16, connections: u32, count: u32) {
    const BATCH: u32 = 500;
    let one = move |number: u32| {
        let mut raw = Raw::login(port, "app", "app").expect("it logs in");
        let query = format!("SELECT {}", ["a", "b", "c", "d"][number as usize % 4]);
        let mut packet = Vec::new();
        wire::command::write_query(&mut packet, query.as_bytes());
        let batch = packet.repeat(BATCH as usize);
        for _ in 0..count / BATCH {
            raw.bytes(&batch).expect("sent");
            for _ in 0..BATCH {
                let (_, answer) = raw.receive().expect("answered");
                assert_eq!(answer[0], 0, "{answer:?}");
            }
        }
    };
    let threads: Vec<_> =
        (0..connections).map(|number| thread::spawn(move || one(number))).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
}

#[test]
fn a_reset_under_load_loses_no_query() {
    let proxy = answering("");
    let (connections, count) = if live::full() { (8, 125_000) } else { (8, 12_500) };
    let done = Arc::new(AtomicBool::new(false));
    let (port, ended) = (proxy.port, done.clone());
    let load = thread::spawn(move || {
        ask(port, connections, count);
        ended.store(true, Ordering::Relaxed);
    });
    let mut admin = admin(&proxy);
    let read = "SELECT sum(count_star) FROM stats_mysql_query_digest_reset";
    let (mut sum, mut resets) = (0, 0);
    while !done.load(Ordering::Relaxed) {
        sum += number(&mut admin, read);
        resets += 1;
    }
    load.join().expect("every query was answered");
    // both tables in one statement show the same rows
    let both = "SELECT (SELECT sum(count_star) FROM stats_mysql_query_digest), \
                (SELECT sum(count_star) FROM stats_mysql_query_digest_reset)";
    let (plain, last): (Option<u64>, Option<u64>) =
        admin.query_first(both).expect("it is SQL").expect("a row");
    assert_eq!(plain, last);
    sum += last.unwrap_or(0);
    assert_eq!(sum, u64::from(connections * count), "over {resets} resets");
    assert_eq!(number(&mut admin, read), 0);
    let questions = "SELECT @@Questions";
    assert_eq!(number(&mut admin, questions), u64::from(connections * count), "is never reset");
    assert!(resets > 10, "{resets}");
    ask(proxy.port, 4, 1000);
    let hits = "SELECT hits FROM stats_mysql_query_rules WHERE rule_id = 1";
    assert_eq!(number(&mut admin, hits), u64::from(connections * count) + 4000);
    admin.query_drop("SAVE MYSQL DIGEST TO DISK").expect("saved");
    assert_eq!(admin.affected_rows(), 4);
    let saved = "SELECT sum(count_star) FROM stats_history.history_mysql_query_digest";
    assert_eq!(number(&mut admin, saved), 4000);
}

#[test]
fn memory_metrics_add_up_to_what_the_process_has() {
    let proxy = answering("");
    let idle: Vec<Raw> =
        (0..400).map(|_| Raw::login(proxy.port, "app", "app").expect("it logs in")).collect();
    ask(proxy.port, 4, 5000);
    let mut admin = admin(&proxy);
    let metric = |admin: &mut Conn, condition: &str| {
        number(
            admin,
            &format!("SELECT sum(Variable_Value) FROM stats_memory_metrics WHERE {condition}"),
        )
    };
    // the system may take pages of the program's file away between two looks
    eventually("the parts are what the process has", Duration::from_secs(10), || {
        let parts = metric(&mut admin, "Variable_Name <> 'resident_memory'");
        let total = metric(&mut admin, "Variable_Name = 'resident_memory'");
        let resident = proxy.rss_bytes();
        [parts, total].iter().all(|part| part.abs_diff(resident) * 10 <= resident)
    });
    let sessions = metric(&mut admin, "Variable_Name = 'client_sessions_memory'");
    assert!(sessions / 400 > 200 && sessions / 400 < 4000, "{sessions} for 400 sessions");
    drop(idle);
    eventually("sessions give their memory back", Duration::from_secs(10), || {
        metric(&mut admin, "Variable_Name = 'client_sessions_memory'") < sessions / 4
    });
}

/// Texts that are prepared have a row, as long as a client has them.
#[test]
fn the_memory_of_prepared_texts_is_told() {
    let Some(cluster) = live::cluster("memory of prepared texts", Flavour::MariaDb, 0) else {
        return;
    };
    let proxy = split(&cluster);
    let mut admin = admin(&proxy);
    let metric = "SELECT Variable_Value FROM stats_memory_metrics \
                  WHERE Variable_Name = 'prepare_statement_metadata_memory'";
    let before = number(&mut admin, metric);
    let mut end = Raw::login(proxy.port, "app", "app").expect("logged in");
    for number in 0..50 {
        let text = format!("\x16DO {number} /*{}*/", "x".repeat(40_000));
        end.send(0, text.as_bytes()).and_then(|()| end.receive()).expect("prepared");
    }
    let more = number(&mut admin, metric) - before;
    assert!((2_000_000..4_200_000).contains(&more), "{more} bytes for 50 texts of 40,000");
    drop(end);
    eventually("the client's texts are given back", Duration::from_secs(10), || {
        number(&mut admin, metric) < before + 100_000
    });
}

#[test]
fn what_clients_did_is_seen_by_server_by_account_and_by_error() {
    let Some(cluster) = live::cluster("statistics tables", Flavour::MariaDb, 1) else { return };
    let proxy = split(&cluster);
    let mut admin = admin(&proxy);
    let mut conn = client::connect(client::options(proxy.port));
    for _ in 0..20 {
        let _: Option<String> = conn.query_first("SELECT repeat('x', 1000)").expect("read");
    }
    for _ in 0..3 {
        conn.query_drop("SELECT nothing FROM nowhere").expect_err("there is no such table");
    }
    conn.query_drop("BEGIN").expect("begun");
    conn.query_drop("SET NAMES latin1").expect("set");
    let pool = "SELECT * FROM stats_mysql_connection_pool WHERE hostgroup = 1";
    let read = &rows(&mut admin, pool)[0];
    let value = |name: &str| read[name].parse::<u64>().expect("a number");
    assert_eq!((read["status"].as_str(), value("ConnERR")), ("ONLINE", 0), "{read:?}");
    assert!((23..40).contains(&value("Queries")), "{read:?}");
    assert!(value("Bytes_data_recv") > 20_000 && value("Bytes_data_sent") > 20 * 20, "{read:?}");
    assert!(
        value("ConnOK") >= 1 && value("ConnFree") >= 1 && value("MaxConnUsed") >= 1,
        "{read:?}"
    );
    let again = "SELECT Queries FROM stats_mysql_connection_pool_reset WHERE hostgroup = 1";
    assert_eq!(number(&mut admin, again), value("Queries"));
    assert_eq!(number(&mut admin, again), 0);
    let used = "SELECT ConnUsed FROM stats_mysql_connection_pool WHERE hostgroup = 0";
    assert_eq!(number(&mut admin, used), 1, "the transaction's");
    let error = &rows(&mut admin, "SELECT * FROM stats_mysql_errors WHERE errno = 1146")[0];
    assert_eq!((error["count_star"].as_str(), error["username"].as_str()), ("3", "app"));
    assert_eq!(
        (error["schemaname"].as_str(), error["client_address"].as_str()),
        ("test", "127.0.0.1")
    );
    assert!(error["last_error"].contains("nowhere"), "{error:?}");
    let errors = "SELECT sum(count_star) FROM stats_mysql_errors_reset WHERE errno = 1146";
    assert_eq!((number(&mut admin, errors), number(&mut admin, errors)), (3, 0));
    let users = "SELECT frontend_connections FROM stats_mysql_users WHERE username = 'app'";
    assert_eq!(number(&mut admin, users), 1);
    for (name, least) in [
        ("Questions", 25),
        ("Active_Transactions", 1),
        ("Client_Connections_connected", 1),
        ("Com_frontend_set_names", 1),
        ("Queries_backends_bytes_recv", 20_000),
        ("Queries_frontends_bytes_sent", 20_000),
        ("Server_Connections_created", 2),
        ("MySQL_Thread_Workers", 2),
    ] {
        assert!(number(&mut admin, &format!("SELECT @@{name}")) >= least, "{name}");
    }
    let [asked, got, back] = ["get", "get_ok", "push"]
        .map(|what| number(&mut admin, &format!("SELECT @@MyHGM_myconnpoll_{what}")));
    assert!(asked == got && got > back && back > 0, "{asked} {got} {back}: one is kept");
    let idle = "SELECT * FROM stats_mysql_free_connections WHERE hostgroup = 1";
    let idle = &rows(&mut admin, idle)[0];
    assert_eq!(idle["user"].as_str(), "app", "{idle:?}");
    assert!(idle["statistics"].contains("\"questions\":2"), "{idle:?}");
    conn.query_drop("ROLLBACK").expect("ended");
}

/// A session as the process list shows it.
fn shown(admin: &mut Conn, id: u32) -> Option<BTreeMap<String, String>> {
    rows(admin, &format!("SELECT * FROM stats_mysql_processlist WHERE SessionID = {id}")).pop()
}

/// Nothing of a session can be killed.
fn is_unknown(admin: &mut Conn, id: u32) {
    for kind in ["CONNECTION", "QUERY"] {
        let error = admin.query_drop(format!("KILL {kind} {id}")).expect_err("it is gone");
        let (code, _, text) = client::refusal(&error);
        assert_eq!((code, text), (1094, format!("Unknown thread id: {id}")));
    }
}

#[test]
fn the_process_list_shows_what_runs_and_kill_ends_it_or_says_that_there_is_nothing() {
    let Some(cluster) = live::cluster("the process list", Flavour::MariaDb, 1) else { return };
    let proxy = split(&cluster);
    let mut admin = admin(&proxy);
    let mut idle = client::connect(client::options(proxy.port));
    let id = idle.connection_id();
    let row = shown(&mut admin, id).expect("it is there");
    assert_eq!((row["user"].as_str(), row["db"].as_str()), ("app", "test"));
    assert_eq!((row["command"].as_str(), row["cli_host"].as_str()), ("Sleep", "127.0.0.1"));
    // its reads leave the transaction that it has on the primary
    admin.query_drop("UPDATE mysql_users SET transaction_persistent = 0").expect("done");
    admin.query_drop("LOAD MYSQL USERS TO RUNTIME").expect("loaded");
    let port = proxy.port;
    let (tell, told) = std::sync::mpsc::channel();
    let sleeper = thread::spawn(move || {
        let mut conn = client::connect(client::options(port));
        let before = Instant::now();
        conn.query_drop("BEGIN").expect("begun");
        tell.send((conn.connection_id(), before, Instant::now())).expect("awaited");
        // MariaDB lets a sleep end with 1 when it is killed, MySQL with an error
        let ended = conn.query_first::<u8, _>("SELECT sleep(100)");
        assert!(ended.is_err() || ended.is_ok_and(|slept| slept == Some(1)));
        conn.query_drop("SELECT 1").expect("it goes on")
    });
    let (sleeping, before, begun) = told.recv().expect("it connects");
    eventually("the query is shown", Duration::from_secs(10), || {
        let is_it = |row: BTreeMap<String, String>| {
            row["command"] == "Query" && row["info"] == "SELECT sleep(100)"
        };
        shown(&mut admin, sleeping).is_some_and(is_it)
    });
    let row = shown(&mut admin, sleeping).expect("it is there");
    assert_eq!(row["hostgroup"], "1", "{row:?}");
    let server = &cluster.replicas()[0];
    assert_eq!(row["srv_port"], server.port.to_string());
    assert!(row["l_srv_port"].parse::<u16>().is_ok_and(|port| port > 0), "{row:?}");
    assert!(row["cli_port"].parse::<u16>().is_ok_and(|port| port > 0), "{row:?}");
    assert_eq!(row["extended_info"], "");
    admin.query_drop("SET mysql-show_processlist_extended = 1").expect("set");
    admin.query_drop("LOAD MYSQL VARIABLES TO RUNTIME").expect("loaded");
    let after = Instant::now();
    let row = shown(&mut admin, sleeping).expect("it is there");
    let info: serde_json::Value = serde_json::from_str(&row["extended_info"]).expect("JSON");
    let in_transaction = info["transaction_time_ms"].as_u64().map(u128::from).expect("a number");
    let (longest, shortest) = (before.elapsed(), after.duration_since(begun));
    assert!(
        in_transaction * 2 > shortest.as_micros() && in_transaction <= longest.as_micros(),
        "in microseconds"
    );
    assert_eq!(info["thread_session_id"], sleeping);
    let backend = |at: usize| {
        let conn = &info["backends"][at]["conn"];
        (info["backends"][at]["hostgroup_id"].as_u64(), &conn["mysql"]["port"], &conn["held_for"])
    };
    let primary = cluster.primary().port;
    assert_eq!(backend(0), (Some(1), &server.port.into(), &serde_json::json!([])));
    assert_eq!(backend(1), (Some(0), &primary.into(), &serde_json::json!(["transaction"])));
    assert_eq!(row["status_flags"], "0", "of the connection that is shown");
    let list = rows(&mut admin, "SHOW PROCESSLIST");
    assert!(list.iter().any(|row| row["info"] == "SELECT sleep(100)"), "{list:?}");
    assert!(rows(&mut admin, "SHOW FULL PROCESSLIST")[0].contains_key("extended_info"));
    admin.query_drop(format!("KILL QUERY {sleeping}")).expect("there is such a one");
    sleeper.join().expect("only the query was killed");
    admin.query_drop(format!("KILL CONNECTION {id}")).expect("there is such a one");
    idle.query_drop("SELECT 1").expect_err("it is closed");
    eventually("it is gone", Duration::from_secs(10), || shown(&mut admin, id).is_none());
    is_unknown(&mut admin, id);
}

#[test]
fn com_statistics_tells_of_all_workers_together() {
    const STATISTICS: u8 = 9;
    let proxy = answering("");
    ask(proxy.port, 6, 1000);
    let mut one = Raw::login(proxy.port, "app", "app").expect("it logs in");
    let mut told = String::new();
    eventually("every worker has told", Duration::from_secs(10), || {
        one.send(0, &[STATISTICS]).expect("sent");
        told = String::from_utf8_lossy(&one.receive().expect("answered").1).into_owned();
        let questions = told.split("  ").find_map(|part| part.strip_prefix("Questions: "));
        questions.is_some_and(|number| number.parse::<u64>().is_ok_and(|number| number > 6000))
    });
    assert!(told.contains("Threads: 1  "), "{told}");
    assert!(told.contains("  Slow queries: 0  "), "{told}");
}

#[test]
fn addresses_that_fail_too_often_are_turned_away_until_they_are_forgotten() {
    let variables = "client_host_cache_size = 100\nclient_host_error_counts = 3\n";
    let proxy = answering(variables);
    let mut admin = admin(&proxy);
    let login = |password: &str| Conn::new(client::account(proxy.port, "app", password));
    for _ in 0..2 {
        login("wrong").expect_err("refused");
    }
    login("app").expect("right: failures are forgotten");
    for _ in 0..3 {
        assert_eq!(client::refusal(&login("wrong").expect_err("refused")).0, 1045);
    }
    assert_eq!(client::refusal(&login("app").expect_err("closed at once")).0, 0);
    let told = "clients from 127.0.0.1 are refused from now on: 3 logins in a row failed \
                (mysql-client_host_error_counts); PROXYSQL FLUSH MYSQL CLIENT HOSTS lets them in";
    eventually("it is logged, once", Duration::from_secs(5), || {
        proxy.log().matches(told).count() == 1
    });
    let row = &rows(&mut admin, "SELECT * FROM stats_mysql_client_host_cache")[0];
    assert_eq!((row["client_address"].as_str(), row["error_count"].as_str()), ("127.0.0.1", "3"));
    assert!(number(&mut admin, "SELECT @@client_host_error_killed_connections") >= 1);
    admin.query_drop("PROXYSQL FLUSH MYSQL CLIENT HOSTS").expect("forgotten");
    login("app").expect("forgotten");
    login("wrong").expect_err("refused");
    let reset = "SELECT sum(error_count) FROM stats_mysql_client_host_cache_reset";
    assert_eq!((number(&mut admin, reset), number(&mut admin, reset)), (1, 0));
}

#[test]
fn history_is_sampled_at_its_intervals() {
    let proxy = answering("");
    let mut admin = admin(&proxy);
    for name in [
        "stats_mysql_connections",
        "stats_mysql_connection_pool",
        "stats_system_cpu",
        "stats_system_memory",
        "stats_mysql_query_digest_to_disk",
    ] {
        admin.query_drop(format!("SET admin-{name} = 1")).expect("set");
    }
    admin.query_drop("LOAD ADMIN VARIABLES TO RUNTIME").expect("loaded");
    ask(proxy.port, 2, 500);
    for (table, condition) in [
        ("mysql_connections", "Client_Connections_created >= 2 AND Questions = 1000"),
        ("myhgm_connections", "MyHGM_myconnpoll_get_ok = 0"),
        ("history_stats_mysql_connection_pool", "srv_port = 1 AND status = 'ONLINE'"),
        ("system_cpu", "tms_utime >= 0"),
        ("system_memory", "resident > 1000000 AND allocated > 100000"),
        ("history_mysql_query_digest", "count_star = 500"),
        (
            "history_mysql_status_variables JOIN \
             stats_history.history_mysql_status_variables_lookup USING (variable_id)",
            "variable_name = 'Questions' AND variable_value = 1000",
        ),
    ] {
        let query = format!("SELECT count(*) FROM stats_history.{table} WHERE {condition}");
        eventually(table, Duration::from_secs(10), || {
            number(&mut admin, &query) > 1
                || table == "history_mysql_query_digest" && number(&mut admin, &query) == 2
        });
    }
}

/// What workers spent on queries.
#[derive(Default, Debug)]
struct Cost {
    spent_ns: u64,
    queries: u64,
}

impl Cost {
    fn of_a_query_ps(&self) -> u64 {
        self.spent_ns * 1000 / self.queries
    }
}

fn read(admin: &mut Conn, tables: &[String]) {
    for table in tables {
        let _: Vec<Row> = admin.query(format!("SELECT * FROM stats.{table}")).expect("read");
    }
}

/// Has the admin interface compute and send rows that it need not ask workers for.
fn count_to(admin: &mut Conn, rows: u128) {
    let query = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) \
         SELECT i FROM n"
    );
    let counted: Vec<u64> = admin.query(query).expect("counted");
    assert_eq!(counted.len() as u128, rows);
}

#[test]
fn reading_every_table_in_a_loop_costs_workers_next_to_nothing() {
    /// Between two readings: that many take all there is of a core else.
    const PAUSE: Duration = Duration::from_millis(50);
    const TURN: Duration = Duration::from_millis(150);
    const TURNS: u32 = 60;
    let Some(cluster) = live::cluster("the cost of statistics", Flavour::MariaDb, 1) else {
        return;
    };
    // what a query costs on a shared connection depends on how many come at the same time
    let proxy = split_with(&cluster, "threads = 2\npipeline_depth = 0\n");
    let load = Load::reads(8, &client::options(proxy.port));
    load.await_more(2000);
    let mut admin = admin(&proxy);
    let tables: Vec<String> = admin.query("SHOW TABLES FROM stats").expect("listed");
    assert!(tables.len() > 20, "{tables:?}");
    // what else the machine does changes what a query costs by more than that: both kinds take
    // turns that are short, and it goes on while the machine is busy. The interface is asked as
    // much without its tables, since whatever else computes takes caches and processors from the
    // workers
    let took = |act: &mut dyn FnMut()| {
        let began = Instant::now();
        (0..5).for_each(|_| act());
        began.elapsed()
    };
    let of_reading = took(&mut || read(&mut admin, &tables));
    let of_counting = took(&mut || count_to(&mut admin, 10_000));
    let rows = (10_000 * of_reading.as_micros() / of_counting.as_micros()).max(1);
    let cost = |total: &mut Cost, act: &mut dyn FnMut()| {
        let (done, spent, began) = (load.done(), proxy.worker_cpu_ns(), Instant::now());
        while began.elapsed() < TURN {
            act();
            thread::sleep(PAUSE);
        }
        load.await_more(10);
        total.spent_ns += proxy.worker_cpu_ns() - spent;
        total.queries += load.done() - done;
    };
    let (mut counting, mut reading) = (Cost::default(), Cost::default());
    for _ in 0..TURNS {
        cost(&mut counting, &mut || count_to(&mut admin, rows));
        cost(&mut reading, &mut || read(&mut admin, &tables));
    }
    let per_mille = reading.of_a_query_ps() * 1000 / counting.of_a_query_ps();
    let wrong = load.stop();
    assert!(wrong.is_empty(), "{wrong:?}");
    println!("{per_mille} per mille; {reading:?}, counting to {rows}: {counting:?}");
    assert!(per_mille <= 1050, "more than 5 % above: {per_mille} per mille");
}
