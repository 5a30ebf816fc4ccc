//! Planned switchovers.

use crate::script::{FAR, ITSELF, LOG, NEAR, PRIMARY, Script, Source, at, itself, order};
use failover::{Order, switch_over};
use keeper::Endpoint;

fn run(script: &mut Script, order: &Order) -> Result<Endpoint, String> {
    script.with(|servers, clients| switch_over(order, servers, clients)).map(|done| done.new)
}

#[test]
fn the_replica_least_behind_gets_everything_and_the_others_follow_it() {
    let mut script = Script::default();
    assert_eq!(run(&mut script, &order()), Ok(at(NEAR)));
    let change = "CHANGE MASTER TO MASTER_HOST='db', MASTER_PORT=2, MASTER_USER='repl', \
                  MASTER_PASSWORD='se''cret\\\\', MASTER_USE_GTID=slave_pos";
    assert_eq!(
        script.told,
        [
            "unheld 1: SELECT GET_LOCK('tidegate_switchover', 0)",
            "unheld 2: SELECT GET_LOCK('tidegate_switchover', 0)",
            "1: SET SESSION lock_wait_timeout=5",
            "1: SET GLOBAL read_only=1",
            "1: SELECT @@global.gtid_current_pos",
            "2: SELECT MASTER_GTID_WAIT('0-11-42', 7)",
            "2: STOP SLAVE",
            "2: SET GLOBAL read_only=0",
            "2: RESET SLAVE ALL",
            "unheld 1: STOP SLAVE",
            "unheld 1: SET GLOBAL gtid_slave_pos='0-11-42'",
            &format!("unheld 1: {change}"),
            "unheld 1: START SLAVE",
            "unheld 3: STOP SLAVE",
            &format!("unheld 3: {change}"),
            "unheld 3: START SLAVE",
        ]
    );
    assert!(!script.held);
    let told = format!("{:?}", script.steps);
    assert!(!told.contains("cret"), "the password is told: {told}");
}

#[test]
fn a_failure_before_the_new_one_is_opened_opens_the_old_one_again() {
    for (port, statement) in [
        (PRIMARY, "SET GLOBAL read_only=1"),
        (PRIMARY, "SELECT @@global.gtid_current_pos"),
        (NEAR, "SELECT MASTER_GTID_WAIT"),
        (NEAR, "STOP SLAVE"),
        (NEAR, "SET GLOBAL read_only=0"),
    ] {
        let mut script = Script::default().fails(port, statement);
        let why = run(&mut script, &order()).expect_err(statement);
        assert!(why.ends_with("db:1 is the primary again"), "{statement}: {why}");
        assert_eq!(script.told.last().expect("told"), "1: SET GLOBAL read_only=0", "{statement}");
        assert!(!script.held, "{statement}");
        let goes_on = script.told.contains(&"2: START SLAVE".to_owned());
        let was_stopped = ["STOP SLAVE", "SET GLOBAL read_only=0"].contains(&statement);
        assert_eq!(goes_on, was_stopped, "the other one goes on: {statement}");
        let opens = |told: &&String| told.contains("read_only=0");
        let opened = script.told.iter().filter(opens).count();
        assert_eq!(opened, if statement.ends_with('0') { 2 } else { 1 }, "{statement}");
    }
}

#[test]
fn of_two_that_may_be_open_neither_is_opened_besides() {
    let mut script = Script::default()
        .fails(NEAR, "SET GLOBAL read_only=0")
        .fails(NEAR, "SET GLOBAL read_only=1");
    let why = run(&mut script, &order()).expect_err("neither");
    assert!(why.ends_with("db:1 stays closed: see which is to be opened"), "{why}");
    assert!(!script.told.contains(&"1: SET GLOBAL read_only=0".to_owned()), "{:?}", script.told);
}

