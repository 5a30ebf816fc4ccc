//! What the operator wants: rows as typed, pairs of hostgroups, and limits.

use engine::rows::ServerRow;

use crate::cluster::{Cluster, Kind};
use crate::report::Endpoint;

/// What is wanted of all servers.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Wanted {
    /// `mysql_servers`.
    pub servers: Vec<ServerRow>,
    /// `mysql_replication_hostgroups`.
    pub pairs: Vec<Pair>,
    /// The active ones of `mysql_group_replication_hostgroups` and `mysql_galera_hostgroups`.
    pub clusters: Vec<Cluster>,
    /// Variables.
    pub limits: Limits,
}

/// A row of `mysql_replication_hostgroups`: servers move between two hostgroups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// Hostgroup of servers that take writes.
    pub writer: i64,
    /// Hostgroup of servers that do not.
    pub reader: i64,
    /// What tells which they are.
    pub check: Check,
}

/// Which variables tell whether a server takes writes: `check_type`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Check {
    /// `@@read_only`.
    ReadOnly,
    /// `@@innodb_read_only`.
    InnodbReadOnly,
    /// `@@super_read_only`.
    SuperReadOnly,
    /// `@@read_only` and `@@innodb_read_only`.
    Both,
    /// `@@read_only` or `@@innodb_read_only`.
    Either,
}

impl Check {
    /// All of them, by the name in `check_type`.
    pub const ALL: [(&'static str, Self); 5] = [
        ("read_only", Self::ReadOnly),
        ("innodb_read_only", Self::InnodbReadOnly),
        ("super_read_only", Self::SuperReadOnly),
        ("read_only&innodb_read_only", Self::Both),
        ("read_only|innodb_read_only", Self::Either),
    ];

    /// The one of that name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, check)| *check)
    }

    /// The query whose only column tells.
    pub fn query(self) -> &'static str {
        match self {
            Self::ReadOnly => "SELECT @@global.read_only read_only",
            Self::InnodbReadOnly => "SELECT @@global.innodb_read_only read_only",
            Self::SuperReadOnly => "SELECT @@global.super_read_only read_only",
            Self::Both => "SELECT @@global.read_only&@@global.innodb_read_only read_only",
            Self::Either => "SELECT @@global.read_only|@@global.innodb_read_only read_only",
        }
    }
}

/// How much it takes to change a decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Pings without an answer, one behind the other: `mysql-monitor_ping_max_failures`.
    pub ping_failures: u32,
    /// The same of questions for `read_only`, until a server counts as one that takes no writes:
    /// `mysql-monitor_read_only_max_timeout_count`.
    pub read_only_failures: u32,
    /// Times that a server was too far behind, one behind the other:
    /// `mysql-monitor_replication_lag_count`.
    pub lag_count: u32,
    /// Seconds that a server counts as behind where it does not know:
    /// `mysql-monitor_slave_lag_when_null`.
    pub lag_when_unknown_s: u32,
    /// A server that comes to take writes stays among the readers:
    /// `mysql-monitor_writer_is_also_reader`.
    pub writer_is_also_reader: bool,
    /// A server that is too far behind stays left out over a LOAD:
    /// `mysql-evaluate_replication_lag_on_servers_load`.
    pub evaluate_lag_on_load: bool,
    /// Checks of a group's member without an answer, one behind the other:
    /// `mysql-monitor_groupreplication_healthcheck_max_timeout_count`.
    pub group_failures: u32,
    /// Checks at which a group's member was too far behind, one behind the other:
    /// `mysql-monitor_groupreplication_max_transactions_behind_count`.
    pub group_behind_count: u32,
    /// Whom that concerns: members that take writes (0), that do not (1), or both (2):
    /// `mysql-monitor_groupreplication_max_transactions_behind_for_read_only`.
    pub group_behind_for: u32,
    /// Checks of a Galera node without an answer, one behind the other:
    /// `mysql-monitor_galera_healthcheck_max_timeout_count`.
    pub galera_failures: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            ping_failures: 3,
            read_only_failures: 3,
            lag_count: 1,
            lag_when_unknown_s: 60,
            writer_is_also_reader: true,
            evaluate_lag_on_load: true,
            group_failures: 3,
            group_behind_count: 3,
            group_behind_for: 1,
            galera_failures: 3,
        }
    }
}

impl Wanted {
    /// The row of a server in a hostgroup.
    pub(crate) fn row(&self, hostgroup: i64, server: &Endpoint) -> Option<&ServerRow> {
        let mut rows = self.servers.iter();
        rows.find(|row| row.hostgroup_id == hostgroup && is_of(row, server))
    }

    /// The row of a server in a hostgroup, unless it is to do no work there at all.
    pub(crate) fn live_row(&self, hostgroup: i64, server: &Endpoint) -> Option<&ServerRow> {
        let is_live = |row: &&ServerRow| !row.status.eq_ignore_ascii_case("OFFLINE_HARD");
        self.row(hostgroup, server).filter(is_live)
    }

    /// Whether there is such a server.
    pub(crate) fn has(&self, server: &Endpoint) -> bool {
        self.servers.iter().any(|row| is_of(row, server))
    }

    /// The clusters of a kind that a server is a member of.
    pub(crate) fn clusters_of(&self, kind: Kind, server: &Endpoint) -> Vec<Cluster> {
        let is_member = |cluster: &&Cluster| {
            let mut places = cluster.hostgroups().into_iter();
            cluster.kind == kind && places.any(|place| self.live_row(place, server).is_some())
        };
        self.clusters.iter().filter(is_member).copied().collect()
    }

    /// Whether a row is one of a cluster, which puts its members where they belong.
    pub(crate) fn is_in_cluster(&self, row: &ServerRow) -> bool {
        let is_live = !row.status.eq_ignore_ascii_case("OFFLINE_HARD");
        let has = |cluster: &Cluster| cluster.hostgroups().contains(&row.hostgroup_id);
        is_live && self.clusters.iter().any(has)
    }

    /// The pair with that hostgroup of writers.
    pub(crate) fn pair_of(&self, writer: i64) -> Option<&Pair> {
        self.pairs.iter().find(|pair| pair.writer == writer)
    }
}

/// Whether a row is one of that server.
pub(crate) fn is_of(row: &ServerRow, server: &Endpoint) -> bool {
    row.port == server.port && row.hostname == server.hostname
}
