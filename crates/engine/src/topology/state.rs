//! Whether a server serves now: what the operator wants of it, and what connecting to it came to,
//! judged in one place.

use super::{Server, Stand, Status};

/// What a server is good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServerState {
    /// It is given commands.
    Serving,
    /// The operator has set it to another status than `ONLINE`.
    Set(Status),
    /// Its weight is 0.
    NoWeight,
    /// It may have no connections.
    NoConnections,
    /// Checks are against it.
    Unfit(Stand),
    /// Connects failed: it is left out until then, in microseconds of the loops' clock.
    Shunned {
        /// That time.
        until_us: u64,
    },
}

impl ServerState {
    /// Whether it is given commands.
    #[inline]
    pub fn is_serving(self) -> bool {
        self == Self::Serving
    }

    /// Whether it serves, or time alone may bring it to.
    #[inline]
    pub fn may_serve(self) -> bool {
        matches!(self, Self::Serving | Self::Shunned { .. })
    }

    /// Whether it may come to serve without its operator.
    pub fn is_worth_a_wait(self) -> bool {
        self.may_serve() || matches!(self, Self::Unfit(_))
    }

    /// Whether it is shown as `ONLINE`.
    pub fn is_online(self) -> bool {
        self.shown() == Status::Online.name()
    }

    /// What is told of it: its status, or a word of our own where ProxySQL has none.
    pub fn told(self) -> &'static str {
        match self {
            Self::Unfit(stand) => stand.told(),
            other => other.shown(),
        }
    }

    /// What `mysql_servers.status` can say of it, which knows one way to be shunned.
    pub fn column(self) -> &'static str {
        match self.shown() {
            "SHUNNED_REPLICATION_LAG" => Status::Shunned.name(),
            shown => shown,
        }
    }

    /// The status that is shown of it.
    pub fn shown(self) -> &'static str {
        match self {
            Self::Set(status) => status.name(),
            Self::Unfit(stand) => stand.status(),
            Self::Shunned { .. } => Status::Shunned.name(),
            Self::Serving | Self::NoWeight | Self::NoConnections => Status::Online.name(),
        }
    }
}

impl Server {
    /// What it is good for now.
    #[inline]
    pub fn state(&self, now_us: u64) -> ServerState {
        if self.status != Status::Online {
            return ServerState::Set(self.status);
        }
        if !self.stand.serves() {
            return ServerState::Unfit(self.stand);
        }
        if self.weight == 0 {
            return ServerState::NoWeight;
        }
        if self.max_connections == 0 {
            return ServerState::NoConnections;
        }
        match self.gauge.shunned_until_us(now_us) {
            0 => ServerState::Serving,
            until_us => ServerState::Shunned { until_us },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ServerRow;
    use crate::topology::{LastFault, Placed, Topology};

    #[test]
    fn what_the_operator_wants_comes_before_what_connects_came_to() {
        use ServerState::{NoConnections, NoWeight, Serving, Set, Shunned};
        let shunned = Shunned { until_us: 6_000_000 };
        let table = [
            ("ONLINE", 1, 10, false, Serving, Status::Online),
            ("ONLINE", 1, 10, true, shunned, Status::Shunned),
            ("ONLINE", 0, 10, true, NoWeight, Status::Online),
            ("ONLINE", 1, 0, true, NoConnections, Status::Online),
            ("SHUNNED", 1, 10, false, Set(Status::Shunned), Status::Shunned),
            ("OFFLINE_SOFT", 0, 0, true, Set(Status::OfflineSoft), Status::OfflineSoft),
            ("OFFLINE_HARD", 1, 10, true, Set(Status::OfflineHard), Status::OfflineHard),
        ];
        for (status, weight, max_connections, fails, expected, shown) in table {
            let row = ServerRow {
                hostname: "a".to_owned(),
                status: status.to_owned(),
                weight,
                max_connections,
                ..ServerRow::default()
            };
            let topology = Topology::compile(&[row]).expect("valid");
            let server = topology.servers().first().expect("one");
            if fails {
                server.gauge.on_fault(LastFault::Timeout, 1_000_000, 1, 5_000_000);
            }
            let state = server.state(1_000_000);
            assert_eq!((state, state.shown()), (expected, shown.name()), "{status}");
            assert_eq!(state.is_serving(), expected == Serving, "{status}");
            assert_eq!(state.may_serve(), matches!(expected, Serving | Shunned { .. }), "{status}");
        }
    }
    #[test]
    fn what_checks_found_counts_where_the_operator_wants_the_server() {
        let table = [
            ("ONLINE", Stand::Silent, "SHUNNED"),
            ("ONLINE", Stand::Lagging { lag_us: 7 }, "SHUNNED_REPLICATION_LAG"),
            ("ONLINE", Stand::Slow { latency_us: 7 }, "SLOW"),
            ("ONLINE", Stand::Astray, "ASTRAY"),
            ("ONLINE", Stand::Outdone, "SHUNNED"),
            ("ONLINE", Stand::Well, "ONLINE"),
            ("OFFLINE_SOFT", Stand::Silent, "OFFLINE_SOFT"),
        ];
        for (status, stand, told) in table {
            let row = ServerRow {
                hostname: "a".to_owned(),
                status: status.to_owned(),
                weight: 0,
                ..ServerRow::default()
            };
            let placed = [Placed { row, stand }];
            let topology = Topology::default().place(&placed).expect("valid");
            let server = topology.servers().first().expect("one");
            assert_eq!((server.state(1).told(), placed[0].told()), (told, told), "{status}");
            let is_well = status == "ONLINE" && stand == Stand::Well;
            assert_eq!(server.is_left(), !is_well, "{status} {stand:?}");
            let state = server.state(1);
            assert!(!state.may_serve(), "{status} {stand:?}");
            let is_unfit = status == "ONLINE" && stand != Stand::Well;
            assert_eq!(state.is_worth_a_wait(), is_unfit, "{status} {stand:?}");
            let ends = matches!(stand, Stand::Silent | Stand::Astray | Stand::Outdone);
            assert_eq!(server.ends_commands(), ends, "{status} {stand:?}");
        }
    }
}
