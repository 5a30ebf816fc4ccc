//! Clusters that fail over by themselves: which server their primary was, and when another server
//! is put in its place. The keeper says that no server takes writes; `failover` asks others whether
//! that is so.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use engine::clusters::Pair;
use engine::report::Printable;
use engine::rows::ReplicationClusterRow;
use engine::snapshot::Snapshot;
use engine::topology::{Placed, Stand, Status};
use failover::{Clients, Failed, FailoverStep, Former, Identity, Left, Order, Servers, Succeeded};
use keeper::Endpoint;

use super::{Switching, limit_of, lock, order_for, placed_in, servers_of};

/// What is known of each cluster, by its hostgroup of writers.
pub(super) type Watched = BTreeMap<i64, WatchedCluster>;

/// What is known of a cluster.
#[derive(Default)]
pub(super) struct WatchedCluster {
    /// The last server that took its writes, with its number as far as it has told that: others
    /// know it by that when it is gone.
    primary: Option<Former>,
    /// Somebody is asking for that number, or for who the primary is.
    asks: bool,
    /// Primaries of before.
    former: Vec<Former>,
    /// Servers that do not follow the primary, each with why not.
    astray: BTreeMap<Endpoint, Left>,
    /// The one of them that was asked to last: the others have their turn. None is before that.
    asked: Option<Endpoint>,
    rejoins_from: Option<Instant>,
    /// Why no failover came of it the last time, and how often that was so in a row.
    told: String,
    tries: u32,
    /// Nothing is tried before that.
    not_before: Option<Instant>,
    /// No other server is put in the primary's place before that.
    calm_until: Option<Instant>,
    /// When the primary is asked for its number again, and which places lead to it.
    learns_from: Option<Instant>,
    /// A server that may be open: nobody else is opened by us.
    halted: Option<Endpoint>,
}

/// What a cluster needs now.
enum Next {
    Nothing,
    /// It is to be asked who the primary is, or what its number is.
    Ask,
    /// Another server takes the place of this one.
    FailOver(Former),
    /// A server is to follow the primary.
    Rejoin(Former, Endpoint),
}

impl Switching {
    /// Watches until the process ends.
    pub(crate) fn watch(self) -> std::io::Result<()> {
        let look = move || {
            loop {
                thread::sleep(EVERY);
                let snapshot = self.publisher.current();
                let rows = snapshot.draft.replication_clusters.iter();
                let rows: Vec<_> = rows.filter(|row| row.mode != "observe").collect();
                self.forget_others(&rows);
                let is_free = |row: &&ReplicationClusterRow| {
                    !lock(&self.busy).contains(&row.writer_hostgroup)
                };
                for row in rows.into_iter().filter(is_free) {
                    let looked = AssertUnwindSafe(|| self.look_after(&snapshot, row));
                    if catch_unwind(looked).is_err() {
                        tracing::error!("who is the primary was not looked after: a panic");
                    }
                }
            }
        };
        thread::Builder::new().name("failover".to_owned()).spawn(look).map(drop)
    }

    /// Lets go of clusters that are not watched any more: whoever is left out there is their
    /// operator's again.
    fn forget_others(&self, rows: &[&ReplicationClusterRow]) {
        let is_other = |writer: &i64| rows.iter().all(|row| row.writer_hostgroup != *writer);
        let mut watched = lock(&self.watched);
        let others: Vec<_> = watched.extract_if(.., |writer, _| is_other(writer)).collect();
        drop(watched);
        for server in others.iter().flat_map(|(_, cluster)| cluster.astray.keys()) {
            self.publisher.depose(server, false);
        }
    }

    /// Gives an order about a cluster, if it needs one.
    fn look_after(&self, snapshot: &Snapshot, row: &ReplicationClusterRow) {
        let mut pairs = snapshot.clusters.pairs.iter();
        let Some(pair) = pairs.find(|pair| pair.writer == row.writer_hostgroup) else { return };
        let mut watched = lock(&self.watched);
        let cluster = watched.entry(pair.writer).or_default();
        let fails_over = row.mode == "failover";
        let answers = |server: &Endpoint| self.publisher.answers(server);
        let next = cluster.next(snapshot, pair, fails_over, answers);
        drop(watched);
        match next {
            Next::Nothing => {}
            Next::Ask => self.ask(snapshot, row, pair),
            Next::FailOver(primary) => self.fail_over(snapshot, row, pair, &primary),
            Next::Rejoin(primary, server) => self.rejoin(snapshot, row, pair, &primary, &server),
        }
    }

