//! What clients may cost: memory for slow ones and idle ones, and what becomes of the server's work
//! when a client leaves in the middle of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, SplitOptions};
use live::{Load, Proxy, Raw, client, eventually};
use mysql::prelude::Queryable;

const MEGABYTE: u64 = 1 << 20;

/// A read of 200 MB in rows of a megabyte.
const BIG_READ: &[u8] = b"\x03SELECT REPEAT('x', 1000000) FROM test.seq_1_to_200";

fn proxy(cluster: &Cluster, variables: &str, more: &str) -> Proxy {
    let options =
        SplitOptions { variables: variables.into(), more: more.into(), ..Default::default() };
    Proxy::start(|interfaces| lab::split_toml(cluster, &SplitOptions { interfaces, ..options }))
        .expect("tidegate starts")
}

/// Statements that run on a server for clients of the application, without those that wait.
fn running(server: &lab::Server) -> u64 {
    let count = "SELECT COUNT(*) FROM information_schema.processlist \
        WHERE user = 'app' AND command IN ('Query', 'Execute')";
    server.value(count).expect("counted").parse().expect("a number")
}

#[test]
fn a_client_that_reads_a_byte_a_second_costs_less_than_4_megabytes() {
    let Some(cluster) = live::cluster("a slow client", Flavour::MariaDb, 1) else { return };
    let proxy = proxy(&cluster, "", "");
    let load = Load::reads(8, &client::options(proxy.port));
    load.await_more(4000);

    let alone = load.least_cost_ns(&proxy);
    let before = proxy.rss_bytes();
    let mut slow = Raw::login(proxy.port, "app", "app").expect("logged in");
    slow.send(0, BIG_READ).expect("sent");
    let mut byte = [0];
    let mut most = 0;
    let mut beside = u64::MAX;
    for _ in 0..if live::full() { 30 } else { 8 } {
        slow.stream().read_exact(&mut byte).expect("a byte");
        beside = load.cost_ns(&proxy).min(beside);
        most = most.max(proxy.rss_bytes());
    }
    let errors = load.stop();
    assert!(errors.is_empty(), "{errors:?}");
    let grown = most.saturating_sub(before);
    assert!(grown < 4 * MEGABYTE, "grown by {grown} bytes from {before}");
    assert!(beside < alone * 2, "a read costs {alone} ns, {beside} ns beside a slow client");

    // The reply is still whole for one who reads on.
    let bytes = drain(&mut slow, Duration::from_secs(60));
    assert!(bytes > 200_000_000, "only {bytes} bytes");
}

/// Neither answers that nobody takes nor commands that nobody serves yet pile up: the client has to
/// wait, and gets every answer once it reads.
#[test]
fn a_client_that_pipelines_and_does_not_read_has_to_wait() {
    const SENT_MAX: usize = 64 << 20;
    let Some(cluster) = live::cluster("a flood", Flavour::MariaDb, 1) else { return };
    let proxy = proxy(&cluster, "threads = 1\n", "");
    let mut neighbour = client::connect(client::options(proxy.port));
    let before = proxy.rss_bytes();
    let ping = &[1, 0, 0, 0, 0x0e][..];
    let select = &[9, 0, 0, 0, 3, b'S', b'E', b'L', b'E', b'C', b'T', b' ', b'1'][..];
    let prepare = &[
        9, 0, 0, 0, 0x16, b'S', b'E', b'L', b'E', b'C', b'T', b' ', b'1', 5, 0, 0, 0, 0x19, 1, 0,
        0, 0,
    ];
    for (name, command) in [("query", select), ("prepare", &prepare[..]), ("ping", ping)] {
        let mut flood = Raw::login(proxy.port, "app", "app").expect("logged in");
        let batch = command.repeat(4096);
        let (mut sent, mut moved) = (0, Instant::now());
        flood.stream().set_nonblocking(true).expect("set");
        while sent < SENT_MAX && moved.elapsed() < Duration::from_secs(2) {
            match flood.stream().write(&batch[sent % batch.len()..]) {
                Ok(len) => (sent, moved) = (sent + len, Instant::now()),
                Err(_) => std::thread::yield_now(),
            }
        }
        let grown = proxy.rss_bytes().saturating_sub(before);
        assert!(sent < SENT_MAX, "{name}: {sent} bytes were taken, and {grown} bytes grown");
        assert!(grown < 16 * MEGABYTE, "{name}: grown by {grown} bytes");
        let begun = Instant::now();
        neighbour.query_drop("SELECT 1").expect("answered");
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(1), "{name}: the neighbour waits {took:?}");
        if name == "ping" {
            flood.stream().set_nonblocking(false).expect("set");
            // it says no more, and is told everything all the same
            flood.finish();
            let bytes = drain(&mut flood, Duration::from_secs(60));
            assert_eq!(bytes, sent / command.len() * 11, "an answer for each");
        }
    }
}

