//! One compiled pattern: literals that must be in a text first, a regex after them.
//!
//! Searching takes time in proportion to the text and, once its scratch is warm, no memory. What
//! the linear-time engine does not have runs on one that backtracks, within limits.

use std::ops::Range;

use pcre2::bytes::CaptureLocations;
use regex_automata::Input;
use regex_automata::meta::{Cache, Config, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::util::captures::Captures;

use super::Engine;
use super::backtracking::{Backtracking, LimitReached};
use super::dialect::{self, PatternRefusal, ReadPattern};
use super::literals::Requirement;
use super::prefilter::{self, Prefilter};
use super::replace::Replacement;

/// How a rule's patterns are read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Options {
    pub(super) engine: Engine,
    /// Without regard to case.
    pub(super) caseless: bool,
    /// What is found is to be replaced.
    pub(super) replaces: bool,
    /// A replacement takes every place, not only the first.
    pub(super) global: bool,
}

/// A pattern to be searched in query texts.
#[derive(Debug)]
pub(super) struct Pattern {
    prefilter: Prefilter,
    /// What must be in a text.
    requirements: Box<[Requirement]>,
    global: bool,
    search: Search,
}

#[derive(Debug)]
enum Search {
    /// The prefilter says it all.
    Literal,
    Linear(Linear),
    Backtracking(Backtracking),
}

#[derive(Debug)]
struct Linear {
    regex: Regex,
    /// Places of the groups that the operator wrote among those of the regex.
    groups: Box<[usize]>,
    /// Groups of the regex that stand for a final newline before which `$` matches.
    newlines: Box<[usize]>,
}

/// A worker's working memory for one pattern, filled at its first search.
#[derive(Debug, Default)]
pub(super) struct PatternScratch {
    memory: Option<Memory>,
    /// Searches that ended at a limit.
    pub(super) limit_hits: u64,
}

#[derive(Debug)]
enum Memory {
    None,
    Linear(Box<LinearMemory>),
    Backtracking(CaptureLocations),
}

#[derive(Debug)]
struct LinearMemory {
    cache: Cache,
    captures: Option<Captures>,
}

impl Pattern {
    /// The pattern; the refusal beside it says why it has to backtrack, when it has.
    pub(super) fn compile(
        text: &str,
        options: Options,
    ) -> Result<(Self, Option<PatternRefusal>), PatternRefusal> {
        let refusal = match Self::linear(text, options) {
            Ok(pattern) => return Ok((pattern, None)),
            Err(refusal) if options.engine == Engine::Re2 => return Err(refusal),
            Err(refusal) => refusal,
        };
        match Backtracking::compile(text, options) {
            Ok(pattern) => {
                let pattern = Self {
                    prefilter: Prefilter::default(),
                    requirements: Box::default(),
                    global: options.global,
                    search: Search::Backtracking(pattern),
                };
                Ok((pattern, Some(refusal)))
            }
            // the other one says better where a text is no pattern at all
            Err(other) => Err(if refusal.is_about_syntax() { refusal } else { other }),
        }
    }

    fn linear(text: &str, options: Options) -> Result<Self, PatternRefusal> {
        let ReadPattern { meaning, groups, newlines } = dialect::read(text, options)?;
        let (prefilter, literal) = Prefilter::of(&meaning);
        let requirements = prefilter::requirements(&meaning).into();
        let search = if literal && !options.replaces {
            Search::Literal
        } else {
            let regex = Regex::builder().configure(config(options)).build_from_hir(&meaning);
            let regex = regex.map_err(|error| match error.size_limit() {
                Some(limit) => {
                    let reason = format!("its compiled form needs more than {limit} bytes");
                    PatternRefusal::of_all(text, reason)
                }
                None => PatternRefusal::of_all(text, error.to_string()),
            })?;
            Search::Linear(Linear { regex, groups, newlines })
        };
        Ok(Self { prefilter, requirements, global: options.global, search })
    }

    /// Sets of literals of which one each must be in a text; none when nothing is known.
    pub(super) fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// How many groups the pattern has, the whole of it not counted.
    pub(super) fn group_count(&self) -> usize {
        match &self.search {
            Search::Literal => 0,
            Search::Linear(linear) => linear.groups.len().saturating_sub(1),
            Search::Backtracking(backtracking) => backtracking.group_count(),
        }
    }

