//! What the executions of one kind of query add up to.

use super::QueryEnd;
use super::latencies::Latencies;

/// The columns of `stats_mysql_query_digest` after its key, and the distribution beside them.
///
/// Moments are of the loops' clock; who shows them knows how it relates to the calendar.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// `count_star`.
    pub count: u64,
    /// When the first one ended.
    pub first_seen_us: u64,
    /// When the last one ended.
    pub last_seen_us: u64,
    /// `sum_time`.
    pub sum_time_us: u64,
    /// `min_time`.
    pub min_time_us: u64,
    /// `max_time`.
    pub max_time_us: u64,
    /// `sum_rows_affected`.
    pub rows_affected: u64,
    /// `sum_rows_sent`.
    pub rows_sent: u64,
    /// How the times are spread, for percentiles.
    pub latencies: Latencies,
}

impl Totals {
    /// Adds a query that ended at `now_us`. Returns how many bytes of memory that took.
    pub fn record(&mut self, now_us: u64, end: &QueryEnd<'_>) -> usize {
        if self.count == 0 {
            (self.first_seen_us, self.min_time_us) = (now_us, end.elapsed_us);
        }
        self.count += 1;
        self.last_seen_us = now_us;
        self.sum_time_us = self.sum_time_us.wrapping_add(end.elapsed_us);
        self.min_time_us = self.min_time_us.min(end.elapsed_us);
        self.max_time_us = self.max_time_us.max(end.elapsed_us);
        self.rows_affected = self.rows_affected.wrapping_add(end.rows_affected);
        self.rows_sent = self.rows_sent.wrapping_add(end.rows_sent);
        self.latencies.record(end.elapsed_us)
    }

    /// Adds the totals of others. Returns how many bytes of memory that took.
    pub fn merge(&mut self, other: &Self) -> usize {
        if other.count == 0 {
            return 0;
        }
        if self.count == 0 {
            (self.first_seen_us, self.min_time_us) = (other.first_seen_us, other.min_time_us);
        }
        self.count += other.count;
        self.first_seen_us = self.first_seen_us.min(other.first_seen_us);
        self.last_seen_us = self.last_seen_us.max(other.last_seen_us);
        self.sum_time_us = self.sum_time_us.wrapping_add(other.sum_time_us);
        self.min_time_us = self.min_time_us.min(other.min_time_us);
        self.max_time_us = self.max_time_us.max(other.max_time_us);
        self.rows_affected = self.rows_affected.wrapping_add(other.rows_affected);
        self.rows_sent = self.rows_sent.wrapping_add(other.rows_sent);
        self.latencies.merge(&other.latencies)
    }

    /// The time that a share of them (0 to 1) did not exceed, in microseconds; 0 when there are
    /// none.
    pub fn quantile_us(&self, share: f64) -> u64 {
        let told = self.latencies.quantile_us(share).unwrap_or(0);
        told.clamp(self.min_time_us, self.max_time_us)
    }

    /// How much there is to lose with it: executions and milliseconds, halved for every
    /// eighteen minutes in which there was none.
    pub(super) fn weight(&self, now_us: u64) -> u64 {
        let idle_us = now_us.saturating_sub(self.last_seen_us);
        let weight = self.count.saturating_add(self.sum_time_us >> 10);
        weight >> (idle_us >> 30).min(63)
    }
}
