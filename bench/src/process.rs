//! A proxy under measurement: started, asked what it used, stopped.
//!
//! Decides nothing; it knows no proxy.

use std::fs::{self, File};
use std::io::Read;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

const START_LIMIT: Duration = Duration::from_secs(20);
/// The unit of `/proc/PID/stat`: 100 a second on every Linux that user space sees.
const TICK_US: f64 = 10_000.0;

/// A started proxy; dropping it kills it.
pub(crate) struct Process {
    child: Child,
}

/// What a process has used since it began.
pub(crate) struct Usage {
    pub(crate) user_us: f64,
    pub(crate) system_us: f64,
    pub(crate) rss_kib: u64,
}

impl Process {
    /// Starts it with its output in `log`, and waits until it accepts on the port.
    pub(crate) fn start(mut command: Command, port: u16, log: &Path) -> Result<Self> {
        let output = File::create(log).with_context(|| log.display().to_string())?;
        // The relay ends with its input: it is held open.
        command.stdin(Stdio::piped()).stdout(output.try_clone()?).stderr(output);
        let child = command.spawn().with_context(|| format!("{command:?}"))?;
        let mut process = Self { child };
        let end = Instant::now() + START_LIMIT;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = process.child.try_wait()? {
                bail!("it ended with {status}:\n{}", tail(log));
            }
            if Instant::now() > end {
                bail!("it does not listen on {port}:\n{}", tail(log));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(process)
    }

    pub(crate) fn usage(&self) -> Result<Usage> {
        let folder = format!("/proc/{}", self.child.id());
        let stat = fs::read_to_string(format!("{folder}/stat")).context("it is gone")?;
        let status = fs::read_to_string(format!("{folder}/status"))?;
        parse_usage(&stat, &status).context("unreadable /proc")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}

fn parse_usage(stat: &str, status: &str) -> Option<Usage> {
    // The name in parentheses may hold blanks; the fields behind it are counted from there.
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    let (user, system) = (ticks()?, ticks()?);
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(Usage {
        user_us: user * TICK_US,
        system_us: system * TICK_US,
        rss_kib: rss.trim().trim_end_matches(" kB").parse().ok()?,
    })
}

fn tail(log: &Path) -> String {
    let mut text = String::new();
    if let Ok(mut file) = File::open(log) {
        drop(file.read_to_string(&mut text));
    }
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_memory_are_read_behind_the_name() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20";
        let status = "Name:\ta\nVmRSS:\t    1234 kB\n";
        let usage = parse_usage(stat, status).expect("well formed");
        assert_eq!((usage.user_us, usage.system_us), (2_500_000.0, 500_000.0));
        assert_eq!(usage.rss_kib, 1234);
    }
}