    /// Asks the primary for its number; where nobody knows who that is, replicas for their source.
    fn ask(&self, snapshot: &Snapshot, row: &ReplicationClusterRow, pair: &Pair) {
        let (current, addresses, _) = self.publisher.addresses();
        let replicas: Vec<_> = servers_of(snapshot, pair.reader).collect();
        let mut servers = self.connections((current, addresses), row, limit_of(row));
        let all: Vec<_> = servers_of(snapshot, pair.writer).chain(replicas.clone()).collect();
        let (writer, this) = (pair.writer, self.clone());
        let ask = move || {
            let known = lock(&this.watched).get(&writer).and_then(|it| it.primary.clone());
            let told = known
                .as_ref()
                .and_then(|known| failover::identify(&mut servers, &known.server, &replicas).ok());
            let is_known = known.as_ref().is_some_and(|known| known.identity.id != 0);
            let found = told.or_else(|| {
                let found = (!is_known).then(|| failover::source_of(&mut servers, &replicas))?;
                let found = found.filter(|found| all.contains(&found.server))?;
                known.as_ref().is_none_or(|known| known.server == found.server).then_some(found)
            });
            let mut watched = lock(&this.watched);
            let Some(cluster) = watched.get_mut(&writer) else { return };
            cluster.learn(writer, known, found);
        };
        let spawned = thread::Builder::new().name("failover asks".to_owned()).spawn(ask);
        if spawned.is_err() {
            lock(&self.watched).entry(pair.writer).or_default().asks = false;
        }
    }

    fn fail_over(
        &self,
        snapshot: &Snapshot,
        row: &ReplicationClusterRow,
        pair: &Pair,
        primary: &Former,
    ) {
        let mut order = order_of(snapshot, row, pair, primary);
        let (snapshot, addresses, _) = self.publisher.addresses();
        let (writer, this) = (row.writer_hostgroup, self.clone());
        if let Some(cluster) = lock(&self.watched).get(&writer) {
            // who does not follow the primary knows nothing of it
            order.others.retain(|server| !cluster.astray.contains_key(server));
        }
        let given =
            self.carry_out(row, order, (snapshot, addresses), move |order, servers, clients| {
                clients.quietly();
                let done = failover::fail_over(order, servers, clients);
                match &done {
                    Ok(done) => this.lead_astray(writer, done),
                    Err(Failed { may_be_open: Some(new), .. }) => {
                        // should it be open, nobody follows it; should it not, others are needed
                        let others = order.others.iter().filter(|server| *server != new);
                        let astray = others.chain([&order.primary.server]).cloned().collect();
                        let former = order.primary.clone();
                        this.lead_astray(writer, &Succeeded { new: new.clone(), former, astray });
                    }
                    Err(_) => {}
                }
                let mut watched = lock(&this.watched);
                let cluster = watched.entry(writer).or_default();
                let is_news = cluster.note(&done);
                if done.is_err() && clients.has_run {
                    // somebody was told, and is not told each second
                    cluster.not_before = Some(Instant::now() + CALM);
                }
                drop(watched);
                if is_news {
                    let done = done.map(|done| done.new).map_err(|failed| failed.why);
                    clients.conclude(&order.primary.server, "failover", done);
                }
            });
        if let Err(why) = given {
            tracing::warn!(hostgroup = writer, "no failover: {}", Printable(why));
        }
    }

    /// Another server is the primary: those that do not follow it are to, one after the other.
    pub(super) fn lead_astray(&self, writer: i64, done: &Succeeded) {
        let mut watched = lock(&self.watched);
        let cluster = watched.entry(writer).or_default();
        let astray = done.astray.iter().map(|server| (server.clone(), Left::default()));
        cluster.astray.extend(astray);
        cluster.former.retain(|former| former.server != done.former.server);
        cluster.former.push(done.former.clone());
    }

