//! Many clients ask the same at once, in front of real servers and with two workers: how often the
//! server is asked, and what everybody is told, whatever becomes of the one that asked for all.

use std::time::Duration;

use lab::{Cluster, Flavour, SplitOptions};
use live::compressed::{Compressed, log_in};
use live::exchange::{CAPS, difference, exchange, query, reply};
use live::{Proxy, Shared, client as driver, eventually};
use mysql::Conn;
use mysql::prelude::Queryable;
use wire::command::code;
use wire::result::ReplyKind;

static MARIADB: Shared = Shared::new("query cache herd: MariaDB", Flavour::MariaDb, 0);
static MYSQL: Shared = Shared::new("query cache herd: MySQL", Flavour::MySql, 0);

const SOON: Duration = Duration::from_secs(60);

const NO_SUCH_TABLE: u16 = 1146;
const INTERRUPTED: u16 = 1317;

/// A table of its own, a proxy in front of it, and somebody who can lock it.
struct Herd<'a> {
    cluster: &'a Cluster,
    proxy: Proxy,
    table: &'a str,
    text: String,
    locker: Conn,
    admin: Conn,
}

impl<'a> Herd<'a> {
    /// `acts` is what the rule for reads of the table has.
    fn new(cluster: &'a Cluster, table: &'a str, (width, acts): (u32, &str)) -> Self {
        let own = |port| driver::connect(driver::options(port));
        let mut locker = own(cluster.primary().port);
        for statement in [
            format!("DROP TABLE IF EXISTS {table}"),
            format!("CREATE TABLE {table} (id INT PRIMARY KEY, s MEDIUMTEXT)"),
            format!("INSERT INTO {table} VALUES (1, REPEAT('a', {width})), (2, 'b')"),
        ] {
            locker.query_drop(statement).expect("defined");
        }
        for statement in ["SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = 1"] {
            cluster.primary().sql(statement).expect("set");
        }
        let proxy = Proxy::start(|interfaces| {
            let variables = "threads = 2\nquery_cache_coalesce_wait_ms = 60000\n".to_owned();
            let options = SplitOptions { interfaces, variables, ..Default::default() };
            let rule = format!(
                "\n[[mysql_query_rules]]\nrule_id = 0\nactive = 1\n\
                 match_pattern = 'FROM test.{table}'\n{acts}\n"
            );
            lab::split_toml(cluster, &options) + &rule
        })
        .expect("tidegate starts");
        let text = format!("SELECT id, s FROM test.{table} ORDER BY id");
        let listens = || live::greeting_of(proxy.admin_port).is_ok();
        eventually("the administrative interface listens", SOON, listens);
        let admin = driver::account(proxy.admin_port, "admin", "admin").db_name(None::<String>);
        let admin = driver::connect(admin);
        let mut idle: Vec<_> = (0..16).map(|_| own(proxy.port)).collect();
        let herd = Self { cluster, proxy, table, text, locker, admin };
        // each worker has to have read what there is, or presumes the worst of the table
        let text = format!("SELECT 1 FROM test.{table} LIMIT 0");
        eventually("the table is known", SOON, || {
            let before = herd.counter("uncached_code");
            idle.iter_mut().for_each(|conn| conn.query_drop(&text).expect("answered"));
            herd.counter("uncached_code") == before
        });
        herd
    }

    fn counter(&self, name: &str) -> u64 {
        self.proxy.counter(name).expect("a counter")
    }

    fn clients(&self, count: usize) -> Vec<Compressed> {
        let open = |_| log_in(self.proxy.port, ("app", "app"), CAPS).expect("logged in");
        (0..count).map(open).collect()
    }

    fn lock(&mut self) {
        self.locker.query_drop(format!("LOCK TABLES {} WRITE", self.table)).expect("locked");
    }

    fn unlock(&mut self) {
        self.locker.query_drop("UNLOCK TABLES").expect("unlocked");
    }

    /// All of them ask beside those who do already; none is answered while the table is locked.
    fn ask(&mut self, clients: &mut [Compressed]) {
        let before = self.asking();
        for client in &mut *clients {
            client.command(code::QUERY, self.text.as_bytes()).expect("sent");
        }
        eventually("all have asked", SOON, || self.asking() >= before + clients.len());
    }

    /// Sessions that wait for an answer to the question.
    fn asking(&mut self) -> usize {
        let table = self.table;
        let text = format!(
            "SELECT COUNT(*) FROM stats_mysql_processlist WHERE info LIKE '%test.{table} ORDER%'"
        );
        self.admin.query_first(text).expect("answered").expect("a row")
    }

