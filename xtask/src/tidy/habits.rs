//! G12 and what else a reader should never meet: ignored tests, sleeps, left-over notes.
//!
//! Decides by words; it does not judge whether a test tests.

use std::path::Path;

use anyhow::Result;

use super::{Checked, Finding};
use crate::rust_text::{line_of, whole_words};
use crate::tree::Source;

/// Left-over notes, spelled apart so that this file does not find itself.
const NOTES: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X ")];

pub(super) fn check(_: &Path, sources: &[Source]) -> Result<Checked> {
    let mut findings = Vec::new();
    let mut tests = 0;
    for source in sources {
        tests += source.code.matches("#[test]").count();
        for (at, _) in source.code.match_indices("#[ignore") {
            let why = "a test runs or is deleted";
            findings.push(Finding::new("G12", source, line_of(&source.code, at), "#[ignore]", why));
        }
        findings.extend(sleeps_in_tests(source));
        findings.extend(notes(source));
    }
    Ok(Checked { detail: format!("{tests} tests"), findings })
}

fn sleeps_in_tests(source: &Source) -> Vec<Finding> {
    if source.path.starts_with("tests/live/") || source.path.contains("/examples/") {
        return Vec::new();
    }
    let lines = whole_words(&source.code, "sleep").map(|at| line_of(&source.code, at));
    let why = "wait for a condition; only tests/live may sleep";
    lines
        .filter(|&line| source.is_test_line(line))
        .map(|line| Finding::new("G12", source, line, "sleep", why))
        .collect()
}

fn notes(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, line) in source.text.lines().enumerate() {
        for note in NOTES.iter().filter(|note| line.contains(*note)) {
            findings.push(Finding::new("G12", source, at + 1, note.trim(), "finish it or drop it"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_count_only_in_tests() {
        let text = "fn f() { sleep(1); }\n#[cfg(test)]\nmod t {\n fn g() { sleep(1); }\n}\n";
        let source = Source::new("crates/lab/src/a.rs".into(), text.into());
        let at: Vec<_> = sleeps_in_tests(&source).into_iter().map(|f| f.at).collect();
        assert_eq!(at, ["crates/lab/src/a.rs:4"]);
        let live = Source::new("tests/live/a.rs".into(), text.into());
        assert!(sleeps_in_tests(&live).is_empty());
    }
}
