//! What comes back from servers: parts of replies, and their ends. Bytes of a login go on to
//! `placing::server_login`, relayed bytes to the client; lost connections are
//! `leaving::lost_server`'s.
//!
//! Where a reply ends is the lane's knowledge; what its end means to the session is decided here.

use std::ops::Range;

use sql::Effects;
use wire::Status;
use wire::frame;
use wire::reply::ErrPacket;
use wire::result::{End as ReplyEnd, Event, ReplyKind};

use crate::error::{self, SqlError};
use crate::ids::{LaneId, ServerStmtId, SessionId};
use crate::lane::{InFlight, Lane, Lease, Owner, Step};
use crate::orders::End;
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::server_error::{Meaning, NEEDS_PREPARE, UNKNOWN_STATEMENT};
use crate::session::replying::query_end::QueryRows;
use crate::session::replying::ties::text_of;
use crate::session::{Job, Phase, Running, Session, Stage, Then, What};

/// How a command ended on its server.
pub(crate) enum Outcome {
    Done(ReplyEnd),
    /// With an error; whether there were results before it.
    Failed {
        several: bool,
    },
}

impl Outcome {
    pub(crate) fn rows(&self) -> QueryRows {
        match self {
            Self::Done(end) => {
                QueryRows { affected: end.affected_rows, sent: end.rows, warnings: end.warnings }
            }
            Self::Failed { .. } => QueryRows::default(),
        }
    }

    /// Whether it left warnings, or changed what a read changes never.
    pub(crate) fn is_untidy(&self) -> bool {
        match self {
            Self::Done(end) => end.warnings > 0 || Self::changed(end),
            Self::Failed { .. } => false,
        }
    }

    /// Whether the connection is not as it was before a read in autocommit.
    pub(crate) fn changed(end: &ReplyEnd) -> bool {
        end.track.is_some()
            || end.several
            || end.status.contains(Status::IN_TRANS)
            || !end.status.contains(Status::AUTOCOMMIT)
            || end.status.contains(Status::CURSOR_EXISTS)
    }
}

/// What a session goes on with that has answered a command.
#[derive(Clone, Copy)]
enum Next {
    /// The command that its client has sent ahead.
    Command,
    /// Nothing: its client has sent no more.
    Nothing,
    /// It was made for one command.
    End,
}

impl Next {
    #[inline]
    fn of(session: &Session) -> Self {
        match session.input.has_more() {
            _ if session.is_mirror() => Self::End,
            true => Self::Command,
            false => Self::Nothing,
        }
    }
}

impl Proxy {
    /// Bytes of a server. Returns how many were taken.
    pub(crate) fn lane_bytes(&mut self, id: LaneId, bytes: &[u8]) -> usize {
        if self.pool.health.is_any_still() {
            self.heard_of(id);
        }
        let mut taken = 0;
        // an event in mid-reply may be followed by its end without any further byte
        let mut again = false;
        while taken < bytes.len() || again {
            let Some(lane) = self.lanes.get_mut(id) else { return bytes.len() };
            lane.times.heard_us = self.now_us;
            let rest = bytes.get(taken..).unwrap_or_default();
            if let Some(login) = &lane.login {
                if login.is_securing() {
                    // what came in clear behind the greeting is not the server's
                    return taken;
                }
                match self.on_login_bytes(id, rest) {
                    0 => return taken,
                    more => taken += more,
                }
                continue;
            }
            if let Lease::Relay(session) = lane.lease {
                lane.traffic.bytes_received += (bytes.len() - taken) as u64;
                lane.marks.owed = lane.marks.owed.after_server();
                self.orders.relay(End::Client(session), taken..bytes.len());
                return bytes.len();
            }
            let Some((head, tracker)) = lane.head() else {
                self.on_unasked(id);
                return bytes.len();
            };
            match tracker.feed(rest) {
                Ok(fed) => {
                    let end = taken + fed.consumed;
                    lane.traffic.bytes_received += fed.consumed as u64;
                    if matches!(fed.event, Event::More) {
                        self.on_reply_part(id, head, taken..end, fed.event, bytes);
                        return end;
                    }
                    again = !matches!(fed.event, Event::End(_) | Event::Err { .. });
                    self.on_reply_part(id, head, taken..end, fed.event, bytes);
                    taken = end;
                }
                Err(fault) => {
                    self.on_server_fault(id, &fault.to_string());
                    return bytes.len();
                }
            }
        }
        taken
    }

