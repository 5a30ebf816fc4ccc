//! Statements that several sessions have prepared alike: what one of them sets afterwards, and a
//! server that prepares a statement again by itself, are nothing to the others.

use lab::{Cluster, Flavour, SplitOptions};
use live::{Proxy, client};
use mysql::consts::ColumnType;
use mysql::prelude::Queryable;
use mysql::{Conn, Statement, Value};

/// What the second session sets, the text of both, and whether a user variable is in it.
const SETS: [(&str, &str); 7] = [
    ("SET sql_mode = 'ANSI_QUOTES'", "SELECT CONCAT(\"a\", ?) FROM w"),
    ("SET sql_mode = 'PIPES_AS_CONCAT'", "SELECT 'a' || 'b', ? FROM w"),
    ("SET NAMES latin1", "SELECT HEX('\u{e9}'), HEX(CONCAT(v, '\u{e9}')), ? FROM w"),
    ("SET time_zone = '+05:00'", "SELECT FROM_UNIXTIME(0), ? FROM w"),
    ("SET div_precision_increment = 9", "SELECT 1/3, ? FROM w"),
    ("SET @a = 'text'", "SELECT @a, @a + 1, ? FROM w"),
    (
        "SET optimizer_switch = 'derived_merge=off'",
        "EXPLAIN SELECT * FROM (SELECT v FROM w WHERE v <> ?) AS t",
    ),
];

/// The same of what only one of the servers has.
const OF_MARIADB: [(&str, &str); 1] = [("SET sql_if_exists = 1", "DROP TABLE nosuch")];
const OF_MYSQL: [(&str, &str); 1] = [(
    "SET windowing_use_high_precision = OFF",
    "SELECT SUM(x) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), ? FROM sums",
)];

/// Why a server prepares a statement again by itself.
const REASONS: [Option<&str>; 3] =
    [None, Some("ALTER TABLE test.w COMMENT = 'other'"), Some("FLUSH TABLES")];

type Answer = Result<Vec<(Vec<ColumnType>, Vec<Value>)>, u16>;

fn execute(conn: &mut Conn, statement: &Statement, value: Value) -> Answer {
    let values = std::iter::repeat_n(value, statement.num_params().into()).collect::<Vec<_>>();
    match conn.exec::<mysql::Row, _, _>(statement, values) {
        Ok(rows) => Ok(rows
            .into_iter()
            .map(|row| {
                let types = row.columns_ref().iter().map(mysql::Column::column_type).collect();
                (types, row.unwrap())
            })
            .collect()),
        Err(mysql::Error::MySqlError(error)) => Err(error.code),
        Err(error) => panic!("{error}"),
    }
}

/// What three sessions are told of which one sets something behind its prepare: that one last. It
/// is left out where it had executed its statement before: it may be read as it was prepared.
fn told(cluster: &Cluster, port: u16, set: &str, text: &str, reason: Option<&str>) -> Vec<Answer> {
    let mut conns = [(); 3].map(|()| client::connect(client::options(port)));
    let statements = conns.each_mut().map(|conn| conn.prep(text).expect("prepared"));
    let [first, second, third] = &mut conns;
    let number = || Value::from(5);
    let mut answers = Vec::new();
    if let Some(reason) = reason {
        for (conn, statement) in [&mut *first, &mut *second].into_iter().zip(&statements) {
            answers.push(execute(conn, statement, number()));
        }
        cluster.primary().sql(reason).expect(reason);
        cluster.wait_replicated().expect("replicated");
    }
    second.query_drop(set).expect(set);
    let twice = |conn: &mut Conn, statement| [(); 2].map(|()| execute(conn, statement, number()));
    let its = twice(second, &statements[1]);
    for (conn, statement) in [(first, &statements[0]), (third, &statements[2])] {
        answers.extend(twice(conn, statement));
    }
    answers.extend(its.into_iter().filter(|_| reason.is_none()));
    answers
}

fn proxy(cluster: &Cluster, max: u32) -> Proxy {
    Proxy::start(|interfaces| {
        let variables = "threads = 1\n".to_owned();
        let options = SplitOptions { interfaces, variables, ..Default::default() };
        let max = format!("max_connections = {max}");
        lab::split_toml(cluster, &options).replace("max_connections = 1000", &max)
    })
    .expect("tidegate starts")
}

#[test]
fn what_a_server_prepares_again_by_itself_is_read_as_its_own_session_reads() {
    for flavour in [Flavour::MySql, Flavour::MariaDb] {
        let Some(cluster) = live::cluster("prepared alike", flavour, 0) else { continue };
        for text in [
            "CREATE DATABASE IF NOT EXISTS test",
            "CREATE TABLE test.w (v VARCHAR(60)) CHARACTER SET utf8mb4",
            "INSERT INTO test.w VALUES ('\u{f6}')",
            "CREATE TABLE test.sums (a INT, x DOUBLE)",
            "INSERT INTO test.sums VALUES (1, 1e20), (2, 1), (3, 1), (4, 1e20)",
        ] {
            cluster.primary().sql(text).expect(text);
        }
        drop(client::connect(client::options(cluster.primary().port)));
        let proxy = proxy(&cluster, 1);
        let own = if flavour == Flavour::MariaDb { OF_MARIADB } else { OF_MYSQL };
        for (set, text) in SETS.into_iter().chain(own) {
            for (at, reason) in REASONS.into_iter().enumerate() {
                // a text of its own for each: nothing that is left on a connection serves it
                let text = format!("{text} /* {at} */");
                let [direct, through] = [cluster.primary().port, proxy.port]
                    .map(|port| told(&cluster, port, set, &text, reason));
                for (number, (direct, through)) in direct.iter().zip(&through).enumerate() {
                    assert_eq!(direct, through, "{flavour:?}, {set}, {reason:?}: {number}");
                }
            }
        }
    }
}
