//! The families that ProxySQL has, too: its names, labels and kinds.

use engine::stats::ServerShare;
use engine::topology::Server;

use super::monitor_table::number;
use super::text::{Series, seconds};
use super::{Family, FamilySource, MetricKind, counter, gauge};
use crate::view::{Serving, View};

/// Every family whose numbers are known here.
pub(super) const FAMILIES: &[Family] = &[
    counts(
        "proxysql_questions_total",
        "Commands of clients that ask for an answer.",
        &[(&[], "Questions")],
    ),
    counts(
        "proxysql_slow_queries_total",
        "Queries that took longer than mysql-long_query_time.",
        &[(&[], "Slow_queries")],
    ),
    counter(
        "proxysql_query_cache_count_get_total",
        "Statements looked for in the query cache: found there, or not.",
        cache_lookups,
    ),
    counts(
        "proxysql_query_cache_count_set_total",
        "Answers kept in the query cache.",
        &[(&[], "Query_Cache_count_SET")],
    ),
    counts(
        "proxysql_query_cache_bytes_total",
        "Bytes of answers: kept in the query cache, and told from it.",
        &[
            (&[("op", "written")], "Query_Cache_bytes_IN"),
            (&[("op", "read")], "Query_Cache_bytes_OUT"),
        ],
    ),
    counts(
        "proxysql_query_cache_purged_total",
        "Answers that left the query cache.",
        &[(&[], "Query_Cache_Purged")],
    ),
    counts(
        "proxysql_query_cache_entries_total",
        "Answers in the query cache now.",
        &[(&[], "Query_Cache_Entries")],
    ),
    is_now(
        "proxysql_query_cache_memory_bytes",
        "Bytes of answers in the query cache now, with their keys.",
        &[(&[], "Query_Cache_Memory_bytes")],
    ),
    counts(
        "proxysql_client_connections_total",
        "Client connections, by outcome.",
        &[
            (&[("status", "created")], "Client_Connections_created"),
            (&[("status", "aborted")], "Client_Connections_aborted"),
        ],
    ),
    counts(
        "proxysql_server_connections_total",
        "Backend connections, by outcome.",
        &[
            (&[("status", "created")], "Server_Connections_created"),
            (&[("status", "aborted")], "Server_Connections_aborted"),
            (&[("status", "delayed")], "Server_Connections_delayed"),
        ],
    ),
    is_now(
        "proxysql_client_connections_connected",
        "Client connections now.",
        &[(&[], "Client_Connections_connected")],
    ),
    is_now(
        "proxysql_client_connections_non_idle",
        "Client connections with a command in flight.",
        &[(&[], "Client_Connections_non_idle")],
    ),
    is_now(
        "proxysql_client_connections_hostgroup_locked",
        "Client connections that keep a backend connection.",
        &[(&[], "Client_Connections_hostgroup_locked")],
    ),
    is_now(
        "proxysql_server_connections_connected",
        "Backend connections now.",
        &[(&[], "Server_Connections_connected")],
    ),
    is_now(
        "proxysql_active_transactions",
        "Client connections in a transaction.",
        &[(&[], "Active_Transactions")],
    ),
    counts(
        "proxysql_access_denied_wrong_password_total",
        "Logins refused: wrong user or password.",
        &[(&[], "Access_Denied_Wrong_Password")],
    ),
    counts(
        "proxysql_access_denied_max_connections_total",
        "Logins refused: the process is full.",
        &[(&[], "Access_Denied_Max_Connections")],
    ),
    counts(
        "proxysql_access_denied_max_user_connections_total",
        "Logins refused: the account is full.",
        &[(&[], "Access_Denied_Max_User_Connections")],
    ),
    counts(
        "proxysql_client_host_error_killed_connections",
        "Clients closed because their address failed to log in too often.",
        &[(&[], "client_host_error_killed_connections")],
    ),
    counts(
        "proxysql_com_autocommit_total",
        "SET autocommit of clients.",
        &[(&[], "Com_autocommit")],
    ),
    counts(
        "proxysql_com_autocommit_filtered_total",
        "Of those, sent to no server.",
        &[(&[], "Com_autocommit_filtered")],
    ),
    counts("proxysql_com_rollback_total", "ROLLBACK of clients.", &[(&[], "Com_rollback")]),
    counts(
        "proxysql_com_rollback_filtered_total",
        "Of those, sent to no server.",
        &[(&[], "Com_rollback_filtered")],
    ),
    counts("proxysql_com_commit_cnt_total", "COMMIT of clients.", &[(&[], "Com_commit")]),
    counts(
        "proxysql_com_commit_cnt_filtered_total",
        "Of those, sent to no server.",
        &[(&[], "Com_commit_filtered")],
    ),
    counts(
        "proxysql_com_backend_change_user_total",
        "Changes of user on backend connections.",
        &[(&[], "Com_backend_change_user")],
    ),
    counts(
        "proxysql_com_backend_init_db_total",
        "Changes of schema on backend connections.",
        &[(&[], "Com_backend_init_db")],
    ),
    counts(
        "proxysql_com_backend_set_names_total",
        "SET NAMES on backend connections.",
        &[(&[], "Com_backend_set_names")],
    ),
    counts(
        "proxysql_com_frontend_init_db_total",
        "Changes of schema by clients, as a command.",
        &[(&[], "Com_frontend_init_db")],
    ),
    counts(
        "proxysql_com_frontend_set_names_total",
        "SET NAMES of clients.",
        &[(&[], "Com_frontend_set_names")],
    ),
    counts(
        "proxysql_com_frontend_use_db_total",
        "USE of clients.",
        &[(&[], "Com_frontend_use_db")],
    ),
    counts(
        "proxysql_com_backend_stmt_total",
        "Prepared statements on servers, by command.",
        &[
            (&[("op", "prepare")], "Com_backend_stmt_prepare"),
            (&[("op", "execute")], "Com_backend_stmt_execute"),
            (&[("op", "close")], "Com_backend_stmt_close"),
        ],
    ),
    counts(
        "proxysql_com_frontend_stmt_total",
        "Prepared statements of clients, by command.",
        &[
            (&[("op", "prepare")], "Com_frontend_stmt_prepare"),
            (&[("op", "execute")], "Com_frontend_stmt_execute"),
            (&[("op", "close")], "Com_frontend_stmt_close"),
        ],
    ),
    counts(
        "proxysql_selects_for_update__autocommit0_total",
        "SELECT FOR UPDATE while autocommit is off.",
        &[(&[], "Selects_for_update__autocommit0")],
    ),
    counts(
        "proxysql_connpool_get_conn_success_total",
        "Checkouts that got a backend connection.",
        &[(&[], "ConnPool_get_conn_success")],
    ),
    counts(
        "proxysql_connpool_get_conn_success_immediate_total",
        "Checkouts served at once by an idle connection.",
        &[(&[], "ConnPool_get_conn_immediate")],
    ),
    counts(
        "proxysql_connpool_get_conn_success_latency_awareness_total",
        "Checkouts for which servers with slow pings were left out.",
        &[(&[], "ConnPool_get_conn_latency_awareness")],
    ),
    counts(
        "proxysql_queries_with_max_lag_total",
        "Queries that asked for servers within a lag.",
        &[(&[], "queries_with_max_lag_ms")],
    ),
    counts(
        "proxysql_queries_with_max_lag__delayed_total",
        "Of these, queries that waited for such a server.",
        &[(&[], "queries_with_max_lag_ms__delayed")],
    ),
    counts(
        "proxysql_queries_with_max_lag__total_wait_time_total",
        "Microseconds that these waited.",
        &[(&[], "queries_with_max_lag_ms__total_wait_time_us")],
    ),
    counts(
        "proxysql_connpool_get_conn_failure_total",
        "Checkouts that failed for good.",
        &[(&[], "ConnPool_get_conn_failure")],
    ),
    counts(
        "proxysql_myhgm_myconnpool_get_total",
        "Checkouts asked for.",
        &[(&[], "MyHGM_myconnpoll_get")],
    ),
    counts(
        "proxysql_myhgm_myconnpool_get_ok_total",
        "Checkouts that got a backend connection.",
        &[(&[], "MyHGM_myconnpoll_get_ok")],
    ),
    counts(
        "proxysql_myhgm_myconnpool_push_total",
        "Backend connections that went back to the pool.",
        &[(&[], "MyHGM_myconnpoll_push")],
    ),
    counts(
        "proxysql_myhgm_myconnpool_reset_total",
        "Backend connections that were reset.",
        &[(&[], "MyHGM_myconnpoll_reset")],
    ),
    counts(
        "proxysql_myhgm_myconnpool_destroy_total",
        "Backend connections that could not go back.",
        &[(&[], "MyHGM_myconnpoll_destroy")],
    ),
    counts(
        "proxysql_queries_frontends_bytes_total",
        "Bytes to and from clients.",
        &[
            (&[("traffic_flow", "received")], "Queries_frontends_bytes_recv"),
            (&[("traffic_flow", "sent")], "Queries_frontends_bytes_sent"),
        ],
    ),
    counts(
        "proxysql_queries_backends_bytes_total",
        "Bytes to and from servers.",
        &[
            (&[("traffic_flow", "received")], "Queries_backends_bytes_recv"),
            (&[("traffic_flow", "sent")], "Queries_backends_bytes_sent"),
        ],
    ),
    counts(
        "proxysql_generated_error_packets_total",
        "Errors that clients got from the proxy itself.",
        &[(&[], "generated_error_packets")],
    ),
    counts(
        "proxysql_max_connect_timeouts_total",
        "Waits for a connection that were given up.",
        &[(&[], "max_connect_timeouts")],
    ),
    counts(
        "proxysql_hostgroup_locked_queries_total",
        "Queries of sessions that keep a backend connection.",
        &[(&[], "hostgroup_locked_queries")],
    ),
    counts(
        "proxysql_hostgroup_locked_set_cmds_total",
        "SETs for which a session keeps its backend connection.",
        &[(&[], "hostgroup_locked_set_cmds")],
    ),
    counts(
        "proxysql_mysql_killed_backend_connections_total",
        "Backend connections killed for a client.",
        &[(&[], "mysql_killed_backend_connections")],
    ),
    counts(
        "proxysql_mysql_killed_backend_queries_total",
        "Queries killed on a server for a client.",
        &[(&[], "mysql_killed_backend_queries")],
    ),
    counts(
        "proxysql_mysql_unexpected_frontend_packets_total",
        "Clients that broke the protocol.",
        &[(&[], "mysql_unexpected_frontend_packets")],
    ),
    is_now(
        "proxysql_mirror_concurrency",
        "Copies of queries that run now.",
        &[(&[], "Mirror_concurrency")],
    ),
    is_now(
        "proxysql_mirror_queue_lengths",
        "Copies of queries that wait now.",
        &[(&[], "Mirror_queue_length")],
    ),
    is_now(
        "proxysql_connpool_memory_bytes",
        "Memory of backend connections.",
        &[(&[], "ConnPool_memory_bytes")],
    ),
    is_now(
        "proxysql_mysql_session_internal_bytes",
        "Memory of client connections.",
        &[(&[], "mysql_session_internal_bytes")],
    ),
    is_now(
        "proxysql_stmt_client_active",
        "Prepared statements that clients hold.",
        &[(&[], "Stmt_Client_Active_Total")],
    ),
    is_now(
        "proxysql_stmt_client_active_unique",
        "Texts of them, each once.",
        &[(&[], "Stmt_Client_Active_Unique")],
    ),
    is_now(
        "proxysql_stmt_server_active",
        "Statements prepared on servers.",
        &[(&[], "Stmt_Server_Active_Total")],
    ),
    is_now(
        "proxysql_stmt_server_active_unique",
        "Texts of them, each once.",
        &[(&[], "Stmt_Server_Active_Unique")],
    ),
    is_now(
        "proxysql_stmt_max_stmt_id",
        "Highest number that a statement got.",
        &[(&[], "Stmt_Max_Stmt_id")],
    ),
    is_now("proxysql_stmt_cached", "Texts that are remembered.", &[(&[], "Stmt_Cached")]),
    is_now(
        "proxysql_mysql_query_rules_memory_bytes",
        "Memory of query rules as they were typed.",
        &[(&[], "mysql_query_rules_memory")],
    ),
    gauge(
        "prepare_stmt_metadata_memory_bytes",
        "Memory of the texts that clients prepared.",
        |v, s| s.one(v.collected.session_page.statement_bytes),
    ),
    counter(
        "proxysql_query_processor_time_seconds_total",
        "Time for digests and rules.",
        |v, s| {
            nanoseconds(v, s, "Query_Processor_time_nsec");
        },
    ),
    counter("proxysql_backend_query_time_seconds_total", "Time waiting for servers.", |v, s| {
        nanoseconds(v, s, "Backend_query_time_nsec");
    }),
    counter("proxysql_uptime_seconds_total", "Seconds since the process began.", |v, s| {
        s.one(v.uptime_s);
    }),
    gauge("proxysql_version_info", "Always 1; the labels say the version.", |v, s| {
        s.add(&[("version", &v.version), ("version_comment", &"Tidegate")], 1);
    }),
    gauge("proxysql_mysql_thread_workers", "Worker threads.", |v, s| s.one(v.workers)),
    gauge("proxysql_mysql_listener_paused", "1 while no clients are accepted.", |v, s| {
        s.one(u8::from(v.serving != Serving::Open));
    }),
    gauge("proxysql_fds_in_use", "Files and sockets that are open.", |v, s| {
        s.one(v.system.open_files);
    }),
    gauge("proxysql_query_digest_memory_bytes", "Memory of what is counted by digest.", |v, s| {
        s.one(v.collected.digest_bytes);
    }),
    gauge("proxysql_auth_memory_bytes", "Memory of accounts.", |v, s| {
        s.one(v.snapshot.users.iter().map(|account| account.bytes()).sum::<usize>());
    }),
    gauge(
        "proxysql_connpool_conns_status",
        "1 ONLINE, 2 SHUNNED, 3 OFFLINE_SOFT, 4 OFFLINE_HARD, 5 SHUNNED_REPLICATION_LAG.",
        |v, s| {
            for server in v.snapshot.topology.servers() {
                let endpoint = endpoint(server);
                let labels: &[(&str, &dyn std::fmt::Display)] =
                    &[("hostgroup", &server.hostgroup.0), ("endpoint", &endpoint)];
                s.add(labels, status_of(server, v));
            }
        },
    ),
    gauge("proxysql_connpool_conns", "Backend connections by use.", |v, s| {
        each_server(v, s, ("status", "free"), |share| u64::from(share.idle));
        each_server(v, s, ("status", "used"), |share| {
            u64::from(share.counters.open.saturating_sub(share.idle))
        });
    }),
    counter("proxysql_connpool_conns_total", "Backend connections by outcome.", |v, s| {
        each_server(v, s, ("status", "ok"), |share| share.counters.opened);
        each_server(v, s, ("status", "err"), |share| share.counters.failed);
    }),
    counter("proxysql_connpool_conns_queries_total", "Queries that a server got.", |v, s| {
        each_server(v, s, NO_LABEL, |share| share.counters.ended.queries);
    }),
    counter("proxysql_connpool_data_bytes_total", "Bytes to and from a server.", |v, s| {
        each_server(v, s, ("traffic_flow", "sent"), |share| share.counters.ended.bytes_sent);
        each_server(v, s, ("traffic_flow", "recv"), |share| share.counters.ended.bytes_received);
    }),
    gauge("proxysql_connpool_conns_latency_us", "Time of the last login.", |v, s| {
        each_server(v, s, NO_LABEL, |share| share.counters.login_us);
    }),
    counter("mysql_error_total", "Errors of servers, and connections that failed.", |v, s| {
        let mut sums = std::collections::BTreeMap::new();
        for row in v.collected.errors.rows() {
            let key = (row.hostgroup, row.hostname.as_str(), row.port, row.code);
            *sums.entry(key).or_insert(0) += row.count;
        }
        for ((hostgroup, address, port, code), count) in sums {
            s.add(
                &[
                    ("hostgroup", &hostgroup),
                    ("address", &address),
                    ("port", &port),
                    ("code", &code),
                ],
                count,
            );
        }
    }),
    gauge("proxysql_mysql_wait_timeout", "Milliseconds that a client may be idle.", |v, s| {
        number(v, s, "mysql-wait_timeout");
    }),
    gauge("proxysql_mysql_max_connections", "Most client connections at a time.", |v, s| {
        number(v, s, "mysql-max_connections");
    }),
];

