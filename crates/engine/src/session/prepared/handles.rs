//! The prepared statements of a session: the client's ids, and what only its own connections know
//! of them.
//!
//! What the texts mean is shared (`crate::stmt`); which lane an execution takes is decided as for a
//! text. A statement has a place of its own on a lane only while parameter data or a cursor of it
//! are there.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{self, SqlError};
use crate::holds::Holds;
use crate::ids::{ClientStmtId, LaneId, ServerStmtId, SessionId, StmtKey};
use crate::lane::Lease;
use crate::link::LinkState;
use crate::orders::End;
use crate::proxy::Proxy;
use crate::route::Decision;
use crate::server_error::WRONG_ARGUMENTS;
use crate::session::prepared::long_data::SentAhead;
use crate::session::replying::recall::Executed;
use crate::session::{Job, Session, Then, What};
use crate::stats::{StmtCounts, StmtRow, StmtRows};
use crate::stmt::{Manner, Text, Wanted, lacks_types, tell_types, types_in, values_in};
use sql::Effects;
use wire::Status;
use wire::command;
use wire::execute::cursor;
use wire::frame::HEADER_BYTES;

/// A statement of a client.
pub(crate) struct Handle {
    pub id: ClientStmtId,
    pub key: StmtKey,
    pub text: Arc<Text>,
    pub params: u16,
    /// How its executions were routed.
    pub routed: Routed,
    /// What its executions reach.
    pub reach: sql::Reach,
    /// Parameter types as last sent, two bytes each.
    pub types: Vec<u8>,
    /// How it was executed last.
    manner: Manner,
    /// Parameter data of it that was sent ahead of its next execution.
    pub data: Option<Box<SentAhead>>,
    /// Where its cursor is open.
    pub cursor: Option<LaneId>,
    /// The only lane that can have it: its text was too long to be kept.
    pub only: Option<LaneId>,
}

/// What is remembered of how the executions of a statement were routed.
#[derive(Debug)]
pub(crate) enum Routed {
    /// There was none.
    Never,
    /// Nothing.
    Once,
    /// So.
    So(Box<Decision>),
}

impl Routed {
    fn bytes(&self) -> usize {
        match self {
            Self::Never | Self::Once => 0,
            Self::So(decision) => decision.bytes(),
        }
    }
}

impl Handle {
    /// One that nothing was done with.
    pub(crate) fn new(id: ClientStmtId, key: StmtKey, text: Arc<Text>) -> Self {
        let manner = Manner::new(text.read_by(&text.state), false);
        Self {
            id,
            key,
            text,
            params: 0,
            routed: Routed::Never,
            reach: sql::Reach::default(),
            types: Vec::new(),
            manner,
            data: None,
            cursor: None,
            only: None,
        }
    }

    /// Keeps how it is executed, and the types that the execution tells, if it does.
    pub(crate) fn note_execution(&mut self, raw: &[u8], now: &LinkState) {
        let read_by = self.text.read_by(now);
        self.manner = Manner::new(read_by, asks_for_cursor(raw));
        if let Some(types) = types_in(raw, self.params) {
            self.types.clear();
            self.types.extend_from_slice(types);
        }
    }

    /// Why it is not executed by this command.
    #[inline]
    pub(crate) fn refusal(&mut self, raw: &[u8], is_cut: bool) -> Option<Then> {
        if let Some(refused) = self.data.as_ref().and_then(|data| data.refused.clone()) {
            if refused.code == WRONG_ARGUMENTS {
                return Some(Then::Error(refused));
            }
            self.data = None;
            return Some(Then::Unserved(refused));
        }
        // a server would take types that another session's execution has left there
        let lacks = !is_cut && lacks_types(raw, self.params, &self.types);
        lacks.then(|| Then::Error(error::malformed_packet("no parameter types")))
    }