    fn answers(clients: &mut [Compressed]) -> Vec<Vec<u8>> {
        clients.iter_mut().map(|it| reply(it, ReplyKind::Result, "the question")).collect()
    }

    /// What the server says without anybody in between.
    fn expected(&self) -> Vec<u8> {
        let port = self.cluster.primary().port;
        let mut direct = log_in(port, ("app", "app"), CAPS).expect("logged in");
        exchange((&mut direct, &mut 0), &query(&self.text), "directly")
    }

    fn are_right(&self, clients: &mut [Compressed]) {
        let expected = self.expected();
        for told in Self::answers(clients) {
            assert_eq!(difference(&expected, &told), None);
        }
    }

    /// How often the server was asked, by its own log.
    fn runs(&self) -> u64 {
        let text = format!(
            "SELECT COUNT(*) FROM mysql.general_log WHERE command_type = 'Query' AND \
             CONVERT(argument USING utf8mb4) LIKE 'SELECT id, s FROM test.{} ORDER%'",
            self.table
        );
        self.cluster.primary().value(&text).expect("counted").parse().expect("a number")
    }

    /// One asks, and its statement is with the server. Its connection id comes with it.
    fn leader(&mut self) -> (Compressed, u32) {
        let mut first = self.clients(1);
        self.ask(&mut first);
        eventually("its statement is with the server", SOON, || self.runs() == 1);
        let text = "SELECT SessionID FROM stats_mysql_processlist WHERE info LIKE '% ORDER%'";
        let id = self.admin.query_first(text).expect("answered").expect("it runs");
        (first.remove(0), id)
    }
}

/// The number of the error that is all of a reply.
fn error(reply: &[u8]) -> u16 {
    assert_eq!(reply.get(4), Some(&0xff), "{}", reply.escape_ascii());
    u16::from_le_bytes([reply[5], reply[6]])
}

const KEPT: &str = "cache_ttl = 3600000";

fn one_for_all(servers: &Shared) {
    let Some(cluster) = servers.cluster() else { return };
    let mut herd = Herd::new(&cluster, "herd", (1000, KEPT));
    let mut clients = herd.clients(1000);
    herd.lock();
    herd.ask(&mut clients);
    herd.unlock();
    let told = Herd::answers(&mut clients);
    assert_eq!(herd.runs(), 1, "by the server's log");
    assert_eq!((herd.counter("cache_coalesced"), herd.counter("cache_coalesce_full")), (999, 0));
    let row = "SELECT coalesced, hits, invalidations FROM stats_tidegate_query_cache \
               WHERE digest_text LIKE 'SELECT id,s FROM test.herd ORDER%'";
    assert_eq!(herd.admin.query_first(row).expect("answered"), Some((999_u64, 0_u64, 0_u64)));
    let expected = herd.expected();
    assert!(told.iter().all(|told| difference(&expected, told).is_none()));
    // no connection was needed for anybody else
    assert!(cluster.primary().status("Threads_connected").expect("counted") < 20);
}

#[test]
fn a_thousand_who_ask_at_once_cost_mariadb_one_statement() {
    one_for_all(&MARIADB);
}

#[test]
fn a_thousand_who_ask_at_once_cost_mysql_one_statement() {
    one_for_all(&MYSQL);
}

fn killed(servers: &Shared) {
    let Some(cluster) = servers.cluster() else { return };
    let mut herd = Herd::new(&cluster, "herd_killed", (1000, KEPT));
    let mut clients = herd.clients(40);
    herd.lock();
    let (mut leader, id) = herd.leader();
    herd.ask(&mut clients);
    let mut killer = driver::connect(driver::options(herd.proxy.port));
    killer.query_drop(format!("KILL QUERY {id}")).expect("killed");
    assert_eq!(error(&reply(&mut leader, ReplyKind::Result, "a kill")), INTERRUPTED);
    eventually("another one leads", SOON, || herd.runs() == 2);
    // some have lost patience
    drop(clients.drain(..10));
    herd.unlock();
    herd.are_right(&mut clients);
    assert_eq!(
        (herd.runs(), herd.counter("cache_coalesce_gave_up")),
        (2 + 1, 0),
        "and one directly"
    );
}

#[test]
fn whoever_waits_behind_one_that_is_killed_is_told_by_mariadb() {
    killed(&MARIADB);
}

