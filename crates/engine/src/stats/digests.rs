//! What queries came to by hostgroup, schema, user, client address and digest.
//!
//! The table is bounded in bytes. When a new key does not fit, the lightest of a few rows that are
//! picked at random goes. What it had is added to one row for all that went. So sums stay exact,
//! and a row that matters outlives any flood of rows that do not.

use super::QueryEnd;
use super::index::Index;
use super::interner::{self, Interner};
use super::page::DigestPage;
use super::totals::Totals;
use crate::ids::HostgroupId;

/// The digests of one worker.
#[derive(Clone, Debug)]
pub struct DigestStats {
    rows: Vec<Row>,
    index: Index,
    texts: Interner,
    names: Interner,
    /// Of the distributions that have memory of their own.
    latencies_bytes: usize,
    bytes_max: usize,
    /// Keeps clients from choosing texts that collide.
    secret: u64,
    dice: u64,
    evicted: Totals,
    evictions: u64,
    reading: Reading,
}

/// How far a reading of the rows is that goes on while they change: from the last row to the
/// first, because rows only ever move down.
#[derive(Clone, Default, Debug)]
struct Reading {
    number: u32,
    /// Rows from here on were told, or came after the reading began.
    unread: usize,
    /// What rows had that went before they were told, and how many they were.
    missed: (Totals, u64),
}

/// A row as it is read.
#[derive(Clone, Copy, Debug)]
pub struct DigestRow<'a> {
    /// Where the queries ran; `None` when the proxy answered them itself.
    pub hostgroup: Option<HostgroupId>,
    /// `schemaname`.
    pub schema: &'a [u8],
    /// `username`.
    pub user: &'a [u8],
    /// `client_address`; empty unless it is tracked.
    pub client: &'a [u8],
    /// `digest`.
    pub digest: u64,
    /// `digest_text`.
    pub text: &'a [u8],
    /// Everything else.
    pub totals: &'a Totals,
}

#[derive(Clone, Debug)]
struct Row {
    /// Number of the reading that told it last.
    told_in: u32,
    hash: u64,
    digest: u64,
    hostgroup: Option<HostgroupId>,
    text: u32,
    user: u32,
    schema: u32,
    client: u32,
    totals: Totals,
}

impl DigestStats {
    /// An empty table that takes `bytes_max` of memory at most; `secret` is a random number.
    pub fn new(bytes_max: usize, secret: u64) -> Self {
        Self {
            rows: Vec::new(),
            index: Index::default(),
            texts: Interner::default(),
            names: Interner::default(),
            latencies_bytes: 0,
            bytes_max: bytes_max.max(BYTES_LEAST),
            secret,
            dice: secret | 1,
            evicted: Totals::default(),
            evictions: 0,
            reading: Reading::default(),
        }
    }

    /// That much memory may be used from now on. What is too much goes bit by bit, while queries
    /// come and by [`Self::shrink`].
    pub fn set_bytes_max(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max.max(BYTES_LEAST);
    }

    /// Evicts some of the rows that are too many.
    pub fn shrink(&mut self, now_us: u64) {
        self.make_room(now_us, 0);
    }

    /// Counts a query that ended at `now_us` under its digest, and under its client's address if
    /// that is `tracked`.
    pub fn record(&mut self, now_us: u64, digest: u64, end: &QueryEnd<'_>, tracked: bool) {
        let client = if tracked { end.client } else { &[] };
        let hash = self.hash(digest, end, client);
        let rows = &self.rows;
        // names are told apart by their hash alone: nobody outside knows the secret in it
        let is_it = |at: u32| {
            rows.get(at as usize).is_some_and(|row| row.hash == hash && row.digest == digest)
        };
        let at = match self.index.find(hash, is_it) {
            Some(at) => at,
            None => self.insert(now_us, hash, digest, &QueryEnd { client, ..*end }),
        };
        let Some(row) = self.rows.get_mut(at as usize) else { return };
        let grown = row.totals.record(now_us, end);
        if grown > 0 {
            self.grow(now_us, grown);
        }
    }

    /// Adds what another table has.
    pub fn merge(&mut self, other: &Self) {
        self.merge_rows(other.rows());
        self.merge_evicted((&other.evicted, other.evictions));
    }

