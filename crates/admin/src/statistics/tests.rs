//! Rows out of what was seen, and the names of counters against those recorded from ProxySQL.

use std::collections::{BTreeMap, BTreeSet};

use engine::ids::HostgroupId;
use engine::rows::{ServerRow, UserRow};
use engine::snapshot::Draft;
use engine::stats::{QueryEnd, ServerShare, ServerStats};
use engine::topology::ServerRef;

use super::*;

/// Something to look at, and whoever looks.
struct Stage {
    collected: Collected,
    snapshot: Snapshot,
    pool_since: Mutex<PoolSince>,
}

impl Stage {
    fn new() -> Self {
        let server = |port| ServerRow { hostname: "db".into(), port, ..ServerRow::default() };
        let user = UserRow { username: "app".into(), ..UserRow::default() };
        let draft =
            Draft { servers: vec![server(1), server(2)], users: vec![user], ..Draft::default() };
        let snapshot = Snapshot::compile(&draft).expect("it is right");
        let collected = Collected { now_us: 9_000_000, ..Collected::default() };
        Self { collected, snapshot, pool_since: Mutex::default() }
    }

    /// The rows of a table, columns by name.
    fn read(&self, name: &str, reset: bool) -> Vec<BTreeMap<String, String>> {
        let Self { collected, snapshot, pool_since } = self;
        let unix_us = 1_700_000_009_000_000;
        let interface = OfInterface { sqlite_bytes: 4096, turned_away: 3, servers_version: 5 };
        let runtime = None;
        let checks = monitor::Totals::default();
        let seen =
            Seen { collected, snapshot, unix_us, pool_since, interface, checks, runtime, reset };
        let (columns, rows) = rows_of(name, &seen).expect("it is a live table");
        let named = |row: Row| {
            assert_eq!(row.len(), columns.len(), "{name}");
            let names = columns.iter().map(|name| (*name).to_owned());
            names.zip(row.iter().map(crate::rows::as_text)).collect()
        };
        rows.into_iter().map(named).collect()
    }

    /// What a worker tells of a server.
    fn tell(&mut self, server: &ServerRef, queries: u64, used_max: u32) {
        let mut stats = ServerStats::default();
        let counters = stats.of(server.index).expect("made");
        counters.ended.queries = queries;
        counters.used_max = used_max;
        counters.open = 3;
        let share = ServerShare { idle: 1, ..stats.share(server) };
        self.collected.servers.insert(server.index, share);
    }
}

fn columns<'a>(row: &'a BTreeMap<String, String>, names: &[&str]) -> Vec<&'a str> {
    names.iter().map(|name| row[*name].as_str()).collect()
}

