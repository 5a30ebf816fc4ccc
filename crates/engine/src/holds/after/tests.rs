//! Which reasons are left after each effect and each end, and what becomes of lanes.

use super::*;
use crate::holds::of_text;

const ENDINGS: [How; 4] = [How::Done, How::Prepared, How::Refused, How::Failed];

/// Of a text with that effect, in autocommit, outside a transaction.
fn ended(how: How, effects: Effects) -> Ended {
    let facts = sql::Facts { effects, ..sql::Facts::default() };
    Ended {
        how,
        effects,
        gives: of_text(&facts),
        over: Holds::NONE,
        standing: Holds::NONE,
        several: false,
        warned: how == How::Failed,
        hidden: false,
        in_transaction: false,
        autocommit: true,
        only_schema: false,
        locks: false,
    }
}

#[test]
fn a_statement_that_fails_may_have_opened_a_transaction_and_a_use_has_not() {
    for how in [How::Refused, How::Failed] {
        let read = Ended { autocommit: false, ..ended(how, Effects::NONE) };
        assert!(after(Holds::NONE, &read).intersects(Holds::TRANSACTION), "{how:?}");
        let schema = Ended { only_schema: true, ..read };
        assert!(!after(Holds::NONE, &schema).intersects(Holds::TRANSACTION), "{how:?}");
        assert!(after(Holds::TRANSACTION, &schema).intersects(Holds::TRANSACTION), "{how:?}");
    }
}

/// Every effect by itself, and none.
fn effects() -> impl Iterator<Item = Effects> {
    let names = Effects::all().map(|(_, effect)| effect);
    names.chain([Effects::NONE])
}

#[test]
fn what_may_have_been_done_is_kept_for_however_it_ended() {
    for effect in effects() {
        for how in ENDINGS {
            let ended = ended(how, effect);
            let why = after(Holds::NONE, &ended);
            let missing = ended.gives.without(why);
            let excused = match how {
                How::Refused => Holds::SET.union(Holds::NOT_UNDERSTOOD),
                How::Done | How::Prepared | How::Failed => Holds::NONE,
            };
            assert!(missing.without(excused).is_empty(), "{effect:?} {how:?}: {why:?}");
        }
    }
}

#[test]
fn no_command_takes_away_what_is_not_known_to_have_ended() {
    let told = Holds::TRANSACTION
        .union(Holds::NEXT_TRANSACTION)
        .union(Holds::CHARACTERISTICS)
        .union(Holds::WARNINGS);
    for effect in effects() {
        for (how, (hold, name)) in
            ENDINGS.iter().flat_map(|how| Holds::all().map(move |hold| (*how, hold)))
        {
            let why = after(hold, &ended(how, effect));
            let ends = match how {
                How::Done => Holds::STANDING.union(told).union(Holds::UNTOLD_TRANSACTION),
                _ => Holds::STANDING.union(Holds::WARNINGS).union(Holds::UNTOLD_TRANSACTION),
            };
            assert!(why.intersects(hold) || ends.intersects(hold), "{name} {effect:?} {how:?}");
            let over = Ended { over: hold, ..ended(how, effect) };
            assert!(!after(hold, &over).intersects(hold), "{name} {effect:?} {how:?}");
        }
    }
}

#[test]
fn a_transaction_lasts_until_the_server_or_the_text_ends_it() {
    const OPEN: Holds = Holds::TRANSACTION;
    const UNTOLD: Holds = Holds::TRANSACTION.union(Holds::UNTOLD_TRANSACTION);
    let (none, end) = (Effects::NONE, Effects::TRANSACTION_END);
    let (savepoint, begin) = (Effects::SAVEPOINT, Effects::TRANSACTION_START);
    // before, effects, how, autocommit, the server's flag: after
    let table = [
        (Holds::NONE, begin, How::Done, true, true, OPEN),
        (Holds::NONE, begin, How::Failed, true, false, OPEN),
        (OPEN, none, How::Failed, true, false, OPEN),
        (OPEN, none, How::Prepared, true, false, OPEN),
        (OPEN, end, How::Done, true, false, Holds::NONE),
        (OPEN, end, How::Failed, true, false, OPEN),
        (Holds::NONE, none, How::Failed, false, false, OPEN),
        (Holds::NONE, none, How::Prepared, false, false, Holds::NONE),
        (Holds::NONE, savepoint, How::Done, true, false, Holds::NONE),
        (Holds::NONE, savepoint, How::Done, false, false, UNTOLD),
        (UNTOLD, none, How::Done, false, false, UNTOLD),
        (UNTOLD, none, How::Done, false, true, OPEN),
        (UNTOLD, none, How::Failed, false, false, UNTOLD),
        (UNTOLD, end, How::Failed, false, false, UNTOLD),
        (UNTOLD, end, How::Done, false, false, Holds::NONE),
        (UNTOLD, end | savepoint, How::Done, false, false, UNTOLD),
        (UNTOLD, Effects::IMPLICIT_COMMIT, How::Done, false, false, Holds::NONE),
        (UNTOLD, none, How::Done, true, false, Holds::NONE),
    ];
    for (before, effects, how, autocommit, in_transaction, expected) in table {
        let ended = Ended { autocommit, in_transaction, warned: false, ..ended(how, effects) };
        assert_eq!(after(before, &ended), expected, "{before:?} {ended:?}");
    }
}

