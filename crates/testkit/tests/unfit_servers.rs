//! Servers that checks are against: what becomes of their connections, and of whoever has them.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::ids::HostgroupId;
use engine::lane::Lease;
use engine::rows::{ReplicationRow, ServerRow};
use engine::snapshot::{Draft, Snapshot};
use engine::topology::{Placed, Stand};
use io::{Faults, Sock};
use testkit::raw::{Hall, respond, tagged};
use testkit::sim::{Simulator, Weather};
use wire::Caps;

struct Room {
    hall: Hall,
    busy: Sock,
    idle: Sock,
}

impl Room {
    /// One client in a transaction, one that has given its connection back.
    fn open() -> Self {
        Self::open_with(|_| ())
    }

    /// The same with something else in the configuration.
    fn open_with(amend: fn(&mut Draft)) -> Self {
        let weather = Weather { faults: Faults::none(), amend, ..Weather::cutting() };
        let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
        let [busy, idle] = [(); 2].map(|()| hall.login(Caps::DEPRECATE_EOF));
        let mut room = Self { hall, busy, idle };
        assert_eq!(room.ask(busy, &tagged("BEGIN", "plain", "1 op=1", "")), Some(0));
        assert_eq!(room.write(), Some(0));
        assert_eq!(room.hall.lanes(), 2);
        room
    }

    /// How the answer begins.
    fn ask(&mut self, sock: Sock, text: &str) -> Option<u8> {
        self.hall.ask(sock, text).first().copied()
    }

    fn write(&mut self) -> Option<u8> {
        let idle = self.idle;
        self.ask(idle, &tagged("DELETE", "write", "0 op=0", "FROM t"))
    }

    /// All servers stand like this from now on.
    fn stand(&mut self, stand: Stand) {
        self.place(|row| Some(Placed { stand, ..Placed::as_typed(row) }));
    }

    /// All servers are where this has them.
    fn place(&mut self, place: impl Fn(&ServerRow) -> Option<Placed>) {
        let before = self.hall.stage.snapshot.clone();
        let placed: Vec<_> = before.draft.servers.iter().filter_map(place).collect();
        let next = Snapshot::clone(&before).place(&placed, &before).expect("valid");
        self.hall.stage.follow_with(Arc::new(next), 1 << 16);
        self.hall.wait_ms(5);
    }
}

#[test]
fn what_was_begun_on_a_server_that_lags_may_end_and_nothing_new_begins() {
    let mut room = Room::open();
    room.stand(Stand::Lagging { lag_us: 9_000_000 });
    assert_eq!(room.hall.lanes(), 1, "what is free goes");
    let busy = room.busy;
    assert_eq!(room.ask(busy, &tagged("COMMIT", "end", "1 op=0", "")), Some(0));
    room.hall.wait_ms(5);
    assert_eq!(room.hall.lanes(), 0, "the other when it is let go");
    let idle = room.idle;
    room.hall.query(idle, &tagged("DELETE", "write", "0 op=0", "FROM t"));
    assert_eq!(room.hall.error(idle), Some(9001), "there is no server left");
    room.stand(Stand::Well);
    assert_eq!(room.write(), Some(0), "it is back");
}

#[test]
fn what_runs_on_a_server_that_misses_pings_is_given_up() {
    let mut room = Room::open();
    room.stand(Stand::Silent);
    assert_eq!(room.hall.lanes(), 0, "all of them");
    room.stand(Stand::Well);
    assert_eq!(room.write(), Some(0), "who had nothing there goes on");
    let busy = room.busy;
    room.hall.query(busy, &tagged("COMMIT", "end", "1 op=0", ""));
    let (told, _) = room.hall.packet(busy).expect("answered");
    let told = String::from_utf8_lossy(&told[9..]).into_owned();
    assert_eq!(
        told,
        "Lost connection to MySQL server during query (server 10.0.0.1:3306: shunned by its checks)"
    );
}

impl Room {
    /// These hostgroups are held, and no other.
    fn hold(&mut self, held: &[u32]) {
        let held = held.iter().copied().map(HostgroupId).collect();
        let next = Snapshot::clone(&self.hall.stage.snapshot).holding(held);
        self.hall.stage.follow_with(Arc::new(next), 1 << 16);
        self.hall.wait_ms(5);
    }
}

