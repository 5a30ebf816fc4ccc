//! What is known of versions from elsewhere than answers: when writes were acknowledged, and what
//! each server has shown to somebody who asked it alone. Judges answers by that.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::subjects::SUBJECTS;

/// Everything that writers, readers and watchers tell each other.
pub(crate) struct Book {
    subjects: Vec<Mutex<Written>>,
    /// What each server has shown, by its number.
    shown: [Mutex<VecDeque<Shown>>; 2],
    /// Which of them takes writes.
    pub(crate) primary: AtomicUsize,
    /// Goes up whenever that changes, before and behind it.
    pub(crate) reign: AtomicU64,
    pub(crate) ends: AtomicBool,
    /// Nobody is to begin a definition.
    pub(crate) is_quiet: AtomicBool,
    /// How many are under way.
    pub(crate) defining: AtomicUsize,
    /// The reigns under which readers and writers have connected.
    connected: Vec<AtomicU64>,
    /// What happens to the servers at the moment.
    pub(crate) now: Mutex<&'static str>,
    wrong: Mutex<Vec<String>>,
    began: Instant,
}

#[derive(Default)]
struct Written {
    /// The last version that anybody was asked to write.
    issued: u64,
    /// Versions, and when it was known that they were written.
    acknowledged: Vec<(u64, Instant)>,
}

/// The versions of all subjects that a server had at a moment, or some earlier one.
struct Shown {
    at: Instant,
    versions: Vec<Option<u64>>,
}

/// How much of what servers have shown is kept.
const SHOWN_FOR: Duration = Duration::from_secs(10);

/// After so many wrong answers no further one is looked for.
const WRONG_MAX: usize = 20;

impl Book {
    pub(crate) fn new() -> Self {
        Self {
            subjects: SUBJECTS.iter().map(|_| Mutex::default()).collect(),
            shown: Default::default(),
            primary: AtomicUsize::new(0),
            reign: AtomicU64::new(0),
            ends: AtomicBool::new(false),
            is_quiet: AtomicBool::new(false),
            defining: AtomicUsize::new(0),
            connected: (0..2 * SUBJECTS.len()).map(|_| AtomicU64::new(0)).collect(),
            now: Mutex::new("nothing"),
            wrong: Mutex::default(),
            began: Instant::now(),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ends.load(SeqCst)
    }

    /// Whether no definition is under way, and none begins before it is loud again.
    pub(crate) fn none_defines(&self) -> bool {
        self.is_quiet.load(SeqCst) && self.defining.load(SeqCst) == 0
    }

    /// Whether a client has to connect anew; `true` once under each reign.
    pub(crate) fn is_to_connect(&self, client: usize) -> bool {
        let reign = self.reign.load(SeqCst);
        self.connected[client].swap(reign, SeqCst) != reign
    }

    /// Whether all clients have connected anew under this reign, or are about to.
    pub(crate) fn all_are_new(&self) -> bool {
        let reign = self.reign.load(SeqCst);
        self.connected.iter().all(|connected| connected.load(SeqCst) == reign)
    }

    /// A version that nobody has written, and that somebody writes now.
    pub(crate) fn issue(&self, subject: usize) -> u64 {
        let mut written = lock(&self.subjects[subject]);
        // with what is between two even numbers
        written.issued += 2;
        written.issued
    }

    /// It was written.
    pub(crate) fn acknowledge(&self, subject: usize, version: u64) {
        lock(&self.subjects[subject]).acknowledged.push((version, Instant::now()));
    }

    /// A server that was asked alone has these.
    pub(crate) fn show(&self, server: usize, versions: Vec<Option<u64>>) {
        let at = Instant::now();
        let mut shown = lock(&self.shown[server]);
        shown.push_back(Shown { at, versions });
        while shown.front().is_some_and(|first| at - first.at > SHOWN_FOR) {
            shown.pop_front();
        }
    }

    /// How long before `began` a newer version had been acknowledged.
    pub(crate) fn behind_writers(&self, subject: usize, version: u64, began: Instant) -> Duration {
        let written = lock(&self.subjects[subject]);
        let newer = written.acknowledged.partition_point(|(known, _)| *known <= version);
        let newer = written.acknowledged.get(newer);
        newer.map_or(Duration::ZERO, |(_, at)| began.saturating_duration_since(*at))
    }

    /// How long before `began` every server had shown a newer version.
    pub(crate) fn behind_servers(&self, subject: usize, version: u64, began: Instant) -> Duration {
        let of_one = |shown: &Mutex<VecDeque<Shown>>| {
            let is_newer = |shown: &&Shown| shown.versions[subject].is_some_and(|it| it > version);
            let newer = lock(shown).iter().find(is_newer).map(|shown| shown.at);
            newer.map_or(Duration::ZERO, |at| began.saturating_duration_since(at))
        };
        self.shown.iter().map(of_one).min().unwrap_or_default()
    }

    /// Whether nobody has written it yet.
    pub(crate) fn is_unheard_of(&self, subject: usize, version: u64) -> bool {
        version > lock(&self.subjects[subject]).issued
    }

    /// An answer was wrong.
    pub(crate) fn note_wrong(&self, what: String) {
        let since = self.began.elapsed().as_secs_f64();
        let now = *lock(&self.now);
        let mut wrong = lock(&self.wrong);
        wrong.push(format!("{since:.3} s, at {now}: {what}"));
        if wrong.len() >= WRONG_MAX {
            self.ends.store(true, SeqCst);
        }
    }

    pub(crate) fn wrong(&self) -> Vec<String> {
        lock(&self.wrong).clone()
    }
}

pub(crate) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // a thread that failed fails the test by itself
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
