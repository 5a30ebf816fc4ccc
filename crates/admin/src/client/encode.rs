//! Results as packets. Every column is a text, as ProxySQL's are.

use wire::frame::write_with;
use wire::reply::{ColumnDef, ColumnFlags, ColumnKind, EofPacket, ResultWriter, write_eof};
use wire::value::Value;
use wire::{Caps, Status};

use super::STATUS;
use crate::database::ResultSet;

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// As text, for COM_QUERY.
    Text,
    /// In binary, for COM_STMT_EXECUTE.
    Binary,
}

/// Writes a whole result.
pub(super) fn rows(
    rows: &ResultSet,
    form: Form,
    caps: Caps,
    status: Status,
    warnings: u16,
    out: &mut Vec<u8>,
    seq: &mut u8,
) {
    let columns = columns(&rows.columns);
    let mut writer = ResultWriter::begin(out, seq, caps, &columns, status);
    for row in &rows.rows {
        match form {
            Form::Text => writer.text_row(row.iter().map(Option::as_deref)),
            Form::Binary => {
                let values: Vec<Value<'_>> = row
                    .iter()
                    .map(|cell| cell.as_deref().map_or(Value::Null, Value::Bytes))
                    .collect();
                writer.binary_row(&columns, &values);
            }
        }
    }
    writer.end(status, warnings);
}

/// Writes the answer to COM_FIELD_LIST.
pub(super) fn field_list(rows: &ResultSet, caps: Caps, out: &mut Vec<u8>, seq: &mut u8) {
    for column in columns(&rows.columns) {
        write_with(out, seq, |out| {
            column.encode(caps, out);
            // no default value
            out.push(wire::lenenc::NULL);
        });
    }
    write_eof(out, seq, caps, EofPacket { warnings: 0, status: STATUS });
}

/// Columns as a client is told of them.
pub(super) fn columns(names: &[String]) -> Vec<ColumnDef<'_>> {
    names.iter().map(|name| column(name)).collect()
}

fn column(name: &str) -> ColumnDef<'_> {
    ColumnDef {
        collation: UTF8,
        length: 15,
        kind: ColumnKind::VAR_STRING,
        flags: ColumnFlags::NOT_NULL,
        decimals: 0x1f,
        ..ColumnDef::text(name.as_bytes())
    }
}

/// The id of the collation `utf8_general_ci`.
const UTF8: u16 = 33;
