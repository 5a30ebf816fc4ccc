//! What a worker needs to evaluate rules without allocating and without locks.

use std::sync::Arc;

use super::Rule;
use super::pattern::PatternScratch;

/// One worker's memory for a [`super::RuleSet`], and how often each rule matched.
///
/// A scratch adapts itself to the set it is used with; its hits then begin at 0. Harvest them
/// before a set is replaced.
#[derive(Debug, Default)]
pub struct RuleScratch {
    rules: Arc<[Rule]>,
    /// Of each rule's `match_digest`.
    pub(super) digests: Vec<PatternScratch>,
    /// Of each rule's `match_pattern`.
    pub(super) texts: Vec<PatternScratch>,
    hits: Vec<u64>,
    /// The rewritten text, where there is one.
    pub(super) text: Vec<u8>,
    pub(super) next_text: Vec<u8>,
}

impl RuleScratch {
    pub(super) fn new(rules: &Arc<[Rule]>) -> Self {
        Self {
            rules: Arc::clone(rules),
            digests: rules.iter().map(|_| PatternScratch::default()).collect(),
            texts: rules.iter().map(|_| PatternScratch::default()).collect(),
            hits: vec![0; rules.len()],
            text: Vec::new(),
            next_text: Vec::new(),
        }
    }

    pub(super) fn is_of(&self, rules: &Arc<[Rule]>) -> bool {
        Arc::ptr_eq(&self.rules, rules)
    }

    pub(super) fn count_hit(&mut self, place: usize) {
        if let Some(hits) = self.hits.get_mut(place) {
            *hits += 1;
        }
    }

    /// How often each rule matched since the scratch was made.
    pub fn hits(&self) -> &[u64] {
        &self.hits
    }

    /// How often each rule's patterns ended at a limit, in the order of the hits.
    pub fn limit_hits(&self) -> impl Iterator<Item = u64> + '_ {
        let patterns = self.digests.iter().zip(&self.texts);
        patterns.map(|(digest, text)| digest.limit_hits + text.limit_hits)
    }

    /// The text that the last evaluation left, when its verdict says that it was rewritten.
    pub fn rewritten(&self) -> &[u8] {
        &self.text
    }
}
