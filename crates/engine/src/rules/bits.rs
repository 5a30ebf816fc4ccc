//! A set of places in the list of rules.

/// Places, found in ascending order.
#[derive(Debug, Default)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// Forgets everything; there is room for `len` places then.
    pub(super) fn clear(&mut self, len: usize) {
        self.0.clear();
        self.0.resize(len.div_ceil(64), 0);
    }

    pub(super) fn insert(&mut self, place: u32) {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if let Some(word) = self.0.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }

    pub(super) fn remove(&mut self, place: usize) {
        if let Some(word) = self.0.get_mut(place / 64) {
            *word &= !(1 << (place % 64));
        }
    }

    /// The first place that is not before `from`.
    pub(super) fn next(&self, from: usize) -> Option<usize> {
        let (at, skipped) = (from / 64, from % 64);
        let first = *self.0.get(at)? & (u64::MAX << skipped);
        if first != 0 {
            return Some(at * 64 + first.trailing_zeros() as usize);
        }
        let rest = self.0.get(at + 1..)?.iter().position(|word| *word != 0)?;
        let word = self.0.get(at + 1 + rest)?;
        Some((at + 1 + rest) * 64 + word.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_in_order() {
        let mut bits = Bits::default();
        bits.clear(200);
        for place in [130, 0, 63, 64, 199, 65] {
            bits.insert(place);
        }
        bits.insert(1000);
        bits.remove(65);
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(place) = bits.next(from) {
            found.push(place);
            from = place + 1;
        }
        assert_eq!(found, [0, 63, 64, 130, 199]);
        bits.clear(10);
        assert_eq!(bits.next(0), None);
    }
}
