//! Servers that go away: what sessions see of it, and that traffic goes on.

use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, SplitOptions};
use live::{Load, Proxy, Raw, Tap, client, eventually};
use mysql::prelude::Queryable;

const SOON: Duration = Duration::from_secs(5);

/// A user whose transactions are on the replicas.
const READER: &str = "
[[mysql_users]]
username = \"reader\"
password = \"reader\"
default_hostgroup = 1
";

fn proxy(cluster: &Cluster, variables: &str) -> Proxy {
    let user = "CREATE USER reader@'%' IDENTIFIED BY 'reader'; GRANT SELECT ON *.* TO reader@'%'";
    cluster.primary().sql(user).expect("created");
    cluster.wait_replicated().expect("replicated");
    let options =
        SplitOptions { variables: variables.into(), more: READER.into(), ..Default::default() };
    Proxy::start(|interfaces| lab::split_toml(cluster, &SplitOptions { interfaces, ..options }))
        .expect("tidegate starts")
}

/// Repeats transactions until stopped; gives the errors by number.
fn transactions(count: usize, port: u16) -> Load {
    Load::start(count, &client::account(port, "reader", "reader"), |conn, turn| {
        let mut transaction = || -> mysql::Result<u64> {
            conn.query_drop("BEGIN")?;
            let first: Option<u64> = conn.query_first(format!("SELECT {turn}"))?;
            let second: Option<u64> = conn.query_first(format!("SELECT {turn} + 1"))?;
            conn.query_drop("COMMIT")?;
            Ok(first.unwrap_or(0) + second.unwrap_or(0))
        };
        match transaction() {
            Ok(sum) if sum == 2 * turn + 1 => Ok(()),
            Ok(sum) => Err(format!("wrong sum {sum} in turn {turn}")),
            Err(error) => Err(client::refusal(&error).0.to_string()),
        }
    })
}

#[test]
fn a_killed_replica_is_felt_only_inside_transactions() {
    let Some(cluster) = live::cluster("a killed replica", Flavour::MariaDb, 2) else { return };
    let proxy = proxy(&cluster, "shun_recovery_time_sec = 2\n");
    let reads = Load::reads(8, &client::options(proxy.port));
    let held = transactions(8, proxy.port);
    reads.await_more(500);
    held.await_more(200);

    let victim = &cluster.replicas()[0];
    victim.kill9().expect("killed");
    reads.await_more(1000);
    held.await_more(200);
    victim.restart().expect("started again");
    let before = victim.status("Com_select").expect("counted");
    eventually("the replica is used again", Duration::from_secs(60), || {
        victim.status("Com_select").expect("counted") > before + 20
    });

    let errors = reads.stop();
    assert!(errors.is_empty(), "outside transactions: {errors:?}\n{}", proxy.log());
    let errors = held.stop();
    let proper = ["1158", "2013", "2006", "9001"];
    let strange: Vec<_> = errors.iter().filter(|code| !proper.contains(&code.as_str())).collect();
    assert!(strange.is_empty(), "inside transactions: {strange:?}");
    assert!(errors.len() <= 16, "one for each transaction that was open: {errors:?}");
}

/// What writers met: how long each waited that was served, and which errors.
#[derive(Default)]
struct Met {
    longest: Duration,
    errors: Vec<String>,
}

/// Clients that write a row again and again.
fn writers(count: usize, port: u16, met: &Arc<Mutex<Met>>) -> Load {
    let met = Arc::clone(met);
    Load::start(count, &client::options(port), move |conn, _| {
        let began = Instant::now();
        let done = conn.query_drop("INSERT INTO test.written VALUES ()");
        let mut met = met.lock().expect("no panic");
        match done {
            Ok(()) => met.longest = met.longest.max(began.elapsed()),
            Err(error) => met.errors.push(client::refusal(&error).0.to_string()),
        }
        Ok(())
    })
}

/// How much later than without the proxy the last of those who wait may be served.
const LATE: Duration = Duration::from_secs(3);

