//! What a session leaves on its lanes when it begins anew, by `COM_RESET_CONNECTION` or
//! `COM_CHANGE_USER`: locks, rows, temporary tables. Its client is told OK when the servers have
//! cleared them away, as on a connection of its own: others find none of it from then on.
//!
//! Each such lane is reset, also one that is closed then because a reset is not trusted with all of
//! it. No server tells when it has noticed the end of a connection, but it answers a reset when
//! that is done. A lane that goes, or takes too long, is waited for no longer.

use std::sync::Arc;

use crate::backend::CLASS;
use crate::error::{self, SqlError};
use crate::holds::{Fate, Holds};
use crate::ids::{LaneId, SessionId};
use crate::lane::{Held, Lane, Lease, Owner, Upkeep};
use crate::link::{Charset, LinkState};
use crate::proxy::Proxy;
use crate::session::arriving::login::Login;
use crate::session::command::variable_texts::VariableTexts;
use crate::session::maintenance::upkeep::value_in;
use crate::session::{LastResults, Phase, Session};

/// How long a client waits for a server that resets a lane: much may have to be rolled back.
const CLEARING_US: u64 = 10_000_000;

/// What may have switched off that servers tell of schemas.
const HIDES_SCHEMA: Holds = Holds::SET
    .union(Holds::STATE_CHANGE)
    .union(Holds::PROCEDURE)
    .union(Holds::TEXT_PREPARE)
    .union(Holds::NOT_UNDERSTOOD);

/// Asks which schema a lane is in. A reset leaves it there.
const SCHEMA: &str = "SELECT DATABASE()";

/// What a session has left to be cleared away.
#[derive(Default)]
pub(crate) struct Clearing {
    /// Lanes on which that is under way.
    lanes: u32,
    /// One went before it was told which schema the session is in.
    lost: Option<Box<SqlError>>,
}

impl Proxy {
    /// `COM_RESET_CONNECTION`: the session is as after its login, in the schema that it has.
    pub(crate) fn on_reset(&mut self, id: SessionId) {
        self.clear_all(id, true);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.told_any_change = false;
        session.variable_texts = VariableTexts::default();
        session.serving.next_flag = 0;
        let schema = session.want.schema.take();
        session.want = LinkState { schema, ..session.first.clone() };
        if let Some(collation) = self.offer.collation_after_reset {
            session.want.charset = Charset::Collation(collation);
        }
        session.class = session.caps.intersect(CLASS);
        session.last = LastResults { told: session.auth.told, ..LastResults::default() };
        self.answer_reset(id);
    }

    /// `COM_CHANGE_USER`.
    pub(crate) fn on_change_user_command(&mut self, id: SessionId, payload: &[u8]) {
        self.count(id, true);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.serving.next_flag = 0;
        self.on_change_user(id, payload);
    }

    /// Gives up every lane of a session that goes on; with `stays`, in the schema that it is in.
    pub(crate) fn clear_all(&mut self, id: SessionId, stays: bool) {
        for held in self.take_lanes(id) {
            match self.fate_of(&held, true) {
                Fate::Reset | Fate::Closed if self.is_quiet(held.lane) => {
                    self.clear_lane(id, &held, stays && held.why.intersects(HIDES_SCHEMA));
                }
                fate => self.part_with(held.lane, fate),
            }
            self.hear_without(id, held.lane);
        }
    }

    fn is_quiet(&self, id: LaneId) -> bool {
        self.lanes.get(id).is_some_and(Lane::is_quiet)
    }

    fn clear_lane(&mut self, id: SessionId, held: &Held, asks_schema: bool) {
        let names = match self.fate_of(held, true) {
            Fate::Reset => self.names_after_reset(held.lane),
            _ => None,
        };
        let at_least_us = self.snapshot.vars.connect_timeout_server_ms * 1000;
        self.begin_upkeep(held.lane, at_least_us.max(CLEARING_US));
        let (Some(session), Some(lane)) =
            (self.sessions.get_mut(id), self.lanes.get_mut(held.lane))
        else {
            return self.impossible(());
        };
        lane.lease = Lease::Clearing(id);
        session.clearing.lanes += 1;
        self.send_reset(held.lane);
        if asks_schema {
            self.send_upkeep_text(held.lane, Upkeep::Schema, SCHEMA);
        }
        if let Some(names) = names {
            self.begin_again(held.lane, &names);
        }
    }

