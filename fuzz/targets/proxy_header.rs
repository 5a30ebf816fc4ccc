//! Headers of the PROXY protocol: the same wherever the bytes are cut.
#![no_main]

mod cuts;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cuts::compare(cuts::parser("proxy_header::First"), data));
