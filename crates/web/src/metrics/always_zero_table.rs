//! The families that ProxySQL has and of whose kind nothing is here: always 0, because dashboards
//! and alerts ask by name. Their help says why.

use super::{Family, FamilySource, Labels, MetricKind};

/// Every one of them.
pub(super) const FAMILIES: &[Family] = &[
    counter(
        "proxysql_servers_table_version_total",
        "Always 0: versions of a configuration are in SHOW CONFIG VERSIONS.",
        ONE,
    ),
    counter(
        "proxysql_myhgm_myconnpool_get_ping_total",
        "Always 0: a ping takes no idle connection out of the pool.",
        ONE,
    ),
    counter(
        "proxysql_myhgm_auto_increment_multiplex_total",
        "Always 0: it is not counted apart from other holds: tidegate_holds_total.",
        ONE,
    ),
    counter("proxysql_gtid_consistent_queries_total", GTID, ONE),
    counter("proxysql_gtid_session_collected_total", GTID, ONE),
    counter("proxysql_backend_lagging_during_query_total", LAG, ONE),
    counter(
        "proxysql_backend_offline_during_query_total",
        "Always 0: it is not counted apart from other lost connections: tidegate_lanes_lost_total.",
        ONE,
    ),
    counter(
        "proxysql_mysql_unexpected_frontend_com_quit_total",
        "Always 0: a quit is expected at any time.",
        ONE,
    ),
    counter("proxysql_aws_aurora_replicas_skipped_during_query_total", AURORA, ONE),
    counter("proxysql_automatic_detected_sql_injection_total", FIREWALL, ONE),
    counter("proxysql_whitelisted_sqli_fingerprint_total", FIREWALL, ONE),
    gauge("proxysql_mysql_firewall_users_table_bytes", FIREWALL, ONE),
    gauge("proxysql_mysql_firewall_users_config_bytes", FIREWALL, ONE),
    gauge("proxysql_mysql_firewall_rules_table_bytes", FIREWALL, ONE),
    gauge("proxysql_mysql_firewall_rules_config_bytes", FIREWALL, ONE),
    counter("proxysql_cluster_pulled_total", CLUSTER, PULLED),
    counter("proxysql_cluster_syn_conflict_total", CLUSTER, CONFLICTS),
    gauge("proxysql_stack_memory_cluster_threads", CLUSTER, ONE),
    counter("proxysql_jemalloc_allocated_bytes_total", ALLOCATOR, ONE),
    gauge(
        "proxysql_jemalloc_bytes",
        ALLOCATOR,
        &[
            &[("type", "resident")],
            &[("type", "active")],
            &[("type", "mapped")],
            &[("type", "metadata")],
            &[("type", "retained")],
        ],
    ),
    counter("proxysql_mysql_monitor_workers_started_total", MONITOR, ONE),
    gauge("proxysql_mysql_monitor_workers_aux", MONITOR, ONE),
    counter("proxysql_mysql_monitor_dns_cache_queried", NAMES, ONE),
    counter("proxysql_mysql_monitor_dns_cache_lookup_success", NAMES, ONE),
    counter("proxysql_mysql_monitor_dns_cache_record_updated", NAMES, ONE),
    gauge("proxysql_mysql_backend_buffers_bytes", BUFFERS, ONE),
    gauge("proxysql_mysql_frontend_buffers_bytes", BUFFERS, ONE),
    gauge(
        "proxysql_sqlite3_memory_bytes",
        "Always 0: only the administrative interface knows it: stats_memory_metrics.",
        ONE,
    ),
    gauge("proxysql_stack_memory_mysql_threads_bytes", STACKS, ONE),
    gauge("proxysql_stack_memory_admin_threads_bytes", STACKS, ONE),
    gauge(
        "prepare_stmt_backend_memory_bytes",
        "Always 0: it is a part of the memory of backend connections.",
        ONE,
    ),
];

const fn counter(name: &'static str, help: &'static str, series: &'static [Labels]) -> Family {
    Family { name, kind: MetricKind::Counter, help, source: FamilySource::Nothing(series) }
}

const fn gauge(name: &'static str, help: &'static str, series: &'static [Labels]) -> Family {
    Family { name, kind: MetricKind::Gauge, help, source: FamilySource::Nothing(series) }
}