    /// Whether the pattern matches anywhere in `text`.
    pub(super) fn is_match(
        &self,
        text: &[u8],
        scratch: &mut PatternScratch,
    ) -> Result<bool, LimitReached> {
        if !self.prefilter.admits(text) {
            return Ok(false);
        }
        if let Search::Literal = self.search {
            return Ok(true);
        }
        let limit_hits = &mut scratch.limit_hits;
        match (&self.search, scratch.memory.get_or_insert_with(|| self.memory())) {
            (Search::Linear(linear), Memory::Linear(memory)) => {
                let input = Input::new(text).earliest(true);
                Ok(linear.regex.search_half_with(&mut memory.cache, &input).is_some())
            }
            (Search::Backtracking(backtracking), Memory::Backtracking(memory)) => {
                let found = backtracking.find(text, 0, memory);
                *limit_hits += u64::from(found.is_err());
                found.map(|found| found.is_some())
            }
            _ => Ok(false),
        }
    }

    /// Appends `text` with what the pattern finds replaced; false when it finds nothing.
    pub(super) fn replace(
        &self,
        text: &[u8],
        replacement: &Replacement,
        scratch: &mut PatternScratch,
        out: &mut Vec<u8>,
    ) -> bool {
        let limit_hits = &mut scratch.limit_hits;
        let memory = scratch.memory.get_or_insert_with(|| self.memory());
        let mut copied = 0;
        let mut from = 0;
        let mut last_end = None;
        while from <= text.len() {
            let found = match self.find(text, from, memory) {
                Ok(Some(found)) => found,
                Ok(None) => break,
                Err(LimitReached) => {
                    *limit_hits += 1;
                    break;
                }
            };
            // as with every engine: nothing is found where the last one ended
            if found.is_empty() && last_end == Some(found.end) {
                from = found.end + 1;
                continue;
            }
            out.extend_from_slice(text.get(copied..found.start).unwrap_or_default());
            replacement.expand(text, |number| self.group(memory, number), out);
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

    /// Where the pattern matches from a place on.
    fn find(
        &self,
        text: &[u8],
        from: usize,
        memory: &mut Memory,
    ) -> Result<Option<Range<usize>>, LimitReached> {
        match (&self.search, &mut *memory) {
            (Search::Linear(linear), Memory::Linear(memory)) => {
                let LinearMemory { cache, captures } = &mut **memory;
                let captures = captures.get_or_insert_with(|| linear.regex.create_captures());
                let input = Input::new(text).span(from..text.len());
                linear.regex.search_captures_with(cache, &input, captures);
                Ok(linear.group(captures, 0))
            }
            (Search::Backtracking(backtracking), Memory::Backtracking(memory)) => {
                backtracking.find(text, from, memory)
            }
            _ => Ok(None),
        }
    }

    /// Where the last search found a group.
    fn group(&self, memory: &Memory, number: usize) -> Option<Range<usize>> {
        match (&self.search, memory) {
            (Search::Linear(linear), Memory::Linear(memory)) => {
                linear.group(memory.captures.as_ref()?, number)
            }
            (Search::Backtracking(_), Memory::Backtracking(memory)) => {
                memory.get(number).map(|(start, end)| start..end)
            }
            _ => None,
        }
    }

    fn memory(&self) -> Memory {
        match &self.search {
            Search::Literal => Memory::None,
            Search::Linear(linear) => {
                let cache = linear.regex.create_cache();
                Memory::Linear(Box::new(LinearMemory { cache, captures: None }))
            }
            Search::Backtracking(backtracking) => Memory::Backtracking(backtracking.memory()),
        }
    }
}

impl Linear {
    /// Where a group was found, a newline before which `$` matched left out.
    fn group(&self, captures: &Captures, number: usize) -> Option<Range<usize>> {
        let found = captures.get_group(*self.groups.get(number)?)?.range();
        let newline = self.newlines.iter().find_map(|group| captures.get_group(*group));
        let end = newline.map_or(usize::MAX, |newline| newline.start);
        Some(found.start.min(end)..found.end.min(end))
    }
}

fn config(options: Options) -> Config {
    let captures = match options.replaces {
        true => WhichCaptures::All,
        false => WhichCaptures::Implicit,
    };
    Config::new()
        .which_captures(captures)
        .utf8_empty(false)
        // whole automata are the lint's: thousands of rules would take too much memory
        .dfa(false)
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
