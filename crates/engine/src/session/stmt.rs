//! Prepared statements of the binary protocol: the client's ids, and where each is prepared.
//!
//! A statement belongs to its session and is prepared on a lane when it first runs there, so an
//! execute follows the same way as a text query. Lanes with statements on them are held.

use sql::{CommandClass, Digest, Effects, Omitted, is_read_only};
use wire::command::{self, Command};
use wire::frame::{HEADER_BYTES, Header, MAX_PAYLOAD, Span};
use wire::reply::{ColumnDef, write_prepare_ok};
use wire::result::ReplyKind;

use crate::error::{self, SqlError};
use crate::holds::{self, Holds};
use crate::ids::{ClientStmtId, HostgroupId, LaneId, ServerStmtId, SessionId};
use crate::orders::End;
use crate::proxy::Proxy;
use crate::route::{Answer, Route};
use crate::session::place::Placing;
use crate::session::query::without_ignored;
use crate::session::{Job, Session, What};

/// Where a statement is prepared.
struct Prepared {
    lane: LaneId,
    id: ServerStmtId,
    /// The parameter types were sent to it.
    typed: bool,
}

/// A statement of a client.
pub(crate) struct Statement {
    id: ClientStmtId,
    text: Box<[u8]>,
    params: u16,
    effects: Effects,
    holds: Holds,
    repeatable: bool,
    /// Where its rules sent it when it was prepared.
    destination: Option<HostgroupId>,
    /// The digest of the text that the client sent, when digests were on.
    digest: Option<KnownDigest>,
    class: CommandClass,
    on: Vec<Prepared>,
    /// Parameter types as last sent, two bytes each.
    types: Vec<u8>,
    cursor: Option<LaneId>,
    /// Why parameter data could not be passed on: told to the next execute.
    data_lost: Option<SqlError>,
}

/// A digest that is kept.
struct KnownDigest {
    hash: u64,
    text: Box<[u8]>,
    first_comment: Option<Box<[u8]>>,
    omitted: Omitted,
}

impl Statement {
    /// The text that is prepared.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The digest of the text that the client sent.
    pub(crate) fn digest(&self) -> Option<Digest<'_>> {
        let KnownDigest { hash, text, first_comment, omitted } = self.digest.as_ref()?;
        let first_comment = first_comment.as_deref();
        Some(Digest { hash: *hash, text, first_comment, omitted: *omitted })
    }
}

/// All statements of a session.
#[derive(Default)]
pub(crate) struct Statements {
    list: Vec<Statement>,
    last_id: u32,
    last_prepared: Option<ClientStmtId>,
}

impl Statements {
    fn find(&mut self, id: ClientStmtId) -> Option<&mut Statement> {
        self.list.iter_mut().find(|statement| statement.id == id)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    /// Bytes of memory that they hold.
    pub(crate) fn bytes(&self) -> usize {
        let of = |statement: &Statement| {
            let digest = statement.digest.as_ref().map_or(0, |digest| digest.text.len());
            let prepared = statement.on.capacity() * size_of::<Prepared>();
            statement.text.len() + digest + prepared + statement.types.capacity()
        };
        size_of::<Self>()
            + self.list.capacity() * size_of::<Statement>()
            + self.list.iter().map(of).sum::<usize>()
    }

    /// The server's ids of the statements on a lane.
    pub(crate) fn server_ids_on(&self, lane: LaneId) -> Vec<ServerStmtId> {
        let all = self.list.iter().flat_map(|statement| &statement.on);
        all.filter(|on| on.lane == lane).map(|on| on.id).collect()
    }
}

impl Session {
    fn statement(&mut self, id: ClientStmtId) -> Option<&mut Statement> {
        self.stmts.as_mut()?.find(id)
    }

    /// A statement of the client's.
    pub(crate) fn find_statement(&self, id: ClientStmtId) -> Option<&Statement> {
        self.stmts.as_ref()?.list.iter().find(|statement| statement.id == id)
    }

    /// Whether any statement is prepared on a lane.
    pub(crate) fn statements_on(&self, lane: LaneId) -> bool {
        self.stmts
            .as_ref()
            .is_some_and(|stmts| stmts.list.iter().any(|s| s.on.iter().any(|on| on.lane == lane)))
    }

