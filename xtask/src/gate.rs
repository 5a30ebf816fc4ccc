//! One line for each gate, and the summary at the end.
//!
//! Decides how results are printed and what the exit says; knows no gate.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

const NAME_COLUMNS: usize = 34;
const FINDINGS_SHOWN_MAX: usize = 60;

/// Gathers the results of the gates as they are printed.
pub(crate) struct GateReport {
    began: Instant,
    gates_ok: usize,
    gates_red: Vec<String>,
    gates_skipped: Vec<String>,
    /// Tests counted over all runs.
    pub(crate) tests: Tally,
    /// Loud lines of tests that could not run here.
    pub(crate) skipped_tests: Vec<String>,
}

/// How many tests did what.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

/// How a gate ended that runs a program.
pub(crate) enum GateOutcome {
    Ok(String),
    Red(Vec<String>),
    Skipped(String),
}

impl GateReport {
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            gates_ok: 0,
            gates_red: Vec::new(),
            gates_skipped: Vec::new(),
            tests: Tally::default(),
            skipped_tests: Vec::new(),
        }
    }

    /// A gate that is green when nothing was found.
    pub(crate) fn gate(&mut self, name: &str, detail: &str, findings: &[String]) {
        print!("{name:<NAME_COLUMNS$} … ");
        if findings.is_empty() {
            self.finish(name, GateOutcome::Ok(detail.to_owned()), None);
        } else {
            self.finish(name, GateOutcome::Red(findings.to_vec()), None);
        }
    }

    /// A gate that takes a while: its name is printed first.
    pub(crate) fn run(
        &mut self,
        name: &str,
        gate: impl FnOnce(&mut Self) -> Result<GateOutcome>,
    ) -> Result<()> {
        print!("{name:<NAME_COLUMNS$} … ");
        std::io::stdout().flush()?;
        let began = Instant::now();
        let outcome = gate(self).unwrap_or_else(|e| GateOutcome::Red(vec![format!("{e:#}")]));
        self.finish(name, outcome, Some(began.elapsed()));
        Ok(())
    }

    fn finish(&mut self, name: &str, outcome: GateOutcome, took: Option<Duration>) {
        let took = took.map_or(String::new(), |t| format!(", {:.0} s", t.as_secs_f64()));
        match outcome {
            GateOutcome::Ok(detail) => {
                self.gates_ok += 1;
                println!("ok ({detail}{took})");
            }
            GateOutcome::Skipped(why) => {
                println!("SKIPPED: {why}");
                self.gates_skipped.push(format!("{name}: {why}"));
            }
            GateOutcome::Red(findings) => {
                println!("FAILED ({}{took})", findings.len());
                for finding in findings.iter().take(FINDINGS_SHOWN_MAX) {
                    println!("  {finding}");
                }
                if findings.len() > FINDINGS_SHOWN_MAX {
                    println!("  … and {} more", findings.len() - FINDINGS_SHOWN_MAX);
                }
                self.gates_red.push(name.to_owned());
            }
        }
    }

    /// Prints the summary; an error when any gate is red.
    pub(crate) fn close(self) -> Result<()> {
        println!();
        for line in self.gates_skipped.iter().chain(&self.skipped_tests) {
            println!(
                "SKIPPED {}",
                line.trim_start_matches("SKIPPED").trim_start_matches([':', ' '])
            );
        }
        println!(
            "gates: {} ok, {} failed, {} skipped in {:.0} s",
            self.gates_ok,
            self.gates_red.len(),
            self.gates_skipped.len(),
            self.began.elapsed().as_secs_f64()
        );
        if !self.gates_red.is_empty() {
            println!("failed: {}", self.gates_red.join(", "));
        }
        let Tally { passed, failed } = self.tests;
        println!("{passed} passed, {failed} failed");
        if !self.gates_red.is_empty() {
            bail!("{} gates are red", self.gates_red.len());
        }
        Ok(())
    }
}
