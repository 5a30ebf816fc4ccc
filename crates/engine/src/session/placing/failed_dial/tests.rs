//! Connects that fail or take long: how many there are, when, and what their sessions are told.

use std::sync::Arc;

use wire::result::ReplyKind;

use super::*;
use crate::ids::ConnectionId;
use crate::lane::{Lane, Owner};
use crate::link::Charset;
use crate::proxy::{Arrival, Offer};
use crate::rows::{HostgroupRow, ServerRow, UserRow};
use crate::session::running::shared::Sharing;
use crate::snapshot::{Draft, Snapshot};
use crate::users::Account;

fn proxy() -> Proxy {
    proxy_of(|_| ())
}

fn proxy_of(amend: impl FnOnce(&mut Draft)) -> Proxy {
    let server = ServerRow { hostname: "127.0.0.1".into(), ..ServerRow::default() };
    let user = UserRow { username: "app".into(), ..UserRow::default() };
    let mut draft = Draft { servers: vec![server], users: vec![user], ..Draft::default() };
    amend(&mut draft);
    let key = wire::auth::rsa::ServerKey::generate().expect("a key can be made");
    let offer = Offer::new(b"8.0.11", wire::Caps::PROTOCOL_41, key);
    let snapshot = Snapshot::compile(&draft).expect("valid");
    Proxy::new(Arc::new(snapshot), Arc::new(offer), 1, [0; 32])
}

fn arrival() -> Arrival {
    Arrival {
        client: "127.0.0.1".into(),
        client_port: 40_000,
        secure: false,
        can_have_tls: false,
        proxy: ("127.0.0.1".into(), 6033),
        connection: ConnectionId(7),
        random: *b"abcdefghijklmnopqrst",
        clients: 1,
        failed_logins: 0,
    }
}

#[test]
fn the_log_tells_that_a_server_was_shunned_and_that_it_serves_again() {
    let mut proxy = proxy();
    let server = proxy.snapshot.topology.servers()[0].clone();
    proxy.set_now(5_000_000);
    let refused = LastFault::Os(111);
    (0..9).for_each(|_| proxy.note_fault(&server, refused, None));
    proxy.set_now(60_000_000);
    (0..2).for_each(|_| proxy.note_success(server.clone()));
    let mut told = Vec::new();
    for order in &proxy.orders.list {
        if let Order::Report(event) = order {
            told.push(event.to_string());
        }
    }
    let shunned = "server 127.0.0.1:3306 in hostgroup 0 shunned for 10000 ms: \
                   connection refused (errno 111)";
    let again = "server 127.0.0.1:3306 in hostgroup 0 serves again: it accepts connections";
    assert_eq!(told.last().map(String::as_str), Some(again), "{told:?}");
    assert!(told.iter().any(|line| line == shunned), "{told:?}");
    assert_eq!(told.iter().filter(|line| *line == again).count(), 1);
}

#[test]
fn the_pause_between_attempts_is_the_configured_one_and_a_short_one_grows() {
    let pauses =
        |delay_ms: u64, random| [1, 2, 4, 99].map(|n| pause_us(delay_ms * 1000, n, random));
    assert_eq!(pauses(1, 0), [1_000, 2_000, 8_000, 64_000]);
    assert_eq!(pauses(1, 32_000), [1_437, 2_969, 11_993, 96_000]);
    assert_eq!(pauses(1000, 0), [1_000_000; 4]);
    assert!(pauses(1000, u64::MAX).into_iter().all(|us| us <= 1_032_000));
    assert_eq!(pauses(0, u64::MAX), [0; 4]);
}

fn set(draft: &mut Draft, name: &str, value: &str) {
    draft.variables.push((format!("mysql-{name}"), value.into()));
}

