//! What checks came to, kept for tables: as long as it is wanted, and never more than so many.

use std::collections::{BTreeMap, VecDeque};

use keeper::{Endpoint, StatusChange};

use crate::Checked;
use crate::plan::Check;
use crate::question::CheckFound;

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
    pub found: Result<CheckFound, Box<str>>,
}

/// The checks of each kind, and what followed from them, oldest first.
#[derive(Default, Debug)]
pub struct Logs {
    entries: [VecDeque<Entry>; KINDS],
    /// Rows that the entries of each kind are in a table.
    rows: [usize; KINDS],
    /// How servers of Aurora have answered, by the hostgroup of writers of their cluster.
    aurora: BTreeMap<(i64, Endpoint), AuroraStatus>,
    events: VecDeque<StatusChange>,
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

impl Counts {
    fn add(&mut self, checked: &Checked) {
        match checked.found {
            Ok(_) => self.ok += 1,
            Err(_) => self.failed += 1,
        }
    }
}

/// How a server of Aurora has answered for its cluster.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct AuroraStatus {
    /// When it was last asked, in microseconds since 1970.
    pub asked_unix_us: u64,
    /// How often it was asked, and how often it answered.
    pub counts: Counts,
    /// Why it last did not.
    pub last_error: Option<Box<str>>,
}

impl Entry {
    /// Rows that it is in its table.
    fn rows(&self) -> usize {
        match &self.found {
            Ok(CheckFound::Aurora(replicas)) => replicas.len().max(1),
            _ => 1,
        }
    }
}

/// Kinds of checks that have a log.
const KINDS: usize = 9;

/// Servers of Aurora of which it is kept how they answered.
const AURORA_MAX: usize = 1_000;

/// Rows of a kind that are kept, however long they are wanted: some tens of MB.
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
        Check::Aurora(_) => 6,
        Check::Rds => 7,
        Check::Gtids => 8,
    }
}

impl Logs {
    /// Keeps a check, and lets go of what is older than `history_us`.
    pub fn push(&mut self, checked: &Checked, history_us: u64) {
        let at = place(checked.check);
        if let Check::Aurora(writer) = checked.check {
            self.note_aurora(writer, checked);
        }
        let (Some(entries), Some(rows), Some(counts)) =
            (self.entries.get_mut(at), self.rows.get_mut(at), self.totals.counts.get_mut(at))
        else {
            return;
        };
        counts.add(checked);
        let oldest_us = checked.began_unix_us.saturating_sub(history_us);
        let is_old = |entry: &Entry| entry.began_unix_us < oldest_us;
        while *rows >= ENTRIES_MAX || entries.front().is_some_and(is_old) {
            *rows -= entries.pop_front().map_or(*rows, |entry| entry.rows());
        }
        let entry = Entry {
            server: checked.server.clone(),
            began_unix_us: checked.began_unix_us,
            took_us: checked.took_us,
            found: checked.found.clone().map_err(String::into_boxed_str),
        };
        *rows += entry.rows();
        entries.push_back(entry);
    }

    fn note_aurora(&mut self, writer: i64, checked: &Checked) {
        let key = (writer, checked.server.clone());
        if self.aurora.len() >= AURORA_MAX && !self.aurora.contains_key(&key) {
            let oldest = self.aurora.iter().min_by_key(|(_, status)| status.asked_unix_us);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.aurora.remove(&oldest);
            }
        }
        let status = self.aurora.entry(key).or_default();
        status.asked_unix_us = checked.began_unix_us;
        status.counts.add(checked);
        if let Err(reason) = &checked.found {
            status.last_error = Some(reason.as_str().into());
        }
    }

    /// How servers of Aurora have answered, by the hostgroup of writers of their cluster.
    pub fn aurora(&self) -> impl Iterator<Item = (&(i64, Endpoint), &AuroraStatus)> {
        self.aurora.iter()
    }

    /// The checks of a kind, oldest first; `check` stands for all of its kind.
    pub fn of(&self, check: Check) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.get(place(check)).into_iter().flatten()
    }

    /// Keeps a change of where a server stands.
    pub fn note(&mut self, event: StatusChange) {
        self.totals.changes += 1;
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// The changes that are kept, oldest first.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &StatusChange> {
        self.events.iter()
    }

    /// How many checks there were, and what followed from them.
    pub fn totals(&self) -> Totals {
        self.totals
    }
}

