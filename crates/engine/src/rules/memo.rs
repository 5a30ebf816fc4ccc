//! What was found out about a digest is remembered: which rules can match queries of it at all, or
//! the verdict as a whole.
//!
//! A table of fixed ways with a clock: what is asked for again stays, what came once makes room
//! first. Its memory is bounded in bytes; a key is compared whole, so that no two queries are ever
//! taken for each other.

use sql::Omitted;

use super::verdict::RuleVerdict;

/// One worker's memo for one rule set.
#[derive(Debug)]
pub(super) struct Memo {
    slots: Vec<Slot>,
    entries: usize,
    bytes: usize,
    bytes_max: usize,
    /// Where the clock goes on.
    hand: usize,
}

/// What is remembered for a key.
#[derive(Debug)]
pub(super) enum Known {
    /// The verdict, and the places of the rules that match.
    Verdict(RuleVerdict, Box<[u32]>),
    /// The places of the rules that match if the text does, but for those found by it.
    Places(Box<[u32]>),
    /// The same, with those that are found by any text that differs in numbers only.
    AllPlaces(Box<[u32]>),
}

#[derive(Debug, Default)]
struct Slot {
    hash: u64,
    /// How many rounds of the clock it outlives.
    warmth: u8,
    entry: Option<Box<Entry>>,
}

#[derive(Debug)]
struct Entry {
    key: Box<[u8]>,
    known: Known,
}

impl Entry {
    fn bytes(&self) -> usize {
        let places = match &self.known {
            Known::Verdict(_, places) | Known::Places(places) | Known::AllPlaces(places) => {
                places.len()
            }
        };
        size_of::<Self>() + self.key.len() + 4 * places + ALLOCATION_BYTES
    }
}

impl Memo {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { slots: Vec::new(), entries: 0, bytes: 0, bytes_max, hand: 0 }
    }

    /// The slot of a key, if it is there.
    pub(super) fn find(&mut self, key: &MemoKey) -> Option<usize> {
        let ways = self.ways(key.hash);
        let start = ways.start;
        let slots = self.slots.get_mut(ways)?;
        let way = slots.iter().position(|slot| {
            slot.hash == key.hash
                && slot.entry.as_ref().is_some_and(|entry| *entry.key == *key.bytes)
        })?;
        slots.get_mut(way)?.warmth = WARMTH_MAX;
        Some(start + way)
    }

    /// What is in a slot.
    pub(super) fn known(&self, slot: usize) -> Option<&Known> {
        self.slots.get(slot)?.entry.as_ref().map(|entry| &entry.known)
    }

    /// Remembers what was found out about a key that is not there.
    pub(super) fn insert(&mut self, key: &MemoKey, known: Known) -> Option<&Known> {
        if self.entries * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let entry = Box::new(Entry { key: key.bytes.as_slice().into(), known });
        let place = self.room(self.ways(key.hash))?;
        self.evict(place);
        self.bytes += entry.bytes() + size_of::<Slot>();
        self.entries += 1;
        *self.slots.get_mut(place)? = Slot { hash: key.hash, warmth: 0, entry: Some(entry) };
        self.shrink(place);
        self.known(place)
    }

    /// Bytes in use.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn ways(&self, hash: u64) -> std::ops::Range<usize> {
        let sets = self.slots.len() / WAYS;
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let set = usize::try_from(mixed).unwrap_or(0) & sets.saturating_sub(1);
        set * WAYS..(set + 1) * WAYS
    }

    /// The slot of a set that is free or the first to be given up.
    fn room(&mut self, ways: std::ops::Range<usize>) -> Option<usize> {
        let start = ways.start;
        let slots = self.slots.get_mut(ways)?;
        loop {
            let cold = |slot: &Slot| slot.entry.is_none() || slot.warmth == 0;
            if let Some(way) = slots.iter().position(|slot| slot.entry.is_none()) {
                return Some(start + way);
            }
            if let Some(way) = slots.iter().position(cold) {
                return Some(start + way);
            }
            slots.iter_mut().for_each(|slot| slot.warmth -= 1);
        }
    }

    fn evict(&mut self, place: usize) {
        if let Some(slot) = self.slots.get_mut(place)
            && let Some(entry) = slot.entry.take()
        {
            self.bytes -= entry.bytes() + size_of::<Slot>();
            self.entries -= 1;
        }
    }

    /// Turns the clock until the memory is within its bound; `spared` is kept.
    fn shrink(&mut self, spared: usize) {
        let mut steps = self.slots.len() * (usize::from(WARMTH_MAX) + 1);
        while self.bytes > self.bytes_max && steps > 0 {
            steps -= 1;
            self.hand = (self.hand + 1) % self.slots.len().max(1);
            let Some(slot) = self.slots.get_mut(self.hand) else { return };
            if self.hand == spared || slot.entry.is_none() {
                continue;
            }
            if slot.warmth > 0 {
                slot.warmth -= 1;
            } else {
                self.evict(self.hand);
            }
        }
    }

    /// Doubles the table while entries of the usual size would still fit.
    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(SLOTS_MIN);
        if slots > SLOTS_MIN && slots * ENTRY_BYTES_USUAL > self.bytes_max {
            return;
        }
        let before = std::mem::take(&mut self.slots);
        self.slots.resize_with(slots, Slot::default);
        self.entries = 0;
        self.bytes = 0;
        for slot in before.into_iter().filter(|slot| slot.entry.is_some()) {
            let free = self.room(self.ways(slot.hash));
            if let Some(place) = free
                && let Some(entry) = &slot.entry
            {
                let bytes = entry.bytes() + size_of::<Slot>();
                self.evict(place);
                self.bytes += bytes;
                self.entries += 1;
                if let Some(to) = self.slots.get_mut(place) {
                    *to = slot;
                }
            }
        }
    }
}

