//! The pool of one worker: which lane a command gets, or where to dial, or why there is none.
//!
//! The pool owns no connection; it knows which lanes are idle and which sessions wait. A lane
//! changes hands only by being given: to the first waiter it fits, else to the idle ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use wire::Caps;

use crate::ids::{HostgroupId, LaneId, SessionId};
use crate::lane::depth::Depth;
use crate::lane::policy::Bounds;
use crate::lane::{Held, Lane, Presented};
use crate::link::LinkState;
use crate::slab::Slab;
use crate::stmt::Wanted;
use crate::topology::{DialLimits, Server, ServerRef, Topology};
use crate::users::Account;

mod choice;
mod contents;
mod credit;
pub mod health;
mod lag;
mod lone;
mod permits;
pub mod queue;
mod room;
mod usable;

pub use choice::Choice;
use choice::Speeds;
use choice::Tried;
use credit::Credits;
use health::Health;
pub use lag::LagLimit;
use lone::Lone;
use permits::begins_probe;
pub use permits::{Full, force_permits, give_permits, scarcity, take_permits, told_full};
use queue::{Before, Line, Queue, Ticket};
pub use room::{Room, room};
use room::{SharedLanes, has_place, is_provided_for, may_join};
pub use usable::{explain, is_another_usable, is_any_usable, online};

/// How many idle lanes of a server are looked at for the one that fits best.
const SCAN: usize = 16;

/// What a command needs of a lane.
#[derive(Clone, Copy)]
pub struct Need<'a> {
    /// The session that asks; `None` where nobody stays with a server.
    pub asker: Option<SessionId>,
    /// Hostgroup it goes to.
    pub hostgroup: HostgroupId,
    /// Whose login.
    pub account: &'a Arc<Account>,
    /// How many connections to each server that may have.
    pub backends_max: u32,
    /// Capability class.
    pub class: Caps,
    /// The address of the client that its server is to know, if it is told of any.
    pub client: Option<&'a Arc<str>>,
    /// State to arrive at.
    pub want: &'a LinkState,
    /// Index of the server that just failed: another one is preferred, and none of its idle lanes
    /// is trusted.
    pub avoid: Option<usize>,
    /// Lanes that the session has already: of the server that is picked, its own serves first.
    pub held: &'a [Held],
    /// Only a connection that nobody has used will do.
    pub fresh: bool,
    /// No connection will do that user variables were taken off, or would have to be.
    pub untraced: bool,
    /// How fast connections may be made.
    pub limits: DialLimits,
    /// A lane that others use will do as well: within these bounds, for a command that takes the
    /// server so many microseconds.
    pub share: Option<(Bounds, u64)>,
    /// Those who wait to share a lane and came before: what may be theirs is left.
    pub before: Before,
    /// What is executed: a connection that has it prepared is preferred, and one that others use
    /// must have it.
    pub stmt: Option<Wanted<'a>>,
    /// What the server is chosen by; `None` for the weights alone.
    pub choice: Option<&'a Choice<'a>>,
    /// How far behind the server may be.
    pub lag: LagLimit,
}

impl<'a> Need<'a> {
    /// A lane of its own that is there, on any server of the hostgroup: none is dialed for it.
    pub fn of(
        hostgroup: HostgroupId,
        account: &'a Arc<Account>,
        class: Caps,
        want: &'a LinkState,
    ) -> Self {
        Self {
            asker: None,
            hostgroup,
            account,
            backends_max: u32::MAX,
            class,
            client: None,
            want,
            avoid: None,
            held: &[],
            fresh: false,
            untraced: false,
            limits: DialLimits { at_once: 0, per_sec: 0 },
            share: None,
            before: Before::default(),
            stmt: None,
            choice: None,
            lag: LagLimit::NONE,
        }
    }
}

/// What a checkout came to.
pub enum Checkout {
    /// This lane, which the session holds.
    Held(LaneId),
    /// This lane, which has other sessions' commands on it and room for one more.
    Shared(LaneId),
    /// This idle lane, out of the pool now.
    Lane(LaneId),
    /// A new connection to this server; its permit is taken.
    Dial(ServerRef),
    /// First close this idle lane, which nobody fits who waits, then dial its server; the permit
    /// passes on.
    Replace(LaneId, ServerRef),
    /// A new connection to this shunned server, for whoever comes first, and wait; its permit is
    /// taken.
    Probe(ServerRef),
    /// All servers are busy or shunned: wait.
    Wait,
    /// Waiting cannot help.
    Refuse,
}

