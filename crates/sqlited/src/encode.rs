//! Results as packets: column definitions, and rows in text or binary, a portion at a time.
//!
//! Knows nothing of sockets; how much is written before the caller waits is the caller's choice.

use wire::reply::{ColumnDef, ColumnFlags, ColumnKind, ResultWriter};
use wire::value::Value;
use wire::{Caps, Status};

use crate::rows::{Cell, Column, Rows};
use crate::types::{self, ColumnType};

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RowForm {
    /// As text, for COM_QUERY.
    Text,
    /// In binary, for COM_STMT_EXECUTE.
    Binary,
}

/// A result on its way to the client.
#[derive(Debug)]
pub(crate) struct Outgoing {
    rows: Rows,
    types: Vec<ColumnType>,
    form: RowForm,
    caps: Caps,
    at: usize,
    sent: u64,
}

impl Outgoing {
    /// Writes the column definitions; the rows follow by [`Outgoing::fill`].
    pub(crate) fn begin(
        rows: Rows,
        form: RowForm,
        caps: Caps,
        status: Status,
        out: &mut Vec<u8>,
        seq: &mut u8,
    ) -> Self {
        let definitions: Vec<ColumnDef<'_>> = rows.columns.iter().map(definition).collect();
        ResultWriter::begin(out, seq, caps, &definitions, status);
        let types = rows.columns.iter().map(Column::settled).collect();
        Self { rows, types, form, caps, at: 0, sent: 0 }
    }

    /// Writes rows until there is about `enough` in `out`; says whether all are written.
    pub(crate) fn fill(&mut self, enough: usize, out: &mut Vec<u8>, seq: &mut u8) -> bool {
        let definitions: Vec<ColumnDef<'_>> = self.rows.columns.iter().map(definition).collect();
        let mut writer = ResultWriter::resume(out, seq, self.caps);
        while self.sent < self.rows.count {
            if writer.len() >= enough {
                return false;
            }
            let (row, next) = row(&self.rows, &self.types, self.form, self.at);
            match self.form {
                RowForm::Text => writer.text_row(row.iter().map(|(cell, made)| match cell {
                    Cell::Bytes(bytes) => Some(*bytes),
                    _ => made.as_deref().map(str::as_bytes),
                })),
                RowForm::Binary => {
                    let values = row.iter().zip(&self.types).map(|((cell, made), kind)| {
                        made.as_ref().map_or_else(
                            || value(*cell, *kind),
                            |made| Value::Bytes(made.as_bytes()),
                        )
                    });
                    writer.binary_row(&definitions, &values.collect::<Vec<_>>());
                }
            }
            self.at = next;
            self.sent += 1;
        }
        true
    }
}

/// A column as the client is told of it.
pub(crate) fn definition(column: &Column) -> ColumnDef<'_> {
    let settled = column.settled();
    let mut flags = ColumnFlags(0);
    if settled.unsigned {
        flags = flags.union(ColumnFlags::UNSIGNED);
    }
    if settled.binary {
        flags = flags.union(ColumnFlags::BINARY);
    }
    if settled.kind == ColumnKind::BLOB {
        flags = flags.union(ColumnFlags::BLOB);
    }
    ColumnDef {
        collation: if settled.binary { ColumnDef::BINARY } else { ColumnDef::UTF8MB4 },
        length: settled.length,
        kind: settled.kind,
        flags,
        decimals: settled.decimals,
        ..ColumnDef::text(column.name.as_bytes())
    }
}

/// The row that begins at `at`, numbers that travel as text made so; and where the next begins.
fn row<'r>(
    rows: &'r Rows,
    types: &[ColumnType],
    form: RowForm,
    mut at: usize,
) -> (Vec<(Cell<'r>, Option<String>)>, usize) {
    let mut row = Vec::with_capacity(types.len());
    for kind in types {
        let (cell, next) = rows.cell(at);
        let as_text = form == RowForm::Text || kind.kind == ColumnKind::NEWDECIMAL;
        row.push((cell, if as_text { number_text(cell, *kind) } else { None }));
        at = next;
    }
    (row, at)
}

/// A number as MySQL writes it in a column of this type.
fn number_text(cell: Cell<'_>, kind: ColumnType) -> Option<String> {
    match cell {
        Cell::Null | Cell::Bytes(_) => None,
        Cell::Integer(number) if kind.kind == ColumnKind::NEWDECIMAL && kind.decimals > 0 => {
            Some(format!("{number}.{}", "0".repeat(usize::from(kind.decimals))))
        }
        Cell::Integer(number) => Some(number.to_string()),
        Cell::Real(number) => Some(match kind.kind {
            ColumnKind::NEWDECIMAL => format!("{number:.*}", usize::from(kind.decimals)),
            ColumnKind::FLOAT => (number as f32).to_string(),
            _ => number.to_string(),
        }),
    }
}

/// A cell for the binary protocol.
fn value(cell: Cell<'_>, kind: ColumnType) -> Value<'_> {
    match cell {
        Cell::Null => Value::Null,
        Cell::Integer(number) => Value::Int(number),
        Cell::Real(number) => Value::Double(number),
        Cell::Bytes(bytes) if kind.is_temporal() => {
            let text = std::str::from_utf8(bytes).unwrap_or_default();
            match kind.kind {
                ColumnKind::TIME => Value::Time(types::parse_time(text).unwrap_or_default()),
                _ => Value::Date(types::parse_datetime(text).unwrap_or_default()),
            }
        }
        Cell::Bytes(bytes) => Value::Bytes(bytes),
    }
}
