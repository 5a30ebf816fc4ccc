//! Reads of every kind with all of them in the query cache: each answer is, byte for byte, what the
//! server says, from the cache too, and after another session's writes and a flush.
//!
//! `TIDEGATE_READS_SEEDS=FROM..TO` says which rounds are run.

mod generator;

use std::ops::Range;

use client::Login;
use lab::{Cluster, Flavour};
use live::dice::Dice;
use live::exchange::{Exchanger, difference, query};
use live::{Proxy, client as driver};
use mysql::prelude::Queryable;
use wire::Caps;

use crate::generator::Read;

/// How many reads a round has.
const READS: usize = 50;

/// After so many differences no further one is looked for.
const WRONG_MAX: usize = 20;

/// A proxy with everything in the cache that knows what the servers have.
fn proxy(cluster: &Cluster) -> Proxy {
    live::everything_cached(cluster, "", "SELECT id FROM test.kinds")
}

/// How a read is asked.
#[derive(Clone, Copy, Debug)]
enum Form {
    Text,
    /// Prepared with its values in it.
    Prepared,
    /// Executed with its values, the second time without their types.
    Executed,
}

impl Form {
    /// The replies to asking twice.
    fn ask(self, session: &mut Exchanger, read: &Read) -> Vec<Vec<u8>> {
        let once = [0, 1, 0, 0, 0];
        match self {
            Self::Text => {
                let asked = query(&read.text());
                vec![session.ask(&asked), session.ask(&asked)]
            }
            Self::Prepared => session.execute(&read.text(), &[once.into(), once.into()]),
            Self::Executed => {
                let executions = [read.execution(true), read.execution(false)];
                session.execute(read.with_marks(), &executions)
            }
        }
    }
}

/// Where reads are compared.
struct Stage {
    cluster: Cluster,
    proxy: Proxy,
    admin: mysql::Conn,
}

impl Stage {
    fn start(flavour: Flavour) -> Option<Self> {
        let what = format!("random reads and the query cache: {}", flavour.name());
        let cluster = live::cluster(&what, flavour, 0)?;
        for text in generator::schema(&mut Dice(1)) {
            cluster.primary().sql(&text).expect("set up");
        }
        // MySQL knows the password from then on
        drop(driver::connect(driver::options(cluster.primary().port)));
        let proxy = proxy(&cluster);
        let admin = driver::account(proxy.admin_port, "admin", "admin").db_name(None::<&str>);
        let admin = driver::connect(admin);
        Some(Self { cluster, proxy, admin })
    }

    /// Runs a round: all reads, a write of another session, a flush, all reads again.
    fn round(&mut self, seed: u64) -> Vec<String> {
        let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let login = Login::new("app", "app");
        let no_eof = if seed % 2 == 1 { Caps::DEPRECATE_EOF } else { Caps::NONE };
        let caps = login.caps.union(no_eof).union(Caps::CONNECT_WITH_DB);
        let login = Login { schema: Some("test"), caps, ..login };
        let open = |port| Exchanger::log_in(port, &login).expect("logged in");
        let mut direct = open(self.cluster.primary().port);
        let mut through = [open(self.proxy.port), open(self.proxy.port)];
        let forms = [Form::Text, Form::Prepared, Form::Executed];
        let reads: Vec<_> =
            (0..READS).map(|at| (forms[at % 3], generator::read(&mut dice))).collect();
        let mut wrong = Vec::new();
        for part in ["before", "behind"] {
            for (form, read) in &reads {
                let expected = form.ask(&mut direct, read);
                for (which, session) in through.iter_mut().enumerate() {
                    let told = form.ask(session, read);
                    let differs = expected.iter().zip(&told).find_map(|(e, t)| difference(e, t));
                    let differs = differs.or((expected.len() != told.len()).then(String::new));
                    wrong.extend(differs.map(|why| {
                        let text = read.text();
                        format!("seed {seed}, {part} the write, {which}: {form:?} {text}\n  {why}")
                    }));
                }
            }
            self.cluster.primary().sql(&generator::write(&mut dice)).expect("written");
            self.admin.query_drop("PROXYSQL FLUSH QUERY CACHE").expect("flushed");
        }
        wrong
    }
}

/// The rounds that are run.
fn seeds() -> Range<u64> {
    let seeds = std::env::var("TIDEGATE_READS_SEEDS").ok().map(|seeds| {
        let (from, to) = seeds.split_once("..").expect("FROM..TO");
        from.parse().expect("a number")..to.parse().expect("a number")
    });
    seeds.unwrap_or(if live::full() { 0..100 } else { 0..8 })
}

fn every_read_is_told_as_directly(flavour: Flavour) {
    let Some(mut stage) = Stage::start(flavour) else { return };
    let counters = |stage: &Stage| {
        let names = ["cache_hits", "cache_fills", "unkept_other", "unkept_warnings"];
        names.map(|name| stage.proxy.counter(name).expect("a counter"))
    };
    let before = counters(&stage);
    let (mut wrong, mut rounds) = (Vec::new(), 0);
    for seed in seeds() {
        wrong.extend(stage.round(seed));
        rounds += 1;
        if wrong.len() >= WRONG_MAX {
            break;
        }
    }
    let after = counters(&stage);
    let [hits, fills, refused, warned] = std::array::from_fn(|at| after[at] - before[at]);
    let reads = rounds * READS;
    println!(
        "{}: {reads} reads, {hits} hits, {fills} fills, {refused} errors and the like, \
         {warned} with warnings",
        flavour.name()
    );
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
    // of each read, three are hits before the write and three behind it, unless it is refused
    assert!(hits > 3 * reads as u64, "{hits} hits of {reads} reads");
}

#[test]
fn every_read_of_mariadb_is_told_from_the_cache_as_directly() {
    every_read_is_told_as_directly(Flavour::MariaDb);
}

#[test]
fn every_read_of_mysql_is_told_from_the_cache_as_directly() {
    every_read_is_told_as_directly(Flavour::MySql);
}
