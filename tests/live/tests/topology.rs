//! Real servers that change places, stand still or fall behind while clients are served.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, Server};
use live::{Load, Proxy, client, eventually};
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

/// A proxy in front of a primary and two replicas that are all typed as readers, and its
/// administrative interface.
struct Scene {
    cluster: Cluster,
    proxy: Proxy,
    admin: Conn,
}

/// Writers are hostgroup 10, readers 20; each check takes place every 300 ms, but for `read_only`.
fn configuration(cluster: &Cluster, interfaces: &str, read_only_ms: u32) -> String {
    let row = |server: &Server| {
        format!(
            "[[mysql_servers]]\nhostgroup_id = 20\nhostname = \"127.0.0.1\"\nport = {}\n\
             max_replication_lag = 5\n",
            server.port
        )
    };
    let servers: String = cluster.servers().iter().map(row).collect();
    format!(
        "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 2\n\
         get_server_public_key = true\n\
         monitor_ping_interval = 300\nmonitor_ping_timeout = 300\n\
         monitor_read_only_interval = {read_only_ms}\n\
         monitor_replication_lag_interval = 300\n\
         {servers}\
         [[mysql_replication_hostgroups]]\nwriter_hostgroup = 10\nreader_hostgroup = 20\n\
         [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\ndefault_hostgroup = 10\n\
         [[mysql_query_rules]]\nrule_id = 1\nactive = 1\nmatch_digest = '^SELECT \\?'\n\
         destination_hostgroup = 20\napply = 1\n"
    )
}

impl Scene {
    /// It is there when the primary is the only writer.
    fn open(what: &str, flavour: Flavour) -> Option<Self> {
        Self::open_with(what, flavour, 300)
    }

    fn open_with(what: &str, flavour: Flavour, read_only_ms: u32) -> Option<Self> {
        Some(Self::before(live::cluster(what, flavour, 2)?, read_only_ms))
    }

    fn before(cluster: Cluster, read_only_ms: u32) -> Self {
        let configuration = |interfaces: String| configuration(&cluster, &interfaces, read_only_ms);
        let proxy = Proxy::start(configuration).expect("tidegate starts");
        let admin = admin(&proxy);
        let mut scene = Self { cluster, proxy, admin };
        scene.await_writer(0);
        scene
    }

    fn port(&self, server: usize) -> u16 {
        self.cluster.servers()[server].port
    }

    fn ask(&mut self, sql: &str) -> Vec<String> {
        ask(&mut self.admin, sql)
    }

    /// Waits until that server is the only writer, and all are readers.
    fn await_writer(&mut self, server: usize) {
        let mut wanted = vec![format!("10|{}|ONLINE", self.port(server))];
        let mut readers: Vec<_> = self.cluster.servers().iter().map(|it| it.port).collect();
        readers.sort_unstable();
        wanted.extend(readers.into_iter().map(|port| format!("20|{port}|ONLINE")));
        let mut seen = Vec::new();
        let limit = Duration::from_secs(10);
        let deadline = Instant::now() + limit;
        while seen != wanted {
            assert!(Instant::now() < deadline, "{seen:?} is not {wanted:?}\n{}", self.proxy.log());
            seen = self.ask(
                "SELECT hostgroup_id, port, status FROM runtime_mysql_servers \
                 WHERE hostgroup_id = 20 OR status = 'ONLINE' ORDER BY 1, 2",
            );
        }
    }

    /// Waits until a server has that status among the readers.
    fn await_status(&mut self, server: usize, status: &str) {
        let port = self.port(server);
        let sql = format!(
            "SELECT status FROM stats_mysql_connection_pool \
             WHERE hostgroup = 20 AND srv_port = {port}"
        );
        let what = format!("server {server} is {status}");
        eventually(&what, Duration::from_secs(10), || self.ask(&sql) == [status]);
    }

