//! Columns as data, and the one reader that fills a row of any table by them.
//!
//! Knows no table and no file format. Values are taken as they are: ranges are the engine's.

use std::ops::Range;

use engine::vars::nearest;

use super::document::{Document, LEFT_OUT};
use super::format::Format;
use super::tree::{Entry, Value};

/// A table of rows.
pub(super) struct Table<R: 'static> {
    /// Name in the file and in the admin interface.
    pub(super) name: &'static str,
    /// What a row may hold.
    pub(super) columns: &'static [Column<R>],
}

/// One column of a table.
pub(super) struct Column<R> {
    /// Name in the admin interface.
    pub(super) name: &'static str,
    /// Other names it may be written by.
    pub(super) aliases: &'static [&'static str],
    /// Where its value goes.
    pub(super) field: Field<R>,
    /// Whether every row must have it.
    pub(super) needed: bool,
}

/// Type of a column's values, with the way to the row's field.
pub(super) enum Field<R> {
    /// A whole number.
    Int(fn(&mut R) -> &mut i64),
    /// 0 or 1, also written as false or true.
    Flag(fn(&mut R) -> &mut i64),
    /// 0 or 1, also written as false or true, that may be left out.
    OptionalFlag(fn(&mut R) -> &mut Option<i64>),
    /// A whole number that may be left out.
    OptionalInt(fn(&mut R) -> &mut Option<i64>),
    /// Text.
    Text(fn(&mut R) -> &mut String),
    /// Text that may be left out.
    OptionalText(fn(&mut R) -> &mut Option<String>),
    /// Text whose bytes are taken.
    Bytes(fn(&mut R) -> &mut Vec<u8>),
    /// Bytes written as hexadecimal digits.
    Hex(fn(&mut R) -> &mut Vec<u8>),
}

/// A value as it is written to a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Scalar {
    /// A whole number.
    Int(i64),
    /// `true` or `false`.
    Bool(bool),
    /// Text, or bytes that are none.
    Text(Vec<u8>),
}

impl<R: Default> Table<R> {
    /// Reads one row; what cannot be read keeps its default and is reported.
    pub(super) fn read_row(
        &self,
        document: &mut Document,
        index: usize,
        span: Range<usize>,
        row: &[Entry],
    ) -> R {
        let mut typed = R::default();
        document.places.row(self.name, Some(index), span.clone());
        for entry in row {
            self.read_cell(document, index, &mut typed, entry);
        }
        for column in self.columns.iter().filter(|column| column.needed) {
            let written = document.places.find(self.name, Some(index), column.name);
            if written.is_none() && !document.is_broken(&span) {
                let title = format!("{}.{} is missing", self.name, column.name);
                document.in_vain(span.clone(), &title, LEFT_OUT);
                document.places.reported(self.name, Some(index), column.name);
                if document.format == Format::Cnf {
                    document.leave_out(self.name, index);
                }
            }
        }
        typed
    }

    fn read_cell(
        &self,
        document: &mut Document,
        index: usize,
        row: &mut R,
        Entry { key, key_span, item }: &Entry,
    ) {
        let Some(column) = self.find(key) else {
            let name = format!("{}.{key}", self.name);
            let near = self.near(key);
            let title = || self.unknown(key);
            document.unknown(key_span.clone(), &name, "column", near.as_deref(), title);
            return;
        };
        let title = |reason: String| format!("{}.{}: {reason}", self.name, key);
        let span = || item.span.clone();
        if document.places.cell(self.name, Some(index), column.cell(), span()).is_some() {
            // ProxySQL asks for the other name first
            let counts = column.aliases.contains(&key.as_str());
            let instead = if counts { "this one counts" } else { "the other one counts" };
            let reason = format!("`{}` is given twice in this row", column.cell());
            document.in_vain(key_span.clone(), &title(reason), instead);
            if document.format == Format::Toml || !counts {
                return;
            }
        }
        let Err(reason) = column.field.read(row, &item.value, document.format) else { return };
        // without its password an account would be open to everybody
        let vital = column.needed || matches!(column.field, Field::Bytes(_) | Field::Hex(_));
        let instead = match column.field.write(&mut R::default()) {
            _ if vital => "this row is left out".to_owned(),
            Some(Scalar::Int(default)) => format!("its default {default} is kept"),
            _ => "its default is kept".to_owned(),
        };
        document.in_vain(span(), &title(reason), &instead);
        document.places.reported(self.name, Some(index), column.cell());
        if vital && document.format == Format::Cnf {
            document.leave_out(self.name, index);
        }
    }

