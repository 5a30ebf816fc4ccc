//! From a hash to a place in a table: open addressing over plain words.
//!
//! The table itself, and what makes two entries equal, are the caller's.

/// Places by hash. Hashes must be well mixed in their lower half.
#[derive(Clone, Default, Debug)]
pub(super) struct Index {
    /// Lower half of the hash above, place and 1 below; 0 is empty. A power of two, or none.
    cells: Vec<u64>,
    used: usize,
}

impl Index {
    /// The place with this hash for which `is_it` holds.
    pub(super) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut at = self.home(hash);
        loop {
            let cell = *self.cells.get(at)?;
            if cell == 0 {
                return None;
            }
            if tag(cell) == tag_of(hash) && is_it(place(cell)) {
                return Some(place(cell));
            }
            at = self.after(at);
        }
    }

    /// Adds a place that is not in it.
    pub(super) fn insert(&mut self, hash: u64, place: u32) {
        if (self.used + 1) * 4 > self.cells.len() * 3 {
            self.grow();
        }
        self.used += 1;
        self.put(tag_of(hash) << 32 | (u64::from(place) + 1));
    }

    /// Removes a place.
    pub(super) fn remove(&mut self, hash: u64, place: u32) {
        let Some(mut hole) = self.cell_of(hash, place) else { return };
        self.used -= 1;
        // what stands behind the hole and would not be found across it moves into it
        let mut at = self.after(hole);
        while let Some(cell) = self.cells.get(at).copied().filter(|cell| *cell != 0) {
            let mask = self.cells.len() - 1;
            let from_home = at.wrapping_sub(self.home(tag(cell))) & mask;
            if from_home >= (at.wrapping_sub(hole) & mask) {
                self.set(hole, cell);
                hole = at;
            }
            at = self.after(at);
        }
        self.set(hole, 0);
    }

    /// What was at one place is at another now.
    pub(super) fn relocate(&mut self, hash: u64, from: u32, to: u32) {
        if let Some(at) = self.cell_of(hash, from) {
            self.set(at, tag_of(hash) << 32 | (u64::from(to) + 1));
        }
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.cells.len() * size_of::<u64>()
    }

    fn cell_of(&self, hash: u64, wanted: u32) -> Option<usize> {
        let mut at = self.home(hash);
        loop {
            let cell = *self.cells.get(at)?;
            if cell == 0 {
                return None;
            }
            if place(cell) == wanted {
                return Some(at);
            }
            at = self.after(at);
        }
    }

    fn grow(&mut self) {
        let larger = vec![0; (self.cells.len() * 2).max(64)];
        for cell in std::mem::replace(&mut self.cells, larger) {
            if cell != 0 {
                self.put(cell);
            }
        }
    }

    fn put(&mut self, cell: u64) {
        let mut at = self.home(tag(cell));
        while self.cells.get(at).is_some_and(|other| *other != 0) {
            at = self.after(at);
        }
        self.set(at, cell);
    }

    fn set(&mut self, at: usize, cell: u64) {
        if let Some(place) = self.cells.get_mut(at) {
            *place = cell;
        }
    }

    fn home(&self, hash: u64) -> usize {
        (hash & 0xffff_ffff) as usize & self.cells.len().wrapping_sub(1)
    }

    fn after(&self, at: usize) -> usize {
        (at + 1) & self.cells.len().wrapping_sub(1)
    }
}

fn tag_of(hash: u64) -> u64 {
    hash & 0xffff_ffff
}

fn tag(cell: u64) -> u64 {
    cell >> 32
}

fn place(cell: u64) -> u32 {
    ((cell & 0xffff_ffff) as u32).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_finds_what_a_map_finds(
            // few homes, so that they collide
            steps in prop::collection::vec((0..3_u8, 0..40_u64, 0..30_u32), 0..500)
        ) {
            let mut index = Index::default();
            let mut model: HashMap<u32, u64> = HashMap::new();
            for (kind, hash, place) in steps {
                match (kind, model.get(&place).copied()) {
                    (0, None) => {
                        index.insert(hash, place);
                        model.insert(place, hash);
                    }
                    (1, Some(hash)) => {
                        index.remove(hash, place);
                        model.remove(&place);
                    }
                    (2, Some(hash)) => {
                        let to = place + 100;
                        index.relocate(hash, place, to);
                        prop_assert_eq!(index.find(hash, |at| at == to), Some(to));
                        index.relocate(hash, to, place);
                    }
                    _ => {}
                }
                for place in 0..30 {
                    let hash = model.get(&place).copied();
                    let found = hash.and_then(|hash| index.find(hash, |at| at == place));
                    prop_assert_eq!(found.is_some(), hash.is_some(), "place {}", place);
                }
            }
        }
    }
}
