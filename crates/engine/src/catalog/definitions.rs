//! What was defined, and when: a number for each definition that a worker saw, and the latest one
//! of each name, and the latest that may have made it run something. All workers share it.
//!
//! Names are kept as places in a table of fixed size: two that share one are defined together, at
//! worst. A number is known to everybody only after the names of its definition are.

use std::sync::atomic::{AtomicU64, Ordering};

use sql::Role;

/// Definitions so far.
pub struct Definitions {
    count: AtomicU64,
    /// The latest one that may have defined anything.
    anything: AtomicU64,
    /// By place: the latest one of a name.
    names: Box<[AtomicU64]>,
    /// By place: the latest one of a name after which it may run something that it did not.
    code: Box<[AtomicU64]>,
    /// By place: the latest one of a name that has made a base table.
    made: Box<[AtomicU64]>,
}

/// What a definition may have made of what it names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defined {
    /// A base table that runs nothing: there was none of that name.
    Table,
    /// Nothing that runs what it did not before.
    NothingNew,
    /// Anything.
    Code,
}

impl Default for Definitions {
    fn default() -> Self {
        let [names, code, made] =
            [(); 3].map(|()| (0..PLACES).map(|_| AtomicU64::new(0)).collect());
        Self { count: AtomicU64::new(0), anything: AtomicU64::new(0), names, code, made }
    }
}

impl std::fmt::Debug for Definitions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Definitions").field(&self.count()).finish()
    }
}

impl Definitions {
    /// A number that is another one after a definition.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Anything may have been defined.
    pub fn note_anything(&self) {
        self.note(|number| {
            self.anything.fetch_max(number, Ordering::Relaxed);
        });
    }

    /// Something was defined that has one of these names, which stand in such places: a base table
    /// is what stands where a table does. What a name beyond ASCII is to a server depends on the
    /// client's character set: it may be any.
    pub fn note_names<'a>(&self, names: impl Iterator<Item = (&'a [u8], Role)>, defined: Defined) {
        let besides = match defined {
            Defined::Table => Some(&self.made),
            Defined::NothingNew => None,
            Defined::Code => Some(&self.code),
        };
        self.note(|number| {
            for (name, role) in names {
                if !name.is_ascii() {
                    self.anything.fetch_max(number, Ordering::Relaxed);
                }
                let is_meant = defined == Defined::Code || role == Role::Table;
                let besides = besides.filter(|_| is_meant);
                for places in [Some(&self.names), besides].into_iter().flatten() {
                    if let Some(latest) = places.get(place(super::key(name))) {
                        latest.fetch_max(number, Ordering::Relaxed);
                    }
                }
            }
        });
    }

    /// Whoever reads the second number finds what was written between the two.
    fn note(&self, write: impl FnOnce(u64)) {
        write(self.count.fetch_add(1, Ordering::SeqCst) + 1);
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    /// The latest definition that may have been of anything.
    #[inline]
    pub(super) fn latest_of_anything(&self) -> u64 {
        self.anything.load(Ordering::Relaxed)
    }

    /// The latest definition of a name, by its name, after which it may run something anew.
    pub(super) fn latest_of_code(&self, key: u64) -> u64 {
        latest_in(&self.code, key)
    }

    /// The latest definition that made a base table of that name.
    pub(super) fn latest_made(&self, key: u64) -> u64 {
        latest_in(&self.made, key)
    }

    /// The latest definition of a name.
    pub(super) fn latest(&self, key: u64) -> u64 {
        latest_in(&self.names, key).max(self.latest_of_anything())
    }
}

fn latest_in(places: &[AtomicU64], key: u64) -> u64 {
    places.get(place(key)).map_or(0, |latest| latest.load(Ordering::Relaxed))
}

fn place(key: u64) -> usize {
    usize::try_from(key % PLACES as u64).unwrap_or(0)
}

const PLACES: usize = 4096;
