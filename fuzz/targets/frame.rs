//! Frames: the same packets and the same ends of packets wherever the bytes are cut.
#![no_main]

mod cuts;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    cuts::compare(cuts::parser("frame::next_packet"), data);
    cuts::compare(cuts::parser("frame::Span"), data);
});
