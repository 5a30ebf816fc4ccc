//! How logs are followed in a run: what is late, and what breaks.

use following::BETWEEN_PASSED;
use io::Micros;

use crate::data::DataDelays;
use crate::dice::Dice;

/// How logs are followed in a run.
#[derive(Clone, Copy, Debug)]
pub struct SimFollowing {
    /// How long a hostgroup may lag, in milliseconds.
    pub lag_max_ms: u64,
    /// How long an event is on its way, in microseconds at most.
    pub event_us: u64,
    /// How many of a hundred events are held up, and how long at most, in microseconds.
    pub held_up: (u64, u64),
    /// How many of a thousand events end their stream.
    pub cuts: u64,
    /// Servers are of the kind that shows rows in the order of its log.
    pub in_order: bool,
    /// What is late at the servers.
    pub delays: DataDelays,
    /// Of a thousand steps, how many bring a write that does not go through the proxy.
    pub writes_per_mille: u64,
}

impl SimFollowing {
    /// What a seed gives.
    pub(in crate::sim) fn of(seed: u64) -> Option<Self> {
        let mut dice = Dice::new(seed ^ 0x666f_6c6c_6f77_0000);
        let follows = dice.percent(60);
        let lags = *dice.pick(&[0, 0, 3, 10]);
        let following = Self {
            lag_max_ms: *dice.pick(&[30, 100, 500]),
            event_us: *dice.pick(&[100, 100, 1_000, 1_000, 10_000, 300_000]),
            held_up: (*dice.pick(&[0, 0, 3]), *dice.pick(&[50_000, 2_000_000])),
            cuts: *dice.pick(&[0, 0, 20, 100]),
            in_order: dice.percent(50),
            delays: DataDelays {
                hidden_us: *dice.pick(&[1, 5_000, 20_000, 60_000]),
                replica_us: *dice.pick(&[500, 5_000, 30_000]),
                lags,
                lag_us: *dice.pick(&[100_000, 3_000_000]),
            },
            writes_per_mille: *dice.pick(&[0, 1, 4]),
        };
        follows.then_some(following)
    }

    /// Whether what logs tell may be late by more than a hostgroup may lag.
    pub(in crate::sim) fn is_slow(&self) -> bool {
        self.event_us > self.lag_max_ms * 1000 || self.held_up.0 > 0
    }

    /// How long a change may go unseen that nobody was told of: what a pulse may take, and the time
    /// between two that are passed.
    pub(in crate::sim) fn unseen_max_us(&self) -> u64 {
        (Micros::from_ms(self.lag_max_ms) + BETWEEN_PASSED).0
    }
}
