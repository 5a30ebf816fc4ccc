//! Questions that several ask at the same time: one of them leads and has a server asked, and the
//! others wait for what comes of it, on whichever thread they are.
//!
//! A flight is one statement on its way to a server, under the key of its question, from before it
//! is sent until its answer is whole. Whoever asks while it is there waits for it, if its answer is
//! young enough then: an answer is as old as the moment at which its statement was sent. Where it
//! would be too old, another flight takes its place, whose statement is sent when the first has
//! landed. So of one question one statement runs at a time.
//!
//! **Invariant.** A flight under a key has not landed; it lands once, and whoever waits for it by
//! then can see what came of it for as long as it likes. A leader that is dropped lands as lost.
//! **Not here:** who is woken, and how long anybody waits.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use io::Lock;

use crate::CachedReply;
use crate::key::{CacheKey, OwnHash};

/// How many may wait for one flight; whoever comes then is on its own.
const WAITERS_MAX: u32 = 10_000;

/// The parts of the flights that are locked by themselves.
const PARTS: usize = 16;

/// What came of a flight.
#[derive(Clone, Debug)]
pub enum Landing {
    /// The answer.
    Answer(Arc<CachedReply>),
    /// Nothing, through no fault of the question: one of those who wait may lead anew.
    Lost,
    /// What nobody else can be told: each asks by itself.
    Unshared,
}

/// One statement on its way.
#[derive(Debug)]
pub struct Flight {
    number: u64,
    /// How often the store had been flushed before it was asked for.
    flushes: u64,
    state: Lock<State>,
}

#[derive(Debug, Default)]
struct State {
    /// When its statement was sent first.
    sent_us: Option<u64>,
    /// Nobody keeps its answer.
    is_unheard: bool,
    /// How many wait for it.
    waiting: u32,
    /// On which threads.
    workers: Vec<usize>,
    landing: Option<Landing>,
}

impl Flight {
    /// A number that no other flight has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What came of it, once it has landed.
    pub fn landing(&self) -> Option<Landing> {
        self.state.take().landing.clone()
    }

    /// How many wait for it.
    pub fn waiting(&self) -> u32 {
        self.state.take().waiting
    }

    /// Whether its answer is young enough for somebody who asks now.
    fn serves(&self, asking: &Asking, state: &State) -> bool {
        let is_young = |sent_us: u64| {
            !state.is_unheard
                && asking.now_us < sent_us.saturating_add(asking.lives_us)
                && sent_us >= asking.from_us
        };
        self.flushes == asking.flushes && state.sent_us.is_none_or(is_young)
    }
}

/// Waiting for a flight, until it is dropped.
#[derive(Debug)]
pub struct Wait {
    flight: Arc<Flight>,
    is_early: bool,
}

impl Wait {
    fn enter(flight: &Arc<Flight>, state: &mut State, worker: usize) -> Self {
        state.waiting += 1;
        if !state.workers.contains(&worker) {
            state.workers.push(worker);
        }
        Self { flight: flight.clone(), is_early: state.sent_us.is_none() }
    }

    /// What is waited for.
    pub fn flight(&self) -> &Arc<Flight> {
        &self.flight
    }

    /// Whether it began before the statement was sent: whatever has changed by then, the answer
    /// tells of it.
    pub fn is_early(&self) -> bool {
        self.is_early
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.flight.state.take().waiting -= 1;
    }
}

/// Who asks, and how old the answer may be.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    /// The number of its thread, which is told when it is to be woken.
    pub worker: usize,
    /// Time, in microseconds.
    pub now_us: u64,
    /// How long before that the statement may have been sent, in microseconds; 0 for not before.
    pub lives_us: u64,
    /// It must not have been sent before that time, in microseconds.
    pub from_us: u64,
    /// How often the store was flushed.
    pub flushes: u64,
}

/// What somebody does who asks.
#[derive(Debug)]
pub enum Joining {
    /// It has the server asked, now.
    Leads(Lead),
    /// It does so when the flight that it waits for has landed.
    LeadsNext(Lead, Wait),
    /// It waits for the answer.
    Waits(Wait),
    /// Too many wait already: it asks by itself.
    Full,
}

/// Leading a flight.
#[derive(Debug)]
pub struct Lead {
    flights: Arc<Flights>,
    key: CacheKey,
    flight: Arc<Flight>,
}

impl Lead {
    /// Its statement is sent. Returns whether anybody can be told its answer: who waits, or who may
    /// come while it is `lives_us` old.
    pub fn send(&self, now_us: u64, lives_us: u64) -> bool {
        let mut state = self.flight.state.take();
        if state.sent_us.is_none() {
            state.sent_us = Some(now_us);
            state.is_unheard = lives_us == 0 && state.waiting == 0;
        }
        !state.is_unheard
    }

    /// Whether anybody waits for its answer.
    pub fn is_awaited(&self) -> bool {
        self.flight.waiting() > 0
    }

    /// Tells those who wait what came of it. Returns the flight, and the threads that they are on.
    pub fn land(self, landing: Landing) -> (Arc<Flight>, Vec<usize>) {
        let workers = self.end(landing);
        (self.flight.clone(), workers)
    }

    /// Lands, unless it has landed; nobody comes upon it then who does not wait already.
    fn end(&self, landing: Landing) -> Vec<usize> {
        let mut part = self.flights.part(&self.key).take();
        if part.get(&self.key).is_some_and(|flight| Arc::ptr_eq(flight, &self.flight)) {
            part.remove(&self.key);
        }
        let mut state = self.flight.state.take();
        if state.landing.is_some() {
            return Vec::new();
        }
        state.landing = Some(landing);
        std::mem::take(&mut state.workers)
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.end(Landing::Lost);
    }
}

/// All flights, by their keys.
#[derive(Debug)]
pub struct Flights {
    parts: Vec<Lock<Part>>,
    numbers: AtomicU64,
}

type Part = HashMap<CacheKey, Arc<Flight>, OwnHash>;

impl Flights {
    pub(crate) fn new() -> Arc<Self> {
        let parts = (0..PARTS).map(|_| Lock::default()).collect();
        Arc::new(Self { parts, numbers: AtomicU64::new(1) })
    }

    fn part(&self, key: &CacheKey) -> &Lock<Part> {
        // the table takes other bits of the same hash
        &self.parts[(key.hash() >> 32) as usize % PARTS]
    }

    /// Somebody asks, and found no answer.
    pub fn join(self: &Arc<Self>, key: &CacheKey, asking: &Asking) -> Joining {
        let mut part = self.part(key).take();
        let before = match part.get(key) {
            None => None,
            Some(flight) => {
                let mut state = flight.state.take();
                if state.waiting >= WAITERS_MAX {
                    return Joining::Full;
                }
                let wait = Wait::enter(flight, &mut state, asking.worker);
                if flight.serves(asking, &state) {
                    return Joining::Waits(wait);
                }
                Some(wait)
            }
        };
        // what was asked for before a flush holds up nobody who asks behind it
        let before = before.filter(|wait| wait.flight.flushes == asking.flushes);
        let flight = Arc::new(Flight {
            number: self.numbers.fetch_add(1, Ordering::Relaxed),
            flushes: asking.flushes,
            state: Lock::default(),
        });
        part.insert(key.clone(), flight.clone());
        drop(part);
        let lead = Lead { flights: self.clone(), key: key.clone(), flight };
        match before {
            None => Joining::Leads(lead),
            Some(wait) => Joining::LeadsNext(lead, wait),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.parts.iter().map(|part| part.take().len()).sum()
    }
}

#[cfg(test)]
mod tests;
