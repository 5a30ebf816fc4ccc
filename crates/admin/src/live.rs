//! Tables whose rows are made when a statement reads them: statistics and what monitoring found.
//!
//! Before a statement runs, the tables that it reads are known from SQLite itself (see
//! `database`), and each of them is filled by its [`LiveTable`]; so joins, views and subqueries
//! work over them like over any other. A table without one is empty.

use rusqlite::types::Value;

use crate::runtime::Runtime;

/// One row, values in the order of the registry's columns.
pub type Row = Vec<Value>;

/// What makes the rows of one table.
pub trait LiveTable: Send + Sync {
    /// The table's name in the registry; its twin ending in `_reset` is made by the same.
    fn name(&self) -> &'static str;

    /// All rows now. With `reset` what was counted begins anew, losing nothing in between.
    fn rows(&self, runtime: &dyn Runtime, reset: bool) -> Vec<Row>;
}

/// Every live table that can have rows.
pub(crate) const TABLES: &[&dyn LiveTable] = &[];

/// The maker of table `name`, and whether reading it resets.
pub(crate) fn find(name: &str) -> Option<(&'static dyn LiveTable, bool)> {
    let plain = name.strip_suffix("_reset");
    let found = TABLES.iter().find(|table| table.name() == plain.unwrap_or(name))?;
    Some((*found, plain.is_some()))
}
