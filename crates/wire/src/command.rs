//! Commands: what a client asks for, one packet each.
//!
//! A command is split into its fields; the text of a statement and the parameters of a prepared
//! one are not looked into. What a command means for a session is decided elsewhere.

use crate::reader::Reader;
use crate::result::ReplyKind;

/// A command's payload, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// `COM_QUERY`: the text.
    Query(&'a [u8]),
    /// `COM_INIT_DB`: the schema.
    InitDb(&'a [u8]),
    /// `COM_PING`.
    Ping,
    /// `COM_QUIT`.
    Quit,
    /// `COM_STMT_PREPARE`: the text.
    StmtPrepare(&'a [u8]),
    /// `COM_STMT_EXECUTE`.
    StmtExecute {
        /// The statement.
        id: u32,
        /// The cursor flags.
        flags: u8,
        /// What follows the flags: the iteration count (4 bytes) and the parameters.
        rest: &'a [u8],
    },
    /// `COM_STMT_BULK_EXECUTE` of MariaDB.
    StmtBulkExecute {
        /// The statement.
        id: u32,
        /// The bulk flags.
        flags: u16,
        /// The parameter types, if the flags say so, and the rows.
        rest: &'a [u8],
    },
    /// `COM_STMT_CLOSE`.
    StmtClose(u32),
    /// `COM_STMT_RESET`.
    StmtReset(u32),
    /// `COM_STMT_FETCH`.
    StmtFetch {
        /// The statement.
        id: u32,
        /// How many rows at most.
        rows: u32,
    },
    /// `COM_STMT_SEND_LONG_DATA`.
    SendLongData {
        /// The statement.
        id: u32,
        /// The parameter's number.
        param: u16,
        /// Bytes to be appended to the parameter's value.
        data: &'a [u8],
    },
    /// `COM_CHANGE_USER`: the whole payload, for [`crate::connect::ChangeUser::parse`].
    ChangeUser(&'a [u8]),
    /// `COM_RESET_CONNECTION`.
    ResetConnection,
    /// `COM_SET_OPTION`.
    SetOption(u16),
    /// `COM_FIELD_LIST`.
    FieldList {
        /// The table.
        table: &'a [u8],
        /// A pattern for the columns.
        wildcard: &'a [u8],
    },
    /// `COM_STATISTICS`.
    Statistics,
    /// `COM_PROCESS_INFO`.
    ProcessInfo,
    /// `COM_PROCESS_KILL`: a connection id.
    ProcessKill(u32),
    /// `COM_BINLOG_DUMP`: what follows the first byte.
    BinlogDump(&'a [u8]),
    /// `COM_BINLOG_DUMP_GTID`: what follows the first byte.
    BinlogDumpGtid(&'a [u8]),
    /// `COM_REGISTER_SLAVE`: what follows the first byte.
    RegisterReplica(&'a [u8]),
    /// `COM_DEBUG`.
    Debug,
    /// Any other command, a known one whose fields are cut short, or an empty packet (0xff).
    Unknown(u8),
}

/// The first bytes of commands.
pub mod code {
    /// `COM_QUIT`
    pub const QUIT: u8 = 0x01;
    /// `COM_INIT_DB`
    pub const INIT_DB: u8 = 0x02;
    /// `COM_QUERY`
    pub const QUERY: u8 = 0x03;
    /// `COM_FIELD_LIST`
    pub const FIELD_LIST: u8 = 0x04;
    /// `COM_STATISTICS`
    pub const STATISTICS: u8 = 0x09;
    /// `COM_PROCESS_INFO`
    pub const PROCESS_INFO: u8 = 0x0a;
    /// `COM_PROCESS_KILL`
    pub const PROCESS_KILL: u8 = 0x0c;
    /// `COM_DEBUG`
    pub const DEBUG: u8 = 0x0d;
    /// `COM_PING`
    pub const PING: u8 = 0x0e;
    /// `COM_CHANGE_USER`
    pub const CHANGE_USER: u8 = 0x11;
    /// `COM_BINLOG_DUMP`
    pub const BINLOG_DUMP: u8 = 0x12;
    /// `COM_REGISTER_SLAVE`
    pub const REGISTER_REPLICA: u8 = 0x15;
    /// `COM_STMT_PREPARE`
    pub const STMT_PREPARE: u8 = 0x16;
    /// `COM_STMT_EXECUTE`
    pub const STMT_EXECUTE: u8 = 0x17;
    /// `COM_STMT_SEND_LONG_DATA`
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    /// `COM_STMT_CLOSE`
    pub const STMT_CLOSE: u8 = 0x19;
    /// `COM_STMT_RESET`
    pub const STMT_RESET: u8 = 0x1a;
    /// `COM_SET_OPTION`
    pub const SET_OPTION: u8 = 0x1b;
    /// `COM_STMT_FETCH`
    pub const STMT_FETCH: u8 = 0x1c;
    /// `COM_BINLOG_DUMP_GTID`
    pub const BINLOG_DUMP_GTID: u8 = 0x1e;
    /// `COM_RESET_CONNECTION`
    pub const RESET_CONNECTION: u8 = 0x1f;
    /// `COM_STMT_BULK_EXECUTE` of MariaDB
    pub const STMT_BULK_EXECUTE: u8 = 0xfa;
}

/// Where the statement id lies in the payload of every `COM_STMT_*` command that has one.
pub const STMT_ID: std::ops::Range<usize> = 1..5;

/// The statement id with which MariaDB names the statement prepared last.
pub const LAST_PREPARED: u32 = 0xffff_ffff;

impl<'a> Command<'a> {
    /// Takes a command's payload apart. Never fails: what cannot be understood is
    /// [`Command::Unknown`].
    pub fn parse(payload: &'a [u8]) -> Self {
        let Some((&first, body)) = payload.split_first() else {
            return Self::Unknown(0xff);
        };
        match first {
            code::QUERY => Self::Query(body),
            code::PING => Self::Ping,
            code::QUIT => Self::Quit,
            code::INIT_DB => Self::InitDb(body),
            code::STMT_PREPARE => Self::StmtPrepare(body),
            code::CHANGE_USER => Self::ChangeUser(payload),
            code::RESET_CONNECTION => Self::ResetConnection,
            code::STATISTICS => Self::Statistics,
            code::PROCESS_INFO => Self::ProcessInfo,
            code::BINLOG_DUMP => Self::BinlogDump(body),
            code::BINLOG_DUMP_GTID => Self::BinlogDumpGtid(body),
            code::REGISTER_REPLICA => Self::RegisterReplica(body),
            code::DEBUG => Self::Debug,
            _ => Self::parse_fields(first, body).unwrap_or(Self::Unknown(first)),
        }
    }

    fn parse_fields(first: u8, body: &'a [u8]) -> Option<Self> {
        let mut read = Reader::new(body);
        Some(match first {
            code::STMT_EXECUTE => Self::StmtExecute {
                id: read.u32().ok()?,
                flags: read.u8().ok()?,
                rest: read.take_rest(),
            },
            code::STMT_BULK_EXECUTE => Self::StmtBulkExecute {
                id: read.u32().ok()?,
                flags: read.u16().ok()?,
                rest: read.take_rest(),
            },
            code::STMT_CLOSE => Self::StmtClose(read.u32().ok()?),
            code::STMT_RESET => Self::StmtReset(read.u32().ok()?),
            code::STMT_FETCH => Self::StmtFetch { id: read.u32().ok()?, rows: read.u32().ok()? },
            code::STMT_SEND_LONG_DATA => Self::SendLongData {
                id: read.u32().ok()?,
                param: read.u16().ok()?,
                data: read.take_rest(),
            },
            code::SET_OPTION => Self::SetOption(read.u16().ok()?),
            code::FIELD_LIST => {
                Self::FieldList { table: read.nul_bytes().ok()?, wildcard: read.take_rest() }
            }
            code::PROCESS_KILL => Self::ProcessKill(read.u32().ok()?),
            _ => return None,
        })
    }

    /// The kind of reply that a server gives to the command; `None` when its end cannot be
    /// known: a replication stream or an unknown command.
    pub const fn reply_kind(&self) -> Option<ReplyKind> {
        Some(match self {
            Self::Query(_) | Self::ProcessInfo => ReplyKind::Result,
            Self::StmtPrepare(_) => ReplyKind::Prepare,
            Self::StmtExecute { .. } | Self::StmtBulkExecute { .. } => ReplyKind::Execute,
            Self::StmtFetch { .. } => ReplyKind::Fetch,
            Self::FieldList { .. } => ReplyKind::FieldList,
            Self::InitDb(_)
            | Self::Ping
            | Self::StmtReset(_)
            | Self::ResetConnection
            | Self::SetOption(_)
            | Self::ProcessKill(_)
            | Self::RegisterReplica(_)
            | Self::Debug => ReplyKind::Simple,
            Self::Statistics => ReplyKind::Statistics,
            Self::Quit | Self::StmtClose(_) | Self::SendLongData { .. } => ReplyKind::None,
            Self::ChangeUser(_) => ReplyKind::Auth,
            Self::BinlogDump(_) | Self::BinlogDumpGtid(_) => ReplyKind::Binlog,
            Self::Unknown(_) => return None,
        })
    }

    /// The name of the command as MySQL's manuals have it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Query(_) => "COM_QUERY",
            Self::InitDb(_) => "COM_INIT_DB",
            Self::Ping => "COM_PING",
            Self::Quit => "COM_QUIT",
            Self::StmtPrepare(_) => "COM_STMT_PREPARE",
            Self::StmtExecute { .. } => "COM_STMT_EXECUTE",
            Self::StmtBulkExecute { .. } => "COM_STMT_BULK_EXECUTE",
            Self::StmtClose(_) => "COM_STMT_CLOSE",
            Self::StmtReset(_) => "COM_STMT_RESET",
            Self::StmtFetch { .. } => "COM_STMT_FETCH",
            Self::SendLongData { .. } => "COM_STMT_SEND_LONG_DATA",
            Self::ChangeUser(_) => "COM_CHANGE_USER",
            Self::ResetConnection => "COM_RESET_CONNECTION",
            Self::SetOption(_) => "COM_SET_OPTION",
            Self::FieldList { .. } => "COM_FIELD_LIST",
            Self::Statistics => "COM_STATISTICS",
            Self::ProcessInfo => "COM_PROCESS_INFO",
            Self::ProcessKill(_) => "COM_PROCESS_KILL",
            Self::BinlogDump(_) => "COM_BINLOG_DUMP",
            Self::BinlogDumpGtid(_) => "COM_BINLOG_DUMP_GTID",
            Self::RegisterReplica(_) => "COM_REGISTER_SLAVE",
            Self::Debug => "COM_DEBUG",
            Self::Unknown(_) => "unknown command",
        }
    }
}

/// Appends a `COM_QUERY` packet.
pub fn write_query(out: &mut Vec<u8>, text: &[u8]) {
    write(out, code::QUERY, text);
}

/// Appends the packet of the command that begins with `first` and goes on with `body`.
pub fn write(out: &mut Vec<u8>, first: u8, body: &[u8]) {
    crate::frame::write_with(out, &mut 0, |out| {
        out.push(first);
        out.extend_from_slice(body);
    });
}

#[cfg(test)]
mod tests;