    /// What a lane must have to execute it.
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        Wanted { key: self.key, types: &self.types, manner: self.manner }
    }

    /// Itself where it has a lane's statement for itself.
    pub(crate) fn owner_on(&self, lane: LaneId) -> Option<ClientStmtId> {
        let own = [self.cursor, self.only].contains(&Some(lane));
        own.then_some(self.id)
    }

    /// Whether nothing of it is on any lane but what serves everybody, nor goes there in front of
    /// its execution.
    pub(crate) fn is_free(&self) -> bool {
        self.data.is_none() && self.cursor.is_none() && self.only.is_none()
    }

    /// Which parameters of an execution are `NULL`, and the values of the others; `None` where more
    /// than these would have to be known to tell it from others.
    pub(crate) fn values_in<'a>(&self, raw: &'a [u8]) -> Option<[&'a [u8]; 2]> {
        values_in(raw, self.params).filter(|_| self.is_free() && self.text.modes_known)
    }

    /// Whether the client has told the types of all parameters.
    pub(crate) fn has_all_types(&self) -> bool {
        self.types.len() == 2 * usize::from(self.params)
    }
}

/// Whether an execution asks for a cursor, or is too short to say.
pub(crate) fn asks_for_cursor(raw: &[u8]) -> bool {
    let flags_at = HEADER_BYTES + command::STMT_ID.end;
    raw.get(HEADER_BYTES) == Some(&command::code::STMT_EXECUTE)
        && raw.get(flags_at) != Some(&cursor::NONE)
}

/// A statement that has to be prepared on a lane.
pub(crate) struct Missing {
    pub key: StmtKey,
    pub text: Arc<Text>,
}

/// All statements of a session.
#[derive(Default)]
pub(crate) struct Handles {
    /// In the order of ids.
    list: Vec<Handle>,
    last_id: u32,
    pub last_prepared: Option<ClientStmtId>,
    /// Bytes of their texts, each counted as often as it is prepared.
    text_bytes: usize,
    /// How many have a cursor on a lane.
    cursors: usize,
    /// Bytes of data that were sent ahead of executions.
    pub data_bytes: usize,
    /// How many of them there may be before it is looked at what others keep.
    pub data_granted: usize,
    /// The answer to a prepare as far as it has come.
    pub answer: Vec<u8>,
    /// `StmtsOfAll::definitions` when it began.
    pub definitions: u64,
}

/// How many statements a session may have: what servers allow all of theirs together by default.
const HANDLES_MAX: usize = 16_382;

impl Handles {
    /// An id for one more statement; none when there are too many.
    pub(crate) fn next_id(&mut self) -> Option<ClientStmtId> {
        if self.list.len() >= HANDLES_MAX || self.last_id >= command::LAST_PREPARED - 1 {
            return None;
        }
        self.last_id += 1;
        Some(ClientStmtId(self.last_id))
    }

    /// Adds a statement with the id that was given last.
    pub(crate) fn push(&mut self, handle: Handle) {
        self.text_bytes += handle.text.text.len();
        self.list.push(handle);
    }

    pub(crate) fn get(&self, id: ClientStmtId) -> Option<&Handle> {
        let at = self.list.binary_search_by_key(&id.0, |handle| handle.id.0).ok()?;
        self.list.get(at)
    }

    pub(crate) fn get_mut(&mut self, id: ClientStmtId) -> Option<&mut Handle> {
        let at = self.list.binary_search_by_key(&id.0, |handle| handle.id.0).ok()?;
        self.list.get_mut(at)
    }

