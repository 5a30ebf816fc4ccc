//! What the figures were measured on.
//!
//! Decides nothing; it asks the system and the programs.

use std::fs;
use std::process::Command;

use lab::Cluster;

/// Lines `name: value` about the machine and the versions of everything involved.
pub(crate) fn describe(cluster: &Cluster) -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpus = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.map_or("?", |m| m.trim_start_matches([' ', '\t', ':']));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    // behind the version stands whose machine it is
    let kernel = kernel.trim().split('-').next().unwrap_or_default();
    let server = cluster.primary().value("SELECT VERSION()").unwrap_or_default();
    let lines = [
        format!("machine: {cpus} × {model}, Linux {kernel}"),
        format!("servers: {server}, a primary and two replicas on the same machine"),
        format!("load: {}", version("sysbench", &["--version"])),
        format!("beside: {}", version("/usr/sbin/haproxy", &["-v"])),
        format!("commit: {}", version("git", &["rev-parse", "--short", "HEAD"])),
        format!("compiler: {}", version("rustc", &["--version"])),
        format!("running beside the benchmark when it began: {}", others()),
    ];
    lines.join("\n")
}

/// How many tasks want to run while nothing of the benchmark's does, a minute's mean.
fn others() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!("load {}", load.split(' ').next().unwrap_or("?"))
}

fn version(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text: String =
        output.map_or_else(|_| "?".into(), |o| String::from_utf8_lossy(&o.stdout).into());
    text.lines().next().unwrap_or("?").split(" - http").next().unwrap_or("?").to_owned()
}
