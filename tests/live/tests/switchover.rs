//! Planned switchovers under load, ordered on the administrative interface: clients wait while
//! servers change places, and none of them sees an error.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, LabOptions, Server};
use live::{Finished, Program, Proxy, client, eventually, full, skip};
use mysql::Conn;
use mysql::prelude::Queryable;

/// Times are measured here: the tests of this file take turns.
static TURN: Mutex<()> = Mutex::new(());

const TABLES: [&str; 2] = ["--tables=4", "--table-size=1000"];

/// Three servers of which each may be the primary, with an account that may administer them.
fn cluster(flavour: Flavour) -> Option<Cluster> {
    if let Err(why) = flavour.find(true) {
        skip("switchover", &format!("{} cannot be had: {why:#}", flavour.name()));
        return None;
    }
    let (words, grants): (&[&str], _) = match flavour {
        Flavour::MariaDb => (
            &["--log-bin=binlog", "--binlog-format=ROW", "--log-slave-updates=ON"],
            "RELOAD, REPLICATION SLAVE ADMIN, READ_ONLY ADMIN, BINLOG MONITOR, SLAVE MONITOR",
        ),
        Flavour::MySql => (
            &["--log-bin=binlog", "--log-replica-updates=ON"],
            "RELOAD, REPLICATION_SLAVE_ADMIN, SYSTEM_VARIABLES_ADMIN, REPLICATION CLIENT",
        ),
    };
    let extra_args = words.iter().map(|word| (*word).to_owned()).collect();
    let options =
        LabOptions { replicas: 2, flavour, may_fetch: true, extra_args, ..LabOptions::default() };
    let cluster = Cluster::start(options).expect("the servers start");
    let account = format!(
        "CREATE USER operator@'%' IDENTIFIED BY 'o''p'; GRANT {grants} ON *.* TO operator@'%'"
    );
    cluster.primary().sql(&account).expect("created");
    cluster.wait_replicated().expect("replicated");
    Some(cluster)
}

fn proxy(cluster: &Cluster) -> Proxy {
    let row = |server: &Server| {
        let port = server.port;
        format!("[[mysql_servers]]\nhostgroup_id = 20\nhostname = \"127.0.0.1\"\nport = {port}\n")
    };
    let servers: String = cluster.servers().iter().map(row).collect();
    Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 2\n\
             get_server_public_key = true\n{servers}\
             [[mysql_replication_hostgroups]]\nwriter_hostgroup = 10\nreader_hostgroup = 20\n\
             [[tidegate_replication_clusters]]\nwriter_hostgroup = 10\nmode = \"switchover\"\n\
             username = \"operator\"\npassword = \"o'p\"\n\
             replication_username = \"repl\"\nreplication_password = \"repl\"\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\ndefault_hostgroup = 10\n"
        )
    })
    .expect("tidegate starts")
}

fn sysbench(port: u16, words: &[&str]) -> Finished {
    Program::new("sysbench")
        .args(["oltp_read_write", "--db-driver=mysql", "--mysql-host=127.0.0.1"])
        .args([format!("--mysql-port={port}").as_str(), "--mysql-db=sbtest"])
        .args(["--mysql-user=app", "--mysql-password=app"])
        .args(TABLES)
        .args(words)
        .limit(Duration::from_secs(120))
        .run()
}

/// The administrative interface, and what is done on it.
struct Console(Conn);

impl Console {
    fn run(&mut self, statement: &str) {
        self.0.query_drop(statement).expect(statement);
    }

    fn number(&mut self, sql: &str) -> u64 {
        let number: Option<Option<u64>> = self.0.query_first(sql).expect(sql);
        number.flatten().unwrap_or(0)
    }

    /// Waits until one number is told.
    fn await_number(&mut self, sql: &str, wanted: u64) {
        eventually(sql, Duration::from_secs(20), || self.number(sql) == wanted);
    }
}

/// A proxy that knows who the writer is, and its administrative interface.
fn opened(cluster: &Cluster) -> (Proxy, Console) {
    let proxy = proxy(cluster);
    let mut console = Console(client::connect(
        client::account(proxy.admin_port, "admin", "admin").db_name(None::<String>),
    ));
    console.await_number("SELECT COUNT(*) FROM runtime_mysql_servers WHERE hostgroup_id = 10", 1);
    (proxy, console)
}

/// A client that has written something in a transaction.
fn in_transaction(proxy: &Proxy) -> Conn {
    let mut writer = client::connect(client::options(proxy.port));
    writer.query_drop("CREATE TABLE t (a INT)").expect("created");
    writer.query_drop("BEGIN").expect("begun");
    writer.query_drop("INSERT INTO t VALUES (1)").expect("written");
    writer
}

