//! A client whose connection a proxy in front passes on: by a header of the PROXY protocol, which
//! comes before everything else, it has the address that this tells.

use std::net::{IpAddr, Ipv4Addr};

use engine::first_bytes::FirstBytes;
use io::{Addr, Driver, Edge, Sock};

use super::entrance::{Admission, Origin};
use super::{Report, Service};
use crate::fault::AdminFault;

impl Service {
    /// Looks at the first bytes of a client: how many of them are taken, or `None` where more have
    /// to come first.
    pub(super) fn take_header<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        sock: Sock,
        bytes: &[u8],
    ) -> Option<usize> {
        let snapshot = self.admin.runtime.snapshot();
        let networks = &snapshot.vars.admin_proxy_protocol_networks;
        let Some(connected) = self.clients.get_mut(&sock) else { return Some(bytes.len()) };
        let allowed = ("admin-proxy_protocol_networks", networks);
        let first = FirstBytes::read(bytes, || connected.ip, allowed);
        connected.begins = first == FirstBytes::Begun;
        let counts = self.admin.runtime.header_counts();
        match first {
            FirstBytes::Other => Some(0),
            FirstBytes::Begun => None,
            FirstBytes::Header(header) => {
                counts.note(true);
                self.present(io, sock, header.ends.map(|ends| ends.from.ip()));
                Some(header.len)
            }
            FirstBytes::Refused(why) => {
                counts.note(false);
                let fault = AdminFault::new(1043, *b"08S01", format!("Bad handshake: {why}"));
                self.close_with(io, sock, fault);
                if self.refusal_lines.admits(io.now().0) {
                    (self.log)(&Report::NotPresented { why });
                }
                Some(bytes.len())
            }
        }
    }

    /// From now on a client counts among those of that address, or of the proxy that tells none.
    fn present<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, from: Option<IpAddr>) {
        let clients = self.clients.len();
        let Some(connected) = self.clients.get_mut(&sock) else { return };
        connected.client.present(from);
        let from = from.or(connected.ip).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let before = std::mem::replace(&mut connected.origin, Origin::told(from));
        let origin = connected.origin;
        self.entrance.leave(sock, before);
        match self.entrance.admit(sock, origin, clients) {
            Admission::Granted => {}
            Admission::InPlaceOf(other) => self.turn_away(io, other),
            Admission::Refused => self.turn_away(io, sock),
        }
    }
}

/// The address of a connection; `None` for a Unix socket.
pub(super) fn ip_of(from: &Addr) -> Option<IpAddr> {
    match from {
        Addr::Tcp(address) => Some(address.ip().to_canonical()),
        Addr::Unix(_) => None,
    }
}
