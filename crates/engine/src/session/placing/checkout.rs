//! Getting a lane for a command: checkout, dial, wait, give up with a reason.
//!
//! Which lane fits best is `pool`; what happens on it is `run`.

use crate::error::{self, SqlError};
use crate::holds::Holds;
use crate::ids::{HostgroupId, LaneId, SessionId};
use crate::lane::{Held, Lane, Lease};
use crate::orders::{End, Order};
use crate::pool::queue::Before;
use crate::pool::{self, Checkout, Choice, Full, Need, PoolShard};
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::session::{Job, Phase, Session, Waiting, What};
use crate::stats::ServerStats;
use crate::topology::{DialLimits, Server, ServerRef};
use crate::users::Account;

/// How long a session without a dial of its own waits before it looks at the pool again when it is
/// the first that waits. Lanes that come free on this worker are given at once; this is for what
/// other workers do.
pub(crate) const LOOK_AGAIN_US: u64 = 100_000;

/// How many of the others look as often. The more there are, the less often each looks, so that
/// sessions that wait for one hostgroup take no time from sessions of another.
const LOOKERS: usize = 8;

impl Proxy {
    /// Gets a lane of the job's hostgroup and runs the kept command on it. `avoid` is the server
    /// that just broke down under it.
    pub(crate) fn check_out(&mut self, id: SessionId, job: Job, avoid: Option<usize>) {
        self.check_out_or_wait(id, job, avoid, false);
    }

    /// Does so for a command that had a lane before: should it have to wait, then in front of
    /// commands that had none.
    pub(crate) fn check_out_again(&mut self, id: SessionId, job: Job, avoid: Option<usize>) {
        self.with(End::Client(id), |proxy| proxy.check_out_or_wait(id, job, avoid, true));
    }

    fn check_out_or_wait(
        &mut self,
        id: SessionId,
        mut job: Job,
        avoid: Option<usize>,
        again: bool,
    ) {
        self.ask_to_share(id, &mut job);
        match self.find_lane(id, &job, avoid) {
            Checkout::Held(lane) => self.run(id, lane, job),
            Checkout::Shared(lane) => {
                debug_assert!(
                    self.overtakes_nobody(lane),
                    "I-QUEUE-1: room on a lane goes to those who waited for it"
                );
                self.run_shared(id, lane, job);
            }
            Checkout::Lane(lane) => {
                self.stats.checkouts_idle += 1;
                self.run_on_free(id, lane, job);
            }
            Checkout::Wait | Checkout::Refuse
                if job.lag_max_us == u64::MAX
                    && !self.snapshot.holds_back(job.hostgroup)
                    && self.serves_itself(id, &job) => {}
            Checkout::Wait if self.gives_up_early(id, &job) => {
                self.fail_job(id, &job, &error::no_server(job.hostgroup, ""));
            }
            Checkout::Refuse => {
                let why = self.explain_servers(id, job.hostgroup);
                self.give_up(id, &job, error::no_server(job.hostgroup, &why));
            }
            found => {
                let limited = matches!(found, Checkout::Wait) && self.is_limited(id, job.hostgroup);
                self.stats.checkouts_limited += u64::from(limited);
                let for_lag = job.lag_max_us < u64::MAX && matches!(found, Checkout::Wait);
                self.stats.lag_limit_waits += u64::from(for_lag);
                self.begin_wait(id, job, avoid, (again, for_lag));
                self.pursue(id, found);
            }
        }
    }

    /// A session stands in line with its command.
    fn begin_wait(
        &mut self,
        id: SessionId,
        job: Job,
        avoid: Option<usize>,
        (again, for_lag): (bool, bool),
    ) {
        let wait_us = match self.has_no_proof_left(id, job.hostgroup) {
            // until a server is free to look at a password
            true => self.patience_us(id, What::Plain),
            false => self.patience_us(id, job.what),
        };
        let ticket = self.pool.enqueue(job.hostgroup, self.line_of(id, &job), id, again);
        self.stats.checkouts_waited += 1;
        let now_us = self.now_us;
        if let Some(session) = self.sessions.get_mut(id) {
            // a session that was served before has waited since it asked
            let asked_us = session.serving.asked.since_us().filter(|_| again);
            session.phase = Phase::Waiting(Waiting {
                job,
                ticket,
                since_us: asked_us.unwrap_or(now_us),
                deadline_us: now_us.saturating_add(wait_us),
                dialing: None,
                attempts: 0,
                paused_until_us: 0,
                avoid,
                said: None,
                for_lag,
            });
        }
        self.post_wait(job.hostgroup);
    }

