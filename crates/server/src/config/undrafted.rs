//! What is known, kept and written again, but has no effect in this version.

use engine::rows::{Cell, Column, TABLES, Table, Use};
use engine::vars::nearest;

use super::document::{Document, LEFT_OUT};
use super::fault::FileFault;
use super::format::Format;
use super::tree::{Entry, Item, TreeValue};
use super::undrafted_table::SETTINGS;
use super::write::Scalar;

/// Rows and settings that are carried.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Undrafted {
    /// Settings outside of all tables, in the order of the registry.
    pub(crate) settings: Vec<(&'static str, Scalar)>,
    /// Rows of each table that has any, values in the order of its columns.
    pub(crate) tables: Vec<(&'static Table, Vec<Vec<Cell>>)>,
}

/// What the value of a carried setting is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Type {
    /// A whole number.
    Int,
    /// `true` or `false`.
    Bool,
    /// Text.
    Text,
}

/// The carried table of that name, or of that section of `proxysql.cnf`.
pub(super) fn find(name: &str) -> Option<&'static Table> {
    tables().find(|table| table.name == name || table.section == name)
}

/// The tables: those of the registry that nothing in a draft is made from.
pub(super) fn tables() -> impl Iterator<Item = &'static Table> {
    TABLES.iter().filter(|table| table.used != Use::Drafted)
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
        Ok(value) => {
            document.undrafted.settings.push((name, value));
            let reason = "known and kept, but without effect in this version";
            document.faults.push(FileFault::note(of.key_span.clone(), format!("{name}: {reason}")));
        }
        Err(reason) => {
            let title = format!("{name}: {reason}");
            document.in_vain(of.item.span.clone(), &title, "its default is kept");
        }
    }
}

/// Reads the rows of a table.
pub(super) fn read_rows(document: &mut Document, table: &'static Table, of: &Entry) {
    let Some(rows) = document.rows_of(table.section, of) else { return };
    let mut read = Vec::new();
    for row in rows {
        match &row.value {
            TreeValue::Group(cells) => read.extend(read_row(document, table, row, cells)),
            _ => document.no_row(table.name, row),
        }
    }
    if !read.is_empty() && table.used == Use::Nothing {
        let title = format!("{}: known and kept, but without effect in this version", of.key);
        document.faults.push(FileFault::note(of.key_span.clone(), title));
    }
    if !read.is_empty() {
        document.undrafted.tables.push((table, read));
    }
}

/// The values of a row; `None` for one that is left out.
fn read_row(
    document: &mut Document,
    table: &Table,
    row: &Item,
    cells: &[Entry],
) -> Option<Vec<Cell>> {
    let broken = document.is_broken(&row.span);
    let mut is_left_out = false;
    let mut found: Vec<Option<Cell>> = vec![None; table.columns.len()];
    for Entry { key, key_span, item } in cells {
        let title = |reason: String| format!("{}.{key}: {reason}", table.name);
        let at = table.columns.iter().position(|column| column.is_called(key));
        let Some((place, column)) = at.and_then(|at| found.get_mut(at).zip(table.columns.get(at)))
        else {
            let near = nearest(key, table.columns.iter().map(|column| column.name));
            let near = near.map(|near| format!("unknown column; did you mean `{near}`?"));
            let name = format!("{}.{key}", table.name);
            let reason = near.clone().unwrap_or_else(|| "unknown column".to_owned());
            document.unknown(key_span.clone(), &name, "column", near.as_deref(), || title(reason));
            continue;
        };
        if place.is_some() {
            let reason = format!("`{}` is given twice in this row", column.name);
            document.in_vain(key_span.clone(), &title(reason), "this one counts");
        }
        *place = Some(read_cell(column, &item.value).unwrap_or_else(|reason| {
            let is_vital = column.needed;
            let instead = if is_vital { "this row is left out" } else { "its default is kept" };
            document.in_vain(item.span.clone(), &title(reason), instead);
            is_left_out |= is_vital;
            absent(column)
        }));
    }
    let mut whole = Vec::with_capacity(found.len());
    for (cell, column) in found.into_iter().zip(table.columns) {
        if cell.is_none() && column.needed && !broken {
            let title = format!("{}.{} is missing", table.name, column.name);
            document.in_vain(row.span.clone(), &title, LEFT_OUT);
            is_left_out = true;
        }
        whole.push(cell.unwrap_or_else(|| absent(column)));
    }
    (!is_left_out || document.format == Format::Toml).then_some(whole)
}

/// What a column is that is not written.
pub(super) fn absent(column: &Column) -> Cell {
    match column.initial() {
        // nobody has to comment
        Cell::Null if !column.null && !column.needed => Cell::Text(String::new()),
        initial => initial,
    }
}

fn read_cell(column: &Column, value: &TreeValue) -> Result<Cell, String> {
    let wants = if column.is_number() { Type::Int } else { Type::Text };
    Ok(match wants.read(value)? {
        Scalar::Int(number) => Cell::Int(number),
        Scalar::Bool(value) => Cell::Int(i64::from(value)),
        Scalar::Text(bytes) => Cell::Text(String::from_utf8_lossy(&bytes).into_owned()),
    })
}

impl Type {
    fn read(self, value: &TreeValue) -> Result<Scalar, String> {
        let read = match (self, value) {
            (Type::Int, TreeValue::Bool(value)) => Some(Ok(Scalar::Int(i64::from(*value)))),
            (Type::Bool, TreeValue::Bool(value)) => Some(Ok(Scalar::Bool(*value))),
            (Type::Int, value) => value.whole().map(|number| number.map(Scalar::Int)),
            (Type::Text, value) => {
                value.text().map(|text| text.map(|text| Scalar::Text(text.into_bytes())))
            }
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
