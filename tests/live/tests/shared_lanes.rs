//! Reads of many clients on few connections: every answer is held against its question. What
//! becomes of them beside somebody slow is `head_of_line`.

use lab::{Cluster, Flavour, SplitOptions};
use live::{Load, Proxy, client};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

/// Rows of the table that is read.
const ROWS: u64 = 2000;

fn proxy(cluster: &Cluster, variables: &str) -> Proxy {
    let primary = cluster.primary();
    primary
        .sql("CREATE TABLE test.t (id INT PRIMARY KEY, a INT, c VARCHAR(100))")
        .expect("created");
    let rows = format!(
        "INSERT INTO test.t SELECT seq, seq % 100, CONCAT('row ', seq) FROM test.seq_1_to_{ROWS}"
    );
    primary.sql(&rows).expect("filled");
    cluster.wait_replicated().expect("replicated");
    let variables = format!("threads = 1\npipeline_depth = 16\n{variables}");
    Proxy::start(|interfaces| {
        lab::split_toml(cluster, &SplitOptions { interfaces, variables, ..Default::default() })
    })
    .expect("tidegate starts")
}

/// Clients that read rows by their numbers.
fn readers(count: usize, options: &OptsBuilder) -> Load {
    Load::start(count, options, |conn, turn| read_row(conn, (turn * 7919) % ROWS + 1))
}

fn read_row(conn: &mut Conn, id: u64) -> Result<(), String> {
    let text = format!("SELECT id, c FROM test.t WHERE id = {id}");
    let row: Option<(u64, String)> = conn.query_first(text).map_err(|error| error.to_string())?;
    match row {
        Some((found, text)) if found == id && text == format!("row {id}") => Ok(()),
        other => Err(format!("asked for row {id}, got {other:?}")),
    }
}

/// Shared queries so far.
fn shared(proxy: &Proxy) -> u64 {
    proxy.counter("shared_queries").expect("counted")
}

#[test]
fn each_client_gets_its_own_rows_and_batches_are_sent() {
    let Some(cluster) = live::cluster("shared lanes", Flavour::MariaDb, 2) else { return };
    let proxy = proxy(&cluster, "");
    let readers = readers(16, &client::options(proxy.port));
    readers.await_more(5000);
    let errors = readers.stop();
    assert!(errors.is_empty(), "{errors:?}\n{}", proxy.log());
    let counters = proxy.statistics().expect("told");
    let counter = |name: &str| counters["counters"][name].as_u64().expect("a counter");
    assert!(counter("shared_queries") > 3000, "{counters}");
    assert!(counter("shared_sent") > counter("shared_batches"), "{counters}");
    assert_eq!(counter("shared_losses"), 0, "{counters}");
}

#[test]
fn warnings_of_a_shared_read_can_be_asked_for() {
    let Some(cluster) = live::cluster("warnings", Flavour::MariaDb, 1) else { return };
    let proxy = proxy(&cluster, "");
    let mut conn = client::connect(client::options(proxy.port));
    let mut ask = |id: u64| -> Option<Option<String>> {
        conn.query_first(format!(
            "SELECT CAST(c AS DATE) IS NULL FROM test.t WHERE id = {id} AND a > 0"
        ))
        .expect("answered")
    };
    // rows whose a is 0 are not looked at: no warning
    (0..20).for_each(|_| assert_eq!(ask(100), None));
    let before = shared(&proxy);
    assert!(before > 0, "the digest is known");
    assert_eq!(ask(101), Some(Some("1".into())));
    assert_eq!(shared(&proxy), before + 1, "the first that warns was shared");
    let warnings: Vec<(String, u16, String)> = conn.query("SHOW WARNINGS").expect("answered");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!((warnings[0].0.as_str(), warnings[0].1), ("Warning", 1292), "{warnings:?}");
    assert!(warnings[0].2.contains("row 101"), "{warnings:?}");
    assert_eq!(proxy.counter("shared_recalls").expect("counted"), 1);
    // never again
    let text = "SELECT CAST(c AS DATE) IS NULL FROM test.t WHERE id = 102 AND a > 0";
    let _: Option<Option<String>> = conn.query_first(text).expect("answered");
    assert_eq!(shared(&proxy), before + 1);
    let warnings: Vec<(String, u16, String)> = conn.query("SHOW WARNINGS").expect("answered");
    assert!(warnings[0].2.contains("row 102"), "{warnings:?}");
}
