//! What is known of a server by its checks, and how many of them it takes to know it.

use std::collections::BTreeMap;

use engine::clusters::Check;
use engine::server_error::Meaning;

use crate::contest::Sample;
use crate::event::Reason;
use crate::recording::recorded;
use crate::report::{Failure, Lag};
use crate::wanted::Limits;

/// Pings of which the latency is the mean.
const PINGS: usize = 3;

/// Whether the monitor's account is to blame for an error, and the server lives.
pub(crate) fn is_of_account(code: u16) -> bool {
    Meaning::of(code).is(Meaning::OF_ACCOUNT)
}

/// What is known of a server.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Facts {
    /// Pings without an answer, one behind the other.
    missed: u32,
    silent: bool,
    /// What the last pings took that were answered, in microseconds, the latest last.
    took_us: Vec<u64>,
    read_only: BTreeMap<Check, ReadOnly>,
    samples: Vec<Sample>,
}

/// What the questions of a kind came to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct ReadOnly {
    /// What holds.
    is: Option<bool>,
    /// Questions without an answer, one behind the other.
    missed: u32,
    /// The server was silent since.
    is_old: bool,
}

recorded!(Facts { missed, silent, took_us, read_only, samples } or default);
recorded!(ReadOnly { is, missed, is_old } or default);
recorded!(Lagging { last_us, count, over });

impl Facts {
    /// Whether it misses pings.
    pub(crate) fn is_silent(&self) -> bool {
        self.silent
    }

    pub(crate) fn latency_us(&self) -> Option<u64> {
        let sum: u64 = self.took_us.iter().sum();
        sum.checked_div(self.took_us.len() as u64)
    }

    /// The GTIDs that it told last, and the time before.
    pub(crate) fn samples(&self) -> &[Sample] {
        &self.samples
    }

    pub(crate) fn note_gtids(&mut self, outcome: Result<Sample, &Failure>) {
        match outcome {
            Ok(sample) => {
                self.samples.drain(..self.samples.len().saturating_sub(1));
                self.samples.push(sample);
            }
            Err(Failure::Error(_)) => self.samples.clear(),
            Err(Failure::NoAnswer | Failure::OwnDelay) => {}
        }
    }

    /// Whether it refuses writes, as far as that is known.
    pub(crate) fn read_only(&self, check: Check) -> Option<bool> {
        self.read_only.get(&check)?.is
    }

    /// Whether a question whether it refuses writes has come to anything.
    pub(crate) fn has_answered(&self, check: Check) -> bool {
        self.read_only.contains_key(&check)
    }

    /// Whether what it said of that is no older than its last silence.
    pub(crate) fn is_heard(&self, check: Check) -> bool {
        !self.silent && self.read_only.get(&check).is_some_and(|known| !known.is_old)
    }

    /// What it said of that before holds no more: it refuses writes, until it says otherwise.
    pub(crate) fn count_as_read_only(&mut self) {
        self.read_only.values_mut().for_each(|known| known.is = Some(true));
    }

    pub(crate) fn note_ping(
        &mut self,
        outcome: &Result<u64, Failure>,
        limits: &Limits,
    ) -> Option<Reason> {
        match outcome {
            Err(Failure::OwnDelay) => return None,
            Err(Failure::Error(code)) if is_of_account(*code) => self.missed = 0,
            Err(_) => self.missed = self.missed.saturating_add(1),
            Ok(took_us) => {
                self.missed = 0;
                if self.took_us.len() == PINGS {
                    self.took_us.remove(0);
                }
                self.took_us.push(*took_us);
            }
        }
        let was_silent = self.silent;
        self.silent = self.missed >= limits.ping_failures || was_silent && self.missed > 0;
        match (was_silent, self.silent) {
            (false, true) => {
                self.read_only.values_mut().for_each(|known| known.is_old = true);
                Some(Reason::PingsMissed { count: self.missed })
            }
            (true, false) => Some(Reason::PingAnswered),
            _ => None,
        }
    }

    pub(crate) fn note_read_only(
        &mut self,
        check: Check,
        outcome: &Result<bool, Failure>,
        limits: &Limits,
    ) -> Option<Reason> {
        let known = self.read_only.entry(check).or_default();
        let (is, reason) = match outcome {
            Err(Failure::OwnDelay) => return None,
            Err(Failure::Error(_)) => {
                known.missed = 0;
                return None;
            }
            Err(Failure::NoAnswer) => {
                known.missed = known.missed.saturating_add(1);
                if known.missed < limits.read_only_failures {
                    return None;
                }
                (true, Reason::ReadOnlyMissed { count: known.missed })
            }
            Ok(is) => {
                (known.missed, known.is_old) = (0, false);
                (*is, Reason::ReadOnly { is: *is })
            }
        };
        (known.is.replace(is) != Some(is)).then_some(reason)
    }
}

/// How far a server is behind in a hostgroup.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Lagging {
    /// The last that was heard, in microseconds.
    last_us: u64,
    /// Times that it was too far behind, one behind the other.
    count: u32,
    /// It is left out.
    over: bool,
}

impl Lagging {
    /// The last that was heard, in microseconds.
    pub(crate) fn last_us(&self) -> u64 {
        self.last_us
    }

    /// How far it is behind, where that is too far.
    pub(crate) fn over_us(&self) -> Option<u64> {
        self.over.then_some(self.last_us)
    }

    pub(crate) fn note(
        &mut self,
        outcome: &Result<Lag, Failure>,
        limit_s: i64,
        limits: &Limits,
    ) -> Option<Reason> {
        let lag = outcome.as_ref().ok()?;
        self.last_us = match lag {
            Lag::NoReplica => 0,
            Lag::Unknown => u64::from(limits.lag_when_unknown_s) * 1_000_000,
            Lag::Micros(lag_us) => *lag_us,
        };
        let was_over = self.over;
        match self.exceeds(limit_s) {
            true => {
                self.count = self.count.saturating_add(1);
                self.over |= self.count >= limits.lag_count;
            }
            false => (self.count, self.over) = (0, false),
        }
        let (lag_us, count) = (self.last_us, self.count);
        match (was_over, self.over) {
            (false, true) if *lag == Lag::Unknown => {
                Some(Reason::LagUnknown { counts_as_s: limits.lag_when_unknown_s, limit_s, count })
            }
            (false, true) => Some(Reason::LagAbove { lag_us, limit_s, count }),
            (true, false) if *lag == Lag::NoReplica => Some(Reason::NoReplica),
            (true, false) => Some(Reason::LagWithin { lag_us, limit_s }),
            _ => None,
        }
    }

    /// Another limit holds.
    pub(crate) fn judge_by(&mut self, limit_s: i64) {
        if !self.exceeds(limit_s) {
            (self.count, self.over) = (0, false);
        }
    }

    fn exceeds(&self, limit_s: i64) -> bool {
        let limit_us = u64::try_from(limit_s).unwrap_or(0).saturating_mul(1_000_000);
        limit_us > 0 && self.last_us > limit_us
    }
}
