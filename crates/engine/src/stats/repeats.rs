//! How soon the same is asked again, by a sample of the reads that no rule answers from the cache.
//!
//! One read in so many is picked. Until the same is asked again, or for a minute, it is watched
//! for. Its digest, and a mark that is had without reading it, tell most others from it: a read
//! that is neither picked nor of a digest that is watched for costs a few instructions.
//!
//! **Invariant.** Which reads are watched for has nothing to do with what became of others: a row
//! takes some in a row, waits until it is known what became of all, and passes over a random
//! number before it takes more. Else what repeats would soon take the place of all the rest.
//! **Not here:** which reads could be answered from the cache, which `caching` decides.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use super::digests::{mix, mix_text};

/// Times to live by which it is counted how soon the same is asked again, in milliseconds.
pub const TTLS_MS: [u32; 6] = [1000, 2000, 5000, 10_000, 30_000, 60_000];

/// What came of the picked reads of one digest, schema and user.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RepeatRow {
    /// How many were picked.
    pub picked: u64,
    /// The same was asked again within each of [`TTLS_MS`], and not within the one before.
    pub again: [u64; TTLS_MS.len()],
    /// It was not within the last of them.
    pub lapsed: u64,
    /// It was not yet, in so much time.
    pub pending: [u64; TTLS_MS.len()],
    /// Those that the cache could not have answered, by the reason.
    pub reasons: Vec<(&'static str, u64)>,
    /// Those that were taken since all before were over, and how many are watched for now.
    taken: u32,
    watched: u32,
    /// So many are passed over before the next is taken.
    passes: u32,
    /// When one was taken last, and when one was picked last.
    taken_us: u64,
    last_us: u64,
}

impl RepeatRow {
    /// Those that the cache could have answered, and of which it is known for how long they were
    /// not asked again.
    pub fn told(&self) -> u64 {
        self.again.iter().chain(self.pending.iter().skip(1)).sum::<u64>() + self.lapsed
    }

    /// The share of reads (0 to 1) behind which the same is asked within a time of [`TTLS_MS`].
    ///
    /// Those of which it is not known yet count for as long as they have waited, as in a table of
    /// lives: without that, what has just begun to be watched would seem to repeat always.
    pub fn share_within(&self, ttl: usize) -> f64 {
        let all = [&self.again, &self.pending].into_iter().flatten().sum::<u64>() + self.lapsed;
        let (mut at_risk, mut unasked) = (count(all), 1.0);
        for (again, pending) in self.again.iter().zip(&self.pending).take(ttl + 1) {
            let exposed = at_risk - count(*pending) / 2.0;
            if exposed > 0.0 {
                unasked *= 1.0 - count(*again) / exposed;
            }
            at_risk -= count(again + pending);
        }
        1.0 - unasked
    }

    /// The share of picked reads (0 to 1) that the cache could have answered.
    pub fn share_cacheable(&self) -> f64 {
        let not = self.reasons.iter().map(|(_, count)| count).sum::<u64>();
        if self.picked == 0 { 0.0 } else { 1.0 - count(not) / count(self.picked) }
    }

    /// Takes more, some reads later, where it is known what became of all that it took.
    fn begin_anew_if_over(&mut self, dice: u64) {
        if self.taken >= TAKEN_MAX && self.watched == 0 {
            (self.taken, self.passes) = (0, u32::try_from(dice >> 40).unwrap_or(0) % PASSES);
        }
    }

    fn note_reason(&mut self, (why, count): (&'static str, u64)) {
        match self.reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, known)) => *known += count,
            None => self.reasons.push((why, count)),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.picked += other.picked;
        self.lapsed += other.lapsed;
        let add = |(sum, more): (&mut u64, &u64)| *sum += more;
        self.again.iter_mut().zip(&other.again).for_each(add);
        self.pending.iter_mut().zip(&other.pending).for_each(add);
        other.reasons.iter().for_each(|reason| self.note_reason(*reason));
    }
}

#[expect(clippy::cast_precision_loss, reason = "shares are shown with few digits")]
fn count(number: u64) -> f64 {
    number as f64
}

/// Whose reads a row counts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RepeatKey {
    /// Their digest.
    pub digest: u64,
    /// The schema that they were asked in; empty for none.
    pub schema: Box<[u8]>,
    /// The user.
    pub user: Box<[u8]>,
}

/// The rows of some workers.
#[derive(Clone, Default, Debug)]
pub struct RepeatRows(BTreeMap<RepeatKey, RepeatRow>);

impl RepeatRows {
    /// Adds what a worker has. The same that is asked on two workers counts for neither.
    pub fn merge(&mut self, other: &Self) {
        for (key, row) in &other.0 {
            self.0.entry(key.clone()).or_default().merge(row);
        }
    }

