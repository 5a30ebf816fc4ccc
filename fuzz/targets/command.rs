//! Commands: none can be written that is not told by its first byte, and every kind has a name.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::command::{self, Command};
use wire::frame::{Framed, next_packet};

fuzz_target!(|data: &[u8]| {
    let command = Command::parse(data);
    assert!(!command.name().is_empty());
    if let Command::Unknown(first) = command {
        assert_eq!(first, data.first().copied().unwrap_or(0xff));
        assert_eq!(command.reply_kind(), None);
    }
    let Some((first, body)) = data.split_first() else { return };
    let mut out = Vec::new();
    command::write(&mut out, *first, body);
    let Framed::Packet(packet) = next_packet(&out) else { panic!("a packet was written") };
    assert_eq!((packet.payload, packet.seq), (data, 0));
});
