//! Many literals searched at once: which rules' patterns may match a text at all.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// Sets of literals of which one must be in a text, without regard to case.
pub(super) type Requirement = Vec<Box<[u8]>>;

/// The literals of many patterns.
#[derive(Debug)]
pub(super) struct Literals {
    searcher: AhoCorasick,
    /// For each literal the places of the rules that need it.
    places: Box<[Box<[u32]>]>,
}

impl Literals {
    /// Chooses for each rule one of its requirements, the one that fewest others share, and makes
    /// one search of them all. `None` when there is nothing to search, or too much.
    pub(super) fn new(rules: &[(u32, &[Requirement])]) -> Option<Self> {
        let shared = sharing(rules.iter().map(|(_, requirements)| *requirements));
        let mut chosen: HashMap<&[u8], Vec<u32>> = HashMap::new();
        for (place, requirements) in rules {
            for literal in requirements.iter().min_by_key(|asked| cost(&shared, asked))? {
                chosen.entry(literal).or_default().push(*place);
            }
        }
        if chosen.is_empty() {
            return None;
        }
        let (literals, places): (Vec<_>, Vec<_>) = chosen.into_iter().unzip();
        let searcher = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            // of no use with as many literals, as they begin with everything
            .prefilter(false)
            .build(literals)
            .ok()?;
        Some(Self { searcher, places: places.into_iter().map(Into::into).collect() })
    }

    /// Tells the places of all rules whose literal is in `text`; some more than once.
    pub(super) fn for_each_place(&self, text: &[u8], mut tell: impl FnMut(u32)) {
        for found in self.searcher.find_overlapping_iter(text) {
            let places = self.places.get(found.pattern().as_usize());
            places.into_iter().flatten().for_each(|place| tell(*place));
        }
    }
}

/// What of these requirements can be seen in a digest where the text has it outside of values: the
/// words of literals, each with a letter in it.
pub(super) fn of_words(requirements: &[Requirement]) -> Vec<Requirement> {
    let mut found = Vec::new();
    for asked in requirements {
        match asked.as_slice() {
            [literal] => found.extend(words(literal).map(|word| vec![word.into()])),
            literals => {
                let words = literals.iter().map(|literal| words(literal));
                let longest = words.map(|words| words.max_by_key(|word| word.len()));
                let longest = longest.map(|word| word.map(Into::into));
                found.extend(longest.collect::<Option<Requirement>>());
            }
        }
    }
    found
}

fn words(literal: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = literal.split(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'$'));
    words.filter(|word| word.iter().any(|byte| !byte.is_ascii_digit()))
}

/// How many requirements have each literal.
pub(super) fn sharing<'a>(
    requirements: impl Iterator<Item = &'a [Requirement]>,
) -> HashMap<&'a [u8], usize> {
    let mut shared = HashMap::new();
    for literal in requirements.flatten().flatten() {
        *shared.entry(&**literal).or_default() += 1;
    }
    shared
}

/// How little a requirement leaves out: less is better.
pub(super) fn cost(
    shared: &HashMap<&[u8], usize>,
    asked: &Requirement,
) -> (usize, std::cmp::Reverse<Option<usize>>) {
    let sharing = asked.iter().filter_map(|literal| shared.get(&**literal)).sum();
    (sharing, std::cmp::Reverse(asked.iter().map(|literal| literal.len()).min()))
}
