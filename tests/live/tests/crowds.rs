//! Many more clients than servers allow connections, that come and go; and clients that come all at
//! once. Nobody is refused, nobody gets another one's answer, and no server is thought ill of.

use std::collections::BTreeSet;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour};
use live::{Finished, Program, Proxy, Shared, Tap, client};
use mysql::prelude::Queryable;
use mysql::{Conn, Opts};

static MARIADB: Shared = Shared::new("crowds", Flavour::MariaDb, 0);

/// A server that has no clients and allows 200, and the one that asks how many there are.
fn cluster() -> Option<MutexGuard<'static, Cluster>> {
    let cluster = MARIADB.cluster()?;
    live::eventually("clients of other tests are gone", Duration::from_secs(10), || {
        cluster.primary().status("Threads_connected").expect("a counter") == 1
    });
    cluster.primary().sql("SET GLOBAL max_connections = 201").expect("set");
    Some(cluster)
}

/// A proxy in front of a server on some port.
fn proxy(port: u16, connections: u32, variables: &str) -> Proxy {
    proxy_of(2, port, connections, variables)
}

/// The same of so many workers.
fn proxy_of(threads: u32, port: u16, connections: u32, variables: &str) -> Proxy {
    let started = Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = {threads}\n\
             max_connections = 5000\n{variables}\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n\
             max_connections = {connections}\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
             [[mysql_users]]\nusername = \"ff\"\npassword = \"ff\"\n\
             [[mysql_users]]\nusername = \"relay\"\npassword = \"app\"\nfast_forward = 1\n"
        )
    });
    started.expect("tidegate starts")
}

/// Runs clients; the words say which.
fn crowd(words: &[String], seconds: u64) -> Finished {
    let program = env!("CARGO_BIN_EXE_crowd");
    let command = format!("ulimit -n $(ulimit -Hn); exec '{program}' {}", words.join(" "));
    let limit = Duration::from_secs(seconds + 60);
    Program::new("/bin/sh").args(["-c", &command]).limit(limit).run()
}

/// Runs transactions of clients that keep their connections, for two seconds.
fn crowd_that_stays(proxy: &Proxy, clients: u32) -> Finished {
    let (port, clients) = (proxy.port.to_string(), clients.to_string());
    crowd(&["stay", &port, "transactions", &clients, "2"].map(str::to_owned), 2)
}

/// A figure of what they tell at last.
fn figure(told: &Finished, name: &str) -> u64 {
    let words = told.output.split_whitespace();
    let mut values = words.filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let value = values.next().and_then(|value| value.parse().ok());
    value.unwrap_or_else(|| panic!("no {name}: {} {}", told.output, told.errors))
}

/// No client has seen anything wrong, and the server is not thought ill of.
fn assert_nothing_failed(told: &Finished, proxy: &Proxy) {
    assert_eq!(figure(told, "wrong"), 0, "{}\n{}", told.output, proxy.log());
    let counters = &proxy.statistics().expect("told")["counters"];
    for name in ["err", "shuns", "connect_timeouts", "checkouts_failed"] {
        assert_eq!(counters[name], 0, "{name}: {}", proxy.log());
    }
}

/// How many connections the server had at most since it was asked the last time, the one that asks
/// included.
fn most_connections(cluster: &Cluster) -> u64 {
    let most = cluster.primary().status("Max_used_connections").expect("a counter");
    cluster.primary().sql("FLUSH STATUS").expect("forgotten");
    most
}

