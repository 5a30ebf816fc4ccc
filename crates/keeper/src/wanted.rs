//! What the operator wants: rows as typed, pairs of hostgroups, and limits.

use std::collections::BTreeMap;

use engine::clusters::{Aurora, Cluster, ClusterKind, Clusters, Pair};
use engine::hostgroups::SeveralWriters;
use engine::ids::HostgroupId;
use engine::rows::ServerRow;
use engine::snapshot::Snapshot;
use engine::topology::Status;
use engine::vars::Vars;

use crate::report::Endpoint;

/// What is wanted of all servers.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Wanted {
    /// `mysql_servers`.
    pub servers: Vec<ServerRow>,
    /// Hostgroups between which they move.
    pub clusters: Clusters,
    /// Variables.
    pub limits: Limits,
    /// What a row has, by hostgroup, of a server that nobody typed: `servers_defaults`.
    pub defaults: BTreeMap<i64, ServerRow>,
    /// Which of several servers is the writer that all say they take writes, by the hostgroup of
    /// writers, where not all are: `several_writers`.
    pub several_writers: BTreeMap<i64, SeveralWriters>,
}

/// How much it takes to change a decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Servers are checked at all: `mysql-monitor_enabled`.
    pub enabled: bool,
    /// Pings without an answer, one behind the other: `mysql-monitor_ping_max_failures`.
    pub ping_failures: u32,
    /// The same of questions for `read_only`, until a server counts as one that takes no writes:
    /// `mysql-monitor_read_only_max_timeout_count`.
    pub read_only_failures: u32,
    /// Milliseconds that pings may take of a server whose row does not say, 0 for any time:
    /// `mysql-default_max_latency_ms`.
    pub latency_ms: u64,
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
    /// Servers of RDS Multi-AZ are found: `mysql-monitor_aws_rds_topology_discovery_interval`.
    pub finds_rds: bool,
    /// Checks of a Galera node without an answer, one behind the other:
    /// `mysql-monitor_galera_healthcheck_max_timeout_count`.
    pub galera_failures: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self::of(&Vars::default())
    }
}

impl Limits {
    fn of(vars: &Vars) -> Self {
        Self {
            enabled: vars.monitor_enabled,
            ping_failures: vars.monitor_ping_max_failures,
            latency_ms: vars.default_max_latency_ms,
            read_only_failures: vars.monitor_read_only_max_timeout_count,
            lag_count: vars.monitor_replication_lag_count,
            lag_when_unknown_s: vars.monitor_lag_when_null_s,
            writer_is_also_reader: vars.monitor_writer_is_also_reader,
            evaluate_lag_on_load: vars.evaluate_lag_on_load == 1,
            group_failures: vars.monitor_group_max_timeout_count,
            group_behind_count: vars.monitor_group_behind_count,
            group_behind_for: vars.monitor_group_behind_for,
            finds_rds: vars.monitor_rds_interval > 0,
            galera_failures: vars.monitor_galera_max_timeout_count,
        }
    }
}

impl Wanted {
    /// What a configuration says.
    pub fn of(snapshot: &Snapshot) -> Self {
        Self {
            servers: snapshot.draft.servers.clone(),
            clusters: Clusters::clone(&snapshot.clusters),
            limits: Limits::of(&snapshot.vars),
            defaults: defaults(snapshot),
            several_writers: several_writers(snapshot),
        }
    }

    /// Where servers come that nobody typed, by the hostgroup of writers: the other hostgroups
    /// with it, and the row that they get.
    pub(crate) fn place_of_found(&self, writer: i64) -> Option<(Vec<i64>, ServerRow)> {
        let clusters = &self.clusters;
        let (hostgroups, reader, weight) = if let Some(aurora) = clusters.find_aurora(writer) {
            (aurora.hostgroups().to_vec(), aurora.reader, Some(aurora.reader_weight))
        } else if let Some(cluster) = clusters.members.iter().find(|it| it.writer == writer) {
            (cluster.hostgroups().to_vec(), cluster.reader, None)
        } else {
            let pair = self.pair_of(writer).filter(|_| self.limits.finds_rds)?;
            (vec![pair.writer, pair.reader], pair.reader, None)
        };
        let row = self.defaults.get(&reader).cloned().unwrap_or_default();
        let weight = weight.unwrap_or(row.weight);
        Some((hostgroups, ServerRow { hostgroup_id: reader, weight, ..row }))
    }

