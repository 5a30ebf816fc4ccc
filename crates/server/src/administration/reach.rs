//! What the administrative interface may ask of this process.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use admin::{Applied, Control, Kill, Runtime};
use engine::config_fault::ConfigFault;
use engine::orders::KillRequest;
use engine::snapshot::{Draft, Snapshot};
use engine::stats::{Collected, Parts};
use io::Mailbox;
use worker::Mail;

use super::Reach;
use crate::collector::Collector;
use crate::signals::Notice;

/// The workers of this process and its main thread.
pub(super) struct Workers {
    draft: Mutex<Arc<Draft>>,
    mailboxes: Vec<Mailbox<Mail>>,
    collector: Arc<Mutex<Collector>>,
    notices: Mutex<Sender<Notice>>,
}

impl Workers {
    /// Workers that run `draft`.
    pub(super) fn new(draft: Draft, reach: Reach, notices: Sender<Notice>) -> Self {
        let (mailboxes, collector) = reach;
        let (draft, notices) = (Mutex::new(Arc::new(draft)), Mutex::new(notices));
        Self { draft, mailboxes, collector, notices }
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
        lock(&self.draft).clone()
    }

    fn apply(&self, draft: Draft) -> Result<Applied, Vec<ConfigFault>> {
        Snapshot::compile(&draft)?;
        let mut current = lock(&self.draft);
        let (mut faults, mut warnings) = (Vec::new(), Vec::new());
        for (table, changed) in [
            ("mysql_servers", current.servers != draft.servers),
            ("mysql_users", current.users != draft.users),
            ("mysql_query_rules", current.rules != draft.rules),
            ("mysql_query_rules_fast_routing", current.fast_routing != draft.fast_routing),
            ("global_variables", of_clients(&current) != of_clients(&draft)),
        ] {
            if changed {
                faults.push(fault(table, "", "acts only after SAVE … TO DISK and a restart"));
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let interfaces = |draft: &Draft| {
            let found = draft.variables.iter().rev().find(|(name, _)| name == INTERFACES);
            found.map(|(_, value)| value.clone())
        };
        if interfaces(&current) != interfaces(&draft) {
            let reason = "is listened on after a restart";
            warnings.push(fault("admin_variables", "mysql_ifaces", reason));
        }
        *current = Arc::new(draft);
        Ok(Applied { warnings })
    }

    fn collect(&self, parts: Parts) -> Collected {
        lock(&self.collector).collect(parts, LIMIT).collected
    }

    fn kill(&self, id: u32, what: Kill) -> bool {
        let query_only = what == Kill::Query;
        let request = KillRequest { connection: id, query_only, user: None };
        // only the worker that has the session knows it; as with ProxySQL, none of them answers
        for mailbox in &self.mailboxes {
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

/// Variables that workers look at, in no order.
fn of_clients(draft: &Draft) -> Vec<(&str, String)> {
    let mut pairs: Vec<(&str, String)> = Vec::new();
    for (name, text) in &draft.variables {
        if let Ok((variable, value)) = engine::vars::parse(name, text)
            && variable.family == engine::vars::Family::Mysql
            && value != variable.default_value()
        {
            pairs.retain(|(other, _)| other != name);
            pairs.push((name, value.to_string()));
        }
    }
    pairs.sort();
    pairs
}

fn fault(table: &'static str, column: &str, reason: &str) -> ConfigFault {
    ConfigFault { table, row: None, column: column.to_owned(), reason: reason.to_owned() }
}

/// What is locked is whole between calls, whatever happened to the thread that held it.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the interface listens.
const INTERFACES: &str = "admin-mysql_ifaces";
/// Time the workers have to answer.
const LIMIT: Duration = Duration::from_secs(2);
