//! The answer to a statement whose values are texts, taken packet by packet and kept whole: for
//! callers that ask servers for themselves. Of a server that was not told of
//! [`Caps::DEPRECATE_EOF`](crate::Caps::DEPRECATE_EOF).

use crate::lenenc::NULL;
use crate::reader::Reader;
use crate::reply::{ColumnDef, EofPacket, OkPacket};
use crate::{Caps, Malformed, Status};

/// The values of a row; NULL is `None`. What is not UTF-8 is replaced.
pub type TextRow = Vec<Option<String>>;

/// What a statement answered.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TextResult {
    /// The names of the columns; empty for a statement without a result.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<TextRow>,
    /// How many rows a statement without a result changed.
    pub affected_rows: u64,
    /// The session's status afterwards.
    pub status: Status,
}

impl TextResult {
    /// The value in the first row at `column`.
    pub fn value(&self, column: usize) -> Option<&str> {
        self.rows.first()?.get(column)?.as_deref()
    }
}

/// An answer as far as it has come.
#[derive(Default, Debug)]
pub struct TextReader {
    result: TextResult,
    part: Part,
}

#[derive(Clone, Copy, Default, Debug)]
enum Part {
    #[default]
    First,
    Columns(u64),
    ColumnsEnd,
    Rows,
}

impl TextReader {
    /// Takes the next packet, which is no error; gives the answer with its last one, and begins
    /// anew.
    pub fn on_packet(&mut self, payload: &[u8]) -> Result<Option<TextResult>, Malformed> {
        match self.part {
            Part::First if payload.first() == Some(&OkPacket::MARKER) => {
                let OkPacket { affected_rows, status, .. } = OkPacket::parse(payload, Caps::NONE)?;
                return Ok(Some(TextResult { affected_rows, status, ..TextResult::default() }));
            }
            Part::First => self.part = Part::Columns(Reader::new(payload).lenenc()?),
            Part::Columns(left) => {
                let column = ColumnDef::parse(payload, Caps::NONE)?;
                self.result.columns.push(String::from_utf8_lossy(column.name).into_owned());
                self.part = match left {
                    0 | 1 => Part::ColumnsEnd,
                    _ => Part::Columns(left - 1),
                };
            }
            Part::ColumnsEnd => {
                EofPacket::parse(payload)?;
                self.part = Part::Rows;
            }
            // a row that begins so has a value of 16 MiB
            Part::Rows
                if payload.first() == Some(&EofPacket::MARKER)
                    && payload.len() <= EofPacket::BYTES =>
            {
                let status = EofPacket::parse(payload)?.status;
                let result = std::mem::take(self).result;
                return Ok(Some(TextResult { status, ..result }));
            }
            Part::Rows => {
                let row = row(payload, self.result.columns.len())?;
                self.result.rows.push(row);
            }
        }
        Ok(None)
    }
}

fn row(payload: &[u8], columns: usize) -> Result<TextRow, Malformed> {
    let mut read = Reader::new(payload);
    let value = |_| match read.rest().first() {
        Some(&NULL) => read.marker(NULL).map(|()| None),
        _ => Ok(Some(String::from_utf8_lossy(read.lenenc_bytes()?).into_owned())),
    };
    (0..columns).map(value).collect()
}
