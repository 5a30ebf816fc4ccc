//! A hostgroup in need slows no other. Its connections are all in use by slow queries; hundreds of
//! clients wait for them and are told in time that there is none.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour};
use live::{Asker, Proxy};

/// Clients of the hostgroup in need.
const WAITERS: usize = 500;

/// A proxy in front of one server, which is there in hostgroup 0 and, with few connections and slow
/// queries, in hostgroup 1.
fn proxy(cluster: &Cluster, patience_ms: u64) -> Proxy {
    let port = cluster.primary().port;
    let server = |hostgroup: u32, connections: u32| {
        format!(
            "[[mysql_servers]]\nhostgroup_id = {hostgroup}\nhostname = \"127.0.0.1\"\n\
             port = {port}\nmax_connections = {connections}\n"
        )
    };
    let started = Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 2\n\
             connect_timeout_server_max = {patience_ms}\n{}{}\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
             [[mysql_query_rules]]\nrule_id = 1\nactive = 1\nmatch_digest = 'SLEEP'\n\
             destination_hostgroup = 1\napply = 1\n",
            server(0, 20),
            server(1, 4)
        )
    });
    started.expect("tidegate starts")
}

/// Clients that ask for slow queries while they may.
struct Slow {
    may_ask: Arc<(Mutex<bool>, Condvar)>,
    asking: Arc<AtomicUsize>,
    served: Arc<AtomicU64>,
    timed_out: Arc<AtomicU64>,
}

impl Slow {
    fn start(port: u16) -> Self {
        let slow = Slow {
            may_ask: Arc::default(),
            asking: Arc::default(),
            served: Arc::default(),
            timed_out: Arc::default(),
        };
        for _ in 0..WAITERS {
            let mut asker = Asker::connect(port).expect("a client comes in");
            let (may_ask, asking) = (Arc::clone(&slow.may_ask), Arc::clone(&slow.asking));
            let (served, timed_out) = (Arc::clone(&slow.served), Arc::clone(&slow.timed_out));
            // they end with the process
            thread::spawn(move || {
                loop {
                    let (mutex, changed) = &*may_ask;
                    let guard = mutex.lock().expect("no panic under the lock");
                    drop(changed.wait_while(guard, |may| !*may));
                    asking.fetch_add(1, Ordering::Relaxed);
                    let outcome = asker.run("DO SLEEP(0.5)").map_err(|error| error.to_string());
                    asking.fetch_sub(1, Ordering::Relaxed);
                    match outcome {
                        Ok(()) => served.fetch_add(1, Ordering::Relaxed),
                        Err(error) if error.contains("has all 4 connections in use") => {
                            timed_out.fetch_add(1, Ordering::Relaxed)
                        }
                        Err(_) => return,
                    };
                }
            });
        }
        slow
    }

    /// Lets all of them ask, or none; returns when it is so.
    fn let_ask(&self, may: bool) {
        *self.may_ask.0.lock().expect("no panic under the lock") = may;
        self.may_ask.1.notify_all();
        let wanted = |asking| if may { asking >= WAITERS - 10 } else { asking == 0 };
        live::eventually("clients ask, or do not", Duration::from_secs(10), || {
            wanted(self.asking.load(Ordering::Relaxed))
        });
    }
}

/// Clients of the other hostgroup, and how long each of their questions took (µs), by moment.
struct Quick {
    moment: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Vec<Vec<u32>>>>,
}

/// No moment: what is asked then does not count.
const UNSEEN: usize = usize::MAX;

