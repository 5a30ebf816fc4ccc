//! A primary that is killed under load, and one that only Tidegate cannot see; and what is recorded
//! and told of a failover.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, LabOptions, Server};
use live::{Finished, Program, Proxy, Tap, binary, client, eventually, skip};
use mysql::Conn;
use mysql::prelude::Queryable;

/// A primary and two replicas; with MariaDB one of them has every write before its client is told.
fn cluster(flavour: Flavour) -> Option<Cluster> {
    if let Err(why) = flavour.find(true) {
        skip("failover", &format!("{} cannot be had: {why:#}", flavour.name()));
        return None;
    }
    let (words, grants): (&[&str], _) = match flavour {
        Flavour::MariaDb => (
            &[
                "--log-bin=binlog",
                "--binlog-format=ROW",
                "--log-slave-updates=ON",
                "--rpl-semi-sync-master-enabled=ON",
                "--rpl-semi-sync-slave-enabled=ON",
                "--rpl-semi-sync-master-timeout=10000",
                "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
            ],
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
        "CREATE USER operator@'%' IDENTIFIED BY 'operator'; GRANT {grants} ON *.* TO operator@'%'; \
         CREATE TABLE test.acked (writer INT, number INT, PRIMARY KEY (writer, number))"
    );
    cluster.primary().sql(&account).expect("created");
    cluster.wait_replicated().expect("replicated");
    Some(cluster)
}

fn proxy(ports: &[u16], variables: &str) -> Proxy {
    let row = |port: &u16| {
        format!("[[mysql_servers]]\nhostgroup_id = 20\nhostname = \"127.0.0.1\"\nport = {port}\n")
    };
    let servers: String = ports.iter().map(row).collect();
    Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 2\n\
             get_server_public_key = true\n{variables}{servers}\
             [[mysql_replication_hostgroups]]\nwriter_hostgroup = 10\nreader_hostgroup = 20\n\
             [[tidegate_replication_clusters]]\nwriter_hostgroup = 10\nmode = \"failover\"\n\
             username = \"operator\"\npassword = \"operator\"\n\
             replication_username = \"repl\"\nreplication_password = \"repl\"\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\ndefault_hostgroup = 10\n"
        )
    })
    .expect("tidegate starts")
}

/// The rows that clients were told are written, and what else they saw.
#[derive(Default)]
struct Written {
    acked: Mutex<Vec<(u32, u32)>>,
    errors: Mutex<Vec<String>>,
    ends: AtomicBool,
}

fn write(port: u16, writer: u32, written: &Written) {
    let mut conn = client::connect(client::options(port));
    for number in 0.. {
        if written.ends.load(Ordering::Relaxed) {
            return;
        }
        let row = format!("INSERT INTO test.acked VALUES ({writer}, {number})");
        match conn.query_drop(&row) {
            Ok(()) => written.acked.lock().expect("whole").push((writer, number)),
            Err(error) => {
                written.errors.lock().expect("whole").push(error.to_string());
                conn = client::connect(client::options(port));
            }
        }
    }
}

/// A proxy in front of those servers, and its administrative interface.
struct Scene {
    cluster: Cluster,
    proxy: Proxy,
    admin: Conn,
}

impl Scene {
    fn open(flavour: Flavour) -> Option<Self> {
        let cluster = cluster(flavour)?;
        let ports: Vec<u16> = cluster.servers().iter().map(|server| server.port).collect();
        Some(Self::before(cluster, &ports, ""))
    }

    /// The same, with the servers reached by these ports, the primary by the first.
    fn before(cluster: Cluster, ports: &[u16], variables: &str) -> Self {
        let proxy = proxy(ports, variables);
        let account = client::account(proxy.admin_port, "admin", "admin");
        let admin = client::connect(account.db_name(None::<String>));
        let mut scene = Self { cluster, proxy, admin };
        eventually("the writer is known", Duration::from_secs(20), || scene.writer() == ports[0]);
        eventually("it is watched", Duration::from_secs(20), || {
            scene.proxy.log().contains("watched as the primary")
        });
        scene
    }

    fn told(&mut self, sql: &str) -> Vec<String> {
        self.admin.query(sql).expect(sql)
    }

    /// The port of the only writer, or 0.
    fn writer(&mut self) -> u16 {
        let sql = "SELECT port FROM runtime_mysql_servers WHERE hostgroup_id = 10";
        match &*self.told(sql) {
            [port] => port.parse().expect("a port"),
            [] => 0,
            several => panic!("{several:?} are writers\n{}", self.proxy.log()),
        }
    }

