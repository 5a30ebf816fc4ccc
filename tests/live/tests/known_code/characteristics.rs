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
        defines.query_drop(function).expect(set);
        drop(defines);
        assert_eq!(number(&mut first, "SELECT test.reads_then()"), Some(1), "{set}");
        let before = proxy.counter("stored_code_readings").expect("counted");
        live::eventually("it is read", Duration::from_secs(5), || {
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
        let log_in = || Raw::login(proxy.port, "app", "app").expect("let in");
        let digits =
            |client: &mut Raw| client.first_row("SELECT @@div_precision_increment").expect("a row");
        let mut first = log_in();
        assert_eq!(first.first_row("SELECT 1").expect("a row"), b"\x011");
        first.send(0, b"\x03DO test.deafens()").expect("sent");
        assert_eq!(first.receive().expect("an answer").1.first(), Some(&OkPacket::MARKER));
        let mut second = log_in();
        for _ in 0..4 {
            assert_eq!(digits(&mut second), b"\x014");
        }
        assert_eq!(digits(&mut first), b"\x019");
        drop(first);
        assert_eq!([digits(&mut second), digits(&mut log_in())], [b"\x014"; 2]);
    }
}
