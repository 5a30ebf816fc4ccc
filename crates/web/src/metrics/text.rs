//! The text format: names, labels and numbers as lines.
//!
//! Written by hand because ProxySQL's names do not follow the rules that libraries enforce, such
//! as counters without `_total`.

use std::fmt::{Display, Write};

use engine::stats::BOUNDS_US;

use super::MetricKind;

/// A text that grows family by family.
#[derive(Default)]
pub(super) struct Text {
    out: String,
}

/// The series of one family.
pub(crate) struct Series<'a> {
    out: &'a mut String,
    name: &'static str,
    kind: MetricKind,
    help: &'static str,
    begun: bool,
}

impl Text {
    /// A family; its head is written with its first series.
    pub(super) fn family(
        &mut self,
        name: &'static str,
        kind: MetricKind,
        help: &'static str,
    ) -> Series<'_> {
        Series { out: &mut self.out, name, kind, help, begun: false }
    }

    /// All that was written.
    pub(super) fn finish(self) -> String {
        self.out
    }
}

impl Series<'_> {
    /// The only series of its family.
    pub(crate) fn one(&mut self, value: impl Display) {
        self.add(&[], value);
    }

    /// A series with labels.
    pub(crate) fn add(&mut self, labels: &[(&str, &dyn Display)], value: impl Display) {
        self.line("", labels, None, &value);
    }

    /// A distribution: counts by the bounds that all statistics have, and the sum of the times.
    pub(crate) fn histogram(
        &mut self,
        labels: &[(&str, &dyn Display)],
        buckets: &[u64],
        sum_us: u64,
    ) {
        let mut so_far = 0;
        for (at, count) in buckets.iter().enumerate() {
            so_far += count;
            let bound = BOUNDS_US.get(at).map(|us| seconds(*us));
            let bound = bound.unwrap_or_else(|| "+Inf".to_owned());
            self.line("_bucket", labels, Some(&bound), &so_far);
        }
        self.line("_sum", labels, None, &seconds(sum_us));
        self.line("_count", labels, None, &so_far);
    }

    fn line(
        &mut self,
        suffix: &str,
        labels: &[(&str, &dyn Display)],
        bound: Option<&str>,
        value: &dyn Display,
    ) {
        // writing to a text cannot fail
        if !self.begun {
            self.begun = true;
            let kind = match self.kind {
                MetricKind::Counter => "counter",
                MetricKind::Gauge => "gauge",
                MetricKind::Histogram => "histogram",
            };
            let (name, help) = (self.name, self.help);
            let _ = write!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        }
        let _ = write!(self.out, "{}{suffix}", self.name);
        let mut before = '{';
        let bound = bound.as_ref().map(|bound| ("le", bound as &dyn Display));
        // by name, as ProxySQL's library writes them
        let mut labels = labels.to_vec();
        labels.sort_by_key(|(label, _)| *label);
        for (label, value) in labels.into_iter().chain(bound) {
            let _ = write!(self.out, "{before}{label}=\"{}\"", escaped(&value.to_string()));
            before = ',';
        }
        if before == ',' {
            self.out.push('}');
        }
        let _ = writeln!(self.out, " {value}");
    }
}

/// Microseconds as seconds, exactly.
pub(crate) fn seconds(us: u64) -> String {
    let text = format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_prometheus_wants_them() {
        let mut text = Text::default();
        text.family("empty", MetricKind::Gauge, "Nothing.");
        text.family("plain", MetricKind::Counter, "A number.").one(7);
        let mut labelled = text.family("labelled", MetricKind::Gauge, "Two.");
        labelled.add(&[("b", &"x\"\\\ny"), ("a", &1)], 2.5);
        labelled.add(&[("a", &2)], 3);
        assert_eq!(
            text.finish(),
            "# HELP plain A number.\n# TYPE plain counter\nplain 7\n\
             # HELP labelled Two.\n# TYPE labelled gauge\n\
             labelled{a=\"1\",b=\"x\\\"\\\\\\ny\"} 2.5\nlabelled{a=\"2\"} 3\n"
        );
    }

    #[test]
    fn a_distribution_adds_up_to_infinity() {
        let mut text = Text::default();
        let buckets = [1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 4];
        text.family("h", MetricKind::Histogram, "Times.").histogram(
            &[("c", &"S")],
            &buckets,
            1_500_020,
        );
        let text = text.finish();
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(lines.len(), 14, "{text}");
        assert_eq!(lines[0], "h_bucket{c=\"S\",le=\"0.0001\"} 1");
        assert_eq!(lines[2], "h_bucket{c=\"S\",le=\"0.001\"} 3");
        assert_eq!(lines[10], "h_bucket{c=\"S\",le=\"10\"} 3");
        assert_eq!(lines[11], "h_bucket{c=\"S\",le=\"+Inf\"} 7");
        assert_eq!(lines[12..], ["h_sum{c=\"S\"} 1.50002", "h_count{c=\"S\"} 7"]);
    }
}
