//! One worker's whole proxying state: its sessions, its lanes, its pool; and the doors by which
//! the world comes in.
//!
//! Every `on_…` takes an event, changes state and leaves orders in [`Proxy::orders`]; none blocks,
//! asks the time or touches a socket. What a session does with its events is in `session`.

use std::sync::Arc;

use cache::{Flight, Followed, QueryCache};
use wire::auth::rsa::ServerKey;
use wire::{Caps, Status};

use crate::guesses::Guesses;
use crate::ids::{ConnectionId, HostgroupId, LaneId, SessionId};
use crate::lane::history::History;
use crate::lane::{Lane, Lease};
use crate::link::{KnownCollations, Settings};
use crate::login_checks::ChecksWaiting;
use crate::orders::{End, KillRequest, Order, Orders};
use crate::pool::PoolShard;
use crate::redirects::Redirects;
use crate::report::Quota;
use crate::route::QueryProcessor;
pub use crate::session::{Arrival, LoggedIn, Parcel, Secured};
use crate::session::{
    Client, Defaults, Defects, Dues, Joiners, Killing, Mirrors, Newcomers, Phase, Session, Surveys,
    Warned,
};
use crate::slab::{ByNumber, Slab};
use crate::snapshot::Snapshot;
use crate::stats::{Counters, Overall, Parts, QueryStats, ServerStats, Share};
use crate::stmt::{Registry, StmtsOfAll};
use crate::topology::LastFault;
pub use crate::users::ClientCertificate;

/// What the process offers to every client, found out at start.
pub struct Offer {
    /// Version in the greeting, unless `mysql-server_version` says another.
    pub server_version: Vec<u8>,
    /// Capabilities in the greeting.
    pub caps: Caps,
    /// Collation of a connection that was reset: MySQL goes back to the server's own, `None` for
    /// MariaDB, which keeps the client's.
    pub collation_after_reset: Option<u16>,
    /// What a server's greeting tells of new sessions.
    pub status: Status,
    /// What servers make of a client's collation.
    pub collations: KnownCollations,
    /// For full `caching_sha2_password` authentication without TLS.
    pub key: Arc<ServerKey>,
    /// Wrong passwords that count.
    pub guesses: Guesses,
    /// Checks of passwords that wait.
    pub login_checks: ChecksWaiting,
    /// What the workers share about prepared statements.
    pub stmts: StmtsOfAll,
    /// Answers that are kept.
    pub cache: Arc<QueryCache>,
    /// Microseconds since 1970 when the loops' clock was 0.
    pub epoch_us: u64,
}

impl Offer {
    /// An empty cache, whose keys are spread by a secret.
    pub fn cache_by(secret: &[u8; 32]) -> Arc<QueryCache> {
        let seed = secret.first_chunk().map_or(0, |seed| u64::from_le_bytes(*seed));
        Arc::new(QueryCache::new(seed))
    }

    /// One that nothing but this is known for: tests and simulations make theirs so.
    pub fn new(server_version: &[u8], caps: Caps, key: impl Into<Arc<ServerKey>>) -> Self {
        let key = key.into();
        Self {
            server_version: server_version.to_vec(),
            caps,
            collation_after_reset: None,
            status: Status::AUTOCOMMIT,
            collations: KnownCollations::ANY,
            guesses: Guesses::new(*key.secret()),
            cache: Self::cache_by(key.secret()),
            login_checks: ChecksWaiting::default(),
            key,
            stmts: StmtsOfAll::default(),
            epoch_us: 0,
        }
    }
}

