//! What checks came to, kept for tables: as long as it is wanted, and never more than so many.

use std::collections::VecDeque;

use keeper::{Endpoint, Event};

use crate::Checked;
use crate::plan::Check;
use crate::question::Found;

/// One check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Of which server.
    pub server: Endpoint,
    /// When it began, in microseconds since 1970.
    pub began_unix_us: u64,
    /// How long it took, in microseconds; `None` where it came to nothing.
    pub took_us: Option<u64>,
    /// What was found, or why nothing was.
    pub found: Result<Found, Box<str>>,
}

/// The checks of each kind, and what followed from them, oldest first.
#[derive(Default, Debug)]
pub struct Logs {
    entries: [VecDeque<Entry>; KINDS],
    events: VecDeque<Event>,
    totals: Totals,
}

/// How many checks there were, and what followed from them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    counts: [Counts; KINDS],
    /// Changes of where servers stand.
    pub changes: u64,
}

impl Totals {
    /// Of the checks of a kind.
    pub fn of(&self, check: Check) -> Counts {
        self.counts.get(place(check)).copied().unwrap_or_default()
    }
}

/// How many checks of a kind there were.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Answered ones.
    pub ok: u64,
    /// Others.
    pub failed: u64,
}

/// Kinds of checks that have a log.
const KINDS: usize = 6;

/// Entries of a kind that are kept, however long they are wanted: some tens of MB.
const ENTRIES_MAX: usize = 200_000;

/// Changes of where servers stand that are kept.
const EVENTS_MAX: usize = 10_000;

/// The place of a check's log.
fn place(check: Check) -> usize {
    match check {
        Check::Connect => 0,
        Check::Ping => 1,
        Check::ReadOnly(_) => 2,
        Check::Lag(_) => 3,
        Check::Group => 4,
        Check::Galera => 5,
    }
}

impl Logs {
    /// Keeps a check, and lets go of what is older than `history_us`.
    pub fn push(&mut self, checked: &Checked, history_us: u64) {
        let at = place(checked.check);
        let (Some(entries), Some(counts)) =
            (self.entries.get_mut(at), self.totals.counts.get_mut(at))
        else {
            return;
        };
        match checked.found {
            Ok(_) => counts.ok += 1,
            Err(_) => counts.failed += 1,
        }
        let oldest_us = checked.began_unix_us.saturating_sub(history_us);
        let is_old = |entry: &Entry| entry.began_unix_us < oldest_us;
        while entries.len() >= ENTRIES_MAX || entries.front().is_some_and(is_old) {
            entries.pop_front();
        }
        entries.push_back(Entry {
            server: checked.server.clone(),
            began_unix_us: checked.began_unix_us,
            took_us: checked.took_us,
            found: checked.found.clone().map_err(String::into_boxed_str),
        });
    }

    /// The checks of a kind, oldest first; `check` stands for all of its kind.
    pub fn of(&self, check: Check) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.get(place(check)).into_iter().flatten()
    }

    /// Keeps a change of where a server stands.
    pub fn note(&mut self, event: Event) {
        self.totals.changes += 1;
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// The changes that are kept, oldest first.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.events.iter()
    }

    /// How many checks there were, and what followed from them.
    pub fn totals(&self) -> Totals {
        self.totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(began_unix_us: u64, found: Result<Found, String>) -> Checked {
        Checked {
            server: Endpoint { hostname: "a".into(), port: 1 },
            check: Check::Ping,
            began_unix_us,
            took_us: Some(7),
            found,
            seen: None,
        }
    }

    #[test]
    fn what_is_old_goes_and_counts_stay() {
        let mut logs = Logs::default();
        for (at, found) in
            [(1_000, Ok(Found::Answer)), (1_500, Err("x".to_owned())), (2_100, Ok(Found::Answer))]
        {
            logs.push(&checked(at, found), 1_000);
        }
        let times: Vec<_> = logs.of(Check::Ping).map(|entry| entry.began_unix_us).collect();
        assert_eq!(times, [1_500, 2_100]);
        assert_eq!(logs.totals().of(Check::Ping), Counts { ok: 2, failed: 1 });
        assert_eq!(logs.of(Check::Connect).count(), 0);
    }

    #[test]
    fn days_of_checks_take_no_more_than_their_bound() {
        let mut logs = Logs::default();
        for at in 0..(ENTRIES_MAX as u64 + 10) {
            logs.push(&checked(at, Ok(Found::Answer)), u64::MAX);
        }
        assert_eq!(logs.of(Check::Ping).count(), ENTRIES_MAX);
        assert_eq!(logs.of(Check::Ping).next().map(|entry| entry.began_unix_us), Some(10));
    }
}
