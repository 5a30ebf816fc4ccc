//! What happens to the servers meanwhile, one after the other, with calm in between.

use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::{Duration, Instant};

use lab::Flavour;
use live::eventually;
use mysql::prelude::Queryable;

use crate::book::{Book, lock};
use crate::stage::{LIMIT, Stage};
use crate::tally::Tally;

type Disturbance = (&'static str, fn(&Stage, &Book));

const ALL: [Disturbance; 8] = [
    ("a cut of the primary's stream", |stage, _| cut(stage, 0)),
    ("a cut of the replica's stream", |stage, _| cut(stage, 1)),
    ("a purge of logs", |stage, _| purge(stage)),
    ("a switchover, and back", switch_over_and_back),
    ("a replica that stands still", |stage, _| hold_replica(stage)),
    ("another configuration of servers", |stage, _| load_servers(stage)),
    ("a restart of the primary", |stage, _| restart_primary(stage)),
    ("a restart of the replica", |stage, _| stage.server(1).restart().expect("restarted")),
];

/// How many of them are in the short form: restarts take long.
const SHORT: usize = 7;

/// How long it is calm between two.
const CALM: Duration = Duration::from_millis(1500);

/// Everything in turns, once at least, until the time is over.
pub(crate) fn disturb(stage: &Stage, book: &Book, until: Instant) -> Tally {
    let mut tally = Tally::default();
    calm(stage, book, &mut tally);
    let all = if live::full() { &ALL[..] } else { &ALL[..SHORT] };
    for (name, disturbance) in all.iter().cycle() {
        let is_first = tally.number(name) == 0;
        if book.is_over() || !is_first && Instant::now() > until {
            break;
        }
        *lock(&book.now) = name;
        disturbance(stage, book);
        tally.count(*name);
        calm(stage, book, &mut tally);
    }
    tally
}

/// Waits until all is followed, and sees that answers are told from the cache then.
fn calm(stage: &Stage, book: &Book, tally: &mut Tally) {
    let since = *lock(&book.now);
    let began = Instant::now();
    while !stage.is_calm() && !book.is_over() {
        let seen = || format!("{:?}\n{}", stage.streams(), stage.proxy.log());
        assert!(began.elapsed() < LIMIT, "no calm behind {since}: {}", seen());
        thread::sleep(Duration::from_millis(20));
    }
    tally.behind(since, began.elapsed());
    let hits = || stage.proxy.counter("cache_hits").expect("a counter");
    let before = hits();
    thread::sleep(CALM);
    assert!(book.is_over() || hits() > before, "nothing is told from the cache behind {since}");
}

fn cut(stage: &Stage, server: usize) {
    let dumps = "SELECT ID FROM information_schema.PROCESSLIST \
                 WHERE USER = 'monitor' AND COMMAND LIKE 'Binlog Dump%'";
    let server = stage.server(server);
    for row in server.sql(dumps).expect("told") {
        // it may have ended by itself
        let _ = server.sql(&format!("KILL {}", row[0].as_deref().expect("an id")));
    }
}

fn purge(stage: &Stage) {
    let file = match stage.flavour {
        Flavour::MariaDb => "SHOW MASTER STATUS",
        Flavour::MySql => "SHOW BINARY LOG STATUS",
    };
    for number in [0, 1] {
        let server = stage.server(number);
        server.sql("FLUSH BINARY LOGS; FLUSH BINARY LOGS").expect("rotated");
        let file = server.value(file).expect("a file");
        server.sql(&format!("PURGE BINARY LOGS TO '{file}'")).expect("purged");
    }
}

/// Longer than the hostgroup may be behind.
fn hold_replica(stage: &Stage) {
    stage.server(1).sql(&format!("STOP {} SQL_THREAD", replica(stage))).expect("stopped");
    thread::sleep(Duration::from_millis(1500));
    stage.server(1).sql(&format!("START {} SQL_THREAD", replica(stage))).expect("started");
}

/// Weights that are others make other servers of those that there are.
fn load_servers(stage: &Stage) {
    let mut admin = stage.admin();
    for _ in 0..3 {
        admin.query_drop("UPDATE mysql_servers SET weight = weight + 1").expect("set");
        admin.query_drop("LOAD MYSQL SERVERS TO RUNTIME").expect("loaded");
        thread::sleep(Duration::from_millis(200));
    }
}

fn restart_primary(stage: &Stage) {
    stage.server(0).restart().expect("restarted");
    // behind a switchover it would wait for a minute
    let word = replica(stage);
    stage.server(1).sql(&format!("STOP {word}; START {word}")).expect("begun anew");
}

fn replica(stage: &Stage) -> &'static str {
    match stage.flavour {
        Flavour::MariaDb => "SLAVE",
        Flavour::MySql => "REPLICA",
    }
}

fn switch_over_and_back(stage: &Stage, book: &Book) {
    for new in [1, 0] {
        // behind a definition, sessions keep their connections for a while, which are in use
        book.is_quiet.store(true, SeqCst);
        eventually("no definitions", LIMIT, || book.is_over() || book.none_defines());
        book.reign.fetch_add(1, SeqCst);
        eventually("new sessions", LIMIT, || book.is_over() || book.all_are_new());
        if book.is_over() {
            return;
        }
        switch_over(stage, new);
        book.primary.store(new, SeqCst);
        eventually("the readers are the others", LIMIT, || book.is_over() || stage.is_calm());
        book.reign.fetch_add(1, SeqCst);
        book.is_quiet.store(false, SeqCst);
    }
}

fn switch_over(stage: &Stage, new: usize) {
    let mut admin = stage.admin();
    let port = stage.server(new).port;
    let order = format!("TIDEGATE SWITCHOVER 0 TO '127.0.0.1:{port}'");
    admin.query_drop(&order).expect("ordered");
    let number = admin.affected_rows();
    let steps = |what: &str| {
        format!("SELECT COUNT(*) FROM stats_tidegate_switchovers WHERE number = {number} {what}")
    };
    let last = steps("AND step = 'switchover'");
    eventually("a switchover", LIMIT, || admin.query_first(&last).expect("told") == Some(1));
    let failed: Option<u64> = admin.query_first(steps("AND outcome <> 'OK'")).expect("told");
    let told: Vec<(String, String, String)> =
        admin.query("SELECT step, outcome, told FROM stats_tidegate_switchovers").expect("told");
    assert_eq!(failed, Some(0), "{told:?}");
}
