//! How many connections to each server an account has, over all workers.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Connections of one account, by the server's index. Servers are added as they are met, and stay:
/// there are as many as the account has ever had connections to.
#[derive(Default)]
pub struct Backends {
    first: OnceLock<Box<ToServer>>,
}

struct ToServer {
    server: usize,
    open: AtomicU32,
    full_until_us: AtomicU64,
    /// Which password it is shown first, by a number that its owner knows; 0 where none is known.
    shown: AtomicU64,
    next: OnceLock<Box<ToServer>>,
}

impl ToServer {
    fn new(server: usize) -> Self {
        let (full_until_us, shown) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { server, open: AtomicU32::new(0), full_until_us, shown, next: OnceLock::new() }
    }
}

impl Backends {
    /// Counts one more connection to a server, unless there are `most`; whether it did.
    pub fn take(&self, server: usize, most: u32) -> bool {
        let one_more = |open| (open < most).then_some(open + 1);
        self.of(server).open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Counts one less; it was taken before.
    pub fn give(&self, server: usize) {
        self.of(server).open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Connections to a server now, those being opened included.
    pub fn open(&self, server: usize) -> u32 {
        let found = self.all().find(|to| to.server == server);
        found.map_or(0, |to| to.open.load(Ordering::Relaxed))
    }

    /// A server allows no more of them until then (µs), as far as is known.
    pub fn note_full(&self, server: usize, until_us: u64) {
        self.of(server).full_until_us.store(until_us, Ordering::Relaxed);
    }

    /// Whether a server has just said that it allows no more of them.
    pub fn is_full(&self, server: usize, now_us: u64) -> bool {
        let mut found = self.all().filter(|to| to.server == server);
        found.any(|to| to.full_until_us.load(Ordering::Relaxed) > now_us)
    }

    /// A server is shown the password of that number from now on.
    pub(super) fn note_shown(&self, server: usize, number: u64) {
        self.of(server).shown.store(number, Ordering::Relaxed);
    }

    /// The number of the password that a server is shown first; 0 where none is known.
    pub(super) fn shown(&self, server: usize) -> u64 {
        let found = self.all().find(|to| to.server == server);
        found.map_or(0, |to| to.shown.load(Ordering::Relaxed))
    }

    /// Bytes of memory behind it.
    pub fn bytes(&self) -> usize {
        self.all().count() * size_of::<ToServer>()
    }

    fn all(&self) -> impl Iterator<Item = &ToServer> {
        std::iter::successors(self.first.get(), |to| to.next.get()).map(|to| &**to)
    }

    fn of(&self, server: usize) -> &ToServer {
        let new = || Box::new(ToServer::new(server));
        let mut to = self.first.get_or_init(new);
        while to.server != server {
            to = to.next.get_or_init(new);
        }
        to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_a_count_of_its_own_that_never_exceeds_the_most() {
        let backends = Backends::default();
        assert_eq!(backends.open(7), 0);
        assert!(backends.take(7, 2) && backends.take(7, 2) && backends.take(3, 1));
        assert!(!backends.take(7, 2) && !backends.take(3, 1) && !backends.take(5, 0));
        assert_eq!([7, 3, 5, 1].map(|server| backends.open(server)), [2, 1, 0, 0]);
        backends.give(7);
        assert!(backends.take(7, 2));
    }

    #[test]
    fn workers_that_count_at_once_lose_nothing() {
        let backends = Backends::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for turn in 0..10_000 {
                        let server = turn % 5;
                        if backends.take(server, 2) {
                            assert!(backends.open(server) <= 2);
                            backends.give(server);
                        }
                    }
                });
            }
        });
        assert!((0..5).all(|server| backends.open(server) == 0));
        assert_eq!(backends.bytes(), 5 * size_of::<ToServer>());
    }
}
