//! Configurations loaded while clients are served: many in a row, and large ones. Nobody feels it.

use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, SplitOptions};
use live::{Finished, Load, Program, Proxy, client, eventually, skip};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

fn start(cluster: &Cluster) -> Proxy {
    let proxy = Proxy::start(|interfaces| {
        lab::split_toml(cluster, &SplitOptions { interfaces, ..SplitOptions::default() })
    });
    proxy.expect("tidegate starts")
}

fn admin(proxy: &Proxy) -> Conn {
    let options = OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(proxy.admin_port)
        .user(Some("admin"))
        .pass(Some("admin"))
        .prefer_socket(false);
    Conn::new(options).expect("an administrator may come in")
}

fn run(admin: &mut Conn, text: &str) {
    admin.query_drop(text).unwrap_or_else(|error| panic!("{text:.200}: {error}"));
}

/// Sixty-four clients for a while: what sysbench says of it.
fn sysbench(proxy: &Proxy, command: &str, time: Duration) -> Finished {
    Program::new("sysbench")
        .args(["oltp_point_select", "--threads=64", "--events=0", "--db-ps-mode=disable"])
        .args(["--mysql-db=sbtest", "--mysql-user=app", "--mysql-password=app", "--tables=4"])
        .args(["--table-size=10000", "--mysql-host=127.0.0.1"])
        .args([format!("--mysql-port={}", proxy.port), format!("--time={}", time.as_secs())])
        .args([command])
        .limit(time + Duration::from_secs(60))
        .run()
}

/// Transactions a second; everything else that sysbench says has to be good.
fn throughput(done: &Finished) -> f64 {
    let text = format!("{}\n{}", done.output, done.errors);
    assert!(done.success && !text.contains("FATAL"), "{text}");
    let line = |name: &str| done.output.lines().find_map(|line| line.trim().strip_prefix(name));
    for name in ["ignored errors:", "reconnects:"] {
        assert!(line(name).is_some_and(|rest| rest.trim().starts_with("0 ")), "{text}");
    }
    let rest = line("transactions:").expect("a figure");
    let rate = rest.split_once('(').and_then(|(_, rest)| rest.split_once(' '));
    rate.and_then(|(rate, _)| rate.parse().ok()).expect("a figure")
}

/// One LOAD of each module, each of something that changed.
fn change(admin: &mut Conn, turn: u32) {
    run(
        admin,
        &format!(
            "REPLACE INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup) \
             VALUES ({}, 1, '^SELECT turn{turn}$', 0)",
            1000 + turn % 50
        ),
    );
    run(admin, "LOAD MYSQL QUERY RULES TO RUNTIME");
    run(
        admin,
        match turn.is_multiple_of(2) {
            true => "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (77, '127.0.0.9')",
            false => "DELETE FROM mysql_servers WHERE hostgroup_id = 77",
        },
    );
    run(admin, "LOAD MYSQL SERVERS TO RUNTIME");
    run(
        admin,
        &format!("REPLACE INTO mysql_users (username, password) VALUES ('other', 'of {turn}')"),
    );
    run(admin, "LOAD MYSQL USERS TO RUNTIME");
}

/// A proxy with tables for sysbench behind it.
fn with_tables(what: &str) -> Option<(Cluster, Proxy)> {
    if !Program::new("sysbench").args(["--version"]).run().success {
        skip(what, "the package sysbench is not installed");
        return None;
    }
    let cluster = live::cluster(what, Flavour::MariaDb, 2)?;
    cluster.primary().sql("CREATE DATABASE sbtest").expect("created");
    let proxy = start(&cluster);
    let prepared = sysbench(&proxy, "prepare", Duration::ZERO);
    assert!(prepared.success, "{}\n{}", prepared.output, prepared.errors);
    cluster.wait_replicated().expect("replicated");
    Some((cluster, proxy))
}

/// How long clients are left alone, or not, at a time.
const MOMENT: Duration = Duration::from_millis(500);