    /// A part of the reply at the head of a lane. `range` lies in `bytes`; the positions in
    /// `event` count from the beginning of the range.
    pub(crate) fn on_reply_part(
        &mut self,
        lane_id: LaneId,
        head: InFlight,
        range: Range<usize>,
        event: Event,
        bytes: &[u8],
    ) {
        if let Event::Prepared { stmt_id, .. } = &event
            && let Some(lane) = self.lanes.get_mut(lane_id)
        {
            lane.stmts.note_prepared(ServerStmtId(*stmt_id));
        }
        if let Owner::Session(id) | Owner::Step(id, _) = head.owner {
            self.note_served(id);
        }
        match head.owner {
            Owner::Session(id) => {
                if let Event::Err { at, .. } = &event {
                    let said = slice(bytes, range.start + at.start..range.start + at.end);
                    self.note_error_reply(id, lane_id, said);
                }
                let running = self.running(id).filter(|running| running.lane == lane_id);
                let shared = running.as_ref().map(|running| running.shared);
                let fills = running.filter(|running| running.job.fills);
                if let Some(is_first) = fills.map(|running| !running.delivered) {
                    self.fill(id, slice(bytes, range.clone()), is_first);
                }
                match shared {
                    Some(false) => self.on_session_part(id, lane_id, range, event, bytes),
                    Some(true) => self.on_shared_part(id, lane_id, range, event, bytes),
                    None => self.lose_track(id, lane_id),
                }
            }
            Owner::Step(id, step) => self.on_step_part(id, lane_id, step, range, event, bytes),
            Owner::Upkeep(task) => self.on_upkeep_part(lane_id, task, range, event, bytes),
            Owner::Nobody => {
                if let Event::End(ReplyEnd { track: Some(at), .. }) = &event {
                    let said = range.start + at.start..range.start + at.end;
                    self.hear_late(lane_id, slice(bytes, said));
                }
                if let Event::Err { code, .. } = event
                    && matches!(code, UNKNOWN_STATEMENT | NEEDS_PREPARE)
                {
                    self.close_all_statements(lane_id);
                }
                if matches!(event, Event::End(_) | Event::Err { .. }) {
                    self.pop(lane_id, None);
                    self.errand_done(lane_id);
                    self.after_shared(lane_id);
                }
            }
        }
    }

    /// An error ends a reply: statements before the one that failed have changed the session.
    /// Whether there were any.
    fn pop_failed(&mut self, id: SessionId, lane_id: LaneId) -> bool {
        let lane = self.lanes.get(lane_id);
        let insert_id = lane.map_or(0, Lane::insert_id_so_far);
        let told = lane.and_then(Lane::status_so_far);
        self.pop(lane_id, told);
        let (Some(session), Some(lane)) = (self.sessions.get_mut(id), self.lanes.get_mut(lane_id))
        else {
            return self.impossible(false);
        };
        if insert_id != 0 {
            session.last.insert_id = insert_id;
        }
        if let Some(status) = told {
            lane.state.autocommit = status.contains(Status::AUTOCOMMIT);
            session.want.autocommit = lane.state.autocommit;
        }
        told.is_some()
    }

    /// Takes the head off a lane and notes the status flags its reply ended with.
    pub(crate) fn pop(&mut self, lane_id: LaneId, status: Option<Status>) {
        if let Some(lane) = self.lanes.get_mut(lane_id) {
            lane.pop();
            if let Some(status) = status {
                lane.status = status;
            }
        }
    }

