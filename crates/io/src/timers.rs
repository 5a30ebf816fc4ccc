//! Which timer is due: a four-ary heap of moments and keys. Deliberately knows no clock, and cannot
//! cancel: the service that is woken checks whether the reason still holds.

use crate::micros::Micros;

const BRANCHES: usize = 4;

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Timer {
    at: Micros,
    /// Makes timers of one moment fire in the order in which they were set.
    order: u64,
    key: u64,
}

/// Timers ordered by moment, then by when they were set.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: Vec<Timer>,
    set: u64,
}

impl Timers {
    pub(crate) fn set(&mut self, key: u64, at: Micros) {
        self.heap.push(Timer { at, order: self.set, key });
        self.set += 1;
        self.rise(self.heap.len() - 1);
    }

    /// How many timers were ever set; a mark for [`Self::pop_due`].
    pub(crate) fn mark(&self) -> u64 {
        self.set
    }

    /// The key of the next timer due at `now`, unless it was set after `mark`.
    pub(crate) fn pop_due(&mut self, now: Micros, mark: u64) -> Option<u64> {
        let first = self.heap.first()?;
        if first.at > now || first.order >= mark {
            return None;
        }
        let key = first.key;
        self.heap.swap_remove(0);
        self.sink();
        Some(key)
    }

    pub(crate) fn earliest(&self) -> Option<Micros> {
        self.heap.first().map(|timer| timer.at)
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 {
            let parent = (at - 1) / BRANCHES;
            if self.heap.get(parent) <= self.heap.get(at) {
                return;
            }
            self.heap.swap(parent, at);
            at = parent;
        }
    }

    fn sink(&mut self) {
        let mut at = 0;
        loop {
            let first = at * BRANCHES + 1;
            let children = self.heap.get(first..).unwrap_or_default().iter().take(BRANCHES);
            let least = (first..).zip(children).min_by_key(|&(_, timer)| timer);
            let Some((least, timer)) = least else { return };
            if self.heap.get(at) <= Some(timer) {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(timers: &mut Timers, now: u64) -> Vec<u64> {
        let mark = timers.mark();
        std::iter::from_fn(|| timers.pop_due(Micros(now), mark)).collect()
    }

    #[test]
    fn timers_fire_by_moment_and_then_in_the_order_they_were_set() {
        let mut timers = Timers::default();
        let mut expected = Vec::new();
        for key in 0..500_u64 {
            let at = key * 7919 % 61;
            timers.set(key, Micros(at));
            expected.push((at, key));
        }
        expected.sort_unstable();
        let keys: Vec<u64> = expected.iter().map(|&(_, key)| key).collect();
        assert_eq!(timers.earliest(), Some(Micros(0)));
        assert_eq!(drain(&mut timers, 100), keys);
        assert_eq!(timers.earliest(), None);
    }

    #[test]
    fn a_timer_that_is_not_due_stays() {
        let mut timers = Timers::default();
        timers.set(1, Micros(10));
        timers.set(2, Micros(5));
        assert_eq!(drain(&mut timers, 9), [2]);
        assert_eq!(drain(&mut timers, 10), [1]);
    }

    #[test]
    fn a_timer_set_after_the_mark_waits_for_the_next_turn() {
        let mut timers = Timers::default();
        timers.set(1, Micros(1));
        let mark = timers.mark();
        timers.set(2, Micros(1));
        assert_eq!(timers.pop_due(Micros(1), mark), Some(1));
        assert_eq!(timers.pop_due(Micros(1), mark), None);
    }
}
