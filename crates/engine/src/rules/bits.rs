//! A set of places in the list of rules.

/// Places, found in ascending order, at a cost that hardly depends on how many there could be.
#[derive(Debug, Default)]
pub(super) struct Bits {
    words: Vec<u64>,
    /// A bit for each word that may have one.
    summary: Vec<u64>,
}

impl Bits {
    /// Forgets everything; there is room for `len` places then.
    pub(super) fn clear(&mut self, len: usize) {
        let words = len.div_ceil(64);
        if self.words.len() == words {
            let mut from = 0;
            while let Some(at) = first(&self.summary, from) {
                self.words.get_mut(at).into_iter().for_each(|word| *word = 0);
                from = at + 1;
            }
            self.summary.fill(0);
        } else {
            self.words = vec![0; words];
            self.summary = vec![0; words.div_ceil(64)];
        }
    }

    pub(super) fn insert(&mut self, place: u32) {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        let at = place / 64;
        if let Some(word) = self.words.get_mut(at)
            && let Some(summary) = self.summary.get_mut(at / 64)
        {
            *word |= 1 << (place % 64);
            *summary |= 1 << (at % 64);
        }
    }

    pub(super) fn remove(&mut self, place: usize) {
        if let Some(word) = self.words.get_mut(place / 64) {
            *word &= !(1 << (place % 64));
        }
    }

    /// The first place that is not before `from`.
    pub(super) fn next(&self, from: usize) -> Option<usize> {
        let at = from / 64;
        let rest = *self.words.get(at)? & (u64::MAX << (from % 64));
        if rest != 0 {
            return Some(at * 64 + rest.trailing_zeros() as usize);
        }
        let mut after = at + 1;
        loop {
            let at = first(&self.summary, after)?;
            match *self.words.get(at)? {
                0 => after = at + 1,
                word => return Some(at * 64 + word.trailing_zeros() as usize),
            }
        }
    }
}

/// The first bit from a place on.
fn first(words: &[u64], from: usize) -> Option<usize> {
    let mut at = from / 64;
    let mut word = *words.get(at)? & (u64::MAX << (from % 64));
    while word == 0 {
        at += 1;
        word = *words.get(at)?;
    }
    Some(at * 64 + word.trailing_zeros() as usize)
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
        bits.clear(200);
        assert_eq!(bits.next(0), None);
        bits.clear(20_000);
        for place in [5, 4096, 19_999] {
            bits.insert(place);
        }
        assert_eq!(
            [0, 6, 4096, 4097].map(|from| bits.next(from)),
            [5, 4096, 4096, 19_999].map(Some)
        );
        bits.clear(20_000);
        assert_eq!(bits.next(0), None);
    }
}
