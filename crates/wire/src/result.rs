//! Where the reply to a command ends.
//!
//! A [`ReplyTracker`] looks at frame headers and at the first bytes of packets, takes bytes as
//! they come, keeps none of them and allocates nothing. It does not decode rows, and it does not
//! know who asked or where the bytes go.
//!
//! A reply is made of these parts; `*` marks EOF packets that [`crate::Caps::DEPRECATE_EOF`] leaves
//! out or turns into OK packets:
//!
//! ```text
//! Result, Execute   OK | ERR | file request, then OK or ERR | column count, definitions, EOF*,
//!                   rows, EOF*; and again while the status says MORE_RESULTS. An EOF* after the
//!                   definitions that says CURSOR_EXISTS ends an Execute.
//! Prepare           ERR | header, parameter definitions, EOF*, column definitions, EOF*
//! Fetch, FieldList  rows or definitions, EOF* | ERR
//! Binlog            events, EOF* | ERR; numbers begin anew where the client acknowledges an event
//! ```
//!
//! Where OK may stand, so may ERR; where a packet may stand, so may a progress report.

mod packets;
mod tracker;

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::Status;

pub use tracker::ReplyTracker;

/// The longest packet that must be read whole: OK, ERR, EOF, and the first packet of a reply.
pub const WHOLE_BYTES_MAX: usize = 1 << 20;

/// The kinds of replies; [`crate::command::Command::reply_kind`] says which command has which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyKind {
    /// Results in text: `COM_QUERY`.
    Result,
    /// A prepared statement: `COM_STMT_PREPARE`.
    Prepare,
    /// Results in binary: `COM_STMT_EXECUTE`.
    Execute,
    /// Rows of a cursor: `COM_STMT_FETCH`.
    Fetch,
    /// Column definitions: `COM_FIELD_LIST`.
    FieldList,
    /// One OK, ERR or EOF packet.
    Simple,
    /// Events of a binary log, which come like rows: `COM_BINLOG_DUMP` and its like.
    Binlog,
    /// One packet of text: `COM_STATISTICS`.
    Statistics,
    /// No reply.
    None,
    /// An authentication until OK or ERR: `COM_CHANGE_USER`.
    Auth,
}

/// What [`ReplyTracker::feed`] made of some bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fed {
    /// How many of the bytes were taken; they may be relayed at once.
    pub consumed: usize,
    /// What happened at the end of them.
    pub event: Event,
}

/// What can happen in a reply. All ranges are positions in the bytes fed, within `consumed`.
/// After every event but `More`, `Err` and `End` the tracker must be fed again, with whatever
/// follows `consumed`, be it nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The reply goes on; more bytes are needed, together with those not consumed.
    More,
    /// The server asks for a file of the client: the client sends it, ending with an empty packet,
    /// then the reply goes on.
    Infile,
    /// A statement was prepared; its definitions follow.
    Prepared {
        /// The statement's id on the server.
        stmt_id: u32,
        /// How many columns its result has.
        columns: u16,
        /// How many parameters it has.
        params: u16,
        /// Where the four bytes of the id lie.
        id_at: usize,
    },
    /// A result that is not the last one of the reply carried session-track data (the last one's
    /// is in [`End`]).
    Track {
        /// The packet's payload.
        at: Range<usize>,
    },
    /// The command failed, at once or in mid-result. Ends the reply.
    Err {
        /// The error's number.
        code: u16,
        /// The SQLSTATE.
        sqlstate: [u8; 5],
        /// The packet's payload.
        at: Range<usize>,
    },
    /// The reply is complete.
    End(End),
    /// The server asks for another plugin (kind [`ReplyKind::Auth`] only); the client answers.
    AuthSwitch {
        /// The payload, for [`crate::connect::AuthSwitch::parse`].
        at: Range<usize>,
    },
    /// The server's plugin says more (kind [`ReplyKind::Auth`] only); the client may answer.
    AuthMore {
        /// The payload, for [`crate::connect::AuthMore::parse`].
        at: Range<usize>,
    },
}

/// What a complete reply amounted to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct End {
    /// The status flags of its last packet; none in a reply without an OK or EOF packet.
    pub status: Status,
    /// The warnings of its last result.
    pub warnings: u16,
    /// The affected rows of all its OK packets together.
    pub affected_rows: u64,
    /// The last insert id that was not 0.
    pub last_insert_id: u64,
    /// The rows of all results together.
    pub rows: u64,
    /// How many of its results have columns.
    pub resultsets: u32,
    /// Whether there was more than one result, with columns or without.
    pub several: bool,
    /// The payload of its last packet, if that is an OK packet that carries session-track data.
    pub track: Option<Range<usize>>,
    /// Whether a result with columns ended with an EOF packet, which has no room for session-track
    /// data and, from MySQL, no flag that there would be any.
    pub untold: bool,
    /// Whether the whole reply was one OK (or EOF) packet.
    pub ok_only: bool,
    /// What servers give as `ROW_COUNT()` afterwards: the affected rows of its last result, -1 if
    /// that has columns.
    pub row_count: i64,
    /// The rows before its last result with columns.
    pub rows_before: u64,
}
