//! Commands that are longer than what is kept: passed on as they come, or read to their end first
//! where rules may rewrite or answer them.

use wire::command::code;
use wire::frame::{HEADER_BYTES, Header, Span};
use wire::result::ReplyKind;

use crate::error::{self, SqlError};
use crate::ids::SessionId;
use crate::proxy::Proxy;
use crate::session::{Phase, Session, Then};

/// How many of the longest commands a worker keeps that are not complete, or as many bytes of
/// others.
const KEPT_COMMANDS: usize = 4;
/// Bytes of each that it keeps whatever others it has.
const KEPT_ALWAYS: usize = 1 << 16;

impl Proxy {
    /// Whether a command whose payload begins like this has to be read to its end before anything
    /// is decided about it.
    pub(crate) fn must_be_whole(&self, id: SessionId, payload: &[u8]) -> bool {
        let text = matches!(payload.first(), Some(&(code::QUERY | code::STMT_PREPARE)));
        let user = || self.sessions.get(id).map_or("", Session::user);
        let rules = &self.snapshot.rules;
        text && (rules.rewrites() || rules.may_answer(user().as_bytes()))
    }

    /// Takes more of a command that is read to its end; returns how many bytes were taken.
    pub(crate) fn collect(&mut self, id: SessionId, mut span: Span, rest: &[u8]) -> usize {
        let max = self.snapshot.vars.max_allowed_packet as usize;
        let fed = span.feed(rest);
        let part = rest.get(..fed.consumed).unwrap_or_default();
        let has_room = self.has_room_for(id, part.len());
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(rest.len()) };
        if !has_room {
            self.stats.long_commands_refused += 1;
            self.skip_rest(id, span, error::commands_too_long(KEPT_COMMANDS * max));
            if fed.done {
                self.skipped(id, fed.consumed < rest.len());
            }
            return fed.consumed;
        }
        session.serving.kept.extend_from_slice(part);
        if fed.done {
            session.input.waits = fed.consumed < rest.len();
            session.phase = Phase::Idle;
            let raw = std::mem::take(&mut session.serving.kept);
            self.collected(id, &raw);
        } else if session.serving.kept.len() > max {
            self.skip_rest(id, span, error::packet_too_large());
        } else {
            session.phase = Phase::Collecting(span);
        }
        fed.consumed
    }

    /// A command is not kept any longer: its client is told when its end has come.
    fn skip_rest(&mut self, id: SessionId, span: Span, error: SqlError) {
        self.stats.queries += 1;
        // it may be a prepare
        self.forget_last_prepared(id);
        if let Some(session) = self.sessions.get_mut(id) {
            session.phase = Phase::Skipping { span, then: Then::Unserved(error) };
        }
        self.drop_kept(id);
    }

    /// Whether so many bytes more may be kept of a session's command, beside those of others.
    fn has_room_for(&self, id: SessionId, more: usize) -> bool {
        let Some(session) = self.sessions.get(id) else { return self.impossible(true) };
        let kept = &session.serving.kept;
        let len = kept.len() + more;
        // all are looked at when it has doubled, and the first bytes are anybody's
        if len <= kept.capacity().max(KEPT_ALWAYS) {
            return true;
        }
        let others = self.sessions.iter().filter(|(other, session)| {
            *other != id && matches!(session.phase, Phase::Collecting(_))
        });
        let others: usize = others.map(|(_, other)| other.serving.kept.capacity()).sum();
        others + len.next_power_of_two()
            <= KEPT_COMMANDS * self.snapshot.vars.max_allowed_packet as usize
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
        let silent = running.job.reply == ReplyKind::None;
        if fed.done {
            running.job.upload = None;
            // its end was not kept: it cannot be sent again
            running.job.retries_left = 0;
            if let Some(lane) = self.lanes.get_mut(lane) {
                lane.partial = false;
            }
        }
        self.relay_to_lane(lane, taken..taken + fed.consumed);
        if fed.done && silent {
            self.finish_silent(id);
        }
        fed.consumed
    }
}
