//! Every way that six reports about three servers can follow each other, and what must hold then.

mod contests;

use std::collections::HashSet;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use engine::clusters::{AlsoRead, Aurora, Check, Cluster, ClusterKind, Clusters, Pair};
use engine::rows::ServerRow;
use engine::topology::Stand;
use keeper::{
    AuroraAnswer, AuroraInstance, Endpoint, Failure, GaleraAnswer, GroupAnswer, Keeper, Limits,
    Replay, Report, Seen, Wanted,
};

const SERVERS: [&str; 3] = ["a", "b", "c"];
const REPORTS: usize = 6;
const LIMITS: u32 = 2;
/// Of so many states one is written and read.
const SOME: usize = 8;

/// What can be reported of a server.
#[derive(Clone, Copy, Debug)]
enum Letter {
    Writes,
    Reads,
    Untold,
    Pinged,
    Missed,
}
use Letter::{Missed, Pinged, Reads, Untold, Writes};

const ALPHABET: [Letter; 5] = [Writes, Reads, Untold, Pinged, Missed];

/// What is to be thought of a server, by counting alone.
#[derive(Clone, Default, Debug)]
struct Thought {
    read_only: Option<bool>,
    untold: u32,
    missed: u32,
    silent: bool,
}

impl Thought {
    fn note(&mut self, letter: Letter) {
        match letter {
            Writes | Reads => (self.read_only, self.untold) = (Some(matches!(letter, Reads)), 0),
            Untold => {
                self.untold += 1;
                if self.untold >= LIMITS {
                    self.read_only = Some(true);
                }
            }
            Pinged => (self.missed, self.silent) = (0, false),
            Missed => {
                self.missed += 1;
                self.silent |= self.missed >= LIMITS;
            }
        }
    }
}

#[derive(Clone)]
struct State {
    keeper: Keeper,
    thoughts: [Thought; 3],
}

fn seen(letter: Letter) -> Seen {
    let read_only = |outcome| Seen::ReadOnly(Check::ReadOnly, outcome);
    match letter {
        Writes => read_only(Ok(false)),
        Reads => read_only(Ok(true)),
        Untold => read_only(Err(Failure::NoAnswer)),
        // it lives, and no latency makes states differ
        Pinged => Seen::Ping(Err(Failure::Error(1045))),
        Missed => Seen::Ping(Err(Failure::NoAnswer)),
    }
}

/// All that a keeper knows is in the lines that a recording begins with.
fn check_recorded(keeper: &Keeper) {
    let mut replay = Replay::default();
    for line in keeper::beginning(keeper).lines() {
        assert_eq!(replay.take(line), Ok(None), "{line}");
    }
    assert_eq!(replay.keeper(), keeper);
}

/// All that is decided, with the statuses that are shown.
fn shown(keeper: &Keeper) -> Vec<(i64, String, Stand)> {
    let decided = keeper.decided().iter();
    decided.map(|it| (it.row.hostgroup_id, it.row.hostname.clone(), it.stand)).collect()
}

impl State {
    fn begin(typed: &[(i64, &str)], writer_is_also_reader: bool) -> Self {
        let row = |(hostgroup_id, hostname): &(i64, &str)| ServerRow {
            hostgroup_id: *hostgroup_id,
            hostname: (*hostname).to_owned(),
            ..ServerRow::default()
        };
        let wanted = Wanted {
            servers: typed.iter().map(row).collect(),
            clusters: Clusters {
                pairs: vec![Pair { writer: 10, reader: 20, check: Check::ReadOnly }],
                ..Clusters::default()
            },
            limits: Limits {
                ping_failures: LIMITS,
                read_only_failures: LIMITS,
                writer_is_also_reader,
                ..Limits::default()
            },
            ..Wanted::default()
        };
        let mut keeper = Keeper::default();
        keeper.adopt(wanted, 0);
        Self { keeper, thoughts: Default::default() }
    }

    fn after(&self, server: usize, letter: Letter) -> Self {
        let mut next = self.clone();
        next.thoughts[server].note(letter);
        let name = Endpoint { hostname: SERVERS[server].to_owned(), port: 3306 };
        let events = next.keeper.hear(&Report { at_us: 1, server: name, seen: seen(letter) });
        let changed = shown(&self.keeper) != shown(&next.keeper);
        assert_eq!(changed, !events.is_empty(), "what changes is told: {events:?}");
        next.check();
        next
    }

