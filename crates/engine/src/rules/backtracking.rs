//! Patterns that need backtracking, searched by PCRE2 within limits.
//!
//! Time and memory of a search are bounded whatever the text: one that reaches a limit is
//! given up and counted. To rules that refuse it has found something, to others nothing.

use std::ops::Range;

use pcre2::bytes::{CaptureLocations, Regex, RegexBuilder};

use super::dialect::PatternRefusal;
use super::pattern::Options;
use super::spelling::Spelled;

/// A pattern that the linear-time engine does not have.
#[derive(Debug)]
pub(super) struct Backtracking {
    regex: Regex,
}

/// A search ended at a limit.
#[derive(Debug)]
pub(super) struct LimitReached;

impl Backtracking {
    pub(super) fn compile(pattern: &str, options: Options) -> Result<Self, PatternRefusal> {
        let spelled = Spelled::for_backtracking(pattern);
        let mut builder = RegexBuilder::new();
        builder.caseless(options.caseless);
        let built = builder.build(&format!("{LIMITS}{}", spelled.text));
        built.map(|regex| Self { regex }).map_err(|error| {
            let shown = error.to_string();
            let offset = error.offset().unwrap_or(0);
            let reason = shown.split_once(&format!("at offset {offset}: "));
            let reason = reason.map_or(shown.as_str(), |(_, reason)| reason);
            let place = spelled.origin(offset.saturating_sub(LIMITS.len()));
            PatternRefusal::at_byte(pattern, place, reason)
        })
    }

    pub(super) fn memory(&self) -> CaptureLocations {
        self.regex.capture_locations()
    }

    pub(super) fn group_count(&self) -> usize {
        self.regex.captures_len().saturating_sub(1)
    }

    /// Where the pattern matches in `text` from a place on; its groups are in the memory then.
    pub(super) fn find(
        &self,
        text: &[u8],
        from: usize,
        memory: &mut CaptureLocations,
    ) -> Result<Option<Range<usize>>, LimitReached> {
        match self.regex.captures_read_at(memory, text, from) {
            Ok(found) => Ok(found.map(|found| found.start()..found.end())),
            Err(_) => Err(LimitReached),
        }
    }
}

/// How much a search may do: so many steps, so deep, with so many KiB. A step takes some ten
/// nanoseconds. Only a newline is one, as in the PCRE that patterns are written for.
const LIMITS: &str = "(*LF)(*LIMIT_MATCH=100000)(*LIMIT_DEPTH=20000)(*LIMIT_HEAP=4096)";
