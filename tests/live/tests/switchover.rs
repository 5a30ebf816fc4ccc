//! Planned switchovers under load, ordered on the administrative interface: clients wait while
//! servers change places, and none of them sees an error.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, LabOptions, Server};
use live::{Finished, Program, Proxy, client, eventually, full, skip};
use mysql::Conn;
use mysql::prelude::Queryable;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// Times are measured here: the tests of this file take turns.
static TURN: Mutex<()> = Mutex::new(());

const TABLES: [&str; 2] = ["--tables=4", "--table-size=1000"];

/// Three servers of which each may be the primary, with an account that may administer them.
fn cluster(flavour: Flavour) -> Option<Cluster> {
    cluster_with(flavour, &[])
}

/// The same with more options.
fn cluster_with(flavour: Flavour, more: &[String]) -> Option<Cluster> {
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
    let words = words.iter().map(|word| (*word).to_owned());
    let extra_args = words.chain(more.iter().cloned()).collect();
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

fn proxy(cluster: &Cluster, replication: &str) -> Proxy {
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
             replication_username = \"{replication}\"\n\
             replication_password = \"{replication}\"\n\
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
    opened_for(cluster, "repl")
}

/// The same where replicas log in by that name, which is their password as well.
fn opened_for(cluster: &Cluster, replication: &str) -> (Proxy, Console) {
    let proxy = proxy(cluster, replication);
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

/// Makes `new` the primary, whatever comes of it; gives the number of the order.
fn order(console: &mut Console, new: &Server) -> u64 {
    console.run(&format!("TIDEGATE SWITCHOVER 10 TO '127.0.0.1:{}'", new.port));
    let number = console.0.affected_rows();
    let steps = "FROM stats_tidegate_switchovers";
    let last = format!("SELECT COUNT(*) {steps} WHERE number = {number} AND step = 'switchover'");
    console.await_number(&last, 1);
    number
}

/// The steps of an order that have failed: where, which and why.
fn failed(console: &mut Console, number: u64) -> Vec<(u16, String, String)> {
    let failed = format!(
        "SELECT srv_port, step, told FROM stats_tidegate_switchovers \
         WHERE number = {number} AND outcome <> 'OK'"
    );
    console.0.query(&failed).expect("told")
}

/// Makes `new` the primary, and says how many milliseconds clients waited.
fn switch_over(console: &mut Console, new: &Server) -> u64 {
    let number = order(console, new);
    assert_eq!(failed(console, number), []);
    let steps = "FROM stats_tidegate_switchovers";
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

/// Makes an authority, and certificates that it has signed: of servers, and of two clients.
fn certify(dir: &Path) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "authority of servers");
    let key = KeyPair::generate().expect("a key");
    let write = |name: &str, text: String| fs::write(dir.join(name), text).expect("written");
    write("ca.pem", params.self_signed(&key).expect("signed").pem());
    let authority = Issuer::new(params, key);
    for name in ["server", "first", "second"] {
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        write(&format!("{name}.pem"), params.signed_by(&key, &authority).expect("signed").pem());
        write(&format!("{name}-key.pem"), key.serialize_pem());
    }
}

/// A statement about the options of a replica, with the words that both kinds know.
fn change(flavour: Flavour, options: &str) -> String {
    match flavour {
        Flavour::MariaDb => format!(
            "STOP SLAVE; CHANGE MASTER TO {}; START SLAVE",
            options.replace("SOURCE_", "MASTER_")
        ),
        Flavour::MySql => {
            format!("STOP REPLICA; CHANGE REPLICATION SOURCE TO {options}; START REPLICA")
        }
    }
}

/// What a replica says of its source: its port, whether it receives, and of TLS whether it is on,
/// whether the source is verified, and the files.
fn source(server: &Server) -> Option<Vec<String>> {
    let mut conn = client::connect(client::account(server.port, "app", "app"));
    let row: mysql::Row = conn.query_first("SHOW REPLICA STATUS").expect("told")?;
    let wanted = [
        "Source_Port",
        "Replica_IO_Running",
        "Source_SSL_Allowed",
        "Source_SSL_Verify_Server_Cert",
        "Source_SSL_CA_File",
        "Source_SSL_Cert",
    ];
    let value = |name: &&str| -> String {
        let other = name.replace("Source", "Master").replace("Replica", "Slave");
        row.get(*name).or_else(|| row.get(other.as_str())).expect("a column")
    };
    Some(wanted.iter().map(value).collect())
}

fn await_source(server: &Server, from: &Server, ca: &Path, cert: &Path) {
    let [ca, cert] = [ca, cert].map(|path| path.display().to_string());
    let yes = || "Yes".to_owned();
    let wanted = Some(vec![from.port.to_string(), yes(), yes(), yes(), ca, cert]);
    eventually(&format!("{wanted:?}"), Duration::from_secs(20), || source(server) == wanted);
}

/// Servers that know nobody who replicates without TLS, or without a certificate; each replica has
/// another one.
fn cluster_in_tls(flavour: Flavour, dir: &Path) -> Option<Cluster> {
    certify(dir);
    let words = [("ca", "ca"), ("cert", "server"), ("key", "server-key")];
    let words = words.map(|(option, file)| {
        format!("--ssl-{option}={}", dir.join(format!("{file}.pem")).display())
    });
    let cluster = cluster_with(flavour, &words)?;
    let account = "CREATE USER sealed@'%' IDENTIFIED BY 'sealed' REQUIRE X509; \
                   GRANT REPLICATION SLAVE ON *.* TO sealed@'%'";
    cluster.primary().sql(account).expect("created");
    cluster.wait_replicated().expect("replicated");
    for (replica, name) in cluster.replicas().iter().zip(["first", "second"]) {
        let path = dir.join(name);
        let (ca, path) = (dir.join("ca.pem"), path.display());
        let options = format!(
            "SOURCE_USER='sealed', SOURCE_PASSWORD='sealed', SOURCE_SSL=1, SOURCE_SSL_CA='{}', \
             SOURCE_SSL_CERT='{path}.pem', SOURCE_SSL_KEY='{path}-key.pem', \
             SOURCE_SSL_VERIFY_SERVER_CERT=1",
            ca.display()
        );
        replica.sql(&change(flavour, &options)).expect("changed");
        await_source(replica, cluster.primary(), &ca, &dir.join(format!("{name}.pem")));
    }
    Some(cluster)
}

fn replication_stays_in_tls(flavour: Flavour) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let pki = lab::RunDir::create().expect("a directory");
    let [ca, own, other] =
        ["ca", "first", "second"].map(|it| pki.path().join(it.to_owned() + ".pem"));
    let Some(cluster) = cluster_in_tls(flavour, pki.path()) else { return };
    let [first, second, third] = [0, 1, 2].map(|number| &cluster.servers()[number]);
    let (proxy, mut console) = opened_for(&cluster, "sealed");

    // the old primary gets what the promoted one had, and the other one keeps its own
    console.run("TIDEGATE SWITCHOVER 10 DRY RUN");
    let planned = "FROM stats_tidegate_switchovers WHERE step = 'TLS of the replication'";
    console.await_number(&format!("SELECT COUNT(*) {planned}"), 1);
    let told: Option<String> =
        console.0.query_first(format!("SELECT told {planned}")).expect("told");
    let told = told.expect("a row");
    assert!(told.starts_with("it will replicate in TLS as other replicas: "), "{told}");
    switch_over(&mut console, second);
    await_source(first, second, &ca, &own);
    await_source(third, second, &ca, &other);
    switch_over(&mut console, third);
    await_source(first, third, &ca, &own);
    await_source(second, third, &ca, &other);

    // a file that is not there for the old primary
    fs::remove_file(&other).expect("removed");
    let number = order(&mut console, second);
    let failed = failed(&mut console, number);
    let [(port, step, why)] = &*failed else { panic!("{failed:?}") };
    let receive = format!("receive from 127.0.0.1:{}", second.port);
    assert_eq!((*port, step), (third.port, &receive), "{why}");
    assert!(why.ends_with("(2026)"), "{why}");
    await_source(first, second, &ca, &own);
    let status = format!(
        "SELECT COUNT(*) FROM stats_tidegate_topology WHERE srv_port = {} AND status = 'ASTRAY'",
        third.port
    );
    console.await_number(&format!("SELECT ({status}) > 0"), 1);
    // its operator names another one
    let (cert, key) = (own.display(), own.display().to_string().replace(".pem", "-key.pem"));
    let options = format!("SOURCE_SSL_CERT='{cert}', SOURCE_SSL_KEY='{key}'");
    third.sql(&change(flavour, &options)).expect("changed");
    await_source(third, second, &ca, &own);
    console.await_number(&status, 0);

    // one that comes back after a failover
    console.run("UPDATE tidegate_replication_clusters SET mode = 'failover'");
    console.run("LOAD MYSQL SERVERS TO RUNTIME");
    let is_watched =
        |line: &str| line.contains("watched as the primary") && line.contains(&second.address());
    eventually("it is watched", Duration::from_secs(20), || proxy.log().lines().any(is_watched));
    second.kill9().expect("killed");
    let new = "FROM runtime_mysql_servers WHERE hostgroup_id = 10 AND port";
    console.await_number(&format!("SELECT COUNT(*) {new} <> {}", second.port), 1);
    second.restart().expect("it starts");
    let new = console.number(&format!("SELECT port {new} <> {}", second.port));
    let (new, other) = if new == u64::from(first.port) { (first, third) } else { (third, first) };
    await_source(other, new, &ca, &own);
    await_source(second, new, &ca, &own);
}

