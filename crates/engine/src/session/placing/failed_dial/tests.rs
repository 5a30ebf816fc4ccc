//! Connects that fail or take long: how many there are, when, and what their sessions are told.

use std::sync::Arc;

use wire::result::ReplyKind;

use super::*;
use crate::ids::ConnectionId;
use crate::lane::Lane;
use crate::link::Charset;
use crate::proxy::{Arrival, Offer};
use crate::rows::{HostgroupRow, ServerRow, UserRow};
use crate::snapshot::{Draft, Snapshot};

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
    let again = "server 127.0.0.1:3306 in hostgroup 0 serves again: it was shunned, and lets \
                 us in";
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