    fn check(&self) {
        let decided = shown(&self.keeper);
        for (name, thought) in SERVERS.iter().zip(&self.thoughts) {
            let is_in =
                |hostgroup| decided.iter().any(|it| (it.0, it.1.as_str()) == (hostgroup, name));
            assert!(is_in(10) || is_in(20), "{name} is somewhere: {decided:?}");
            if let Some(read_only) = thought.read_only {
                assert_eq!(is_in(10), !read_only, "{name} writes by what it said: {thought:?}");
            }
            for (_, _, stand) in decided.iter().filter(|it| it.1 == *name) {
                assert_eq!(*stand == Stand::Silent, thought.silent, "{name}: {thought:?}");
            }
        }
        let unique: HashSet<_> = decided.iter().map(|it| (it.0, &it.1)).collect();
        assert_eq!(unique.len(), decided.len(), "nobody is there twice: {decided:?}");
    }
}

/// The hash of all that there is to a keeper.
fn print_of(keeper: &Keeper) -> u64 {
    struct Hashing(DefaultHasher);
    impl Write for Hashing {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            text.hash(&mut self.0);
            Ok(())
        }
    }
    let mut hashing = Hashing(DefaultHasher::new());
    write!(hashing, "{keeper:?}").expect("a hash takes everything");
    hashing.0.finish()
}

/// Follows six steps from a state, of all that can be taken; how many states there are.
fn explore<S>(begin: S, keeper: fn(&S) -> &Keeper, after: impl Fn(&S) -> Vec<S>) -> usize {
    let mut known = HashSet::from([print_of(keeper(&begin))]);
    let mut border = vec![begin];
    for _ in 0..REPORTS {
        let next = border.iter().flat_map(&after);
        border = next.filter(|state| known.insert(print_of(keeper(state)))).collect();
        border.iter().step_by(SOME).for_each(|state| check_recorded(keeper(state)));
    }
    known.len()
}

#[test]
fn whatever_is_reported_servers_are_where_their_answers_put_them() {
    let typed: [&[(i64, &str)]; 3] = [
        &[(10, "a"), (20, "b"), (20, "c")],
        &[(20, "a"), (20, "b"), (20, "c")],
        &[(10, "a"), (20, "a"), (10, "b"), (20, "c")],
    ];
    let mut states = 0;
    for (typed, also) in typed.iter().flat_map(|typed| [(typed, true), (typed, false)]) {
        let after = |state: &State| -> Vec<State> {
            let steps = (0..3).flat_map(|at| ALPHABET.map(|letter| (at, letter)));
            steps.map(|(server, letter)| state.after(server, letter)).collect()
        };
        states += explore(State::begin(typed, also), |state| &state.keeper, after);
    }
    assert!(states > 50_000, "{states} states");
}

/// What a member can say: that it takes writes, refuses them, is cut off; or nothing.
const SAYINGS: [Option<(bool, bool)>; 4] =
    [Some((true, false)), Some((true, true)), Some((false, false)), None];

fn said(kind: ClusterKind, saying: Option<(bool, bool)>) -> Seen {
    let failed = Failure::NoAnswer;
    match kind {
        ClusterKind::Group => Seen::Group(match saying {
            Some((is_viable, read_only)) => {
                Ok(GroupAnswer { is_viable, read_only, ..GroupAnswer::default() })
            }
            None => Err(failed),
        }),
        ClusterKind::Galera => Seen::Galera(match saying {
            Some((is_viable, read_only)) => Ok(GaleraAnswer {
                is_primary: true,
                local_state: 4,
                desync: !is_viable,
                rejects_queries: false,
                donor_rejects: false,
                in_maintenance: false,
                read_only,
                behind: 0,
            }),
            None => Err(failed),
        }),
    }
}

