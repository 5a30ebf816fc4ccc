//! Putting a command on a lane: first what brings the lane to the session's state, then the
//! command itself, in one send wherever nothing can go wrong in between.

use sql::Effects;
use wire::command;
use wire::result::ReplyKind;

use crate::error::{self, SqlError};
use crate::holds::Holds;
use crate::ids::{LaneId, SessionId};
use crate::lane::{Held, Lane, Lease, Owner, Step};
use crate::link::{LinkState, Plan};
use crate::orders::{End, Order};
use crate::proxy::Proxy;
use crate::server_error::{INTERRUPTED, TOO_MANY_STATEMENTS};
use crate::session::{Job, Phase, Running, Stage, What};
use crate::topology::LastFault;

/// A lane that is kept for these may know better what the last statement came to, and is not told
/// the last insert id.
pub(crate) const KNOW_BETTER: Holds = Holds::LAST_INSERT_ID
    .union(Holds::PROCEDURE)
    .union(Holds::NOT_UNDERSTOOD)
    .union(Holds::TEXT_PREPARE);

/// The schema that every server has, and any account.
const ELSEWHERE: &[u8] = b"information_schema";

/// Where a lane is after a step toward a state.
fn note_step(lane: &mut Lane, step: Step, toward: &LinkState) {
    match step {
        Step::Leave => lane.state.schema = Some(ELSEWHERE.into()),
        Step::Schema => lane.state.schema = toward.schema.clone(),
        Step::Settings => {
            lane.marks.traced |= toward.loses_user_variable(&lane.state);
            lane.state.charset = toward.charset;
            lane.state.settings.clone_from(&toward.settings);
        }
        Step::Aside
        | Step::Autocommit
        | Step::InsertId
        | Step::Prepare(_)
        | Step::Again
        | Step::Diagnostics => {}
    }
}

impl Proxy {
    /// Runs the kept command on a lane that the session holds.
    pub(crate) fn run(&mut self, id: SessionId, lane_id: LaneId, job: Job) {
        let now_us = self.now_us;
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        let Some(plan) = session.want.plan(&lane.state) else {
            let error = error::internal("the connection cannot be brought to the session's state");
            return self.fail_job(id, &job, &error);
        };
        session.phase = Phase::Running(Running {
            job,
            lane: lane_id,
            stage: Stage::Sent,
            delivered: false,
            started_us: now_us,
            killed: None,
            file_seq: None,
            shared: false,
            reply_bytes: 0,
            changed: false,
            step_error: None,
        });
        if job.fills {
            self.note_filling_sent(id);
        }
        if let Some(missing) = self.missing_statement(id, lane_id, &job) {
            return self.prepare_on_lane(id, lane_id, &job, &missing, &plan);
        }
        if plan.is_awaited() {
            let pending = self.send_awaited_steps(id, lane_id, &job, &plan);
            if pending > 0 {
                self.await_steps(id, pending, None);
                return self.watch(id, &job);
            }
        }
        if let What::Prepare(_) = job.what {
            self.make_room(lane_id, 1);
        }
        self.send_command(id, lane_id, &job, &plan);
    }

    /// Sends the steps whose answers must be seen first; returns how many there are.
    pub(crate) fn send_awaited_steps(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        job: &Job,
        plan: &Plan,
    ) -> u32 {
        let mut pending = 0;
        // the name of a schema is in the session's character set
        if let Some(text) = &plan.settings {
            self.stats.lane_set_names += 1;
            self.send_step(id, lane_id, Step::Settings, ReplyKind::Result, |out| {
                command::write_query(out, text.as_bytes());
            });
            pending += 1;
        }
        if self.lanes.get(lane_id).is_some_and(|lane| lane.state.has_to_choose_schema()) {
            self.send_step(id, lane_id, Step::Leave, ReplyKind::Simple, |out| {
                command::write(out, command::code::INIT_DB, ELSEWHERE);
            });
            pending += 1;
        }
        // a command that sets the schema itself needs no other one before it
        let sets_it = matches!(job.what, What::Schema | What::LoginSchema);
        let schema = plan.schema.as_ref().filter(|_| !sets_it);
        if let Some(schema) = schema {
            self.stats.lane_init_dbs += 1;
            self.send_step(id, lane_id, Step::Schema, ReplyKind::Simple, |out| {
                command::write(out, command::code::INIT_DB, schema);
            });
            pending += 1;
        }
        pending
    }

    /// Waits for the answers to so many steps; `toward` is where they lead, if not to the session's
    /// own state.
    pub(crate) fn await_steps(&mut self, id: SessionId, pending: u32, toward: Option<LinkState>) {
        if let Some(running) = self.running(id) {
            let toward = toward.map(Box::new);
            running.stage = Stage::Aligning { pending, failed: None, toward };
        }
    }