    pub(crate) fn remove(&mut self, id: ClientStmtId) -> Option<Handle> {
        let at = self.list.binary_search_by_key(&id.0, |handle| handle.id.0).ok()?;
        self.last_prepared = self.last_prepared.filter(|last| *last != id);
        let handle = self.list.remove(at);
        self.text_bytes -= handle.text.text.len();
        self.cursors -= usize::from(handle.cursor.is_some());
        self.note_data(handle.data.as_ref().map_or(0, |data| data.len()), 0);
        Some(handle)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    /// Bytes of their texts.
    pub(crate) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Bytes of memory that they hold, without what others have, too.
    pub(crate) fn bytes(&self) -> usize {
        let each = |handle: &Handle| handle.types.capacity() + handle.routed.bytes();
        let own = self.list.iter().map(each).sum::<usize>();
        let list = self.list.capacity() * size_of::<Handle>();
        size_of::<Self>() + list + own + self.data_bytes + self.answer.capacity()
    }

    /// Keeps data for the next execution of a statement, or why that is refused.
    pub(crate) fn add_data(&mut self, id: ClientStmtId, raw: &[u8], refused: Option<SqlError>) {
        let Some(handle) = self.get_mut(id) else { return };
        let data = handle.data.get_or_insert_default();
        let before = data.len();
        data.add(raw, refused);
        let after = data.len();
        self.note_data(before, after);
    }

    /// Data of so many bytes was kept of a statement, and is so long now.
    fn note_data(&mut self, before: usize, after: usize) {
        self.data_bytes = self.data_bytes + after - before;
        if after < before {
            let needed = self.data_bytes.checked_next_power_of_two().unwrap_or(usize::MAX);
            self.data_granted = if self.data_bytes == 0 { 0 } else { needed };
        }
    }

    /// Takes out what was kept for the next execution of a statement.
    pub(crate) fn take_data(&mut self, id: ClientStmtId) -> Option<Box<SentAhead>> {
        let data = self.get_mut(id)?.data.take()?;
        self.note_data(data.len(), 0);
        Some(data)
    }

    /// Says where the cursor of a statement is open.
    fn note_cursor(&mut self, id: ClientStmtId, lane: Option<LaneId>) {
        let Some(handle) = self.get_mut(id) else { return };
        let before = std::mem::replace(&mut handle.cursor, lane);
        self.cursors = self.cursors + usize::from(lane.is_some()) - usize::from(before.is_some());
    }

    /// Whether any of its statements has a cursor on a lane.
    fn has_cursor_on(&self, lane: LaneId) -> bool {
        self.cursors > 0 && self.list.iter().any(|handle| handle.cursor == Some(lane))
    }

    /// Every key, leaving nothing.
    fn into_keys(self) -> impl Iterator<Item = StmtKey> {
        self.list.into_iter().map(|handle| handle.key)
    }
}

impl Session {
    /// A statement of the client's.
    pub(crate) fn handle(&self, id: ClientStmtId) -> Option<&Handle> {
        self.stmts.as_ref()?.get(id)
    }

    /// The same, to be changed.
    pub(crate) fn handle_mut(&mut self, id: ClientStmtId) -> Option<&mut Handle> {
        self.stmts.as_mut()?.get_mut(id)
    }

    /// What a job executes, or what has to be executed again in front of it.
    pub(crate) fn wanted_by(&self, job: &Job) -> Option<Wanted<'_>> {
        match job.what {
            What::Execute(stmt) => self.handle(stmt).map(Handle::wanted),
            _ => self.recalled_by(job).map(Executed::wanted),
        }
    }

    /// Brings the reason to hold a lane up to date that statements give.
    pub(crate) fn note_cursors(&mut self, lane: LaneId) {
        let is_open = self.stmts.as_ref().is_some_and(|stmts| stmts.has_cursor_on(lane));
        if let Some(held) = self.held.iter_mut().find(|held| held.lane == lane) {
            held.why.set(Holds::CURSOR, is_open);
        }
    }

    /// Forgets what was on a lane that is gone.
    pub(crate) fn forget_lane(&mut self, lane: LaneId) {
        let Some(stmts) = self.stmts.as_mut().filter(|stmts| stmts.has_cursor_on(lane)) else {
            return;
        };
        for handle in stmts.list.iter_mut().filter(|handle| handle.cursor == Some(lane)) {
            handle.cursor = None;
            stmts.cursors -= 1;
        }
    }
}