    /// Whether any cursor is open on a lane.
    pub(crate) fn cursors_on(&self, lane: LaneId) -> bool {
        self.stmts.as_ref().is_some_and(|s| s.list.iter().any(|s| s.cursor == Some(lane)))
    }

    /// Notes that a statement's cursor is open on a lane, or not.
    pub(crate) fn set_cursor(&mut self, id: ClientStmtId, lane: LaneId, open: bool) {
        if let Some(statement) = self.statement(id) {
            statement.cursor = open.then_some(lane);
        }
    }

    /// Forgets what was prepared on a lane that is gone.
    pub(crate) fn forget_lane(&mut self, lane: LaneId) {
        for statement in self.stmts.iter_mut().flat_map(|stmts| &mut stmts.list) {
            statement.on.retain(|on| on.lane != lane);
            if statement.cursor == Some(lane) {
                statement.cursor = None;
            }
        }
    }
}

impl Proxy {
    pub(crate) fn on_prepare(
        &mut self,
        id: SessionId,
        raw: &[u8],
        text: &[u8],
        upload: Option<Span>,
    ) {
        self.stats.prepares += 1;
        let route = self.route(id, text);
        self.forget_asked(id);
        if let Some(Answer::Error(_)) = &route.answer {
            return self.answer_by_rule(id, &route, upload);
        }
        match self.take_rewritten(&route) {
            Some(new) if new.len() >= self.snapshot.vars.max_allowed_packet as usize => {
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
        let facts = self.facts_of_routed(text, upload.is_some());
        let digest = self.processor.digest().map(|digest| KnownDigest {
            hash: digest.hash,
            text: digest.text.into(),
            first_comment: digest.first_comment.map(Into::into),
            omitted: digest.omitted,
        });
        let Some(session) = self.sessions.get_mut(id) else { return };
        let stmts = session.stmts.get_or_insert_default();
        stmts.last_id = stmts.last_id.wrapping_add(1).max(1);
        let stmt = ClientStmtId(stmts.last_id);
        let holds = holds::of_statement(facts.verb, facts.effects, false);
        stmts.list.push(Statement {
            id: stmt,
            text: text.into(),
            params: 0,
            effects: facts.effects,
            holds,
            repeatable: is_read_only(&facts),
            destination: route.destination,
            digest,
            class: sql::command_class(&facts),
            on: Vec::new(),
            types: Vec::new(),
            cursor: None,
            data_lost: None,
        });
        if let (Some(Answer::Ok(_)), None) = (&route.answer, upload) {
            return self.prepare_unsent(id, stmt, sql::count_parameters(text));
        }
        let job = Job {
            repeatable: true,
            // a text that is not kept whole cannot be prepared anywhere else
            holds: if upload.is_some() { Holds::NOT_UNDERSTOOD } else { Holds::NONE },
            upload,
            ..Job::routed(What::Prepare(stmt), ReplyKind::Prepare, route)
        };
        match raw {
            Some(raw) => self.keep(id, raw),
            None => self.keep_text(id, command::code::STMT_PREPARE, text),
        }
        let holds = without_ignored(holds, route);
        let to = Placing {
            effects: facts.effects,
            holds,
            stays: true,
            ..Placing::of(&job, route.destination).of_class(sql::command_class(&facts))
        };
        self.begin_after(id, route.delay_ms, job, &to);
    }

    /// The server's answer to the client's own prepare: the id in it becomes the client's.
    pub(crate) fn on_prepared(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        server_id: u32,
        counts: (u16, u16),
        id_at: usize,
        range: std::ops::Range<usize>,
    ) {
        let Some(running) = self.running(id) else { return };
        running.delivered = true;
        let What::Prepare(stmt) = running.job.what else { return };
        let end = End::Client(id);
        self.orders.relay(end, range.start..id_at);
        self.orders.send(end, |out| out.extend_from_slice(&stmt.0.to_le_bytes()));
        self.orders.relay(end, id_at + 4..range.end);
        let (_, params) = counts;
        let Some(session) = self.sessions.get_mut(id) else { return };
        if let Some(statement) = session.statement(stmt) {
            statement.params = params;
        }
        if let Some(stmts) = &mut session.stmts {
            stmts.last_prepared = Some(stmt);
        }
        self.statement_prepared(id, lane_id, stmt, server_id);
    }

    /// A statement whose executions a rule answers is prepared nowhere until one of them is sent.
    fn prepare_unsent(&mut self, id: SessionId, stmt: ClientStmtId, params: u16) {
        self.stats.answered_by_rules += 1;
        self.answered(id, true);
        let Some(session) = self.sessions.get_mut(id) else { return };
        if let Some(statement) = session.statement(stmt) {
            statement.params = params;
        }
        if let Some(stmts) = &mut session.stmts {
            stmts.last_prepared = Some(stmt);
        }
        let caps = session.caps;
        let params = vec![ColumnDef::text(b"?"); usize::from(params)];
        self.orders.send(End::Client(id), |out| {
            write_prepare_ok(out, &mut 1, caps, stmt.0, &params, &[]);
        });
    }

    /// A statement stands on a lane.
    pub(crate) fn statement_prepared(
        &mut self,
        id: SessionId,
        lane: LaneId,
        stmt: ClientStmtId,
        server_id: u32,
    ) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if let Some(statement) = session.statement(stmt) {
            statement.on.push(Prepared { lane, id: ServerStmtId(server_id), typed: false });
        }
        if let Some(held) = session.held.iter_mut().find(|held| held.lane == lane) {
            held.why.set(Holds::PREPARED_STATEMENT, true);
        }
    }

    /// Parameter data of a statement could not be passed on. It has no answer, so the execute
    /// that needs it is told.
    pub(crate) fn data_lost(&mut self, id: SessionId, stmt: ClientStmtId, error: &SqlError) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if let Some(statement) = session.statement(stmt) {
            statement.data_lost = Some(error.clone());
        }
    }