    /// Runs a command on the lane that the session has in the hostgroup, where none of the server
    /// picked can be had.
    fn serves_itself(&mut self, id: SessionId, job: &Job) -> bool {
        let own = self.sessions.get(id).and_then(|session| session.held_in(job.hostgroup));
        if let Some(lane) = own {
            self.run(id, lane, *job);
        }
        own.is_some()
    }

    /// How long a session may wait for a lane: a copy makes one attempt.
    pub(crate) fn patience_us(&self, id: SessionId, what: What) -> u64 {
        let vars = &self.snapshot.vars;
        let mirror = self.sessions.get(id).is_some_and(Session::is_mirror);
        1000 * match mirror || what == What::LoginSchema {
            true => vars.connect_timeout_server_ms,
            false => vars.connect_timeout_server_max_ms,
        }
    }

    /// Whether a session does not wait for servers to recover: it is a copy, for which no client
    /// waits.
    fn gives_up_early(&self, id: SessionId, job: &Job) -> bool {
        self.sessions.get(id).is_some_and(Session::is_mirror)
            && !pool::is_any_usable(&self.snapshot.topology, job.hostgroup, self.now_us)
    }

    /// Finds a lane for a session's command. Where nothing but a shunned server could serve it,
    /// that is asked whether it answers.
    fn find_lane(&mut self, id: SessionId, job: &Job, avoid: Option<usize>) -> Checkout {
        let (hostgroup, fresh) = (job.hostgroup, job.fresh);
        // the check of a login is read from whatever server there is
        if job.what != What::LoginSchema && self.is_closed(hostgroup) {
            return Checkout::Wait;
        }
        let Some(session) = self.sessions.get(id) else { return self.impossible(Checkout::Refuse) };
        let Some(any) = self.need_of(session, hostgroup) else { return Checkout::Refuse };
        let held = session.held.as_slice();
        let (share, stmt) = (self.share_of(job), session.wanted_by(job));
        let untraced = session.reads_unset_variable(job);
        let is_paused = session.waiting().is_some_and(|it| it.paused_until_us > self.now_us);
        let limits = match is_paused {
            true => any.limits,
            false => self.dial_limits(any.account, hostgroup),
        };
        let backends_max = self.snapshot.backends_max(any.account);
        let asker = Some(id);
        let own = session.waiting().map(|waiting| waiting.ticket);
        let queue = self.pool.queue(hostgroup);
        let before = queue.map_or(Before::default(), |queue| queue.sharers_before(own));
        let choice = Choice::of(&self.snapshot, hostgroup, &self.server_stats);
        let lag = self.lag_limit(job);
        let need = Need {
            asker,
            avoid,
            held,
            fresh,
            untraced,
            share,
            before,
            stmt,
            limits,
            backends_max,
            choice: choice.as_ref(),
            lag,
            ..any
        };
        let found = self.pool.checkout(&need, &self.snapshot.topology, &self.lanes, self.now_us);
        self.stats.dials_delayed += self.pool.take_delayed();
        self.stats.checkouts_quick += self.pool.take_preferred();
        self.settled(id, hostgroup, found)
    }

    /// What a checkout comes to for a session: a probe sets off, and a hostgroup that servers may
    /// come to by themselves is waited for.
    #[inline]
    pub(crate) fn settled(
        &mut self,
        id: SessionId,
        hostgroup: HostgroupId,
        found: Checkout,
    ) -> Checkout {
        match found {
            Checkout::Refuse if self.snapshot.may_get_servers(hostgroup) => Checkout::Wait,
            Checkout::Probe(server) => {
                self.dial(id, server, Lease::Dialing(None));
                Checkout::Wait
            }
            found => found,
        }
    }

    /// Whether nothing begins in a hostgroup.
    #[inline]
    pub(crate) fn is_closed(&self, hostgroup: HostgroupId) -> bool {
        // most hostgroups are not held and have no row
        let may_be = !self.snapshot.held.is_empty() || !self.snapshot.hostgroups.is_empty();
        may_be && self.why_closed(hostgroup).is_some()
    }