impl Proxy {
    /// The client's statement of that id; all ones mean the one it prepared last.
    pub(crate) fn resolve(&self, id: SessionId, stmt: u32) -> Option<ClientStmtId> {
        let stmts = self.sessions.get(id)?.stmts.as_ref()?;
        let stmt = match stmt {
            command::LAST_PREPARED => stmts.last_prepared?,
            other => ClientStmtId(other),
        };
        stmts.get(stmt).map(|handle| handle.id)
    }

    /// A session has no statements any more. None gets an id again that one had: a client may
    /// still have that one, and would execute or close another.
    pub(crate) fn forget_handles(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(stmts) = session.stmts.as_deref_mut() else { return };
        let none = Handles { last_id: stmts.last_id, ..Handles::default() };
        for key in std::mem::replace(stmts, none).into_keys() {
            self.texts.forget_unused(key);
        }
    }

    /// The client closes a statement. What is prepared on lanes stays there for others.
    pub(crate) fn on_stmt_close(&mut self, id: SessionId, stmt_id: u32) {
        self.stats.closes += 1;
        let Some(stmt) = self.resolve(id, stmt_id) else { return };
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(stmts) = &mut session.stmts else { return };
        let Some(Handle { key, cursor, only, text, .. }) = stmts.remove(stmt) else { return };
        // of no use to others, and it would stay
        let held = session.held.iter().map(|held| held.lane).filter(|_| !text.modes_known);
        for lane in held.collect::<Vec<_>>() {
            self.close_on(lane, key, None);
        }
        for lane in [cursor, only].into_iter().flatten() {
            self.close_on(lane, key, Some(stmt));
            if let Some(session) = self.sessions.get_mut(id) {
                session.note_cursors(lane);
            }
            self.let_go(id, lane);
        }
        self.texts.forget_unused(key);
    }

    /// Closes a statement on a lane, if it is there.
    pub(crate) fn close_on(&mut self, lane: LaneId, key: StmtKey, owner: Option<ClientStmtId>) {
        let stmts = self.lanes.get_mut(lane).map(|lane| &mut lane.stmts);
        if let Some(server_id) = stmts.and_then(|stmts| stmts.remove(key, owner)) {
            self.send_close(lane, server_id);
        }
    }

    /// Closes a statement on a lane that was taken out of the lane's list.
    pub(crate) fn send_close(&mut self, lane_id: LaneId, stmt: ServerStmtId) {
        self.stats.lane_closes += 1;
        if let Some(lane) = self.lanes.get_mut(lane_id) {
            lane.stmts.note_closed(stmt);
        }
        self.orders.send(End::Lane(lane_id), |out| {
            command::write(out, command::code::STMT_CLOSE, &stmt.0.to_le_bytes());
        });
    }

    /// Makes a lane ready for one statement more than it has: those unused for longest are closed,
    /// but so many as are needed at once are let be, whatever the limit.
    pub(crate) fn make_room(&mut self, lane_id: LaneId, needed: usize) {
        let max = (self.snapshot.vars.max_stmts_per_connection as usize).max(needed);
        while let Some(lane) = self.lanes.get_mut(lane_id)
            && lane.stmts.len() >= max
            && self.close_oldest(lane_id)
        {}
    }

    /// Closes the statement of a lane that was not used for longest; `false` when there is none.
    pub(crate) fn close_oldest(&mut self, lane_id: LaneId) -> bool {
        let evicted = self.lanes.get_mut(lane_id).and_then(|lane| lane.stmts.evict());
        if let Some(server_id) = evicted {
            self.send_close(lane_id, server_id);
        }
        evicted.is_some()
    }

