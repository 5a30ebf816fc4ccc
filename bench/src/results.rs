//! The table that is kept, as Markdown.
//!
//! Decides its columns; the figures are `figures`'.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::figures::{Cell, Sample, Table};
use crate::options::Options;

const INTRODUCTION: &str = "\
# Benchmark results

Written by `make bench`; do not edit. Load, servers and proxy share one machine, so only the ratios
within one run mean anything. Every target runs in every round, in turn; figures are medians over
the rounds, ratios are taken within a round and shown as median (smallest–largest). Every proxy has
one thread and reaches the same two replicas. CPU is the proxy's own, for a query. `direct` is
sysbench spreading its connections over the replicas itself. `added latency` is what a target adds
to the average of `direct`, divided by what HAProxy adds, between medians. Read-only runs without
transactions; its latencies are those of fourteen queries. `haproxy-tls` and `split-tls` have TLS
towards clients and servers, and the one is beside the other. HAProxy speaks none of MySQL's TLS:
three more of it put TLS on and take it off around the one that is measured. Its throughput is
theirs too, its CPU its own. `cached` is `split` with all reads in the query cache. Point selects
were all asked before, and are hits; those of new keys never were, and are misses.
";

const HEAD: &str = "\
| connections | target | queries/s | average us | p95 us | p99 us | user us | system us | RSS MiB \
| throughput to HAProxy | CPU to HAProxy | added latency to HAProxy |
|---|---|---|---|---|---|---|---|---|---|---|---|
";

pub(crate) fn write(path: &Path, table: &Table, machine: &str, options: &Options) -> Result<()> {
    let mut text = String::from(INTRODUCTION);
    text += "\n";
    for line in machine.lines() {
        let _ = writeln!(text, "- {line}");
    }
    let _ = writeln!(text, "- rounds: {} of {} s each", options.rounds, options.seconds);
    let _ = writeln!(text, "- rerun: `make bench OPTIONS=\"{}\"`", options.arguments.join(" "));
    let mut load = None;
    for cell in table.cells() {
        if load.replace(cell.load) != Some(cell.load) {
            let _ = write!(text, "\n## {}\n\n{HEAD}", cell.load);
        }
        text += &row(table, cell);
    }
    fs::write(path, text).with_context(|| path.display().to_string())
}

fn row(table: &Table, cell: Cell) -> String {
    let figure = |digits: usize, of: fn(&Sample) -> Option<f64>| {
        table.median(cell, of).map_or("–".into(), |value| format!("{value:.digits$}"))
    };
    let ratio = |of: fn(&Sample) -> Option<f64>| {
        table.to_haproxy(cell, of).map_or("–".into(), |spread| spread.to_string())
    };
    let added = table.added_latency_to_haproxy(cell);
    let columns = [
        cell.connections.to_string(),
        cell.target.name().to_owned(),
        figure(0, |s| Some(s.queries_per_s)),
        figure(1, |s| Some(s.average_us)),
        figure(0, |s| Some(s.p95_us)),
        figure(0, |s| Some(s.p99_us)),
        figure(2, |s| s.user_us),
        figure(2, |s| s.system_us),
        figure(1, |s| s.rss_kib.map(rss_mib)),
        ratio(|s| Some(s.queries_per_s)),
        ratio(Sample::cpu_us),
        added.map_or("–".into(), |value| format!("{value:.2}")),
    ];
    format!("| {} |\n", columns.join(" | "))
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52 KiB")]
fn rss_mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}