    /// The row of some reads, if any was picked.
    pub fn find(&self, key: &RepeatKey) -> Option<&RepeatRow> {
        self.0.get(key)
    }
}

/// A read that is looked at.
#[derive(Clone, Copy, Debug)]
pub struct ReadAsked<'a> {
    /// The hash of its digest.
    pub digest: u64,
    /// The schema that it is asked in; empty for none.
    pub schema: &'a [u8],
    /// The user.
    pub user: &'a [u8],
    /// What makes it the same as another one of its digest, schema and user, in parts.
    pub parts: [&'a [u8]; 4],
    /// The mark that [`Repeats::look`] was asked with.
    pub mark: u64,
    /// Why the cache could not answer it.
    pub why: Option<&'static str>,
}

/// Why a read is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LookedAt {
    /// It is one of the sample.
    Picked,
    /// It may be the same as one of the sample.
    MaybeWatched,
}

/// The sample of one worker.
#[derive(Clone, Debug)]
pub struct Repeats {
    /// One in so many is picked; 0 for none.
    every: u32,
    /// Reads until the next is.
    left: u32,
    /// How many are watched for, by the ends of their digests, and by their marks.
    digests: [u16; 256],
    marks: Box<[u16; KINDS]>,
    /// Reads that are watched for, by what they are the same by.
    watched: HashMap<u64, Watched>,
    rows: HashMap<u64, (RepeatKey, RepeatRow)>,
    secret: u64,
    dice: u64,
}

/// A read that is watched for.
#[derive(Clone, Copy, Debug)]
struct Watched {
    since_us: u64,
    row: u64,
    /// Where it is counted.
    digest: usize,
    mark: usize,
}

impl Repeats {
    /// Nothing picked yet; `secret` is a random number.
    pub fn new(every: u32, secret: u64) -> Self {
        let (left, rows, dice) = (u32::MAX, HashMap::new(), secret | 1);
        // it never grows
        let watched = HashMap::with_capacity(if every > 0 { 2 * WATCHED_MAX } else { 0 });
        let (digests, marks) = ([0; 256], Box::new([0; KINDS]));
        let mut new = Self { every, left, digests, marks, watched, rows, secret, dice };
        new.roll();
        new
    }

    /// One in so many is picked from now on; for none, all is forgotten.
    pub fn set_every(&mut self, every: u32) {
        if every != self.every {
            match every == 0 || self.every == 0 {
                true => *self = Self::new(every, self.secret),
                false => self.every = every,
            }
            self.roll();
        }
    }

    /// What is known of a read without reading it: its digest, its middle and its end.
    pub fn mark(digest: u64, text: &[u8]) -> u64 {
        let middle = text.get(text.len() / 2..).and_then(<[u8]>::first_chunk);
        match (middle, text.last_chunk(), text.last_chunk()) {
            (Some(middle), Some(end), _) => {
                digest ^ u64::from_le_bytes(*end) ^ u64::from_le_bytes(*middle).rotate_left(29)
            }
            (_, _, Some(end)) => digest ^ u64::from(u32::from_le_bytes(*end)),
            (_, _, None) => digest,
        }
    }

    /// Whether [`Self::look`] is to be asked about a read: it is picked, or some with its digest
    /// are watched for.
    #[inline]
    pub fn looks_at(&mut self, digest: u64) -> bool {
        self.left = self.left.wrapping_sub(1);
        self.left == 0 || self.digests.get(kind_of_digest(digest)).is_some_and(|count| *count > 0)
    }

    /// Why a read that [`Self::looks_at`] says so of is to be noted; `None` where it is not.
    pub fn look(&mut self, mark: u64) -> Option<LookedAt> {
        let is_picked = self.left == 0;
        if is_picked {
            self.roll();
        }
        let is_watched = self.marks.get(kind_of_mark(mark)).is_some_and(|count| *count > 0);
        match is_picked && self.every > 0 {
            true => Some(LookedAt::Picked),
            false => is_watched.then_some(LookedAt::MaybeWatched),
        }
    }

    /// Notes a read that was to be looked at.
    pub fn note(&mut self, now_us: u64, looked_at: LookedAt, read: &ReadAsked<'_>) {
        let names = mix_text(mix_text(self.secret, read.user), read.schema);
        let row = mix(names, read.digest);
        let key = read.parts.iter().fold(row, |hash, part| mix_text(hash, part));
        if read.why.is_none() {
            self.end(key, now_us);
        }
        if looked_at == LookedAt::Picked {
            self.pick(now_us, (key, row), read);
        }
    }

