//! A new connection: the login that it is to have, its socket, and whose it tells its server to be.
//!
//! Whether there may be one, and to which server, was decided before.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use wire::Caps;
use wire::collation_table::{UTF8MB4_GENERAL_CI, find_charset_default};
use wire::proxy_header::{self, Ends};

use crate::backend::{BackendLogin, Keys};
use crate::ids::{HostgroupId, LaneId, SessionId};
use crate::lane::{Lane, Lease, Presented};
use crate::link::{self, Charset};
use crate::orders::{End, Order};
use crate::pool::Need;
use crate::proxy::Proxy;
use crate::redirects::Via;
use crate::session::placing::checkout::note_used;
use crate::session::{Client, Session};
use crate::topology::ServerRef;
use crate::users::Account;

impl Proxy {
    /// Opens a connection with the login and the state of a session; its permit is taken already.
    pub(crate) fn dial(
        &mut self,
        id: SessionId,
        server: ServerRef,
        lease: Lease,
    ) -> Option<LaneId> {
        let session = self.sessions.get(id)?;
        let account = session.account.clone()?;
        let collation = match session.want.charset {
            Charset::Collation(id) => Some(id),
            Charset::Named(name) => find_charset_default(name.as_bytes()).map(|found| found.id),
        };
        let collation =
            collation.and_then(|id| u8::try_from(id).ok()).unwrap_or(UTF8MB4_GENERAL_CI);
        let (class, schema) = (session.class, session.want.schema.clone());
        let presented = self.presented_by(session, server.hostgroup);
        Some(self.open_lane(Dial {
            server,
            account,
            class,
            schema,
            collation,
            lease,
            via: None,
            presented,
        }))
    }

    /// Makes a lane and orders its socket.
    pub(crate) fn open_lane(&mut self, dial: Dial) -> LaneId {
        let now_us = self.now_us;
        let via = match dial.lease {
            Lease::Errand(_) => dial.via.clone(),
            _ => self.place_of(&dial.server, &dial.account),
        };
        let login = self.login_for(&dial, via.as_ref());
        let at = via.as_ref().map(|via| via.addr);
        let Dial { server, lease, presented, .. } = dial;
        let to = server.clone();
        let lane = |id| Lane::dialing(id, server, login, lease, now_us).sent_to(via, presented);
        let id = self.lanes.insert_with(lane);
        if let Some(counters) = self.server_stats.of(to.index) {
            counters.open += 1;
        }
        to.gauge.begin_dial();
        to.group.pace.note(now_us);
        note_used(&self.pool, &mut self.server_stats, &to);
        self.order_dial(id, to, at);
        id
    }

    /// Orders the socket of a lane, and the end of its time.
    pub(crate) fn order_dial(&mut self, id: LaneId, server: ServerRef, at: Option<SocketAddr>) {
        self.orders.push(Order::Dial { lane: id, server, at });
        let at = self.now_us + self.snapshot.vars.connect_timeout_server_ms * 1000;
        self.orders.push(Order::Deadline { end: End::Lane(id), at });
    }

    /// A lane's socket stands: its server is told whose connection it is, if it is to know.
    pub(crate) fn present_lane(&mut self, id: LaneId) {
        let presented = self.lanes.get(id).and_then(|lane| lane.presented.as_deref());
        let Some(&Presented { version, ends }) = presented else { return };
        self.orders.send(End::Lane(id), |out| proxy_header::write(version, ends, out));
    }

    /// What connections to a hostgroup tell their servers for a session; `None` for nothing.
    fn presented_by(&self, session: &Session, hostgroup: HostgroupId) -> Option<Box<Presented>> {
        let version = self.snapshot.hostgroups.proxy_protocol(hostgroup)?;
        Some(Box::new(Presented { version, ends: ends_of(&session.client) }))
    }