/// Everything one worker decides with.
pub struct Proxy {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) offer: Arc<Offer>,
    pub(crate) sessions: Slab<SessionId, Session>,
    /// Sessions with a client by the id that it was told.
    pub(crate) connections: ByNumber<SessionId>,
    pub(crate) newcomers: Newcomers,
    pub(crate) lanes: Slab<LaneId, Lane>,
    pub(crate) pool: PoolShard,
    pub(crate) processor: QueryProcessor,
    pub(crate) mirrors: Mirrors,
    /// What reads came to before.
    pub(crate) history: History,
    /// What is known of stored code, and how it is being read.
    pub(crate) surveys: Surveys,
    /// How many schemas had been altered when connections last chose theirs again for that.
    pub(crate) altered_schemas: u64,
    /// Lanes that sessions keep because of warnings or an error.
    pub(crate) warned: Warned,
    /// What cannot happen and did.
    pub(crate) defects: Defects,
    /// Sessions whose replies or turns came in what happens now.
    pub(crate) served: Vec<SessionId>,
    /// Ends besides its own that a call is amid, the innermost last: a panic costs them too.
    pub(crate) amid: Vec<End>,
    /// What the call that happens now leaves to be done about others.
    pub(crate) dues: Dues,
    /// Shared lanes with commands that were not sent.
    pub(crate) gathering: Vec<LaneId>,
    /// Lines of the log about clients that were refused or broke the protocol.
    pub(crate) client_lines: Quota,
    pub(crate) now_us: u64,
    /// The first time it was told, for the uptime.
    pub(crate) started_us: u64,
    pub(crate) draining: bool,
    /// Room for the key of what is looked for in the cache.
    pub(crate) cache_key: Vec<u8>,
    /// Changes that answers in the cache end with, of the hostgroups that were asked.
    pub(crate) followed: Vec<(HostgroupId, Arc<Followed>)>,
    /// Sessions that wait for the answers to others' queries.
    pub(crate) joined: Joiners,
    /// Buffers for commands, so that none is allocated for the next one.
    pub(crate) spare: Vec<Vec<u8>>,
    /// The same for digests.
    pub(crate) spare_digests: Vec<Vec<u8>>,
    /// Prepared texts.
    pub(crate) texts: Registry,
    /// Schemas that servers let logins into, each with the name of the account.
    pub(crate) schemas_seen: Vec<(Arc<str>, Arc<[u8]>)>,
    /// What connections to servers begin with, by the server's index, the one met last at the end.
    pub(crate) defaults: Vec<(usize, Defaults)>,
    /// Hostgroups of which a login could meet no server, and until when none waits for it.
    pub(crate) unmet: Vec<(HostgroupId, u64)>,
    /// Settings that sessions have made, latest first.
    pub(crate) settings_seen: Vec<Arc<Settings>>,
    /// Its number among the workers, and how many they are.
    pub(crate) number: usize,
    pub(crate) workers: usize,
    /// Where servers would rather have connections.
    pub(crate) redirects: Redirects,
    /// Lanes that are being given to other workers.
    pub(crate) parcels: Vec<(LaneId, Parcel)>,
    /// What happened in the whole process, and what of it is this worker's.
    pub(crate) overall: (Overall, Overall),
    /// What happened so far.
    pub stats: Counters,
    /// What queries came to so far.
    pub query_stats: QueryStats,
    /// The same by server.
    pub(crate) server_stats: ServerStats,
    /// What the world is asked to do; the caller of an `on_…` carries it out and clears it.
    pub orders: Orders,
}

impl Proxy {
    /// An empty worker. `seed` only spreads queries over servers; `secret` is random bytes.
    pub fn new(snapshot: Arc<Snapshot>, offer: Arc<Offer>, seed: u64, secret: [u8; 32]) -> Self {
        let word = secret.first_chunk().map_or(seed, |word| u64::from_le_bytes(*word));
        let query_stats = QueryStats::new(&snapshot.vars, word);
        offer.cache.set_limit(snapshot.vars.query_cache_bytes());
        Self {
            pool: PoolShard::new(&snapshot.topology, seed),
            processor: QueryProcessor::new(&snapshot, seed),
            mirrors: Mirrors::new(&snapshot.vars),
            history: History::default(),
            surveys: Surveys::default(),
            altered_schemas: 0,
            warned: Warned::default(),
            defects: Defects::default(),
            served: Vec::new(),
            amid: Vec::new(),
            dues: Dues::default(),
            gathering: Vec::new(),
            snapshot,
            offer,
            sessions: Slab::default(),
            connections: ByNumber::default(),
            newcomers: Newcomers::default(),
            lanes: Slab::default(),
            client_lines: Quota::default(),
            now_us: 0,
            started_us: 0,
            draining: false,
            cache_key: Vec::new(),
            followed: Vec::new(),
            joined: Joiners::default(),
            spare: Vec::new(),
            spare_digests: Vec::new(),
            texts: Registry::default(),
            schemas_seen: Vec::new(),
            defaults: Vec::new(),
            unmet: Vec::new(),
            settings_seen: Vec::new(),
            number: 0,
            workers: 1,
            redirects: Redirects::default(),
            parcels: Vec::new(),
            overall: Default::default(),
            stats: Counters::default(),
            query_stats,
            server_stats: ServerStats::default(),
            orders: Orders::default(),
        }
    }