#[test]
fn the_pool_shows_every_server_and_a_reset_begins_anew_what_is_a_sum() {
    let mut stage = Stage::new();
    let server = stage.snapshot.topology.servers()[0].clone();
    stage.tell(&server, 5, 2);
    let names = ["srv_port", "status", "ConnUsed", "ConnFree", "Queries", "MaxConnUsed"];
    let pool = |stage: &Stage, reset| {
        let rows = stage.read("stats_mysql_connection_pool", reset);
        rows.iter().map(|row| columns(row, &names).join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(pool(&stage, false), ["1 ONLINE 2 1 5 2"]);
    assert_eq!(pool(&stage, true), ["1 ONLINE 2 1 5 2"]);
    stage.tell(&server, 12, 1);
    assert_eq!(pool(&stage, false), ["1 ONLINE 2 1 7 1"]);
    // a server that was removed and came back counts from zero
    stage.tell(&server, 4, 1);
    assert_eq!(pool(&stage, false), ["1 ONLINE 2 1 4 1"]);
    server.gauge.on_fault(engine::topology::LastFault::Timeout, 8_000_000, 1, 60_000_000);
    assert_eq!(pool(&stage, false), ["1 SHUNNED 2 1 4 1"]);
    stage.snapshot = Snapshot::compile(&Draft::default()).expect("nothing is wrong in nothing");
    assert_eq!(pool(&stage, false), ["1 OFFLINE_HARD 2 1 4 1"]);
}

#[test]
fn what_keeps_a_server_from_being_asked_is_shown_beside_its_status() {
    let mut stage = Stage::new();
    let server = stage.snapshot.topology.servers()[0].clone();
    let told = |since_us| ServerShare {
        still_workers: u32::from(since_us < u64::MAX),
        still_since_us: since_us,
        ..ServerStats::default().share(&server)
    };
    let names = ["status", "last_fault", "shunned_ms", "still_workers", "still_ms"];
    let shown =
        |stage: &Stage| columns(&stage.read("stats_tidegate_servers", false)[0], &names).join("|");
    stage.collected.servers.insert(server.index, told(u64::MAX));
    assert_eq!(shown(&stage), "ONLINE||0|0|0");
    let share = stage.collected.servers.get_mut(&server.index).expect("told");
    share.merge(&told(8_500_000));
    share.merge(&told(8_000_000));
    assert_eq!(shown(&stage), "ONLINE||0|2|1000");
    server.gauge.on_fault(engine::topology::LastFault::Timeout, 8_000_000, 1, 60_000_000);
    assert_eq!(shown(&stage), "SHUNNED|connect timeout|59000|2|1000");
}

#[test]
fn digests_add_up_with_those_that_found_no_room() {
    let mut stage = Stage::new();
    assert_eq!(stage.read("stats_mysql_query_digest", false), [], "all found room");
    stage.collected.digests = engine::stats::DigestStats::new(0, 1);
    for digest in 0..5000 {
        let end = QueryEnd {
            hostgroup: Some(HostgroupId(3)),
            user: b"app",
            digest_text: b"SELECT ?",
            ..QueryEnd::default()
        };
        stage.collected.digests.record(8_500_000, digest, &end, false);
    }
    let rows = stage.read("stats_mysql_query_digest", false);
    let sum: u64 = rows.iter().map(|row| row["count_star"].parse::<u64>().expect("a number")).sum();
    assert_eq!(sum, 5000);
    let last = rows.last().expect("there are some");
    assert_eq!(columns(last, &["hostgroup", "digest"]), ["-1", "0x0000000000000000"]);
    let first = columns(&rows[0], &["hostgroup", "digest_text", "username", "last_seen"]);
    assert_eq!(first, ["3", "SELECT ?", "app", "1700000008"]);
}

#[test]
fn accounts_are_shown_with_their_clients_and_limits() {
    let stage = Stage::new();
    stage.snapshot.users.find(b"app").expect("it is there").admit().expect("there is room");
    let rows = stage.read("stats_mysql_users", false);
    let names = ["username", "frontend_connections", "frontend_max_connections"];
    assert_eq!(columns(&rows[0], &names), ["app", "1", "10000"]);
}

#[test]
fn connections_of_accounts_are_shown_by_server_with_their_limits() {
    let stage = Stage::new();
    let app = stage.snapshot.users.find(b"app").expect("it is there");
    let server = &stage.snapshot.topology.servers()[0];
    assert_eq!(stage.read("stats_tidegate_users", false), []);
    assert!(app.backends.take(server.index, 2) && app.backends.take(server.index, 2));
    let rows = stage.read("stats_tidegate_users", false);
    let names = ["username", "srv_port", "connections", "max_connections", "password"];
    assert_eq!((rows.len(), columns(&rows[0], &names)), (1, vec!["app", "1", "2", "0", "primary"]));
}

/// Counters that ProxySQL has not, but for families.
const NAMED: [&str; 62] = [
    "admin_connections_refused",
    "aurora_checks_failed",
    "aurora_checks_ok",
    "cache_coalesce_full",
    "cache_coalesce_gave_up",
    "cache_coalesced",
    "cache_stale_told",
    "clients_redirected",
    "delayed",
    "denied_without_tls",
    "diagnostics_kept",
    "diagnostics_raised",
    "diagnostics_told",
    "galera_checks_failed",
    "galera_checks_ok",
    "group_replication_checks_failed",
    "group_replication_checks_ok",
    "gtid_checks_failed",
    "gtid_checks_ok",
    "login_checks_failed",
    "login_checks_full",
    "login_checks_right",
    "login_checks_timed_out",
    "login_checks_wrong",
    "logins_held_up",
    "long_commands_refused",
    "mirrored",
    "mirrors_dropped",
    "mirrors_failed",
    "newcomers_gave_way",
    "proxy_headers",
    "proxy_headers_refused",
    "rds_topology_checks_failed",
    "rds_topology_checks_ok",
    "redirects_failed",
    "redirects_followed",
    "redirects_offered",
    "redirects_refused",
    "server_stalls",
    "server_tls_failures",
    "stored_code_readings",
    "stored_code_readings_failed",
    "timed_out",
    "tls_clients",
    "tls_failures",
    "topology_changes",
    "uncached_code",
    "uncached_execution",
    "uncached_freshness",
    "uncached_own_writes",
    "uncached_session",
    "uncached_statement",
    "uncached_tables",
    "uncached_unfollowed",
    "uncached_varies",
    "unfinished_commands",
    "unkept_changed",
    "unkept_empty",
    "unkept_large",
    "unkept_other",
    "unkept_room",
    "unkept_warnings",
];

#[test]
fn every_recorded_counter_is_there_with_0_where_nothing_is_of_its_kind() {
    let text = include_str!("../../testdata/admin.json");
    let recorded: serde_json::Value = serde_json::from_str(text).expect("it is JSON");
    let recorded: BTreeSet<&str> =
        recorded["status"].as_array().expect("a list").iter().filter_map(|n| n.as_str()).collect();
    let rows = Stage::new().read("stats_mysql_global", false);
    let ours: BTreeSet<&str> = rows.iter().map(|row| row["Variable_Name"].as_str()).collect();
    let missing: Vec<_> = recorded.difference(&ours).collect();
    assert_eq!(missing, [&""; 0]);
    assert_eq!(rows.len(), ours.len(), "no name is there twice");
    let value = |name: &str| {
        let row = rows.iter().find(|row| row["Variable_Name"] == name).expect("it is there");
        row["Variable_Value"].clone()
    };
    assert_eq!(value("Query_Cache_Entries"), "0");
    assert_eq!(value("Servers_table_version"), "5");
    let is_family = |name: &&&str| name.contains("shared") || name.starts_with("held_for_");
    let own: Vec<_> = ours.difference(&recorded).filter(|name| !is_family(name)).collect();
    assert_eq!(own, NAMED.each_ref(), "names of our own");
}
