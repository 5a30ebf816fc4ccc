//! Commands that are longer than what is kept: passed on as they come, or read to their end first
//! where rules may rewrite or answer them.

use wire::command::code;
use wire::frame::{HEADER_BYTES, Header, Span};
use wire::result::ReplyKind;

use crate::error;
use crate::ids::SessionId;
use crate::proxy::Proxy;
use crate::session::{Phase, Session, Then};

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
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(rest.len()) };
        session.serving.kept.extend_from_slice(rest.get(..fed.consumed).unwrap_or_default());
        if fed.done {
            session.phase = Phase::Idle;
            let raw = std::mem::take(&mut session.serving.kept);
            self.collected(id, &raw);
        } else if session.serving.kept.len() > max {
            self.stats.queries += 1;
            session.phase = Phase::Skipping { span, then: Then::Error(error::packet_too_large()) };
            self.drop_kept(id);
        } else {
            session.phase = Phase::Collecting(span);
        }
        fed.consumed
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
