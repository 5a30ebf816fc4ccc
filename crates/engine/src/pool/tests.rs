//! Which lane, which server, or why none: the pool by tables.

use wire::proxy_header::Ends;

use super::*;
use crate::backend::BackendLogin;
use crate::holds::Holds;
use crate::ids::{ServerStmtId, SessionId, StmtKey};
use crate::lane::Lease;
use crate::link::Charset;
use crate::rows::{ServerRow, UserRow};
use crate::slab::Key;
use crate::stmt::Manner;
use crate::topology::{FULL_PAUSE_US, LastFault};
use crate::users::Users;

const READERS: HostgroupId = HostgroupId(1);

const LIMITS: DialLimits = DialLimits { at_once: 1000, per_sec: 1000 };

fn server(port: i64, weight: i64, max_connections: i64, status: &str) -> ServerRow {
    ServerRow {
        hostgroup_id: 1,
        hostname: "127.0.0.1".into(),
        port,
        weight,
        max_connections,
        status: status.into(),
        ..ServerRow::default()
    }
}

/// A lane of its own, dialed if need be.
fn need<'a>(account: &'a Arc<Account>, want: &'a LinkState) -> Need<'a> {
    Need { limits: LIMITS, ..Need::of(READERS, account, Caps::NONE, want) }
}

struct Bench {
    topology: Topology,
    lanes: Slab<LaneId, Lane>,
    pool: PoolShard,
    account: Arc<Account>,
    want: LinkState,
    untraced: bool,
}

impl Bench {
    fn new(rows: &[ServerRow]) -> Self {
        let topology = Topology::compile(rows).unwrap();
        let user = UserRow { username: "app".into(), ..UserRow::default() };
        let account = Users::compile(&[user]).unwrap().find(b"app").unwrap().clone();
        let want = LinkState::new(Some(b"test".as_slice().into()), Charset::Collation(45));
        let pool = PoolShard::new(&topology, 7);
        Self { topology, lanes: Slab::default(), pool, account, want, untraced: false }
    }

    fn checkout(&mut self, avoid: Option<usize>) -> Checkout {
        let need = Need { avoid, untraced: self.untraced, ..need(&self.account, &self.want) };
        self.pool.checkout(&need, &self.topology, &self.lanes, 1_000_000)
    }

    /// Dials once and makes the lane idle in a schema.
    fn idle_lane(&mut self, server: usize, schema: &str, class: Caps) -> LaneId {
        let server = self.topology.servers()[server].clone();
        assert!(server.gauge.take_permit(server.max_connections));
        let schema = Some(schema.as_bytes().into());
        let login = BackendLogin::new(self.account.clone(), class, schema, 45, false);
        let to = server.clone();
        let id = self.lanes.insert_with(|id| Lane::dialing(id, to, login, Lease::Idle, 0));
        self.pool.put_idle(&server, id);
        id
    }

    /// The same, and shared.
    fn shared_lane(&mut self, server: usize, schema: &str) -> LaneId {
        let id = self.idle_lane(server, schema, Caps::NONE);
        let server = &self.topology.servers()[server];
        self.pool.remove_idle(server, id);
        self.pool.put_shared(server, id);
        id
    }
}

#[test]
fn dials_follow_the_weights_and_weight_zero_is_never_picked() {
    let rows = [
        server(1, 3, 100_000, "ONLINE"),
        server(2, 1, 100_000, "ONLINE"),
        server(3, 0, 100_000, "ONLINE"),
        server(4, 5, 100_000, "OFFLINE_SOFT"),
    ];
    let mut bench = Bench::new(&rows);
    let mut picked = [0_u32; 4];
    for _ in 0..4_000 {
        let Checkout::Dial(server) = bench.checkout(None) else { panic!("there is room") };
        picked[server.index] += 1;
    }
    // not only on average: no server ever gets ahead of its share
    assert!((2_999..=3_001).contains(&picked[0]), "{picked:?}");
    assert_eq!((picked[0] + picked[1], picked[2], picked[3]), (4_000, 0, 0));
}