    /// A statement could not be prepared: the client's id is not used.
    pub(crate) fn prepare_failed(&mut self, id: SessionId, stmt: ClientStmtId) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if let Some(stmts) = &mut session.stmts {
            stmts.list.retain(|statement| statement.id != stmt || !statement.on.is_empty());
            stmts.last_prepared = stmts.last_prepared.filter(|last| *last != stmt);
        }
    }

    fn resolve(&mut self, id: SessionId, stmt: u32) -> Option<ClientStmtId> {
        let stmts = self.sessions.get_mut(id)?.stmts.as_mut()?;
        let stmt = match stmt {
            command::LAST_PREPARED => stmts.last_prepared?,
            other => ClientStmtId(other),
        };
        stmts.find(stmt).map(|statement| statement.id)
    }

    pub(crate) fn on_execute(
        &mut self,
        id: SessionId,
        raw: &[u8],
        stmt_id: u32,
        upload: Option<Span>,
    ) {
        self.stats.executes += 1;
        let Some(stmt) = self.resolve(id, stmt_id) else {
            let error = error::unknown_statement(stmt_id, "mysqld_stmt_execute");
            return self.refuse_command(id, upload, error);
        };
        let route = self.route_execute(id, stmt);
        let class = self.sessions.get(id).and_then(|session| session.find_statement(stmt));
        if let Some(class) = class.map(|statement| statement.class) {
            self.note_class(id, class);
        }
        let Some(session) = self.sessions.get_mut(id) else { return };
        let Some(statement) = session.statement(stmt) else { return };
        if let Some(error) = statement.data_lost.take() {
            return self.refuse_command(id, upload, error);
        }
        if route.answer.is_some() {
            return self.answer_by_rule(id, &route, upload);
        }
        let effects = statement.effects;
        let job = Job {
            repeatable: statement.repeatable,
            effects,
            holds: without_ignored(statement.holds, &route),
            needs_insert_id: effects.intersects(Effects::READS_LAST_INSERT_ID),
            upload,
            ..Job::routed(What::Execute(stmt), ReplyKind::Execute, &route)
        };
        if let Some(types) = types_in(raw, statement.params) {
            statement.types.clear();
            statement.types.extend_from_slice(types);
        }
        let placing = Placing::of(&job, route.destination).of_class(statement.class);
        self.keep(id, raw);
        self.begin_of_statement(id, stmt, route.delay_ms, job, placing);
    }

