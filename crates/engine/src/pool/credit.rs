//! How far each server is behind its share of the commands, in units of weight.

use crate::topology::{Server, Topology};

/// By server, all of one worker.
pub(super) struct Credits(Vec<Credit>);

/// Written for every command, so in a line of the cache of its own: whatever lies beside it may
/// be another worker's.
#[repr(align(128))]
#[derive(Clone, Copy, Default)]
struct Credit(i64);

impl Credits {
    /// Of the servers of a first topology, each somewhere within its weight.
    pub(super) fn new(topology: &Topology, mut random: impl FnMut() -> u64) -> Self {
        // their numbers are their order
        let start = |server: &Server| random() % (u64::from(server.weight) + 1);
        let starts = topology.servers().iter().map(|server| &**server).map(start);
        Self(starts.map(|start| Credit(i64::try_from(start).unwrap_or(0))).collect())
    }

    /// Has room for so many servers.
    pub(super) fn resize(&mut self, numbers: usize) {
        self.0.resize(numbers, Credit::default());
    }

    /// The server begins with what is its share now.
    pub(super) fn forget(&mut self, server: &Server) {
        if let Some(credit) = self.0.get_mut(server.index) {
            credit.0 = 0;
        }
    }

    /// The server might have had the next command; what it is behind then.
    pub(super) fn gain(&mut self, server: &Server) -> Option<i64> {
        let credit = self.0.get_mut(server.index)?;
        credit.0 += i64::from(server.weight);
        Some(credit.0)
    }

    /// The server has it, and the weights of all that might have had it are these together.
    pub(super) fn spend(&mut self, server: &Server, total: i64) {
        if let Some(credit) = self.0.get_mut(server.index) {
            credit.0 -= total;
        }
    }
}
