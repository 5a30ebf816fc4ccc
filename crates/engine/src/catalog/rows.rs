//! The rows of a text result, as its bytes come. Knows nothing of what they say.

use wire::frame::{Framed, next_packet};
use wire::lenenc;
use wire::reader::Reader;

/// Bytes of a result up to its end, however they are cut.
#[derive(Debug, Default)]
pub struct CatalogRows {
    /// What has come of a packet that is not whole.
    rest: Vec<u8>,
    /// Packets before the first row; `None` before the first packet.
    heads: Option<u64>,
    ended: bool,
}

/// The bytes are no such result, or a row is too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRows;

/// Cells that are looked at.
pub(super) const CELLS: usize = 4;

impl CatalogRows {
    /// Takes bytes; `each` gets the rows that are whole. `eof` tells that a packet ends the
    /// columns, as without `CLIENT_DEPRECATE_EOF`.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        eof: bool,
        mut each: impl FnMut([Option<&[u8]>; CELLS]),
    ) -> Result<(), NoRows> {
        self.rest.extend_from_slice(bytes);
        let mut taken = 0;
        loop {
            let packet = match next_packet(self.rest.get(taken..).unwrap_or_default()) {
                Framed::Packet(packet) => packet,
                Framed::Need(_) => break,
                Framed::Long { .. } => return Err(NoRows),
            };
            taken += packet.len;
            match self.heads {
                None => {
                    let columns = Reader::new(packet.payload).lenenc().map_err(|_| NoRows)?;
                    self.heads = Some(columns + u64::from(eof));
                }
                Some(0) => {
                    self.ended |= packet.payload.first() == Some(&0xfe);
                    if !self.ended {
                        each(cells(packet.payload)?);
                    }
                }
                Some(left) => self.heads = Some(left - 1),
            }
        }
        self.rest.drain(..taken);
        Ok(())
    }
}

fn cells(row: &[u8]) -> Result<[Option<&[u8]>; CELLS], NoRows> {
    let mut cells = [None; CELLS];
    let mut rest = row;
    for cell in &mut cells {
        if let Some((&lenenc::NULL, behind)) = rest.split_first() {
            rest = behind;
            continue;
        }
        let mut reader = Reader::new(rest);
        let text = reader.lenenc_bytes().map_err(|_| NoRows)?;
        *cell = Some(text);
        rest = reader.take_rest();
    }
    Ok(cells)
}