    /// Adds what another table has told.
    pub fn merge_page(&mut self, page: &DigestPage) {
        self.merge_rows(page.rows());
        self.merge_evicted((&page.evicted.0, page.evicted.1));
    }

    /// Tells some rows, `rows_max` at most; a new reading begins with the `first` page. Each row
    /// that was there at its beginning is told once, or is among the evicted.
    pub fn read(&mut self, first: bool, rows_max: usize) -> DigestPage {
        let mut page = DigestPage::default();
        if first {
            let number = self.reading.number.wrapping_add(1);
            let unread = self.rows.len();
            self.reading = Reading { number, unread, missed: Default::default() };
            page.evicted = (self.evicted.clone(), self.evictions);
        }
        let from = self.reading.unread.min(self.rows.len());
        let to = from.saturating_sub(rows_max);
        for row in self.rows.get_mut(to..from).unwrap_or_default() {
            if std::mem::replace(&mut row.told_in, self.reading.number) != self.reading.number {
                page.push(&show(row, &self.names, &self.texts));
            }
        }
        self.reading.unread = to;
        let (totals, count) = std::mem::take(&mut self.reading.missed);
        page.evicted.0.merge(&totals);
        page.evicted.1 += count;
        page.more = to > 0;
        page
    }

    /// Moves everything out; what follows is counted from zero.
    pub fn take(&mut self) -> Self {
        let empty = Self::new(self.bytes_max, self.secret);
        std::mem::replace(self, empty)
    }

    /// Every row, in no order.
    pub fn rows(&self) -> impl Iterator<Item = DigestRow<'_>> {
        self.rows.iter().map(|row| show(row, &self.names, &self.texts))
    }

    /// What the rows had that had to go, and how many they were.
    pub fn evicted(&self) -> (&Totals, u64) {
        (&self.evicted, self.evictions)
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> usize {
        self.rows.len() * size_of::<Row>()
            + self.latencies_bytes
            + self.index.bytes()
            + self.texts.bytes()
            + self.names.bytes()
    }

    fn merge_rows<'a>(&mut self, rows: impl Iterator<Item = DigestRow<'a>>) {
        for row in rows {
            let end = QueryEnd {
                hostgroup: row.hostgroup,
                user: row.user,
                schema: row.schema,
                client: row.client,
                digest_text: row.text,
                ..QueryEnd::default()
            };
            let hash = self.hash(row.digest, &end, row.client);
            let known = self.index.find(hash, |at| {
                let known = self.rows.get(at as usize);
                known.is_some_and(|known| known.hash == hash && known.digest == row.digest)
            });
            let seen_us = row.totals.last_seen_us;
            let at = known.unwrap_or_else(|| self.insert(seen_us, hash, row.digest, &end));
            let Some(own) = self.rows.get_mut(at as usize) else { continue };
            let grown = own.totals.merge(row.totals);
            self.grow(seen_us, grown);
        }
    }

    fn merge_evicted(&mut self, (totals, count): (&Totals, u64)) {
        self.evicted.merge(totals);
        self.evictions += count;
    }

    /// Adds a row that has nothing yet. Returns its place.
    #[cold]
    fn insert(&mut self, now_us: u64, hash: u64, digest: u64, end: &QueryEnd<'_>) -> u32 {
        let names = [end.user, end.schema, end.client];
        let [user, schema, client] = names;
        let text_len: usize = end.digest_text.len() + names.iter().map(|n| n.len()).sum::<usize>();
        let slots = 4 * (interner::bytes_of(0) + interner::SLOT_BYTES);
        self.make_room(now_us, size_of::<Row>() + slots + text_len);
        let mut name = |text| self.names.intern(mix_text(self.secret, text), text);
        let (user, schema, client) = (name(user), name(schema), name(client));
        let text = self.texts.intern(mix(self.secret, digest), end.digest_text);
        let totals = Totals::default();
        let at = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let hostgroup = end.hostgroup;
        // as if told: who reads now reads what there was when it began
        let told_in = self.reading.number;
        self.rows.push(Row {
            told_in,
            hash,
            digest,
            hostgroup,
            text,
            user,
            schema,
            client,
            totals,
        });
        self.index.insert(hash, at);
        at
    }

    #[cold]
    fn grow(&mut self, now_us: u64, bytes: usize) {
        self.latencies_bytes += bytes;
        self.make_room(now_us, 0);
    }

    /// Evicts rows until so many bytes more are within the bound, or enough for one time: only a
    /// bound that was lowered takes more than one.
    fn make_room(&mut self, now_us: u64, bytes: usize) {
        for _ in 0..EVICTIONS_MAX {
            if self.bytes() + bytes <= self.bytes_max || self.rows.is_empty() {
                return;
            }
            let at = self.lightest_of_some(now_us);
            self.evict(at);
        }
    }

    fn lightest_of_some(&mut self, now_us: u64) -> usize {
        let mut lightest = (usize::MAX, u64::MAX, u64::MAX);
        for _ in 0..SAMPLES {
            let at = self.roll();
            let Some(row) = self.rows.get(at) else { continue };
            let (weight, seen) = (row.totals.weight(now_us), row.totals.last_seen_us);
            if (weight, seen) < (lightest.1, lightest.2) {
                lightest = (at, weight, seen);
            }
        }
        lightest.0.min(self.rows.len() - 1)
    }

    /// The place of a row, any with the same chance.
    fn roll(&mut self) -> usize {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        let (_, at) = self.dice.carrying_mul(self.rows.len() as u64, 0);
        usize::try_from(at).unwrap_or(0)
    }

    fn evict(&mut self, at: usize) {
        let row = self.rows.swap_remove(at);
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.index.remove(row.hash, place(at));
        if let Some(moved) = self.rows.get(at) {
            self.index.relocate(moved.hash, place(self.rows.len()), place(at));
        }
        self.texts.release(row.text);
        for name in [row.user, row.schema, row.client] {
            self.names.release(name);
        }
        self.latencies_bytes -= row.totals.latencies.bytes();
        self.evicted.merge(&row.totals);
        self.evictions += 1;
        if self.reading.unread > 0 && row.told_in != self.reading.number {
            self.reading.missed.0.merge(&row.totals);
            self.reading.missed.1 += 1;
        }
    }

    fn hash(&self, digest: u64, end: &QueryEnd<'_>, client: &[u8]) -> u64 {
        let mut hash = mix_text(self.secret, end.user);
        hash = mix_text(hash, end.schema);
        if !client.is_empty() {
            hash = mix_text(hash, client);
        }
        let hostgroup = end.hostgroup.map_or(u64::MAX, |hostgroup| u64::from(hostgroup.0));
        mix(mix(hash, digest), hostgroup)
    }
}