/// What is left of the throughput while something else is done. Sixty-four clients are served all
/// the time; every other moment is disturbed, now the first of two and now the second, so that a
/// machine whose pace changes is as slow to both kinds.
fn share_left(proxy: &Proxy, pairs: u32, mut meanwhile: impl FnMut()) -> f64 {
    let mut admin = admin(proxy);
    let mut answered = || {
        let count: Option<u64> = admin.query_first("SELECT @@Questions").expect("it is SQL");
        count.expect("a row")
    };
    let mut rates = [0.0, 0.0];
    let time = MOMENT * 2 * pairs + Duration::from_secs(3);
    thread::scope(|scope| {
        let first = answered();
        let load = scope.spawn(move || sysbench(proxy, "run", time));
        eventually("clients are served", Duration::from_secs(20), || answered() > first + 20_000);
        for pair in 0..pairs {
            for disturbed in [pair % 2, 1 - pair % 2] {
                let (before, began) = (answered(), Instant::now());
                if disturbed == 1 {
                    meanwhile();
                }
                thread::sleep(MOMENT.saturating_sub(began.elapsed()));
                let rate = (answered() - before) as f64 / began.elapsed().as_secs_f64();
                rates[disturbed as usize] += rate / f64::from(pairs);
            }
        }
        throughput(&load.join().expect("no panic"));
    });
    println!("{:.0}/s without, {:.0}/s with", rates[0], rates[1]);
    rates[1] / rates[0]
}

#[test]
fn loads_in_a_row_are_felt_by_none_of_sixty_four_clients() {
    let Some((cluster, proxy)) = with_tables("loads in a row") else { return };
    let mut admin = admin(&proxy);
    // three LOADs a turn
    let (pairs, turns) = if live::full() { (60, 6) } else { (6, 6) };
    let counted = |name: &str| {
        let count = |server: &lab::Server| server.status(name).expect("a counter");
        cluster.servers().iter().map(count).sum::<u64>()
    };
    let counts = || ["Aborted_clients", "Aborted_connects"].map(counted);
    // connections to servers are there when the LOADs begin
    throughput(&sysbench(&proxy, "run", Duration::from_secs(1)));
    let before = counts();
    let mut number = 0;
    let share = share_left(&proxy, pairs, || {
        let began = Instant::now();
        for turn in 0..turns {
            // evenly over the time that is measured
            let due = MOMENT.mul_f64(f64::from(turn) / f64::from(turns));
            thread::sleep(due.saturating_sub(began.elapsed()));
            change(&mut admin, number);
            number += 1;
        }
    });
    assert_eq!(counts(), before, "aborted connections");
    for ended in ["lanes_lost", "lanes_failed", "lanes_dropped"] {
        assert_eq!(proxy.counter(ended).expect("told"), 0, "{ended}");
    }
    println!("{share:.3} of the throughput is left under {} LOADs", number * 3);
    assert!(share > if live::full() { 0.95 } else { 0.5 }, "{share}");
}

#[test]
fn reading_every_statistics_table_in_a_loop_takes_nothing_from_throughput() {
    // what it takes from workers is measured in `stats_tables` in any form
    if !live::full() {
        return live::skip("statistics in a loop", "only in the long form");
    }
    let Some((_cluster, proxy)) = with_tables("statistics in a loop") else { return };
    let mut admin = admin(&proxy);
    let tables: Vec<String> = admin.query("SHOW TABLES FROM stats").expect("listed");
    let share = share_left(&proxy, 60, || {
        // twice a second: more often than any dashboard
        for table in &tables {
            run(&mut admin, &format!("SELECT * FROM stats.{table}"));
        }
    });
    println!("{share:.3} of the throughput is left");
    assert!(share > 0.98, "{share}");
}

/// Ten thousand rules and users, a thousand servers.
fn large(admin: &mut Conn) {
    let mut insert = |head: &str, count: u32, row: &dyn Fn(u32) -> String| {
        for from in (0..count).step_by(500) {
            let mut text = format!("INSERT INTO {head} VALUES ");
            for at in from..(from + 500).min(count) {
                let comma = if at == from { "" } else { "," };
                write!(text, "{comma}{}", row(at)).expect("written");
            }
            run(admin, &text);
        }
    };
    insert(
        "mysql_query_rules (rule_id, active, username, match_digest, destination_hostgroup, apply)",
        10_000,
        &|at| format!("({}, 1, 'u{}', '^SELECT .* FROM t{at} WHERE', 7, 1)", 5000 + at, at % 100),
    );
    insert("mysql_servers (hostgroup_id, hostname)", 1000, &|at| {
        format!("({}, '127.1.{}.{}')", 100 + at % 50, at / 250, at % 250 + 1)
    });
    insert("mysql_users (username, password, default_hostgroup)", 10_000, &|at| {
        format!("('user{at}', 'of {at}', 0)")
    });
}

