//! Which rules are worth a look: found by the one column of each that leaves out most queries.
//!
//! What is found is too much rather than too little; a rule's conditions are still looked at.

use std::collections::HashMap;

use super::bits::Bits;
use super::literals::{self, Literals, Requirement};
use super::pattern::Pattern;
use super::{Rule, RuleInput};

/// The places of rules by what they ask for.
#[derive(Debug, Default)]
pub(super) struct Index {
    by_digest: HashMap<u64, Vec<u32>>,
    by_username: HashMap<Box<[u8]>, Vec<u32>>,
    by_schemaname: HashMap<Box<[u8]>, Vec<u32>>,
    /// By a literal in the digest text.
    by_digest_text: Option<Literals>,
    /// All that are found by the digest in one way or the other: without one, they all may match.
    by_any_digest: Vec<u32>,
    /// By a literal in the query text; these are for every query to find anew.
    pub(super) by_text: Option<Literals>,
    /// The same by words of these literals, of which a digest that omits only numbers has as many
    /// as its texts. `None` where rules change texts, too.
    by_words: Option<Literals>,
    /// Of those of them that change the flag: the flag before and those after.
    pub(super) by_text_flags: Vec<(u32, Vec<u32>)>,
    /// Found by nothing.
    rest: Vec<u32>,
}

impl Index {
    /// Makes the index, and notes with each rule how it is found.
    pub(super) fn new(rules: &mut [Rule]) -> Self {
        let sharing = Sharing::of(rules);
        let best = |rule: &Rule| sharing.best(rule);
        let mut found_by: Vec<FoundBy> = rules.iter().map(best).collect();
        drop(sharing);
        for few in [FoundBy::Text, FoundBy::DigestText] {
            let count = found_by.iter().filter(|by| **by == few).count();
            if count <= FEW {
                found_by.iter_mut().filter(|by| **by == few).for_each(|by| *by = FoundBy::Other);
            }
        }
        for (rule, by) in rules.iter_mut().zip(found_by) {
            rule.found_by = by;
        }
        let literals = |by, of: fn(&Rule) -> &[Requirement]| {
            let rules = rules.iter().filter(|rule| rule.found_by == by);
            Literals::new(&rules.map(|rule| (rule.place, of(rule))).collect::<Vec<_>>())
        };
        let rewrites = rules.iter().any(|rule| rule.actions.replacement.is_some());
        let mut index = Self {
            by_words: if rewrites { None } else { words_of(rules) },
            by_text: literals(FoundBy::Text, Rule::text_literals),
            by_digest_text: literals(FoundBy::DigestText, Rule::digest_literals),
            ..Self::default()
        };
        for rule in rules.iter_mut() {
            index.add(rule);
        }
        index
    }

    fn add(&mut self, rule: &mut Rule) {
        let place = rule.place;
        let conditions = &rule.conditions;
        match rule.found_by {
            FoundBy::Text if self.by_text.is_some() => {
                let flags: Vec<_> = rule.actions.flags().collect();
                if !flags.is_empty() {
                    self.by_text_flags.push((conditions.flag_in, flags));
                }
                return;
            }
            FoundBy::DigestText if self.by_digest_text.is_some() => {
                self.by_any_digest.push(place);
                return;
            }
            _ => rule.found_by = FoundBy::Other,
        }
        if let Some(digest) = conditions.digest {
            self.by_digest.entry(digest).or_default().push(place);
            self.by_any_digest.push(place);
        } else if let Some(username) = &conditions.username {
            self.by_username.entry(username.clone()).or_default().push(place);
        } else if let Some(schemaname) = &conditions.schemaname {
            self.by_schemaname.entry(schemaname.clone()).or_default().push(place);
        } else {
            self.rest.push(place);
        }
    }

    /// Puts in all rules that may match whatever the text is, but for those found by it.
    pub(super) fn find(&self, input: &RuleInput<'_>, places: &mut Bits) {
        let mut insert = |found: &[u32]| found.iter().for_each(|place| places.insert(*place));
        insert(&self.rest);
        insert(self.by_username.get(input.username).map_or(&[], Vec::as_slice));
        insert(self.by_schemaname.get(input.schemaname).map_or(&[], Vec::as_slice));
        match input.digest {
            Some(digest) => {
                insert(self.by_digest.get(&digest.hash).map_or(&[], Vec::as_slice));
                if let Some(literals) = &self.by_digest_text {
                    literals.for_each_place(digest.text, |place| places.insert(place));
                }
            }
            None => insert(&self.by_any_digest),
        }
    }

