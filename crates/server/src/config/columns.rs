//! Columns as data, and the one reader that fills a row of any table by them.
//!
//! Knows TOML types; knows no table. Values are taken as they are: ranges are the engine's.

use std::ops::Range;

use engine::vars::nearest;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::document::Document;
use super::fault::Fault;

/// A table whose rows are written as `[[name]]`.
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
    /// How much notice is taken of it.
    pub(super) notice: Notice,
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

/// How much notice is taken of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    /// It is acted on.
    Acts,
    /// It is acted on and every row must have it.
    Needed,
    /// It is carried and never acts, as in ProxySQL.
    Remark,
    /// It is accepted, without effect in this version.
    NotYet,
    /// Any other value than 0 is refused, as doing without would be unsafe.
    NeedsTls,
}

impl<R: Default> Table<R> {
    /// Reads one row; what cannot be read keeps its default and is reported.
    pub(super) fn read_row(
        &self,
        document: &mut Document,
        index: usize,
        span: Range<usize>,
        row: &DeTable<'_>,
    ) -> R {
        let mut typed = R::default();
        document.places.row(self.name, Some(index), span.clone());
        let mut keys: Vec<_> = row.iter().collect();
        keys.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in keys {
            self.read_cell(document, index, &mut typed, (key.get_ref(), key.span()), value);
        }
        for column in self.columns.iter().filter(|column| column.notice == Notice::Needed) {
            if document.places.find(self.name, Some(index), column.name).is_none() {
                let title = format!("{}.{} is missing", self.name, column.name);
                document.faults.push(Fault::error(span.clone(), title));
                document.places.reported(self.name, Some(index), column.name);
            }
        }
        typed
    }

    fn read_cell(
        &self,
        document: &mut Document,
        index: usize,
        row: &mut R,
        (key, key_span): (&str, Range<usize>),
        value: &Spanned<DeValue<'_>>,
    ) {
        let Some(column) = self.find(key) else {
            document.faults.push(Fault::error(key_span, self.unknown(key)));
            return;
        };
        let title = |reason: String| format!("{}.{}: {reason}", self.name, key);
        if document.places.cell(self.name, Some(index), column.cell(), value.span()).is_some() {
            let reason = format!("`{}` is given twice in this row", column.cell());
            document.faults.push(Fault::error(key_span, title(reason)));
            return;
        }
        match column.field.read(row, value.get_ref()) {
            Ok(()) => column.take_notice(document, row, title, value.span()),
            Err(reason) => {
                document.faults.push(Fault::error(value.span(), title(reason)));
                document.places.reported(self.name, Some(index), column.cell());
            }
        }
    }

    fn find(&self, key: &str) -> Option<&Column<R>> {
        self.columns.iter().find(|column| column.name == key || column.aliases.contains(&key))
    }

    fn unknown(&self, key: &str) -> String {
        let name = self.name;
        match nearest(key, self.columns.iter().map(|column| column.name)) {
            Some(meant) => format!("{name}.{key}: unknown column; did you mean `{meant}`?"),
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

    fn take_notice(
        &self,
        document: &mut Document,
        row: &mut R,
        title: impl Fn(String) -> String,
        span: Range<usize>,
    ) {
        if self.field.is_default(row) {
            return;
        }
        match self.notice {
            Notice::Acts | Notice::Needed | Notice::Remark => {}
            Notice::NotYet => {
                let reason = "accepted, but without effect in this version".to_owned();
                document.odd.push(Fault::warning(span, title(reason)));
            }
            Notice::NeedsTls => {
                let reason = "this version has no TLS yet; only 0 is allowed".to_owned();
                document.faults.push(Fault::error(span, title(reason)));
            }
        }
    }
}

impl<R: Default> Field<R> {
    /// Stores a value; the error says which type is wanted.
    fn read(&self, row: &mut R, value: &DeValue<'_>) -> Result<(), String> {
        match (self, value) {
            (Field::Int(field) | Field::Flag(field), DeValue::Integer(value)) => {
                *field(row) = integer(value)?;
            }
            (Field::Flag(field), DeValue::Boolean(value)) => *field(row) = i64::from(*value),
            (Field::OptionalInt(field) | Field::OptionalFlag(field), DeValue::Integer(value)) => {
                *field(row) = Some(integer(value)?);
            }
            (Field::OptionalFlag(field), DeValue::Boolean(value)) => {
                *field(row) = Some(i64::from(*value));
            }
            (Field::Text(field), DeValue::String(value)) => *field(row) = value.to_string(),
            (Field::OptionalText(field), DeValue::String(value)) => {
                *field(row) = Some(value.to_string());
            }
            (Field::Bytes(field), DeValue::String(value)) => {
                *field(row) = value.as_bytes().to_vec();
            }
            (Field::Hex(field), DeValue::String(value)) => *field(row) = bytes_of_hex(value)?,
            (_, other) => return Err(format!("expected {}, found {}", self.wants(), kind(other))),
        }
        Ok(())
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

/// The number that is written.
pub(super) fn integer(value: &DeInteger<'_>) -> Result<i64, String> {
    i64::from_str_radix(value.as_str(), value.radix())
        .map_err(|_| format!("{value} does not fit in 64 bits"))
}

/// What a value is, for people.
pub(super) fn kind(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text \"{}\"", text.escape_debug()),
        DeValue::Integer(number) => format!("the number {number}"),
        DeValue::Float(number) => format!("the number {number}"),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
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
