//! Replies: the same events wherever the bytes are cut, and never more taken than was given.
#![no_main]

mod cuts;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cuts::compare(cuts::parser("result::ReplyTracker"), data));