#[test]
fn whoever_waits_behind_one_that_is_killed_is_told_by_mysql() {
    killed(&MYSQL);
}

fn failing(servers: &Shared) {
    let Some(cluster) = servers.cluster() else { return };
    let mut herd = Herd::new(&cluster, "herd_failing", (1000, KEPT));
    let mut clients = herd.clients(40);
    herd.lock();
    let (leader, _) = herd.leader();
    herd.ask(&mut clients);
    herd.locker.query_drop("DROP TABLE herd_failing").expect("dropped");
    clients.push(leader);
    for told in Herd::answers(&mut clients) {
        assert_eq!(error(&told), NO_SUCH_TABLE);
    }
    assert_eq!((herd.counter("cache_coalesce_unshared"), herd.runs()), (40, 41));
}

#[test]
fn whoever_waits_for_an_error_of_mariadb_is_told_its_own() {
    failing(&MARIADB);
}

#[test]
fn whoever_waits_for_an_error_of_mysql_is_told_its_own() {
    failing(&MYSQL);
}

fn slow(servers: &Shared) {
    let Some(cluster) = servers.cluster() else { return };
    // nearly as much as is kept, and more than lies in sockets
    let mut herd = Herd::new(&cluster, "herd_slow", (4_000_000, KEPT));
    let mut clients = herd.clients(10);
    herd.lock();
    let (first, _) = herd.leader();
    herd.ask(&mut clients);
    herd.unlock();
    herd.are_right(&mut clients);
    assert_eq!(herd.counter("cache_coalesced"), 10);
    herd.are_right(&mut [first]);
}

#[test]
fn one_that_does_not_read_holds_nobody_up_behind_mariadb() {
    slow(&MARIADB);
}

#[test]
fn one_that_does_not_read_holds_nobody_up_behind_mysql() {
    slow(&MYSQL);
}

fn lost(servers: &Shared) {
    let Some(cluster) = servers.cluster() else { return };
    let mut herd = Herd::new(&cluster, "herd_lost", (1000, KEPT));
    let mut clients = herd.clients(40);
    herd.lock();
    herd.ask(&mut clients);
    eventually("it is with the server", SOON, || herd.runs() == 1);
    let text = "SELECT id FROM information_schema.processlist \
                WHERE info LIKE 'SELECT id, s FROM test.herd_lost%'";
    let thread: u64 = cluster.primary().value(text).expect("one").parse().expect("a number");
    cluster.primary().sql(&format!("KILL {thread}")).expect("killed");
    eventually("it is there again", SOON, || herd.runs() == 2);
    herd.unlock();
    herd.are_right(&mut clients);
    assert_eq!(herd.counter("cache_coalesced"), 39);
}

#[test]
fn a_connection_to_mariadb_that_is_lost_costs_nobody_the_answer() {
    lost(&MARIADB);
}

#[test]
fn a_connection_to_mysql_that_is_lost_costs_nobody_the_answer() {
    lost(&MYSQL);
}

fn unkept(servers: &Shared) {
    let Some(cluster) = servers.cluster() else { return };
    let acts = "attributes = '{\"coalesce\": true}'";
    let mut herd = Herd::new(&cluster, "herd_unkept", (1000, acts));
    let mut clients = herd.clients(50);
    herd.lock();
    let (first, _) = herd.leader();
    herd.ask(&mut clients);
    assert_eq!(herd.runs(), 1, "the others wait for their own");
    // what is written before they ask is what they are told
    herd.unlock();
    herd.are_right(&mut [first]);
    herd.are_right(&mut clients);
    assert_eq!((herd.runs(), herd.counter("cache_coalesced")), (2 + 2, 49), "and two directly");
    // somebody who has written reads what it wrote
    let mut own = driver::connect(driver::options(herd.proxy.port));
    for value in 0..20 {
        own.query_drop(format!("UPDATE herd_unkept SET s = '{value}'")).expect("changed");
        let read: Vec<(u32, String)> = own.query(&herd.text).expect("answered");
        assert!(read.iter().all(|(_, s)| *s == value.to_string()), "{read:?}");
    }
}

#[test]
fn without_a_time_to_live_those_share_an_answer_who_asked_mariadb_before_it_was_sent() {
    unkept(&MARIADB);
}

#[test]
fn without_a_time_to_live_those_share_an_answer_who_asked_mysql_before_it_was_sent() {
    unkept(&MYSQL);
}
