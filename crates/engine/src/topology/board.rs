//! Since when clients wait for a connection to the servers of a hostgroup, by worker.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most workers that are told apart; those beyond wait by looking again.
const WORKERS_MAX: usize = 256;

/// Since when somebody waits on each worker. Written only by a worker about itself, and only while
/// it has waiters; read by whoever has a connection to give while there are as many as there may
/// be.
#[derive(Default, Debug)]
pub struct Board {
    since_us: OnceLock<Box<[AtomicU64]>>,
}

impl Board {
    /// On a worker somebody waits since then; 0 for nobody.
    pub fn post(&self, worker: usize, since_us: u64) {
        let all = match self.since_us.get() {
            Some(all) => all,
            None if since_us == 0 => return,
            None => self.since_us.get_or_init(|| (0..WORKERS_MAX).map(|_| 0.into()).collect()),
        };
        if let Some(own) = all.get(worker) {
            own.store(since_us, Ordering::Relaxed);
        }
    }

    /// Whether somebody waits on a worker.
    pub fn waits(&self, worker: usize) -> bool {
        let own = self.since_us.get().and_then(|all| all.get(worker));
        own.is_some_and(|own| own.load(Ordering::Relaxed) != 0)
    }

    /// Of so many workers, the one other than this on which somebody waits for longest, and since
    /// when.
    pub fn longest_waiting(&self, workers: usize, except: usize) -> Option<(usize, u64)> {
        let all = self.since_us.get()?.iter().take(workers).enumerate();
        let waits = all.map(|(worker, since_us)| (worker, since_us.load(Ordering::Relaxed)));
        let others = waits.filter(|(worker, since_us)| *worker != except && *since_us != 0);
        others.min_by_key(|(_, since_us)| *since_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_longest_comes_first_and_nobody_is_told_of_himself() {
        let board = Board::default();
        assert_eq!(board.longest_waiting(4, 0), None);
        board.post(3, 0);
        board.post(1, 70);
        board.post(2, 50);
        assert_eq!(
            (board.longest_waiting(4, 0), board.longest_waiting(4, 2)),
            (Some((2, 50)), Some((1, 70)))
        );
        board.post(2, 0);
        assert_eq!(board.longest_waiting(4, 1), None);
        assert!(board.waits(1) && !board.waits(2) && !board.waits(usize::MAX));
    }
}
