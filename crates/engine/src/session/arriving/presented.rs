//! A client whose connection a proxy in front passes on, which a header of the PROXY protocol
//! tells. From there on the client's own address counts, for rules, limits, lists and logs.
//!
//! The greeting is out before the header comes, as a client without one waits for it.

use std::sync::Arc;

use wire::proxy_header::{Ends, ProxyHeader};

use crate::error;
use crate::first_bytes::FirstBytes;
use crate::ids::SessionId;
use crate::orders::{End, Order};
use crate::proxy::Proxy;
use crate::session::Phase;

/// Who told a client's address.
pub(crate) struct Presenter {
    /// The address that the connection comes from, without its port.
    pub addr: Arc<str>,
    /// Its port; 0 for a Unix socket.
    pub port: u16,
    /// What it told.
    pub header: ProxyHeader,
}

impl Proxy {
    /// Takes a header of the PROXY protocol from the first bytes that a client sends; `None` where
    /// they are something else. Gives how many bytes are taken.
    pub(crate) fn take_proxy_header(&mut self, id: SessionId, bytes: &[u8]) -> Option<usize> {
        let session = self.sessions.get(id)?;
        let Phase::Greeting { scramble } = session.phase else { return None };
        let client = &session.client;
        if client.presenter.is_some() || client.tls.is_some() {
            return None;
        }
        let networks = &self.snapshot.vars.proxy_protocol_networks;
        let allowed = ("mysql-proxy_protocol_networks", networks);
        match FirstBytes::read(bytes, || client.ip(), allowed) {
            FirstBytes::Other => None,
            FirstBytes::Begun => Some(0),
            FirstBytes::Header(header) => {
                self.present(id, scramble, header);
                Some(header.len)
            }
            FirstBytes::Refused(why) => {
                self.stats.proxy_headers_refused += 1;
                self.client_fault(id, &why);
                self.refuse(id, 1, error::bad_handshake(&why));
                Some(bytes.len())
            }
        }
    }

    fn present(&mut self, id: SessionId, scramble: [u8; 20], header: ProxyHeader) {
        self.stats.proxy_headers += 1;
        let counts = self.counts_failed_logins();
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let client = &mut session.client;
        let (addr, port) = (client.addr.clone(), client.port);
        client.presenter = Some(Box::new(Presenter { addr, port, header }));
        // how it came to the proxy in front nobody knows
        client.secure = false;
        let Some(Ends { from, .. }) = header.ends else { return };
        client.addr = from.ip().to_canonical().to_string().into();
        client.port = from.port();
        if counts {
            session.phase = Phase::Presented { scramble };
            let client = client.addr.clone();
            self.orders.push(Order::CountFailedLogins { session: id, client });
        }
    }

    /// So many logins from the address of a presented client failed in a row.
    pub fn on_failed_logins(&mut self, id: SessionId, times: u32) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let Phase::Presented { scramble } = session.phase else { return };
        session.phase = Phase::Greeting { scramble };
        if self.has_failed_often(times) {
            self.stats.hosts_refused += 1;
            self.close_session(id, None);
        } else {
            self.orders.push(Order::Redeliver(End::Client(id)));
        }
        self.work_off();
    }
}
