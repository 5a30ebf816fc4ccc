//! Dials that fail: what that says of the server, and what whoever waits for it does then.

use crate::error::{self, SqlError};
use crate::ids::{LaneId, SessionId};
use crate::lane::Lease;
use crate::orders::{End, Order};
use crate::pool::{self, Need};
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::session::kill::Errand;
use crate::session::{Phase, What};
use crate::topology::{FULL_PAUSE_US, LastFault, ServerRef};

impl Proxy {
    /// A dial failed: its waiter tries elsewhere, or gives up.
    pub(crate) fn fail_dial(
        &mut self,
        lane_id: LaneId,
        fault: LastFault,
        said: Option<SqlError>,
        open: bool,
    ) {
        let Some(lane) = self.end_lane(lane_id) else { return };
        if open {
            self.orders.push(Order::Close(End::Lane(lane_id)));
        }
        let server = lane.server.clone();
        let id = match lane.lease {
            Lease::Dialing(id) => id,
            Lease::Relay(id) => Some(id),
            _ => None,
        };
        match &said {
            Some(said) => {
                let text = said.message.as_bytes();
                self.note_server_error(id, (&server, &lane.account), said.code, text);
            }
            None => {
                let error = error::cannot_connect(&server.to_string(), &fault.to_string());
                let text = error.message.as_bytes();
                self.note_server_error(id, (&server, &lane.account), error.code, text);
            }
        }
        let refused = said.as_ref().filter(|said| is_about_the_session(said.code));
        if let (Some(said), Lease::Dialing(Some(id))) = (refused, lane.lease) {
            return self.refuse_waiting(id, said);
        }
        // a client that leaves meanwhile, or one of a wire of its own, says no more of the server
        if refused.is_none() {
            self.note_fault(&server, fault, said.as_ref());
        }
        if fault.is_account_full() {
            lane.account.note_full(self.now_us.saturating_add(FULL_PAUSE_US));
        }
        match lane.lease {
            Lease::Relay(id) => self.relay_failed(id, &server, said),
            Lease::Dialing(Some(id)) => self.dial_again(id, &server, fault, said),
            Lease::Errand(thread_id) => self.errand_over(server.index, thread_id, Errand::Untold),
            Lease::Dialing(None)
            | Lease::Idle
            | Lease::Exclusive(_)
            | Lease::Shared
            | Lease::Upkeep
            | Lease::Clearing(_) => {}
        }
        // whoever was not let dial because too many did may try
        self.wake_first(server.hostgroup);
    }

    /// The server is fine, but it cannot give the session a connection: the schema is not there, or
    /// not for this account, the character set cannot be had, or the statement for new connections
    /// failed.
    pub(crate) fn refuse_waiting(&mut self, id: SessionId, said: &SqlError) {
        let Some(waiting) = self.stop_waiting(id) else { return };
        if waiting.job.what == What::LoginSchema {
            return self.refuse_login(id, said.clone());
        }
        self.fail_job(id, &waiting.job, said);
    }

    /// A lane that was opened for a session stands. Where it can never serve that one, no other
    /// would, and the session is told instead of dialing for ever.
    pub(crate) fn refuse_misfit(&mut self, id: SessionId, lane_id: LaneId) {
        let Some(session) = self.sessions.get(id) else { return };
        let (Some(account), Some(lane)) = (&session.account, self.lanes.get(lane_id)) else {
            return;
        };
        let need = Need::of(lane.server.hostgroup, account, session.class, &session.want);
        if pool::fits(lane, &need).is_some() {
            return;
        }
        let charset = session.want.charset.name();
        let what = format!("no connection can have what the session has, character set {charset}");
        self.refuse_waiting(id, &error::internal(&what));
    }

    /// Counts a failed connect against its server.
    fn note_fault(&mut self, server: &ServerRef, fault: LastFault, said: Option<&SqlError>) {
        self.stats.lanes_failed += 1;
        if let Some(counters) = self.server_stats.of(server.index) {
            counters.failed += 1;
        }
        let vars = &self.snapshot.vars;
        let limit = vars.shun_on_failures.min(vars.connect_retries_on_failure.saturating_add(1));
        let recovery_us = vars.shun_recovery_time_sec * 1_000_000;
        // a server that waits shunned for longer than queries wait would never be tried again
        let longest_us = (vars.connect_timeout_server_max_ms * 1000).max(1_000_000);
        let recovery_us = recovery_us.min(longest_us);
        let tells = server.gauge.tells(fault, self.now_us);
        let shunned = server.gauge.on_fault(fault, self.now_us, limit, recovery_us);
        if shunned {
            self.stats.shuns += 1;
            let (server, for_ms) = (server.clone(), recovery_us / 1000);
            self.orders.report(LogEvent::Shunned { server, fault, for_ms });
        } else if tells {
            let (server, said) = (server.clone(), said.map(|s| s.message.clone()));
            let said = said.unwrap_or_default();
            self.orders.report(LogEvent::ConnectFailed { server, fault, said });
        }
    }

