//! More digests than statistics and remembered verdicts have room for: what that costs the others.

use lab::{Flavour, SplitOptions};
use live::{Load, Proxy, Raw, client};
use wire::command::write_query;

/// Answered by the proxy itself, so that the flood is as fast as can be.
const RULE: &str = "\n[[mysql_query_rules]]\nrule_id = 9\nactive = 1\n\
    match_digest = \"^UPDATE flood\"\nOK_msg = \"dropped\"\napply = 1\n";
const BATCH: u64 = 1_000;
const MEGABYTE: u64 = 1 << 20;

#[test]
fn a_flood_of_digests_costs_its_bound_of_memory_and_nobody_time() {
    let Some(cluster) = live::cluster("a flood of digests", Flavour::MariaDb, 1) else { return };
    let count = if live::full() { 10_000_000 } else { 300_000 };
    let bound = if live::full() { 64 } else { 16 };
    // how many reads travel together changes what one costs more than any flood does
    let variables = format!(
        "threads = 1\npipeline_depth = 0\nquery_digests_memory_bytes_max = {}\n",
        bound * MEGABYTE
    );
    let options = SplitOptions { variables, more: RULE.into(), ..Default::default() };
    let proxy = Proxy::start(|interfaces| {
        lab::split_toml(&cluster, &SplitOptions { interfaces, ..options.clone() })
    })
    .expect("tidegate starts");
    let load = Load::reads(4, &client::options(proxy.port));
    load.await_more(2_000);
    let before = load.least_cost_ns(&proxy);
    let empty = proxy.rss_bytes();

    let mut flood = Raw::login(proxy.port, "app", "app").expect("logged in");
    for batch in 0..count / BATCH {
        send_batch(&mut flood, batch * BATCH);
    }

    let grown = proxy.rss_bytes().saturating_sub(empty);
    let after = load.least_cost_ns(&proxy);
    let errors = load.stop();
    assert!(errors.is_empty(), "{errors:?}");
    println!("{count} digests: {} kB; a read costs {before} ns, {after} ns", grown / 1024);
    // verdicts are remembered in 8 MiB; the rest is what an allocator needs around them
    assert!(grown < (bound * 5 / 4 + 16) * MEGABYTE, "grown by {grown} bytes");
    // a search through the digests would cost tens of times as much; a machine that is shared makes
    // the same read half as dear again from one second to another
    assert!(after < before * 2, "a read costs {before} ns, {after} ns after the flood");
    let told = proxy.statistics().expect("they are told");
    let rules = told["stats_mysql_query_rules"].as_array().expect("a table");
    let hits = rules.iter().find(|rule| rule["rule_id"] == 9).expect("the rule")["hits"].as_u64();
    assert_eq!(hits, Some(count), "every query of the flood was seen");
    let all = told["digests_all"]["count_star"].as_u64();
    assert!(all >= Some(count), "what was evicted is still in the total: {all:?}");
}

/// Queries that differ in a name, all sent before the first answer is read.
fn send_batch(flood: &mut Raw, first: u64) {
    let mut bytes = Vec::with_capacity(64 * BATCH as usize);
    for number in first..first + BATCH {
        write_query(&mut bytes, format!("UPDATE flood SET of_{number}_digests = 1").as_bytes());
    }
    flood.bytes(&bytes).expect("sent");
    for _ in 0..BATCH {
        let (_, payload) = flood.receive().expect("an answer");
        assert_eq!(payload.first(), Some(&0), "{}", String::from_utf8_lossy(&payload));
    }
}