    fn server(&self, port: u16) -> &Server {
        self.cluster.servers().iter().find(|server| server.port == port).expect("one of them")
    }

    /// Kills the primary, and waits until another server is; gives both.
    fn kill_primary(&mut self) -> (u16, u16) {
        self.kill_primary_and(|_, _| ())
    }

    /// Does something more once it is killed.
    fn kill_primary_and(&mut self, more: impl FnOnce(&Self, u16)) -> (u16, u16) {
        let old = self.writer();
        self.server(old).kill9().expect("killed");
        more(self, old);
        eventually("another one is the writer", Duration::from_secs(40), || {
            ![old, 0].contains(&self.writer())
        });
        (old, self.writer())
    }

    /// Starts a primary of before, and waits for what becomes of it.
    fn restart(&mut self, old: u16) -> String {
        let new = self.writer();
        let sql = "SELECT outcome || ': ' || told FROM stats_tidegate_switchovers \
                   WHERE step = 'rejoin' ORDER BY number DESC, time_us DESC LIMIT 1";
        let before = "SELECT COUNT(*) FROM stats_tidegate_switchovers \
                      WHERE step = 'rejoin' AND told NOT LIKE '%onnection refused%'";
        let count = self.told(before);
        self.server(old).restart().expect("started");
        eventually("it is told what becomes of it", Duration::from_secs(30), || {
            assert_eq!(self.writer(), new, "{}", self.proxy.log());
            self.told(before) != count
        });
        assert_eq!(self.server(old).value("SELECT @@read_only").expect("told"), "1");
        self.told(sql).remove(0)
    }
}

#[test]
fn a_primary_that_is_killed_under_load_is_replaced_and_no_acknowledged_write_is_lost() {
    const CLIENTS: u32 = 8;
    let Some(mut scene) = Scene::open(Flavour::MariaDb) else { return };
    let port = scene.proxy.port;
    let written = Written::default();
    let (took, old, new) = thread::scope(|scope| {
        for writer in 0..CLIENTS {
            let written = &written;
            scope.spawn(move || write(port, writer, written));
        }
        let count = || written.acked.lock().expect("whole").len();
        eventually("writes go on", Duration::from_secs(20), || count() > 200);
        let killed = Instant::now();
        let (old, new) = scene.kill_primary();
        let before = count();
        eventually("writes go on again", Duration::from_secs(30), || count() > before);
        let took = killed.elapsed();
        eventually("more of them", Duration::from_secs(20), || count() > before + 200);
        written.ends.store(true, Ordering::Relaxed);
        (took, old, new)
    });
    println!("writes went on {} ms after the kill", took.as_millis());
    assert!(took < Duration::from_secs(8), "after {took:?}\n{}", scene.proxy.log());
    // A write that was on its way has an unknown fate; nobody else is told anything. The kernel
    // closes a dead server's connections one by one, so a client can meet two of them.
    let (errors, log) = (written.errors.into_inner().expect("whole"), scene.proxy.log());
    let lost = log.lines().filter(|line| line.contains("not retried")).count();
    let is_lost = |error: &String| error.contains("ERROR 1158 (08S01): Lost connection");
    assert!(errors.iter().all(is_lost) && errors.len() == lost, "{errors:?}\n{log}");
    let rows = scene.server(new).sql("SELECT writer, number FROM test.acked").expect("read");
    let there: HashSet<Vec<Option<String>>> = rows.into_iter().collect();
    for (writer, number) in written.acked.into_inner().expect("whole") {
        let row = vec![Some(writer.to_string()), Some(number.to_string())];
        assert!(there.contains(&row), "{row:?} was acknowledged and is lost");
    }
    // writes that were on their way may be there and nowhere else
    let outcome = scene.restart(old);
    let is_told = outcome == format!("OK: it follows 127.0.0.1:{new}")
        || outcome.contains(&format!("it has transactions that 127.0.0.1:{new} has not: 0-"));
    assert!(is_told, "{outcome}");
}

