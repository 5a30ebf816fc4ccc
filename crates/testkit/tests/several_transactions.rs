//! What ends transactions of a session that has several: without `transaction_persistent`, on the
//! connections that rules sent its statements to.

use engine::lane::Lease;
use engine::rows::{RuleRow, ServerRow};
use engine::snapshot::Draft;
use io::{Faults, Sock};
use testkit::raw::{Hall, tagged};
use testkit::sim::{Simulator, Weather};
use wire::Caps;
use wire::reply::ErrPacket;

/// Reads go to one hostgroup, what begins with `INSERT` to another one, and the rest to a third.
/// The first two have the same server.
fn apart(draft: &mut Draft) {
    let first = draft.servers.first().expect("a server").clone();
    let server = |hostgroup_id| {
        let at = if hostgroup_id == 2 { 2 } else { 1 };
        ServerRow { hostgroup_id, hostname: format!("10.0.0.{at}"), ..first.clone() }
    };
    draft.servers = [0, 1, 2].map(server).into();
    let rule = |(rule_id, word, to): (i64, &str, i64)| RuleRow {
        rule_id,
        active: 1,
        match_digest: Some(format!("^{word}")),
        destination_hostgroup: Some(to),
        apply: 1,
        ..RuleRow::default()
    };
    draft.rules = [(1, "SELECT", 1), (2, "INSERT", 2)].map(rule).into();
    draft.users.iter_mut().for_each(|user| user.transaction_persistent = 0);
}

struct Room {
    hall: Hall,
    sock: Sock,
}

impl Room {
    /// A session without autocommit.
    fn open() -> Self {
        let mut room = Self::with_autocommit();
        room.ok("SET autocommit=0");
        room
    }

    fn with_autocommit() -> Self {
        let weather = Weather { faults: Faults::none(), amend: apart, ..Weather::cutting() };
        let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
        // servers are found by their names from now on
        let snapshot = hall.stage.snapshot.clone();
        hall.stage.follow_with(snapshot, 1 << 16);
        let sock = hall.login(Caps::DEPRECATE_EOF.union(Caps::MULTI_STATEMENTS));
        Self { hall, sock }
    }

    fn ok(&mut self, text: &str) {
        let answer = self.hall.ask(self.sock, text);
        assert_eq!(answer.first(), Some(&0), "{text}: {}", answer.escape_ascii());
    }

    /// Reads in a transaction with that number, which begins with it.
    fn read(&mut self, transaction: u32) {
        self.read_as(transaction, "", "");
    }

    /// The same with another value of what the server is told to do.
    fn read_as(&mut self, transaction: u32, told: &str, other: &str) {
        let text = own("SELECT", "rows", &format!("{transaction} op=1"), "v FROM t");
        self.hall.query(self.sock, &text.replace(told, other));
        self.hall.result(self.sock);
    }

    /// Changes something, likewise.
    fn change(&mut self, verb: &str, transaction: u32) {
        self.ok(&own(verb, "write", &format!("{transaction} op=1"), "t"));
    }

    /// Whether the session keeps no connection, and no server found fault.
    fn has_ended(&mut self) {
        self.hall.wait_ms(5);
        let lanes = self.hall.stage.proxies().flat_map(|proxy| proxy.lanes());
        let kept = lanes.filter(|(_, lane)| matches!(lane.lease, Lease::Exclusive(_))).count();
        assert_eq!(kept, 0);
        assert_eq!(self.hall.stage.board.borrow().trouble, [""; 0]);
    }
}

/// A statement of a session without autocommit.
fn own(verb: &str, kind: &str, transaction: &str, rest: &str) -> String {
    tagged(verb, kind, transaction, rest).replace("ac=1", "ac=0")
}