/// A key while it is made: what rules may ask for, of what is the same for all queries of a digest
/// and client.
#[derive(Debug, Default)]
pub(super) struct MemoKey {
    pub(super) bytes: Vec<u8>,
    pub(super) hash: u64,
}

impl MemoKey {
    pub(super) fn begin(&mut self, flag: u32, port: u16) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&flag.to_le_bytes());
        self.bytes.extend_from_slice(&port.to_le_bytes());
    }

    /// Adds a part, with its length so that it does not run into the next.
    pub(super) fn add(&mut self, part: &[u8]) {
        let len = u32::try_from(part.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(&len.to_le_bytes());
        self.bytes.extend_from_slice(part);
    }

    /// Adds the digest, whose own hash spares hashing its text, and whether it shows whatever rules
    /// may find in its texts but numbers.
    pub(super) fn end(&mut self, digest: Option<super::DigestRef<'_>>) {
        self.hash = self.bytes.chunks(8).fold(self.bytes.len() as u64, |hash, chunk| {
            let mut word = [0; 8];
            word.iter_mut().zip(chunk).for_each(|(to, byte)| *to = *byte);
            let mixed = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0xff51_afd7_ed55_8ccd);
            mixed ^ (mixed >> 32)
        });
        if let Some(digest) = digest {
            let numbers_only = u8::from(digest.omitted == Omitted::Numbers);
            self.bytes.push(numbers_only);
            self.bytes.extend_from_slice(&digest.hash.to_le_bytes());
            self.bytes.extend_from_slice(digest.text);
            self.hash ^= digest.hash ^ u64::from(numbers_only) << 40;
        }
    }
}

/// Slots in which a key may be.
const WAYS: usize = 4;
const WARMTH_MAX: u8 = 3;
const SLOTS_MIN: usize = 64;
/// What an allocation costs beside its bytes, three of them an entry.
const ALLOCATION_BYTES: usize = 3 * 16;
/// With entries as they usually are, the table is full when the memory is.
const ENTRY_BYTES_USUAL: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn key(hash: u64, bytes: &[u8]) -> MemoKey {
        MemoKey { bytes: bytes.to_vec(), hash }
    }

    fn numbered(number: u64) -> MemoKey {
        key(number.wrapping_mul(0x2545_f491_4f6c_dd1d), &number.to_le_bytes())
    }

    fn listed(place: u32, count: usize) -> Known {
        Known::Places(vec![place; count].into())
    }

    fn places(memo: &mut Memo, key: &MemoKey) -> Option<Vec<u32>> {
        let slot = memo.find(key)?;
        match memo.known(slot) {
            Some(Known::Places(places)) => Some(places.to_vec()),
            _ => None,
        }
    }

    #[test]
    fn hot_keys_stay_while_millions_pass_and_memory_is_bounded() {
        let mut memo = Memo::new(1 << 20);
        let mut lost = 0;
        for number in 0..200_000_u64 {
            if number % 64 == 0 {
                for hot in (1_000_000..1_000_100).map(numbered) {
                    if places(&mut memo, &hot).is_none() {
                        lost += 1;
                        memo.insert(&hot, listed(7, 1));
                    }
                }
            }
            memo.insert(&numbered(number), listed(8, 1));
            assert!(memo.bytes() <= 1 << 20);
        }
        assert!(lost < 200, "100 hot keys were lost {lost} times");
        assert_eq!(places(&mut memo, &numbered(199_999)), Some(vec![8]));
        assert_eq!(places(&mut memo, &numbered(0)), None);
    }

    #[test]
    fn keys_of_one_hash_are_told_apart() {
        let mut memo = Memo::new(1 << 20);
        for place in 1..4 {
            memo.insert(&key(7, &[place]), listed(u32::from(place), 1));
        }
        for place in 1..4 {
            assert_eq!(places(&mut memo, &key(7, &[place])), Some(vec![u32::from(place)]));
        }
        assert_eq!(places(&mut memo, &key(7, &[4])), None);
    }

    #[test]
    fn an_entry_beyond_the_bound_is_not_kept_for_long() {
        let mut memo = Memo::new(10_000);
        assert!(memo.insert(&key(1, b"big"), listed(1, 5000)).is_some());
        memo.insert(&key(2, b"small"), listed(2, 1));
        assert!(memo.bytes() <= 10_000);
        assert_eq!(places(&mut memo, &key(1, b"big")), None);
        assert_eq!(places(&mut memo, &key(2, b"small")), Some(vec![2]));
    }
}
