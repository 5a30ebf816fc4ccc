//! Clients of users with `fast_forward` that vanish: their servers are soon rid of them, whatever
//! these had under way.

use std::ffi::OsString;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lab::{Flavour, RunDir, Server};
use live::secured::{Carrier, How, Secured};
use live::{Proxy, encrypted, eventually};
use rustls::ClientConfig;
use wire::Caps;
use wire::auth::Plugin;
use wire::command::code;

/// Less than it takes a MariaDB to look after the client of a `SLEEP`, which are five seconds.
const SOON: Duration = Duration::from_secs(4);

const INSERT: &str = "INSERT INTO test.relayed VALUES (1)";

/// What a client has under way when it vanishes: all but the last was answered.
const UNDER_WAY: [(&str, &[&str]); 4] = [
    ("nothing", &["DO 1", ""]),
    ("a transaction", &["BEGIN", INSERT, ""]),
    ("a query in a transaction", &["BEGIN", INSERT, "DO BENCHMARK(2000000000, SHA1('a'))"]),
    ("a reply", &["SELECT REPEAT('x', 10000) FROM test.seq_1_to_10000000"]),
];

/// How it vanishes.
#[derive(Clone, Copy, Debug)]
enum Vanishing {
    /// Its socket is closed; with bytes that it has not read, that is a reset.
    Closes,
    /// It sends no more, and never closes.
    HalfCloses,
}

fn proxy(server: &Server, dir: &RunDir) -> Proxy {
    let port = server.port;
    let words = [OsString::from("--datadir"), dir.path().into()];
    Proxy::start_with(&words, |interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n\
             [[mysql_users]]\nusername = \"relay\"\npassword = \"relay\"\nfast_forward = 1\n"
        )
    })
    .expect("tidegate starts")
}

fn log_in(proxy: &Proxy, tls: Option<&Arc<ClientConfig>>) -> Secured {
    let (account, plugin) = (("relay", "relay"), Plugin::NativePassword);
    let how = How { account, plugin, tls, caps: Caps::NONE };
    Secured::log_in(proxy.port, &how).expect("logged in")
}

fn socket(client: &Secured) -> &TcpStream {
    match client.packets.stream.get_ref().carrier() {
        Carrier::Plain(stream) => stream,
        Carrier::Tls(tls) => &tls.sock,
    }
}

#[test]
fn servers_are_soon_rid_of_relayed_clients_that_vanish() {
    let Some(cluster) = live::cluster("relayed clients", Flavour::MariaDb, 0) else { return };
    let server = cluster.primary();
    let made = "CREATE TABLE test.relayed (a INT); CREATE USER relay@'%' IDENTIFIED BY 'relay'; \
                GRANT ALL ON *.* TO relay@'%'";
    server.sql(made).expect("made");
    let dir = RunDir::create().expect("a directory");
    let proxy = proxy(server, &dir);
    let authorities = dir.path().join("tidegate-ca.pem");
    let tls = encrypted::trusting(&authorities, &[&rustls::version::TLS13]).expect("authorities");
    let connections = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'relay'";
    let connections = || server.value(connections).expect("told");
    for tls in [None, Some(&tls)] {
        for (what, texts) in UNDER_WAY {
            for how in [Vanishing::Closes, Vanishing::HalfCloses] {
                let mut client = log_in(&proxy, tls);
                assert_eq!(connections(), "1");
                let (last, answered) = texts.split_last().expect("a text");
                for text in answered {
                    client.packets.command(code::QUERY, text.as_bytes()).expect("sent");
                    client.packets.receive().expect("answered");
                }
                if !last.is_empty() {
                    client.packets.command(code::QUERY, last.as_bytes()).expect("sent");
                }
                if what == "a query in a transaction" {
                    let runs = "SELECT COUNT(*) FROM information_schema.processlist \
                                WHERE user = 'relay' AND info LIKE '%BENCHMARK%'";
                    eventually("it runs", SOON, || server.value(runs).expect("told") == "1");
                }
                if what == "a reply" {
                    client.packets.receive().expect("it has begun");
                }
                let since = Instant::now();
                let kept = match how {
                    Vanishing::Closes => {
                        drop(client);
                        None
                    }
                    Vanishing::HalfCloses => {
                        socket(&client).shutdown(Shutdown::Write).expect("half closed");
                        Some(client)
                    }
                };
                let case = format!("TLS {}, {what}, {how:?}", tls.is_some());
                eventually(&case, SOON, || connections() == "0");
                println!("{case}: {:?}", since.elapsed());
                drop(kept);
            }
        }
    }
    assert_eq!(server.value("SELECT COUNT(*) FROM test.relayed").expect("told"), "0");
    // a query for each carrier and way, and nothing where nothing was owed
    assert_eq!(proxy.counter("kills_sent").expect("told"), 4);
}
