//! Permits for connections: a server has as many as it may, and each account as many of these.

use super::{Need, PoolShard, is_same_account};
use crate::ids::LaneId;
use crate::lane::Lane;
use crate::slab::Slab;
use crate::topology::Server;
use crate::users::Account;

/// Who has no permit left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Full {
    /// The server.
    Server,
    /// The account, on that server.
    Account,
}

/// Takes what one more connection needs, where an account may have `most` to each server.
pub fn take_permits(server: &Server, account: &Account, most: u32) -> Result<(), Full> {
    // most servers that have none to give are found so, at no cost to the account
    if most == u32::MAX && server.gauge.used() >= server.max_connections {
        return Err(Full::Server);
    }
    if !account.backends.take(server.index, most) {
        return Err(Full::Account);
    }
    if !server.gauge.take_permit(server.max_connections) {
        account.backends.give(server.index);
        return Err(Full::Server);
    }
    Ok(())
}

/// Takes them whoever is full.
pub fn force_permits(server: &Server, account: &Account) {
    account.backends.take(server.index, u32::MAX);
    server.gauge.take_permit(u32::MAX);
}

/// Gives back what a connection had.
pub fn give_permits(server: &Server, account: &Account) {
    account.backends.give(server.index);
    server.gauge.give_permit();
}

/// Whether a shunned server is asked now for a connection like this; then its permit is taken.
pub(super) fn begins_probe(server: &Server, need: &Need<'_>, now_us: u64) -> bool {
    server.state(now_us).may_serve()
        && server.may_dial(&need.limits, now_us)
        && server.gauge.begin_probe(now_us)
        && take_permits(server, need.account, need.backends_max).is_ok()
}

impl PoolShard {
    /// An idle lane of a full server that does not fit, to be replaced: anybody's, or where the
    /// account is full, one of that.
    pub(super) fn take_unfit(
        &mut self,
        server: &Server,
        need: &Need<'_>,
        full: Full,
        lanes: &Slab<LaneId, Lane>,
    ) -> Option<LaneId> {
        let idle = self.idle.get_mut(server.index)?;
        let will_do = |id: &LaneId| {
            let is_own = |lane: &Lane| is_same_account(&lane.account, need.account);
            full == Full::Server || lanes.get(*id).is_some_and(is_own)
        };
        let position = idle.iter().rposition(will_do)?;
        Some(idle.remove(position))
    }
}
