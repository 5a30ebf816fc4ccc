//! Where servers are: names resolved ahead of time, so that no worker ever waits for DNS.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use engine::topology::Server;
use io::Addr;

/// Addresses by host name, as they were last resolved.
#[derive(Default)]
pub struct Places {
    by_name: HashMap<String, IpAddr>,
}

impl Places {
    /// Addresses of names; literal addresses and paths need no entry.
    pub fn new(by_name: HashMap<String, IpAddr>) -> Self {
        Self { by_name }
    }

    /// Whether a host needs an entry.
    pub fn is_name(host: &str) -> bool {
        !host.starts_with('/') && host.parse::<IpAddr>().is_err()
    }

    /// Where a server is; `None` for a name that could not be resolved.
    pub fn find(&self, server: &Server) -> Option<Addr> {
        if server.is_local_socket() {
            return Some(Addr::Unix(server.hostname.as_str().into()));
        }
        let ip = match server.hostname.parse() {
            Ok(ip) => ip,
            Err(_) => *self.by_name.get(&server.hostname)?,
        };
        Some(Addr::Tcp(SocketAddr::new(ip, server.port)))
    }
}