/// A session that waits for a connection, with the only server's port closed.
pub(crate) fn waiting(amend: impl FnOnce(&mut Draft)) -> (Proxy, SessionId) {
    let mut proxy = proxy_of(amend);
    proxy.set_now(5_000_000);
    let id = proxy.on_accepted(arrival());
    let account = proxy.snapshot.users.find(b"app").cloned();
    let session = proxy.sessions.get_mut(id).expect("it came");
    (session.account, session.phase) = (account, Phase::Idle);
    let job = proxy.unrouted(What::Schema, ReplyKind::Simple);
    proxy.check_out(id, job, None);
    (proxy, id)
}

/// Refuses each connection at once; when (ms after the first) they were asked for, until the
/// session gave up.
fn attempts(proxy: &mut Proxy, id: SessionId) -> Vec<u64> {
    let mut asked = Vec::new();
    while proxy.sessions.get(id).is_some_and(|it| matches!(it.phase, Phase::Waiting(_))) {
        let lane = proxy.lanes.iter().next().map(|(lane, _)| lane);
        if let Some(lane) = lane {
            asked.push((proxy.now_us - 5_000_000) / 1000);
            proxy.fail_dial(lane, LastFault::Os(111), None, false);
            continue;
        }
        proxy.set_now(proxy.now_us + 1_000);
        proxy.on_session_deadline(id);
    }
    asked
}

#[test]
fn attempts_to_connect_are_as_many_and_as_far_apart_as_configured() {
    let (mut proxy, id) = waiting(|draft| {
        set(draft, "connect_retries_on_failure", "3");
        set(draft, "connect_retries_delay", "1000");
    });
    let asked = attempts(&mut proxy, id);
    let near = [0, 1000, 2000, 3000].into_iter().zip(&asked);
    assert_eq!(asked.len(), 4, "{asked:?}");
    assert!(near.into_iter().all(|(at, ms)| (at..at + 120).contains(ms)), "{asked:?}");
    assert_eq!(proxy.server_stats.of(0).map(|counters| counters.failed), Some(4));
    assert_eq!(proxy.stats.shuns, 0);
}

#[test]
fn one_refusal_shuns_nobody_however_few_attempts_a_session_has() {
    let (mut proxy, id) = waiting(|draft| set(draft, "connect_retries_on_failure", "0"));
    assert_eq!((attempts(&mut proxy, id), proxy.stats.shuns), (vec![0], 0));
    let refused = LastFault::Os(111);
    let server = proxy.snapshot.topology.servers()[0].clone();
    (0..3).for_each(|_| proxy.note_fault(&server, refused, None));
    assert_eq!(proxy.stats.shuns, 0, "four");
    proxy.note_fault(&server, refused, None);
    assert_eq!(proxy.stats.shuns, 1, "the fifth within a second");
}

fn is_waiting(proxy: &Proxy, id: SessionId) -> bool {
    proxy.sessions.get(id).is_some_and(|it| matches!(it.phase, Phase::Waiting(_)))
}

#[test]
fn the_statement_for_new_connections_may_take_longer_than_a_login() {
    for (statement, is_there_ms) in [("SELECT SLEEP(9) INTO @a", 9_999), ("", 0)] {
        let (mut proxy, id) = waiting(|draft| set(draft, "init_connect", statement));
        let (lane, _) = proxy.lanes.iter().next().expect("one is dialed");
        proxy.lanes.get_mut(lane).expect("it is there").login = None;
        proxy.send_init_connect(lane);
        for ms in [1_000, 9_999, 10_000] {
            proxy.set_now(5_000_000 + ms * 1000);
            proxy.on_lane_deadline(lane);
            let is_there = proxy.lanes.get(lane).is_some();
            assert_eq!(is_there, ms <= is_there_ms, "{statement}: {ms}");
        }
        assert!(is_waiting(&proxy, id));
    }
}