    /// Why nothing begins in a hostgroup, where that is so. It is held, or more of its servers are
    /// online than may be, so that it is not known which of them has the data.
    fn why_closed(&self, hostgroup: HostgroupId) -> Option<String> {
        if self.snapshot.holds_back(hostgroup) {
            return Some("it is held (SHOW TOPOLOGY)".to_owned());
        }
        let most = self.snapshot.hostgroups.find(hostgroup)?.online_max;
        let online = pool::online(&self.snapshot.topology, hostgroup, self.now_us);
        (online > most).then(|| {
            format!(
                "{online} of its servers are online, of at most {most} (max_num_online_servers)"
            )
        })
    }

    /// What became of each server of a hostgroup, to explain an error.
    pub(crate) fn explain_servers(&self, id: SessionId, hostgroup: HostgroupId) -> String {
        let all = || pool::explain(&self.snapshot.topology, hostgroup, self.now_us);
        let account = self.sessions.get(id).and_then(|session| session.account.as_ref());
        match account.filter(|_| self.is_limited(id, hostgroup)) {
            Some(_) if self.has_no_proof_left(id, hostgroup) => error::PROOFS_TAKEN.to_owned(),
            Some(account) => {
                error::account_limited(&account.name, self.snapshot.backends_max(account))
            }
            None => self.why_closed(hostgroup).unwrap_or_else(all),
        }
    }

    /// Whether a session's account has as many connections as it may to every server of a hostgroup
    /// that could be asked for one.
    #[inline]
    pub(crate) fn is_limited(&self, id: SessionId, hostgroup: HostgroupId) -> bool {
        let account = self.sessions.get(id).and_then(|session| session.account.as_ref());
        let Some(account) = account else { return false };
        if account.unproved != 0 && self.has_proofs_taken(account, hostgroup) {
            return true;
        }
        let most = self.snapshot.backends_max(account);
        if most == u32::MAX {
            return false;
        }
        let servers = self.snapshot.topology.hostgroup(hostgroup).iter();
        let mut usable = servers.filter(|server| server.state(self.now_us).is_serving()).peekable();
        usable.peek().is_some() && usable.all(|server| account.backends.open(server.index) >= most)
    }

    /// Whether a session has proved no password, and all connections of a hostgroup are taken with
    /// which servers prove them.
    #[inline]
    pub(crate) fn has_no_proof_left(&self, id: SessionId, hostgroup: HostgroupId) -> bool {
        let account = self.sessions.get(id).and_then(|session| session.account.as_ref());
        let unproved = account.filter(|account| account.unproved != 0);
        unproved.is_some_and(|account| self.has_proofs_taken(account, hostgroup))
    }

    #[cold]
    fn has_proofs_taken(&self, account: &Account, hostgroup: HostgroupId) -> bool {
        let servers = self.snapshot.topology.hostgroup(hostgroup).iter();
        let mut usable = servers.filter(|server| server.state(self.now_us).is_serving()).peekable();
        usable.peek().is_some()
            && usable.all(|server| {
                pool::scarcity(server, account, u32::MAX, self.now_us) == Some(Full::Unproved)
            })
    }

    /// Whether no more connections like a lane may be opened: its server has as many as it may, or
    /// its account has.
    pub(crate) fn is_scarce(&self, lane: &Lane) -> bool {
        let most = self.snapshot.backends_max(&lane.account);
        pool::scarcity(&lane.server, &lane.account, most, self.now_us).is_some()
    }

    /// Whether there are more connections like a lane than may be.
    pub(crate) fn is_surplus(&self, lane: &Lane) -> bool {
        let most = self.snapshot.backends_max(&lane.account);
        lane.server.gauge.used() > lane.server.max_connections
            || most < u32::MAX && lane.account.backends.open(lane.server.index) > most
    }

    /// How fast connections of an account to the servers of a hostgroup may be made.
    pub(crate) fn dial_limits(&self, account: &Account, hostgroup: HostgroupId) -> DialLimits {
        let limits = self.snapshot.hostgroups.dial_limits(hostgroup, &self.snapshot.vars);
        if account.unproved == 0 { limits } else { limits.of_unproved() }
    }

    /// Takes the permits for one more connection of a session to a server.
    pub(crate) fn take_permits(&self, id: SessionId, server: &Server) -> bool {
        let account = self.sessions.get(id).and_then(|session| session.account.as_ref());
        account.is_some_and(|account| {
            pool::take_permits(server, account, self.snapshot.backends_max(account))
        })
    }