    /// The server has lost a statement of a lane, or cannot prepare it anew, and told nobody who
    /// would know which one: all go that can be had again.
    #[cold]
    pub(crate) fn close_all_statements(&mut self, lane_id: LaneId) {
        // what was gathered on a shared lane names them
        self.send_batch(lane_id);
        while self.close_oldest(lane_id) {}
    }

    /// What a job needs on a lane and is not prepared there.
    #[inline]
    pub(crate) fn missing_statement(
        &self,
        id: SessionId,
        lane: LaneId,
        job: &Job,
    ) -> Option<Missing> {
        let executes = matches!(job.what, What::Execute(_));
        if !executes && !job.effects.intersects(Effects::SHOW_WARNINGS) {
            return None;
        }
        self.missing_of(id, lane, job)
    }

    #[inline(never)]
    fn missing_of(&self, id: SessionId, lane: LaneId, job: &Job) -> Option<Missing> {
        let session = self.sessions.get(id)?;
        let stmts = &self.lanes.get(lane)?.stmts;
        if let Some(Executed { key, text, .. }) =
            session.recalled_by(job).filter(|executed| !stmts.has(executed.wanted()))
        {
            return Some(Missing { key: *key, text: text.clone() });
        }
        let What::Execute(stmt) = job.what else { return None };
        let handle = session.handle(stmt)?;
        let there = stmts.find(handle.wanted(), handle.owner_on(lane)).is_some();
        let (key, text) = (handle.key, &handle.text);
        (!there && handle.only.is_none()).then(|| Missing { key, text: text.clone() })
    }

    /// Puts the server's id into a kept command about a statement, and the parameter types where
    /// the client relies on having sent them before and the server would read it with others.
    #[inline]
    pub(crate) fn patch_statement(&mut self, id: SessionId, lane_id: LaneId, job: &Job) {
        if let What::Execute(stmt) | What::OfStatement(stmt) = job.what {
            self.patch(id, lane_id, (job.what, stmt));
        }
    }

