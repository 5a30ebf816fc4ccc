//! The wait queue: which waiting session gets a lane that is free, or room on a shared one.
//!
//! A free lane goes to the first session that it fits. Sessions that have waited longer may need
//! another kind of lane. Now and then a lane makes room for the first of these, and the sooner, the
//! longer that session has waited. No session is overtaken in any other way. Room on a shared lane
//! goes to the first session that may share it. A session that has just come gets this room only if
//! no waiting one can use it (`Lane::passed`). A session that needs a lane alone is not starved by
//! sessions that share: for each, a shared lane takes no further commands until it is free. What a
//! lane must be like for a command is `pool`.

use crate::ids::{HostgroupId, LaneId, SessionId};
use crate::lane::{Closing, Lane, Lease};
use crate::orders::End;
use crate::pool::queue::Line;
use crate::pool::{self, Checkout, Full, Need, Room};
use crate::proxy::Proxy;
use crate::session::placing::checkout::LOOK_AGAIN_US;
use crate::session::running::shared::Sharing;
use crate::session::{Job, Phase, Session, Waiting};

/// One of so many shared lanes at a time makes way for clients of other workers, where own ones
/// wait too.
const LANES_FOR_OTHERS: usize = 4;

/// For so long, in microseconds, may others overtake a session that waits for a connection of
/// another kind than theirs.
const OVERTAKEN_US: u64 = 100_000;

impl Proxy {
    /// Where a session stands in line with its command.
    pub(crate) fn line_of(&self, id: SessionId, job: &Job) -> Line {
        match job.sharing {
            _ if self.sessions.get(id).is_some_and(Session::is_mirror) => Line::Copies,
            Sharing::Does(_) => Line::Shares,
            Sharing::Never | Sharing::Alone | Sharing::May => Line::Alone,
        }
    }

    /// A reply on a shared lane has ended: the lane comes to rest, or has room for a session that
    /// waits.
    pub(crate) fn after_shared(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get_mut(lane_id) else { return };
        if lane.lease != Lease::Shared {
            return;
        }
        (lane.times.turned_us, lane.shared.follows) = (self.now_us, lane.in_flight() > 0);
        if lane.depth() == 0 {
            return self.rest(lane_id);
        }
        if lane.shared.closing.is_some() {
            return;
        }
        self.fill_shared(lane_id);
        if self.is_wanted_free(lane_id)
            && let Some(lane) = self.lanes.get_mut(lane_id)
        {
            lane.shared.closing = Some(Closing::Yields);
        }
    }

