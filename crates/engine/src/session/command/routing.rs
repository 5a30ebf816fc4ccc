//! What the rules say of a command: of a text, and of the execution of a prepared statement.

use sql::Digester;

use crate::holds::Holds;
use crate::ids::{ClientStmtId, HostgroupId, SessionId};
use crate::link::LinkState;
use crate::proxy::Proxy;
use crate::route::{Query, QueryProcessor, Route};
use crate::session::prepared::handles::Routed;
use crate::session::replying::query_end;
use crate::session::{Session, What};
use crate::snapshot::Snapshot;
use crate::stmt::Text;

impl Proxy {
    /// Decides about a text that a session sends.
    pub(crate) fn route(&mut self, id: SessionId, text: &[u8]) -> Route {
        let Some(session) = self.sessions.get(id) else { return self.impossible(Route::default()) };
        let query = query_of(session, &session.want, text);
        let route = match query.modes.high_bytes.are_paired() {
            true => route_wide(&mut self.processor, &self.snapshot, &query),
            false => self.processor.route(&self.snapshot, &query),
        };
        let digest = query_end::copy_of(&mut self.spare_digests, self.processor.digest());
        self.routed(id, &route, digest);
        route
    }

    /// Decides about an execution of a prepared statement.
    #[inline]
    pub(crate) fn route_execute(&mut self, id: SessionId, stmt: ClientStmtId) -> Route {
        let Some(session) = self.sessions.get(id) else { return self.impossible(Route::default()) };
        let Some(handle) = session.handle(stmt) else { return Route::default() };
        let schema = handle.text.schema(&session.want);
        let flag_in = session.serving.next_flag;
        let decided = match &handle.routed {
            Routed::So(decision) => self.processor.decided(decision, schema, flag_in),
            Routed::Never | Routed::Once => None,
        };
        let Some(route) = decided else { return self.decide_execute(id, stmt) };
        let digest = handle.text.digest().filter(|_| route.digest.is_some());
        let digest = query_end::copy_of(&mut self.spare_digests, digest);
        self.routed(id, &route, digest);
        route
    }

    /// The same for one of which nothing is remembered that stands.
    #[inline(never)]
    fn decide_execute(&mut self, id: SessionId, stmt: ClientStmtId) -> Route {
        let Some(session) = self.sessions.get(id) else { return self.impossible(Route::default()) };
        let Some(handle) = session.handle(stmt) else { return Route::default() };
        let schema = handle.text.schema(&session.want);
        let query = query_of_execution(session, &handle.text);
        let (route, routed) = match handle.routed {
            // most statements of some clients are executed once
            Routed::Never => (self.processor.route(&self.snapshot, &query), Routed::Once),
            Routed::Once | Routed::So(_) => {
                let (route, decision) = self.processor.decide(&self.snapshot, &query, schema);
                (route, decision.map_or(Routed::Once, Routed::So))
            }
        };
        let digest = query_end::copy_of(&mut self.spare_digests, self.processor.digest());
        let session = self.sessions.get_mut(id);
        if let Some(handle) = session.and_then(|session| session.handle_mut(stmt)) {
            handle.routed = routed;
        }
        self.routed(id, &route, digest);
        route
    }

    /// Where the rules send the writes of a session.
    pub(crate) fn destination_of_writes(
        &mut self,
        id: SessionId,
        what: What,
    ) -> Option<HostgroupId> {
        let session = self.sessions.get(id)?;
        let executed = match what {
            What::Execute(stmt) => session.handle(stmt),
            _ => None,
        };
        let query = match executed {
            Some(handle) => query_of_execution(session, &handle.text),
            None => query_of(session, &session.want, &[]),
        };
        self.processor.destination_of_writes(&self.snapshot, &query)
    }

    fn routed(&mut self, id: SessionId, route: &Route, digest: Vec<u8>) {
        if let (Some(flag), Some(session)) = (route.next_query_flag_in, self.sessions.get_mut(id)) {
            session.serving.next_flag = flag;
        }
        self.note_asked(id, route, digest);
    }

    /// The text of the query that was just routed, where rules rewrote it.
    pub(crate) fn take_rewritten(&mut self, route: &Route) -> Option<Vec<u8>> {
        if !route.rewritten {
            return None;
        }
        let mut text = self.blank_buffer();
        text.extend_from_slice(self.processor.rewritten());
        Some(text)
    }

    /// Whether a text that rules made is longer than a client could have sent.
    pub(crate) fn is_too_long(&self, text: &[u8]) -> bool {
        text.len() >= self.snapshot.vars.max_allowed_packet as usize
    }
}

/// Decides about a text with characters that may have signs in them: digests are made byte by byte.
#[cold]
fn route_wide(processor: &mut QueryProcessor, snapshot: &Snapshot, query: &Query<'_>) -> Route {
    let vars = &snapshot.vars;
    let read = match vars.query_digests {
        true => sql::without_halves(query.text, query.modes),
        false => None,
    };
    let mut digester = read.as_ref().map(|_| Digester::new());
    let digest = match (&read, &mut digester) {
        (Some(read), Some(digester)) => Some(digester.digest(read, &vars.digest_options())),
        _ => None,
    };
    processor.route(snapshot, &Query { digest, ..*query })
}

/// A query of a session with this text, on a connection in this state; in line, since it is made
/// for each statement.
#[inline(always)]
fn query_of<'a>(session: &'a Session, state: &'a LinkState, text: &'a [u8]) -> Query<'a> {
    Query {
        username: session.user().as_bytes(),
        schemaname: state.schema.as_deref().unwrap_or_default(),
        client_addr: session.client.addr.as_bytes(),
        proxy_addr: session.client.proxy.0.as_bytes(),
        proxy_port: session.client.proxy.1,
        server_name: session.client.server_name(),
        flag_in: session.serving.next_flag,
        text,
        digest: None,
        execute: false,
        annotations: !session.is_mirror()
            && session.account.as_ref().is_none_or(|account| account.annotations),
        modes: state.modes(),
        modes_known: session.held_for(Holds::UNTOLD_SETTINGS).is_none(),
    }
}

/// The query that an execution is. Servers run it with the schema and in the modes that it was
/// prepared with; one that prepares it anew may read it in the character set of now.
fn query_of_execution<'a>(session: &'a Session, text: &'a Text) -> Query<'a> {
    let query = query_of(session, &text.state, &text.text);
    let same_charset = query.modes.high_bytes == session.want.modes().high_bytes;
    Query {
        schemaname: text.schema(&session.want).map_or(&[][..], |schema| schema),
        digest: text.digest(),
        execute: true,
        modes_known: query.modes_known && text.modes_known && same_charset,
        ..query
    }
}
