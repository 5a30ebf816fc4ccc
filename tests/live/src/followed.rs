//! Servers whose logs are followed for the query cache, and whether answers come from there.

use std::time::Duration;

use lab::{Cluster, Flavour, SplitOptions};
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

use crate::{Proxy, client, cluster_with, eventually, greeting_of};

const LIMIT: Duration = Duration::from_secs(30);

/// Servers that log everything as rows, whose monitor may follow logs.
pub fn followed_cluster(what: &str, flavour: Flavour, replicas: usize) -> Option<Cluster> {
    let words: &[&str] = match flavour {
        Flavour::MariaDb => &["--log-bin=binlog", "--log-slave-updates", "--binlog-format=ROW"],
        Flavour::MySql => &["--log-bin=binlog", "--log-replica-updates"],
    };
    let cluster = cluster_with(what, flavour, replicas, words)?;
    let grant = "GRANT REPLICATION SLAVE, REFERENCES, SHOW VIEW ON *.* TO monitor@'%'";
    cluster.primary().sql(grant).expect("granted");
    cluster.wait_replicated().expect("granted on replicas");
    Some(cluster)
}

/// The administrative interface.
pub fn admin(proxy: &Proxy) -> Conn {
    let account = client::account(proxy.admin_port, "admin", "admin").db_name(None::<String>);
    let listens = || greeting_of(proxy.admin_port).is_ok();
    eventually("the administrative interface listens", LIMIT, listens);
    client::connect(account)
}

/// State and reason of each stream.
pub fn streams(admin: &mut Conn) -> Vec<(String, String)> {
    let text = "SELECT state, reason FROM stats_tidegate_query_cache_streams ORDER BY srv_port";
    let rows: Vec<Row> = admin.query(text).expect("told");
    rows.into_iter().map(mysql::from_row).collect()
}

/// Whether the answer to this question comes from the cache.
pub fn is_kept(proxy: &Proxy, conn: &mut Conn, text: &str) -> bool {
    let hits = || proxy.counter("cache_hits").expect("a counter");
    let before = hits();
    conn.query_drop(text).expect("answered");
    hits() > before
}

/// Waits until it does.
pub fn warm(proxy: &Proxy, conn: &mut Conn, text: &str) {
    eventually("an answer is kept", LIMIT, || is_kept(proxy, conn, text));
}

/// The only value of an answer.
pub fn number(conn: &mut Conn, text: &str) -> u64 {
    conn.query_first(text).unwrap_or_else(|error| panic!("{text}: {error}")).expect("a row")
}

/// A proxy whose answers of reads from `test` live as long as nothing changes, with this behind its
/// configuration. Hostgroup 0 has the primary, 1 what replicates, or the primary.
pub fn following(cluster: &Cluster, more: &str) -> Proxy {
    following_with(cluster, more, |text| text)
}

/// The same of another configuration, made of that text.
pub fn following_with(
    cluster: &Cluster,
    more: &str,
    configuration: impl FnOnce(String) -> String,
) -> Proxy {
    Proxy::start(|interfaces| {
        let variables = "threads = 2\nenable_load_data_local_infile = true\n\
                         monitor_username = \"monitor\"\nmonitor_password = \"monitor\"\n\
                         monitor_read_only_interval = 300\n"
            .to_owned();
        let more = format!(
            "\n[[mysql_query_rules]]\nrule_id = 0\nactive = 1\n\
             match_pattern = '^SELECT .* FROM test'\ncache_ttl = 3600000\n\
             attributes = '{{\"invalidate\": \"binlog\"}}'\n{more}"
        );
        let options = SplitOptions { interfaces, variables, more, ..Default::default() };
        configuration(lab::split_toml(cluster, &options))
    })
    .expect("tidegate starts")
}

/// For [`following`]: the servers of hostgroup 1 replicate those of 0.
pub const REPLICATION: &str =
    "[[mysql_replication_hostgroups]]\nwriter_hostgroup = 0\nreader_hostgroup = 1\n";
