//! What ends transactions of a session that has several: without `transaction_persistent`, on the
//! connections that rules sent its statements to.

use engine::lane::Lease;
use engine::rows::{RuleRow, ServerRow};
use engine::snapshot::Draft;
use io::{Faults, Micros, Sock};
use testkit::raw::{Hall, tagged};
use testkit::sim::{Simulator, Weather};
use wire::Caps;
use wire::command::{self, code};
use wire::reply::ErrPacket;

/// Reads and `SHOW` go to one hostgroup, `INSERT` to another one, and the rest to a third.
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
        match_digest: Some(format!("^({word})")),
        destination_hostgroup: Some(to),
        apply: 1,
        ..RuleRow::default()
    };
    draft.rules = [(1, "SELECT|SHOW", 1), (2, "INSERT", 2)].map(rule).into();
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

    /// It is meant for another server than that of the session's transaction.
    fn is_refused(&mut self, text: &str) {
        let answer = self.hall.ask(self.sock, text);
        let error = ErrPacket::parse(&answer).expect("an error");
        assert_eq!(error.code, 9006, "{text}: {}", error.message.escape_ascii());
    }

    /// Prepares a statement with one parameter, which says what its executions do.
    fn prepare(&mut self, verb: &str) -> Vec<u8> {
        let text = own(verb, "prepare", "0 op=0", "FROM t WHERE v = ?");
        self.send(code::STMT_PREPARE, text.as_bytes());
        let answer = self.hall.packet(self.sock).expect("prepared").0;
        let told = answer[5] + answer[7];
        (0..told).for_each(|_| drop(self.hall.packet(self.sock)));
        answer[1..5].to_vec()
    }

    fn send(&mut self, code: u8, body: &[u8]) {
        let mut bytes = Vec::new();
        command::write(&mut bytes, code, body);
        self.hall.send(self.sock, &bytes);
    }

    /// Whether the session keeps no connection, and no server found fault.
    fn has_ended(&mut self) {
        self.hall.wait_ms(5);
        assert_eq!(kept(&self.hall), 0);
        assert_eq!(self.hall.stage.board.borrow().trouble, [""; 0]);
    }
}

/// The account's sessions are to have one transaction each.
fn unite(room: &mut Room) {
    let mut draft = Draft::clone(&room.hall.stage.snapshot.draft);
    // a snapshot keeps no rules
    apart(&mut draft);
    draft.users.iter_mut().for_each(|user| user.transaction_persistent = 1);
    room.hall.stage.reconfigure(&draft, 1 << 16);
    room.hall.wait_ms(5);
}

/// Connections that are kept.
fn kept(hall: &Hall) -> usize {
    let lanes = hall.stage.proxies().flat_map(|proxy| proxy.lanes());
    lanes.filter(|(_, lane)| matches!(lane.lease, Lease::Exclusive(_))).count()
}

/// A statement of a session without autocommit.
fn own(verb: &str, kind: &str, transaction: &str, rest: &str) -> String {
    tagged(verb, kind, transaction, rest).replace("ac=1", "ac=0")
}

#[test]
fn answers_from_elsewhere_tell_of_the_transaction() {
    const TELLS: u8 = 3;
    let mut room = Room::with_autocommit();
    room.ok(&tagged("BEGIN", "plain", "2 op=1", ""));
    room.ok(&tagged("DELETE", "write", "2 op=0", "t"));
    // on a server that knows of none
    room.hall.query(room.sock, &tagged("SELECT", "rows", "0 op=0", "v FROM t"));
    let result = room.hall.result(room.sock);
    // the marker, two lengths, the flags
    let end = result.len() - OK_BYTES;
    assert_eq!(result[end..end + 4], [0xfe, 0, 0, TELLS], "{}", result.escape_ascii());
    room.send(code::PING, b"");
    assert_eq!(room.hall.packet(room.sock).expect("answered").0[3], TELLS);
    room.ok(&tagged("COMMIT", "end", "2 op=0", ""));
    room.send(code::PING, b"");
    assert_eq!(room.hall.packet(room.sock).expect("answered").0[3], 2);
}

