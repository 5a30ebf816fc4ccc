//! Which checks there are, and how often.

use engine::rows::{AuroraRow, HostgroupRow, ReplicationRow, ServerRow};
use engine::snapshot::Draft;

use super::*;

fn draft(rows: &[(i64, &str, &str, i64)], variables: &[(&str, &str)]) -> Draft {
    let row = |(hostgroup_id, hostname, status, lag): &(i64, &str, &str, i64)| ServerRow {
        hostgroup_id: *hostgroup_id,
        hostname: (*hostname).to_owned(),
        status: (*status).to_owned(),
        max_replication_lag: *lag,
        ..ServerRow::default()
    };
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let pair =
        ReplicationRow { writer_hostgroup: 10, reader_hostgroup: 20, ..ReplicationRow::default() };
    Draft {
        replication: vec![pair],
        servers: rows.iter().map(row).collect(),
        variables: variables.iter().map(own).collect(),
        ..Draft::default()
    }
}

fn snapshot(rows: &[(i64, &str, &str, i64)], variables: &[(&str, &str)]) -> Snapshot {
    Snapshot::compile(&draft(rows, variables)).expect("valid")
}

/// The checks of each server, by name.
fn told(snapshot: &Snapshot) -> Vec<String> {
    let plan = Plan::of(snapshot, |_| Some(Addr::Unix("/s".into())));
    let tell = |(server, target): (&Endpoint, &Target)| {
        assert_eq!(target.addr, Some(Addr::Unix("/s".into())));
        format!("{} {:?}", server.hostname, target.checks)
    };
    plan.targets.iter().map(tell).collect()
}

#[test]
fn gtids_are_asked_for_where_they_decide() {
    let rows = [(10, "a", "ONLINE", 0), (20, "b", "ONLINE", 0), (30, "d", "ONLINE", 0)];
    let of = |settings: &str| {
        let hostgroup_settings = settings.to_owned();
        let row = HostgroupRow { hostgroup_id: 10, hostgroup_settings, ..HostgroupRow::default() };
        let draft = Draft { hostgroups: vec![row], ..draft(&rows, &[]) };
        told(&Snapshot::compile(&draft).expect("valid"))
    };
    assert_eq!(
        of(r#"{"several_writers": "newest_gtid"}"#),
        [
            "a {Connect, Ping, ReadOnly(ReadOnly), Gtids}",
            "b {Connect, Ping, ReadOnly(ReadOnly), Gtids}",
            "d {Connect, Ping}",
        ]
    );
    let without = told(&snapshot(&rows, &[]));
    assert_eq!(of(r#"{"several_writers": "none"}"#), without);
    assert_eq!(of(r#"{"several_writers": "all"}"#), without);
}

#[test]
fn checks_follow_from_rows_and_hostgroups() {
    let rows = [
        (10, "a", "ONLINE", 0),
        (20, "a", "ONLINE", 5),
        (20, "b", "OFFLINE_SOFT", 5),
        (20, "c", "OFFLINE_HARD", 5),
        (30, "d", "SHUNNED", 5),
    ];
    assert_eq!(
        told(&snapshot(&rows, &[])),
        [
            "a {Connect, Ping, ReadOnly(ReadOnly), Lag(Some(20))}",
            "b {Connect, Ping}",
            "d {Connect, Ping, Lag(Some(30))}",
        ]
    );
    let by_host = [("mysql-monitor_replication_lag_group_by_host", "true")];
    assert_eq!(
        told(&snapshot(&rows[1..2], &by_host)),
        ["a {Connect, Ping, ReadOnly(ReadOnly), Lag(None)}"]
    );
    assert_eq!(told(&snapshot(&rows, &[("mysql-monitor_enabled", "false")])), [""; 0]);
}

#[test]
fn servers_of_aurora_are_asked_in_turn_as_often_as_their_row_says() {
    let mut draft = draft(&[(1, "b", "ONLINE", 0), (2, "a", "ONLINE", 0)], &[]);
    draft.servers.push(ServerRow {
        hostgroup_id: 3,
        hostname: "ab".into(),
        ..ServerRow::default()
    });
    draft.aurora.push(AuroraRow {
        writer_hostgroup: 1,
        reader_hostgroup: 2,
        domain_name: ".x".into(),
        check_interval_ms: 200,
        check_timeout_ms: 90,
        ..AuroraRow::default()
    });
    let plan = Plan::of(&Snapshot::compile(&draft).expect("valid"), |_| None);
    let check = Check::Aurora(1);
    let timing = plan.timing(check);
    assert_eq!((timing.every_us, timing.limit_us), (200_000, 90_000));
    let name = |name: &str| Endpoint { hostname: name.into(), port: 3306 };
    let after = |last: &str| plan.turn_after(&name(last), check).map(|it| it.hostname.as_str());
    assert_eq!(["a", "ab", "b", "c"].map(after), [Some("b"), Some("b"), Some("a"), Some("a")]);
    assert!(plan.has(&name("a"), check) && !plan.has(&name("ab"), check));
}

#[test]
fn the_topology_of_rds_is_looked_at_each_so_many_checks() {
    let rows = [(10, "a", "ONLINE", 0), (10, "b", "OFFLINE_SOFT", 0), (30, "c", "ONLINE", 0)];
    let often = [("mysql-monitor_aws_rds_topology_discovery_interval", "3")];
    assert_eq!(
        told(&snapshot(&rows, &often)),
        ["a {Connect, Ping, ReadOnly(ReadOnly), Rds}", "b {Connect, Ping}", "c {Connect, Ping}"]
    );
    let plan = Plan::of(&snapshot(&rows, &often), |_| None);
    let read_only = plan.timing(Check::ReadOnly(clusters::Check::ReadOnly));
    let rds = plan.timing(Check::Rds);
    assert_eq!(rds.every_us, 3 * read_only.every_us);
    assert_eq!(rds.limit_us, read_only.limit_us);
}

#[test]
fn a_silent_server_is_pinged_only() {
    let before = snapshot(&[(10, "a", "ONLINE", 5)], &[]);
    let row = before.draft.servers[0].clone();
    let placed = [Placed { row, stand: Stand::Silent }];
    let silent = before.clone().place(&placed, &before).expect("valid");
    assert_eq!(told(&silent), ["a {Connect, Ping}"]);
    let every = |snapshot: &Snapshot| {
        let server = Endpoint { hostname: "a".into(), port: 3306 };
        Plan::of(snapshot, |_| None).timing_of(&server, Check::Ping).every_us
    };
    assert_eq!([every(&before), every(&silent)], [8_000_000, 1_000_000]);
}