    /// A lane was reset, or told its schema: nothing of what its session left is there any more. It
    /// is closed where nothing further was asked of it.
    pub(crate) fn reset_answered(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        if lane.next_owner() == Some(Owner::Upkeep(Upkeep::Schema)) {
            return;
        }
        let (is_over, hostgroup) = (lane.is_quiet(), lane.server.hostgroup);
        if let Lease::Clearing(id) = lane.lease {
            lane.lease = Lease::Upkeep;
            self.cleared(id);
            self.go_on_cleared(id);
        }
        if is_over {
            self.drop_lane(lane_id);
            self.wake_first(hostgroup);
        }
    }

    /// A lane told which schema it is in, and so is its session.
    pub(crate) fn schema_told(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        let answer = std::mem::take(&mut lane.answer);
        let told = value_in(&answer, lane.caps);
        // beyond ASCII it is told in the character set that the lane has now
        if told.is_some_and(|schema| !schema.is_ascii()) {
            return self.reset_answered(lane_id);
        }
        let schema: Option<Arc<[u8]>> = told.filter(|schema| !schema.is_empty()).map(Into::into);
        if let Lease::Clearing(id) = lane.lease
            && let Some(session) = self.sessions.get_mut(id)
        {
            session.want.schema.clone_from(&schema);
        }
        // a lane that is sent back to its own is there behind this answer
        if !lane.is_owed(Owner::Upkeep(Upkeep::SchemaAgain)) {
            lane.state.schema = schema;
        }
        self.reset_answered(lane_id);
    }

    /// A lane is gone. Whoever calls is in the middle of something: its session goes on afterwards.
    pub(crate) fn clearing_lost(&mut self, lane: &Lane) {
        let Lease::Clearing(id) = lane.lease else { return };
        if let Some(session) = self.sessions.get_mut(id)
            && lane.is_owed(Owner::Upkeep(Upkeep::Schema))
        {
            let error = error::lost_connection(&lane.server.to_string(), "in a reset");
            session.clearing.lost = Some(Box::new(error));
        }
        self.cleared(id);
        if self.sessions.get(id).is_some_and(|session| !session.is_being_cleared()) {
            self.wake(id, self.now_us);
        }
    }

    fn cleared(&mut self, id: SessionId) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.clearing.lanes = session.clearing.lanes.saturating_sub(1);
        }
    }

    /// A session goes on that waits for its lanes and for nothing else.
    pub(crate) fn go_on_cleared(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if session.is_being_cleared() || !matches!(session.phase, Phase::Clearing(_)) {
            return;
        }
        let lost = session.clearing.lost.take();
        session.timing.idle_since_us = self.now_us;
        match (std::mem::replace(&mut session.phase, Phase::Idle), lost) {
            (Phase::Clearing(Some(login)), _) => self.accept_login(id, login),
            (_, Some(error)) => {
                self.answer_error(id, &error);
                return self.close_session(id, None);
            }
            (_, None) => self.answer_ok(id),
        }
        // a login that cannot be accepted any more has ended its session
        if self.sessions.get(id).is_some() {
            self.after_command(id);
        }
    }

    /// Answers a reset when everything is cleared away.
    pub(crate) fn answer_reset(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        match session.is_being_cleared() {
            true => session.phase = Phase::Clearing(None),
            false => self.answer_ok(id),
        }
    }

    /// Keeps a login that is accepted until everything is cleared away.
    pub(crate) fn keep_login(&mut self, id: SessionId, login: Box<Login>) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.phase = Phase::Clearing(Some(login));
        }
    }
}

impl Session {
    /// Whether something that it left is being cleared away.
    pub(crate) fn is_being_cleared(&self) -> bool {
        self.clearing.lanes > 0
    }
}
