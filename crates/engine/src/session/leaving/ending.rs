//! How sessions and their commands end when it is not by a reply, and what becomes of the lanes
//! they held.

use wire::Caps;
use wire::command;
use wire::frame::Span;

use crate::error::{self, SqlError};
use crate::holds::{self, Fate, Left};
use crate::ids::{LaneId, SessionId};
use crate::lane::{Held, Lane, Lease};
use crate::orders::{End, Order};
use crate::pool;
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::session::replying::query_end::QueryRows;
use crate::session::running::kill::Killed;
use crate::session::{Job, Phase, Then, What};

impl Proxy {
    /// A command ends with an error because no server could serve it to its end, unless there is an
    /// answer for that case.
    pub(crate) fn fail_unserved(&mut self, id: SessionId, job: &Job, error: &SqlError) {
        if !(job.fills && self.is_bridged(id)) {
            self.fail_refused(id, job, error);
        }
    }

    /// A command ends with an error that no other server would spare it. The session lives on,
    /// unless its client has sent more behind it: that counts on what the command would have left,
    /// and would have gone with the client's own connection.
    pub(crate) fn fail_refused(&mut self, id: SessionId, job: &Job, error: &SqlError) {
        // what is told with the next command ends nothing
        self.fail_job_with(id, job, error, Then::Unserved(error.clone()));
        if job.upload.is_none() {
            self.end_if_more_sent(id);
        }
    }

    /// A command of a session was not served to its end: the session ends if its client has sent
    /// something behind it, even if that was not received yet.
    pub(crate) fn end_if_more_sent(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(id) else { return };
        if session.input.waits {
            self.close_session(id, None);
        } else {
            self.orders.push(Order::AskForMore(id));
        }
    }

    /// A client had sent something behind a command that was not served to its end.
    pub fn on_sent_more(&mut self, id: SessionId) {
        self.close_session(id, None);
        self.work_off();
    }

    /// A command ends with an error of the proxy's own; the session lives on.
    pub(crate) fn fail_job(&mut self, id: SessionId, job: &Job, error: &SqlError) {
        self.fail_job_with(id, job, error, Then::Error(error.clone()));
    }

    /// The same; `then` is for the end of a command that has not arrived whole.
    fn fail_job_with(&mut self, id: SessionId, job: &Job, error: &SqlError, then: Then) {
        if job.what == What::LoginSchema {
            if self.is_unproved(id) {
                return self.refuse_unproved(id, error);
            }
            // whether the schema exists will be seen by the first query
            return self.login_unchecked(id);
        }
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.timing.idle_since_us = self.now_us;
        let was_sent = matches!(session.phase, Phase::Running(_));
        let struck = match &session.phase {
            Phase::Running(running) if running.killed.is_some() => Some(running.lane),
            _ => None,
        };
        session.phase = match job.upload {
            Some(span) => Phase::Skipping { span, then },
            None => Phase::Idle,
        };
        if let What::Prepare(stmt) = job.what {
            self.prepare_failed(id, stmt);
        }
        self.let_go_of_empty(id);
        if let Some(lane) = struck {
            self.await_kill(id, lane);
        }
        self.leave_definition(id, was_sent);
        self.drop_kept(id);
        // the rest of a long command is read before its client is told
        if job.upload.is_none() {
            self.answer_error(id, error);
        }
        self.after_command(id);
    }

    /// Checks in every lane that is held for no reason any more.
    pub(crate) fn let_go_of_empty(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let free: Vec<_> =
            session.held.iter().filter(|h| h.why.is_empty()).map(|h| h.lane).collect();
        for lane in free {
            self.let_go(id, lane);
        }
    }

    /// A command is refused before anything was done about it.
    pub(crate) fn refuse_command(&mut self, id: SessionId, upload: Option<Span>, error: SqlError) {
        self.refuse_with(id, upload, Then::Error(error));
    }

    /// The same; `then` is for its end.
    pub(crate) fn refuse_with(&mut self, id: SessionId, upload: Option<Span>, then: Then) {
        let Some(span) = upload else { return self.tell(id, 1, &then) };
        if let Some(session) = self.sessions.get_mut(id) {
            session.phase = Phase::Skipping { span, then };
        }
    }

    /// A command without an answer is thrown away.
    pub(crate) fn swallow(&mut self, id: SessionId, upload: Option<Span>) {
        self.refuse_with(id, upload, Then::Nothing);
    }

