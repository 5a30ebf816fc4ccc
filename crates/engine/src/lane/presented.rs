//! What a connection tells its server of the client that it is opened for.

use core::net::IpAddr;
use std::sync::Arc;

use wire::proxy_header::Ends;

/// A header of the PROXY protocol. A connection with one is used for clients of that address alone:
/// the server looks at it for who may log in, and shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Presented {
    /// The version of the protocol, 1 or 2.
    pub version: u8,
    /// Both ends of the client's connection; `None` for a client without an address.
    pub ends: Option<Ends>,
}

impl Presented {
    /// Whether what a connection tells is what is wanted: the client of that address, or nothing.
    #[cold]
    pub fn is_of(told: Option<&Self>, wanted: Option<&Arc<str>>) -> bool {
        told.map(Self::client) == wanted.map(|address| address.parse().ok())
    }

    /// The client's address, without its port.
    pub fn client(&self) -> Option<IpAddr> {
        self.ends.map(|ends| ends.from.ip())
    }
}
