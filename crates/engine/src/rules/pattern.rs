//! One compiled pattern: literals that must be in a text first, the regex after them.
//!
//! Only whether a pattern matches is known, not where. Searching takes time in proportion to the
//! text and, once its scratch is warm, no memory.

use regex_automata::Input;
use regex_automata::meta::{Cache, Config, Regex};

use super::dialect::{self, Refusal};
use super::prefilter::Prefilter;

/// A pattern to be searched in query texts.
#[derive(Debug)]
pub(super) struct Pattern {
    prefilter: Prefilter,
    /// `None` when the prefilter says it all.
    regex: Option<Regex>,
}

/// A worker's working memory for one pattern, filled at its first search.
#[derive(Clone, Debug, Default)]
pub(super) struct PatternScratch(Option<Cache>);

impl Pattern {
    pub(super) fn compile(text: &str) -> Result<Self, Refusal> {
        let meaning = dialect::read(text)?;
        let (prefilter, whole) = Prefilter::of(&meaning);
        let regex =
            Regex::builder().configure(config()).build_from_hir(&meaning).map_err(|error| {
                match error.size_limit() {
                    Some(limit) => {
                        let reason = format!("its compiled form needs more than {limit} bytes");
                        Refusal::of_all(text, reason)
                    }
                    None => Refusal::of_all(text, error.to_string()),
                }
            })?;
        Ok(Self { prefilter, regex: (!whole).then_some(regex) })
    }

    /// Whether the pattern matches anywhere in `text`.
    pub(super) fn is_match(&self, text: &[u8], scratch: &mut PatternScratch) -> bool {
        if !self.prefilter.admits(text) {
            return false;
        }
        let Some(regex) = &self.regex else { return true };
        let cache = scratch.0.get_or_insert_with(|| regex.create_cache());
        regex.search_half_with(cache, &Input::new(text).earliest(true)).is_some()
    }
}

fn config() -> Config {
    Config::new()
        .utf8_empty(false)
        .nfa_size_limit(Some(PROGRAM_BYTES_MAX))
        .onepass_size_limit(Some(ONEPASS_BYTES_MAX))
        .hybrid_cache_capacity(CACHE_BYTES_MAX)
}

/// Largest compiled form of one pattern.
const PROGRAM_BYTES_MAX: usize = 4 << 20;
/// Largest table of the engine that is tried for small anchored patterns.
const ONEPASS_BYTES_MAX: usize = 256 << 10;
/// Most memory a worker spends on the lazily built states of one pattern.
const CACHE_BYTES_MAX: usize = 512 << 10;
