//! Clients that have sent more ahead of a running query than is read, and vanish: what they had
//! under way is ended at once, as that of any client.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::time::{Duration, Instant};

use client::{Login, Packets};
use lab::{Flavour, SplitOptions};
use live::{Proxy, eventually};
use wire::command::write_query;

/// Less than the queries take, and than a MariaDB needs to look after the client of a `SLEEP`.
const SOON: Duration = Duration::from_secs(3);

/// How many long queries are more than is read ahead, and no more than the system takes then.
const AHEAD: u32 = 4;

/// How it vanishes.
#[derive(Clone, Copy, Debug)]
enum Vanishing {
    /// Its socket is closed.
    Closes,
    /// The same with an answer that it has not read, which is a reset.
    Resets,
    /// It sends no more, and never closes.
    HalfCloses,
}

/// A client with this query under way, and so many long ones ahead of its answer; `leaves` an
/// answer unread.
fn asks(port: u16, text: &str, ahead: u32, leaves: bool) -> TcpStream {
    let address = (Ipv4Addr::LOCALHOST, port).into();
    let mut packets = Packets::tcp(address, Duration::from_secs(15)).expect("connected");
    packets.log_in(&Login::new("app", "app")).expect("logged in");
    let mut stream = packets.stream.into_inner();
    let mut bytes = Vec::new();
    if leaves {
        write_query(&mut bytes, b"SELECT 1");
        stream.write_all(&bytes).expect("sent");
        assert!(stream.peek(&mut [0]).expect("an answer") > 0);
        bytes.clear();
    }
    write_query(&mut bytes, text.as_bytes());
    for number in 0..ahead {
        let long = format!("DO {number} /* {} */", "ahead ".repeat(4000));
        write_query(&mut bytes, long.as_bytes());
    }
    stream.set_write_timeout(Some(Duration::from_millis(200))).expect("set");
    // how much the system takes is its own affair
    let _ = stream.write_all(&bytes);
    stream
}

fn proxy(cluster: &lab::Cluster) -> Proxy {
    Proxy::start(|interfaces| {
        let variables = "threads = 1\nmonitor_enabled = false".to_owned();
        lab::split_toml(cluster, &SplitOptions { interfaces, variables, ..Default::default() })
    })
    .expect("tidegate starts")
}

#[test]
fn queries_of_clients_that_vanish_are_ended_whatever_was_sent_ahead() {
    let Some(cluster) = live::cluster("vanished clients", Flavour::MariaDb, 0) else { return };
    let server = cluster.primary();
    let proxy = proxy(&cluster);
    let queries =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(1_)'";
    let count = || server.value(queries).expect("told");
    for how in [Vanishing::Closes, Vanishing::Resets, Vanishing::HalfCloses] {
        // an end comes behind what the system has taken, a reset at once
        let (ahead, leaves) = match how {
            Vanishing::Resets => (200, true),
            Vanishing::Closes | Vanishing::HalfCloses => (AHEAD, false),
        };
        let stream = asks(proxy.port, "SELECT SLEEP(15)", ahead, leaves);
        eventually("it runs", SOON, || count() == "1");
        // longer than who ends right behind what it asked
        std::thread::sleep(Duration::from_millis(300));
        let vanished = Instant::now();
        let kept = match how {
            Vanishing::Closes | Vanishing::Resets => {
                drop(stream);
                None
            }
            Vanishing::HalfCloses => Some(stream),
        };
        if let Some(stream) = &kept {
            stream.shutdown(Shutdown::Write).expect("said");
        }
        eventually(&format!("{how:?}: the query is ended"), SOON, || count() == "0");
        println!("{how:?}: ended after {:?}", vanished.elapsed());
        drop(kept);
        let statistics = || proxy.statistics().expect("told")["sessions"].clone();
        eventually("the session is over", SOON, || statistics() == 0);
    }
}

#[test]
fn a_client_that_ends_what_it_sends_is_answered_and_costs_nothing_meanwhile() {
    let Some(cluster) = live::cluster("half-closed clients", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster);
    let mut stream = asks(proxy.port, "SELECT SLEEP(0.6), 'an answer'", AHEAD, false);
    stream.shutdown(Shutdown::Write).expect("said");
    let before = proxy.worker_cpu_ns();
    std::thread::sleep(Duration::from_millis(400));
    let spent = Duration::from_nanos(proxy.worker_cpu_ns() - before);
    assert!(spent < Duration::from_millis(100), "{spent:?} of 400 ms");
    let mut told = Vec::new();
    // what is behind the first answer has a second in all, as that of any client
    let _ = stream.read_to_end(&mut told);
    assert!(told.windows(9).any(|part| part == b"an answer"), "{} bytes", told.len());
}
