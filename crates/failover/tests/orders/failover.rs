//! Failovers of scripted servers: what evidence it takes, whom it opens, and what it leaves as it
//! was.

use crate::script::{FAR, ITSELF, LOG, NEAR, PRIMARY, Script, Source, at, itself, known, order};
use failover::{Failed, Order, Succeeded, fail_over, identify};
use keeper::Endpoint;

/// A primary that cannot be reached.
pub(crate) const LOST: Source = Source {
    name: "",
    id: "11",
    host: "db",
    port: "1",
    receives: "Connecting",
    error: "2003",
    applies: "Yes",
    by_gtid: "Slave_Pos",
    behind: "0",
    received: "0-11-42",
    filter: "",
    delay: "0",
    tls: ["No", "", "", "", "No"],
    more: ["", "", "0"],
};

/// Replicas of a primary that is gone: the far one has more.
fn gone() -> Script {
    Script::default()
        .says(NEAR, "SHOW", &LOST.row())
        .says(NEAR, ITSELF, &itself("12", "0-11-40"))
        .says(FAR, "SHOW", &Source { received: "0-11-43", ..LOST }.row())
        .says(FAR, ITSELF, &itself("13", "0-11-39"))
}

fn run(script: &mut Script) -> Result<Succeeded, Failed> {
    script.with(|servers, clients| fail_over(&order(), servers, clients))
}

/// A third replica, which has less than the others.
const OTHER: i64 = 4;

fn of_three(script: &mut Script) -> Result<Succeeded, Failed> {
    let order = Order { others: vec![at(FAR), at(NEAR), at(OTHER)], ..order() };
    script.with(|servers, clients| fail_over(&order, servers, clients))
}

/// That one is the primary, and these do not follow it, as the old one does not.
fn done(new: i64, astray: &[i64]) -> Succeeded {
    let former = known(PRIMARY, 11);
    let astray = astray.iter().chain([&PRIMARY]).map(|port| at(*port)).collect();
    Succeeded { new: at(new), former, astray }
}

fn new(script: &mut Script) -> Endpoint {
    run(script).expect("one becomes the primary").new
}

fn refused(script: &mut Script) -> String {
    let failed = run(script).expect_err("nobody becomes the primary");
    assert_eq!(failed.may_be_open, None);
    assert!(!script.held);
    assert_eq!(script.deposed, [0; 0], "{failed:?}");
    failed.why
}

/// Whether a server was told that, in a statement that begins so.
pub(crate) fn was_told(script: &Script, told: &str) -> bool {
    script.told.iter().any(|own| own.starts_with(told))
}

#[test]
fn the_replica_that_has_the_most_is_opened_and_the_other_one_follows() {
    let mut script = gone();
    assert_eq!(run(&mut script), Ok(done(FAR, &[])));
    assert_eq!(
        script.told[..6],
        [
            "3: SELECT MASTER_GTID_WAIT('0-11-43', 7)",
            "2: SELECT MASTER_GTID_WAIT('0-11-42', 7)",
            "3: SELECT GET_LOCK('tidegate_switchover', 0)",
            "3: STOP SLAVE",
            "3: SET GLOBAL read_only=0",
            "3: RESET SLAVE ALL",
        ]
    );
    assert_eq!(script.told.iter().filter(|told| told.contains("read_only=0")).count(), 1);
    assert!(was_told(&script, "unheld 2: CHANGE MASTER"));
    assert_eq!(script.deposed, [PRIMARY], "the old one gets nothing, whatever it says");
    assert!(!script.held);
}