/// The only series of its family.
const ONE: &[Labels] = &[&[]];
const PULLED: &[Labels] = &[
    &[("module_name", "mysql_query_rules"), ("status", "success")],
    &[("module_name", "mysql_query_rules"), ("status", "failure")],
    &[("module_name", "mysql_servers"), ("status", "success")],
    &[("module_name", "mysql_servers"), ("status", "failure")],
    &[("module_name", "mysql_servers_replication_hostgroups"), ("status", "success")],
    &[("module_name", "mysql_servers_replication_hostgroups"), ("status", "failure")],
    &[("module_name", "mysql_servers_group_replication_hostgroups"), ("status", "success")],
    &[("module_name", "mysql_servers_group_replication_hostgroups"), ("status", "failure")],
    &[("module_name", "mysql_servers_galera_hostgroups"), ("status", "success")],
    &[("module_name", "mysql_servers_galera_hostgroups"), ("status", "failure")],
    &[("module_name", "mysql_servers_aws_aurora_hostgroups"), ("status", "success")],
    &[("module_name", "mysql_servers_aws_aurora_hostgroups"), ("status", "failure")],
    &[("module_name", "mysql_servers_hostgroup_attributes"), ("status", "success")],
    &[("module_name", "mysql_servers_hostgroup_attributes"), ("status", "failure")],
    &[("module_name", "mysql_servers_ssl_params"), ("status", "success")],
    &[("module_name", "mysql_servers_ssl_params"), ("status", "failure")],
    &[("module_name", "mysql_servers_runtime_checks"), ("status", "success")],
    &[("module_name", "mysql_servers_runtime_checks"), ("status", "failure")],
    &[("module_name", "mysql_users"), ("status", "success")],
    &[("module_name", "mysql_users"), ("status", "failure")],
    &[("module_name", "proxysql_servers"), ("status", "success")],
    &[("module_name", "proxysql_servers"), ("status", "failure")],
    &[("module_name", "mysql_variables"), ("status", "success")],
    &[("module_name", "mysql_variables"), ("status", "failure")],
    &[("module_name", "admin_variables"), ("status", "success")],
    &[("module_name", "admin_variables"), ("status", "failure")],
    &[("module_name", "ldap_variables"), ("status", "success")],
    &[("module_name", "ldap_variables"), ("status", "failure")],
    &[("module_name", "mysql_ldap_mapping"), ("status", "success")],
    &[("module_name", "mysql_ldap_mapping"), ("status", "failure")],
];
const CONFLICTS: &[Labels] = &[
    &[("module_name", "mysql_query_rules"), ("reason", "servers_share_epoch")],
    &[("module_name", "mysql_query_rules"), ("reason", "version_one")],
    &[("module_name", "mysql_servers"), ("reason", "servers_share_epoch")],
    &[("module_name", "mysql_servers"), ("reason", "version_one")],
    &[("module_name", "proxysql_servers"), ("reason", "servers_share_epoch")],
    &[("module_name", "proxysql_servers"), ("reason", "version_one")],
    &[("module_name", "mysql_users"), ("reason", "servers_share_epoch")],
    &[("module_name", "mysql_users"), ("reason", "version_one")],
    &[("module_name", "mysql_variables"), ("reason", "servers_share_epoch")],
    &[("module_name", "mysql_variables"), ("reason", "version_one")],
    &[("module_name", "admin_variables"), ("reason", "servers_share_epoch")],
    &[("module_name", "admin_variables"), ("reason", "version_one")],
    &[("module_name", "ldap_variables"), ("reason", "servers_share_epoch")],
    &[("module_name", "ldap_variables"), ("reason", "version_one")],
];

const ALLOCATOR: &str = "Always 0: the allocator is the system's: ADR 005.";
const AURORA: &str = "Always 0: replicas that a query's max_lag_ms leaves out are not counted.";
const BUFFERS: &str = "Always 0: buffers are the loops', which lend them for one call.";
const CLUSTER: &str = "Always 0: there is no cluster in this version.";
const FIREWALL: &str = "Always 0: there is no firewall in this version.";
const GTID: &str = "Always 0: there are no causal reads in this version.";
const LAG: &str = "Always 0: a running query goes on; a server that lags gets no new one.";
const MONITOR: &str = "Always 0: one thread checks all servers.";
const NAMES: &str = "Always 0: names are looked up once for all, and not for each check.";
const STACKS: &str =
    "Always 0: the system does not tell stacks apart; process_resident_memory_bytes has them.";
