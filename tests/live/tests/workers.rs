//! Workers stand in no other's way: none waits for another one in a system call, and a query costs
//! two of them what it costs one.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use lab::{Cluster, Flavour, SplitOptions};
use live::{Load, Program, Proxy, client};

fn proxy(cluster: &Cluster, workers: usize, more: &str) -> Proxy {
    let variables = format!("threads = {workers}\n{more}");
    Proxy::start(|interfaces| {
        lab::split_toml(cluster, &SplitOptions { interfaces, variables, ..Default::default() })
    })
    .expect("tidegate starts")
}

/// The numbers of the workers' threads.
fn threads(proxy: &Proxy) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", proxy.pid())).expect("the proxy runs");
    let is_worker = |path: &std::path::Path| {
        fs::read_to_string(path.join("comm")).is_ok_and(|name| name.starts_with("worker-"))
    };
    let workers = tasks.flatten().filter(|task| is_worker(&task.path()));
    workers.map(|task| task.file_name().to_string_lossy().into_owned()).collect()
}

/// How often the threads made each system call in a second, by `strace`; `None` where it is not
/// there or may not look.
fn system_calls(threads: &[String]) -> Option<BTreeMap<String, u64>> {
    let ids = threads.iter().flat_map(|id| ["-p", id]);
    let words = ["-s", "INT", "1", "strace", "-qq", "-c", "-U", "name,calls"].into_iter();
    let seen = Program::new("timeout").args(words.chain(ids)).run();
    let rows = seen.errors.lines().filter_map(|line| {
        let (name, calls) = line.trim().split_once(' ')?;
        Some((name.to_owned(), calls.trim().parse().ok()?))
    });
    let rows: BTreeMap<String, u64> = rows.collect();
    (!rows.is_empty()).then_some(rows)
}

#[test]
fn no_worker_waits_for_another_one() {
    const WHAT: &str = "workers' system calls";
    let Some(cluster) = live::cluster(WHAT, Flavour::MariaDb, 2) else { return };
    let proxy = proxy(&cluster, 2, "");
    let load = Load::reads(32, &client::options(proxy.port));
    load.await_more(2000);
    let calls = system_calls(&threads(&proxy));
    let errors = load.stop();
    assert!(errors.is_empty(), "{errors:?}\n{}", proxy.log());
    let Some(calls) = calls else { return live::skip(WHAT, "strace sees nothing") };
    println!("{calls:?}");
    assert!(calls.values().sum::<u64>() > 100, "{calls:?}");
    assert_eq!(calls.get("futex"), None, "{calls:?}");
}

/// How many times as much processor time a query costs two workers as it costs one.
fn times_as_much(cluster: &Cluster, rounds: u32, more: &str) -> f64 {
    let proxies = [1, 2].map(|workers| (workers, proxy(cluster, workers, more)));
    let mut costs = [u64::MAX; 2];
    for _ in 0..rounds {
        for (least, (workers, proxy)) in costs.iter_mut().zip(&proxies) {
            let load = Load::reads(24 * workers, &client::options(proxy.port));
            load.await_more(1000);
            let (done, spent) = (load.done(), proxy.worker_cpu_ns());
            std::thread::sleep(Duration::from_millis(700));
            load.await_more(100);
            let cost = (proxy.worker_cpu_ns() - spent) / (load.done() - done);
            *least = cost.min(*least);
            let errors = load.stop();
            assert!(errors.is_empty(), "{errors:?}\n{}", proxy.log());
        }
    }
    let [one, two] = costs;
    let times = two as f64 / one as f64;
    println!("a query costs one worker {one} ns, two {two} ns: {times:.2} times");
    for (workers, proxy) in &proxies {
        let [sent, batches] = ["shared_sent", "shared_batches"].map(|name| {
            let count = proxy.counter(name).expect("counted");
            count.max(1) as f64
        });
        println!("{workers}: {:.1} commands a send", sent / batches);
    }
    times
}

#[test]
fn a_query_costs_two_workers_what_it_costs_one() {
    let Some(cluster) = live::cluster("two workers", Flavour::MariaDb, 2) else { return };
    let (rounds, limit) = match live::full() {
        // by instructions it is 1.01; servers, clients and workers share caches and cores
        true => (10, 1.2),
        // beside other tests
        false => (3, 1.5),
    };
    // a lane for each, so that what a query costs does not depend on how many share a send
    let alone = times_as_much(&cluster, rounds, "pipeline_depth = 0\n");
    let shared = times_as_much(&cluster, rounds, "");
    assert!(alone <= limit, "{alone:.2} times, {shared:.2} shared");
}
