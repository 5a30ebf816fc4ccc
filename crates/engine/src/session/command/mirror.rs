//! Copies of queries that a rule or an annotation asks for. Each runs in a session of its own that
//! has no client, and its result is thrown away. The original never waits for its copy.
//!
//! How many copies run at a time, and how many wait, is limited. A copy asks for a connection once
//! and does not wait for servers that cannot be had. Clients that wait for a connection come first.

use std::collections::VecDeque;
use std::sync::Arc;

use sql::{Effects, Facts, Verb};
use wire::Caps;
use wire::result::ReplyKind;

use crate::holds::{self, Holds};
use crate::ids::{ConnectionId, HostgroupId, SessionId};
use crate::link::LinkState;
use crate::orders::End;
use crate::proxy::{Arrival, Proxy};
use crate::route::{Mirror, Route};
use crate::session::replying::query_end::QueryStart;
use crate::session::{Client, Job, LastResults, Phase, Serving, Session, What};
use crate::users::Account;
use crate::vars::Vars;

/// The copies of one worker.
pub(crate) struct Mirrors {
    running: usize,
    running_max: usize,
    queue: VecDeque<Copy>,
    queue_max: usize,
    queue_bytes: usize,
    /// Copies are being set off: one that ends meanwhile sets off no other.
    busy: bool,
    name: Arc<str>,
}

/// A query to be run once more.
pub(crate) struct Copy {
    text: Vec<u8>,
    account: Arc<Account>,
    client: Arc<str>,
    proxy: (Arc<str>, u16),
    caps: Caps,
    class: Caps,
    want: LinkState,
    last_insert_id: u64,
    to: Mirror,
    asked: QueryStart,
}

/// Bytes of queries that may wait to be copied, on one worker.
const QUEUE_BYTES_MAX: usize = 16 << 20;

/// Longest query that is copied, as ProxySQL has it.
const TEXT_BYTES_MAX: usize = 15 << 20;

/// Most copies that are set off one after the other without anything else happening in between.
const BATCH: usize = 32;

impl Mirrors {
    /// None yet; the limits of the process are shared out to its workers.
    pub(crate) fn new(vars: &Vars) -> Self {
        let mut mirrors = Self {
            running: 0,
            running_max: 0,
            queue: VecDeque::new(),
            queue_max: 0,
            queue_bytes: 0,
            busy: false,
            name: "mirror_internal".into(),
        };
        mirrors.adopt(vars);
        mirrors
    }

    /// These are the limits from now on; what runs and waits may end.
    pub(crate) fn adopt(&mut self, vars: &Vars) {
        let share = |limit: u32| match limit {
            0 => 0,
            _ => (limit / vars.threads.max(1)).max(1) as usize,
        };
        self.running_max = share(vars.mirror_max_concurrency);
        self.queue_max = share(vars.mirror_max_queue_length);
    }

    /// How many run.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// How many wait.
    pub(crate) fn queued(&self) -> usize {
        self.queue.len()
    }

    fn has_room_for(&self, text: &[u8]) -> bool {
        self.running < self.running_max
            || (self.queue.len() < self.queue_max
                && self.queue_bytes + text.len() <= QUEUE_BYTES_MAX)
    }

    /// So many run; a call that set some off has panicked.
    pub(crate) fn count_anew(&mut self, running: usize) {
        (self.running, self.busy) = (running, false);
    }

    fn next(&mut self) -> Option<Copy> {
        if self.running >= self.running_max {
            return None;
        }
        let copy = self.queue.pop_front()?;
        self.queue_bytes -= copy.text.len();
        Some(copy)
    }
}

/// For what a session keeps a connection on which its statements mean something else.
const OF_ITS_OWN: Holds = Holds::TEMPORARY_TABLE.union(Holds::UNTOLD_SETTINGS);

/// Whether a statement means the same on another connection, where nothing was before it.
fn can_be_copied(facts: &Facts) -> bool {
    const OF_A_CONNECTION: Effects = Effects::TRANSACTION_START
        .union(Effects::TRANSACTION_END)
        .union(Effects::SAVEPOINT)
        .union(Effects::XA)
        .union(Effects::LOCKS_TABLES)
        .union(Effects::UNLOCKS_TABLES)
        .union(Effects::USER_LOCK)
        .union(Effects::HANDLER)
        .union(Effects::TEXT_PREPARE)
        .union(Effects::TEXT_EXECUTE)
        .union(Effects::SHOW_WARNINGS)
        .union(Effects::LOAD_LOCAL);
    let moves = matches!(facts.verb, Verb::Set | Verb::Use | Verb::Kill);
    !moves && !facts.effects.intersects(OF_A_CONNECTION)
}

