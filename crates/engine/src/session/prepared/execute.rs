//! The commands about a statement that a client has prepared: execute, fetch, reset.

use wire::command::{self, Command};
use wire::frame::{HEADER_BYTES, Span};
use wire::result::ReplyKind;

use crate::catalog::{How, InsertId};
use crate::error;
use crate::holds::{self, Holds};
use crate::ids::{ClientStmtId, LaneId, ServerStmtId, SessionId};
use crate::lane::policy::only_computes;
use crate::proxy::Proxy;
use crate::route::{Conduct, Route};
use crate::server_error::{NEEDS_PREPARE, TOO_MANY_STATEMENTS, UNKNOWN_STATEMENT};
use crate::session::command::cached::FromCache;
use crate::session::command::query::{MAY_GIVE_INSERT_ID, without_ignored};
use crate::session::placing::destination::{Placing, needs_insert_id};
use crate::session::prepared::handles::{Handle, asks_for_cursor};
use crate::session::replying::ties::ENDING;
use crate::session::{Job, Then, What};
use crate::stmt::{Text, spelled};
use sql::{Effects, Reach, Verb};

impl Proxy {
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
        let (judged, known) = (self.defined(), self.known_code(id, route.destination));
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(handle) = session.stmts.as_mut().and_then(|stmts| stmts.get_mut(stmt)) else {
            return self.impossible(());
        };
        session.serving.asked.set_class(handle.text.command);
        // whatever becomes of this one, the client does not send them again
        handle.note_execution(raw, &session.want);
        let refused = handle.refusal(raw, upload.is_some());
        if refused.is_some() || route.answer.is_some() {
            return self.not_executed(id, stmt, upload, refused, &route);
        }
        let handle = match handle.text.command == Verb::Set.into()
            || handle.text.effects.intersects(Effects::KILLS.union(Effects::RUNS_TEXTS))
        {
            true => {
                if self.served_as_text(id, stmt, (raw, upload), &route) {
                    return self.drop_data(id, stmt);
                }
                self.sessions.get(id).and_then(|session| session.handle(stmt))
            }
            false => Some(&*handle),
        };
        let Some(execution) = handle.map(|handle| Execution::of(handle, raw)) else {
            return self.impossible(());
        };
        let Execution { conduct: own, only, has_data, .. } = execution;
        let asked = (stmt, raw, upload.is_some());
        let reach = self.reach_of_execution(id, stmt, known, execution.noted);
        let (insert_id, reach) = match own.effects.union(reach).intersects(MAY_GIVE_INSERT_ID) {
            false => (InsertId::Told, reach),
            true => self.insert_id_of_execution(id, asked, reach, &route),
        };
        let cached = self.execution_from_cache(id, asked, reach, &route);
        let FromCache::NotTold { fills } = cached else { return };
        let effects = own.effects | reach;
        self.begin_execution(id, stmt, effects);
        let holds = without_ignored(own.holds.union(holds::of_effects(reach)), &route);
        let conduct = Conduct { holds, ..own }.reaching(reach);
        let shareable = execution.shareable && only_computes(reach) && upload.is_none();
        let job = Job {
            repeatable: execution.repeatable && only_computes(reach),
            effects,
            holds,
            needs_insert_id: needs_insert_id(effects, holds),
            insert_id,
            upload,
            sharing: Self::sharing_of(shareable, &route),
            judged,
            lag_max_us: self.lag_max_us(&route),
            fills,
            ..Job::routed(What::Execute(stmt), ReplyKind::Execute, &route)
        };
        self.keep_execution(id, raw, Some(stmt).filter(|_| has_data));
        self.set_off_execution(id, only, (job, conduct), &route);
    }

    /// Sets off with an execution that is kept; in line, since a job is large to hand on.
    #[inline(always)]
    fn set_off_execution(
        &mut self,
        id: SessionId,
        only: Option<LaneId>,
        (job, conduct): (Job, Conduct),
        route: &Route,
    ) {
        let placing = Placing { conduct, destination: route.destination, fresh: job.fresh };
        match only {
            None => self.begin_after(id, route.delay_ms, job, Some(placing)),
            Some(lane) => self.execute_tied(id, lane, job, &conduct),
        }
    }

    /// Answers an execution that is refused, or that a rule answers.
    #[cold]
    fn not_executed(
        &mut self,
        id: SessionId,
        stmt: ClientStmtId,
        upload: Option<Span>,
        refused: Option<Then>,
        route: &Route,
    ) {
        self.drop_data(id, stmt);
        match refused {
            Some(then) => self.refuse_with(id, upload, then),
            None => self.answer_by_rule(id, route, upload),
        }
    }

    /// Keeps an execution, with the data of its statement if it has some.
    fn keep_execution(&mut self, id: SessionId, raw: &[u8], with_data: Option<ClientStmtId>) {
        self.keep(id, raw);
        if let Some(stmt) = with_data {
            self.keep_data(id, stmt);
        }
    }

    /// Executes a statement on the lane that alone can have it.
    #[cold]
    fn execute_tied(&mut self, id: SessionId, lane: LaneId, mut job: Job, conduct: &Conduct) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        job.changes = conduct.changes();
        session.seen.note_if(conduct.shows_changes());
        if let Some(error) = session.parted_from(lane).filter(|_| job.changes) {
            return self.fail_job(id, &job, &error);
        }
        self.end_elsewhere(id, &job, Some(lane));
        self.run_tied(id, lane, job);
    }

    /// Serves the execution of a `KILL`, of what runs texts that are refused, and of a `SET` whose
    /// values are in sight; `false` where it is served as any other.
    fn served_as_text(
        &mut self,
        id: SessionId,
        stmt: ClientStmtId,
        (raw, upload): (&[u8], Option<Span>),
        route: &Route,
    ) -> bool {
        let session = self.sessions.get(id);
        let Some(handle) = session.and_then(|session| session.handle(stmt)) else {
            return self.impossible(true);
        };
        if handle.text.effects.intersects(Effects::KILLS) {
            self.execute_kill(id, stmt, raw, upload);
        } else if let Some(error) = self.refused_texts_of(id, stmt) {
            self.refuse_command(id, upload, error);
        } else if handle.text.command == Verb::Set.into()
            && upload.is_none()
            && let Some(text) = self.assigning_text(id, stmt, raw)
        {
            self.serve_query(id, None, &text, None, route);
        } else {
            return false;
        }
        true
    }

    /// A prepared statement is about to be sent that may define something.
    #[inline]
    fn begin_execution(&mut self, id: SessionId, stmt: ClientStmtId, effects: Effects) {
        if effects.intersects(Effects::DEFINES)
            && let Some(handle) = self.sessions.get(id).and_then(|session| session.handle(stmt))
        {
            let text = handle.text.clone();
            self.begin_definition(id, (&text.text, text.state.modes()), effects);
        }
    }

    /// The same as of a text with the values of an execution in it, where a text can have those.
    #[cold]
    fn insert_id_of_execution(
        &mut self,
        id: SessionId,
        (stmt, raw, is_cut): (ClientStmtId, &[u8], bool),
        reach: Effects,
        route: &Route,
    ) -> (InsertId, Effects) {
        let Some(handle) = self.sessions.get(id).and_then(|session| session.handle(stmt)) else {
            return (InsertId::Asked, reach);
        };
        let text = handle.text.clone();
        let execute = raw.get(HEADER_BYTES..).filter(|_| handle.is_free());
        let spelled =
            execute.and_then(|execute| spelled(&text.text, execute, handle.params, &handle.types));
        let how = How::of(&text.state, text.naming);
        let text_then = spelled.as_deref().unwrap_or(&text.text);
        self.insert_id_of(id, (text_then, how), (text.effects, reach), (route, is_cut))
    }

    /// The text that does what an execution of a `SET` does: that can be followed, and its answer
    /// is the same. `None` where it might not mean what was prepared.
    fn assigning_text(&self, id: SessionId, stmt: ClientStmtId, raw: &[u8]) -> Option<Vec<u8>> {
        let session = self.sessions.get(id)?;
        let Handle { text, params, types, .. } = session.handle(stmt).filter(|h| h.is_free())?;
        // what else a session is held for may change how texts are read
        let modes = [text.state.modes(), session.want.modes()];
        let reads_alike = session.held_for(Holds::PINNING.without(ENDING)).is_none()
            && text.schema(&session.want) == session.want.schema.as_ref()
            && modes.iter().all(|modes| modes.read_as_default(&text.text))
            && (text.state.has_charsets_of(&session.want) || !saves_strings(&text.text));
        let execute = raw.get(HEADER_BYTES..).filter(|_| reads_alike)?;
        spelled(&text.text, execute, *params, types)
    }

    /// The text that does what an execution of a `KILL` does.
    pub(crate) fn kill_spelled(
        &self,
        id: SessionId,
        stmt: ClientStmtId,
        raw: &[u8],
    ) -> Option<Vec<u8>> {
        let handle = self.sessions.get(id)?.handle(stmt).filter(|handle| handle.is_free())?;
        spelled(&handle.text.text, raw.get(HEADER_BYTES..)?, handle.params, &handle.types)
    }

    /// Runs a command about a statement on the lane that has its cursor, or that alone can have it.
    fn run_tied(&mut self, id: SessionId, lane: LaneId, job: Job) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let held = session.held.iter().find(|held| held.lane == lane);
        let hostgroup = held.map_or(job.hostgroup, |held| held.hostgroup);
        self.release_until_next(id, Some(lane), &job);
        self.run(id, lane, Job { hostgroup, ..job });
    }

    /// `COM_STMT_FETCH` and `COM_STMT_RESET`: only where the statement left something is there
    /// anything to do.
    pub(crate) fn on_stmt_other(
        &mut self,
        id: SessionId,
        raw: &[u8],
        command: &Command<'_>,
        stmt_id: u32,
    ) {
        let resets = matches!(command, Command::StmtReset(_));
        let name = if resets { "mysqld_stmt_reset" } else { "mysqld_stmt_fetch" };
        let stmt = self.resolve(id, stmt_id);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some((stmt, handle)) = stmt.and_then(|stmt| Some((stmt, session.handle_mut(stmt)?)))
        else {
            return self.answer_error(id, &error::unknown_statement(stmt_id, name));
        };
        let cursor = handle.cursor;
        if resets && let Some(stmts) = &mut session.stmts {
            stmts.take_data(stmt);
        }
        match cursor {
            Some(lane) => {
                self.keep(id, raw);
                let reply = command.reply_kind().unwrap_or(ReplyKind::Simple);
                let job = self.unrouted(What::OfStatement(stmt), reply);
                self.run_tied(id, lane, Job { retries_left: 0, ..job });
            }
            None if resets => self.answer_ok(id),
            None => {
                let is_mariadb = self.offer.collations.are_of_mariadb();
                self.answer_error(id, &error::no_open_cursor(stmt.0, is_mariadb));
            }
        }
    }

    /// A server refused a command about a statement for a reason that can be done away with: does
    /// so, and runs the command again. The error is not passed on then.
    pub(crate) fn mends(&mut self, id: SessionId, lane_id: LaneId, code: u16) -> bool {
        let Some(running) = self.running(id) else { return self.impossible(false) };
        let (job, step_error) = (running.job, running.step_error.as_ref().map(|said| said.code));
        let again = job.mends_left > 0
            && job.upload.is_none()
            && !running.delivered
            && running.killed.is_none()
            && self.can_be_had_again(id, job.what);
        if !again {
            return false;
        }
        let mended = match mend_of(job.what, job.effects, step_error, code) {
            Some(Mend::Room) => self.close_some(lane_id),
            Some(Mend::Anew { stmt, close }) => self.lose_statement(id, lane_id, stmt, close),
            Some(Mend::NextTime(stmt)) => {
                self.lose_statement(id, lane_id, stmt, true);
                false
            }
            None => false,
        };
        if let Some(running) = self.running(id)
            && mended
        {
            running.step_error = None;
            running.job.mends_left -= 1;
        }
        mended
    }

    /// Whether what a command needs could be prepared again and mean the same: not in modes that
    /// only the server knows.
    fn can_be_had_again(&self, id: SessionId, what: What) -> bool {
        let What::Execute(stmt) = what else { return true };
        let handle = self.sessions.get(id).and_then(|session| session.handle(stmt));
        handle.is_none_or(|handle| handle.text.modes_known)
    }

    /// Makes room on a server that has as many statements as it may have: the one unused for
    /// longest is closed, on this lane, else on those that are idle.
    pub(crate) fn close_some(&mut self, lane_id: LaneId) -> bool {
        if self.close_oldest(lane_id) {
            return true;
        }
        let Some(server) = self.lanes.get(lane_id).map(|lane| lane.server.clone()) else {
            return false;
        };
        let idle = self.pool.idle_of(&server).to_vec();
        let mut closed = false;
        for lane in idle {
            closed |= self.close_oldest(lane);
        }
        closed
    }

    /// What is prepared on a lane for a statement does not serve any more; `false` when it has more
    /// there than can be had again.
    fn lose_statement(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        stmt: ClientStmtId,
        close: bool,
    ) -> bool {
        let Some(session) = self.sessions.get(id) else { return self.impossible(false) };
        let Some(handle) = session.handle(stmt) else { return false };
        if handle.owner_on(lane_id).is_some() {
            return false;
        }
        let key = handle.key;
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(false) };
        // others that serve it may have come since
        let sent = session.serving.kept.get(HEADER_BYTES + command::STMT_ID.start..);
        let sent = sent.and_then(<[u8]>::first_chunk).map(|id| u32::from_le_bytes(*id));
        let server_id = match sent {
            Some(command::LAST_PREPARED) => {
                lane.stmts.find(handle.wanted(), None).map(|found| found.id)
            }
            named => named.map(ServerStmtId),
        };
        if let Some(server_id) = server_id.filter(|server_id| lane.stmts.take_out(*server_id))
            && close
        {
            // what was gathered on a shared lane names it
            self.send_batch(lane_id);
            self.send_close(lane_id, server_id);
        }
        self.texts.forget_answer(key);
        true
    }
}

