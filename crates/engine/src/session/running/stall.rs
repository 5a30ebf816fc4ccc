//! What happens when an answer does not come. On a shared lane, commands behind the head leave, and
//! a digest that is to blame runs alone for a while. A server that says nothing on any connection
//! gets no further commands while another one answers.
//!
//! What makes a server stand still is decided by `pool::health`.

use crate::ids::{LaneId, SessionId};
use crate::lane::history::Past;
use crate::lane::{Lane, Lease, Owner, Upkeep};
use crate::orders::{End, Order};
use crate::pool::{self, health::Signs};
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::session::running::shared::Who;
use crate::session::{Phase, Running};
use crate::topology::ServerRef;

/// How many times as long as the last one a login may take before it counts as one that takes long.
const LOGIN_TIMES: u64 = 4;

/// For how many stalls' time those behind a head stay there while its server is slow to all.
const BEARS_STALLS: u64 = 8;

impl Proxy {
    /// A timer of a shared lane has fired.
    pub(crate) fn check_progress(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get_mut(lane_id) else { return };
        if lane.times.alarm_us > self.now_us {
            return;
        }
        lane.times.alarm_us = 0;
        if lane.lease != Lease::Shared || lane.in_flight() == 0 {
            return;
        }
        let stall_us = self.snapshot.vars.pipeline_stall_us;
        let due_us = lane.waits_since_us().saturating_add(stall_us);
        if self.now_us < due_us {
            return self.set_alarm(lane_id, due_us);
        }
        let (server, again_us) = (lane.server.clone(), self.now_us.saturating_add(stall_us));
        let bears_until_us = lane.waits_since_us().saturating_add(stall_us * BEARS_STALLS);
        let signs = self.look_at_server(&server);
        let bears = signs.is_slow_to_all()
            && self.now_us < bears_until_us
            && !self.pool.health.is_still(server.index);
        if bears {
            return self.set_alarm(lane_id, again_us);
        }
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        self.stats.shared_stalls += u64::from(lane.shared.closing.is_none());
        let head = lane.head().map(|(head, _)| head.owner);
        let holds_up = lane.sharers().nth(1).is_some();
        let Some(Owner::Session(id)) = head else {
            if self.pool.health.spares(&server, &self.snapshot.topology, self.now_us) {
                // it will answer all of them when it goes on
                return self.set_alarm(lane_id, again_us);
            }
            self.scatter(lane_id, Who::All);
            return self.forsake(lane_id);
        };
        // where others wait too, and nobody hears anything, it is not the fault of the head
        let is_silent = signs.busy > 1 && signs.is_silent(self.now_us, stall_us / 2);
        let is_servers_fault = is_silent || signs.is_slow_to_all();
        let (now_us, job) = (self.now_us, self.running(id).map(|running| running.job));
        if holds_up
            && !is_servers_fault
            && let Some(past) = job.and_then(|job| self.past_of(id, &job))
        {
            past.held_up(now_us);
        }
        self.scatter(lane_id, Who::Behind);
        self.set_alarm(lane_id, again_us);
    }

    /// The time has come to look at a server, if this timer of one of its lanes is for that.
    pub(crate) fn check_server(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get(lane_id) else { return };
        if !self.pool.health.is_due(lane.server.index, self.now_us) {
            return;
        }
        let server = lane.server.clone();
        let signs = self.look_at_server(&server);
        let stall_us = self.snapshot.vars.pipeline_stall_us;
        let silent = signs.is_silent(self.now_us, stall_us);
        let known = self.pool.health.is_still(server.index);
        if signs.recent == 0 || known || silent && !signs.is_odd() {
            return self.pool.health.look_at(server.index, 0);
        }
        let since_us = if silent { self.now_us } else { signs.heard_us };
        let at_us = since_us.saturating_add(stall_us).max(self.now_us + 1);
        self.watch_server(lane_id, server.index, at_us);
    }

    /// A server is looked at then, by a timer of one of its lanes.
    pub(crate) fn watch_server(&mut self, lane_id: LaneId, server: usize, at_us: u64) {
        self.pool.health.look_at(server, at_us);
        self.orders.push(Order::Deadline { end: End::Lane(lane_id), at: at_us });
    }

    /// Looks whether a server stands still, and does what that asks for.
    fn look_at_server(&mut self, server: &ServerRef) -> Signs {
        let mut signs = self.signs_of(server);
        let stall_us = self.snapshot.vars.pipeline_stall_us;
        if self.pool.health.judge(server.index, &signs, self.now_us, stall_us) {
            self.stats.server_stalls += 1;
            if self.pool.health.is_news(server.index, self.now_us) {
                let for_ms = self.now_us.saturating_sub(signs.heard_us) / 1000;
                self.orders.report(LogEvent::StandsStill { server: server.clone(), for_ms });
            }
        }
        if self.pool.health.spares(server, &self.snapshot.topology, self.now_us) {
            self.leave_still(server, signs.heard_us.saturating_sub(stall_us));
        } else if signs.recent > 0 && signs.tests == 0 && signs.is_silent(self.now_us, stall_us) {
            signs.tests += usize::from(self.test_one(server, &signs));
        }
        signs
    }

