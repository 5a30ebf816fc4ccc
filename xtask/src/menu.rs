//! The commands that start something else: simulator, fuzzing, live tests, benchmark, reference.
//!
//! Decides only how each is started and how long it may take.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::gate::{GateOutcome, GateReport};
use crate::selection::{self, GatePart};
use crate::step::{Ran, cargo, step, target};
use crate::{live, reference, tree};

/// The program.
const TIDEGATE: &str = "tidegate";

/// Runs these tests with so many seeds for the simulator.
fn simulate(mut tests: Command, seeds: u64) -> Result<Ran> {
    tests.args(["--", "--nocapture"]).env("TIDEGATE_SIM_SEEDS", seeds.to_string());
    step("sim", 120, tests).run()
}

pub(crate) fn sim_gate(report: &mut GateReport, seeds: u64) -> Result<GateOutcome> {
    let ran = simulate(selection::integration(GatePart::Simulated)?, seeds)?;
    Ok(ran.tests(report, &format!("tests, {seeds} seeds")))
}

pub(crate) fn sim(rest: &[String]) -> Result<()> {
    let seeds = number(rest, 100_000)?;
    let mut tests = selection::workspace("test");
    tests.args(["--test", "simulator"]);
    let ran = simulate(tests, seeds)?;
    ran.lines.iter().for_each(|line| println!("{line}"));
    if ran.success { Ok(()) } else { bail!("the simulator found something") }
}

/// Every configuration that a document shows is one that `tidegate check` accepts.
pub(crate) fn shown_configurations() -> Result<GateOutcome> {
    let tidegate = match selection::program(TIDEGATE)? {
        Ok(tidegate) => tidegate,
        Err(broken) => return Ok(broken.outcome("built")),
    };
    let folder = target().join("xtask");
    let (mut count, mut refused) = (0, Vec::new());
    for (path, text) in tree::documents(&tree::root())? {
        for block in text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            count += 1;
            let file = folder.join(format!("shown-{count}.toml"));
            std::fs::write(&file, block)?;
            let mut command = Command::new(&tidegate);
            command.arg("check").arg(&file);
            let ran = step("check", 1, command).run()?;
            if !ran.success {
                refused.push(format!("{path}: {}", ran.lines.join("\n  ")));
            }
        }
    }
    if refused.is_empty() {
        return Ok(GateOutcome::Ok(format!("{count} accepted by tidegate check")));
    }
    Ok(GateOutcome::Red(refused))
}

pub(crate) fn live(report: &mut GateReport) -> Result<GateOutcome> {
    match selection::program(TIDEGATE)? {
        Ok(tidegate) => live::run(report, tidegate),
        Err(broken) => Ok(broken.outcome("built")),
    }
}

/// The generated pages, then the API documentation.
pub(crate) fn docs(rest: &[String]) -> Result<()> {
    if rest.iter().any(|a| a == "--check") {
        return match reference::check()? {
            GateOutcome::Red(stale) => bail!("{}", stale.join("\n")),
            _ => Ok(()),
        };
    }
    reference::write()?;
    let mut pages = selection::workspace("doc");
    pages.arg("--no-deps");
    foreground(pages)?;
    println!("API documentation: {}", target().join("doc/engine/index.html").display());
    Ok(())
}

/// Measures what users run: the release build.
pub(crate) fn bench(rest: &[String]) -> Result<()> {
    foreground(cargo(&["build", "--locked", "--release", "-p", "tidegate"]))?;
    if rest.iter().any(|word| word.contains("relay")) {
        let relay = ["build", "--locked", "--release", "-p", "tidegate-io", "--example", "relay"];
        foreground(cargo(&relay))?;
    }
    let mut command = cargo(&["run", "--locked", "--quiet", "-p", "tidegate-bench", "--"]);
    command.args(rest).env("TIDEGATE_BIN", target().join("release/tidegate"));
    foreground(command)
}

pub(crate) fn lab(rest: &[String]) -> Result<()> {
    let mut command = cargo(&["run", "--locked", "--profile", "fastbuild", "-p", "tidegate"]);
    command.args(["--", "sandbox"]).args(rest);
    foreground(command)
}

/// `fuzz [SECONDS [TARGET…]]`.
pub(crate) fn fuzz(rest: &[String]) -> Result<()> {
    let only = rest.get(1..).unwrap_or_default();
    crate::fuzz::run(number(rest, 60)?, only)
}

fn number(rest: &[String], default: u64) -> Result<u64> {
    match rest.first() {
        Some(text) => text.parse().with_context(|| format!("not a number: {text}")),
        None => Ok(default),
    }
}

/// Runs a program on the terminal, as if it had been typed.
fn foreground(mut command: Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    if status.success() { Ok(()) } else { bail!("{program} ended with {status}") }
}
