//! Dials that fail: what that says of the server, and what the session that waits for it does then.

use crate::error::{self, SqlError};
use crate::ids::{LaneId, SessionId};
use crate::lane::{Lane, Lease};
use crate::orders::{End, Order};
use crate::pool;
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::server_error::Meaning;
use crate::session::running::kill::Errand;
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
        if self.leave_place(lane_id, fault, said.as_ref(), open) {
            return;
        }
        let Some(lane) = self.end_lane(lane_id) else { return self.impossible(()) };
        if open {
            self.orders.push(Order::Close(End::Lane(lane_id)));
        }
        let server = lane.server.clone();
        let id = match lane.lease {
            Lease::Dialing(id) => id,
            Lease::Relay(id) => Some(id),
            _ => None,
        };
        let error = said
            .clone()
            .unwrap_or_else(|| error::cannot_connect(&server.to_string(), &fault.to_string()));
        self.note_server_error(id, (&server, &lane.account), error.code, error.message.as_bytes());
        let refused = match is_of_stranger(&lane, fault) {
            true => Some(&error),
            false => said.as_ref().filter(|said| is_about_session(said, &lane)),
        };
        if refused.is_none() {
            self.stats.lanes_failed += 1;
            if let Some(counters) = self.server_stats.of(server.index) {
                counters.failed += 1;
            }
        }
        // a client that leaves meanwhile, or one of a wire of its own, says no more of the server
        match refused {
            // what happens elsewhere says nothing of the server
            _ if lane.via.is_some() => {}
            Some(_) => self.note_reached(&server),
            None => self.note_fault(&server, fault, said.as_ref()),
        }
        if let (Some(said), Lease::Dialing(Some(id))) = (refused, lane.lease) {
            self.dues.room(server.hostgroup);
            return self.with(End::Client(id), |proxy| proxy.refuse_waiting(id, said));
        }
        if fault.is_account_full() {
            let until_us = self.now_us.saturating_add(FULL_PAUSE_US);
            lane.account.backends.note_full(server.index, until_us);
        }
        match lane.lease {
            Lease::Relay(id) => {
                self.with(End::Client(id), |proxy| proxy.relay_failed(id, &server, said));
            }
            Lease::Dialing(Some(id)) => {
                self.with(End::Client(id), |proxy| proxy.dial_again(id, &server, fault, said));
            }
            Lease::Errand(thread_id) => {
                self.errand_over(lane.spot(), thread_id, Errand::Untold);
            }
            Lease::Dialing(None)
            | Lease::Idle
            | Lease::Exclusive(_)
            | Lease::Shared
            | Lease::Freed
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
        let Some(job) = self.stop_waiting(id) else { return self.impossible(()) };
        if job.what == What::LoginSchema {
            return match self.is_unproved(id) {
                true => self.refuse_unproved(id, said),
                false => self.refuse_login(id, said.clone()),
            };
        }
        self.fail_refused(id, &job, said);
    }

    /// A lane that was opened for a session stands. Where it can never serve that one, no other
    /// would, and the session is told instead of dialing for ever.
    pub(crate) fn refuse_misfit(&mut self, id: SessionId, lane_id: LaneId) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let Some(lane) = self.lanes.get(lane_id) else { return };
        let Some(need) = self.need_of(session, lane.server.hostgroup) else { return };
        // what it was opened as may be another thing since: then another one would
        if !pool::is_opened_as(lane, &need) || pool::fits(lane, &need).is_some() {
            return;
        }
        let charset = session.want.charset.name();
        let what = format!("no connection can have what the session has, character set {charset}");
        self.refuse_waiting(id, &error::internal(&what));
    }

    /// A failed connect speaks against its server.
    fn note_fault(&mut self, server: &ServerRef, fault: LastFault, said: Option<&SqlError>) {
        let vars = &self.snapshot.vars;
        let limit = vars.shun_on_failures;
        let recovery_us = vars.shun_recovery_time_sec * 1_000_000;
        // no longer than queries wait
        let longest_us = (vars.connect_timeout_server_max_ms * 1000).max(1_000_000);
        let recovery_us = recovery_us.min(longest_us);
        if fault.is_answer() {
            self.note_reached(server);
        }
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

    /// A server has let us in.
    pub(crate) fn note_success(&mut self, server: ServerRef) {
        if server.gauge.on_success() {
            self.orders.report(LogEvent::ServesAgain { server });
        }
    }

    /// A server has answered, though it gave no connection.
    fn note_reached(&mut self, server: &ServerRef) {
        if server.gauge.end_shun() {
            self.orders.report(LogEvent::ServesAgain { server: server.clone() });
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
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Phase::Waiting(waiting) = &mut session.phase else { return self.impossible(()) };
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
            return self.wait_no_longer(id);
        }
        if fault.is_final() && self.only_server(id, server) {
            return self.wait_no_longer(id);
        }
        let pause_us = pause_us(delay_us, attempts, self.pool.random());
        let until_us = self.now_us.saturating_add(pause_us);
        if let Some(Phase::Waiting(waiting)) = self.sessions.get_mut(id).map(|it| &mut it.phase) {
            waiting.paused_until_us = until_us;
        }
        self.wake(id, deadline_us.min(until_us));
    }

    /// Whether no other server of the hostgroup could do better.
    fn only_server(&self, id: SessionId, failed: &ServerRef) -> bool {
        let Some(session) = self.sessions.get(id) else { return self.impossible(true) };
        let Phase::Waiting(waiting) = &session.phase else { return true };
        self.snapshot
            .topology
            .hostgroup(waiting.job.hostgroup)
            .iter()
            .all(|server| server.index == failed.index || server.gauge.last_fault().is_final())
    }
}

/// Whether a server that spoke was shown what nobody has proved: whatever comes of that says
/// something of whoever logs in, and nothing of the server. Where the account is full, an idle
/// connection of its own may make room.
fn is_of_stranger(lane: &Lane, fault: LastFault) -> bool {
    let has_spoken = lane.login.as_ref().is_none_or(|login| login.has_heard());
    lane.account.unproved != 0 && has_spoken && !fault.is_account_full()
}

/// Whether a server refuses what the session asks for, or the address that it was told of. MariaDB
/// says so by the same number where it is the proxy from which it takes no header.
fn is_about_session(said: &SqlError, lane: &Lane) -> bool {
    let meaning = Meaning::of(said.code);
    let is_told = lane.presented.is_some() && !said.message.starts_with("Proxy header");
    meaning.is(Meaning::OF_SESSION) || is_told && meaning.is(Meaning::OF_ADDRESS)
}

/// How long it takes from a failed attempt to connect to the next one, after so many: where the
/// configured pause is short, longer each time, and not for all who wait at the same moment.
fn pause_us(delay_us: u64, attempts: u32, random: u64) -> u64 {
    let doubled_us = delay_us << attempts.saturating_sub(1).min(BACK_OFF_DOUBLINGS);
    let longer_us = doubled_us.min(BACK_OFF_MAX_US);
    delay_us.max(longer_us) + random % (longer_us / 2 + 1)
}

/// How often the pause between attempts to connect is doubled.
const BACK_OFF_DOUBLINGS: u32 = 6;

/// The longest pause that doubling leads to.
const BACK_OFF_MAX_US: u64 = 64_000;

#[cfg(test)]
pub(crate) mod tests;