    /// A state that must not occur: the session ends, its lanes with it.
    pub(crate) fn break_session(&mut self, id: SessionId, what: &str) {
        if let Some(session) = self.sessions.get(id) {
            let (connection, what) = (session.client.connection, what.to_string());
            self.orders.report(LogEvent::Broken { connection, what });
        }
        self.close_session(id, Some(error::internal(what)));
    }

    /// The proxy ends a session: after the bytes sent so far, and an error if there is one to tell.
    pub(crate) fn close_session(&mut self, id: SessionId, error: Option<SqlError>) {
        if let Some(error) = &error
            && let Some(session) = self.sessions.get(id)
            && matches!(session.phase, Phase::Idle)
        {
            self.send_error(id, 0, error);
        }
        if self.sessions.get(id).is_some() {
            self.orders.push(Order::Close(End::Client(id)));
            self.end_session(id, true);
        }
    }

    /// What a client sends cannot be decompressed: its session ends, and it is told why where it is
    /// in the middle of a command, or begins one.
    pub(crate) fn refuse_garbled(&mut self, id: SessionId) {
        self.client_fault(id, "what it sent cannot be decompressed");
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let is_its_turn = match &session.phase {
            Phase::Idle => !session.is_held_up(),
            // in the middle of a reply there is no place for it
            Phase::Running(running) => session.is_in_a_command() && !running.delivered,
            _ => session.is_in_a_command(),
        };
        if is_its_turn {
            self.send_error(id, 1, &error::not_decompressed());
        }
        self.close_session(id, None);
    }