fn a_primary_of_before_follows_unless_it_has_what_nobody_else_has(flavour: Flavour) {
    let Some(mut scene) = Scene::open(flavour) else { return };
    let (old, new) = scene.kill_primary();
    let reasons = format!(
        "SELECT reason FROM stats_tidegate_topology_events WHERE srv_port = {old} ORDER BY id"
    );
    let told = scene.told(&reasons);
    assert!(told.contains(&"it does not follow the new primary".to_owned()), "{told:?}");
    // it comes back as one that takes writes, and gets none
    assert_eq!(scene.restart(old), format!("OK: it follows 127.0.0.1:{new}"));
    scene.server(new).sql("CREATE TABLE test.first (a INT)").expect("written");
    for replica in scene.cluster.servers().iter().filter(|server| server.port != new) {
        eventually("what the new primary writes", Duration::from_secs(20), || {
            replica.sql("SELECT a FROM test.first").is_ok()
        });
    }
    let readers = "SELECT COUNT(*) FROM stats_tidegate_topology \
                   WHERE hostgroup = 20 AND status = 'ONLINE'";
    eventually("all are read from", Duration::from_secs(20), || scene.told(readers) == ["3"]);

    // the next one writes what it can tell nobody
    let (word, position) = match flavour {
        Flavour::MariaDb => ("SLAVE", "SELECT @@gtid_binlog_pos"),
        Flavour::MySql => ("REPLICA", "SELECT CONCAT(@@server_uuid, ':1')"),
    };
    let [stop, start] = ["STOP", "START"].map(|verb| format!("{verb} {word} IO_THREAD"));
    for replica in scene.cluster.servers().iter().filter(|server| server.port != new) {
        replica.sql(&stop).expect("stopped");
    }
    if flavour == Flavour::MariaDb {
        let alone = "SET GLOBAL rpl_semi_sync_master_enabled = 0";
        scene.server(new).sql(alone).expect("it waits for nobody");
    }
    scene.server(new).sql("CREATE TABLE test.lost (a INT)").expect("written");
    let lost = scene.server(new).value(position).expect("told");
    // one that does not try to receive is no witness
    let (second, third) = scene.kill_primary_and(|scene, old| {
        for replica in scene.cluster.servers().iter().filter(|server| server.port != old) {
            replica.sql(&start).expect("started");
        }
    });
    assert_eq!(second, new);
    let outcome = scene.restart(second);
    let expected = format!("FAILED: it has transactions that 127.0.0.1:{third} has not: ");
    let named = outcome.strip_prefix(&expected);
    let is_named = |named: &str| match flavour {
        Flavour::MariaDb => named == lost,
        // the first that it wrote was the table before
        Flavour::MySql => named == lost.replace(":1", ":2"),
    };
    assert!(named.is_some_and(is_named), "{outcome}, {lost}");
    let stands = format!("SELECT status FROM stats_tidegate_topology WHERE srv_port = {second}");
    assert_eq!(scene.told(&stands), ["ASTRAY"]);
}

#[test]
fn a_primary_of_mariadb_follows_unless_it_has_what_nobody_else_has() {
    a_primary_of_before_follows_unless_it_has_what_nobody_else_has(Flavour::MariaDb);
}

#[test]
fn a_primary_of_mysql_follows_unless_it_has_what_nobody_else_has() {
    a_primary_of_before_follows_unless_it_has_what_nobody_else_has(Flavour::MySql);
}

/// Tidegate alone is cut off from the primary: nothing comes of it, and its replicas go on.
#[test]
fn a_primary_that_its_replicas_still_see_is_not_replaced() {
    let Some(cluster) = cluster(Flavour::MariaDb) else { return };
    let tap = Tap::start(cluster.primary().port).expect("it listens");
    let [_, second, third] = [0, 1, 2].map(|at| cluster.servers()[at].port);
    let mut scene = Scene::before(cluster, &[tap.port, second, third], "");
    tap.stall();
    let failover = "SELECT told FROM stats_tidegate_switchovers \
                    WHERE step = 'failover' AND outcome = 'FAILED'";
    eventually("it is told why not", Duration::from_secs(40), || {
        scene.told(failover).iter().any(|why| why.contains("still receives from"))
    });
    let orders = "SELECT COUNT(*) FROM stats_tidegate_switchovers WHERE step LIKE 'SET GLOBAL%'";
    assert_eq!(scene.told(orders), ["0"]);
    for server in scene.cluster.servers() {
        let is_replica = server.port != scene.cluster.primary().port;
        let read_only = server.value("SELECT @@read_only").expect("told");
        assert_eq!(read_only, u8::from(is_replica).to_string());
    }
    tap.go_on();
    eventually("it is the writer again", Duration::from_secs(40), || scene.writer() == tap.port);
    let mut conn = client::connect(client::options(scene.proxy.port));
    conn.query_drop("INSERT INTO test.acked VALUES (1, 1)").expect("it takes writes");
}

/// Runs a command of the binary.
fn tidegate(words: &[&str]) -> Finished {
    Program::new(binary().expect("built")).args(words).run()
}

