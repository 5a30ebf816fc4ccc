//! The one reader that fills a row of any drafted table, and what a file has to say of one.
//!
//! Knows no table and no file format. Values are taken as they are: ranges are the engine's.

use std::ops::Range;

use engine::rows::{Cell, Column, Shape, Table};
use engine::vars::nearest;

use super::document::{Document, LEFT_OUT};
use super::format::Format;
use super::tree::{Entry, TreeValue};
use super::write::{Pair, Scalar};

/// Reads one row, which says what `initial` does where it says nothing; what cannot be read stays
/// so and is reported.
pub(super) fn read_row(
    document: &mut Document,
    table: &'static Table,
    index: usize,
    initial: &[Cell],
    (span, entries): (Range<usize>, &[Entry]),
) -> Vec<Cell> {
    let mut row = initial.to_vec();
    document.places.row(table.name, Some(index), span.clone());
    for entry in entries {
        read_cell(document, (table, index), &mut row, entry);
    }
    for column in table.columns.iter().filter(|column| column.needed) {
        let written = document.places.find(table.name, Some(index), column.name);
        if written.is_none() && !document.is_broken(&span) {
            let title = format!("{}.{} is missing", table.name, column.name);
            document.in_vain(span.clone(), &title, LEFT_OUT);
            document.places.reported(table.name, Some(index), column.name);
            if document.format == Format::Cnf {
                document.leave_out(table.name, index);
            }
        }
    }
    row
}

fn read_cell(
    document: &mut Document,
    (table, index): (&'static Table, usize),
    row: &mut [Cell],
    Entry { key, key_span, item }: &Entry,
) {
    let at = table.columns.iter().position(|column| column.is_called(key));
    let Some((cell, column)) = at.and_then(|at| row.get_mut(at).zip(table.columns.get(at))) else {
        let name = format!("{}.{key}", table.name);
        let near = near(table, key);
        let title = || unknown(table, key);
        document.unknown(key_span.clone(), &name, "column", near.as_deref(), title);
        return;
    };
    let title = |reason: String| format!("{}.{key}: {reason}", table.name);
    let span = || item.span.clone();
    if document.places.cell(table.name, Some(index), column.name, span()).is_some() {
        // ProxySQL asks for the other name first
        let counts = column.aliases.contains(&key.as_str());
        let instead = if counts { "this one counts" } else { "the other one counts" };
        let reason = format!("`{}` is given twice in this row", column.name);
        document.in_vain(key_span.clone(), &title(reason), instead);
        if document.format == Format::Toml || !counts {
            return;
        }
    }
    let reason = match read(column, key, &item.value, document.format) {
        Ok(read) => {
            *cell = read;
            return;
        }
        Err(reason) => reason,
    };
    // without its password an account would be open to everybody
    let vital = column.needed || column.shape == Shape::Bytes;
    let instead = match column.initial() {
        _ if vital => "this row is left out".to_owned(),
        Cell::Int(default) => format!("its default {default} is kept"),
        _ => "its default is kept".to_owned(),
    };
    document.in_vain(span(), &title(reason), &instead);
    document.places.reported(table.name, Some(index), column.name);
    if vital && document.format == Format::Cnf {
        document.leave_out(table.name, index);
    }
}

/// The cells of a row that a file has to say: what has no default, or another value than `initial`.
pub(super) fn written(table: &Table, initial: &[Cell], row: Vec<Cell>) -> Vec<Pair> {
    let cells = table.columns.iter().zip(row.into_iter().zip(initial));
    let told = cells.filter(|(column, (value, initial))| {
        column.needed || column.always_written || value != *initial
    });
    told.filter_map(|(column, (value, _))| Some((column.name.to_owned(), scalar(column, value)?)))
        .collect()
}

/// A value as a file has it; `None` when there is nothing to write.
pub(crate) fn scalar(column: &Column, value: Cell) -> Option<Scalar> {
    Some(match (value, column.initial()) {
        // a file cannot say NULL; an empty text means the same where that is no default
        (Cell::Null, Cell::Text(_)) => Scalar::Text(Vec::new()),
        (Cell::Null, _) => return None,
        (Cell::Int(number), _) => Scalar::Int(number),
        (Cell::Text(text), _) => Scalar::Text(text.into_bytes()),
        (Cell::Bytes(bytes), _) => Scalar::Text(bytes),
    })
}

/// What is likely to be meant by a key that no column has.
fn near(table: &Table, key: &str) -> Option<String> {
    let aliases = table.columns.iter().flat_map(|column| column.aliases);
    let aliases = aliases.map(|alias| (*alias).to_owned());
    let names: Vec<String> = names(table).chain(aliases).collect();
    let meant = nearest(key, names.iter().map(String::as_str))?;
    Some(format!("unknown column; did you mean `{meant}`?"))
}

fn unknown(table: &Table, key: &str) -> String {
    let name = table.name;
    match near(table, key) {
        Some(near) => format!("{name}.{key}: {near}"),
        None => {
            let names: Vec<_> = names(table).collect();
            format!("{name}.{key}: unknown column; there are {}", names.join(", "))
        }
    }
}

/// The names of columns as a file may have them, but for aliases.
fn names(table: &Table) -> impl Iterator<Item = String> {
    let hex =
        |column: &Column| (column.shape == Shape::Bytes).then(|| format!("{}_hex", column.name));
    table
        .columns
        .iter()
        .flat_map(move |column| [Some(column.name.to_owned()), hex(column)])
        .flatten()
}

/// The value of a column that a file calls `key`; the error says which type is wanted.
fn read(column: &Column, key: &str, value: &TreeValue, format: Format) -> Result<Cell, String> {
    let in_hex = column.is_called_in_hex(key);
    let wants = match column.shape {
        Shape::Int => "a whole number",
        Shape::Flag => "0 or 1",
        Shape::Bytes if in_hex => "a \"text\" of hexadecimal digits",
        Shape::Text | Shape::Bytes => "a \"text\"",
    };
    let read = match (column.shape, value) {
        (Shape::Flag, TreeValue::Bool(value)) => Some(Ok(Cell::Int(i64::from(*value)))),
        (Shape::Int, TreeValue::Bool(value)) if format == Format::Cnf => {
            Some(Ok(Cell::Int(i64::from(*value))))
        }
        (Shape::Int | Shape::Flag, value) => value.whole().map(|whole| whole.map(Cell::Int)),
        (Shape::Text, value) => value.text().map(|text| text.map(Cell::Text)),
        (Shape::Bytes, value) if in_hex => {
            value.text().map(|text| bytes_of_hex(&text?).map(Cell::Bytes))
        }
        (Shape::Bytes, TreeValue::Text(bytes)) => Some(Ok(Cell::Bytes(bytes.clone()))),
        (Shape::Bytes, _) => None,
    };
    read.unwrap_or_else(|| Err(format!("expected {wants}, found {}", value.kind())))
}

fn bytes_of_hex(text: &str) -> Result<Vec<u8>, String> {
    if !text.len().is_multiple_of(2) {
        return Err("an odd number of hexadecimal digits".to_owned());
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    text.as_bytes()
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect::<Option<Vec<u8>>>()
        .ok_or_else(|| "not only hexadecimal digits".to_owned())
}
