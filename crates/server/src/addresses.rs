//! From the names of servers to addresses, by the system's resolver.
//!
//! When names are looked up again is `name_lookup`.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use engine::topology::Server;
use io::Addr;

/// Where a server is reached; the error says why its name has no address.
pub(crate) fn resolve(server: &Server) -> Result<Addr, String> {
    if server.hostname.starts_with('/') {
        return Ok(Addr::Unix(server.hostname.clone().into()));
    }
    let found = look_up(&server.hostname, server.port)?;
    let none = || format!("{} has no address", server.hostname);
    found.into_iter().next().map(Addr::Tcp).ok_or_else(none)
}

/// All addresses of a host; the error says why its name has none.
pub(crate) fn look_up(hostname: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let found = (hostname, port).to_socket_addrs();
    found.map(Iterator::collect).map_err(|error| format!("cannot resolve {hostname}: {error}"))
}

/// Whether a server is known by a name, which may have another address later.
pub(crate) fn is_name(server: &Server) -> bool {
    !server.is_local_socket() && server.hostname.parse::<IpAddr>().is_err()
}

#[cfg(test)]
mod tests {
    use engine::rows::ServerRow;
    use engine::topology::Topology;

    use super::*;

    fn resolved(hostname: &str, port: i64) -> Result<String, String> {
        let row = ServerRow { hostname: hostname.into(), port, ..ServerRow::default() };
        let topology = Topology::compile(&[row]).expect("valid");
        let (_, servers) = topology.groups().next().expect("one hostgroup");
        resolve(&servers[0]).map(|address| address.to_string())
    }

    #[test]
    fn addresses_and_paths_resolve_to_themselves() {
        assert_eq!(resolved("127.0.0.1", 3307).as_deref(), Ok("127.0.0.1:3307"));
        assert_eq!(resolved("::1", 3307).as_deref(), Ok("[::1]:3307"));
        assert_eq!(resolved("/run/db.sock", 0).as_deref(), Ok("/run/db.sock"));
    }

    #[test]
    fn a_name_without_an_address_says_so() {
        let error = resolved("no..such..name", 3306).expect_err("a name cannot have empty parts");
        assert!(error.starts_with("cannot resolve no..such..name: "), "{error}");
    }
}
