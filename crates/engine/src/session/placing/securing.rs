//! TLS to servers: what became of a lane's handshake.
//!
//! Encryption is not done here: the worker carries out `Order::SecureLane`, and tells. What the
//! server has to show then is its login's to say.

use crate::backend::ServerTls;
use crate::error;
use crate::ids::LaneId;
use crate::proxy::Proxy;
use crate::topology::LastFault;

impl Proxy {
    /// The handshake of a lane's TLS is over: what follows is the answer to its login.
    pub fn on_lane_secured(&mut self, id: LaneId, tls: ServerTls) {
        if let Some(login) = self.lanes.get_mut(id).and_then(|lane| lane.login.as_mut()) {
            login.on_secured(tls);
            self.note_shown(id);
        }
    }

    /// A lane's TLS cannot go on, for that reason; its socket is gone.
    pub fn on_lane_insecure(&mut self, id: LaneId, why: &str) {
        self.fail_insecure(id, why, false);
        self.work_off();
    }

    /// A lane is not as secure as it has to be, for that reason; `open` where its socket is there.
    pub(crate) fn fail_insecure(&mut self, id: LaneId, why: &str, open: bool) {
        let Some(lane) = self.lanes.get(id) else { return };
        self.stats.server_tls_failures += 1;
        let place = lane.via.as_ref().map(|via| via.target.to_string());
        let said = error::tls_failed(&place.unwrap_or_else(|| lane.server.to_string()), why);
        self.fail_dial(id, LastFault::Tls, Some(said), open);
    }
}

#[cfg(test)]
mod tests;
