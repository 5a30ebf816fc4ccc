//! Runs one scenario so many times, for `cargo xtask icount` to count instructions over.
//!
//! Decides nothing: `icount --list` names the scenarios, `icount NAME TIMES` runs one. Instructions
//! of one pass are the difference between two numbers of times, so setting up costs nothing.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use icount::scenario::SCENARIOS;

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
            (scenario.run)(times);
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("icount --list | icount NAME TIMES");
            ExitCode::FAILURE
        }
    }
}