    /// A server that does not follow the primary is to.
    fn rejoin(
        &self,
        snapshot: &Snapshot,
        row: &ReplicationClusterRow,
        pair: &Pair,
        primary: &Former,
        server: &Endpoint,
    ) {
        let order = order_of(snapshot, row, pair, primary);
        let (snapshot, addresses, _) = self.publisher.addresses();
        let (writer, server, this) = (row.writer_hostgroup, server.clone(), self.clone());
        let known = lock(&self.watched).get(&writer).map(|cluster| {
            (cluster.former.clone(), cluster.astray.get(&server).cloned().unwrap_or_default())
        });
        let (former, left) = known.unwrap_or_default();
        let given =
            self.carry_out(row, order, (snapshot, addresses), move |order, servers, clients| {
                // a failover has not to wait for one that hangs
                servers.be_patient(REJOIN);
                let who = (&server, &left);
                let done = failover::rejoin(order, who, &former, servers, clients);
                let mut watched = lock(&this.watched);
                let Some(cluster) = watched.get_mut(&writer) else { return };
                if done.is_err() {
                    cluster.rejoins_from = Some(Instant::now() + REJOIN_AGAIN / count(cluster));
                }
                let is_news = match &done {
                    Ok(()) => cluster.astray.remove(&server).is_some(),
                    Err(now) => cluster.leave(&server, now),
                };
                drop(watched);
                if is_news {
                    let outcome = done.map(|()| format!("it follows {}", order.primary.server));
                    let outcome = outcome.map_err(|left| left.why);
                    clients.note(FailoverStep { server, what: "rejoin".to_owned(), outcome });
                }
            });
        // somebody else's order goes first
        drop(given);
    }
}

impl WatchedCluster {
    /// What is to be done about it, by where its servers stand.
    fn next(
        &mut self,
        snapshot: &Snapshot,
        pair: &Pair,
        fails_over: bool,
        answers: impl Fn(&Endpoint) -> bool,
    ) -> Next {
        let is_over = |at: Option<Instant>| at.is_none_or(|at| at <= Instant::now());
        let is_due = is_over(self.not_before);
        let mut writers = placed_in(snapshot, pair.writer);
        let well = writers.clone().find(|placed| placed.stand == Stand::Well);
        let next = match (well.map(|placed| Endpoint::of(&placed.row)), &self.primary) {
            (Some(server), known) => {
                self.halted = None;
                self.astray.remove(&server);
                let known = known.as_ref().filter(|known| known.server == server);
                let primary = known.cloned().unwrap_or_else(|| Former::unknown(server));
                self.primary = Some(primary.clone());
                let is_turn = is_due && is_over(self.rejoins_from);
                let back = self.next_astray().filter(|_| is_turn).find(|server| answers(server));
                match back {
                    _ if primary.identity.id == 0 => Next::Ask,
                    Some(server) => Next::Rejoin(primary, server),
                    None if is_over(self.learns_from) => Next::Ask,
                    None => Next::Nothing,
                }
            }
            (None, _) if !fails_over => Next::Nothing,
            (None, None) => Next::Ask,
            (None, Some(primary)) if primary.identity.id == 0 => Next::Ask,
            (None, Some(primary)) => {
                // its row is among the readers once it has missed checks for `read_only`
                let mut places = snapshot.placed.iter().filter(|placed| {
                    [pair.writer, pair.reader].contains(&placed.row.hostgroup_id)
                        && Endpoint::of(&placed.row) == primary.server
                });
                let is_online = |placed: &Placed| Status::Online.is_set(&placed.row);
                let is_wanted = places.clone().next().is_some() && places.all(is_online);
                let is_calm = is_over(self.calm_until) && self.halted.is_none();
                let is_silent = |placed: &Placed| placed.stand == Stand::Silent;
                match is_wanted && is_calm && writers.all(is_silent) {
                    true => Next::FailOver(primary.clone()),
                    false => Next::Nothing,
                }
            }
        };
        match next {
            Next::Nothing => Next::Nothing,
            _ if !is_due => Next::Nothing,
            Next::Ask if std::mem::replace(&mut self.asks, true) => Next::Nothing,
            // a failover does not wait for that
            Next::Ask if self.primary.as_ref().is_some_and(|it| it.identity.id != 0) => next,
            next => {
                if let Next::Rejoin(_, server) = &next {
                    self.asked = Some(server.clone());
                }
                self.not_before = Some(Instant::now() + PAUSE);
                next
            }
        }
    }

