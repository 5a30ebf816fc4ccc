//! What is in force beyond what the engine knows, and how often each module was changed.

use std::collections::BTreeMap;

use engine::rows::Use;
use engine::snapshot::Draft;
use rusqlite::types::Value;

use super::Store;
use super::modules::{MODULES, Module};
use super::programs::Programs;
use super::versions::Versions;
use crate::clock::unix_seconds;
use crate::fault::AdminFault;
use crate::rows::{self, Rows};
use crate::runtime::Runtime;
use crate::statistics::Row;
use crate::tables::{self, Schema};

/// What the interface keeps of the configuration in force.
pub(crate) struct InForce {
    /// Rows of tables that are no part of a draft.
    rest: Rows,
    stamps: BTreeMap<&'static str, Stamp>,
    /// What was in force before.
    pub(crate) versions: Versions,
}

/// When a module was put in force.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    version: u64,
    epoch: i64,
}

impl InForce {
    /// What is in force when the process begins: what is in memory.
    pub(crate) fn new(store: &Store, runtime: &dyn Runtime) -> Result<Self, AdminFault> {
        let mut rest = Rows::new();
        for table in tables::configured().iter().filter(|table| !is_drafted(table.name)) {
            rest.insert(table.name, store.database.rows(Schema::Main, table.name)?);
        }
        let stamp = Stamp { version: 1, epoch: unix_seconds() };
        let stamps = MODULES.iter().map(|module| (module.name, stamp)).collect();
        // what is wrong with a row of these is told by whoever loads it again
        Programs::read(&rest, &mut Vec::new()).put(runtime);
        let mut made = Self { rest, stamps, versions: Versions::default() };
        let rows = made.rows(&runtime.current());
        made.versions.push("start", "", rows);
        Ok(made)
    }

    /// Everything in force.
    pub(crate) fn rows(&self, draft: &Draft) -> Rows {
        let mut all = rows::of_draft(draft);
        all.extend(self.rest.iter().map(|(table, rows)| (*table, rows.clone())));
        all
    }

    /// A module is in force with these rows.
    pub(crate) fn put(&mut self, module: &Module, rows: &Rows) {
        for (table, rows) in rows.iter().filter(|(table, _)| !is_drafted(table)) {
            self.rest.insert(table, rows.clone());
        }
        if let Some(stamp) = self.stamps.get_mut(module.name) {
            *stamp = Stamp { version: stamp.version + 1, epoch: unix_seconds() };
        }
    }

    /// How often a module was put in force.
    pub(crate) fn version(&self, module: &str) -> u64 {
        self.stamps.get(module).map_or(0, |stamp| stamp.version)
    }

    /// The rows of `runtime_checksums_values`.
    pub(crate) fn checksum_rows(&self, rows: &Rows) -> Vec<Row> {
        let mut made: Vec<Row> = Vec::new();
        for module in MODULES.iter().filter(|module| SUMMED.contains(&module.name)) {
            let Some(stamp) = self.stamps.get(module.name) else { continue };
            let mut own = rows.clone();
            module.narrow(&mut own);
            let mut add = |name: &str| {
                made.push(vec![
                    Value::Text(name.to_owned()),
                    Value::Integer(i64::try_from(stamp.version).unwrap_or(i64::MAX)),
                    Value::Integer(stamp.epoch),
                    Value::Text(checksum(own.values().flatten())),
                ]);
            };
            add(module.name);
            if module.name == "mysql_servers" {
                add("mysql_servers_v2");
            }
        }
        made
    }
}

/// Whether a table is part of a draft.
pub(crate) fn is_drafted(table: &str) -> bool {
    used(table) == Use::Drafted
}

/// What becomes of the rows of a table.
pub(crate) fn used(table: &str) -> Use {
    engine::rows::find(table).map_or(Use::Nothing, |table| table.used)
}

/// A hash over rows as ProxySQL writes its own; values do not run into each other.
pub(crate) fn checksum<'r>(rows: impl IntoIterator<Item = &'r Row>) -> String {
    let mut bytes = Vec::new();
    for value in rows.into_iter().flatten() {
        match value {
            Value::Null => bytes.push(0),
            Value::Blob(blob) => {
                bytes.push(1);
                bytes.extend_from_slice(&(blob.len() as u64).to_le_bytes());
                bytes.extend_from_slice(blob);
            }
            other => {
                let text = rows::as_text(other);
                bytes.push(1);
                bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
                bytes.extend_from_slice(text.as_bytes());
            }
        }
    }
    match bytes.is_empty() {
        true => "0x00".to_owned(),
        false => format!("0x{:016X}", sql::spooky::hash64(&bytes, SEED)),
    }
}

/// Modules that have a checksum.
const SUMMED: [&str; 6] = [
    "admin_variables",
    "mysql_query_rules",
    "mysql_servers",
    "mysql_users",
    "mysql_variables",
    "proxysql_servers",
];
/// Seed of the checksums.
const SEED: u64 = 19;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_tells_where_values_end_and_null_from_an_empty_text() {
        let text = |text: &str| Value::Text(text.to_owned());
        let blob = |text: &str| Value::Blob(text.into());
        let rows = [
            vec![text("a"), text("bc")],
            vec![text("ab"), text("c")],
            vec![text("abc")],
            vec![text("")],
            vec![Value::Null],
            vec![Value::Null; 8],
            vec![Value::Null; 9],
        ];
        let mut sums: Vec<String> = rows.iter().map(|row| checksum([row])).collect();
        sums.sort();
        sums.dedup();
        assert_eq!(sums.len(), rows.len());
        assert_eq!(checksum([&vec![blob("12")]]), checksum([&vec![Value::Integer(12)]]));
        assert_eq!(checksum([]), "0x00");
    }
}
