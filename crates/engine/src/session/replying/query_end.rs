//! A query from its route to its end, for the statistics: what is known about it at the beginning
//! waits here until it is told how it ended.

use std::sync::Arc;

use sql::{CommandClass, Digest};

use crate::ids::{HostgroupId, LaneId, SessionId};
use crate::proxy::Proxy;
use crate::route::Route;
use crate::stats::{ErrorSource, QueryEnd};
use crate::topology::Server;
use crate::users::Account;

/// What is known of a query when it begins.
#[derive(Clone, Default, Debug)]
pub(crate) struct QueryStart {
    /// It has not ended.
    open: bool,
    since_us: u64,
    digest: Option<u64>,
    digest_text: Vec<u8>,
    schema: Option<Arc<[u8]>>,
    class: Option<CommandClass>,
    /// It is only prepared, in that hostgroup: the time it takes says nothing of how long it runs.
    prepared_in: Option<HostgroupId>,
}

impl QueryStart {
    /// Its digest and the text of that, where they were computed.
    pub(crate) fn digest_and_text(&self) -> (u64, &[u8]) {
        (self.digest.unwrap_or_default(), &self.digest_text)
    }

    /// Its digest, while it runs and has not ended.
    pub(crate) fn digest(&self) -> Option<u64> {
        self.digest.filter(|_| self.open && self.prepared_in.is_none())
    }
}

/// What a query came to.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct QueryRows {
    pub affected: u64,
    pub sent: u64,
    pub warnings: u16,
}

impl QueryStart {
    /// When the query began that has not ended.
    pub(crate) fn since_us(&self) -> Option<u64> {
        self.open.then_some(self.since_us)
    }

    /// Notes what kind of statement it is.
    pub(crate) fn set_class(&mut self, class: CommandClass) {
        self.class = Some(class);
    }
}

/// A copy of the text of a digest, in a buffer of those that were given back.
pub(crate) fn copy_of(spare: &mut Vec<Vec<u8>>, digest: Option<Digest<'_>>) -> Vec<u8> {
    let Some(digest) = digest else { return Vec::new() };
    let mut copy = spare.pop().unwrap_or_default();
    copy.clear();
    copy.extend_from_slice(digest.text);
    copy
}

impl Proxy {
    /// Notes what the statistics will be told about the query that was just routed.
    pub(crate) fn note_asked(&mut self, id: SessionId, route: &Route, digest_text: Vec<u8>) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.serving.asked = QueryStart {
            open: true,
            since_us: self.now_us,
            digest: route.digest,
            digest_text,
            schema: session.want.schema.clone(),
            class: None,
            prepared_in: None,
        };
    }

    /// Notes what kind of statement it is.
    pub(crate) fn note_class(&mut self, id: SessionId, class: CommandClass) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.serving.asked.set_class(class);
        }
    }

    /// What was just routed is only prepared.
    pub(crate) fn note_prepare(&mut self, id: SessionId, route: &Route) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(account) = &session.account else { return };
        let hostgroup = route.destination.unwrap_or(account.default_hostgroup);
        session.serving.asked.prepared_in = Some(hostgroup);
    }

    /// The statistics are not told about this one.
    pub(crate) fn forget_asked(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let asked = std::mem::take(&mut session.serving.asked);
        self.spare_digest(asked.digest_text);
    }

    /// Tells the statistics that the query of a session has ended, and where it ran.
    pub(crate) fn tell_end(
        &mut self,
        id: SessionId,
        ran_on: Option<(HostgroupId, LaneId)>,
        rows: QueryRows,
    ) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if !session.serving.asked.open {
            return;
        }
        let asked = std::mem::take(&mut session.serving.asked);
        let end = QueryEnd {
            hostgroup: ran_on.map(|(hostgroup, _)| hostgroup).or(asked.prepared_in),
            user: session.user().as_bytes(),
            schema: asked.schema.as_deref().unwrap_or_default(),
            client: session.client.addr.as_bytes(),
            digest: asked.digest,
            digest_text: &asked.digest_text,
            class: asked.class,
            elapsed_us: self.now_us.saturating_sub(asked.since_us),
            rows_affected: rows.affected,
            rows_sent: rows.sent,
        };
        let vars = &self.snapshot.vars;
        self.stats.slow += u64::from(end.elapsed_us > vars.long_query_time_ms * 1000);
        self.query_stats.record(vars, self.now_us, &end);
        if let Some((_, lane)) = ran_on
            && let Some(lane) = self.lanes.get(lane)
        {
            if vars.stats_time_backend_query {
                self.stats.backend_time_us += end.elapsed_us;
            }
            if let (true, Some(class)) = (vars.commands_stats, end.class)
                && let Some(counters) = self.server_stats.of(lane.server.index)
            {
                counters.record(class, end.elapsed_us);
            }
        }
        self.spare_digest(asked.digest_text);
    }

    /// Counts an error of a server, in the session of a client if it is about one.
    pub(crate) fn note_server_error(
        &mut self,
        id: Option<SessionId>,
        (server, account): (&Server, &Account),
        code: u16,
        message: &[u8],
    ) {
        let session = id.and_then(|id| self.sessions.get(id));
        let from = ErrorSource {
            server,
            user: account.name.as_bytes(),
            client: session.map_or(b"", |session| session.client.addr.as_bytes()),
            schema: session.and_then(|session| session.want.schema.as_deref()).unwrap_or_default(),
        };
        self.query_stats.errors.record(self.now_us, &from, code, message);
    }

    /// Counts an error that came over a lane.
    pub(crate) fn note_lane_error(&mut self, id: SessionId, lane: LaneId, code: u16, text: &[u8]) {
        let Some(lane) = self.lanes.get_mut(lane) else { return self.impossible(()) };
        lane.marks.warned_by = Some(id);
        let (server, account) = (lane.server.clone(), lane.account.clone());
        self.note_server_error(Some(id), (&server, &account), code, text);
    }

    /// Keeps a buffer for the next digest.
    fn spare_digest(&mut self, buffer: Vec<u8>) {
        const SPARE_DIGESTS: usize = 1024;
        if buffer.capacity() > 0 && self.spare_digests.len() < SPARE_DIGESTS {
            self.spare_digests.push(buffer);
        }
    }

    /// Counts a command that was answered, with an error or not.
    pub(crate) fn count(&mut self, id: SessionId, is_ok: bool) {
        let is_mirror = self.sessions.get(id).is_some_and(|session| session.is_mirror());
        self.count_end(is_mirror, is_ok);
    }

    /// The same where it is known whether the command was a copy.
    pub(crate) fn count_end(&mut self, is_mirror: bool, is_ok: bool) {
        match (is_mirror, is_ok) {
            (false, true) => self.stats.ok += 1,
            (false, false) => self.stats.err += 1,
            (true, false) => self.stats.mirrors_failed += 1,
            (true, true) => {}
        }
    }
}