#[test]
fn what_was_changed_is_committed_and_rolled_back_whatever_was_read_elsewhere() {
    let reads_first: fn(&mut Room) = |room| {
        room.read(1);
        room.change("DELETE", 2);
    };
    let changes_first: fn(&mut Room) = |room| {
        room.change("DELETE", 2);
        room.read(1);
    };
    for begin in [reads_first, changes_first] {
        for verb in ["COMMIT", "ROLLBACK"] {
            let mut room = Room::open();
            begin(&mut room);
            room.ok(&own(verb, "end", "2 op=0", ""));
            room.has_ended();
        }
        let mut room = Room::open();
        begin(&mut room);
        room.ok("SET autocommit=1");
        room.has_ended();
        // no other connection has a transaction open in which this would be found
        room.ok(&tagged("DELETE", "write", "0 op=0", "t"));
        room.has_ended();
    }
}

#[test]
fn where_all_have_only_read_one_of_them_is_told() {
    let mut room = Room::open();
    room.read(1);
    room.ok(&own("COMMIT", "end", "1 op=0", ""));
    room.has_ended();
}

#[test]
fn data_is_changed_in_one_transaction_at_most() {
    for verb in ["COMMIT", "ROLLBACK"] {
        let mut room = Room::open();
        room.read(1);
        room.change("DELETE", 2);
        let answer = room.hall.ask(room.sock, &own("INSERT", "write", "3 op=0", "t"));
        let error = ErrPacket::parse(&answer).expect("an error");
        let said = String::from_utf8_lossy(error.message).into_owned();
        let why = "Tidegate: the connection is locked to hostgroup 0 (transaction) but the \
                   statement goes to hostgroup 2";
        assert_eq!((error.code, said.as_str()), (9006, why));
        room.ok(&own(verb, "end", "2 op=0", ""));
        room.has_ended();
    }
}

#[test]
fn the_end_of_a_transaction_is_where_it_was_changed_whatever_it_asks_besides() {
    for verb in ["COMMIT", "ROLLBACK"] {
        let mut room = Room::open();
        room.change("DELETE", 2);
        room.read_as(1, "wa=0", "wa=1");
        room.ok(&own("SHOW", "end", "2 op=0", &format!("WARNINGS; {verb}")));
        room.has_ended();
    }
}

#[test]
fn a_connection_that_stays_loses_its_transaction_with_the_session_s() {
    for verb in ["COMMIT", "ROLLBACK"] {
        let mut room = Room::open();
        room.change("DELETE", 2);
        // it changes its server's session, so that what follows goes there
        room.read_as(1, "pop=0", "pop=1");
        room.ok(&own(verb, "end", "2 op=0", ""));
        room.read(3);
        assert_eq!(room.hall.stage.board.borrow().trouble, [""; 0]);
    }
}

#[test]
fn where_a_session_is_tied_to_what_has_only_read_it_changes_nothing() {
    let mut room = Room::open();
    room.change("DELETE", 2);
    room.read_as(1, "pop=0", "pop=1");
    let answer = room.hall.ask(room.sock, &own("DELETE", "write", "2 op=0", "t"));
    let error = ErrPacket::parse(&answer).expect("an error");
    assert_eq!(error.code, 9006, "{}", error.message.escape_ascii());
    room.ok(&own("COMMIT", "end", "2 op=0", ""));
    assert_eq!(room.hall.stage.board.borrow().trouble, [""; 0]);
}

#[test]
fn what_changes_data_behind_a_begin_is_part_of_its_transaction() {
    let mut room = Room::with_autocommit();
    room.ok(&tagged("BEGIN", "plain", "2 op=1", ""));
    let answer = room.hall.ask(room.sock, &tagged("INSERT", "write", "0 op=0", "t"));
    let error = ErrPacket::parse(&answer).expect("an error");
    assert_eq!(error.code, 9006, "{}", error.message.escape_ascii());
    room.ok(&tagged("DELETE", "write", "2 op=0", "t"));
    room.ok(&tagged("ROLLBACK", "end", "2 op=0", ""));
    room.has_ended();
}
