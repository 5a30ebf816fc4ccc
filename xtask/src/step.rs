//! Runs a program for a gate: with a log, a time limit, and its test results counted.
//!
//! Decides when a program has taken too long; does not know what it is for.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::gate::{GateOutcome, GateReport, Tally};
use crate::tree;

const TAIL_LINES: usize = 80;
const FAILURE_LINES: usize = 60;

/// A program to be run, the name of its log and how long it may take.
pub(crate) struct ProgramRun {
    pub(crate) command: Command,
    pub(crate) log: String,
    pub(crate) limit: Duration,
}

/// What a program left behind.
pub(crate) struct Ran {
    pub(crate) success: bool,
    pub(crate) lines: Vec<String>,
    pub(crate) log: PathBuf,
    pub(crate) tally: Tally,
    pub(crate) skipped: Vec<String>,
}

/// `cargo` with these arguments, in the root of the repository.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(tree::root());
    // Set by the cargo that runs us; they would make the inner one rebuild what depends on them.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "CARGO_PKG_VERSION", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
    command
}

/// Where builds go.
pub(crate) fn target() -> PathBuf {
    let default = || tree::root().join("target");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(default, PathBuf::from)
}

/// A step of so many minutes.
pub(crate) fn step(log: impl Into<String>, minutes: u64, command: Command) -> ProgramRun {
    ProgramRun { command, log: log.into(), limit: Duration::from_secs(minutes * 60) }
}

/// Whether a program is installed.
pub(crate) fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.iter().any(|folder| folder.join(program).is_file())
}

impl ProgramRun {
    /// Runs it to its end, or to its limit.
    pub(crate) fn run(mut self) -> Result<Ran> {
        let folder = target().join("xtask");
        fs::create_dir_all(&folder)?;
        let log = folder.join(format!("{}.log", self.log));
        let (reader, writer) = std::io::pipe()?;
        self.command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let program = self.command.get_program().to_string_lossy().into_owned();
        let mut child = self.command.spawn().with_context(|| format!("cannot start {program}"))?;
        // The command holds the writing ends: the reader sees the end only when they are gone.
        drop(self.command);
        let (sender, lines) = mpsc::channel();
        let file = File::create(&log)?;
        let copier = thread::spawn(move || copy_lines(BufReader::new(reader), file, &sender));
        let mut ran = Ran {
            success: false,
            lines: Vec::new(),
            log,
            tally: Tally::default(),
            skipped: Vec::new(),
        };
        let in_time = ran.gather(&lines, self.limit);
        if !in_time {
            kill_tree(&mut child);
            ran.lines.push(format!("stopped after its limit of {} s", self.limit.as_secs()));
        }
        ran.success = child.wait()?.success() && in_time;
        if in_time {
            copier.join().ok();
        }
        Ok(ran)
    }
}

impl Ran {
    /// Takes lines until the program closes its output; false when the limit passed first.
    fn gather(&mut self, lines: &Receiver<String>, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        loop {
            match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.take(line),
                Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
            }
        }
    }

    fn take(&mut self, line: String) {
        if let Some(tally) = test_result(&line) {
            self.tally.passed += tally.passed;
            self.tally.failed += tally.failed;
        }
        if line.trim_start().starts_with("SKIPPED") {
            self.skipped.push(line.trim().to_owned());
        }
        self.lines.push(line);
    }

    /// Green when the program said so; else its last lines.
    pub(crate) fn outcome(self, detail: &str) -> GateOutcome {
        if self.success {
            return GateOutcome::Ok(detail.to_owned());
        }
        let from = self.lines.len().saturating_sub(TAIL_LINES);
        let mut tail = self.lines;
        tail.drain(..from);
        tail.push(format!("(whole output: {})", self.log.display()));
        GateOutcome::Red(vec![tail.join("\n  ")])
    }

    /// The same for test runs: adds their counts to the report.
    pub(crate) fn tests(self, report: &mut GateReport, what: &str) -> GateOutcome {
        report.tests.passed += self.tally.passed;
        report.tests.failed += self.tally.failed;
        report.skipped_tests.extend(self.skipped.iter().cloned());
        let detail = match self.skipped.len() {
            0 => format!("{} {what}", self.tally.passed),
            skipped => format!("{} {what}, {skipped} SKIPPED", self.tally.passed),
        };
        if !self.success && self.tally.failed == 0 {
            report.tests.failed += 1;
            return self.outcome(&detail);
        }
        if self.success {
            return GateOutcome::Ok(detail);
        }
        let mut failures = failures(&self.lines);
        failures.push(format!("(whole output: {})", self.log.display()));
        GateOutcome::Red(failures)
    }
}

