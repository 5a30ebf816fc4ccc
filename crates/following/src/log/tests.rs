//! What a stream tells of a log, and when it has passed a pulse.

use super::*;
use crate::group::tests::{basis, group};

const T: u64 = 7;

fn at(offset: u64) -> Position {
    Position { file: b"b.000001".to_vec(), offset }
}

/// A stream that tells one hostgroup, which stands.
fn state() -> (FollowedLog, Arc<FollowedGroup>) {
    let group = group();
    group.followed.stand([7].into_iter());
    let mut cascades = Cascades::default();
    cascades.add(key("parent"), key("child"));
    cascades.close();
    let told = [(3, group.clone())].into();
    (FollowedLog { told, cascades, ..FollowedLog::default() }, group)
}

fn key(table: &str) -> u64 {
    table_key(b"s", table.as_bytes())
}

fn change(state: &mut FollowedLog, offset: u64, change: LogChange<'_>) {
    let gtid = Gtid::MariaDb { domain: 0, server: 1, number: offset };
    let at = at(offset);
    let noted = Noted { at: &at, gtid: Some(&gtid), change };
    assert!(state.note(noted, Micros(0), Micros(1)));
}

fn rows(table: &str) -> LogChange<'_> {
    LogChange::Table { schema: b"s", table: table.as_bytes() }
}

#[test]
fn a_change_is_told_when_it_comes_and_again_when_it_is_visible() {
    let (mut state, group) = state();
    let before = basis(&group, key("t")).expect("it stands");
    let other = basis(&group, T).expect("it stands");
    change(&mut state, 10, rows("t"));
    assert!(!before.is_current());
    // one that was fetched before the rows were visible
    let meanwhile = basis(&group, key("t")).expect("it stands");
    let numbers = state.unseen.numbers();
    assert!(
        !state.note_visible(&Visible::UpTo(at(9)), numbers, Micros(1)) && meanwhile.is_current()
    );
    assert!(
        state.note_visible(&Visible::UpTo(at(10)), numbers, Micros(1)) && !meanwhile.is_current()
    );
    assert!(other.is_current());
}

#[test]
fn a_change_of_a_parent_is_one_of_its_children() {
    let (mut state, group) = state();
    let child = basis(&group, key("child")).expect("it stands");
    change(&mut state, 10, rows("parent"));
    assert!(!child.is_current());
    let child = basis(&group, key("child")).expect("it stands");
    assert!(state.note_visible(&Visible::UpTo(at(10)), 1, Micros(1)) && !child.is_current());
}

#[test]
fn a_definition_lets_the_hostgroup_fall_and_a_statement_only_ends_answers() {
    let (mut state, group) = state();
    let kept = basis(&group, T).expect("it stands");
    change(&mut state, 10, LogChange::All(Why::Statement));
    assert!(!kept.is_current() && group.followed.stands() && !state.is_stale());
    change(&mut state, 20, LogChange::All(Why::Definition));
    assert!(!group.followed.stands() && state.is_stale());
    assert!(!state.unseen.are_seen(state.defined), "keys are read when it is visible");
    assert!(state.note_visible(&Visible::UpTo(at(20)), 2, Micros(1)));
    assert!(state.unseen.are_seen(state.defined));
}

/// A pulse that waits for what a writer has.
fn awaited(has: &str) -> Awaited {
    let (since, has) = (Micros(1), GtidSet::parse(has));
    Awaited { hostgroup: 3, pulse: 1, since, has, is_asked: true, end: None }
}

fn stand(end: u64, has: &str) -> LogStand {
    LogStand { end: at(end), has: GtidSet::parse(has) }
}

#[test]
fn a_pulse_is_passed_when_all_in_front_of_its_end_was_read_and_is_visible() {
    let (mut state, _) = state();
    state.awaited.push(awaited("0-1-9"));
    assert!(!state.note_stand(&stand(30, "0-1-8")), "the server does not have it");
    assert!(state.note_stand(&stand(40, "0-1-9")));
    let passes = |state: &mut FollowedLog| {
        state.settle(Micros(1));
        state.awaited.is_empty()
    };
    state.position = at(39);
    assert!(!passes(&mut state), "it was not read");
    change(&mut state, 40, rows("t"));
    change(&mut state, 50, rows("t"));
    state.position = at(50);
    assert!(!passes(&mut state), "it is not visible");
    assert!(state.note_visible(&Visible::UpTo(at(40)), 2, Micros(1)));
    assert!(passes(&mut state));
}

#[test]
fn an_answer_to_a_question_from_before_a_pulse_says_nothing_of_it() {
    let (mut state, _) = state();
    state.awaited.push(Awaited { is_asked: false, ..awaited("") });
    assert!(!state.note_stand(&stand(40, "0-1-9")));
    state.awaited[0].is_asked = true;
    assert!(state.note_stand(&stand(40, "0-1-9")), "of its own server");
}