#[test]
fn whoever_waits_for_the_only_writer_is_served_when_it_is_back() {
    let Some(cluster) = live::cluster("the only writer killed", Flavour::MariaDb, 0) else {
        return;
    };
    let table = "CREATE TABLE test.written (id INT AUTO_INCREMENT PRIMARY KEY)";
    cluster.primary().sql(table).expect("made");
    let proxy = proxy(&cluster, "connect_timeout_server_max = 60000\nthreads = 1\n");
    // a server asked for an id may be lost before it tells, which would end its session
    let mut first = client::connect(client::options(proxy.port));
    eventually("the table is known", SOON, || {
        first.query_drop("DELETE FROM test.written").expect("done");
        let counted = |name| proxy.counter(name).expect("counted");
        counted("stored_code_readings") > counted("stored_code_readings_failed")
    });
    drop(first);
    let met = Arc::new(Mutex::new(Met::default()));
    let load = writers(16, proxy.port, &met);
    load.await_more(500);
    let (mut served_after, mut down) = (Vec::new(), Duration::ZERO);
    for _ in 0..if live::full() { 20 } else { 3 } {
        let killed = Instant::now();
        cluster.primary().kill9().expect("killed");
        cluster.primary().restart().expect("started again");
        let back = Instant::now();
        down = down.max(killed.elapsed());
        load.await_more(16);
        served_after.push(back.elapsed());
        load.await_more(500);
    }
    let strange = load.stop();
    let met = met.lock().expect("no panic");
    let seen = format!("down for {down:?}, then {served_after:?}, waited {:?}", met.longest);
    assert!(strange.is_empty(), "{strange:?}\n{}", proxy.log());
    let lost: Vec<_> = met.errors.iter().filter(|code| *code != "1158").collect();
    assert!(lost.is_empty(), "only what was under way is lost: {lost:?}\n{}", proxy.log());
    let twice_each = 2 * 16 * served_after.len();
    assert!(met.errors.len() <= twice_each, "{} statements", met.errors.len());
    assert!(proxy.counter("shuns").expect("told") > 0, "{seen}");
    let late = served_after.iter().max().expect("it was killed");
    assert!(*late < LATE, "{seen}\n{}", proxy.log());
}

#[test]
fn a_transaction_on_a_killed_server_ends_with_an_error_and_the_session_lives() {
    let Some(cluster) = live::cluster("a killed server", Flavour::MariaDb, 1) else { return };
    let proxy = proxy(&cluster, "connect_timeout_server_max = 1000\n");
    let mut session = client::connect(client::account(proxy.port, "reader", "reader"));
    session.query_drop("BEGIN").expect("begun");
    let seen: Option<u32> = session.query_first("SELECT @@server_id").expect("answered");
    assert_eq!(seen, Some(cluster.replicas()[0].id));
    cluster.replicas()[0].kill9().expect("killed");
    let error = session.query_drop("SELECT 1").expect_err("the transaction is lost");
    let (code, state, text) = client::refusal(&error);
    assert!([1158, 2013, 2006].contains(&code), "{code} {state} {text}");
    assert!(text.contains(&cluster.replicas()[0].port.to_string()), "which server: {text}");
}

#[test]
fn without_any_server_an_error_says_which_hostgroup_and_why_each_was_not_used() {
    let Some(cluster) = live::cluster("all servers down", Flavour::MariaDb, 2) else { return };
    let proxy = proxy(&cluster, "connect_timeout_server_max = 1500\n");
    let mut session = client::connect(client::options(proxy.port));
    let one: Option<u32> = session.query_first("SELECT 1").expect("answered");
    assert_eq!(one, Some(1));
    for replica in cluster.replicas() {
        replica.kill9().expect("killed");
    }
    for _ in 0..3 {
        let started = Instant::now();
        let error = session.query_drop("SELECT 1").expect_err("no server");
        let (code, state, text) = client::refusal(&error);
        assert_eq!((code, state.as_str()), (9001, "HY000"), "{text}");
        assert!(started.elapsed() < Duration::from_secs(4), "after {:?}", started.elapsed());
        assert!(text.contains("hostgroup 1"), "{text}");
        assert!(text.contains("2 servers"), "{text}");
        for replica in cluster.replicas() {
            assert!(text.contains(&replica.port.to_string()), "{text}");
        }
    }
    let options = client::account(proxy.admin_port, "admin", "admin").db_name(None::<String>);
    let mut admin = client::connect(options);
    let mut shown = |table: &str| -> Vec<String> {
        admin.query(format!("SELECT status FROM {table} = 1")).expect("answered")
    };
    eventually("both are shown as they are", SOON, || {
        let tables = [
            "runtime_mysql_servers WHERE hostgroup_id",
            "stats_mysql_connection_pool WHERE hostgroup",
        ];
        tables.iter().all(|table| shown(table) == ["SHUNNED", "SHUNNED"])
    });
    assert_eq!(shown("mysql_servers WHERE hostgroup_id"), ["ONLINE", "ONLINE"]);
    // The other hostgroup is not concerned, and the session is in order.
    session.query_drop("CREATE TABLE t (a INT)").expect("written on the primary");
    cluster.replicas()[1].restart().expect("started again");
    eventually("reads work again", Duration::from_secs(30), || {
        session.ping().is_ok() && { session.query_first::<u32, _>("SELECT 1").is_ok() }
    });
}