/// What is done about a statement that is not on its server, or has no room there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mend {
    /// Another statement makes room; then once more.
    Room,
    /// What is there is forgotten, and closed if it is there still; then once more.
    Anew { stmt: ClientStmtId, close: bool },
    /// The same, but not once more.
    NextTime(ClientStmtId),
}

/// What is done about an error of a command about a statement; `of_prepare` is that of the prepare
/// in front of it.
///
/// The error has to say that the command did nothing. Code that a statement runs may end with any
/// error, behind anything that it did.
fn mend_of(what: What, effects: Effects, of_prepare: Option<u16>, code: u16) -> Option<Mend> {
    let runs_code = of_prepare.is_none() && effects.intersects(RUNS_CODE);
    match (what, of_prepare.unwrap_or(code)) {
        (What::Prepare(_), TOO_MANY_STATEMENTS) => Some(Mend::Room),
        // an execution itself needs no room
        (What::Execute(_), TOO_MANY_STATEMENTS) => of_prepare.map(|_| Mend::Room),
        (What::Execute(stmt), UNKNOWN_STATEMENT | NEEDS_PREPARE) if runs_code => {
            Some(Mend::NextTime(stmt))
        }
        (What::Execute(stmt), UNKNOWN_STATEMENT) => Some(Mend::Anew { stmt, close: false }),
        (What::Execute(stmt), NEEDS_PREPARE) => Some(Mend::Anew { stmt, close: true }),
        _ => None,
    }
}

