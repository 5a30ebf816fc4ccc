//! Queries that say how far behind its primary their server may be, or how new its data is to be.

use crate::ids::HostgroupId;
use crate::lane::Held;
use crate::pool::LagLimit;
use crate::proxy::Proxy;
use crate::route::{Freshness, Route};
use crate::session::{Job, Session};

impl Proxy {
    /// How far behind its server may be by a route, in microseconds; `u64::MAX` for any number.
    #[inline]
    pub(crate) fn lag_max_us(&mut self, route: &Route) -> u64 {
        match &route.freshness {
            Some(freshness) => self.lag_max_told(freshness),
            None => u64::MAX,
        }
    }

    #[cold]
    fn lag_max_told(&mut self, freshness: &Freshness) -> u64 {
        if freshness.max_lag_ms.is_none() && freshness.min_epoch_ms.is_none() {
            return u64::MAX;
        }
        self.stats.lag_limited += 1;
        let unix_us = self.offer.epoch_us.saturating_add(self.now_us);
        let most_us = freshness.max_lag_ms.map(|most_ms| u64::from(most_ms) * 1_000);
        let since_us = freshness.min_epoch_ms.map(|since_ms| since_ms.saturating_mul(1_000));
        let since_us = since_us.map(|since_us| unix_us.saturating_sub(since_us));
        most_us.unwrap_or(u64::MAX).min(since_us.unwrap_or(u64::MAX))
    }

    /// What a command asks of its server's lag.
    #[inline]
    pub(crate) fn lag_limit(&self, job: &Job) -> LagLimit {
        match job.lag_max_us {
            u64::MAX => LagLimit::NONE,
            most_us => self.lag_limit_in(job.hostgroup, most_us),
        }
    }

    /// A replica of Aurora is preferred where there are enough.
    #[cold]
    fn lag_limit_in(&self, hostgroup: HostgroupId, most_us: u64) -> LagLimit {
        let is_aurora = self.snapshot.clusters.has_aurora(i64::from(hostgroup.0));
        let replicas_min = self.snapshot.vars.aurora_replicas_min as usize;
        LagLimit::of(most_us).sparing_primary(if is_aurora { replicas_min } else { 0 })
    }

    /// Whether a session keeps a connection to a server that is too far behind for a command.
    #[inline]
    pub(crate) fn holds_laggard(&self, session: &Session, job: &Job) -> bool {
        let limit = self.lag_limit(job);
        let lags =
            |held: &Held| self.lanes.get(held.lane).is_some_and(|lane| !limit.admits(&lane.server));
        limit.is_set() && session.held.iter().any(lags)
    }
}
