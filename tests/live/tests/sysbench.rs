//! The sysbench suite: no load ends with an error, and every statement is executed exactly once but
//! for reads that were issued again. Reads are spread over the replicas by weight and writes go to
//! the primary, by the servers' counters.

use std::time::Duration;

use lab::{Cluster, Flavour, SplitOptions};
use live::{Finished, Program, Proxy, skip};

const WEIGHTS: [u32; 2] = [1, 3];
const TABLES: &str = "--tables=4";
const SIZE: &str = "--table-size=10000";

/// What a load does to the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Reads outside transactions: the replicas' work.
    Reads,
    /// Reads and writes in transactions: all of it the primary's work.
    Transactions,
    /// Writes only: the primary's work.
    Writes,
}

const LOADS: [(&str, Kind); 8] = [
    ("oltp_point_select", Kind::Reads),
    ("oltp_read_only", Kind::Reads),
    ("oltp_read_only", Kind::Transactions),
    ("oltp_read_write", Kind::Transactions),
    ("oltp_insert", Kind::Writes),
    ("oltp_update_index", Kind::Writes),
    ("oltp_delete", Kind::Writes),
    ("bulk_insert", Kind::Writes),
];

/// How sysbench comes to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Tcp,
    Unix,
}

struct Run {
    load: &'static str,
    kind: Kind,
    prepared: &'static str,
    threads: u32,
    transport: Transport,
    seconds: u32,
}

/// Counters of one server.
#[derive(Debug, Clone, Copy)]
struct Counters {
    reads: u64,
    writes: u64,
    deadlocks: u64,
}

/// What the servers have counted. While connections end, a server forgets some of their counts for
/// a moment: they never fall, so the highest of several answers is right.
fn counters(cluster: &Cluster) -> Vec<Counters> {
    let highest = |one: &Counters, other: &Counters| Counters {
        reads: one.reads.max(other.reads),
        writes: one.writes.max(other.writes),
        deadlocks: one.deadlocks.max(other.deadlocks),
    };
    let told = (0..5).map(|_| counters_told(cluster));
    told.reduce(|all, more| all.iter().zip(&more).map(|(a, b)| highest(a, b)).collect())
        .expect("asked five times")
}

fn counters_told(cluster: &Cluster) -> Vec<Counters> {
    let of = |server: &lab::Server| {
        let status = |name: &str| server.status(name).expect("a counter");
        Counters {
            reads: status("Com_select"),
            writes: ["Com_insert", "Com_update", "Com_delete"].map(status).iter().sum(),
            deadlocks: status("Innodb_deadlocks"),
        }
    };
    cluster.servers().iter().map(of).collect()
}

fn increase(before: &[Counters], after: &[Counters]) -> Vec<Counters> {
    let pairs = before.iter().zip(after);
    pairs
        .map(|(before, after)| Counters {
            reads: after.reads - before.reads,
            writes: after.writes - before.writes,
            deadlocks: after.deadlocks - before.deadlocks,
        })
        .collect()
}

impl Run {
    fn name(&self) -> String {
        let Run { load, kind, prepared, threads, transport, .. } = self;
        format!("{load} ({kind:?}), ps-mode {prepared}, {threads} threads, {transport:?}")
    }

