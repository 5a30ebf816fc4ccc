//! What a login asks a server: whether the schema exists that the client named, or nothing but to
//! be there where none was met yet. A command as any other, with whose outcome the login ends.

use std::sync::Arc;

use wire::command::code;
use wire::frame::HEADER_BYTES;
use wire::result::ReplyKind;

use crate::error::SqlError;
use crate::ids::{LaneId, SessionId};
use crate::proxy::Proxy;
use crate::session::placing::destination::Placing;
use crate::session::replying::reply::error_in;
use crate::session::{Job, Phase, What};
use crate::users::{Account, Credential};

impl Proxy {
    /// Checks at login that the schema the client named exists, if its hostgroup tells within the
    /// time that a connect may take; reads may well go to servers that are better off. Without a
    /// schema, a server is met for what new sessions begin with.
    pub(crate) fn check_schema(&mut self, id: SessionId, schema: Option<&[u8]>, seq: u8) {
        match schema {
            Some(schema) => self.keep_text(id, code::INIT_DB, schema),
            None => self.keep_text(id, code::PING, b""),
        }
        if let Some(session) = self.sessions.get_mut(id) {
            session.auth.end_seq = seq;
        }
        let unrouted = self.unrouted(What::LoginSchema, ReplyKind::Simple);
        let timeout_us = self.patience_us(id, unrouted.what);
        let job = Job { repeatable: true, timeout_us, ..unrouted };
        self.begin(id, job, Placing::of(&job));
    }

    /// The schema exists: the login is complete.
    pub(crate) fn schema_seen(&mut self, id: SessionId, lane_id: LaneId) {
        const SEEN: usize = 256;
        if let Err(error) = self.prove(id, lane_id) {
            return self.refuse_login(id, error);
        }
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        if let Some(schema) = session.want.schema.clone().filter(|_| self.asks_for_schema(id)) {
            if let Some(lane) = self.lanes.get_mut(lane_id) {
                lane.state.schema = Some(schema.clone());
            }
            // one that servers prove is looked for each time
            let is_kept = |account: &&Arc<Account>| account.credential != Credential::AtServers;
            if let Some(account) = session.account.as_ref().filter(is_kept)
                && self.schemas_seen.len() < SEEN
            {
                self.schemas_seen.push((account.name.clone(), schema));
            }
        }
        self.login_unchecked(id);
    }

    /// The schema does not exist: the login fails as it would on the server itself.
    pub(crate) fn schema_missing(&mut self, id: SessionId, lane_id: LaneId, payload: &[u8]) {
        if let Err(error) = self.prove(id, lane_id) {
            return self.refuse_login(id, error);
        }
        if !self.asks_for_schema(id) {
            return self.login_unchecked(id);
        }
        self.refuse_login(id, error_in(payload));
    }

    fn asks_for_schema(&self, id: SessionId) -> bool {
        self.kept(id).get(HEADER_BYTES) == Some(&code::INIT_DB)
    }

    /// A login ends with an error.
    pub(crate) fn refuse_login(&mut self, id: SessionId, error: SqlError) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.phase = Phase::Idle;
        let seq = session.auth.end_seq;
        self.refuse(id, seq, error);
    }

    /// A login is complete, whether or not its schema exists.
    pub(crate) fn login_unchecked(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.phase = Phase::Idle;
        session.timing.idle_since_us = self.now_us;
        let seq = session.auth.end_seq;
        self.drop_kept(id);
        self.let_go_of_empty(id);
        self.note_unmet(id);
        self.welcome(id, seq);
        self.after_command(id);
    }
}
