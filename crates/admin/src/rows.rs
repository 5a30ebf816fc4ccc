//! Rows of SQLite to rows of the engine and back, and what people read of them.
//!
//! SQLite takes any value in any column; which are of a wrong type is told by the engine's rows.

use std::collections::BTreeMap;

use engine::config_fault::ConfigFault;
use engine::rows::{Cell, TableRows};
use engine::snapshot::Draft;
use rusqlite::types::Value;

use crate::statistics::Row;

/// Rows by the name of their table.
pub type Rows = BTreeMap<&'static str, Vec<Row>>;

/// Reads the rows of one table; what is wrong is told with the row's position.
pub(crate) fn read_all(into: &mut dyn TableRows, rows: &[Row]) -> Vec<ConfigFault> {
    into.replace(&mut rows.iter().map(|row| row.iter().map(cell).collect()))
}

/// Writes the rows of one table.
pub(crate) fn write_all(rows: &dyn TableRows) -> Vec<Row> {
    let row = |at| rows.cells(at).into_iter().map(value).collect();
    (0..rows.count()).map(row).collect()
}

/// A value of SQLite as one of a column.
pub fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Integer(number) => Cell::Int(*number),
        Value::Real(_) | Value::Text(_) => Cell::Text(as_text(value)),
        Value::Blob(bytes) => Cell::Bytes(bytes.clone()),
    }
}

/// A value of a column as one of SQLite.
pub fn value(cell: Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Int(number) => Value::Integer(number),
        Cell::Text(text) => Value::Text(text),
        Cell::Bytes(bytes) => Value::Blob(bytes),
    }
}

/// The tables of a file: rows as typed, and only those variables that it names.
pub fn of_file(draft: &Draft) -> Rows {
    let mut rows = of_draft(draft);
    if let Some(variables) = rows.get_mut("global_variables") {
        variables.retain(|row| draft.variables.iter().any(|(name, _)| name == text_of(row)));
    }
    rows
}

/// The tables of a draft, variables with every value in force.
pub fn of_draft(draft: &Draft) -> Rows {
    let variables = engine::vars::all().map(|variable| {
        let name = variable.full_name();
        let typed = draft.variables.iter().rev().find(|(found, _)| *found == name);
        let value = match typed.and_then(|(_, text)| variable.parse(text).ok()) {
            Some(value) => value,
            None => variable.default_value(),
        };
        vec![Value::Text(name), Value::Text(value.to_string())]
    });
    let mut variables: Vec<Row> = variables.collect();
    variables.sort_by(|left, right| text_of(left).cmp(text_of(right)));
    let tables = draft.tables().map(|rows| (rows.table().name, write_all(rows)));
    tables.into_iter().chain([("global_variables", variables)]).collect()
}

/// Rows of variables as the registry writes them: `1` of a switch is `true`. A value that a
/// variable cannot have stays as it is.
pub(crate) fn canonical(variables: &[Row]) -> Vec<Row> {
    let written = |(name, text): (String, String)| {
        let value = engine::vars::find(&name).and_then(|variable| variable.parse(&text).ok());
        vec![Value::Text(name), Value::Text(value.map_or(text, |value| value.to_string()))]
    };
    pairs(variables).into_iter().map(written).collect()
}

/// Variables as pairs of names and values.
pub(crate) fn pairs(rows: &[Row]) -> Vec<(String, String)> {
    let text = |value: Option<&Value>| value.map(as_text).unwrap_or_default();
    rows.iter().map(|row| (text(row.first()), text(row.get(1)))).collect()
}

/// A value as a client reads it; `None` is NULL.
pub fn cell_text(value: &Value) -> Option<String> {
    (*value != Value::Null).then(|| as_text(value))
}

/// A value as a client reads it; NULL is empty.
pub(crate) fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fn text_of(row: &Row) -> &str {
    match row.first() {
        Some(Value::Text(text)) => text,
        _ => "",
    }
}
