//! All that a pool has, for the check that lanes and sessions agree.

use super::PoolShard;
use super::queue::Queue;
use crate::ids::{HostgroupId, LaneId};

impl PoolShard {
    /// Each server's number, with its idle and its shared lanes.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (usize, &[LaneId], &[LaneId])> {
        let lists = self.idle.iter().zip(&self.shared).enumerate();
        lists.map(|(server, (idle, shared))| (server, &idle[..], &shared.list[..]))
    }

    /// Everybody who waits, by hostgroup.
    pub(crate) fn queues(&self) -> impl Iterator<Item = (HostgroupId, &Queue)> {
        self.waiters.iter().map(|(hostgroup, queue)| (*hostgroup, queue))
    }

    /// How many sessions wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }
}
