//! What is counted of the scrapes themselves.

use std::fmt::Write;
use std::time::Duration;

/// Scrapes since the process began.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Exposer {
    scrapes: u64,
    bytes: u64,
    took: Duration,
}

impl Exposer {
    /// A scrape of so many bytes took so long.
    pub(crate) fn record(&mut self, bytes: usize, took: Duration) {
        self.scrapes += 1;
        self.bytes += bytes as u64;
        self.took += took;
    }

    /// Adds its metrics to a text.
    pub(crate) fn write(&self, text: &mut String) {
        let Self { scrapes, bytes, took } = self;
        let took = took.as_secs_f64();
        let head = |name: &str, kind: &str, help: &str| {
            format!("# HELP {name} {help}\n# TYPE {name} {kind}\n")
        };
        // writing to a text cannot fail
        let _ = write!(
            text,
            "{}exposer_transferred_bytes_total {bytes}\n{}exposer_scrapes_total {scrapes}\n\
             {}exposer_request_latencies_count {scrapes}\nexposer_request_latencies_sum {took}\n",
            head("exposer_transferred_bytes_total", "counter", "Bytes of all scrapes before."),
            head("exposer_scrapes_total", "counter", "Scrapes before this one."),
            head("exposer_request_latencies", "summary", "Seconds that scrapes took."),
        );
    }
}
