//! Sessions that differ in one setting, with everything in the query cache: each is told, byte for
//! byte, what its server would tell it, whoever asked before.

mod settings_table;

use client::Login;
use lab::{Cluster, Flavour};
use live::exchange::{Exchanger, difference, is_refusal, query};
use live::{Proxy, Shared, client as driver};
use mysql::Conn;
use mysql::prelude::Queryable;
use wire::Caps;

use crate::settings_table::{ANY, Begin, PAIRS, Pair};

static MARIADB: Shared = Shared::new("settings and the query cache: MariaDB", Flavour::MariaDb, 0);
static MYSQL: Shared = Shared::new("settings and the query cache: MySQL", Flavour::MySql, 0);

/// What the sessions read.
const SCHEMA: &[&str] = &[
    "DROP DATABASE IF EXISTS second",
    "CREATE DATABASE second",
    "CREATE TABLE second.keyed (v INT)",
    "INSERT INTO second.keyed VALUES (2)",
    "CREATE TABLE test.secret (v INT)",
    "INSERT INTO test.secret VALUES (42)",
    "CREATE SQL SECURITY INVOKER VIEW test.invoked AS SELECT v FROM test.secret",
    "CREATE TABLE test.keyed (id INT PRIMARY KEY, v INT, s VARCHAR(20) CHARACTER SET utf8mb4, \
     c CHAR(4), l VARCHAR(20) CHARACTER SET latin1, t TIMESTAMP(3) NULL, d DECIMAL(10,3), \
     e DOUBLE, j JSON)",
    "SET time_zone = '+00:00'",
    "INSERT INTO test.keyed VALUES \
     (1, 1, 'ä', 'a', CONVERT(_utf8mb4 X'c3a4' USING latin1), '2024-03-01 10:00:00.5', 1.5, 1e16, \
     '{\"a\": 1}'), \
     (2, 1, 'B', NULL, NULL, NULL, NULL, 1, NULL), (3, 2, '', 'b', 'c', NULL, 0, 1, '[]')",
    "CREATE USER other@'%' IDENTIFIED BY 'other'",
    "GRANT SELECT ON test.keyed TO other@'%'",
    "GRANT SELECT ON test.invoked TO other@'%'",
    "CREATE ROLE watcher",
    "GRANT watcher TO app@'%'",
];

const OF_MARIADB: &[&str] = &[
    "CREATE TABLE test.versioned (v INT) WITH SYSTEM VERSIONING",
    "INSERT INTO test.versioned VALUES (1)",
];

/// Some variables may be set by few.
const OF_MYSQL: &[&str] = &["GRANT SESSION_VARIABLES_ADMIN, SYSTEM_VARIABLES_ADMIN ON *.* TO app"];

/// A proxy with everything in the cache, and another account.
fn proxy(cluster: &Cluster) -> Proxy {
    let other =
        "[[mysql_users]]\nusername = \"other\"\npassword = \"other\"\ndefault_hostgroup = 0\n\n";
    live::everything_cached(cluster, other, "SELECT v FROM test.keyed")
}

/// A session that has set what it is to have.
fn begin(port: u16, begin: &Begin) -> Exchanger {
    let Begin { user, schema, collation, caps, sets } = *begin;
    let login = Login { schema: Some(schema), collation, ..Login::new(user, user) };
    let caps = login.caps.union(caps).union(Caps::CONNECT_WITH_DB);
    // the others are in the place of a byte that this one says to be something else
    let others = caps.intersects(Caps::MARIADB_ALL);
    let caps = if others { caps.without(Caps::MYSQL) } else { caps };
    let mut session = Exchanger::log_in(port, &Login { caps, ..login }).expect("logged in");
    for text in sets.split(';').filter(|text| !text.is_empty()) {
        let reply = session.ask(&query(text));
        assert!(!is_refusal(&reply), "{text}: {}", reply.escape_ascii());
    }
    session
}

/// The ways in which a text is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Text,
    Prepared,
}