fn show<'a>(row: &'a Row, names: &'a Interner, texts: &'a Interner) -> DigestRow<'a> {
    DigestRow {
        hostgroup: row.hostgroup,
        schema: names.text(row.schema),
        user: names.text(row.user),
        client: names.text(row.client),
        digest: row.digest,
        text: texts.text(row.text),
        totals: &row.totals,
    }
}

/// Stirs a word into a hash: a product of 128 bits, folded.
pub(super) fn mix(hash: u64, word: u64) -> u64 {
    let (low, high) = (hash ^ word).carrying_mul(ODD, 0);
    low ^ high
}

/// Stirs a text into a hash, and where it ends.
pub(super) fn mix_text(hash: u64, text: &[u8]) -> u64 {
    let hash = hash ^ text.len() as u64;
    let rest = match (text.last_chunk::<8>(), text.first_chunk::<4>(), text.last_chunk::<4>()) {
        (Some(last), ..) => {
            let words = text.as_chunks::<8>().0.iter();
            let hash = words.fold(hash, |hash, word| mix(hash, u64::from_le_bytes(*word)));
            return mix(hash, u64::from_le_bytes(*last));
        }
        (None, Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        _ => text.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)),
    };
    mix(hash, rest)
}

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Rows of which one goes. That all of them are among the hundred heaviest of ten thousand
/// happens once in 10^16.
const SAMPLES: usize = 8;

/// Most rows that go at a time, so that nobody waits long.
const EVICTIONS_MAX: usize = 1024;

/// However small the bound is, this much may be used: some dozens of rows.
const BYTES_LEAST: usize = 32 << 10;

#[cfg(test)]
mod tests;
