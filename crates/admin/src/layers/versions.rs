//! What was in force before: the last versions of the configuration, to go back to.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::clock::unix_seconds;
use crate::rows::Rows;

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
    /// All rows in force.
    pub(crate) rows: Arc<Rows>,
}

impl Versions {
    /// Remembers what is in force now.
    pub(crate) fn push(&mut self, what: &str, user: &str, rows: Rows) -> u64 {
        self.last += 1;
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back(Version {
            number: self.last,
            since: unix_seconds(),
            what: what.to_owned(),
            user: user.to_owned(),
            rows: Arc::new(rows),
        });
        self.last
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

/// Versions that are remembered.
const KEPT_MAX: usize = 32;