fn copy_lines(mut from: impl BufRead, mut log: File, to: &mpsc::Sender<String>) {
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        let written = log.write_all(&line);
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if written.is_err() || to.send(text).is_err() {
            return;
        }
        line.clear();
    }
}

/// What failed tests said: their sections `---- name stdout ----` where output was captured, else
/// every panic and failed test; without stacks.
fn failures(lines: &[String]) -> Vec<String> {
    let starting_with = |start: fn(&str) -> bool| {
        let heads = lines.iter().enumerate().filter(move |(_, line)| start(line));
        heads.map(|(at, _)| section(&lines[at..])).collect::<Vec<_>>()
    };
    let mut found = starting_with(|line| line.starts_with("---- "));
    found.retain(|section| section.contains("panicked at") || section.contains("Error:"));
    if found.is_empty() {
        found = starting_with(|line| line.contains("panicked at"));
        let failed = |line: &&String| line.starts_with("test ") && line.ends_with("FAILED");
        found.extend(lines.iter().filter(failed).cloned());
    }
    found
}

/// The first line, and those behind it that belong to it.
fn section(lines: &[String]) -> String {
    const ENDS: [&str; 6] =
        ["---- ", "failures:", "successes:", "stack backtrace:", "note: ", "test "];
    let body = lines.iter().skip(1);
    let body = body.take_while(|line| !ENDS.iter().any(|end| line.starts_with(end)));
    let all = lines.iter().take(1).chain(body).take(FAILURE_LINES);
    all.map(String::as_str).collect::<Vec<_>>().join("\n    ")
}

/// The counts of a line `test result: ok. 3 passed; 0 failed; …`.
fn test_result(line: &str) -> Option<Tally> {
    let rest = line.trim_start().strip_prefix("test result: ")?;
    let count = |what: &str| {
        let before = rest.split(what).next()?;
        before.trim_end().rsplit([' ', ';']).next()?.parse().ok()
    };
    Some(Tally { passed: count("passed")?, failed: count("failed")? })
}

/// Kills a child and everything it started, by their process ids.
fn kill_tree(child: &mut Child) {
    let mut doomed = vec![child.id()];
    let mut at = 0;
    while let Some(&parent) = doomed.get(at) {
        doomed.extend(children_of(parent));
        at += 1;
    }
    for pid in doomed.iter().rev() {
        Command::new("kill").args(["-KILL", &pid.to_string()]).stderr(Stdio::null()).status().ok();
    }
}

fn children_of(parent: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| parent_of(*pid) == Some(parent)).collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_results_are_counted() {
        let line = "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured";
        assert_eq!(test_result(line), Some(Tally { passed: 12, failed: 3 }));
        assert_eq!(test_result("test foo ... ok"), None);
    }

    #[test]
    fn only_the_sections_of_failed_tests_are_shown() {
        let text = "---- a stdout ----\nfine\n\nfailures:\n\n---- b stdout ----\n\nthread 'b' \
                    panicked at x:1:1:\nleft: 1\nstack backtrace:\n 0: y\nfailures:\n    b";
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let found = failures(&lines);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("left: 1") && !found[0].contains("0: y"));
    }

    #[test]
    fn output_of_both_streams_is_kept_and_skips_are_noticed() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo 'SKIPPED two' >&2; exit 3"]);
        let ran = step("test-of-step", 1, command).run().expect("sh is everywhere");
        assert!(!ran.success);
        assert_eq!(ran.lines.len(), 2);
        assert_eq!(ran.skipped, ["SKIPPED two"]);
    }

    #[test]
    fn a_program_past_its_limit_is_stopped_with_its_children() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo on; tail -f /dev/null | cat"]);
        let step =
            ProgramRun { command, log: "test-of-limit".into(), limit: Duration::from_millis(300) };
        let ran = step.run().expect("sh is everywhere");
        assert!(!ran.success);
        assert!(ran.lines.last().is_some_and(|l| l.contains("limit")));
    }
}
