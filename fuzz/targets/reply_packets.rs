//! OK, ERR, EOF packets and column definitions: what is read can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::reply::{ColumnDef, EofPacket, ErrPacket, OkPacket};
use wire::{Caps, Status};

fuzz_target!(|data: &[u8]| {
    let Some((choice, payload)) = data.split_first() else { return };
    let caps = match choice % 4 {
        0 => Caps::PROTOCOL_41,
        1 => Caps::PROTOCOL_41 | Caps::SESSION_TRACK,
        2 => Caps::PROTOCOL_41 | Caps::DEPRECATE_EOF,
        _ => Caps::PROTOCOL_41 | Caps::MARIADB_EXTENDED_METADATA,
    };
    if let Ok(ok) = OkPacket::parse(payload, caps) {
        let mut again = Vec::new();
        ok.encode(caps, &mut again);
        let second = OkPacket::parse(&again, caps).expect("what was written can be read");
        let flag = Status::SESSION_STATE_CHANGED;
        assert_eq!(second.status.without(flag), ok.status.without(flag));
        assert_eq!(OkPacket { status: ok.status, ..second }, ok);
    }
    if let Ok(err) = ErrPacket::parse(payload) {
        let mut again = Vec::new();
        err.encode(&mut again);
        assert_eq!(ErrPacket::parse(&again), Ok(err));
    }
    if let Ok(eof) = EofPacket::parse(payload) {
        let mut again = Vec::new();
        eof.encode(&mut again);
        assert_eq!(again, payload[..EofPacket::BYTES]);
    }
    if let Ok(column) = ColumnDef::parse(payload, caps) {
        let mut again = Vec::new();
        column.encode(caps, &mut again);
        assert_eq!(ColumnDef::parse(&again, caps), Ok(column));
    }
});
