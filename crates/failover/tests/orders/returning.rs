//! Servers that come back after a failover: which follow, and which are left to their operator.

use crate::failover::{LOST, was_told};
use crate::script::{FAR, ITSELF, NEAR, PRIMARY, Script, Source, at, known, order};
use failover::{Former, Left, Order, rejoin};

/// Servers behind a failover: the near one is the primary.
fn afterwards() -> (Order, [Former; 1]) {
    (Order { primary: known(NEAR, 12), ..order() }, [known(PRIMARY, 11)])
}

const CLOSED: &str = "unheld 1: SET GLOBAL read_only=1";
const ANEW: &str = "it is not as it was when it was the primary: have it follow by hand";

fn back(script: &mut Script, server: i64) -> Result<(), String> {
    let (order, former) = afterwards();
    let server = at(server);
    let server = (&server, &Left::default());
    let done = script.with(|servers, clients| rejoin(&order, server, &former, servers, clients));
    done.map_err(|left| left.why)
}

fn old(applied: &'static str, written: &'static str, position: &'static str) -> Script {
    Script::default()
        .says(NEAR, ITSELF, &["0", "12", "1", "1", "0-11-42", "0-11-42,0-12-50", "12"])
        .says(NEAR, "SHOW", &[])
        .says(PRIMARY, ITSELF, &["0", "11", "1", "1", applied, written, "11"])
        .says(PRIMARY, "SELECT @@global.gtid_current_pos", &[position])
}

#[test]
fn an_old_primary_follows_or_is_left_out_with_what_it_has_alone() {
    let mut script = old("", "0-11-42", "0-11-42");
    assert_eq!(back(&mut script, PRIMARY), Ok(()));
    assert!(was_told(&script, CLOSED));
    assert!(was_told(&script, "unheld 1: SET GLOBAL gtid_slave_pos='0-11-42'"));
    assert!(was_told(&script, "unheld 1: START SLAVE"));
    assert_eq!(script.rejoined, [PRIMARY]);

    let mut script = old("", "0-11-44", "0-11-44");
    let why = "it has transactions that db:2 has not: 0-11-44 and before, after 42";
    assert_eq!(back(&mut script, PRIMARY), Err(why.to_owned()));
    assert!(was_told(&script, CLOSED), "nobody writes there either");
    assert!(!script.told.iter().any(|told| told.contains("SLAVE")), "{:?}", script.told);
    assert_eq!(script.rejoined, [0; 0]);

    // it does not receive: nobody reads there
    let mut script = old("", "0-11-42", "0-11-42");
    script.refused = "1236";
    assert_eq!(back(&mut script, PRIMARY), Err("why (1236)".to_owned()));
    assert_eq!(script.rejoined, [0; 0]);
}

#[test]
fn an_old_primary_that_is_made_anew_is_left_to_its_operator() {
    for (applied, written, position) in [
        // of a backup, whose position may be one of before
        ("0-12-47", "", "0-12-47"),
        // what it loads is written to its log
        ("", "0-11-4", "0-11-4"),
        ("", "", ""),
        // of files of the new one, with its log
        ("0-11-42", "0-11-42,0-12-50", "0-11-42"),
    ] {
        let mut script = old(applied, written, position);
        assert_eq!(back(&mut script, PRIMARY), Err(ANEW.to_owned()), "{written}");
        assert!(!script.told.iter().any(|told| told.contains("SLAVE")), "{:?}", script.told);
        assert_eq!(script.rejoined, [0; 0]);
    }
    // what was begun by hand is left to that hand
    let already = Err("it replicates from db:9 already".to_owned());
    for (id, port, done) in [("12", "2", Ok(())), ("77", "9", already)] {
        let source = Source { id, port, ..Source::default() };
        let mut script = old("", "", "").says(PRIMARY, "SHOW", &source.row());
        assert_eq!(back(&mut script, PRIMARY), done);
        assert!(!script.told.iter().any(|told| told.contains("SLAVE")), "{:?}", script.told);
    }
}

#[test]
fn an_old_primary_that_wrote_nothing_follows() {
    let mut script = old("0-7-42", "0-7-42", "0-7-42").says(
        NEAR,
        ITSELF,
        &["0", "12", "1", "1", "0-7-42", "0-7-42,0-12-50", "12"],
    );
    assert_eq!(back(&mut script, PRIMARY), Ok(()));
    assert!(was_told(&script, "unheld 1: SET GLOBAL gtid_slave_pos='0-7-42'"));
}

/// Its own transactions are in its log, unless somebody loads it.
#[test]
fn an_old_primary_of_mysql_that_is_being_loaded_is_not_touched() {
    const VERSION: &str = "SELECT VERSION";
    let all = "a:1-45,b:1-9";
    for (logged, is_it) in [("a:40-45,b:1-2", true), ("", false), ("b:1-9", false)] {
        let mut script = Script::default()
            .says(NEAR, VERSION, &["8.4.6"])
            .says(NEAR, ITSELF, &["0", "12", "1", "1", all, all, "b", "b:1-9"])
            .says(NEAR, "SHOW", &[])
            .says(PRIMARY, VERSION, &["8.4.6"])
            .says(PRIMARY, ITSELF, &["0", "11", "1", "1", all, all, "a", logged])
            .says(PRIMARY, "SELECT @@global.gtid_executed", &[all]);
        let done = back(&mut script, PRIMARY);
        assert_eq!(done != Err(ANEW.to_owned()), is_it, "{logged}: {done:?}");
        assert_eq!(was_told(&script, "unheld 1: SET GLOBAL super_read_only=1"), is_it);
        assert_eq!(was_told(&script, "unheld 1: CHANGE"), is_it);
    }
}

#[test]
fn a_server_that_was_refused_is_looked_at_and_not_touched() {
    let (order, former) = afterwards();
    let why = "it has more".to_owned();
    let left = Left { judged: Some(why.clone()), why };
    // as it was, or loaded so that it looks like that
    let mut script = old("", "0-11-42", "0-11-42");
    let server = (&at(PRIMARY), &left);
    let done = script.with(|servers, clients| rejoin(&order, server, &former, servers, clients));
    assert_eq!(done, Err(left.clone()));
    assert!(!script.told.iter().any(|told| told.contains("SET") || told.contains("SLAVE")));
    // until its operator has it follow
    let follows = Source { id: "12", port: "2", ..Source::default() };
    let mut script = old("", "", "").says(PRIMARY, "SHOW", &follows.row());
    let done = script.with(|servers, clients| rejoin(&order, server, &former, servers, clients));
    assert_eq!(done, Ok(()));
    assert_eq!(script.rejoined, [PRIMARY]);
    assert!(was_told(&script, CLOSED), "it would be a second writer");
}

#[test]
fn a_replica_that_still_has_the_old_source_follows_later() {
    let mut script = old("", "", "").says(FAR, "SHOW", &LOST.row());
    assert_eq!(back(&mut script, FAR), Ok(()));
    assert!(was_told(&script, "unheld 3: CHANGE MASTER"));
    assert!(!was_told(&script, "unheld 3: SET GLOBAL gtid_slave_pos"));
    // also where the new one has come to higher numbers since
    let ahead = Source { received: "0-11-44", ..LOST };
    let mut script = old("", "", "").says(FAR, "SHOW", &ahead.row());
    let why = "it has transactions that db:2 has not: 0-11-44 and before, after 42";
    assert_eq!(back(&mut script, FAR), Err(why.to_owned()));
    assert!(!script.told.iter().any(|told| told.contains("SLAVE")), "{:?}", script.told);
}