    fn on_step_part(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        step: Step,
        range: Range<usize>,
        event: Event,
        bytes: &[u8],
    ) {
        match event {
            _ if step == Step::Diagnostics => {
                self.on_diagnostics_part(id, lane_id, range, &event, bytes);
            }
            Event::End(_) | Event::Err { .. } if step == Step::Again => self.pop(lane_id, None),
            Event::Prepared { stmt_id, columns, params, .. } => {
                match step {
                    Step::Prepare(key) => {
                        self.step_prepared(id, lane_id, key, (stmt_id, columns, params));
                    }
                    // nobody will name it
                    _ => self.send_close(lane_id, ServerStmtId(stmt_id)),
                }
            }
            Event::End(end) => {
                let prepare = matches!(step, Step::Prepare(_));
                if end.warnings > 0
                    && let Some(lane) = self.lanes.get_mut(lane_id)
                {
                    // its client has not asked for it
                    lane.marks.warned_by = Some(SessionId::NOBODY);
                }
                self.pop(lane_id, Some(end.status).filter(|_| !prepare));
                self.on_step_done(id, lane_id, step, Ok(()));
            }
            Event::Err { at, .. } => {
                let payload = slice(bytes, range.start + at.start..range.start + at.end);
                let error = error_in(payload);
                self.note_lane_error(id, lane_id, error.code, error.message.as_bytes());
                self.pop(lane_id, None);
                self.on_step_done(id, lane_id, step, Err(error));
            }
            _ => {}
        }
    }

    fn on_session_part(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        range: Range<usize>,
        event: Event,
        bytes: &[u8],
    ) {
        if matches!(event, Event::Infile) && !self.may_be_asked_for_file(id) {
            let fault = "it asks for a file of a client whose command loads none";
            return self.on_server_fault(lane_id, fault);
        }
        let Some(running) = self.running(id) else { return self.impossible(()) };
        let login = running.job.what == What::LoginSchema;
        let prepares = is_prepare(&running.job);
        let mut instead = None;
        if let Event::Err { code, .. } = event {
            instead = Self::said_of_killed(running, code);
            if self.runs_again(id, lane_id, code) {
                return;
            }
            let step_error = self.running(id).and_then(|running| running.step_error.take());
            instead = instead.or(step_error.map(|error| *error));
        }
        let at = |inner: &Range<usize>| range.start + inner.start..range.start + inner.end;
        match &event {
            Event::Track { at: inner } | Event::End(ReplyEnd { track: Some(inner), .. }) => {
                if !login {
                    self.relay_changes(id, lane_id, range.clone(), at(inner), bytes);
                }
                self.note_changes(id, lane_id, at(inner), bytes);
            }
            _ if login => {}
            Event::Err { at, .. } if instead.is_some() => {
                let before = range.start + at.start.saturating_sub(frame::HEADER_BYTES);
                self.relay_reply(id, range.start..before);
                self.say_instead(id, lane_id, instead);
            }
            Event::Prepared { stmt_id, columns, params, id_at } => {
                let id_at = range.start + id_at;
                let said = (*stmt_id, *columns, *params);
                self.on_prepared(id, lane_id, said, id_at, range.clone());
            }
            Event::End(_) if !prepares && self.holds_several(id) => {
                self.relay_end(id, lane_id, range.clone(), bytes);
            }
            _ => self.relay_reply(id, range.clone()),
        }
        if prepares {
            self.note_answer(id, slice(bytes, range.clone()));
        }
        match event {
            Event::Infile => self.await_file(id),
            Event::Err { at: inner, .. } => {
                let several = self.pop_failed(id, lane_id);
                if login {
                    return self.schema_missing(id, lane_id, slice(bytes, at(&inner)));
                }
                self.finish(id, lane_id, Outcome::Failed { several });
            }
            Event::End(end) => {
                self.pop(lane_id, Some(end.status).filter(|_| !prepares));
                self.finish(id, lane_id, Outcome::Done(end));
            }
            _ => {}
        }
    }