#[test]
fn a_shunned_server_is_probed_where_nothing_else_can_serve() {
    let rows = [server(1, 1, 10, "ONLINE"), server(2, 1, 10, "ONLINE")];
    let mut bench = Bench::new(&rows);
    let servers = bench.topology.servers().to_vec();
    let shun = |server: &Server| {
        assert!(server.gauge.on_fault(LastFault::Os(111), 800_000, 1, 10_000_000));
    };
    shun(&servers[0]);
    let Checkout::Dial(server) = bench.checkout(None) else { panic!("one serves") };
    assert_eq!(server.index, 1);
    shun(&servers[1]);
    for index in [0, 1] {
        let Checkout::Probe(server) = bench.checkout(None) else { panic!("none serves") };
        assert_eq!(server.index, index);
    }
    assert!(matches!(bench.checkout(None), Checkout::Wait), "each was asked just now");
    assert_eq!(servers[0].gauge.used(), 1, "a permit each");
    // the first that lets somebody in serves, others one at a time until they did
    servers[0].gauge.on_success();
    for _ in 0..3 {
        let Checkout::Dial(server) = bench.checkout(None) else { panic!("one serves") };
        assert_eq!(server.index, 0);
    }
    servers[1].gauge.begin_dial();
    assert!(!servers[1].may_dial(&LIMITS, 20_000_000));
    servers[1].gauge.end_dial();
    assert!(servers[1].may_dial(&LIMITS, 20_000_000));
}

#[test]
fn a_server_that_stands_still_is_spared_while_another_one_answers() {
    let rows = [server(1, 1, 10, "ONLINE"), server(2, 1, 2, "ONLINE"), server(3, 0, 10, "ONLINE")];
    let mut bench = Bench::new(&rows);
    let signs = health::Signs { busy: 2, overdue: 2, ..Default::default() };
    let still = bench.idle_lane(0, "test", Caps::NONE);
    assert!(bench.pool.health.judge(0, &signs, 900_000, 30_000));
    let servers = bench.topology.servers().to_vec();
    assert!(bench.pool.health.spares(&servers[0], &bench.topology, 1_000_000));
    for _ in 0..2 {
        let Checkout::Dial(server) = bench.checkout(None) else { panic!("there is room") };
        assert_eq!(server.index, 1);
    }
    assert!(matches!(bench.checkout(None), Checkout::Wait), "one answers, though it is full");
    // where all stand still, the last that was heard of is used
    assert!(bench.pool.health.judge(1, &signs, 950_000, 30_000));
    assert!(matches!(bench.checkout(None), Checkout::Wait));
    bench.pool.health.lift(1);
    assert!(bench.pool.health.judge(1, &signs, 900_000, 30_000));
    assert!(!bench.pool.health.spares(&servers[0], &bench.topology, 1_000_000));
    assert!(matches!(bench.checkout(None), Checkout::Lane(lane) if lane == still));
    bench.pool.health.lift(0);
    let Checkout::Dial(server) = bench.checkout(None) else { panic!("there is room") };
    assert_eq!(server.index, 0);
}

#[test]
fn the_idle_lane_that_needs_the_least_is_taken_latest_used_first() {
    let mut bench = Bench::new(&[server(1, 1, 10, "ONLINE")]);
    let older = bench.idle_lane(0, "test", Caps::NONE);
    let other_schema = bench.idle_lane(0, "other", Caps::NONE);
    let newer = bench.idle_lane(0, "test", Caps::NONE);
    let other_class = bench.idle_lane(0, "test", Caps::FOUND_ROWS);
    for expected in [newer, older, other_schema] {
        let Checkout::Lane(lane) = bench.checkout(None) else { panic!("one is idle") };
        assert_eq!(lane, expected);
    }
    assert!(matches!(bench.checkout(None), Checkout::Dial(_)));
    assert_eq!(bench.pool.idle_of(&bench.topology.servers()[0]), [other_class]);
}

