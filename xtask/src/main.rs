//! The commands behind the Makefile: the gates, the sweeps, the benchmark.
//!
//! Decides which command was meant; each command's module decides the rest.
#![forbid(unsafe_code)]

mod ci;
mod dependencies;
mod fuzz;
mod gate;
mod icount;
mod licences;
mod live;
mod manifests;
mod memory_lines;
mod menu;
mod packages;
mod reference;
mod rust_text;
mod selection;
mod step;
mod tidy;
mod tree;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::gate::GateReport;

const HELP: &str = "\
cargo xtask COMMAND

  ci                every gate, in the order of their cost; --fast leaves out sweeps and servers
  tidy              the gates that are read off the sources
  packages          installs the Debian packages that tests and benchmark want (root only)
  sim [SEEDS]       the simulator over so many seeds (100000)
  fuzz [SECONDS [TARGET…]]   every fuzz target, or those named, for so long (60)
  icount [--bless]  instructions per query against bench/icount/baseline.txt
  lines             memory lines that two workers share and write, which are none
  bench [OPTIONS]   the benchmark beside HAProxy; --help lists its options
  lab [OPTIONS]     real servers to play with (tidegate sandbox)
  docs [--check]    the generated reference pages
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", &[][..]),
    };
    match run(command, rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("xtask {command}: {fault:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &str, rest: &[String]) -> Result<()> {
    match command {
        "ci" => ci::run(rest.iter().any(|a| a == "--fast")),
        "tidy" => {
            let mut report = GateReport::new();
            tidy::run(&mut report)?;
            report.close()
        }
        "packages" => packages::ensure(),
        "sim" => menu::sim(rest),
        "fuzz" => menu::fuzz(rest),
        "icount" => icount::run(rest),
        "lines" => memory_lines::run(),
        "bench" => menu::bench(rest),
        "lab" => menu::lab(rest),
        "docs" => menu::docs(rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => bail!("no such command: {other}\n\n{HELP}"),
    }
}
