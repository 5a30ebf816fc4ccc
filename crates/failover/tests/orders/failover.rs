//! Failovers of scripted servers: what evidence it takes, whom it opens, and what it leaves as it
//! was.

use crate::script::{FAR, NEAR, PRIMARY, Script, at, order};
use failover::{Failed, fail_over, rejoin};
use keeper::Endpoint;

/// Replicas of a primary that is gone.
fn gone() -> Script {
    Script::default()
        .says(NEAR, "SHOW", &lost("0"))
        .says(FAR, "SHOW", &lost("0"))
        .says(NEAR, "SELECT @@global.gtid_binlog_pos", &["0-11-42"])
        .says(FAR, "SELECT @@global.gtid_binlog_pos", &["0-11-43"])
}

fn lost(behind: &'static str) -> [&'static str; 8] {
    let through = "Slave has read all relay log; waiting for more updates";
    ["11", "db", "1", "Connecting", "Yes", "Slave_Pos", behind, through]
}

fn run(script: &mut Script) -> Result<Endpoint, Failed> {
    script.with(|servers, clients| fail_over(&order(), servers, clients))
}

fn refused(script: &mut Script) -> String {
    let failed = run(script).expect_err("nobody becomes the primary");
    assert_eq!(failed.may_be_open, None);
    assert!(!script.held);
    assert_eq!(script.deposed, [0; 0], "{failed:?}");
    failed.why
}

#[test]
fn the_replica_that_has_the_most_is_opened_and_the_other_one_follows() {
    let mut script = gone();
    assert_eq!(run(&mut script), Ok(at(FAR)));
    let opened = script.told.iter().position(|told| told == "3: SET GLOBAL read_only=0");
    let opened = opened.expect("it is opened");
    assert!(script.told.iter().filter(|told| told.contains("read_only=0")).count() == 1);
    let follows = script.told.iter().position(|told| told.starts_with("2: CHANGE MASTER"));
    assert!(follows.expect("it follows") > opened);
    assert_eq!(script.deposed, [PRIMARY], "the old one gets nothing, whatever it says");
    assert!(!script.held);
}

#[test]
fn one_side_s_word_is_no_evidence() {
    let mut script = gone();
    script.greets = true;
    assert_eq!(refused(&mut script), "db:1 answers");

    let mut row = lost("0");
    row[3] = "Yes";
    let mut script = gone().says(NEAR, "SHOW", &row);
    assert_eq!(refused(&mut script), "db:2 still receives from db:1");

    let mut script = gone().fails(NEAR, "SELECT VERSION").fails(FAR, "SELECT VERSION");
    assert_eq!(refused(&mut script), "0 of 2 replicas answer");
    let told = format!("{:?}", script.told);
    assert!(!told.contains("SLAVE") && !told.contains("GLOBAL"), "{told}");
    let mut script = gone().fails(FAR, "SELECT VERSION");
    assert_eq!(run(&mut script), Ok(at(NEAR)), "one of two, and this side");
}

#[test]
fn a_replica_that_cannot_apply_what_it_has_is_not_opened() {
    let mut row = lost("9");
    row[7] = "Reading event from the relay log";
    let mut script = gone().says(FAR, "SHOW", &row);
    script.late = true;
    assert_eq!(run(&mut script), Ok(at(NEAR)));
    let mut script = gone().says(FAR, "SHOW", &row).says(NEAR, "SHOW", &row);
    script.late = true;
    assert_eq!(refused(&mut script), "no replica has applied what it has in time");
    for port in [NEAR, FAR] {
        let receives = format!("{port}: START SLAVE IO_THREAD");
        assert!(script.told.contains(&receives), "as it was: {:?}", script.told);
    }
}

#[test]
fn after_one_that_may_be_open_no_other_one_is_opened() {
    let mut script = gone().fails(FAR, "SET GLOBAL read_only=0");
    assert_eq!(refused(&mut script), "db:3: SET GLOBAL read_only=0: 1205 it takes too long");
    let mut script = gone().fails(FAR, "SET GLOBAL read_only");
    let failed = run(&mut script).expect_err("nobody");
    assert_eq!(failed.may_be_open, Some(at(FAR)));
    assert_eq!(script.deposed, [PRIMARY], "it is not used besides");
}

#[test]
fn an_old_primary_follows_or_is_left_out_with_what_it_has_alone() {
    let mut new = order();
    new.primary = at(NEAR);
    let states = |own: &'static str| {
        Script::default().says(PRIMARY, "SELECT @@global.gtid_binlog_state", &[own]).says(
            NEAR,
            "SELECT @@global.gtid_binlog_state",
            &["0-11-42,0-12-50"],
        )
    };
    let mut script = states("0-11-42");
    let done = script.with(|servers, clients| rejoin(&new, &at(PRIMARY), servers, clients));
    assert_eq!(done, Ok(()));
    assert_eq!(script.told[0], "unheld 1: SET GLOBAL read_only=1");
    assert!(script.told.contains(&"unheld 1: START SLAVE".to_owned()));
    assert_eq!(script.rejoined, [PRIMARY]);

    let mut script = states("0-11-44");
    let done = script.with(|servers, clients| rejoin(&new, &at(PRIMARY), servers, clients));
    let why = "it has transactions that db:2 has not: 0-11-44 and before, after 42";
    assert_eq!(done, Err(why.to_owned()));
    assert_eq!(script.told[0], "unheld 1: SET GLOBAL read_only=1", "nobody writes there either");
    assert!(!script.told.iter().any(|told| told.contains("SLAVE")), "{:?}", script.told);
    assert_eq!(script.rejoined, [0; 0]);
}
