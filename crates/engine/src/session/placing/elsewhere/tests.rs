//! A connection is sent elsewhere, byte by byte: where it is dialed, and what its failure costs.

use std::sync::Arc;

use wire::Status;
use wire::connect::{Greeting, HandshakeResponse};
use wire::frame::{self, Framed};
use wire::reply::{ErrPacket, OkPacket, SessionChange, write_err, write_ok};

use super::*;
use crate::rows::ServerRow;
use crate::session::placing::failed_dial::tests::waiting;
use crate::stats::Counters;

const CAPS: Caps = Caps::OF_OWN_SERVERS.union(Caps::SESSION_TRACK).union(Caps::CONNECT_ATTRS);

fn greeting() -> Vec<u8> {
    let greeting = Greeting {
        server_version: b"11.4.2-MariaDB",
        connection_id: 7,
        scramble: [1; 20],
        caps: CAPS,
        collation: 45,
        status: Status::AUTOCOMMIT,
        plugin: b"mysql_native_password",
    };
    let mut out = Vec::new();
    frame::write_with(&mut out, &mut 0, |payload| greeting.encode(payload));
    out
}

fn ok_with(url: &[u8]) -> Vec<u8> {
    let mut session_track = Vec::new();
    let (name, value) = (redirect::VARIABLE, url);
    SessionChange::SystemVariable { name, value }.encode(&mut session_track);
    let ok = OkPacket { status: Status::AUTOCOMMIT, session_track: &session_track, ..ok() };
    let mut out = Vec::new();
    write_ok(&mut out, &mut 2, CAPS, &ok);
    out
}

fn ok() -> OkPacket<'static> {
    OkPacket::default()
}

/// What became of the dials that were ordered since: lane, and address where it is elsewhere.
fn dials(proxy: &mut Proxy) -> Vec<(LaneId, Option<String>)> {
    let orders = std::mem::take(&mut proxy.orders.list);
    let dial = |order: &Order| match order {
        Order::Dial { lane, at, .. } => Some((*lane, at.map(|at| at.to_string()))),
        _ => None,
    };
    orders.iter().filter_map(dial).collect()
}

/// A proxy that follows, with a session that waits and whose first connection was let in.
fn sent_elsewhere(url: &[u8]) -> (Proxy, SessionId) {
    sent_elsewhere_by(url, |_| ())
}

/// The same of another server.
fn sent_elsewhere_by(url: &[u8], amend: impl Fn(&mut ServerRow)) -> (Proxy, SessionId) {
    let (mut proxy, id) = waiting(|draft| {
        draft.variables.push(("mysql-follow_redirects".into(), "true".into()));
        draft.servers.iter_mut().for_each(&amend);
    });
    let first = dials(&mut proxy);
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].1, None, "nothing was offered yet");
    proxy.on_lane_bytes(first[0].0, &greeting());
    proxy.on_lane_bytes(first[0].0, &ok_with(url));
    proxy.orders.list.clear();
    (proxy, id)
}

fn dial(proxy: &mut Proxy, id: SessionId) -> (LaneId, Option<String>) {
    let server = proxy.snapshot.topology.servers()[0].clone();
    assert!(proxy.take_permits(id, &server));
    proxy.dial(id, server, Lease::Dialing(None)).expect("dialed");
    dials(proxy).pop().expect("ordered")
}

#[test]
fn the_next_connection_goes_where_the_login_of_the_first_one_says() {
    let (mut proxy, id) = sent_elsewhere(b"mysql://10.0.0.2:3307/?user=app2");
    let (lane, at) = dial(&mut proxy, id);
    assert_eq!(at.as_deref(), Some("10.0.0.2:3307"));
    proxy.orders.made.clear();
    proxy.on_lane_bytes(lane, &greeting());
    let Framed::Packet(packet) = frame::next_packet(&proxy.orders.made) else {
        panic!("it answers");
    };
    let response = HandshakeResponse::parse(packet.payload).expect("valid");
    assert_eq!(response.user, b"app2");
    assert!(proxy.is_itself(response.attributes), "it would know itself");
    proxy.on_lane_bytes(lane, &ok_with(b""));
    let counted = (proxy.stats.redirects_offered, proxy.stats.redirects_followed);
    assert_eq!((counted, proxy.stats.redirects_failed), ((1, 1), 0));
    assert_eq!(dial(&mut proxy, id).1.as_deref(), Some("10.0.0.2:3307"));
}

