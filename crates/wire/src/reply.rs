//! The packets of replies, one by one, read and written.
//!
//! Where a reply ends is the business of [`crate::result`]. The `write_*` functions append whole
//! framed packets; `encode` appends a payload.

mod column;
mod err;
mod ok;
mod session_track;
mod writer;

pub use column::{ColumnDef, ColumnFlags, ColumnKind};
pub use err::ErrPacket;
pub use ok::{EofPacket, OkPacket, status_at};
pub use session_track::{SessionChange, SessionTrack};
pub use writer::{
    ResultWriter, write_auth_more, write_auth_switch, write_cursor, write_eof, write_err,
    write_infile, write_ok, write_prepare_ok, write_text_result,
};

#[cfg(test)]
mod tests;
