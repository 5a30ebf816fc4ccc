//! Places in the logs of a simulation, what servers say that they have, and which these are.

use binlog::{Gtid, Position};
use engine::catalog::table_key;
use engine::topology::ServerRef;
use following::Cascades;
use keeper::gtid_sets::GtidSet;

use crate::data::{Followable, LogEntry, SCHEMA, TABLES, VIEW};
use crate::mysqld::SERVERS;

/// Entries of a file of a log.
const FILE_ENTRIES: usize = 8;

/// Bytes of an entry, and of each of its events.
const ENTRY_BYTES: usize = 1000;
const EVENT_BYTES: usize = 100;

fn place(entry: usize, offset: usize) -> Position {
    let (file, at) = (entry / FILE_ENTRIES, entry % FILE_ENTRIES);
    let file = format!("b.{:06}", file + 1).into_bytes();
    Position { file, offset: (4 + at * ENTRY_BYTES + offset) as u64 }
}

/// Where a log begins.
pub(super) fn begin() -> Position {
    place(0, 0)
}

/// The end of an event.
pub(super) fn place_of_event(entry: usize, event: usize) -> Position {
    place(entry, (event + 1) * EVENT_BYTES)
}

/// The end of an entry.
pub(super) fn end_of_entry(entry: usize) -> Position {
    place(entry, ENTRY_BYTES)
}

/// Where a server's log ends.
pub(super) fn end_of(data: &Followable, server: usize) -> Position {
    data.servers[server].log.len().checked_sub(1).map_or_else(begin, end_of_entry)
}

const ORIGIN: [u8; 16] = [1; 16];

pub(super) fn gtid_of(data: &Followable, entry: &LogEntry) -> Gtid {
    let number = entry.write as u64 + 1;
    match data.in_order {
        true => Gtid::MariaDb { domain: 0, server: 1, number },
        false => Gtid::MySql { origin: ORIGIN, tag: String::new(), number },
    }
}

/// The set of MySQL that has these.
pub(super) fn executed<'a>(entries: impl Iterator<Item = &'a LogEntry>) -> Option<GtidSet> {
    let mut numbers: Vec<_> = entries.map(|entry| entry.write as u64 + 1).collect();
    numbers.sort_unstable();
    let mut intervals: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match intervals.last_mut() {
            Some((_, end)) if *end + 1 >= number => *end = number,
            _ => intervals.push((number, number)),
        }
    }
    let origin = Gtid::MySql { origin: ORIGIN, tag: String::new(), number: 0 }.to_string();
    let origin = origin.trim_end_matches(":0").to_owned();
    (!intervals.is_empty()).then(|| GtidSet::MySql([(origin, intervals)].into()))
}

/// The state of MariaDB's log.
pub(super) fn binlogged(log: &[LogEntry]) -> Option<GtidSet> {
    maria_set(log.last()?.write)
}

pub(super) fn maria_set(last: usize) -> Option<GtidSet> {
    Some(GtidSet::MariaDb(format!("0-1-{}", last + 1)))
}

/// Whether a server may answer, whose log is followed then.
pub(super) fn may_answer(server: &&ServerRef) -> bool {
    server.state(u64::MAX).is_serving()
}

/// Which of the simulation's servers it is.
pub(super) fn place_of(server: &ServerRef) -> Option<usize> {
    let last = server.hostname.strip_prefix("10.0.0.")?.parse::<usize>().ok()?;
    last.checked_sub(1).filter(|at| *at < SERVERS)
}

pub(super) fn cascades() -> Cascades {
    let key = |table: &str| table_key(SCHEMA.as_bytes(), table.as_bytes());
    let mut cascades = Cascades::default();
    cascades.add(key(TABLES[TABLES.len() - 1]), key(VIEW));
    cascades.close();
    cascades
}
