//! The families about checks of servers: how many there were, and how they are configured.

use engine::vars::Value;

use super::text::Series;
use super::{Family, FamilySource, Labels, MetricKind, gauge};
use crate::view::View;

/// Every one of them.
pub(super) const FAMILIES: &[Family] = &[
    checks(
        "proxysql_mysql_monitor_connect_check_total",
        &[
            (&[("status", "ok")], "MySQL_Monitor_connect_check_OK"),
            (&[("status", "err")], "MySQL_Monitor_connect_check_ERR"),
        ],
    ),
    checks(
        "proxysql_mysql_monitor_ping_check_total",
        &[
            (&[("status", "ok")], "MySQL_Monitor_ping_check_OK"),
            (&[("status", "err")], "MySQL_Monitor_ping_check_ERR"),
        ],
    ),
    checks(
        "proxysql_mysql_monitor_read_only_check_total",
        &[
            (&[("status", "ok")], "MySQL_Monitor_read_only_check_OK"),
            (&[("status", "err")], "MySQL_Monitor_read_only_check_ERR"),
        ],
    ),
    checks(
        "proxysql_mysql_monitor_replication_lag_check_total",
        &[
            (&[("status", "ok")], "MySQL_Monitor_replication_lag_check_OK"),
            (&[("status", "err")], "MySQL_Monitor_replication_lag_check_ERR"),
        ],
    ),
    checks(
        "tidegate_group_replication_checks_total",
        &[
            (&[("status", "ok")], "group_replication_checks_ok"),
            (&[("status", "err")], "group_replication_checks_failed"),
        ],
    ),
    checks(
        "tidegate_galera_checks_total",
        &[
            (&[("status", "ok")], "galera_checks_ok"),
            (&[("status", "err")], "galera_checks_failed"),
        ],
    ),
    checks(
        "tidegate_aurora_checks_total",
        &[
            (&[("status", "ok")], "aurora_checks_ok"),
            (&[("status", "err")], "aurora_checks_failed"),
        ],
    ),
    checks(
        "tidegate_gtid_checks_total",
        &[(&[("status", "ok")], "gtid_checks_ok"), (&[("status", "err")], "gtid_checks_failed")],
    ),
    checks(
        "tidegate_rds_topology_checks_total",
        &[
            (&[("status", "ok")], "rds_topology_checks_ok"),
            (&[("status", "err")], "rds_topology_checks_failed"),
        ],
    ),
    Family {
        name: "tidegate_topology_changes_total",
        kind: MetricKind::Counter,
        help: "Changes of where servers stand: rows of stats_tidegate_topology_events.",
        source: FamilySource::Status(&[(&[], "topology_changes")]),
    },
    gauge("proxysql_mysql_monitor_workers", "1 while servers are checked.", |v, s| {
        switch(v, s, "mysql-monitor_enabled");
    }),
    gauge("proxysql_mysql_monitor_enabled", "mysql-monitor_enabled.", |v, s| {
        switch(v, s, "mysql-monitor_enabled");
    }),
    gauge("proxysql_mysql_monitor_ping_interval", "Seconds between pings.", |v, s| {
        from_ms(v, s, "mysql-monitor_ping_interval");
    }),
    gauge("proxysql_mysql_monitor_ping_timeout_seconds", "Seconds a ping may take.", |v, s| {
        from_ms(v, s, "mysql-monitor_ping_timeout");
    }),
    gauge(
        "proxysql_mysql_monitor_ping_max_failures",
        "Missed pings after which a server is shunned.",
        |v, s| number(v, s, "mysql-monitor_ping_max_failures"),
    ),
    gauge(
        "proxysql_mysql_monitor_aws_rds_topology_discovery_interval",
        "mysql-monitor_aws_rds_topology_discovery_interval.",
        |v, s| number(v, s, "mysql-monitor_aws_rds_topology_discovery_interval"),
    ),
    gauge(
        "proxysql_mysql_monitor_read_only_interval_seconds",
        "Seconds between checks of read_only.",
        |v, s| from_ms(v, s, "mysql-monitor_read_only_interval"),
    ),
    gauge(
        "proxysql_mysql_monitor_read_only_timeout_seconds",
        "Seconds that one may take.",
        |v, s| from_ms(v, s, "mysql-monitor_read_only_timeout"),
    ),
    gauge(
        "proxysql_mysql_monitor_writer_is_also_reader",
        "mysql-monitor_writer_is_also_reader.",
        |v, s| switch(v, s, "mysql-monitor_writer_is_also_reader"),
    ),
    gauge(
        "proxysql_monitor_replication_lag_group_by_host",
        "mysql-monitor_replication_lag_group_by_host.",
        |v, s| switch(v, s, "mysql-monitor_replication_lag_group_by_host"),
    ),
    gauge(
        "proxysql_mysql_monitor_replication_lag_interval_seconds",
        "Seconds between checks of replication lag.",
        |v, s| from_ms(v, s, "mysql-monitor_replication_lag_interval"),
    ),
    gauge(
        "proxysql_mysql_monitor_replication_lag_timeout_seconds",
        "Seconds that one may take.",
        |v, s| from_ms(v, s, "mysql-monitor_replication_lag_timeout"),
    ),
    gauge(
        "proxysql_mysql_monitor_history_timeout_seconds",
        "Seconds that results of checks are kept.",
        |v, s| from_ms(v, s, "mysql-monitor_history"),
    ),
];

/// Checks of a kind by outcome, by their names in `stats_mysql_global`.
const fn checks(name: &'static str, of: &'static [(Labels, &'static str)]) -> Family {
    Family {
        name,
        kind: MetricKind::Counter,
        help: "Checks, by outcome.",
        source: FamilySource::Status(of),
    }
}

/// The configured number of a variable.
pub(super) fn number(view: &View, series: &mut Series<'_>, name: &str) {
    if let Some(Value::Int(number)) = view.snapshot.vars.value(name) {
        series.one(number);
    }
}

/// The same of milliseconds.
fn from_ms(view: &View, series: &mut Series<'_>, name: &str) {
    if let Some(Value::Int(ms)) = view.snapshot.vars.value(name) {
        series.one(format!("{}.{:03}", ms / 1000, ms % 1000));
    }
}

/// The same of a switch.
fn switch(view: &View, series: &mut Series<'_>, name: &str) {
    if let Some(Value::Bool(is)) = view.snapshot.vars.value(name) {
        series.one(u8::from(*is));
    }
}
