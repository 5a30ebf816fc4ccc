//! Real servers: they replicate, are read-only where they should be, survive being killed, and
//! leave nothing behind. Without the server's software a test says SKIPPED and ends.

use std::path::Path;

use lab::{Cluster, Flavour, LabOptions};

fn started(flavour: Flavour, replicas: usize) -> Option<Cluster> {
    if let Err(why) = flavour.find(may_fetch()) {
        eprintln!("SKIPPED: {why:#}");
        return None;
    }
    Some(
        Cluster::start(LabOptions {
            replicas,
            flavour,
            may_fetch: may_fetch(),
            ..Default::default()
        })
        .expect("started"),
    )
}

/// Downloads are made only where they are asked for.
fn may_fetch() -> bool {
    std::env::var_os("TIDEGATE_LAB_FETCH").is_some_and(|value| value == "1")
}

fn replicates_and_recovers(flavour: Flavour) {
    let Some(cluster) = started(flavour, 2) else { return };
    cluster.primary().sql("CREATE TABLE test.t (a INT PRIMARY KEY)").expect("created");
    cluster.primary().sql("INSERT INTO test.t VALUES (1), (2)").expect("inserted");
    cluster.wait_replicated().expect("replicated");
    for replica in cluster.replicas() {
        assert_eq!(replica.value("SELECT COUNT(*) FROM test.t").expect("counted"), "2");
        assert_eq!(replica.value("SELECT @@read_only").expect("read"), "1");
        assert_eq!(replica.value("SELECT @@server_id").expect("read"), replica.id.to_string());
    }
    assert_eq!(cluster.primary().value("SELECT @@read_only").expect("read"), "0");

    let victim = &cluster.replicas()[1];
    victim.kill9().expect("killed");
    assert!(!victim.is_running());
    cluster.primary().sql("INSERT INTO test.t VALUES (3)").expect("inserted");
    victim.restart().expect("started again");
    cluster.wait_replicated().expect("replicated");
    assert_eq!(victim.value("SELECT COUNT(*) FROM test.t").expect("counted"), "3");
}

#[test]
fn mariadb_replicates_and_recovers_from_a_kill() {
    replicates_and_recovers(Flavour::MariaDb);
}

#[test]
fn mysql_replicates_and_recovers_from_a_kill() {
    replicates_and_recovers(Flavour::MySql);
}

#[test]
fn a_refused_statement_gives_the_servers_number_and_the_console_goes_on() {
    let Some(cluster) = started(Flavour::MariaDb, 0) else { return };
    let error = cluster.primary().sql("SELECT * FROM test.missing").expect_err("refused");
    let refusal = error.downcast_ref().and_then(client::Error::refusal);
    assert_eq!(refusal.map(|refusal| refusal.code), Some(1146));
    assert_eq!(cluster.primary().value("SELECT 'x'").expect("answered"), "x");
}

#[test]
fn status_counts_statements() {
    let Some(cluster) = started(Flavour::MariaDb, 0) else { return };
    let before = cluster.primary().status("Com_insert").expect("read");
    cluster.primary().sql("CREATE TABLE test.c (a INT)").expect("created");
    cluster.primary().sql("INSERT INTO test.c VALUES (1)").expect("inserted");
    assert_eq!(cluster.primary().status("Com_insert").expect("read"), before + 1);
}

#[test]
fn a_dropped_cluster_leaves_neither_processes_nor_files() {
    let Some(cluster) = started(Flavour::MariaDb, 1) else { return };
    let pids: Vec<u32> = cluster.servers().iter().map(lab::Server::pid).collect();
    let dir = cluster.dir().to_owned();
    assert!(dir.exists());
    drop(cluster);
    assert!(!dir.exists());
    for pid in pids {
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
}

#[test]
fn the_configuration_names_every_server_once() {
    let Some(cluster) = started(Flavour::MariaDb, 2) else { return };
    let options = lab::SplitOptions { weights: vec![3], ..Default::default() };
    let text = lab::split_toml(&cluster, &options);
    for server in cluster.servers() {
        assert_eq!(text.matches(&format!("port = {}\n", server.port)).count(), 1);
    }
    assert_eq!(text.matches("weight = 3\n").count(), 1);
}
