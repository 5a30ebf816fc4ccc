//! What a worker needs to evaluate rules without allocating and without locks.

use std::sync::Arc;

use super::Compiled;
use super::bits::Bits;
use super::memo::{Memo, MemoKey};
use super::pattern::PatternScratch;

/// One worker's memory for a [`super::RuleSet`], and how often each rule matched.
///
/// A scratch adapts itself to the set it is used with; its hits then begin at 0. Harvest them
/// before a set is replaced.
#[derive(Debug)]
pub struct RuleScratch {
    set: Arc<Compiled>,
    pub(super) work: Work,
    pub(super) memo: Memo,
    pub(super) key: MemoKey,
    pub(super) places: Bits,
}

/// What looking at a rule needs and leaves.
#[derive(Debug, Default)]
pub(super) struct Work {
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
    pub(super) fn new(set: &Arc<Compiled>) -> Self {
        let count = set.rules.len();
        let patterns = || (0..count).map(|_| PatternScratch::default()).collect();
        Self {
            set: Arc::clone(set),
            work: Work {
                digests: patterns(),
                texts: patterns(),
                hits: vec![0; count],
                ..Work::default()
            },
            memo: Memo::new(MEMO_BYTES_MAX),
            key: MemoKey::default(),
            places: Bits::default(),
        }
    }

    pub(super) fn is_of(&self, set: &Arc<Compiled>) -> bool {
        Arc::ptr_eq(&self.set, set)
    }

    /// How often each rule matched since the scratch was made.
    pub fn hits(&self) -> &[u64] {
        &self.work.hits
    }

    /// The rules at these places match once more.
    pub fn count_hits(&mut self, places: &[u32]) {
        places.iter().for_each(|place| self.work.count_hit(*place));
    }

    /// How often each rule's patterns ended at a limit, in the order of the hits.
    pub fn limit_hits(&self) -> impl Iterator<Item = u64> + '_ {
        let patterns = self.work.digests.iter().zip(&self.work.texts);
        patterns.map(|(digest, text)| digest.limit_hits + text.limit_hits)
    }

    /// The text that the last evaluation left, when its verdict says that it was rewritten.
    pub fn rewritten(&self) -> &[u8] {
        &self.work.text
    }

    /// Bytes of the memo, which are bounded.
    #[cfg(test)]
    pub(super) fn memo_bytes(&self) -> usize {
        self.memo.bytes()
    }
}

impl Default for RuleScratch {
    fn default() -> Self {
        Self::new(&Arc::default())
    }
}

impl Work {
    pub(super) fn count_hit(&mut self, place: u32) {
        if let Some(hits) = self.hits.get_mut(place as usize) {
            *hits += 1;
        }
    }
}

/// What one worker may remember.
pub(super) const MEMO_BYTES_MAX: usize = 8 << 20;