    fn schema(&self) -> &'static str {
        if self.load == "bulk_insert" { "sbbulk" } else { "sbtest" }
    }

    fn sysbench(&self, proxy: &Proxy, command: &str) -> Finished {
        let mut words = vec![
            self.load.to_owned(),
            format!("--threads={}", self.threads),
            format!("--time={}", self.seconds),
            format!("--db-ps-mode={}", self.prepared),
            format!("--mysql-db={}", self.schema()),
        ];
        words.extend(["--events=0", "--mysql-user=app", "--mysql-password=app"].map(String::from));
        words.extend(["--rand-type=uniform", "--mysql-ignore-errors=1213"].map(String::from));
        match self.transport {
            Transport::Tcp => {
                words.push("--mysql-host=127.0.0.1".into());
                words.push(format!("--mysql-port={}", proxy.port));
            }
            Transport::Unix => words.push(format!("--mysql-socket={}", proxy.socket.display())),
        }
        if self.load != "bulk_insert" {
            words.extend([TABLES, SIZE].map(String::from));
        }
        if self.load == "oltp_read_only" && self.kind == Kind::Reads {
            words.push("--skip-trx=on".into());
        }
        words.push(command.into());
        Program::new("sysbench").args(words).limit(Duration::from_secs(90)).run()
    }

    /// Runs it and says everything that is wrong with the outcome.
    fn execute(&self, cluster: &Cluster, proxy: &Proxy, spread: &mut [u64; 2]) -> Vec<String> {
        if self.load == "bulk_insert" {
            let fresh = "DROP DATABASE IF EXISTS sbbulk; CREATE DATABASE sbbulk";
            cluster.primary().sql(fresh).expect("a fresh schema");
            let prepared = self.sysbench(proxy, "prepare");
            if !prepared.success {
                return vec![prepared.output, prepared.errors];
            }
        }
        let counter = |name: &str| proxy.counter(name).expect("counted");
        let again = || counter("shared_reissued");
        let asked = || counter("lanes_created") + counter("lanes_reset");
        let (before, again_before, asked_before) = (counters(cluster), again(), asked());
        let finished = self.sysbench(proxy, "run");
        let done = increase(&before, &counters(cluster));
        let asked = asked() - asked_before;
        let figure = |name: &str| figure(&finished.output, name);
        let (reads, writes) = (figure("read:"), figure("write:"));
        let mut wrong = Vec::new();
        let mut expect = |holds: bool, what: String| {
            if !holds {
                wrong.push(what);
            }
        };
        let text = || format!("{}\n{}", finished.output, finished.errors);
        expect(finished.success && !finished.errors.contains("FATAL"), text());
        expect(figure("reconnects:") == 0, format!("reconnects: {}", text()));
        expect(figure("ignored errors:") <= done[0].deadlocks, format!("errors: {}", text()));
        // What a thread had sent when its time was up may be counted by the server alone; and every
        // connection that is new or reset is asked what it begins with.
        let slack = u64::from(self.threads) * 2 + 6 + asked;
        let near = |counted: u64, said: u64| counted >= said && counted <= said + slack;
        let (replicas, primary) = (done[1].reads + done[2].reads, done[0].reads);
        match self.kind {
            Kind::Reads => {
                expect(reads > 50, format!("only {reads} reads"));
                let again = again() - again_before;
                let what = format!("{reads} reads, {again} of them issued again, {done:?}");
                expect(replicas >= reads && replicas <= reads + again + slack, what);
                expect(primary <= slack, format!("the primary has read {primary} times"));
                spread[0] += done[1].reads;
                spread[1] += done[2].reads;
            }
            // A deadlock makes sysbench forget the statements of the attempt.
            Kind::Transactions if done[0].deadlocks == 0 => {
                expect(near(primary, reads), format!("{reads} reads, {done:?}"));
                // none of sysbench's: the primary has them all
                let what =
                    format!("the replicas have read {replicas} times, {asked} asked, {done:?}");
                expect(replicas <= 2 + asked, what);
            }
            _ => {}
        }
        if self.kind == Kind::Writes && self.load != "bulk_insert" {
            // A statement that finds nothing to change is counted as another by sysbench. One that
            // went to a replica would have been refused there.
            let said = writes + figure("other:");
            expect(said > 20, format!("only {said} writes"));
            expect(near(done[0].writes, said), format!("{said} writes, {done:?}"));
        }
        expect(self.kind == Kind::Reads || done[0].writes + done[0].reads > 0, text());
        wrong
    }
}

/// A figure of sysbench's report by the words in front of it; 0 when it is not there.
fn figure(report: &str, name: &str) -> u64 {
    let line = report.lines().find_map(|line| line.trim().strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Every combination in the long form; otherwise each load with each number of threads once, by
/// either method and either transport in turn.
fn runs() -> Vec<Run> {
    let (full, mut count) = (live::full(), 0_usize);
    let mut runs = Vec::new();
    for (load, kind) in LOADS {
        for threads in [1, 16, 256] {
            count += 1;
            for (method, prepared) in ["auto", "disable"].into_iter().enumerate() {
                for (way, transport) in [Transport::Tcp, Transport::Unix].into_iter().enumerate() {
                    let turn = (count % 2, count / 2 % 2) == (method, way);
                    if full || turn {
                        let seconds = if full { 2 } else { 1 };
                        runs.push(Run { load, kind, prepared, threads, transport, seconds });
                    }
                }
            }
        }
    }
    runs
}

#[test]
fn sysbench_ends_without_errors_and_statements_go_where_they_belong() {
    if !Program::new("sysbench").args(["--version"]).run().success {
        return skip("sysbench", "the package sysbench is not installed");
    }
    let Some(cluster) = live::cluster("sysbench", Flavour::MariaDb, 2) else { return };
    cluster.primary().sql("CREATE DATABASE sbtest").expect("created");
    let proxy = Proxy::start(|interfaces| {
        let weights = WEIGHTS.to_vec();
        let options = SplitOptions { interfaces, weights, ..Default::default() };
        // reads are counted, and the proxy's own are not meant
        lab::split_toml(&cluster, &options).replacen('\n', "\nstored_code = false\n", 1)
    })
    .expect("tidegate starts");

    let runs = runs();
    let prepared = runs[0].sysbench(&proxy, "prepare");
    assert!(prepared.success, "{}\n{}\n{}", prepared.output, prepared.errors, proxy.log());
    cluster.wait_replicated().expect("replicated");
    let mut spread = [0, 0];
    let mut wrong = String::new();
    for run in &runs {
        let faults = run.execute(&cluster, &proxy, &mut spread);
        if !faults.is_empty() {
            wrong += &format!("{}:\n  {}\n", run.name(), faults.join("\n  "));
        }
        assert!(proxy.is_running(), "{}: tidegate has ended\n{}", run.name(), proxy.log());
    }
    assert!(wrong.is_empty(), "{wrong}");
    let share = spread[0] as f64 / (spread[0] + spread[1]) as f64;
    let expected = f64::from(WEIGHTS[0]) / f64::from(WEIGHTS[0] + WEIGHTS[1]);
    assert!((share - expected).abs() < 0.04, "reads by replica: {spread:?}");
    println!("reads by replica: {spread:?}, weights {WEIGHTS:?}");
}
