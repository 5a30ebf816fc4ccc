//! Servers that the tests of one file share: starting some for each test takes longer than many a
//! test.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use lab::{Cluster, Flavour};

/// Servers that are started by the test that asks first and end with the process. One test at a
/// time has them, and leaves them as they were.
#[derive(Debug)]
pub struct Shared {
    what: &'static str,
    flavour: Flavour,
    replicas: usize,
    cluster: OnceLock<Option<Mutex<Cluster>>>,
}

impl Shared {
    /// None yet; the text says what is not tested where their software cannot be had.
    pub const fn new(what: &'static str, flavour: Flavour, replicas: usize) -> Self {
        Self { what, flavour, replicas, cluster: OnceLock::new() }
    }

    /// The servers, or a loud line and `None`.
    pub fn cluster(&self) -> Option<MutexGuard<'_, Cluster>> {
        let start = || crate::cluster(self.what, self.flavour, self.replicas).map(Mutex::new);
        let cluster = self.cluster.get_or_init(start).as_ref()?;
        // a test that failed spoils no other
        Some(cluster.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
