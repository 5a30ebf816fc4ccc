//! A planned switchover under load, as a DBA or a program does it: the hostgroup of writers is held
//! while servers change places, and no client sees an error.

use std::thread;
use std::time::{Duration, Instant};

use lab::{Cluster, LabOptions, Server};
use live::{Finished, Program, Proxy, client, eventually, full, skip};
use mysql::Conn;
use mysql::prelude::Queryable;

const TABLES: [&str; 2] = ["--tables=4", "--table-size=1000"];

/// Three servers of which each may be the primary.
fn cluster() -> Cluster {
    let words = ["--log-bin=binlog", "--binlog-format=ROW", "--log-slave-updates=ON"];
    let extra_args = words.map(str::to_owned).to_vec();
    let options = LabOptions { replicas: 2, extra_args, ..LabOptions::default() };
    Cluster::start(options).expect("the servers start")
}

fn proxy(cluster: &Cluster) -> Proxy {
    let row = |server: &Server| {
        let port = server.port;
        format!("[[mysql_servers]]\nhostgroup_id = 20\nhostname = \"127.0.0.1\"\nport = {port}\n")
    };
    let servers: String = cluster.servers().iter().map(row).collect();
    Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 2\n{servers}\
             [[mysql_replication_hostgroups]]\nwriter_hostgroup = 10\nreader_hostgroup = 20\n\
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

/// Makes `new` the primary in place of `old`.
fn switch_over(console: &mut Console, cluster: &Cluster, old: &Server, new: &Server) {
    console.run("TIDEGATE HOLD HOSTGROUP 10 FOR 20");
    console
        .await_number("SELECT ConnUsed FROM stats_mysql_connection_pool WHERE hostgroup = 10", 0);
    let run = |server: &Server, sql: &str| drop(server.sql(sql).expect(sql));
    run(old, "SET GLOBAL read_only = 1");
    let position = old.value("SELECT @@gtid_binlog_pos").expect("told");
    let reached = new.value(&format!("SELECT MASTER_GTID_WAIT('{position}', 20)"));
    assert_eq!(reached.expect("it waits"), "0");
    run(new, "STOP SLAVE; RESET SLAVE ALL");
    for other in cluster.servers().iter().filter(|other| other.port != new.port) {
        run(other, "STOP SLAVE");
        if other.port == old.port {
            run(other, &format!("SET GLOBAL gtid_slave_pos = '{position}'"));
        }
        run(
            other,
            &format!(
                "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={}, MASTER_USER='repl', \
                 MASTER_PASSWORD='repl', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1",
                new.port
            ),
        );
        run(other, "START SLAVE");
    }
    run(new, "SET GLOBAL read_only = 0");
    let writers = "SELECT srv_port * (SELECT COUNT(*) FROM stats_mysql_connection_pool \
                   WHERE hostgroup = 10 AND status <> 'OFFLINE_HARD') \
                   FROM stats_mysql_connection_pool \
                   WHERE hostgroup = 10 AND status = 'ONLINE' LIMIT 1";
    console.await_number(writers, u64::from(new.port));
    console.run("TIDEGATE RELEASE HOSTGROUP 10");
}

/// A figure of a report by the words in front of it.
fn figure(report: &str, name: &str) -> f64 {
    let mut lines = report.lines().filter_map(|line| line.trim().strip_prefix(name));
    lines.next().and_then(|rest| rest.split_whitespace().next()?.parse().ok()).expect(name)
}

#[test]
fn three_switchovers_under_load_are_seen_by_nobody() {
    if !Program::new("sysbench").args(["--version"]).run().success {
        return skip("switchover", "the package sysbench is not installed");
    }
    let cluster = cluster();
    let [first, second, third] = [0, 1, 2].map(|number| &cluster.servers()[number]);
    first.sql("CREATE DATABASE sbtest").expect("created");
    let proxy = proxy(&cluster);
    let mut console = Console(client::connect(
        client::account(proxy.admin_port, "admin", "admin").db_name(None::<String>),
    ));
    console.await_number("SELECT COUNT(*) FROM runtime_mysql_servers WHERE hostgroup_id = 10", 1);
    let prepared = sysbench(proxy.port, &["prepare"]);
    assert!(prepared.success, "{}\n{}", prepared.output, prepared.errors);

    let time = if full() { 60 } else { 15 };
    let port = proxy.port;
    let began = Instant::now();
    let load =
        thread::spawn(move || sysbench(port, &["--threads=32", &format!("--time={time}"), "run"]));
    for (old, new) in [(first, second), (second, third), (third, first)] {
        let queries = "SELECT SUM(Queries) FROM stats_mysql_connection_pool WHERE hostgroup = 10";
        let before = console.number(queries);
        console.await_number(&format!("SELECT ({queries}) > {}", before + 1_000), 1);
        switch_over(&mut console, &cluster, old, new);
    }
    assert!(began.elapsed() < Duration::from_secs(time), "the load was on all the time");
    let finished = load.join().expect("no panic");
    let text = format!("{}\n{}\n{}", finished.output, finished.errors, proxy.log());
    assert!(finished.success && !finished.errors.contains("FATAL"), "{text}");
    assert!(figure(&finished.output, "reconnects:") == 0.0, "{text}");
    let longest_ms = figure(&finished.output, "max:");
    assert!(longest_ms < 2_000.0, "{longest_ms} ms\n{text}");
    println!("the longest transaction took {longest_ms} ms");
}