#[test]
fn a_server_that_hangs_does_not_hold_up_the_others() {
    let Some(cluster) = live::cluster("a hanging server", Flavour::MariaDb, 2) else { return };
    let proxy = proxy(&cluster, "connect_timeout_server = 500\n");
    let hanging = &cluster.replicas()[0];
    hanging.pause().expect("paused");
    // Sessions that meet it wait; writes and the other replica go on all the same.
    let done = Mutex::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut session = client::connect(client::options(proxy.port));
                let id: Option<u32> = session.query_first("SELECT @@server_id").expect("answered");
                assert_ne!(id, None);
                *done.lock().expect("no panic") += 1;
            });
        }
        let mut writer = client::connect(client::options(proxy.port));
        writer.query_drop("CREATE TABLE h (a INT)").expect("written");
        eventually("some reads are done", Duration::from_secs(20), || {
            *done.lock().expect("no panic") >= 1
        });
        hanging.resume().expect("resumed");
    });
    assert_eq!(done.into_inner().expect("no panic"), 8);
}

#[test]
fn a_primary_that_hangs_holds_up_no_login() {
    let Some(cluster) = live::cluster("a hanging primary", Flavour::MariaDb, 1) else { return };
    cluster.primary().sql("CREATE DATABASE other").expect("created");
    cluster.wait_replicated().expect("replicated");
    let proxy = proxy(&cluster, "threads = 1\nconnect_timeout_server = 500\n");
    let mut session = client::connect(client::options(proxy.port));
    session.query_drop("DO 1").expect("the primary has a connection");
    let hanging = cluster.primary();
    hanging.pause().expect("paused");
    // whether the schema is there is asked on that connection, and nobody answers
    for _ in 0..2 {
        let began = Instant::now();
        let options = client::options(proxy.port).db_name(Some("other"));
        let mut reader = client::connect(options.read_timeout(Some(Duration::from_secs(20))));
        assert!(began.elapsed() < Duration::from_secs(5), "after {:?}", began.elapsed());
        let schema: Option<String> = reader.query_first("SELECT DATABASE()").expect("a replica");
        assert_eq!(schema.as_deref(), Some("other"));
    }
    hanging.resume().expect("resumed");
}

/// A proxy before two relays in front of the same server: one hostgroup of two servers.
fn behind_taps(taps: &[Tap], depth: u32) -> Proxy {
    let server = |tap: &Tap| {
        let port = tap.port;
        format!("[[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n")
    };
    let servers: String = taps.iter().map(server).collect();
    let user = "[[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n";
    let proxy = Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
             pipeline_depth = {depth}\n{servers}{user}"
        )
    });
    proxy.expect("tidegate starts")
}

/// Clients that read rows and note how long that takes, in microseconds.
fn timed_reads(count: usize, port: u16, took_us: &Arc<Mutex<Vec<u128>>>) -> Load {
    let took_us = Arc::clone(took_us);
    Load::start(count, &client::options(port), move |conn, turn| {
        let (id, began) = (turn % 500 + 1, Instant::now());
        let text = format!("SELECT id, c FROM test.still WHERE id = {id}");
        let row: Option<(u64, String)> = conn.query_first(text).map_err(|e| e.to_string())?;
        took_us.lock().expect("no panic").push(began.elapsed().as_micros());
        match row {
            Some((found, text)) if found == id && text == format!("row {id}") => Ok(()),
            other => Err(format!("row {id} is {other:?}")),
        }
    })
}

/// Ports of servers that are shown to stand still.
fn still_ports(admin: &mut mysql::Conn) -> Vec<u16> {
    let query = "SELECT srv_port FROM stats_tidegate_servers WHERE still_workers > 0";
    admin.query(query).expect("answered")
}

