//! What was defined, and when: a number for each definition that a worker saw, and the latest one
//! of each name. All workers share it.
//!
//! Names are kept as places in a table of fixed size: two that share one are defined together, at
//! worst. A number is known to everybody only after the names of its definition are.

use std::sync::atomic::{AtomicU64, Ordering};

/// Definitions so far.
pub struct Definitions {
    count: AtomicU64,
    /// The latest one that may have defined anything.
    anything: AtomicU64,
    /// By place: the latest one of a name.
    names: Box<[AtomicU64]>,
}

impl Default for Definitions {
    fn default() -> Self {
        Self {
            count: AtomicU64::new(0),
            anything: AtomicU64::new(0),
            names: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
        }
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

    /// Something was defined that has one of these names. What a name beyond ASCII is to a server
    /// depends on the client's character set: it may be any.
    pub fn note_names<'a>(&self, names: impl Iterator<Item = &'a [u8]>) {
        self.note(|number| {
            for name in names {
                if !name.is_ascii() {
                    self.anything.fetch_max(number, Ordering::Relaxed);
                }
                if let Some(latest) = self.names.get(place(super::key(name))) {
                    latest.fetch_max(number, Ordering::Relaxed);
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

    /// The latest definition of a name.
    pub(super) fn latest(&self, key: u64) -> u64 {
        let latest = self.names.get(place(key));
        let latest = latest.map_or(0, |latest| latest.load(Ordering::Relaxed));
        latest.max(self.latest_of_anything())
    }
}

fn place(key: u64) -> usize {
    usize::try_from(key % PLACES as u64).unwrap_or(0)
}

const PLACES: usize = 4096;
