//! Clients whose address a proxy in front tells by a header of the PROXY protocol: HAProxy, and
//! headers made by hand.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use client::Login;
use lab::{Cluster, Flavour, RunDir, SplitOptions};
use live::{Proxy, Raw, client as driver, eventually, haproxy};
use mysql::Conn;
use mysql::prelude::Queryable;

/// The client's own address; everything else is at 127.0.0.1.
const CLIENT: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

fn proxy(cluster: &Cluster, variables: &str, more: &str) -> Proxy {
    let (variables, more) = (variables.to_owned(), more.to_owned());
    Proxy::start(|interfaces| {
        let options = SplitOptions { interfaces, variables, more, ..Default::default() };
        lab::split_toml(cluster, &options)
    })
    .expect("tidegate starts")
}

fn allowed(networks: &str) -> String {
    format!("threads = 1\nproxy_protocol_networks = \"{networks}\"\n")
}

fn admin(proxy: &Proxy) -> Conn {
    let listens = || live::greeting_of(proxy.admin_port).is_ok();
    eventually("the administrative interface listens", Duration::from_secs(10), listens);
    driver::connect(driver::account(proxy.admin_port, "admin", "admin").db_name(None::<String>))
}

fn counter(admin: &mut Conn, name: &str) -> u64 {
    let asked = "SELECT variable_value FROM stats_mysql_global WHERE variable_name = ?";
    let row = admin.exec_first::<u64, _, _>(asked, (name,)).expect("told");
    row.expect("it is counted")
}

#[test]
fn behind_haproxy_the_client_s_address_counts() {
    if !haproxy::is_there("presented by HAProxy") {
        return;
    }
    let Some(cluster) = live::cluster("presented", Flavour::MariaDb, 0) else { return };
    let rules = format!(
        "\n[[mysql_query_rules]]\nrule_id = 0\nactive = true\nclient_addr = \"{CLIENT}\"\n\
         match_pattern = \"^SELECT 42\"\nerror_msg = \"not from there\"\n"
    );
    let proxy = proxy(&cluster, &allowed("127.0.0.0/8"), &rules);
    let dir = RunDir::create().expect("a directory");
    let mut admin = admin(&proxy);
    for (word, name) in [("send-proxy", "PROXY_V1"), ("send-proxy-v2", "PROXY_V2")] {
        let (_process, port) = haproxy::in_front(&dir, proxy.port, word);
        let from = driver::options(port).bind_address(Some(SocketAddr::from((CLIENT, 0))));
        let mut conn = driver::connect(from);
        let refused = conn.query_drop("SELECT 42").expect_err("a rule refuses it");
        assert_eq!(driver::refusal(&refused), (1148, "42000".into(), "not from there".into()));
        let session = conn.query_first::<String, _>("PROXYSQL INTERNAL SESSION").expect("told");
        let session: serde_json::Value =
            serde_json::from_str(&session.expect("a row")).expect("JSON");
        let client = &session["client"];
        assert_eq!(client["client_addr"]["address"], CLIENT.to_string(), "{word}");
        assert_eq!(client[name]["source_address"], CLIENT.to_string(), "{word}: {client}");
        assert_eq!(client[name]["destination_port"], u64::from(port), "{word}: {client}");
        assert_eq!(client[name]["proxy_address"], "127.0.0.1", "{word}: {client}");
        let listed = "SELECT cli_host FROM stats_mysql_processlist WHERE user = 'app'";
        let listed = admin.query::<String, _>(listed).expect("listed");
        assert_eq!(listed, [CLIENT.to_string()], "{word}");
    }
    let direct = driver::connect(driver::options(proxy.port)).query_first::<u8, _>("SELECT 42");
    assert_eq!(direct.expect("no rule is about it"), Some(42));
}

/// What a client is told that sends a header, and then logs in with this password.
fn presented(port: u16, header: &[u8], password: &str) -> Result<Raw, String> {
    let mut raw = Raw::open(port).expect("connected");
    raw.packets.bytes(header).expect("sent");
    raw.welcome = raw.packets.log_in(&Login::new("app", password)).map_err(|it| it.to_string())?;
    Ok(raw)
}

fn line(from: &str) -> Vec<u8> {
    format!("PROXY TCP4 {from} 192.0.2.1 4000 3306\r\n").into_bytes()
}

/// Version 2 with this command and family.
fn bytes(command: u8, family: u8, told: &[u8]) -> Vec<u8> {
    let len = u16::try_from(told.len()).expect("short").to_be_bytes();
    [b"\r\n\r\n\0\r\nQUIT\n", [command, family].as_slice(), &len, told].concat()
}

const ENDS: [u8; 12] = [203, 0, 113, 7, 192, 0, 2, 1, 0x0f, 0xa0, 0x0c, 0xea];

