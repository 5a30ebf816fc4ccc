//! The simulation: clients, the real engine and worker, and fake servers on one network in memory,
//! under one virtual clock; a seed decides everything.
//!
//! ```text
//!   Clients ──► Crooked(Worker(Proxy)) ──► Mysqlds        loops on one SimNet; 1–3 workers
//!      │               │                      │
//!      └── shadow      └── invariants         └── checks of what arrives: all told to the Board
//! ```
//!
//! **Promises that are checked.** Every answer is right byte for byte or an error that the faults
//! of the run allow, in order. Each session finds what it set and nothing that another left. Each
//! execution runs the statement that its client prepared, as it prepared it, and no connection has
//! more statements than it may. No write runs twice, or where writes are refused. Permits equal
//! live lanes of all workers, whatever becomes of the configuration. `queries = ok + err + killed`.
//! Every client gets an answer or a close in bounded virtual time. In the end nothing is left.
//! What is told from the cache is no older than its rule allows, and than the changes that the
//! servers' logs have told of (`following`, and `data` for the rule).
//!
//! ```no_run
//! let report = testkit::sim::Simulator::new().run(42, None).unwrap();
//! println!("{report}");
//! ```

mod changes;
mod configurations;
mod ending;
mod following;
mod limits;
mod moves;
pub(crate) mod rules;
mod trio;
mod weather;

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use engine::guesses::Guesses;
use engine::proxy::Offer;
use wire::auth::rsa::ServerKey;

use crate::mysqld::login::server_caps;
use crate::planted::Planted;
pub use changes::snapshot;
use configurations::Configurations;
pub use following::SimFollowing;
pub use limits::SimLimits;
pub use trio::{Stage, Trio};
pub use weather::{SimCache, Weather};

/// Runs seeds on all cores; each result is told by the core that it came from.
pub fn run_seeds(seeds: Range<u64>, tell: impl Fn(Result<RunReport, RunFailure>) + Sync) {
    let next = AtomicU64::new(seeds.start);
    let cores = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                let simulator = Simulator::new();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let run = AssertUnwindSafe(|| simulator.run(seed, None));
                    tell(catch_unwind(run).unwrap_or_else(|panic| Err(of_panic(seed, &*panic))));
                }
            });
        }
    });
}

/// The failure of a run in which something panicked that nobody planted.
fn of_panic(seed: u64, panic: &(dyn Any + Send)) -> RunFailure {
    let words = panic.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
    RunFailure { seed, step: 0, what: format!("panicked: {}", words.unwrap_or_default()) }
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// Its seed.
    pub seed: u64,
    /// Turns of loops and leaps of time.
    pub steps: u64,
    /// How long it took, in virtual microseconds.
    pub span_us: u64,
    /// The workers' counters.
    pub counters: engine::stats::Counters,
    /// How often what happened.
    pub tally: BTreeMap<&'static str, u64>,
}

impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, steps, span_us, counters, .. } = self;
        let (queries, err) = (counters.queries, counters.err);
        write!(f, "seed {seed}: {steps} steps, {span_us} us, {queries} queries, {err} errors")
    }
}

/// What went wrong, and how to see it again.
#[derive(Clone, Debug)]
pub struct RunFailure {
    /// The seed that shows it.
    pub seed: u64,
    /// The step after which it was seen.
    pub step: u64,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for RunFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}, step {}: {}", self.seed, self.step, self.what)
    }
}

/// Runs seeds; keeps what all runs share.
pub struct Simulator {
    offer: Arc<Offer>,
    configurations: Rc<Configurations>,
}

impl Default for Simulator {
    fn default() -> Self {
        Self::new()
    }
}

impl Simulator {
    /// Makes what all runs share: the key for full authentication, and what was compiled.
    pub fn new() -> Self {
        let key = ServerKey::generate().expect("a key can be made");
        Self { offer: offer(&key.into()), configurations: Rc::default() }
    }

    /// What clients are offered.
    pub fn offer(&self) -> Arc<Offer> {
        self.offer.clone()
    }

    /// The same for a run that begins; where there are few bytes for what is kept, with a cache
    /// that nobody has used: what it keeps depends on what it had before.
    fn offer_with_room(&self, room: Option<u64>) -> Arc<Offer> {
        let offer = if room.is_some() { offer(&self.offer.key) } else { self.offer() };
        // the time of each run begins anew
        offer.cache.flush();
        offer
    }

    fn configurations(&self) -> Rc<Configurations> {
        self.configurations.clone()
    }

    /// Runs one seed to its end, with a planted bug or without.
    pub fn run(&self, seed: u64, planted: Option<Planted>) -> Result<RunReport, RunFailure> {
        let weather = Weather::of(seed);
        let mut trio = Trio::new(seed, self, &weather, planted);
        trio.run(&weather)?;
        trio.end()
    }

    /// Runs one seed and tells what everybody sends, on the standard error.
    pub fn tell(&self, seed: u64) -> Result<RunReport, RunFailure> {
        let weather = Weather::of(seed);
        eprintln!("{weather:?}");
        let mut trio = Trio::new(seed, self, &weather, None);
        trio.stage.board.borrow_mut().story = true;
        trio.run(&weather)?;
        trio.end()
    }
}

/// What clients are offered, with this key.
fn offer(key: &Arc<ServerKey>) -> Arc<Offer> {
    let secret = b"the same from one run to another";
    let (guesses, cache) = (Guesses::new(*secret), Offer::cache_by(secret));
    Arc::new(Offer { guesses, cache, ..Offer::new(b"8.0.11", server_caps(), key.clone()) })
}

/// Runs one seed without a planted bug; a [`Simulator`] is cheaper for many.
pub fn run(seed: u64) -> Result<RunReport, RunFailure> {
    Simulator::new().run(seed, None)
}