    /// Makes a server take writes, or none.
    fn set_read_only(&self, server: usize, is: bool) {
        let name = match self.cluster.software().flavour {
            Flavour::MariaDb => "read_only",
            // it is off when read_only is, and on with it
            Flavour::MySql if is => "super_read_only",
            Flavour::MySql => "read_only",
        };
        let sql = format!("SET GLOBAL {name} = {}", u8::from(is));
        self.cluster.servers()[server].sql(&sql).expect("it is set");
    }

    /// Which server a client of the default hostgroup is served by.
    fn writer(&self) -> u16 {
        let mut conn = client::connect(client::options(self.proxy.port));
        conn.query_first("SELECT @@port").expect("answered").expect("a row")
    }
}

/// The administrative interface of a proxy.
fn admin(proxy: &Proxy) -> Conn {
    client::connect(client::account(proxy.admin_port, "admin", "admin").db_name(None::<String>))
}

/// The rows of a statement there, values separated by `|`.
fn ask(admin: &mut Conn, sql: &str) -> Vec<String> {
    let rows: Vec<Row> = admin.query(sql).expect(sql);
    let text = |row: Row| {
        let cells = row.unwrap().into_iter();
        let texts = cells.map(mysql::from_value::<Option<String>>);
        texts.map(|text| text.unwrap_or("NULL".into())).collect::<Vec<_>>().join("|")
    };
    rows.into_iter().map(text).collect()
}

#[test]
fn a_process_that_starts_sends_no_write_to_replicas_that_are_typed_as_writers() {
    let Some(cluster) = live::cluster("a start", Flavour::MariaDb, 2) else { return };
    for start in 0..3 {
        let typed = |interfaces: String| {
            configuration(&cluster, &interfaces, 1_000)
                .replace("hostgroup_id = 20", "hostgroup_id = 10")
        };
        let proxy = Proxy::start(typed).expect("tidegate starts");
        for write in 0..10 {
            let mut conn = client::connect(client::options(proxy.port));
            let sql = format!("CREATE TABLE written_{start}_{write} (id INT PRIMARY KEY)");
            conn.query_drop(sql).expect("the primary takes it");
        }
    }
}

/// The primary and a replica change places, and later nobody takes writes for a while.
fn servers_that_change_places(flavour: Flavour) {
    let Some(mut scene) = Scene::open("change of places", flavour) else { return };
    let typed = "SELECT hostgroup_id, port, status FROM mysql_servers ORDER BY 2";
    let before = scene.ask(typed);
    assert_eq!(scene.writer(), scene.port(0));

    scene.set_read_only(0, true);
    scene.set_read_only(1, false);
    let began = Instant::now();
    scene.await_writer(1);
    let took = began.elapsed();
    assert!(took < Duration::from_millis(1_500), "{took:?} with an interval of 300 ms");
    assert_eq!(scene.writer(), scene.port(1));
    let events = scene.ask(
        "SELECT hostgroup, srv_port, from_status, to_status, reason \
         FROM stats_tidegate_topology_events WHERE hostgroup = 10 ORDER BY id",
    );
    let event = |server: usize, change: &str, read_only: u8| {
        format!("10|{}|{change}|it answered read_only={read_only}", scene.port(server))
    };
    let mut wanted =
        vec![event(0, "NULL|ONLINE", 0), event(0, "ONLINE|NULL", 1), event(1, "NULL|ONLINE", 0)];
    let mut sorted = events.clone();
    sorted.sort();
    wanted.sort();
    assert_eq!(sorted, wanted);

    // what was seen is written nowhere
    for statement in ["SAVE MYSQL SERVERS TO MEMORY", "LOAD MYSQL SERVERS TO RUNTIME"] {
        scene.admin.query_drop(statement).expect(statement);
        assert_eq!(scene.ask(typed), before, "{statement}");
        scene.await_writer(1);
    }
    assert_eq!(
        scene.ask("SELECT count(*) FROM stats_tidegate_topology_events"),
        [events.len().to_string()]
    );

    scene.set_read_only(1, true);
    let sql = "SELECT count(*) FROM runtime_mysql_servers WHERE hostgroup_id = 10";
    eventually("no writer", Duration::from_secs(10), || scene.ask(sql) == ["0"]);
    let port = scene.proxy.port;
    let (tell, told) = channel();
    let asker = thread::spawn(move || {
        let mut conn = client::connect(client::options(port));
        conn.query_drop("SELECT 1").expect("readers serve");
        tell.send(()).expect("heard");
        conn.query_drop("CREATE TABLE IF NOT EXISTS waited (id INT PRIMARY KEY)")
    });
    told.recv().expect("it asks");
    let waiting = "SELECT count(*) FROM stats_mysql_processlist WHERE command = 'Connect' \
                   OR info LIKE 'CREATE TABLE%'";
    eventually("it waits", Duration::from_secs(10), || scene.ask(waiting) != ["0"]);
    assert!(!asker.is_finished(), "nobody takes it");
    scene.set_read_only(0, false);
    asker.join().expect("no panic").expect("the new writer takes it");
    scene.await_writer(0);
}

