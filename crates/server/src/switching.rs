//! Orders to put another server in a primary's place: an administrator's, and `watch`'s own. Each
//! is carried out on a thread of its own while clients wait; a journal tells how far it is.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use engine::clusters;
use engine::ids::HostgroupId;
use engine::report::Printable;
use engine::rows::ReplicationClusterRow;
use engine::snapshot::Snapshot;
use engine::stats::Parts;
use engine::topology::{Placed, Stand, Status};
use failover::{Clients, FailoverStep, Former, Hooks, Journal, JournalEntry, Order, ServerAccount};
use keeper::Endpoint;
use web::Launcher;
use worker::ServerAddresses;

use crate::clock;
use crate::collector::Collector;
use crate::connections::{Connections, Names};
use crate::publisher::{Holder, Publisher};
use crate::switching::watch::Watched;

mod watch;

/// Carries out orders.
#[derive(Clone)]
pub(crate) struct Switching {
    publisher: Arc<Publisher>,
    collector: Arc<Mutex<Collector>>,
    journal: Arc<Mutex<Journal>>,
    /// Runs the programs of clusters.
    launcher: Launcher,
    /// Hostgroups of writers that an order is about now.
    busy: Arc<Mutex<BTreeSet<i64>>>,
    /// What is known of clusters that are not only observed.
    watched: Arc<Mutex<Watched>>,
    /// What replicas call their sources.
    names: Names,
    /// No more orders are taken.
    ends: Arc<AtomicBool>,
}

impl Switching {
    /// Switches what this publisher has in force.
    pub(crate) fn new(
        publisher: Arc<Publisher>,
        collector: Arc<Mutex<Collector>>,
        launcher: Launcher,
    ) -> Self {
        let (journal, busy, watched, names, ends) = Default::default();
        Self { publisher, collector, journal, launcher, busy, watched, names, ends }
    }

    /// What was done.
    pub(crate) fn journal(&self) -> Arc<Mutex<Journal>> {
        self.journal.clone()
    }

    /// Puts another server, that one or the best, in the place of a hostgroup's writer; gives the
    /// number by which the journal tells what becomes of that. `dry`: only says what it would be.
    pub(crate) fn order(
        &self,
        hostgroup: u32,
        target: Option<Endpoint>,
        dry: bool,
    ) -> Result<u64, String> {
        let (snapshot, addresses, _) = self.publisher.addresses();
        let writer = i64::from(hostgroup);
        let row = cluster(&snapshot, writer, dry)?;
        let order = order(&snapshot, row, target, dry)?;
        if let Some(why) = self.publisher.read_only_fails(&order.primary.server).filter(|_| !dry) {
            let primary = &order.primary.server;
            return Err(format!(
                "the check of {primary} fails, so that nobody would see it: {why}"
            ));
        }
        self.carry_out(row, order, (snapshot.clone(), addresses), move |order, servers, clients| {
            let done = failover::switch_over(order, servers, clients);
            let what = if order.dry { "dry run" } else { "switchover" };
            if let (Ok(done), false) = (&done, order.dry) {
                clients.switching.clone().lead_astray(writer, done);
            }
            clients.conclude(&order.primary.server, what, done.map(|done| done.new));
        })
    }

    /// Takes no more orders, and waits until none is being carried out; each has its limits.
    pub(crate) fn finish(&self) {
        self.ends.store(true, Ordering::Relaxed);
        let is_over = Held::until(FINISH, || lock(&self.busy).is_empty());
        if !is_over {
            tracing::error!("an order is not over: see which server is the primary");
        }
    }

    /// Connections to the servers of a cluster; none yet.
    fn connections(
        &self,
        known: (Arc<Snapshot>, Arc<ServerAddresses>),
        row: &ReplicationClusterRow,
        limit: Duration,
    ) -> Connections {
        let connectors = self.publisher.certificates().connectors();
        let account = ("tidegate_switchover", &*row.username, &*row.password);
        // what a statement may take, it may take whole
        Connections::new(known, connectors, self.names.clone(), account, limit + ANSWER)
    }

