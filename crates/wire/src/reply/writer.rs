//! Replies written whole, for queries that are answered here and for the embedded server.
//!
//! Every function appends framed packets; `seq` is the number of the next frame and is counted
//! on. What goes into a reply is decided by the caller.

use crate::connect::{AuthMore, AuthSwitch};
use crate::frame::write_with;
use crate::reply::{ColumnDef, EofPacket, ErrPacket, OkPacket};
use crate::value::Value;
use crate::{Caps, Status};

/// How the rows of a result are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowForm {
    /// As text: the reply to `COM_QUERY`.
    Text,
    /// In binary: the reply to `COM_STMT_EXECUTE`.
    Binary,
}

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

/// Appends the whole reply to `COM_STMT_PREPARE`.
pub fn write_prepare_ok(
    out: &mut Vec<u8>,
    seq: &mut u8,
    caps: Caps,
    stmt_id: u32,
    params: &[ColumnDef<'_>],
    columns: &[ColumnDef<'_>],
) {
    let _ = (out, seq, caps, stmt_id, params, columns);
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
    let _ = (out, seq, caps, columns, rows, status);
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
        let _ = (columns, status);
        Self { out, seq, caps }
    }

    /// Appends a text row; `None` is NULL.
    pub fn text_row<'v>(&mut self, values: impl IntoIterator<Item = Option<&'v [u8]>>) {
        let _ = values;
    }

    /// Appends a binary row: a value for each of `columns`, written as the column's type.
    pub fn binary_row(&mut self, columns: &[ColumnDef<'_>], values: &[Value<'_>]) {
        let _ = (columns, values);
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
