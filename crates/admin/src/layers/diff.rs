//! What is different between two layers, row by row.

use std::collections::BTreeMap;

use rusqlite::types::Value;

use crate::rows::{self, Rows, as_text};
use crate::statistics::Row;
use crate::tables::{self, Table};

/// One thing that is different.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Change {
    /// `added`, `removed` or `changed`.
    pub(crate) what: &'static str,
    /// The table.
    pub(crate) table: &'static str,
    /// The row, by its key.
    pub(crate) row: String,
    /// The column; empty for a whole row.
    pub(crate) column: &'static str,
    /// What it was.
    pub(crate) before: String,
    /// What it is.
    pub(crate) after: String,
}

/// Everything that is different in `after`, of the tables that both have.
pub(crate) fn changes(before: &Rows, after: &Rows) -> Vec<Change> {
    let mut found = Vec::new();
    for (name, after) in after {
        let (Some(before), Some(table)) = (before.get(name), tables::find(name)) else { continue };
        compare(table, before, after, &mut found);
    }
    found
}

/// A row by the values of its key: `hostgroup_id=1, hostname='db', port=3306`.
pub(crate) fn key_of(table: &Table, row: &[Value]) -> String {
    if table.name == "global_variables" {
        return row.first().map(as_text).unwrap_or_default();
    }
    let pair = |name: &&str| {
        let value = table.position(name).and_then(|at| row.get(at));
        format!("{name}={}", value.map_or("NULL".to_owned(), shown))
    };
    table.key.iter().map(pair).collect::<Vec<_>>().join(", ")
}

fn compare(table: &'static Table, before: &[Row], after: &[Row], found: &mut Vec<Change>) {
    let by_key = |rows: &[Row]| -> BTreeMap<String, Row> {
        let rows = match table.name {
            "global_variables" => rows::canonical(rows),
            _ => rows.to_vec(),
        };
        rows.into_iter().map(|row| (key_of(table, &row), row)).collect()
    };
    let (before, after) = (by_key(before), by_key(after));
    let whole = |what, row: &str| Change {
        what,
        table: table.name,
        row: row.to_owned(),
        column: "",
        before: String::new(),
        after: String::new(),
    };
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        found.push(whole("removed", key));
    }
    for (key, row) in &after {
        let Some(old) = before.get(key) else {
            found.push(whole("added", key));
            continue;
        };
        for (column, (old, new)) in table.columns.iter().zip(old.iter().zip(row)) {
            if !alike(old, new) {
                found.push(Change {
                    column: column.name,
                    before: shown(old),
                    after: shown(new),
                    ..whole("changed", key)
                });
            }
        }
    }
}

/// Whether two values mean the same: SQLite keeps numbers in columns of text as text, and to have
/// no text and an empty one is the same to whoever reads a row.
fn alike(left: &Value, right: &Value) -> bool {
    left == right || as_text(left) == as_text(right)
}

/// A value as people read it: texts in quotes.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Text(text) => format!("'{text}'"),
        other => as_text(other),
    }
}
