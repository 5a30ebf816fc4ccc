//! The login of a lane at its server, from the greeting on.

use wire::Status;
use wire::connect::Compression;
use wire::frame::{self, Framed};

use crate::backend::LoginStep;
use crate::error::{self, SqlError};
use crate::ids::LaneId;
use crate::lane::{Lease, Upkeep};
use crate::orders::{End, Order};
use crate::proxy::Proxy;
use crate::server_error::Meaning;
use crate::session::maintenance::defaults::QUESTION;
use crate::topology::LastFault;

impl Proxy {
    /// Bytes of a login; returns how many were taken.
    pub(crate) fn on_login_bytes(&mut self, id: LaneId, bytes: &[u8]) -> usize {
        let Some(lane) = self.lanes.get_mut(id) else { return self.impossible(bytes.len()) };
        let Some(login) = &mut lane.login else { return 0 };
        let packet = match frame::next_packet(bytes) {
            Framed::Packet(packet) => packet,
            Framed::Need(_) => return 0,
            Framed::Long { .. } => {
                self.fail_dial(id, LastFault::Protocol, None, true);
                return bytes.len();
            }
        };
        let orders = &mut self.orders;
        let mut step = LoginStep::Wait;
        orders.send(End::Lane(id), |out| step = login.on_packet(&packet, out));
        let shows = login.has_shown();
        match step {
            LoginStep::Wait if shows => self.note_shown(id),
            LoginStep::Wait => {}
            LoginStep::Secure { may_prove } => {
                let (server, account) =
                    (lane.server.clone(), lane.account.told_to_servers().into());
                let host = lane.via.as_ref().map(|via| via.target.host.clone());
                orders.push(Order::SecureLane { lane: id, server, account, host, may_prove });
                orders.send(End::Lane(id), |out| login.respond(out));
            }
            LoginStep::Ready { caps, thread_id, status, is_mariadb, offered } => {
                let hears = login.hears_offers();
                login.account().note_shown(lane.server.index, login.shows().0);
                lane.tls = login.server_tls().cloned().map(Box::new);
                lane.login = None;
                lane.caps = caps;
                lane.greeted.thread_id = thread_id;
                lane.greeted.is_mariadb = is_mariadb;
                lane.status = status;
                lane.state.autocommit = status.contains(Status::AUTOCOMMIT);
                if let Some(compression) = Compression::agreed(caps, Compression::ZSTD_LEVEL) {
                    orders.push(Order::Compress(End::Lane(id), compression));
                }
                self.count_login(id);
                self.note_place(id, hears, offered.as_deref());
                self.on_lane_ready(id);
            }
            LoginStep::Failed { fault, said } => {
                let said = said.map(|(code, sqlstate, message)| {
                    let mut message = String::from_utf8_lossy(&message).into_owned();
                    if login.may_lack_tls(code) {
                        message = error::tls_may_be_demanded(&message, &lane.server.to_string());
                    }
                    SqlError { code, sqlstate, message }
                });
                if !self.show_another(id, fault, said.as_ref()) {
                    self.fail_dial(id, fault, said, true);
                }
                return bytes.len();
            }
            LoginStep::Insecure(why) => {
                self.fail_insecure(id, &why, true);
                return bytes.len();
            }
            LoginStep::KeyRefused(key) => {
                let said = Some(error::server_key_refused(&key));
                self.fail_dial(id, LastFault::PublicKey, said, true);
                return bytes.len();
            }
        }
        packet.len
    }

    /// The server of a lane gets what the client shows whom that was opened for.
    pub(crate) fn note_shown(&mut self, id: LaneId) {
        if let Some(Lease::Dialing(Some(session))) = self.lanes.get(id).map(|lane| lane.lease)
            && let Some(session) = self.sessions.get_mut(session)
        {
            session.auth.was_shown = true;
        }
    }

    /// A server refuses a password, or nothing is known that it could be shown of it: it is shown
    /// another one of the account at once, on a new connection. Returns whether there is one.
    ///
    /// Where the server changes passwords in between, it refuses both: then the first one is right.
    fn show_another(&mut self, id: LaneId, fault: LastFault, said: Option<&SqlError>) -> bool {
        const REFUSALS_MAX: u8 = 2;
        let Some(lane) = self.lanes.get(id) else { return self.impossible(false) };
        let Some(login) = &lane.login else { return self.impossible(false) };
        let is_refused = said.is_some_and(|it| Meaning::of(it.code).is(Meaning::WRONG_PASSWORD));
        let (rank, refusals) = login.shows();
        if !is_refused && fault != LastFault::NoPassword || refusals >= REFUSALS_MAX {
            return false;
        }
        // the account may have passwords that it had not when the login began
        let refused = login.account().stored_for_servers(rank);
        let another = refused.and_then(|refused| lane.account.shown_instead_of(refused));
        let Some(another) = another else { return false };
        // whoever dials meanwhile need not be refused too
        lane.account.note_shown(lane.server.index, another);
        let via = lane.via.clone();
        self.dial_anew(id, via, Some((another, refusals + 1)), true);
        true
    }

    /// What the server's statistics say of a login that it accepted.
    fn count_login(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get(id) else { return self.impossible(()) };
        if lane.via.is_none() {
            lane.server.gauge.note_tls(lane.tls.as_ref().map(|tls| tls.verified));
        }
        lane.server.gauge.end_dial();
        self.stats.lanes_created += 1;
        if let Some(counters) = self.server_stats.of(lane.server.index) {
            counters.opened += 1;
            counters.login_us = self.now_us.saturating_sub(lane.times.born_us);
        }
    }

    /// A login is over: the lane is asked what it begins with; one for a relay or an errand begins
    /// at once.
    fn on_lane_ready(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get(id) else { return self.impossible(()) };
        let lease = lane.lease;
        match lease {
            Lease::Dialing(_) => {
                self.send_init_connect(id);
                self.send_upkeep_text(id, Upkeep::Defaults, QUESTION);
            }
            Lease::Relay(session) => self.relay_ready(session, id),
            Lease::Errand(thread_id) => self.run_errand(id, thread_id),
            Lease::Idle
            | Lease::Exclusive(_)
            | Lease::Shared
            | Lease::Freed
            | Lease::Upkeep
            | Lease::Clearing(_) => {}
        }
    }
}
