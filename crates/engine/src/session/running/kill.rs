//! Queries that are ended before their time: by a client's `KILL`, because their own client went,
//! or because they run longer than they may.
//!
//! The server is told over a connection of its own, an errand. Until it is known that a kill has
//! hit what it was meant for, the connection it names is given to no other session.

use wire::command;
use wire::result::ReplyKind;

use crate::error::{self, SqlError};
use crate::ids::{LaneId, SessionId};
use crate::lane::{Lane, Lease, Owner, Spot};
use crate::orders::End;
use crate::pool;
use crate::proxy::Proxy;
use crate::server_error::{INTERRUPTED, Meaning};
use crate::session::placing::dialing::Dial;
use crate::session::{Phase, Running, What};

/// Why a running query is being ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Killed {
    /// A client asked for it, or its own client went.
    Asked,
    /// It ran longer than it may.
    TimedOut,
}

/// How an errand ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Errand {
    /// The server was told, or may have been.
    Told,
    /// The server was never told.
    Untold,
}

/// How long a server may take to end a query that it was told to kill.
const GRACE_US: u64 = 2_000_000;

impl Proxy {
    /// Ends what a session does.
    pub(crate) fn kill_query(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let job = match &session.phase {
            Phase::Waiting(waiting) => waiting.job,
            Phase::Delayed(delayed) => delayed.job,
            Phase::Joined(joined) => joined.job,
            Phase::Running(running) if running.shared => {
                if !self.interrupt_shared(id, &error::query_interrupted()) {
                    self.kill_running(id, Killed::Asked);
                }
                return;
            }
            _ => return self.kill_running(id, Killed::Asked),
        };
        self.stop_waiting(id);
        self.leave_joined(id);
        self.fail_job(id, &job, &error::query_interrupted());
    }

    /// What a query that runs comes to when its time is over: it is killed, and when its server
    /// does not end it, its connection is given up.
    pub(crate) fn check_running_time(&mut self, id: SessionId) {
        let Some(running) = self.running(id) else { return self.impossible(()) };
        let due_us = running.started_us.saturating_add(running.job.timeout_us);
        let given_up_us = due_us.saturating_add(GRACE_US);
        let (lane, overdue) = (running.lane, running.killed == Some(Killed::TimedOut));
        let (shares, timeout_us) = (running.shared, running.job.timeout_us);
        let logs_in = running.job.what == What::LoginSchema;
        if self.now_us < due_us {
            return self.wake(id, due_us);
        }
        // a client that logs in waits for no kill
        if logs_in || overdue && self.now_us >= given_up_us {
            return self.give_up_running(id, lane);
        }
        if !overdue {
            self.stats.timed_out += 1;
            if shares && self.interrupt_shared(id, &error::query_timeout(timeout_us / 1000)) {
                return;
            }
            self.kill_running(id, Killed::TimedOut);
        }
        self.wake(id, given_up_us);
    }

