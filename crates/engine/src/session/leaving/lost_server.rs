//! Backend connections that are lost: whether the command on them is sent again elsewhere, and what
//! its session is told if not.

use sql::Effects;

use crate::error::{self, SqlError};
use crate::holds::{self, Holds};
use crate::ids::{LaneId, SessionId};
use crate::lane::Lease;
use crate::orders::{End, Order};
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::session::running::kill::Errand;
use crate::session::{Job, Phase, Stage};
use crate::topology::LastFault;

impl Proxy {
    /// Sends the kept command again on another lane, if that is safe. The lane it was on is taken
    /// from the session; whoever calls closes it.
    pub(crate) fn retry(&mut self, id: SessionId, lane_id: LaneId) -> bool {
        let Some(job) = self.running(id).map(|running| running.job) else { return false };
        let is_repeatable = self.is_repeatable(id, &job);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(false) };
        let Phase::Running(running) = &mut session.phase else { return false };
        let Some(held) = session.held.iter().find(|held| held.lane == lane_id) else {
            return false;
        };
        let clean = held.why.without(Holds::WARNINGS).is_empty();
        let unsent = matches!(running.stage, Stage::Aligning { .. });
        let safe = clean
            && !running.delivered
            && running.killed.is_none()
            && running.job.upload.is_none()
            && !session.serving.kept.is_empty()
            && (is_repeatable || unsent)
            && running.job.retries_left > 0;
        if !safe {
            return false;
        }
        let mut job = running.job;
        job.retries_left -= 1;
        let avoid = self.lanes.get(lane_id).map(|lane| lane.server.index);
        session.held.retain(|held| held.lane != lane_id);
        session.forget_lane(lane_id);
        session.phase = Phase::Idle;
        self.stats.retried += 1;
        self.hear_without(id, lane_id);
        self.check_out_again(id, job, avoid);
        true
    }

    /// A server sent something nobody asked for: usually its goodbye.
    pub(crate) fn on_unasked(&mut self, id: LaneId) {
        self.lose_lane(id, LastFault::Os(0));
    }

    /// A server broke the protocol: that connection is of no more use.
    pub(crate) fn on_server_fault(&mut self, id: LaneId, fault: &str) {
        self.note_server_fault(id, fault);
        self.lose_lane(id, LastFault::Protocol);
    }

    /// A server broke the protocol.
    pub(crate) fn note_server_fault(&mut self, id: LaneId, fault: &str) {
        self.stats.server_faults += 1;
        if let Some(lane) = self.lanes.get(id) {
            let server = lane.server.clone();
            self.orders.report(LogEvent::ServerFault { server, fault: fault.into() });
        }
    }

    /// A backend connection that the proxy gives up.
    pub(crate) fn lose_lane(&mut self, lane_id: LaneId, fault: LastFault) {
        self.orders.push(Order::Close(End::Lane(lane_id)));
        self.lose_lane_closed(lane_id, fault);
    }

    /// A backend connection whose socket is closed.
    pub(crate) fn lose_lane_closed(&mut self, lane_id: LaneId, fault: LastFault) {
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(()) };
        if lane.login.is_some() || matches!(lane.lease, Lease::Dialing(_)) {
            return self.fail_dial(lane_id, fault, None, false);
        }
        let (server, lease, error_seq) = (lane.server.clone(), lane.lease, lane.error_seq());
        let at = lane.spot();
        self.pool.remove_idle(&server, lane_id);
        match lease {
            Lease::Exclusive(id) => {
                self.note_served(id);
                self.stats.lanes_lost += 1;
                let running = matches!(self.running(id), Some(running) if running.lane == lane_id);
                let lost = error::lost_connection(&server.to_string(), &fault.to_string());
                self.note_lane_error(id, lane_id, lost.code, lost.message.as_bytes());
                let retried = running && self.retry(id, lane_id);
                if let Some(session) = self.sessions.get(id) {
                    let connection = session.client.connection;
                    let server = server.clone();
                    self.orders.report(LogEvent::LaneLost { server, connection, retried });
                }
                self.forget(lane_id);
                if !retried {
                    let error_seq = error_seq.filter(|_| running);
                    self.with(End::Client(id), |proxy| {
                        proxy.lane_lost_under(id, lane_id, &lost, error_seq);
                    });
                }
            }
            Lease::Relay(id) => {
                self.forget(lane_id);
                self.with(End::Client(id), |proxy| proxy.close_session(id, None));
            }
            Lease::Errand(thread_id) => {
                self.forget(lane_id);
                self.errand_over(at, thread_id, Errand::Told);
            }
            Lease::Shared => self.lose_shared(lane_id, fault, error_seq),
            Lease::Freed => {
                self.forget(lane_id);
                // who waits for it may open another one
                self.dues.room(server.hostgroup);
            }
            Lease::Dialing(_) | Lease::Idle | Lease::Upkeep | Lease::Clearing(_) => {
                self.forget(lane_id);
            }
        }
    }

    /// A session lost a lane it held, and the command on it if one was running.
    ///
    /// `error_seq` is where an error fits into a reply that the client has begun to read.
    pub(crate) fn lane_lost_under(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        error: &SqlError,
        error_seq: Option<u8>,
    ) {
        self.stop_asking(id, lane_id);
        self.end_survey_on_kept(id, lane_id);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.forget_calls(lane_id);
        let why = session.held.iter().find(|held| held.lane == lane_id).map(|held| held.why);
        session.held.retain(|held| held.lane != lane_id);
        session.forget_lane(lane_id);
        let why = why.unwrap_or(Holds::NONE);
        let mut ends = !why.leave_it_clean();
        if let Phase::Running(running) = &session.phase
            && running.lane == lane_id
        {
            let (job, delivered) = (running.job, running.delivered);
            ends |= is_counted_on(&job, session.want.autocommit);
            let after_file = running.file_seq.map(|seq| seq.wrapping_add(1));
            match (delivered, after_file.or(error_seq)) {
                _ if matches!(running.stage, Stage::Infile(_)) => self.discard_file(id, error),
                (false, _) => self.fail_unserved(id, &job, error),
                (true, Some(seq)) => self.fail_reply(id, seq, error),
                (true, None) => return self.close_session(id, None),
            }
        } else if ends {
            session.last.lost = Some(Box::new(error.clone()));
            self.stop_awaiting_kill(id, lane_id);
            return self.hear_without(id, lane_id);
        }
        self.hear_without(id, lane_id);
        self.stop_awaiting_kill(id, lane_id);
        // a session that went on without its transaction would commit each statement by itself
        if ends {
            self.close_session(id, None);
        }
    }

    /// The rest of a file is read and thrown away, for it would be taken for commands.
    fn discard_file(&mut self, id: SessionId, error: &SqlError) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Phase::Running(running) = &session.phase else { return self.impossible(()) };
        let Stage::Infile(scan) = running.stage else { return self.impossible(()) };
        session.phase = Phase::Discarding { scan, error: error.clone() };
        self.drop_kept(id);
        self.resume_input(id);
    }

    /// An error takes the place of the rest of a reply, whose server is gone. What the client has
    /// sent behind it does not run.
    pub(crate) fn fail_reply(&mut self, id: SessionId, seq: u8, error: &SqlError) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.phase = Phase::Idle;
        session.timing.idle_since_us = self.now_us;
        self.answered(id, false);
        self.send_error(id, seq, error);
        self.leave_definition(id, true);
        self.drop_kept(id);
        self.after_command(id);
        self.end_if_more_sent(id);
    }
}

/// Whether what a client sends behind a command counts on what that leaves on its connection: it
/// would run in no transaction, without a lock, or in another table. It may be on its way.
fn is_counted_on(job: &Job, autocommit: bool) -> bool {
    const LEFT: Holds = Holds::LOCK_TABLES
        .union(Holds::TEMPORARY_TABLE)
        .union(Holds::GET_LOCK)
        .union(Holds::XA)
        .union(Holds::NEXT_TRANSACTION);
    let left = job.holds.union(holds::of_effects(job.effects));
    !autocommit || job.effects.intersects(Effects::TRANSACTION_START) || left.intersects(LEFT)
}
