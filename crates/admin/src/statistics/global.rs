//! `stats_mysql_global`: counters of the whole process, by ProxySQL's names.
//!
//! What does not exist here is 0, because collectors ask by name.

use engine::clusters;
use engine::stats::{Counters, Parts, Walk};
use monitor::Check;

use super::always_zero_table::COUNTERS;
use super::{LiveTable, Row, Seen, text};

pub(super) const TABLE: LiveTable = LiveTable {
    name: "stats_mysql_global",
    parts: Some(Parts {
        servers: true,
        sessions: Some(Walk::SUMS),
        lanes: Some(Walk::SUMS),
        ..Parts::NONE
    }),
    rows,
};

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    let counters = &seen.collected.counters;
    let nothing = COUNTERS.iter().flat_map(|(_, names)| names.iter().map(|name| (*name, 0)));
    let pairs = counted(counters).into_iter().chain(of_our_own(counters)).chain(present(seen));
    let pairs = pairs.chain(nothing).chain(checks(seen));
    let mut rows: Vec<Row> =
        pairs.map(|(name, value)| vec![text(name), text(value.to_string())]).collect();
    // ProxySQL has nothing like it
    rows.extend(
        counters.holds.pairs().map(|(reason, count)| {
            vec![text(format!("held_for_{reason}")), text(count.to_string())]
        }),
    );
    rows.sort_by_key(|row| format!("{:?}", row.first()));
    rows
}

/// What only grows.
fn counted(counters: &Counters) -> Vec<(&'static str, u64)> {
    let c = counters;
    vec![
        ("Access_Denied_Max_Connections", c.denied_max_connections),
        ("Access_Denied_Max_User_Connections", c.denied_max_user_connections),
        ("Access_Denied_Wrong_Password", c.denied_password),
        ("Backend_query_time_nsec", c.backend_time_us.saturating_mul(1000)),
        ("Client_Connections_aborted", c.clients_aborted),
        ("Client_Connections_created", c.clients_created),
        ("Com_autocommit", c.autocommits),
        ("Com_autocommit_filtered", c.autocommits_filtered),
        ("Com_backend_change_user", 0),
        ("Com_backend_init_db", c.lane_init_dbs),
        ("Com_backend_set_names", c.lane_set_names),
        ("Com_backend_stmt_close", c.lane_closes),
        ("Com_backend_stmt_execute", c.lane_executes),
        ("Com_backend_stmt_prepare", c.lane_prepares),
        ("Com_commit", c.commits),
        ("Com_commit_filtered", c.commits_filtered),
        ("Com_frontend_init_db", c.init_dbs),
        ("Com_frontend_set_names", c.set_names),
        ("Com_frontend_stmt_close", c.closes),
        ("Com_frontend_stmt_execute", c.executes),
        ("Com_frontend_stmt_prepare", c.prepares),
        ("Com_frontend_use_db", c.use_dbs),
        ("Com_rollback", c.rollbacks),
        ("Com_rollback_filtered", c.rollbacks_filtered),
        ("ConnPool_get_conn_failure", c.checkouts_failed),
        ("ConnPool_get_conn_immediate", c.checkouts_idle),
        ("ConnPool_get_conn_success", c.checkouts),
        ("MyHGM_myconnpoll_destroy", c.lanes_dropped),
        ("MyHGM_myconnpoll_get", c.checkouts + c.checkouts_failed),
        ("MyHGM_myconnpoll_get_ok", c.checkouts),
        ("MyHGM_myconnpoll_push", c.checkins),
        ("MyHGM_myconnpoll_reset", c.lanes_reset),
        ("Query_Cache_bytes_IN", c.cache_bytes_kept),
        ("Query_Cache_bytes_OUT", c.cache_bytes_told),
        ("Query_Cache_count_GET", c.cache_lookups),
        ("Query_Cache_count_GET_OK", c.cache_hits),
        ("Query_Cache_count_SET", c.cache_fills),
        ("Queries_frontends_bytes_recv", c.client_bytes_received),
        ("Queries_frontends_bytes_sent", c.client_bytes_sent),
        ("Questions", c.queries),
        ("Selects_for_update__autocommit0", c.selects_for_update),
        ("Server_Connections_aborted", c.lanes_failed + c.lanes_lost),
        ("Server_Connections_created", c.lanes_created),
        ("Server_Connections_delayed", c.dials_delayed),
        ("ConnPool_get_conn_latency_awareness", c.checkouts_quick),
        ("queries_with_max_lag_ms", c.lag_limited),
        ("queries_with_max_lag_ms__delayed", c.lag_limit_waits),
        ("queries_with_max_lag_ms__total_wait_time_us", c.lag_limit_wait_us),
        ("Slow_queries", c.slow),
        ("client_host_error_killed_connections", c.hosts_refused),
        ("generated_error_packets", c.errors_generated),
        ("hostgroup_locked_queries", c.pinned_queries),
        ("hostgroup_locked_set_cmds", c.sets_pinned),
        ("max_connect_timeouts", c.connect_timeouts),
        ("mysql_killed_backend_connections", 0),
        ("mysql_killed_backend_queries", c.kills_sent),
        ("mysql_unexpected_frontend_packets", c.client_faults),
    ]
}

