//! Clusters that fail over by themselves: who their primary was, and when another server is put in
//! its place. The keeper says that nobody takes writes; `failover` asks others whether that is so.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use engine::rows::ReplicationClusterRow;
use engine::snapshot::Snapshot;
use engine::topology::Stand;
use failover::{Clients, Failed, Order, Step};
use keeper::Endpoint;

use super::{Switching, lock, order_for, servers_of};

/// What is known of each cluster, by its hostgroup of writers.
pub(super) type Watched = BTreeMap<i64, Cluster>;

/// What is known of a cluster.
#[derive(Default)]
pub(super) struct Cluster {
    /// The last server that took its writes.
    primary: Option<Endpoint>,
    /// Those that were replaced and have not come back, each with what was told of it last.
    deposed: BTreeMap<Endpoint, String>,
    /// Why no failover came of it the last time.
    told: String,
    /// Nothing is tried before that.
    not_before: Option<Instant>,
    /// No other server is put in the primary's place before that.
    calm_until: Option<Instant>,
    /// A server that may be open: nobody else is opened by us.
    halted: Option<Endpoint>,
}

impl Switching {
    /// Watches until the process ends.
    pub(crate) fn watch(self) -> std::io::Result<()> {
        let look = move || {
            loop {
                thread::sleep(EVERY);
                let snapshot = self.publisher.current();
                let rows = snapshot.draft.replication_clusters.iter();
                for row in rows.filter(|row| row.mode == "failover") {
                    let looked = AssertUnwindSafe(|| self.look_after(&snapshot, row));
                    if catch_unwind(looked).is_err() {
                        tracing::error!("who is the primary was not looked after: a panic");
                    }
                }
            }
        };
        thread::Builder::new().name("failover".to_owned()).spawn(look).map(drop)
    }

    /// Gives an order about a cluster, if it needs one.
    fn look_after(&self, snapshot: &Snapshot, row: &ReplicationClusterRow) {
        let writer = row.writer_hostgroup;
        let mut watched = lock(&self.watched);
        let cluster = watched.entry(writer).or_default();
        let is_here = |it: &&engine::topology::Placed| it.row.hostgroup_id == writer;
        let mut writers = snapshot.placed.iter().filter(is_here);
        let well = writers.clone().find(|placed| placed.stand == Stand::Well);
        let is_over = |at: Option<Instant>| at.is_none_or(|at| at <= Instant::now());
        let is_due = is_over(cluster.not_before);
        match (well, &cluster.primary) {
            (Some(primary), _) => {
                let primary = Endpoint::of(&primary.row);
                cluster.halted = None;
                cluster.deposed.remove(&primary);
                cluster.primary = Some(primary.clone());
                let mut deposed = cluster.deposed.keys();
                if is_due && let Some(old) = deposed.find(|it| self.publisher.answers(it)).cloned()
                {
                    cluster.not_before = Some(Instant::now() + PAUSE);
                    drop(watched);
                    self.rejoin(snapshot, row, &primary, &old);
                }
            }
            (None, Some(primary))
                if is_due
                    && is_over(cluster.calm_until)
                    && cluster.halted.is_none()
                    && writers.all(|placed| placed.stand == Stand::Silent) =>
            {
                let primary = primary.clone();
                cluster.not_before = Some(Instant::now() + PAUSE);
                drop(watched);
                self.fail_over(snapshot, row, primary);
            }
            _ => {}
        }
    }

    fn fail_over(&self, snapshot: &Snapshot, row: &ReplicationClusterRow, primary: Endpoint) {
        let Some(order) = self.order_of(snapshot, row, &primary) else { return };
        let (snapshot, addresses, _) = self.publisher.addresses();
        let writer = row.writer_hostgroup;
        let this = self.clone();
        let given =
            self.carry_out(row, order, (snapshot, addresses), move |order, servers, clients| {
                let done = failover::fail_over(order, servers, clients);
                let mut watched = lock(&this.watched);
                let cluster = watched.entry(writer).or_default();
                let why = done.as_ref().err().map(|failed| failed.why.clone()).unwrap_or_default();
                let is_news = done.is_ok() || cluster.told != why;
                cluster.told = why;
                match &done {
                    Ok(_) => {
                        cluster.deposed.insert(order.primary.clone(), String::new());
                        cluster.calm_until = Some(Instant::now() + CALM);
                    }
                    Err(Failed { may_be_open, .. }) => cluster.halted.clone_from(may_be_open),
                }
                drop(watched);
                if is_news {
                    clients.conclude(&order.primary, "failover", done.map_err(|failed| failed.why));
                }
            });
        if let Err(why) = given {
            tracing::warn!(hostgroup = writer, "no failover: {why}");
        }
    }

    /// A server that was replaced is to follow the one that is the primary now.
    fn rejoin(
        &self,
        snapshot: &Snapshot,
        row: &ReplicationClusterRow,
        primary: &Endpoint,
        old: &Endpoint,
    ) {
        let Some(order) = self.order_of(snapshot, row, primary) else { return };
        let (snapshot, addresses, _) = self.publisher.addresses();
        let (writer, old, this) = (row.writer_hostgroup, old.clone(), self.clone());
        let given =
            self.carry_out(row, order, (snapshot, addresses), move |order, servers, clients| {
                let done = failover::rejoin(order, &old, servers, clients);
                let mut watched = lock(&this.watched);
                let Some(cluster) = watched.get_mut(&writer) else { return };
                let why = done.as_ref().err().cloned().unwrap_or_default();
                let is_news = match &done {
                    Ok(()) => cluster.deposed.remove(&old).is_some(),
                    Err(_) => cluster.deposed.insert(old.clone(), why.clone()) != Some(why),
                };
                drop(watched);
                if is_news {
                    let outcome = done.map(|()| format!("it follows {}", order.primary));
                    clients.note(Step { server: old, what: "rejoin".to_owned(), outcome });
                }
            });
        // somebody else's order goes first
        drop(given);
    }

    /// An order about a cluster with that primary.
    fn order_of(
        &self,
        snapshot: &Snapshot,
        row: &ReplicationClusterRow,
        primary: &Endpoint,
    ) -> Option<Order> {
        let mut pairs = snapshot.clusters.pairs.iter();
        let reader = pairs.find(|pair| pair.writer == row.writer_hostgroup)?.reader;
        Some(order_for(row, primary.clone(), servers_of(snapshot, reader)))
    }
}

/// Between two looks.
const EVERY: Duration = Duration::from_millis(200);

/// Between two tries about one cluster.
const PAUSE: Duration = Duration::from_secs(1);

/// After a failover, the next one waits.
const CALM: Duration = Duration::from_secs(10);
