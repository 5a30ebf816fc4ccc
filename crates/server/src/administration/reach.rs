//! What the administrative interface may ask of this process.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use admin::{Applied, Control, Kill, Runtime};
use engine::config_fault::ConfigFault;
use engine::orders::KillRequest;
use engine::snapshot::Draft;
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
        for _ in 0..times {
            let sent = lock(&self.notices).send(Notice::Stop);
            sent.map_err(|_| "the process is ending already".to_owned())?;
        }
        Ok(0)
    }
}

impl Runtime for Workers {
    fn current(&self) -> Arc<Draft> {
        self.reach.publisher.current().draft.clone()
    }

    fn apply(&self, draft: Draft) -> Result<Applied, Vec<ConfigFault>> {
        let published = self.reach.publisher.change(|before| before.recompile(&draft))?;
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

    fn control(&self, order: Control) -> Result<u64, String> {
        match order {
            Control::ShutdownGraceful => self.stop(1),
            Control::Shutdown | Control::Kill => self.stop(2),
            Control::Start => Err("ProxySQL already started".to_owned()),
            Control::FlushLogs => Ok(0),
            other => Err(format!("{other:?} is not possible in this version")),
        }
    }
}

/// What is locked is whole between calls, whatever happened to the thread that held it.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Time the workers have to answer.
const LIMIT: Duration = Duration::from_secs(2);
