//! Brings another configuration into force while the process serves: all of it, on every worker, or
//! nothing.
//!
//! Compiling, looking names up and letting go of what was happen on the thread that asks; a worker
//! only takes over. Changes are made one after the other. Where a draft comes from is the caller's
//! business.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cache::QueryCache;
use engine::clusters;
use engine::config_fault::ConfigFault;
use engine::first_bytes::HeaderCounts;
use engine::ids::HostgroupId;
use engine::report::Printable;
use engine::snapshot::Snapshot;
use engine::topology::{Server, ServerRef, Topology};
use engine::vars::{AfterRestart, Vars};
use io::{Addr, Mailbox};
use keeper::{Endpoint, Keeper, KeeperInput, Report, Seen, StatusChange, Wanted};
use monitor::{Check, CheckFound, Checked, Logs, Plan, Totals};
use worker::{Mail, Replaced, ServerAddresses};

use crate::addresses;
use crate::certificates::Certificates;
use crate::clock::unix_us;
use crate::listening::{self, Listening};
use crate::recording::Recording;

/// Changes the configuration of the workers of this process.
pub(crate) struct Publisher {
    state: Mutex<State>,
    listening: Arc<Listening>,
    certificates: Certificates,
    /// Time the workers have to take over.
    limit: Duration,
    /// What checks came to, and what followed from them.
    logs: Arc<Mutex<Logs>>,
    /// Headers of the PROXY protocol at the ports of administrators and of HTTP.
    headers: Arc<HeaderCounts>,
}

/// The holder of a hostgroup: each releases what is its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Holder {
    Administrator,
    Order,
}

struct State {
    workers: Vec<Mailbox<Mail>>,
    snapshot: Arc<Snapshot>,
    addresses: Arc<ServerAddresses>,
    /// Decides where servers stand.
    keeper: Keeper,
    /// What it is told, to be replayed.
    recording: Recording,
    /// Hostgroups that are held, by which holder, and until when.
    held: BTreeMap<(HostgroupId, Holder), Instant>,
    /// Hostgroups of writers that are held because it is not known yet which server takes writes.
    unknown: BTreeMap<HostgroupId, Instant>,
    /// The mailbox of the monitor, which checks servers.
    monitor: Option<Mailbox<monitor::MonitorMail>>,
    /// Answers that the workers keep.
    cache: Arc<QueryCache>,
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
    /// Changes what `snapshot` says, which is in force on those workers, with the servers where
    /// `keeper` has them.
    pub(crate) fn new(
        workers: Vec<Mailbox<Mail>>,
        (snapshot, keeper): (Arc<Snapshot>, Keeper),
        addresses: Arc<ServerAddresses>,
        (listening, certificates, cache): (Arc<Listening>, Certificates, Arc<QueryCache>),
    ) -> Self {
        let (answer, answers) = channel();
        let until = Instant::now() + KNOWN_WITHIN;
        let state = State {
            workers,
            unknown: snapshot.held.iter().map(|hostgroup| (*hostgroup, until)).collect(),
            held: BTreeMap::new(),
            recording: Recording::of(&snapshot.vars, &keeper),
            snapshot,
            addresses,
            keeper,
            monitor: None,
            cache,
            change: 0,
            answer,
            answers,
        };
        let (state, logs, headers) = (Mutex::new(state), Arc::default(), Arc::default());
        Self { state, listening, certificates, limit: LIMIT, logs, headers }
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
        state.cache.follows().note_move();
        for mailbox in &state.workers {
            listening::post(mailbox, Mail::Addresses(state.addresses.clone()));
        }
        state.plan_checks();
    }

    /// A name that workers asked for has this address, or none.
    pub(crate) fn tell_found(&self, name: &Arc<str>, addr: Option<IpAddr>) {
        for mailbox in &self.lock().workers {
            listening::post(mailbox, Mail::LookedUp(name.clone(), addr));
        }
    }

    /// The checks that the configuration in force asks for.
    pub(crate) fn plan(&self) -> Plan {
        self.lock().plan()
    }

    /// The monitor reads there, and is told of every change from now on.
    pub(crate) fn tell_monitor(&self, monitor: Mailbox<monitor::MonitorMail>) {
        let mut state = self.lock();
        state.monitor = Some(monitor);
        state.plan_checks();
    }

    /// The monitor is to end.
    pub(crate) fn stop_monitor(&self) {
        if let Some(monitor) = self.lock().monitor.take() {
            listening::post(&monitor, monitor::MonitorMail::Stop);
        }
    }

