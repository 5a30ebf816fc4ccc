//! The load: sysbench, its arguments and what it reports.
//!
//! Decides which statements are sent; does not know through what they travel. The percentiles come
//! from sysbench's histogram because it prints only one of them; the average comes from the
//! throughput because it prints too few digits.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use lab::Cluster;

use crate::target::Running;

const ROWS: usize = 10_000;

/// Sysbench has no script that asks for a row by words that it has not used before.
const NEW_KEYS_FILE: &str = "./new_keys.lua";
const NEW_KEYS: &str = "\
require('oltp_common')
function prepare_statements()
  local int = sysbench.sql.type.INT
  stmt[1].new_keys = con:prepare('SELECT c FROM sbtest1 WHERE id=? AND k<>?')
  param[1].new_keys = {stmt[1].new_keys:bind_create(int), stmt[1].new_keys:bind_create(int)}
  stmt[1].new_keys:bind_param(unpack(param[1].new_keys))
end
function event()
  param[1].new_keys[1]:set(sysbench.rand.default(1, sysbench.opt.table_size))
  param[1].new_keys[2]:set(-sysbench.rand.uniform(1, 2147483647))
  stmt[1].new_keys:execute()
end
";

/// One workload of sysbench.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Load {
    script: Script,
    prepared: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Script {
    PointSelect,
    ReadOnly,
    /// Point selects with a second condition that never was before.
    NewKeys,
}

/// What one run reported.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) queries: f64,
    pub(crate) queries_per_s: f64,
    /// Latency of an event: one query of a point select, fourteen of read-only.
    pub(crate) average_us: f64,
    pub(crate) p95_us: f64,
    pub(crate) p99_us: f64,
}

impl Load {
    pub(crate) const POINT_TEXT: Self = Self { script: Script::PointSelect, prepared: false };
    pub(crate) const POINT_PREPARED: Self = Self { script: Script::PointSelect, prepared: true };
    pub(crate) const ALL: [Self; 6] = [
        Self::POINT_TEXT,
        Self::POINT_PREPARED,
        Self { script: Script::ReadOnly, prepared: false },
        Self { script: Script::ReadOnly, prepared: true },
        Self { script: Script::NewKeys, prepared: false },
        Self { script: Script::NewKeys, prepared: true },
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|load| load.to_string() == name)
    }

    fn arguments(self) -> [&'static str; 3] {
        // Without transactions: with them a read/write split has nothing to spread.
        let script = match self.script {
            Script::PointSelect => "oltp_point_select",
            Script::ReadOnly => "oltp_read_only",
            Script::NewKeys => NEW_KEYS_FILE,
        };
        let mode = if self.prepared { "--db-ps-mode=auto" } else { "--db-ps-mode=disable" };
        [script, mode, "--skip-trx=on"]
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = match self.script {
            Script::PointSelect => "point",
            Script::ReadOnly => "read-only",
            Script::NewKeys => "new-keys",
        };
        write!(f, "{script}-{}", if self.prepared { "prepared" } else { "text" })
    }
}

/// Fills the table on the primary; a script goes to that directory.
pub(crate) fn prepare(cluster: &Cluster, dir: &Path) -> Result<()> {
    fs::write(dir.join(NEW_KEYS_FILE), NEW_KEYS).context(NEW_KEYS_FILE)?;
    let mut command = Command::new("sysbench");
    command.args(["oltp_point_select", "--mysql-host=127.0.0.1", "--mysql-db=test"]);
    command.arg(format!("--mysql-port={}", cluster.primary().port));
    command.args(["--mysql-user=app", "--mysql-password=app", "--tables=1"]);
    command.args([&format!("--table-size={ROWS}"), "prepare"]);
    let output = command.output().context("sysbench is not installed (apt install sysbench)")?;
    if !output.status.success() {
        bail!("sysbench prepare:\n{}", String::from_utf8_lossy(&output.stdout));
    }
    Ok(())
}

/// Asks a target for every row, or nearly so, both ways.
pub(crate) fn ask_for_all(to: &Running, dir: &Path) -> Result<()> {
    let uniform = |load| command(to, dir, load, (16, ASKING_SECONDS), &["--rand-type=uniform"]);
    [Load::POINT_TEXT, Load::POINT_PREPARED].into_iter().try_for_each(|load| {
        let output = uniform(load).output().context("sysbench")?;
        told(&output).map(drop)
    })
}

/// The point selects of so many seconds leave none of the rows out, but some of a thousand.
const ASKING_SECONDS: u64 = 8;