/// Gives the next LOAD of each module something to do.
fn change_a_row_of_each(admin: &mut Conn, round: usize) {
    run(admin, &format!("UPDATE mysql_query_rules SET delay = {round} WHERE rule_id = 6000"));
    run(admin, "UPDATE mysql_servers SET weight = weight + 1 WHERE hostgroup_id = 101");
    run(admin, "UPDATE mysql_users SET max_connections = max_connections + 1");
}

const MODULES: [&str; 3] = ["QUERY RULES", "SERVERS", "USERS"];

/// The longest turn of a worker since it was asked the last time.
fn longest_turn_us(proxy: &Proxy) -> u64 {
    const NAME: &str = "turn_us_max=";
    let told = |log: &str| log.matches(NAME).count();
    let before = told(&proxy.log());
    proxy.statistics().expect("told");
    eventually("the turn is told", Duration::from_secs(5), || told(&proxy.log()) > before);
    let log = proxy.log();
    let (_, rest) = log.rsplit_once(NAME).expect("told");
    let end = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().expect("a number")
}

/// The processor time of each worker, in nanoseconds.
fn of_workers(proxy: &Proxy) -> Vec<u64> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", proxy.pid())).expect("it runs");
    let mut times: Vec<(String, u64)> = Vec::new();
    for thread in threads.flatten() {
        let read = |name| std::fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        let time = read("schedstat").split_whitespace().next().and_then(|text| text.parse().ok());
        times.push((read("comm"), time.unwrap_or(0)));
    }
    times.retain(|(name, _)| name.starts_with("worker"));
    times.sort();
    times.into_iter().map(|(_, time)| time).collect()
}

/// What else runs on the machine makes pages dearer that are touched for the first time: the short
/// form allows any round four times as much, and none to all of them.
fn assert_within(rounds: &[Duration], limit: Duration) {
    let most = limit * if live::full() { 1 } else { 4 };
    let is_within = rounds.iter().any(|one| *one < limit) && rounds.iter().all(|one| *one < most);
    assert!(is_within, "{rounds:?} of {limit:?}");
}

#[test]
fn a_large_configuration_is_loaded_in_a_second_and_no_worker_stands_still() {
    let Some(cluster) = live::cluster("large loads", Flavour::MariaDb, 1) else { return };
    let proxy = start(&cluster);
    let mut admin = admin(&proxy);
    large(&mut admin);
    let mut clients: Vec<Conn> =
        (0..64).map(|_| client::connect(client::options(proxy.port))).collect();
    clients.iter_mut().for_each(|client| client.query_drop("DO 1").expect("served"));
    let mut costs = Vec::new();
    let mut stalls = Vec::new();
    for round in 0..4 {
        let (spent, began) = (proxy.cpu_ns(), Instant::now());
        let mut stall = 0;
        for module in MODULES {
            let before = of_workers(&proxy);
            run(&mut admin, &format!("LOAD MYSQL {module} TO RUNTIME"));
            let after = of_workers(&proxy);
            let of_each = after.iter().zip(before).map(|(after, before)| after - before);
            stall = of_each.fold(stall, u64::max);
        }
        stalls.push(Duration::from_nanos(stall));
        let spent = Duration::from_nanos(proxy.cpu_ns() - spent);
        println!("three LOADs: {:?}, of the processor {spent:?}", began.elapsed());
        costs.push(spent);
        change_a_row_of_each(&mut admin, round);
    }
    println!("longest of a worker's time for a LOAD: {stalls:?}");
    assert_within(&stalls, Duration::from_millis(5));
    assert_within(&costs, Duration::from_secs(1));

    let load = Load::reads(4, &client::options(proxy.port));
    load.await_more(100);
    // what else runs on the machine makes a turn longer, never shorter: a slice of the system's
    // is some milliseconds by itself
    let limit_us = if live::full() { 5000 } else { 20_000 };
    let mut longest = Vec::new();
    while longest.len() < 3 || longest.len() < 10 && longest.iter().all(|us| *us > limit_us) {
        change_a_row_of_each(&mut admin, 10 + longest.len());
        longest_turn_us(&proxy);
        for module in MODULES {
            run(&mut admin, &format!("LOAD MYSQL {module} TO RUNTIME"));
        }
        load.await_more(50);
        longest.push(longest_turn_us(&proxy));
    }
    println!("longest turns of a worker under load by the clock: {longest:?} us");
    assert!(longest.iter().any(|us| *us <= limit_us), "{longest:?}");
    let errors = load.stop();
    assert!(errors.is_empty(), "{errors:?}");
    clients.iter_mut().for_each(|client| client.query_drop("DO 1").expect("it was not lost"));
}