/// A command that is longer than what is kept of one that has to wait is read on once it is its
/// turn.
#[test]
fn a_long_command_behind_another_is_read_to_its_end() {
    let Some(cluster) = live::cluster("long commands", Flavour::MariaDb, 1) else { return };
    let proxy = proxy(&cluster, "", "");
    for len in [40_000, 100_000, 200_000, 400_000, 2_000_000] {
        let mut end = Raw::login(proxy.port, "app", "app").expect("logged in");
        end.send(0, b"\x03DO SLEEP(0.5)").expect("sent");
        end.send(0, format!("\x03SELECT LENGTH('{}')", "x".repeat(len)).as_bytes()).expect("sent");
        let (_, ok) = end.receive().expect("the first is answered");
        assert_eq!(ok[0], 0, "{}", ok.escape_ascii());
        let mut packets: Vec<_> = (0..5).map(|_| end.receive().expect("answered").1).collect();
        let row = packets.swap_remove(3);
        assert_eq!(String::from_utf8_lossy(&row[1..]), len.to_string());
    }
}

/// Reads until nothing comes for a while.
fn drain(raw: &mut Raw, limit: Duration) -> usize {
    let (mut bytes, deadline) = (0, Instant::now() + limit);
    raw.stream().set_read_timeout(Some(Duration::from_secs(2))).expect("set");
    let mut buffer = vec![0; 1 << 20];
    while Instant::now() < deadline {
        match raw.stream().read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(len) => bytes += len,
        }
    }
    bytes
}

#[test]
fn a_client_gone_in_mid_result_leaves_nothing_running_and_spoils_nobodys_reply() {
    let Some(cluster) = live::cluster("a client gone", Flavour::MariaDb, 1) else { return };
    let proxy = proxy(&cluster, "", "");
    let load = Load::reads(4, &client::options(proxy.port));
    load.await_more(200);
    for _ in 0..8 {
        let mut leaver = Raw::login(proxy.port, "app", "app").expect("logged in");
        leaver.send(0, BIG_READ).expect("sent");
        let mut some = vec![0; 100_000];
        leaver.stream().read_exact(&mut some).expect("the reply begins");
        drop(leaver);
    }
    for _ in 0..8 {
        let mut leaver = Raw::login(proxy.port, "app", "app").expect("logged in");
        leaver.send(0, b"\x03SELECT SLEEP(600)").expect("sent");
        drop(leaver);
    }
    load.await_more(500);
    let errors = load.stop();
    assert!(errors.is_empty(), "{errors:?}");
    half_closed_clients_are_answered(&proxy);
    for server in cluster.servers() {
        eventually("nothing runs for those who left", Duration::from_secs(20), || {
            running(server) == 0
        });
    }
    let mut session = client::connect(client::options(proxy.port));
    let value: Option<String> = session.query_first("SELECT 'mine'").expect("answered");
    assert_eq!(value.as_deref(), Some("mine"));
}

