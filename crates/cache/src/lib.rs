//! Answers of servers that are kept for clients that ask the same: one store for a process.
//!
//! A key is everything that an answer depends on, as bytes; its maker knows what that is. Keys are
//! compared whole. Which answers are worth their bytes is decided by `quick_cache` (S3-FIFO).
//!
//! **Invariant.** Keys and answers never take more than the limit; an answer that would is refused.
//! Time is the caller's, in microseconds of one clock for all callers.
//! **Not here:** what may be kept, and what a reply means, which `engine` decides.
#![forbid(unsafe_code)]

mod fills;
mod flights;
mod follows;
mod key;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use foldhash::quality::FixedState;
use quick_cache::sync::Cache;
use quick_cache::{Lifecycle, OptionsBuilder, Weighter};

pub use fills::Fill;
pub use flights::{Asking, Flight, Flights, Joining, Landing, Lead, Wait};
pub use follows::{Basis, Followed, Follows};
pub use key::{CacheKey, OwnHash, SoughtKey};

/// A reply as its server sent it.
#[derive(Debug)]
pub struct CachedReply {
    /// All packets of it, headers included; the first has the number 1.
    pub reply: Box<[u8]>,
    /// What is known of it.
    pub about: About,
    /// Somebody fetches what is to take its place.
    renewed: AtomicBool,
}

/// What is known of an answer.
#[derive(Clone, Debug)]
pub struct About {
    /// Rows in it.
    pub rows: u64,
    /// The status flags at its end.
    pub status: u16,
    /// When it was asked for, in microseconds.
    pub since_us: u64,
    /// How long it may be told from then on, in microseconds.
    pub lives_us: u64,
    /// How long it is kept beyond that, in microseconds, for when no server can answer.
    pub stale_us: u64,
    /// What it rests on, where changes of that are seen.
    pub basis: Option<Basis>,
    /// A number that its statement is known by elsewhere.
    pub digest: u64,
}

impl CachedReply {
    /// One that is to be kept.
    pub fn new(reply: Box<[u8]>, about: About) -> Self {
        Self { reply, about, renewed: AtomicBool::new(false) }
    }

    /// When it is of no more use to anybody.
    fn goes_us(&self) -> u64 {
        self.ends_us(u64::MAX).saturating_add(self.about.stale_us)
    }

    /// When it is too old for one that allows `lives_us` at most.
    fn ends_us(&self, lives_us: u64) -> u64 {
        self.about.since_us.saturating_add(self.about.lives_us.min(lives_us))
    }

    /// Whether something that it read is known to have changed.
    fn has_changed(&self) -> bool {
        self.about.basis.as_ref().is_some_and(Basis::has_changed)
    }

    /// Whether nothing that it read has changed, as far as changes are seen.
    pub fn is_current(&self) -> bool {
        self.about.basis.as_ref().is_some_and(Basis::is_current)
    }
}

/// What there is under a key.
#[derive(Debug)]
pub enum Lookup {
    /// An answer that may be told.
    Answer(Arc<CachedReply>),
    /// One that is to be fetched anew, by whoever has this.
    Late(Renewal),
    /// Nothing any more: what there was has ended with a change, by this very look.
    Changed,
    /// Nothing that may be told.
    Nothing,
}

/// What became of an answer that was to be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeping {
    /// It is told to others from now on.
    Kept,
    /// It takes too many bytes.
    Large,
    /// The store was flushed since it was asked for, or has one that was asked for behind it.
    Late,
}

/// Fetching what is to take the place of an answer. When this is dropped and the answer is still
/// there, the next that asks fetches.
#[derive(Debug)]
pub struct Renewal(Arc<CachedReply>);

impl Drop for Renewal {
    fn drop(&mut self) {
        self.0.renewed.store(false, Ordering::Relaxed);
    }
}

/// How old an answer may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allowed {
    /// Time, in microseconds.
    pub now_us: u64,
    /// How long it may be told, in microseconds, whatever was said when it was kept.
    pub lives_us: u64,
    /// The share of its time, in percent, after which the first to ask fetches another one; 0 for
    /// none.
    pub soft_pct: u32,
    /// Only if nothing that it read has changed.
    pub unchanged: bool,
    /// It must not have been asked for before that time, in microseconds.
    pub from_us: u64,
}

/// What the store holds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Figures {
    /// Answers.
    pub entries: u64,
    /// Bytes of keys, answers and what it takes to find them.
    pub bytes: u64,
    /// Answers that went since the start: for room, for their age, for a newer one, or by a flush.
    pub purged: u64,
    /// Those of them of which a table had changed.
    pub invalidated: u64,
    /// Bytes of replies of which it is not known yet whether they are kept.
    pub underway: u64,
}