/// Idle and shared lanes by server and waiting sessions by hostgroup.
pub struct PoolShard {
    idle: Vec<Vec<LaneId>>,
    shared: Vec<SharedLanes>,
    /// By server: how many commands its shared lanes carry.
    depths: Vec<Depth>,
    waiters: BTreeMap<HostgroupId, Queue>,
    /// Where the tickets of a new queue begin: lanes remember those of queues that are gone.
    first_ticket: Ticket,
    /// The most that any shared lane has passed over (`Lane::passed`).
    passed: Ticket,
    /// In all of these queues together.
    waiting: usize,
    /// How far each server is behind its share.
    credits: Credits,
    /// How long commands take on each server.
    speeds: Speeds,
    /// How often servers were left out for the time that their pings take.
    preferred: u64,
    /// By server: when a connection last made room for one of another kind.
    made_room_us: Vec<u64>,
    /// Who stays with a server.
    lone: Lone,
    /// Which servers stand still: they get no further commands while another one answers.
    pub(crate) health: Health,
    /// Connections that were not made at once because of limits on making them.
    delayed: u64,
    random: u64,
}

impl PoolShard {
    /// An empty pool for the servers of a topology. `seed` says which of them come first, so that
    /// workers do not all begin with the same.
    pub fn new(topology: &Topology, seed: u64) -> Self {
        let lists = || (0..topology.numbers()).map(|_| Vec::new()).collect();
        let mut random = seed | 1;
        let credits = Credits::new(topology, || xorshift(&mut random));
        let depths = (0..topology.numbers()).map(|_| Depth::default()).collect();
        let (waiters, waiting) = (BTreeMap::new(), 0);
        let mut health = Health::default();
        health.resize(topology.numbers());
        Self {
            idle: lists(),
            shared: (0..topology.numbers()).map(|_| SharedLanes::default()).collect(),
            depths,
            waiters,
            first_ticket: queue::FIRST,
            passed: 0,
            waiting,
            credits,
            speeds: Speeds::default(),
            preferred: 0,
            made_room_us: vec![0; topology.numbers()],
            lone: Lone::default(),
            health,
            delayed: 0,
            random,
        }
    }

    /// The servers are those of `topology` from now on. Where those of a hostgroup changed, all of
    /// them begin with what is their share then.
    pub fn adopt(&mut self, before: &Topology, topology: &Topology) {
        let numbers = topology.numbers().max(self.idle.len());
        self.idle.resize_with(numbers, Vec::new);
        self.shared.resize_with(numbers, SharedLanes::default);
        self.depths.resize_with(numbers, Depth::default);
        self.credits.resize(numbers);
        self.made_room_us.resize(numbers, 0);
        self.health.resize(numbers);
        for (hostgroup, servers) in topology.groups() {
            let old = before.hostgroup(hostgroup);
            let pairs = || old.iter().zip(servers);
            if old.len() == servers.len() && pairs().all(|(a, b)| Arc::ptr_eq(a, b)) {
                continue;
            }
            servers.iter().for_each(|server| self.credits.forget(server));
        }
        let first_ticket = &mut self.first_ticket;
        self.waiters.retain(|_, queue| {
            *first_ticket = queue.next_ticket().max(*first_ticket);
            !queue.is_empty()
        });
    }

    /// Finds a lane for a command.
    pub fn checkout(
        &mut self,
        need: &Need<'_>,
        topology: &Topology,
        lanes: &Slab<LaneId, Lane>,
        now_us: u64,
    ) -> Checkout {
        let servers = topology.hostgroup(need.hostgroup);
        if let Some(server) = self.staying(servers, need, now_us)
            && let Some(ready) = self.ready_on(server, need, lanes)
        {
            return ready;
        }
        let mut tried = Tried::default();
        let mut wait = false;
        while let Some(server) = self.pick(servers, &tried, (need, lanes), now_us) {
            wait = true;
            if let Some(ready) = self.ready_on(server, need, lanes) {
                self.lone.is_given(server.index, now_us);
                return ready;
            }
            if is_provided_for(server, servers.len(), need) {
                // the lanes that are on their way will do
            } else if !server.may_dial(&need.limits, now_us)
                || need.account.backends.is_full(server.index, now_us)
            {
                self.delayed += u64::from(need.limits.at_once > 0);
            } else if let Some(other) = self.take_unfit(server, need, lanes, now_us) {
                return Checkout::Replace(other, server.clone());
            } else if take_permits(server, need.account, need.backends_max) {
                return Checkout::Dial(server.clone());
            }
            let position = servers.iter().position(|other| other.index == server.index);
            tried.note(position.unwrap_or(0));
        }
        if wait {
            return Checkout::Wait;
        }
        if let Some(server) = servers.iter().find(|server| begins_probe(server, need, now_us)) {
            return Checkout::Probe(server.clone());
        }
        match servers.iter().any(|server| server.state(now_us).is_worth_a_wait()) {
            true => Checkout::Wait,
            false => Checkout::Refuse,
        }
    }