/// A session that is gone has proved nothing: nobody else could have its connection.
#[test]
fn a_connection_that_was_to_prove_a_password_goes_with_its_session() {
    for (number, is_kept) in [(0, true), (7, false)] {
        let (mut proxy, id) = waiting(|_| ());
        let server = proxy.snapshot.topology.servers()[0].clone();
        let lane = proxy.dial(id, server, Lease::Dialing(None)).expect("dialed");
        let new = proxy.lanes.get_mut(lane).expect("it is there");
        new.login = None;
        let unproved = Account { unproved: number, ..(*new.account).clone() };
        new.account = Arc::new(unproved);
        proxy.close_session(id, None);
        proxy.lane_opened(lane);
        proxy.work_off();
        assert_eq!(proxy.lanes.get(lane).is_some_and(Lane::is_idle), is_kept);
        assert_eq!(proxy.lanes.get(lane).is_some(), is_kept);
    }
}

/// A session whose password the only server is to prove, and its connection there.
fn proving(amend: impl FnOnce(&mut Draft)) -> (Proxy, SessionId, LaneId) {
    let mut proxy = proxy_of(amend);
    proxy.set_now(5_000_000);
    let (id, lane) = prove(&mut proxy, 7);
    (proxy, id, lane.expect("it is dialed"))
}

/// The same of one more session, with a connection where it gets one.
fn prove(proxy: &mut Proxy, number: u64) -> (SessionId, Option<LaneId>) {
    let id = proxy.on_accepted(arrival());
    let account = proxy.snapshot.users.find(b"app").expect("there").proving(b"guess", number, None);
    let session = proxy.sessions.get_mut(id).expect("it came");
    (session.account, session.phase) = (Some(Arc::new(account)), Phase::Idle);
    proxy.check_schema(id, None, 2);
    let session = proxy.sessions.get(id).expect("it waits");
    (id, session.waiting().and_then(|waiting| waiting.dialing))
}

/// Whoever times out has guessed all the same, once the server may have seen the password: it may
/// only have been slow to say that it is wrong.
#[test]
fn a_guess_counts_from_when_a_server_has_got_it() {
    let greeting = wire::connect::Greeting {
        server_version: b"8.0.39",
        connection_id: 7,
        scramble: [1; 20],
        caps: wire::Caps::PROTOCOL_41.union(wire::Caps::SECURE_CONNECTION),
        collation: 45,
        status: wire::Status::AUTOCOMMIT,
        plugin: b"mysql_native_password",
    };
    let mut greeted = Vec::new();
    wire::frame::write_with(&mut greeted, &mut 0, |payload| greeting.encode(payload));
    let tls = crate::backend::ServerTls::seen(("TLSv1.3", "none"), "ca", None);
    for (greets, in_tls, secures, counts) in [
        (false, false, false, false),
        (true, false, false, true),
        (true, true, false, false),
        (true, true, true, true),
    ] {
        for is_lost in [false, true] {
            let (mut proxy, id, lane) = proving(|draft| {
                set(draft, "failed_connections_threshold", "1");
                set(draft, "have_ssl", "true");
                draft.servers[0].use_ssl = i64::from(in_tls);
            });
            let [(who, limits), _] = proxy.guessers(id, b"app").expect("it is there");
            assert_eq!(proxy.offer.guesses.begin(who, 5_000_000, limits), Ok(()));
            if greets {
                let mut greeted = greeted.clone();
                greeted[4 + 8 + 4 + 8 + 1 + 1] |= if in_tls { 8 } else { 0 };
                assert_eq!(proxy.on_lane_bytes(lane, &greeted), greeted.len());
            }
            if secures {
                proxy.on_lane_secured(lane, tls.clone());
            }
            if is_lost {
                proxy.on_lane_gone(lane, 104);
            } else {
                proxy.set_now(6_000_000);
                proxy.on_lane_deadline(lane);
            }
            assert!(proxy.sessions.get(id).is_none(), "it is refused");
            let has_place = proxy.offer.guesses.begin(who, 5_000_000, limits).is_ok();
            assert_eq!(has_place, !counts, "{greets} {in_tls} {secures} {is_lost}");
        }
    }
}

