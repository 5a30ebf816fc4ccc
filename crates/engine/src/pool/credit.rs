//! How far each server is behind its share of the commands, in units of weight.

use crate::topology::{Server, ServerRef, Topology};

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

    /// Of servers that might all have the next command, the one furthest behind its share; it has
    /// the command then.
    pub(super) fn next<'s>(
        &mut self,
        servers: impl Iterator<Item = &'s ServerRef>,
    ) -> Option<&'s ServerRef> {
        let mut total = 0;
        let mut best: Option<(i64, &ServerRef)> = None;
        for server in servers {
            let Some(credit) = self.0.get_mut(server.index) else { continue };
            credit.0 += i64::from(server.weight);
            total += i64::from(server.weight);
            if best.is_none_or(|(most, _)| credit.0 > most) {
                best = Some((credit.0, server));
            }
        }
        let (_, server) = best?;
        if let Some(credit) = self.0.get_mut(server.index) {
            credit.0 -= total;
        }
        Some(server)
    }
}
