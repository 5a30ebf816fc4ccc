//! Replies written whole, for queries that are answered here and for the embedded server.
//!
//! Every function appends framed packets; `seq` is the number of the next frame and is counted
//! on. What goes into a reply is decided by the caller.

use crate::connect::{AuthMore, AuthSwitch};
use crate::frame::write_with;
use crate::reply::{ColumnDef, EofPacket, ErrPacket, OkPacket};
use crate::value::Value;
use crate::{Caps, Status, lenenc};

/// Appends an OK packet.
pub fn write_ok(out: &mut Vec<u8>, seq: &mut u8, caps: Caps, ok: &OkPacket<'_>) {
    write_with(out, seq, |out| ok.encode(caps, out));
}

/// Appends an ERR packet.
pub fn write_err(out: &mut Vec<u8>, seq: &mut u8, err: &ErrPacket<'_>) {
    write_with(out, seq, |out| err.encode(out));
}

/// Appends what ends a result: an EOF packet, or with [`Caps::DEPRECATE_EOF`] an OK packet in its
/// place.
pub fn write_eof(out: &mut Vec<u8>, seq: &mut u8, caps: Caps, eof: EofPacket) {
    let EofPacket { warnings, status } = eof;
    write_with(out, seq, |out| match caps.contains(Caps::DEPRECATE_EOF) {
        true => OkPacket { warnings, status, ..OkPacket::default() }.encode_as_eof(caps, out),
        false => eof.encode(out),
    });
}

/// Appends a request for the contents of a file on the client.
pub fn write_infile(out: &mut Vec<u8>, seq: &mut u8, name: &[u8]) {
    write_with(out, seq, |out| {
        out.push(0xfb);
        out.extend_from_slice(name);
    });
}

/// Appends a request for another authentication plugin.
pub fn write_auth_switch(out: &mut Vec<u8>, seq: &mut u8, switch: &AuthSwitch<'_>) {
    write_with(out, seq, |out| switch.encode(out));
}

/// Appends data of an authentication plugin.
pub fn write_auth_more(out: &mut Vec<u8>, seq: &mut u8, data: &[u8]) {
    write_with(out, seq, |out| AuthMore { data }.encode(out));
}