    /// A session is over: its client quit, went away, or was closed.
    pub(crate) fn end_session(&mut self, id: SessionId, orderly: bool) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let is_mirror = session.is_mirror();
        let counts = self.owes_answer(id);
        let counter =
            if is_mirror { &mut self.stats.mirrors_failed } else { &mut self.stats.killed };
        *counter += u64::from(counts);
        self.stats.clients_aborted += u64::from(!orderly);
        self.stop_waiting(id);
        self.leave_joined(id);
        // a shared lane's others are not to be hit: a reply that nobody waits for is thrown away
        let running = self.running(id);
        let shares = running.as_ref().is_some_and(|running| running.shared);
        let ran_on = running.map(|running| (running.job.hostgroup, running.lane));
        let kills = self.snapshot.vars.kill_backend_connection_when_disconnect;
        if kills && !shares {
            self.kill_running(id, Killed::Asked);
            self.kill_relayed(id);
        }
        self.tell_end(id, ran_on, QueryRows::default());
        self.release_all(id);
        self.leave_account(id);
        self.leave_definition(id, ran_on.is_some());
        self.drop_kept(id);
        self.forget_connection(id);
        self.sessions.remove(id);
        self.hand_over_watch(id);
        if is_mirror {
            self.copy_ended();
        }
    }

    /// Whoever asks for the session by its client's id finds nothing from now on.
    pub(crate) fn forget_connection(&mut self, id: SessionId) {
        if let Some(session) = self.sessions.get(id).filter(|session| !session.is_mirror()) {
            self.connections.remove(&session.client.connection.0);
            self.newcomers.leave(id, session.client.logged_in);
        }
    }

    /// Whether a client waits for the answer to a command.
    pub(crate) fn owes_answer(&self, id: SessionId) -> bool {
        let owes = |job: &Job| job.what != What::LoginSchema;
        match self.sessions.get(id).map(|session| &session.phase) {
            Some(Phase::Delayed(delayed)) => owes(&delayed.job),
            Some(Phase::Joined(joined)) => owes(&joined.job),
            Some(Phase::Waiting(waiting)) => owes(&waiting.job),
            Some(Phase::Running(running)) => owes(&running.job),
            Some(Phase::Skipping { then, .. }) => !matches!(then, Then::Nothing),
            Some(Phase::Discarding { .. } | Phase::Clearing(None)) => true,
            _ => false,
        }
    }

    /// The account has one client less.
    pub(crate) fn leave_account(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if let Some(account) = session.account.take()
            && !session.is_mirror()
            && account.unproved == 0
        {
            account.leave();
        }
    }

    /// Gives up every lane of a session: back to the pool what is clean, reset or closed what is
    /// not.
    pub(crate) fn release_all(&mut self, id: SessionId) {
        self.leave_shared(id);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if let Phase::Relaying(lane) | Phase::Dialing { lane: Some(lane) } = session.phase {
            self.close_lane(lane);
        }
        for held in self.take_lanes(id) {
            let fate = self.fate_of(&held, true);
            self.part_with(held.lane, fate);
        }
    }

    /// Takes from a session every lane that it holds, and what goes with them.
    pub(crate) fn take_lanes(&mut self, id: SessionId) -> Vec<Held> {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(Vec::new()) };
        let held = std::mem::take(&mut session.held);
        (session.ties, session.read_on) = (None, None);
        session.calls.clear();
        self.forget_handles(id);
        held
    }

    /// What becomes of a lane that a session keeps; `for_good` where it gives up all it has.
    pub(crate) fn fate_of(&self, held: &Held, for_good: bool) -> Fate {
        let (quiet, several, unsure) = match self.lanes.get(held.lane) {
            None => (true, false, false),
            Some(lane) => {
                let several = lane.class.contains(Caps::MULTI_STATEMENTS);
                (lane.is_quiet(), several, lane.marks.unsure || lane.keeps_other_code())
            }
        };
        holds::fate(&Left { why: held.why, for_good, quiet, several, unsure })
    }

    /// Does with a lane, which no session has any more, what was decided.
    pub(crate) fn part_with(&mut self, lane_id: LaneId, fate: Fate) {
        match fate {
            Fate::Kept => {}
            Fate::Free => self.free_lane(lane_id),
            Fate::Reset if self.reset_lane(lane_id) => {}
            Fate::Reset | Fate::Closed => {
                let hostgroup = self.lanes.get(lane_id).map(|lane| lane.server.hostgroup);
                self.drop_lane(lane_id);
                // there is room for another one
                if let Some(hostgroup) = hostgroup {
                    self.dues.room(hostgroup);
                }
            }
        }
    }

    /// Closes a backend connection that should have gone back to the pool.
    pub(crate) fn drop_lane(&mut self, lane_id: LaneId) {
        self.stats.lanes_dropped += 1;
        self.with(End::Lane(lane_id), |proxy| proxy.close_lane(lane_id));
    }

    /// Closes a backend connection, telling the server where nothing is on its way.
    pub(crate) fn close_lane(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get(lane_id) else { return };
        let end = End::Lane(lane_id);
        // a good-bye must not become the end of a command that is cut short
        let relayed = matches!(lane.lease, Lease::Relay(_));
        if lane.login.is_none() && lane.is_quiet() && !relayed {
            self.orders.send(end, |out| command::write(out, command::code::QUIT, &[]));
        }
        self.orders.push(Order::Close(end));
        self.forget(lane_id);
    }

    /// Forgets a backend connection whose socket is closed or about to be.
    pub(crate) fn forget(&mut self, lane_id: LaneId) {
        if let Some(lane) = self.end_lane(lane_id) {
            self.pool.remove_idle(&lane.server, lane_id);
            self.pool.remove_shared(&lane.server, lane_id);
        }
    }

    /// Takes a backend connection out of the books.
    pub(crate) fn end_lane(&mut self, lane_id: LaneId) -> Option<Lane> {
        let lane = self.lanes.remove(lane_id)?;
        pool::give_permits(&lane.server, &lane.account);
        self.warned.remove(lane.server.index, lane_id);
        if lane.login.is_some() {
            lane.server.gauge.end_dial();
        }
        if let Some(counters) = self.server_stats.of(lane.server.index) {
            counters.open = counters.open.saturating_sub(1);
            counters.ended.merge(&lane.traffic);
        }
        self.clearing_lost(&lane);
        Some(lane)
    }

    /// While Tidegate stops: ends a session that has nothing open. Returns whether it did.
    pub(crate) fn end_if_drained(&mut self, id: SessionId) -> bool {
        let Some(session) = self.sessions.get(id) else { return self.impossible(true) };
        if session.is_mirror() {
            return false;
        }
        let done = match session.phase {
            Phase::Idle => !session.in_transaction(),
            Phase::Greeting { .. }
            | Phase::Presented { .. }
            | Phase::Securing { .. }
            | Phase::Login(_)
            | Phase::Unjudged(_)
            | Phase::Checking(_)
            | Phase::Clearing(Some(_)) => true,
            _ => false,
        };
        if done {
            self.close_session(id, None);
        }
        done
    }
}
