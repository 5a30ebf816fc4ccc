//! The metrics as Prometheus reads them: which families there are, and their series now.
//!
//! What is the same as in ProxySQL has its name and labels; what is Tidegate's own begins with
//! `tidegate_`. A family without a series is left out whole.

mod always_zero_table;
mod families_table;
mod monitor_table;
mod own_table;
mod text;

use std::fmt::Display;

use engine::stats::{Parts, Walk};

use crate::view::View;
use text::{Series, Text};

/// What kind of numbers a family has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MetricKind {
    /// They only grow.
    Counter,
    /// They come and go.
    Gauge,
    /// Counts by upper bound.
    Histogram,
}

/// A family of metrics.
pub(crate) struct Family {
    /// Its name.
    pub(crate) name: &'static str,
    /// What numbers it has.
    pub(crate) kind: MetricKind,
    /// What they say.
    pub(crate) help: &'static str,
    /// Where they come from.
    pub(crate) source: FamilySource,
}

/// Where the numbers of a family come from.
pub(crate) enum FamilySource {
    /// Numbers of `stats_mysql_global`, each with the labels of its series.
    Status(&'static [(Labels, &'static str)]),
    /// Always 0.
    Nothing(&'static [Labels]),
    /// Anything else.
    Series(fn(&View, &mut Series<'_>)),
}

/// Labels that a series always has.
pub(crate) type Labels = &'static [(&'static str, &'static str)];

impl FamilySource {
    fn write(&self, view: &View, series: &mut Series<'_>) {
        match self {
            Self::Series(write) => write(view, series),
            Self::Nothing(all) => all.iter().for_each(|labels| series.add(&shown(labels), 0)),
            Self::Status(all) => {
                for (labels, name) in *all {
                    if let Some(number) = view.status.get(*name) {
                        series.add(&shown(labels), number);
                    }
                }
            }
        }
    }
}

fn shown(labels: Labels) -> Vec<(&'static str, &'static dyn Display)> {
    labels.iter().map(|(label, value)| (*label, value as _)).collect()
}

/// What workers are to be asked for.
pub const PARTS: Parts = Parts {
    commands: true,
    servers: true,
    errors: true,
    sessions: Some(Walk::SUMS),
    lanes: Some(Walk::SUMS),
    ..Parts::NONE
};

/// Everything, in Prometheus' text format 0.0.4.
pub fn text(view: &View) -> String {
    let mut text = Text::default();
    for family in all() {
        let mut series = text.family(family.name, family.kind, family.help);
        family.source.write(view, &mut series);
    }
    text.finish()
}

/// The names of all families, whether they have series now or not.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(|family| family.name)
}

fn all() -> impl Iterator<Item = &'static Family> {
    let known = [families_table::FAMILIES, monitor_table::FAMILIES, always_zero_table::FAMILIES];
    known.into_iter().flatten().chain(own_table::FAMILIES)
}

/// A family of counters.
const fn counter(
    name: &'static str,
    help: &'static str,
    series: fn(&View, &mut Series<'_>),
) -> Family {
    Family { name, kind: MetricKind::Counter, help, source: FamilySource::Series(series) }
}

/// A family of gauges.
const fn gauge(
    name: &'static str,
    help: &'static str,
    series: fn(&View, &mut Series<'_>),
) -> Family {
    Family { name, kind: MetricKind::Gauge, help, source: FamilySource::Series(series) }
}

/// A view of a process that has these rows and counted nothing.
#[cfg(test)]
pub(crate) fn sample(draft: &engine::snapshot::Draft) -> View {
    use std::sync::Arc;

    use engine::snapshot::Snapshot;
    use engine::stats::Collected;

    View {
        collected: Arc::new(Collected { now_us: 5_000_000, ..Collected::default() }),
        workers: 2,
        answered: 2,
        snapshot: Arc::new(Snapshot::compile(draft).expect("valid")),
        serving: crate::view::Serving::Open,
        status: [("Questions", 9)].map(|(name, number)| (name.to_owned(), number)).into(),
        uptime_s: 5,
        version: "0.1.0",
        system: crate::view::System { resident_bytes: 4096, open_files: 9, cpu_ms: 30 },
        certificates: vec![("/x/tidegate-cert.pem".to_owned(), 1_800_000_000)],
        log_streams: vec![engine::stats::LogStreamRow {
            hostgroup: 1,
            hostname: "db".to_owned(),
            port: 3306,
            state: "following",
            reason: String::new(),
            gtid: "0-1-7".to_owned(),
            position: "bin.000001:4".to_owned(),
            lag_ms: 12,
            events: 5,
            tables_changed: 4,
            all_changed: 3,
            reconnects: 2,
        }],
        log_lines_lost: 3,
    }
}

#[cfg(test)]
mod tests;