impl Proxy {
    /// The copy of a query as a session sends it now, unless none is to be made.
    pub(crate) fn copy_of(
        &mut self,
        id: SessionId,
        text: &[u8],
        facts: &Facts,
        route: &Route,
    ) -> Option<Copy> {
        let to = route.mirror?;
        let session = self.sessions.get(id)?;
        let account = session.account.clone()?;
        if session.client.mirror || self.draining || !can_be_copied(facts) {
            return None;
        }
        // its tables, or its settings, are not those that the copy would meet
        let of_variables = facts.effects.intersects(Effects::USER_VARIABLE);
        let its_own =
            if of_variables { OF_ITS_OWN.union(Holds::USER_VARIABLE) } else { OF_ITS_OWN };
        if session.held_for(its_own).is_some() {
            return None;
        }
        if text.len() > TEXT_BYTES_MAX || !self.mirrors.has_room_for(text) {
            self.stats.mirrors_dropped += 1;
            return None;
        }
        Some(Copy {
            text: text.to_vec(),
            account,
            client: session.client.addr.clone(),
            proxy: session.client.proxy.clone(),
            caps: session.caps,
            class: session.class,
            want: LinkState { autocommit: true, ..session.want.clone() },
            last_insert_id: session.last.insert_id,
            to,
            asked: session.serving.asked.clone(),
        })
    }

    /// Sets off a copy, or lets it wait its turn.
    pub(crate) fn mirror(&mut self, copy: Option<Copy>) {
        let Some(copy) = copy else { return };
        self.mirrors.queue_bytes += copy.text.len();
        self.mirrors.queue.push_back(copy);
        self.set_off_copies();
    }

    /// Sets off copies that wait, as many as may run.
    pub(crate) fn set_off_copies(&mut self) {
        self.mirrors.busy = true;
        for _ in 0..BATCH {
            let Some(copy) = self.mirrors.next() else { break };
            self.set_off_copy(copy);
        }
        self.mirrors.busy = false;
    }

    fn set_off_copy(&mut self, copy: Copy) {
        self.stats.mirrored += 1;
        self.mirrors.running += 1;
        let (now_us, name) = (self.now_us, self.mirrors.name.clone());
        let Copy { text, account, client, proxy, caps, class, want, last_insert_id, to, asked } =
            copy;
        let id = self.sessions.insert_with(|_| {
            let arrival = Arrival {
                client,
                client_port: 0,
                secure: false,
                can_have_tls: false,
                proxy,
                connection: ConnectionId(0),
                random: [0; 20],
                clients: 0,
                failed_logins: 0,
            };
            let session = Session::new(arrival, [0; 20], now_us);
            let next_flag = to.flag_in.unwrap_or(0);
            Session {
                client: Client { mirror: true, ..session.client },
                phase: Phase::Idle,
                account: Some(account),
                caps,
                class,
                first: want.clone(),
                want,
                last: LastResults { insert_id: last_insert_id, ..session.last },
                serving: Serving { asked, next_flag, ..session.serving },
                ..session
            }
        });
        self.with(End::Client(id), |proxy| match to.flag_in {
            Some(_) => proxy.run_routed_copy(id, &text, to.hostgroup),
            None => {
                let vars = &proxy.snapshot.vars;
                let timeout_ms = vars.default_query_timeout_ms;
                let route = Route { destination: to.hostgroup, timeout_ms, ..Route::default() };
                proxy.run_copy(id, &text, &route);
            }
        });
        if let Some(session) = self.sessions.get_mut(id) {
            session.client.addr = name;
        }
    }

    /// Lets the rules look at a copy first.
    fn run_routed_copy(&mut self, id: SessionId, text: &[u8], hostgroup: Option<HostgroupId>) {
        let mut route = self.route(id, text);
        route.destination = route.destination.or(hostgroup);
        if route.answer.is_some() {
            return self.end_session(id, true);
        }
        match self.take_rewritten(&route) {
            Some(new) => {
                self.run_copy(id, &new, &route);
                self.spare_buffer(new);
            }
            None => self.run_copy(id, text, &route),
        }
    }

    fn run_copy(&mut self, id: SessionId, text: &[u8], route: &Route) {
        let account = self.sessions.get(id).and_then(|session| session.account.as_ref());
        let Some(account) = account else { return self.impossible(()) };
        let hostgroup = route.destination.unwrap_or(account.default_hostgroup);
        let (modes, judged) = (self.modes(id), self.defined());
        let mut facts = sql::facts_in(text, modes);
        facts.effects |= self.reach(id, text, &facts, hostgroup);
        self.begin_definition(id, (text, modes), facts.effects);
        let job = Job {
            hostgroup,
            effects: facts.effects,
            // nobody will ask for the id that it makes
            holds: holds::of_text(&facts).without(Holds::LAST_INSERT_ID),
            needs_insert_id: facts.effects.intersects(Effects::READS_LAST_INSERT_ID),
            retries_left: 0,
            fresh: route.create_new_connection,
            judged,
            ..Job::routed(What::Plain, ReplyKind::Result, route)
        };
        self.keep_text(id, wire::command::code::QUERY, text);
        self.begin_after(id, route.delay_ms, job, None);
    }

    /// A copy has ended, or its session is gone.
    pub(crate) fn copy_ended(&mut self) {
        self.mirrors.running = self.mirrors.running.saturating_sub(1);
        if !self.mirrors.busy {
            self.dues.copies();
        }
    }

    /// Tidegate stops: nobody waits for copies.
    pub(crate) fn end_copies(&mut self) {
        self.mirrors.queue.clear();
        self.mirrors.queue_bytes = 0;
        let copies = self.sessions.iter().filter(|(_, session)| session.is_mirror());
        let copies: Vec<_> = copies.map(|(id, _)| id).collect();
        self.with_each(copies, End::Client, |proxy, id| proxy.end_session(id, true));
    }
}
