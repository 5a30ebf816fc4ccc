//! Replies that are on their way into the store, of which it is not known yet whether they stay.
//!
//! **Invariant.** All of a store together take no more than their share of its limit
//! ([`share_of`]), which no answer that is kept may take: so the limit holds for both.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::QueryCache;

/// The part of a store's limit that is for replies on their way, in bytes.
pub(crate) fn share_of(limit: u64) -> u64 {
    limit / 8
}

/// What all replies take that are on their way, in bytes.
#[derive(Default)]
pub(crate) struct Underway(AtomicU64);

impl Underway {
    /// Bytes now.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes so many more, if all together take no more than `most` then.
    fn take(&self, more: u64, most: u64) -> bool {
        let add = |bytes: u64| bytes.checked_add(more).filter(|bytes| *bytes <= most);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    fn give(&self, bytes: u64) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A reply of which more may come.
pub struct Fill {
    cache: Arc<QueryCache>,
    bytes: Vec<u8>,
    /// Bytes that are counted for it: what it has allocated.
    counted: u64,
}

impl Fill {
    /// One of which nothing has come.
    pub fn new(cache: &Arc<QueryCache>) -> Self {
        Self { cache: cache.clone(), bytes: Vec::new(), counted: 0 }
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing has come.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Adds a part; `false` where there is no room for it, which leaves the reply as it was.
    #[must_use]
    pub fn add(&mut self, part: &[u8]) -> bool {
        let room = self.bytes.capacity() - self.bytes.len();
        if part.len() > room {
            // as much again, or what is needed
            let whole = self.bytes.len() + part.len().max(self.bytes.len());
            let more = (whole - self.bytes.capacity()) as u64;
            if !self.cache.underway.take(more, self.cache.underway_max()) {
                return false;
            }
            self.counted += more;
            self.bytes.reserve_exact(whole - self.bytes.len());
        }
        self.bytes.extend_from_slice(part);
        true
    }

    /// Forgets what has come.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// What has come, to be changed in place.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The whole reply, which is on its way no more.
    pub fn into_reply(mut self) -> Box<[u8]> {
        std::mem::take(&mut self.bytes).into_boxed_slice()
    }
}

impl Drop for Fill {
    fn drop(&mut self) {
        self.cache.underway.give(self.counted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_on_their_way_share_a_part_of_the_limit_and_give_it_back() {
        const LIMIT: u64 = 1 << 20;
        let cache = Arc::new(QueryCache::new(1));
        let bytes = || cache.figures().underway;
        let mut none = Fill::new(&cache);
        assert!(!none.add(&[1]), "a store that keeps nothing lets nothing come");
        cache.set_limit(LIMIT);
        let (mut one, mut other) = (Fill::new(&cache), Fill::new(&cache));
        assert!(one.add(&[1; 60_000]) && other.add(&[2; 60_000]));
        assert_eq!(bytes(), 120_000);
        assert!(!one.add(&[1; 20_000]), "there is no room for both");
        assert_eq!((one.len(), bytes()), (60_000, 120_000));
        assert_eq!((other.into_reply().len(), bytes()), (60_000, 60_000));
        assert!(one.add(&[1; 1]));
        assert_eq!((one.len(), bytes()), (60_001, 120_000), "as much again");
        one.clear();
        assert!(one.add(&[3; 120_000]));
        assert_eq!((one.len(), bytes()), (120_000, 120_000));
        drop(one);
        assert_eq!(bytes(), 0);
        assert!(share_of(LIMIT) >= 2 * cache.largest(), "the largest may double on its way");
    }
}
