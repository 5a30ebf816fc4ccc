//! How far behind its primary a server may be that a command is given to.
//!
//! What is known of a server's lag is its gauge's; a server of which nothing is known counts as one
//! that is not behind.

use std::ops::RangeInclusive;

use crate::topology::{Server, ServerRef};

/// What a command asks of its server's lag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LagLimit {
    most_us: u64,
    /// From so many servers within the limit on, those are left out that are not behind at all:
    /// what a primary has to do is for writes. 0 for never.
    replicas_min: usize,
}

impl LagLimit {
    /// Any lag will do.
    pub const NONE: Self = Self::of(u64::MAX);

    /// A server may be so many microseconds behind; `u64::MAX` for any number.
    pub const fn of(most_us: u64) -> Self {
        Self { most_us, replicas_min: 0 }
    }

    /// The same, where from so many servers on the primary is left out.
    #[must_use]
    pub const fn sparing_primary(self, replicas_min: usize) -> Self {
        Self { replicas_min, ..self }
    }

    /// Whether it leaves any server out.
    #[inline]
    pub const fn is_set(self) -> bool {
        self.most_us < u64::MAX
    }

    /// Whether a server is as near as it has to be.
    #[inline]
    pub fn admits(self, server: &Server) -> bool {
        !self.is_set() || server.gauge.lag_us() <= self.most_us
    }

    /// How far behind one of these servers may be, in microseconds, where that matters.
    #[inline]
    pub(super) fn near<'s>(
        self,
        servers: impl Iterator<Item = &'s ServerRef>,
    ) -> Option<RangeInclusive<u64>> {
        let lags_us = servers.map(|server| server.gauge.lag_us());
        self.is_set().then(|| u64::from(self.spares_primary(lags_us))..=self.most_us)
    }

    /// Whether a primary, which is not behind at all, is left out among servers that are so far
    /// behind.
    fn spares_primary(self, lags_us: impl Iterator<Item = u64>) -> bool {
        let (mut admitted, mut replicas) = (0, 0);
        for lag_us in lags_us.filter(|lag_us| *lag_us <= self.most_us) {
            admitted += 1;
            replicas += usize::from(lag_us > 0);
        }
        self.replicas_min > 0 && admitted >= self.replicas_min && replicas > 0
    }

    /// Which servers are further behind, for whoever has to explain an error.
    pub fn explain(self, servers: &[ServerRef]) -> Option<String> {
        if !self.is_set() {
            return None;
        }
        let behind = servers.iter().filter(|server| !self.admits(server)).map(|server| {
            let lag_ms = server.gauge.lag_us() / 1_000;
            format!("{server} is {lag_ms} ms behind")
        });
        let behind: Vec<_> = behind.collect();
        let most_ms = self.most_us / 1_000;
        (!behind.is_empty())
            .then(|| format!("the query asks for {most_ms} ms at most: {}", behind.join(", ")))
    }
}
