//! `SET` statements: what is understood comes from the text and nothing is made up; a value that is
//! given again is understood as before.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sql::{Assignment, Verb};

fuzz_target!(|text: &[u8]| {
    if let Some(set) = sql::parse_set(text) {
        assert_eq!(sql::facts(text).verb, Verb::Set);
        assert!(!set.assignments.is_empty());
    }
    let framed = [b"SET ".as_slice(), text].concat();
    let Some(set) = sql::parse_set(&framed) else { return };
    for assignment in &set.assignments {
        let Assignment::Variable { value, .. } = assignment else { continue };
        let known = &mut |_: sql::Read<'_>, out: &mut Vec<u8>| {
            out.extend_from_slice(b"1");
            true
        };
        let Some(given) = value.resolved(known) else { continue };
        let again = [b"SET x = ".as_slice(), &given].concat();
        assert!(sql::parse_set(&again).is_some(), "not understood again");
    }
});
