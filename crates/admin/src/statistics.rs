//! Tables whose rows are made when a statement reads them: statistics.
//!
//! Before a statement runs, the tables that it reads are known from SQLite itself (see `database`).
//! Each of them is filled by its `LiveTable`, so joins, views and subqueries work over them like
//! over any other. A table without one is empty.
//!
//! A file makes the rows of one family of tables out of what was [`Seen`] of the process; none
//! asks anything itself.

mod always_zero_table;
mod cached;
mod certificates;
mod checks;
mod client_hosts;
mod commands;
mod digests;
mod errors;
mod free_connections;
mod global;
mod log_streams;
mod memory;
mod pool;
mod processlist;
mod redirects;
mod rules;
mod servers;
mod statements;
mod topology;
mod users;

#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::snapshot::Snapshot;
use engine::stats::{Collected, Parts, Totals};

use crate::runtime::Runtime;
use crate::tables;

pub use memory::bytes_of_rules;
pub(crate) use memory::resident;
pub use pool::PoolSince;
pub use rusqlite::types::Value;

/// One row, values in the order of the registry's columns.
pub type Row = Vec<Value>;

/// What makes the rows of one table.
pub(crate) struct LiveTable {
    /// The table's name in the registry; its twin ending in `_reset` is made by the same.
    name: &'static str,
    /// What workers are asked for, if anything; a twin that resets has it begin anew.
    parts: Option<Parts>,
    /// All rows.
    rows: fn(&Seen<'_>) -> Vec<Row>,
}

/// What is known of the process at one moment.
pub struct Seen<'a> {
    /// What workers told.
    pub collected: &'a Collected,
    /// The configuration in force.
    pub snapshot: &'a Snapshot,
    /// The time of the calendar then, in microseconds since 1970.
    pub unix_us: u64,
    /// What was told when the connection pool was last reset.
    pub pool_since: &'a Mutex<PoolSince>,
    /// What the interface knows of itself.
    pub interface: OfInterface,
    /// How many checks of servers there were.
    pub checks: monitor::Totals,
    /// The process, where more is asked of it than workers know.
    pub runtime: Option<&'a dyn Runtime>,
    /// Whether the rows are those of a twin that resets.
    pub reset: bool,
}

/// What the administrative interface knows of itself.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OfInterface {
    /// Bytes that SQLite has in memory.
    pub sqlite_bytes: u64,
    /// Clients of the interface that got 1040.
    pub turned_away: u64,
    /// How often servers were put in force.
    pub servers_version: u64,
}

/// Every live table that can have rows.
const TABLES: &[LiveTable] = &[
    checks::CONNECT,
    checks::PING,
    checks::READ_ONLY,
    checks::LAG,
    checks::GROUP,
    checks::GALERA,
    checks::AURORA,
    checks::AURORA_STATUS,
    checks::AURORA_FAILOVERS,
    cached::TABLE,
    commands::TABLE,
    digests::TABLE,
    errors::TABLE,
    global::TABLE,
    log_streams::TABLE,
    client_hosts::TABLE,
    free_connections::TABLE,
    memory::TABLE,
    pool::TABLE,
    processlist::TABLE,
    certificates::TABLE,
    redirects::TABLE,
    rules::TABLE,
    servers::TABLE,
    statements::TABLE,
    topology::SWITCHOVERS,
    topology::EVENTS,
    topology::TABLE,
    users::BACKENDS,
    users::TABLE,
];

/// The rows of a table now, or `None` when it is no live table.
pub(crate) fn read(
    name: &str,
    runtime: &dyn Runtime,
    pool_since: &Mutex<PoolSince>,
    interface: impl FnOnce() -> OfInterface,
) -> Option<Vec<Row>> {
    let plain = name.strip_suffix("_reset");
    let table = TABLES.iter().find(|table| table.name == plain.unwrap_or(name))?;
    let reset = plain.is_some();
    let collected = match table.parts {
        Some(parts) => runtime.collect(Parts { reset, ..parts }),
        None => Collected::default(),
    };
    let (collected, snapshot) = (&collected, &*runtime.snapshot());
    let (unix_us, interface) = (crate::clock::unix_us(), interface());
    let checks = lock(&runtime.logs()).totals();
    let runtime = Some(runtime);
    let seen = Seen { collected, snapshot, unix_us, pool_since, interface, checks, runtime, reset };
    Some((table.rows)(&seen))
}

/// The rows of a table as they are in what was seen, and the names of its columns.
pub fn rows_of(name: &str, seen: &Seen<'_>) -> Option<(Vec<&'static str>, Vec<Row>)> {
    let table = TABLES.iter().find(|table| table.name == name)?;
    let columns = tables::find(name)?.columns.iter().map(|column| column.name).collect();
    Some((columns, (table.rows)(seen)))
}

/// Columns of `stats_mysql_query_digest` that are sums, of any of its queries.
pub fn digest_totals(seen: &Seen<'_>, totals: &Totals) -> Vec<(&'static str, Value)> {
    digests::TOTALS.into_iter().zip(digests::totals(seen, totals)).collect()
}

impl Seen<'_> {
    /// A moment of the loops' clock as seconds since 1970.
    fn unix_seconds(&self, at_us: u64) -> Value {
        let ago_us = self.collected.now_us.saturating_sub(at_us);
        int(self.unix_us.saturating_sub(ago_us) / 1_000_000)
    }

    fn pool_since(&self) -> MutexGuard<'_, PoolSince> {
        lock(self.pool_since)
    }
}

/// What is locked is whole between two readings, whatever happened to the thread that held it.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number; SQLite has none beyond 63 bits.
fn int<N: TryInto<i64>>(number: N) -> Value {
    Value::Integer(number.try_into().unwrap_or(i64::MAX))
}

fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

/// Bytes that somebody sent: a text where they are one.
fn bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::Text(text.to_owned()),
        Err(_) => Value::Blob(bytes.to_vec()),
    }
}