    /// The server that a client stays with because nobody else asks.
    fn staying<'s>(
        &mut self,
        servers: &'s [ServerRef],
        need: &Need<'_>,
        now_us: u64,
    ) -> Option<&'s ServerRef> {
        if servers.len() < 2 || need.choice.is_some() || need.lag.is_set() {
            return None;
        }
        let index = self.lone.asks(need.asker, need.hostgroup, now_us)?;
        let server = servers.iter().find(|server| server.index == index)?;
        let serves = server.state(now_us).is_serving() && !self.health.is_still(index);
        serves.then_some(server)
    }

    /// A lane of a server that needs no dial: the session's own, or an idle one.
    fn ready_on(
        &mut self,
        server: &Server,
        need: &Need<'_>,
        lanes: &Slab<LaneId, Lane>,
    ) -> Option<Checkout> {
        let is_own = |held: &&Held| {
            lanes.get(held.lane).is_some_and(|lane| {
                lane.server.index == server.index && !(need.untraced && lane.marks.traced)
            })
        };
        if let Some(own) = need.held.iter().find(is_own).filter(|_| !need.fresh) {
            return Some(Checkout::Held(own.lane));
        }
        // where a connection just broke, idle ones may be broken too and not know it yet
        if need.avoid == Some(server.index) {
            return None;
        }
        let Some((bounds, cost_us)) = need.share else {
            return self.take_idle(server, need, lanes).map(Checkout::Lane);
        };
        let usual = Bounds { depth: self.depth_of(server, bounds.depth), ..bounds };
        if let Some(lane) = self.roomy(server, need, &usual, cost_us, lanes) {
            return Some(Checkout::Shared(lane));
        }
        if let Some(lane) = self.take_idle(server, need, lanes) {
            return Some(Checkout::Lane(lane));
        }
        // rather than wait for a dial
        self.roomy(server, need, &bounds, cost_us, lanes).map(Checkout::Shared)
    }

    /// For how long no connection to a server has made room for one of another kind.
    pub fn no_room_made_us(&self, server: &Server, now_us: u64) -> u64 {
        let made_us = self.made_room_us.get(server.index).copied().unwrap_or(0);
        now_us.saturating_sub(made_us)
    }

    /// A connection to a server makes room for one of another kind.
    pub fn note_room_made(&mut self, server: &Server, now_us: u64) {
        if let Some(made_us) = self.made_room_us.get_mut(server.index) {
            *made_us = now_us;
        }
    }

    /// A number that spreads what would otherwise happen at the same moment.
    pub fn random(&mut self) -> u64 {
        xorshift(&mut self.random)
    }

    /// How often a connection was not made at once because of limits on making them, since this
    /// was asked the last time.
    pub fn take_delayed(&mut self) -> u64 {
        std::mem::take(&mut self.delayed)
    }

    /// How many commands the shared lanes of a server carry now, of at most `max`.
    pub fn depth_of(&self, server: &Server, max: usize) -> usize {
        self.depths.get(server.index).map_or(max, |depth| depth.limit(max))
    }

    /// A command that shared a lane of a server ended so long after its client had asked.
    pub fn note_shared(&mut self, server: &Server, took_us: u64, now_us: u64, max: usize) {
        if let Some(depth) = self.depths.get_mut(server.index) {
            depth.note(took_us, now_us, max);
        }
    }

    /// A shared lane of a server that has room: the one that was joined last as long as it has, so
    /// that the others may come to rest.
    fn roomy(
        &mut self,
        server: &Server,
        need: &Need<'_>,
        bounds: &Bounds,
        cost_us: u64,
        lanes: &Slab<LaneId, Lane>,
    ) -> Option<LaneId> {
        // a crowd that waits does not look at each lane for every command
        if need.before.last > self.passed {
            return None;
        }
        let has_room = |lane: &Lane| {
            lane.shared.passed >= need.before.last
                && has_place(lane, bounds, cost_us)
                && may_join(lane, need)
        };
        self.shared.get_mut(server.index)?.join(|id| lanes.get(id).is_some_and(has_room))
    }

    /// A shared lane fits nobody of those who wait to share up to this ticket.
    pub fn pass_over(&mut self, lane: &mut Lane, ticket: Ticket) {
        lane.shared.passed = ticket;
        self.passed = self.passed.max(ticket);
    }

    /// The idle lane of a server that needs the least aligning, latest used first.
    fn take_idle(
        &mut self,
        server: &Server,
        need: &Need<'_>,
        lanes: &Slab<LaneId, Lane>,
    ) -> Option<LaneId> {
        let idle = self.idle.get_mut(server.index)?;
        let mut best: Option<(u32, usize)> = None;
        for (position, id) in idle.iter().enumerate().rev().take(SCAN) {
            let Some(lane) = lanes.get(*id) else { continue };
            let Some(steps) = fits(lane, need) else { continue };
            let missing = need.stmt.is_some_and(|wanted| !lane.stmts.has(wanted));
            let steps = steps + u32::from(missing);
            if best.is_none_or(|(least, _)| steps < least) {
                best = Some((steps, position));
            }
            if steps == 0 {
                break;
            }
        }
        let (_, position) = best?;
        if position + 1 == idle.len() { idle.pop() } else { Some(idle.remove(position)) }
    }

    /// Puts a lane among the idle ones.
    pub fn put_idle(&mut self, server: &Server, lane: LaneId) {
        if let Some(idle) = self.idle.get_mut(server.index) {
            idle.push(lane);
        }
    }

    /// Brings the idle lanes of a server back into their order: longest unused first.
    pub fn sort_idle(&mut self, server: &Server, used_us: impl Fn(LaneId) -> u64) {
        if let Some(idle) = self.idle.get_mut(server.index) {
            idle.sort_by_key(|id| used_us(*id));
        }
    }

    /// Takes a lane out of the idle ones; `false` when it was not there.
    pub fn remove_idle(&mut self, server: &Server, lane: LaneId) -> bool {
        let Some(idle) = self.idle.get_mut(server.index) else { return false };
        let before = idle.len();
        idle.retain(|id| *id != lane);
        idle.len() < before
    }

    /// Puts a lane among the shared ones.
    pub fn put_shared(&mut self, server: &Server, lane: LaneId) {
        if let Some(shared) = self.shared.get_mut(server.index) {
            shared.list.push(lane);
        }
    }

    /// Takes a lane out of the shared ones.
    pub fn remove_shared(&mut self, server: &Server, lane: LaneId) {
        if let Some(shared) = self.shared.get_mut(server.index) {
            shared.remove(lane);
        }
    }

    /// The shared lanes of a server.
    pub fn shared_of(&self, server: &Server) -> &[LaneId] {
        self.shared.get(server.index).map_or(&[], |shared| shared.list.as_slice())
    }

    /// How many lanes are shared now.
    pub fn shared_count(&self) -> usize {
        self.shared.iter().map(|shared| shared.list.len()).sum()
    }

    /// The idle lanes of a server, longest idle first.
    pub fn idle_of(&self, server: &Server) -> &[LaneId] {
        self.idle.get(server.index).map_or(&[], Vec::as_slice)
    }

    /// Puts a session in a hostgroup's queue: at the end of a line, or where those are who have to
    /// be served `again`.
    pub fn enqueue(
        &mut self,
        hostgroup: HostgroupId,
        line: Line,
        session: SessionId,
        again: bool,
    ) -> Ticket {
        self.waiting += 1;
        let new = || Queue::from_ticket(self.first_ticket);
        let queue = self.waiters.entry(hostgroup).or_insert_with(new);
        match again {
            true => queue.push_again(line, session),
            false => queue.push(line, session),
        }
    }

    /// Takes whoever has a ticket out of a hostgroup's queue; whether that was its first.
    pub fn forget_waiter(&mut self, hostgroup: HostgroupId, ticket: Ticket) -> bool {
        let Some(queue) = self.waiters.get_mut(&hostgroup) else { return false };
        let was_first = queue.first().is_some_and(|(first, _)| first == ticket);
        self.waiting -= usize::from(queue.remove(ticket));
        was_first
    }

    /// Takes a session out of whichever queue it is in.
    pub fn forget_everywhere(&mut self, session: SessionId) {
        for queue in self.waiters.values_mut() {
            self.waiting -= queue.remove_session(session);
        }
    }

    /// Every session that waits, by hostgroup; those of one first come first.
    pub fn all_waiters(&self) -> Vec<SessionId> {
        self.waiters.values().flat_map(Queue::iter).collect()
    }

    /// The sessions that wait for a hostgroup, first come first, copies last.
    pub fn waiters(&self, hostgroup: HostgroupId) -> impl Iterator<Item = SessionId> + '_ {
        self.waiters.get(&hostgroup).into_iter().flat_map(Queue::iter)
    }

    /// Who waits first for a hostgroup.
    pub fn first_waiter(&self, hostgroup: HostgroupId) -> Option<SessionId> {
        self.queue(hostgroup)?.first().map(|(_, session)| session)
    }

    /// The same, unless somebody is to be woken on behalf of all who wait for it.
    pub fn first_unwatched(&self, hostgroup: HostgroupId) -> Option<SessionId> {
        let queue = self.queue(hostgroup).filter(|queue| queue.watcher.is_none())?;
        queue.first().map(|(_, session)| session)
    }

    /// A session is going to be woken, on behalf of all who wait for a hostgroup.
    pub fn begin_watch(&mut self, hostgroup: HostgroupId, session: SessionId) {
        if let Some(queue) = self.waiters.get_mut(&hostgroup) {
            queue.watcher = Some(session);
        }
    }

    /// A session was woken, or is gone: for these hostgroups another one is to be woken.
    pub fn end_watch(&mut self, session: SessionId) -> Vec<HostgroupId> {
        let queues = self.waiters.iter_mut();
        let watched = queues.filter_map(|(hostgroup, queue)| {
            queue.watcher.take_if(|watcher| *watcher == session).map(|_| *hostgroup)
        });
        watched.collect()
    }

    /// Everybody who waits for a hostgroup; `None` where nobody does.
    pub fn queue(&self, hostgroup: HostgroupId) -> Option<&Queue> {
        if self.waiting == 0 {
            return None;
        }
        self.waiters.get(&hostgroup).filter(|queue| !queue.is_empty())
    }

    /// How many sessions wait for a hostgroup.
    pub fn waiter_count(&self, hostgroup: HostgroupId) -> usize {
        self.queue(hostgroup).map_or(0, Queue::len)
    }

    /// Whether no session waits for a hostgroup.
    pub fn has_no_waiters(&self, hostgroup: HostgroupId) -> bool {
        self.queue(hostgroup).is_none()
    }
}

