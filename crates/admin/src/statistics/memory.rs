//! `stats_memory_metrics`: what the resident memory of the process is used for.
//!
//! Every byte is in one row only, so that all rows but the first add up to it. The rows are pages
//! of files that the process runs from, stacks, and the heap by its users.

use std::fs;

use engine::rows::{FastRoutingRow, RuleRow};
use engine::snapshot::{Draft, Snapshot};
use engine::stats::{Parts, Walk};

use super::always_zero_table::MEMORY;
use super::{LiveTable, Row, Seen, text};

pub(super) const TABLE: LiveTable = LiveTable {
    name: "stats_memory_metrics",
    parts: Some(Parts { sessions: Some(Walk::SUMS), lanes: Some(Walk::SUMS), ..Parts::NONE }),
    rows,
};

/// Resident memory by what the system knows of it, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Resident {
    /// Pages of the program, of libraries, and their data.
    pub(crate) program: u64,
    /// Stacks of threads.
    pub(crate) stacks: u64,
    /// Everything else: the heap.
    pub(crate) heap: u64,
}

/// What the process has in memory now; nothing where the system does not tell.
pub(crate) fn resident() -> Resident {
    of_smaps(&fs::read_to_string("/proc/self/smaps").unwrap_or_default())
}

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    let heap = io::heap();
    let resident = resident();
    let parts = parts(seen);
    let known: u64 = parts.iter().map(|(_, bytes)| bytes).sum();
    let total = resident.program + resident.stacks + resident.heap;
    // what was asked for and never written to is in no memory
    let other = heap.in_use.min(resident.heap).saturating_sub(known);
    let free = resident.heap.saturating_sub(known + other);
    let mut all = vec![("resident_memory", total)];
    all.extend(parts);
    all.extend([
        ("heap_other_memory", other),
        ("heap_free_memory", free),
        ("program_memory", resident.program),
        ("stack_memory_mysql_threads", resident.stacks),
    ]);
    all.extend(MEMORY.iter().flat_map(|(_, names)| names.iter().map(|name| (*name, 0))));
    all.into_iter().map(|(name, bytes)| vec![text(name), text(bytes.to_string())]).collect()
}

/// The heap by who asked for it, as far as that is known.
fn parts(seen: &Seen<'_>) -> Vec<(&'static str, u64)> {
    let all = seen.collected;
    let users = &seen.snapshot.users;
    let sessions = &all.session_page;
    let bytes = |bytes: usize| bytes as u64;
    let accounts: usize = users.iter().map(|account| account.bytes()).sum();
    vec![
        ("SQLite3_memory_bytes", seen.interface.sqlite_bytes),
        ("query_digest_memory", bytes(all.digest_bytes)),
        ("query_cache_memory", all.cache.bytes),
        ("server_and_error_statistics_memory", bytes(all.other_bytes)),
        ("Auth_memory", bytes(accounts)),
        ("mysql_query_rules_memory", bytes(bytes_of_rules(seen.snapshot))),
        ("prepare_statement_metadata_memory", bytes(sessions.statement_bytes)),
        ("client_sessions_memory", bytes(sessions.bytes)),
        ("backend_connections_memory", bytes(all.pool_page.bytes)),
        ("command_buffers_memory", bytes(all.spare_bytes)),
    ]
}

/// Bytes of rules as they were typed.
pub fn bytes_of_rules(snapshot: &Snapshot) -> usize {
    let Draft { rules, fast_routing, .. } = &*snapshot.draft;
    let rules: usize = rules.iter().map(bytes_of_rule).sum();
    rules + fast_routing.len() * size_of::<FastRoutingRow>()
}

/// Bytes of a rule as it was typed; what it is compiled to is in `heap_other_memory`.
fn bytes_of_rule(rule: &RuleRow) -> usize {
    let texts = [
        &rule.username,
        &rule.schemaname,
        &rule.client_addr,
        &rule.digest,
        &rule.match_digest,
        &rule.match_pattern,
        &rule.re_modifiers,
        &rule.replace_pattern,
        &rule.error_msg,
        &rule.ok_msg,
        &rule.comment,
    ];
    size_of::<RuleRow>()
        + texts.iter().filter_map(|text| text.as_deref()).map(str::len).sum::<usize>()
}

/// Adds up what the kernel tells of each mapping.
fn of_smaps(text: &str) -> Resident {
    let mut sums = Resident::default();
    let mut kind = Kind::Heap;
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        match (words.next(), words.next()) {
            (Some("Rss:"), Some(kilobytes)) => {
                let bytes = kilobytes.parse::<u64>().unwrap_or(0) * 1024;
                match kind {
                    Kind::Program => sums.program += bytes,
                    Kind::Stack => sums.stacks += bytes,
                    Kind::Heap => sums.heap += bytes,
                }
            }
            (Some(range), Some(_)) if !range.ends_with(':') => {
                kind = kind_of(range, words.nth(3).unwrap_or_default());
            }
            _ => {}
        }
    }
    sums
}

#[derive(Clone, Copy)]
enum Kind {
    Program,
    Stack,
    Heap,
}

/// What a mapping is, by its addresses and its name.
fn kind_of(range: &str, name: &str) -> Kind {
    let at = |text: &str| u64::from_str_radix(text, 16).unwrap_or(0);
    let len = range.split_once('-').map_or(0, |(from, to)| at(to).saturating_sub(at(from)));
    match name {
        "[heap]" => Kind::Heap,
        "[stack]" => Kind::Stack,
        "" if STACK_BYTES.contains(&len) => Kind::Stack,
        "" => Kind::Heap,
        _ => Kind::Program,
    }
}

/// How long the mapping of a thread's stack is: 2 MB and what the system adds.
const STACK_BYTES: std::ops::RangeInclusive<u64> = (2 << 20)..=(2 << 20) + (64 << 10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_told_apart_by_name_and_length() {
        let smaps = "55a0-55b0 r-xp 00000000 fe:01 123 /usr/bin/tidegate\nSize: 64 kB\nRss: 40 kB\n\
            VmFlags: rd ex mr\n1000-2000 rw-p 00000000 00:00 0 [heap]\nRss: 4 kB\n\
            7f0000000000-7f0000201000 rw-p 00000000 00:00 0 \nRss: 12 kB\n\
            7f1000000000-7f1004000000 rw-p 00000000 00:00 0 \nRss: 100 kB\nSwap: 9 kB\n\
            7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\nRss: 8 kB\n";
        let found = of_smaps(smaps);
        assert_eq!((found.program, found.stacks, found.heap), (40 << 10, 20 << 10, 104 << 10));
    }
}
