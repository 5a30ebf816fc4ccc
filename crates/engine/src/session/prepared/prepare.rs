//! `COM_STMT_PREPARE`: a client's own, which is answered without a server where the answer is
//! known, and the prepares that an execution needs on the lane it got.

use std::ops::Range;
use std::sync::Arc;

use sql::{Effects, Verb};
use wire::Status;
use wire::command;
use wire::frame::Span;
use wire::reply::{ColumnDef, write_prepare_ok};
use wire::result::ReplyKind;

use crate::catalog::Naming;
use crate::error::{self, SqlError};
use crate::holds::Holds;
use crate::ids::{ClientStmtId, LaneId, ServerStmtId, SessionId, StmtKey};
use crate::lane::Step;
use crate::lane::policy::is_shareable;
use crate::link::Plan;
use crate::orders::End;
use crate::proxy::Proxy;
use crate::route::{Answer, Route};
use crate::session::command::own_answers::status_of;
use crate::session::command::query::{holds_of, without_ignored};
use crate::session::placing::destination::Placing;
use crate::session::prepared::handles::{Handle, Missing};
use crate::session::{Job, Stage, What};
use crate::stmt::{KeptAnswer, Limits, Sought, Text};

/// A session may have texts of this part of the bytes that a worker may have.
const OF_ONE_SESSION: usize = 8;

impl Proxy {
    pub(crate) fn on_prepare(
        &mut self,
        id: SessionId,
        raw: &[u8],
        text: &[u8],
        upload: Option<Span>,
    ) {
        self.stats.prepares += 1;
        self.forget_last_prepared(id);
        let route = self.route(id, text);
        self.note_prepare(id, &route);
        if let Some(Answer::Error(_)) = route.answer.as_deref() {
            return self.answer_by_rule(id, &route, upload);
        }
        match self.take_rewritten(&route) {
            Some(new) if self.is_too_long(&new) => {
                self.answer_error(id, &error::packet_too_large());
            }
            Some(new) => {
                self.prepare(id, None, &new, upload, &route);
                self.spare_buffer(new);
            }
            None => self.prepare(id, Some(raw), text, upload, &route),
        }
    }

    /// Prepares a text; `raw` is the command that carried it, if it is to be sent as it came.
    fn prepare(
        &mut self,
        id: SessionId,
        raw: Option<&[u8]>,
        text: &[u8],
        upload: Option<Span>,
        route: &Route,
    ) {
        let stmt = match self.new_handle(id, text, upload.is_some()) {
            Ok(stmt) => stmt,
            Err(error) => return self.refuse_command(id, upload, error),
        };
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let Some(handle) = session.handle(stmt) else { return self.impossible(()) };
        let is_kill = handle.text.command == Verb::Kill.into() && upload.is_none();
        let kills = handle.text.effects.intersects(Effects::KILLS) || self.may_kill(id, text);
        if kills && !is_kill {
            self.prepare_failed(id, stmt);
            return self.refuse_command(id, upload, error::not_prepared());
        }
        if handle.text.runs_parameters() {
            self.prepare_failed(id, stmt);
            return self.refuse_command(id, upload, error::text_not_read());
        }
        if let (Some(Answer::Ok(_)), None) = (route.answer.as_deref(), upload) {
            return self.prepare_unsent(id, stmt, sql::count_parameters(text));
        }
        let (key, known) = (handle.key, handle.text.clone());
        let is_plain = route.delay_ms == 0 && !route.create_new_connection;
        if is_plain && self.known(id, stmt, key) {
            return;
        }
        let reach = self.reach_of_prepare(id, &known, route.destination);
        // what an execution asks for is not taken away
        let asks = known.effects.intersects(Effects::SHOW_WARNINGS);
        let job = Job {
            repeatable: true,
            effects: if asks { reach | Effects::SHOW_WARNINGS } else { reach },
            // a text that is not kept whole cannot be prepared anywhere else
            holds: if upload.is_some() { Holds::NOT_UNDERSTOOD } else { Holds::NONE },
            // it is not brought where the connection is kept for that
            needs_insert_id: upload.is_some(),
            upload,
            ..Job::routed(What::Prepare(stmt), ReplyKind::Prepare, route)
        };
        match raw {
            Some(raw) => self.keep(id, raw),
            None => self.keep_text(id, command::code::STMT_PREPARE, text),
        }
        let conduct = known.conduct(without_ignored(known.holds, route));
        let to = Placing { conduct, destination: route.destination, fresh: job.fresh };
        self.begin_after(id, route.delay_ms, job, Some(to));
    }