#[test]
fn in_a_held_hostgroup_transactions_end_and_nothing_else_begins() {
    let mut room = Room::open();
    let (busy, idle) = (room.busy, room.idle);
    room.hold(&[0]);
    room.hall.query(idle, &tagged("DELETE", "write", "0 op=0", "FROM t"));
    room.hall.wait_ms(50);
    assert_eq!(room.hall.take(idle), [0_u8; 0], "it waits");
    assert_eq!(room.ask(busy, &tagged("DELETE", "write", "1 op=0", "FROM t")), Some(0));
    assert_eq!(room.ask(busy, &tagged("COMMIT", "end", "1 op=0", "")), Some(0));
    room.hall.query(busy, &tagged("BEGIN", "plain", "2 op=1", ""));
    room.hall.wait_ms(50);
    assert_eq!(room.hall.take(busy), [0_u8; 0], "nor does another transaction begin");
    room.hold(&[]);
    for sock in [idle, busy] {
        let (answer, _) = room.hall.packet(sock).expect("answered");
        assert_eq!(answer.first(), Some(&0), "{}", answer.escape_ascii());
    }
}

/// Every account has a connection of its own for good.
fn relayed(draft: &mut Draft) {
    draft.users.iter_mut().for_each(|row| row.fast_forward = 1);
}

#[test]
fn a_client_with_a_connection_for_good_logs_in_when_its_hostgroup_is_held_no_more() {
    let weather = Weather { faults: Faults::none(), amend: relayed, ..Weather::cutting() };
    let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
    let (hold, release) = (BTreeSet::from([HostgroupId(0)]), BTreeSet::new());
    let follow = |hall: &mut Hall, held| {
        let next = Snapshot::clone(&hall.stage.snapshot).holding(held);
        hall.stage.follow_with(Arc::new(next), 1 << 16);
        hall.wait_ms(5);
    };
    follow(&mut hall, hold.clone());
    let (sock, greeting) = hall.connect();
    hall.send(sock, &respond(&greeting, Caps::DEPRECATE_EOF));
    hall.wait_ms(300);
    assert_eq!(hall.take(sock), [0_u8; 0], "it waits");
    follow(&mut hall, release);
    let (answer, _) = hall.packet(sock).expect("answered");
    assert_eq!(answer.first(), Some(&0), "{}", answer.escape_ascii());
    // and not for ever
    follow(&mut hall, hold);
    let (sock, greeting) = hall.connect();
    hall.send(sock, &respond(&greeting, Caps::DEPRECATE_EOF));
    let (answer, _) = hall.packet(sock).expect("answered");
    let told = String::from_utf8_lossy(&answer[9..]).into_owned();
    let why = "Max connect timeout reached while reaching hostgroup 0 after 10000ms: \
               it is held (SHOW TOPOLOGY)";
    assert_eq!(told, why);
}

/// The same server in another hostgroup, of which the checks have found that.
fn elsewhere(row: &ServerRow, stand: Stand) -> Option<Placed> {
    let placed = Placed { stand, ..Placed::as_typed(row) };
    Some(Placed { row: ServerRow { hostgroup_id: 9, ..placed.row.clone() }, ..placed })
}

#[test]
fn what_runs_on_a_server_that_left_its_hostgroup_is_given_up_with_the_server() {
    for stand in [Stand::Silent, Stand::Astray] {
        let mut room = Room::open();
        room.place(|row| elsewhere(row, Stand::Well));
        assert_eq!(room.hall.lanes(), 1, "a transaction may end where it began");
        room.place(|row| elsewhere(row, stand));
        assert_eq!(room.hall.lanes(), 0, "{stand:?}");
        let busy = room.busy;
        room.hall.query(busy, &tagged("DELETE", "write", "1 op=0", "FROM t"));
        assert_eq!(room.hall.error(busy), Some(1158));
        assert!(room.hall.ends(busy));
    }
}

impl Room {
    /// A statement that leaves warnings, for which alone its connection is kept.
    fn warn(&mut self) {
        let idle = self.idle;
        let text = tagged("DELETE", "write", "0 op=0", "FROM t").replace("wa=0", "wa=2");
        assert_eq!(self.ask(idle, &text), Some(0));
        assert_eq!(self.kept(), 2);
    }