    /// Sets off with a command about a statement: to the lane that has its long data, else as
    /// any statement.
    fn begin_of_statement(
        &mut self,
        id: SessionId,
        stmt: ClientStmtId,
        delay_ms: u64,
        job: Job,
        to: Placing,
    ) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let long_data = session.held_for(Holds::LONG_DATA).copied();
        if let Some(held) = long_data
            && let Some(statement) = session.statement(stmt)
            && statement.on.iter().any(|on| on.lane == held.lane)
        {
            let hostgroup = held.hostgroup;
            return self.run(id, held.lane, Job { hostgroup, ..job });
        }
        self.begin_after(id, delay_ms, job, &to);
    }

    pub(crate) fn on_long_data(
        &mut self,
        id: SessionId,
        raw: &[u8],
        stmt_id: u32,
        upload: Option<Span>,
    ) {
        // an unknown statement has no answer either: its execute will be told
        let Some(stmt) = self.resolve(id, stmt_id) else { return self.swallow(id, upload) };
        let Some(session) = self.sessions.get_mut(id) else { return };
        let Some(statement) = session.statement(stmt) else { return };
        if statement.data_lost.is_some() {
            return self.swallow(id, upload);
        }
        let placing = Placing {
            effects: statement.effects,
            holds: statement.holds,
            destination: statement.destination,
            stays: true,
            fresh: false,
            reads: false,
        };
        let placing = placing.of_class(statement.class);
        let job = self.unrouted(What::LongData(stmt), ReplyKind::None);
        let job = Job { retries_left: 0, upload, ..job };
        self.keep(id, raw);
        self.begin_of_statement(id, stmt, 0, job, placing);
    }

    pub(crate) fn on_stmt_other(
        &mut self,
        id: SessionId,
        raw: &[u8],
        command: &Command<'_>,
        stmt_id: u32,
    ) {
        let name = if matches!(command, Command::StmtReset(_)) {
            "mysqld_stmt_reset"
        } else {
            "mysqld_stmt_fetch"
        };
        let stmt = self.resolve(id, stmt_id);
        let Some(session) = self.sessions.get_mut(id) else { return };
        let Some(statement) = stmt.and_then(|stmt| session.statement(stmt)) else {
            return self.answer_error(id, &error::unknown_statement(stmt_id, name));
        };
        let stmt = statement.id;
        if matches!(command, Command::StmtReset(_)) {
            statement.data_lost = None;
        }
        let any = statement.on.first().map(|on| on.lane);
        let cursor = statement.cursor;
        let data = session.held_for(Holds::LONG_DATA).map(|held| held.lane);
        let reply = command.reply_kind().unwrap_or(ReplyKind::Simple);
        match (cursor.or(data).or(any), reply) {
            (Some(lane), _) => {
                self.keep(id, raw);
                let job = self.unrouted(What::OfStatement(stmt), reply);
                self.run(id, lane, Job { retries_left: 0, ..job });
            }
            (None, ReplyKind::Simple) => self.answer_ok(id),
            (None, _) => self.answer_error(id, &error::unknown_statement(stmt_id, name)),
        }
    }

    pub(crate) fn on_stmt_close(&mut self, id: SessionId, stmt_id: u32) {
        self.stats.closes += 1;
        let Some(stmt) = self.resolve(id, stmt_id) else { return };
        let Some(session) = self.sessions.get_mut(id) else { return };
        let Some(stmts) = &mut session.stmts else { return };
        let Some(at) = stmts.list.iter().position(|s| s.id == stmt) else { return };
        let statement = stmts.list.swap_remove(at);
        for on in &statement.on {
            self.send_close(on.lane, on.id);
        }
        for on in &statement.on {
            let Some(session) = self.sessions.get_mut(id) else { return };
            let statements = session.statements_on(on.lane);
            let cursors = session.cursors_on(on.lane);
            if let Some(held) = session.held.iter_mut().find(|held| held.lane == on.lane) {
                held.why.set(Holds::PREPARED_STATEMENT, statements);
                held.why.set(Holds::CURSOR, cursors);
                if !statements {
                    held.why.set(Holds::LONG_DATA, false);
                }
            }
            self.let_go(id, on.lane);
        }
    }

    /// Closes a statement on a lane.
    pub(crate) fn send_close(&mut self, lane: LaneId, stmt: ServerStmtId) {
        self.stats.lane_closes += 1;
        self.orders.send(End::Lane(lane), |out| {
            command::write(out, command::code::STMT_CLOSE, &stmt.0.to_le_bytes());
        });
    }

    /// The text of a statement that a job needs on a lane and that is not there.
    pub(crate) fn missing_statement(
        &mut self,
        id: SessionId,
        lane: LaneId,
        job: &Job,
    ) -> Option<(ClientStmtId, Box<[u8]>)> {
        let (What::Execute(stmt) | What::LongData(stmt)) = job.what else { return None };
        let statement = self.sessions.get_mut(id)?.statement(stmt)?;
        let there = statement.on.iter().any(|on| on.lane == lane);
        (!there).then(|| (stmt, statement.text.clone()))
    }

    /// Puts the server's id into a kept command about a statement, and the parameter types when
    /// the client relies on having sent them before, to another connection.
    pub(crate) fn patch_statement(&mut self, id: SessionId, lane: LaneId, job: &Job) {
        let (What::Execute(stmt) | What::LongData(stmt) | What::OfStatement(stmt)) = job.what
        else {
            return;
        };
        let Some(session) = self.sessions.get_mut(id) else { return };
        let mut kept = std::mem::take(&mut session.kept);
        if let Some(statement) = session.statement(stmt) {
            let params = statement.params;
            let types = std::mem::take(&mut statement.types);
            if let Some(on) = statement.on.iter_mut().find(|on| on.lane == lane) {
                let at = HEADER_BYTES + command::STMT_ID.start;
                if let Some(place) = kept.get_mut(at..at + 4) {
                    place.copy_from_slice(&on.id.0.to_le_bytes());
                }
                if matches!(job.what, What::Execute(_)) && params > 0 {
                    if types_in(&kept, params).is_some() {
                        on.typed = true;
                    } else if !on.typed {
                        on.typed = insert_types(&mut kept, params, &types);
                    }
                }
            }
            statement.types = types;
        }
        session.kept = kept;
    }
}