/// Those who have proved nothing have a quarter of a server's connections, and keep none from
/// others who wait behind them.
#[test]
fn whoever_guesses_has_a_share_of_a_servers_connections() {
    let (mut proxy, first, lane) = proving(|draft| draft.servers[0].max_connections = 8);
    let server = proxy.snapshot.topology.servers()[0].clone();
    let (_, second) = prove(&mut proxy, 8);
    let (third, none) = prove(&mut proxy, 9);
    assert!(second.is_some() && none.is_none(), "two of eight");
    assert_eq!((server.gauge.proofs(), server.gauge.used()), (2, 2));
    // others dial as before, also behind one that waits
    let other = proxy.on_accepted(arrival());
    let account = proxy.snapshot.users.find(b"app").cloned();
    let session = proxy.sessions.get_mut(other).expect("it came");
    (session.account, session.phase) = (account, Phase::Idle);
    let job = proxy.unrouted(What::Schema, ReplyKind::Simple);
    proxy.check_out(other, job, None);
    assert_eq!((server.gauge.proofs(), server.gauge.used()), (2, 3));
    // whoever hangs up keeps its share until the server has answered
    proxy.on_client_gone(first);
    proxy.work_off();
    assert_eq!(server.gauge.proofs(), 2);
    proxy.fail_dial(lane, LastFault::Server(1045), None, true);
    proxy.work_off();
    let waiting = proxy.sessions.get(third).expect("it waits").waiting().expect("it waits");
    assert!(waiting.dialing.is_some(), "then the next one dials");
    assert_eq!((server.gauge.proofs(), server.gauge.used()), (2, 3));
    // a password that is proved is one of the share no more
    let dialed = waiting.dialing.expect("it is dialed");
    proxy.prove(third, dialed).expect("it is right");
    assert_eq!((server.gauge.proofs(), server.gauge.used()), (1, 3));
    proxy.close_lane(dialed);
    assert_eq!((server.gauge.proofs(), server.gauge.used()), (1, 2));
}

#[test]
fn where_too_many_servers_are_online_nobody_gets_a_connection_that_is_there() {
    let (mut proxy, id) = waiting(|draft| {
        let second = ServerRow { port: 3307, ..draft.servers[0].clone() };
        draft.servers.push(second);
        let row = HostgroupRow { max_num_online_servers: 1, ..HostgroupRow::default() };
        draft.hostgroups.push(row);
    });
    assert!(proxy.lanes.iter().next().is_none(), "none is dialed");
    let server = proxy.snapshot.topology.servers()[0].clone();
    let lane = proxy.dial(id, server, Lease::Dialing(None)).expect("dialed");
    proxy.lanes.get_mut(lane).expect("it is there").login = None;
    proxy.lane_opened(lane);
    proxy.work_off();
    assert!(proxy.lanes.get(lane).is_some_and(Lane::is_idle) && is_waiting(&proxy, id));
    proxy.set_now(14_999_999);
    proxy.look_again(id);
    assert!(is_waiting(&proxy, id));
    proxy.set_now(15_000_000);
    proxy.look_again(id);
    assert!(!is_waiting(&proxy, id) && proxy.lanes.get(lane).is_some_and(Lane::is_idle));
    assert_eq!(proxy.stats.connect_timeouts, 1);
}

#[test]
fn a_session_that_no_connection_suits_is_told_so_instead_of_dialing_for_ever() {
    for (id, is_served) in [(1, true), (608, true), (9999, false)] {
        let charset = Charset::Collation(id);
        let mut proxy = proxy();
        let id = proxy.on_accepted(arrival());
        let account = proxy.snapshot.users.find(b"app").cloned();
        let session = proxy.sessions.get_mut(id).expect("it came");
        (session.account, session.phase) = (account, Phase::Idle);
        session.want.charset = charset;
        let job = proxy.unrouted(What::Schema, ReplyKind::Simple);
        proxy.check_out(id, job, None);
        let (lane, _) = proxy.lanes.iter().next().expect("one is dialed");
        proxy.lanes.get_mut(lane).expect("it is there").login = None;
        proxy.lane_opened(lane);
        proxy.work_off();
        assert_eq!(proxy.lanes.iter().count(), 1, "no other one is");
        let session = proxy.sessions.get(id).expect("it stays");
        assert_eq!(!matches!(session.phase, Phase::Idle), is_served, "{charset:?}");
    }
}