fn replayed(file: &Path) -> Finished {
    tidegate(&["replay-topology", file.to_str().expect("text")])
}

#[test]
fn a_recording_of_a_failover_is_replayed_to_the_same_changes() {
    let Some(cluster) = cluster(Flavour::MariaDb) else { return };
    let file = cluster.dir().join("recording");
    let ports: Vec<u16> = cluster.servers().iter().map(|server| server.port).collect();
    let variables = format!("topology_recording = \"{}\"\n", file.display());
    let mut scene = Scene::before(cluster, &ports, &variables);
    let (old, new) = scene.kill_primary();
    // another configuration is an input, too
    let leaves = format!("UPDATE mysql_servers SET status = 'OFFLINE_SOFT' WHERE port = {old}");
    scene.admin.query_drop(leaves).expect("written");
    scene.admin.query_drop("LOAD MYSQL SERVERS TO RUNTIME").expect("in force");
    let off = "SET mysql-topology_recording = ''";
    scene.admin.query_drop(off).expect("written");
    scene.admin.query_drop("LOAD MYSQL VARIABLES TO RUNTIME").expect("in force");
    eventually("the last line is written", Duration::from_secs(20), || {
        scene.proxy.log().contains("the recording has ended")
    });
    let told = scene.told(
        "SELECT datetime(time_us / 1000000, 'unixepoch') || printf('.%06d ', time_us % 1000000) \
         || hostgroup || ' ' || srv_host || ':' || srv_port || ' ' || COALESCE(from_status, '-') \
         || ' ' || COALESCE(to_status, '-') || ' ' || reason \
         FROM stats_tidegate_topology_events ORDER BY id",
    );
    let finished = replayed(&file);
    assert!(finished.success, "{}\n{}", finished.output, finished.errors);
    let (events, tree) = finished.output.split_once("\n\n").expect("events and a tree");
    let events: Vec<&str> = events.lines().collect();
    // after the recording there may be more
    assert_eq!(events, told[..events.len()].iter().map(String::as_str).collect::<Vec<_>>());
    let deposed = format!("127.0.0.1:{old} ONLINE ASTRAY it does not follow the new primary");
    let promoted = format!("10 127.0.0.1:{new} - ONLINE it answered read_only=0");
    let left = format!("127.0.0.1:{old} ASTRAY OFFLINE_SOFT the configuration was changed");
    for change in [deposed, promoted, left] {
        assert!(events.iter().any(|event| event.contains(&change)), "{change}: {events:#?}");
    }
    let writer = format!("hostgroup 10, writer\n  127.0.0.1:{new}");
    assert!(tree.contains(&writer), "{tree}");
    let recording = fs::read_to_string(&file).expect("written");
    assert!(!recording.contains("operator"), "an account's name or password");

    let nowhere = "SET mysql-topology_recording = '/nowhere/recording'";
    scene.admin.query_drop(nowhere).expect("written");
    scene.admin.query_drop("LOAD MYSQL VARIABLES TO RUNTIME").expect("in force");
    let told = "the topology is no longer recorded: No such file or directory";
    eventually("it is told", Duration::from_secs(20), || scene.proxy.log().contains(told));
    let checks = scene.told("SELECT COUNT(*) FROM monitor.mysql_server_read_only_log");
    eventually("checks go on", Duration::from_secs(20), || {
        scene.told("SELECT COUNT(*) FROM monitor.mysql_server_read_only_log") != checks
    });
    assert_eq!(scene.proxy.log().matches("no longer recorded").count(), 1, "once");

    let other = file.with_extension("other");
    let other_reason = recording.replacen("it answered read_only=0", "it was so", 1);
    fs::write(&other, other_reason).expect("written");
    let finished = replayed(&other);
    let then = finished.output.lines().filter(|line| line.contains("it was so")).count();
    assert!(!finished.success && then == 1, "{}", finished.output);
    fs::write(&other, &recording[..recording.len() - 9]).expect("written");
    let lines = recording.lines().count();
    let told = format!("{}:{lines}: the line has no end", other.display());
    let cut = replayed(&other);
    assert!(!cut.success && cut.errors.contains(&told), "{}", cut.errors);
}

