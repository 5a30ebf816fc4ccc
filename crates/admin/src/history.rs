//! Samples of statistics, kept in `stats_history`: when each is due, and what is thrown away.
//!
//! What is sampled comes from the same makers of rows as the tables of `stats`.

use std::fs;

use engine::vars::Vars;
use rusqlite::types::Value;

use crate::admin::{Admin, Session};
use crate::fault::AdminFault;
use crate::rows::as_text;
use crate::statistics::Row;
use crate::tables::{self, Schema};

/// When each sample was taken last, in seconds since 1970.
#[derive(Default, Debug)]
pub(crate) struct History {
    last: [i64; SAMPLES.len()],
    /// The hour until which hours are summed up.
    summed_until: i64,
}

/// A sample: the pause between two of them in seconds, and what is recorded.
type Sample = (fn(&Vars) -> u64, fn(&mut Admin, i64) -> Result<(), AdminFault>);

const SAMPLES: [Sample; 6] = [
    (|vars| vars.stats_mysql_connections_sec, connections),
    (|vars| vars.stats_mysql_connection_pool_sec, pool),
    (|vars| vars.stats_mysql_query_cache_sec, query_cache),
    (|vars| vars.stats_system_cpu_sec, cpu),
    (|vars| vars.stats_system_memory_sec, memory),
    (|vars| vars.stats_mysql_query_digest_to_disk_sec, digests),
];

/// Tables whose samples are summed up by hour, each with how its columns are: gauges by their
/// mean, what only grows by its greatest value.
const BY_HOUR: [&str; 5] =
    ["mysql_connections", "myhgm_connections", "mysql_query_cache", "system_cpu", "system_memory"];

const HOUR: i64 = 3600;
/// Seconds that a sample is kept.
const KEPT: i64 = 7 * 24 * HOUR;
/// Seconds that the sum of an hour is kept.
const HOURS_KEPT: i64 = 365 * 24 * HOUR;

impl Admin {
    /// Takes the samples that are due at `now`, in seconds since 1970. One that fails is told and
    /// does not keep others from being taken.
    pub(crate) fn take_samples(&mut self, now: i64) -> Vec<AdminFault> {
        let mut faults = Vec::new();
        let vars = self.runtime.snapshot().vars.clone();
        for (at, (pause, take)) in SAMPLES.iter().enumerate() {
            let interval = i64::try_from(pause(&vars)).unwrap_or(0);
            let Some(last) = self.history.last.get_mut(at) else { continue };
            if *last == 0 || interval == 0 {
                *last = now;
            }
            if interval > 0 && now - *last >= interval {
                *last = now;
                faults.extend(take(self, now).err());
            }
        }
        let hour = now / HOUR * HOUR;
        if self.history.summed_until < hour {
            faults.extend(self.sum_up_hours(hour).err());
            self.history.summed_until = hour;
        }
        faults
    }

    /// Sums up the samples of whole hours before `hour`, and throws away what is too old.
    fn sum_up_hours(&mut self, hour: i64) -> Result<(), AdminFault> {
        for name in BY_HOUR {
            let Some(table) = tables::find(name) else { continue };
            let columns = table.columns.iter().skip(1).map(|column| column.name);
            let sums: Vec<String> = columns.map(sum_of).collect();
            self.store.database.own(&format!(
                "INSERT OR REPLACE INTO stats_history.{name}_hour \
                 SELECT timestamp / {HOUR} * {HOUR}, {} FROM stats_history.{name} \
                 WHERE timestamp < {hour} AND timestamp >= \
                 (SELECT coalesce(max(timestamp) + {HOUR}, 0) FROM stats_history.{name}_hour) \
                 GROUP BY 1; \
                 DELETE FROM stats_history.{name} WHERE timestamp < {}; \
                 DELETE FROM stats_history.{name}_hour WHERE timestamp < {}",
                sums.join(", "),
                hour - KEPT,
                hour - HOURS_KEPT,
            ))?;
        }
        Ok(())
    }

    fn record(&self, table: &str, rows: &[Row]) -> Result<(), AdminFault> {
        self.store.database.add_rows(Schema::History, table, rows)
    }