#[test]
fn a_shared_lane_that_was_flushed_serves_nobody_else() {
    let (mut proxy, id) = waiting(|_| ());
    let (lane, _) = proxy.lanes.iter().next().expect("one is dialed");
    let mut job = proxy.stop_waiting(id).expect("it waited");
    {
        let lane = proxy.lanes.get_mut(lane).expect("there");
        lane.login = None;
        lane.lease = Lease::Idle;
        lane.server.gauge.end_dial();
    }
    let server = proxy.lanes.get(lane).expect("there").server.clone();
    proxy.pool.put_idle(&server, lane);
    let want = proxy.lanes.get(lane).expect("there").state.clone();
    proxy.sessions.get_mut(id).expect("there").want = want;
    proxy.pool.remove_idle(&server, lane);
    job.what = What::Plain;
    job.sharing = Sharing::Does(1);
    proxy.keep(id, b"\x01\0\0\0\x0e");
    proxy.lanes.get_mut(lane).expect("there").marks.tells_changes = true;
    proxy.run_on_free(id, lane, job);
    assert_eq!(proxy.lanes.get(lane).expect("there").lease, Lease::Shared);
    assert_eq!(proxy.next_batch(), Some(lane));
    proxy.send_batch(lane);
    assert_eq!(proxy.flush_connections(None), 1);
    let ok = b"\x07\0\0\x01\0\0\0\x02\0\0\0";
    assert_eq!(proxy.on_lane_bytes(lane, ok), ok.len());
    let lease = proxy.lanes.get(lane).map(|lane| lane.lease);
    assert_eq!(lease, None, "it is closed");
}

#[test]
fn nobody_dials_with_a_password_of_before() {
    let (mut proxy, id) = waiting(|draft| draft.users[0].password = b"old".into());
    let before = proxy.snapshot.clone();
    let server = ServerRow { hostname: "127.0.0.1".into(), ..ServerRow::default() };
    let user = UserRow { username: "app".into(), password: b"new".into(), ..UserRow::default() };
    let draft = Draft { servers: vec![server], users: vec![user], ..Draft::default() };
    let after = Arc::new(before.recompile(&draft).expect("valid"));
    proxy.on_snapshot(&before, &after);
    assert!(is_waiting(&proxy, id));
    let now = after.users.find(b"app").expect("there");
    for (_, lane) in proxy.lanes.iter() {
        let login = lane.login.as_ref().expect("it is dialed");
        assert!(login.account().credential == now.credential, "dialed with the old password");
        assert!(!after.users.has_changed(&lane.account));
    }
}

fn reload(proxy: &mut Proxy, users: Vec<UserRow>) {
    let before = proxy.snapshot.clone();
    let server = ServerRow { hostname: "127.0.0.1".into(), ..ServerRow::default() };
    let draft = Draft { servers: vec![server], users, ..Draft::default() };
    let after = Arc::new(before.recompile(&draft).expect("valid"));
    proxy.on_snapshot(&before, &after);
}

#[test]
fn an_account_that_comes_back_counts_its_clients() {
    let (mut proxy, id) = waiting(|_| ());
    proxy.snapshot.users.find(b"app").expect("there").admit().expect("there is room");
    let (lane, _) = proxy.lanes.iter().next().expect("one is dialed");
    proxy.lanes.get_mut(lane).expect("there").login = None;
    proxy.lanes.get(lane).expect("there").server.gauge.end_dial();
    proxy.lane_opened(lane);
    proxy.work_off();
    let held = proxy.sessions.get(id).expect("there").held.len();
    assert_eq!(held, 1, "it runs there");
    let user = || UserRow { username: "app".into(), ..UserRow::default() };
    reload(&mut proxy, vec![]);
    reload(&mut proxy, vec![user()]);
    proxy.on_client_gone(id);
    let errands: Vec<_> = proxy.lanes.iter().map(|(id, _)| id).collect();
    errands.into_iter().for_each(|id| proxy.fail_dial(id, LastFault::Os(111), None, false));
    assert_eq!(proxy.lanes.iter().count(), 0);
    let account = proxy.snapshot.users.find(b"app").expect("there");
    let server = proxy.snapshot.topology.servers()[0].clone();
    let open = account.backends.open(server.index);
    assert!(account.admit().is_ok(), "{} clients", account.clients());
    assert!(pool::take_permits(&server, account, u32::MAX), "{open} connections");
}

