//! What is written of a process, and that nothing that ProxySQL has is missing without a reason.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::rows::ServerRow;
use engine::snapshot::Draft;
use engine::stats::{Collected, Counters, RuleHits, ServerStats};

use super::*;
use crate::view::Serving;

fn server(hostgroup_id: i64, hostname: &str, status: &str) -> ServerRow {
    let (hostname, status) = (hostname.to_owned(), status.to_owned());
    ServerRow { hostgroup_id, hostname, status, ..ServerRow::default() }
}

fn view(collected: Collected) -> View {
    let servers = vec![server(1, "a", "ONLINE"), server(2, "b", "OFFLINE_SOFT")];
    let sample = sample(&Draft { servers, ..Draft::default() });
    View { collected: Arc::new(collected), ..sample }
}

/// The lines of one family.
fn lines<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let of = |line: &&str| {
        line.starts_with(&format!("{name}{{")) || line.starts_with(&format!("{name} "))
    };
    text.lines().filter(of).collect()
}

#[test]
fn families_have_the_numbers_that_workers_counted() {
    let counters = Counters { ok: 6, err: 2, killed: 1, ..Counters::default() };
    let mut collected = Collected { counters, ..Collected::default() };
    collected.commands.record(sql::command_class(&sql::facts(b"select 1")), 400);
    collected.rule_hits.insert(7, RuleHits { hits: 3, limit_hits: 0 });
    let mut view = view(collected);
    let server = view.snapshot.topology.servers()[0].clone();
    let mut share = ServerStats::default().share(&server);
    share.idle = 2;
    share.counters.open = 5;
    share.counters.opened = 7;
    share.counters.ended.bytes_received = 99;
    share.counters.record(sql::Verb::Select.into(), 400);
    let mut collected = Arc::into_inner(view.collected).expect("nobody else has it");
    collected.servers.insert(server.index, share);
    view.collected = Arc::new(collected);
    let counted = [
        ("Questions", 9),
        ("Client_Connections_created", 4),
        ("Client_Connections_connected", 2),
        ("Server_Connections_aborted", 1),
        ("Query_Processor_time_nsec", 1_500_000),
        ("Stmt_Cached", 3),
        ("queries_with_max_lag_ms", 8),
        ("queries_with_max_lag_ms__delayed", 5),
        ("queries_with_max_lag_ms__total_wait_time_us", 70),
    ];
    view.status = counted.map(|(name, number)| (name.to_owned(), number)).into();
    view.serving = Serving::Paused;
    let text = text(&view);
    for line in [
        "proxysql_questions_total 9",
        "proxysql_client_connections_total{status=\"created\"} 4",
        "proxysql_client_connections_connected 2",
        "proxysql_server_connections_total{status=\"aborted\"} 1",
        "proxysql_query_processor_time_seconds_total 0.0015",
        "proxysql_connpool_conns{endpoint=\"a:3306\",hostgroup=\"1\",status=\"free\"} 2",
        "proxysql_connpool_conns{endpoint=\"a:3306\",hostgroup=\"1\",status=\"used\"} 3",
        "proxysql_connpool_conns_total{endpoint=\"a:3306\",hostgroup=\"1\",status=\"ok\"} 7",
        "proxysql_connpool_conns_queries_total{endpoint=\"a:3306\",hostgroup=\"1\"} 0",
        "tidegate_server_duration_seconds_count\
         {command=\"SELECT\",endpoint=\"a:3306\",hostgroup=\"1\"} 1",
        "proxysql_query_cache_count_get_total{status=\"ok\"} 0",
        "proxysql_stmt_cached 3",
        "proxysql_queries_with_max_lag_total 8",
        "proxysql_queries_with_max_lag__delayed_total 5",
        "proxysql_queries_with_max_lag__total_wait_time_total 70",
        "prepare_stmt_metadata_memory_bytes 0",
        "proxysql_connpool_conns_status{endpoint=\"a:3306\",hostgroup=\"1\"} 1",
        "proxysql_connpool_conns_status{endpoint=\"b:3306\",hostgroup=\"2\"} 3",
        "proxysql_mysql_listener_paused 1",
        "proxysql_mysql_max_connections 10000",
        "proxysql_version_info{version=\"0.1.0\",version_comment=\"Tidegate\"} 1",
        "tidegate_query_rule_hits_total{rule_id=\"7\"} 3",
        "tidegate_queries_total{outcome=\"error\"} 2",
        "tidegate_command_duration_seconds_bucket{command=\"SELECT\",le=\"0.0001\"} 0",
        "tidegate_command_duration_seconds_bucket{command=\"SELECT\",le=\"0.0005\"} 1",
        "tidegate_command_duration_seconds_sum{command=\"SELECT\"} 0.0004",
        "tidegate_hostgroup_servers{hostgroup=\"2\",state=\"usable\"} 0",
        "tidegate_ready 0",
        "process_resident_memory_bytes 4096",
        "process_cpu_seconds_total 0.03",
        "tidegate_certificate_not_after_seconds{file=\"/x/tidegate-cert.pem\"} 1800000000",
        "tidegate_query_cache_stream_reconnects_total{endpoint=\"db:3306\",hostgroup=\"1\"} 2",
        "tidegate_log_lines_lost_total 3",
    ] {
        assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
    }
    assert_eq!(lines(&text, "tidegate_command_duration_seconds_count").len(), 1, "{text}");
}

#[test]
fn every_family_is_written_once_with_a_head() {
    let text = text(&view(Collected::default()));
    let mut seen = BTreeSet::new();
    for line in text.lines().filter(|line| line.starts_with("# TYPE ")) {
        let name = line.split(' ').nth(2).expect("a name");
        assert!(seen.insert(name), "{name} is there twice");
        assert!(names().any(|known| known == name));
    }
    let repeated: BTreeSet<_> = names().collect();
    assert_eq!(repeated.len(), names().count(), "a family is in the tables twice");
}

#[test]
fn every_metric_that_was_recorded_is_there_and_what_is_always_0_is_documented() {
    let recorded = include_str!("../../../../testdata/admin.json");
    let recorded: serde_json::Value = serde_json::from_str(recorded).expect("JSON");
    let recorded = recorded["prometheus"].as_array().expect("pairs of names and kinds");
    assert!(recorded.len() > 100);
    let mut exposer = String::new();
    crate::exposer::Exposer::default().write(&mut exposer);
    for pair in recorded {
        let (name, kind) = (pair[0].as_str().expect("a name"), pair[1].as_str().expect("a kind"));
        let there = all().find(|family| family.name == name);
        let exposed = exposer.contains(&format!("# TYPE {name} {kind}\n"));
        assert!(there.is_some() != exposed, "{name}");
        if let Some(family) = there {
            assert_eq!(format!("{:?}", family.kind).to_lowercase(), kind, "{name}");
        }
    }
    let documented = include_str!("../../../../docs/metrics.md");
    let text = text(&view(Collected::default()));
    for Family { name, help, .. } in always_zero_table::FAMILIES {
        assert!(recorded.iter().any(|pair| pair[0] == *name), "{name} was not recorded");
        assert!(help.starts_with("Always 0: "), "{name}");
        assert!(!lines(&text, name).is_empty(), "{name} has no series");
        assert!(documented.contains(&format!("`{name}`")), "docs/metrics.md is silent of {name}");
    }
}
