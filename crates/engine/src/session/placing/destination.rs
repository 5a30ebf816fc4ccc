//! Where a statement goes: the lane the session is tied to, or a hostgroup.
//!
//! One function decides it, for text and prepared statements alike; which lane of a hostgroup is
//! the pool's choice.

use sql::{Digester, Effects};

use crate::error::SqlError;
use crate::holds::Holds;
use crate::ids::{ClientStmtId, HostgroupId, LaneId, SessionId};
use crate::link::LinkState;
use crate::proxy::Proxy;
use crate::route::{Conduct, Query, QueryProcessor, Route};
use crate::session::placing::transactions;
use crate::session::prepared::handles::Routed;
use crate::session::replying::query_end;
use crate::session::{Job, Session, What};
use crate::snapshot::Snapshot;
use crate::stmt::Text;
use crate::topology::ServerRef;

/// Where a statement goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// To this lane, which the session holds.
    Lane(LaneId),
    /// To any lane of this hostgroup.
    Hostgroup(HostgroupId),
}

/// What placing a statement looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placing {
    /// What it does.
    pub conduct: Conduct,
    /// What the rules say.
    pub destination: Option<HostgroupId>,
    /// A connection is made for it unless the session is tied to one.
    pub fresh: bool,
}

impl Placing {
    /// For a job that does nothing to data.
    pub(crate) fn of(job: &Job) -> Self {
        let conduct = Conduct::of_session(job.effects, job.holds);
        Self { conduct, destination: None, fresh: job.fresh }
    }
}

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

    /// Where a statement goes that the session's writes must be able to follow, or that has some
    /// in it: to where the rules send writes.
    pub(crate) fn with_its_writes(&mut self, id: SessionId, what: What, placing: &mut Placing) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if session.stays_parted {
            session.stays_parted = session.in_transaction();
        }
        let persistent = session.account.is_some() && !session.is_parted();
        let opens = persistent && !session.want.autocommit;
        if !placing.conduct.goes_with_writes(placing.destination, opens) {
            return;
        }
        let stays = match persistent {
            true => Holds::PINNING.union(Holds::TRANSACTION),
            false => Holds::PINNING,
        };
        // on the lane that the session is tied to, it is refused if it changes what is elsewhere
        if session.held_for(stays).is_none() || placing.conduct.hides_changes() {
            let executed = match what {
                What::Execute(stmt) => session.handle(stmt),
                _ => None,
            };
            let query = match executed {
                Some(handle) => query_of_execution(session, &handle.text),
                None => query_of(session, &session.want, &[]),
            };
            placing.destination = self.processor.destination_of_writes(&self.snapshot, &query);
        }
    }

    /// Why a statement cannot run on the lane that its session is tied to: it may change data, and
    /// is meant for a hostgroup that the lane's server is not in.
    pub(crate) fn conflict(
        &self,
        id: SessionId,
        (job, placing): (&Job, &Placing),
        place: Place,
    ) -> Option<SqlError> {
        let Place::Lane(lane) = place else { return None };
        if !placing.conduct.changes() {
            return None;
        }
        let session = self.sessions.get(id)?;
        if session.drops_its_own(job) {
            return None;
        }
        if let Some(error) = session.parted_from(lane) {
            return Some(error);
        }
        let locks = self.snapshot.vars.set_query_lock_on_hostgroup != 0;
        let held = match session.held_for(Holds::PINNING).filter(|held| held.lane == lane) {
            Some(pinned) => Some(pinned).filter(|_| locks),
            None => session.parted_transaction(),
        }?;
        let account = session.account.as_ref()?;
        let wanted = placing.destination.unwrap_or(account.default_hostgroup);
        let server = &self.lanes.get(lane)?.server;
        let is_same =
            |other: &ServerRef| (&other.hostname, other.port) == (&server.hostname, server.port);
        if wanted == held.hostgroup || self.snapshot.topology.hostgroup(wanted).iter().any(is_same)
        {
            return None;
        }
        Some(transactions::locked(held, wanted))
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

/// Decides where a statement of a session goes.
pub(crate) fn place(session: &Session, placing: &Placing) -> Place {
    let Some(account) = &session.account else { return Place::Hostgroup(HostgroupId(0)) };
    if placing.conduct.effects.intersects(transactions::ENDS)
        && let Some(held) = session.parted_transaction()
    {
        return Place::Lane(held.lane);
    }
    if let Some(held) = session.held_for(Holds::PINNING) {
        return Place::Lane(held.lane);
    }
    let about_the_last = [
        (Effects::SHOW_WARNINGS, Holds::WARNINGS),
        (Effects::READS_FOUND_ROWS, Holds::FOUND_ROWS),
        (MAY_READ_INSERT_ID, Holds::LAST_INSERT_ID),
    ];
    for (effect, hold) in about_the_last {
        if placing.conduct.effects.intersects(effect)
            && placing.conduct.may_follow()
            && let Some(held) = session.held_for(hold)
        {
            return Place::Lane(held.lane);
        }
    }
    if let Some(held) = session.transaction()
        && (!session.is_parted() || transactions::is_part(session, held, &placing.conduct))
    {
        return Place::Lane(held.lane);
    }
    let hostgroup = placing.destination.unwrap_or(account.default_hostgroup);
    if placing.fresh {
        return Place::Hostgroup(hostgroup);
    }
    match session.held_in(hostgroup) {
        Some(lane) => Place::Lane(lane),
        None => Place::Hostgroup(hostgroup),
    }
}

/// Whether a command runs right only where the session's last insert id is set.
pub(crate) fn needs_insert_id(effects: Effects, holds: Holds) -> bool {
    effects.intersects(MAY_READ_INSERT_ID) || holds.intersects(Holds::LAST_INSERT_ID)
}

/// May read the last insert id, in sight or not, or leave it as it was.
const MAY_READ_INSERT_ID: Effects = Effects::READS_LAST_INSERT_ID
    .union(Effects::SETS_LAST_INSERT_ID)
    .union(Effects::CALLS_PROCEDURE)
    .union(Effects::UNCLEAR)
    .union(Effects::TEXT_PREPARE)
    .union(Effects::TEXT_EXECUTE);
