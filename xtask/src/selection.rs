//! What a gate builds, and which integration tests it runs.
//!
//! Every gate selects the whole workspace in one profile and names its tests. With `-p`,
//! `--exclude` or another profile a dependency would be built anew with everything that stands on
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::step::{Ran, cargo, step, target};
use crate::tidy::{Checked, Finding};
use crate::tree::Source;
use crate::{manifests, tree};

/// The profile of all that gates build, but for the programs that valgrind runs.
const PROFILE: &str = "sim";
/// The package of the live tests.
const LIVE_PACKAGE: &str = "tidegate-live";
/// The package of the tests on a simulated network.
const SIMULATED_PACKAGE: &str = "tidegate-testkit";

/// What a gate runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum GatePart {
    /// Needs nothing but this repository.
    Unit,
    /// Runs on a simulated network, the simulator among them.
    Simulated,
    /// Needs servers, drivers and the built binary.
    Live,
}

impl GatePart {
    fn of(package: &str, test: &str) -> Self {
        match (package, test) {
            (LIVE_PACKAGE, _) => Self::Live,
            (SIMULATED_PACKAGE, _) => Self::Simulated,
            _ => Self::Unit,
        }
    }
}

/// The names of all integration tests, each with its part.
fn all() -> Result<Vec<(GatePart, String)>> {
    let root = tree::root();
    let mut all = Vec::new();
    for member in manifests::members(&root)? {
        for test in member.tests(&root)? {
            all.push((GatePart::of(&member.package, &test), test));
        }
    }
    Ok(all)
}

/// Tests of different parts that have one name: cargo knows them by their names only.
pub(crate) fn check(_: &Path, _: &[Source]) -> Result<Checked> {
    let all = all()?;
    let mut parts = BTreeMap::<&str, BTreeSet<GatePart>>::new();
    for (part, name) in &all {
        parts.entry(name).or_default().insert(*part);
    }
    let twice = parts.iter().filter(|(_, parts)| parts.len() > 1);
    let why = "two integration tests of different gates are called so: rename one";
    let findings = twice.map(|(name, _)| Finding::whole("tests", "tests", name, why)).collect();
    Ok(Checked { detail: format!("{} integration tests", all.len()), findings })
}

/// A command of cargo's on the whole workspace, which is what it takes where none is named, as
/// gates build it.
pub(crate) fn workspace(command: &str) -> Command {
    cargo(&[command, "--locked", "--profile", PROFILE])
}

/// Builds a program of the workspace; gives where it is, or what the compiler says.
pub(crate) fn program(name: &str) -> Result<Result<PathBuf, Ran>> {
    let mut command = workspace("build");
    command.args(["--bin", name]);
    let ran = step("build", 15, command).run()?;
    Ok(if ran.success { Ok(target().join(PROFILE).join(name)) } else { Err(ran) })
}

/// `cargo test` of a part.
pub(crate) fn integration(part: GatePart) -> Result<Command> {
    let all = all()?.into_iter();
    let wanted: Vec<_> = all.filter(|(of, _)| *of == part).map(|(_, name)| name).collect();
    let mut command = workspace("test");
    command.arg("--no-fail-fast");
    for name in &wanted {
        command.args(["--test", name]);
    }
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests_of(part: GatePart) -> Vec<String> {
        let command = integration(part).expect("no name twice");
        let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
        words.skip_while(|word| word != "--test").filter(|word| word != "--test").collect()
    }

    #[test]
    fn no_name_is_of_two_parts() {
        let found = check(Path::new(""), &[]).expect("read");
        let found: Vec<_> = found.findings.iter().map(|finding| &finding.message).collect();
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn every_part_has_its_tests() {
        let simulated = tests_of(GatePart::Simulated);
        assert!(["simulator", "placing"].iter().all(|name| simulated.contains(&(*name).into())));
        assert!(tests_of(GatePart::Live).contains(&"drivers".to_owned()));
        let unit = tests_of(GatePart::Unit);
        // files, and folders with a `main.rs`
        assert!(unit.contains(&"layers".to_owned()) && unit.contains(&"secrets".to_owned()));
        assert!(!unit.contains(&"simulator".to_owned()) && !unit.contains(&"drivers".to_owned()));
    }
}
