//! The set of texts that a pattern is found in, and exact questions about such sets.
//!
//! Sets are finite automata. A question walks several of them side by side. It ends with an example
//! text, with the certainty that there is none, or with nothing when it takes too long.

use std::collections::HashMap;

use regex_automata::dfa::dense::{Builder, Config, DFA};
use regex_automata::dfa::{Automaton, StartKind};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};
use regex_syntax::hir::Hir;

/// The texts that a pattern is found in.
#[derive(Debug)]
pub(super) struct Language(DFA<Vec<u32>>);

/// The answer to whether there is a text of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FoundText {
    /// One of the shortest.
    Text(Vec<u8>),
    /// There is none.
    Nothing,
    /// Too many combinations to tell.
    Unknown,
}

impl Language {
    /// The texts in which `meaning` is found; `None` when its automaton is too large.
    pub(super) fn of(meaning: &Hir) -> Option<Self> {
        let nfa = thompson::Compiler::new()
            .configure(
                thompson::Config::new()
                    .utf8(false)
                    .nfa_size_limit(Some(PROGRAM_BYTES_MAX))
                    .which_captures(thompson::WhichCaptures::None),
            )
            .build_from_hir(meaning)
            .ok()?;
        let config = Config::new()
            .start_kind(StartKind::Unanchored)
            .accelerate(false)
            .dfa_size_limit(Some(AUTOMATON_BYTES_MAX))
            .determinize_size_limit(Some(AUTOMATON_BYTES_MAX));
        Builder::new().configure(config).build_from_nfa(&nfa).ok().map(Self)
    }

    /// The texts in which a pattern of our own is found; letters are taken as written.
    pub(super) fn parse(pattern: &str) -> Option<Self> {
        let config = syntax::Config::new().unicode(false).utf8(false);
        Self::of(&syntax::parse_with(pattern, &config).ok()?)
    }

    /// Whether the pattern is found in `text`.
    pub(super) fn contains(&self, text: &[u8]) -> bool {
        let Some(mut place) = self.start() else { return false };
        for byte in text {
            place = self.step(place, *byte);
        }
        self.is_found(place)
    }

    fn start(&self) -> Option<Place> {
        let input = Input::new(b"").anchored(Anchored::No);
        self.0.start_state_forward(&input).ok().map(Some)
    }

    /// Automata report a match one byte late; `None` stands for a match that was reported.
    fn step(&self, place: Place, byte: u8) -> Place {
        let next = self.0.next_state(place?, byte);
        (!self.0.is_match_state(next)).then_some(next)
    }

    /// Whether the pattern is found in a text that ends here.
    fn is_found(&self, place: Place) -> bool {
        place.is_none_or(|state| self.0.is_match_state(self.0.next_eoi_state(state)))
    }

    /// Whether no longer text can contain the pattern.
    fn is_lost(&self, place: Place) -> bool {
        place.is_some_and(|state| self.0.is_dead_state(state))
    }
}

/// A shortest text that is in `all` of some languages and in `none` of others.
pub(super) fn find_text(all: &[&Language], none: &[&Language]) -> FoundText {
    let Some(first) = all.iter().chain(none).map(|language| language.start()).collect() else {
        return FoundText::Unknown;
    };
    let languages: Vec<&Language> = all.iter().chain(none).copied().collect();
    let bytes = distinct_bytes(&languages);
    let mut walk = Walk { steps: Vec::new(), seen: HashMap::new() };
    walk.enter(first, 0, 0);
    let mut at = 0;
    while let Some(places) = walk.steps.get(at).map(|step| step.places.clone()) {
        let mut found =
            languages.iter().zip(&places).map(|(language, place)| language.is_found(*place));
        if found.by_ref().take(all.len()).all(|found| found) && !found.any(|found| found) {
            return FoundText::Text(walk.text(at));
        }
        for byte in &bytes {
            let next: Vec<Place> = languages
                .iter()
                .zip(&places)
                .map(|(language, place)| language.step(*place, *byte))
                .collect();
            let (wanted, unwanted) = next.split_at(all.len());
            let lost = all.iter().zip(wanted).any(|(language, place)| language.is_lost(*place));
            if !lost && unwanted.iter().all(Option::is_some) {
                walk.enter(next, at, *byte);
            }
        }
        if walk.steps.len() > STEPS_MAX {
            return FoundText::Unknown;
        }
        at += 1;
    }
    FoundText::Nothing
}

/// Where an automaton is; `None` once its pattern was found.
type Place = Option<StateID>;

/// The combinations of places that were reached, and how.
struct Walk {
    steps: Vec<Step>,
    seen: HashMap<Vec<Place>, ()>,
}

struct Step {
    places: Vec<Place>,
    from: usize,
    byte: u8,
}

impl Walk {
    fn enter(&mut self, places: Vec<Place>, from: usize, byte: u8) {
        if self.seen.insert(places.clone(), ()).is_none() {
            self.steps.push(Step { places, from, byte });
        }
    }

    /// The text that leads to a step.
    fn text(&self, mut at: usize) -> Vec<u8> {
        let mut text = Vec::new();
        while at > 0
            && let Some(step) = self.steps.get(at)
        {
            text.push(step.byte);
            at = step.from;
        }
        text.reverse();
        text
    }
}

/// A byte of every kind that some language tells from the others; of each kind the one that reads
/// best.
fn distinct_bytes(languages: &[&Language]) -> Vec<u8> {
    let readable = b"a10 =_".iter().copied().chain(b'b'..=b'z').chain(b'A'..=b'Z');
    let mut seen = HashMap::new();
    let mut bytes = Vec::new();
    for byte in readable.chain(b' '..=b'~').chain(0..=u8::MAX) {
        let kind: Vec<u8> =
            languages.iter().map(|language| language.0.byte_classes().get(byte)).collect();
        if seen.insert(kind, ()).is_none() {
            bytes.push(byte);
        }
    }
    bytes
}

/// Largest program of one pattern.
const PROGRAM_BYTES_MAX: usize = 1 << 20;
/// Largest automaton of one pattern.
const AUTOMATON_BYTES_MAX: usize = 1 << 20;
/// Most combinations of places that a question walks through.
const STEPS_MAX: usize = 20_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn language(pattern: &str) -> Language {
        Language::parse(pattern).expect(pattern)
    }

    fn is_subset(inner: &str, outer: &str) -> bool {
        find_text(&[&language(inner)], &[&language(outer)]) == FoundText::Nothing
    }

    #[test]
    fn one_pattern_says_all_that_another_says() {
        for (inner, outer, expected) in [
            ("^SELECT.*FOR UPDATE", "^SELECT", true),
            ("^SELECT", "^SELECT.*FOR UPDATE", false),
            ("abc", "b", true),
            ("^a+b", "^a*b", true),
            ("^a*b", "^a+b", false),
            ("x$", "x", true),
            ("x", "x$", false),
            (r"\bt1\b", "t1", true),
            ("t1", r"\bt1\b", false),
            ("^$", "a", false),
            ("a", "", true),
            ("[0-9]{3}", "[0-9]", true),
            ("^(insert|update)", "^(update|insert|delete)", true),
            ("$^", "a", false),
            ("a$^", "b", true),
        ] {
            assert_eq!(is_subset(inner, outer), expected, "{inner} in {outer}");
        }
    }

    #[test]
    fn an_example_is_a_shortest_text() {
        let found = find_text(&[&language("^SELECT")], &[&language("^SELECT$")]);
        assert_eq!(found, FoundText::Text(b"SELECTa".to_vec()));
        assert!(language("^SELECT").contains(b"SELECT 1") && !language("^S$").contains(b"SS"));
    }
}