#[test]
fn what_is_said_of_the_next_transaction_waits_for_one_that_begins() {
    const NEXT: Holds = Holds::NEXT_TRANSACTION;
    const PRESUMED: Holds = NEXT.union(Holds::TRANSACTION);
    const TAKEN: Holds = Holds::TRANSACTION.union(Holds::CHARACTERISTICS);
    let (none, end, begin) = (Effects::NONE, Effects::TRANSACTION_END, Effects::TRANSACTION_START);
    // before, effects, how, autocommit, the server's flag: after
    let table = [
        (NEXT, none, How::Failed, false, false, PRESUMED),
        (NEXT, begin, How::Failed, true, false, PRESUMED),
        (PRESUMED, none, How::Done, false, false, NEXT),
        (PRESUMED, none, How::Done, true, false, NEXT),
        (PRESUMED, Effects::IMPLICIT_COMMIT, How::Done, false, false, NEXT),
        (PRESUMED, end, How::Failed, false, false, PRESUMED),
        (PRESUMED, end, How::Done, false, false, Holds::NONE),
        (NEXT, none, How::Done, true, false, NEXT),
        (NEXT, none, How::Done, false, true, TAKEN),
        (NEXT, begin, How::Done, true, true, TAKEN),
        // it has ended by `SET autocommit`, or a deadlock before
        (TAKEN, none, How::Done, true, false, NEXT),
        (TAKEN, none, How::Failed, true, false, TAKEN),
        (TAKEN, none, How::Done, true, true, TAKEN),
        (TAKEN, end, How::Done, true, false, Holds::NONE),
        (TAKEN, end, How::Failed, true, false, TAKEN),
        (TAKEN, end | begin, How::Done, true, true, TAKEN),
        // another statement may have come behind it
        (TAKEN, end | Effects::MULTI_STATEMENT, How::Done, true, false, NEXT),
    ];
    for (before, effects, how, autocommit, in_transaction, expected) in table {
        let ended = Ended { autocommit, in_transaction, warned: false, ..ended(how, effects) };
        assert_eq!(after(before, &ended), expected, "{before:?} {ended:?}");
    }
}

#[test]
fn what_a_server_locks_without_a_flag_lasts_until_the_transaction_ends() {
    const UNTOLD: Holds = Holds::TRANSACTION.union(Holds::UNTOLD_TRANSACTION);
    let (none, end) = (Effects::NONE, Effects::TRANSACTION_END);
    for (before, effects, locks, in_transaction, expected) in [
        (Holds::NONE, none, true, false, UNTOLD),
        (Holds::NONE, none, false, false, Holds::NONE),
        (Holds::NONE, none, true, true, Holds::TRANSACTION),
        (UNTOLD, none, false, false, UNTOLD),
        (UNTOLD, end, false, false, Holds::NONE),
        (UNTOLD, Effects::IMPLICIT_COMMIT, true, false, Holds::NONE),
    ] {
        let ended = Ended { autocommit: false, locks, in_transaction, ..ended(How::Done, effects) };
        assert_eq!(after(before, &ended), expected, "{before:?} {ended:?}");
    }
}

#[test]
fn several_results_of_what_looked_like_one_statement_are_not_understood() {
    for (effects, expected) in [
        (Effects::NONE, Holds::NOT_UNDERSTOOD),
        (Effects::MULTI_STATEMENT, Holds::NONE),
        (Effects::CALLS_PROCEDURE, Holds::PROCEDURE),
    ] {
        let ended = Ended { several: true, ..ended(How::Done, effects) };
        assert_eq!(after(Holds::NONE, &ended), expected, "{effects:?}");
    }
}

#[test]
fn a_lane_is_any_sessions_only_if_nothing_is_left_on_it() {
    let left =
        Left { why: Holds::NONE, for_good: true, quiet: true, several: false, unsure: false };
    for (left, expected) in [
        (left, Fate::Free),
        (Left { unsure: true, ..left }, Fate::Reset),
        (Left { quiet: false, ..left }, Fate::Closed),
        (Left { why: Holds::WARNINGS, ..left }, Fate::Free),
        (Left { why: Holds::TEMPORARY_TABLE, ..left }, Fate::Reset),
        (Left { why: Holds::TEMPORARY_TABLE, quiet: false, ..left }, Fate::Closed),
        (Left { why: Holds::LOCK_TABLES, ..left }, Fate::Closed),
        (Left { why: Holds::STATE_CHANGE, ..left }, Fate::Reset),
        (Left { why: Holds::STATE_CHANGE, several: true, ..left }, Fate::Closed),
        (Left { why: Holds::LOCK_TABLES, for_good: false, ..left }, Fate::Kept),
        (Left { why: Holds::WARNINGS, for_good: false, ..left }, Fate::Kept),
        (Left { for_good: false, unsure: true, ..left }, Fate::Reset),
    ] {
        assert_eq!(fate(&left), expected, "{left:?}");
    }
}
