//! Chance for generators of tests: equal seeds make equal rows of numbers.

/// Dice (SplitMix64), with their state.
pub struct Dice(pub u64);

impl Dice {
    /// A number below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// Whether something happens that has so many chances in a hundred.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of several things.
    pub fn pick<T: Copy>(&mut self, things: &[T]) -> T {
        let at = self.below(things.len() as u64);
        things[usize::try_from(at).expect("an index")]
    }
}
