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
use engine::snapshot::Snapshot;
use engine::topology::Topology;
use engine::vars::{AfterRestart, Vars};
use io::{Addr, Mailbox};
use worker::{Mail, Replaced, ServerAddresses};

use crate::addresses;
use crate::listening::{self, Listening};

/// Changes the configuration of the workers of this process.
pub(crate) struct Publisher {
    state: Mutex<State>,
    listening: Arc<Listening>,
    /// Time the workers have to take over.
    limit: Duration,
}

struct State {
    workers: Vec<Mailbox<Mail>>,
    snapshot: Arc<Snapshot>,
    addresses: Arc<ServerAddresses>,
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
        addresses: Arc<ServerAddresses>,
        listening: Arc<Listening>,
    ) -> Self {
        let (answer, answers) = channel();
        let state = State { workers, snapshot, addresses, change: 0, answer, answers };
        Self { state: Mutex::new(state), listening, limit: LIMIT }
    }

    /// The configuration in force.
    pub(crate) fn current(&self) -> Arc<Snapshot> {
        self.lock().snapshot.clone()
    }

    /// The configuration in force, where its servers are, and the number of its change.
    pub(crate) fn addresses(&self) -> (Arc<Snapshot>, Arc<ServerAddresses>, u64) {
        let state = self.lock();
        (state.snapshot.clone(), state.addresses.clone(), state.change)
    }

    /// Servers are elsewhere now, unless the configuration was changed since.
    pub(crate) fn relocate(&self, change: u64, moved: Vec<(usize, Option<Addr>)>) {
        let mut state = self.lock();
        if state.change != change {
            return;
        }
        state.addresses = Arc::new(state.addresses.with(moved));
        for mailbox in &state.workers {
            listening::post(mailbox, Mail::Addresses(state.addresses.clone()));
        }
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
        self.listening.follow(&state.snapshot.vars, &snapshot.vars).map_err(refuse)?;
        let unanswered = state.publish(Arc::new(snapshot), self.limit);
        Ok(Published { took: began.elapsed(), unanswered, after_restart })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // between two steps of a change everything is whole
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Hands a snapshot to every worker. Returns those that did not answer in time.
    fn publish(&mut self, snapshot: Arc<Snapshot>, limit: Duration) -> Vec<usize> {
        let deadline = Instant::now() + limit;
        let addresses = Arc::new(
            self.addresses.with(places_of_new(&self.snapshot.topology, &snapshot.topology)),
        );
        self.change += 1;
        let mut missing: Vec<usize> = (0..self.workers.len()).collect();
        for worker in &missing {
            self.tell(*worker, &snapshot, &addresses);
        }
        while !missing.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(answer) = self.answers.recv_timeout(left) else { break };
            if answer.change == self.change {
                missing.retain(|worker| *worker != answer.worker);
            }
        }
        self.snapshot = snapshot;
        self.addresses = addresses;
        missing
    }

    /// Mails a snapshot to a worker, which comes to it whatever else is in its mailbox.
    fn tell(&self, worker: usize, snapshot: &Arc<Snapshot>, addresses: &Arc<ServerAddresses>) {
        let (answer, change) = (self.answer.clone(), self.change);
        let tell = move |replaced| {
            drop(answer.send(Answer { change, worker, _replaced: replaced }));
        };
        let mail = Mail::Snapshot {
            snapshot: snapshot.clone(),
            addresses: addresses.clone(),
            backlog_max: backlog_max(&snapshot.vars),
            tell: Box::new(tell),
        };
        if let Some(mailbox) = self.workers.get(worker) {
            listening::post(mailbox, mail);
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

#[cfg(test)]
mod tests {
    use engine::proxy::{Offer, Proxy};
    use engine::snapshot::Draft;
    use io::{EpollDriver, Loop, Micros, Options};
    use worker::{Outside, Shared, Worker};

    use super::*;
    use crate::listeners::Listeners;

    /// The loop of a worker that has room for one message.
    fn busy(snapshot: &Arc<Snapshot>) -> Loop<EpollDriver, Worker> {
        let key = wire::auth::rsa::ServerKey::generate().expect("a key can be made");
        let offer = Arc::new(Offer::new(b"8.0.11", wire::Caps::PROTOCOL_41, key));
        let outside = Outside {
            shared: Arc::<Shared>::default(),
            addresses: Arc::default(),
            random: Box::new(|| [1; 20]),
            log: Box::new(|_| {}),
        };
        let worker = Worker::new(Proxy::new(snapshot.clone(), offer, 1, [0; 32]), outside, 1 << 16);
        let options = Options { mailbox_capacity: 1, ..Options::default() };
        let events = Loop::new(EpollDriver::new().expect("a driver"), worker, options);
        assert!(events.mailbox().post(Mail::Resume).is_ok(), "there is room for one");
        assert!(events.mailbox().post(Mail::Resume).is_err(), "and for no other");
        events
    }

    #[test]
    fn a_change_reaches_a_worker_that_was_busy_and_whose_mailbox_was_full() {
        let snapshot = Arc::new(Snapshot::compile(&Draft::default()).expect("valid"));
        let mut events = busy(&snapshot);
        let listeners = Listeners::open(&[], 1, 1).expect("nothing to open");
        let workers = vec![events.mailbox()];
        let listening = Arc::new(Listening::new(listeners, workers.clone(), &snapshot.vars));
        let mut publisher = Publisher::new(workers, snapshot, Arc::default(), listening);
        publisher.limit = Duration::from_millis(20);
        let published =
            publisher.change(|before| before.recompile(&Draft::default()), |it| vec![it]);
        assert_eq!(published.expect("valid").unanswered, [0]);
        publisher.relocate(1, vec![(0, Some(Addr::Unix("/run/db.sock".into())))]);
        publisher.relocate(0, vec![(0, None)]);
        let taken = |publisher: &Publisher| {
            let answers: Vec<_> = publisher.lock().answers.try_iter().collect();
            answers.iter().map(|answer| (answer.change, answer.worker)).collect::<Vec<_>>()
        };
        let mut all = taken(&publisher);
        assert!(all.is_empty());
        for _ in 0..10 {
            events.turn(Some(Micros(0)));
            all.append(&mut taken(&publisher));
        }
        assert_eq!(all, [(1, 0)]);
    }
}
