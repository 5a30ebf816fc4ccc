//! Runs the simulator over a range of seeds on all cores, or tells the story of one.
//!
//! `sim [--seeds N] [--from S]`, `sim --tell SEED`. The exit code is 1 when a seed fails.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use testkit::sim::Simulator;

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
    let next = AtomicU64::new(from);
    let failures = Mutex::new(0_u64);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                let simulator = Simulator::new();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from + count {
                        return;
                    }
                    if let Err(failure) = simulator.run(seed, None) {
                        println!("FAILED {failure}");
                        *failures.lock().expect("no panic while it is held") += 1;
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or(u64::MAX);
    println!("{count} seeds from {from}: {failures} failed");
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
