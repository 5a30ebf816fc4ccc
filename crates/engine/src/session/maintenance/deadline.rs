//! A session's timers: which are set, and what is due when one fires.
//!
//! A timer cannot be taken back, so none is set where an earlier one is still to come. The session
//! that is woken looks at what is due and sets the next one. That makes them few, however many
//! queries have a limit of their own.

use crate::holds::Holds;
use crate::ids::{LaneId, SessionId};
use crate::lane::Lease;
use crate::orders::{End, Order};
use crate::proxy::Proxy;
use crate::session::Phase;
use crate::session::running::kill::Errand;
use crate::topology::LastFault;

/// The timers of a session that have not fired yet, latest first. Those that find no room are
/// forgotten, and mean nothing when they fire.
#[derive(Clone, Copy, Default, Debug)]
struct Alarms {
    at_us: [u64; Self::ROOM],
    set: usize,
}

/// Since when a session is what it is, and when it is woken.
#[derive(Clone, Copy)]
pub(crate) struct Timing {
    /// When it came.
    pub born_us: u64,
    /// The last time it became idle or began to log in.
    pub idle_since_us: u64,
    /// When its transaction began; 0 when there is none.
    pub transaction_since_us: u64,
    alarms: Alarms,
}

impl Timing {
    /// Of a session that begins to log in now.
    pub(crate) fn new(now_us: u64) -> Self {
        let alarms = Alarms::default();
        Self { born_us: now_us, idle_since_us: now_us, transaction_since_us: 0, alarms }
    }
}

impl Alarms {
    const ROOM: usize = 4;

    /// Whether a timer has to be set so that the session is woken at that time; notes it then.
    fn need(&mut self, at_us: u64) -> bool {
        if self.next().is_some_and(|earlier| earlier <= at_us) {
            return false;
        }
        if self.set == Self::ROOM {
            self.at_us.rotate_left(1);
            self.set -= 1;
        }
        if let Some(place) = self.at_us.get_mut(self.set) {
            *place = at_us;
            self.set += 1;
        }
        true
    }

    /// Whether one of them fires now; it is forgotten.
    fn fire(&mut self, now_us: u64) -> bool {
        let before = self.set;
        while self.next().is_some_and(|at_us| at_us <= now_us) {
            self.set -= 1;
        }
        self.set < before
    }

    /// When the next one fires.
    fn next(&self) -> Option<u64> {
        self.at_us.get(self.set.checked_sub(1)?).copied()
    }
}

/// How often a session is looked at that waits for nothing, or for nothing that comes soon: limits
/// that are changed act within that time.
const SESSION_CHECK_US: u64 = 60_000_000;