/// What ProxySQL does not count, by the names of the documentation.
fn of_our_own(counters: &Counters) -> impl Iterator<Item = (&'static str, u64)> + '_ {
    let families = [
        "cache_coalesce",
        "proxy_headers",
        "uncached_",
        "unkept_",
        "tls_",
        "shared_",
        "unshared_",
        "diagnostics_",
        "login_checks_",
        "mirror",
        "redirects_",
        "stored_code_",
    ];
    let alone = [
        "cache_stale_told",
        "clients_redirected",
        "server_stalls",
        "server_tls_failures",
        "delayed",
        "denied_without_tls",
        "logins_held_up",
        "long_commands_refused",
        "newcomers_gave_way",
        "timed_out",
        "unfinished_commands",
    ];
    counters.pairs().filter(move |(name, _)| {
        alone.contains(name) || families.iter().any(|family| name.starts_with(family))
    })
}

/// What checks of servers came to.
fn checks(seen: &Seen<'_>) -> Vec<(&'static str, u64)> {
    const NAMES: [(&str, &str, Check); 9] = [
        ("MySQL_Monitor_connect_check_OK", "MySQL_Monitor_connect_check_ERR", Check::Connect),
        ("MySQL_Monitor_ping_check_OK", "MySQL_Monitor_ping_check_ERR", Check::Ping),
        (
            "MySQL_Monitor_read_only_check_OK",
            "MySQL_Monitor_read_only_check_ERR",
            Check::ReadOnly(clusters::Check::ReadOnly),
        ),
        (
            "MySQL_Monitor_replication_lag_check_OK",
            "MySQL_Monitor_replication_lag_check_ERR",
            Check::Lag(None),
        ),
        ("group_replication_checks_ok", "group_replication_checks_failed", Check::Group),
        ("galera_checks_ok", "galera_checks_failed", Check::Galera),
        ("aurora_checks_ok", "aurora_checks_failed", Check::Aurora(0)),
        ("gtid_checks_ok", "gtid_checks_failed", Check::Gtids),
        ("rds_topology_checks_ok", "rds_topology_checks_failed", Check::Rds),
    ];
    let checks = &seen.checks;
    let of_kind = |(ok, failed, check): (&'static str, &'static str, Check)| {
        let counts = checks.of(check);
        [(ok, counts.ok), (failed, counts.failed)]
    };
    let mut counted: Vec<_> = NAMES.into_iter().flat_map(of_kind).collect();
    counted.push(("topology_changes", checks.changes));
    counted.push(("MySQL_Monitor_Workers", u64::from(seen.snapshot.vars.monitor_enabled)));
    counted
}

/// What is so now.
fn present(seen: &Seen<'_>) -> Vec<(&'static str, u64)> {
    let all = seen.collected;
    let (sessions, lanes) = (&all.session_page, &all.pool_page);
    let shares = all.servers.values();
    let (sent, received) = shares.fold((0, 0), |(sent, received), share| {
        let traffic = share.counters.ended;
        (sent + traffic.bytes_sent, received + traffic.bytes_received)
    });
    let count = |number: usize| number as u64;
    let is_shut = seen.runtime.is_some_and(|runtime| !runtime.is_open());
    vec![
        ("Query_Cache_Entries", all.cache.entries),
        ("Query_Cache_Memory_bytes", all.cache.bytes),
        ("Query_Cache_Purged", all.cache.purged),
        ("Active_Transactions", count(sessions.in_transaction)),
        ("Client_Connections_connected", count(all.sessions)),
        ("Client_Connections_hostgroup_locked", count(sessions.pinned)),
        ("Client_Connections_non_idle", count(sessions.busy)),
        ("ConnPool_memory_bytes", count(lanes.bytes)),
        ("Mirror_concurrency", count(all.mirrors)),
        ("Mirror_queue_length", count(all.mirrors_queued)),
        ("MySQL_Thread_Workers", count(all.workers)),
        ("ProxySQL_Uptime", all.uptime_us / 1_000_000),
        ("Queries_backends_bytes_recv", received),
        ("Queries_backends_bytes_sent", sent),
        ("Query_Processor_time_nsec", all.processor_ns),
        ("Server_Connections_shared", count(all.lanes_shared)),
        ("SQLite3_memory_bytes", seen.interface.sqlite_bytes),
        ("Server_Connections_connected", count(all.lanes)),
        ("Servers_table_version", seen.interface.servers_version),
        ("Stmt_Cached", all.stmt_counts.cached),
        ("Stmt_Client_Active_Total", all.stmt_counts.client_total),
        ("Stmt_Client_Active_Unique", all.stmt_counts.client_unique),
        ("Stmt_Max_Stmt_id", all.stmt_counts.max_number),
        ("Stmt_Server_Active_Total", all.stmt_counts.server_total),
        ("Stmt_Server_Active_Unique", all.stmt_counts.server_unique),
        ("admin_connections_refused", seen.interface.turned_away),
        ("mysql_listener_paused", u64::from(is_shut)),
        ("mysql_session_internal_bytes", count(sessions.bytes)),
    ]
}
