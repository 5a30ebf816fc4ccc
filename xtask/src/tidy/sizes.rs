//! G7: how long a file, a function and a line may be, and what a file may be called.
//!
//! Decides by counting. A module is `name.rs`, its parts are below `name/`; only what integration
//! tests share is a `mod.rs`, since a file beside them would be one of them. `*_table.rs` holds
//! data, never logic, and may be of any length.

use std::path::Path;

use anyhow::Result;

use super::{Checked, Finding};
use crate::tree::Source;

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;
const LINE_COLUMNS_MAX: usize = 100;
const INLINE_TEST_LINES_MAX: usize = 120;

pub(super) fn check(_: &Path, sources: &[Source]) -> Result<Checked> {
    let mut findings = Vec::new();
    let mut functions = 0;
    for source in sources {
        let is_table = source.path.ends_with("_table.rs");
        if source.path.ends_with("/mod.rs") && !source.path.contains("/tests/") {
            let why = "call it as its folder, and put it beside that";
            findings.push(Finding::new("G7", source, 1, "file name", why));
        }
        let lines = source.text.lines().count();
        if lines > FILE_LINES_MAX && !is_table {
            let why = format!("{lines} lines; split it by what it decides");
            findings.push(Finding::new("G7", source, lines, "file", &why));
        }
        if !is_table {
            findings.extend(wide_lines(source));
        }
        for function in source.functions() {
            functions += 1;
            if function.lines > FUNCTION_LINES_MAX && !is_table {
                let thing = format!("fn {}", function.name);
                let why = format!("{} lines, {FUNCTION_LINES_MAX} are allowed", function.lines);
                findings.push(Finding::new("G7", source, function.line, &thing, &why));
            }
        }
        for (from, to) in source.inline_test_blocks() {
            if to - from >= INLINE_TEST_LINES_MAX {
                let why = format!("{} lines of tests belong in a tests.rs", to + 1 - from);
                findings.push(Finding::new("G7", source, from, "inline tests", &why));
            }
        }
    }
    Ok(Checked { detail: format!("{} files, {functions} functions", sources.len()), findings })
}

fn wide_lines(source: &Source) -> Vec<Finding> {
    let lines = source.text.lines().enumerate();
    lines
        .filter(|(_, line)| line.chars().count() > LINE_COLUMNS_MAX && !line.contains("://"))
        .map(|(at, line)| {
            let why = format!("{} columns", line.chars().count());
            Finding::new("G7", source, at + 1, "line", &why)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_functions_and_lines_are_found() {
        let body = "    x();\n".repeat(71);
        let text = format!("fn f() {{\n{body}}}\n// {}\n", "w".repeat(101));
        let long = Source::new("crates/a/src/b.rs".into(), text.clone() + &"\n".repeat(600));
        let table = Source::new("crates/a/src/b_table.rs".into(), "\n".repeat(700));
        let checked = check(Path::new("."), &[long, table]).expect("reads only its arguments");
        let keys: Vec<_> = checked.findings.iter().map(|f| f.key.as_str()).collect();
        let path = "G7 crates/a/src/b.rs";
        assert_eq!(keys, [format!("{path} file"), format!("{path} line"), format!("{path} fn f")]);
    }

    #[test]
    fn a_module_is_called_as_its_folder() {
        let named = |path: &str| Source::new(path.into(), String::new());
        let files = ["crates/a/src/b/mod.rs", "crates/a/tests/c/mod.rs", "crates/a/src/b.rs"];
        let checked = check(Path::new("."), &files.map(named)).expect("reads only its arguments");
        let keys: Vec<_> = checked.findings.iter().map(|f| f.key.as_str()).collect();
        assert_eq!(keys, ["G7 crates/a/src/b/mod.rs file name"]);
    }
}
