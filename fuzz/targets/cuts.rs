//! What targets for stream parsers share: the registry of the property tests, and cuts taken from
//! the input itself.

#[path = "../../crates/wire/tests/streams/registry.rs"]
#[allow(dead_code, reason = "each target uses a part of it")]
pub mod registry;

use registry::{PARSERS, StreamParser};

/// The parser of that name in the registry.
pub fn parser(name: &str) -> &'static StreamParser {
    PARSERS.iter().find(|parser| parser.name == name).expect("a name of the registry")
}

/// Runs the parser over the input whole, cut at places that the first bytes choose, and byte by
/// byte; it must report the same each time.
pub fn compare(parser: &StreamParser, data: &[u8]) {
    let Some((count, data)) = data.split_first() else { return };
    let Some((chosen, input)) = data.split_at_checked(usize::from(count % 8)) else { return };
    let whole = (parser.run)(input, &[]);
    let cuts: Vec<usize> =
        chosen.iter().map(|at| usize::from(*at) * (input.len() + 1) / 256).collect();
    assert_eq!((parser.run)(input, &cuts), whole, "cut at {cuts:?}");
    if input.len() <= 512 {
        let every: Vec<usize> = (0..input.len()).collect();
        assert_eq!((parser.run)(input, &every), whole, "byte by byte");
    }
}