    /// Notes who the primary is, and by what others know it.
    fn learn(&mut self, writer: i64, asked: Option<Former>, found: Option<Former>) {
        self.asks = false;
        self.learns_from = Some(Instant::now() + LEARN);
        if self.primary != asked {
            // it is another one by now
            return;
        }
        let is_known = asked.as_ref().is_some_and(|asked| asked.identity.id != 0);
        let why = "the primary has not told its server_id, and its replicas do not say who it is";
        match found {
            Some(mut found) => {
                let Former { server, identity, .. } = &mut found;
                let Identity { id, places, .. } = identity;
                match asked.filter(|asked| asked.identity.id == *id) {
                    // one that nobody receives from now may be received from again
                    Some(asked) => {
                        let before = asked.identity.places.into_iter();
                        before.for_each(|(place, is_it)| _ = places.entry(place).or_insert(is_it));
                    }
                    None => {
                        tracing::info!(hostgroup = writer, %server, id, "watched as the primary");
                    }
                }
                self.primary = Some(found);
            }
            None if !is_known && self.told != why => {
                self.told = why.to_owned();
                tracing::warn!(hostgroup = writer, "no failover: {}", Printable(why));
            }
            None => {}
        }
    }

    /// Notes why a server does not follow; whether that is worth telling.
    fn leave(&mut self, server: &Endpoint, now: &Left) -> bool {
        let before = self.astray.entry(server.clone()).or_default();
        let is_news = before.why != now.why;
        before.why.clone_from(&now.why);
        // once it was judged it stays its operator's
        before.judged = now.judged.clone().or(before.judged.take());
        is_news
    }

    /// Servers that do not follow, from the one on whose turn it is.
    fn next_astray(&self) -> impl Iterator<Item = Endpoint> + use<> {
        let is_later = |server: &&Endpoint| self.asked.as_ref().is_none_or(|asked| *server > asked);
        let (later, others): (Vec<_>, Vec<_>) = self.astray.keys().partition(is_later);
        let servers: Vec<_> = later.into_iter().chain(others).cloned().collect();
        servers.into_iter()
    }

    /// Notes what came of a failover; whether that is worth telling.
    fn note(&mut self, done: &Result<Succeeded, Failed>) -> bool {
        let why = done.as_ref().err().map(|failed| failed.why.clone()).unwrap_or_default();
        let is_news = done.is_ok() || self.told != why;
        self.told = why;
        self.tries = if is_news { 0 } else { self.tries.saturating_add(1) };
        self.not_before = Some(Instant::now() + PAUSE * 2_u32.pow(self.tries.min(DOUBLED_MAX)));
        match done {
            Ok(_) => self.calm_until = Some(Instant::now() + CALM),
            Err(Failed { may_be_open, .. }) => self.halted.clone_from(may_be_open),
        }
        is_news
    }
}

/// An order about a cluster with that primary.
fn order_of(
    snapshot: &Snapshot,
    row: &ReplicationClusterRow,
    pair: &Pair,
    primary: &Former,
) -> Order {
    let order = order_for(row, primary.server.clone(), placed_in(snapshot, pair.reader));
    Order { primary: primary.clone(), ..order }
}

/// Between two looks.
const EVERY: Duration = Duration::from_millis(200);

/// Between two tries about one cluster.
const PAUSE: Duration = Duration::from_secs(1);

/// Between two looks at by what others know the primary.
const LEARN: Duration = Duration::from_secs(60);

/// How often that is doubled while nothing else comes of them.
const DOUBLED_MAX: u32 = 3;

/// How long a server may take for each statement to follow the primary.
const REJOIN: Duration = Duration::from_secs(3);

/// When one that does not is asked again.
const REJOIN_AGAIN: Duration = Duration::from_secs(5);

/// How many of a cluster do not follow.
fn count(cluster: &WatchedCluster) -> u32 {
    u32::try_from(cluster.astray.len()).unwrap_or(1).max(1)
}

/// After a failover, or one that its programs were told of, the next one waits.
const CALM: Duration = Duration::from_secs(10);
