//! What is known, kept and written again, but has no effect in this version.

use engine::vars::nearest;

use super::document::Document;
use super::fault::Fault;
use super::kept_table::{SETTINGS, TABLES};
use super::tree::{Entry, Item, Value};

/// Rows and settings that are carried.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Kept {
    /// Settings outside of all tables, in the order of the registry.
    pub(crate) settings: Vec<(&'static str, Cell)>,
    /// Rows of each table that has any, values in the order of its columns.
    pub(crate) tables: Vec<(&'static KeptTable, Vec<Vec<Cell>>)>,
}

/// A carried value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Cell {
    /// Nothing.
    Null,
    /// A whole number.
    Int(i64),
    /// `true` or `false`.
    Bool(bool),
    /// Text.
    Text(String),
}

/// A table that is carried.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct KeptTable {
    /// Its name in the admin interface and in `tidegate.toml`.
    pub(crate) name: &'static str,
    /// Its name in `proxysql.cnf`.
    pub(crate) section: &'static str,
    /// Its columns.
    pub(crate) columns: Vec<KeptColumn>,
}

impl KeptTable {
    /// Whether something acts on its rows when they are in force.
    fn acts(&self) -> bool {
        matches!(self.name, "scheduler" | "restapi_routes")
    }
}

/// A column of it.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct KeptColumn {
    /// Its name.
    pub(crate) name: &'static str,
    /// Another name it may be written by; empty for none.
    pub(crate) alias: &'static str,
    /// What it holds.
    pub(crate) wants: Type,
    /// What it is when it is not written.
    pub(crate) absent: Absent,
}

/// What a carried value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    /// A whole number.
    Int,
    /// `true` or `false`.
    Bool,
    /// Text.
    Text,
}

/// What a column is that is not written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Absent {
    /// It has to be written.
    Needed,
    /// Nothing.
    Null,
    /// This number.
    Int(i64),
    /// This text.
    Text(&'static str),
}

/// The carried table of that name, or of that section of `proxysql.cnf`.
pub(super) fn find(name: &str) -> Option<&'static KeptTable> {
    TABLES.iter().find(|table| table.name == name || table.section == name)
}

/// The carried setting of that name.
pub(super) fn find_setting(name: &str) -> Option<(&'static str, Type)> {
    SETTINGS.iter().copied().find(|(setting, _)| *setting == name)
}

/// Reads a setting.
pub(super) fn read_setting(
    document: &mut Document,
    (name, wants): (&'static str, Type),
    of: &Entry,
) {
    match wants.read(&of.item.value) {
        Ok(cell) => {
            document.kept.settings.push((name, cell));
            let reason = "known and kept, but without effect in this version";
            document.faults.push(Fault::warning(of.key_span.clone(), format!("{name}: {reason}")));
        }
        Err(reason) => {
            document.faults.push(Fault::error(of.item.span.clone(), format!("{name}: {reason}")));
        }
    }
}

/// Reads the rows of a table.
pub(super) fn read_rows(document: &mut Document, table: &'static KeptTable, of: &Entry) {
    let Some(rows) = document.rows_of(table.section, of) else { return };
    let mut read = Vec::new();
    for row in rows {
        match &row.value {
            Value::Group(cells) => read.push(read_row(document, table, row, cells)),
            _ => document.no_row(table.name, row),
        }
    }
    if !read.is_empty() && !table.acts() {
        let reason = "known and kept, but without effect in this version";
        let title = format!("{}: {reason}", of.key);
        document.faults.push(Fault::warning(of.key_span.clone(), title));
    }
    if !read.is_empty() {
        document.kept.tables.push((table, read));
    }
}

fn read_row(document: &mut Document, table: &KeptTable, row: &Item, cells: &[Entry]) -> Vec<Cell> {
    let broken = document.is_broken(&row.span);
    let faults = &mut document.faults;
    let mut found: Vec<Option<Cell>> = vec![None; table.columns.len()];
    for Entry { key, key_span, item } in cells {
        let title = |reason: String| format!("{}.{key}: {reason}", table.name);
        let is = |column: &KeptColumn| column.name == key || column.alias == key;
        let at = table.columns.iter().position(is);
        let Some((place, column)) = at.and_then(|at| found.get_mut(at).zip(table.columns.get(at)))
        else {
            let near = nearest(key, table.columns.iter().map(|column| column.name));
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let title = title(format!("unknown column{near}"));
            faults.push(Fault::unknown(key_span.clone(), title));
            continue;
        };
        if place.is_some() {
            let reason = format!("`{}` is given twice in this row", column.name);
            faults.push(Fault::error(key_span.clone(), title(reason)));
        }
        *place = Some(column.wants.read(&item.value).unwrap_or_else(|reason| {
            faults.push(Fault::error(item.span.clone(), title(reason)));
            Cell::Null
        }));
    }
    let pairs = found.into_iter().zip(&table.columns);
    pairs
        .map(|(cell, column)| match (cell, column.absent) {
            (Some(cell), _) => cell,
            (None, Absent::Needed) if broken => Cell::Null,
            (None, Absent::Needed) => {
                let title = format!("{}.{} is missing", table.name, column.name);
                faults.push(Fault::error(row.span.clone(), title));
                Cell::Null
            }
            (None, absent) => absent.cell(),
        })
        .collect()
}

impl Absent {
    /// The value that stands for it.
    pub(super) fn cell(self) -> Cell {
        match self {
            Absent::Needed | Absent::Null => Cell::Null,
            Absent::Int(number) => Cell::Int(number),
            Absent::Text(text) => Cell::Text(text.to_owned()),
        }
    }
}

impl Type {
    fn read(self, value: &Value) -> Result<Cell, String> {
        let read = match (self, value) {
            (Type::Int, Value::Bool(value)) => Some(Ok(Cell::Int(i64::from(*value)))),
            (Type::Bool, Value::Bool(value)) => Some(Ok(Cell::Bool(*value))),
            (Type::Int, value) => value.whole().map(|number| number.map(Cell::Int)),
            (Type::Text, value) => value.text().map(|text| text.map(Cell::Text)),
            (Type::Bool, _) => None,
        };
        read.unwrap_or_else(|| {
            let wants = match self {
                Type::Int => "a whole number",
                Type::Bool => "true or false",
                Type::Text => "a \"text\"",
            };
            Err(format!("expected {wants}, found {}", value.kind()))
        })
    }
}