    /// What it has found, at this moment.
    pub fn rows(&self, now_us: u64) -> RepeatRows {
        let mut rows = self.rows.clone();
        for watched in self.watched.values() {
            let Some((_, row)) = rows.get_mut(&watched.row) else { continue };
            match place_of(now_us.saturating_sub(watched.since_us)) {
                Some(place) => row.pending.get_mut(place).into_iter().for_each(|it| *it += 1),
                None => row.lapsed += 1,
            }
        }
        RepeatRows(rows.into_values().collect())
    }

    fn pick(&mut self, now_us: u64, (key, row): (u64, u64), read: &ReadAsked<'_>) {
        if self.rows.len() >= ROWS_MAX && !self.rows.contains_key(&row) {
            let oldest = self.rows.iter().min_by_key(|(_, (_, row))| row.last_us);
            if let Some(oldest) = oldest.map(|(row, _)| *row) {
                self.end_all(oldest, now_us);
                self.rows.remove(&oldest);
            }
        }
        let (_, counts) = match self.rows.entry(row) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let (schema, user) = (read.schema.into(), read.user.into());
                let key = RepeatKey { digest: read.digest, schema, user };
                place.insert((key, RepeatRow::default()))
            }
        };
        counts.picked += 1;
        counts.last_us = now_us;
        if let Some(why) = read.why {
            return counts.note_reason((why, 1));
        }
        if counts.taken >= TAKEN_MAX {
            if now_us.saturating_sub(counts.taken_us) >= TIME_US {
                self.end_all(row, now_us);
            }
            return;
        }
        if counts.passes > 0 {
            counts.passes -= 1;
            return;
        }
        (counts.taken, counts.taken_us) = (counts.taken + 1, now_us);
        if self.watched.len() < WATCHED_MAX {
            counts.watched += 1;
            let (digest, mark) = (kind_of_digest(read.digest), kind_of_mark(read.mark));
            self.watched.insert(key, Watched { since_us: now_us, row, digest, mark });
            self.digests.get_mut(digest).into_iter().for_each(|count| *count += 1);
            self.marks.get_mut(mark).into_iter().for_each(|count| *count += 1);
        }
        counts.begin_anew_if_over(self.dice);
    }

    /// The time of all that a row watches for is over.
    #[cold]
    fn end_all(&mut self, row: u64, now_us: u64) {
        let of_row = self.watched.iter().filter(|(_, watched)| watched.row == row);
        for key in of_row.map(|(key, _)| *key).collect::<Vec<_>>() {
            self.end(key, now_us);
        }
    }

    /// A read is watched for no more, if it was: the same was asked, or its time is over.
    fn end(&mut self, key: u64, now_us: u64) {
        let Some(watched) = self.watched.remove(&key) else { return };
        self.digests.get_mut(watched.digest).into_iter().for_each(|count| *count -= 1);
        self.marks.get_mut(watched.mark).into_iter().for_each(|count| *count -= 1);
        let Some((_, row)) = self.rows.get_mut(&watched.row) else { return };
        row.watched -= 1;
        match place_of(now_us.saturating_sub(watched.since_us)) {
            Some(place) => row.again.get_mut(place).into_iter().for_each(|it| *it += 1),
            None => row.lapsed += 1,
        }
        row.begin_anew_if_over(self.dice);
    }

    /// Says which read is picked next: one in so many on average, and no multiple of anything.
    fn roll(&mut self) {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.left = match self.every {
            0 => u32::MAX,
            every => 1 + u32::try_from(self.dice % u64::from(2 * every - 1)).unwrap_or(0),
        };
    }
}

/// The place of a time among [`TTLS_MS`]; `None` beyond.
fn place_of(time_us: u64) -> Option<usize> {
    TTLS_MS.iter().position(|ttl_ms| time_us < u64::from(*ttl_ms) * 1000)
}

/// The place where a digest is counted; it is a hash already.
#[inline]
fn kind_of_digest(digest: u64) -> usize {
    let [low, ..] = digest.to_le_bytes();
    low.into()
}

fn kind_of_mark(mark: u64) -> usize {
    let [high, next, ..] = mark.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    usize::from(u16::from_be_bytes([high, next])) % KINDS
}

/// Kinds of marks that are told apart.
const KINDS: usize = 4096;

/// Reads that are watched for at a time.
const WATCHED_MAX: usize = 800;

/// Reads that a row takes, one picked after the other, before it waits for what becomes of them.
const TAKEN_MAX: u32 = 16;

/// It passes over less than so many then.
const PASSES: u32 = 32;

/// For how long a read is watched for.
const TIME_US: u64 = match TTLS_MS {
    [.., last_ms] => last_ms as u64 * 1000,
};

/// Rows of one worker; the one of which none was picked for longest gives way.
const ROWS_MAX: usize = 1000;

#[cfg(test)]
mod tests;