#[test]
fn a_server_that_stands_still_gets_no_further_queries() {
    let Some(cluster) = live::cluster("standing still", Flavour::MariaDb, 0) else { return };
    for text in [
        "CREATE TABLE test.still (id INT PRIMARY KEY, c VARCHAR(20))",
        "INSERT INTO test.still SELECT seq, CONCAT('row ', seq) FROM test.seq_1_to_500",
    ] {
        cluster.primary().sql(text).expect("filled");
    }
    let taps = [0, 1].map(|_| Tap::start(cluster.primary().port).expect("a tap starts"));
    let [still, other] = &taps;
    for depth in [16, 0] {
        let proxy = behind_taps(&taps, depth);
        let took_us = Arc::default();
        let load = timed_reads(32, proxy.port, &took_us);
        load.await_more(3000);
        assert!(still.take().len() > 500 && other.take().len() > 500, "both serve");
        let stalls = || proxy.statistics().expect("told")["counters"]["server_stalls"].clone();
        let admin = client::account(proxy.admin_port, "admin", "admin").db_name(None::<String>);
        let mut admin = client::connect(admin);
        let before = stalls();
        drop(std::mem::take(&mut *took_us.lock().expect("no panic")));
        still.stall();
        eventually("it is found out", Duration::from_secs(5), || stalls() != before);
        eventually("it is shown", SOON, || still_ports(&mut admin).contains(&still.port));
        // what was sent before that arrives
        load.await_more(500);
        still.take();
        let began = Instant::now();
        let span = Duration::from_secs(if live::full() { 3 } else { 1 });
        while began.elapsed() < span {
            load.await_more(200);
        }
        let sent = still.take();
        let mut took_us = std::mem::take(&mut *took_us.lock().expect("no panic"));
        took_us.sort_unstable();
        let (reads, most_us) = (took_us.len(), took_us[took_us.len() - 1]);
        let p99_us = took_us[reads * 99 / 100];
        println!(
            "depth {depth}: {reads} reads, {} of them there, p99 {p99_us} us, {most_us} us at most",
            sent.len()
        );
        // a byte that is late gives it another chance, of a moment
        assert!(sent.len() * 50 < reads, "{} of {reads} were sent there", sent.len());
        assert!(p99_us < 100_000 && most_us < 900_000, "{p99_us} {most_us}\n{}", proxy.log());
        still.go_on();
        eventually("it is used again", Duration::from_secs(10), || {
            load.await_more(200);
            still.take().len() > 50
        });
        eventually("nothing is shown", SOON, || still_ports(&mut admin).is_empty());
        let errors = load.stop();
        assert!(errors.is_empty(), "{errors:?}\n{}", proxy.log());
        // the other one may be kept waiting too by a busy machine
        let of = format!(":{} in hostgroup 0 stands still", still.port);
        assert_eq!(proxy.log().matches(&of).count(), 1, "{}", proxy.log());
        // the next proxy finds both relays quiet
        taps.iter().for_each(|tap| drop(tap.take()));
    }
}

/// Whether a new client is told to go, or not let in at all; one that is left waiting is not.
fn turned_away(port: u16) -> bool {
    let Ok(raw) = Raw::open(port) else { return true };
    raw.stream().set_read_timeout(Some(Duration::from_secs(1))).expect("set");
    let mut answer = [0; 64];
    match raw.stream().read(&mut answer) {
        Ok(len) => len == 0 || answer.get(4) == Some(&0xff),
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn stopping_lets_a_transaction_end_and_turns_new_clients_away() {
    let Some(cluster) = live::cluster("stopping", Flavour::MariaDb, 0) else { return };
    let options =
        SplitOptions { variables: "shutdown_timeout_ms = 20000\n".into(), ..Default::default() };
    let proxy = Proxy::start(|interfaces| {
        lab::split_toml(&cluster, &SplitOptions { interfaces, ..options })
    })
    .expect("tidegate starts");
    let mut idle = client::connect(client::options(proxy.port));
    let mut open = client::connect(client::options(proxy.port));
    open.query_drop("CREATE TABLE s (a INT)").expect("created");
    open.query_drop("BEGIN").expect("begun");
    open.query_drop("INSERT INTO s VALUES (1)").expect("inserted");
    std::thread::scope(|scope| {
        let stopped = scope.spawn(|| proxy.stop(Duration::from_secs(40)));
        eventually("new clients are turned away", Duration::from_secs(10), || {
            turned_away(proxy.port)
        });
        assert!(proxy.is_running(), "it waits for the transaction\n{}", proxy.log());
        open.query_drop("INSERT INTO s VALUES (2)").expect("the transaction goes on");
        open.query_drop("COMMIT").expect("committed");
        let status = stopped.join().expect("no panic").expect("ends in time");
        assert!(status.success(), "{status}\n{}", proxy.log());
    });
    assert!(idle.ping().is_err(), "idle sessions are closed");
    assert_eq!(cluster.primary().value("SELECT COUNT(*) FROM test.s").expect("counted"), "2");
}
