//! What threads count, and how it is told.

use std::collections::BTreeMap;
use std::time::Duration;

/// Figures of one thread, or of several.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) counts: BTreeMap<String, u64>,
    /// How far answers were behind, in microseconds, by hostgroup.
    behind_us: BTreeMap<&'static str, Vec<u64>>,
}

impl Tally {
    pub(crate) fn count(&mut self, what: impl Into<String>) {
        *self.counts.entry(what.into()).or_default() += 1;
    }

    pub(crate) fn number(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    pub(crate) fn behind(&mut self, hostgroup: &'static str, by: Duration) {
        let us = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        self.behind_us.entry(hostgroup).or_default().push(us);
    }

    pub(crate) fn add(&mut self, other: Self) {
        for (what, number) in other.counts {
            *self.counts.entry(what).or_default() += number;
        }
        for (hostgroup, us) in other.behind_us {
            self.behind_us.entry(hostgroup).or_default().extend(us);
        }
    }

    /// Every figure, a line each.
    pub(crate) fn told(&mut self) -> String {
        let mut text = String::new();
        for (what, number) in &self.counts {
            text += &format!("  {what}: {number}\n");
        }
        for (hostgroup, us) in &mut self.behind_us {
            us.sort_unstable();
            let old = us.len() - us.partition_point(|us| *us == 0);
            let at = |share: usize| us[(us.len() - 1) * share / 10_000] as f64 / 1000.0;
            text += &format!(
                "  {hostgroup}: {old} of {} behind; 99 %: {:.1} ms, 99.9 %: {:.1} ms, oldest: \
                 {:.1} ms\n",
                us.len(),
                at(9_900),
                at(9_990),
                at(10_000),
            );
        }
        text
    }
}
