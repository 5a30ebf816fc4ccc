//! Transactions of several sessions: what they see of each other, who waits and how long.

use mysql::prelude::Queryable;
use mysql::{Conn, Error};

use crate::group::Group;

fn code(result: Result<(), Error>) -> u16 {
    match result {
        Err(Error::MySqlError(error)) => error.code,
        other => panic!("{other:?}"),
    }
}

fn count(conn: &mut Conn) -> u64 {
    conn.query_first("SELECT COUNT(*) FROM t").unwrap().unwrap()
}

#[test]
fn a_transaction_is_seen_by_others_when_it_is_committed() {
    let group = Group::start();
    let (mut one, mut two) = (group.primary(), group.replica());
    one.query_drop("CREATE TABLE t (a INT)").unwrap();
    one.query_drop("BEGIN").unwrap();
    one.query_drop("INSERT INTO t VALUES (1)").unwrap();
    assert_eq!((count(&mut one), count(&mut two)), (1, 0));
    one.query_drop("COMMIT").unwrap();
    assert_eq!(count(&mut two), 1);
    one.query_drop("START TRANSACTION").unwrap();
    one.query_drop("DELETE FROM t").unwrap();
    one.query_drop("ROLLBACK").unwrap();
    assert_eq!(count(&mut one), 1);
    one.query_drop("BEGIN; INSERT INTO t VALUES (2); SAVEPOINT a; DELETE FROM t").unwrap();
    assert_eq!(count(&mut one), 0);
    one.query_drop("ROLLBACK TO SAVEPOINT a; COMMIT").unwrap();
    assert_eq!(count(&mut two), 2);
}

#[test]
fn a_reading_transaction_keeps_its_view() {
    let group = Group::start();
    let (mut one, mut two) = (group.primary(), group.primary());
    one.query_drop("CREATE TABLE t (a INT)").unwrap();
    two.query_drop("BEGIN").unwrap();
    assert_eq!(count(&mut two), 0);
    one.query_drop("INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(count(&mut two), 0);
    two.query_drop("INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(count(&mut two), 2);
    two.query_drop("COMMIT").unwrap();
}

#[test]
fn a_writer_that_waits_too_long_gets_1205_and_may_try_again() {
    let group = Group::start_with(|options| options.lock_wait_ms = 50);
    let (mut one, mut two, mut three) = (group.primary(), group.primary(), group.replica());
    one.query_drop("CREATE TABLE t (a INT)").unwrap();
    one.query_drop("BEGIN; INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(code(two.query_drop("INSERT INTO t VALUES (2)")), 1205);
    assert_eq!(code(two.query_drop("SELECT * FROM t FOR UPDATE")), 1205);
    two.query_drop("SET innodb_lock_wait_timeout = 0").unwrap();
    assert_eq!(code(two.query_drop("DELETE FROM t")), 1205);
    assert_eq!(count(&mut three), 0);
    one.query_drop("COMMIT").unwrap();
    two.query_drop("INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(count(&mut three), 2);
}

#[test]
fn a_waiting_writer_goes_on_when_the_lock_is_given_up() {
    let group = Group::start();
    let (mut one, mut two, mut watch) = (group.primary(), group.primary(), group.primary());
    one.query_drop("CREATE TABLE t (a INT)").unwrap();
    one.query_drop("BEGIN; INSERT INTO t VALUES (1)").unwrap();
    let waiting = std::thread::spawn(move || {
        two.query_drop("INSERT INTO t VALUES (2)").unwrap();
        two.affected_rows()
    });
    let state = "SELECT COUNT(*) FROM information_schema.processlist \
                 WHERE state = 'Waiting for the write lock'";
    while watch.query_first::<u8, _>(state).unwrap() != Some(1) {}
    one.query_drop("COMMIT").unwrap();
    assert_eq!(waiting.join().unwrap(), 1);
    assert_eq!(count(&mut watch), 2);
}

#[test]
fn a_client_that_vanishes_gives_its_lock_up() {
    let group = Group::start();
    let (mut one, mut two) = (group.primary(), group.primary());
    one.query_drop("CREATE TABLE t (a INT)").unwrap();
    one.query_drop("BEGIN; INSERT INTO t VALUES (1)").unwrap();
    drop(one);
    two.query_drop("INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(count(&mut two), 1);
}

#[test]
fn sleep_keeps_nobody_else_waiting_and_can_be_killed() {
    let group = Group::start();
    let (mut sleeper, mut other) = (group.primary(), group.primary());
    let id: u32 = sleeper.query_first("SELECT CONNECTION_ID()").unwrap().unwrap();
    let sleeping = std::thread::spawn(move || code(sleeper.query_drop("SELECT SLEEP(60)")));
    let state = format!("SELECT state FROM information_schema.processlist WHERE id = {id}");
    while other.query_first::<String, _>(&state).unwrap().as_deref() != Some("User sleep") {}
    other.query_drop(format!("KILL QUERY {id}")).unwrap();
    assert_eq!(sleeping.join().unwrap(), 1317);
}
