//! Which integration tests a gate runs.
//!
//! Every gate selects the whole workspace and names its tests. With `-p` or `--exclude` a
//! dependency would get other features, and be built anew with everything that stands on it.

use std::process::Command;

use anyhow::{Result, bail};

use crate::step::cargo;
use crate::{manifests, tree};

/// The package of the live tests.
const LIVE_PACKAGE: &str = "tidegate-live";
/// The package of the tests on a simulated network.
const SIMULATED_PACKAGE: &str = "tidegate-testkit";

/// What a gate runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GatePart {
    /// Needs nothing but this repository.
    Unit,
    /// Runs on a simulated network, the simulator among them: in the quick profile that has every
    /// assertion.
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

/// `cargo test` of a part; an error when its tests have names that tests of other parts have too,
/// since cargo knows them by their names only.
pub(crate) fn integration(part: GatePart) -> Result<Command> {
    let root = tree::root();
    let (mut wanted, mut others) = (Vec::new(), Vec::new());
    for member in manifests::members(&root)? {
        for test in member.tests(&root)? {
            let list = if GatePart::of(&member.package, &test) == part {
                &mut wanted
            } else {
                &mut others
            };
            list.push(test);
        }
    }
    if let Some(name) = wanted.iter().find(|name| others.contains(name)) {
        bail!("two integration tests of different gates are called {name}: rename one");
    }
    let mut command = cargo(&["test", "--workspace", "--locked", "--no-fail-fast"]);
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