/// Makes `new` the primary, and says how many milliseconds clients waited.
fn switch_over(console: &mut Console, new: &Server) -> u64 {
    console.run(&format!("TIDEGATE SWITCHOVER 10 TO '127.0.0.1:{}'", new.port));
    let number = console.0.affected_rows();
    let steps = "FROM stats_tidegate_switchovers";
    let last = format!("SELECT COUNT(*) {steps} WHERE number = {number} AND step = 'switchover'");
    console.await_number(&last, 1);
    let failed = format!("SELECT step, told {steps} WHERE number = {number} AND outcome <> 'OK'");
    let failed: Vec<(String, String)> = console.0.query(&failed).expect("told");
    assert!(failed.is_empty(), "{failed:?}");
    let told = format!("SELECT told {steps} WHERE number = {number} AND step = 'switchover'");
    let told: String = console.0.query_first(told).expect("told").expect("a row");
    let words: Vec<&str> = told.split(' ').collect();
    words[words.len() - 2].parse().expect("milliseconds")
}

/// A figure of a report by the words in front of it.
fn figure(report: &str, name: &str) -> f64 {
    let mut lines = report.lines().filter_map(|line| line.trim().strip_prefix(name));
    lines.next().and_then(|rest| rest.split_whitespace().next()?.parse().ok()).expect(name)
}

fn three_switchovers_under_load(flavour: Flavour) {
    if !Program::new("sysbench").args(["--version"]).run().success {
        return skip("switchover", "the package sysbench is not installed");
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(cluster) = cluster(flavour) else { return };
    let [first, second, third] = [0, 1, 2].map(|number| &cluster.servers()[number]);
    first.sql("CREATE DATABASE sbtest").expect("created");
    let (proxy, mut console) = opened(&cluster);
    let prepared = sysbench(proxy.port, &["prepare"]);
    assert!(prepared.success, "{}\n{}", prepared.output, prepared.errors);

    let time = if full() { 60 } else { 15 };
    let port = proxy.port;
    let began = Instant::now();
    let load =
        thread::spawn(move || sysbench(port, &["--threads=32", &format!("--time={time}"), "run"]));
    for new in [second, third, first] {
        let queries = "SELECT SUM(Queries) FROM stats_mysql_connection_pool WHERE hostgroup = 10";
        let before = console.number(queries);
        console.await_number(&format!("SELECT ({queries}) > {}", before + 1_000), 1);
        let waited_ms = switch_over(&mut console, new);
        println!("{}: clients waited {waited_ms} ms", flavour.name());
        assert!(waited_ms < 1_000, "{waited_ms} ms");
    }
    assert!(began.elapsed() < Duration::from_secs(time), "the load was on all the time");
    let finished = load.join().expect("no panic");
    let text = format!("{}\n{}\n{}", finished.output, finished.errors, proxy.log());
    assert!(finished.success && !finished.errors.contains("FATAL"), "{text}");
    assert!(figure(&finished.output, "reconnects:") == 0.0, "{text}");
    let longest_ms = figure(&finished.output, "max:");
    // beside other tests a transaction takes long by itself
    let limit_ms = if full() { 1_000.0 } else { 3_000.0 };
    assert!(longest_ms < limit_ms, "{longest_ms} ms\n{text}");
    println!("{}: the longest transaction took {longest_ms} ms", flavour.name());
    // the others replicate what is written now
    first.sql("CREATE TABLE sbtest.last (a INT)").expect("written");
    for replica in [second, third] {
        eventually("what the new primary writes", Duration::from_secs(10), || {
            replica.sql("SELECT a FROM sbtest.last").is_ok()
        });
    }
}

#[test]
fn three_switchovers_of_mariadb_under_load_are_seen_by_nobody() {
    three_switchovers_under_load(Flavour::MariaDb);
}

#[test]
fn three_switchovers_of_mysql_under_load_are_seen_by_nobody() {
    three_switchovers_under_load(Flavour::MySql);
}

/// A transaction that does not end is not cut off: clients go on, and the old primary takes writes.
#[test]
fn a_switchover_that_would_cut_a_transaction_off_is_undone_and_told() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(cluster) = cluster(Flavour::MariaDb) else { return };
    let (proxy, mut console) = opened(&cluster);
    console.run("UPDATE tidegate_replication_clusters SET timeout_ms = 1000");
    console.run("LOAD MYSQL SERVERS TO RUNTIME");
    let mut writer = in_transaction(&proxy);
    console.run("TIDEGATE SWITCHOVER 10");
    let again = console.0.query_drop("TIDEGATE SWITCHOVER 10").expect_err("one at a time");
    assert!(again.to_string().contains("is being switched over already"), "{again}");
    let last = "FROM stats_tidegate_switchovers WHERE step = 'switchover'";
    console.await_number(&format!("SELECT COUNT(*) {last}"), 1);
    let told: Option<(String, String)> =
        console.0.query_first(format!("SELECT outcome, told {last}")).expect("told");
    let expected = ("FAILED".to_owned(), "1 connections are still in use".to_owned());
    assert_eq!(told, Some(expected));
    writer.query_drop("COMMIT").expect("the transaction goes on");
    writer.query_drop("INSERT INTO t VALUES (2)").expect("and the next statement");
    assert_eq!(cluster.primary().value("SELECT @@read_only").expect("told"), "0");
    for wrong in [
        ("TIDEGATE SWITCHOVER 11", "no row in force with the writer hostgroup 11"),
        ("TIDEGATE SWITCHOVER 10 TO 'nowhere'", "'nowhere' is no 'host:port'"),
        ("TIDEGATE SWITCHOVER 10 AT ONCE", "[TO 'host:port'] [DRY RUN]"),
    ] {
        let refused = console.0.query_drop(wrong.0).expect_err(wrong.0);
        assert!(refused.to_string().contains(wrong.1), "{refused}");
    }
}

