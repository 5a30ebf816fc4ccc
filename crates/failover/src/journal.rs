//! What was done, order by order, as far back as it is kept.

use std::collections::VecDeque;

use crate::FailoverStep;

/// The steps of the last orders.
#[derive(Default)]
pub struct Journal {
    entries: VecDeque<JournalEntry>,
    orders: u64,
}

/// A step that was noted.
pub struct JournalEntry {
    /// Number of the order, from 1.
    pub order: u64,
    /// The hostgroup of writers that it was about.
    pub hostgroup: u32,
    /// When it was done or had failed, in microseconds of the day's clock.
    pub at_us: u64,
    /// What.
    pub step: FailoverStep,
}

impl Journal {
    /// The number of a new order.
    pub fn begin(&mut self) -> u64 {
        self.orders += 1;
        self.orders
    }

    /// Notes a step; the oldest is forgotten when there are too many.
    pub fn note(&mut self, entry: JournalEntry) {
        if self.entries.len() == ENTRIES_MAX {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    /// All that are kept, the oldest first.
    pub fn entries(&self) -> impl Iterator<Item = &JournalEntry> {
        self.entries.iter()
    }
}

const ENTRIES_MAX: usize = 1_000;
