//! The Debian packages that the live tests and the benchmark want.
//!
//! Decides what is missing and installs it when that is possible without asking. What stays
//! missing is said, never an error: the tests that need it say so themselves.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::step::{installed, step};
use crate::tree;

const LIST: &str = "tests/live/packages.txt";
const ALWAYS: [&str; 2] = ["valgrind", "mariadb-server-core"];

/// Installs what is missing; prints what was done and what could not be.
pub(crate) fn ensure() -> Result<()> {
    if !installed("dpkg-query") || !installed("apt-get") {
        println!("packages: not a Debian system; nothing is installed, tests may be skipped");
        return Ok(());
    }
    let missing = missing();
    if missing.is_empty() {
        println!("packages: all {} are there", wanted().len());
        return Ok(());
    }
    if !is_root() {
        println!("packages: MISSING {} (not root: install them yourself)", missing.join(" "));
        return Ok(());
    }
    println!("packages: installing {}", missing.join(" "));
    apt(&["update", "-q"])?;
    let mut arguments = vec!["install", "-y", "-q", "--no-install-recommends"];
    arguments.extend(missing.iter().map(String::as_str));
    if !apt(&arguments)? {
        // One unknown name must not cost all the others.
        for package in &missing {
            apt(&["install", "-y", "-q", "--no-install-recommends", package])?;
        }
    }
    let left = self::missing();
    if !left.is_empty() {
        println!("packages: MISSING {} (could not be installed)", left.join(" "));
    }
    Ok(())
}

fn wanted() -> Vec<String> {
    let text = fs::read_to_string(tree::root().join(LIST)).unwrap_or_default();
    let listed = text.lines().map(|l| l.split('#').next().unwrap_or("").trim().to_owned());
    let mut wanted: Vec<String> = ALWAYS.iter().map(|&p| p.to_owned()).collect();
    wanted.extend(listed.filter(|l| !l.is_empty()));
    wanted.sort();
    wanted.dedup();
    wanted
}

/// A line may offer alternatives, `nodejs | node`: one of them is enough.
fn missing() -> Vec<String> {
    let satisfied = |line: &String| line.split('|').any(|package| is_installed(package.trim()));
    let missing = wanted().into_iter().filter(|line| !satisfied(line));
    missing.map(|line| line.split('|').next().unwrap_or("").trim().to_owned()).collect()
}

fn is_installed(package: &str) -> bool {
    let query = ["-W", "-f", "${Status}", package];
    let output = Command::new("dpkg-query").args(query).stderr(Stdio::null()).output();
    output.is_ok_and(|o| String::from_utf8_lossy(&o.stdout).contains("install ok installed"))
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|o| o.stdout.starts_with(b"0\n"))
}

fn apt(arguments: &[&str]) -> Result<bool> {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    // Services of installed packages are not started: the tests start servers of their own.
    command.env("RUNLEVEL", "1");
    Ok(step("apt", 10, command).run()?.success)
}
