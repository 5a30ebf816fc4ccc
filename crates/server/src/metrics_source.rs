//! What metrics and health are made from: this process, looked at from outside of its workers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use admin::statistics::{self, OfInterface, Seen};
use engine::first_bytes::HeaderCounts;
use engine::snapshot::Snapshot;
use engine::stats::{Collected, LogStreamRow, Parts};
use engine::vars::Vars;
use web::{Process, Serving, System, View, Web};

use crate::collector::Collector;
use crate::following::Following;
use crate::listening::Listening;
use crate::logs;
use crate::publisher::Publisher;

/// The process as it is seen.
pub(crate) struct MetricsSource {
    collector: Arc<Mutex<Collector>>,
    publisher: Arc<Publisher>,
    listening: Arc<Listening>,
    following: Arc<Following>,
    draining: AtomicBool,
    began: Instant,
}

impl MetricsSource {
    /// A process that begins now.
    pub(crate) fn new(
        collector: Arc<Mutex<Collector>>,
        publisher: Arc<Publisher>,
        listening: Arc<Listening>,
        following: Arc<Following>,
    ) -> Self {
        let (draining, began) = (AtomicBool::new(false), Instant::now());
        Self { collector, publisher, listening, following, draining, began }
    }

    /// How the logs of servers are followed.
    pub(crate) fn log_streams(&self) -> Vec<LogStreamRow> {
        self.following.rows()
    }

    /// No client is accepted any more.
    pub(crate) fn drains(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }
}

impl Process for MetricsSource {
    fn snapshot(&self) -> Arc<Snapshot> {
        self.publisher.current()
    }

    fn acceptor(&self) -> Option<Arc<tls::Acceptor>> {
        self.publisher.certificates().current()
    }

    fn header_counts(&self) -> Arc<HeaderCounts> {
        self.publisher.header_counts().clone()
    }

    fn look(&self, parts: Parts) -> View {
        // a collector is whole between its calls, whatever happened to the thread that held it
        let mut collector = self.collector.lock().unwrap_or_else(PoisonError::into_inner);
        let found = collector.collect(parts, LIMIT);
        drop(collector);
        let snapshot = self.publisher.current();
        View {
            status: status(&found.collected, &snapshot, self.publisher.checks()),
            collected: Arc::new(found.collected),
            workers: found.workers,
            answered: found.answered,
            snapshot,
            serving: match self.draining.load(Ordering::Relaxed) {
                true => Serving::Draining,
                false => self.listening.serving(),
            },
            uptime_s: self.began.elapsed().as_secs(),
            version: env!("CARGO_PKG_VERSION"),
            system: System::read(),
            certificates: ends_of(self.publisher.certificates().shown()),
            log_streams: self.log_streams(),
            log_lines_lost: logs::lines_lost(),
        }
    }
}

/// Until when certificates are good, by file.
fn ends_of(certificates: Vec<tls::Certificate>) -> Vec<(String, i64)> {
    certificates.into_iter().map(|it| (it.file, it.not_after_s)).collect()
}

/// Numbers of `stats_mysql_global` by name.
fn status(
    collected: &Collected,
    snapshot: &Snapshot,
    checks: monitor::Totals,
) -> BTreeMap<String, u64> {
    let pool_since = Mutex::default();
    let seen = Seen {
        collected,
        snapshot,
        unix_us: 0,
        pool_since: &pool_since,
        interface: OfInterface::default(),
        checks,
        runtime: None,
        reset: false,
    };
    let rows =
        statistics::rows_of("stats_mysql_global", &seen).map_or_else(Vec::new, |(_, rows)| rows);
    let pair = |row: statistics::Row| {
        let mut texts = row.into_iter().filter_map(|value| match value {
            statistics::Value::Text(text) => Some(text),
            _ => None,
        });
        Some((texts.next()?, texts.next()?.parse().ok()?))
    };
    let rules =
        ("mysql_query_rules_memory".to_owned(), statistics::bytes_of_rules(snapshot) as u64);
    rows.into_iter().filter_map(pair).chain([rules]).collect()
}

/// Starts the thread that shows the process, serving as the variables say.
pub(crate) fn show(metrics_source: Arc<MetricsSource>, vars: &Vars) -> std::io::Result<Web> {
    let web = Web::start(metrics_source, Arc::new(|line| tracing::warn!("{line}")))?;
    if let Err(reason) = follow(&web, vars) {
        tracing::warn!("{reason}");
    }
    Ok(web)
}

/// Serves metrics where the variables say; otherwise says why everything stays as it was.
pub(crate) fn follow(web: &Web, vars: &Vars) -> Result<(), String> {
    // the variable's range is that of ports
    let port = u16::try_from(vars.restapi_port).ok().filter(|_| vars.restapi_enabled);
    let place = port.map(|port| SocketAddr::new(vars.restapi_address, port));
    let before = web.address();
    let after = web.listen(place).map_err(|error| {
        format!("cannot listen on {}, port {}: {error}", vars.restapi_address, vars.restapi_port)
    })?;
    match after {
        Some(address) if before != after => tracing::info!(%address, "metrics and REST"),
        None if before.is_some() => tracing::info!("metrics and REST are off"),
        _ => {}
    }
    Ok(())
}

/// Time the workers have to answer.
const LIMIT: Duration = Duration::from_secs(2);
