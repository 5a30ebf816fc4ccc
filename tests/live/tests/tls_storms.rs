//! Crowds that connect in TLS, again and again, beside clients that work: with whole handshakes and
//! resumed ones. What a connect costs is printed, beside HAProxy's where there is one, which ends
//! the same TLS in front of the same server.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use client::{Login, Packets};
use lab::{Flavour, Process, RunDir};
use live::{Load, Proxy, client as driver, encrypted, haproxy};
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

/// How long a storm blows.
fn storm() -> Duration {
    Duration::from_secs(if live::full() { 10 } else { 2 })
}

/// How often a cost is measured.
const SAMPLES: usize = 3;

/// How many connect at a time.
const CROWD: usize = 8;

/// One whole connect: TLS, a login, and an end in order.
fn connect(port: u16, tls: &Arc<ClientConfig>) -> anyhow::Result<()> {
    let mut client = encrypted::log_in(port, tls, "app", "app")?;
    client.command(1, b"")?;
    Ok(())
}

/// The same through somebody who has taken TLS off before MySQL's first packet.
fn connect_wrapped(port: u16, tls: &Arc<ClientConfig>) -> anyhow::Result<()> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    let tls = ClientConnection::new(tls.clone(), ServerName::try_from("localhost")?)?;
    let mut client = Packets::over(StreamOwned::new(tls, stream));
    client.log_in(&Login::new("app", "app"))?;
    client.command(1, b"")?;
    Ok(())
}

/// How many connects a crowd makes, and what went wrong.
fn blow(connect: impl Fn() -> anyhow::Result<()> + Sync) -> (u64, Vec<String>) {
    let (count, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let one = || {
        let mut wrong = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            match connect() {
                Ok(()) => drop(count.fetch_add(1, Ordering::Relaxed)),
                Err(error) => wrong.push(format!("{error:#}")),
            }
        }
        wrong
    };
    let wrong = thread::scope(|scope| {
        let crowd: Vec<_> = (0..CROWD).map(|_| scope.spawn(one)).collect();
        thread::sleep(storm());
        is_over.store(true, Ordering::Relaxed);
        crowd.into_iter().flat_map(|one| one.join().expect("no panic")).collect()
    });
    (count.into_inner(), wrong)
}

/// TLS of a client that trusts an authority, with sessions to resume or without.
fn trusting(authorities: &Path, resumes: bool) -> Arc<ClientConfig> {
    let tls = encrypted::trusting(authorities, &[&rustls::version::TLS13]).expect("authorities");
    let mut tls = Arc::unwrap_or_clone(tls);
    if !resumes {
        tls.resumption = Resumption::disabled();
    }
    Arc::new(tls)
}

/// A proxy with one worker and an authority of its own.
fn proxy(server: u16, dir: &Path) -> Proxy {
    let words = [OsString::from("--datadir"), dir.into()];
    Proxy::start_with(&words, |interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {server}\n"
        )
    })
    .expect("tidegate starts")
}

#[test]
fn clients_go_on_working_through_a_storm_of_connects_in_tls() {
    let Some(cluster) = live::cluster("TLS storms", Flavour::MariaDb, 0) else { return };
    let dir = RunDir::create().expect("a directory");
    let proxy = proxy(cluster.primary().port, dir.path());
    let working = Load::reads(32, &driver::options(proxy.port));
    working.await_more(1000);
    for resumes in [false, true] {
        let tls = trusting(&dir.path().join("tidegate-ca.pem"), resumes);
        let before = working.done();
        let (count, wrong) = blow(|| connect(proxy.port, &tls));
        let reads = working.done() - before;
        println!("resumed {resumes}: {count} connects beside {reads} reads");
        assert!(wrong.is_empty(), "{wrong:?}");
        assert!(count > 100 && reads > 1000, "{count} connects, {reads} reads");
    }
    let errors = working.stop();
    assert!(errors.is_empty(), "{errors:?}\n{}", proxy.log());
    let counter = |name| proxy.counter(name).expect("told");
    assert_eq!(["shuns", "denied_password", "tls_failures", "defects"].map(counter), [0; 4]);
}

/// HAProxy that ends TLS with the certificate of Tidegate, in front of a server; where it listens.
fn ending_tls(dir: &RunDir, server: u16) -> (Process, u16) {
    let read = |name| std::fs::read(dir.path().join(name)).expect("it was made");
    let both = [read("tidegate-cert.pem"), read("tidegate-key.pem")].concat();
    let (pem, file) = (dir.path().join("both.pem"), dir.path().join("haproxy.cfg"));
    std::fs::write(&pem, both).expect("written");
    let port = lab::free_port().expect("a port");
    let text = format!(
        "global\n    nbthread 1\ndefaults\n    mode tcp\n    timeout connect 5s\n    \
         timeout client 60s\n    timeout server 60s\nlisten mysql\n    \
         bind 127.0.0.1:{port} ssl crt {}\n    server own 127.0.0.1:{server}\n",
        pem.display()
    );
    std::fs::write(&file, text).expect("written");
    let words = [haproxy::HAPROXY.into(), "-db".into(), "-f".into(), file.into()];
    let process = Process::launch(&words, &dir.path().join("haproxy.log")).expect("it starts");
    let listens = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
    live::eventually("HAProxy listens", Duration::from_secs(10), listens);
    (process, port)
}

#[test]
fn a_connect_in_tls_costs_at_most_a_tenth_more_than_haproxys() {
    const WHAT: &str = "TLS connects";
    let Some(cluster) = live::cluster(WHAT, Flavour::MariaDb, 0) else { return };
    if !haproxy::is_there(WHAT) {
        return;
    }
    let server = cluster.primary().port;
    let dir = RunDir::create().expect("a directory");
    let proxy = proxy(server, dir.path());
    let (beside, port) = ending_tls(&dir, server);
    for resumes in [false, true] {
        let tls = trusting(&dir.path().join("tidegate-ca.pem"), resumes);
        let cost_us = |pid, connect: &(dyn Fn() -> anyhow::Result<()> + Sync)| {
            let before = live::cpu_ns(pid);
            let (count, wrong) = blow(connect);
            assert!(wrong.is_empty() && count > 100, "{count} connects, {wrong:?}");
            (live::cpu_ns(pid) - before) / count / 1000
        };
        let (mut own, mut other) = ([0; SAMPLES], [0; SAMPLES]);
        // in turns: what else the machine does meets both
        for (own, other) in own.iter_mut().zip(&mut other) {
            *own = cost_us(proxy.pid(), &|| connect(proxy.port, &tls));
            *other = cost_us(beside.pid(), &|| connect_wrapped(port, &tls));
        }
        println!("resumed {resumes}: a connect costs {own:?} us, through HAProxy {other:?} us");
        let [median, others] = [own, other].map(|mut samples| {
            samples.sort_unstable();
            samples[SAMPLES / 2]
        });
        assert!(median * 10 <= others * 11, "{own:?} us, through HAProxy {other:?} us");
    }
}
