//! The simulator over many seeds, and over planted bugs, which it has to find.
//!
//! `TIDEGATE_SIM_SEEDS` says over how many seeds, `TIDEGATE_SIM_FROM` where to begin.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use testkit::planted::Planted;
use testkit::sim::{Failure, Report, Simulator};

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
            *tally.entry("retried").or_default() += report.counters.retried;
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
}

/// The first seed that shows a planted bug.
fn found(bug: Planted) -> Option<Failure> {
    let simulator = Simulator::new();
    (0..1000).find_map(|seed| simulator.run(seed, Some(bug)).err())
}

#[test]
fn sim_finds_a_reply_given_to_the_wrong_session() {
    let failure = found(Planted::WrongOwner).expect("within 1,000 seeds");
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
fn sim_repeats_a_seed_exactly() {
    let simulator = Simulator::new();
    for seed in [3, 17, 58] {
        let story = || format!("{:?}", simulator.run(seed, None));
        assert_eq!(story(), story(), "seed {seed} tells two stories");
    }
}
