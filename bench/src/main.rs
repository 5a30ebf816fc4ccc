//! Throughput, latency and CPU per query of Tidegate beside a direct connection and HAProxy.
//!
//! Decides the order of the runs: every target is measured in every round, so that a slow minute
//! of the machine hits all of them. It judges nothing: ratios and their spread are printed as they
//! are.
#![forbid(unsafe_code)]

mod figures;
mod machine;
mod options;
mod process;
mod results;
mod sysbench;
mod target;
mod tls_files;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use lab::{Cluster, LabOptions};

use crate::figures::{Cell, Sample, Table};
use crate::options::{HELP, Options};
use crate::process::Usage;
use crate::sysbench::Load;
use crate::target::{Running, Target};
use crate::tls_files::TlsFiles;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|a| a == "--help" || a == "-h") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match Options::parse(&arguments).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("bench: {fault:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let targets: Vec<Target> =
        options.targets.iter().copied().filter(|target| available(*target)).collect();
    if targets.is_empty() {
        bail!("nothing to measure");
    }
    println!("bench: starting a primary and two replicas");
    let files = TlsFiles::make()?;
    let extra_args = files.of_servers();
    let cluster = Cluster::start(LabOptions { replicas: 2, extra_args, ..LabOptions::default() })?;
    sysbench::prepare(&cluster, files.dir())?;
    cluster.wait_replicated()?;
    let machine = machine::describe(&cluster);
    println!("{machine}");
    let running = start(&targets, &cluster, &files)?;
    let table = measure(options, &running, files.dir())?;
    table.print();
    let path = options.output();
    results::write(&path, &table, &machine, options)?;
    println!("written: {}", path.display());
    Ok(())
}

fn available(target: Target) -> bool {
    match target.missing() {
        Some(why) => {
            println!("SKIPPED {}: {why}", target.name());
            false
        }
        None => true,
    }
}

fn start(targets: &[Target], cluster: &Cluster, files: &TlsFiles) -> Result<Vec<Running>> {
    let start = |target: &Target| {
        target.start(cluster, files).with_context(|| format!("cannot start {}", target.name()))
    };
    targets.iter().map(start).collect()
}

fn measure(options: &Options, running: &[Running], dir: &Path) -> Result<Table> {
    let mut table = Table::default();
    let cells: Vec<(Load, usize)> = options
        .loads
        .iter()
        .flat_map(|load| options.connections.iter().map(move |connections| (*load, *connections)))
        .collect();
    for target in running {
        sysbench::run(target, dir, Load::POINT_TEXT, (1, 1))
            .with_context(|| format!("{} does not answer", target.target.name()))?;
        if target.target == Target::Cached {
            sysbench::ask_for_all(target, dir)?;
        }
    }
    for round in 0..options.rounds {
        for &(load, connections) in &cells {
            for at in 0..running.len() {
                // Another one goes first in each round.
                let target = &running[(at + round) % running.len()];
                let cell = Cell { load, connections, target: target.target };
                let sample = sample(target, dir, load, (connections, options.seconds))
                    .with_context(|| cell.to_string())?;
                println!("round {} {cell}: {sample}", round + 1);
                table.add(cell, round, sample);
            }
        }
    }
    Ok(table)
}

fn sample(running: &Running, dir: &Path, load: Load, size: (usize, u64)) -> Result<Sample> {
    let before = running.usage()?;
    let outcome = sysbench::run(running, dir, load, size)?;
    let after = running.usage()?;
    let per_query = |from: fn(&Usage) -> f64| {
        before.as_ref().zip(after.as_ref()).map(|(b, a)| (from(a) - from(b)) / outcome.queries)
    };
    Ok(Sample {
        queries_per_s: outcome.queries_per_s,
        average_us: outcome.average_us,
        p95_us: outcome.p95_us,
        p99_us: outcome.p99_us,
        user_us: per_query(|u| u.user_us),
        system_us: per_query(|u| u.system_us),
        rss_kib: after.map(|a| a.rss_kib),
    })
}
