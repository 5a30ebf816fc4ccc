//! Programs before and after an order: when they run, what they are told, and what stops for them.

use crate::script::{FAR, NEAR, PRIMARY, Script, Source, at, hooks, order};
use failover::{Failed, Order, fail_over, switch_over};
use keeper::Endpoint;

const TOLD: &str = "word TIDEGATE_WRITER_HOSTGROUP=10";

fn switched(script: &mut Script, order: Order) -> Result<Endpoint, String> {
    let order = Order { hooks: hooks(), ..order };
    script.with(|servers, clients| switch_over(&order, servers, clients)).map(|done| done.new)
}

fn failed_over(script: &mut Script) -> Result<Endpoint, Failed> {
    let order = Order { hooks: hooks(), ..order() };
    script.with(|servers, clients| fail_over(&order, servers, clients)).map(|done| done.new)
}

/// Replicas of a primary that is gone.
fn gone() -> Script {
    let lost = Source { receives: "Connecting", error: "2003", ..Source::default() }.row();
    Script::default().says(NEAR, "SHOW", &lost).says(FAR, "SHOW", &lost)
}

/// Programs that were run, and how much servers were told between them.
fn programs(script: &Script) -> Vec<&str> {
    let told = script.told.iter().map(String::as_str);
    told.filter(|told| told.contains("TIDEGATE_")).collect()
}

fn changes(script: &Script) -> usize {
    let is_change =
        |told: &&String| ["SLAVE", "GLOBAL read_only="].iter().any(|it| told.contains(it));
    script.told.iter().filter(is_change).count()
}

#[test]
fn programs_run_around_a_switchover_and_are_told_who_changes_places() {
    let mut script = Script::default();
    assert_eq!(switched(&mut script, order()), Ok(at(NEAR)));
    let who = "TIDEGATE_OLD_PRIMARY=db:1 TIDEGATE_NEW_PRIMARY=db:2";
    assert_eq!(
        programs(&script),
        [
            format!("/before {TOLD} TIDEGATE_OPERATION=switchover {who}"),
            format!("/after {TOLD} TIDEGATE_OPERATION=switchover {who} TIDEGATE_OUTCOME=done"),
        ]
    );
    let first = script.told.iter().position(|told| told.starts_with("/before"));
    let locks = script.told.iter().take(first.expect("it ran"));
    assert!(locks.clone().count() == 2 && locks.clone().all(|it| it.contains("GET_LOCK")));
    assert!(script.told.last().is_some_and(|told| told.starts_with("/after")));
    let steps = |what: &str| script.steps.iter().filter(|it| it.what == what).count();
    assert_eq!((steps("before_program"), steps("after_program")), (1, 1));
    assert!(!script.held);
}

#[test]
fn a_program_before_that_fails_stops_everything_and_the_one_after_is_told() {
    let mut script = Script::default();
    script.fails = "/before";
    let why = "before_program: exit status: 1: no";
    assert_eq!(switched(&mut script, order()), Err(why.to_owned()));
    assert_eq!(changes(&script), 0, "{:?}", script.told);
    assert!(programs(&script)[1].ends_with("TIDEGATE_NEW_PRIMARY=db:2 TIDEGATE_OUTCOME=failed"));

    let mut script = gone();
    script.fails = "/before";
    let failed = failed_over(&mut script).expect_err("nobody is opened");
    assert_eq!((failed.why.as_str(), failed.may_be_open), (why, None));
    assert_eq!((changes(&script), script.deposed.len()), (0, 0), "{:?}", script.told);
    assert!(programs(&script)[1].ends_with("TIDEGATE_NEW_PRIMARY= TIDEGATE_OUTCOME=failed"));
}

#[test]
fn a_program_after_runs_whatever_came_of_it_and_its_own_failure_changes_nothing() {
    let mut script = Script::default().fails(NEAR, "SET GLOBAL read_only=0");
    assert!(switched(&mut script, order()).is_err());
    assert!(programs(&script)[1].ends_with("TIDEGATE_OUTCOME=failed"));
    let mut script = Script::default();
    script.fails = "/after";
    assert_eq!(switched(&mut script, order()), Ok(at(NEAR)));
    let told = script.steps.iter().find(|it| it.what == "after_program").expect("told");
    assert_eq!(told.outcome, Err("exit status: 1: no".to_owned()));
}

#[test]
fn who_is_no_primary_after_the_program_is_not_switched_over() {
    let closed = vec!["1", "11", "1", "1"];
    let mut script = Script::default();
    script.meanwhile = Some((PRIMARY, "SELECT @@global.read_only", closed));
    let why = "db:1 refuses writes itself: it is no primary";
    assert_eq!(switched(&mut script, order()), Err(why.to_owned()));
    assert_eq!(changes(&script), 0);

    let mut script = gone();
    script.comes_back = true;
    let failed = failed_over(&mut script).expect_err("the primary is there");
    assert_eq!(failed.why, "db:1 answers");
    assert_eq!((changes(&script), script.deposed.len()), (0, 0));
    assert!(programs(&script)[1].ends_with("TIDEGATE_OUTCOME=failed"));
}

#[test]
fn programs_around_a_failover_learn_the_new_primary_in_the_end() {
    let mut script = gone();
    let new = failed_over(&mut script).expect("one is opened");
    let told = "TIDEGATE_OPERATION=failover TIDEGATE_OLD_PRIMARY=db:1 TIDEGATE_NEW_PRIMARY";
    assert_eq!(
        programs(&script),
        [
            format!("/before {TOLD} {told}="),
            format!("/after {TOLD} {told}={new} TIDEGATE_OUTCOME=done"),
        ]
    );
    assert!(script.told[0].starts_with("/before"), "{:?}", script.told);
}

#[test]
fn nothing_runs_where_nothing_can_be_done() {
    let mut script = Script::default();
    assert_eq!(switched(&mut script, Order { dry: true, ..order() }), Ok(at(NEAR)));
    assert_eq!(script.told.len(), 0);
    let mut script = Script::default().fails(FAR, "SELECT VERSION").fails(NEAR, "SELECT VERSION");
    assert!(switched(&mut script, order()).is_err());
    assert_eq!(programs(&script).len(), 0);
    let mut script = gone();
    script.greets = true;
    assert!(failed_over(&mut script).is_err());
    assert_eq!(programs(&script).len(), 0);
}
