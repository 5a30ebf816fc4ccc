//! Every gate in turn, cheapest first.
//!
//! Decides the order, the limits and what is skipped where something is not there; each gate's own
//! module decides whether it is green.

use anyhow::Result;

use crate::gate::{GateOutcome, GateReport};
use crate::selection::{self, GatePart};
use crate::step::{cargo, step};
use crate::{dependencies, icount, licences, memory_lines, menu, reference, tidy};

/// Seeds of the simulator in every run of the gates.
const SIM_SEEDS: u64 = 1_000;

pub(crate) fn run(fast: bool) -> Result<()> {
    let mut report = GateReport::new();
    report.run("G8 formatting", |_| {
        Ok(step("fmt", 2, cargo(&["fmt", "--all", "--check", "--", "-l"]))
            .run()?
            .outcome("rustfmt"))
    })?;
    tidy::run(&mut report)?;
    report.run("G8 licences", |_| licences::check())?;
    report.run("G8 dependencies", |_| dependencies::check())?;
    report.run("G8 clippy", |_| clippy())?;
    report.run("G5 documentation builds", |_| documentation())?;
    report.run("G9 unit and property tests", unit_tests)?;
    report.run("G9 examples in documentation", documented_examples)?;
    report.run("G10 simulated network", |report| menu::sim_gate(report, SIM_SEEDS))?;
    report.run("G11 generated reference", |_| reference::check())?;
    if !fast {
        report.run("configurations shown", |_| menu::shown_configurations())?;
        report.run("live: servers and drivers", menu::live)?;
        report.run("M13 instruction counts", |_| icount::check())?;
        report.run("M14 memory of two workers", |_| memory_lines::check())?;
    }
    report.close()
}

fn clippy() -> Result<GateOutcome> {
    let mut command = selection::workspace("clippy");
    command.args(["--all-targets", "--", "-D", "warnings"]);
    Ok(step("clippy", 15, command).run()?.outcome("no warning"))
}

fn documentation() -> Result<GateOutcome> {
    let mut command = selection::workspace("doc");
    command.arg("--no-deps").env("RUSTDOCFLAGS", "-D warnings");
    Ok(step("doc", 10, command).run()?.outcome("no broken link"))
}

/// Everything but the tests on a simulated network, whose gate follows, and the live tests, which
/// need servers and the built binary.
fn unit_tests(report: &mut GateReport) -> Result<GateOutcome> {
    let mut command = selection::integration(GatePart::Unit)?;
    // Tests that could not run here say so on their output.
    command.args(["--lib", "--bins", "--", "--show-output"]);
    let ran = step("test", 20, command).run()?;
    let split = ran.lines.iter().filter(|l| l.starts_with("test ") && l.contains("split")).count();
    Ok(ran.tests(report, &format!("tests, {split} of them cut streams anywhere")))
}

fn documented_examples(report: &mut GateReport) -> Result<GateOutcome> {
    let mut command = selection::workspace("test");
    command.arg("--doc");
    Ok(step("doctest", 5, command).run()?.tests(report, "tests"))
}