    /// The row of a server in a hostgroup.
    pub(crate) fn row(&self, hostgroup: i64, server: &Endpoint) -> Option<&ServerRow> {
        let mut rows = self.servers.iter();
        rows.find(|row| row.hostgroup_id == hostgroup && is_of(row, server))
    }

    /// The row of a server in a hostgroup, unless it is to do no work there at all.
    pub(crate) fn live_row(&self, hostgroup: i64, server: &Endpoint) -> Option<&ServerRow> {
        self.row(hostgroup, server).filter(|row| !Status::OfflineHard.is_set(row))
    }

    /// Whether a server has a row in one of these hostgroups.
    pub(crate) fn is_typed_in(&self, hostgroups: &[i64], server: &Endpoint) -> bool {
        hostgroups.iter().any(|hostgroup| self.row(*hostgroup, server).is_some())
    }

    /// The clusters of a kind that a server is a member of.
    pub(crate) fn clusters_of(&self, kind: ClusterKind, server: &Endpoint) -> Vec<Cluster> {
        let is_member = |cluster: &&Cluster| {
            let mut places = cluster.hostgroups().into_iter();
            cluster.kind == kind && places.any(|place| self.live_row(place, server).is_some())
        };
        self.clusters.members.iter().filter(is_member).copied().collect()
    }

    /// Whether a row is one of a cluster, which puts its members where they belong.
    pub(crate) fn is_in_cluster(&self, row: &ServerRow) -> bool {
        let has = |cluster: &Cluster| cluster.hostgroups().contains(&row.hostgroup_id);
        let is_of_aurora = |cluster: &Aurora| cluster.hostgroups().contains(&row.hostgroup_id);
        let Clusters { members, aurora, .. } = &self.clusters;
        !Status::OfflineHard.is_set(row)
            && (members.iter().any(has) || aurora.iter().any(is_of_aurora))
    }

    /// The pair with that hostgroup of writers.
    pub(crate) fn pair_of(&self, writer: i64) -> Option<&Pair> {
        self.clusters.pairs.iter().find(|pair| pair.writer == writer)
    }
}

fn defaults(snapshot: &Snapshot) -> BTreeMap<i64, ServerRow> {
    let row = |reader: i64| {
        let hostgroup = HostgroupId(u32::try_from(reader).ok()?);
        let own = snapshot.hostgroups.find(hostgroup)?.servers_defaults;
        let mut row = ServerRow::default();
        row.weight = own.weight.map_or(row.weight, i64::from);
        row.max_connections = own.max_connections.map_or(row.max_connections, i64::from);
        row.use_ssl = own.use_ssl.map_or(row.use_ssl, i64::from);
        Some((reader, row))
    };
    let Clusters { pairs, members, aurora } = &*snapshot.clusters;
    let readers = pairs.iter().map(|pair| pair.reader);
    let readers = readers.chain(members.iter().map(|cluster| cluster.reader));
    readers.chain(aurora.iter().map(|cluster| cluster.reader)).filter_map(row).collect()
}

fn several_writers(snapshot: &Snapshot) -> BTreeMap<i64, SeveralWriters> {
    let policy =
        |pair: &Pair| Some((pair.writer, snapshot.hostgroups.several_writers(pair.writer)?));
    snapshot.clusters.pairs.iter().filter_map(policy).collect()
}

/// Whether a row is to do work.
pub(crate) fn is_in_use(row: &ServerRow) -> bool {
    !row.status.to_ascii_uppercase().starts_with("OFFLINE")
}

/// Whether a row is one of that server.
pub(crate) fn is_of(row: &ServerRow, server: &Endpoint) -> bool {
    row.port == server.port && row.hostname == server.hostname
}