/// Appends the whole reply to `COM_STMT_PREPARE`; `status` is what the EOF packets say.
pub fn write_prepare_ok(
    out: &mut Vec<u8>,
    seq: &mut u8,
    caps: Caps,
    stmt_id: u32,
    params: &[ColumnDef<'_>],
    columns: &[ColumnDef<'_>],
    status: Status,
) {
    write_with(out, seq, |out| {
        out.push(OkPacket::MARKER);
        out.extend_from_slice(&stmt_id.to_le_bytes());
        for definitions in [columns, params] {
            let count = u16::try_from(definitions.len()).unwrap_or(u16::MAX);
            out.extend_from_slice(&count.to_le_bytes());
        }
        out.extend_from_slice(&[0, 0, 0]);
        if caps.contains(Caps::OPTIONAL_METADATA) {
            out.push(METADATA_FOLLOWS);
        }
    });
    for definitions in [params, columns] {
        if !definitions.is_empty() {
            let seen = definitions.get(..usize::from(u16::MAX)).unwrap_or(definitions);
            write_definitions(out, seq, caps, seen, status);
        }
    }
}

/// Appends the reply to a `COM_STMT_EXECUTE` that opened a cursor: columns and no rows.
pub fn write_cursor(
    out: &mut Vec<u8>,
    seq: &mut u8,
    caps: Caps,
    columns: &[ColumnDef<'_>],
    status: Status,
) {
    let status = status | Status::CURSOR_EXISTS;
    write_column_count(out, seq, caps, columns.len());
    write_definitions(out, seq, caps, columns, status);
    if caps.contains(Caps::DEPRECATE_EOF) {
        write_eof(out, seq, caps, EofPacket { warnings: 0, status });
    }
}

/// Appends a whole result of text rows: the answer to a query that is answered here.
pub fn write_text_result(
    out: &mut Vec<u8>,
    seq: &mut u8,
    caps: Caps,
    columns: &[ColumnDef<'_>],
    rows: &[&[Option<&[u8]>]],
    status: Status,
) {
    let mut result = ResultWriter::begin(out, seq, caps, columns, status);
    for row in rows {
        result.text_row(row.iter().copied());
    }
    result.end(status, 0);
}

/// Writes one result set: columns, then rows, then the end.
#[derive(Debug)]
pub struct ResultWriter<'o> {
    out: &'o mut Vec<u8>,
    seq: &'o mut u8,
    caps: Caps,
}

impl<'o> ResultWriter<'o> {
    /// Appends the column count and the definitions.
    pub fn begin(
        out: &'o mut Vec<u8>,
        seq: &'o mut u8,
        caps: Caps,
        columns: &[ColumnDef<'_>],
        status: Status,
    ) -> Self {
        write_column_count(out, seq, caps, columns.len());
        write_definitions(out, seq, caps, columns, status);
        Self { out, seq, caps }
    }

    /// Goes on after columns that were sent before: the reply to a `COM_STMT_FETCH`.
    pub fn resume(out: &'o mut Vec<u8>, seq: &'o mut u8, caps: Caps) -> Self {
        Self { out, seq, caps }
    }

    /// Appends a text row; `None` is NULL.
    pub fn text_row<'v>(&mut self, values: impl IntoIterator<Item = Option<&'v [u8]>>) {
        write_with(self.out, self.seq, |out| {
            for value in values {
                match value {
                    Some(value) => lenenc::write_bytes(out, value),
                    None => out.push(lenenc::NULL),
                }
            }
        });
    }

    /// Appends a binary row: a value for each of `columns`, written as the column's type. A value
    /// that is missing is NULL.
    pub fn binary_row(&mut self, columns: &[ColumnDef<'_>], values: &[Value<'_>]) {
        write_with(self.out, self.seq, |out| {
            out.push(0);
            let bitmap = out.len();
            out.resize(bitmap + (columns.len() + 7 + NULL_OFFSET) / 8, 0);
            for (at, column) in columns.iter().enumerate() {
                match values.get(at) {
                    None | Some(Value::Null) => {
                        let bit = at + NULL_OFFSET;
                        if let Some(byte) = out.get_mut(bitmap + bit / 8) {
                            *byte |= 1 << (bit % 8);
                        }
                    }
                    Some(value) => value.write(column.kind, out),
                }
            }
        });
    }

    /// How many bytes have been written.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Appends the end of the result.
    pub fn end(self, status: Status, warnings: u16) {
        write_eof(self.out, self.seq, self.caps, EofPacket { warnings, status });
    }

    /// Appends an error in place of the end.
    pub fn fail(self, err: &ErrPacket<'_>) {
        write_err(self.out, self.seq, err);
    }
}

fn write_column_count(out: &mut Vec<u8>, seq: &mut u8, caps: Caps, count: usize) {
    write_with(out, seq, |out| {
        lenenc::write_int(out, count as u64);
        if caps.intersects(Caps::MARIADB_CACHE_METADATA | Caps::OPTIONAL_METADATA) {
            out.push(METADATA_FOLLOWS);
        }
    });
}

/// Appends definitions and the EOF packet that old clients need after them.
fn write_definitions(
    out: &mut Vec<u8>,
    seq: &mut u8,
    caps: Caps,
    columns: &[ColumnDef<'_>],
    status: Status,
) {
    for column in columns {
        write_with(out, seq, |out| column.encode(caps, out));
    }
    if !caps.contains(Caps::DEPRECATE_EOF) {
        write_eof(out, seq, caps, EofPacket { warnings: 0, status });
    }
}

/// Says that column definitions are not left out.
const METADATA_FOLLOWS: u8 = 1;

/// Where the bits of a binary row's NULLs begin.
const NULL_OFFSET: usize = 2;