    /// What this worker may have of prepared texts.
    fn limits_of_texts(&self) -> Limits {
        let vars = &self.snapshot.vars;
        let workers = vars.threads.max(1);
        let bytes = vars.prepared_texts_memory_bytes_max / u64::from(workers);
        Limits {
            count: vars.max_stmts_cache.div_ceil(workers) as usize,
            bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
        }
    }

    /// Gives a client a statement of a text; an error when it has too many, or too long ones.
    fn new_handle(
        &mut self,
        id: SessionId,
        text: &[u8],
        is_cut: bool,
    ) -> Result<ClientStmtId, SqlError> {
        let now_us = self.now_us;
        let gone = || error::internal("a statement is prepared for nobody");
        let session = self.sessions.get(id).ok_or_else(gone)?;
        let user = session.account.as_ref().ok_or_else(gone)?.name.clone();
        let limits = self.limits_of_texts();
        let own = session.stmts.as_ref().map_or(0, |stmts| stmts.text_bytes());
        if own + text.len() > limits.bytes / OF_ONE_SESSION {
            return Err(error::too_long_statements());
        }
        // what others mean by the same text may not be what it means on a lane that is altered
        let hidden = is_cut || session.held_for(Holds::PINNING).is_some();
        let digest = self.processor.digest();
        let sought = Sought {
            user: &user,
            class: session.class,
            state: &session.want,
            text,
            digest: digest.as_ref().map(|digest| digest.hash),
        };
        let found = if hidden { None } else { self.texts.find(&sought, now_us) };
        let (key, text) = match found {
            Some(found) => found,
            None => {
                let facts = self.facts_of(id, text, is_cut);
                let text = Arc::new(Text {
                    number: self.offer.stmts.next_number(),
                    class: session.class,
                    state: session.want.clone(),
                    modes_known: session.held_for(Holds::UNTOLD_SETTINGS).is_none(),
                    text: text.into(),
                    digest: digest.map(Into::into),
                    effects: facts.effects,
                    holds: holds_of(&facts, text),
                    begins: facts.begins,
                    access: facts.access,
                    repeatable: sql::is_repeatable(&facts),
                    varies: sql::varies(text, session.want.modes()),
                    shareable: is_shareable(facts.verb, facts.effects)
                        && session.want.modes().read_as_default(text),
                    command: sql::command_class(&facts),
                    naming: Naming::of(&facts),
                    user,
                });
                if !self.texts.make_room(text.bytes(), limits, now_us) {
                    return Err(error::too_long_statements());
                }
                (self.texts.add(&text, hidden, now_us), text)
            }
        };
        let session = self.sessions.get_mut(id).ok_or_else(gone)?;
        let stmts = session.stmts.get_or_insert_default();
        let Some(stmt) = stmts.next_id() else {
            drop(text);
            self.texts.forget_unused(key);
            return Err(error::too_many_statements());
        };
        stmts.push(Handle::new(stmt, key, text));
        Ok(stmt)
    }

