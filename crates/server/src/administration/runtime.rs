//! What the administrative interface may ask of this process.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use admin::{Applied, Control, FailedClient, Kill, MakeDraft, Runtime};
use engine::caching::CachedOf;
use engine::config_fault::ConfigFault;
use engine::first_bytes::HeaderCounts;
use engine::ids::HostgroupId;
use engine::orders::{KillRequest, Whose};
use engine::proxy::Offer;
use engine::rows::{RestapiRouteRow, SchedulerRow};
use engine::snapshot::Snapshot;
use engine::stats::{Collected, LogStreamRow, Parts};
use engine::vars::{self, AfterRestart};
use failover::Journal;
use keeper::Endpoint;
use monitor::Logs;
use web::Process;
use worker::{HostErrors, Mail};

use crate::publisher::Holder;
use crate::signals::Notice;
use crate::threads::Reach;
use crate::{listening, metrics_source};

/// The workers of this process and its main thread.
pub(super) struct Workers {
    reach: Reach,
    notices: Mutex<Sender<Notice>>,
}

impl Workers {
    /// Workers that are reached like this.
    pub(super) fn new(reach: Reach, notices: Sender<Notice>) -> Self {
        Self { reach, notices: Mutex::new(notices) }
    }

    /// Asks the process to end; twice ends it at once.
    fn stop(&self, times: u32) -> Result<u64, String> {
        (0..times).try_for_each(|_| self.notify(Notice::Stop).map(drop))?;
        Ok(0)
    }

    /// What the workers answer to mail, in the time they have.
    fn ask<T: Send + 'static>(
        &self,
        mail: impl Fn(Box<dyn FnOnce(T) + Send>) -> Mail,
    ) -> impl Iterator<Item = T> {
        let (answer, answers) = channel();
        for mailbox in &self.reach.mailboxes {
            let answer = answer.clone();
            // whoever asked may have given up waiting
            let tell = Box::new(move |told| {
                let _ = answer.send(told);
            });
            listening::post(mailbox, mail(tell));
        }
        let deadline = Instant::now() + LIMIT;
        let left = move || deadline.saturating_duration_since(Instant::now());
        std::iter::from_fn(move || answers.recv_timeout(left()).ok())
    }

    fn notify(&self, notice: Notice) -> Result<u64, String> {
        let sent = lock(&self.notices).send(notice);
        sent.map(|()| 0).map_err(|_| "the process is ending already".to_owned())
    }
}

impl Runtime for Workers {
    fn snapshot(&self) -> Arc<Snapshot> {
        self.reach.publisher.current()
    }

    fn apply(&self, make: MakeDraft<'_>) -> Result<Applied, Vec<ConfigFault>> {
        let compile = |before: &Snapshot| before.recompile(&make(&before.draft)?);
        let published = self.reach.publisher.change(compile, |fault| vec![fault])?;
        let late = published.after_restart.iter().filter_map(|late| {
            let AfterRestart { running, wanted, .. } = late;
            let reason = format!("stays {running} until a restart; {wanted} is wanted");
            vars::find(&late.name).map(|variable| variable.fault(reason))
        });
        let slow = published.unanswered.iter().map(|worker| ConfigFault {
            table: "runtime",
            row: None,
            column: String::new(),
            reason: format!("worker {worker} has not taken the configuration over yet"),
        });
        let mut warnings: Vec<_> = late.chain(slow).collect();
        let vars = &self.reach.publisher.current().vars;
        if let Err(reason) = metrics_source::follow(&self.reach.web, vars) {
            warnings.push(ConfigFault {
                table: "admin_variables",
                row: None,
                column: "restapi_port".to_owned(),
                reason,
            });
        }
        Ok(Applied { warnings })
    }

    fn is_open(&self) -> bool {
        self.reach.listening.serving() == web::Serving::Open
    }

    fn metrics(&self) -> String {
        web::text(&self.reach.metrics_source.look(web::PARTS))
    }

    fn schedule(&self, rows: Vec<SchedulerRow>) {
        self.reach.web.set_schedule(rows);
    }

    fn route(&self, rows: Vec<RestapiRouteRow>) {
        self.reach.web.set_routes(rows);
    }