#[test]
fn whoever_reads_a_variable_that_is_not_set_gets_no_connection_that_lost_one() {
    let mut bench = Bench::new(&[server(1, 1, 10, "ONLINE")]);
    let (traced, has_one) =
        (bench.idle_lane(0, "test", Caps::NONE), bench.idle_lane(0, "test", Caps::NONE));
    bench.lanes.get_mut(traced).unwrap().marks.traced = true;
    let set = sql::parse_set(b"SET @a=1").unwrap();
    let state = crate::link::assign::assigned(&bench.want, &set).unwrap().state;
    let without = std::mem::replace(&mut bench.lanes.get_mut(has_one).unwrap().state, state);
    bench.untraced = true;
    assert!(matches!(bench.checkout(None), Checkout::Dial(_)));
    bench.lanes.get_mut(has_one).unwrap().state = without;
    let Checkout::Lane(lane) = bench.checkout(None) else { panic!("one lost nothing") };
    assert_eq!(lane, has_one);
    bench.untraced = false;
    assert!(matches!(bench.checkout(None), Checkout::Lane(lane) if lane == traced));
}

#[test]
fn stored_code_that_a_server_keeps_is_for_who_has_set_the_same() {
    let mut bench = Bench::new(&[server(1, 1, 2, "ONLINE")]);
    let called = bench.idle_lane(0, "test", Caps::NONE);
    let set = sql::parse_set(b"SET time_zone='+05:00'").unwrap();
    let other = crate::link::assign::assigned(&bench.want, &set).unwrap().state;
    let read_by = bench.want.read_by(false);
    bench.lanes.get_mut(called).unwrap().marks.code_read_by = Some(read_by);
    let own = std::mem::replace(&mut bench.want, other);
    assert!(matches!(bench.checkout(None), Checkout::Dial(_)));
    // where no more may be opened, it goes
    assert!(matches!(bench.checkout(None), Checkout::Replace(lane, _) if lane == called));
    let idle = bench.topology.servers()[0].clone();
    bench.pool.put_idle(&idle, called);
    bench.want = own;
    assert!(matches!(bench.checkout(None), Checkout::Lane(lane) if lane == called));
}

#[test]
fn a_full_server_gives_up_an_idle_lane_of_another_kind_before_anybody_waits() {
    let mut bench = Bench::new(&[server(1, 1, 1, "ONLINE")]);
    let other = bench.idle_lane(0, "test", Caps::FOUND_ROWS);
    let Checkout::Replace(lane, _) = bench.checkout(None) else { panic!("it can be replaced") };
    assert_eq!(lane, other);
    assert!(matches!(bench.checkout(None), Checkout::Wait));
}

#[test]
fn nothing_is_dialed_where_a_server_or_an_account_is_full() {
    let mut bench = Bench::new(&[server(1, 1, 10, "ONLINE"), server(2, 1, 10, "ONLINE")]);
    let gauge = bench.topology.servers()[0].gauge.clone();
    assert!(!gauge.on_fault(LastFault::Server(1040), 1_000_000, 1, 5_000_000));
    for _ in 0..8 {
        let Checkout::Dial(server) = bench.checkout(None) else { panic!("there is room") };
        assert_eq!(server.index, 1, "it has room");
    }
    (0..2).for_each(|server| bench.account.backends.note_full(server, 1_000_001));
    assert!(matches!(bench.checkout(None), Checkout::Wait));
    let idle = bench.idle_lane(0, "test", Caps::NONE);
    let found = [bench.checkout(None), bench.checkout(None)];
    assert!(found.iter().any(|found| matches!(found, Checkout::Lane(lane) if *lane == idle)));
}

