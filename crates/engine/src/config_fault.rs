//! One thing that is wrong with a configuration, as data.
//!
//! Faults are collected, never thrown one by one: the loader of a configuration shows all of them.
//! Where the value stood in a file is the loader's knowledge, not this module's.

use std::fmt;

/// A configured value that cannot be used, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigFault {
    /// Table of the admin interface, such as `mysql_servers`.
    pub table: &'static str,
    /// Position of the row in its table, from 0; `None` when the fault is the table's as a whole.
    pub row: Option<usize>,
    /// Column, or variable name without its prefix; empty when no single one is at fault.
    pub column: String,
    /// What is wrong and what is allowed, for a human.
    pub reason: String,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.table)?;
        if let Some(row) = self.row {
            write!(f, " row {}", row + 1)?;
        }
        if !self.column.is_empty() {
            write!(f, " column {}", self.column)?;
        }
        write!(f, ": {}", self.reason)
    }
}