/// How many steps a lane is away from a need; `None` when it can never serve it.
pub fn fits(lane: &Lane, need: &Need<'_>) -> Option<u32> {
    if !is_opened_as(lane, need) || lane.class != need.class {
        return None;
    }
    let bound = lane.marks.init_connect && need.want.loses_setting(&lane.state);
    if lane.marks.used && (need.fresh || bound) {
        return None;
    }
    if lane.marks.code_read_by.is_some() && reads_code_otherwise(lane, need) {
        return None;
    }
    let is_traced = || lane.marks.traced || need.want.loses_user_variable(&lane.state);
    if need.untraced && is_traced() {
        return None;
    }
    need.want.distance(&lane.state)
}

/// Whether the server of a lane knows it by the account and the client that a need has.
#[inline]
pub fn is_opened_as(lane: &Lane, need: &Need<'_>) -> bool {
    let tells = lane.presented.is_some() || need.client.is_some();
    is_same_account(&lane.account, need.account)
        && (!tells || Presented::is_of(lane.presented.as_deref(), need.client))
}

/// Whether a command would read stored code otherwise than the server of a lane has.
#[cold]
fn reads_code_otherwise(lane: &Lane, need: &Need<'_>) -> bool {
    lane.marks.code_read_by != Some(need.want.read_by(false))
}

/// Whether both are versions of one account that servers know alike.
pub(crate) fn is_same_account(one: &Arc<Account>, other: &Arc<Account>) -> bool {
    Arc::ptr_eq(one, other) || one.name == other.name && one.is_same_at_servers(other)
}

fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[cfg(test)]
mod tests;
