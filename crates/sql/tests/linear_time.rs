//! Reading takes time in proportion to the text, whatever the text.
//!
//! Clocks belong to no unit test of the crate, hence this file of its own.

#![allow(clippy::disallowed_types)] // time is what is asserted

use std::hint::black_box;
use std::time::{Duration, Instant};

use sql::{DigestOptions, Digester};

/// Eight times the text may take eight times as long, with room for noise; each of these would
/// take 64 times as long if some part of a text were looked at again and again.
#[test]
fn takes_time_in_proportion_to_the_text() {
    let units = [
        "(",
        "'",
        "/*!",
        "EXPLAIN ",
        "SET STATEMENT a=1 FOR ",
        "SELECT 1;",
        "EXECUTE IMMEDIATE 'a' ",
        "@@",
        "- ",
        "/**/",
        "a , ",
        "1,",
        "(1,2,3,4,5),",
        "1e",
        "''",
        "-- \n",
    ];
    let mut digester = Digester::new();
    let options = DigestOptions { keep_comment: true, ..DigestOptions::default() };
    for unit in units {
        let short = unit.repeat(10_000);
        let long = unit.repeat(80_000);
        let mut fastest = |text: &str| {
            (0..5)
                .map(|_| {
                    let begun = Instant::now();
                    black_box(sql::facts(text.as_bytes()));
                    black_box(sql::parse_set(text.as_bytes()));
                    black_box(digester.digest(text.as_bytes(), &options));
                    begun.elapsed()
                })
                .min()
                .unwrap_or_default()
        };
        let (short, long) = (fastest(&short), fastest(&long));
        assert!(long < short * 40 + Duration::from_millis(20), "{unit}: {long:?}");
    }
}