    /// Tells the time, in microseconds; before every other call of a turn.
    pub fn set_now(&mut self, now_us: u64) {
        if self.started_us == 0 {
            self.started_us = now_us;
        }
        self.now_us = now_us;
        self.served.clear();
    }

    /// Decisions about queries are timed by this clock, of nanoseconds, when they are to be timed.
    pub fn time_with(&mut self, clock_ns: fn() -> u64) {
        self.processor.time_with(clock_ns);
    }

    /// A client was accepted.
    pub fn on_accepted(&mut self, arrival: Arrival) -> SessionId {
        self.stats.clients_created += 1;
        self.follow_altered_schemas();
        let now_us = self.now_us;
        let scramble = wire::auth::nonce_of(arrival.random);
        let clients = arrival.clients;
        let failed = self.has_failed_often(arrival.failed_logins);
        let connection = arrival.connection.0;
        let demand = self.demand_at(&arrival.proxy);
        let id = self.sessions.insert_with(|_| {
            let session = Session::new(arrival, scramble, now_us);
            Session { client: Client { demand, ..session.client }, ..session }
        });
        self.connections.insert(connection, id);
        if failed {
            self.stats.hosts_refused += 1;
            self.close_session(id, None);
        } else {
            self.receive_client(id, scramble, clients);
        }
        self.work_off();
        id
    }

    /// Bytes of a client that were not taken before. Returns how many were taken now.
    pub fn on_client_bytes(&mut self, id: SessionId, bytes: &[u8]) -> usize {
        let taken = self.client_bytes(id, bytes);
        self.stats.client_bytes_received += taken as u64;
        if let Some(session) = self.sessions.get_mut(id) {
            session.input.waits = taken < bytes.len();
            session.input.heard_us = self.now_us;
            let (is_full, is_begun) = (session.input.full, session.is_in_a_command());
            let is_idle = matches!(session.phase, Phase::Idle) && !session.held.is_empty();
            if is_full {
                self.end_fullness(id, bytes.len() - taken);
            }
            if is_begun {
                self.watch_unfinished(id);
            } else if is_idle {
                self.relieve_where_idle(id);
            }
        }
        self.work_off();
        taken
    }

    /// Bytes of a server that were not taken before. Returns how many were taken now.
    pub fn on_lane_bytes(&mut self, id: LaneId, bytes: &[u8]) -> usize {
        let taken = self.lane_bytes(id, bytes);
        self.work_off();
        taken
    }

    /// A dial ended: connected, or with the errno that says why not.
    pub fn on_dialed(&mut self, id: LaneId, result: Result<(), i32>) {
        match result {
            Ok(()) => self.present_lane(id),
            Err(errno) => {
                let errno = u32::try_from(errno).unwrap_or(0);
                self.fail_dial(id, LastFault::Os(errno), None, false);
            }
        }
        self.work_off();
    }

    /// A client ended what it sends, and everything was offered that came before. Returns whether
    /// its socket is still of use, for answers; otherwise [`Proxy::on_client_gone`] is to follow.
    /// To be asked again whenever its bytes would be offered again.
    pub fn on_client_end(&mut self, id: SessionId) -> bool {
        let is_of_use = self.hear_end(id);
        self.work_off();
        is_of_use
    }

    /// A client that is not read ended what it sends: behind what it sent ahead nothing comes.
    pub fn on_client_hung_up(&mut self, id: SessionId) {
        self.hear_hang_up(id);
        self.work_off();
    }

    /// A client closed, or its socket failed. Nothing more is sent to it.
    pub fn on_client_gone(&mut self, id: SessionId) {
        self.end_session(id, false);
        self.work_off();
    }

    /// What a client sent cannot be decrypted; [`Self::on_client_gone`] follows.
    pub fn on_client_unreadable(&mut self, id: SessionId) {
        self.client_fault(id, "what it sent cannot be decrypted");
    }

