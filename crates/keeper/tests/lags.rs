//! How far servers are behind, as it was heard: what reads may ask for.

use engine::clusters::{Aurora, Clusters};
use engine::rows::ServerRow;
use keeper::{AuroraAnswer, AuroraInstance, Endpoint, Failure, Keeper, Lag, Report, Seen, Wanted};

fn endpoint(hostname: &str) -> Endpoint {
    Endpoint { hostname: hostname.to_owned(), port: 3306 }
}

/// What is wanted of servers in these hostgroups.
fn keeper(rows: &[(i64, &str)], aurora: Vec<Aurora>) -> Keeper {
    let row = |(hostgroup_id, hostname): &(i64, &str)| ServerRow {
        hostgroup_id: *hostgroup_id,
        hostname: (*hostname).to_owned(),
        max_replication_lag: 100,
        ..ServerRow::default()
    };
    let clusters = Clusters { aurora, ..Clusters::default() };
    let servers = rows.iter().map(row).collect();
    let mut keeper = Keeper::default();
    keeper.adopt(Wanted { servers, clusters, ..Wanted::default() }, 0);
    keeper
}

#[test]
fn the_lag_of_a_server_is_the_last_that_was_heard_in_each_hostgroup() {
    let mut keeper = keeper(&[(1, "a"), (2, "a"), (1, "b")], Vec::new());
    let lags = |keeper: &Keeper| {
        [(1, "a"), (2, "a"), (1, "b")].map(|(group, name)| keeper.lag_us(group, &endpoint(name)))
    };
    assert_eq!(lags(&keeper), [None; 3], "nothing was heard");
    for (hostgroup, heard, expected) in [
        (Some(1), Ok(Lag::Micros(3_000)), [Some(3_000), None]),
        (None, Ok(Lag::Micros(5_000)), [Some(5_000); 2]),
        (Some(2), Ok(Lag::NoReplica), [Some(5_000), Some(0)]),
        (Some(1), Err(Failure::NoAnswer), [Some(5_000), Some(0)]),
        (Some(1), Ok(Lag::Unknown), [Some(60_000_000), Some(0)]),
    ] {
        let seen = Seen::Lag(hostgroup, heard);
        keeper.hear(&Report { at_us: 1, server: endpoint("a"), seen: seen.clone() });
        let [one, other] = expected;
        assert_eq!(lags(&keeper), [one, other, None], "{seen:?}");
    }
}

#[test]
fn a_replica_of_aurora_is_behind_by_something_and_its_writer_by_nothing() {
    let cluster = Aurora {
        writer: 10,
        reader: 20,
        port: 3306,
        domain: ".x".into(),
        max_lag_ms: 500,
        every_ms: 1_000,
        limit_ms: 800,
        writer_is_read: true,
        reader_weight: 1,
        add_lag_ms: 30,
        min_lag_ms: 0,
        lag_checks: 1,
    };
    let mut keeper = keeper(&[(20, "a.x"), (20, "b.x"), (20, "c.x")], vec![cluster]);
    let told = |(server_id, writes, lag_ms): (&str, bool, u64)| AuroraInstance {
        server_id: server_id.to_owned(),
        writes,
        lag_ms,
        age_us: 0,
    };
    let instances = [("a", true, 0), ("b", false, 20), ("c", false, 0)].map(told);
    let seen = Seen::Aurora(10, Ok(AuroraAnswer { instances: instances.into() }));
    keeper.hear(&Report { at_us: 1, server: endpoint("b.x"), seen });
    let lags = ["a.x", "b.x", "c.x", "d.x"].map(|name| keeper.lag_us(20, &endpoint(name)));
    assert_eq!(lags, [Some(0), Some(50_000), Some(1), None]);
    assert_eq!(keeper.lag_us(10, &endpoint("a.x")), Some(0));
}
