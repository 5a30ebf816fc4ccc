//! Functions and views that say how transactions are to be.

use std::time::Duration;

use live::{Raw, client};
use mysql::prelude::Queryable;
use wire::reply::OkPacket;

use super::{MARIADB, MYSQL, after_a_reading, code, number, proxy_with};

#[test]
fn how_transactions_are_to_be_is_one_sessions_where_a_function_says_it() {
    let table = [
        (&MARIADB, "SET TRANSACTION READ ONLY"),
        (&MARIADB, "SET SESSION TRANSACTION READ ONLY"),
        (&MARIADB, "SET @@tx_read_only = 1"),
        (&MYSQL, "SET SESSION TRANSACTION READ ONLY"),
        (&MYSQL, "SET SESSION transaction_read_only = 1"),
    ];
    for (servers, set) in table {
        let Some(cluster) = servers.cluster() else { continue };
        for statement in [
            "CREATE TABLE IF NOT EXISTS test.written (a INT)",
            "DROP FUNCTION IF EXISTS test.reads_only",
            &format!(
                "CREATE FUNCTION test.reads_only() RETURNS INT DETERMINISTIC NO SQL \
                 BEGIN {set}; RETURN 1; END"
            ),
        ] {
            cluster.primary().sql(statement).expect(statement);
        }
        let proxy = proxy_with(&cluster, 2);
        let [mut first, mut second] = after_a_reading(&proxy);
        assert_eq!(number(&mut first, "SELECT test.reads_only()"), Some(1), "{set}");
        for _ in 0..4 {
            second.query_drop("INSERT INTO test.written VALUES (1)").expect(set);
        }
        // MySQL's first statement behind it still writes
        _ = first.query_drop("UPDATE test.written SET a = 2");
        assert_eq!(code(&mut first, "INSERT INTO test.written VALUES (1)"), 1792, "{set}");
        drop(first);
        let mut third = client::connect(client::options(proxy.port));
        third.query_drop("INSERT INTO test.written VALUES (1)").expect(set);
    }
}

#[test]
fn how_transactions_are_to_be_is_one_sessions_where_nobody_has_read_the_function_yet() {
    for (servers, set) in
        [(&MARIADB, "SET TRANSACTION READ ONLY"), (&MYSQL, "SET SESSION TRANSACTION READ ONLY")]
    {
        let Some(cluster) = servers.cluster() else { continue };
        for statement in [
            "CREATE TABLE IF NOT EXISTS test.written (a INT)",
            "DROP FUNCTION IF EXISTS test.reads_then",
        ] {
            cluster.primary().sql(statement).expect(statement);
        }
        let proxy = proxy_with(&cluster, 2);
        let [mut first, mut second, mut defines] = after_a_reading(&proxy);
        let function = format!(
            "CREATE FUNCTION test.reads_then() RETURNS INT DETERMINISTIC NO SQL \
             BEGIN {set}; RETURN 1; END"
        );
        let before = proxy.counter("stored_code_readings").expect("counted");
        defines.query_drop(function).expect(set);
        drop(defines);
        assert_eq!(number(&mut first, "SELECT test.reads_then()"), Some(1), "{set}");
        live::eventually("it is read", Duration::from_secs(20), || {
            proxy.counter("stored_code_readings").expect("counted") > before
        });
        for _ in 0..4 {
            second.query_drop("INSERT INTO test.written VALUES (1)").expect(set);
        }
    }
}

#[test]
fn what_is_set_where_the_telling_was_switched_off_is_one_sessions() {
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        for statement in [
            "DROP FUNCTION IF EXISTS test.deafens",
            "CREATE FUNCTION test.deafens() RETURNS INT NO SQL BEGIN \
             SET session_track_state_change = 0, div_precision_increment = 9; RETURN 1; END",
        ] {
            cluster.primary().sql(statement).expect(statement);
        }
        let proxy = proxy_with(&cluster, 2);
        let [_known] = after_a_reading::<1>(&proxy);
        let log_in = || {
            let mut client = Raw::login(proxy.port, "app", "app").expect("let in");
            client.send(0, b"\x02test").expect("sent");
            assert_eq!(client.receive().expect("an answer").1.first(), Some(&OkPacket::MARKER));
            client
        };
        let digits =
            |client: &mut Raw| client.first_row("SELECT @@div_precision_increment").expect("a row");
        // what was not read yet is presumed to do more
        for _ in 0..6 {
            let mut calls = log_in();
            calls.send(0, b"\x03DO test.deafens()").expect("sent");
            assert_eq!(calls.receive().expect("an answer").1.first(), Some(&OkPacket::MARKER));
            assert_eq!(digits(&mut calls), b"\x019");
        }
        // each has one of both connections
        let told = [(); 2].map(|()| {
            let mut other = log_in();
            other.send(0, b"\x03BEGIN").expect("sent");
            assert_eq!(other.receive().expect("an answer").1.first(), Some(&OkPacket::MARKER));
            (digits(&mut other), other)
        });
        assert_eq!(told.map(|(digits, _)| digits), [b"\x014"; 2]);
    }
}