    /// Has an order carried out on a thread of its own; gives its number.
    fn carry_out(
        &self,
        row: &ReplicationClusterRow,
        order: Order,
        (snapshot, addresses): (Arc<Snapshot>, Arc<ServerAddresses>),
        work: impl FnOnce(&Order, &mut Connections, &mut Held) + Send + 'static,
    ) -> Result<u64, String> {
        let writer = row.writer_hostgroup;
        let hostgroup = HostgroupId(u32::try_from(writer).unwrap_or_default());
        if self.ends.load(Ordering::Relaxed) {
            return Err("the process ends".to_owned());
        }
        if !lock(&self.busy).insert(writer) {
            return Err(format!("hostgroup {writer} is being switched over already"));
        }
        let number = lock(&self.journal).begin();
        let limit = order.limit;
        let mut servers = self.connections((snapshot, addresses), row, limit);
        let began = Instant::now();
        let mut clients = Held {
            switching: self.clone(),
            hostgroup,
            limit,
            number,
            began,
            waited: None,
            has_run: false,
            told_at_once: true,
            untold: Vec::new(),
        };
        let this = self.clone();
        let run = move || {
            let carried_out = AssertUnwindSafe(|| work(&order, &mut servers, &mut clients));
            if catch_unwind(carried_out).is_err() {
                this.publisher.release(hostgroup, Holder::Order);
                tracing::error!(%hostgroup, "an order panicked: see which server is the primary");
            }
            lock(&this.busy).remove(&writer);
        };
        let spawned = thread::Builder::new().name("switchover".to_owned()).spawn(run);
        spawned.map(|_| number).map_err(|error| {
            lock(&self.busy).remove(&writer);
            format!("no thread can be started: {error}")
        })
    }
}

/// The row of a cluster that may be switched over.
fn cluster(snapshot: &Snapshot, writer: i64, dry: bool) -> Result<&ReplicationClusterRow, String> {
    let mut rows = snapshot.draft.replication_clusters.iter();
    let row = rows.find(|row| row.writer_hostgroup == writer).ok_or_else(|| {
        format!(
            "tidegate_replication_clusters has no row in force with the writer hostgroup {writer}"
        )
    })?;
    match row.mode == "observe" && !dry {
        true => Err("its mode is observe: only DRY RUN is allowed".to_owned()),
        false => Ok(row),
    }
}

/// What is to be done, by where servers stand now.
fn order(
    snapshot: &Snapshot,
    row: &ReplicationClusterRow,
    target: Option<Endpoint>,
    dry: bool,
) -> Result<Order, String> {
    if !snapshot.vars.monitor_enabled && !dry {
        return Err("mysql-monitor_enabled is false: nobody would see the new primary".to_owned());
    }
    let mut pairs = snapshot.clusters.pairs.iter();
    let pair = pairs.find(|pair| pair.writer == row.writer_hostgroup).ok_or("it is no pair")?;
    let writers: Vec<Endpoint> = servers_of(snapshot, pair.writer).collect();
    let [primary] = &*writers else {
        return Err(format!("{} servers take its writes, not one", writers.len()));
    };
    let readers = placed_in(snapshot, pair.reader);
    Ok(Order { target, dry, ..order_for(row, primary.clone(), readers) })
}

/// An order about a cluster with that primary and these readers.
fn order_for<'a>(
    row: &ReplicationClusterRow,
    primary: Endpoint,
    readers: impl Iterator<Item = &'a Placed>,
) -> Order {
    let mut readers: Vec<&Placed> = readers.collect();
    // of those that have the same, clients are to find one that serves now
    readers.sort_by_key(|placed| !placed.stand.serves());
    let (mut others, mut left_out) = (Vec::new(), BTreeMap::new());
    for placed in readers {
        let server = Endpoint::of(&placed.row);
        // what is only behind, or missed pings, is not so any more as a primary that answers
        let is_left_out = !matches!(placed.stand, Stand::Silent | Stand::Lagging { .. });
        if is_left_out && !placed.stand.serves() {
            let told = placed.stand.told();
            let why = format!("{told}: it {}, and would get no statements", placed.stand);
            left_out.insert(server.clone(), why);
        }
        if server != primary && !others.contains(&server) {
            others.push(server);
        }
    }
    // what is in force has been read before
    let program = |text: &str| clusters::program(text).unwrap_or_default();
    Order {
        writer_hostgroup: row.writer_hostgroup,
        hooks: Hooks { before: program(&row.before_program), after: program(&row.after_program) },
        primary: Former::unknown(primary),
        others,
        left_out,
        target: None,
        replication: ServerAccount {
            user: row.replication_username.clone(),
            password: row.replication_password.clone(),
        },
        limit: limit_of(row),
        dry: false,
    }
}

/// How long clients may wait for an order about a cluster.
fn limit_of(row: &ReplicationClusterRow) -> Duration {
    Duration::from_millis(u64::try_from(row.timeout_ms).unwrap_or_default())
}

/// The servers of a hostgroup that are wanted there.
fn servers_of(snapshot: &Snapshot, hostgroup: i64) -> impl Iterator<Item = Endpoint> {
    placed_in(snapshot, hostgroup).map(|placed| Endpoint::of(&placed.row))
}

/// The same with how they stand. One that its operator has set to something else is not asked, so
/// that nothing is known of it.
fn placed_in(snapshot: &Snapshot, hostgroup: i64) -> impl Iterator<Item = &Placed> + Clone {
    snapshot.placed.iter().filter(move |placed| {
        placed.row.hostgroup_id == hostgroup && Status::Online.is_set(&placed.row)
    })
}

