//! `SET` statements: what is understood comes from the text and nothing is made up.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sql::Verb;

fuzz_target!(|text: &[u8]| {
    if let Some(set) = sql::parse_set(text) {
        assert_eq!(sql::facts(text).verb, Verb::Set);
        assert!(!set.assignments.is_empty());
    }
    let framed = [b"SET ".as_slice(), text].concat();
    sql::parse_set(&framed);
});
