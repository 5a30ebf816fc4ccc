//! `cargo xtask fuzz`: every target under `fuzz/` for a while, without anything to install.
//!
//! Decides how targets are built: libFuzzer is a crate, and the compiler's own coverage pass works
//! in every toolchain, so neither cargo-fuzz nor a nightly compiler is needed. Code without
//! `unsafe` needs no address sanitizer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::step::{ProgramRun, cargo, target};
use crate::tree;

const PLATFORM: &str = "x86_64-unknown-linux-gnu";

const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cdebug-assertions -Coverflow-checks -Ccodegen-units=1";

/// Runs all targets, or those named, for so many seconds each.
pub(crate) fn run(seconds: u64, only: &[String]) -> Result<()> {
    let root = tree::root();
    let names: Vec<String> =
        targets(&root)?.into_iter().filter(|name| only.is_empty() || only.contains(name)).collect();
    if names.is_empty() {
        bail!("no such target in fuzz/Cargo.toml");
    }
    let folder = build(&root)?;
    let mut found = Vec::new();
    for name in names {
        if !fuzz(&root, &folder.join(&name), &name, seconds)? {
            found.push(name);
        }
    }
    if found.is_empty() {
        println!("fuzz: nothing found");
        return Ok(());
    }
    bail!("findings in {}: see fuzz/artifacts", found.join(", "))
}

/// The names of the `[[bin]]` tables.
fn targets(root: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join("fuzz/Cargo.toml")).context("fuzz/Cargo.toml")?;
    Ok(bin_names(&text))
}

fn bin_names(text: &str) -> Vec<String> {
    let tables = text.split("[[bin]]").skip(1);
    let name = |table: &str| {
        let line = table.lines().find(|line| line.trim_start().starts_with("name"))?;
        Some(line.split('"').nth(1)?.to_owned())
    };
    tables.filter_map(name).collect()
}

fn build(root: &Path) -> Result<PathBuf> {
    let folder = target().join("fuzz");
    let mut command = cargo(&["build", "--release", "--bins", "--target", PLATFORM]);
    command.current_dir(root.join("fuzz")).env("CARGO_TARGET_DIR", &folder);
    command.env("RUSTFLAGS", FLAGS);
    if !command.status().context("cargo")?.success() {
        bail!("the targets do not build");
    }
    Ok(folder.join(PLATFORM).join("release"))
}

/// Whether a target ended without a finding.
fn fuzz(root: &Path, binary: &Path, name: &str, seconds: u64) -> Result<bool> {
    let corpus = root.join("fuzz/corpus").join(name);
    let artifacts = root.join("fuzz/artifacts").join(name);
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&artifacts)?;
    let mut command = Command::new(binary);
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    command.args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"]);
    command.arg(&corpus);
    let limit = Duration::from_secs(seconds + 120);
    let ran = ProgramRun { command, log: "fuzz".into(), limit }.run()?;
    let figure = |name: &str| {
        let line = ran.lines.iter().find_map(|line| line.strip_prefix(name));
        line.map_or("?", |rest| rest.trim_start_matches([':', ' ']))
    };
    let (runs, rate) =
        (figure("stat::number_of_executed_units"), figure("stat::average_exec_per_sec"));
    println!("fuzz: {name}: {runs} runs, {rate} a second");
    if !ran.success {
        println!("{}", ran.lines[ran.lines.len().saturating_sub(60)..].join("\n"));
    }
    Ok(ran.success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_the_bins_of_the_manifest() {
        let text = "[package]\nname = \"x\"\n[[bin]]\nname = \"frame\"\npath = \"a\"\n\n[[bin]]\n\
                    path = \"b\"\nname = \"lexer\"\n";
        assert_eq!(bin_names(text), ["frame", "lexer"]);
    }
}