    /// What a waiting session does with the outcome of a checkout that gave it no lane.
    pub(crate) fn pursue(&mut self, id: SessionId, found: Checkout) {
        match found {
            Checkout::Dial(server) => self.dial_for(id, server),
            Checkout::Replace(lane, server) => {
                // the closed lane's permit is taken over
                self.close_lane(lane);
                if self.take_permits(id, &server) {
                    self.dial_for(id, server);
                } else {
                    self.look_again_later(id);
                }
            }
            _ => {
                self.look_again_later(id);
                let waiting = self.sessions.get(id).and_then(Session::waiting);
                if let Some(hostgroup) = waiting.map(|waiting| waiting.job.hostgroup) {
                    self.relieve_first(hostgroup);
                    self.survey_for_waiters(hostgroup);
                }
            }
        }
    }

    pub(crate) fn look_again_later(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let Phase::Waiting(waiting) = &session.phase else { return self.impossible(()) };
        let (hostgroup, paused_until_us) = (waiting.job.hostgroup, waiting.paused_until_us);
        let due_us = match paused_until_us > self.now_us {
            true => waiting.deadline_us.min(paused_until_us),
            false => waiting.deadline_us,
        };
        let first = self.pool.first_waiter(hostgroup) == Some(id);
        let waiting = if first { 1 } else { self.pool.waiter_count(hostgroup) };
        self.wake(id, due_us.min(self.now_us + look_again_us(waiting)));
        if first {
            self.want(hostgroup);
        }
    }

    fn dial_for(&mut self, id: SessionId, server: ServerRef) {
        let lane = self.dial(id, server, Lease::Dialing(Some(id)));
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if let Phase::Waiting(waiting) = &mut session.phase {
            waiting.dialing = lane;
            waiting.attempts += 1;
            let at_us = waiting.deadline_us;
            self.wake(id, at_us);
        }
    }

