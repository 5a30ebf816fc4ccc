//! What was in force before: the last versions of the configuration, to go back to.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::clock::unix_seconds;
use crate::rows::Rows;
use crate::statistics::Row;

/// The versions that are remembered.
#[derive(Default)]
pub(crate) struct Versions {
    kept: VecDeque<Version>,
    last: u64,
}

/// The configuration as it was in force from a moment on.
#[derive(Clone)]
pub(crate) struct Version {
    /// Counted from 1, the one that the process began with.
    pub(crate) number: u64,
    /// Since when, in seconds since 1970.
    pub(crate) since: i64,
    /// What was changed by it.
    pub(crate) what: String,
    /// Whose command it was.
    pub(crate) user: String,
    /// All rows in force; tables that a version did not change are shared with the one before.
    rows: BTreeMap<&'static str, Arc<Vec<Row>>>,
}

impl Version {
    /// All rows in force.
    pub(crate) fn rows(&self) -> Rows {
        self.rows.iter().map(|(table, rows)| (*table, Vec::clone(rows))).collect()
    }
}

impl Versions {
    /// Remembers what is in force now.
    pub(crate) fn push(&mut self, what: &str, user: &str, rows: Rows) -> u64 {
        self.last += 1;
        let before = self.kept.back();
        let share = |(table, rows): (&'static str, Vec<Row>)| {
            let same = before.and_then(|before| before.rows.get(table));
            let same = same.filter(|same| ***same == rows);
            (table, same.cloned().unwrap_or_else(|| Arc::new(rows)))
        };
        let rows = rows.into_iter().map(share).collect();
        self.kept.push_back(Version {
            number: self.last,
            since: unix_seconds(),
            what: what.to_owned(),
            user: user.to_owned(),
            rows,
        });
        // the newest and the one to go back to are always there
        while self.kept.len() > KEPT_MAX || (self.kept.len() > 2 && self.rows() > ROWS_MAX) {
            self.kept.pop_front();
        }
        self.last
    }

    /// How many rows there are in memory.
    fn rows(&self) -> usize {
        let mut last = BTreeMap::new();
        let tables = self.kept.iter().flat_map(|version| &version.rows);
        let own = tables.filter(|(table, rows)| {
            let before = last.insert(**table, Arc::as_ptr(rows));
            before != Some(Arc::as_ptr(rows))
        });
        own.map(|(_, rows)| rows.len()).sum()
    }

    /// The versions, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Version> {
        self.kept.iter()
    }

    /// One version.
    pub(crate) fn find(&self, number: u64) -> Option<&Version> {
        self.kept.iter().find(|version| version.number == number)
    }
}

/// Rows that are remembered, of all versions together; fewer versions when they have more.
const ROWS_MAX: usize = 200_000;
/// Versions that are remembered.
const KEPT_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use rusqlite::types::Value;

    use super::*;

    #[test]
    fn unchanged_tables_are_kept_once_and_large_ones_push_old_versions_out() {
        let mut versions = Versions::default();
        let rows = |users: i64, rules: i64| {
            let rows = |count| (0..count).map(|at| vec![Value::Integer(at)]).collect();
            Rows::from([("mysql_users", rows(users)), ("mysql_query_rules", rows(rules))])
        };
        for users in 0..10 {
            versions.push("MYSQL USERS", "admin", rows(users, 100));
        }
        assert_eq!(versions.rows(), 100 + 45);
        assert_eq!(versions.find(3).expect("it is kept").rows()["mysql_users"].len(), 2);
        for rules in 0..10 {
            versions.push("MYSQL QUERY RULES", "admin", rows(9, 60_000 + rules));
        }
        assert_eq!((versions.iter().count(), versions.last), (3, 20));
        for users in 0..40 {
            versions.push("MYSQL USERS", "admin", rows(users, 1));
        }
        assert_eq!(versions.iter().count(), KEPT_MAX);
    }
}
