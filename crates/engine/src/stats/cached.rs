//! What the query cache came to, by digest.

use std::collections::HashMap;

use cache::OwnHash;

/// What became of the statements of one digest that rules would have answered from the cache.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CacheRow {
    /// The text of the digest.
    pub text: Box<[u8]>,
    /// Those that were answered from it.
    pub hits: u64,
    /// Those that were looked for and not found.
    pub misses: u64,
    /// Those that were told what others had asked for.
    pub coalesced: u64,
    /// Answers that were kept.
    pub fills: u64,
    /// Those of them that were found to have ended with a change of what they read.
    pub invalidations: u64,
    /// Bytes of answers that were kept.
    pub bytes_kept: u64,
    /// Bytes of answers that were told.
    pub bytes_told: u64,
    /// When an answer was kept last, in microseconds of the loops' clock; 0 for never.
    pub filled_us: u64,
    /// Why others were neither looked for nor kept, each with how many they were.
    pub reasons: Vec<(&'static str, u64)>,
}

impl CacheRow {
    /// Counts one that was neither looked for nor kept, or was not kept.
    pub fn note_reason(&mut self, name: &'static str) {
        self.add_reason((name, 1));
    }

    fn add_reason(&mut self, (name, count): (&'static str, u64)) {
        match self.reasons.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known += count,
            None => self.reasons.push((name, count)),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.coalesced += other.coalesced;
        self.fills += other.fills;
        self.invalidations += other.invalidations;
        self.bytes_kept += other.bytes_kept;
        self.bytes_told += other.bytes_told;
        self.filled_us = self.filled_us.max(other.filled_us);
        other.reasons.iter().for_each(|reason| self.add_reason(*reason));
    }
}

/// The rows of one worker, by digest.
#[derive(Clone, Default, Debug)]
pub struct CacheStats(HashMap<u64, CacheRow, OwnHash>);

impl CacheStats {
    /// The row of a digest, whose text is looked at if it is new. What is beyond the bound on rows
    /// is together the row of digest 0, as is what has none.
    pub fn row(&mut self, digest: u64, text: &[u8]) -> &mut CacheRow {
        let is_full = self.0.len() >= ROWS_MAX && !self.0.contains_key(&digest);
        let (digest, text) = if is_full { (0, OTHERS) } else { (digest, text) };
        self.0
            .entry(digest)
            .or_insert_with(|| CacheRow { text: text.into(), ..CacheRow::default() })
    }

    /// Adds what another worker has.
    pub fn merge(&mut self, other: &Self) {
        for (key, row) in &other.0 {
            let sum = self.0.entry(*key);
            let text = || CacheRow { text: row.text.clone(), ..CacheRow::default() };
            sum.or_insert_with(text).merge(row);
        }
    }

    /// Every row, in no order.
    pub fn rows(&self) -> impl Iterator<Item = (u64, &CacheRow)> {
        self.0.iter().map(|(digest, row)| (*digest, row))
    }
}

/// Digests that one worker tells apart.
const ROWS_MAX: usize = 2000;

/// The text of rows beyond that.
const OTHERS: &[u8] = b"(digests that found no room)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_add_up_and_what_finds_no_room_is_counted_together() {
        let mut one = CacheStats::default();
        for digest in 1..=ROWS_MAX as u64 + 2 {
            let row = one.row(digest, b"SELECT ?");
            row.hits += 1;
            row.coalesced += 2;
            row.invalidations += 3;
            row.note_reason("varies");
        }
        one.row(5, b"").hits += 1;
        let mut sum = CacheStats::default();
        let mut other = CacheStats::default();
        other.row(5, b"SELECT ?").note_reason("varies");
        other.row(5, b"SELECT ?").note_reason("session");
        sum.merge(&one);
        sum.merge(&other);
        assert_eq!(sum.rows().count(), ROWS_MAX + 1);
        let known = sum.row(5, b"").clone();
        assert_eq!((&*known.text, known.hits), (&b"SELECT ?"[..], 2));
        assert_eq!((known.coalesced, known.invalidations), (2, 3));
        assert_eq!(known.reasons, [("varies", 2), ("session", 1)]);
        let others = sum.row(0, b"").clone();
        assert_eq!((&*others.text, others.hits), (OTHERS, 2));
    }
}
