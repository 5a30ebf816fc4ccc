//! Results as packets.

use wire::frame::write_with;
use wire::reply::{ColumnDef, ColumnFlags, ColumnKind, EofPacket, ResultWriter, write_eof};
use wire::value::Value;
use wire::{Caps, Status, collation_table};

/// The rows of a result.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Rows {
    /// The columns.
    pub columns: Vec<Column>,
    /// A value for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// A column as the client is told of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub kind: ColumnKind,
    /// What else there is to know of them.
    pub flags: ColumnFlags,
    /// The id of their collation.
    pub collation: u16,
    /// Their greatest length in bytes.
    pub length: u32,
    /// Digits behind the point.
    pub decimals: u8,
}

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// NULL.
    Null,
    /// An integer.
    Int(i64),
    /// A number with a fraction.
    Double(f64),
    /// Text or bytes.
    Bytes(Vec<u8>),
}

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// As text, for `COM_QUERY`.
    Text,
    /// In binary, for `COM_STMT_EXECUTE`.
    Binary,
}

impl Column {
    /// A column of texts of up to 255 characters.
    pub fn text(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: ColumnKind::VAR_STRING,
            flags: ColumnFlags(0),
            collation: u16::from(collation_table::UTF8MB4_GENERAL_CI),
            length: 255 * 4,
            decimals: 0,
        }
    }

    fn definition(&self) -> ColumnDef<'_> {
        ColumnDef {
            collation: self.collation,
            length: self.length,
            kind: self.kind,
            flags: self.flags,
            decimals: self.decimals,
            ..ColumnDef::text(self.name.as_bytes())
        }
    }
}

impl Cell {
    /// The value of a parameter. Numbers beyond a signed integer lose their last digits.
    pub(crate) fn of(value: &Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(number) => Self::Int(*number),
            Value::UInt(number) => {
                i64::try_from(*number).map_or(Self::Double(*number as f64), Self::Int)
            }
            Value::Float(number) => Self::Double(f64::from(*number)),
            Value::Double(number) => Self::Double(*number),
            Value::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
            Value::Date(date) => Self::Bytes(date.to_string().into_bytes()),
            Value::Time(time) => Self::Bytes(time.to_string().into_bytes()),
        }
    }

    fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Int(number) => Value::Int(*number),
            Self::Double(number) => Value::Double(*number),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }

    /// The value as a text, for those that are none.
    fn digits(&self) -> Option<String> {
        match self {
            Self::Null | Self::Bytes(_) => None,
            Self::Int(number) => Some(number.to_string()),
            Self::Double(number) => Some(number.to_string()),
        }
    }
}

/// Columns as packets have them.
pub(crate) fn definitions(columns: &[Column]) -> Vec<ColumnDef<'_>> {
    columns.iter().map(Column::definition).collect()
}

/// Appends a whole result.
pub(crate) fn write_rows(
    rows: &Rows,
    form: Form,
    (caps, status, warnings): (Caps, Status, u16),
    out: &mut Vec<u8>,
    seq: &mut u8,
) {
    let columns = definitions(&rows.columns);
    let mut writer = ResultWriter::begin(out, seq, caps, &columns, status);
    for row in &rows.rows {
        match form {
            Form::Text => {
                let digits: Vec<Option<String>> = row.iter().map(Cell::digits).collect();
                writer.text_row(row.iter().zip(&digits).map(|(cell, digits)| match cell {
                    Cell::Bytes(bytes) => Some(bytes.as_slice()),
                    _ => digits.as_deref().map(str::as_bytes),
                }));
            }
            Form::Binary => {
                let values: Vec<Value<'_>> = row.iter().map(Cell::value).collect();
                writer.binary_row(&columns, &values);
            }
        }
    }
    writer.end(status, warnings);
}

/// Appends the answer to `COM_FIELD_LIST`.
pub(crate) fn write_fields(
    columns: &[Column],
    (caps, status): (Caps, Status),
    out: &mut Vec<u8>,
    seq: &mut u8,
) {
    for column in definitions(columns) {
        write_with(out, seq, |out| {
            column.encode(caps, out);
            // no default value
            out.push(wire::lenenc::NULL);
        });
    }
    write_eof(out, seq, caps, EofPacket { warnings: 0, status });
}
