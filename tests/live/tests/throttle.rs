//! Clients that are sent no more than so many bytes in a second
//! (`mysql-throttle_max_bytes_per_second_to_client`).

use std::thread;
use std::time::{Duration, Instant};

use lab::{Flavour, SplitOptions};
use live::{Proxy, client as driver, eventually};
use mysql::prelude::Queryable;

const TEXT: &str = "SELECT REPEAT('x', 600000)";

/// How long the text takes to come.
fn takes(port: u16, user: &str) -> Duration {
    let mut conn = driver::connect(driver::account(port, user, user));
    let begun = Instant::now();
    let row: String = conn.query_first(TEXT).expect("an answer").expect("a row");
    assert_eq!(row.len(), 600_000);
    begun.elapsed()
}

#[test]
fn a_large_result_comes_at_the_rate_and_small_ones_beside_it_at_once() {
    let Some(cluster) = live::cluster("throttle", Flavour::MariaDb, 0) else { return };
    let variables = "threads = 1\nthrottle_max_bytes_per_second_to_client = 200000\n\
                     throttle_ratio_server_to_client = 10\n";
    let proxy = Proxy::start(|interfaces| {
        let variables = variables.to_owned();
        let options = SplitOptions { interfaces, variables, ..Default::default() };
        lab::split_toml(&cluster, &options)
    })
    .expect("tidegate starts");
    let port = proxy.port;
    for user in ["app", "ff"] {
        let large = thread::spawn(move || takes(port, user));
        let mut other = driver::connect(driver::options(port));
        let (mut asked, mut longest) = (0, Duration::ZERO);
        while !large.is_finished() {
            let begun = Instant::now();
            assert_eq!(other.query_first::<u8, _>("SELECT 1").expect("an answer"), Some(1));
            (asked, longest) = (asked + 1, longest.max(begun.elapsed()));
            thread::sleep(Duration::from_millis(5));
        }
        let took = large.join().expect("no panic");
        // 600 KB at 200 KB/s, the first share of a tenth of a second at once
        assert!((2800..8000).contains(&took.as_millis()), "{user}: {took:?}");
        assert!(asked > 100, "{user}: {asked} in {took:?}");
        assert!(longest < Duration::from_secs(1), "{user}: {longest:?}");
    }
    let listens = || live::greeting_of(proxy.admin_port).is_ok();
    eventually("the administrative interface listens", Duration::from_secs(10), listens);
    let account = driver::account(proxy.admin_port, "admin", "admin").db_name(None::<String>);
    let mut admin = driver::connect(account);
    admin.query_drop("SET mysql-throttle_max_bytes_per_second_to_client = 0").expect("set");
    admin.query_drop("LOAD MYSQL VARIABLES TO RUNTIME").expect("loaded");
    eventually("no client waits", Duration::from_secs(10), || {
        takes(port, "app") < Duration::from_millis(1000)
    });
}
