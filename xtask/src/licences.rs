//! G8, licences: every crate in the tree is under terms that ours can live with.
//!
//! Decides by an allow-list over `cargo metadata`; advisories are not looked at, as their
//! database is fetched over the network: `deny.toml` says how.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::gate::Outcome;
use crate::step::{cargo, installed, step};

/// Permissive terms only; `deny.toml` holds the same list.
const ALLOWED: [&str; 13] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "0BSD",
    "Unlicense",
    "CC0-1.0",
    "BSL-1.0",
    "Unicode-3.0",
    "CDLA-Permissive-2.0",
];

/// Exceptions that only widen what is permitted.
const EXCEPTIONS: [&str; 1] = ["LLVM-exception"];

pub(crate) fn check() -> Result<Outcome> {
    let arguments = ["metadata", "--format-version", "1", "--locked", "--filter-platform"];
    let mut command = cargo(&arguments);
    command.arg("x86_64-unknown-linux-gnu");
    let output = command.output().context("cargo metadata")?;
    if !output.status.success() {
        return Ok(Outcome::Red(vec![String::from_utf8_lossy(&output.stderr).into_owned()]));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("metadata without packages")?;
    let refused: Vec<String> = packages.iter().filter_map(refusal).collect();
    if !refused.is_empty() {
        return Ok(Outcome::Red(refused));
    }
    if installed("cargo-deny") {
        let mut command = cargo(&["deny", "--offline", "check", "bans", "licenses", "sources"]);
        command.env_remove("RUSTFLAGS");
        return Ok(step("deny", 5, command).run()?.outcome("cargo-deny and the allow-list"));
    }
    Ok(Outcome::Ok(format!("{} packages; cargo-deny is not installed", packages.len())))
}

fn refusal(package: &Value) -> Option<String> {
    let name = package["name"].as_str().unwrap_or("?");
    let version = package["version"].as_str().unwrap_or("?");
    match package["license"].as_str() {
        Some(terms) if satisfied(terms) => None,
        Some(terms) => Some(format!("{name} {version}: `{terms}` is not on the allow-list")),
        None => Some(format!("{name} {version}: names no licence")),
    }
}

/// Whether an SPDX expression leaves a choice made only of allowed terms.
fn satisfied(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    any_of(&tokens, &mut at) && at == tokens.len()
}

fn any_of(tokens: &[&str], at: &mut usize) -> bool {
    let mut holds = all_of(tokens, at);
    while tokens.get(*at) == Some(&"OR") {
        *at += 1;
        holds |= all_of(tokens, at);
    }
    holds
}

fn all_of(tokens: &[&str], at: &mut usize) -> bool {
    let mut holds = one(tokens, at);
    while tokens.get(*at) == Some(&"AND") {
        *at += 1;
        holds &= one(tokens, at);
    }
    holds
}

fn one(tokens: &[&str], at: &mut usize) -> bool {
    let Some(&token) = tokens.get(*at) else { return false };
    *at += 1;
    if token == "(" {
        let holds = any_of(tokens, at);
        *at += 1;
        return holds;
    }
    let mut holds = ALLOWED.contains(&token);
    if tokens.get(*at) == Some(&"WITH") {
        holds &= tokens.get(*at + 1).is_some_and(|e| EXCEPTIONS.contains(e));
        *at += 2;
    }
    holds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_needs_one_allowed_branch() {
        assert!(satisfied("MIT OR GPL-3.0"));
        assert!(satisfied("MIT/Apache-2.0"));
        assert!(satisfied("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT"));
        assert!(satisfied("ISC AND (Apache-2.0 OR ISC) AND (MIT OR OpenSSL)"));
        assert!(!satisfied("MIT AND OpenSSL"));
        assert!(!satisfied("GPL-2.0 WITH Classpath-exception-2.0"));
        assert!(!satisfied("AGPL-3.0-only"));
    }
}
