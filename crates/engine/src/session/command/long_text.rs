//! Commands that are longer than what is kept: passed on as they come, or read to their end first
//! where rules may rewrite or answer them.

use wire::command::code;
use wire::frame::{HEADER_BYTES, Header, Span};

use crate::error::{self, SqlError};
use crate::ids::SessionId;
use crate::proxy::Proxy;
use crate::session::{Phase, Session, Then};

/// How many of the longest commands a worker keeps that are not complete, or as many bytes of
/// others.
const KEPT_COMMANDS: usize = 4;
/// Bytes of each that it keeps whatever others it has.
const KEPT_ALWAYS: usize = 1 << 16;
/// Bytes that tell what a command is, and which statement it is about.
pub(crate) const BEGINS_BYTES: usize = 16;

impl Proxy {
    /// Whether a command whose payload begins like this has to be read to its end before anything
    /// is decided about it.
    pub(crate) fn must_be_whole(&self, id: SessionId, payload: &[u8]) -> bool {
        let user = || self.sessions.get(id).map_or("", Session::user);
        let rules = &self.snapshot.rules;
        match payload.first() {
            Some(&(code::QUERY | code::STMT_PREPARE)) => {
                rules.rewrites() || rules.may_answer(user().as_bytes())
            }
            // it goes nowhere before its execution does
            Some(&code::STMT_SEND_LONG_DATA) => true,
            _ => false,
        }
    }

    /// Takes more of a command that is read to its end; returns how many bytes were taken.
    pub(crate) fn collect(&mut self, id: SessionId, mut span: Span, rest: &[u8]) -> usize {
        let max = self.snapshot.vars.max_allowed_packet as usize;
        let fed = span.feed(rest);
        let part = rest.get(..fed.consumed).unwrap_or_default();
        let Some(session) = self.sessions.get(id) else { return self.impossible(rest.len()) };
        let kept = &session.serving.kept;
        let (len, granted) = (kept.len() + part.len(), kept.capacity().max(KEPT_ALWAYS));
        if len > granted && !self.has_room_for(granted, len) {
            self.stats.long_commands_refused += 1;
            self.skip_rest(id, span, part, self.no_room());
            if fed.done {
                self.skipped(id, fed.consumed < rest.len());
            }
            return fed.consumed;
        }
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(rest.len()) };
        session.serving.kept.extend_from_slice(part);
        if fed.done {
            session.input.waits = fed.consumed < rest.len();
            session.phase = Phase::Idle;
            let raw = std::mem::take(&mut session.serving.kept);
            self.collected(id, &raw);
        } else if session.serving.kept.len() > max {
            self.skip_rest(id, span, part, error::packet_too_large());
        } else {
            session.phase = Phase::Collecting(span);
        }
        fed.consumed
    }

    /// A command is not kept any longer, of which `part` came last: its client is told when its end
    /// has come.
    fn skip_rest(&mut self, id: SessionId, span: Span, part: &[u8], error: SqlError) {
        let mut begins = Vec::new();
        begins.extend(self.kept(id).iter().chain(part).take(BEGINS_BYTES));
        let then = self.told_of_skipped(id, &begins, error);
        if let Some(session) = self.sessions.get_mut(id) {
            session.phase = Phase::Skipping { span, then };
        }
        self.drop_kept(id);
    }

    /// What the client of a command that is skipped is told at its end; parameter data has no
    /// answer, so that its execution is told.
    pub(crate) fn told_of_skipped(
        &mut self,
        id: SessionId,
        begins: &[u8],
        error: SqlError,
    ) -> Then {
        if self.data_refused(id, begins, &error) {
            return Then::Nothing;
        }
        self.stats.queries += 1;
        // it may be a prepare
        self.forget_last_prepared(id);
        Then::Unserved(error)
    }

    /// Whether a session may keep up to `len` bytes of what is not complete, which it now does of
    /// `granted`.
    pub(crate) fn has_room_for(&self, granted: usize, len: usize) -> bool {
        // the first bytes are anybody's
        if len <= KEPT_ALWAYS {
            return true;
        }
        let all: usize = self.sessions.iter().map(|(_, session)| session.incomplete_bytes()).sum();
        all.saturating_sub(granted) + len.next_power_of_two()
            <= KEPT_COMMANDS * self.snapshot.vars.max_allowed_packet as usize
    }

    /// Why a command is not kept.
    pub(crate) fn no_room(&self) -> SqlError {
        error::commands_too_long(KEPT_COMMANDS * self.snapshot.vars.max_allowed_packet as usize)
    }

    /// A long command is there as a whole.
    fn collected(&mut self, id: SessionId, raw: &[u8]) {
        let mut payload = Vec::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(header) = Header::parse(rest) {
            let end = (HEADER_BYTES + header.len).min(rest.len());
            let (frame, after) = rest.split_at(end);
            payload.extend_from_slice(frame.get(HEADER_BYTES..).unwrap_or_default());
            rest = after;
        }
        self.on_command(id, raw, &payload, None);
    }

    /// Passes on the rest of a long command.
    pub(crate) fn upload_bytes(&mut self, id: SessionId, taken: usize, rest: &[u8]) -> usize {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(rest.len()) };
        let Phase::Running(running) = &mut session.phase else { return 0 };
        let Some(span) = &mut running.job.upload else { return 0 };
        let fed = span.feed(rest);
        let lane = running.lane;
        if fed.done {
            running.job.upload = None;
            // its end was not kept: it cannot be sent again
            running.job.retries_left = 0;
            if let Some(lane) = self.lanes.get_mut(lane) {
                lane.partial = false;
            }
        }
        self.relay_to_lane(lane, taken..taken + fed.consumed);
        fed.consumed
    }
}

impl Session {
    /// Bytes that it keeps of what no server was sent, and of data that goes out again if need be.
    fn incomplete_bytes(&self) -> usize {
        let collected = match self.phase {
            Phase::Collecting(_) => self.serving.kept.capacity(),
            _ => 0,
        };
        let granted = self.stmts.as_ref().map_or(0, |stmts| stmts.data_granted);
        collected + granted + self.serving.data.as_ref().map_or(0, |data| data.len())
    }
}
