//! Which checks there are of which servers, how often and with what limits: all of it follows from
//! the configuration in force.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use engine::backend::Keys;
use engine::clusters::{self, ClusterKind, Clusters};
use engine::hostgroups::SeveralWriters;
use engine::rows::UserRow;
use engine::snapshot::Snapshot;
use engine::topology::{Placed, Server, Stand, Status};
use engine::users::{Account, Users};
use engine::vars::Vars;
use io::Addr;
use keeper::Endpoint;

/// What is asked of a server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Check {
    /// Whether it can be connected to and logged in to.
    Connect,
    /// Whether it answers.
    Ping,
    /// Whether it refuses writes, by the variables that are asked for.
    ReadOnly(clusters::Check),
    /// Which GTIDs it has.
    Gtids,
    /// How far it is behind, for one hostgroup or for all that it is in.
    Lag(Option<i64>),
    /// How it stands in its group.
    Group,
    /// How it stands in its Galera cluster.
    Galera,
    /// How the servers stand of the Aurora cluster with that hostgroup of writers.
    Aurora(i64),
    /// Which servers there are of its cluster of RDS Multi-AZ.
    Rds,
}

impl Check {
    /// Whether the servers that have it are asked in turn, because each tells of all.
    pub(crate) fn is_in_turn(self) -> bool {
        matches!(self, Self::Aurora(_))
    }
}

impl std::fmt::Display for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Connect => "connect",
            Self::Ping => "ping",
            Self::ReadOnly(_) => "read_only",
            Self::Gtids => "GTIDs",
            Self::Lag(_) => "replication lag",
            Self::Group => "group replication",
            Self::Galera => "galera",
            Self::Aurora(_) => "aurora",
            Self::Rds => "rds topology",
        })
    }
}

/// How often something is checked, and how long one check may take; microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timing {
    pub(crate) every_us: u64,
    pub(crate) limit_us: u64,
}

/// A server that is checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    /// Where it is; `None` where its name has no address.
    pub(crate) addr: Option<Addr>,
    pub(crate) checks: BTreeSet<Check>,
    /// It misses pings.
    pub(crate) is_silent: bool,
    /// Connections to it are in TLS: so it is in some hostgroup.
    pub(crate) in_tls: bool,
}

/// All checks.
#[derive(Clone)]
pub struct Plan {
    pub(crate) targets: BTreeMap<Endpoint, Target>,
    pub(crate) account: Arc<Account>,
    pub(crate) keys: Keys,
    pub(crate) vars: Arc<Vars>,
    clusters: Arc<Clusters>,
}

impl Plan {
    /// The checks that a configuration asks for. `addr` says where a server is.
    pub fn of(snapshot: &Snapshot, addr: impl Fn(&Server) -> Option<Addr>) -> Self {
        let vars = snapshot.vars.clone();
        let mut plan = Self {
            targets: BTreeMap::new(),
            account: account(&vars),
            keys: Keys::of_vars(&vars),
            vars,
            clusters: snapshot.clusters.clone(),
        };
        if !plan.vars.monitor_enabled {
            return plan;
        }
        for placed in snapshot.placed.iter() {
            let checks = checks_of(snapshot, placed);
            if checks.is_empty() {
                continue;
            }
            let server = Endpoint::of(&placed.row);
            let target = plan.targets.entry(server).or_insert_with(|| Target {
                addr: snapshot.topology.server_of(&placed.row).and_then(|server| addr(server)),
                checks: BTreeSet::new(),
                is_silent: false,
                in_tls: false,
            });
            target.checks.extend(checks);
            target.in_tls |= placed.row.use_ssl == 1;
            target.is_silent |= placed.stand == Stand::Silent;
        }
        plan
    }

    pub(crate) fn timing(&self, check: Check) -> Timing {
        let vars = &self.vars;
        let (every_ms, limit_ms) = match check {
            Check::Connect => (vars.monitor_connect_interval_ms, vars.monitor_connect_timeout_ms),
            Check::Ping => (vars.monitor_ping_interval_ms, vars.monitor_ping_timeout_ms),
            Check::ReadOnly(_) | Check::Gtids => {
                (vars.monitor_read_only_interval_ms, vars.monitor_read_only_timeout_ms)
            }
            Check::Lag(_) => {
                (vars.monitor_replication_lag_interval_ms, vars.monitor_replication_lag_timeout_ms)
            }
            Check::Group => (vars.monitor_group_interval_ms, vars.monitor_group_timeout_ms),
            Check::Galera => (vars.monitor_galera_interval_ms, vars.monitor_galera_timeout_ms),
            Check::Aurora(writer) => {
                let cluster = self.clusters.find_aurora(writer);
                cluster.map_or((1_000, 800), |cluster| (cluster.every_ms, cluster.limit_ms))
            }
            Check::Rds => {
                let rounds = u64::from(vars.monitor_rds_interval.max(1));
                let every_ms = vars.monitor_read_only_interval_ms * rounds;
                (every_ms, vars.monitor_read_only_timeout_ms)
            }
        };
        Timing { every_us: every_ms * 1_000, limit_us: limit_ms * 1_000 }
    }

