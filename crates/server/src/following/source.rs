//! Which server is followed, and how it is reached: another place, account or use of TLS makes
//! another stream.

use std::time::Duration;

use client::Client;
use engine::snapshot::Snapshot;
use engine::topology::ServerRef;
use io::Addr;
use keeper::Endpoint;
use worker::ServerAddresses;

use crate::connections::{Connections, Names, Stream};
use crate::publisher::Publisher;

/// A server, with all that a connection to it depends on.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct LogSource {
    pub(super) server: Endpoint,
    addr: Option<Addr>,
    is_in_tls: bool,
    username: String,
    password: String,
}

/// How long a server may be silent: it says twice a second that nothing happens.
const PATIENCE: Duration = Duration::from_secs(5);

impl LogSource {
    /// A server as the configuration has it.
    pub(super) fn of(server: &ServerRef, snapshot: &Snapshot, addresses: &ServerAddresses) -> Self {
        let (hostname, port) = (server.hostname.clone(), i64::from(server.port));
        Self {
            server: Endpoint { hostname, port },
            addr: addresses.find(server).cloned(),
            is_in_tls: server.is_in_tls(),
            username: snapshot.vars.monitor_username.clone(),
            password: snapshot.vars.monitor_password.clone(),
        }
    }

    /// Logs in to it as the monitor does; `purpose` is what the server shows of the connection.
    pub(super) fn connect(
        &self,
        publisher: &Publisher,
        purpose: &'static str,
    ) -> Result<Client<Box<dyn Stream>>, String> {
        let (snapshot, addresses, _) = publisher.addresses();
        let account = (purpose, self.username.as_str(), self.password.as_str());
        let connectors = publisher.certificates().connectors();
        let names = Names::default();
        let known = (snapshot, addresses);
        Connections::new(known, connectors, names, account, PATIENCE).connect(&self.server)
    }
}