#[test]
fn a_header_is_taken_from_those_that_may_send_it_and_ends_all_others() {
    let Some(cluster) = live::cluster("headers", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster, &allowed("127.0.0.1,2001:db8::/32"), "");
    let mut admin = admin(&proxy);
    let hosts = |admin: &mut Conn| {
        let asked = "SELECT cli_host, cli_port FROM stats_mysql_processlist";
        admin.query::<(String, u16), _>(asked).expect("listed")
    };
    let more = [ENDS.as_slice(), b"\x01\0\x05mysql"].concat();
    for (header, host) in [
        (line("203.0.113.7"), Some("203.0.113.7")),
        (b"PROXY TCP6 2001:db8::7 ::1 4000 3306\r\n".to_vec(), Some("2001:db8::7")),
        (b"PROXY TCP6 ::ffff:203.0.113.7 ::1 4000 3306\r\n".to_vec(), Some("203.0.113.7")),
        (bytes(0x21, 0x11, &more), Some("203.0.113.7")),
        (b"PROXY UNKNOWN\r\n".to_vec(), None),
        (bytes(0x20, 0x00, b""), None),
        (b"".to_vec(), None),
    ] {
        let client = presented(proxy.port, &header, "app").expect("it is let in");
        let listed = hosts(&mut admin);
        match host {
            Some(host) => assert_eq!(listed, [(host.to_owned(), 4000)]),
            None => assert_eq!(listed[0].0, "127.0.0.1"),
        }
        drop(client);
        eventually("it is gone", Duration::from_secs(10), || hosts(&mut admin).is_empty());
    }
    assert_eq!(counter(&mut admin, "proxy_headers"), 6);

    let twice = [line("203.0.113.7"), line("203.0.113.8")].concat();
    let long = bytes(0x21, 0x11, &[0; 5000]);
    for (header, why) in [
        (b"PROXY TCP4 203.0.113.7 192.0.2.1 4000\r\n".to_vec(), "two addresses and two ports"),
        (bytes(0x21, 0x11, &ENDS[..11]), "no room for its addresses"),
        (bytes(0x11, 0x11, &ENDS), "version or command"),
        (long[..16].to_vec(), "longer than 4112 bytes"),
        ([b"PROXY TCP4 ".as_slice(), &[b'1'; 200]].concat(), "its line does not end"),
    ] {
        let told = presented(proxy.port, &header, "app").expect_err("refused");
        assert!(told.contains("1043") && told.contains(why), "{told}");
    }
    assert_eq!(counter(&mut admin, "proxy_headers_refused"), 5);
    assert!(presented(proxy.port, &twice, "app").is_err(), "one header is enough");

    // the list is another one for those who come from now on
    admin.query_drop("SET mysql-proxy_protocol_networks = '10.0.0.0/8'").expect("set");
    admin.query_drop("LOAD MYSQL VARIABLES TO RUNTIME").expect("loaded");
    let told = presented(proxy.port, &line("203.0.113.7"), "app").expect_err("refused");
    assert!(
        told.contains("from 127.0.0.1, which is not in mysql-proxy_protocol_networks"),
        "{told}"
    );
    presented(proxy.port, b"", "app").expect("without one it is let in");
    let wrong = admin.query_drop("SET mysql-proxy_protocol_networks = '10.0.0.0/33'");
    let told = driver::refusal(&wrong.expect_err("refused")).2;
    assert!(told.contains("`10.0.0.0/33` is neither `*` nor an address"), "{told}");
}

#[test]
fn half_a_header_has_the_time_of_a_login_and_failures_count_by_the_told_address() {
    let Some(cluster) = live::cluster("half a header", Flavour::MariaDb, 0) else { return };
    let limits = "connect_timeout_client = 1500\nclient_host_cache_size = 8\n\
                  client_host_error_counts = 2\n";
    let proxy = proxy(&cluster, &format!("{}{limits}", allowed("*")), "");
    let mut raw = Raw::open(proxy.port).expect("connected");
    let begun = Instant::now();
    raw.packets.receive().expect("greeted");
    for byte in &line("203.0.113.7")[..20] {
        raw.packets.bytes(&[*byte]).expect("sent");
    }
    let end = raw.packets.receive();
    let took = begun.elapsed();
    assert!((1400..8000).contains(&took.as_millis()), "{took:?}: {end:?}");

    for port in ["4000", "0"] {
        let line = format!("PROXY TCP4 203.0.113.7 192.0.2.1 {port} 3306\r\n");
        let told = presented(proxy.port, line.as_bytes(), "wrong").expect_err("refused");
        assert!(told.contains("'app'@'203.0.113.7'"), "{told}");
    }
    let told = presented(proxy.port, &line("203.0.113.7"), "app").expect_err("refused");
    assert!(!told.contains("ERROR"), "closed without a word: {told}");
    presented(proxy.port, &line("203.0.113.8"), "app").expect("another one is let in");
    presented(proxy.port, b"", "app").expect("and so is the proxy in front");
}