/// Clients that wait.
struct Held {
    switching: Switching,
    hostgroup: HostgroupId,
    limit: Duration,
    number: u64,
    began: Instant,
    /// How long clients did, once they no longer do.
    waited: Option<Duration>,
    /// A program of the cluster has run.
    has_run: bool,
    /// Steps are told as they are made. What is found out before anything is done may be no news.
    told_at_once: bool,
    untold: Vec<FailoverStep>,
}

impl Held {
    /// Keeps steps to itself until something is done, or it is concluded.
    fn quietly(&mut self) {
        self.told_at_once = false;
    }

    /// Notes how it ended, and for how long.
    fn conclude(&mut self, server: &Endpoint, what: &str, done: Result<Endpoint, String>) {
        let server = done.as_ref().unwrap_or(server).clone();
        let took_ms = self.waited.unwrap_or_else(|| self.began.elapsed()).as_millis();
        let outcome = done.map(|_| match what {
            "dry run" => "it would be the primary".to_owned(),
            _ => format!("it is the primary, after {took_ms} ms"),
        });
        self.tell_all();
        self.tell(FailoverStep { server, what: what.to_owned(), outcome });
    }

    fn tell_all(&mut self) {
        self.told_at_once = true;
        std::mem::take(&mut self.untold).into_iter().for_each(|step| self.tell(step));
    }

    fn tell(&mut self, step: FailoverStep) {
        let FailoverStep { server, what, outcome } = &step;
        let hostgroup = self.hostgroup;
        match outcome {
            Ok(told) => tracing::info!(%hostgroup, %server, told, "switching: {what}"),
            Err(why) => {
                let why = Printable(why);
                tracing::warn!(%hostgroup, %server, "switching: {what}: {why}");
            }
        }
        let hostgroup = hostgroup.0;
        let entry = JournalEntry { order: self.number, hostgroup, at_us: clock::unix_us(), step };
        lock(&self.switching.journal).note(entry);
    }

    /// Waits until something is so.
    fn until(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            if is_so() {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(PAUSE);
        }
    }

    /// Connections of the hostgroup that are in use; a worker that does not say counts as one.
    fn in_use(&self) -> u64 {
        let parts = Parts { servers: true, ..Parts::NONE };
        let found = lock(&self.switching.collector).collect(parts, self.limit);
        let servers = found.collected.servers.values();
        let here = servers.filter(|share| share.server.hostgroup == self.hostgroup);
        let used: u64 = here.map(|it| u64::from(it.counters.open.saturating_sub(it.idle))).sum();
        used + (found.workers - found.answered) as u64
    }
}

impl Clients for Held {
    fn hold(&mut self) {
        self.began = Instant::now();
        self.switching.publisher.hold(self.hostgroup, Holder::Order, self.limit + LONGER);
        self.tell_all();
    }

    fn drain(&mut self, limit: Duration) -> u64 {
        let mut left = 0;
        Self::until(limit, || {
            left = self.in_use();
            left == 0
        });
        left
    }

    fn await_writer(&mut self, server: &Endpoint, limit: Duration) -> bool {
        let publisher = &self.switching.publisher;
        let writer = i64::from(self.hostgroup.0);
        Self::until(limit, || {
            let snapshot = publisher.current();
            let mut is_only = false;
            for placed in placed_in(&snapshot, writer) {
                let here = Endpoint::of(&placed.row);
                is_only = here == *server && placed.stand == Stand::Well;
                if !is_only {
                    publisher.look(here);
                    break;
                }
            }
            if !is_only {
                publisher.look(server.clone());
            }
            is_only
        })
    }

    fn release(&mut self) {
        self.waited = Some(self.began.elapsed());
        self.switching.publisher.release(self.hostgroup, Holder::Order);
    }

    fn depose(&mut self, server: &Endpoint, is_deposed: bool) {
        self.switching.publisher.depose(server, is_deposed);
    }

    fn run_program(
        &mut self,
        words: &[String],
        environment: Vec<(String, String)>,
    ) -> Result<String, String> {
        self.has_run = true;
        self.tell_all();
        self.switching.launcher.run(words, environment, PROGRAM)
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn note(&mut self, step: FailoverStep) {
        match self.told_at_once {
            true => self.tell(step),
            false => self.untold.push(step),
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long the end of the process waits for an order.
const FINISH: Duration = Duration::from_secs(60);

/// How long an answer may take beyond the limit that a statement has.
const ANSWER: Duration = Duration::from_secs(2);

/// How long a program may run before it is ended.
const PROGRAM: Duration = Duration::from_secs(30);

/// Between two looks at what is waited for.
const PAUSE: Duration = Duration::from_millis(20);

/// How much longer a hostgroup is held than an order may take: it is released by hand before.
const LONGER: Duration = Duration::from_secs(30);
