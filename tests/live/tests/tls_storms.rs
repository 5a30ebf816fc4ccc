//! Crowds that connect in TLS, again and again, beside clients that work: with whole handshakes and
//! resumed ones. What a connect costs is printed, beside HAProxy's where there is one, which ends
//! the same TLS in front of the same server.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use client::{Login, Packets};
use lab::{Flavour, Process, RunDir};
use live::{Load, Pki, Proxy, client as driver, encrypted, haproxy};
use mysql::prelude::Queryable;
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
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

/// The certificates that come into force one after the other, as clients see them.
struct Rounds {
    certificates: Vec<CertificateDer<'static>>,
    /// Of the last one that may be in force, and of the last one that has to be.
    asked: AtomicUsize,
    done: AtomicUsize,
    connects: AtomicUsize,
    is_over: AtomicBool,
}

impl Rounds {
    /// Certificates for so many rounds behind the first.
    fn signed_by(pki: &Pki, count: usize) -> Self {
        let sign = |round: usize| {
            let name = format!("round-{round}");
            pki.sign(&name, &["localhost"]);
            CertificateDer::from_pem_file(pki.file(&name)).expect("a certificate")
        };
        Self {
            certificates: (0..=count).map(sign).collect(),
            asked: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            connects: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    /// Connects and asks until all is over; what went wrong.
    fn watch(&self, port: u16, tls: &Arc<ClientConfig>) -> Vec<String> {
        let mut wrong = Vec::new();
        while !self.is_over.load(Ordering::SeqCst) {
            let least = self.done.load(Ordering::SeqCst);
            match shown(port, tls) {
                Ok(shown) => {
                    let most = self.asked.load(Ordering::SeqCst);
                    let found = self.certificates.iter().position(|it| *it == shown);
                    if !found.is_some_and(|round| (least..=most).contains(&round)) {
                        wrong.push(format!("{found:?} is shown, not {least} to {most}"));
                    }
                }
                Err(error) => wrong.push(format!("{error:#}")),
            }
            self.connects.fetch_add(1, Ordering::SeqCst);
        }
        wrong
    }

    /// So many connects more, some of which began since.
    fn await_connects(&self) {
        let before = self.connects.load(Ordering::SeqCst);
        live::eventually("clients connect", Duration::from_secs(30), || {
            self.connects.load(Ordering::SeqCst) > before + 2 * WATCHERS
        });
    }
}

/// Puts the files of a round in place, one after the other.
fn put_round(pki: &Pki, round: usize) {
    for part in ["", "-key"] {
        let (next, shown) = (pki.file("next"), pki.file(&format!("shown{part}")));
        std::fs::copy(pki.file(&format!("round-{round}{part}")), &next).expect("copied");
        std::fs::rename(next, shown).expect("in place");
    }
}

/// How many clients connect and ask all the time.
const WATCHERS: usize = 64;

/// One connect with a query; which certificate was shown.
fn shown(port: u16, tls: &Arc<ClientConfig>) -> anyhow::Result<CertificateDer<'static>> {
    let mut client = encrypted::log_in(port, tls, "app", "app")?;
    let chain = client.stream.get_ref().conn.peer_certificates().unwrap_or_default();
    let shown = chain.first().context("a certificate")?.clone().into_owned();
    let length = encrypted::length_of(&mut client, "SELECT REPEAT('x', 100000)")?;
    anyhow::ensure!(length == 100_000, "{length} bytes");
    client.command(1, b"")?;
    Ok(shown)
}

#[test]
fn certificates_come_into_force_in_order_under_a_storm() {
    const ROUNDS: usize = 12;
    let Some(cluster) = live::cluster("certificates", Flavour::MariaDb, 0) else { return };
    let pki = Pki::new();
    let rounds = Rounds::signed_by(&pki, ROUNDS);
    put_round(&pki, 0);
    let variables = pki.variables(&[("ssl_cert", "shown"), ("ssl_key", "shown-key")]);
    let server = cluster.primary().port;
    let config = |interfaces: String| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 2\n{variables}\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {server}\n"
        )
    };
    let proxy = Proxy::start(config).expect("tidegate starts");
    let tls = trusting(&pki.file("ca"), false);
    let admin = || driver::connect(driver::account(proxy.admin_port, "admin", "admin"));
    let wrong = thread::scope(|scope| {
        let watch = || rounds.watch(proxy.port, &tls);
        let watchers: Vec<_> = (0..WATCHERS).map(|_| scope.spawn(watch)).collect();
        // somebody else asks all the time; between two files of a round it is refused
        let other = scope.spawn(|| {
            let mut admin = admin();
            let mut asked = [0, 0];
            while !rounds.is_over.load(Ordering::SeqCst) {
                asked[usize::from(admin.query_drop(RELOAD).is_err())] += 1;
            }
            asked
        });
        let mut own = admin();
        for round in 1..=ROUNDS {
            rounds.asked.store(round, Ordering::SeqCst);
            put_round(&pki, round);
            match round % 3 {
                0 => assert!(proxy.reload(config).expect("an outcome")),
                _ => own.query_drop(RELOAD).expect("they can be read"),
            }
            rounds.done.store(round, Ordering::SeqCst);
            rounds.await_connects();
            if round % 4 == 0 {
                std::fs::write(pki.file("shown"), "nothing").expect("written");
                let refused = own.query_drop(RELOAD).expect_err("there is nothing in it");
                let (_, _, why) = driver::refusal(&refused);
                assert!(why.contains("shown.pem: there is no certificate in it"), "{why}");
                rounds.await_connects();
            }
        }
        rounds.is_over.store(true, Ordering::SeqCst);
        let [read, _] = other.join().expect("no panic");
        assert!(read > ROUNDS, "{read} reloads beside");
        let watched = watchers.into_iter().flat_map(|one| one.join().expect("no panic"));
        watched.collect::<Vec<_>>()
    });
    let connects = rounds.connects.into_inner();
    assert!(wrong.is_empty(), "{} of {connects}: {:?}", wrong.len(), wrong.first());
    let counter = |name| proxy.counter(name).expect("told");
    assert_eq!(["shuns", "denied_password", "tls_failures", "defects"].map(counter), [0; 4]);
}

const RELOAD: &str = "PROXYSQL RELOAD TLS";

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
