//! What the administrative interface may ask of this process.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use admin::{Applied, Control, Kill, Runtime};
use engine::config_fault::ConfigFault;
use engine::orders::KillRequest;
use engine::snapshot::{Draft, Snapshot};
use engine::stats::{Collected, Parts};
use worker::Mail;

use crate::signals::Notice;
use crate::threads::Reach;

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

    fn notify(&self, notice: Notice) -> Result<u64, String> {
        let sent = lock(&self.notices).send(notice);
        sent.map(|()| 0).map_err(|_| "the process is ending already".to_owned())
    }
}

impl Runtime for Workers {
    fn current(&self) -> Arc<Draft> {
        self.reach.publisher.current().draft.clone()
    }

    fn apply(&self, draft: Draft) -> Result<Applied, Vec<ConfigFault>> {
        let compile = |before: &Snapshot| before.recompile(&draft);
        let published = self.reach.publisher.change(compile, |fault| vec![fault])?;
        let late = published.after_restart.iter().map(|late| ConfigFault {
            table: "global_variables",
            row: None,
            column: late.name.clone(),
            reason: late.to_string(),
        });
        let slow = published.unanswered.iter().map(|worker| ConfigFault {
            table: "runtime",
            row: None,
            column: String::new(),
            reason: format!("worker {worker} has not taken the configuration over yet"),
        });
        Ok(Applied { warnings: late.chain(slow).collect() })
    }

    fn collect(&self, parts: Parts) -> Collected {
        lock(&self.reach.collector).collect(parts, LIMIT).collected
    }

    fn kill(&self, id: u32, what: Kill) -> bool {
        let query_only = what == Kill::Query;
        let request = KillRequest { connection: id, query_only, user: None };
        // only the worker that has the session knows it; as with ProxySQL, none of them answers
        for mailbox in &self.reach.mailboxes {
            if mailbox.post(Mail::Kill(request.clone())).is_err() {
                tracing::warn!(id, "a worker's mailbox is full: KILL was not delivered");
            }
        }
        true
    }

    fn log(&self, text: &str) {
        tracing::info!("admin: {text}");
    }

    fn control(&self, order: Control) -> Result<u64, String> {
        match order {
            Control::ShutdownGraceful => self.stop(1),
            Control::Shutdown | Control::Kill => self.stop(2),
            Control::Restart => self.notify(Notice::Restart),
            Control::Pause => self.reach.doors.pause().map(|()| 0),
            Control::Resume => self.reach.doors.resume().map(|()| 0),
            Control::Stop => self.reach.doors.stop().map(|()| 0),
            Control::Start => self.reach.doors.start().map(|()| 0),
            // the log is the standard error stream, results and client errors are not kept
            Control::FlushLogs | Control::FlushQueryCache | Control::FlushClientHosts => Ok(0),
            Control::FlushDigests => {
                let parts = Parts { digests: true, reset: true, ..Parts::default() };
                drop(self.collect(parts));
                Ok(0)
            }
            Control::ReloadTls => {
                Err("this version has no TLS: there is nothing to read".to_owned())
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