    /// What connections to a hostgroup tell their servers that are opened as another one was.
    pub(crate) fn presented_as(
        &self,
        model: Option<&Presented>,
        hostgroup: HostgroupId,
    ) -> Option<Box<Presented>> {
        let version = self.snapshot.hostgroups.proxy_protocol(hostgroup)?;
        Some(Box::new(Presented { version, ends: model.and_then(|model| model.ends) }))
    }

    /// What a session's command needs at least of a lane.
    #[inline]
    pub(crate) fn need_of<'a>(
        &self,
        session: &'a Session,
        hostgroup: HostgroupId,
    ) -> Option<Need<'a>> {
        let account = session.account.as_ref()?;
        let tells = self.snapshot.hostgroups.proxy_protocol(hostgroup).is_some();
        let client = tells.then_some(&session.client.addr);
        Some(Need { client, ..Need::of(hostgroup, account, session.class, &session.want) })
    }

    /// The login of a lane that is dialed, at the place that the server sent it to if there is one.
    pub(crate) fn login_for(&self, dial: &Dial, via: Option<&Via>) -> BackendLogin {
        let Dial { account, class, schema, collation, lease, .. } = dial;
        let secure = dial.server.is_local_socket() && via.is_none();
        let name = via.and_then(|via| via.target.user.as_deref());
        let name = name.unwrap_or(account.told_to_servers().as_bytes());
        // a client that has the lane for good gets what it asked for
        let is_read = matches!(lease, Lease::Relay(_)) || link::takes_name(*collation, name);
        let (collation, schema) = match is_read {
            true => (*collation, schema.clone()),
            // the session's own comes into force behind the login, as on any lane
            false => (UTF8MB4_GENERAL_CI, schema.clone().filter(|schema| schema.is_ascii())),
        };
        let login = BackendLogin::new(account.clone(), *class, schema, collation, secure)
            .showing(account.shown_first(dial.server.index), 0);
        let login = if self.is_told_changes(*lease) { login } else { login.untracked() };
        let login = if dial.server.use_ssl && !secure { login.in_tls() } else { login };
        let login = if dial.server.compresses { login.compressed() } else { login };
        let keys = Keys::of_vars(&self.snapshot.vars);
        match via {
            None => login.trusting(keys),
            Some(via) => {
                let (user, mark) = (via.target.user.clone(), self.offer.key.mark());
                login.trusting(keys.of_elsewhere()).sent_to(user, mark)
            }
        }
    }

    /// Whether a lane's server is to tell what changes in its session: a client that has the lane
    /// for good gets all that comes, so only what it asked for may come.
    fn is_told_changes(&self, lease: Lease) -> bool {
        match lease {
            Lease::Relay(id) => {
                let session = self.sessions.get(id);
                session.is_some_and(|session| session.caps.contains(Caps::SESSION_TRACK))
            }
            Lease::Errand(_) => false,
            _ => true,
        }
    }
}

/// A client's own end, and the one that it was listened to at, in one family of addresses; `None`
/// where the client has no address.
fn ends_of(client: &Client) -> Option<Ends> {
    let from = SocketAddr::new(client.ip()?, client.port);
    let told = client.presenter.as_ref().and_then(|it| it.header.ends).map(|ends| ends.to);
    let listened = || {
        let (address, port) = &client.proxy;
        Some(SocketAddr::new(address.parse().ok()?, *port))
    };
    let to = told.or_else(listened);
    let address = to.map(|to| to.ip().to_canonical());
    let address = address.filter(|address| address.is_ipv4() == from.is_ipv4());
    let unknown = || match from {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let to = SocketAddr::new(address.unwrap_or_else(unknown), to.map_or(0, |to| to.port()));
    Some(Ends { from, to })
}

/// What a dial needs to know.
pub(crate) struct Dial {
    pub server: ServerRef,
    pub account: Arc<Account>,
    pub class: Caps,
    pub schema: Option<Arc<[u8]>>,
    pub collation: u8,
    pub lease: Lease,
    /// Where an errand goes; any other lane goes where its server sends it.
    pub via: Option<Via>,
    /// Whose connection it is to be.
    pub presented: Option<Box<Presented>>,
}
