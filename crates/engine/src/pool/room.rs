//! Room on lanes that others use: on which of a server's there is some, and whether there will be.
//! Which session gets it is `session::placing::wait_queue`'s to say; which commands share at all,
//! `lane::policy`.

use crate::ids::LaneId;
use crate::lane::Lane;
use crate::lane::policy::Bounds;
use crate::pool::{Need, fits};
use crate::topology::Server;

/// Whether a command may be put on a lane that others use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// There is room for it.
    Now,
    /// There will be when others have ended.
    Later,
    /// Not as long as the lane is shared: it is not as the command needs it.
    Never,
}

/// The shared lanes of a server.
#[derive(Default)]
pub(super) struct SharedLanes {
    pub(super) list: Vec<LaneId>,
    /// Where in the list the one is that was joined last.
    at: usize,
}

impl SharedLanes {
    /// The next lane that has room, beginning with the one that was joined last.
    pub(super) fn join(&mut self, has_room: impl Fn(LaneId) -> bool) -> Option<LaneId> {
        let (before, from) = self.list.split_at_checked(self.at)?;
        let found = from.iter().chain(before).position(|id| has_room(*id))?;
        self.at = (self.at + found) % self.list.len();
        self.list.get(self.at).copied()
    }

    /// Takes a lane out.
    pub(super) fn remove(&mut self, lane: LaneId) {
        let Some(at) = self.list.iter().position(|id| *id == lane) else { return };
        self.list.remove(at);
        if at < self.at || self.at == self.list.len() {
            self.at = self.at.saturating_sub(1);
        }
    }
}

/// Whether the connections that are being opened to a server, one of so many, will carry its part
/// of those who wait to share, up to a command that does. Who comes first relies on nobody else's:
/// they may not be as it needs them.
pub(super) fn is_provided_for(server: &Server, servers: usize, need: &Need<'_>) -> bool {
    let Some((bounds, _)) = need.share.filter(|_| need.before.count > 0) else { return false };
    let coming = server.gauge.dialing() as usize;
    need.before.count / servers < coming.saturating_mul(bounds.depth)
}

/// Whether a shared lane is as a command needs it.
pub(super) fn may_join(lane: &Lane, need: &Need<'_>) -> bool {
    fits(lane, need) == Some(0) && need.stmt.is_none_or(|wanted| lane.stmts.has(wanted))
}

/// Whether one more command may be put on a shared lane, as far as those that are there say.
pub(super) fn has_place(lane: &Lane, bounds: &Bounds, cost_us: u64) -> bool {
    lane.shared.closing.is_none()
        && lane.depth() < bounds.depth
        && lane.cost_us().saturating_add(cost_us) <= bounds.latency_us
}

/// Whether a shared lane has room for a command that takes the server so many microseconds.
pub fn room(lane: &Lane, need: &Need<'_>, bounds: &Bounds, cost_us: u64) -> Room {
    match (may_join(lane, need), has_place(lane, bounds, cost_us)) {
        (false, _) => Room::Never,
        (true, false) => Room::Later,
        (true, true) => Room::Now,
    }
}