#[cfg(test)]
mod tests {
    use keeper::AuroraInstance;

    use super::*;
    use crate::ReplicaStatus;

    fn checked(began_unix_us: u64, found: Result<CheckFound, String>) -> Checked {
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
        for (at, found) in [
            (1_000, Ok(CheckFound::Answer)),
            (1_500, Err("x".to_owned())),
            (2_100, Ok(CheckFound::Answer)),
        ] {
            logs.push(&checked(at, found), 1_000);
        }
        let times: Vec<_> = logs.of(Check::Ping).map(|entry| entry.began_unix_us).collect();
        assert_eq!(times, [1_500, 2_100]);
        assert_eq!(logs.totals().of(Check::Ping), Counts { ok: 2, failed: 1 });
        assert_eq!(logs.of(Check::Connect).count(), 0);
    }

    #[test]
    fn a_check_of_aurora_counts_as_all_the_rows_that_it_is() {
        let replica = ReplicaStatus {
            instance: AuroraInstance::default(),
            session_id: "s".into(),
            updated: "u".into(),
            cpu: 1,
            estimated_lag_ms: 0,
        };
        let mut logs = Logs::default();
        for at in 0..(ENTRIES_MAX as u64 / 50 + 10) {
            let found = Ok(CheckFound::Aurora(vec![replica.clone(); 50]));
            let check = Check::Aurora(1);
            logs.push(&Checked { check, ..checked(at, found) }, u64::MAX);
        }
        assert_eq!(logs.of(Check::Aurora(1)).count(), ENTRIES_MAX / 50);
    }

    #[test]
    fn how_servers_of_aurora_answered_is_kept_of_so_many() {
        let mut logs = Logs::default();
        for at in 0..(AURORA_MAX as u64 + 5) {
            let server = Endpoint { hostname: format!("a{}", at.max(5)), port: 1 };
            let found = if at == 3 { Err("x".to_owned()) } else { Ok(CheckFound::Answer) };
            let check = Check::Aurora(7);
            logs.push(&Checked { server, check, ..checked(at, found) }, u64::MAX);
        }
        let told: Vec<_> = logs.aurora().collect();
        assert_eq!(told.len(), AURORA_MAX);
        let server = Endpoint { hostname: "a5".into(), port: 1 };
        let first = told.iter().find(|((writer, own), _)| (*writer, own) == (7, &server));
        let expected = AuroraStatus {
            asked_unix_us: 5,
            counts: Counts { ok: 5, failed: 1 },
            last_error: Some("x".into()),
        };
        assert_eq!(first.map(|(_, status)| (*status).clone()), Some(expected));
        let server = Endpoint { hostname: "b".into(), port: 1 };
        logs.push(
            &Checked { server, check: Check::Aurora(7), ..checked(9_999, Ok(CheckFound::Answer)) },
            1,
        );
        assert_eq!(logs.aurora().count(), AURORA_MAX);
        assert!(logs.aurora().all(|((_, own), _)| own.hostname != "a5"), "the oldest goes");
    }

    #[test]
    fn days_of_checks_take_no_more_than_their_bound() {
        let mut logs = Logs::default();
        for at in 0..(ENTRIES_MAX as u64 + 10) {
            logs.push(&checked(at, Ok(CheckFound::Answer)), u64::MAX);
        }
        assert_eq!(logs.of(Check::Ping).count(), ENTRIES_MAX);
        assert_eq!(logs.of(Check::Ping).next().map(|entry| entry.began_unix_us), Some(10));
    }
}