#[test]
fn the_server_that_failed_is_spared_and_alone_it_gets_a_new_connection() {
    let mut bench = Bench::new(&[server(1, 1, 10, "ONLINE"), server(2, 1, 10, "ONLINE")]);
    bench.idle_lane(0, "test", Caps::NONE);
    for _ in 0..10 {
        let Checkout::Dial(server) = bench.checkout(Some(0)) else { panic!("there is room") };
        assert_eq!(server.index, 1);
    }
    let Checkout::Dial(last) = bench.checkout(Some(0)) else { panic!("there is room") };
    assert_eq!(last.index, 0, "better than waiting, but by a new connection");
    let mut alone = Bench::new(&[server(1, 1, 10, "ONLINE")]);
    alone.idle_lane(0, "test", Caps::NONE);
    assert!(matches!(alone.checkout(Some(0)), Checkout::Dial(_)));
}

#[test]
fn whether_to_wait_or_to_refuse_depends_on_what_time_can_change() {
    let none: [ServerRow; 0] = [];
    assert!(matches!(Bench::new(&none).checkout(None), Checkout::Refuse));
    let offline = [server(1, 1, 10, "OFFLINE_HARD"), server(2, 0, 10, "ONLINE")];
    let mut bench = Bench::new(&offline);
    assert!(matches!(bench.checkout(None), Checkout::Refuse));
    assert_eq!(
        explain(&bench.topology, READERS, 0),
        "2 servers: 127.0.0.1:1 OFFLINE_HARD; 127.0.0.1:2 has weight 0"
    );
    let mut shunned = Bench::new(&[server(1, 1, 10, "ONLINE")]);
    let gauge = &shunned.topology.servers()[0].gauge;
    assert!(gauge.on_fault(LastFault::Os(111), 1_000_000, 1, 5_000_000));
    assert!(matches!(shunned.checkout(None), Checkout::Wait));
    assert_eq!(
        explain(&shunned.topology, READERS, 1_000_000),
        "1 server: 127.0.0.1:1 shunned for 5 s more: connection refused (errno 111)"
    );
    for (max, told) in [(1, "has its only connection in use"), (2, "has all 2 connections in use")]
    {
        let full = Bench::new(&[server(1, 1, max, "ONLINE")]);
        let gauge = &full.topology.servers()[0].gauge;
        assert!((0..max).all(|_| gauge.take_permit(u32::MAX)));
        assert_eq!(explain(&full.topology, READERS, 0), format!("1 server: 127.0.0.1:1 {told}"));
    }
}

#[test]
fn of_the_server_picked_by_weight_the_session_s_own_lane_serves() {
    let mut bench = Bench::new(&[server(1, 1, 10, "ONLINE"), server(2, 3, 10, "ONLINE")]);
    let held: Vec<_> = (0..2)
        .map(|index| {
            let lane = bench.idle_lane(index, "test", Caps::NONE);
            Held {
                hostgroup: READERS,
                lane,
                why: Holds::WARNINGS,
                presumed: Holds::NONE,
                own: false,
            }
        })
        .collect();
    let mut first = 0_u32;
    for _ in 0..4_000 {
        let (account, class, want) = (&bench.account, Caps::NONE, &bench.want);
        let any = Need::of(READERS, account, class, want);
        let need = Need { held: &held, limits: LIMITS, ..any };
        match bench.pool.checkout(&need, &bench.topology, &bench.lanes, 0) {
            Checkout::Held(lane) => first += u32::from(lane == held[0].lane),
            _ => panic!("it has a lane of each"),
        }
    }
    assert!((900..1_100).contains(&first), "{first}");
}