    #[inline(never)]
    fn patch(&mut self, id: SessionId, lane_id: LaneId, (what, stmt): (What, ClientStmtId)) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(handle) = session.stmts.as_mut().and_then(|stmts| stmts.get_mut(stmt)) else {
            return;
        };
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        let (kept, shares) = (&mut session.serving.kept, lane.lease == Lease::Shared);
        let mut on_lane = lane.stmts.take(handle.wanted(), handle.owner_on(lane_id));
        // what is being prepared right in front of it has no id yet
        let server_id = on_lane.as_ref().map_or(command::LAST_PREPARED, |on_lane| on_lane.id.0);
        let at = HEADER_BYTES + command::STMT_ID.start;
        if let Some(place) = kept.get_mut(at..at + 4) {
            place.copy_from_slice(&server_id.to_le_bytes());
        }
        if !matches!(what, What::Execute(_)) {
            return;
        }
        if let Some(on_lane) = &mut on_lane {
            on_lane.note_execution(handle.wanted());
        }
        if handle.params > 0 {
            tell_types(kept, (handle.params, &handle.types), on_lane, shares);
            if session.serving.data.is_some() {
                self.send_data(id, lane_id, ServerStmtId(server_id));
            }
        }
    }

    /// A command about a statement has ended on a lane: what the server still has of it there.
    pub(crate) fn settle_statement(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        job: &Job,
        told: Option<Status>,
    ) {
        let (What::Execute(stmt) | What::OfStatement(stmt)) = job.what else { return };
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(handle) = session.handle(stmt) else { return };
        let (key, owner, elsewhere) = (handle.key, handle.owner_on(lane_id), handle.cursor);
        let only = handle.only.is_some();
        let simple = owner.is_none() && elsewhere.is_none();
        let Some(status) = told else {
            // what an error leaves there nobody knows
            let can_be_had_again = handle.text.modes_known;
            match owner {
                Some(_) if !only && can_be_had_again => self.close_on(lane_id, key, owner),
                None if session.serving.data.is_some() && can_be_had_again => {
                    self.close_used(id, lane_id, stmt);
                }
                _ => self.forget_types(id, lane_id, stmt),
            }
            if !only && let Some(lane) = self.lanes.get_mut(lane_id) {
                lane.stmts.disown(key, stmt);
            }
            return self.note_cursor(id, lane_id, stmt, elsewhere.filter(|on| *on != lane_id));
        };
        if status.contains(Status::METADATA_CHANGED) {
            self.texts.forget_answer(key);
        }
        let open =
            status.contains(Status::CURSOR_EXISTS) && !status.contains(Status::LAST_ROW_SENT);
        if simple && !open {
            return;
        }
        self.note_cursor(id, lane_id, stmt, open.then_some(lane_id));
        if let Some(handle) = self.sessions.get(id).and_then(|session| session.handle(stmt))
            && let Some(lane) = self.lanes.get_mut(lane_id)
            && let Some(on_lane) = lane.stmts.take(handle.wanted(), owner)
        {
            on_lane.owner = handle.owner_on(lane_id);
        }
        if let Some(other) = elsewhere.filter(|other| *other != lane_id) {
            // its next execution closes a cursor, wherever that runs
            self.close_on(other, key, Some(stmt));
            if let Some(session) = self.sessions.get_mut(id) {
                session.note_cursors(other);
            }
            self.let_go(id, other);
        }
    }

    fn forget_types(&mut self, id: SessionId, lane_id: LaneId, stmt: ClientStmtId) {
        if let Some(handle) = self.sessions.get(id).and_then(|session| session.handle(stmt))
            && let Some(lane) = self.lanes.get_mut(lane_id)
            && let Some(on_lane) = lane.stmts.take(handle.wanted(), handle.owner_on(lane_id))
        {
            on_lane.forget_types();
        }
    }

    /// Closes a statement that serves everybody where it was executed.
    fn close_used(&mut self, id: SessionId, lane_id: LaneId, stmt: ClientStmtId) {
        if let Some(handle) = self.sessions.get(id).and_then(|session| session.handle(stmt))
            && let Some(lane) = self.lanes.get_mut(lane_id)
            && let Some(used) = lane.stmts.find(handle.wanted(), None)
        {
            let server_id = used.id;
            lane.stmts.take_out(server_id);
            self.send_close(lane_id, server_id);
        }
    }

    /// The cursor of a statement is open there, or nowhere, as the end of a command on a lane says.
    fn note_cursor(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        stmt: ClientStmtId,
        open: Option<LaneId>,
    ) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if let Some(stmts) = &mut session.stmts {
            stmts.note_cursor(stmt, open);
        }
        session.note_cursors(lane_id);
    }
}

impl Proxy {
    /// How many prepared statements there are now, and which, if that is asked for.
    pub(crate) fn statements(&self, by_text: bool) -> (StmtCounts, Option<StmtRows>) {
        let mut servers: HashMap<StmtKey, u64> = HashMap::new();
        for stmt in self.lanes.iter().flat_map(|(_, lane)| lane.stmts.iter()) {
            *servers.entry(stmt.key).or_default() += 1;
        }
        let handles = self.sessions.iter().filter_map(|(_, session)| session.stmts.as_ref());
        let counts = StmtCounts {
            client_total: handles.map(|stmts| stmts.count() as u64).sum(),
            client_unique: self.texts.with_clients() as u64,
            server_total: servers.values().sum(),
            server_unique: servers.len() as u64,
            max_number: self.texts.last_number(),
            cached: self.texts.len() as u64,
        };
        let rows = by_text.then(|| {
            let mut rows = StmtRows::default();
            for (key, row) in self.texts.rows() {
                let servers = servers.get(&key).copied().unwrap_or(0);
                rows.add(StmtRow { servers, ..row });
            }
            rows
        });
        (counts, rows)
    }
}