impl Form {
    /// The answer to a text; where it cannot be prepared, what the server says to that.
    fn ask(self, session: &mut Exchanger, text: &str) -> Vec<u8> {
        if self == Self::Text {
            return session.ask(&query(text));
        }
        let once = [&[0_u8][..], &1_u32.to_le_bytes()].concat();
        session.execute(text, &[once]).pop().expect("an answer")
    }
}

/// What the cache did for a pair, in one form.
struct Ran {
    wrong: Vec<String>,
    hits: u64,
}

/// One session fills, the other one asks, and both ask again; the same directly.
fn run(stage: &mut Stage, pair: &Pair, form: Form) -> Ran {
    let of = |of: &Begin| stage.ports.map(|port| begin(port, of));
    let mut sessions = [of(&pair.one), of(&pair.other)];
    let (mut wrong, before, mut first) = (Vec::new(), hits(stage), Vec::new());
    let what = format!("{form:?} {}: {}", pair.other.sets, pair.text);
    for turn in 0..4 {
        let [direct, through] = &mut sessions[turn % 2];
        let expected = form.ask(direct, pair.text);
        let told = form.ask(through, pair.text);
        wrong.extend(difference(&expected, &told).map(|why| format!("{what}, {turn}: {why}")));
        first.push(expected);
    }
    if pair.shows && first[0] == first[1] {
        wrong.push(format!("{what}: does not show"));
    }
    Ran { wrong, hits: hits(stage) - before }
}

/// Where sessions are compared.
struct Stage {
    /// Of the server and of the proxy.
    ports: [u16; 2],
    admin: Conn,
}

/// Answers from the cache so far.
fn hits(stage: &mut Stage) -> u64 {
    let text = "SELECT Variable_Value FROM stats_mysql_global \
                WHERE Variable_Name = 'Query_Cache_count_GET_OK'";
    stage.admin.query_first(text).expect("answered").expect("a row")
}

/// How many of four answers in a form come from the cache where both sessions may have theirs.
const HITS: u64 = 2;

fn no_setting_is_left_out(servers: &Shared, flavour: Flavour) {
    let Some(cluster) = servers.cluster() else { return };
    let own = if flavour == Flavour::MariaDb { OF_MARIADB } else { OF_MYSQL };
    for text in SCHEMA.iter().chain(own) {
        cluster.primary().sql(text).expect("set up");
    }
    for user in ["app", "other"] {
        // MySQL knows the password from then on
        drop(driver::connect(
            driver::account(cluster.primary().port, user, user).db_name(None::<&str>),
        ));
    }
    let proxy = proxy(&cluster);
    let admin = driver::account(proxy.admin_port, "admin", "admin").db_name(None::<&str>);
    let mut stage =
        Stage { ports: [cluster.primary().port, proxy.port], admin: driver::connect(admin) };
    let here = PAIRS.iter().filter(|pair| pair.only.is_none_or(|only| only == flavour));
    let (mut wrong, mut pairs, mut hits) = (Vec::new(), 0, 0);
    for pair in here {
        pairs += 1;
        for form in [Form::Text, Form::Prepared] {
            let ran = run(&mut stage, pair, form);
            if pair.text == ANY && pair.other.sets.is_empty() && ran.hits < HITS {
                wrong.push(format!("{form:?}: {} hits", ran.hits));
            }
            wrong.extend(ran.wrong);
            hits += ran.hits;
        }
    }
    println!("{}: {pairs} pairs, {hits} hits", flavour.name());
    assert!(wrong.is_empty(), "{} of {pairs} pairs\n{}", wrong.len(), wrong.join("\n"));
    assert!(pairs >= 60 && hits > 4 * pairs, "{hits} hits of {pairs} pairs");
}

#[test]
fn mariadb_and_the_cache_answer_sessions_that_differ_in_a_setting_alike() {
    no_setting_is_left_out(&MARIADB, Flavour::MariaDb);
}

#[test]
fn mysql_and_the_cache_answer_sessions_that_differ_in_a_setting_alike() {
    no_setting_is_left_out(&MYSQL, Flavour::MySql);
}