/// One run against a target, over so many connections and for so many seconds; its files for TLS
/// are in that directory.
pub(crate) fn run(to: &Running, dir: &Path, load: Load, size: (usize, u64)) -> Result<Outcome> {
    let output = command(to, dir, load, size, &[]).output().context("sysbench")?;
    let text = told(&output)?;
    parse(&text, size.0).with_context(|| format!("sysbench said:\n{text}"))
}

/// What a run said that came to its end.
fn told(output: &Output) -> Result<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || text.contains("FATAL") {
        bail!("sysbench:\n{text}{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(text.into_owned())
}

fn command(
    to: &Running,
    dir: &Path,
    load: Load,
    (connections, seconds): (usize, u64),
    words: &[&str],
) -> Command {
    let ports: Vec<String> = to.ports.iter().map(u16::to_string).collect();
    let mut command = Command::new("sysbench");
    command
        .current_dir(dir)
        .args(load.arguments())
        .args(["--mysql-host=127.0.0.1", "--mysql-db=test"]);
    command.arg(format!("--mysql-port={}", ports.join(",")));
    command.arg(format!("--mysql-ssl={}", if to.in_tls { "on" } else { "off" }));
    command.arg(format!("--mysql-user={}", to.user));
    command.arg(format!("--mysql-password={}", to.user));
    command.args([format!("--threads={connections}"), format!("--time={seconds}")]);
    command.args([format!("--table-size={ROWS}"), "--tables=1".into()]);
    command.args(words).args(["--histogram=on", "--percentile=95", "run"]).stdin(Stdio::null());
    command
}

fn parse(text: &str, connections: usize) -> Result<Outcome> {
    let value = |name: &str| -> Result<f64> {
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix(name));
        let word = line.and_then(|l| l.split_whitespace().next()).context(name.to_owned())?;
        Ok(word.trim_end_matches('s').parse()?)
    };
    let (queries, events) = (value("queries:")?, value("transactions:")?);
    let seconds = value("total time:")?;
    let histogram = histogram(text);
    #[expect(clippy::cast_precision_loss, reason = "a handful of connections")]
    let average_us = connections as f64 * seconds * 1e6 / events;
    Ok(Outcome {
        queries,
        queries_per_s: queries / seconds,
        average_us,
        p95_us: percentile(&histogram, 0.95).context("no histogram")?,
        p99_us: percentile(&histogram, 0.99).context("no histogram")?,
    })
}

/// Lines `0.123 |*****      456` as microseconds and counts.
fn histogram(text: &str) -> Vec<(f64, f64)> {
    let bucket = |line: &str| {
        let (value, rest) = line.split_once('|')?;
        let count = rest.trim_start_matches('*').trim().parse().ok()?;
        Some((value.trim().parse::<f64>().ok()? * 1e3, count))
    };
    text.lines().filter_map(bucket).collect()
}

fn percentile(histogram: &[(f64, f64)], share: f64) -> Option<f64> {
    let total: f64 = histogram.iter().map(|(_, count)| count).sum();
    let mut below = 0.0;
    histogram.iter().find_map(|&(value, count)| {
        below += count;
        (below >= total * share).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "Latency histogram (values are in milliseconds)\n\
        \x20      value  ------------- distribution ------------- count\n\
        \x20      0.050 |******* 90\n       0.100 |** 6\n       2.000 |** 4\n\
        SQL statistics:\n    transactions:     100    (50.00 per sec.)\n\
        \x20   queries:    1400   (700.00 per sec.)\n\
        General statistics:\n    total time:       2.0000s\n";

    #[test]
    fn a_report_is_read() {
        let outcome = parse(REPORT, 4).expect("a whole report");
        assert!((outcome.queries_per_s - 700.0).abs() < 1e-9);
        assert!((outcome.average_us - 80_000.0).abs() < 1e-6);
        assert!((outcome.p95_us - 100.0).abs() < 1e-9);
        assert!((outcome.p99_us - 2000.0).abs() < 1e-9);
    }

    #[test]
    fn loads_have_the_names_they_are_asked_for_by() {
        let names: Vec<_> = Load::ALL.iter().map(ToString::to_string).collect();
        let points = ["point-text", "point-prepared", "read-only-text", "read-only-prepared"];
        assert_eq!(names, [&points[..], &["new-keys-text", "new-keys-prepared"]].concat());
        assert_eq!(Load::named("point-text"), Some(Load::POINT_TEXT));
    }
}
