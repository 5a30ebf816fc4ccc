//! One in sixty-four clients is slow, or a server is, where reads share connections: none of the
//! others waits for it. Every answer is held against its question, asked as text or by a prepared
//! statement.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, SplitOptions};
use live::{Load, Proxy, client};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

/// Rows that the many read.
const ROWS: u64 = 2000;

/// A row that takes its time, one that does so later, and one that is large.
const SLOW: u64 = 5001;
const TURNING: u64 = 5002;
const LARGE: u64 = 5003;
const LARGE_BYTES: usize = 15_000_000;

/// How long a slow read takes.
fn slow_s() -> u64 {
    if live::full() { 2 } else { 1 }
}

/// How long the others are watched in one way of serving them.
fn watched() -> Duration {
    Duration::from_millis(if live::full() { 10_000 } else { 1_300 })
}

/// A proxy before two servers with a view whose rows take as long as they say: one statement that
/// is quick or slow by its value, and that costs the machine nothing while it is slow.
fn start(cluster: &Cluster, variables: &str) -> Proxy {
    let primary = cluster.primary();
    let run = |text: &str| primary.sql(text).unwrap_or_else(|error| panic!("{text}: {error:#}"));
    run("CREATE TABLE test.t (id INT PRIMARY KEY, takes INT NOT NULL, c LONGTEXT)");
    run(&format!(
        "INSERT INTO test.t SELECT seq, 0, CONCAT('row ', seq) FROM test.seq_1_to_{ROWS}"
    ));
    run(&format!(
        "INSERT INTO test.t VALUES ({SLOW}, {}, 'slow'), ({TURNING}, 0, 'turning'), \
         ({LARGE}, 0, REPEAT('x', {LARGE_BYTES}))",
        slow_s()
    ));
    run("CREATE VIEW test.v AS SELECT id, c, IF(takes > 0, SLEEP(takes), 0) AS slept FROM test.t");
    cluster.wait_replicated().expect("replicated");
    let variables = format!("threads = 1\npipeline_depth = 16\n{variables}");
    Proxy::start(|interfaces| {
        lab::split_toml(cluster, &SplitOptions { interfaces, variables, ..Default::default() })
    })
    .expect("tidegate starts")
}

/// How reads are asked for.
#[derive(Clone, Copy, Debug)]
enum As {
    Text,
    /// A statement that is prepared once by its connection.
    Prepared,
}

/// The ways in which a case runs: the short form takes one of them.
fn ways(short: As) -> Vec<As> {
    if live::full() { vec![As::Text, As::Prepared] } else { vec![short] }
}

/// Sixty-three clients that read rows, never two of them the same at a time.
struct Readers {
    load: Load,
    took_us: Arc<Mutex<Vec<u64>>>,
}

/// What the others felt.
struct Felt {
    reads: usize,
    p99_us: u64,
    most_us: u64,
}

impl fmt::Display for Felt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} reads, p99 {} us, {} us at most", self.reads, self.p99_us, self.most_us)
    }
}

impl Readers {
    fn start(options: &OptsBuilder, way: As) -> Self {
        let took_us = Arc::new(Mutex::new(Vec::new()));
        let (notes, next) = (Arc::clone(&took_us), AtomicU64::new(0));
        let load = Load::start(63, options, move |conn, _| {
            let id = (next.fetch_add(1, Ordering::Relaxed) * 7919) % ROWS + 1;
            let began = Instant::now();
            read(conn, way, "SELECT id, c, slept", (id, &format!("row {id}")))?;
            let took_us = u64::try_from(began.elapsed().as_micros()).expect("short");
            notes.lock().expect("no panic under the lock").push(took_us);
            Ok(())
        });
        Self { load, took_us }
    }

    /// What they feel until something is over, and for as long as they are watched at least.
    fn feel(&self, meanwhile: impl FnOnce()) -> Felt {
        self.load.await_more(2000);
        let began = Instant::now();
        self.take();
        meanwhile();
        thread::sleep(watched().saturating_sub(began.elapsed()));
        let mut took_us = self.take();
        took_us.sort_unstable();
        let reads = took_us.len();
        assert!(reads >= 100, "{reads} reads");
        Felt { reads, p99_us: took_us[reads * 99 / 100], most_us: took_us[reads - 1] }
    }