    /// What the lanes of a server say together.
    fn signs_of(&self, server: &ServerRef) -> Signs {
        let index = server.index;
        let lanes = || self.lanes.iter().filter(move |(_, lane)| lane.server.index == index);
        let heard_us = lanes().map(|(_, lane)| lane.times.heard_us).max().unwrap_or(0);
        let stall_us = self.snapshot.vars.pipeline_stall_us;
        let since_us = heard_us.saturating_sub(stall_us);
        let before_us = self.now_us.saturating_sub(stall_us);
        let late_us = self.now_us.saturating_sub(stall_us / 2);
        let login_us = self.server_stats.login_us(index).saturating_mul(LOGIN_TIMES);
        let long_login_us = before_us.min(self.now_us.saturating_sub(login_us));
        let mut signs = Signs { heard_us, ..Signs::default() };
        for (_, lane) in lanes() {
            if lane.login.is_some() {
                let long = lane.times.heard_us == 0 && lane.times.born_us < long_login_us;
                signs.tests += 1;
                signs.strangers += usize::from(long);
            }
            if lane.in_flight() == 0 {
                continue;
            }
            signs.busy += 1;
            let (waits_since_us, quick) = match lane.lease {
                Lease::Shared => (lane.waits_since_us(), true),
                Lease::Exclusive(id) => self.waits_alone(id, lane),
                Lease::Upkeep => {
                    let tests = [Upkeep::Ping, Upkeep::IdleMax].map(Owner::Upkeep);
                    let tests = lane.next_owner().is_some_and(|owner| tests.contains(&owner));
                    let failed = tests && lane.waits_since_us() <= before_us;
                    signs.tests += usize::from(tests);
                    signs.failed_tests += usize::from(failed);
                    continue;
                }
                _ => continue,
            };
            signs.quick += usize::from(quick);
            signs.late += usize::from(quick && waits_since_us <= late_us);
            if waits_since_us >= since_us {
                signs.recent += 1;
                signs.overdue += usize::from(quick && waits_since_us <= before_us);
            }
        }
        signs
    }

    /// Since when a session waits for an answer on a lane of its own, and whether that is to a
    /// read which was always quick.
    fn waits_alone(&self, id: SessionId, lane: &Lane) -> (u64, bool) {
        let Some(session) = self.sessions.get(id) else { return self.impossible((0, false)) };
        let Phase::Running(running) = &session.phase else { return (0, false) };
        let digest = session.serving.asked.digest().filter(|_| running.lane == lane.id);
        let past = digest.and_then(|digest| self.history.find(running.job.hostgroup, digest));
        let latency_us = past.and_then(Past::latency_us);
        let most_us = self.snapshot.vars.pipeline_max_latency_us;
        (running.started_us.max(lane.times.heard_us), latency_us.is_some_and(|us| us <= most_us))
    }

    /// Asks an idle lane of a server whether it is there, or a new one where none is idle; `false`
    /// where neither can be had, and where it would not matter.
    fn test_one(&mut self, server: &ServerRef, signs: &Signs) -> bool {
        if !pool::is_another_usable(
            &self.snapshot.topology,
            server.hostgroup,
            server.index,
            self.now_us,
        ) {
            return false;
        }
        let Some(lane) = self.pool.idle_of(server).last().copied() else {
            return signs.is_crowded() && self.dial_ahead(server);
        };
        self.test_lane(lane, Upkeep::Ping);
        true
    }

    /// Whoever waits for a server that stands still, and has got nothing of an answer, is served
    /// elsewhere; on a lane of its own, if it has waited since then at most: what is known to run
    /// for longer would lose more than it gains.
    fn leave_still(&mut self, server: &ServerRef, since_us: u64) {
        let shared: Vec<_> = self.pool.shared_of(server).to_vec();
        for lane_id in shared {
            if self.lanes.get(lane_id).is_some_and(|lane| lane.in_flight() > 0) {
                self.scatter(lane_id, Who::Unanswered);
            }
        }
        let (mut dialers, mut alone) = (Vec::new(), Vec::new());
        for lane in self.lanes.values_mut().filter(|lane| lane.server.index == server.index) {
            match lane.lease {
                Lease::Dialing(Some(id)) => {
                    lane.lease = Lease::Dialing(None);
                    dialers.push(id);
                }
                Lease::Exclusive(id) => alone.push((id, lane.id)),
                _ => {}
            }
        }
        for (id, lane) in alone {
            let is_new =
                |running: &mut Running| running.lane == lane && running.started_us >= since_us;
            if self.running(id).is_some_and(is_new) && self.retry(id, lane) {
                self.drop_lane(lane);
            }
        }
        for id in dialers {
            let Some(session) = self.sessions.get_mut(id) else { continue };
            if let Phase::Waiting(waiting) = &mut session.phase {
                waiting.dialing = None;
                self.look_again(id);
            }
        }
    }

    /// A byte came from a server while some stand still.
    pub(crate) fn heard_of(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        lane.times.heard_us = self.now_us;
        let server = lane.server.clone();
        if let Some(since_us) = self.pool.health.lift(server.index) {
            let after_ms = self.now_us.saturating_sub(since_us) / 1000;
            self.orders.report(LogEvent::Answers { server, after_ms });
        }
    }

    /// Looks after a server that stands still; once a second. What was on its way when it stopped
    /// may never be answered though it goes on, so it is asked for a new connection.
    pub(crate) fn tend_still(&mut self, server: &ServerRef) {
        if !self.pool.health.is_still(server.index) {
            return;
        }
        if !self.signs_of(server).is_odd() {
            self.pool.health.lift(server.index);
        } else if server.gauge.dialing() == 0 {
            self.dial_ahead(server);
        }
    }
}
