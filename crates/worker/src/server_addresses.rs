//! Where servers are: resolved ahead of time, so that no worker ever waits for DNS.

use engine::topology::Server;
use io::Addr;

/// Addresses of a topology's servers, as they were last resolved.
#[derive(Default)]
pub struct ServerAddresses {
    by_index: Vec<Option<Addr>>,
}

impl ServerAddresses {
    /// Addresses by the servers' numbers; `None` for a name without an address.
    pub fn new(by_index: Vec<Option<Addr>>) -> Self {
        Self { by_index }
    }

    /// These addresses with others for some servers.
    pub fn with(&self, changed: impl IntoIterator<Item = (usize, Option<Addr>)>) -> Self {
        let mut by_index = self.by_index.clone();
        for (index, addr) in changed {
            if by_index.len() <= index {
                by_index.resize(index + 1, None);
            }
            by_index[index] = addr;
        }
        Self { by_index }
    }

    /// Where a server is.
    pub fn find(&self, server: &Server) -> Option<&Addr> {
        self.by_index.get(server.index)?.as_ref()
    }
}