impl Proxy {
    /// Makes sure that a session is looked at not later than at that time.
    pub(crate) fn wake(&mut self, id: SessionId, at_us: u64) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if session.timing.alarms.need(at_us) {
            self.orders.push(Order::Deadline { end: End::Client(id), at: at_us });
        }
    }

    /// A timer of a session has fired.
    pub(crate) fn on_session_deadline(&mut self, id: SessionId) {
        let now_us = self.now_us;
        let Some(session) = self.sessions.get_mut(id) else { return };
        if !session.timing.alarms.fire(now_us)
            || self.end_if_parted(id)
            || self.end_if_unfinished(id)
        {
            return;
        }
        self.woken(id);
        // its command may have been given up, and while Tidegate stops the session with it
        let Some(session) = self.sessions.get(id) else { return };
        match &session.phase {
            Phase::Greeting { .. }
            | Phase::Presented { .. }
            | Phase::Securing { .. }
            | Phase::Login(_) => {
                self.check_login_time(id);
            }
            Phase::Unjudged(_) => self.judge_again(id, self.login_due_us(id)),
            Phase::Checking(_) => self.end_check_in_time(id),
            Phase::Clearing(_) => self.go_on_cleared(id),
            Phase::Waiting(_) => self.look_again(id),
            Phase::Delayed(_) => self.check_delay(id),
            Phase::Joined(_) => self.check_joined_time(id),
            Phase::Idle | Phase::Relaying(_) => self.check_idle_time(id),
            Phase::Running(_) => self.check_running_time(id),
            Phase::Dialing { lane: None } => {
                let seq = session.auth.end_seq;
                self.begin_relay(id, seq);
            }
            Phase::Dialing { lane: Some(_) }
            | Phase::Collecting(_)
            | Phase::Skipping { .. }
            | Phase::Discarding { .. } => {}
        }
        self.watch_parting(id);
        let unwatched =
            self.sessions.get(id).is_some_and(|session| session.timing.alarms.next().is_none());
        if unwatched {
            let again_us = SESSION_CHECK_US.min(self.own_wait_timeout_us(id));
            self.wake(id, now_us + again_us);
        }
    }

    /// How long the client may be silent by what it has set.
    fn own_wait_timeout_us(&self, id: SessionId) -> u64 {
        self.sessions.get(id).map_or(u64::MAX, |session| session.want.wait_timeout_us())
    }

    /// When a login must be complete.
    fn login_due_us(&self, id: SessionId) -> u64 {
        let limit_us = self.snapshot.vars.connect_timeout_client_ms * 1000;
        let since_us = self.sessions.get(id).map(|session| session.timing.idle_since_us);
        since_us.unwrap_or(0).saturating_add(limit_us)
    }

    /// Looks after a client that has sent a part of a command when the rest is overdue.
    pub(crate) fn watch_unfinished(&mut self, id: SessionId) {
        let limit_us = self.snapshot.vars.unfinished_command_timeout_ms * 1000;
        let Some(session) = self.sessions.get(id).filter(|_| limit_us > 0) else { return };
        self.wake(id, session.input.heard_us.saturating_add(limit_us));
    }

    /// Ends a session whose client has not gone on with a command for too long, while it was read
    /// from; whether it did.
    fn end_if_unfinished(&mut self, id: SessionId) -> bool {
        let limit_us = self.snapshot.vars.unfinished_command_timeout_ms * 1000;
        let Some(session) = self.sessions.get(id) else { return self.impossible(true) };
        let input = &session.input;
        let is_due = limit_us > 0 && self.now_us >= input.heard_us.saturating_add(limit_us);
        if !session.is_in_a_command() {
            return false;
        }
        if !is_due || input.paused_for.is_some() || input.full {
            let since_us = if is_due { self.now_us } else { input.heard_us };
            if limit_us > 0 {
                self.wake(id, since_us.saturating_add(limit_us));
            }
            return false;
        }
        self.stats.unfinished_commands += 1;
        self.client_fault(id, "a command was not completed in time");
        self.close_session(id, None);
        true
    }

    fn check_login_time(&mut self, id: SessionId) {
        let at_us = self.login_due_us(id);
        if self.now_us < at_us {
            // that timer was of an earlier login on the same connection
            return self.wake(id, at_us);
        }
        self.client_fault(id, "the handshake was not completed in time");
        self.note_login(id, true);
        self.close_session(id, None);
    }

    /// Limits of a session that waits for its client's next command. It may have a transaction open
    /// the next time, and the limits may be others.
    fn check_idle_time(&mut self, id: SessionId) {
        let vars = &self.snapshot.vars;
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let of_all_us = match vars.wait_timeout_ms {
            0 => u64::MAX,
            limit_ms => limit_ms * 1000,
        };
        let outside_us = of_all_us.min(session.want.wait_timeout_us());
        let inside_us = outside_us.min(vars.max_transaction_idle_time_ms * 1000);
        let delay_us = vars.connection_delay_multiplex_ms * 1000;
        let longest_us = vars.max_transaction_time_ms * 1000;
        let relaying = matches!(session.phase, Phase::Relaying(_));
        if relaying {
            return;
        }
        // what the proxy answers itself is heard from the client, too
        let since_us = session.timing.idle_since_us.max(session.input.heard_us);
        let after = |since_us: u64, limit_us: u64| since_us.saturating_add(limit_us);
        let began_us = Some(session.timing.transaction_since_us).filter(|since_us| *since_us > 0);
        let end_us = began_us.map_or(u64::MAX, |began_us| after(began_us, longest_us));
        let limit_us = if began_us.is_some() { inside_us } else { outside_us };
        let is_limited = outside_us < u64::MAX;
        let idle_end_us = if is_limited { after(since_us, limit_us) } else { u64::MAX };
        if self.now_us >= end_us.min(idle_end_us) {
            return self.close_session(id, None);
        }
        let delay_end_us = self.end_delay(id, delay_us);
        let due_us = [delay_end_us, after(since_us, inside_us), idle_end_us, end_us];
        let next_us = due_us.into_iter().filter(|at_us| *at_us > self.now_us).min();
        let next_us = next_us.unwrap_or(u64::MAX).min(self.now_us + SESSION_CHECK_US);
        self.wake(id, next_us);
    }

    /// Lanes that were kept for a while after their last query are any session's again; tells
    /// when the next one will be.
    fn end_delay(&mut self, id: SessionId, delay_us: u64) -> u64 {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(u64::MAX) };
        let (mut over, mut next_us) = (Vec::new(), u64::MAX);
        for held in session.held.iter_mut().filter(|held| held.why.intersects(Holds::DELAY)) {
            let heard_us = self.lanes.get(held.lane).map_or(0, |lane| lane.times.heard_us);
            let end_us = heard_us.saturating_add(delay_us);
            if end_us > self.now_us {
                next_us = next_us.min(end_us);
                continue;
            }
            held.why.set(Holds::DELAY, false);
            over.push(held.lane);
        }
        for lane in over {
            self.let_go(id, lane);
        }
        next_us
    }

    /// Notes when a transaction began or that there is none, and sees to its end in time, and to
    /// that of a lane's being kept for a while. Whether there is one.
    pub(crate) fn note_transaction(&mut self, id: SessionId) -> bool {
        let delay_ms = self.snapshot.vars.connection_delay_multiplex_ms;
        if delay_ms > 0 {
            self.wake(id, self.now_us.saturating_add(delay_ms * 1000));
        }
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(false) };
        if !session.in_transaction() {
            session.timing.transaction_since_us = 0;
            return false;
        }
        let vars = &self.snapshot.vars;
        let limit_us = vars.max_transaction_time_ms.min(vars.max_transaction_idle_time_ms) * 1000;
        if session.timing.transaction_since_us == 0 {
            session.timing.transaction_since_us = self.now_us;
        }
        let at_us = session.timing.transaction_since_us.saturating_add(limit_us).max(self.now_us);
        self.wake(id, at_us);
        true
    }

    /// A timer of a lane: its login or its errand took too long, or its sharers wait.
    pub(crate) fn on_lane_deadline(&mut self, id: LaneId) {
        self.check_server(id);
        let Some(lane) = self.lanes.get(id) else { return };
        if lane.login.is_some() || matches!(lane.lease, Lease::Dialing(_)) {
            let due_us = lane.times.born_us + self.snapshot.vars.connect_timeout_server_ms * 1000;
            if lane.login.is_some() && self.now_us < due_us {
                // that was for the place it was sent to
                return self.orders.push(Order::Deadline { end: End::Lane(id), at: due_us });
            }
            // the statement for new connections may take longer than a login
            if lane.login.is_some() || lane.times.alarm_us <= self.now_us {
                self.fail_dial(id, LastFault::Timeout, None, true);
            }
        } else if let Lease::Errand(thread_id) = lane.lease {
            let at = lane.spot();
            self.close_lane(id);
            self.errand_over(at, thread_id, Errand::Told);
        } else if matches!(lane.lease, Lease::Upkeep | Lease::Clearing(_)) {
            self.check_upkeep(id);
        } else {
            self.check_diagnostics(id);
            self.check_survey(id);
            self.check_progress(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_timer_is_set_while_an_earlier_one_is_to_come() {
        let mut alarms = Alarms::default();
        assert!(alarms.need(100));
        assert!(!alarms.need(100) && !alarms.need(200));
        assert!(alarms.need(50));
        assert!(!alarms.fire(49));
        assert!(alarms.fire(50));
        assert!(!alarms.need(150), "the one of before is there still");
        assert!(alarms.fire(101));
        assert!(alarms.need(150));
    }

    #[test]
    fn of_too_many_timers_the_latest_is_forgotten() {
        let mut alarms = Alarms::default();
        for at in [900, 800, 700, 600, 500] {
            assert!(alarms.need(at));
        }
        for at in [500, 600, 700, 800] {
            assert!(alarms.fire(at), "{at}");
        }
        assert!(!alarms.fire(900), "forgotten");
        assert!(alarms.need(950));
    }
}