#[test]
fn a_process_that_is_told_to_stop_ends_its_switchover_first() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(cluster) = cluster(Flavour::MariaDb) else { return };
    let (proxy, mut console) = opened(&cluster);
    let mut writer = in_transaction(&proxy);
    console.run("TIDEGATE SWITCHOVER 10");
    let held =
        "SELECT COUNT(*) FROM stats_tidegate_topology WHERE hostgroup = 10 AND status = 'HELD'";
    console.await_number(held, 1);
    proxy.signal("TERM").expect("told");
    writer.query_drop("COMMIT").expect("the transaction goes on");
    eventually("it ends", Duration::from_secs(60), || !proxy.is_running());
    let open = |server: &&Server| server.value("SELECT @@read_only").expect("told") == "0";
    let open: Vec<_> = cluster.servers().iter().filter(open).map(|server| server.port).collect();
    assert_eq!(open.len(), 1, "{open:?} take writes\n{}", proxy.log());
    assert_ne!(open[0], cluster.primary().port, "it was put in the other one's place");
}

fn set_program(console: &mut Console, column: &str, program: &str) {
    console.run(&format!("UPDATE tidegate_replication_clusters SET {column} = '{program}'"));
    console.run("LOAD MYSQL SERVERS TO RUNTIME");
}

#[test]
fn programs_run_around_a_switchover_and_one_that_fails_stops_it() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(cluster) = cluster(Flavour::MariaDb) else { return };
    let (_proxy, mut console) = opened(&cluster);
    let [first, second] = [0, 1].map(|number| &cluster.servers()[number]);
    let file = cluster.dir().join("told");
    // it takes longer than servers keep an idle connection: locks are held meanwhile
    for server in [first, second] {
        server.sql("SET GLOBAL wait_timeout = 2").expect("set");
    }
    let told = format!("env | grep ^TIDEGATE_ | sort >> {}", file.display());
    let script = format!("[ $0 = after ] || sleep 4; {told}; echo $0 ran");
    for name in ["before", "after"] {
        let program = format!(r#"["/bin/sh", "-c", "{script}", "{name}"]"#);
        set_program(&mut console, &format!("{name}_program"), &program);
    }
    switch_over(&mut console, second);
    let who = |outcome: &str| {
        format!(
            "TIDEGATE_NEW_PRIMARY=127.0.0.1:{}\nTIDEGATE_OLD_PRIMARY=127.0.0.1:{}\n\
             TIDEGATE_OPERATION=switchover\n{outcome}TIDEGATE_WRITER_HOSTGROUP=10\n",
            second.port, first.port
        )
    };
    let told = std::fs::read_to_string(&file).expect("it ran");
    assert_eq!(told, who("") + &who("TIDEGATE_OUTCOME=done\n"));
    let said = "SELECT told FROM stats_tidegate_switchovers WHERE step LIKE '%_program'";
    let told: Vec<String> = console.0.query(said).expect("told");
    assert_eq!(told, ["before ran", "after ran"]);

    set_program(&mut console, "before_program", r#"["/bin/sh", "-c", "echo no; exit 3"]"#);
    console.run("TIDEGATE SWITCHOVER 10");
    let failed = "FROM stats_tidegate_switchovers WHERE step = 'switchover' AND outcome = 'FAILED'";
    console.await_number(&format!("SELECT COUNT(*) {failed}"), 1);
    let told: Option<String> =
        console.0.query_first(format!("SELECT told {failed}")).expect("told");
    assert_eq!(told.as_deref(), Some("before_program: exit status: 3: no"));
    assert_eq!(second.value("SELECT @@read_only").expect("told"), "0");
    let after = std::fs::read_to_string(&file).expect("it ran");
    assert!(after.contains("TIDEGATE_OUTCOME=failed"), "{after}");

    let update = "UPDATE tidegate_replication_clusters SET before_program = 'true'";
    console.run(update);
    let refused = console.0.query_drop("LOAD MYSQL SERVERS TO RUNTIME").expect_err("no program");
    assert!(refused.to_string().contains("before_program: a program is an array"), "{refused}");
}
