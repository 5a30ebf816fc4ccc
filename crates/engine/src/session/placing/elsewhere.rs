//! The place that a server sends its connections to: which connections go there, what comes of it,
//! and which clients are told where a server is.
//!
//! What was offered and how that went is `redirects`; the urls are `wire::redirect`'s. A place that
//! fails costs no client an error: the same connection is dialed once more, to the server itself.

use core::net::IpAddr;
use std::sync::Arc;

use wire::Caps;
use wire::connect::Attributes;
use wire::redirect;
use wire::reply::OkPacket;

use crate::backend::MARK;
use crate::error::{self, SqlError};
use crate::ids::{LaneId, SessionId};
use crate::lane::{Lane, Lease};
use crate::orders::{End, Order};
use crate::proxy::Proxy;
use crate::redirects::{Heard, RedirectLogin, Via};
use crate::report::LogEvent;
use crate::server_error::Meaning;
use crate::session::placing::dialing::Dial;
use crate::topology::{LastFault, ServerRef};
use crate::users::{Account, PasswordRank};

impl Proxy {
    /// Where the next connection of an account to a server goes, if not to the server itself. One
    /// that finds out whether a shunned server is back asks that one.
    pub(crate) fn place_of(&mut self, server: &ServerRef, account: &Account) -> Option<Via> {
        if !self.snapshot.vars.follow_redirects || server.gauge.is_unproven() {
            return None;
        }
        let (account, now_us) = (&account.name, self.now_us);
        self.redirects.via(RedirectLogin { server, account, now_us })
    }

    /// A login is over, at the server itself or where that sent it, and told of another place;
    /// `hears` where it would have been told.
    pub(crate) fn note_place(&mut self, id: LaneId, hears: bool, offered: Option<&[u8]>) {
        let Some(lane) = self.lanes.get(id) else { return self.impossible(()) };
        let (server, account) = (lane.server.clone(), lane.account.name.clone());
        let via = lane.via.clone();
        let login = RedirectLogin { server: &server, account: &account, now_us: self.now_us };
        match via {
            Some(via) => self.note_followed(login, &via, offered),
            None => {
                if hears && self.snapshot.vars.follow_redirects {
                    self.hear_offer(login, offered);
                }
                self.note_success(server);
            }
        }
    }

    /// The first answer on a lane tells of changes in its session: some servers tell of another
    /// place only there.
    pub(crate) fn hear_late(&mut self, id: LaneId, payload: &[u8]) {
        if !self.snapshot.vars.follow_redirects {
            return;
        }
        let Some(lane) = self.lanes.get(id) else { return self.impossible(()) };
        let Ok(ok) = OkPacket::parse(payload, lane.caps) else { return };
        let Some(url) = redirect::offered(&ok) else { return };
        let (server, account) = (lane.server.clone(), lane.account.name.clone());
        let via = lane.via.clone();
        let login = RedirectLogin { server: &server, account: &account, now_us: self.now_us };
        match via {
            Some(via) => self.hear_hop(login, &via, url),
            None => self.hear_offer(login, Some(url)),
        }
    }

    fn note_followed(&mut self, login: RedirectLogin<'_>, via: &Via, offered: Option<&[u8]>) {
        self.stats.redirects_followed += 1;
        self.redirects.note_success(via);
        if let Some(url) = offered {
            self.hear_hop(login, via, url);
        }
    }

    fn hear_hop(&mut self, login: RedirectLogin<'_>, via: &Via, url: &[u8]) {
        if let Some((reason, told)) = self.redirects.hear_hop(via, url) {
            self.refuse_offer(login, reason, told);
        }
    }

    fn hear_offer(&mut self, login: RedirectLogin<'_>, offered: Option<&[u8]>) {
        let ttl_max_us = self.snapshot.vars.redirect_ttl_max_ms * 1000;
        let heard = self.redirects.hear(login, offered, ttl_max_us);
        let target = match heard {
            Heard::Nothing => return,
            Heard::Refused { reason, told } => return self.refuse_offer(login, reason, told),
            Heard::LookUp(target) => {
                self.orders.push(Order::LookUp(target.host.clone()));
                target
            }
            Heard::New(target) => target,
        };
        self.stats.redirects_offered += 1;
        let (server, to) = (login.server.clone(), target.to_string());
        self.orders.report(LogEvent::SentElsewhere { server, to });
    }

    fn refuse_offer(&mut self, login: RedirectLogin<'_>, reason: String, told: bool) {
        self.stats.redirects_refused += 1;
        if told {
            let server = login.server.clone();
            self.orders.report(LogEvent::OfferRefused { server, reason });
        }
    }

