//! What was done, order by order, as far back as it is kept.

use std::collections::VecDeque;

use crate::Step;

/// The steps of the last orders.
#[derive(Default)]
pub struct Journal {
    entries: VecDeque<Entry>,
    orders: u64,
}

/// A step that was noted.
pub struct Entry {
    /// Number of the order, from 1.
    pub order: u64,
    /// The hostgroup of writers that it was about.
    pub hostgroup: u32,
    /// When it was done or had failed, in microseconds of the day's clock.
    pub at_us: u64,
    /// What.
    pub step: Step,
}

impl Journal {
    /// The number of a new order.
    pub fn begin(&mut self) -> u64 {
        self.orders += 1;
        self.orders
    }

    /// Notes a step; the oldest is forgotten when there are too many.
    pub fn note(&mut self, entry: Entry) {
        if self.entries.len() == ENTRIES_MAX {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    /// All that are kept, the oldest first.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }
}

const ENTRIES_MAX: usize = 1_000;
