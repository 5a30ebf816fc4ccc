//! What servers tell of changes in their sessions: the lane's and the session's state follow it,
//! and what a statement changed without saying so ties the session to its lane.
//!
//! Every lane's server is asked to tell. A client is told what it would be without the proxy.

use std::ops::Range;

use sql::{Assignment, Effects, SetStatement};
use wire::collation_table as collation;
use wire::command;
use wire::frame::{self, HEADER_BYTES};
use wire::reply::{OkPacket, SessionChange, SessionTrack, status_at};
use wire::result::ReplyKind;
use wire::{Caps, Status};

use crate::holds::Holds;
use crate::ids::{LaneId, SessionId};
use crate::lane::Owner;
use crate::orders::End;
use crate::proxy::Proxy;
use crate::rules::Multiplex;
use crate::session::replying::reply::{Outcome, slice};
use crate::session::{Running, What};

impl Proxy {
    /// Asks the server of a lane, once, to tell whenever anything changes in its session; in front
    /// of the first command. One that cannot says so, and nobody listens.
    pub(crate) fn ask_for_changes(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        if lane.marks.tells_changes || !lane.caps.contains(Caps::SESSION_TRACK) {
            return;
        }
        lane.marks.tells_changes = true;
        lane.enqueue(Owner::Nobody, ReplyKind::Result);
        self.orders.send(End::Lane(lane_id), |out| {
            command::write_query(out, b"SET session_track_schema=1, session_track_state_change=1");
        });
    }

    /// Takes note of what the server says has changed. `at` is where the packet's payload lies in
    /// `bytes`.
    pub(crate) fn note_changes(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        at: Range<usize>,
        bytes: &[u8],
    ) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        let Ok(ok) = OkPacket::parse(slice(bytes, at), lane.caps) else { return };
        let mut changed = false;
        for change in SessionTrack::new(ok.session_track) {
            match change {
                Ok(SessionChange::Schema(schema)) => {
                    let schema = Some(schema).filter(|s| !s.is_empty()).map(Into::into);
                    lane.state.schema = schema;
                    session.want.schema.clone_from(&lane.state.schema);
                }
                Ok(SessionChange::StateChange(any)) => changed |= any,
                _ => {}
            }
        }
        if let Some(running) = self.running(id) {
            running.changed |= changed;
        }
    }

    /// Relays a part of a reply that ends with a packet which tells of changes: as it is, or with
    /// no more than the client asked for. `at` is where its payload lies in `bytes`.
    pub(crate) fn relay_changes(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        range: Range<usize>,
        at: Range<usize>,
        bytes: &[u8],
    ) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(()) };
        let caps = lane.caps.without(Caps::SESSION_TRACK.without(session.caps));
        let packet_at = at.start.saturating_sub(HEADER_BYTES);
        let payload = slice(bytes, at);
        let seq = packet_at.checked_add(HEADER_BYTES - 1).and_then(|at| bytes.get(at).copied());
        let (Ok(ok), Some(mut seq), false) =
            (OkPacket::parse(payload, lane.caps), seq, session.told_any_change)
        else {
            return self.relay_last(id, lane_id, range, packet_at + HEADER_BYTES, bytes);
        };
        let mut told = self.blank_buffer();
        if caps.contains(Caps::SESSION_TRACK) {
            SessionTrack::write_without_state_change(ok.session_track, &mut told);
            if told.len() == ok.session_track.len() {
                self.spare_buffer(told);
                return self.relay_last(id, lane_id, range, packet_at + HEADER_BYTES, bytes);
            }
        }
        self.relay_reply(id, range.start..packet_at);
        let status = ok.status.union(self.flags_beside(id, lane_id));
        let shown = OkPacket { session_track: &told, status, ..ok };
        self.orders.send(End::Client(id), |out| {
            frame::write_with(out, &mut seq, |out| match payload.first() {
                Some(&OkPacket::EOF_MARKER) => shown.encode_as_eof(caps, out),
                _ => shown.encode(caps, out),
            });
        });
        self.spare_buffer(told);
        if let Some(running) = self.running(id) {
            running.delivered = true;
        }
    }

    /// Passes on the end of a reply to a session with several lanes.
    #[cold]
    pub(crate) fn relay_end(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        range: Range<usize>,
        bytes: &[u8],
    ) {
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        let Some(end_at) = lane.head().map(|(_, tracker)| tracker.end_at()) else {
            return self.impossible(());
        };
        let last_at = range.start + end_at;
        self.relay_last(id, lane_id, range, last_at, bytes);
    }

    /// Passes on a part of a reply whose last packet tells status flags, with a payload that begins
    /// at `last_at`. The flags are the session's, which may have its transaction on another lane.
    #[cold]
    fn relay_last(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        range: Range<usize>,
        last_at: usize,
        bytes: &[u8],
    ) {
        let beside = self.flags_beside(id, lane_id);
        if beside == Status::default() {
            return self.relay_reply(id, range);
        }
        let Some(at) = status_at(slice(bytes, last_at..range.end)) else {
            return self.relay_reply(id, range);
        };
        let (from, to) = (last_at + at, last_at + at + size_of::<Status>());
        let Some(told) = slice(bytes, from..to).first_chunk() else {
            return self.relay_reply(id, range);
        };
        let status = Status(u16::from_le_bytes(*told)).union(beside);
        self.relay_reply(id, range.start..from);
        self.orders.send(End::Client(id), |out| out.extend_from_slice(&status.0.to_le_bytes()));
        self.relay_reply(id, to..range.end);
    }

    /// Whether a session has more than one lane.
    #[inline]
    pub(crate) fn holds_several(&self, id: SessionId) -> bool {
        self.sessions.get(id).is_some_and(|session| session.held.len() > 1)
    }

    /// The status flags of a session's transaction, where that is on another lane than this one.
    #[cold]
    pub(crate) fn flags_beside(&self, id: SessionId, lane_id: LaneId) -> Status {
        let of_transaction = Status::IN_TRANS.union(Status::IN_TRANS_READONLY);
        let mut flags = Status::default();
        let Some(session) = self.sessions.get(id) else { return self.impossible(flags) };
        for held in session.held.iter().filter(|held| held.lane != lane_id) {
            if held.why.intersects(Holds::TRANSACTION)
                && (held.own || !session.is_parted())
                && let Some(lane) = self.lanes.get(held.lane)
            {
                flags = flags.union(lane.status.intersect(of_transaction));
            }
        }
        flags
    }
}