    fn offer(&self) -> Option<Arc<Offer>> {
        Some(self.reach.offer.clone())
    }

    fn log_streams(&self) -> Vec<LogStreamRow> {
        self.reach.metrics_source.log_streams()
    }

    fn certificates(&self) -> Vec<tls::Certificate> {
        self.reach.publisher.certificates().shown()
    }

    fn acceptor(&self) -> Option<Arc<tls::Acceptor>> {
        self.reach.publisher.certificates().current()
    }

    fn header_counts(&self) -> Arc<HeaderCounts> {
        self.reach.publisher.header_counts().clone()
    }

    fn failed_clients(&self, reset: bool) -> Vec<FailedClient> {
        let all = self.reach.hosts.rows(reset).into_iter();
        let row = |(address, errors): (_, HostErrors)| FailedClient {
            address,
            times: errors.count,
            updated_us: errors.updated_us,
        };
        all.map(row).collect()
    }

    fn logs(&self) -> Arc<Mutex<Logs>> {
        self.reach.publisher.logs()
    }

    fn latency_us(&self, server: &Endpoint) -> Option<u64> {
        self.reach.publisher.latency_us(server)
    }

    fn collect(&self, parts: Parts) -> Collected {
        lock(&self.reach.collector).collect(parts, LIMIT).collected
    }

    fn kill(&self, id: u32, what: Kill) -> bool {
        let query_only = what == Kill::Query;
        let request = KillRequest { whose: Whose::Connection(id), query_only, user: None };
        // only the worker that has the session knows it
        self.ask(|tell| Mail::KillNow { request: request.clone(), tell }).any(|found| found)
    }

    fn flush_cached(&self, some: &CachedOf) -> u64 {
        self.reach.offer.cache.flush_some(|key, about| some.has(key, about))
    }

    fn flush_connections(&self, user: Option<&str>) -> u64 {
        let user: Option<Arc<str>> = user.map(Into::into);
        let mail = |tell| Mail::FlushConnections { user: user.clone(), tell };
        self.ask(mail).sum()
    }

    fn log(&self, text: &str) {
        tracing::info!("admin: {text}");
    }

    fn switch_over(
        &self,
        hostgroup: u32,
        target: Option<Endpoint>,
        dry: bool,
    ) -> Result<u64, String> {
        self.reach.switching.order(hostgroup, target, dry)
    }

    fn switchovers(&self) -> Arc<Mutex<Journal>> {
        self.reach.switching.journal()
    }

    fn control(&self, order: Control) -> Result<u64, String> {
        match order {
            Control::ShutdownGraceful => self.stop(1),
            Control::Shutdown | Control::Kill => self.stop(2),
            Control::Restart => self.notify(Notice::Restart),
            Control::Pause => self.reach.listening.pause().map(|()| 0),
            Control::Resume => self.reach.listening.resume().map(|()| 0),
            Control::Stop => self.reach.listening.stop().map(|()| 0),
            Control::Start => self.reach.listening.start().map(|()| 0),
            // the log is the standard error stream
            Control::FlushLogs => Ok(0),
            Control::FlushQueryCache => Ok(self.reach.offer.cache.flush()),
            Control::FlushClientHosts => Ok(self.reach.hosts.rows(true).len() as u64),
            Control::Hold { hostgroup, seconds } => {
                let limit = Duration::from_secs(seconds.into());
                self.reach.publisher.hold(HostgroupId(hostgroup), Holder::Administrator, limit);
                Ok(0)
            }
            Control::Release { hostgroup } => {
                match self.reach.publisher.release(HostgroupId(hostgroup), Holder::Administrator) {
                    true => Ok(0),
                    false => Err(format!("hostgroup {hostgroup} is not held")),
                }
            }
            Control::FlushDigests => {
                let parts = Parts { digests: true, reset: true, ..Parts::default() };
                drop(self.collect(parts));
                Ok(0)
            }
            Control::ReloadTls => {
                let read = self.reach.publisher.reload_certificates();
                read.map(|()| 0).map_err(|fault| fault.to_string())
            }
        }
    }
}

/// What is locked is whole between calls, whatever happened to the thread that held it.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Time the workers have to answer.
const LIMIT: Duration = Duration::from_secs(2);