    /// The server does not end a query that it was told to: it keeps the connection, alone.
    fn give_up_running(&mut self, id: SessionId, lane_id: LaneId) {
        let Some(running) = self.running(id) else { return self.impossible(()) };
        let error = error::query_timeout(running.job.timeout_us / 1000);
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(()) };
        let error_seq = lane.error_seq();
        self.drop_lane(lane_id);
        self.lane_lost_under(id, lane_id, &error, error_seq);
    }

    /// Kills, on its server, the query that a session runs.
    pub(crate) fn kill_running(&mut self, id: SessionId, why: Killed) {
        let Some(running) = self.running(id) else { return };
        let before = running.killed.replace(why);
        let lane_id = running.lane;
        // one that is lost is not killed any more
        let Some(lane) = self.lanes.get_mut(lane_id) else { return };
        if lane.is_quiet() || before == Some(why) || lane.marks.kills > 0 {
            return;
        }
        lane.marks.kills += 1;
        lane.marks.struck = true;
        self.order_kill(lane_id);
    }

    /// Opens a connection over which a lane's server is told to end what it runs there.
    pub(crate) fn order_kill(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(()) };
        self.stats.kills_sent += 1;
        let errand = Dial {
            server: lane.server.clone(),
            account: lane.account.clone(),
            class: lane.class,
            schema: None,
            collation: wire::collation_table::UTF8MB4_GENERAL_CI,
            lease: Lease::Errand(lane.greeted.thread_id),
            via: lane.via.clone(),
            presented: lane.presented.clone(),
        };
        // a kill must get through when the server is full for queries: it needs no permit
        pool::force_permits(&lane.server, &lane.account);
        self.open_lane(errand);
    }

    /// The connection for a kill stands.
    pub(crate) fn run_errand(&mut self, id: LaneId, thread_id: u32) {
        let text = format!("KILL QUERY {thread_id}");
        self.orders.send(End::Lane(id), |out| command::write_query(out, text.as_bytes()));
        if let Some(lane) = self.lanes.get_mut(id) {
            lane.enqueue(Owner::Nobody, ReplyKind::Result);
        }
    }

    /// A reply that nobody waits for has ended: an errand is over.
    pub(crate) fn errand_done(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get(id) else { return self.impossible(()) };
        let Lease::Errand(thread_id) = lane.lease else { return };
        let at = lane.spot();
        self.close_lane(id);
        self.errand_over(at, thread_id, Errand::Told);
    }

    /// No errand is under way any more for that connection of a server; whoever waited for that
    /// goes on.
    pub(crate) fn errand_over(&mut self, at: Spot, thread_id: u32, errand: Errand) {
        let is_victim = |lane: &Lane| {
            (lane.spot(), lane.greeted.thread_id) == (at, thread_id) && lane.marks.kills > 0
        };
        let victim = self.lanes.iter().find(|(_, lane)| is_victim(lane)).map(|(id, _)| id);
        let Some(victim) = victim.and_then(|id| self.lanes.get_mut(id)) else { return };
        victim.marks.kills = victim.marks.kills.saturating_sub(1);
        if errand == Errand::Untold {
            victim.marks.struck = false;
        }
        if let (Lease::Exclusive(session), lane) = (victim.lease, victim.id) {
            self.stop_awaiting_kill(session, lane);
        }
    }

    /// Goes on with a session's commands: no kill can hit the next one, or the connection that it
    /// is meant for is the session's no more.
    pub(crate) fn stop_awaiting_kill(&mut self, id: SessionId, lane: LaneId) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if session.awaits_kill.take_if(|awaited| *awaited == lane).is_some() {
            self.resume_input(id);
        }
    }

    /// Lets a session that keeps a connection wait with its next command while a kill that was
    /// meant for the last one is on its way.
    pub(crate) fn await_kill(&mut self, id: SessionId, lane_id: LaneId) {
        let on_its_way = self.lanes.get(lane_id).is_some_and(|lane| lane.marks.kills > 0);
        if let Some(session) = self.sessions.get_mut(id) {
            let keeps = on_its_way && session.held.iter().any(|held| held.lane == lane_id);
            session.awaits_kill = keeps.then_some(lane_id);
        }
    }

    /// A query ended with that error: whether a kill has hit what it was meant for.
    pub(crate) fn note_interruption(&mut self, lane_id: LaneId, code: u16) {
        if code == INTERRUPTED
            && let Some(lane) = self.lanes.get_mut(lane_id)
        {
            lane.marks.struck = false;
        }
    }

    /// The error that a client gets in place of the one its server gave for a query that was
    /// killed because of its time, or that would have been run again; `None` for any other.
    pub(crate) fn said_of_killed(running: &Running, code: u16) -> Option<SqlError> {
        let killed = running.killed?;
        let code = running.step_error.as_ref().map_or(code, |said| said.code);
        let would_run_again = matches!(running.job.what, What::Prepare(_) | What::Execute(_))
            && Meaning::of(code).is(Meaning::MENDABLE);
        match killed {
            Killed::TimedOut if code == INTERRUPTED || would_run_again => {
                Some(error::query_timeout(running.job.timeout_us / 1000))
            }
            Killed::Asked if would_run_again => Some(error::query_interrupted()),
            _ => None,
        }
    }
}
