//! M13: instructions per pass of each scenario, against a committed baseline.
//!
//! Decides how they are counted and how much more is too much. The scenarios are those of
//! `bench/icount`. Callgrind counts inside one function only, so that setting up costs nothing. A
//! count depends on the compiler, whose version the baseline records.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, bail};

use crate::gate::GateOutcome;
use crate::step::{cargo, installed, step, target};
use crate::tree;

const BASELINE: &str = "bench/icount/baseline.txt";
/// Passes that a count is the mean of.
const PASSES: u64 = 50;
/// The function inside which instructions are counted.
const COUNTED: &str = "--toggle-collect=*counted_passes*";
/// Keeps whatever is freed at hand for the next allocation of its size (glibc's manual, "Memory
/// Allocation Tunables"). By default large blocks are merged with their neighbours at times, which
/// depends on where they happen to lie: 3 % of a handshake.
const ALLOCATOR: (&str, &str) =
    ("GLIBC_TUNABLES", "glibc.malloc.tcache_max=1048576:glibc.malloc.tcache_count=1000");
/// How much a count may grow before the gate is red, in thousandths.
const GROWTH_PER_MILLE: u64 = 30;

/// Counts every scenario and holds it against the baseline.
pub(crate) fn check() -> Result<GateOutcome> {
    if !installed("valgrind") {
        return Ok(GateOutcome::Skipped("valgrind is not installed".into()));
    }
    let Some((recorded, baseline)) = read_baseline()? else {
        return Ok(GateOutcome::Red(vec![format!("{BASELINE} is not there: {BLESS}")]));
    };
    let compiler = compiler()?;
    if recorded != compiler {
        let why = format!("the baseline is of `{recorded}`, this is `{compiler}`: {BLESS}");
        return Ok(GateOutcome::Skipped(why));
    }
    let counted = count()?;
    let complaints = compare(&baseline, &counted);
    if complaints.is_empty() {
        return Ok(GateOutcome::Ok(format!("{} scenarios within 3 %", counted.len())));
    }
    Ok(GateOutcome::Red(complaints))
}

/// Prints the counts beside the baseline; with `--bless`, makes them the baseline.
pub(crate) fn run(rest: &[String]) -> Result<()> {
    let counted = count()?;
    let (_, before) = read_baseline()?.unwrap_or_default();
    for (name, count) in &counted {
        match before.get(name) {
            Some(&was) => println!("{name:<20} {count:>10}  was {was}, {}", change(was, *count)),
            None => println!("{name:<20} {count:>10}  new"),
        }
    }
    if rest.iter().any(|a| a == "--bless") {
        let rows: Vec<String> = counted.iter().map(|(name, n)| format!("{name} {n}\n")).collect();
        let text = format!("{HEAD}compiler: {}\n{}", compiler()?, rows.concat());
        fs::write(tree::root().join(BASELINE), text)?;
        println!("written: {BASELINE}");
    }
    Ok(())
}

const BLESS: &str = "run `cargo xtask icount --bless` and say in the commit what changed";
const HEAD: &str = "\
# Instructions per pass under callgrind, by `cargo xtask icount --bless`. More than 3 % above a line
# fails `make test`; counts are comparable only for the same compiler.
";

fn compare(baseline: &BTreeMap<String, u64>, counted: &BTreeMap<String, u64>) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, &count) in counted {
        match baseline.get(name) {
            None => complaints.push(format!("{name} has no line in {BASELINE}: {BLESS}")),
            Some(&was) if count > was + was * GROWTH_PER_MILLE / 1000 => {
                let change = change(was, count);
                complaints.push(format!("{name}: {was} instructions became {count} ({change})"));
            }
            Some(_) => {}
        }
    }
    let gone = baseline.keys().filter(|name| !counted.contains_key(*name));
    complaints.extend(gone.map(|name| format!("{name} is no scenario any more: {BLESS}")));
    if !complaints.is_empty() {
        complaints.push(format!("if that is right: {BLESS}"));
    }
    complaints
}