/// Statements of which a part may have been done when they fail.
const RUNS_CODE: Effects = Effects::CALLS_PROCEDURE
    .union(Effects::TEXT_EXECUTE)
    .union(Effects::UNCLEAR)
    .union(Effects::WRITES)
    .union(Effects::STORED_CODE)
    .union(Effects::UNKNOWN_CODE);

/// Whether a `SET` may give a user variable a string, which has the character set of its text.
fn saves_strings(text: &[u8]) -> bool {
    text.contains(&b'@') && text.iter().any(|byte| matches!(byte, b'\'' | b'"'))
}

/// An execution, as far as its statement and its command say.
struct Execution {
    conduct: Conduct,
    repeatable: bool,
    shareable: bool,
    /// What was noted of what it reaches.
    noted: Reach,
    /// The lane that alone can have it.
    only: Option<LaneId>,
    /// Data was sent ahead of it.
    has_data: bool,
}

impl Execution {
    #[inline(always)]
    fn of(handle: &Handle, raw: &[u8]) -> Self {
        let Text { holds, repeatable, shareable, .. } = *handle.text;
        let plain = is_plain(raw) && handle.is_free() && handle.has_all_types();
        Self {
            conduct: handle.text.conduct(holds),
            repeatable,
            shareable: shareable && plain,
            noted: handle.reach,
            only: handle.only,
            has_data: handle.data.is_some(),
        }
    }
}

