//! Every way that six reports of three servers can follow each other where one writer is wanted.

use engine::clusters::{Check, Clusters, Pair};
use engine::hostgroups::SeveralWriters;
use engine::rows::ServerRow;
use engine::topology::Stand;
use keeper::{Endpoint, Failure, GtidAnswer, Keeper, Limits, Report, Seen, Wanted};

use super::{SERVERS, explore, shown};

/// What can be reported of a server.
#[derive(Clone, Copy, Debug)]
enum Letter {
    ReadOnly(bool),
    Pinged,
    Missed,
    Has(usize),
}

/// What a server can have: the second and the third are each more than the first.
const SETS: [&str; 3] = ["x:1-5", "x:1-6", "x:1-5,y:1"];

const ALPHABET: [Letter; 7] = [
    Letter::ReadOnly(false),
    Letter::ReadOnly(true),
    Letter::Pinged,
    Letter::Missed,
    Letter::Has(0),
    Letter::Has(1),
    Letter::Has(2),
];

/// What a server said last.
#[derive(Clone, Copy, Default, Debug)]
struct Last {
    read_only: Option<bool>,
    silent: bool,
    /// It has not said since whether it takes writes.
    old: bool,
    has: Option<usize>,
}

impl Last {
    fn claims(&self) -> bool {
        self.read_only == Some(false) && !self.silent && !self.old
    }

    /// Whether it has all that another one has; `None` where that is not known.
    fn covers(&self, other: &Self) -> Option<bool> {
        let (own, other) = (self.has?, other.has?);
        Some(own == other || other == 0)
    }
}

type State = (Keeper, [Last; 3]);

fn begin(policy: SeveralWriters) -> State {
    let row = |(hostgroup_id, hostname): (i64, &str)| ServerRow {
        hostgroup_id,
        hostname: hostname.to_owned(),
        ..ServerRow::default()
    };
    let pair = Pair { writer: 10, reader: 20, check: Check::ReadOnly };
    let wanted = Wanted {
        servers: [(10, "a"), (20, "b"), (20, "c")].map(row).to_vec(),
        clusters: Clusters { pairs: vec![pair], ..Clusters::default() },
        limits: Limits { ping_failures: 1, ..Limits::default() },
        several_writers: [(10, policy)].into(),
        ..Wanted::default()
    };
    let mut keeper = Keeper::default();
    keeper.adopt(wanted, 0);
    (keeper, Default::default())
}

fn after((keeper, last): &State, at: usize, letter: Letter) -> State {
    let (mut keeper, mut last) = (keeper.clone(), *last);
    let seen = match letter {
        Letter::ReadOnly(is) => {
            (last[at].read_only, last[at].old) = (Some(is), false);
            Seen::ReadOnly(Check::ReadOnly, Ok(is))
        }
        Letter::Pinged => {
            last[at].silent = false;
            // it lives, and no latency makes states differ
            Seen::Ping(Err(Failure::Error(1045)))
        }
        Letter::Missed => {
            last[at].old |= !last[at].silent;
            last[at].silent = true;
            Seen::Ping(Err(Failure::NoAnswer))
        }
        // none has less than before
        Letter::Has(set) if last[at].has.is_some_and(|has| has != 0 && has != set) => {
            return (keeper, last);
        }
        Letter::Has(set) => {
            last[at].has = Some(set);
            Seen::Gtids(Ok(GtidAnswer { gtids: SETS[set].to_owned(), asked_us: 1 }))
        }
    };
    let before = shown(&keeper);
    let server = Endpoint { hostname: SERVERS[at].to_owned(), port: 3306 };
    let events = keeper.hear(&Report { at_us: 1, server, seen });
    assert!(before == shown(&keeper) || !events.is_empty(), "what changes is told");
    (keeper, last)
}

/// One writer at most, and one where there can be one.
fn check(
    policy: SeveralWriters,
    (keeper, last): &State,
    (was_known, before): (bool, &[(i64, String, Stand)]),
) {
    if last.iter().any(|last| last.read_only.is_none()) {
        return;
    }
    let decided = shown(keeper);
    let writes = |decided: &[(i64, String, Stand)], at: usize| {
        let mut decided = decided.iter();
        decided.any(|it| (it.0, it.1.as_str(), it.2) == (10, SERVERS[at], Stand::Well))
    };
    let writers: Vec<_> = (0..3).filter(|at| writes(&decided, *at)).collect();
    let claims: Vec<_> = (0..3).filter(|at| last[*at].claims()).collect();
    let told = format!("{last:?}: {decided:?}");
    let may_write = |at: &usize| claims.contains(at) || last[*at].old && claims.is_empty();
    assert!(writers.iter().all(may_write), "only what says so is written to: {told}");
    match claims[..] {
        [] => {}
        [only] => assert_eq!(writers, [only], "{told}"),
        _ if policy == SeveralWriters::None => assert_eq!(writers, [0; 0], "{told}"),
        _ => {
            assert!(writers.len() <= 1, "{told}");
            let covers = |one: usize, other: usize| last[one].covers(&last[other]);
            let others = |one: usize| claims.iter().filter(move |other| **other != one);
            let is_ahead = |one: &&usize| {
                others(**one)
                    .all(|it| covers(**one, *it) == Some(true) && covers(*it, **one) == Some(false))
            };
            let newest = claims.iter().find(is_ahead);
            let was = claims.iter().find(|at| writes(before, **at));
            match (newest, was) {
                (Some(newest), _) => assert_eq!(writers, [*newest], "{told}"),
                (None, Some(was)) if was_known => assert_eq!(writers, [*was], "it stays: {told}"),
                // one that is typed and was not heard is written to until it says what it is
                (None, Some(was)) if writers == [*was] => {}
                (None, _) => {
                    let leads =
                        |one: &&usize| others(**one).all(|it| covers(**one, *it) == Some(true));
                    let has_leader = claims.iter().any(|one| leads(&one));
                    assert!(writers.is_empty() || has_leader, "by chance: {told}");
                }
            }
        }
    }
}

#[test]
fn of_several_that_say_they_take_writes_one_is_written_to_at_most() {
    for policy in [SeveralWriters::NewestGtid, SeveralWriters::None] {
        let next = |state: &State| -> Vec<State> {
            // the third one is always there, and never says what it has
            let letters = |at: usize| ALPHABET.iter().take(if at < 2 { ALPHABET.len() } else { 2 });
            let steps = (0..3).flat_map(|at| letters(at).map(move |letter| (at, *letter)));
            let step = |(at, letter)| {
                let next = after(state, at, letter);
                let was_known = state.1.iter().all(|last| last.read_only.is_some());
                check(policy, &next, (was_known, &shown(&state.0)));
                next
            };
            steps.map(step).collect()
        };
        let states = explore(begin(policy), |state| &state.0, next);
        assert!(states > 20_000, "{states} states");
    }
}
