//! The live tests: built, then run file by file, side by side where none measures.
//!
//! Decides which files share the machine, and in which order they run; what they need and assert
//! is theirs.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::gate::{GateOutcome, GateReport};
use crate::selection::{self, GatePart};
use crate::step::{Ran, step};
use crate::tree;

/// Files that assert on durations or rates, or that fill the machine by themselves.
const MEASURING: &[&str] = &[
    "backend_limits",
    "crowds",
    "head_of_line",
    "isolation",
    "loads",
    "metrics",
    "resources",
    "servers_lost",
    "tls_storms",
    "workers",
];
/// Files that take longest: with one of them at the end, half the machine would wait for it.
const FIRST: &[&str] = &["drivers", "adversary", "known_code", "frameworks"];
/// Memory, not processors, is what limits them: a file has up to four servers.
const JOBS_MAX: usize = 4;
const SHOWN: usize = 5;

/// A file of tests, built.
struct Tests {
    name: String,
    program: PathBuf,
}

/// A file of tests, run.
struct Done {
    name: String,
    took: Duration,
    ran: Ran,
}

/// Runs them all with this binary.
pub(crate) fn run(report: &mut GateReport, binary: PathBuf) -> Result<GateOutcome> {
    let mut files = match build()? {
        Ok(files) => files,
        Err(broken) => return Ok(broken.outcome("built")),
    };
    files.sort_by_key(|file| {
        FIRST.iter().position(|name| *name == file.name).unwrap_or(FIRST.len())
    });
    let (measuring, others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| MEASURING.contains(&&*file.name));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut done = run_files(others, cores.min(JOBS_MAX), &binary)?;
    done.extend(run_files(measuring, 1, &binary)?);
    done.sort_by_key(|file| std::cmp::Reverse(file.took));
    Ok(outcome(report, done))
}

/// Their programs; what the compiler says when there are none.
fn build() -> Result<Result<Vec<Tests>, Ran>> {
    let mut command = selection::integration(GatePart::Live)?;
    command.args(["--no-run", "--message-format=json-render-diagnostics"]);
    let ran = step("live-build", 20, command).run()?;
    if !ran.success {
        return Ok(Err(ran));
    }
    let files: Vec<Tests> = ran.lines.iter().filter_map(|line| tests_of(line)).collect();
    ensure!(!files.is_empty(), "cargo names no live tests");
    Ok(Ok(files))
}

/// The tests that a line of cargo's says are built.
fn tests_of(line: &str) -> Option<Tests> {
    let told: Value = line.starts_with('{').then(|| serde_json::from_str(line).ok())??;
    let is_test = told["profile"]["test"].as_bool()? && told["target"]["kind"][0] == "test";
    let program = told["executable"].as_str().filter(|_| is_test)?.into();
    Some(Tests { name: told["target"]["name"].as_str()?.to_owned(), program })
}

/// Runs files, so many at a time.
fn run_files(files: Vec<Tests>, jobs: usize, binary: &PathBuf) -> Result<Vec<Done>> {
    let (queue, done) = (Mutex::new(VecDeque::from(files)), Mutex::new(Vec::new()));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    thread::scope(|scope| {
        let work = || -> Result<()> {
            while let Some(file) = next() {
                let file = run_file(file, binary)?;
                done.lock().unwrap_or_else(PoisonError::into_inner).push(file);
            }
            Ok(())
        };
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("it does not panic"))
    })?;
    Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn run_file(file: Tests, binary: &PathBuf) -> Result<Done> {
    let Tests { name, program } = file;
    let mut command = Command::new(program);
    command.args(["--nocapture", "--test-threads=1"]).env("TIDEGATE_BIN", binary);
    command.current_dir(tree::root().join("tests/live"));
    let began = Instant::now();
    let ran = step(format!("live-{name}"), 15, command).run();
    let ran = ran.with_context(|| format!("cannot run {name}"))?;
    Ok(Done { name, took: began.elapsed(), ran })
}

/// All of them, as one gate.
fn outcome(report: &mut GateReport, done: Vec<Done>) -> GateOutcome {
    let longest = done.iter().take(SHOWN);
    let longest: Vec<String> =
        longest.map(|file| format!("{} {:.0} s", file.name, file.took.as_secs_f64())).collect();
    let (before, mut findings) = (report.tests.passed, Vec::new());
    for file in done {
        if let GateOutcome::Red(found) = file.ran.tests(report, "tests") {
            findings.extend(found);
        }
    }
    match findings.is_empty() {
        true => {
            let passed = report.tests.passed - before;
            GateOutcome::Ok(format!("{passed} tests; longest {}", longest.join(", ")))
        }
        false => GateOutcome::Red(findings),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_apart_by_name_exists() {
        let command = selection::integration(GatePart::Live).expect("no name twice");
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        for name in MEASURING.iter().chain(FIRST) {
            assert!(words.iter().any(|word| word == name), "{name}");
        }
    }

    #[test]
    fn programs_of_tests_are_found_in_what_cargo_says() {
        let told = |kind, test, program| {
            let line = format!(
                r#"{{"reason":"compiler-artifact","target":{{"kind":["{kind}"],"name":"pool"}},
                "profile":{{"test":{test}}},"executable":{program}}}"#
            );
            tests_of(&line).map(|tests| tests.program)
        };
        assert_eq!(told("test", true, r#""/t/pool-1""#), Some("/t/pool-1".into()));
        assert_eq!(told("test", true, "null"), None);
        assert_eq!(told("lib", true, r#""/t/live-1""#), None);
        assert_eq!(told("bin", false, r#""/t/crowd""#), None);
        assert!(tests_of("   Compiling tidegate").is_none());
    }
}
