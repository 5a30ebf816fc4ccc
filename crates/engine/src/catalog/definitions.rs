//! What was defined, and when. Each definition that a worker saw has a number. Of each name, the
//! latest is known, and the latest after which the name may run something. All workers share it.
//!
//! Names are kept as places in a table of fixed size: two that share one are defined together, at
//! worst. A number is known to everybody only after the names of its definition are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sql::Role;

/// Definitions so far.
pub struct Definitions {
    count: AtomicU64,
    /// The latest one that may have defined anything.
    anything: AtomicU64,
    /// The latest one that took triggers, or whole schemas, from tables that it does not name.
    unnamed: AtomicU64,
    /// By place: the latest one of a name.
    names: Box<[AtomicU64]>,
    /// By place: the latest one of a name after which it may run something that it did not.
    code: Box<[AtomicU64]>,
    /// By place: how many of these are under way.
    under_way: Box<[AtomicU32]>,
    /// Those under way that may be of anything.
    any_under_way: AtomicU32,
    /// By place: the latest one of a name that has made a base table.
    made: Box<[AtomicU64]>,
}

/// Names that a statement under way may make run something that they did not. Until this is
/// dropped, no reading tells what they run.
#[derive(Debug)]
pub struct UnderWay {
    definitions: Arc<Definitions>,
    places: Vec<usize>,
    /// It may define anything.
    is_any: bool,
}

impl UnderWay {
    /// A statement that may define these names is about to be sent. One beyond ASCII may be any, as
    /// in [`Definitions::note_names`].
    pub fn begin<'a>(
        definitions: &Arc<Definitions>,
        names: impl Iterator<Item = &'a [u8]>,
    ) -> Self {
        let mut is_any = false;
        let is_counted = names.inspect(|name| is_any |= !name.is_ascii());
        let places = is_counted.map(|name| place(super::key(name))).collect();
        let begun = Self { definitions: definitions.clone(), places, is_any };
        definitions.note(|number| {
            begun.raise(number);
            for count in begun.counts() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        begun
    }

    fn counts(&self) -> impl Iterator<Item = &AtomicU32> {
        let Definitions { under_way, any_under_way, .. } = &*self.definitions;
        let of_names = self.places.iter().filter_map(|place| under_way.get(*place));
        of_names.chain(self.is_any.then_some(any_under_way))
    }

    fn raise(&self, number: u64) {
        let Definitions { names, code, anything, .. } = &*self.definitions;
        for place in &self.places {
            raise(names, *place, number);
            raise(code, *place, number);
        }
        if self.is_any {
            anything.fetch_max(number, Ordering::Relaxed);
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.definitions.note(|number| {
            self.raise(number);
            for count in self.counts() {
                count.fetch_sub(1, Ordering::SeqCst);
            }
        });
    }
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
        let under_way = (0..PLACES).map(|_| AtomicU32::new(0)).collect();
        let any_under_way = AtomicU32::new(0);
        let [count, anything, unnamed] = [(); 3].map(|()| AtomicU64::new(0));
        Self { count, anything, unnamed, names, code, under_way, any_under_way, made }
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

    /// A reading told something else than the one before: what was decided before is decided again.
    pub(super) fn note_told(&self) {
        self.note(|_| {});
    }

    /// Tables that nobody named may have lost what they ran.
    pub fn note_unnamed(&self) {
        self.note(|number| {
            self.unnamed.fetch_max(number, Ordering::Relaxed);
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
                let place = place(super::key(name));
                raise(&self.names, place, number);
                if let Some(places) = besides.filter(|_| is_meant) {
                    raise(places, place, number);
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
    pub(super) fn latest_of_anything(&self) -> u64 {
        self.anything.load(Ordering::Relaxed)
    }

    /// Whether a reading that began when so many definitions were seen tells what there is, but for
    /// names that were defined.
    #[inline]
    pub(super) fn is_told(&self, read: u64) -> bool {
        self.latest_of_anything() <= read && self.any_under_way.load(Ordering::SeqCst) == 0
    }

    /// The latest definition of a name, by its name, after which it may run something anew.
    pub(super) fn latest_of_code(&self, key: u64) -> u64 {
        latest_in(&self.code, key)
    }

    /// The latest definition, when it began or when it ended, after which a name may be something
    /// else than what ran before.
    pub(super) fn latest_change(&self, key: u64) -> u64 {
        latest_in(&self.names, key).max(self.unnamed.load(Ordering::Relaxed))
    }

    /// Whether a statement is under way that may make the name run something anew.
    pub(super) fn is_under_way(&self, key: u64) -> bool {
        self.under_way.get(place(key)).is_some_and(|count| count.load(Ordering::SeqCst) > 0)
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

fn raise(places: &[AtomicU64], place: usize, number: u64) {
    if let Some(latest) = places.get(place) {
        latest.fetch_max(number, Ordering::Relaxed);
    }
}

fn latest_in(places: &[AtomicU64], key: u64) -> u64 {
    places.get(place(key)).map_or(0, |latest| latest.load(Ordering::Relaxed))
}

fn place(key: u64) -> usize {
    usize::try_from(key % PLACES as u64).unwrap_or(0)
}

const PLACES: usize = 4096;