/// Where a MariaDB replica does not verify its source it goes on in clear text if that has no TLS.
#[test]
fn a_server_without_tls_is_not_followed_by_those_that_are_to_use_it() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(cluster) = cluster_with(Flavour::MariaDb, &["--skip-ssl".to_owned()]) else { return };
    let [first, second] = [0, 1].map(|number| &cluster.servers()[number]);
    second.sql(&change(Flavour::MariaDb, "SOURCE_SSL=1")).expect("changed");
    let is_on = || source(second).is_some_and(|told| told[1..3] == ["Yes", "Yes"]);
    eventually("it replicates, and tells of TLS", Duration::from_secs(20), is_on);
    let (_proxy, mut console) = opened(&cluster);
    let number = order(&mut console, second);
    let told = failed(&mut console, number).pop().expect("it is refused").2;
    let why = "replicas follow in TLS, and it has none: its have_ssl is DISABLED";
    assert!(told.ends_with(why), "{told}");
    assert_eq!(first.value("SELECT @@read_only").expect("told"), "0");
}

#[test]
fn replication_of_mariadb_stays_in_tls() {
    replication_stays_in_tls(Flavour::MariaDb);
}

#[test]
fn replication_of_mysql_stays_in_tls() {
    replication_stays_in_tls(Flavour::MySql);
}
