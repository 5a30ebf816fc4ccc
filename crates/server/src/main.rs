//! The `tidegate` binary: reads the command line and hands over to one module per command.
//!
//! It knows which command was asked for and turns its outcome into an exit code: 0 done, 1 failed,
//! 2 wrong usage. Of `lint`, `candidate`, `import` and `replay-topology`, 1 means findings and 2 a
//! failure. What a command does lives in its module.
#![forbid(unsafe_code)]

mod addresses;
mod administration;
mod candidate;
mod certificates;
mod check;
mod cli;
mod clock;
mod collector;
mod config;
mod connections;
mod demo;
mod explain;
mod following;
mod import;
mod init;
mod lasting_secret;
mod lint;
mod listeners;
mod listening;
mod login_checks;
mod logs;
mod metrics_source;
mod monitoring;
mod name_lookup;
mod passwords;
mod publisher;
mod query_log;
mod recording;
mod reload;
mod replay;
mod run;
mod sandbox;
mod server_greetings;
mod signals;
mod statistics;
mod summary;
mod switching;
mod threads;
mod topology;
mod tree;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};

fn main() -> ExitCode {
    io::reserve_descriptors();
    let outcome = match Cli::parse().command {
        Command::Run(options) => return served(run::run(&options)),
        Command::Check { file } => check::run(&file),
        Command::Lint(options) => return ended(lint::run(&options)),
        Command::Explain(options) => explain::run(&options),
        Command::Candidate(options) => return ended(candidate::run(&options)),
        Command::Import(options) => return ended(import::run(&options)),
        Command::ReplayTopology { file } => return ended(replay::run(&file)),
        Command::Topology(options) => topology::run(&options),
        Command::Init(options) => init::run(&options),
        Command::Demo { tour_only } => demo::run(tour_only),
        Command::Sandbox(options) => sandbox::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The exit code of a server, which ends also where nobody reads why.
fn served(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            logs::say_last(format!("{error:#}\n"));
            ExitCode::FAILURE
        }
    }
}

/// The exit code of a command whose 1 has a meaning of its own.
fn ended(outcome: anyhow::Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        eprintln!("{error:#}");
        ExitCode::from(2)
    })
}
