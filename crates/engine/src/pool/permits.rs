//! Permits for connections: a server has as many as it may, and each account as many of these.

use super::{Need, PoolShard};
use crate::ids::LaneId;
use crate::lane::Lane;
use crate::slab::Slab;
use crate::topology::{FULL_PAUSE_US, Server};
use crate::users::Account;

/// Who has no permit left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Full {
    /// The server.
    Server,
    /// The account, on that server.
    Account,
    /// All who have proved no password yet, on that server.
    Unproved,
}

/// Who allowed no more connections when the last one was tried.
pub fn told_full(server: &Server, account: &Account, now_us: u64) -> Option<Full> {
    if account.backends.is_full(server.index, now_us.saturating_sub(FULL_PAUSE_US)) {
        return Some(Full::Account);
    }
    server.gauge.last_fault().is_server_full().then_some(Full::Server)
}

/// Who has to lose a connection to a server before an account may have one more there, of which it
/// may have `most`.
pub fn scarcity(server: &Server, account: &Account, most: u32, now_us: u64) -> Option<Full> {
    if account.unproved != 0 && server.gauge.proofs() >= server.proofs_max() {
        return Some(Full::Unproved);
    }
    if account.backends.open(server.index) >= most {
        return Some(Full::Account);
    }
    let is_full = server.gauge.used() >= server.max_connections;
    told_full(server, account, now_us).or(is_full.then_some(Full::Server))
}

/// Takes what one more connection needs, where an account may have `most` to each server; `false`
/// where there is none to be had.
pub fn take_permits(server: &Server, account: &Account, most: u32) -> bool {
    // most servers that have none to give are found so, at no cost to the account
    if most == u32::MAX && server.gauge.used() >= server.max_connections {
        return false;
    }
    if !account.backends.take(server.index, most) {
        return false;
    }
    let is_unproved = account.unproved != 0;
    if is_unproved && !server.gauge.begin_proof(server.proofs_max()) {
        account.backends.give(server.index);
        return false;
    }
    let taken = server.gauge.take_permit(server.max_connections);
    if !taken {
        account.backends.give(server.index);
        if is_unproved {
            server.gauge.end_proof();
        }
    }
    taken
}

/// Takes them whoever is full.
pub fn force_permits(server: &Server, account: &Account) {
    account.backends.take(server.index, u32::MAX);
    if account.unproved != 0 {
        server.gauge.begin_proof(u32::MAX);
    }
    server.gauge.take_permit(u32::MAX);
}

/// Gives back what a connection had.
pub fn give_permits(server: &Server, account: &Account) {
    account.backends.give(server.index);
    if account.unproved != 0 {
        server.gauge.end_proof();
    }
    server.gauge.give_permit();
}

/// Whether a shunned server is asked now for a connection like this; then its permit is taken.
pub(super) fn begins_probe(server: &Server, need: &Need<'_>, now_us: u64) -> bool {
    server.state(now_us).may_serve()
        && server.may_dial(&need.limits, now_us)
        && server.gauge.begin_probe(now_us)
        && take_permits(server, need.account, need.backends_max)
}

impl PoolShard {
    /// An idle lane that does not fit, to be replaced, where a connection has to go before another
    /// one may come: anybody's, or where the account is full, one of that.
    #[inline]
    pub(super) fn take_unfit(
        &mut self,
        server: &Server,
        need: &Need<'_>,
        lanes: &Slab<LaneId, Lane>,
        now_us: u64,
    ) -> Option<LaneId> {
        let idle = self.idle.get_mut(server.index).filter(|idle| !idle.is_empty())?;
        let full = scarcity(server, need.account, need.backends_max, now_us)?;
        let will_do = |id: &LaneId| match full {
            Full::Server => true,
            Full::Account => {
                lanes.get(*id).is_some_and(|lane| lane.account.counts_with(need.account))
            }
            Full::Unproved => false,
        };
        let position = idle.iter().rposition(will_do)?;
        Some(idle.remove(position))
    }
}