/// Those who end what they send, and still read, get the answers to what they asked, and then the
/// end; what runs for them longer than a second is killed as if they had left.
fn half_closed_clients_are_answered(proxy: &Proxy) {
    let asked_as = |user: &str, texts: &[&str]| {
        let mut raw = Raw::login(proxy.port, user, user).expect("logged in");
        for text in texts {
            raw.send(0, &[b"\x03", text.as_bytes()].concat()).expect("sent");
        }
        raw.finish();
        String::from_utf8_lossy(&raw.rest().expect("the end comes")).into_owned()
    };
    let asked = |texts: &[&str]| asked_as("app", texts);
    let said = asked(&["SELECT 'one'", "SELECT SLEEP(0.2), 'two'", "SELECT 'three'"]);
    let places = ["\u{3}one", "\u{3}two", "\u{5}three"].map(|word| said.find(word));
    assert!(places.is_sorted() && places[0].is_some(), "{places:?} in {said:?}");
    let big = asked(&["SELECT REPEAT('x', 1000000) FROM test.seq_1_to_20"]);
    assert!(big.len() > 20_000_000, "{} bytes", big.len());

    // what is relayed goes on as long as something comes of it
    let slow = ["SELECT 'begins', SLEEP(0.4)"; 4];
    let texts = [&slow[..], &["SELECT 'ends'"]].concat();
    let said = asked_as("ff", &texts);
    assert!(said.matches("begins").count() >= 4 && said.contains("\u{4}ends"), "{said:?}");
    let begun = Instant::now();
    let said = asked_as("ff", &["SELECT 'one'", "SELECT SLEEP(600)"]);
    let took = begun.elapsed().as_secs_f64();
    assert!((1.0..8.0).contains(&took) && said.contains("\u{3}one"), "{took} s: {said:?}");

    let begun = Instant::now();
    let said = asked(&["BEGIN", "SELECT SLEEP(600)"]);
    let took = begun.elapsed().as_secs_f64();
    assert!((1.0..8.0).contains(&took), "the end after {took} s");
    assert_eq!(said.len(), 11, "more than the answer to BEGIN: {said:?}");
}

#[test]
fn ten_thousand_idle_clients_cost_less_than_25_megabytes() {
    const COUNT: usize = 10_000;
    let Some(cluster) = live::cluster("idle clients", Flavour::MariaDb, 1) else { return };
    if open_files_max() < COUNT as u64 + 200 {
        return live::skip("idle clients", "this machine does not allow 10,200 open files");
    }
    let more = "\n[[mysql_users]]\nusername = \"idle\"\npassword = \"idle\"\n\
        max_connections = 20000\n";
    let proxy = proxy(&cluster, "max_connections = 20000\n", more);
    // the system keeps everybody waiting while it makes a table larger that threads share
    assert!(proxy.descriptors() >= COUNT as u64, "room for {} files", proxy.descriptors());
    let empty = proxy.rss_bytes();
    let busy = Load::reads(2, &client::options(proxy.port));
    busy.await_more(1000);
    let alone = busy.least_cost_ns(&proxy);
    let started = proxy.rss_bytes();

    let program = env!("CARGO_BIN_EXE_idle-clients");
    let command = format!("ulimit -n $(ulimit -Hn); exec '{program}' {} idle {COUNT}", proxy.port);
    let mut clients = Command::new("/bin/sh")
        .args(["-c", &command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut said = String::new();
    let output = clients.stdout.take().expect("piped");
    BufReader::new(output).read_line(&mut said).expect("read");
    assert_eq!(said, "ready\n", "{}{}", proxy.threads(), proxy.log());

    let cost = proxy.rss_bytes().saturating_sub(started.min(empty));
    let beside = busy.least_cost_ns(&proxy);
    drop(clients.stdin.take());
    clients.wait().expect("ended");
    // the machine may be busier than it was at the start
    let alone = alone.max(busy.least_cost_ns(&proxy));
    let errors = busy.stop();
    assert!(errors.is_empty(), "{errors:?}");
    println!("{COUNT} idle clients: {} kB; a read costs {alone} ns, {beside} ns", cost / 1024);
    assert!(cost < 25 * MEGABYTE, "{cost} bytes for {COUNT} idle clients, {empty} empty");
    // ten thousand clients looked at for every read would cost many times as much
    assert!(beside < alone * 2, "a read costs {alone} ns, {beside} ns beside idle clients");
    client::connect(client::options(proxy.port)).ping().expect("still in order");
}

/// How many files a process may open here at most.
fn open_files_max() -> u64 {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|line| line.starts_with("Max open files"));
    let hard = line.and_then(|line| line.split_whitespace().nth(4)?.parse().ok());
    hard.unwrap_or(0)
}
