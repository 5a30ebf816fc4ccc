//! One compiled pattern: literals that must be in a text first, the regex after them.
//!
//! Searching takes time in proportion to the text and, once its scratch is warm, no memory.

use std::ops::Range;

use regex_automata::Input;
use regex_automata::meta::{Cache, Config, Regex};
use regex_automata::util::captures::Captures;

use super::Engine;
use super::dialect::{self, Reading, Refusal};
use super::prefilter::Prefilter;
use super::replace::Replacement;

/// How a rule's patterns are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) engine: Engine,
    /// Without regard to case.
    pub(super) caseless: bool,
    /// A replacement takes every place, not only the first.
    pub(super) global: bool,
}

/// A pattern to be searched in query texts.
#[derive(Debug)]
pub(super) struct Pattern {
    prefilter: Prefilter,
    /// The prefilter says it all, where only a match matters.
    literal: bool,
    global: bool,
    regex: Regex,
    /// Places of the groups that the operator wrote among those of the regex.
    groups: Box<[usize]>,
    /// Groups of the regex that stand for a final newline before which `$` matches.
    newlines: Box<[usize]>,
}

/// A worker's working memory for one pattern, filled at its first search.
#[derive(Debug, Default)]
pub(super) struct PatternScratch(Option<Box<Memory>>);

#[derive(Debug)]
struct Memory {
    cache: Cache,
    captures: Option<Captures>,
}

impl Pattern {
    pub(super) fn compile(text: &str, options: Options) -> Result<Self, Refusal> {
        let Reading { meaning, groups, newlines } = dialect::read(text, options)?;
        let (prefilter, literal) = Prefilter::of(&meaning);
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
        Ok(Self { prefilter, literal, global: options.global, regex, groups, newlines })
    }

    /// How many groups the pattern has, the whole of it not counted.
    pub(super) fn group_count(&self) -> usize {
        self.groups.len() - 1
    }

    /// Whether the pattern matches anywhere in `text`.
    pub(super) fn is_match(&self, text: &[u8], scratch: &mut PatternScratch) -> bool {
        if !self.prefilter.admits(text) {
            return false;
        }
        if self.literal {
            return true;
        }
        let memory = scratch.of(&self.regex);
        self.regex.search_half_with(&mut memory.cache, &Input::new(text).earliest(true)).is_some()
    }

    /// Appends `text` with what the pattern finds replaced; false when it finds nothing.
    pub(super) fn replace(
        &self,
        text: &[u8],
        replacement: &Replacement,
        scratch: &mut PatternScratch,
        out: &mut Vec<u8>,
    ) -> bool {
        let Memory { cache, captures } = scratch.of(&self.regex);
        let captures = captures.get_or_insert_with(|| self.regex.create_captures());
        let mut copied = 0;
        let mut from = 0;
        let mut last_end = None;
        while from <= text.len() {
            self.regex.search_captures_with(
                cache,
                &Input::new(text).span(from..text.len()),
                captures,
            );
            let Some(found) = self.group(captures, 0) else { break };
            // as with every engine: nothing is found where the last one ended
            if found.is_empty() && last_end == Some(found.end) {
                from = found.end + 1;
                continue;
            }
            out.extend_from_slice(text.get(copied..found.start).unwrap_or_default());
            replacement.expand(text, |number| self.group(captures, number), out);
            copied = found.end;
            from = found.end;
            last_end = Some(found.end);
            if !self.global {
                break;
            }
        }
        out.extend_from_slice(text.get(copied..).unwrap_or_default());
        last_end.is_some()
    }

    /// Where a group was found, a newline before which `$` matched left out.
    fn group(&self, captures: &Captures, number: usize) -> Option<Range<usize>> {
        let found = captures.get_group(*self.groups.get(number)?)?.range();
        let newline = self.newlines.iter().find_map(|group| captures.get_group(*group));
        let end = newline.map_or(usize::MAX, |newline| newline.start);
        Some(found.start.min(end)..found.end.min(end))
    }
}

impl PatternScratch {
    fn of(&mut self, regex: &Regex) -> &mut Memory {
        self.0
            .get_or_insert_with(|| Box::new(Memory { cache: regex.create_cache(), captures: None }))
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