impl Running {
    /// Whether the server's session has changed and the text of the command does not say how, or
    /// may have: neither an error nor the end of rows by an EOF packet tells of one, nor does what
    /// comes after it.
    pub(crate) fn has_hidden_change(&self, outcome: &Outcome) -> bool {
        let job = &self.job;
        let runs_code = job.effects.intersects(Effects::STORED_CODE);
        if !(self.changed || outcome.hints_at_changes() || runs_code && outcome.is_untold()) {
            return false;
        }
        if runs_code && job.multiplex != Some(Multiplex::IgnoreVariables) {
            return true;
        }
        let is_known = matches!(job.what, What::Set | What::Schema | What::LoginSchema)
            || job.holds.without(Holds::TEXT_PREPARE).intersects(Holds::PINNING)
            || job.effects.intersects(TELLS)
            || job.multiplex == Some(Multiplex::IgnoreVariables);
        !is_known
    }
}

impl Outcome {
    /// Whether nothing of it could have told of changes.
    pub(crate) fn is_untold(&self) -> bool {
        match self {
            Self::Done(end) => end.untold && !self.hints_at_changes(),
            Self::Failed { .. } => true,
        }
    }

    /// Whether its last packet says that there are changes, and has no room for them.
    fn hints_at_changes(&self) -> bool {
        let Self::Done(end) = self else { return false };
        end.track.is_none() && end.status.contains(Status::SESSION_STATE_CHANGED)
    }
}

/// What servers tell of a `SET`, of the variables that they tell of by default.
pub(crate) fn changes_by(set: &SetStatement<'_>) -> Vec<u8> {
    let mut track = Vec::new();
    let mut tell = |name: &[u8], value: &[u8]| {
        SessionChange::SystemVariable { name, value }.encode(&mut track);
    };
    let names = set.assignments.iter().rev().find_map(|assignment| match assignment {
        Assignment::Names { charset, .. } => Some(*charset),
        _ => None,
    });
    if let Some(known) = names.and_then(collation::find_charset_default) {
        for variable in ["client", "results", "connection"] {
            let name = format!("character_set_{variable}");
            tell(name.as_bytes(), known.charset.as_bytes());
        }
    }
    let autocommit = set.assignments.iter().rev().find_map(|assignment| match assignment {
        Assignment::Autocommit(on) => Some(*on),
        _ => None,
    });
    if let Some(on) = autocommit {
        tell(b"autocommit", if on { b"ON" } else { b"OFF" });
    }
    track
}

/// What makes a statement one of which a change is no surprise: either it is followed, or the lane
/// is kept for it.
const TELLS: Effects = Effects::TEMPORARY_TABLE
    .union(Effects::TEXT_PREPARE)
    .union(Effects::SET_STATEMENT)
    .union(Effects::SETS_USER_VARIABLE);