    /// A server is to be checked at once.
    pub(crate) fn look(&self, server: Endpoint) {
        if let Some(monitor) = &self.lock().monitor {
            listening::post(monitor, monitor::MonitorMail::Look(server));
        }
    }

    /// A check of a server has come to something: what follows comes into force.
    pub(crate) fn hear(&self, mut checked: Checked) {
        let mut state = self.lock();
        let history_us = state.snapshot.vars.monitor_history_ms * 1_000;
        let (server, seen) = (checked.server.clone(), checked.seen.take());
        let report = seen.map(|seen| Report { at_us: unix_us(), server, seen });
        let state = &mut *state;
        let measured = report.as_ref().and_then(Measured::of);
        let events = report.map(|report| state.tell_keeper(KeeperInput::Hear(report)));
        match measured {
            Some(Measured::Latency(server)) => state.tell_latency(&server),
            Some(Measured::Lag(server)) => state.tell_lags(|own| is_at(own, &server)),
            Some(Measured::Lags) => state.tell_lags(|_| true),
            None => {}
        }
        let keeper = &state.keeper;
        if let (Check::Aurora(writer), Ok(CheckFound::Aurora(replicas))) =
            (checked.check, &mut checked.found)
        {
            for replica in replicas {
                let lag_ms = keeper.aurora_lag_ms(writer, &replica.instance.server_id);
                replica.estimated_lag_ms = lag_ms.unwrap_or(0);
            }
        }
        lock(&self.logs).push(&checked, history_us);
        let Some(events) = events else { return };
        let known: Vec<_> = (state.unknown.keys().copied())
            .filter(|writer| keeper.knows_pair(i64::from(writer.0)))
            .collect();
        self.place(state, events, A_MOMENT);
        state.release_known(known);
    }

    /// A server was replaced as the primary, and is left out, or with `false` no longer. When this
    /// returns the workers have taken over.
    pub(crate) fn depose(&self, server: &Endpoint, is_deposed: bool) {
        let mut state = self.lock();
        let (at_us, server) = (unix_us(), server.clone());
        let events = state.tell_keeper(KeeperInput::Depose { at_us, server, is_deposed });
        self.place(&mut state, events, self.limit);
    }

    /// Brings into force what the keeper has decided.
    fn place(&self, state: &mut State, events: Vec<StatusChange>, limit: Duration) {
        if events.is_empty() {
            return;
        }
        let before = &state.snapshot;
        match Snapshot::clone(before).place(state.keeper.decided(), before) {
            Ok(snapshot) => {
                self.note(events);
                for worker in state.publish(Arc::new(snapshot), limit) {
                    tracing::info!(worker, "has not taken over yet where servers stand");
                }
            }
            // rows are copies of valid ones
            Err(faults) => faults.iter().for_each(|fault| tracing::error!("{fault}")),
        }
    }

    /// Nothing new begins in a hostgroup, for so long at most.
    pub(crate) fn hold(&self, hostgroup: HostgroupId, by: Holder, limit: Duration) {
        let mut state = self.lock();
        state.held.insert((hostgroup, by), Instant::now() + limit);
        tracing::info!(%hostgroup, seconds = limit.as_secs(), "the hostgroup is held");
        state.publish_held(self.limit);
    }

    /// Everything begins there again, unless another holder holds it too; `false` where nothing was
    /// held.
    pub(crate) fn release(&self, hostgroup: HostgroupId, by: Holder) -> bool {
        let mut state = self.lock();
        let was_held = state.held.remove(&(hostgroup, by)).is_some();
        if was_held {
            tracing::info!(%hostgroup, "the hostgroup is released");
            state.publish_held(self.limit);
        }
        was_held
    }

    /// Releases what was held for too long.
    pub(crate) fn release_forgotten(&self) {
        let mut state = self.lock();
        let now = Instant::now();
        let forgotten: Vec<_> =
            state.held.extract_if(.., |_, until| *until <= now).map(|(it, _)| it).collect();
        let overdue = state.unknown.extract_if(.., |_, until| *until <= now).count();
        if forgotten.is_empty() && overdue == 0 {
            return;
        }
        for (hostgroup, _) in forgotten {
            tracing::warn!(%hostgroup, "the hostgroup was held too long, and is released");
        }
        state.publish_held(A_MOMENT);
    }

    /// Why the last check for `read_only` of a server came to nothing, if so.
    pub(crate) fn read_only_fails(&self, server: &Endpoint) -> Option<String> {
        let logs = lock(&self.logs);
        let mut checks = logs.of(Check::ReadOnly(clusters::Check::ReadOnly)).rev();
        let last = checks.find(|entry| entry.server == *server)?;
        last.found.as_ref().err().map(ToString::to_string)
    }