    /// Connections that sessions have for themselves.
    fn kept(&self) -> usize {
        let lanes = self.hall.stage.proxies().flat_map(|proxy| proxy.lanes());
        lanes.filter(|(_, lane)| matches!(lane.lease, Lease::Exclusive(_))).count()
    }
}

#[test]
fn no_session_stays_with_a_server_that_left_for_what_it_may_be_told() {
    let mut room = Room::open();
    room.warn();
    room.place(|row| elsewhere(row, Stand::Well));
    assert_eq!((room.kept(), room.hall.lanes()), (1, 1), "what keeps warnings alone is closed");
    assert_eq!(room.hall.counters().diagnostics_kept, 1);
    let mut room = Room::open();
    room.warn();
    room.hold(&[0]);
    assert_eq!((room.kept(), room.hall.lanes()), (1, 2), "nor is it in use in a held hostgroup");
    assert_eq!(room.hall.counters().diagnostics_kept, 1);
}

/// No more than two connections.
fn two(draft: &mut Draft) {
    draft.servers.iter_mut().for_each(|row| row.max_connections = 2);
}

#[test]
fn in_a_held_hostgroup_no_connection_makes_room_for_another() {
    let mut room = Room::open_with(two);
    let (busy, idle) = (room.busy, room.idle);
    assert_eq!(room.ask(idle, &tagged("BEGIN", "plain", "1 op=1", "")), Some(0));
    room.hold(&[0]);
    let other = room.hall.login(Caps::DEPRECATE_EOF.union(Caps::FOUND_ROWS));
    room.hall.query(other, &tagged("DELETE", "write", "0 op=0", "FROM t"));
    room.hall.wait_ms(300);
    let before = room.hall.counters().lanes_created;
    for sock in [busy, idle] {
        assert_eq!(room.ask(sock, &tagged("COMMIT", "end", "1 op=0", "")), Some(0));
        room.hall.wait_ms(300);
    }
    assert_eq!(room.hall.counters().lanes_created, before, "nobody may use it");
    room.hold(&[]);
    let (answer, _) = room.hall.packet(other).expect("answered");
    assert_eq!(answer.first(), Some(&0), "{}", answer.escape_ascii());
}

#[test]
fn whoever_waits_too_long_for_a_held_hostgroup_is_told_why() {
    let mut room = Room::open();
    room.hold(&[0, 7]);
    let idle = room.idle;
    room.hall.query(idle, &tagged("DELETE", "write", "0 op=0", "FROM t"));
    let (told, _) = room.hall.packet(idle).expect("answered");
    let told = String::from_utf8_lossy(&told[9..]).into_owned();
    let why = "Max connect timeout reached while reaching hostgroup 0 after 10000ms: it \
               is held (SHOW TOPOLOGY)";
    assert_eq!(told, why);
}

/// Servers move between the hostgroups of writers and readers.
fn paired(draft: &mut Draft) {
    draft.replication.push(ReplicationRow { reader_hostgroup: 1, ..ReplicationRow::default() });
}

/// A hostgroup of writers without servers, and a write that comes then.
fn without_writer(amend: fn(&mut Draft)) -> Room {
    let mut room = Room::open_with(amend);
    room.place(|row| (row.hostgroup_id != 0).then(|| Placed::as_typed(row)));
    let idle = room.idle;
    room.hall.query(idle, &tagged("DELETE", "write", "0 op=0", "FROM t"));
    room.hall.wait_ms(50);
    room
}

#[test]
fn a_write_waits_for_a_writer_that_may_come_and_is_then_answered() {
    let mut room = without_writer(paired);
    assert_eq!(room.hall.take(room.idle), [0_u8; 0], "it waits");
    room.place(|row| Some(Placed::as_typed(row)));
    let (answer, _) = room.hall.packet(room.idle).expect("answered");
    assert_eq!(answer.first(), Some(&0), "{}", answer.escape_ascii());
}

#[test]
fn nobody_waits_for_a_writer_where_none_can_come() {
    let mut room = without_writer(|_| ());
    let began = room.hall.stage.net.now();
    assert_eq!(room.hall.error(room.idle), Some(9001));
    let waited = room.hall.stage.net.now().since(began).as_ms();
    assert!(waited < 10, "{waited} ms");
}
