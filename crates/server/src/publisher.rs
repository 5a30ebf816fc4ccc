//! Brings another configuration into force while the process serves: all of it, on every worker, or
//! nothing.
//!
//! Compiling, looking names up and letting go of what was happen on the thread that asks; a worker
//! only takes over. Changes are made one after the other. Where a draft comes from is the caller's
//! business.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::config_fault::ConfigFault;
use engine::proxy::Replaced;
use engine::snapshot::Snapshot;
use engine::topology::Topology;
use engine::vars::{AfterRestart, Vars};
use io::{Addr, Mailbox};
use worker::{Mail, Places};

use crate::addresses;
use crate::doors::Doors;

/// Changes the configuration of the workers of this process.
pub(crate) struct Publisher {
    state: Mutex<State>,
    doors: Arc<Doors>,
}

struct State {
    workers: Vec<Mailbox<Mail>>,
    snapshot: Arc<Snapshot>,
    places: Arc<Places>,
    /// Number of the last change.
    change: u64,
    answer: Sender<Answer>,
    answers: Receiver<Answer>,
}

/// A worker has taken over; what it gave back is let go of here.
struct Answer {
    change: u64,
    worker: usize,
    _replaced: Replaced,
}

/// What came of a change.
#[derive(Debug)]
pub(crate) struct Published {
    /// Time from the beginning to the last worker's answer.
    pub(crate) took: Duration,
    /// Workers that have not taken over in time; they will when they come to it.
    pub(crate) unanswered: Vec<usize>,
    /// Variables that were changed and stay as they are until a restart.
    pub(crate) after_restart: Vec<AfterRestart>,
}

impl Publisher {
    /// Changes what `snapshot` says, which is in force on those workers.
    pub(crate) fn new(
        workers: Vec<Mailbox<Mail>>,
        snapshot: Arc<Snapshot>,
        places: Arc<Places>,
        doors: Arc<Doors>,
    ) -> Self {
        let (answer, answers) = channel();
        let state = State { workers, snapshot, places, change: 0, answer, answers };
        Self { state: Mutex::new(state), doors }
    }

    /// The configuration in force.
    pub(crate) fn current(&self) -> Arc<Snapshot> {
        self.lock().snapshot.clone()
    }

    /// Brings into force what `compile` makes to follow the configuration in force, and waits for
    /// the workers. When it fails nothing has changed; `refuse` makes an error of what keeps a
    /// valid configuration from coming into force.
    pub(crate) fn change<E>(
        &self,
        compile: impl FnOnce(&Snapshot) -> Result<Snapshot, E>,
        refuse: impl FnOnce(ConfigFault) -> E,
    ) -> Result<Published, E> {
        let began = Instant::now();
        let mut state = self.lock();
        let wanted = compile(&state.snapshot)?;
        let (snapshot, after_restart) = state.snapshot.at_run_time(wanted);
        self.doors.follow(&state.snapshot.vars, &snapshot.vars).map_err(refuse)?;
        let unanswered = state.publish(Arc::new(snapshot));
        Ok(Published { took: began.elapsed(), unanswered, after_restart })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // between two steps of a change everything is whole
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Hands a snapshot to every worker. Returns those that did not answer.
    fn publish(&mut self, snapshot: Arc<Snapshot>) -> Vec<usize> {
        let deadline = Instant::now() + LIMIT;
        let places =
            Arc::new(self.places.with(places_of_new(&self.snapshot.topology, &snapshot.topology)));
        self.change += 1;
        let mut missing: Vec<usize> = (0..self.workers.len()).collect();
        for worker in &missing {
            self.tell(*worker, &snapshot, &places, deadline);
        }
        while !missing.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(answer) = self.answers.recv_timeout(left) else { break };
            if answer.change == self.change {
                missing.retain(|worker| *worker != answer.worker);
            }
        }
        self.snapshot = snapshot;
        self.places = places;
        missing
    }

    /// Mails a snapshot to a worker; one whose mailbox is full is given time.
    fn tell(
        &self,
        worker: usize,
        snapshot: &Arc<Snapshot>,
        places: &Arc<Places>,
        deadline: Instant,
    ) {
        let (answer, change) = (self.answer.clone(), self.change);
        let tell = move |replaced| {
            drop(answer.send(Answer { change, worker, _replaced: replaced }));
        };
        let mut mail = Mail::Snapshot {
            snapshot: snapshot.clone(),
            places: places.clone(),
            backlog_max: backlog_max(&snapshot.vars),
            tell: Box::new(tell),
        };
        let Some(mailbox) = self.workers.get(worker) else { return };
        while let Err(back) = mailbox.post(mail) {
            if Instant::now() >= deadline {
                return;
            }
            mail = back;
            std::thread::sleep(FULL_WAIT);
        }
    }
}

/// Bytes of a reply that may wait for a slow client before its server is not read from.
pub(crate) fn backlog_max(vars: &Vars) -> usize {
    (vars.threshold_resultset_size as usize).min(BACKLOG_BYTES_MAX)
}

/// Where the servers of `after` are that are not in `before`, by their numbers; a name that has no
/// address is told, and its server cannot be reached.
pub(crate) fn places_of_new(
    before: &Topology,
    after: &Topology,
) -> impl Iterator<Item = (usize, Option<Addr>)> {
    let new = after.servers().iter().filter(|server| before.find(server.index).is_none());
    new.map(|server| match addresses::resolve(server) {
        Ok(addr) => (server.index, Some(addr)),
        Err(reason) => {
            tracing::warn!(%server, "{reason}");
            (server.index, None)
        }
    })
}

/// Bytes of a reply that may wait for a slow client before its server is not read from, however
/// high `mysql-threshold_resultset_size` is.
const BACKLOG_BYTES_MAX: usize = 64 << 10;

/// Time the workers have to take over.
const LIMIT: Duration = Duration::from_secs(5);

/// How long a worker with a full mailbox is left alone.
const FULL_WAIT: Duration = Duration::from_millis(1);
