//! Each command with its fields, and those cut short.

use super::*;

#[test]
fn commands_are_told_by_their_first_byte_with_their_fields() {
    let cases: &[(&[u8], Command<'_>, Option<ReplyKind>)] = &[
        (b"\x01", Command::Quit, Some(ReplyKind::None)),
        (b"\x02shop", Command::InitDb(b"shop"), Some(ReplyKind::Simple)),
        (b"\x03SELECT 1", Command::Query(b"SELECT 1"), Some(ReplyKind::Result)),
        (
            b"\x04t\0a%",
            Command::FieldList { table: b"t", wildcard: b"a%" },
            Some(ReplyKind::FieldList),
        ),
        (b"\x09", Command::Statistics, Some(ReplyKind::Statistics)),
        (b"\x0a", Command::ProcessInfo, Some(ReplyKind::Result)),
        (b"\x0c\x01\x02\0\0", Command::ProcessKill(513), Some(ReplyKind::Simple)),
        (b"\x0d", Command::Debug, Some(ReplyKind::Simple)),
        (b"\x0e", Command::Ping, Some(ReplyKind::Simple)),
        (b"\x11me\0\0", Command::ChangeUser(b"\x11me\0\0"), Some(ReplyKind::Auth)),
        (b"\x12abc", Command::BinlogDump(b"abc"), Some(ReplyKind::Binlog)),
        (b"\x15abc", Command::RegisterReplica(b"abc"), Some(ReplyKind::Simple)),
        (b"\x16SELECT ?", Command::StmtPrepare(b"SELECT ?"), Some(ReplyKind::Prepare)),
        (
            b"\x17\x07\0\0\0\x01\x01\0\0\0xyz",
            Command::StmtExecute { id: 7, flags: 1, rest: b"\x01\0\0\0xyz" },
            Some(ReplyKind::Execute),
        ),
        (
            b"\x18\x07\0\0\0\x02\0data",
            Command::SendLongData { id: 7, param: 2, data: b"data" },
            Some(ReplyKind::None),
        ),
        (b"\x19\x07\0\0\0", Command::StmtClose(7), Some(ReplyKind::None)),
        (b"\x1a\x07\0\0\0", Command::StmtReset(7), Some(ReplyKind::Simple)),
        (b"\x1b\x01\0", Command::SetOption(1), Some(ReplyKind::Simple)),
        (
            b"\x1c\x07\0\0\0\x0a\0\0\0",
            Command::StmtFetch { id: 7, rows: 10 },
            Some(ReplyKind::Fetch),
        ),
        (b"\x1eabc", Command::BinlogDumpGtid(b"abc"), Some(ReplyKind::Binlog)),
        (b"\x1f", Command::ResetConnection, Some(ReplyKind::Simple)),
        (
            b"\xfa\xff\xff\xff\xff\x80\0xyz",
            Command::StmtBulkExecute { id: LAST_PREPARED, flags: 128, rest: b"xyz" },
            Some(ReplyKind::Execute),
        ),
        (b"\x55", Command::Unknown(0x55), None),
        (b"", Command::Unknown(0xff), None),
    ];
    for (payload, command, kind) in cases {
        assert_eq!(Command::parse(payload), *command);
        assert_eq!(command.reply_kind(), *kind, "{}", command.name());
    }
}

#[test]
fn commands_cut_short_are_unknown() {
    for whole in [
        &b"\x17\x07\0\0\0\x01"[..],
        b"\xfa\x07\0\0\0\x80\0",
        b"\x18\x07\0\0\0\x02\0",
        b"\x19\x07\0\0\0",
        b"\x1a\x07\0\0\0",
        b"\x1b\x01\0",
        b"\x1c\x07\0\0\0\x0a\0\0\0",
        b"\x04t\0",
        b"\x0c\x01\x02\0\0",
    ] {
        assert!(!matches!(Command::parse(whole), Command::Unknown(_)), "{whole:?}");
        let cut = &whole[..whole.len() - 1];
        assert_eq!(Command::parse(cut), Command::Unknown(whole[0]), "{whole:?}");
    }
}

#[test]
fn the_statement_id_lies_where_it_is_said_to_lie() {
    for first in [
        code::STMT_EXECUTE,
        code::STMT_SEND_LONG_DATA,
        code::STMT_CLOSE,
        code::STMT_RESET,
        code::STMT_FETCH,
        code::STMT_BULK_EXECUTE,
    ] {
        let mut payload = vec![first];
        payload.extend_from_slice(&[0; 20]);
        payload[STMT_ID].copy_from_slice(&9_u32.to_le_bytes());
        match Command::parse(&payload) {
            Command::StmtExecute { id, .. }
            | Command::SendLongData { id, .. }
            | Command::StmtClose(id)
            | Command::StmtReset(id)
            | Command::StmtFetch { id, .. }
            | Command::StmtBulkExecute { id, .. } => assert_eq!(id, 9),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn commands_are_written_as_packets_numbered_from_zero() {
    let mut out = Vec::new();
    write_query(&mut out, b"DO 1");
    assert_eq!(out, b"\x05\0\0\0\x03DO 1");
    write(&mut out, code::RESET_CONNECTION, b"");
    assert_eq!(&out[9..], b"\x01\0\0\0\x1f");
}