/// The answers that are kept.
pub struct QueryCache {
    store: Cache<CacheKey, Arc<CachedReply>, ByBytes, OwnHash, Purges>,
    hashing: FixedState,
    purges: Purges,
    limit: AtomicU64,
    flushes: AtomicU64,
    invalidated: AtomicU64,
    follows: Follows,
    flights: Arc<Flights>,
    underway: fills::Underway,
}

impl QueryCache {
    /// An empty one that keeps nothing until it has a limit; `seed` spreads keys, and is secret
    /// where those who ask could choose keys that collide.
    pub fn new(seed: u64) -> Self {
        let purges = Purges::default();
        let mut options = OptionsBuilder::new();
        options.shards(SHARDS).estimated_items_capacity(ITEMS_GUESSED).weight_capacity(0);
        // all that is asked for is there
        let options = options.build().unwrap_or_else(|_| unreachable!("both capacities are set"));
        let store = Cache::with_options(options, ByBytes, OwnHash, purges.clone());
        let hashing = FixedState::with_seed(seed);
        let (limit, flushes, invalidated, follows) = Default::default();
        let (flights, underway) = (Flights::new(), fills::Underway::default());
        Self { store, hashing, purges, limit, flushes, invalidated, follows, flights, underway }
    }

    /// Keeps no more than so many bytes from now on, replies on their way included; 0 for nothing.
    pub fn set_limit(&self, bytes: u64) {
        if self.limit.swap(bytes, Ordering::Relaxed) != bytes {
            let bytes = bytes - fills::share_of(bytes);
            // the store gives each shard its part, rounded up
            self.store.set_capacity(bytes - bytes % SHARDS as u64);
        }
    }

    /// Whether anything may be kept.
    pub fn is_on(&self) -> bool {
        self.limit.load(Ordering::Relaxed) > 0
    }