    /// Gives a free lane to a session that runs its command on it.
    pub(crate) fn run_on_free(&mut self, id: SessionId, lane: LaneId, job: Job) {
        let mut is_asked = false;
        if let Some(lane) = self.lanes.get(lane) {
            is_asked = lane.marks.tells_changes;
            note_used(&self.pool, &mut self.server_stats, &lane.server);
        }
        if !is_asked {
            self.ask_for_changes(lane);
        }
        if self.opens_shared(id, lane, &job) {
            self.run_shared(id, lane, job);
            return self.fill_shared(lane);
        }
        self.stats.checkouts += 1;
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.lease = Lease::Exclusive(id);
            lane.marks.used = true;
            lane.traffic.checkouts += 1;
        }
        let (hostgroup, why, presumed) = (job.hostgroup, Holds::NONE, Holds::NONE);
        session.held.push(Held { hostgroup, lane, why, presumed, own: false });
        self.run(id, lane, job);
    }

    /// Takes a session out of its wait; what it waited to run is returned.
    pub(crate) fn stop_waiting(&mut self, id: SessionId) -> Option<Job> {
        let session = self.sessions.get_mut(id)?;
        let Phase::Waiting(Waiting { job, ticket, dialing, since_us, for_lag, .. }) = session.phase
        else {
            return None;
        };
        session.phase = Phase::Idle;
        if for_lag {
            self.stats.lag_limit_wait_us += self.now_us.saturating_sub(since_us);
        }
        self.note_served(id);
        let hostgroup = job.hostgroup;
        let was_first = self.pool.forget_waiter(hostgroup, ticket);
        self.post_wait(hostgroup);
        if was_first {
            self.watch_first(hostgroup);
        }
        if let Some(lane) = dialing.and_then(|lane| self.lanes.get_mut(lane))
            && lane.lease == Lease::Dialing(Some(id))
        {
            lane.lease = Lease::Dialing(None);
        }
        Some(job)
    }

    /// The lane that a session dialed stands, whoever gets it: should that be somebody else, the
    /// session looks again.
    pub(crate) fn forget_dial(&mut self, id: SessionId, lane: LaneId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Phase::Waiting(waiting) = &mut session.phase else { return self.impossible(()) };
        if waiting.dialing == Some(lane) {
            waiting.dialing = None;
            self.look_again_later(id);
        }
    }

    /// A dial is given up that nobody wants any more: its waiter looks elsewhere.
    pub(crate) fn cancel_dial(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(()) };
        let Lease::Dialing(dialer) = lane.lease else { return self.impossible(()) };
        self.orders.push(Order::Close(End::Lane(lane_id)));
        self.forget(lane_id);
        let Some(id) = dialer else { return };
        if let Some(session) = self.sessions.get_mut(id)
            && let Phase::Waiting(waiting) = &mut session.phase
        {
            waiting.dialing = None;
            self.look_again(id);
        }
    }

    /// A waiting session looks at the pool once more, or gives up when its time is over.
    pub(crate) fn look_again(&mut self, id: SessionId) {
        self.with(End::Client(id), |proxy| proxy.look_once_more(id));
    }

    fn look_once_more(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let Phase::Waiting(waiting) = &session.phase else { return self.impossible(()) };
        if self.now_us >= waiting.deadline_us {
            return self.wait_no_longer(id);
        }
        if waiting.dialing.is_some() {
            let at_us = waiting.deadline_us;
            return self.wake(id, at_us);
        }
        let (job, avoid) = (waiting.job, waiting.avoid);
        match self.find_lane(id, &job, avoid) {
            Checkout::Held(lane) => {
                self.stop_waiting(id);
                self.run(id, lane, job);
            }
            Checkout::Shared(lane) => {
                self.stop_waiting(id);
                self.run_shared(id, lane, job);
            }
            Checkout::Lane(lane) => {
                self.stop_waiting(id);
                self.run_on_free(id, lane, job);
            }
            Checkout::Refuse => self.wait_no_longer(id),
            found => self.pursue(id, found),
        }
    }

    /// A session has waited in vain: its time is over, or no server can be had by more of it.
    pub(crate) fn wait_no_longer(&mut self, id: SessionId) {
        let now_us = self.now_us;
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Phase::Waiting(waiting) = &mut session.phase else { return self.impossible(()) };
        let (since_us, said) = (waiting.since_us, waiting.said.take());
        let is_over = now_us >= waiting.deadline_us;
        let Some(job) = self.stop_waiting(id) else { return self.impossible(()) };
        let mut why = self.explain_servers(id, job.hostgroup);
        let servers = self.snapshot.topology.hostgroup(job.hostgroup);
        if let Some(lag) = self.lag_limit(&job).explain(servers) {
            why = format!("{why}; {lag}");
        }
        let why = error::with_answer(why, said.as_ref());
        self.stats.connect_timeouts += u64::from(is_over);
        let error = if is_over {
            error::connect_timeout(job.hostgroup, now_us.saturating_sub(since_us) / 1000, &why)
        } else {
            error::no_server(job.hostgroup, &why)
        };
        self.give_up(id, &job, error);
    }

    /// The command cannot be served: the client is told why. A login goes on without a server.
    pub(crate) fn give_up(&mut self, id: SessionId, job: &Job, error: SqlError) {
        if job.what == What::LoginSchema {
            return self.fail_job(id, job, &error);
        }
        self.stats.checkouts_failed += 1;
        if let Some(session) = self.sessions.get(id)
            && !session.is_mirror()
        {
            let (hostgroup, connection) = (job.hostgroup, session.client.connection);
            let error = error.clone();
            self.orders.report(LogEvent::NoConnection { hostgroup, connection, error });
        }
        self.fail_unserved(id, job, &error);
    }
}

/// One more connection to a server is in use.
pub(super) fn note_used(pool: &PoolShard, stats: &mut ServerStats, server: &Server) {
    let idle = pool.idle_of(server).len();
    if let Some(counters) = stats.of(server.index) {
        counters.note_used(idle);
    }
}

/// How long a session pauses before the next look, of so many that wait for a hostgroup.
fn look_again_us(waiting: usize) -> u64 {
    LOOK_AGAIN_US * (waiting / LOOKERS).max(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_who_wait_look_as_often_as_a_few() {
        assert_eq!([1, 2, 15].map(look_again_us), [LOOK_AGAIN_US; 3]);
        for waiting in [16, 500, 4096] {
            let looks_per_s = waiting as u64 * 1_000_000 / look_again_us(waiting);
            assert!((80..=160).contains(&looks_per_s), "{waiting}: {looks_per_s}");
        }
    }
}
