//! Failed logins by client address, for `mysql-client_host_cache_size` and
//! `mysql-client_host_error_counts`.
//!
//! One for all workers, behind a lock that is only taken where a client comes, and where its login
//! ends while the variables ask for that. Which clients are turned away is decided by the engine.

use std::collections::HashMap;
use std::sync::Arc;

use io::Lock;

/// The addresses that all workers remember together; whole between its calls.
#[derive(Clone, Default, Debug)]
pub struct ClientHosts(Arc<Lock<HashMap<Arc<str>, HostErrors>>>);

/// What is remembered of an address.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HostErrors {
    /// Logins that failed since the last one that did not.
    pub count: u32,
    /// When the last one failed, by the loops' clock.
    pub updated_us: u64,
}

impl ClientHosts {
    /// A client failed to log in; `addresses_max` are remembered, those that failed last. Returns
    /// how often clients of its address did so since the last one that did not.
    pub fn note_error(&self, client: &Arc<str>, now_us: u64, addresses_max: usize) -> u32 {
        let mut hosts = self.0.take();
        if !hosts.contains_key(client) {
            while hosts.len() >= addresses_max.max(1) {
                let oldest = hosts.iter().min_by_key(|(_, errors)| errors.updated_us);
                let Some(oldest) = oldest.map(|(client, _)| client.clone()) else { break };
                hosts.remove(&oldest);
            }
        }
        let errors = hosts.entry(client.clone()).or_default();
        errors.count = errors.count.saturating_add(1);
        errors.updated_us = now_us;
        errors.count
    }

    /// A client logged in.
    pub fn forget(&self, client: &str) {
        self.0.take().remove(client);
    }

    /// How often clients of an address failed since the last one that did not.
    pub fn failures(&self, client: &str) -> u32 {
        self.0.take().get(client).map_or(0, |errors| errors.count)
    }

    /// Every address; with `reset` all are forgotten.
    pub fn rows(&self, reset: bool) -> Vec<(Arc<str>, HostErrors)> {
        let mut hosts = self.0.take();
        match reset {
            true => std::mem::take(&mut *hosts).into_iter().collect(),
            false => hosts.iter().map(|(client, errors)| (client.clone(), *errors)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_in_a_row_are_counted_and_the_oldest_address_gives_way() {
        let hosts = ClientHosts::default();
        let [a, b, c] = ["a", "b", "c"].map(Arc::<str>::from);
        for (client, at, count) in [(&a, 1, 1), (&b, 2, 1), (&a, 3, 2)] {
            assert_eq!(hosts.note_error(client, at, 2), count);
        }
        assert_eq!((hosts.failures("a"), hosts.failures("b")), (2, 1));
        hosts.note_error(&c, 4, 2);
        assert_eq!((hosts.failures("a"), hosts.failures("b")), (2, 0));
        hosts.forget("a");
        assert_eq!(hosts.failures("a"), 0);
        assert_eq!(hosts.rows(true), [(c, HostErrors { count: 1, updated_us: 4 })]);
        assert_eq!(hosts.rows(false), []);
    }
}