/// Thousands of clients, each with a new connection after every ten questions.
fn stay(kind: &str, seconds: u64) {
    let Some(cluster) = cluster() else { return };
    let (clients, seconds) = if live::full() { (4096, seconds) } else { (512, 2) };
    let proxy = proxy(cluster.primary().port, 200, "");
    most_connections(&cluster);
    let empty = proxy.rss_bytes();
    let words = ["stay", &proxy.port.to_string(), kind, &clients.to_string(), &seconds.to_string()];
    let told = crowd(&words.map(str::to_owned), seconds);
    let (most, rss) = (most_connections(&cluster), proxy.rss_bytes_max());
    let each = (rss - empty) / clients;
    println!(
        "{clients} clients, {kind}: {}; {most} connections, {each} B each",
        told.output.trim()
    );
    assert_nothing_failed(&told, &proxy);
    // however slow the machine is, each client ends the stay that it began
    assert!(figure(&told, "answers") >= 10 * clients, "{}", told.output);
    // one that was just closed may still count when the next comes, which then is refused
    let failed = proxy.counter("lanes_failed").expect("counted");
    assert!(most <= 202 && failed < 200, "{most} connections, {failed} refused");
    assert!(each < 20_000, "{rss} bytes, {empty} without clients");
}

#[test]
fn thousands_of_clients_that_come_and_go_share_few_connections() {
    stay("text", 300);
}

#[test]
fn thousands_of_clients_that_come_and_go_prepare_on_few_connections() {
    stay("prepared", 300);
}

#[test]
fn thousands_of_clients_that_come_and_go_have_transactions_on_few_connections() {
    stay("transactions", 60);
}

/// Comes in as an administrator.
fn admin(proxy: &Proxy) -> Conn {
    let listens = || live::greeting_of(proxy.admin_port).is_ok();
    live::eventually("the administrative interface listens", Duration::from_secs(10), listens);
    let account = client::account(proxy.admin_port, "admin", "admin").db_name(None::<String>);
    Conn::new(Opts::from(account)).expect("an administrator may come in")
}

/// Runs a storm, and looks all the while at what the proxy thinks of its server.
fn storm(what: &str, proxy: &Proxy) {
    let (rate, seconds) = (2000, if live::full() { 60 } else { 2 });
    let words = ["storm".to_owned(), proxy.port.to_string(), rate.to_string(), seconds.to_string()];
    let mut admin = admin(proxy);
    let mut seen = BTreeSet::new();
    let told = std::thread::scope(|scope| {
        let clients = scope.spawn(|| crowd(&words, seconds));
        while !clients.is_finished() {
            const STATUS: &str = "SELECT status FROM stats_mysql_connection_pool UNION \
                SELECT status FROM runtime_mysql_servers";
            seen.extend(admin.query::<String, _>(STATUS).expect("told"));
            std::thread::sleep(Duration::from_millis(50));
        }
        clients.join().expect("no panic")
    });
    let created = proxy.counter("lanes_created").expect("counted");
    println!("{what}: {} {created} connections to the server", told.output.trim());
    assert_nothing_failed(&told, proxy);
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["ONLINE"], "{}", proxy.log());
    assert_eq!(figure(&told, "connects"), rate * seconds);
    // what else runs on the machine slows clients down
    assert!(figure(&told, "rate") > if live::full() { 1900 } else { 200 }, "{}", told.output);
}

#[test]
fn a_storm_of_connects_finds_the_server_online() {
    let Some(cluster) = cluster() else { return };
    // no connection to the server is there when it begins
    storm("cold", &proxy(cluster.primary().port, 200, ""));
}

#[test]
fn a_storm_of_connects_that_keep_their_servers_connection_finds_it_online() {
    let Some(cluster) = cluster() else { return };
    storm("kept", &proxy(cluster.primary().port, 200, "multiplexing = false"));
}

#[test]
fn a_storm_of_connects_finds_a_server_online_that_is_slow_to_greet() {
    let Some(cluster) = cluster() else { return };
    let tap = Tap::start_slow(cluster.primary().port, Duration::from_millis(200)).expect("it runs");
    storm("slow to greet", &proxy(tap.port, 200, ""));
}

/// What is slow to greet, and lets the account in whose clients are relayed.
fn slow_to_relay(cluster: &Cluster, delay: Duration) -> Tap {
    let server = cluster.primary();
    server.sql("CREATE USER IF NOT EXISTS relay IDENTIFIED BY 'app'").expect("made");
    Tap::start_slow(server.port, delay).expect("it runs")
}