    /// What a client sent cannot be decompressed; its socket is there, and its session ends.
    pub fn on_client_garbled(&mut self, id: SessionId) {
        self.refuse_garbled(id);
        self.work_off();
    }

    /// What a server sent cannot be decrypted or decompressed; the connection is closed.
    pub fn on_lane_unreadable(&mut self, id: LaneId) {
        self.note_server_fault(id, "what it sent cannot be decrypted or decompressed");
        self.lose_lane_closed(id, LastFault::Unreadable);
        self.work_off();
    }

    /// A backend connection closed or failed.
    pub fn on_lane_gone(&mut self, id: LaneId, errno: i32) {
        let errno = u32::try_from(errno).unwrap_or(0);
        self.lose_lane_closed(id, LastFault::Os(errno));
        self.work_off();
    }

    /// More bytes wait for a receiver than it takes: its sender is to be paused.
    pub fn on_congested(&mut self, end: End) {
        if let End::Client(id) = end {
            self.make_way_for(id);
            if let Some(session) = self.sessions.get_mut(id) {
                session.input.unheard = true;
            }
        }
        if !matches!(end, End::Client(id) if self.is_heard_by_others(id)) {
            self.pause_for(end);
        }
        self.work_off();
    }

    /// A receiver took everything that waited for it.
    pub fn on_drained(&mut self, end: End) {
        if let End::Client(id) = end
            && let Some(session) = self.sessions.get_mut(id)
            && std::mem::take(&mut session.input.unheard)
        {
            self.resume_input(id);
        }
        let source = self.source_of(end);
        if let Some(source) = source {
            if let End::Client(session) = source
                && let Some(session) = self.sessions.get_mut(session)
            {
                session.input.paused_for = None;
                if session.input.full {
                    return;
                }
            }
            self.orders.push(Order::Resume(source));
        }
    }

    /// Pauses whoever sends to an end.
    pub(crate) fn pause_for(&mut self, end: End) {
        let Some(source) = self.source_of(end) else { return };
        self.stats.pauses += 1;
        if let (End::Client(session), End::Lane(lane)) = (source, end)
            && let Some(session) = self.sessions.get_mut(session)
        {
            session.input.paused_for = Some(lane);
        }
        self.orders.push(Order::Pause(source));
    }

    /// Whose bytes go to this end now.
    fn source_of(&self, end: End) -> Option<End> {
        match end {
            End::Client(id) => match &self.sessions.get(id)?.phase {
                Phase::Running(running) => {
                    (!running.shared || self.has_way(id)).then_some(End::Lane(running.lane))
                }
                Phase::Relaying(lane) => Some(End::Lane(*lane)),
                _ => None,
            },
            End::Lane(id) => match self.lanes.get(id)?.lease {
                Lease::Exclusive(session) | Lease::Relay(session) => Some(End::Client(session)),
                _ => None,
            },
        }
    }

    /// A call about this end panicked; the worker lives on without that session. What the call
    /// left to be done about others is [`Self::on_rest`]'s: that may panic as well.
    pub fn on_panic(&mut self, end: End) {
        self.stats.panics += 1;
        self.abandon(end);
        self.abandon_half_done();
    }

    /// Whether there is such a session or lane.
    pub fn knows(&self, end: End) -> bool {
        match end {
            End::Client(id) => self.sessions.get(id).is_some(),
            End::Lane(id) => self.lanes.get(id).is_some(),
        }
    }

    /// Everything that has a socket: sessions with a client, and lanes.
    pub fn ends(&self) -> impl Iterator<Item = End> {
        let sessions = self.sessions.iter().filter(|(_, session)| !session.is_mirror());
        let lanes = self.lanes.iter().map(|(id, _)| End::Lane(id));
        sessions.map(|(id, _)| End::Client(id)).chain(lanes)
    }

    /// It has no socket, because a call panicked that was to dial it or to tell its id.
    pub fn on_orphan(&mut self, end: End) {
        self.abandon(end);
    }

    /// A call that was told of no end panicked: the end that it was at goes, and what it left half
    /// done. Returns whether there was such an end; without it the call would do no better again.
    pub fn on_stray_panic(&mut self) -> bool {
        self.stats.panics += 1;
        self.abandon_half_done()
    }

    /// What a call that panicked left to be done about others is done.
    pub fn on_rest(&mut self) {
        self.work_off();
    }