/// Whatever members say: no more are written to than may be, and one is as long as one could.
fn check_cluster(keeper: &Keeper, cluster: &Cluster, last: &[Option<Option<(bool, bool)>>; 3]) {
    let decided = shown(keeper);
    let in_use = |it: &&(i64, String, Stand)| it.0 == cluster.writer && it.2 == Stand::Well;
    let writers = decided.iter().filter(in_use).count();
    let unknown = last.iter().any(Option::is_none);
    assert!(unknown || writers <= cluster.max_writers, "{last:?}: {decided:?}");
    let could = last.contains(&Some(Some((true, false))));
    assert!(!could || cluster.max_writers == 0 || writers > 0, "{last:?}: {decided:?}");
    for name in SERVERS {
        assert!(decided.iter().any(|it| it.1 == name), "{name} is somewhere: {decided:?}");
    }
    let unique: HashSet<_> = decided.iter().map(|it| (it.0, &it.1)).collect();
    assert_eq!(unique.len(), decided.len(), "nobody is there twice: {decided:?}");
}

#[test]
fn whatever_members_say_no_more_are_written_to_than_may_be_and_one_where_one_can() {
    type Last = [Option<Option<(bool, bool)>>; 3];
    let mut states = 0;
    let all = [ClusterKind::Group, ClusterKind::Galera].into_iter().flat_map(|kind| {
        [AlsoRead::Nobody, AlsoRead::Writers, AlsoRead::Backups].map(|also| (kind, also))
    });
    for (kind, also_read) in all {
        for max_writers in 0..=2 {
            let cluster = Cluster {
                kind,
                writer: 10,
                backup: 11,
                reader: 20,
                offline: 30,
                max_writers,
                also_read,
                max_behind: 0,
            };
            let row = |hostname: &str| ServerRow {
                hostgroup_id: 20,
                hostname: hostname.to_owned(),
                ..ServerRow::default()
            };
            let limits = Limits { group_failures: 1, galera_failures: 1, ..Limits::default() };
            let servers = SERVERS.map(row).to_vec();
            let clusters = Clusters { members: vec![cluster], ..Clusters::default() };
            let wanted = Wanted { servers, clusters, limits, ..Wanted::default() };
            let mut keeper = Keeper::default();
            keeper.adopt(wanted, 0);
            let after = |(keeper, last): &(Keeper, Last)| -> Vec<(Keeper, Last)> {
                let steps = (0..3).flat_map(|at| SAYINGS.map(|saying| (at, saying)));
                let step = |(at, saying): (usize, _)| {
                    let (mut keeper, mut last) = (keeper.clone(), *last);
                    let server = Endpoint { hostname: SERVERS[at].to_owned(), port: 3306 };
                    last[at] = Some(saying);
                    let before = shown(&keeper);
                    let events =
                        keeper.hear(&Report { at_us: 1, server, seen: said(kind, saying) });
                    let changed = before != shown(&keeper);
                    assert!(!changed || !events.is_empty(), "what changes is told");
                    check_cluster(&keeper, &cluster, &last);
                    (keeper, last)
                };
                steps.map(step).collect()
            };
            states += explore((keeper, Last::default()), |state| &state.0, after);
        }
    }
    assert!(states > 10_000, "{states} states");
}

/// What a server of Aurora can say of its cluster: who of it writes, and how far each of the others
/// is behind; or nothing, or what no cluster can look like.
#[derive(Clone, Copy, PartialEq, Debug)]
enum View {
    Cluster { writer: Option<usize>, lag_ms: u64 },
    Alone(usize),
    Hostile,
    Refused,
    Silent,
}

const VIEWS: [View; 11] = [
    View::Cluster { writer: Some(0), lag_ms: 0 },
    View::Cluster { writer: Some(1), lag_ms: 0 },
    View::Cluster { writer: Some(2), lag_ms: 0 },
    View::Cluster { writer: Some(0), lag_ms: 500 },
    View::Cluster { writer: Some(1), lag_ms: 500 },
    View::Cluster { writer: None, lag_ms: 0 },
    View::Cluster { writer: None, lag_ms: 500 },
    View::Alone(1),
    View::Hostile,
    View::Refused,
    View::Silent,
];