    /// What TLS is made from, on either side.
    pub(crate) fn certificates(&self) -> &Certificates {
        &self.certificates
    }

    /// Headers of the PROXY protocol that no worker counts.
    pub(crate) fn header_counts(&self) -> &Arc<HeaderCounts> {
        &self.headers
    }

    /// What checks came to, and what followed from them.
    pub(crate) fn logs(&self) -> Arc<Mutex<Logs>> {
        self.logs.clone()
    }

    /// How many checks there were, and changes that followed from them.
    pub(crate) fn checks(&self) -> Totals {
        lock(&self.logs).totals()
    }

    /// The mean of what the last pings of a server took, in microseconds.
    pub(crate) fn latency_us(&self, server: &Endpoint) -> Option<u64> {
        self.lock().keeper.latency_us(server)
    }

    /// Whether a server answers its pings.
    pub(crate) fn answers(&self, server: &Endpoint) -> bool {
        self.lock().keeper.answers(server)
    }

    fn note(&self, events: Vec<StatusChange>) {
        let mut logs = lock(&self.logs);
        for event in events {
            let StatusChange { hostgroup, server, from, to, reason, .. } = &event;
            let status = |status: &Option<String>| status.clone().unwrap_or("not there".into());
            let (from, to) = (status(from), status(to));
            tracing::info!(hostgroup, %server, from, to, "topology: {}", Printable(reason));
            logs.note(event);
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
        let mut keeper = state.keeper.clone();
        let input = KeeperInput::Adopt { at_us: unix_us(), wanted: Wanted::of(&snapshot) };
        let events = keeper.take(&input);
        let snapshot = match snapshot.place(keeper.decided(), &state.snapshot) {
            Ok(snapshot) => snapshot,
            Err(faults) => return Err(refuse(misplaced(faults))),
        };
        let (before, after) = (&state.snapshot.vars, &snapshot.vars);
        let secured = self.certificates.prepare(&state.snapshot, &snapshot);
        let listens = |secured| self.listening.follow(before, after).map(|()| secured);
        self.certificates.take_over(secured.and_then(listens).map_err(refuse)?, &snapshot);
        state.recording.note(input, &events, &keeper);
        state.recording.follow(&snapshot.vars, &keeper);
        state.keeper = keeper;
        self.note(events);
        state.cache.set_limit(snapshot.vars.query_cache_bytes());
        let unanswered = state.publish(Arc::new(snapshot), self.limit);
        Ok(Published { took: began.elapsed(), unanswered, after_restart })
    }

    /// Reads all files of TLS again that the configuration in force names, while no other comes
    /// into force. When that fails, nothing has changed.
    pub(crate) fn reload_certificates(&self) -> Result<(), ConfigFault> {
        self.certificates.reload(&self.lock().snapshot)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// What a report says that workers choose servers by.
enum Measured {
    /// How long the pings of a server take.
    Latency(Endpoint),
    /// How far a server is behind.
    Lag(Endpoint),
    /// How far several are.
    Lags,
}

impl Measured {
    fn of(report: &Report) -> Option<Self> {
        match &report.seen {
            Seen::Ping(Ok(_)) => Some(Self::Latency(report.server.clone())),
            Seen::Lag(..) => Some(Self::Lag(report.server.clone())),
            Seen::Aurora(..) => Some(Self::Lags),
            _ => None,
        }
    }
}

/// Whether a server is the one that is checked there.
fn is_at(server: &ServerRef, place: &Endpoint) -> bool {
    i64::from(server.port) == place.port && server.hostname == place.hostname
}

/// Between two steps of a change everything is whole, whatever happened to the thread that made it.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Tells the keeper something, and gives what follows.
    fn tell_keeper(&mut self, input: KeeperInput) -> Vec<StatusChange> {
        let events = self.keeper.take(&input);
        self.recording.note(input, &events, &self.keeper);
        events
    }

    /// Hands a snapshot to every worker. Returns the workers that did not answer in time.
    fn publish(&mut self, snapshot: Arc<Snapshot>, limit: Duration) -> Vec<usize> {
        let deadline = Instant::now() + limit;
        let (before, after) = (&self.snapshot.topology, &snapshot.topology);
        let addresses = self.addresses.with(places_of_new((before, &self.addresses), after));
        let addresses = Arc::new(addresses);
        self.change += 1;
        if !Arc::ptr_eq(before, after) || !Arc::ptr_eq(&self.snapshot.clusters, &snapshot.clusters)
        {
            self.cache.follows().note_move();
        }
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
        // what is new to a hostgroup may be known from another one
        self.tell_lags(|_| true);
        self.plan_checks();
        missing
    }

    /// Workers may choose by how long the pings of a server take.
    fn tell_latency(&self, server: &Endpoint) {
        let Some(ping_us) = self.keeper.latency_us(server) else { return };
        let servers = self.snapshot.topology.servers().iter();
        let servers = servers.filter(|own| is_at(own, server));
        servers.for_each(|server| server.gauge.note_ping_us(ping_us));
    }

    /// Workers choose by how far these servers are behind, where a query asks for that.
    fn tell_lags(&self, is_one: impl Fn(&ServerRef) -> bool) {
        for server in self.snapshot.topology.servers().iter().filter(|server| is_one(server)) {
            let place = Endpoint { hostname: server.hostname.clone(), port: server.port.into() };
            let lag_us = self.keeper.lag_us(server.hostgroup.0.into(), &place);
            server.gauge.note_lag_us(lag_us.unwrap_or(0));
        }
    }

    /// It is known which servers take the writes of these hostgroups.
    fn release_known(&mut self, known: Vec<HostgroupId>) {
        if !known.is_empty() {
            self.unknown.retain(|hostgroup, _| !known.contains(hostgroup));
            self.publish_held(A_MOMENT);
        }
    }

    /// Hands every worker the hostgroups that are held.
    fn publish_held(&mut self, limit: Duration) {
        let held = self.held.keys().map(|(hostgroup, _)| hostgroup);
        let held = held.chain(self.unknown.keys()).copied().collect();
        let snapshot = Snapshot::clone(&self.snapshot).holding(held);
        for worker in self.publish(Arc::new(snapshot), limit) {
            tracing::warn!(worker, "has not taken over yet which hostgroups are held");
        }
    }

    fn plan(&self) -> Plan {
        Plan::of(&self.snapshot, |server| self.addresses.find(server).cloned())
    }

    /// Tells the monitor what is to be checked.
    fn plan_checks(&self) {
        if let Some(monitor) = &self.monitor {
            listening::post(monitor, monitor::MonitorMail::Plan(Box::new(self.plan())));
        }
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

/// Bytes of a reply that may wait for a slow client before its server is not read from. They are a
/// share of what a client gets in a second, where that is limited and such a share is told.
pub(crate) fn backlog_max(vars: &Vars) -> usize {
    let most = (vars.threshold_resultset_size as usize).min(BACKLOG_BYTES_MAX);
    match (vars.bytes_per_s_to_client, vars.ratio_server_to_client) {
        (0, _) | (_, 0) => most,
        (rate, pct) => most.min((u64::from(rate) * u64::from(pct) / 100) as usize),
    }
}

/// Where the servers of `after` are that are not in `before`, by their numbers: where they are in
/// another hostgroup already, or where their name says. A name that has no address is told, and its
/// server cannot be reached.
pub(crate) fn places_of_new(
    (before, addresses): (&Topology, &ServerAddresses),
    after: &Topology,
) -> impl Iterator<Item = (usize, Option<Addr>)> {
    let new = after.servers().iter().filter(|server| before.find(server.index).is_none());
    new.map(|server| {
        let is_same = |own: &&Server| own.hostname == server.hostname && own.port == server.port;
        let mut same = before.servers().iter().map(|own| &**own).filter(is_same);
        let known = same.find_map(|own| addresses.find(own).cloned());
        match known.map_or_else(|| addresses::resolve(server), Ok) {
            Ok(addr) => (server.index, Some(addr)),
            Err(reason) => {
                tracing::warn!(%server, "{reason}");
                (server.index, None)
            }
        }
    })
}

/// What is wrong with rows that the keeper made of valid ones.
fn misplaced(faults: Vec<ConfigFault>) -> ConfigFault {
    let mut reasons = faults.iter().map(ToString::to_string);
    ConfigFault {
        table: "mysql_servers",
        row: None,
        column: String::new(),
        reason: reasons.next().unwrap_or_default(),
    }
}

/// Bytes of a reply that may wait for a slow client before its server is not read from, however
/// high `mysql-threshold_resultset_size` is.
const BACKLOG_BYTES_MAX: usize = 64 << 10;

/// Time in which the first checks say which server takes writes; after it, the one that is typed as
/// a writer does.
const KNOWN_WITHIN: Duration = Duration::from_millis(1_500);

/// Time they have where others wait for the next check.
const A_MOMENT: Duration = Duration::from_millis(100);

/// Time the workers have to take over.
const LIMIT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;