    /// The cells of a row that a file has to say: what has no default, or another value than it.
    pub(super) fn write_row(&self, row: &R) -> Vec<(String, Scalar)>
    where
        R: Clone,
    {
        let mut row = row.clone();
        let mut cells = Vec::new();
        for column in self.columns {
            // a rule without `active` would puzzle, and a socket's port is another than a host's
            let told = column.needed
                || matches!((self.name, column.name), ("mysql_query_rules", "active"))
                || matches!((self.name, column.name), ("mysql_servers", "port"))
                || !column.field.is_default(&mut row);
            if told && let Some(value) = column.field.write(&mut row) {
                cells.push((column.name.to_owned(), value));
            }
        }
        cells
    }

    /// Whether one of its columns is written like this.
    pub(super) fn knows(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    fn find(&self, key: &str) -> Option<&Column<R>> {
        self.columns.iter().find(|column| column.name == key || column.aliases.contains(&key))
    }

    /// What is likely to be meant by a key that no column has.
    fn near(&self, key: &str) -> Option<String> {
        let aliases = self.columns.iter().flat_map(|column| column.aliases).copied();
        let meant = nearest(key, self.columns.iter().map(|column| column.name).chain(aliases))?;
        Some(format!("unknown column; did you mean `{meant}`?"))
    }

    fn unknown(&self, key: &str) -> String {
        let name = self.name;
        match self.near(key) {
            Some(near) => format!("{name}.{key}: {near}"),
            None => {
                let names: Vec<_> = self.columns.iter().map(|column| column.name).collect();
                format!("{name}.{key}: unknown column; there are {}", names.join(", "))
            }
        }
    }
}

impl<R: Default> Column<R> {
    /// The column that a value is stored in, whatever it is written as.
    fn cell(&self) -> &'static str {
        match self.field {
            Field::Hex(_) => self.name.strip_suffix("_hex").unwrap_or(self.name),
            _ => self.name,
        }
    }
}

impl<R: Default> Field<R> {
    /// Stores a value; the error says which type is wanted.
    fn read(&self, row: &mut R, value: &Value, format: Format) -> Result<(), String> {
        let value = match (self, value, format) {
            (Field::Int(_) | Field::OptionalInt(_), Value::Bool(value), Format::Cnf) => {
                &Value::Int(i64::from(*value))
            }
            _ => value,
        };
        let whole = value.whole();
        let text = value.text();
        match (self, value, whole, text) {
            (Field::Int(field) | Field::Flag(field), _, Some(whole), _) => *field(row) = whole?,
            (Field::Flag(field), Value::Bool(value), ..) => *field(row) = i64::from(*value),
            (Field::OptionalInt(field) | Field::OptionalFlag(field), _, Some(whole), _) => {
                *field(row) = Some(whole?);
            }
            (Field::OptionalFlag(field), Value::Bool(value), ..) => {
                *field(row) = Some(i64::from(*value));
            }
            (Field::Text(field), .., Some(text)) => *field(row) = text?,
            (Field::OptionalText(field), .., Some(text)) => *field(row) = Some(text?),
            (Field::Bytes(field), Value::Text(bytes), ..) => field(row).clone_from(bytes),
            (Field::Hex(field), .., Some(text)) => *field(row) = bytes_of_hex(&text?)?,
            _ => return Err(format!("expected {}, found {}", self.wants(), value.kind())),
        }
        Ok(())
    }

    /// The value; `None` when there is nothing to write, or another column writes it.
    fn write(&self, row: &mut R) -> Option<Scalar> {
        let mut initial = R::default();
        match self {
            Field::Int(field) | Field::Flag(field) => Some(Scalar::Int(*field(row))),
            Field::OptionalInt(field) | Field::OptionalFlag(field) => field(row).map(Scalar::Int),
            Field::Text(field) => Some(Scalar::Text(field(row).as_bytes().to_vec())),
            Field::OptionalText(field) => match field(row) {
                Some(text) => Some(Scalar::Text(text.as_bytes().to_vec())),
                // a file cannot say NULL; an empty text means the same where that is no default
                None => field(&mut initial).as_ref().map(|_| Scalar::Text(Vec::new())),
            },
            Field::Bytes(field) => Some(Scalar::Text(field(row).clone())),
            Field::Hex(_) => None,
        }
    }

    fn is_default(&self, row: &mut R) -> bool {
        let mut initial = R::default();
        match self {
            Field::Int(field) | Field::Flag(field) => field(row) == field(&mut initial),
            Field::OptionalInt(field) | Field::OptionalFlag(field) => {
                field(row) == field(&mut initial)
            }
            Field::Text(field) => field(row) == field(&mut initial),
            Field::OptionalText(field) => field(row) == field(&mut initial),
            Field::Bytes(field) | Field::Hex(field) => field(row) == field(&mut initial),
        }
    }

    fn wants(&self) -> &'static str {
        match self {
            Field::Int(_) | Field::OptionalInt(_) => "a whole number",
            Field::Flag(_) | Field::OptionalFlag(_) => "0 or 1",
            Field::Text(_) | Field::OptionalText(_) | Field::Bytes(_) => "a \"text\"",
            Field::Hex(_) => "a \"text\" of hexadecimal digits",
        }
    }
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
