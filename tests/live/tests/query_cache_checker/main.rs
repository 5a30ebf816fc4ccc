//! The query cache that ends answers by the servers' logs, with writers, readers and disturbances:
//! no answer is older than it may be.
//!
//! 16 sessions write, each a subject of its own, through Tidegate and past it; 16 read, in the
//! hostgroup of the writer and in that of readers. Meanwhile streams are cut, logs purged, servers
//! restarted, held and switched over. What is checked:
//!
//! - A session that wrote is told what it wrote, at once and always.
//! - Whoever wrote, nobody is told anything that is older than the bound (`readers`): in the
//!   writer's hostgroup by the acknowledgements of writes, in that of readers by what its servers
//!   show to somebody who asks them alone.
//! - The same question of one session is never answered with an older version by one server.
//! - Many of the answers come from the cache.
//!
//! `TIDEGATE_CHECKER_SECONDS` says how long each kind of server is disturbed; the long form takes
//! five minutes each.

mod book;
mod disturbances;
mod readers;
mod stage;
mod subjects;
mod tally;
mod writers;

use std::sync::Mutex;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::{Duration, Instant};

use lab::Flavour;
use live::full;

use crate::book::{Book, lock};
use crate::stage::Stage;
use crate::subjects::SUBJECTS;
use crate::tally::Tally;

/// One at a time: they measure how old answers are.
static TURN: Mutex<()> = Mutex::new(());

const READERS: usize = 16;

/// The share of reads that has to come from the cache, in percent.
const HITS_MIN: u64 = 20;

fn seconds() -> u64 {
    let told = std::env::var("TIDEGATE_CHECKER_SECONDS").ok();
    let told = told.map(|told| told.parse().expect("seconds"));
    told.unwrap_or(if full() { 300 } else { 20 })
}

fn no_answer_is_older_than_it_may_be(flavour: Flavour) {
    let _turn = lock(&TURN);
    let Some(stage) = Stage::start(flavour) else { return };
    let (stage, book) = (&stage, &Book::new());
    let until = Instant::now() + Duration::from_secs(seconds());
    let counter = |name| stage.proxy.counter(name).expect("a counter");
    let mut tally = thread::scope(|scope| {
        let writers =
            (0..SUBJECTS.len()).map(|it| scope.spawn(move || writers::write(stage, book, it)));
        let readers = (0..READERS).map(|it| scope.spawn(move || readers::read(stage, book, it)));
        let threads: Vec<_> = writers.chain(readers).collect();
        for server in [0, 1] {
            scope.spawn(move || readers::watch(stage, book, server));
        }
        let disturbed = scope.spawn(move || disturbances::disturb(stage, book, until)).join();
        book.ends.store(true, SeqCst);
        let mut tally = Tally::default();
        for thread in threads {
            tally.add(thread.join().expect("no panic"));
        }
        tally.add(disturbed.expect("every disturbance passes"));
        tally
    });
    let reads = tally.number("reads of the writer") + tally.number("reads of readers");
    let hits = counter("cache_hits");
    println!("{}: {reads} reads, {hits} hits\n{}", flavour.name(), tally.told());
    for name in ["cache_coalesced", "uncached_own_writes", "uncached_unfollowed", "unkept_changed"]
    {
        println!("  {name}: {}", counter(name));
    }
    let wrong = book.wrong();
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), stage.proxy.log());
    assert!(hits * 100 > reads * HITS_MIN, "{hits} hits of {reads} reads prove little");
}

#[test]
fn no_answer_of_mariadb_is_older_than_it_may_be() {
    no_answer_is_older_than_it_may_be(Flavour::MariaDb);
}

#[test]
fn no_answer_of_mysql_is_older_than_it_may_be() {
    no_answer_is_older_than_it_may_be(Flavour::MySql);
}
