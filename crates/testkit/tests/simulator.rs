//! The simulator over many seeds, and over planted bugs, which it has to find.
//!
//! `TIDEGATE_SIM_SEEDS` says over how many seeds, `TIDEGATE_SIM_FROM` where to begin.

use testkit::coverage::{SEEDS_ENOUGH, Tally};
use testkit::planted::Planted;
use testkit::sim::{RunFailure, Simulator, Weather, run_seeds};

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn sim_keeps_its_promises_whatever_the_seed() {
    let (from, count) = (number("TIDEGATE_SIM_FROM", 0), number("TIDEGATE_SIM_SEEDS", 1000));
    let failures = std::sync::Mutex::new(Vec::new());
    let tally = std::sync::Mutex::new(Tally::default());
    run_seeds(from..from + count, |result| match result {
        Ok(report) => tally.lock().unwrap().add(&report),
        Err(failure) => failures.lock().unwrap().push(failure),
    });
    let tally = tally.into_inner().unwrap();
    println!("{tally:#?}");
    let mut failures = failures.into_inner().unwrap();
    failures.sort_by_key(|failure| failure.seed);
    for failure in failures.iter().take(40) {
        println!("FAILED {failure}");
    }
    assert!(failures.is_empty(), "{} of {count} seeds failed", failures.len());
    // what never happened was never tried
    let missing = tally.missing();
    assert!(count < SEEDS_ENOUGH || missing.is_empty(), "never happened: {missing:?}");
}

/// The first seed that shows a planted bug.
fn found(bug: Planted) -> Option<RunFailure> {
    found_as(bug, "")
}

/// The first seed whose failure says that.
fn found_as(bug: Planted, says: &str) -> Option<RunFailure> {
    let simulator = Simulator::new();
    let mut failures = (0..3000).filter_map(|seed| simulator.run(seed, Some(bug)).err());
    failures.find(|failure| failure.what.contains(says))
}

#[test]
fn sim_finds_a_reply_given_to_the_wrong_session() {
    let failure = found(Planted::WrongOwner).expect("within 1,000 seeds");
    println!("{failure}");
    // and once by the very bytes that another session was to get
    let failure = found_as(Planted::WrongOwner, "got \"").expect("within 3,000 seeds");
    println!("{failure}");
}

#[test]
fn sim_finds_a_reply_given_to_the_wrong_session_where_lanes_are_shared() {
    let simulator = Simulator::new();
    for bug in [Planted::WrongOwner, Planted::WrongOrder] {
        let crowded = (0..1000).filter(|seed| Weather::of(*seed).habits.crowd);
        let mut failures = crowded.filter_map(|seed| simulator.run(seed, Some(bug)).err());
        println!("{bug:?}: {}", failures.next().expect("within 1,000 seeds"));
    }
    let failure = found_as(Planted::WrongOrder, "got \"").expect("within 3,000 seeds");
    println!("{failure}");
}

#[test]
fn sim_finds_a_permit_that_is_not_given_back() {
    let failure = found(Planted::LostPermit).expect("within 1,000 seeds");
    assert!(failure.what.contains("permits"), "{failure}");
}

#[test]
fn sim_finds_a_command_that_is_served_twice() {
    println!("{}", found(Planted::CommandTwice).expect("within 1,000 seeds"));
}

#[test]
fn sim_finds_bytes_that_get_lost() {
    println!("{}", found(Planted::LostBytes).expect("within 1,000 seeds"));
}

#[test]
fn sim_finds_a_statement_taken_for_another() {
    let failure = found_as(Planted::WrongStatement, "by mistake").expect("within 3,000 seeds");
    println!("{failure}");
}

#[test]
fn sim_finds_state_that_is_not_replayed() {
    // what a client set, and what its statements were prepared with
    for says in [" found settings ", " found collation ", " by mistake: "] {
        let failure = found_as(Planted::StateNotReplayed, says).expect("within 3,000 seeds");
        println!("{failure}");
    }
}