#[test]
fn the_topology_of_a_running_tidegate_is_told_on_the_command_line() {
    let Some(scene) = Scene::open(Flavour::MariaDb) else { return };
    let config = scene.proxy.config();
    let ask = |file: &Path, words: &[&str]| {
        let mut all = vec!["topology", "--config", file.to_str().expect("text")];
        all.extend_from_slice(words);
        tidegate(&all)
    };
    let port = scene.cluster.primary().port;
    let finished = ask(&config, &[]);
    assert!(finished.success, "{}", finished.errors);
    let writer = format!("hostgroup 10, writer\n  127.0.0.1:{port}");
    assert!(finished.output.contains(&writer), "{}", finished.output);
    assert!(finished.output.contains("it answered read_only=0\n"), "{}", finished.output);
    assert_eq!(finished.output.lines().count(), 1 + 2 + 4, "{}", finished.output);
    let rows: serde_json::Value =
        serde_json::from_str(&ask(&config, &["--json"]).output).expect("JSON");
    let roles: Vec<_> = rows.as_array().expect("rows").iter().map(|row| &row["role"]).collect();
    assert_eq!(roles, ["writer", "reader", "reader", "reader"]);
    assert_eq!((&rows[0]["hostgroup"], &rows[0]["srv_port"]), (&10.into(), &port.into()));

    let text = fs::read_to_string(&config).expect("there");
    let wrong = config.with_extension("wrong.toml");
    fs::write(&wrong, format!("{text}admin_credentials = \"admin:other\"\n")).expect("written");
    let refused = ask(&wrong, &[]);
    let told = "refuses the account admin of admin-admin_credentials of";
    assert!(!refused.success && refused.errors.contains(told), "{}", refused.errors);
    let (admin, free) = (scene.proxy.admin_port, lab::free_port().expect("one"));
    let elsewhere = text.replace(&format!("127.0.0.1:{admin}"), &format!("127.0.0.1:{free}"));
    fs::write(&wrong, elsewhere.replace("/admin\"", "/nobody\"")).expect("written");
    let nobody = ask(&wrong, &[]);
    assert!(!nobody.success && nobody.errors.contains("is Tidegate running?"), "{}", nobody.errors);
}

/// What replicas have received and not applied is applied first, also by several appliers; the one
/// with transactions of its own is left out, however high their numbers are.
#[test]
fn a_failover_loses_nothing_that_a_replica_has_received() {
    let Some(cluster) = cluster(Flavour::MariaDb) else { return };
    let mut scene = {
        let ports: Vec<u16> = cluster.servers().iter().map(|server| server.port).collect();
        Scene::before(cluster, &ports, "")
    };
    for server in &scene.cluster.servers()[1..] {
        for text in [
            "STOP SLAVE SQL_THREAD",
            "SET GLOBAL slave_parallel_threads = 4",
            "START SLAVE SQL_THREAD",
        ] {
            server.sql(text).expect(text);
        }
    }
    let [primary, own, held_up] = [0, 1, 2].map(|at| scene.cluster.servers()[at].port);
    scene.server(primary).sql("CREATE TABLE test.slow (a INT)").expect("created");
    for port in [own, held_up] {
        eventually("the table is there", Duration::from_secs(20), || {
            scene.server(port).sql("SELECT a FROM test.slow").is_ok()
        });
    }
    scene.server(own).sql("SET GLOBAL read_only = 0").expect("open");
    for _ in 0..40 {
        let text = "CREATE OR REPLACE TABLE test.own (a INT)";
        scene.server(own).sql(text).expect("written on the wrong side");
    }
    scene.server(own).sql("SET GLOBAL read_only = 1").expect("closed");
    // one that copies the data holds up those who apply
    scene.server(held_up).sql("LOCK TABLES test.slow READ").expect("locked");
    for number in 0..20 {
        let text = format!("INSERT INTO test.slow VALUES ({number})");
        scene.server(primary).sql(&text).expect("written");
    }
    scene.server(primary).kill9().expect("killed");
    let judged = format!(
        "SELECT COUNT(*) FROM stats_tidegate_switchovers \
         WHERE step = 'may it be the primary' AND srv_port = {held_up}"
    );
    eventually("an order is given", Duration::from_secs(40), || scene.told(&judged) != ["0"]);
    scene.server(held_up).sql("UNLOCK TABLES").expect("unlocked");
    eventually("another one is the writer", Duration::from_secs(40), || {
        ![primary, 0].contains(&scene.writer())
    });
    assert_eq!(scene.writer(), held_up, "{}", scene.proxy.log());
    let rows = scene.server(held_up).value("SELECT COUNT(*) FROM test.slow").expect("told");
    assert_eq!(rows, "20", "{}", scene.proxy.log());
    let why = "SELECT told FROM stats_tidegate_switchovers \
               WHERE step = 'may it be the primary' AND outcome = 'FAILED'";
    let told = scene.told(why);
    assert!(told.iter().any(|why| why.contains("transactions of its own")), "{told:?}");
}