    /// The running command of a session.
    pub(crate) fn running(&mut self, id: SessionId) -> Option<&mut Running> {
        match &mut self.sessions.get_mut(id)?.phase {
            Phase::Running(running) => Some(running),
            _ => None,
        }
    }

    pub(crate) fn send_step(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        step: Step,
        kind: ReplyKind,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let before = self.orders.made.len();
        self.orders.send(End::Lane(lane_id), write);
        let bytes = (self.orders.made.len() - before) as u64;
        if let Some(lane) = self.lanes.get_mut(lane_id) {
            lane.enqueue(Owner::Step(id, step), kind);
            lane.traffic.bytes_sent += bytes;
        }
    }

    /// Sends the command, with what cannot fail in front of it.
    pub(crate) fn send_command(&mut self, id: SessionId, lane_id: LaneId, job: &Job, plan: &Plan) {
        if let Some(text) = plan.autocommit {
            self.send_step(id, lane_id, Step::Autocommit, ReplyKind::Result, |out| {
                command::write_query(out, text.as_bytes());
            });
            if let (Some(session), Some(lane)) =
                (self.sessions.get(id), self.lanes.get_mut(lane_id))
            {
                lane.state.autocommit = session.want.autocommit;
            }
        }
        if let Some(text) = self.insert_id_before(id, lane_id, job) {
            self.send_step(id, lane_id, Step::InsertId, ReplyKind::Result, |out| {
                command::write_query(out, text.as_bytes());
            });
        }
        if self.lanes.get(lane_id).is_some_and(|lane| lane.marks.warned_by.is_some()) {
            self.clear_warnings(id, lane_id, job);
        }
        self.read_again(id, lane_id, job);
        self.patch_statement(id, lane_id, job);
        let bytes = self.kept(id).len();
        if let Some(lane) = self.lanes.get_mut(lane_id) {
            lane.partial = job.upload.is_some();
            lane.enqueue(Owner::Session(id), job.reply);
            lane.traffic.note_query(bytes);
            if self.pool.health.is_unwatched(lane.server.index, self.now_us) {
                let (server, stall_us) = (lane.server.index, self.snapshot.vars.pipeline_stall_us);
                self.watch_server(lane_id, server, self.now_us.saturating_add(stall_us));
            }
        }
        self.stats.lane_executes += u64::from(matches!(job.what, What::Execute(_)));
        self.stats.lane_prepares += u64::from(matches!(job.what, What::Prepare(_)));
        self.orders.push(Order::SendKept { session: id, lane: lane_id });
        if job.holds == Holds::LAST_INSERT_ID {
            self.ask_insert_id_behind(id, lane_id, job);
        }
        self.watch(id, job);
        if job.upload.is_some() {
            self.read_on(id);
        }
    }

    /// The `SET` of the last insert id that a command wants in front of it, unless the session is
    /// tied to the connection that has it.
    fn insert_id_before(&self, id: SessionId, lane: LaneId, job: &Job) -> Option<String> {
        let session = self.sessions.get(id).filter(|_| job.needs_insert_id)?;
        let insert_id = session.last.insert_id;
        let knows = |held: &Held| held.lane == lane && held.why.intersects(KNOW_BETTER);
        if session.held.iter().any(knows) {
            return None;
        }
        // in MariaDB, only a statement with a table clears old warnings
        Some(match job.effects.intersects(Effects::SHOW_WARNINGS) {
            true => format!("SET last_insert_id=(SELECT {insert_id} FROM (SELECT 1) AS t)"),
            false => format!("SET last_insert_id={insert_id}"),
        })
    }

    /// Makes sure that a query which runs too long is noticed.
    pub(crate) fn watch(&mut self, id: SessionId, job: &Job) {
        const DAY_US: u64 = 86_400_000_000;
        // the default of a day is left to the coarse check of idle sessions
        if job.timeout_us < DAY_US {
            self.wake(id, self.now_us.saturating_add(job.timeout_us));
        }
    }

    /// Offers the client's bytes again that were left while its command was on its way. Others are
    /// read as soon as the lane has room that had none.
    pub(crate) fn resume_input(&mut self, id: SessionId) {
        let has_room =
            self.sessions.get(id).and_then(|it| it.input.paused_for).is_none_or(|lane| {
                let lease = self.lanes.get(lane).map(|lane| lane.lease);
                !matches!(lease, Some(Lease::Exclusive(of) | Lease::Relay(of)) if of == id)
            });
        if has_room {
            return self.read_on(id);
        }
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        if session.input.waits || session.input.ended_us.is_some() {
            self.orders.push(Order::Redeliver(End::Client(id)));
        }
    }