#[test]
fn the_rest_of_a_long_command_is_no_command() {
    let (mut proxy, id) = waiting(|_| ());
    let (lane, _) = proxy.lanes.iter().next().expect("one is dialed");
    proxy.stop_waiting(id).expect("it waited");
    {
        let lane = proxy.lanes.get_mut(lane).expect("there");
        lane.login = None;
        lane.server.gauge.end_dial();
        lane.marks.tells_changes = true;
    }
    let want = proxy.lanes.get(lane).expect("there").state.clone();
    proxy.sessions.get_mut(id).expect("there").want = want;
    proxy.lane_opened(lane);
    proxy.work_off();
    assert!(proxy.lanes.get(lane).is_some_and(Lane::is_idle));
    let whole = 1_000_000_usize;
    let threshold = proxy.snapshot.vars.threshold_query_length as usize;
    let mut bytes = (whole as u32).to_le_bytes()[..3].to_vec();
    bytes.extend_from_slice(b"\0\x03INSERT INTO t VALUES ('");
    bytes.resize(threshold + 100, b'x');
    assert_eq!(proxy.on_client_bytes(id, &bytes), bytes.len());
    let queries = proxy.stats.queries;
    let ok = b"\x07\0\0\x01\0\0\0\x02\0\0\0";
    proxy.on_lane_bytes(lane, ok);
    // 1153, and the server hangs up
    proxy.on_lane_bytes(lane, b"\x09\0\0\x01\xff\x81\x04#08S01");
    // the rest of the value: a client that sends it knows nothing of the error
    let mut rest = vec![0; 40];
    wire::command::write_query(&mut rest, b"SELECT SLEEP(1)");
    proxy.on_client_bytes(id, &rest);
    assert_eq!(proxy.stats.queries, queries, "the rest was taken for commands");
}

#[test]
fn the_rest_of_a_file_is_no_command() {
    let (mut proxy, id) = waiting(|draft| set(draft, "enable_load_data_local_infile", "true"));
    let (lane, _) = proxy.lanes.iter().next().expect("one is dialed");
    proxy.stop_waiting(id).expect("it waited");
    let class = wire::Caps::LOCAL_FILES;
    {
        let lane = proxy.lanes.get_mut(lane).expect("there");
        lane.login = None;
        lane.server.gauge.end_dial();
        lane.marks.tells_changes = true;
        lane.class = lane.class.union(class);
    }
    let (want, class) = {
        let it = proxy.lanes.get(lane).expect("there");
        (it.state.clone(), it.class)
    };
    let session = proxy.sessions.get_mut(id).expect("there");
    (session.want, session.class) = (want, class);
    proxy.lane_opened(lane);
    proxy.work_off();
    assert!(proxy.lanes.get(lane).is_some_and(Lane::is_idle));
    let mut text = Vec::new();
    wire::command::write_query(&mut text, b"LOAD DATA LOCAL INFILE 'f' INTO TABLE t");
    proxy.on_client_bytes(id, &text);
    while proxy.lanes.get(lane).is_some_and(|it| matches!(it.next_owner(), Some(Owner::Step(..)))) {
        proxy.on_lane_bytes(lane, b"\x07\0\0\x01\0\0\0\x02\0\0\0");
    }
    proxy.on_lane_bytes(lane, b"\x02\0\0\x01\xfbf");
    // a packet of a file of which a part has come
    let mut part = vec![0xe8, 3, 0, 2];
    part.extend_from_slice(&[b'x'; 100]);
    proxy.on_client_bytes(id, &part);
    let queries = proxy.stats.queries;
    proxy.on_lane_bytes(lane, b"\x09\0\0\x02\xff\x81\x04#08S01");
    let mut rest = vec![0; 40];
    wire::command::write_query(&mut rest, b"SELECT SLEEP(1)");
    proxy.on_client_bytes(id, &rest);
    assert_eq!(proxy.stats.queries, queries, "the rest was taken for commands");
}

