//! The gates that are read off the sources themselves.
//!
//! Decides the order of the checks and what the allow-list pardons. It builds and runs nothing.

mod allowed;
mod documents;
mod habits;
mod headers;
mod layers;
mod layers_table;
mod lexicon;
mod names;
mod purity;
mod sizes;
mod ways;

use std::path::Path;

use anyhow::Result;

use crate::gate::GateReport;
use crate::selection;
use crate::tree::{self, Source};

/// Something a check objects to.
pub(crate) struct Finding {
    /// What the allow-list would have to name: the gate, the file and the thing, no line number.
    pub(crate) key: String,
    /// Where, for the reader: `path:line`.
    pub(crate) at: String,
    /// What is wrong and what would be right.
    pub(crate) message: String,
}

impl Finding {
    pub(crate) fn new(gate: &str, source: &Source, line: usize, thing: &str, why: &str) -> Self {
        Self {
            key: format!("{gate} {} {thing}", source.path),
            at: format!("{}:{line}", source.path),
            message: format!("{thing}: {why}"),
        }
    }

    pub(crate) fn whole(gate: &str, path: &str, thing: &str, why: &str) -> Self {
        Self {
            key: format!("{gate} {path} {thing}"),
            at: path.to_owned(),
            message: format!("{thing}: {why}"),
        }
    }
}

/// What a check looked at, and what it found.
pub(crate) struct Checked {
    pub(crate) detail: String,
    pub(crate) findings: Vec<Finding>,
}

type Check = fn(&Path, &[Source]) -> Result<Checked>;

const CHECKS: [(&str, Check); 14] = [
    ("G1 layers", layers::check),
    ("G2 pure crates", purity::pure_crates),
    ("G3 no ambient state", purity::ambient_state),
    ("G13 one kind of lock", purity::locks),
    ("G4 unsafe only in io", headers::unsafe_code),
    ("G5 documentation headers", headers::docs),
    ("G6 panic lints present", headers::panic_lints),
    ("G7 files and functions", sizes::check),
    ("G12 test habits", habits::check),
    ("names of tests", selection::check),
    ("names and lexicon", lexicon::check),
    ("what a name means", names::check),
    ("links in documents", documents::check),
    ("G14 ways through the engine", ways::check),
];

/// Runs every check and prints one line for each.
pub(crate) fn run(report: &mut GateReport) -> Result<()> {
    let root = tree::root();
    let sources = tree::load(&root)?;
    let mut allowed = allowed::AllowList::load(&root)?;
    for (name, check) in CHECKS {
        let Checked { detail, findings } = check(&root, &sources)?;
        let left: Vec<String> = findings
            .into_iter()
            .filter(|finding| !allowed.pardons(&finding.key))
            .map(|finding| {
                format!("{}: {}\n    (key: {})", finding.at, finding.message, finding.key)
            })
            .collect();
        report.gate(name, &detail, &left);
    }
    let (detail, complaints) = allowed.settle();
    report.gate("allow-list only shrinks", &detail, &complaints);
    Ok(())
}
