//! `tidegate lint` on files with one planted fault each, and on sensible ones.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Exit code and findings: kind and place of each.
fn lint(file: &Path) -> (i32, Vec<String>) {
    let output = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["lint", "--json", "--config"])
        .arg(file)
        .output()
        .expect("the binary starts");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(errors, "", "{}", file.display());
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let findings = report["findings"].as_array().expect("a list").iter().map(|finding| {
        let text = |member: &str| finding[member].as_str().expect(member).to_owned();
        assert!(!text("reason").is_empty() && !text("suggestion").is_empty());
        match (finding["rule_id"].as_i64(), finding["row"].as_i64()) {
            (Some(id), _) => format!("{} rule {id}", text("kind")),
            (None, Some(row)) => format!("{} {} {row}", text("kind"), text("table")),
            (None, None) => text("kind"),
        }
    });
    let mut findings: Vec<_> = findings.collect();
    findings.sort();
    (output.status.code().expect("an exit code"), findings)
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = format!("{}/../../testdata/lint/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect(&folder)
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

#[test]
fn each_planted_fault_is_found_and_nothing_else() {
    let mut wrong = Vec::new();
    let files = files("bad");
    for file in &files {
        let text = std::fs::read_to_string(file).expect("it is readable");
        let expected: Vec<_> =
            text.lines().filter_map(|line| line.strip_prefix("# finding: ")).collect();
        let (code, found) = lint(file);
        if code != 1 || found != expected {
            wrong.push(format!("{}: {code} {found:?}, not {expected:?}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(files.len() >= 50, "only {} files", files.len());
}

#[test]
fn sensible_configurations_have_no_findings() {
    let files = files("good");
    for file in &files {
        assert_eq!(lint(file), (0, Vec::new()), "{}", file.display());
    }
    assert!(files.len() >= 5, "only {} files", files.len());
}

#[test]
fn every_kind_has_a_planted_fault() {
    let planted: String = files("bad")
        .iter()
        .map(|file| std::fs::read_to_string(file).expect("it is readable"))
        .collect();
    for kind in advice::lint::Kind::ALL {
        assert!(planted.contains(&format!("# finding: {}", kind.name())), "{}", kind.name());
    }
}

#[test]
fn every_kind_is_documented() {
    let text = include_str!("../../../docs/query-rules.md");
    for kind in advice::lint::Kind::ALL {
        let line = format!("| `{}` | {} |", kind.name(), kind.meaning());
        assert!(text.contains(&line), "docs/query-rules.md has no line\n{line}");
    }
}

#[test]
fn a_file_that_is_wrong_exits_2_and_shows_the_place() {
    let file = std::env::temp_dir().join(format!("tidegate-{}-wrong.toml", std::process::id()));
    let text = "[[mysql_query_rules]]\nrule_id = 1\nactive = 1\nmatch_pattern = '(a)'\n\
                replace_pattern = '\\2'\n";
    std::fs::write(&file, text).expect("it is writable");
    let output = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["lint", "--config"])
        .arg(&file)
        .output()
        .expect("the binary starts");
    std::fs::remove_file(&file).expect("it is there");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
    assert!(errors.contains("there is no group 2 in match_pattern, which has 1"), "{errors}");
    assert!(errors.contains(":5:19"), "{errors}");
}
