//! G8, licences: every crate in the tree is under terms that ours can live with.
//!
//! Decides by the allow-list of `deny.toml`; advisories are not looked at, as their
//! database is fetched over the network: `deny.toml` says how.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};

use crate::gate::GateOutcome;
use crate::step::{cargo, installed, step};
use crate::tree;

pub(crate) fn check() -> Result<GateOutcome> {
    let arguments = ["metadata", "--format-version", "1", "--locked", "--all-features"];
    let mut command = cargo(&arguments);
    command.arg("--filter-platform");
    command.arg("x86_64-unknown-linux-gnu");
    let output = command.output().context("cargo metadata")?;
    if !output.status.success() {
        return Ok(GateOutcome::Red(vec![String::from_utf8_lossy(&output.stderr).into_owned()]));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("metadata without packages")?;
    let allowed = allowed(&fs::read_to_string(tree::root().join("deny.toml"))?)?;
    let refusal = |package| refusal(package, &allowed);
    let refused: Vec<String> = packages.iter().filter_map(refusal).collect();
    if !refused.is_empty() {
        return Ok(GateOutcome::Red(refused));
    }
    if installed("cargo-deny") {
        let mut command = cargo(&["deny", "--offline", "check", "bans", "licenses", "sources"]);
        command.env_remove("RUSTFLAGS");
        return Ok(step("deny", 5, command).run()?.outcome("cargo-deny and the allow-list"));
    }
    Ok(GateOutcome::Ok(format!("{} packages; cargo-deny is not installed", packages.len())))
}

fn refusal(package: &Value, allowed: &[Licensee]) -> Option<String> {
    let name = package["name"].as_str().unwrap_or("?");
    let version = package["version"].as_str().unwrap_or("?");
    match package["license"].as_str() {
        Some(terms) if satisfied(terms, allowed) => None,
        Some(terms) => Some(format!("{name} {version}: `{terms}` is not on the allow-list")),
        None => Some(format!("{name} {version}: names no licence")),
    }
}

/// The terms that the text of `deny.toml` allows.
fn allowed(text: &str) -> Result<Vec<Licensee>> {
    let table: toml::Table = text.parse()?;
    let list = table.get("licenses").and_then(|licenses| licenses.get("allow"));
    let list = list.and_then(toml::Value::as_array).context("deny.toml allows nothing")?;
    let terms = list.iter().filter_map(toml::Value::as_str);
    terms.map(|term| Licensee::parse(term).with_context(|| term.to_owned())).collect()
}

/// Whether an SPDX expression leaves a choice made only of allowed terms.
fn satisfied(expression: &str, allowed: &[Licensee]) -> bool {
    Expression::parse_mode(expression, ParseMode::LAX).is_ok_and(|expression| {
        expression.evaluate(|wanted| allowed.iter().any(|licensee| licensee.satisfies(wanted)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_needs_one_allowed_branch() {
        let allowed = allowed(include_str!("../../deny.toml")).expect("it allows something");
        let satisfied = |expression| satisfied(expression, &allowed);
        assert!(satisfied("MIT OR GPL-3.0"));
        assert!(satisfied("MIT/Apache-2.0"));
        assert!(satisfied("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT"));
        assert!(satisfied("ISC AND (Apache-2.0 OR ISC) AND (MIT OR OpenSSL)"));
        assert!(!satisfied("MIT AND OpenSSL"));
        assert!(!satisfied("GPL-2.0 WITH Classpath-exception-2.0"));
        assert!(!satisfied("AGPL-3.0-only"));
    }
}