#[test]
fn one_side_s_word_is_no_evidence() {
    let mut script = gone();
    script.greets = true;
    assert_eq!(refused(&mut script), "db:1 answers");

    let mut script = gone().says(NEAR, "SHOW", &Source::default().row());
    assert_eq!(refused(&mut script), "db:2 still receives from db:1");

    let mut script = gone().fails(NEAR, "SELECT VERSION").fails(FAR, "SELECT VERSION");
    assert!(refused(&mut script).starts_with("0 of 2 replicas say that db:1 is gone; db:3: 1205"));
    assert!(script.told.is_empty(), "{:?}", script.told);
    let mut script = gone().fails(FAR, "SELECT VERSION");
    let why = "1 of 2 replicas say that db:1 is gone; db:3: 1205 it takes too long";
    assert_eq!(refused(&mut script), why);
    let mut script = gone().fails(OTHER, "SELECT VERSION");
    assert_eq!(of_three(&mut script), Ok(done(FAR, &[OTHER])), "two of three");
}

#[test]
fn a_primary_that_comes_back_meanwhile_stays_the_primary() {
    let mut script = gone();
    script.greets_after_all = true;
    assert_eq!(refused(&mut script), "db:1 answers");
    assert!(!script.told.iter().any(|told| told.contains("read_only")), "{:?}", script.told);
    // what was never stopped need not be started by anybody, should Tidegate end meanwhile
    assert!(!script.told.iter().any(|told| told.contains("SLAVE")), "{:?}", script.told);
}

#[test]
fn a_replica_that_receives_again_meanwhile_is_heard() {
    let mut script = gone().then(NEAR, "SHOW", &Source::default().row());
    assert_eq!(refused(&mut script), "db:2 still receives from db:1");
    // it has got more in between
    let more = Source { received: "0-11-44", ..LOST };
    let mut script = gone().then(NEAR, "SHOW", &more.row());
    assert!(refused(&mut script).starts_with("db:2 has received what db:3 has not"));
    assert!(!script.told.iter().any(|told| told.contains("SLAVE")), "{:?}", script.told);
}

#[test]
fn a_server_that_replicas_cannot_reach_is_not_opened() {
    let local = Endpoint { hostname: "/run/db.sock".into(), port: 0 };
    let order = Order { others: vec![at(FAR), local.clone()], ..order() };
    let mut script = gone().says(0, "SHOW", &Source { received: "0-11-99", ..LOST }.row());
    let failed = script.with(|servers, clients| fail_over(&order, servers, clients));
    assert!(failed.is_err(), "what it has is lost else");
    let why = Err("replicas cannot reach its Unix socket".to_owned());
    assert!(script.steps.iter().any(|step| step.server == local && step.outcome == why));
}

#[test]
fn a_replica_that_does_not_try_or_is_another_one_s_says_nothing_of_the_primary() {
    for (source, all) in [
        (Source { receives: "No", error: "0", ..LOST }, 2),
        (Source { receives: "No", error: "1236", ..LOST }, 2),
        (Source { receives: "No", error: "2003", ..LOST }, 2),
        (Source { receives: "Connecting", error: "1045", ..LOST }, 2),
        (Source { receives: "Yes", id: "99", ..LOST }, 0),
        (Source { receives: "Connecting", id: "99", ..LOST }, 0),
        (Source { receives: "Connecting", id: "0", port: "9", ..LOST }, 0),
    ] {
        let row = source.row();
        let mut script = gone().says(NEAR, "SHOW", &row).says(FAR, "SHOW", &row);
        let why = format!("0 of {all} replicas say that db:1 is gone");
        assert!(refused(&mut script).starts_with(&why), "{row:?}");
        assert!(script.told.is_empty(), "{row:?}: {:?}", script.told);
    }
}

/// A number of the last source that was reached, which is another one's now, proves nothing.
#[test]
fn a_replica_that_was_given_another_source_is_no_witness_and_not_opened() {
    for source in [Source { port: "9", ..LOST }, Source { host: "elsewhere", ..LOST }] {
        let mut script = gone().says(NEAR, "SHOW", &source.row()).says(FAR, "SHOW", &source.row());
        assert_eq!(refused(&mut script), "0 of 0 replicas say that db:1 is gone");
    }
    let source = Source { port: "9", received: "0-11-60", ..LOST };
    let mut script = gone().says(FAR, "SHOW", &source.row());
    assert_eq!(new(&mut script), at(NEAR));
}