#[test]
fn a_server_with_tls_behind_a_socket_sends_nobody_anywhere_in_clear_text() {
    let (mut proxy, id) = sent_elsewhere_by(b"mysql://10.0.0.2:3307/?ttl=100", |server| {
        (server.hostname, server.port, server.use_ssl) = ("/run/db.sock".into(), 0, 1);
    });
    let (lane, at) = dial(&mut proxy, id);
    assert_eq!(at.as_deref(), Some("10.0.0.2:3307"));
    proxy.orders.made.clear();
    // one without TLS gets nothing, and the server itself is asked
    proxy.on_lane_bytes(lane, &greeting());
    assert!(proxy.orders.made.is_empty(), "{:?}", proxy.orders.made);
    assert_eq!(dials(&mut proxy), [(lane, None)]);
    assert_eq!((proxy.stats.server_tls_failures, proxy.stats.redirects_failed), (1, 1));
}

#[test]
fn a_place_that_fails_costs_one_more_dial_and_nothing_else() {
    let mut refused = Vec::new();
    let said = ErrPacket { code: 1045, sqlstate: *b"28000", message: b"no" };
    write_err(&mut refused, &mut 2, &said);
    type Way<'a> = &'a dyn Fn(&mut Proxy, LaneId);
    let ways: [Way<'_>; 4] = [
        &|proxy, lane| proxy.on_dialed(lane, Err(111)),
        &|proxy, lane| proxy.on_lane_gone(lane, 0),
        &|proxy, lane| {
            proxy.on_lane_bytes(lane, &[greeting(), refused.clone()].concat());
        },
        &|proxy, lane| {
            proxy.set_now(proxy.now_us + 1_000_000);
            proxy.on_deadline(End::Lane(lane));
        },
    ];
    for fail in ways {
        let (mut proxy, id) = sent_elsewhere(b"mysql://10.0.0.2:3307");
        let (lane, _) = dial(&mut proxy, id);
        let server = proxy.snapshot.topology.servers()[0].clone();
        let before = (server.gauge.used(), server.gauge.dialing(), proxy.lanes.len());
        fail(&mut proxy, lane);
        assert_eq!(dials(&mut proxy), [(lane, None)], "the same lane, to the server itself");
        assert_eq!((server.gauge.used(), server.gauge.dialing(), proxy.lanes.len()), before);
        let Counters { redirects_failed, lanes_failed, shuns, .. } = proxy.stats;
        assert_eq!((redirects_failed, lanes_failed, shuns), (1, 0, 0));
        assert_eq!(dial(&mut proxy, id).1, None, "nobody goes there for a while");
        proxy.on_deadline(End::Lane(lane));
        assert!(proxy.lanes.get(lane).is_some(), "the time of the first dial is not its own");
        proxy.on_lane_bytes(lane, &[greeting(), ok_with(b"")].concat());
        assert!(proxy.lanes.get(lane).is_some_and(|lane| lane.login.is_none()));
    }
}

#[test]
fn a_query_is_killed_where_it_runs_and_nowhere_else() {
    let (mut proxy, id) = sent_elsewhere(b"mysql://10.0.0.2:3307");
    let (lane, _) = dial(&mut proxy, id);
    proxy.on_lane_bytes(lane, &[greeting(), ok_with(b"")].concat());
    proxy.orders.list.clear();
    proxy.order_kill(lane);
    let (errand, at) = dials(&mut proxy).pop().expect("ordered");
    assert_eq!(at.as_deref(), Some("10.0.0.2:3307"));
    proxy.on_dialed(errand, Err(111));
    assert_eq!(dials(&mut proxy), [], "the server itself has other connections by that id");
    assert!(proxy.lanes.get(errand).is_none());
    let gauge = &proxy.snapshot.topology.servers()[0].gauge;
    assert_eq!(gauge.last_fault(), LastFault::None, "nor does that say anything of it");
}

#[test]
fn nobody_is_sent_anywhere_unless_that_is_asked_for() {
    let (mut proxy, id) = waiting(|_| ());
    let (lane, _) = dials(&mut proxy).pop().expect("dialed");
    proxy.on_lane_bytes(lane, &[greeting(), ok_with(b"mysql://10.0.0.2:3307")].concat());
    assert_eq!(dial(&mut proxy, id).1, None);
    assert_eq!(proxy.stats.redirects_offered, 0);
    let (mut proxy, id) = sent_elsewhere(b"mysql://10.0.0.2:3307");
    let before = proxy.snapshot.clone();
    let off = crate::snapshot::Draft::default();
    let after = before.recompile(&off).expect("valid");
    proxy.on_snapshot(&before, &Arc::new(after));
    let server = before.topology.servers()[0].clone();
    let account = before.users.find(b"app").expect("there").clone();
    assert!(proxy.place_of(&server, &account).is_none() && proxy.redirects.rows(0).count() == 0);
    let _ = id;
}