impl Quick {
    fn start(port: u16, moments: usize) -> Self {
        let (moment, stop) = (Arc::new(AtomicUsize::new(UNSEEN)), Arc::new(AtomicBool::new(false)));
        let threads = (0..8).map(|client| {
            let (moment, stop) = (Arc::clone(&moment), Arc::clone(&stop));
            thread::spawn(move || {
                let mut asker = Asker::connect(port).expect("a client comes in");
                let mut times = vec![Vec::new(); moments];
                let mut turn = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    turn += 1;
                    let (at, began) = (moment.load(Ordering::Relaxed), Instant::now());
                    asker.ask(&format!("{client}-{turn}")).expect("the answer");
                    if let Some(times) = times.get_mut(at) {
                        times.push(u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX));
                    }
                }
                times
            })
        });
        let threads = threads.collect();
        Quick { moment, stop, threads }
    }

    fn measure(&self, moment: usize, time: Duration) {
        self.moment.store(moment, Ordering::Relaxed);
        thread::sleep(time);
        self.moment.store(UNSEEN, Ordering::Relaxed);
    }

    /// Answers and the time that 99 of 100 took at most (µs), by moment.
    fn stop(self) -> Vec<(f64, f64)> {
        self.stop.store(true, Ordering::Relaxed);
        let clients: Vec<_> =
            self.threads.into_iter().map(|t| t.join().expect("no panic")).collect();
        let moments = clients.first().map_or(0, Vec::len);
        let figures = (0..moments).map(|moment| {
            let mut times: Vec<u32> = clients.iter().flat_map(|c| c[moment].clone()).collect();
            times.sort_unstable();
            let p99 = times.get(times.len() * 99 / 100).copied().unwrap_or(u32::MAX);
            (times.len() as f64, f64::from(p99))
        });
        figures.collect()
    }
}

/// The value below which are `percent` of them.
fn percentile(mut values: Vec<f64>, percent: usize) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() * percent / 100]
}

#[test]
fn a_saturated_hostgroup_slows_no_other() {
    let Some(cluster) = live::cluster("isolation", Flavour::MariaDb, 0) else { return };
    // What waiters cost is in each pair of moments; what else the machine does is in some. The
    // short form therefore judges a pair from the better half.
    let (pairs, time, patience_ms, judged, most) = match live::full() {
        true => (24, Duration::from_millis(1500), 2000, 50, 1.05),
        false => (8, Duration::from_millis(400), 800, 25, 2.0),
    };
    let proxy = proxy(&cluster, patience_ms);
    let slow = Slow::start(proxy.port);
    let quick = Quick::start(proxy.port, 2 * pairs);
    // every other moment beside waiters, now the first of two and now the second: the pace of a
    // machine that does other things as well changes
    for pair in 0..pairs {
        for beside in [pair % 2, 1 - pair % 2] {
            slow.let_ask(beside == 1);
            quick.measure(2 * pair + beside, time);
        }
    }
    slow.let_ask(false);
    let figures = quick.stop();
    // a moment is compared with the one next to it, for the same reason
    let of = |figure: fn(&(f64, f64)) -> f64| {
        [0, 1].map(|at| figures.iter().skip(at).step_by(2).map(figure).collect::<Vec<_>>())
    };
    let ratio = |above: &[f64], below: &[f64]| {
        percentile(above.iter().zip(below).map(|(above, below)| above / below).collect(), judged)
    };
    let ([alone, beside], [alone_p99, beside_p99]) = (of(|f| f.0), of(|f| f.1));
    let (slower, later) = (ratio(&alone, &beside), ratio(&beside_p99, &alone_p99));
    let [alone, beside, alone_p99, beside_p99] =
        [alone, beside, alone_p99, beside_p99].map(|values| percentile(values, 50));
    let (served, timed_out) =
        (slow.served.load(Ordering::Relaxed), slow.timed_out.load(Ordering::Relaxed));
    let seconds = time.as_secs_f64();
    println!(
        "{:.0}/s, p99 {alone_p99:.0} us alone; {:.0}/s, p99 {beside_p99:.0} us beside {WAITERS} \
         that wait ({served} served, {timed_out} timed out): {slower:.3}, {later:.3}",
        alone / seconds,
        beside / seconds
    );
    assert!(served > 0 && timed_out >= WAITERS as u64, "{served}, {timed_out}\n{}", proxy.log());
    assert!(slower < most && later < most, "{slower:.3}, {later:.3}");
}