#[test]
fn nothing_is_told_where_it_cannot_be_done() {
    let ok = Source::default();
    for (row, why) in [
        (Source { id: "99", ..ok }.row(), "its source is db:1, another server"),
        (Source { port: "9", ..ok }.row(), "its source is db:9, which is not known to be db:1"),
        (
            Source { name: "c1", ..ok }.row(),
            "its source has the name c1; only one without is known",
        ),
        (Source { receives: "Connecting", ..ok }.row(), "it receives nothing from its source"),
        (Source { applies: "No", ..ok }.row(), "it applies nothing of what it receives"),
        (Source { by_gtid: "No", ..ok }.row(), "it does not replicate by GTID"),
        (
            Source { filter: "shop", ..ok }.row(),
            "it leaves out some of what it receives (Replicate_…)",
        ),
        (vec![], "it is no replica"),
    ] {
        let mut script = Script::default().says(NEAR, "SHOW", &row);
        let to_near = Order { target: Some(at(NEAR)), ..order() };
        let refused = run(&mut script, &to_near).expect_err(why);
        assert_eq!(refused, format!("db:2 cannot take its place: {why}"));
        assert!(script.told.is_empty(), "{why}: {:?}", script.told);
        assert_eq!(run(&mut script, &order()), Ok(at(FAR)), "the other one can");
    }
    let mut row = itself("12", "0-11-42");
    row[2] = "0";
    let mut script = Script::default().says(NEAR, ITSELF, &row);
    let refused =
        run(&mut script, &Order { target: Some(at(NEAR)), ..order() }).expect_err("no log");
    assert!(refused.ends_with("it keeps no binary log of what it replicates"), "{refused}");
    let mut script = Script::default().fails(FAR, "SELECT VERSION").fails(NEAR, "SELECT VERSION");
    assert_eq!(run(&mut script, &order()), Err("no replica can take its place".into()));
    row = itself("12", "0-11-42");
    row[5] = "0-11-42,0-12-43";
    let mut script = Script::default().says(NEAR, ITSELF, &row);
    let refused = run(&mut script, &Order { target: Some(at(NEAR)), ..order() }).expect_err("own");
    assert!(refused.ends_with("it has transactions of its own: 0-12-43"), "{refused}");
    let mut script = Script::default().says(PRIMARY, ITSELF, &itself("11", "0-11-42"));
    assert_eq!(
        run(&mut script, &order()),
        Err("db:1 refuses writes itself: it is no primary".into())
    );
    let mut script = Script::default().says(PRIMARY, "SHOW", &Source { id: "77", ..ok }.row());
    let why = "db:1 has db:1 for a source, which it would lose";
    assert_eq!(run(&mut script, &order()), Err(why.into()));
    let mut script = Script::default().says(NEAR, "SELECT GET_LOCK", &["0"]);
    assert_eq!(run(&mut script, &order()), Err("somebody else switches db:2 over".into()));
    let stranger = Order { target: Some(at(7)), ..order() };
    let refused = run(&mut Script::default(), &stranger).expect_err("a stranger");
    assert_eq!(refused, "db:7 cannot take its place: it is no server of this cluster");
}

#[test]
fn one_that_is_delayed_or_would_get_nothing_is_not_chosen() {
    let delayed = Source { delay: "3600", ..Source::default() };
    let mut script = Script::default().says(NEAR, "SHOW", &delayed.row());
    assert_eq!(run(&mut script, &order()), Ok(at(FAR)), "though it is behind");
    let left_out = [(at(NEAR), "SLOW".to_owned())].into();
    let slow = Order { left_out, ..order() };
    assert_eq!(run(&mut Script::default(), &slow), Ok(at(FAR)));
    let to_near = Order { target: Some(at(NEAR)), ..slow };
    let why = "db:2 cannot take its place: SLOW";
    assert_eq!(run(&mut Script::default(), &to_near), Err(why.to_owned()));
    let mut script = Script::default().says(NEAR, LOG, &["shop", ""]);
    let to_near = Order { target: Some(at(NEAR)), ..order() };
    let why = "db:2 cannot take its place: it leaves out some of what it logs (Binlog_Do_DB)";
    assert_eq!(run(&mut script, &to_near), Err(why.to_owned()));
}

#[test]
fn transactions_that_do_not_end_are_not_cut_off() {
    let mut script = Script::default();
    script.in_use = 3;
    assert_eq!(run(&mut script, &order()), Err("3 connections are still in use".into()));
    assert!(!script.told.iter().any(|told| told.contains("read_only")), "{:?}", script.told);
    assert!(!script.held);
}

#[test]
fn a_dry_run_says_who_could_and_tells_nobody_anything() {
    let mut script = Script::default().fails(FAR, "SHOW");
    assert_eq!(run(&mut script, &Order { dry: true, ..order() }), Ok(at(NEAR)));
    assert!(script.told.is_empty());
    let outcomes: Vec<_> =
        script.steps.into_iter().map(|step| (step.server.port, step.outcome)).collect();
    let expected = [(FAR, Err("1205 it takes too long".into())), (NEAR, Ok("0 s behind".into()))];
    assert_eq!(outcomes, expected);
}

#[test]
fn a_replica_that_does_not_answer_is_left_as_it_is_and_told() {
    let mut script = Script::default().fails(FAR, "SELECT VERSION");
    assert_eq!(run(&mut script, &order()), Ok(at(NEAR)));
    let left = script.steps.iter().filter(|step| step.server == at(FAR) && step.outcome.is_err());
    assert_eq!(left.count(), 2, "{:?}", script.steps);
}

#[test]
fn a_server_that_does_not_receive_from_the_new_one_is_told() {
    let mut script = Script::default();
    script.refused = "1045";
    let done = script.with(|servers, clients| switch_over(&order(), servers, clients));
    assert_eq!(done.map(|done| done.astray), Ok(vec![at(PRIMARY), at(FAR)]));
    let failed = script.steps.iter().filter(|step| step.outcome == Err("why (1045)".into()));
    let whats: Vec<_> = failed.map(|step| step.what.as_str()).collect();
    assert_eq!(whats, ["receive from db:2"; 2]);
}