    /// Answers a prepare as a server did before; `false` when that is not known.
    fn known(&mut self, id: SessionId, stmt: ClientStmtId, key: StmtKey) -> bool {
        let definitions = self.offer.stmts.definitions();
        let Some((answer, params)) = self.texts.answer(key, definitions, self.now_us) else {
            return false;
        };
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(false) };
        let status = status_of(session);
        if status.contains(Status::IN_TRANS_READONLY) {
            // what writes is not prepared in there
            return false;
        }
        self.orders.send(End::Client(id), |out| answer.write(out, stmt.0, status));
        self.is_prepared(id, stmt, params);
        self.answered(id, true);
        true
    }

    /// Until a prepare has succeeded there is no statement prepared last: an execution that the
    /// client sent behind one that fails must not meet the statement of before.
    pub(crate) fn forget_last_prepared(&mut self, id: SessionId) {
        if let Some(session) = self.sessions.get_mut(id)
            && let Some(stmts) = &mut session.stmts
        {
            stmts.last_prepared = None;
        }
    }

    /// The client may execute a statement from now on.
    fn is_prepared(&mut self, id: SessionId, stmt: ClientStmtId, params: u16) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if let Some(handle) = session.handle_mut(stmt) {
            handle.params = params;
        }
        if let Some(stmts) = &mut session.stmts {
            stmts.last_prepared = Some(stmt);
        }
    }

    /// A statement whose executions a rule answers is prepared nowhere until one of them is sent.
    fn prepare_unsent(&mut self, id: SessionId, stmt: ClientStmtId, params: u16) {
        self.stats.answered_by_rules += 1;
        self.answered(id, true);
        self.is_prepared(id, stmt, params);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let (caps, status) = (session.caps, status_of(session));
        let params = vec![ColumnDef::text(b"?"); usize::from(params)];
        self.orders.send(End::Client(id), |out| {
            write_prepare_ok(out, &mut 1, caps, stmt.0, &params, &[], status);
        });
    }

    /// The server's answer to the client's own prepare begins: the id in it becomes the client's.
    pub(crate) fn on_prepared(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        (server_id, columns, params): (u32, u16, u16),
        id_at: usize,
        range: Range<usize>,
    ) {
        let definitions = self.offer.stmts.definitions();
        let Some(running) = self.running(id) else { return self.impossible(()) };
        running.delivered = true;
        let What::Prepare(stmt) = running.job.what else { return self.impossible(()) };
        let cut = running.job.holds.intersects(Holds::NOT_UNDERSTOOD);
        let end = End::Client(id);
        self.orders.relay(end, range.start..id_at);
        self.orders.send(end, |out| out.extend_from_slice(&stmt.0.to_le_bytes()));
        self.orders.relay(end, id_at + 4..range.end);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if let Some(stmts) = &mut session.stmts {
            stmts.answer.clear();
            stmts.definitions = definitions;
        }
        let Some(handle) = session.handle_mut(stmt) else { return self.impossible(()) };
        handle.only = cut.then_some(lane_id);
        let (key, owner) = (handle.key, handle.owner_on(lane_id));
        let modes_known = handle.text.modes_known;
        self.close_on(lane_id, key, owner);
        if let Some(lane) = self.lanes.get_mut(lane_id) {
            lane.stmts.insert(key, ServerStmtId(server_id), owner);
            if !modes_known {
                lane.stmts.keep(ServerStmtId(server_id));
            }
        }
        self.texts.learn(key, (columns, params));
        self.is_prepared(id, stmt, params);
    }

    /// Part of the answer to the client's own prepare.
    pub(crate) fn note_answer(&mut self, id: SessionId, bytes: &[u8]) {
        if let Some(session) = self.sessions.get_mut(id)
            && let Some(stmts) = &mut session.stmts
            // what is longer is not kept: a server may go on for ever
            && !KeptAnswer::is_too_long(stmts.answer.len())
        {
            stmts.answer.extend_from_slice(bytes);
        }
    }

    /// The client's own prepare has ended: what the server said is kept for others, or the
    /// client's id is not used.
    pub(crate) fn settle_prepare(&mut self, id: SessionId, stmt: ClientStmtId, is_ok: bool) {
        if !is_ok {
            return self.prepare_failed(id, stmt);
        }
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(stmts) = &mut session.stmts else { return };
        let answer = std::mem::take(&mut stmts.answer);
        let Some(handle) = stmts.get(stmt) else { return };
        self.texts.keep_answer(handle.key, &answer, stmts.definitions, self.now_us);
    }

    /// A statement could not be prepared: the client's id is not used.
    pub(crate) fn prepare_failed(&mut self, id: SessionId, stmt: ClientStmtId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let removed = session.stmts.as_mut().and_then(|stmts| stmts.remove(stmt));
        if let Some(Handle { key, .. }) = removed {
            self.texts.forget_unused(key);
        }
    }

    /// Prepares the statement that an execution needs on its lane. Where the server lets the
    /// execution name the statement prepared last, and there is none but this one, both go out in
    /// one send.
    pub(crate) fn prepare_on_lane(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        job: &Job,
        missing: &Missing,
        plan: &Plan,
    ) {
        let text = &missing.text;
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        let held = session.held.iter().find(|held| held.lane == lane_id);
        let why = held.map_or(Holds::NONE, |held| held.why);
        let toward = text.wants(&session.want, &lane.state, why);
        // what the server alone knows is put aside, and comes back
        let is_aside = why.intersects(Holds::UNTOLD_SETTINGS) && text.modes_known;
        let is_mariadb = lane.greeted.is_mariadb;
        let aside = is_aside.then(|| text.state.reading(is_mariadb)).flatten();
        let Some(before) = toward.plan(&lane.state) else {
            let error =
                error::internal("the connection cannot be brought to the statement's state");
            return self.fail_job(id, job, &error);
        };
        // for others it would not be what its state says
        lane.marks.unsure |= toward.settings != text.state.settings || aside.is_some();
        let recalls = session.recalled_by(job).is_some();
        // what runs again may call code, which is not among the command's own effects
        if recalls || job.effects.intersects(Effects::CALLS_CODE) {
            lane.note_code_read(toward.read_by(false));
        }
        let at_once = lane.greeted.is_mariadb
            && lane.stmts.is_last_unknown()
            && before.is_empty()
            && aside.is_none()
            && !plan.is_awaited()
            && job.upload.is_none()
            && matches!(job.what, What::Execute(_))
            && session.serving.data.is_none()
            && !recalls;
        // what runs again in front of an execution must find room beside that one's
        let both = recalls && matches!(job.what, What::Execute(_));
        self.make_room(lane_id, if both { 2 } else { 1 });
        if at_once {
            self.send_prepare(id, lane_id, missing);
            return self.send_command(id, lane_id, job, plan);
        }
        let mut pending = 1;
        if let Some(aside) = &aside {
            self.send_aside(id, lane_id, aside.put);
            self.send_aside(id, lane_id, &aside.reading);
            pending += 3;
        }
        pending += self.send_awaited_steps(id, lane_id, job, &before);
        self.send_prepare(id, lane_id, missing);
        if let Some(aside) = &aside {
            self.send_aside(id, lane_id, aside.back);
        }
        self.await_steps(id, pending, Some(toward));
        self.watch(id, job);
    }

    /// Sends a `SET` that leaves the lane in the state in which it was, together with others.
    fn send_aside(&mut self, id: SessionId, lane_id: LaneId, text: &str) {
        self.send_step(id, lane_id, Step::Aside, ReplyKind::Result, |out| {
            command::write_query(out, text.as_bytes());
        });
    }

    fn send_prepare(&mut self, id: SessionId, lane_id: LaneId, missing: &Missing) {
        self.stats.lane_prepares += 1;
        self.send_step(id, lane_id, Step::Prepare(missing.key), ReplyKind::Prepare, |out| {
            command::write(out, command::code::STMT_PREPARE, &missing.text.text);
        });
    }

    /// A statement that an execution needs is prepared on its lane.
    pub(crate) fn step_prepared(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        key: StmtKey,
        (server_id, columns, params): (u32, u16, u16),
    ) {
        let Some(running) = self.running(id) else { return self.impossible(()) };
        // then its execution is on its way behind it, with its types
        let sent = matches!(running.stage, Stage::Sent);
        if matches!(running.stage, Stage::Aligning { failed: Some(_), .. }) {
            // it means something else than it should
            return self.send_close(lane_id, ServerStmtId(server_id));
        }
        let what = running.job.what;
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let handle = match what {
            What::Execute(stmt) => session.handle(stmt),
            _ => None,
        };
        let own = handle.filter(|handle| handle.key == key);
        let owner = own.and_then(|handle| handle.owner_on(lane_id));
        if let Some(lane) = self.lanes.get_mut(lane_id) {
            let on_lane = lane.stmts.insert(key, ServerStmtId(server_id), owner);
            if let Some(wanted) = own.filter(|_| sent).map(Handle::wanted) {
                on_lane.note_execution(wanted);
                on_lane.tell_types();
            }
        }
        self.texts.learn(key, (columns, params));
    }
}