    fn dial_again(
        &mut self,
        id: SessionId,
        server: &ServerRef,
        fault: LastFault,
        said: Option<SqlError>,
    ) {
        let retries = self.snapshot.vars.connect_retries_on_failure;
        let delay_us = self.snapshot.vars.connect_retries_delay_ms * 1000;
        let Some(session) = self.sessions.get_mut(id) else { return };
        let Phase::Waiting(waiting) = &mut session.phase else { return };
        waiting.dialing = None;
        waiting.said = said.or(waiting.said.take());
        if fault.is_full() {
            // the connections that it has come free
            return self.look_again_later(id);
        }
        waiting.avoid = Some(server.index);
        let (attempts, deadline_us) = (waiting.attempts, waiting.deadline_us);
        let once = waiting.job.what == What::LoginSchema || session.is_mirror();
        if once || attempts > retries {
            return self.time_out(id);
        }
        if fault.is_final() && self.only_server(id, server) {
            return self.time_out(id);
        }
        // longer each time, and not for all who wait at the same moment
        let delay_us = delay_us << attempts.saturating_sub(1).min(BACK_OFF_DOUBLINGS);
        let delay_us = delay_us + self.pool.random() % (delay_us / 2 + 1);
        self.wake(id, deadline_us.min(self.now_us + delay_us));
    }

    /// Whether no other server of the hostgroup could do better.
    fn only_server(&self, id: SessionId, failed: &ServerRef) -> bool {
        let Some(session) = self.sessions.get(id) else { return true };
        let Phase::Waiting(waiting) = &session.phase else { return true };
        self.snapshot
            .topology
            .hostgroup(waiting.job.hostgroup)
            .iter()
            .all(|server| server.index == failed.index || server.gauge.last_fault().is_final())
    }
}

/// How often the pause between attempts to connect is doubled.
const BACK_OFF_DOUBLINGS: u32 = 6;

/// Errors of a login that name what the session asks for, its schema or its character set, not the
/// account or the server.
pub(crate) fn is_about_the_session(code: u16) -> bool {
    matches!(code, 1044 | 1049 | 1115 | 1231 | 1273)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wire::result::ReplyKind;

    use super::*;
    use crate::ids::ConnectionId;
    use crate::link::Charset;
    use crate::proxy::{Arrival, Offer};
    use crate::rows::{ServerRow, UserRow};
    use crate::snapshot::{Draft, Snapshot};

    fn proxy() -> Proxy {
        let server = ServerRow { hostname: "127.0.0.1".into(), ..ServerRow::default() };
        let user = UserRow { username: "app".into(), ..UserRow::default() };
        let draft = Draft { servers: vec![server], users: vec![user], ..Draft::default() };
        let key = wire::auth::rsa::ServerKey::generate().expect("a key can be made");
        let offer = Offer::new(b"8.0.11", wire::Caps::PROTOCOL_41, key);
        let snapshot = Snapshot::compile(&draft).expect("valid");
        Proxy::new(Arc::new(snapshot), Arc::new(offer), 1, [0; 32])
    }

    fn arrival() -> Arrival {
        Arrival {
            client: "127.0.0.1".into(),
            client_port: 40_000,
            local: false,
            proxy: ("127.0.0.1".into(), 6033),
            connection: ConnectionId(7),
            random: *b"abcdefghijklmnopqrst",
            admitted: true,
            failed_logins: 0,
        }
    }

    #[test]
    fn a_session_that_no_connection_suits_is_told_so_instead_of_dialing_for_ever() {
        for (id, is_served) in [(1, true), (608, true), (9999, false)] {
            let charset = Charset::Collation(id);
            let mut proxy = proxy();
            let id = proxy.on_accepted(arrival());
            let account = proxy.snapshot.users.find(b"app").cloned();
            let session = proxy.sessions.get_mut(id).expect("it came");
            (session.account, session.phase) = (account, Phase::Idle);
            session.want.charset = charset;
            let job = proxy.unrouted(What::Schema, ReplyKind::Simple);
            proxy.check_out(id, job, None);
            let (lane, _) = proxy.lanes.iter().next().expect("one is dialed");
            proxy.lanes.get_mut(lane).expect("it is there").login = None;
            proxy.lane_opened(lane);
            assert_eq!(proxy.lanes.iter().count(), 1, "no other one is");
            let session = proxy.sessions.get(id).expect("it stays");
            assert_eq!(!matches!(session.phase, Phase::Idle), is_served, "{charset:?}");
        }
    }
}