    /// A name that was to be looked up has this address, or none.
    pub fn on_looked_up(&mut self, host: &str, addr: Option<IpAddr>) {
        for (server, target) in self.redirects.found(host, addr, self.now_us) {
            self.stats.redirects_failed += 1;
            let (to, why) = (target.to_string(), "the name has no address".into());
            self.orders.report(LogEvent::PlaceFailed { server, to, why });
        }
        self.work_off();
    }

    /// A dial failed at the place that its server sent it to: the lane is dialed once more, to the
    /// server itself. `false` where it was no such lane.
    pub(crate) fn leave_place(
        &mut self,
        id: LaneId,
        fault: LastFault,
        said: Option<&SqlError>,
        open: bool,
    ) -> bool {
        let Some(lane) = self.lanes.get(id) else { return false };
        let Some(via) = lane.via.clone() else { return false };
        let server = lane.server.clone();
        // what is asked there is about a connection of that place alone
        let goes_on = lane.login.is_some() && !matches!(lane.lease, Lease::Errand(_));
        let why = said.map_or_else(|| fault.to_string(), |said| said.message.clone());
        if said.is_some_and(|said| Meaning::of(said.code).is(Meaning::OF_SESSION)) {
            self.redirects.note_undecided(&via);
        } else {
            self.stats.redirects_failed += 1;
            self.redirects.note_failure(&via, &why, self.now_us);
            let (server, to) = (server.clone(), via.target.to_string());
            self.orders.report(LogEvent::PlaceFailed { server, to, why });
        }
        if goes_on {
            self.dial_anew(id, None, None, open);
        }
        goes_on
    }

    /// Dials a lane anew, to its server itself or another place, and shows that password first, so
    /// many having been refused.
    pub(crate) fn dial_anew(
        &mut self,
        id: LaneId,
        via: Option<Via>,
        shows: Option<(PasswordRank, u8)>,
        open: bool,
    ) {
        let now_us = self.now_us;
        let Some(lane) = self.lanes.get(id) else { return self.impossible(()) };
        let (server, lease) = (lane.server.clone(), lane.lease);
        let dial = Dial {
            server: server.clone(),
            account: lane.account.clone(),
            class: lane.class,
            schema: lane.state.chosen_schema().cloned(),
            collation: lane.collation,
            lease,
            via: None,
            presented: lane.presented.clone(),
        };
        let login = self.login_for(&dial, via.as_ref());
        let login = match shows {
            Some((rank, refusals)) => login.showing(rank, refusals),
            None => login,
        };
        let at = via.as_ref().map(|via| via.addr);
        if open {
            self.orders.push(Order::Close(End::Lane(id)));
        }
        if let Some(lane) = self.lanes.get_mut(id) {
            let presented = lane.presented.take();
            let again = Lane::dialing(id, server.clone(), login, lease, now_us);
            *lane = again.sent_to(via, presented);
        }
        self.order_dial(id, server, at);
    }

    /// Whether a client is this process itself, which a server has sent here.
    pub(crate) fn is_itself(&self, attributes: &[u8]) -> bool {
        self.snapshot.vars.follow_redirects
            && Attributes::new(attributes)
                .any(|(name, value)| name == MARK && value == self.offer.key.mark().as_bytes())
    }

    /// What the login of a client on a lane of its own is told of where that is, as session-track
    /// data: something where its account says so, and the client can take it.
    pub(crate) fn told_place(&mut self, id: SessionId, lane_id: LaneId) -> Vec<u8> {
        let mut told = Vec::new();
        let (Some(session), Some(lane)) = (self.sessions.get(id), self.lanes.get(lane_id)) else {
            return told;
        };
        let account: Option<&Arc<Account>> = session.account.as_ref();
        let is_told = account.is_some_and(|account| account.redirect)
            && session.caps.contains(Caps::SESSION_TRACK);
        let target = lane.via.as_ref().map(|via| &via.target);
        let place = match target.filter(|target| target.user.is_none()) {
            Some(target) => Some((&*target.host, target.port)),
            None => Some((&*lane.server.hostname, lane.server.port)),
        };
        if let Some((host, port)) = place.filter(|(_, port)| is_told && *port != 0) {
            redirect::write_tracked(host, port, &mut told);
            self.stats.clients_redirected += 1;
        }
        told
    }
}

/// What a login of this process at itself comes to.
pub(crate) fn sent_to_itself() -> SqlError {
    error::access_refused("a server has sent Tidegate to itself")
}

#[cfg(test)]
mod tests;