    /// Does something about an end that is not the call's own.
    #[inline]
    pub(crate) fn with<R>(&mut self, end: End, call: impl FnOnce(&mut Self) -> R) -> R {
        self.amid.push(end);
        let result = call(self);
        self.amid.pop();
        result
    }

    /// Does something about each of these, in turn.
    pub(crate) fn with_each<K: Copy>(
        &mut self,
        all: impl IntoIterator<Item = K>,
        end: impl Fn(K) -> End,
        mut call: impl FnMut(&mut Self, K),
    ) {
        for one in all {
            self.with(end(one), |proxy| call(proxy, one));
        }
    }

    /// The call that was told of this arrival panicked: its session, if it came to that, goes.
    pub fn on_panic_at_arrival(&mut self, connection: ConnectionId) {
        match self.connections.get(&connection.0) {
            Some(id) => self.on_panic(End::Client(*id)),
            None => {
                self.on_stray_panic();
            }
        }
    }

    /// A deadline that was ordered has come; it may be out of date.
    pub fn on_deadline(&mut self, end: End) {
        match end {
            End::Client(id) => self.on_session_deadline(id),
            End::Lane(id) => self.on_lane_deadline(id),
        }
        self.work_off();
    }

    /// Once a second: idle lanes are looked over, statistics kept within their bounds.
    pub fn on_tick(&mut self) {
        self.report_untold();
        self.report_defects();
        self.tend_lanes();
        self.query_stats.digests.shrink(self.now_us);
        self.set_off_copies();
        self.work_off();
    }

    /// What happened here since the last call; `add` adds it to what happened elsewhere and gives
    /// the sum.
    pub fn on_overall(&mut self, add: impl FnOnce(Overall) -> Overall) {
        let Counters { queries, slow, .. } = self.stats;
        let (_, told) = self.overall;
        let now = Overall { clients: 0, queries, slow };
        let new = Overall {
            clients: 0,
            queries: queries.saturating_sub(told.queries),
            slow: slow.saturating_sub(told.slow),
        };
        self.overall = (add(new), now);
    }

    /// A session is to be killed; returns whether it is one of this worker's.
    pub fn on_kill(&mut self, request: &KillRequest) -> bool {
        let is_done = self.kill(request) == Killing::Done;
        self.work_off();
        is_done
    }

    /// A flight has landed that sessions here wait for; may be told again.
    pub fn on_landed(&mut self, flight: &Arc<Flight>) {
        self.tell_landed(flight);
        self.work_off();
    }

    /// From now on sessions end as soon as they have no transaction open.
    pub fn drain(&mut self) {
        self.draining = true;
        self.end_copies();
        let all = self.sessions.keys();
        self.with_each(all, End::Client, |proxy, id| {
            proxy.end_if_drained(id);
        });
        self.work_off();
    }

    /// Sessions without a transaction go on again.
    pub fn stop_draining(&mut self) {
        self.draining = false;
    }

    /// Ends every session at once.
    pub fn close_all(&mut self) {
        self.end_copies();
        let all = self.sessions.keys();
        self.with_each(all, End::Client, |proxy, id| {
            proxy.close_session(id, Some(crate::error::shutting_down()));
        });
        self.work_off();
    }

    /// The configuration in force.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Its number among the workers.
    pub fn number(&self) -> usize {
        self.number
    }

    /// What this worker has counted, as far as it is asked for.
    pub fn share(&mut self, parts: Parts) -> Share {
        crate::session::share(self, parts)
    }

    /// How many sessions with a client there are.
    pub fn session_count(&self) -> usize {
        self.sessions.len().saturating_sub(self.mirrors.running())
    }

    /// How many copies of queries run, and how many wait to be set off.
    pub fn mirror_counts(&self) -> (usize, usize) {
        (self.mirrors.running(), self.mirrors.queued())
    }

    /// How many backend connections there are.
    pub fn lane_count(&self) -> usize {
        self.lanes.len()
    }

    /// Every session, for the process list and the simulator.
    pub fn sessions(&self) -> impl Iterator<Item = (SessionId, &Session)> {
        self.sessions.iter()
    }

    /// Every backend connection.
    pub fn lanes(&self) -> impl Iterator<Item = (LaneId, &Lane)> {
        self.lanes.iter()
    }
}
