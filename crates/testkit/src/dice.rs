//! The dice of scripts: a small generator whose seed decides everything (SplitMix64).
//! Deliberately not shared with the network's own dice, so that a script does not change with it.

use std::ops::RangeInclusive;

/// A generator; equal seeds give equal throws.
#[derive(Clone, Debug)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// Dice of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Any number.
    pub fn throw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Other dice that follow from these.
    pub fn split(&mut self) -> Self {
        Self::new(self.throw())
    }

    /// A number below `bound`; 0 when there is none.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.throw() % bound }
    }

    /// An index below `bound`.
    pub fn index(&mut self, bound: usize) -> usize {
        self.below(bound as u64) as usize
    }

    /// A number of a range.
    pub fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        range.start() + self.below(range.end() - range.start() + 1)
    }

    /// True so many times of a hundred.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of some things.
    pub fn pick<'t, T>(&mut self, things: &'t [T]) -> &'t T {
        &things[self.index(things.len())]
    }

    /// Twenty bytes.
    pub fn bytes20(&mut self) -> [u8; 20] {
        let mut bytes = [0; 20];
        bytes.iter_mut().for_each(|byte| *byte = self.below(256) as u8);
        bytes
    }
}