    /// A command ended with an error of its server.
    fn note_error_reply(&mut self, id: SessionId, lane_id: LaneId, payload: &[u8]) {
        let Ok(said) = ErrPacket::parse(payload) else { return };
        self.note_interruption(lane_id, said.code);
        self.note_error_of(id, &said);
        self.note_missed(id, said.code);
        self.note_lane_error(id, lane_id, said.code, said.message);
        self.note_doubt(lane_id, said.code);
    }

    /// An error may say that its server stands elsewhere now: that it takes no writes, or leaves.
    fn note_doubt(&mut self, lane_id: LaneId, code: u16) {
        if !Meaning::of(code).is(Meaning::READ_ONLY.and(Meaning::GOING_AWAY)) {
            return;
        }
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(()) };
        if lane.server.gauge.tells_doubt(self.now_us) {
            let server = lane.server.clone();
            self.orders.report(LogEvent::Doubted { server, code });
        }
    }

    /// Runs a command again that failed with an error which says that it did nothing, where
    /// something can be done about the reason.
    fn runs_again(&mut self, id: SessionId, lane_id: LaneId, code: u16) -> bool {
        if self.mends(id, lane_id, code) {
            let Some(job) = self.running(id).map(|running| running.job) else { return false };
            self.pop(lane_id, None);
            self.run(id, lane_id, job);
            return true;
        }
        let again = Meaning::of(code).is(Meaning::GOING_AWAY) && self.retry(id, lane_id);
        if again {
            self.close_lane(lane_id);
        }
        again
    }

    pub(crate) fn relay_reply(&mut self, id: SessionId, range: Range<usize>) {
        if let Some(running) = self.running(id) {
            running.delivered |= !range.is_empty();
            running.reply_bytes += range.len() as u64;
        }
        self.orders.relay(End::Client(id), range);
    }

    /// An error takes the place of the packet that the reply at the head of a lane ended with.
    pub(crate) fn say_instead(&mut self, id: SessionId, lane_id: LaneId, error: Option<SqlError>) {
        let (Some(lane), Some(error)) = (self.lanes.get_mut(lane_id), error) else { return };
        let seq = lane.last_seq();
        self.send_error(id, seq, &error);
    }

    /// A reply for a session that is not waiting for one: must not be.
    fn lose_track(&mut self, id: SessionId, lane_id: LaneId) {
        self.break_session(id, "a reply came for a session that runs nothing");
        self.close_lane(lane_id);
    }

    /// The reply to a command has ended, on whichever lane: what it came to is kept, learned and
    /// counted. `took` is how long the command was with its server (µs), and whether behind another
    /// one.
    #[inline(always)]
    pub(crate) fn conclude(
        &mut self,
        id: SessionId,
        running: &Running,
        took: (u64, bool),
        outcome: &Outcome,
    ) {
        if running.job.fills {
            self.end_filling(id, running, outcome);
        }
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.timing.idle_since_us = self.now_us;
        session.note_results(&running.job, outcome);
        let (is_mirror, is_ok) = (session.is_mirror(), matches!(outcome, Outcome::Done(_)));
        if outcome.leaves_warnings()
            && let Some(lane) = self.lanes.get_mut(running.lane)
        {
            lane.marks.warned_by = Some(id);
        }
        self.learn(id, running, took, outcome);
        self.count_end(is_mirror, is_ok);
        self.tell_end(id, Some((running.job.hostgroup, running.lane)), outcome.rows());
    }

    /// A reply has ended: what it means for the session, and whether the lane stays with it.
    fn finish(&mut self, id: SessionId, lane_id: LaneId, outcome: Outcome) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let mut phase = std::mem::replace(&mut session.phase, Phase::Idle);
        let defines = session.serving.defining.is_some();
        let Phase::Running(running) = &mut phase else { return self.impossible(()) };
        if running.job.what == What::LoginSchema {
            return self.schema_seen(id, lane_id);
        }
        let took_us = self.now_us.saturating_sub(running.started_us);
        self.reach_again(id, &mut running.job);
        self.conclude(id, running, (took_us, false), &outcome);
        let (job, is_ok) = (running.job, matches!(outcome, Outcome::Done(_)));
        // what is still to come of a file, or of a long command, would be taken for commands
        let amid_file = matches!(running.stage, Stage::Infile(_));
        if amid_file && let Some(lane) = self.lanes.get_mut(lane_id) {
            lane.partial = true;
        }
        if let Some(span) = job.upload
            && let Some(session) = self.sessions.get_mut(id)
        {
            session.phase = Phase::Skipping { span, then: Then::Nothing };
        }
        self.settle(id, lane_id, running, &outcome);
        if running.killed.is_some() {
            self.await_kill(id, lane_id);
        }
        if defines {
            self.end_definition(id);
        }
        self.drop_kept(id);
        if amid_file || is_ok && releases(job.effects) {
            return self.close_session(id, None);
        }
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        if session.held.is_empty() {
            return self.go_on(id, Next::of(session));
        }
        self.relieve_if_wanted(id);
        self.survey_on_own(id);
        self.after_command(id);
    }

    /// The session is idle again: the client's next command, or the end if Tidegate stops.
    pub(crate) fn after_command(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        self.go_on(id, Next::of(session));
    }

    #[inline]
    fn go_on(&mut self, id: SessionId, next: Next) {
        match next {
            Next::End => self.end_session(id, true),
            _ if self.draining && self.end_if_drained(id) => {}
            Next::Command => self.resume_input(id),
            Next::Nothing => {}
        }
    }
}