    /// The same, and more is read: what runs needs it.
    pub(crate) fn read_on(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if session.input.paused_for.take().is_some() && !session.input.full {
            self.orders.push(Order::Resume(End::Client(id)));
        } else if session.input.waits || session.input.ended_us.is_some() {
            self.orders.push(Order::Redeliver(End::Client(id)));
        }
    }

    /// A session has a lane no more: if that was what had no room for what the client sends, it is
    /// read from again.
    pub(crate) fn hear_without(&mut self, id: SessionId, lane: LaneId) {
        let Some(session) = self.sessions.get(id) else { return };
        if session.input.paused_for == Some(lane) {
            self.read_on(id);
        }
    }

    /// The answer to a step came. Where one failed that puts aside what the server alone knows of
    /// the session, that may not come back, and the lane goes; it goes as well if it cannot leave
    /// its schema.
    pub(crate) fn on_step_done(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        step: Step,
        result: Result<(), SqlError>,
    ) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        let Phase::Running(running) = &mut session.phase else { return self.impossible(()) };
        if result.is_err() && matches!(step, Step::Aside | Step::Leave) {
            return self.lose_lane(lane_id, LastFault::Os(0));
        }
        lane.marks.unsure |= result.is_err() && step == Step::Settings;
        if result.is_ok() {
            let toward = match &running.stage {
                Stage::Aligning { toward: Some(toward), .. } => toward,
                _ => &session.want,
            };
            note_step(lane, step, toward);
        }
        let Stage::Aligning { pending, failed, .. } = &mut running.stage else {
            if let (Err(error), Step::Prepare(_)) = (&result, step) {
                // the execution behind it fails for it, and its client is told this instead
                running.step_error = Some(Box::new(error.clone()));
            } else if matches!(&result, Err(error) if error.code == INTERRUPTED) {
                self.step_interrupted(id, lane_id);
            } else if let Err(error) = result {
                // the command behind it is on its way already: nothing it answers can be trusted
                self.break_session(id, &format!("aligning a connection failed: {error}"));
            }
            return;
        };
        *pending = pending.saturating_sub(1);
        if let Err(error) = result {
            failed.get_or_insert(error);
        }
        if *pending > 0 {
            return;
        }
        let (job, killed) = (running.job, running.killed);
        match failed.take() {
            None if killed.is_some() => self.fail_aligned(id, &job, &error::query_interrupted()),
            None => self.run(id, lane_id, job),
            Some(error) if error.code == TOO_MANY_STATEMENTS && job.mends_left > 0 => {
                let job = Job { mends_left: job.mends_left - 1, ..job };
                match self.close_some(lane_id) {
                    true => self.run(id, lane_id, job),
                    false => self.fail_aligned(id, &job, &error),
                }
            }
            Some(_) if matches!(step, Step::Prepare(key) if self.recall_by_prepare(id, key)) => {
                self.run(id, lane_id, job);
            }
            Some(error) => self.fail_aligned(id, &job, &error),
        }
    }

    /// A kill has hit a step whose command is on its way behind it: that runs in a state which is
    /// not the session's. A read is told to have been interrupted itself, and what it answers goes
    /// with the connection; what else was done nobody knows.
    #[cold]
    fn step_interrupted(&mut self, id: SessionId, lane_id: LaneId) {
        let Some(running) = self.running(id) else { return self.impossible(()) };
        let (job, delivered) = (running.job, running.delivered);
        let error = Self::said_of_killed(running, INTERRUPTED);
        let error = error.unwrap_or_else(error::query_interrupted);
        let is_clean = |held: Held| held.why.without(Holds::WARNINGS).is_empty();
        let loses_nothing =
            job.repeatable && !delivered && self.held_on(id, lane_id).is_some_and(is_clean);
        let server = self.lanes.get(lane_id).map_or(String::new(), |it| it.server.to_string());
        self.drop_lane(lane_id);
        if !loses_nothing {
            let lost = error::lost_connection(&server, "a kill came before the command");
            return self.lane_lost_under(id, lane_id, &lost, None);
        }
        if let Some(session) = self.sessions.get_mut(id) {
            session.held.retain(|held| held.lane != lane_id);
            session.forget_lane(lane_id);
        }
        self.hear_without(id, lane_id);
        self.fail_job(id, &job, &error);
    }

    /// A step failed, so the command was never sent: its client gets the step's error.
    fn fail_aligned(&mut self, id: SessionId, job: &Job, error: &SqlError) {
        let running = self.running(id);
        let instead = running.and_then(|running| Self::said_of_killed(running, error.code));
        self.fail_job(id, job, instead.as_ref().unwrap_or(error));
    }
}