    /// A key of these bytes, to look for it.
    pub fn sought<'a>(&self, bytes: &'a [u8]) -> SoughtKey<'a> {
        SoughtKey::new(bytes, &self.hashing)
    }

    /// The answer that is kept under a key, if it is young enough. The first that asks for one in
    /// the last part of its time is to fetch another one.
    pub fn find(&self, key: SoughtKey<'_>, allowed: Allowed) -> Lookup {
        let Allowed { now_us, lives_us, soft_pct, unchanged, from_us } = allowed;
        let Some(answer) = self.store.get(&key) else { return Lookup::Nothing };
        if now_us >= answer.goes_us() {
            self.forget(key, &answer);
            return Lookup::Nothing;
        }
        if answer.has_changed() || unchanged && !answer.is_current() {
            let forgotten = self.forget(key, &answer);
            self.invalidated.fetch_add(u64::from(forgotten), Ordering::Relaxed);
            return if forgotten { Lookup::Changed } else { Lookup::Nothing };
        }
        if now_us >= answer.ends_us(lives_us) {
            return Lookup::Nothing;
        }
        // should nothing newer be kept, the same session would be told it later
        if answer.about.since_us < from_us {
            self.forget(key, &answer);
            return Lookup::Nothing;
        }
        let lives_us = answer.about.lives_us.min(lives_us);
        let soft_us = lives_us / 100 * u64::from(soft_pct);
        let is_late = soft_pct > 0 && now_us >= answer.about.since_us.saturating_add(soft_us);
        match is_late && !answer.renewed.swap(true, Ordering::Relaxed) {
            true => Lookup::Late(Renewal(answer)),
            false => Lookup::Answer(answer),
        }
    }

    /// The answer that is kept under a key, for when no server can give another one: its time may
    /// be over by `stale_us` at most. One that has ended by a change is none.
    pub fn find_stale(
        &self,
        key: SoughtKey<'_>,
        allowed: Allowed,
        stale_us: u64,
    ) -> Option<Arc<CachedReply>> {
        let ends_us = |answer: &CachedReply| answer.ends_us(allowed.lives_us);
        let is_young = |answer: &Arc<CachedReply>| {
            (answer.is_current() || !allowed.unchanged)
                && allowed.now_us < ends_us(answer).saturating_add(stale_us).min(answer.goes_us())
        };
        self.store.get(&key).filter(is_young).filter(|answer| !answer.has_changed())
    }

    /// Those who ask the same at the same time.
    pub fn flights(&self) -> &Arc<Flights> {
        &self.flights
    }

    /// What replies on their way may take together, in bytes.
    pub(crate) fn underway_max(&self) -> u64 {
        fills::share_of(self.limit.load(Ordering::Relaxed))
    }

    /// Forgets an answer that is told to nobody any more, if it is still there.
    fn forget(&self, key: SoughtKey<'_>, answer: &Arc<CachedReply>) -> bool {
        let removed = self.store.remove_if(&key, |kept| Arc::ptr_eq(kept, answer)).is_some();
        self.purges.add(u64::from(removed));
        removed
    }

    /// The changes that are seen, by hostgroup.
    pub fn follows(&self) -> &Follows {
        &self.follows
    }

    /// How often it was flushed. What was asked for before a flush is not kept behind it.
    pub fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::SeqCst)
    }

    /// Keeps an answer in place of what was kept under its key, with the number of
    /// [`Self::flushes`] when it was asked for, unless that is younger.
    pub fn keep(
        &self,
        (key, flushes): (CacheKey, u64),
        answer: impl Into<Arc<CachedReply>>,
    ) -> Keeping {
        let answer = answer.into();
        if ByBytes.weight(&key, &answer) > self.store.shard_capacity() {
            return Keeping::Large;
        }
        let is_younger = |kept: &Arc<CachedReply>| kept.about.since_us > answer.about.since_us;
        if self.store.peek(&key.sought()).as_ref().is_some_and(is_younger) {
            return Keeping::Late;
        }
        let again = (key.clone(), answer.clone());
        self.store.insert(key, answer);
        // a flush counts before it looks: it sees the answer, or its count is seen here
        if self.flushes() == flushes {
            return Keeping::Kept;
        }
        self.store.remove_if(&again.0.sought(), |kept| Arc::ptr_eq(kept, &again.1));
        Keeping::Late
    }

    /// The largest answer, with its key, that may be kept, in bytes.
    pub fn largest(&self) -> u64 {
        self.store.shard_capacity().saturating_sub(OVERHEAD)
    }

    /// Forgets all answers; how many they were.
    pub fn flush(&self) -> u64 {
        self.flushes.fetch_add(1, Ordering::SeqCst);
        let forgotten = AtomicU64::new(0);
        self.store.retain(|_, _| {
            forgotten.fetch_add(1, Ordering::Relaxed);
            false
        });
        let forgotten = forgotten.into_inner();
        self.purges.add(forgotten);
        forgotten
    }

    /// Forgets the answers that `is_meant` says so of, by their keys; how many they were. What was
    /// asked for before is not kept behind it, whatever it is.
    pub fn flush_some(&self, is_meant: impl Fn(&[u8], &About) -> bool) -> u64 {
        self.flushes.fetch_add(1, Ordering::SeqCst);
        let meant = self.store.iter().filter(|(key, answer)| is_meant(key.bytes(), &answer.about));
        meant.map(|(key, answer)| u64::from(self.forget(key.sought(), &answer))).sum()
    }

    /// What it holds.
    pub fn figures(&self) -> Figures {
        let entries = u64::try_from(self.store.len()).unwrap_or(u64::MAX);
        let invalidated = self.invalidated.load(Ordering::Relaxed);
        let (bytes, purged) = (self.store.weight(), self.purges.count());
        Figures { entries, bytes, purged, invalidated, underway: self.underway.bytes() }
    }
}

/// The parts of the store that are locked by themselves.
const SHARDS: usize = 16;

/// What the store remembers of answers that went follows from it.
const ITEMS_GUESSED: usize = 1 << 16;

/// What an answer takes beside its own bytes and those of its key: its places in the store, which
/// grows by doubling, its fields, and what the allocator adds to three allocations.
const OVERHEAD: u64 = 376;

/// Answers weigh what they take of memory.
#[derive(Clone)]
struct ByBytes;

impl Weighter<CacheKey, Arc<CachedReply>> for ByBytes {
    fn weight(&self, key: &CacheKey, answer: &Arc<CachedReply>) -> u64 {
        let basis = answer.about.basis.as_ref().map_or(0, Basis::bytes);
        let bytes = key.bytes().len() + answer.reply.len() + basis;
        u64::try_from(bytes).map_or(u64::MAX, |bytes| bytes.saturating_add(OVERHEAD))
    }
}

/// Counts the answers that went.
#[derive(Clone, Default)]
struct Purges(Arc<AtomicU64>);

impl Purges {
    fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What made room is freed when its part of the store is no longer locked.
impl Lifecycle<CacheKey, Arc<CachedReply>> for Purges {
    type RequestState = Vec<(CacheKey, Arc<CachedReply>)>;

    fn on_evict(&self, gone: &mut Self::RequestState, key: CacheKey, answer: Arc<CachedReply>) {
        self.add(1);
        gone.push((key, answer));
    }
}

#[cfg(test)]
mod tests;