fn change(was: u64, now: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "instructions of one pass")]
    let percent = (now as f64 / was as f64 - 1.0) * 100.0;
    format!("{percent:+.1} %")
}

fn count() -> Result<BTreeMap<String, u64>> {
    let binary = build("icount")?;
    let names = Command::new(&binary).arg("--list").output().context("icount --list")?;
    let names = String::from_utf8(names.stdout)?;
    let names: Vec<&str> = names.lines().collect();
    // what runs beside it changes no count; each takes the next one
    let next = AtomicUsize::new(0);
    let each = |log| -> Result<BTreeMap<String, u64>> {
        let mut counted = BTreeMap::new();
        while let Some(&name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            counted.insert(name.to_owned(), instructions(&binary, name, log)? / PASSES);
        }
        Ok(counted)
    };
    thread::scope(|scope| {
        let others = scope.spawn(|| each("icount-others"));
        let mut counted = each("icount")?;
        counted.extend(others.join().expect("no panic")?);
        Ok(counted)
    })
}

/// Builds a program of `bench/icount` as a release is; gives where it is.
pub(crate) fn build(program: &str) -> Result<PathBuf> {
    let arguments = ["build", "--locked", "--profile", "counted", "-p", "tidegate-icount"];
    let mut command = cargo(&arguments);
    command.args(["--bin", program]);
    let built = step("icount-build", 15, command).run()?;
    if !built.success {
        bail!("{}", built.lines.join("\n"));
    }
    Ok(target().join("counted").join(program))
}

fn instructions(binary: &Path, scenario: &str, log: &'static str) -> Result<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", COUNTED]);
    command.arg(binary).args([scenario, &PASSES.to_string()]).env(ALLOCATOR.0, ALLOCATOR.1);
    let ran = step(log, 5, command).run()?;
    let collected = ran.lines.iter().find_map(|l| l.split("Collected :").nth(1));
    match (ran.success, collected) {
        (true, Some(count)) => Ok(count.trim().parse()?),
        _ => bail!("{scenario}:\n{}", ran.lines.join("\n")),
    }
}

fn compiler() -> Result<String> {
    let output = Command::new("rustc").arg("--version").output().context("rustc")?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// The compiler it was made with, and the counts by scenario.
fn read_baseline() -> Result<Option<(String, BTreeMap<String, u64>)>> {
    match fs::read_to_string(tree::root().join(BASELINE)) {
        Ok(text) => parse(&text).map(Some),
        Err(_) => Ok(None),
    }
}

fn parse(text: &str) -> Result<(String, BTreeMap<String, u64>)> {
    let mut compiler = String::new();
    let mut counts = BTreeMap::new();
    for line in text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()) {
        if let Some(version) = line.strip_prefix("compiler: ") {
            version.clone_into(&mut compiler);
            continue;
        }
        let (name, count) = line.split_once(' ').with_context(|| format!("{BASELINE}: {line}"))?;
        counts.insert(name.to_owned(), count.trim().parse()?);
    }
    Ok((compiler, counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> BTreeMap<String, u64> {
        parse(text).expect("well-formed").1
    }

    #[test]
    fn three_percent_more_are_allowed_and_four_are_not() {
        let baseline = counts("compiler: x\nframing 100\nlexing 1000\n");
        assert!(compare(&baseline, &counts("framing 103\nlexing 900\n")).is_empty());
        let complaints = compare(&baseline, &counts("framing 104\nlexing 1000\n"));
        assert!(complaints[0].contains("framing: 100 instructions became 104 (+4.0 %)"));
        assert!(complaints[1].contains("--bless"));
    }

    #[test]
    fn scenarios_and_lines_must_match() {
        let complaints = compare(&counts("a 1\n"), &counts("b 1\n"));
        assert!(complaints[0].starts_with("b has no line"));
        assert!(complaints[1].starts_with("a is no scenario"));
    }
}