impl Session {
    /// What the client may ask about the statement that has just ended.
    pub(crate) fn note_results(&mut self, job: &Job, outcome: &Outcome) {
        let Outcome::Done(end) = outcome else {
            self.last.row_count = -1;
            return;
        };
        if is_prepare(job) {
            return;
        }
        // its flags are those of the one statement
        let lasts = !job.effects.intersects(Effects::SET_STATEMENT);
        if lasts && matches!(job.reply, ReplyKind::Result | ReplyKind::Execute | ReplyKind::Simple)
        {
            self.last.told = end.status;
        }
        // of several results, servers know of the last one
        self.last.row_count = match self.gets_diagnostics(job) {
            true if end.warnings == 0 => self.last.row_count,
            // it asked for a condition that there is not
            true => -1,
            false => end.row_count,
        };
        if end.resultsets > 0 && !self.lists_diagnostics(job) {
            self.last.found_rows = end.rows.saturating_sub(end.rows_before);
        }
        self.last.insert_id = job.insert_id_told(end).unwrap_or(self.last.insert_id);
    }

    fn gets_diagnostics(&self, job: &Job) -> bool {
        let gets = |(text, modes)| sql::gets_diagnostics(text, modes);
        job.effects.intersects(Effects::SHOW_WARNINGS) && gets(text_of(self, job))
    }
}

/// The error that a packet's payload tells.
pub(crate) fn error_in(payload: &[u8]) -> SqlError {
    ErrPacket::parse(payload).map_or_else(
        |_| error::internal("an error packet that cannot be read"),
        |err| SqlError {
            code: err.code,
            sqlstate: err.sqlstate,
            message: String::from_utf8_lossy(err.message).into_owned(),
        },
    )
}

pub(crate) fn is_prepare(job: &Job) -> bool {
    matches!(job.what, What::Prepare(_))
}

/// Whether a statement asks for the end of its client's connection: `COMMIT RELEASE` and
/// `ROLLBACK RELEASE`.
fn releases(effects: Effects) -> bool {
    const ALONE: Effects = Effects::TRANSACTION_END.union(Effects::CHANGES_SESSION);
    effects == ALONE
}

pub(crate) fn slice(bytes: &[u8], range: Range<usize>) -> &[u8] {
    bytes.get(range).unwrap_or_default()
}