#[test]
fn mariadb_servers_change_places() {
    servers_that_change_places(Flavour::MariaDb);
}

#[test]
fn mysql_servers_change_places() {
    servers_that_change_places(Flavour::MySql);
}

/// A second server takes writes: where one writer is wanted its GTIDs decide.
fn two_servers_that_take_writes(flavour: Flavour) {
    let Some(cluster) = live::cluster_with("two writers", flavour, 2, &["--log-bin=binlog"]) else {
        return;
    };
    let mut scene = Scene::before(cluster, 300);
    let reason = "SELECT reason FROM stats_tidegate_topology_events ORDER BY id DESC LIMIT 1";
    let want = |scene: &mut Scene, policy: &str| {
        let settings = format!(r#"{{"several_writers": "{policy}"}}"#);
        for sql in [
            "DELETE FROM mysql_hostgroup_attributes".to_owned(),
            format!(
                "INSERT INTO mysql_hostgroup_attributes (hostgroup_id, hostgroup_settings) \
                 VALUES (10, '{settings}')"
            ),
            "LOAD MYSQL SERVERS TO RUNTIME".to_owned(),
        ] {
            scene.admin.query_drop(&sql).expect(&sql);
        }
    };
    let checks = "SELECT Variable_Value FROM stats_mysql_global \
                  WHERE Variable_Name = 'gtid_checks_ok'";
    let count = |scene: &mut Scene| scene.ask(checks)[0].parse::<u64>().expect("a number");
    want(&mut scene, "newest_gtid");
    // all have been asked then, and it is known whose turn it was
    eventually("they are asked", Duration::from_secs(10), || count(&mut scene) > 6);
    scene.cluster.primary().sql("CREATE TABLE test.before (a INT)").expect("written");
    scene.cluster.wait_replicated().expect("replicated");
    scene.set_read_only(1, false);
    let [first, second] = [0, 1].map(|server| format!("127.0.0.1:{}", scene.port(server)));
    let stays = format!("2 servers answer read_only=0: {first} stays the writer");
    eventually("it is told", Duration::from_secs(10), || scene.ask(reason) == [&*stays]);
    scene.await_writer(0);
    assert_eq!(scene.writer(), scene.port(0));

    // what the first one writes the second one has a moment later, and never more
    let until = count(&mut scene) + 30;
    let mut conn = client::connect(client::options(scene.proxy.port));
    for row in 0.. {
        conn.query_drop(format!("INSERT INTO test.before VALUES ({row})")).expect("written");
        if count(&mut scene) > until {
            break;
        }
    }
    assert_eq!(scene.ask(reason), [stays], "{}", scene.proxy.log());

    scene.cluster.wait_replicated().expect("replicated");
    // who has something on a connection loses it
    let mut locks = client::connect(client::options(scene.proxy.port));
    assert_eq!(locks.query_first("SELECT GET_LOCK('tied', 0)").expect("answered"), Some(1));
    scene.cluster.servers()[1].sql("CREATE TABLE test.more (a INT)").expect("written");
    scene.await_writer(1);
    let error = locks.query_drop("INSERT INTO test.before VALUES (-1)").expect_err("no writer's");
    let lost = format!(
        "Lost connection to MySQL server during query (server {first}: not the one to be written \
         to (several_writers))"
    );
    assert_eq!(client::refusal(&error), (1158, "08S01".to_owned(), lost));
    let has = format!("2 servers answer read_only=0: {second} has the newest GTIDs");
    assert_eq!(scene.ask(reason), [has]);
    assert_eq!(scene.writer(), scene.port(1));

    want(&mut scene, "none");
    let writers = "SELECT count(*) FROM runtime_mysql_servers \
                   WHERE hostgroup_id = 10 AND status = 'ONLINE'";
    assert_eq!(scene.ask(writers), ["0"], "{}", scene.proxy.log());
    scene.set_read_only(0, true);
    scene.await_writer(1);
    assert!(scene.ask(reason)[0].ends_with(" alone answers read_only=0"));
}

#[test]
fn of_two_servers_of_mariadb_that_take_writes_the_newest_is_the_writer() {
    two_servers_that_take_writes(Flavour::MariaDb);
}

#[test]
fn of_two_servers_of_mysql_that_take_writes_the_newest_is_the_writer() {
    two_servers_that_take_writes(Flavour::MySql);
}

/// A replica stands still, and another no longer applies what it is sent; reads notice neither.
fn replicas_that_are_of_no_use(flavour: Flavour) {
    let Some(mut scene) = Scene::open("replicas of no use", flavour) else { return };
    let load = Load::start(4, &client::options(scene.proxy.port), |conn, turn| {
        let read: Option<u64> =
            conn.query_first(format!("SELECT {turn}")).map_err(|e| e.to_string())?;
        (read == Some(turn)).then_some(()).ok_or_else(|| format!("{read:?} is not {turn}"))
    });
    load.await_more(100);
    scene.cluster.servers()[2].pause().expect("it stands still");
    scene.await_status(2, "SHUNNED");
    load.await_more(100);
    scene.cluster.servers()[2].resume().expect("it goes on");
    scene.await_status(2, "ONLINE");

    let word = if flavour == Flavour::MariaDb { "SLAVE" } else { "REPLICA" };
    let replica = |text: &str| format!("{text} {word} SQL_THREAD");
    scene.cluster.servers()[1].sql(&replica("STOP")).expect("it stops");
    scene.await_status(1, "SHUNNED_REPLICATION_LAG");
    let (port, row) = (scene.port(1), "SELECT status FROM runtime_mysql_servers WHERE port =");
    assert_eq!(scene.ask(&format!("{row} {port}")), ["SHUNNED"], "as ProxySQL shows it there");
    load.await_more(100);
    scene.cluster.servers()[1].sql(&replica("START")).expect("it starts");
    scene.await_status(1, "ONLINE");
    let wrong = load.stop();
    assert!(wrong.is_empty(), "{wrong:?}\n{}", scene.proxy.log());

    // servers are asked again by a process that stood still itself, and none is blamed
    let changes = "SELECT count(*) FROM stats_tidegate_topology_events";
    let before = scene.ask(changes);
    scene.proxy.halt().expect("it stands still");
    thread::sleep(Duration::from_secs(3));
    scene.proxy.signal("CONT").expect("it goes on");
    let pings = "SELECT Variable_Value FROM stats_mysql_global \
                 WHERE Variable_Name = 'MySQL_Monitor_ping_check_OK'";
    let count = |scene: &mut Scene| scene.ask(pings)[0].parse::<u64>().expect("a number");
    let at = count(&mut scene);
    eventually("pings go on", Duration::from_secs(10), || count(&mut scene) > at + 12);
    assert_eq!(scene.ask(changes), before, "{}", scene.proxy.log());
}

#[test]
fn mariadb_replicas_of_no_use_are_left_out() {
    replicas_that_are_of_no_use(Flavour::MariaDb);
}

#[test]
fn mysql_replicas_of_no_use_are_left_out() {
    replicas_that_are_of_no_use(Flavour::MySql);
}

#[test]
fn a_writer_that_refuses_a_write_is_checked_at_once() {
    const MINUTE: u32 = 60_000;
    let what = "a writer that refuses a write";
    let Some(mut scene) = Scene::open_with(what, Flavour::MariaDb, MINUTE) else { return };
    let mut conn = client::connect(client::options(scene.proxy.port));
    conn.query_drop("CREATE TABLE refused (id INT PRIMARY KEY)").expect("the primary takes it");
    scene.set_read_only(0, true);
    let refused = conn.query_drop("INSERT INTO refused VALUES (1)").expect_err("it is read-only");
    assert_eq!(client::refusal(&refused).0, 1290);
    let sql = "SELECT count(*) FROM runtime_mysql_servers WHERE hostgroup_id = 10";
    eventually("it is no writer", Duration::from_secs(10), || scene.ask(sql) == ["0"]);
}

/// One server under so many names: zeros in front of a part of an address mean nothing.
fn names(count: usize) -> impl Iterator<Item = String> {
    let zeros = |count: usize| "0".repeat(count + 1);
    (0..count).map(move |at| {
        format!("127.{}.{}.{}1", zeros(at / 100), zeros(at / 10 % 10), zeros(at % 10))
    })
}

#[test]
fn a_thousand_servers_are_checked_for_a_small_part_of_a_core() {
    const SERVERS: usize = 1_000;
    let Some(cluster) = live::cluster("a thousand servers", Flavour::MariaDb, 0) else { return };
    let port = cluster.primary().port;
    let row = |name: String| {
        format!("[[mysql_servers]]\nhostgroup_id = 10\nhostname = \"{name}\"\nport = {port}\n")
    };
    let servers: String = names(SERVERS).map(row).collect();
    let proxy = Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n{servers}\
             [[mysql_replication_hostgroups]]\nwriter_hostgroup = 10\nreader_hostgroup = 20\n"
        )
    })
    .expect("tidegate starts");
    let mut admin = admin(&proxy);
    let mut checks = || -> u64 {
        let sql = "SELECT Variable_Value FROM stats_mysql_global \
                   WHERE Variable_Name = 'MySQL_Monitor_read_only_check_OK'";
        ask(&mut admin, sql)[0].parse().expect("a number")
    };
    // by then every server is logged in to
    eventually("checks go on", Duration::from_secs(60), || checks() > 5 * SERVERS as u64);
    let (at, began, used) = (checks(), Instant::now(), proxy.monitor_cpu_ns());
    eventually("checks go on", Duration::from_secs(60), || checks() > at + 8 * SERVERS as u64);
    let share = (proxy.monitor_cpu_ns() - used) as f64 / began.elapsed().as_nanos() as f64;
    println!("{SERVERS} servers: {:.1} % of a core", share * 100.0);
    // 6 % on a quiet machine; whoever shares the core's caches may double that
    assert!(share < 0.2, "{:.1} % of a core", share * 100.0);
    let rate = (checks() - at) as f64 / began.elapsed().as_secs_f64();
    assert!(rate > 0.8 * SERVERS as f64, "{rate:.0} checks of read_only a second");
    let status = "SELECT status, count(*) FROM runtime_mysql_servers GROUP BY 1";
    assert_eq!(ask(&mut admin, status), [format!("ONLINE|{SERVERS}")]);
}