    fn take(&self) -> Vec<u64> {
        std::mem::take(&mut self.took_us.lock().expect("no panic under the lock"))
    }

    fn stop(self, proxy: &Proxy) {
        let errors = self.load.stop();
        assert!(errors.is_empty(), "{errors:?}\n{}", proxy.log());
    }
}

/// Reads a row of the view and checks it; other columns make another digest.
fn read(conn: &mut Conn, way: As, columns: &str, row: (u64, &str)) -> Result<(), String> {
    let (id, expected) = row;
    let found: Result<Option<(u64, String, u64)>, _> = match way {
        As::Text => conn.query_first(format!("{columns} FROM test.v WHERE id = {id}")),
        As::Prepared => conn.exec_first(format!("{columns} FROM test.v WHERE id = ?"), (id,)),
    };
    match found.map_err(|error| error.to_string())? {
        Some((found, text, 0)) if found == id && text == expected => Ok(()),
        Some((found, text, slept)) => Err(format!("{id} is {found}, {text:.40}, {slept}")),
        None => Err(format!("no row {id}")),
    }
}

/// Sees that none of the others waits half as long as what is slow takes, and that counters tell.
fn watch(proxy: &Proxy, readers: &Readers, (what, told): (&str, &[&str]), meanwhile: impl Fn()) {
    let counters = || proxy.statistics().expect("told")["counters"].clone();
    let of = |all: &serde_json::Value, name: &str| all[name].as_u64().expect("a counter");
    let before = counters();
    // a digest that held up others runs alone for a while
    live::eventually("reads share", Duration::from_secs(90), || {
        of(&counters(), "shared_queries") > of(&before, "shared_queries") + 100
    });
    let felt = readers.feel(&meanwhile);
    let now = counters();
    let untold: Vec<_> = told.iter().filter(|name| of(&now, name) == of(&before, name)).collect();
    println!("{what}: {felt}");
    assert!(felt.most_us < slow_s() * 500_000, "{what}: {felt} {now}");
    assert!(untold.is_empty(), "{what}: untold {untold:?} {now}");
}

/// Repeats slow reads while the others are watched.
fn slow_reads(options: &OptsBuilder, way: As, columns: &str) {
    let mut conn = client::connect(options.clone());
    let began = Instant::now();
    while began.elapsed() < watched() {
        read(&mut conn, way, columns, (SLOW, "slow")).expect("the slow one is answered too");
    }
}

/// Reads that are quick many times and slow then.
fn reads_that_turn(cluster: &Cluster, options: &OptsBuilder, way: As) {
    let set = |takes: u64| {
        let text = format!("UPDATE test.t SET takes = {takes} WHERE id = {TURNING}");
        cluster.primary().sql(&text).expect("changed");
        cluster.wait_replicated().expect("replicated");
    };
    let mut conn = client::connect(options.clone());
    let mut turn = || {
        read(&mut conn, way, "SELECT id + 0, c, slept", (TURNING, "turning")).expect("answered");
    };
    (0..100).for_each(|_| turn());
    set(slow_s());
    (0..2).for_each(|_| turn());
    set(0);
}

/// A client that does not read what it asked for.
fn unread_reply(options: &OptsBuilder, way: As) {
    let mut conn = client::connect(options.clone());
    let text = "SELECT id, c, slept FROM test.v WHERE id = ";
    // the driver reads rows only when they are asked for
    let rows = match way {
        As::Text => {
            let held = conn.query_iter(format!("{text}{LARGE}")).expect("asked");
            thread::sleep(watched());
            held.map(|row| mysql::from_row(row.expect("read"))).collect::<Vec<_>>()
        }
        As::Prepared => {
            let held = conn.exec_iter(format!("{text}?"), (LARGE,)).expect("asked");
            thread::sleep(watched());
            held.map(|row| mysql::from_row(row.expect("read"))).collect()
        }
    };
    let rows: Vec<(u64, String, u64)> = rows;
    assert_eq!((rows.len(), rows[0].0, rows[0].1.len()), (1, LARGE, LARGE_BYTES));
}