/// Counters by their names in `stats_mysql_global`.
const fn counts(
    name: &'static str,
    help: &'static str,
    of: &'static [(super::Labels, &'static str)],
) -> Family {
    Family { name, kind: MetricKind::Counter, help, source: FamilySource::Status(of) }
}

/// The same of what is so now.
const fn is_now(
    name: &'static str,
    help: &'static str,
    of: &'static [(super::Labels, &'static str)],
) -> Family {
    Family { name, kind: MetricKind::Gauge, help, source: FamilySource::Status(of) }
}

/// One series for each server that workers tell of.
fn each_server(
    view: &View,
    series: &mut Series<'_>,
    (label, value): (&str, &str),
    number: impl Fn(&ServerShare) -> u64,
) {
    for share in view.collected.servers.values() {
        let endpoint = endpoint(&share.server);
        let hostgroup = share.server.hostgroup.0;
        let labels: [(&str, &dyn std::fmt::Display); 3] =
            [("hostgroup", &hostgroup), ("endpoint", &endpoint), (label, &value)];
        let used = if label.is_empty() { 2 } else { 3 };
        series.add(labels.get(..used).unwrap_or_default(), number(share));
    }
}

/// For families whose series differ by server alone.
const NO_LABEL: (&str, &str) = ("", "");

/// A server's address as ProxySQL writes it: with a port, be it 0.
pub(super) fn endpoint(server: &Server) -> String {
    format!("{}:{}", server.hostname, server.port)
}

fn status_of(server: &Server, view: &View) -> u8 {
    match server.state(view.collected.now_us).shown() {
        "ONLINE" => 1,
        "OFFLINE_SOFT" => 3,
        "OFFLINE_HARD" => 4,
        "SHUNNED_REPLICATION_LAG" => 5,
        _ => 2,
    }
}

/// A status of nanoseconds.
fn nanoseconds(view: &View, series: &mut Series<'_>, name: &str) {
    if let Some(number) = view.status.get(name) {
        series.one(seconds(number / 1000));
    }
}

fn cache_lookups(view: &View, series: &mut Series<'_>) {
    let counters = &view.collected.counters;
    series.add(&[("status", &"ok")], counters.cache_hits);
    series.add(&[("status", &"err")], counters.cache_lookups - counters.cache_hits);
}