#[test]
fn a_source_with_another_name_is_known_by_where_it_leads() {
    // an alias
    let alias = Source { host: "alias", ..LOST };
    let mut script = gone().says(NEAR, "SHOW", &alias.row());
    script.alias = "alias";
    assert_eq!(run(&mut script), Ok(done(FAR, &[])));
    // a way that is not this one's, seen while the primary lived
    let [far, near] = [FAR, NEAR].map(|port| (port, Source { port: "7", ..Source::default() }));
    let replicas = [at(FAR), at(NEAR)];
    for (holder, is_it) in [("77", true), ("5", false)] {
        let mut script = Script::default()
            .says(far.0, "SHOW", &far.1.row())
            .says(near.0, "SHOW", &near.1.row())
            .says(PRIMARY, "SELECT GET_LOCK('tidegate_place'", &["1", "77"])
            .says(7, "SELECT IS_USED_LOCK('tidegate_place')", &[holder]);
        let primary =
            script.with(|servers, _| identify(servers, &at(PRIMARY), &replicas)).expect("told");
        assert_eq!(primary.identity.places, [(at(7), is_it)].into());
        let order = Order { primary, ..order() };
        let lost = Source { port: "7", ..LOST }.row();
        let mut script = gone().says(FAR, "SHOW", &lost).says(NEAR, "SHOW", &lost);
        let done = script.with(|servers, clients| fail_over(&order, servers, clients));
        assert_eq!(done.is_ok(), is_it, "{done:?}");
        // it still receives from there
        let mut script = gone().says(NEAR, "SHOW", &near.1.row());
        let done = script.with(|servers, clients| fail_over(&order, servers, clients));
        assert_eq!(done.is_ok(), !is_it, "{done:?}");
    }
    // what nobody has looked at may be the primary
    let mut script = gone().says(NEAR, "SHOW", &near.1.row());
    assert_eq!(refused(&mut script), "db:2 receives from db:7, which may be db:1");
}

#[test]
fn a_replica_of_another_server_is_not_opened() {
    let elsewhere = Source { id: "99", received: "0-11-60", ..LOST };
    let third = Source { received: "0-11-41", ..LOST }.row();
    let mut script = gone().says(FAR, "SHOW", &elsewhere.row()).says(OTHER, "SHOW", &third);
    assert_eq!(of_three(&mut script), Ok(done(NEAR, &[FAR])));
    // one that has started since knows its source by its name alone
    let mut script = gone().says(FAR, "SHOW", &Source { id: "0", received: "", ..LOST }.row());
    assert_eq!(new(&mut script), at(NEAR));
}

#[test]
fn nobody_is_opened_while_another_one_has_more() {
    let held_up = "SELECT MASTER_GTID_WAIT";
    let more = "db:3 has received what db:2 has not, and cannot be the primary: it has to apply \
                that, or to be set OFFLINE_SOFT, and then it is lost";
    let mut script = gone().says(FAR, held_up, &["-1"]);
    assert_eq!(refused(&mut script), more);
    assert!(!script.told.iter().any(|told| told.contains("SLAVE")), "{:?}", script.told);
    // one that is broken, or has transactions of its own, may have more as well
    let broken = Source { applies: "No", received: "0-11-43", ..LOST };
    let mut script = gone().says(FAR, "SHOW", &broken.row());
    assert_eq!(refused(&mut script), more);
    // what it has received would be thrown away if both its threads were stopped and started
    assert!(!script.told.iter().any(|told| told.contains("3: ST")), "{:?}", script.told);
    let errant = ["1", "13", "1", "1", "0-11-39", "0-11-39,0-13-70", "13"];
    let mut script = gone().says(FAR, ITSELF, &errant);
    assert_eq!(refused(&mut script), more);
    // without more it is left behind
    let mut script = gone().says(FAR, ITSELF, &errant).says(
        FAR,
        "SHOW",
        &Source { received: "0-11-41", ..LOST }.row(),
    );
    assert_eq!(run(&mut script), Ok(done(NEAR, &[FAR])));
    let why = "it has transactions of its own: 0-13-70".to_owned();
    assert!(script.steps.iter().any(|step| step.outcome == Err(why.clone())));
    // neither can
    let mut script = gone().says(FAR, held_up, &["-1"]).says(NEAR, held_up, &["-1"]);
    assert_eq!(refused(&mut script), "no replica has applied what it has in time");
}