/// The clients of a case, among sixty-three that ask in the same way.
struct Case<'a> {
    cluster: &'a Cluster,
    proxy: &'a Proxy,
    options: OptsBuilder,
    way: As,
    readers: Readers,
}

impl<'a> Case<'a> {
    fn start(cluster: &'a Cluster, proxy: &'a Proxy, way: As) -> Self {
        let options = client::options(proxy.port);
        let readers = Readers::start(&options, way);
        Case { cluster, proxy, options, way, readers }
    }

    /// Watches what the others feel of something that is done in this case's way.
    fn run(self, (what, told): (&str, &[&str]), meanwhile: impl Fn(&Self)) {
        let what = format!("{what}, {:?}", self.way);
        watch(self.proxy, &self.readers, (&what, told), || meanwhile(&self));
        self.readers.stop(self.proxy);
    }
}

#[test]
fn one_slow_client_in_sixty_four_is_not_felt_by_the_others() {
    let Some(cluster) = live::cluster("slow clients", Flavour::MariaDb, 2) else { return };
    let proxy = start(&cluster, "");
    let start = |way| Case::start(&cluster, &proxy, way);
    let held_up: &[&str] = &["shared_stalls", "shared_reissued"];
    for case in ways(As::Text).into_iter().map(start) {
        case.run(("slow, the same digest", held_up), |case| {
            slow_reads(&case.options, case.way, "SELECT id, c, slept");
        });
    }
    let refused = if live::full() { "unshared_slow" } else { "unshared_unknown" };
    for case in ways(As::Prepared).into_iter().map(start) {
        case.run(("slow, another digest", &[refused]), |case| {
            slow_reads(&case.options, case.way, "SELECT id * 1, c, slept");
        });
    }
    for case in ways(As::Prepared).into_iter().map(start) {
        case.run(("a digest that turns slow", &["shared_stalls"]), |case| {
            reads_that_turn(case.cluster, &case.options, case.way);
        });
    }
}

#[test]
fn a_client_that_does_not_read_is_not_felt_by_the_others() {
    let Some(cluster) = live::cluster("slow readers", Flavour::MariaDb, 2) else { return };
    let proxy = start(&cluster, "threshold_resultset_size = 65536\n");
    let start = |way| Case::start(&cluster, &proxy, way);
    for case in ways(As::Text).into_iter().map(start) {
        case.run(("a client that does not read", &["shared_slow_clients"]), |case| {
            unread_reply(&case.options, case.way);
        });
    }
}

#[test]
fn a_server_that_stalls_or_dies_is_not_felt_more_than_without_sharing() {
    let Some(cluster) = live::cluster("servers in trouble", Flavour::MariaDb, 2) else { return };
    let proxy = start(&cluster, "shun_recovery_time_sec = 1\n");
    let start = |way| Case::start(&cluster, &proxy, way);
    let victim = &cluster.replicas()[0];
    let still: &[&str] = &["server_stalls", "shared_reissued"];
    for case in ways(As::Text).into_iter().map(start) {
        case.run(("a server that stalls", still), |_| {
            victim.pause().expect("paused");
            thread::sleep(Duration::from_secs(if live::full() { 3 } else { 1 }));
            victim.resume().expect("resumed");
        });
    }
    let lost: &[&str] = &["shared_losses", "shared_reissued"];
    for case in ways(As::Prepared).into_iter().map(start) {
        case.run(("a server that dies", lost), |_| {
            victim.kill9().expect("killed");
            thread::sleep(watched() / 2);
            victim.restart().expect("restarted");
            let served = || victim.status("Questions").is_ok_and(|questions| questions > 100);
            live::eventually("it is used again", Duration::from_secs(20), served);
        });
    }
}
