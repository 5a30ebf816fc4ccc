//! Packets of a dump: the same is told of them however they are cut, and no more is kept of one
//! than its head.
#![no_main]

use binlog::{LogStream, Noted, Position};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&[flags], packets)) = data.split_first_chunk() else { return };
    let whole = told(packets, usize::MAX, flags & 1 != 0);
    let part = 1 + usize::from(flags >> 1) % 40;
    assert_eq!(told(packets, part, flags & 1 != 0), whole);
});

/// What is told of packets, each behind its length, until one is wrong.
fn told(mut packets: &[u8], part: usize, has_checksums: bool) -> (Vec<String>, String) {
    let from = Position { file: b"binlog.000001".to_vec(), offset: 4 };
    let mut stream = LogStream::new(from, has_checksums);
    let mut told = Vec::new();
    while let Some((length, rest)) = packets.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
        let (event, behind) = rest.split_at(length);
        packets = behind;
        let mut tell = |noted: Noted<'_>| told.push(format!("{noted:?}"));
        let fed = event.chunks(part).try_for_each(|part| stream.feed(part, &mut tell));
        if fed.and_then(|()| stream.end(&mut tell)).is_err() {
            // what was told of a packet that is wrong depends on how much of it had come
            return (Vec::new(), "wrong".to_owned());
        }
    }
    (told, stream.position().to_string())
}
