//! What may go wrong in a simulated network, and the dice that decide. Deliberately knows no
//! sockets.

use std::ops::RangeInclusive;

/// How rough a simulated network is. Every figure is drawn anew for each occasion.
#[derive(Clone, Debug)]
pub struct Faults {
    /// Of a hundred receives, how many get only a part of what is there.
    pub cut_percent: u32,
    /// Of a hundred sends, how many are taken only in part.
    pub short_send_percent: u32,
    /// Of a hundred events, how many are reported only in a later turn.
    pub late_event_percent: u32,
    /// How many bytes one direction of a connection holds before its sender has to wait.
    pub window_bytes: RangeInclusive<usize>,
    /// How long bytes, ends and connects travel, in microseconds.
    pub delay_us: RangeInclusive<u64>,
    /// How long a turn of a loop takes, in microseconds.
    pub turn_us: RangeInclusive<u64>,
    /// Of a hundred connects, how many are refused.
    pub refuse_percent: u32,
    /// Of a million sends, how many meet a connection that breaks at that moment.
    pub kill_per_million: u32,
    /// Of a hundred connections' ends, how many are slow to take what arrived.
    pub slow_percent: u32,
    /// How many bytes a slow end takes at a time.
    pub slow_bytes: usize,
    /// How long a slow end rests between receives, in microseconds.
    pub slow_rest_us: u64,
}

impl Faults {
    /// Nothing goes wrong and nothing is cut: bytes arrive whole after 50 microseconds.
    pub fn none() -> Self {
        Faults {
            cut_percent: 0,
            short_send_percent: 0,
            late_event_percent: 0,
            window_bytes: 256 * 1024..=256 * 1024,
            delay_us: 50..=50,
            turn_us: 1..=1,
            refuse_percent: 0,
            kill_per_million: 0,
            slow_percent: 0,
            slow_bytes: 1024,
            slow_rest_us: 100,
        }
    }

    /// Everything arrives, but cut, late, and through narrow windows.
    pub fn cuts() -> Self {
        Faults {
            cut_percent: 50,
            short_send_percent: 20,
            late_event_percent: 30,
            window_bytes: 64..=64 * 1024,
            delay_us: 1..=2_000,
            turn_us: 1..=20,
            slow_percent: 10,
            ..Self::none()
        }
    }

    /// As [`Faults::cuts`], and connections are refused and break.
    pub fn losses() -> Self {
        Faults { refuse_percent: 3, kill_per_million: 2_000, ..Self::cuts() }
    }
}

/// The dice: a small generator whose seed decides everything (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Dice {
    state: u64,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Dice { state: seed }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 when there is none.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next() % bound }
    }

    pub(super) fn within(&mut self, range: &RangeInclusive<u64>) -> u64 {
        range.start() + self.below(range.end().saturating_sub(*range.start()) + 1)
    }

    pub(super) fn percent(&mut self, chance: u32) -> bool {
        chance > 0 && self.below(100) < u64::from(chance)
    }

    pub(super) fn per_million(&mut self, chance: u32) -> bool {
        chance > 0 && self.below(1_000_000) < u64::from(chance)
    }

    /// A place in a list of this length.
    pub(super) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// A part of `whole`, at least 1 when there is any.
    pub(super) fn part(&mut self, whole: usize) -> usize {
        if whole == 0 { 0 } else { 1 + self.index(whole) }
    }
}
