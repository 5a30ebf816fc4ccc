//! Runs one scenario so many times, for `cargo xtask icount` to count instructions over.
//!
//! Decides nothing: `icount --list` names the scenarios, `icount NAME TIMES` runs one, after a few
//! passes that are not counted so that buffers have their size.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use icount::scenario::{SCENARIOS, counted_passes};

const WARM_UP: usize = 4;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["--list"] => {
            SCENARIOS.iter().for_each(|scenario| println!("{}", scenario.name));
            ExitCode::SUCCESS
        }
        [name, times] => {
            let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name);
            let (Some(scenario), Ok(times)) = (scenario, times.parse()) else {
                eprintln!("no scenario {name}, or {times} is no number");
                return ExitCode::FAILURE;
            };
            let mut pass = (scenario.begin)();
            (0..WARM_UP).for_each(|_| pass());
            counted_passes(&mut pass, times);
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("icount --list | icount NAME TIMES");
            ExitCode::FAILURE
        }
    }
}
