//! G4, G5 and G6: what must stand at the top of a file or crate so that the compiler keeps a rule.
//!
//! Decides whether the lint headers are there; the compiler and clippy decide the rest.

use std::path::Path;

use anyhow::Result;

use super::{Checked, Finding};
use crate::manifests::{self, Manifest};
use crate::tree::Source;

const PANIC_FREE: [&str; 11] = [
    "wire",
    "binlog",
    "sql",
    "engine",
    "advice",
    "keeper",
    "failover",
    "tls",
    "monitor",
    "io",
    "compression",
];
const PANIC_LINTS: [&str; 4] = [
    "clippy::unwrap_used",
    "clippy::indexing_slicing",
    "clippy::cast_possible_truncation",
    "clippy::panic",
];

/// How many lines above an `unsafe` its `SAFETY:` may begin.
const SAFETY_REACH_LINES: usize = 12;

pub(super) fn unsafe_code(_: &Path, sources: &[Source]) -> Result<Checked> {
    let mut findings = Vec::new();
    let roots = sources.iter().filter(|s| is_crate_root(&s.path));
    for root in roots.filter(|s| s.krate() != "io" && !s.path.starts_with("fuzz/")) {
        if !root.code.contains("#![forbid(unsafe_code)]") {
            let why = "every crate but io begins with it";
            findings.push(Finding::new("G4", root, 1, "#![forbid(unsafe_code)]", why));
        }
    }
    let mut count = 0;
    for source in sources {
        for line in unsafe_lines(source) {
            count += 1;
            if !has_safety(source, line) {
                let why = "say in a `SAFETY:` sentence above why it is sound";
                findings.push(Finding::new("G4", source, line, "unsafe", why));
            }
        }
    }
    Ok(Checked { detail: format!("{count} unsafe blocks, each argued"), findings })
}

fn is_crate_root(path: &str) -> bool {
    path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs") || path.contains("/src/bin/")
}

/// Lines with an `unsafe` block or impl (not the lint names that contain the word).
fn unsafe_lines(source: &Source) -> Vec<usize> {
    let lines = source
        .code
        .lines()
        .enumerate()
        .filter(|(_, line)| ["unsafe {", "unsafe impl"].iter().any(|form| line.contains(form)));
    lines.map(|(at, _)| at + 1).collect()
}

fn has_safety(source: &Source, line: usize) -> bool {
    let from = line.saturating_sub(SAFETY_REACH_LINES + 1);
    source.text.lines().skip(from).take(line - from).any(|l| l.contains("SAFETY:"))
}

pub(super) fn docs(root: &Path, sources: &[Source]) -> Result<Checked> {
    let mut findings = Vec::new();
    // A tests.rs belongs to the module it is named under.
    let files = sources.iter().filter(|s| !s.path.ends_with("/tests.rs"));
    for source in files.filter(|s| !s.text.trim_start().starts_with("//!")) {
        let why = "a file begins with what it decides and what it does not know";
        findings.push(Finding::new("G5", source, 1, "//!", why));
    }
    for manifest in manifests::members(root)?.iter().filter(|m| !m.shared_lints) {
        findings.push(lints_missing(manifest));
    }
    let text = std::fs::read_to_string(root.join("Cargo.toml"))?;
    if !text.contains("missing_docs = \"deny\"") {
        let why = "the shared lints deny it";
        findings.push(Finding::whole("G5", "Cargo.toml", "missing_docs", why));
    }
    Ok(Checked { detail: format!("{} files", sources.len()), findings })
}

fn lints_missing(manifest: &Manifest) -> Finding {
    let why = "every member takes the shared lints (`[lints] workspace = true`)";
    Finding::whole("G5", &manifest.path(), "[lints]", why)
}

pub(super) fn panic_lints(_: &Path, sources: &[Source]) -> Result<Checked> {
    let mut findings = Vec::new();
    for krate in PANIC_FREE {
        let path = format!("crates/{krate}/src/lib.rs");
        let Some(root) = sources.iter().find(|s| s.path == path) else { continue };
        let header = root.code.split("deny(").nth(1).unwrap_or("");
        for lint in PANIC_LINTS.iter().filter(|lint| !header.contains(*lint)) {
            findings.push(Finding::new("G6", root, 1, lint, "denied outside tests in this crate"));
        }
    }
    for source in sources.iter().filter(|s| PANIC_FREE.contains(&s.krate())) {
        findings.extend(reopened(source));
        findings.extend(bare_expects(source));
    }
    Ok(Checked { detail: PANIC_FREE.join(", "), findings })
}

/// `allow` of a lint that the crate denies.
fn reopened(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, line) in source.code.lines().enumerate().filter(|(_, l)| l.contains("allow(")) {
        for lint in PANIC_LINTS.iter().filter(|lint| line.contains(*lint)) {
            if !source.is_test_line(at + 1) {
                let why = "a denied lint is opened again";
                findings.push(Finding::new("G6", source, at + 1, lint, why));
            }
        }
    }
    findings
}

/// `expect("…")` whose reason is no sentence.
fn bare_expects(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, line) in source.text.lines().enumerate() {
        let Some(reason) = line.split(".expect(\"").nth(1) else { continue };
        let words = reason.split('"').next().unwrap_or("").split_whitespace().count();
        if words < 3 && !source.is_test_line(at + 1) {
            let why = "the text says why it cannot fail";
            findings.push(Finding::new("G6", source, at + 1, "expect", why));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsafe_block_needs_its_sentence() {
        let gap = "\n".repeat(14);
        let text = format!(
            "fn f() {{\n    // SAFETY: the pointer is ours.\n    unsafe {{ g() }}\n}}\n{gap}\
             fn h() {{\n    unsafe {{ g() }}\n}}\n"
        );
        let source = Source::new("crates/io/src/a.rs".into(), text);
        let checked = unsafe_code(Path::new("."), &[source]).expect("reads only its arguments");
        let at: Vec<_> = checked.findings.iter().map(|f| f.at.as_str()).collect();
        assert_eq!(at, ["crates/io/src/a.rs:20"]);
    }

    #[test]
    fn an_expect_without_a_reason_is_found() {
        let text = "fn f() {\n a.expect(\"ok\");\n b.expect(\"set in new, never cleared\");\n}\n";
        let source = Source::new("crates/wire/src/a.rs".into(), text.into());
        assert_eq!(bare_expects(&source).len(), 1);
    }

    #[test]
    fn a_denied_lint_may_not_be_opened_again() {
        let text = "#[allow(clippy::panic)]\nfn f() {}\n";
        let source = Source::new("crates/sql/src/a.rs".into(), text.into());
        assert_eq!(reopened(&source).len(), 1);
    }
}