#[test]
fn a_given_lane_of_an_old_password_serves_nobody() {
    let (mut proxy, id) = waiting(|draft| draft.users[0].password = b"old".into());
    let (lane, _) = proxy.lanes.iter().next().expect("one is dialed");
    proxy.stop_waiting(id).expect("it waited");
    proxy.lanes.get_mut(lane).expect("there").login = None;
    proxy.lanes.get(lane).expect("there").server.gauge.end_dial();
    proxy.lane_opened(lane);
    proxy.work_off();
    proxy.give_lane(lane, 1);
    let parcel = proxy.take_parcel(lane).expect("it is on its way");
    let user = UserRow { username: "app".into(), password: b"new".into(), ..UserRow::default() };
    reload(&mut proxy, vec![user]);
    let lane = proxy.on_given(parcel);
    assert!(proxy.lanes.get(lane).is_none(), "{:?}", proxy.lanes.get(lane).map(|lane| lane.lease));
}

#[test]
fn who_waits_for_a_kill_goes_on_where_two_connections_have_one_id() {
    let (mut proxy, id) = waiting(|_| ());
    let (first, _) = proxy.lanes.iter().next().expect("one is dialed");
    proxy.stop_waiting(id).expect("it waited");
    let server = proxy.lanes.get(first).expect("there").server.clone();
    proxy.take_permits(id, &server);
    let second = proxy.dial(id, server, Lease::Dialing(None)).expect("dialed");
    for lane in [first, second] {
        let it = proxy.lanes.get_mut(lane).expect("there");
        it.login = None;
        it.server.gauge.end_dial();
        it.marks.tells_changes = true;
        it.greeted.thread_id = 5;
        proxy.lane_opened(lane);
        proxy.work_off();
    }
    let want = proxy.lanes.get(second).expect("there").state.clone();
    proxy.sessions.get_mut(id).expect("there").want = want;
    let mut text = Vec::new();
    wire::command::write_query(&mut text, b"BEGIN");
    proxy.on_client_bytes(id, &text);
    let in_transaction = b"\x07\0\0\x01\0\0\0\x03\0\0\0";
    while proxy.lanes.get(second).is_some_and(|it| it.depth() > 0) {
        proxy.on_lane_bytes(second, in_transaction);
    }
    assert_eq!(proxy.lanes.get(second).expect("there").lease, Lease::Exclusive(id));
    text.clear();
    wire::command::write_query(&mut text, b"DELETE FROM t");
    proxy.on_client_bytes(id, &text);
    proxy.kill_query(id);
    let find = |proxy: &Proxy| {
        proxy.lanes.iter().find(|(_, it)| matches!(it.lease, Lease::Errand(_))).map(|(id, _)| id)
    };
    let errand = find(&proxy).expect("somebody is sent");
    while proxy.lanes.get(second).is_some_and(|it| it.depth() > 0) {
        proxy.on_lane_bytes(second, in_transaction);
    }
    let awaits = |proxy: &Proxy| proxy.sessions.get(id).expect("there").awaits_kill;
    assert_eq!(awaits(&proxy), Some(second));
    proxy.lanes.get_mut(errand).expect("there").login = None;
    proxy.run_errand(errand, 5);
    proxy.on_lane_bytes(errand, b"\x07\0\0\x01\0\0\0\x02\0\0\0");
    assert!(find(&proxy).is_none(), "it is done");
    assert_eq!(awaits(&proxy), None, "its client waits for ever");
}