/// Where the new-parameters flag of a kept `COM_STMT_EXECUTE` stands.
fn flag_at(kept: &[u8], params: u16) -> Option<usize> {
    const FIXED: usize = 10;
    let execute = kept.get(HEADER_BYTES) == Some(&command::code::STMT_EXECUTE);
    let at = HEADER_BYTES + FIXED + usize::from(params).div_ceil(8);
    (execute && params > 0 && at < kept.len()).then_some(at)
}

/// The parameter types in a kept `COM_STMT_EXECUTE`, if it has them.
fn types_in(kept: &[u8], params: u16) -> Option<&[u8]> {
    let at = flag_at(kept, params)?;
    if kept.get(at) != Some(&1) {
        return None;
    }
    kept.get(at + 1..at + 1 + 2 * usize::from(params))
}

/// Adds parameter types to a kept `COM_STMT_EXECUTE` that has none.
fn insert_types(kept: &mut Vec<u8>, params: u16, types: &[u8]) -> bool {
    let Some(at) = flag_at(kept, params) else { return false };
    let Some(header) = Header::parse(kept) else { return false };
    // the header counts what is still to come of a long command, too
    let len = header.len + types.len();
    if types.len() != 2 * usize::from(params) || len >= MAX_PAYLOAD {
        return false;
    }
    if let Some(flag) = kept.get_mut(at) {
        *flag = 1;
    }
    kept.splice(at + 1..at + 1, types.iter().copied());
    let header = Header { len, seq: 0 }.encode();
    if let Some(place) = kept.get_mut(..HEADER_BYTES) {
        place.copy_from_slice(&header);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execute(flag: u8, rest: &[u8]) -> Vec<u8> {
        let mut payload = vec![0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, flag];
        payload.extend_from_slice(rest);
        let length = u8::try_from(payload.len()).unwrap();
        [vec![length, 0, 0, 0], payload].concat()
    }

    #[test]
    fn types_are_found_where_the_flag_says_so() {
        let with = execute(1, &[3, 0, 253, 0, 7, 0, 0, 0, 1, b'x']);
        assert_eq!(types_in(&with, 2), Some([3, 0, 253, 0].as_slice()));
        assert_eq!(types_in(&execute(0, &[7, 0, 0, 0, 1, b'x']), 2), None);
    }

    #[test]
    fn types_go_between_the_flag_and_the_values() {
        let mut kept = execute(0, &[7, 0, 0, 0, 1, b'x']);
        assert!(insert_types(&mut kept, 2, &[3, 0, 253, 0]));
        assert_eq!(kept, execute(1, &[3, 0, 253, 0, 7, 0, 0, 0, 1, b'x']));
    }
}
