//! What there is little of in a run: room for clients, connections to servers, and patience with
//! those who fail to log in. Decides nothing about how often anything is asked for.

use crate::dice::Dice;

/// What there is little of; `None` where there is enough.
#[derive(Clone, Copy, Default, Debug)]
pub struct SimLimits {
    /// Clients at a time.
    pub clients: Option<u32>,
    /// Clients of one account at a time.
    pub of_account: Option<u32>,
    /// Logins of an address that may fail in a row.
    pub failed_logins: Option<u32>,
    /// New connections to a hostgroup in a second.
    pub connects_per_sec: Option<u32>,
    /// New connections to a server at a time.
    pub connects_at_once: Option<u32>,
    /// Connections that a server lets in, whatever it is said to allow.
    pub seats: Option<usize>,
    /// Connections are opened ahead of need.
    pub warms: bool,
    /// Connections of one account to a server.
    pub backends_of_account: Option<u32>,
}

impl SimLimits {
    /// What a seed leaves little of.
    pub(super) fn of(seed: u64, losses: bool) -> Self {
        let mut dice = Dice::new(seed ^ 0x6c69_6d69_7473_0000);
        let mut sometimes = |chance: u64, from: u64, to: u64| {
            let number = dice.within(from..=to);
            dice.percent(chance).then_some(number as u32)
        };
        Self {
            clients: sometimes(10, 1, 5),
            of_account: sometimes(10, 1, 3),
            failed_logins: sometimes(25, 1, 2),
            connects_per_sec: sometimes(15, 20, 60),
            connects_at_once: sometimes(15, 1, 2),
            // who waits for longer than a while is told so, which is an error
            seats: sometimes(30, 2, 6).filter(|_| losses).map(|seats| seats as usize),
            warms: sometimes(25, 0, 0).is_some(),
            backends_of_account: sometimes(30, 1, 4).filter(|_| losses),
        }
    }

    /// The variables that say so.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let mut pairs = Vec::new();
        let mut say = |name, value: Option<u32>| {
            pairs.extend(value.map(|value| (name, value.to_string())));
        };
        say("mysql-max_connections", self.clients);
        say("mysql-client_host_error_counts", self.failed_logins);
        say("mysql-client_host_cache_size", self.failed_logins.map(|_| 2));
        say("mysql-throttle_connections_per_sec_to_hostgroup", self.connects_per_sec);
        say("mysql-max_connects_per_server", self.connects_at_once);
        say("mysql-max_backend_connections_per_user", self.backends_of_account);
        if self.warms {
            pairs.push(("mysql-connection_warming", "true".into()));
        }
        pairs
    }
}
