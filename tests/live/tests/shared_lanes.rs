//! Reads of many clients on few connections: every answer is held against its question. What
//! becomes of them beside somebody slow is `head_of_line`.

use std::time::Duration;

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
    let rows: Vec<String> =
        (1..=ROWS).map(|id| format!("({id}, {}, 'row {id}')", id % 100)).collect();
    primary.sql(&format!("INSERT INTO test.t VALUES {}", rows.join(","))).expect("filled");
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
    live::eventually("the digest is known", Duration::from_secs(10), || {
        assert_eq!(ask(100), None);
        shared(&proxy) > 0
    });
    let before = shared(&proxy);
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

fn read_prepared(conn: &mut Conn, id: u64) -> Result<(), String> {
    let text = "SELECT id, c FROM test.t WHERE id = ?";
    let row: Option<(u64, String)> = conn.exec_first(text, (id,)).map_err(|e| e.to_string())?;
    match row {
        Some((found, text)) if found == id && text == format!("row {id}") => Ok(()),
        other => Err(format!("executed for row {id}, got {other:?}")),
    }
}

#[test]
fn executions_share_and_definitions_types_and_lost_statements_cost_no_answer() {
    for flavour in [Flavour::MariaDb, Flavour::MySql] {
        let Some(cluster) = live::cluster("shared executions", flavour, 0) else { continue };
        let proxy = proxy(&cluster, "");
        let options = client::options(proxy.port);
        let readers = Load::start(16, &options, |conn, turn| {
            let id = (turn * 7919) % ROWS + 1;
            match turn % 4 {
                // a parameter that is a string
                0 => read_hex(conn, id.to_string(), &hex(&id.to_string())),
                1 => read_hex(conn, id, &format!("{id:X}")),
                2 => read_row(conn, id),
                _ => read_prepared(conn, id),
            }
        });
        // a MySQL's connections are reset for as long as any table may be a view
        let readings = || proxy.counter("stored_code_readings").expect("counted");
        live::eventually("it is read", Duration::from_secs(10), || readings() > 0);
        let before = proxy.statistics().expect("told");
        readers.await_more(3000);
        let counters = proxy.statistics().expect("told");
        let counter = |name: &str| {
            let [before, now] =
                [&before, &counters].map(|of| of["counters"][name].as_u64().expect("a counter"));
            now - before
        };
        assert!(counter("shared_executes") > 1000, "{}: {counters}", flavour.name());
        assert!(counter("shared_queries") > counter("shared_executes") + 300, "{counters}");
        assert!(20 * counter("lane_prepares") < counter("lane_executes"), "{counters}");
        // each alteration makes servers prepare anew
        for alteration in ["ADD COLUMN d INT", "DROP COLUMN d", "MODIFY c VARCHAR(200)"] {
            cluster.primary().sql(&format!("ALTER TABLE test.t {alteration}")).expect("altered");
            readers.await_more(500);
        }
        let errors = readers.stop();
        assert!(errors.is_empty(), "{}: {errors:?}\n{}", flavour.name(), proxy.log());
    }
}

fn read_hex(conn: &mut Conn, of: impl Into<mysql::Value>, right: &str) -> Result<(), String> {
    let value = of.into();
    let hex: Result<Option<String>, _> = conn.exec_first("SELECT HEX(?)", (value.clone(),));
    match hex {
        Ok(Some(hex)) if hex == right => Ok(()),
        other => Err(format!("the HEX of {value:?} is {other:?}")),
    }
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02X}")).collect()
}

#[test]
fn warnings_and_errors_of_a_shared_execution_can_be_asked_for() {
    for flavour in [Flavour::MariaDb, Flavour::MySql] {
        let Some(cluster) = live::cluster("warnings", flavour, 0) else { continue };
        let proxy = proxy(&cluster, "");
        let mut conn = client::connect(client::options(proxy.port));
        let asks = "SELECT CAST(c AS DATE) IS NULL FROM test.t WHERE id = ? AND a > 0";
        let executed = || proxy.counter("shared_executes").expect("counted");
        live::eventually("the digest is known", Duration::from_secs(10), || {
            let row: Option<Option<i64>> = conn.exec_first(asks, (100,)).expect("executed");
            assert_eq!(row, None);
            executed() > 0
        });
        let before = executed();
        let stmt = conn.prep(asks).expect("prepared");
        let row: Option<Option<i64>> = conn.exec_first(&stmt, (101,)).expect("executed");
        assert!(row.is_some());
        conn.close(stmt).expect("closed");
        assert_eq!(executed(), before + 1, "the first that warns was shared");
        let warnings: Vec<(String, u16, String)> = conn.query("SHOW WARNINGS").expect("answered");
        assert_eq!(warnings.len(), 1, "{}: {warnings:?}", flavour.name());
        assert_eq!((warnings[0].0.as_str(), warnings[0].1), ("Warning", 1292), "{warnings:?}");
        assert!(warnings[0].2.contains("row 101"), "{warnings:?}");
        assert_eq!(proxy.counter("shared_recalls").expect("counted"), 1);

        let reads = "SELECT id FROM test.t WHERE id = ?";
        for _ in 0..20 {
            let row: Option<u64> = conn.exec_first(reads, (7,)).expect("executed");
            assert_eq!(row, Some(7));
        }
        let before = executed();
        cluster.primary().sql("RENAME TABLE test.t TO test.u").expect("renamed");
        let gone = conn.exec_drop(reads, (7,)).expect_err("the table is gone");
        assert_eq!(client::refusal(&gone).0, 1146, "{gone}");
        assert_eq!(executed(), before + 1, "it was shared");
        let errors: Vec<(String, u16, String)> = conn.query("SHOW ERRORS").expect("answered");
        assert_eq!(errors.len(), 1, "{}: {errors:?}", flavour.name());
        assert_eq!(errors[0].1, 1146, "{errors:?}");
        cluster.primary().sql("RENAME TABLE test.u TO test.t").expect("renamed");
        assert_eq!(conn.exec_first(reads, (8,)).expect("executed"), Some(8_u64));
    }
}
