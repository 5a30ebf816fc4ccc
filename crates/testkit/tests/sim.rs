//! The simulator over many seeds, and over planted bugs, which it has to find.
//!
//! `TIDEGATE_SIM_SEEDS` says over how many seeds, `TIDEGATE_SIM_FROM` where to begin.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use testkit::planted::Planted;
use testkit::sim::{Failure, Report, Simulator, Weather};

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Runs seeds on all cores.
fn run(from: u64, count: u64, each: impl Fn(Result<Report, Failure>) + Sync) {
    let next = AtomicU64::new(from);
    let cores = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                let simulator = Simulator::new();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from + count {
                        return;
                    }
                    each(simulator.run(seed, None));
                }
            });
        }
    });
}

#[test]
fn sim_keeps_its_promises_whatever_the_seed() {
    let (from, count) = (number("TIDEGATE_SIM_FROM", 0), number("TIDEGATE_SIM_SEEDS", 1000));
    let failures = std::sync::Mutex::new(Vec::new());
    let tally = std::sync::Mutex::new(BTreeMap::<&str, u64>::new());
    run(from, count, |result| match result {
        Ok(report) => {
            let mut tally = tally.lock().unwrap();
            for (what, times) in report.tally {
                *tally.entry(what).or_default() += times;
            }
            *tally.entry("queries").or_default() += report.counters.queries;
            let counters = report.counters;
            let counted = [
                ("retried", counters.retried),
                ("timed out", counters.timed_out),
                ("delayed by a rule", counters.delayed),
                ("mirrored", counters.mirrored),
                ("mirror failed", counters.mirrors_failed),
                ("mirror dropped", counters.mirrors_dropped),
                ("lane given to another worker", counters.lanes_given),
                ("lane reset", counters.lanes_reset),
                ("server stood still", counters.server_stalls),
                ("lane shared", counters.shared_queries),
                ("lane shared: executed", counters.shared_executes),
                ("lane shared: gathered", counters.shared_sent - counters.shared_batches),
                ("lane shared: issued again", counters.shared_reissued),
                ("lane shared: stalled", counters.shared_stalls),
                ("lane shared: lost", counters.shared_losses),
                ("lane shared: slow client", counters.shared_slow_clients),
                ("lane shared: read again", counters.shared_recalls),
                ("statement prepared by a client", counters.prepares),
                ("statement prepared on a server", counters.lane_prepares),
                ("statement executed on a server", counters.lane_executes),
                ("statement closed on a server", counters.lane_closes),
            ];
            for (what, times) in counted.into_iter().filter(|(_, times)| *times > 0) {
                *tally.entry(what).or_default() += times;
            }
        }
        Err(failure) => failures.lock().unwrap().push(failure),
    });
    let tally = tally.into_inner().unwrap();
    println!("{tally:#?}");
    let mut failures = failures.into_inner().unwrap();
    failures.sort_by_key(|failure| failure.seed);
    for failure in failures.iter().take(40) {
        println!("FAILED {failure}");
    }
    assert!(failures.is_empty(), "{} of {count} seeds failed", failures.len());
    // what never happened was never tried
    let missing: Vec<_> =
        HAPPENS.iter().filter(|what| !tally.contains_key(**what)).copied().collect();
    assert!(count < 1000 || missing.is_empty(), "never happened: {missing:?}");
}

/// Seeds beyond the first thousand that found something, and what.
const FOUND: &[(&[u64], &str)] = &[(
    &[5855, 11002, 20600, 21606],
    "a statement was prepared beyond its lane's limit for a read that runs again",
)];

#[test]
fn sim_finds_no_more_what_it_found() {
    let simulator = Simulator::new();
    for (seeds, what) in FOUND {
        for seed in *seeds {
            let failure = simulator.run(*seed, None).err();
            assert!(failure.is_none(), "{what}: {failure:?}");
        }
    }
}