    /// The samples of a table whose columns are rows of `stats_mysql_global`, by the names that
    /// `counter_of` says.
    fn record_counters(
        &self,
        (table, counter_of): (&str, fn(&str) -> String),
        now: i64,
        counters: &[Row],
    ) -> Result<(), AdminFault> {
        let Some(found) = tables::find(table) else { return Ok(()) };
        let value = |name: &str| {
            let row = counters.iter().find(|row| row.first().map(as_text).as_deref() == Some(name));
            row.and_then(|row| as_text(row.get(1)?).parse().ok()).unwrap_or(0)
        };
        let columns = found.columns.iter().skip(1).map(|column| value(&counter_of(column.name)));
        let columns = columns.map(Value::Integer);
        self.record(table, &[std::iter::once(Value::Integer(now)).chain(columns).collect()])
    }
}

/// How the samples of an hour become one.
fn sum_of(column: &str) -> String {
    const OF_MEMORY: [&str; 6] =
        ["allocated", "resident", "active", "mapped", "metadata", "retained"];
    const OF_CACHE: [&str; 2] = ["Entries_In_Cache", "Memory_Bytes"];
    match column.ends_with("_connected")
        || OF_MEMORY.contains(&column)
        || OF_CACHE.contains(&column)
    {
        true => format!("CAST(avg({column}) AS INTEGER)"),
        false => format!("max({column})"),
    }
}

fn connections(admin: &mut Admin, now: i64) -> Result<(), AdminFault> {
    let counters = admin.live_rows(Schema::Stats, "stats_mysql_global");
    admin.record_counters(("mysql_connections", str::to_owned), now, &counters)?;
    for row in &counters {
        let name = row.first().map(as_text).unwrap_or_default();
        let add = "INSERT OR IGNORE INTO stats_history.history_mysql_status_variables_lookup \
                   (variable_name) VALUES (?1) RETURNING variable_id";
        let find = "SELECT variable_id FROM stats_history.history_mysql_status_variables_lookup \
                    WHERE variable_name = ?1";
        let database = &admin.store.database;
        let id = match database.value(find, &name)? {
            Some(id) => Some(id),
            None => database.value(add, &name)?,
        };
        let id = id.and_then(|id| id.parse().ok()).unwrap_or(0);
        let value = row.get(1).cloned().unwrap_or(Value::Null);
        let sample = vec![Value::Integer(now), Value::Integer(id), value];
        admin.record("history_mysql_status_variables", &[sample])?;
    }
    Ok(())
}

fn pool(admin: &mut Admin, now: i64) -> Result<(), AdminFault> {
    let counters = admin.live_rows(Schema::Stats, "stats_mysql_global");
    admin.record_counters(("myhgm_connections", str::to_owned), now, &counters)?;
    let servers = admin.live_rows(Schema::Stats, "stats_mysql_connection_pool");
    let stamped = servers
        .into_iter()
        .map(|row| std::iter::once(Value::Integer(now)).chain(row).collect::<Row>());
    admin.record("history_stats_mysql_connection_pool", &stamped.collect::<Vec<_>>())
}

fn query_cache(admin: &mut Admin, now: i64) -> Result<(), AdminFault> {
    let counters = admin.live_rows(Schema::Stats, "stats_mysql_global");
    admin.record_counters(("mysql_query_cache", counter_of_cache), now, &counters)
}

/// The counter that a column of the cache's samples has.
fn counter_of_cache(column: &str) -> String {
    let name = match column {
        "Entries_Purged" => "Purged",
        "Entries_In_Cache" => "Entries",
        "Memory_Bytes" => "Memory_bytes",
        other => other,
    };
    format!("Query_Cache_{name}")
}

/// Processor time of the process, in hundredths of a second.
fn cpu(admin: &mut Admin, now: i64) -> Result<(), AdminFault> {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // the name of the program, in brackets, may have blanks
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut times = rest.split_ascii_whitespace().skip(11);
    let mut next = || times.next().and_then(|time| time.parse().ok()).unwrap_or(0);
    let row = vec![Value::Integer(now), Value::Integer(next()), Value::Integer(next())];
    admin.record("system_cpu", &[row])
}

fn memory(admin: &mut Admin, now: i64) -> Result<(), AdminFault> {
    let (heap, resident) = (io::heap(), crate::statistics::resident());
    let total = resident.program + resident.stacks + resident.heap;
    let values = [heap.in_use, total, heap.in_use + heap.free, total, 0, heap.free];
    let values = values.map(|bytes| Value::Integer(i64::try_from(bytes).unwrap_or(i64::MAX)));
    let row = std::iter::once(Value::Integer(now)).chain(values).collect();
    admin.record("system_memory", &[row])
}

fn digests(admin: &mut Admin, _: i64) -> Result<(), AdminFault> {
    let mut session = Session::of_ourselves();
    crate::command::save_digests(admin, &mut session).map(drop)
}

#[cfg(test)]
mod tests;