    /// The same of one server: whoever misses pings is asked more often, to be back soon.
    pub(crate) fn timing_of(&self, server: &Endpoint, check: Check) -> Timing {
        let timing = self.timing(check);
        let is_silent = self.targets.get(server).is_some_and(|target| target.is_silent);
        match is_silent && check == Check::Ping {
            true => Timing { every_us: timing.every_us.min(SILENT_EVERY_US), ..timing },
            false => timing,
        }
    }

    /// Whether a server has a check.
    pub(crate) fn has(&self, server: &Endpoint, check: Check) -> bool {
        self.targets.get(server).is_some_and(|target| target.checks.contains(&check))
    }

    /// Whose turn it is after a server, of those that have a check.
    pub(crate) fn turn_after(&self, server: &Endpoint, check: Check) -> Option<&Endpoint> {
        let has = |(_, target): &(&Endpoint, &Target)| target.checks.contains(&check);
        let mut behind = self.targets.range((Bound::Excluded(server), Bound::Unbounded));
        let next = behind.find(has).or_else(|| self.targets.iter().find(has));
        next.map(|(server, _)| server)
    }

    /// How long a connection may be idle.
    pub(crate) fn idle_us(&self) -> u64 {
        self.vars.monitor_ping_interval_ms * 1_000 * IDLE_PINGS
    }
}

/// How often a server is pinged that misses pings, at least.
const SILENT_EVERY_US: u64 = 1_000_000;

/// Pings that a connection may miss before it is closed.
const IDLE_PINGS: u64 = 10;

/// The account of the checks.
fn account(vars: &Vars) -> Arc<Account> {
    let row = UserRow {
        username: vars.monitor_username.clone(),
        password: vars.monitor_password.clone().into_bytes(),
        ..UserRow::default()
    };
    // what a name and a password can be wrong in makes a row of an account wrong too
    let users = Users::compile(&[row]).unwrap_or_default();
    let found = users.find(vars.monitor_username.as_bytes()).cloned();
    found.unwrap_or_else(|| account(&Vars::default()))
}

/// The checks that a row in force asks for. One that misses pings is pinged and nothing else, as
/// ProxySQL does: what it is asked besides would only be missed too.
fn checks_of(snapshot: &Snapshot, placed: &Placed) -> Vec<Check> {
    let row = &placed.row;
    if Status::OfflineHard.is_set(row) {
        return Vec::new();
    }
    let mut checks = vec![Check::Connect, Check::Ping];
    if placed.stand == Stand::Silent {
        return checks;
    }
    let is_soft = Status::OfflineSoft.is_set(row);
    for pair in snapshot.clusters.pairs.iter().filter(|_| !is_soft) {
        if [pair.writer, pair.reader].contains(&row.hostgroup_id) {
            checks.push(Check::ReadOnly(pair.check));
            checks.extend((snapshot.vars.monitor_rds_interval > 0).then_some(Check::Rds));
            let by_gtids = snapshot.hostgroups.several_writers(pair.writer)
                == Some(SeveralWriters::NewestGtid);
            checks.extend(by_gtids.then_some(Check::Gtids));
        }
    }
    for cluster in &snapshot.clusters.members {
        if cluster.hostgroups().contains(&row.hostgroup_id) {
            checks.push(match cluster.kind {
                ClusterKind::Group => Check::Group,
                ClusterKind::Galera => Check::Galera,
            });
        }
    }
    for cluster in &snapshot.clusters.aurora {
        if cluster.hostgroups().contains(&row.hostgroup_id) {
            checks.push(Check::Aurora(cluster.writer));
        }
    }
    if row.max_replication_lag > 0 && !is_soft {
        let by_host = snapshot.vars.monitor_replication_lag_group_by_host;
        checks.push(Check::Lag((!by_host).then_some(row.hostgroup_id)));
    }
    checks
}

#[cfg(test)]
mod tests;