/// What a thousand seeds have to bring about.
const HAPPENS: &[&str] = &[
    "answered by a rule",
    "autocommit",
    "begin",
    "blow",
    "brief",
    "chained",
    "change user",
    "changed configuration",
    "client: answered by an error",
    "client: left in a command",
    "client: left without a word",
    "client: pipelined",
    "client: refused",
    "close statement",
    "delayed",
    "delayed by a rule",
    "end",
    "execute",
    "execute with long data",
    "failing",
    "fetch",
    "file",
    "first of two",
    "garbled command",
    "garbled login",
    "half",
    "hinted",
    "kill",
    "lane given to another worker",
    "lane reset",
    "lane shared",
    "lane shared: executed",
    "lane shared: gathered",
    "lane shared: issued again",
    "lane shared: lost",
    "lane shared: read again",
    "lane shared: slow client",
    "lane shared: stalled",
    "last insert id",
    "local",
    "locking read",
    "long read",
    "long write",
    "mirror dropped",
    "mirror failed",
    "mirrored",
    "names",
    "pin",
    "ping",
    "prepare",
    "prepared by a rule",
    "read",
    "refused by a rule",
    "refused set",
    "reset",
    "reset statement",
    "retried",
    "rewritten",
    "schema",
    "second of two",
    "server: auth switch",
    "server: cursor opened",
    "server: died in an answer",
    "server: file taken",
    "server: kill query",
    "server: left unasked",
    "server: mirrored",
    "server: query interrupted",
    "server: settings",
    "server: settings replayed",
    "server stood still",
    "set",
    "shared",
    "statement closed on a server",
    "sticky",
    "timed out",
    "too long",
    "twice",
    "warnings",
    "write",
];

/// The first seed that shows a planted bug.
fn found(bug: Planted) -> Option<Failure> {
    found_as(bug, "")
}

/// The first seed whose failure says that.
fn found_as(bug: Planted, says: &str) -> Option<Failure> {
    let simulator = Simulator::new();
    let mut failures = (0..1000).filter_map(|seed| simulator.run(seed, Some(bug)).err());
    failures.find(|failure| failure.what.contains(says))
}

#[test]
fn sim_finds_a_reply_given_to_the_wrong_session() {
    let failure = found(Planted::WrongOwner).expect("within 1,000 seeds");
    println!("{failure}");
    // and once by the very bytes that another session was to get
    let failure = found_as(Planted::WrongOwner, "got \"").expect("within 1,000 seeds");
    println!("{failure}");
}

#[test]
fn sim_finds_a_reply_given_to_the_wrong_session_where_lanes_are_shared() {
    let simulator = Simulator::new();
    for bug in [Planted::WrongOwner, Planted::WrongOrder] {
        let crowded = (0..1000).filter(|seed| Weather::of(*seed).habits.crowd);
        let mut failures = crowded.filter_map(|seed| simulator.run(seed, Some(bug)).err());
        println!("{bug:?}: {}", failures.next().expect("within 1,000 seeds"));
    }
    let failure = found_as(Planted::WrongOrder, "got \"").expect("within 1,000 seeds");
    println!("{failure}");
}

#[test]
fn sim_finds_a_permit_that_is_not_given_back() {
    let failure = found(Planted::LostPermit).expect("within 1,000 seeds");
    assert!(failure.what.contains("permits"), "{failure}");
}

#[test]
fn sim_finds_a_command_that_is_served_twice() {
    println!("{}", found(Planted::CommandTwice).expect("within 1,000 seeds"));
}

#[test]
fn sim_finds_bytes_that_get_lost() {
    println!("{}", found(Planted::LostBytes).expect("within 1,000 seeds"));
}

#[test]
fn sim_finds_a_statement_taken_for_another() {
    let failure = found_as(Planted::WrongStatement, "by mistake").expect("within 1,000 seeds");
    println!("{failure}");
}

#[test]
fn sim_finds_state_that_is_not_replayed() {
    // what a client set, and what its statements were prepared with
    for says in [" found settings ", " found collation ", " by mistake: "] {
        let failure = found_as(Planted::StateNotReplayed, says).expect("within 1,000 seeds");
        println!("{failure}");
    }
}

#[test]
fn sim_finds_a_change_that_the_server_does_not_tell() {
    let failure = found_as(Planted::ChangeNotTold, " found pin ").expect("within 1,000 seeds");
    println!("{failure}");
}

#[test]
fn sim_repeats_a_seed_exactly() {
    let simulator = Simulator::new();
    for seed in [3, 17, 58] {
        let story = || format!("{:?}", simulator.run(seed, None));
        assert_eq!(story(), story(), "seed {seed} tells two stories");
    }
}