/// An OK packet that says nothing else.
const OK_BYTES: usize = 7;

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
fn what_a_read_warned_of_is_over_with_a_statement_elsewhere() {
    for (changes, rows) in [(false, 2), (true, 0)] {
        let mut room = Room::open();
        room.read(1);
        room.read_as(1, "wa=0", "wa=1");
        if changes {
            room.change("DELETE", 2);
        }
        for _ in 0..2 {
            room.hall.query(room.sock, "SHOW WARNINGS");
            let answer = room.hall.result(room.sock);
            let told = answer.windows(5).filter(|part| *part == b"s1 q1").count();
            assert_eq!(told, rows, "{}", answer.escape_ascii());
        }
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
    room.is_refused(&own("DELETE", "write", "2 op=0", "t"));
    room.ok(&own("COMMIT", "end", "2 op=0", ""));
    assert_eq!(room.hall.stage.board.borrow().trouble, [""; 0]);
}

#[test]
fn what_changes_data_behind_a_begin_is_part_of_its_transaction() {
    let with: fn(&str, &str, &str, &str) -> String = tagged;
    for (mut room, say) in [(Room::with_autocommit(), with), (Room::open(), own)] {
        room.ok(&say("BEGIN", "plain", "2 op=1", ""));
        room.is_refused(&say("INSERT", "write", "0 op=0", "t"));
        room.ok(&say("DELETE", "write", "2 op=0", "t"));
        room.ok(&say("ROLLBACK", "end", "2 op=0", ""));
        room.has_ended();
    }
}

#[test]
fn what_is_executed_with_data_that_was_sent_ahead_changes_the_transaction() {
    for verb in ["COMMIT", "ROLLBACK"] {
        let mut room = Room::open();
        room.read(1);
        let stmt = room.prepare("DELETE");
        let words = own("", "write", "2 op=1", "");
        let data = [&stmt[..], &[0, 0], words.trim_matches([' ', '/', '*']).as_bytes()].concat();
        room.send(code::STMT_SEND_LONG_DATA, &data);
        room.send(code::STMT_EXECUTE, &[&stmt[..], &[0, 1, 0, 0, 0, 0, 1, 0xfd, 0]].concat());
        assert_eq!(room.hall.packet(room.sock).expect("answered").0.first(), Some(&0));
        room.ok(&own(verb, "end", "2 op=0", ""));
        room.has_ended();
    }
}

#[test]
fn a_session_that_is_to_have_one_transaction_ends_those_it_has_first() {
    let idle: fn(&mut Room) = |room| room.read(1);
    let running: fn(&mut Room) = |room| {
        let text = own("SELECT", "rows", "1 op=1", "v FROM t");
        room.hall.stage.net.stall(&io::Addr::Tcp(([10, 0, 0, 1], 3306).into()), Micros(20_000));
        room.hall.query(room.sock, &text);
        assert!(room.hall.until(|hall| kept(hall) == 1), "it runs");
    };
    for (read, runs) in [(idle, false), (running, true)] {
        let mut room = Room::open();
        read(&mut room);
        unite(&mut room);
        if runs {
            room.hall.result(room.sock);
        }
        room.change("DELETE", 2);
        room.is_refused(&own("INSERT", "write", "2 op=0", "t"));
        room.ok(&own("COMMIT", "end", "2 op=0", ""));
        room.has_ended();
        // the next one is one, whatever rules say
        room.change("DELETE", 3);
        room.ok(&own("INSERT", "write", "3 op=0", "t"));
        room.ok(&own("ROLLBACK", "end", "3 op=0", ""));
        room.has_ended();
    }
}

#[test]
fn a_session_that_has_ended_them_has_one_transaction() {
    let mut room = Room::open();
    room.read(1);
    unite(&mut room);
    room.ok("SET autocommit=1");
    room.ok(&tagged("BEGIN", "plain", "2 op=1", ""));
    room.ok(&tagged("DELETE", "write", "2 op=0", "t"));
    room.ok(&tagged("INSERT", "write", "2 op=0", "t"));
    room.ok(&tagged("COMMIT", "end", "2 op=0", ""));
    room.has_ended();
}

#[test]
fn tables_that_were_not_locked_commit_nothing_when_they_are_unlocked() {
    let mut room = Room::open();
    room.change("DELETE", 2);
    room.ok(&own("UNLOCK", "plain", "2 op=0", "TABLES"));
    room.is_refused(&own("INSERT", "write", "3 op=0", "t"));
    room.ok(&own("COMMIT", "end", "2 op=0", ""));
    room.has_ended();
}

#[test]
fn autocommit_is_switched_on_where_data_was_changed() {
    let mut room = Room::open();
    room.change("DELETE", 2);
    room.read_as(1, "pop=0", "pop=1");
    room.ok("SET autocommit=1");
    assert_eq!(kept(&room.hall), 1, "that which changed its server's session");
    // its transaction is over as well
    let text = tagged("SELECT", "rows", "0 op=0", "v FROM t").replace("pop=0", "pop=1");
    room.hall.query(room.sock, &text);
    room.hall.result(room.sock);
    assert_eq!(room.hall.stage.board.borrow().trouble, [""; 0]);
}
