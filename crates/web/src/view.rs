//! What there is to be seen of the process at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::first_bytes::HeaderCounts;
use engine::snapshot::Snapshot;
use engine::stats::{Collected, LogStreamRow, Parts};

/// The process that is looked at. `server` answers with workers behind it, tests with a fake.
pub trait Process: Send + Sync {
    /// How things stand; may wait for workers, for a limited time.
    fn look(&self, parts: Parts) -> View;

    /// The configuration in force.
    fn snapshot(&self) -> Arc<Snapshot>;

    /// What clients have TLS from; `None` where they can have none.
    fn acceptor(&self) -> Option<Arc<tls::Acceptor>>;

    /// Where headers of the PROXY protocol are counted.
    fn header_counts(&self) -> Arc<HeaderCounts>;
}

/// How things stand.
#[derive(Clone)]
pub struct View {
    /// What workers counted.
    pub collected: Arc<Collected>,
    /// How many workers there are.
    pub workers: usize,
    /// How many of them answered in time.
    pub answered: usize,
    /// Numbers of `stats_mysql_global` by name; those that are not counted are left out.
    pub status: BTreeMap<String, u64>,
    /// The configuration in force.
    pub snapshot: Arc<Snapshot>,
    /// Whether clients are accepted.
    pub serving: Serving,
    /// Seconds since the process began.
    pub uptime_s: u64,
    /// Version of the program.
    pub version: &'static str,
    /// What the system knows of the process.
    pub system: System,
    /// Files of certificates in use, and until when these are good, in seconds since 1970.
    pub certificates: Vec<(String, i64)>,
    /// How the logs of servers are followed.
    pub log_streams: Vec<LogStreamRow>,
    /// Lines of the log that were dropped because nobody took them.
    pub log_lines_lost: u64,
}

/// Whether clients are accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Serving {
    /// They are.
    Open,
    /// Not for now, as an administrator wants it: who is there may end a transaction.
    Paused,
    /// Not for now, as an administrator wants it: nobody is served.
    Stopped,
    /// Never again: the process is about to end.
    Draining,
}

/// What the system knows of the process; zero where it cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct System {
    /// Memory that it holds, in bytes.
    pub resident_bytes: u64,
    /// Files and sockets that it has open.
    pub open_files: u64,
    /// Processor time that it has used, in milliseconds.
    pub cpu_ms: u64,
}

impl System {
    /// As it is now.
    pub fn read() -> Self {
        let word = |file: &str, at: usize| -> u64 {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            // the second field of `stat` is a name and may have blanks
            let text = text.rsplit_once(')').map_or(text.as_str(), |(_, rest)| rest);
            text.split_whitespace().nth(at).and_then(|word| word.parse().ok()).unwrap_or(0)
        };
        let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        let ticks = word("/proc/self/stat", 11) + word("/proc/self/stat", 12);
        Self {
            resident_bytes: word("/proc/self/statm", 1) * PAGE_BYTES,
            // the directory itself is open while it is read
            open_files: (open as u64).saturating_sub(1),
            cpu_ms: ticks * TICK_MS,
        }
    }
}

/// Bytes of a page of memory.
const PAGE_BYTES: u64 = 4096;
/// Milliseconds of a tick in which Linux tells processor time.
const TICK_MS: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_knows_a_running_process() {
        let system = System::read();
        assert!(system.resident_bytes > 1 << 20, "{system:?}");
        assert!(system.open_files >= 3, "{system:?}");
    }
}