    /// Puts in all rules that any text with this digest, which omits numbers only, may be found
    /// by; whether they are known.
    pub(super) fn find_by_words(&self, digest: &[u8], places: &mut Bits) -> bool {
        if let Some(literals) = &self.by_words {
            literals.for_each_place(digest, |place| places.insert(place));
        }
        self.by_words.is_some()
    }

    /// Puts in all rules that are found by the text.
    pub(super) fn find_by_text(&self, text: &[u8], places: &mut Bits) {
        if let Some(literals) = &self.by_text {
            literals.for_each_place(text, |place| places.insert(place));
        }
    }
}

/// Finds by words the rules that are found by the text.
fn words_of(rules: &[Rule]) -> Option<Literals> {
    let rules = rules.iter().filter(|rule| rule.found_by == FoundBy::Text);
    let words = rules.map(|rule| (rule.place, literals::of_words(rule.text_literals())));
    let words: Vec<_> = words.collect();
    let asked: Vec<_> = words.iter().map(|(place, words)| (*place, words.as_slice())).collect();
    Literals::new(&asked)
}

/// How the rules of a text are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum FoundBy {
    /// By what is the same for all queries of a digest and client.
    #[default]
    Other,
    /// The same, by a literal in the digest text.
    DigestText,
    /// By a literal in the query text.
    Text,
}

/// How many rules ask for the same.
struct Sharing<'a> {
    usernames: HashMap<&'a [u8], usize>,
    schemanames: HashMap<&'a [u8], usize>,
    digests: HashMap<&'a [u8], usize>,
    texts: HashMap<&'a [u8], usize>,
}

impl<'a> Sharing<'a> {
    fn of(rules: &'a [Rule]) -> Self {
        fn count<'a>(asked: impl Iterator<Item = &'a [u8]>) -> HashMap<&'a [u8], usize> {
            let mut counts = HashMap::new();
            asked.for_each(|asked| *counts.entry(asked).or_default() += 1);
            counts
        }
        Self {
            usernames: count(rules.iter().filter_map(|rule| rule.conditions.username.as_deref())),
            schemanames: count(
                rules.iter().filter_map(|rule| rule.conditions.schemaname.as_deref()),
            ),
            digests: literals::sharing(rules.iter().map(Rule::digest_literals)),
            texts: literals::sharing(rules.iter().map(Rule::text_literals)),
        }
    }

    /// What leaves out most rules; a digest leaves out all others.
    fn best(&self, rule: &Rule) -> FoundBy {
        let conditions = &rule.conditions;
        if conditions.digest.is_some() {
            return FoundBy::Other;
        }
        let shared = |counts: &HashMap<&[u8], usize>, asked: &Option<Box<[u8]>>| {
            asked.as_ref().and_then(|asked| counts.get(&**asked)).copied().unwrap_or(usize::MAX)
        };
        let others = shared(&self.usernames, &conditions.username)
            .min(shared(&self.schemanames, &conditions.schemaname));
        let literals = |counts, requirements: &[Requirement]| {
            let costs = requirements.iter().map(|asked| literals::cost(counts, asked).0);
            costs.min().unwrap_or(usize::MAX)
        };
        // a text is to be found anew for each query, so it comes last
        if literals(&self.digests, rule.digest_literals()) <= others && rule.has_digest_literals() {
            FoundBy::DigestText
        } else if literals(&self.texts, rule.text_literals()) < others {
            FoundBy::Text
        } else {
            FoundBy::Other
        }
    }
}

impl Rule {
    /// What its `match_pattern` needs to be in the text.
    fn text_literals(&self) -> &[Requirement] {
        self.conditions.match_pattern.as_ref().map_or(&[], |pattern| self.needed(pattern))
    }

    /// What its `match_digest` needs to be in the digest text.
    fn digest_literals(&self) -> &[Requirement] {
        self.conditions.match_digest.as_ref().map_or(&[], |pattern| self.needed(pattern))
    }

    fn has_digest_literals(&self) -> bool {
        !self.digest_literals().is_empty()
    }

    fn needed<'a>(&self, pattern: &'a Pattern) -> &'a [Requirement] {
        if self.conditions.negate { &[] } else { pattern.requirements() }
    }
}

/// Up to so many patterns are searched one by one: each has its own literals, which is quicker.
const FEW: usize = 16;