/// Whether a command executes a statement once and asks for all rows.
fn is_plain(raw: &[u8]) -> bool {
    raw.get(HEADER_BYTES) == Some(&command::code::STMT_EXECUTE) && !asks_for_cursor(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_error_that_says_that_nothing_was_done_is_mended() {
        let stmt = ClientStmtId(7);
        let (prepare, execute) = (What::Prepare(stmt), What::Execute(stmt));
        let anew = |close| Some(Mend::Anew { stmt, close });
        let (read, call) = ("SELECT a FROM t", "CALL p()");
        let table = [
            (prepare, read, None, TOO_MANY_STATEMENTS, Some(Mend::Room)),
            (prepare, call, None, TOO_MANY_STATEMENTS, Some(Mend::Room)),
            (prepare, read, None, UNKNOWN_STATEMENT, None),
            (execute, read, None, UNKNOWN_STATEMENT, anew(false)),
            (execute, read, None, NEEDS_PREPARE, anew(true)),
            (execute, read, Some(TOO_MANY_STATEMENTS), UNKNOWN_STATEMENT, Some(Mend::Room)),
            (execute, read, None, TOO_MANY_STATEMENTS, None),
            (execute, call, None, UNKNOWN_STATEMENT, Some(Mend::NextTime(stmt))),
            (execute, call, None, NEEDS_PREPARE, Some(Mend::NextTime(stmt))),
            (execute, call, None, TOO_MANY_STATEMENTS, None),
            (execute, call, Some(TOO_MANY_STATEMENTS), UNKNOWN_STATEMENT, Some(Mend::Room)),
            (
                execute,
                "BEGIN NOT ATOMIC SELECT 1; END",
                None,
                UNKNOWN_STATEMENT,
                Some(Mend::NextTime(stmt)),
            ),
            (execute, read, None, 1146, None),
        ];
        for (what, text, of_prepare, code, mend) in table {
            let effects = sql::facts(text.as_bytes()).effects;
            let told = mend_of(what, effects, of_prepare, code);
            assert_eq!(told, mend, "{what:?} of {text}: {of_prepare:?}, {code}");
        }
    }
}
