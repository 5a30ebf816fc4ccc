//! Runs the simulator over a range of seeds on all cores, or tells the story of one.
//!
//! `sim [--seeds N] [--from S] [--tally]`, `sim --tell SEED`. The exit code is 1 when a seed fails,
//! or when something never happened in a thousand of them.
//! The tally is what happened how often in all of them together, rarest first.

use std::process::ExitCode;
use std::sync::Mutex;

use testkit::coverage::{SEEDS_ENOUGH, Tally};
use testkit::sim::{Simulator, run_seeds};

fn option(name: &str) -> Option<u64> {
    let mut words = std::env::args().skip_while(|word| word != name).skip(1);
    words.next()?.parse().ok()
}

fn main() -> ExitCode {
    if let Some(seed) = option("--tell") {
        return match Simulator::new().tell(seed) {
            Ok(report) => {
                println!("{report}");
                ExitCode::SUCCESS
            }
            Err(failure) => {
                println!("{failure}");
                ExitCode::FAILURE
            }
        };
    }
    let (from, count) = (option("--from").unwrap_or(0), option("--seeds").unwrap_or(10_000));
    let failures = Mutex::new(0_u64);
    let tally = Mutex::new(Tally::default());
    run_seeds(from..from + count, |result| match result {
        Ok(report) => tally.lock().expect("no panic while it is held").add(&report),
        Err(failure) => {
            println!("FAILED {failure}");
            *failures.lock().expect("no panic while it is held") += 1;
        }
    });
    let tally = tally.into_inner().unwrap_or_default();
    if std::env::args().any(|word| word == "--tally") {
        let list = tally.rarest_first();
        list.iter().for_each(|(what, times)| println!("{times:>10} {what}"));
    }
    let missing = if count < SEEDS_ENOUGH { Vec::new() } else { tally.missing() };
    missing.iter().for_each(|what| println!("NEVER HAPPENED {what}"));
    let failures = failures.into_inner().unwrap_or(u64::MAX);
    println!("{count} seeds from {from}: {failures} failed");
    if failures == 0 && missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