#[test]
fn clients_that_are_relayed_wait_for_leave_to_connect() {
    let Some(cluster) = cluster() else { return };
    let tap = slow_to_relay(&cluster, Duration::from_millis(20));
    let proxy = proxy(tap.port, 200, "max_connects_per_server = 1");
    let began = Instant::now();
    let served = std::thread::scope(|scope| {
        let client = |_| {
            scope.spawn(|| {
                let opts = client::account(proxy.port, "relay", "app").db_name(None::<String>);
                let mut conn = Conn::new(opts).expect("let in");
                conn.query_first::<u32, _>("SELECT 7").expect("answered")
            })
        };
        let clients: Vec<_> = (0..30).map(client).collect();
        clients.into_iter().filter_map(|client| client.join().expect("no panic")).sum::<u32>()
    });
    assert_eq!(served, 30 * 7);
    assert!(began.elapsed() >= 29 * Duration::from_millis(20), "{:?}", began.elapsed());
    assert!(proxy.counter("dials_delayed").expect("counted") > 0);
}

#[test]
fn clients_that_are_relayed_are_told_when_they_waited_for_too_long() {
    let Some(cluster) = cluster() else { return };
    let tap = slow_to_relay(&cluster, Duration::from_millis(800));
    // two workers may begin at the very same moment
    let variables = "max_connects_per_server = 1\nconnect_timeout_server_max = 300";
    let proxy = proxy_of(1, tap.port, 200, variables);
    let client = || {
        let opts = client::account(proxy.port, "relay", "app").db_name(None::<String>);
        let began = Instant::now();
        (Conn::new(opts).map(drop).map_err(|error| error.to_string()), began.elapsed())
    };
    let (one, other) = std::thread::scope(|scope| {
        let other = scope.spawn(client);
        (client(), other.join().expect("no panic"))
    });
    let (refused, served) = if one.0.is_err() { (one, other) } else { (other, one) };
    assert_eq!(served.0, Ok(()));
    let (said, waited) = (refused.0.expect_err("one connects at a time"), refused.1);
    assert!(said.contains("9001") && said.contains("hostgroup 0"), "{said}");
    // told after its time, and before the other one's connection stood
    assert!(waited >= Duration::from_millis(300) && waited < served.1, "{waited:?}, {served:?}");
}

#[test]
fn a_server_that_allows_fewer_connections_than_were_said_is_used_as_far_as_it_goes() {
    let Some(cluster) = cluster() else { return };
    let server = cluster.primary();
    server.sql("SET GLOBAL max_connections = 20").expect("set");
    let proxy = proxy(server.port, 200, "");
    let told = crowd_that_stays(&proxy, 256);
    let refused = proxy.counter("lanes_failed").expect("counted");
    println!("20 of 200 connections: {}, {refused} refused", told.output.trim());
    assert_nothing_failed(&told, &proxy);
    // it is asked again now and then, not by each client that waits
    assert!((1..200).contains(&refused), "{refused}");
    server.sql("SET GLOBAL max_connections = 201").expect("set");
}

#[test]
fn an_account_that_a_server_allows_few_connections_keeps_no_other_one_out() {
    let Some(cluster) = cluster() else { return };
    let server = cluster.primary();
    server.sql("ALTER USER app WITH MAX_USER_CONNECTIONS 10").expect("altered");
    let proxy = proxy(server.port, 200, "");
    let told = std::thread::scope(|scope| {
        let clients = scope.spawn(|| crowd_that_stays(&proxy, 128));
        let refused = || proxy.counter("lanes_failed").expect("counted") > 0;
        live::eventually("the account is at its limit", Duration::from_secs(10), refused);
        let mut other = client::connect(client::account(proxy.port, "ff", "ff"));
        let began = Instant::now();
        assert_eq!(other.query_first("SELECT 7").expect("answered"), Some(7));
        println!("another account is served in {:?}", began.elapsed());
        assert!(!clients.is_finished(), "served after everybody else");
        clients.join().expect("no panic")
    });
    println!("10 connections of an account: {}", told.output.trim());
    assert_nothing_failed(&told, &proxy);
    server.sql("ALTER USER app WITH MAX_USER_CONNECTIONS 0").expect("altered");
}