#[test]
fn sim_finds_what_another_session_left_on_a_connection() {
    let table = [
        (Planted::StateNotReplayed, " found settings @"),
        (Planted::InsertIdNotBrought, " found insert id "),
        (Planted::CountsOfOthers, " found counts "),
        (Planted::ResetNotDone, " meets session state of "),
    ];
    for (bug, says) in table {
        println!("{bug:?}: {}", found_as(bug, says).expect("within 3,000 seeds"));
    }
}

#[test]
fn sim_finds_a_change_that_the_server_does_not_tell() {
    let failure = found_as(Planted::ChangeNotTold, " found pin ").expect("within 3,000 seeds");
    println!("{failure}");
}

#[test]
fn sim_finds_a_change_that_is_not_told_where_rows_end() {
    let failure = found_as(Planted::ChangeInRowsNotTold, " found pin ");
    println!("{}", failure.expect("within 1,000 seeds"));
}

#[test]
fn sim_finds_parameter_types_that_are_not_sent() {
    for bug in [Planted::TypesNotAdded, Planted::TypesReliedOn] {
        let failure = found_as(bug, "of types that it was never told");
        println!("{bug:?}: {}", failure.expect("within 1,000 seeds"));
    }
}

#[test]
fn sim_finds_what_goes_wrong_where_workers_give_each_other_connections() {
    println!("{}", found(Planted::LanesMixedUp).expect("within 1,000 seeds"));
    let failure = found_as(Planted::PermitLostOnTheWay, "permits");
    println!("{}", failure.expect("within 1,000 seeds"));
}

#[test]
fn sim_finds_an_answer_that_is_given_twice() {
    println!("{}", found(Planted::AnsweredTwice).expect("within 1,000 seeds"));
}

#[test]
fn sim_finds_the_end_of_a_connection_that_nobody_notices() {
    println!("{}", found(Planted::EndUnnoticed).expect("within 1,000 seeds"));
}

#[test]
fn sim_finds_warnings_that_are_mixed_up_or_forgotten() {
    for bug in [Planted::WarningsMixedUp, Planted::WarningsForgotten] {
        println!("{bug:?}: {}", found_as(bug, "got \"").expect("within 3,000 seeds"));
    }
}

#[test]
fn sim_finds_writes_at_a_server_that_refuses_them() {
    let simulator = Simulator::new();
    let wandering = (0..20_000).filter(|seed| Weather::of(*seed).habits.wander);
    let failures =
        wandering.filter_map(|seed| simulator.run(seed, Some(Planted::MoveUnnoticed)).err());
    let mut found = failures.filter(|failure| failure.what.contains("not a writable one"));
    println!("{}", found.next().expect("within 20,000 seeds"));
}

#[test]
fn sim_finds_answers_that_are_told_behind_a_change_of_what_they_read() {
    let simulator = Simulator::new();
    let bugs =
        [Planted::ToldOnce, Planted::BreakUnnoticed, Planted::OneTableOnly, Planted::PassedEarly];
    for bug in bugs {
        let follows = (0..3000).filter(|seed| Weather::of(*seed).habits.follows);
        let mut failures = follows.filter_map(|seed| simulator.run(seed, Some(bug)).err());
        println!("{bug:?}: {}", failures.next().expect("within 3,000 seeds"));
    }
}

#[test]
fn sim_finds_logs_that_are_read_from_behind_what_is_not_visible_yet() {
    let simulator = Simulator::new();
    // where streams begin anew often, and rows come into sight late
    let is_meant = |seed: &u64| {
        let following = Weather::of(*seed).shares.and_then(|shares| shares.following);
        following.is_some_and(|it| it.cuts >= 100 && it.delays.hidden_us >= 60_000)
    };
    let mut failures = (0..400_000)
        .filter(is_meant)
        .filter_map(|seed| simulator.run(seed, Some(Planted::BegunAtTheEnd)).err());
    println!("{}", failures.next().expect("within 400,000 seeds"));
}

#[test]
fn sim_repeats_a_seed_exactly() {
    let simulator = Simulator::new();
    let follows = |seed: &u64| Weather::of(*seed).habits.follows;
    let few = (0..200).filter(follows).take(5);
    for seed in [3, 17, 58].into_iter().chain(few) {
        let story = || format!("{:?}", simulator.run(seed, None));
        assert_eq!(story(), story(), "seed {seed} tells two stories");
    }
}