fn viewed(view: View) -> Seen {
    let instance = |at: usize, writer, lag_ms| AuroraInstance {
        server_id: SERVERS[at].to_owned(),
        writes: writer == Some(at),
        lag_ms,
        age_us: 0,
    };
    let instances = match view {
        View::Cluster { writer, lag_ms } => (0..3).map(|at| instance(at, writer, lag_ms)).collect(),
        View::Alone(at) => vec![instance(at, Some(at), 0)],
        View::Hostile => {
            let hostile =
                AuroraInstance { server_id: "; x".into(), writes: true, ..instance(0, None, 0) };
            vec![instance(0, None, 500), hostile]
        }
        View::Refused => return Seen::Aurora(10, Err(Failure::Error(1109))),
        View::Silent => return Seen::Aurora(10, Err(Failure::NoAnswer)),
    };
    Seen::Aurora(10, Ok(AuroraAnswer { instances }))
}

/// Whatever is said: who writes is who was last said to, and nobody else does.
fn check_aurora(keeper: &Keeper, view: View, before: &[(i64, String, Stand)], also: bool) {
    let decided = shown(keeper);
    let unique: HashSet<_> = decided.iter().map(|it| (it.0, &it.1)).collect();
    assert_eq!(unique.len(), decided.len(), "nobody is there twice: {decided:?}");
    let is_in = |hostgroup, at: usize| {
        decided.iter().any(|it| (it.0, it.1.strip_suffix(".x")) == (hostgroup, Some(SERVERS[at])))
    };
    let (writer, lag_ms) = match view {
        View::Cluster { writer, lag_ms } => (writer, lag_ms),
        View::Alone(at) => (Some(at), 0),
        _ => return assert_eq!(decided, before, "{view:?} changes nothing"),
    };
    for at in 0..3 {
        let writes = writer == Some(at);
        assert_eq!(is_in(10, at), writes, "{view:?}: {decided:?}");
        // that which nobody typed is gone where nobody names it
        let is_there = !matches!(view, View::Alone(_)) || at != 2;
        assert_eq!(is_in(20, at), is_there && (!writes || also), "{view:?}: {decided:?}");
    }
    let lagging = decided.iter().filter(|it| matches!(it.2, Stand::Lagging { .. })).count();
    let behind = 3 - usize::from(writer.is_some());
    match view {
        View::Cluster { .. } => {
            assert_eq!(lagging, if lag_ms > 0 { behind } else { 0 }, "{view:?}: {decided:?}");
        }
        _ => assert!(lagging <= 1, "{view:?}: {decided:?}"),
    }
}

#[test]
fn whatever_servers_of_aurora_say_who_writes_is_who_was_last_said_to() {
    let mut states = 0;
    let typed: [&[(i64, &str)]; 3] = [
        &[(20, "a.x"), (20, "b.x")],
        &[(10, "a.x"), (10, "b.x")],
        &[(10, "a.x"), (20, "a.x"), (20, "b.x")],
    ];
    for (typed, also) in typed.iter().flat_map(|typed| [(typed, true), (typed, false)]) {
        let cluster = Aurora {
            writer: 10,
            reader: 20,
            port: 3306,
            domain: ".x".into(),
            max_lag_ms: 100,
            every_ms: 1_000,
            limit_ms: 800,
            writer_is_read: also,
            reader_weight: 1,
            add_lag_ms: 30,
            min_lag_ms: 30,
            lag_checks: 1,
        };
        let row = |(hostgroup_id, hostname): &(i64, &str)| ServerRow {
            hostgroup_id: *hostgroup_id,
            hostname: (*hostname).to_owned(),
            ..ServerRow::default()
        };
        let servers = typed.iter().map(row).collect();
        let clusters = Clusters { aurora: vec![cluster], ..Clusters::default() };
        let mut keeper = Keeper::default();
        keeper.adopt(Wanted { servers, clusters, ..Wanted::default() }, 0);
        let after = |keeper: &Keeper| -> Vec<Keeper> {
            let steps = (0..2).flat_map(|at| VIEWS.map(|view| (at, view)));
            let step = |(at, view): (usize, View)| {
                let (mut keeper, before) = (keeper.clone(), shown(keeper));
                let server = Endpoint { hostname: format!("{}.x", SERVERS[at]), port: 3306 };
                let events = keeper.hear(&Report { at_us: 1, server, seen: viewed(view) });
                let changed = before != shown(&keeper);
                assert!(!changed || !events.is_empty(), "what changes is told");
                check_aurora(&keeper, view, &before, also);
                keeper
            };
            steps.map(step).collect()
        };
        states += explore(keeper, |keeper| keeper, after);
    }
    assert!(states > 200, "{states} states");
}
