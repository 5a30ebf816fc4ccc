//! Statements that several sessions have prepared alike: what one of them sets afterwards, and a
//! server that prepares a statement again by itself, are nothing to the others.

use lab::{Cluster, Flavour, SplitOptions};
use live::{Proxy, Raw, client};
use mysql::consts::ColumnType;
use mysql::prelude::Queryable;
use mysql::{Conn, Statement, Value};
use wire::Status;
use wire::command::code;
use wire::reply::EofPacket;

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

/// Prepares a text without parameters that gives one column.
fn prepare(raw: &mut Raw, text: &[u8]) -> u32 {
    raw.packets.command(code::STMT_PREPARE, text).expect("sent");
    let (_, ok) = raw.packets.receive().expect("answered");
    // the column, and what ends it
    for _ in 0..2 {
        raw.packets.receive().expect("answered");
    }
    u32::from_le_bytes(ok[1..5].try_into().expect("four bytes"))
}

/// Executes it with these flags: the packets up to the rows' end, or to where a cursor is open.
fn execute_raw(raw: &mut Raw, stmt: u32, flags: u8) -> Vec<Vec<u8>> {
    let execute = [&stmt.to_le_bytes()[..], &[flags, 1, 0, 0, 0]].concat();
    raw.packets.command(code::STMT_EXECUTE, &execute).expect("sent");
    let mut told = Vec::new();
    let mut eofs = 0;
    while eofs < 2 {
        let (_, packet) = raw.packets.receive().expect("answered");
        let eof = EofPacket::parse(&packet).ok().filter(|_| packet.first() == Some(&0xfe));
        eofs += u32::from(eof.is_some());
        let is_open = eof.is_some_and(|eof| eof.status.contains(Status::CURSOR_EXISTS));
        told.push(packet);
        if is_open {
            break;
        }
    }
    told
}

#[test]
fn a_statement_that_had_a_cursor_gives_its_rows_to_others() {
    for flavour in [Flavour::MariaDb, Flavour::MySql] {
        let Some(cluster) = live::cluster("cursors alike", flavour, 0) else { continue };
        for text in [
            "CREATE DATABASE IF NOT EXISTS test",
            "CREATE TABLE test.w (v INT)",
            "INSERT INTO test.w VALUES (1), (2), (3)",
        ] {
            cluster.primary().sql(text).expect(text);
        }
        drop(client::connect(client::options(cluster.primary().port)));
        let proxy = proxy(&cluster, 1);
        let mut first = Raw::login(proxy.port, "app", "app").expect("logged in");
        let mut second = Raw::login(proxy.port, "app", "app").expect("logged in");
        let [one, other] =
            [&mut first, &mut second].map(|raw| prepare(raw, b"SELECT v FROM test.w ORDER BY v"));
        execute_raw(&mut first, one, 1);
        // resets the statement, which closes the cursor
        first.packets.command(code::STMT_RESET, &one.to_le_bytes()).expect("sent");
        first.packets.receive().expect("answered");
        let rows = execute_raw(&mut second, other, 0);
        assert_eq!(rows.len(), 7, "{flavour:?}: a count, a column, an end, three rows, an end");
        let rows = execute_raw(&mut first, one, 0);
        assert_eq!(rows.len(), 7, "{flavour:?}");
    }
}

#[test]
fn a_function_reads_the_variables_of_its_own_session() {
    for flavour in [Flavour::MariaDb, Flavour::MySql] {
        let Some(cluster) = live::cluster("functions alike", flavour, 0) else { continue };
        for text in [
            "SET GLOBAL log_bin_trust_function_creators = 1",
            "CREATE DATABASE IF NOT EXISTS test",
            "CREATE TABLE test.log (id INT AUTO_INCREMENT PRIMARY KEY, who VARCHAR(20))",
            "CREATE FUNCTION test.who() RETURNS VARCHAR(20) READS SQL DATA RETURN @who",
            "CREATE VIEW test.own AS SELECT * FROM test.log WHERE who = test.who()",
        ] {
            cluster.primary().sql(text).expect(text);
        }
        drop(client::connect(client::options(cluster.primary().port)));
        let proxy = proxy(&cluster, 1);
        let mut conns = [(); 3].map(|()| client::connect(client::options(proxy.port)));
        for round in 0..2 {
            for (conn, who) in conns.iter_mut().zip(["17", "'bob'", "'ann'"]) {
                conn.query_drop(format!("SET @who = {who}")).expect("set");
                conn.query_drop("INSERT INTO log (who) VALUES (who())").expect("written");
                let own = conn.query::<String, _>("SELECT DISTINCT who FROM own").expect("read");
                assert_eq!(own, [who.trim_matches('\'')], "{flavour:?}, {round}");
            }
        }
    }
}
