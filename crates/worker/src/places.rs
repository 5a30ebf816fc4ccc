//! Where servers are: resolved ahead of time, so that no worker ever waits for DNS.

use engine::topology::Server;
use io::Addr;

/// Addresses of a topology's servers, as they were last resolved.
#[derive(Default)]
pub struct Places {
    by_index: Vec<Option<Addr>>,
}

impl Places {
    /// Addresses in the order of `Topology::servers`; `None` for a name without an address.
    pub fn new(by_index: Vec<Option<Addr>>) -> Self {
        Self { by_index }
    }

    /// Where a server is.
    pub fn find(&self, server: &Server) -> Option<&Addr> {
        self.by_index.get(server.index)?.as_ref()
    }
}