    /// Nothing is on a shared lane any more: it is any session's.
    pub(crate) fn rest(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(()) };
        self.pool.remove_shared(&lane.server, lane_id);
        self.free_lane(lane_id);
    }

    /// Sessions that wait and may share get the room on a shared lane, first come first served.
    pub(crate) fn fill_shared(&mut self, lane_id: LaneId) {
        while let Some(lane) = self.lanes.get(lane_id)
            && lane.lease == Lease::Shared
            && lane.shared.closing.is_none()
            && let Some(queue) = self.pool.queue(lane.server.hostgroup)
            && let Some((ticket, waiter)) = queue.next_to_share(lane.shared.passed)
        {
            match self.room_on(lane, waiter) {
                Room::Later => return,
                Room::Now => {
                    let Some(job) = self.stop_waiting(waiter) else { return self.impossible(()) };
                    let depth_max = self.bounds(&job).depth;
                    self.with(End::Client(waiter), |proxy| proxy.run_shared(waiter, lane_id, job));
                    if self.lanes.get(lane_id).is_some_and(|lane| lane.depth() >= depth_max) {
                        return;
                    }
                }
                Room::Never => {
                    if let Some(lane) = self.lanes.get_mut(lane_id) {
                        self.pool.pass_over(lane, ticket);
                    }
                }
            }
        }
    }

    /// Whether a shared lane has room for the command of a session that waits.
    fn room_on(&self, lane: &Lane, id: SessionId) -> Room {
        let Some(session) = self.sessions.get(id) else { return self.impossible(Room::Never) };
        let Some(waiting) = session.waiting() else { return Room::Never };
        let job = &waiting.job;
        let Some((bounds, cost_us)) = self.share_of(job) else { return Room::Never };
        let server = &lane.server;
        if waiting.avoid == Some(server.index) {
            return Room::Never;
        }
        if !server.state(self.now_us).is_serving() || self.is_closed(job.hostgroup) {
            return Room::Later;
        }
        if !self.lag_limit(job).admits(server) {
            return Room::Never;
        }
        let Some(any) = self.need_of(session, job.hostgroup) else { return Room::Never };
        let (untraced, stmt) = (session.reads_unset_variable(job), session.wanted_by(job));
        let need = Need { untraced, stmt, ..any };
        pool::room(lane, &need, &bounds, cost_us)
    }

    /// Whether a shared lane is to take no further command until it is free, because a session
    /// waits that it cannot serve before.
    fn is_wanted_free(&self, lane_id: LaneId) -> bool {
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(false) };
        let server = &lane.server;
        let Some(queue) = self.pool.queue(server.hostgroup) else {
            return self.worker_in_need(lane, self.now_us).is_some();
        };
        let waits = |waiter| self.has_no_dial(waiter) && !self.is_barred(waiter, lane);
        let alone = match queue.alone().any(waits) {
            true => queue.alone_len(),
            false => 0,
        };
        // of the sessions that may share, the first has to, should no shared lane be as it needs it
        let passed = queue.next_to_share(0).is_some_and(|(first, _)| first <= lane.shared.passed);
        let wanted = alone + usize::from(passed);
        let shared = self.pool.shared_of(server);
        let yield_already = |at_most: usize| {
            let why = |id: LaneId| self.lanes.get(id)?.shared.closing;
            let yields = |id: &&LaneId| why(**id) == Some(Closing::Yields);
            shared.iter().filter(yields).take(at_most).count() == at_most
        };
        let for_others = shared.len() / LANES_FOR_OTHERS + 1;
        wanted > 0 && !yield_already(wanted)
            || self.worker_in_need(lane, self.now_us).is_some() && !yield_already(for_others)
    }

    /// Whether the command of who has just come may be put on a shared lane: nobody waits whom it
    /// serves.
    pub(crate) fn overtakes_nobody(&self, lane_id: LaneId) -> bool {
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(true) };
        let Some(queue) = self.pool.queue(lane.server.hostgroup) else { return true };
        let serves = |waiter: SessionId| {
            let waiting = self.sessions.get(waiter).and_then(Session::waiting);
            waiting.is_some_and(|waiting| waiting.avoid.is_none())
                && self.room_on(lane, waiter) != Room::Never
        };
        !queue.sharers().any(serves)
    }

    /// A lane is free for the sessions of this worker: the first waiter that it fits gets it, else
    /// it becomes idle. Stored code that no lane was free to read for long is read on it first.
    pub(crate) fn offer_lane_here(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        let before = std::mem::replace(&mut lane.lease, Lease::Idle);
        lane.shared.closing = None;
        lane.times.used_us = self.now_us;
        if lane.marks.schema_altered {
            lane.leave_schema();
        }
        let hostgroup = lane.server.hostgroup;
        if let Lease::Dialing(Some(dialer)) = before {
            self.forget_dial(dialer, lane_id);
        }
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(()) };
        if self.is_surplus(lane) || lane.marks.unsure || !lane.may_be_passed_on() {
            self.drop_lane(lane_id);
            return self.wake_first(hostgroup);
        }
        // what was opened, tested or reset comes to the pool, and comes back from nobody
        let was_out = before == Lease::Freed;
        self.stats.checkins += u64::from(was_out);
        if self.pool.has_no_waiters(hostgroup) {
            if self.serves_nobody(lane_id, before) {
                return self.drop_lane(lane_id);
            }
            self.pool.put_idle(&lane.server, lane_id);
            return self.survey_waiting();
        }
        if self.survey_first(lane_id) {
            return;
        }
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(()) };
        let fitting = self.waiter_for(lane, before);
        if !matches!(before, Lease::Dialing(_))
            && let Some(waiter) = self.owed(lane, fitting)
        {
            let server = lane.server.clone();
            self.pool.note_room_made(&server, self.now_us);
            self.stats.lanes_dropped += 1;
            let instead = Checkout::Replace(lane_id, server);
            return self.with(End::Client(waiter), |proxy| proxy.pursue(waiter, instead));
        }
        if let Some(waiter) = fitting
            && let Some(job) = self.stop_waiting(waiter)
        {
            self.with(End::Client(waiter), |proxy| proxy.run_on_free(waiter, lane_id, job));
            // where one more could be opened, the next may be
            if matches!(before, Lease::Dialing(_)) {
                self.wake_first(hostgroup);
            }
            return;
        }
        if self.serves_nobody(lane_id, before) {
            self.drop_lane(lane_id);
            return self.wake_first(hostgroup);
        }
        // counted references would be written for each lane that comes back, where all workers look
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(()) };
        self.pool.put_idle(&lane.server, lane_id);
        // it fits no session that waits: the first may replace it
        let first = self.pool.first_waiter(hostgroup);
        if !first.is_some_and(|first| self.is_barred(first, lane)) {
            self.wake_first(hostgroup);
        }
    }

    /// Whether a lane was opened to prove a password, for a session that is gone.
    fn serves_nobody(&self, id: LaneId, before: Lease) -> bool {
        let is_new = matches!(before, Lease::Dialing(_));
        is_new && self.lanes.get(id).is_some_and(|lane| lane.account.unproved != 0)
    }

    /// Whether it is of no use to a session that waits that a lane comes free, or goes: its own
    /// account has as many as it may.
    fn is_barred(&self, waiter: SessionId, lane: &Lane) -> bool {
        let account = self.sessions.get(waiter).and_then(|session| session.account.as_ref());
        account.is_some_and(|account| !pool::is_same_account(account, &lane.account))
            && self.is_limited(waiter, lane.server.hostgroup)
    }

    /// Who gets a lane that is free: whoever dialed it for a query that wants a new one, else the
    /// first client that it fits, else the first copy.
    fn waiter_for(&self, lane: &Lane, before: Lease) -> Option<SessionId> {
        let hostgroup = lane.server.hostgroup;
        if self.is_closed(hostgroup) {
            return None;
        }
        if let Lease::Dialing(Some(dialer)) = before
            && self.wants_fresh(dialer)
            && self.serves(lane, dialer)
        {
            return Some(dialer);
        }
        self.pool.waiters(hostgroup).find(|waiter| self.serves(lane, *waiter))
    }

    fn wants_fresh(&self, waiter: SessionId) -> bool {
        let waiting = self.sessions.get(waiter).and_then(Session::waiting);
        waiting.is_some_and(|waiting| waiting.job.fresh)
    }

    /// Whether a free lane fits a session that waits.
    fn serves(&self, lane: &Lane, waiter: SessionId) -> bool {
        let Some(session) = self.sessions.get(waiter) else { return false };
        let Some(waiting) = session.waiting() else { return false };
        if !self.lag_limit(&waiting.job).admits(&lane.server) {
            return false;
        }
        let untraced = session.reads_unset_variable(&waiting.job);
        let Some(any) = self.need_of(session, lane.server.hostgroup) else { return false };
        pool::fits(lane, &Need { fresh: waiting.job.fresh, untraced, ..any }).is_some()
    }

    /// Who gets the place of a free lane that is of no use to it: the first of those that whoever
    /// would get the lane overtakes, and have been overtaken for long.
    fn owed(&self, lane: &Lane, fitting: Option<SessionId>) -> Option<SessionId> {
        let (server, now_us) = (&lane.server, self.now_us);
        let hostgroup = server.hostgroup;
        if self.pool.first_waiter(hostgroup) == fitting || !self.is_scarce(lane) {
            return None;
        }
        let limits = self.snapshot.hostgroups.dial_limits(hostgroup, &self.snapshot.vars);
        if !server.may_dial_another(&limits, now_us)
            || !server.state(now_us).is_serving()
            || self.is_closed(hostgroup)
        {
            return None;
        }
        let overtaken = self.pool.waiters(hostgroup).take_while(|id| Some(*id) != fitting);
        let first = overtaken.into_iter().find(|id| self.may_replace(lane, *id))?;
        let session = self.sessions.get(first)?;
        let Waiting { since_us, deadline_us, .. } = session.waiting()?;
        // whether there is room where a connection went is the server's to say
        let pause_us = match pool::told_full(server, session.account.as_ref()?, now_us) {
            Some(_) => OVERTAKEN_US,
            None => {
                pause_us(now_us.saturating_sub(*since_us), deadline_us.saturating_sub(*since_us))
            }
        };
        (self.pool.no_room_made_us(server, now_us) >= pause_us).then_some(first)
    }

    /// Whether a client has waited for long, and may open a connection where a lane goes.
    fn may_replace(&self, lane: &Lane, id: SessionId) -> bool {
        let (server, now_us) = (&lane.server, self.now_us);
        let session = self.sessions.get(id).filter(|session| !session.is_mirror());
        let waits = session.and_then(|it| Some((it.waiting()?, it.account.as_ref()?)));
        let Some((waiting, account)) = waits else { return false };
        let most = self.snapshot.backends_max(account);
        let gets_place = || match pool::scarcity(server, account, most, now_us) {
            Some(Full::Server) => true,
            Some(Full::Account) => account.counts_with(&lane.account),
            Some(Full::Unproved) | None => false,
        };
        now_us.saturating_sub(waiting.since_us) >= OVERTAKEN_US
            && waiting.dialing.is_none()
            && waiting.paused_until_us <= now_us
            && waiting.avoid != Some(server.index)
            && self.lag_limit(&waiting.job).admits(server)
            && gets_place()
    }

    /// The session that waits first without a dial under way looks again.
    pub(crate) fn wake_first(&mut self, hostgroup: HostgroupId) {
        let first = self.pool.waiters(hostgroup).find(|waiter| self.may_look(*waiter));
        if let Some(waiter) = first {
            self.look_again(waiter);
        }
    }

    /// Whoever waits without a dial under way looks again: there may be servers that were not
    /// there before.
    pub(crate) fn wake_all(&mut self) {
        for waiter in self.pool.all_waiters() {
            if self.has_no_dial(waiter) {
                self.look_again(waiter);
            }
        }
    }

    /// The session that waits first now looks as often as the one before did: when a timer fires
    /// that is set already, if there is one. So another first session needs no timer.
    pub(crate) fn watch_first(&mut self, hostgroup: HostgroupId) {
        let Some(first) = self.pool.first_unwatched(hostgroup) else { return };
        if let Some(session) = self.sessions.get(first)
            && let Some(waiting) = session.waiting().filter(|waiting| waiting.dialing.is_none())
        {
            let at_us = waiting.deadline_us.min(self.now_us + LOOK_AGAIN_US);
            self.pool.begin_watch(hostgroup, first);
            self.wake(first, at_us);
        }
    }

    /// A session was woken: it may be on behalf of the sessions that wait.
    pub(crate) fn woken(&mut self, id: SessionId) {
        for hostgroup in self.pool.end_watch(id) {
            self.wake_first(hostgroup);
            self.watch_first(hostgroup);
        }
    }

    /// A session has ended that may have been to be woken on behalf of the sessions that wait.
    pub(crate) fn hand_over_watch(&mut self, id: SessionId) {
        for hostgroup in self.pool.end_watch(id) {
            self.watch_first(hostgroup);
        }
    }

    /// Whether it may help a session that waits to look at the pool.
    fn may_look(&self, id: SessionId) -> bool {
        let waiting = self.sessions.get(id).and_then(Session::waiting);
        waiting.is_some_and(|it| {
            it.dialing.is_none()
                && it.paused_until_us <= self.now_us
                && !self.has_no_proof_left(id, it.job.hostgroup)
        })
    }

    pub(crate) fn has_no_dial(&self, id: SessionId) -> bool {
        let waiting = self.sessions.get(id).and_then(Session::waiting);
        waiting.is_some_and(|waiting| waiting.dialing.is_none())
    }
}

impl Session {
    /// Whether its client got a part of the answer to its command.
    pub(crate) fn has_begun_reply(&self) -> bool {
        matches!(&self.phase, Phase::Running(running) if running.delivered)
    }

    /// What it waits for, if it waits for a lane.
    pub(crate) fn waiting(&self) -> Option<&Waiting> {
        match &self.phase {
            Phase::Waiting(waiting) => Some(waiting),
            _ => None,
        }
    }
}

/// How much time goes by before another connection makes room for who has waited for so long, of at
/// most so much: none once half of that is over.
fn pause_us(waited_us: u64, most_us: u64) -> u64 {
    let waited_us = waited_us.saturating_mul(2).min(most_us);
    OVERTAKEN_US - OVERTAKEN_US * waited_us / most_us.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_waited_for_half_of_its_time_waits_for_no_pause() {
        const MOST_US: u64 = 10_000_000;
        let pauses = [0, 1, 2, 4, 5, 10, 11].map(|s| pause_us(s * 1_000_000, MOST_US));
        assert_eq!(pauses, [100_000, 80_000, 60_000, 20_000, 0, 0, 0]);
        assert_eq!(pause_us(7, 0), OVERTAKEN_US, "no time at all is none to share");
    }
}