#[test]
fn an_execution_joins_only_a_connection_that_has_its_statement_for_its_types() {
    let mut bench = Bench::new(&[server(1, 1, 100, "ONLINE")]);
    let shared = bench.shared_lane(0, "test");
    let (key, other) = (StmtKey::new(1, 0), StmtKey::new(2, 0));
    let stmts = &mut bench.lanes.get_mut(shared).unwrap().stmts;
    let manner = Manner::new(bench.want.read_by(false), false);
    let wanted = Wanted { key, types: &[8, 0], manner };
    stmts.insert(key, ServerStmtId(5), None).note_execution(wanted);
    let mut joins = |key, types: &[u8]| {
        let bounds = Bounds { depth: 16, latency_us: 1_000, reply_bytes: 1_000 };
        let need = Need {
            share: Some((bounds, 100)),
            stmt: Some(Wanted { key, types, manner }),
            ..need(&bench.account, &bench.want)
        };
        let found = bench.pool.checkout(&need, &bench.topology, &bench.lanes, 0);
        matches!(found, Checkout::Shared(lane) if lane == shared)
    };
    assert!(joins(key, &[8, 0]));
    assert!(!joins(key, &[253, 0]) && !joins(other, &[8, 0]));
}

#[test]
fn a_connection_serves_an_account_that_servers_know_alike() {
    let mut bench = Bench::new(&[server(1, 1, 100, "ONLINE")]);
    let compile = |attributes: &str| {
        let user = UserRow { username: "app".into(), ..UserRow::default() };
        let shop = UserRow { username: "shop".into(), ..UserRow::default() };
        let mapped = UserRow { attributes: attributes.into(), ..user };
        Users::compile(&[mapped, shop]).unwrap().find(b"app").unwrap().clone()
    };
    let id = bench.idle_lane(0, "test", Caps::NONE);
    let lane = bench.lanes.get(id).expect("it is there");
    for (attributes, fits) in [("", true), (r#"{"backend_username": "shop"}"#, false)] {
        let account = compile(attributes);
        let found = super::fits(lane, &need(&account, &bench.want));
        assert_eq!(found.is_some(), fits, "{attributes}");
    }
}

#[test]
fn a_connection_that_names_a_client_serves_clients_of_that_address() {
    let mut bench = Bench::new(&[server(1, 1, 100, "ONLINE")]);
    let told = |from: &str| {
        let from = from.parse().expect("an address");
        Presented { version: 2, ends: Some(Ends { from, to: from }) }
    };
    let nobody = Presented { version: 1, ends: None };
    let (one, again, other) = (told("192.0.2.7:1"), told("192.0.2.7:2"), told("192.0.2.8:1"));
    for (lane, wanted, fits) in [
        (None, None, true),
        (Some(one), Some(again), true),
        (Some(one), Some(other), false),
        (Some(one), None, false),
        (None, Some(one), false),
        (Some(nobody), Some(nobody), true),
        (Some(nobody), Some(one), false),
        (None, Some(nobody), false),
    ] {
        let id = bench.idle_lane(0, "test", Caps::NONE);
        bench.lanes.get_mut(id).expect("it is there").presented = lane.map(Box::new);
        // one without an address is there by another word
        let addr: Option<Arc<str>> = wanted.map(|wanted: Presented| match wanted.client() {
            Some(address) => address.to_string().into(),
            None => "localhost".into(),
        });
        let need = Need { client: addr.as_ref(), ..need(&bench.account, &bench.want) };
        let found = super::fits(bench.lanes.get(id).expect("it is there"), &need);
        assert_eq!(found.is_some(), fits, "{lane:?} {wanted:?}");
    }
}

#[test]
fn an_execution_prefers_an_idle_connection_that_has_its_statement() {
    let mut bench = Bench::new(&[server(1, 1, 100, "ONLINE")]);
    let [has_it, newer, newest] = [(); 3].map(|()| bench.idle_lane(0, "test", Caps::NONE));
    let (key, other) = (StmtKey::new(1, 0), StmtKey::new(2, 0));
    let stmts = &mut bench.lanes.get_mut(has_it).unwrap().stmts;
    let manner = Manner::new(bench.want.read_by(false), false);
    let wanted = Wanted { key, types: &[8, 0], manner };
    stmts.insert(key, ServerStmtId(5), None).note_execution(wanted);
    for (key, expected) in [(other, newest), (key, has_it), (key, newer)] {
        let need =
            Need { stmt: Some(Wanted { key, ..wanted }), ..need(&bench.account, &bench.want) };
        let found = bench.pool.checkout(&need, &bench.topology, &bench.lanes, 0);
        assert!(matches!(found, Checkout::Lane(lane) if lane == expected));
    }
}

#[test]
fn room_on_a_shared_lane_is_left_to_those_who_waited_for_it() {
    let mut bench = Bench::new(&[server(1, 1, 1, "ONLINE")]);
    let shared = bench.shared_lane(0, "test");
    let bounds = Bounds { depth: 4, latency_us: 1000, reply_bytes: 1000 };
    let mut joins = |after: u64, passed: u64| {
        let lane = bench.lanes.get_mut(shared).unwrap();
        lane.shared.passed = 0;
        bench.pool.pass_over(lane, passed);
        let share = Some((bounds, 10));
        let before = Before { count: usize::from(after > 0), last: after };
        let need = Need { share, before, ..need(&bench.account, &bench.want) };
        let found = bench.pool.checkout(&need, &bench.topology, &bench.lanes, 0);
        matches!(found, Checkout::Shared(_))
    };
    assert!(joins(0, 0), "nobody waits");
    assert!(!joins(7, 0) && !joins(7, 6), "somebody waits whom it may serve");
    assert!(joins(7, 7) && joins(7, 9), "it serves nobody who waits");
}

#[test]
fn a_crowd_that_shares_opens_as_many_connections_as_carry_it() {
    let mut bench = Bench::new(&[server(1, 1, 100, "ONLINE"), server(2, 1, 100, "ONLINE")]);
    let bounds = Bounds { depth: 4, latency_us: 1000, reply_bytes: 1000 };
    let mut dials = |share, count: usize| {
        let before = Before { count, last: count as u64 };
        let need = Need { share, before, ..need(&bench.account, &bench.want) };
        let found = bench.pool.checkout(&need, &bench.topology, &bench.lanes, 0);
        if let Checkout::Dial(server) = &found {
            server.gauge.begin_dial();
        }
        matches!(found, Checkout::Dial(_))
    };
    let share = Some((bounds, 10));
    let dialed: Vec<_> = (0..12).filter(|before| dials(share, *before)).collect();
    assert_eq!(dialed, [0, 1, 8, 9], "four on each at first");
    assert!(dials(share, 0), "what is on its way may not be as the first needs it");
    assert!(dials(None, 1), "a lane of its own is on nobody's way");
}

#[test]
fn tickets_are_not_given_twice_when_the_servers_change() {
    let mut bench = Bench::new(&[server(1, 1, 1, "ONLINE")]);
    let (group, session) = (HostgroupId(1), SessionId::new(1, 1));
    let mut last = 0;
    for _ in 0..3 {
        let ticket = bench.pool.enqueue(group, Line::Shares, session, false);
        assert!(ticket > last, "a lane that passed over {last} would pass over {ticket}");
        last = ticket;
        bench.pool.forget_waiter(group, ticket);
        bench.pool.adopt(&bench.topology, &bench.topology);
    }
}

#[test]
fn an_account_that_is_full_replaces_its_own_and_others_dial() {
    let mut bench = Bench::new(&[server(1, 1, 10, "ONLINE")]);
    let (app, to) = (bench.account.clone(), bench.topology.servers()[0].clone());
    let user = UserRow { username: "other".into(), ..UserRow::default() };
    let other = Users::compile(&[user]).unwrap().find(b"other").unwrap().clone();
    let checkout = |bench: &mut Bench, account: &Arc<Account>| {
        let need = Need { backends_max: 2, ..need(account, &bench.want) };
        bench.pool.checkout(&need, &bench.topology, &bench.lanes, 1_000_000)
    };
    for _ in 0..2 {
        assert!(matches!(checkout(&mut bench, &app), Checkout::Dial(_)));
    }
    assert!(matches!(checkout(&mut bench, &app), Checkout::Wait));
    assert_eq!((app.backends.open(to.index), to.gauge.used()), (2, 2), "neither permit is kept");
    assert!(matches!(checkout(&mut bench, &other), Checkout::Dial(_)));
    // of idle ones that do not fit, only its own make room
    let unfit = bench.idle_lane(0, "test", Caps::MULTI_STATEMENTS);
    bench.account = other.clone();
    bench.idle_lane(0, "test", Caps::MULTI_STATEMENTS);
    let found = checkout(&mut bench, &app);
    assert!(matches!(found, Checkout::Replace(lane, _) if lane == unfit));
    assert!(matches!(checkout(&mut bench, &app), Checkout::Wait));
    // a server that is full gives no permit, and none is taken of the account
    while to.gauge.take_permit(10) {}
    give_permits(&to, &app);
    while to.gauge.take_permit(10) {}
    let found = checkout(&mut bench, &app);
    assert!(matches!(found, Checkout::Replace(_, _)));
    assert_eq!((app.backends.open(to.index), to.gauge.used()), (1, 10));
}

#[test]
fn each_of_many_servers_is_looked_at() {
    let rows: Vec<_> = (1..=130).map(|port| server(port, 1, 1, "ONLINE")).collect();
    let mut bench = Bench::new(&rows);
    assert!(bench.topology.servers().iter().all(|server| server.gauge.take_permit(1)));
    for free in [129, 64, 63, 0] {
        bench.topology.servers()[free].gauge.give_permit();
        let Checkout::Dial(server) = bench.checkout(None) else { panic!("{free} is free") };
        assert_eq!(server.index, free);
    }
}

#[test]
fn where_a_server_allows_no_more_clients_an_idle_connection_of_no_use_makes_room() {
    let mut bench = Bench::new(&[server(1, 1, 1000, "ONLINE")]);
    let unfit = bench.idle_lane(0, "test", Caps::FOUND_ROWS);
    let full = bench.topology.servers()[0].clone();
    full.gauge.on_fault(LastFault::Server(1040), 1_000_000, 5, 0);
    assert!(matches!(bench.checkout(None), Checkout::Wait), "it has just said so");
    full.gauge.on_fault(LastFault::Server(1040), 1_000_000 - FULL_PAUSE_US, 5, 0);
    let Checkout::Replace(lane, server) = bench.checkout(None) else { panic!("one makes room") };
    assert_eq!((lane, server.index), (unfit, 0));
    // none is left: whether it still is full is seen by asking
    assert!(matches!(bench.checkout(None), Checkout::Dial(_)));
}

#[test]
fn an_account_that_one_server_has_enough_of_gets_another_ones_idle_connection() {
    let mut bench = Bench::new(&[server(1, 1, 1000, "ONLINE"), server(2, 1, 1, "ONLINE")]);
    let unfit = bench.idle_lane(1, "test", Caps::FOUND_ROWS);
    bench.account.backends.note_full(0, 1_000_001);
    let Checkout::Replace(lane, server) = bench.checkout(None) else { panic!("it goes") };
    assert_eq!((lane, server.index), (unfit, 1));
}

#[test]
fn a_server_that_made_room_keeps_no_other_from_it() {
    let mut bench = Bench::new(&[server(1, 1, 1, "ONLINE"), server(2, 1, 1, "ONLINE")]);
    let servers = bench.topology.servers().to_vec();
    bench.pool.note_room_made(&servers[0], 900_000);
    let since_us = |server: &Server| bench.pool.no_room_made_us(server, 1_000_000);
    assert_eq!([since_us(&servers[0]), since_us(&servers[1])], [100_000, 1_000_000]);
}
