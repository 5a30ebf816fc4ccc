//! Sessions that are relayed byte by byte: a lane of their own, opened at the login of a
//! fast-forward user. The bytes then go by without being parsed.

use wire::Status;

use crate::error::{self, SqlError};
use crate::ids::{HostgroupId, LaneId, SessionId};
use crate::lane::{Lane, Lease, Owed};
use crate::pool::{Checkout, Choice, Need};
use crate::proxy::Proxy;
use crate::server_error::Meaning;
use crate::session::{Phase, What};
use crate::topology::ServerRef;

/// How long a session that is to relay pauses before it asks again for leave to dial, and up to
/// twice as long.
const DIAL_AGAIN_US: u64 = 20_000;

/// How a session that is to be relayed has tried to get its lane.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tries {
    /// Dials that failed.
    failed: u32,
    /// The server that failed last.
    avoid: Option<usize>,
}

/// Where a connection can be opened that a session has to itself.
enum Opening {
    /// To this server.
    At(ServerRef),
    /// Nowhere at this moment: there are as many, or as many are being opened, as may be, or the
    /// hostgroup is closed.
    Later,
    /// Nowhere.
    Nowhere,
}

impl Proxy {
    /// Dials the lane that a fast-forward session relays on; the login is answered when it stands.
    pub(crate) fn begin_relay(&mut self, id: SessionId, seq: u8) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let Some(account) = session.account.clone() else { return self.impossible(()) };
        let hostgroup = account.default_hostgroup;
        let until_us =
            session.timing.idle_since_us.saturating_add(self.patience_us(id, What::Plain));
        match self.checkout_new(id, hostgroup) {
            Opening::At(server) => {
                let lane = self.dial(id, server, Lease::Relay(id));
                if let (Some(session), Some(lane)) = (self.sessions.get_mut(id), lane) {
                    session.phase = Phase::Dialing { lane: Some(lane) };
                    session.auth.end_seq = seq;
                }
            }
            Opening::Later if self.now_us < until_us => {
                if let Some(session) = self.sessions.get_mut(id) {
                    session.phase = Phase::Dialing { lane: None };
                    session.auth.end_seq = seq;
                }
                let pause_us = DIAL_AGAIN_US + self.pool.random() % DIAL_AGAIN_US;
                self.wake(id, self.now_us + pause_us);
            }
            opening => {
                let why = self.explain_servers(id, hostgroup);
                let waited_ms = self.patience_us(id, What::Plain) / 1000;
                let error = match opening {
                    Opening::Later => error::connect_timeout(hostgroup, waited_ms, &why),
                    _ => error::no_server(hostgroup, &why),
                };
                self.refuse(id, seq, error);
            }
        }
    }

    /// A server to open a new connection to; its permit is taken.
    fn checkout_new(&mut self, id: SessionId, hostgroup: HostgroupId) -> Opening {
        if self.is_closed(hostgroup) {
            return Opening::Later;
        }
        let Some(session) = self.sessions.get(id) else { return self.impossible(Opening::Nowhere) };
        let Some(any) = self.need_of(session, hostgroup) else { return Opening::Nowhere };
        let avoid = session.relay.avoid;
        let limits = self.dial_limits(any.account, hostgroup);
        let backends_max = self.snapshot.backends_max(any.account);
        let choice = Choice::of(&self.snapshot, hostgroup, &self.server_stats);
        let need = Need { avoid, limits, backends_max, choice: choice.as_ref(), ..any };
        let found = self.pool.checkout(&need, &self.snapshot.topology, &self.lanes, self.now_us);
        let delayed = self.pool.take_delayed();
        self.stats.dials_delayed += delayed;
        self.stats.checkouts_quick += self.pool.take_preferred();
        let lane_id = match self.settled(id, hostgroup, found) {
            Checkout::Dial(server) => return Opening::At(server),
            Checkout::Lane(lane) | Checkout::Replace(lane, _) => lane,
            Checkout::Wait => return Opening::Later,
            Checkout::Held(_) | Checkout::Shared(_) | Checkout::Probe(_) | Checkout::Refuse => {
                return Opening::Nowhere;
            }
        };
        // a pooled lane has a history: it stays there, or makes room for a fresh one
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(Opening::Nowhere) };
        let server = lane.server.clone();
        if self.take_permits(id, &server) {
            self.pool.put_idle(&server, lane_id);
            return Opening::At(server);
        }
        self.close_lane(lane_id);
        match self.take_permits(id, &server) {
            true => Opening::At(server),
            false => Opening::Nowhere,
        }
    }

    /// The lane of a fast-forward session stands.
    pub(crate) fn relay_ready(&mut self, id: SessionId, lane: LaneId) {
        let status = self.lanes.get(lane).map_or(Status::AUTOCOMMIT, |lane| lane.status);
        let Some(session) = self.sessions.get_mut(id) else { return self.close_lane(lane) };
        session.phase = Phase::Relaying(lane);
        session.last.told = status;
        session.want.autocommit = status.contains(Status::AUTOCOMMIT);
        let (seq, info) = (session.auth.end_seq, std::mem::take(&mut session.auth.info));
        self.drop_kept(id);
        let place = self.told_place(id, lane);
        self.send_ok_telling(id, seq, &info, &place);
        self.begin_compression(id);
        self.resume_input(id);
    }

    /// Passes on what the client of a fast-forward session sent, behind so many bytes that were
    /// taken before.
    pub(crate) fn relay_unread(&mut self, lane_id: LaneId, taken: usize, bytes: &[u8]) -> usize {
        if let Some(lane) = self.lanes.get_mut(lane_id) {
            lane.marks.owed = lane.marks.owed.after_client(bytes);
        }
        self.relay_to_lane(lane_id, taken..taken + bytes.len());
        bytes.len()
    }

    /// Kills, on its server, what a fast-forward session has under way: a server that works does
    /// not notice that its connection was closed.
    pub(crate) fn kill_relayed(&mut self, id: SessionId) {
        let Some(Phase::Relaying(lane_id)) = self.sessions.get(id).map(|session| &session.phase)
        else {
            return;
        };
        let lane_id = *lane_id;
        let owes = |lane: &Lane| lane.marks.owed != Owed::Nothing;
        if self.lanes.get(lane_id).is_some_and(owes) {
            self.order_kill(lane_id);
        }
    }

    /// The lane of a fast-forward session could not be opened.
    pub(crate) fn relay_failed(
        &mut self,
        id: SessionId,
        server: &ServerRef,
        said: Option<SqlError>,
    ) {
        const ATTEMPTS: u32 = 3;
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.relay.avoid = Some(server.index);
        session.relay.failed += 1;
        let again = session.relay.failed < ATTEMPTS && said.is_none();
        let (seq, hostgroup) = (session.auth.end_seq, server.hostgroup);
        if again && self.snapshot.topology.hostgroup(hostgroup).len() > 1 {
            return self.begin_relay(id, seq);
        }
        let error = match said {
            Some(said) if Meaning::of(said.code).is(Meaning::OF_SESSION) => said,
            said => {
                let why = error::with_answer(self.explain_servers(id, hostgroup), said.as_ref());
                error::no_server(hostgroup, &why)
            }
        };
        self.refuse_login(id, error);
    }
}
