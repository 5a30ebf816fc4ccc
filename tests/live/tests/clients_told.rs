//! Servers that are told of clients by a header of the PROXY protocol, as `proxy_protocol` of
//! `hostgroup_settings` asks for it: who they let in, and whose connections they show.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use lab::{Cluster, Flavour, RunDir, SplitOptions};
use live::{Proxy, client as driver, eventually, haproxy};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

/// Takes headers from where the proxy is, and knows clients by their addresses.
const WORDS: [&str; 2] = ["--proxy-protocol-networks=127.0.0.1", "--skip-name-resolve"];

fn proxy(cluster: &Cluster, version: u8, variables: &str, more: &str) -> Proxy {
    let variables = format!("threads = 2\nproxy_protocol_networks = \"127.0.0.1\"\n{variables}");
    let settings = |hostgroup: u8| {
        format!(
            "\n[[mysql_hostgroup_attributes]]\nhostgroup_id = {hostgroup}\n\
             hostgroup_settings = '{{\"proxy_protocol\": {version}}}'\n"
        )
    };
    let more = settings(0) + &settings(1) + more;
    Proxy::start(|interfaces| {
        let options = SplitOptions { interfaces, variables, more, ..Default::default() };
        lab::split_toml(cluster, &options)
    })
    .expect("tidegate starts")
}

fn from(address: Ipv4Addr, port: u16, user: &str) -> OptsBuilder {
    driver::account(port, user, user).bind_address(Some(SocketAddr::from((address, 0))))
}

fn whose(conn: &mut Conn) -> String {
    conn.query_first::<String, _>("SELECT USER()").expect("told").expect("a row")
}

#[test]
fn each_client_is_itself_to_the_server_whatever_is_shared() {
    let Some(cluster) = live::cluster_with("clients told", Flavour::MariaDb, 0, &WORDS) else {
        return;
    };
    for version in [1, 2] {
        for depth in [0, 16] {
            let proxy = proxy(&cluster, version, &format!("pipeline_depth = {depth}\n"), "");
            let asks = |last: u8| {
                let address = Ipv4Addr::new(127, 0, 0, last);
                let user = if last == 5 { "ff" } else { "app" };
                let mut conn = driver::connect(from(address, proxy.port, user));
                for _ in 0..200 {
                    assert_eq!(whose(&mut conn), format!("{user}@{address}"));
                }
            };
            thread::scope(|scope| {
                for last in [2, 2, 2, 3, 3, 3, 4, 5] {
                    scope.spawn(move || asks(last));
                }
            });
            let opened = proxy.counter("lanes_created").expect("told");
            assert!((8..160).contains(&opened), "{opened} connections for 1,600 queries");
        }
    }
}

#[test]
fn a_client_of_haproxy_is_itself_to_the_server_too() {
    if !haproxy::is_there("clients told through HAProxy") {
        return;
    }
    let Some(cluster) = live::cluster_with("clients told", Flavour::MariaDb, 0, &WORDS) else {
        return;
    };
    let dir = RunDir::create().expect("a directory");
    for (version, word) in [(1, "send-proxy-v2"), (2, "send-proxy")] {
        let proxy = proxy(&cluster, version, "", "");
        let (_process, port) = haproxy::in_front(&dir, proxy.port, word);
        for last in [6, 7] {
            let address = Ipv4Addr::new(127, 0, 0, last);
            for user in ["app", "ff"] {
                let mut conn = driver::connect(from(address, port, user));
                assert_eq!(whose(&mut conn), format!("{user}@{address}"), "{word}");
            }
        }
    }
}

#[test]
fn who_may_log_in_is_the_server_s_to_say_of_each_address() {
    let Some(cluster) = live::cluster_with("clients told", Flavour::MariaDb, 0, &WORDS) else {
        return;
    };
    for statement in [
        "CREATE USER app@127.0.0.9 IDENTIFIED BY 'app' ACCOUNT LOCK",
        "CREATE USER far@127.0.0.8 IDENTIFIED BY 'far'",
        "GRANT SELECT ON test.* TO far@127.0.0.8",
    ] {
        cluster.primary().sql(statement).expect(statement);
    }
    let far = "\n[[mysql_users]]\nusername = \"far\"\npassword = \"far\"\ndefault_hostgroup = 0\n";
    let proxy = proxy(&cluster, 2, "connect_timeout_server_max = 5000\n", far);
    let (known, barred) = (Ipv4Addr::new(127, 0, 0, 8), Ipv4Addr::new(127, 0, 0, 9));
    let mut conn = driver::connect(from(known, proxy.port, "app"));
    assert_eq!(whose(&mut conn), "app@127.0.0.8");
    assert_eq!(whose(&mut driver::connect(from(known, proxy.port, "far"))), "far@127.0.0.8");
    let refused = |user: &str, code: u16, told: &str| {
        // as often as would shun a server
        for _ in 0..10 {
            let refused = Conn::new(from(barred, proxy.port, user))
                .and_then(|mut conn| conn.query_drop("SELECT USER()"))
                .expect_err("it is not let in");
            let (number, _, text) = driver::refusal(&refused);
            assert!(number == code && text.contains(told), "{number}: {text}");
        }
    };
    refused("app", 9001, "4151 (HY000): Access denied, this account is locked");
    refused("far", 9001, "1045 (28000): Access denied for user 'far'@'127.0.0.9'");
    // no account is left for that address
    cluster.primary().sql("DROP USER app@127.0.0.9").expect("dropped");
    for user in ["app", "ff", "monitor", "repl"] {
        let statement = format!("RENAME USER '{user}'@'%' TO '{user}'@127.0.0.8");
        cluster.primary().sql(&statement).expect(&statement);
    }
    cluster.primary().sql("FLUSH PRIVILEGES").expect("read again");
    refused("far", 1130, "Host '127.0.0.9' is not allowed to connect to this MariaDB server");
    assert_eq!(whose(&mut driver::connect(from(known, proxy.port, "app"))), "app@127.0.0.8");
    assert_eq!(proxy.counter("shuns").expect("told"), 0);
    // a query is ended by its own account, which is there for its own address alone
    let mut conn = driver::connect(from(known, proxy.port, "far"));
    let id = conn.connection_id();
    let waits = thread::spawn(move || conn.query_first::<u8, _>("SELECT SLEEP(60)"));
    let mut other = driver::connect(from(known, proxy.port, "far"));
    let shown =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'";
    eventually("it runs", Duration::from_secs(10), || {
        other.query_first::<u32, _>(shown).expect("told") == Some(1)
    });
    other.query_drop(format!("KILL QUERY {id}")).expect("told to end");
    eventually("it does not run", Duration::from_secs(10), || {
        other.query_first::<u32, _>(shown).expect("told") == Some(0)
    });
    let ended = waits.join().expect("no panic").expect_err("it was interrupted");
    assert_eq!(driver::refusal(&ended).0, 1317);
}

#[test]
fn a_server_that_takes_no_headers_is_named() {
    let Some(cluster) = live::cluster("clients refused", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster, 1, "connect_timeout_server_max = 2000\n", "");
    let mut conn = driver::connect(driver::options(proxy.port));
    let refused = conn.query_drop("SELECT USER()").expect_err("the server does not take it");
    let (_, _, told) = driver::refusal(&refused);
    assert!(told.contains("1130 (HY000): Proxy header is not accepted from 127.0.0.1"), "{told}");
}
