//! A table whose keys are never mistaken for one another: each carries the generation of its slot.
//!
//! It knows nothing of what it holds. A key of a removed entry finds nothing, ever, even when its
//! slot serves another entry by then.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::marker::PhantomData;

/// What a key type offers: built from, and taken apart into, a slot and a generation.
pub trait Key: Copy {
    /// Builds the key of a slot in one of its generations.
    fn new(slot: u32, generation: u32) -> Self;
    /// The slot.
    fn slot(self) -> u32;
    /// The generation.
    fn generation(self) -> u32;
}

struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// Slots that are allocated together, so that growing never moves what is there.
const CHUNK: usize = 256;

/// Entries by key; freed slots are used again, latest first.
pub struct Slab<K, T> {
    chunks: Vec<Box<[Slot<T>; CHUNK]>>,
    slots: usize,
    free: Vec<u32>,
    key: PhantomData<K>,
}

impl<K: Key, T> Default for Slab<K, T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), slots: 0, free: Vec::new(), key: PhantomData }
    }
}

impl<K: Key, T> Slab<K, T> {
    /// Adds what `make` builds from the new key.
    pub fn insert_with(&mut self, make: impl FnOnce(K) -> T) -> K {
        let slot = self.free.pop().unwrap_or_else(|| self.grow());
        let key = K::new(slot, self.slot(slot).map_or(0, |entry| entry.generation));
        if let Some(entry) = self.slot_mut(slot) {
            entry.value = Some(make(key));
        }
        key
    }

    /// Adds a slot, and a chunk of them when the last one is full.
    fn grow(&mut self) -> u32 {
        if self.slots.is_multiple_of(CHUNK) {
            let chunk: Box<[_]> = (0..CHUNK).map(|_| Slot { generation: 0, value: None }).collect();
            self.chunks.extend(chunk.try_into().ok());
        }
        self.slots += 1;
        u32::try_from(self.slots - 1).unwrap_or(u32::MAX)
    }

    fn slot(&self, slot: u32) -> Option<&Slot<T>> {
        let slot = slot as usize;
        self.chunks.get(slot / CHUNK)?.get(slot % CHUNK)
    }

    fn slot_mut(&mut self, slot: u32) -> Option<&mut Slot<T>> {
        let slot = slot as usize;
        self.chunks.get_mut(slot / CHUNK)?.get_mut(slot % CHUNK)
    }

    /// Takes an entry out; its key finds nothing from now on.
    pub fn remove(&mut self, key: K) -> Option<T> {
        let entry = self.slot_mut(key.slot())?;
        if entry.generation != key.generation() {
            return None;
        }
        let value = entry.value.take()?;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(key.slot());
        Some(value)
    }

    /// The entry of a key, for changing it.
    pub fn get_mut(&mut self, key: K) -> Option<&mut T> {
        let entry = self.slot_mut(key.slot())?;
        if entry.generation == key.generation() { entry.value.as_mut() } else { None }
    }

    /// The entry of a key.
    pub fn get(&self, key: K) -> Option<&T> {
        let entry = self.slot(key.slot())?;
        if entry.generation == key.generation() { entry.value.as_ref() } else { None }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.slots - self.free.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// At most `slots_max` slots from `from` on: their entries, and where to go on; `None` at the
    /// end.
    pub fn some(&self, from: u32, slots_max: u32) -> (impl Iterator<Item = (K, &T)>, Option<u32>) {
        let to = from.saturating_add(slots_max);
        let entries = (from..to).map_while(|slot| Some((slot, self.slot(slot)?)));
        let entries = entries.filter_map(|(slot, entry)| {
            Some((K::new(slot, entry.generation), entry.value.as_ref()?))
        });
        (entries, ((to as usize) < self.slots).then_some(to))
    }

    /// Every entry with its key, in the order of slots.
    pub fn iter(&self) -> impl Iterator<Item = (K, &T)> {
        self.chunks.iter().flat_map(|chunk| chunk.iter()).enumerate().filter_map(|(slot, entry)| {
            let value = entry.value.as_ref()?;
            Some((K::new(u32::try_from(slot).ok()?, entry.generation), value))
        })
    }

    /// Every entry, for changing it, in the order of slots.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let slots = self.chunks.iter_mut().flat_map(|chunk| chunk.iter_mut());
        slots.filter_map(|entry| entry.value.as_mut())
    }

    /// Every key in use, in the order of slots.
    pub fn keys(&self) -> Vec<K> {
        self.iter().map(|(key, _)| key).collect()
    }
}

/// Entries by numbers that the process itself gives, so that nobody can choose some that collide.
pub type ByNumber<T> = HashMap<u32, T, BuildHasherDefault<NumberHasher>>;

/// Spreads such numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(ODD);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SessionId;

    #[test]
    fn a_removed_key_never_finds_the_slot_s_next_entry() {
        let mut slab: Slab<SessionId, u8> = Slab::default();
        let old = slab.insert_with(|_| 1);
        assert_eq!(slab.remove(old), Some(1));
        let new = slab.insert_with(|_| 2);
        assert_eq!(old.slot(), new.slot());
        assert_eq!(slab.get(old), None);
        assert_eq!(slab.remove(old), None);
        assert_eq!(slab.get_mut(new), Some(&mut 2));
        assert_eq!(slab.len(), 1);
    }

    #[test]
    fn entries_are_told_some_at_a_time_each_once() {
        let mut slab: Slab<SessionId, u32> = Slab::default();
        let keys: Vec<_> = (0..1000).map(|value| slab.insert_with(|_| value)).collect();
        for key in keys.iter().step_by(3) {
            slab.remove(*key);
        }
        let (mut seen, mut from) = (Vec::new(), Some(0));
        while let Some(at) = from {
            let (entries, next) = slab.some(at, 300);
            seen.extend(entries.map(|(_, value)| *value));
            from = next;
        }
        assert_eq!(seen, (0..1000).filter(|value| value % 3 != 0).collect::<Vec<_>>());
    }
}