#[test]
fn after_one_that_may_be_open_no_other_one_is_opened() {
    let mut script = gone().fails(FAR, "SET GLOBAL read_only=0");
    assert_eq!(refused(&mut script), "db:3: SET GLOBAL read_only=0: 1205 it takes too long");
    let told = script.told.iter().position(|told| told == "3: SET GLOBAL read_only=1");
    let again = script.told.iter().position(|told| told == "3: START SLAVE");
    assert!(told < again, "it goes on as a replica: {:?}", script.told);
    let mut script = gone().fails(FAR, "SET GLOBAL read_only");
    let failed = run(&mut script).expect_err("nobody");
    assert_eq!(failed.may_be_open, Some(at(FAR)));
    assert_eq!(script.deposed, [PRIMARY], "it is not used besides");
}

#[test]
fn a_replica_that_does_not_receive_from_the_new_one_is_astray() {
    let mut script = gone();
    script.refused = "1236";
    assert_eq!(run(&mut script), Ok(done(FAR, &[NEAR])));
    let step = script.steps.last().expect("told");
    assert_eq!(
        (step.what.as_str(), &step.outcome),
        ("receive from db:3", &Err("why (1236)".into()))
    );
}

#[test]
fn nobody_waits_for_others_where_one_has_applied_all() {
    let mut script = gone().says(NEAR, ITSELF, &itself("12", "0-11-43")).says(
        FAR,
        "SELECT MASTER_GTID_WAIT",
        &["-1"],
    );
    assert_eq!(new(&mut script), at(NEAR));
    assert!(!script.told.iter().any(|told| told.contains("WAIT")), "{:?}", script.told);
}

/// Two replicas that have the same, the first of them not to be taken.
#[test]
fn of_two_that_have_the_same_the_better_one_is_opened() {
    let same = || {
        let both = gone().says(FAR, "SHOW", &LOST.row());
        both.says(FAR, ITSELF, &itself("13", "0-11-42")).says(
            NEAR,
            ITSELF,
            &itself("12", "0-11-42"),
        )
    };
    assert_eq!(new(&mut same()), at(FAR));
    let delayed = Source { delay: "3600", ..LOST };
    let mut script = same().says(FAR, "SHOW", &delayed.row());
    assert_eq!(new(&mut script), at(NEAR));
    let mut script = same();
    let left_out = [(at(FAR), "SLOW".to_owned())].into();
    let slow = Order { left_out, ..order() };
    let done = script.with(|servers, clients| fail_over(&slow, servers, clients));
    assert_eq!(done.map(|done| done.new), Ok(at(NEAR)));
    // what is written there would reach nobody
    let mut script = same().says(FAR, LOG, &["", "biz"]);
    assert_eq!(new(&mut script), at(NEAR));
    let why = Err("it leaves out some of what it logs (Binlog_Ignore_DB)".to_owned());
    assert!(script.steps.iter().any(|step| step.outcome == why), "{:?}", script.steps);
    let mut script = same().fails(FAR, LOG);
    assert_eq!(new(&mut script), at(NEAR));
}

#[test]
fn a_reader_of_another_server_goes_on_with_that() {
    let other = Source { id: "12", port: "2", ..Source::default() };
    let mut script = gone().says(OTHER, "SHOW", &other.row());
    assert_eq!(of_three(&mut script), Ok(done(FAR, &[])));
    assert_eq!(script.deposed, [PRIMARY]);
}
