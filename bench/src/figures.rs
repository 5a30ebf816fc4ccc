//! Medians over rounds, and ratios to HAProxy within a round.
//!
//! Decides how samples become figures. A ratio is taken between two runs of the same round. The
//! median of the ratios is shown, with the smallest and the largest.

use std::collections::BTreeMap;
use std::fmt;

use crate::sysbench::Load;
use crate::target::Target;

/// What one run measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) queries_per_s: f64,
    pub(crate) average_us: f64,
    pub(crate) p95_us: f64,
    pub(crate) p99_us: f64,
    /// Of the proxy, a query; nothing for a direct connection.
    pub(crate) user_us: Option<f64>,
    pub(crate) system_us: Option<f64>,
    pub(crate) rss_kib: Option<u64>,
}

/// A workload through a target over so many connections.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Cell {
    pub(crate) load: Load,
    pub(crate) connections: usize,
    pub(crate) target: Target,
}

/// All samples, a row a round.
#[derive(Default)]
pub(crate) struct Table {
    cells: BTreeMap<Cell, Vec<(usize, Sample)>>,
}

/// A median with the smallest and largest value it stands for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Sample {
    /// User and system time together.
    pub(crate) fn cpu_us(&self) -> Option<f64> {
        Some(self.user_us? + self.system_us?)
    }
}

impl Table {
    pub(crate) fn add(&mut self, cell: Cell, round: usize, sample: Sample) {
        self.cells.entry(cell).or_default().push((round, sample));
    }

    /// Every cell in order: by load, then connections, then target.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        self.cells.keys().copied()
    }

    /// The median of a figure over the rounds.
    pub(crate) fn median(&self, cell: Cell, of: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
        let samples = self.cells.get(&cell)?;
        Spread::over(samples.iter().filter_map(|(_, sample)| of(sample))).map(|s| s.median)
    }

    /// A figure divided by HAProxy's of the same round.
    pub(crate) fn to_haproxy(
        &self,
        cell: Cell,
        of: impl Fn(&Sample) -> Option<f64>,
    ) -> Option<Spread> {
        let base = self.cells.get(&Cell { target: cell.target.base(), ..cell })?;
        let own = self.cells.get(&cell)?;
        let ratios = own.iter().filter_map(|(round, sample)| {
            let (_, beside) = base.iter().find(|(r, _)| r == round)?;
            Some(of(sample)? / of(beside)?)
        });
        Spread::over(ratios)
    }

    /// What a target adds to the latency of a direct connection, over what HAProxy adds.
    ///
    /// Taken between medians: the difference of two runs is too noisy for a ratio of its own.
    pub(crate) fn added_latency_to_haproxy(&self, cell: Cell) -> Option<f64> {
        let average = |target| self.median(Cell { target, ..cell }, |s| Some(s.average_us));
        let direct = average(Target::Direct)?;
        Some((average(cell.target)? - direct) / (average(cell.target.base())? - direct))
    }

    pub(crate) fn print(&self) {
        for cell in self.cells() {
            let figure = |of: fn(&Sample) -> Option<f64>| {
                self.median(cell, of).map_or("-".into(), |v| format!("{v:.1}"))
            };
            let ratio = |of: fn(&Sample) -> Option<f64>| {
                self.to_haproxy(cell, of).map_or("-".into(), |s| s.to_string())
            };
            println!(
                "{cell}: {} q/s, average {} us, p95 {} us, p99 {} us, CPU {} + {} us; \
                 to HAProxy: throughput {}, CPU {}",
                figure(|s| Some(s.queries_per_s)),
                figure(|s| Some(s.average_us)),
                figure(|s| Some(s.p95_us)),
                figure(|s| Some(s.p99_us)),
                figure(|s| s.user_us),
                figure(|s| s.system_us),
                ratio(|s| Some(s.queries_per_s)),
                ratio(Sample::cpu_us),
            );
        }
    }
}

impl Spread {
    fn over(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = match values.len() % 2 {
            1 => values[middle],
            _ => f64::midpoint(values[middle - 1], values[middle]),
        };
        Some(Self { median, min, max })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ({:.2}–{:.2})", self.median, self.min, self.max)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {} {}", self.load, self.connections, self.target.name())
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} q/s, p99 {:.0} us", self.queries_per_s, self.p99_us)?;
        if let (Some(user), Some(system)) = (self.user_us, self.system_us) {
            write!(f, ", CPU {user:.2} + {system:.2} us a query")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(queries_per_s: f64, average_us: f64) -> Sample {
        Sample {
            queries_per_s,
            average_us,
            p95_us: 0.0,
            p99_us: 0.0,
            user_us: Some(1.0),
            system_us: Some(3.0),
            rss_kib: None,
        }
    }

    fn cell(target: Target) -> Cell {
        Cell { load: Load::POINT_TEXT, connections: 1, target }
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let mut table = Table::default();
        for (round, (own, base)) in [(10.0, 10.0), (30.0, 20.0), (8.0, 4.0)].iter().enumerate() {
            table.add(cell(Target::Split), round, sample(*own, 0.0));
            table.add(cell(Target::HaProxy), round, sample(*base, 0.0));
        }
        let ratio = table.to_haproxy(cell(Target::Split), |s| Some(s.queries_per_s));
        assert_eq!(ratio, Some(Spread { median: 1.5, min: 1.0, max: 2.0 }));
    }

    #[test]
    fn added_latency_is_what_the_direct_connection_does_not_have() {
        let mut table = Table::default();
        for (target, average) in
            [(Target::Direct, 50.0), (Target::HaProxy, 80.0), (Target::Split, 65.0)]
        {
            table.add(cell(target), 0, sample(1.0, average));
        }
        assert_eq!(table.added_latency_to_haproxy(cell(Target::Split)), Some(0.5));
    }
}
