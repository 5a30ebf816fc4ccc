//! On which server statements run where some take no writes: what a session's writes must be able
//! to follow, and what is refused where they cannot.

use engine::rows::RuleRow;
use engine::snapshot::Draft;
use io::{Faults, Sock};
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::command::{self, code};
use wire::{Caps, lenenc};

const CAPS: Caps = Caps::DEPRECATE_EOF.union(Caps::MULTI_STATEMENTS).union(Caps::MULTI_RESULTS);

/// A session in front of a primary, `prima`, and two readers, to which rules send what begins with
/// SELECT.
struct Room {
    hall: Hall,
    sock: Sock,
    number: u32,
    autocommit: bool,
}

/// Where a statement ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ran {
    Primary,
    Reader,
    /// Nowhere, for it is meant for another server than the session is tied to.
    Refused,
}
use Ran::{Primary, Reader, Refused};

impl Room {
    fn open(simulator: &Simulator, amend: fn(&mut Draft)) -> Self {
        let weather = Weather { faults: Faults::none(), amend, ..Weather::cutting() };
        let mut hall = Hall::in_weather(7, simulator, &weather);
        let sock = hall.login(CAPS);
        Self { hall, sock, number: 0, autocommit: true }
    }

    /// Runs a statement; one that calls `hides` changes its server's session.
    fn run(&mut self, text: &str) -> Ran {
        self.number += 1;
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        let reads = ["SELECT", "EXPLAIN", "CHECKSUM", "SHOW"].contains(&verb);
        let (kind, pop) = (if reads { "rows" } else { "plain" }, u8::from(rest.contains("hides")));
        let opens = text.contains("BEGIN") || (!self.autocommit && reads);
        let tx = if opens { "tx=1 op=1" } else { "tx=0 op=0" };
        let text = format!(
            "{verb} /*s1 q{} u=ann db= cs=45 ac={} {tx} pin=0 pop={pop} lid=-1 sw=0 k={kind} r=1 \
             w=0 n=1 wa=0*/ {rest}",
            self.number,
            u8::from(self.autocommit),
        );
        let mut answer = self.hall.ask(self.sock, &text);
        if answer == [1] {
            answer = self.hall.result(self.sock);
        }
        let says = |name: &str| answer.windows(name.len()).any(|part| part == name.as_bytes());
        match answer {
            _ if says("prima") => Primary,
            _ if says("rhea") || says("rosa") => Reader,
            _ if answer.starts_with(&[0xff, 0x2e, 0x23]) => Refused,
            _ => panic!("{text}: {}", answer.escape_ascii()),
        }
    }

    /// Prepares a read, in a schema; gives the id of its statement.
    fn prepare(&mut self, schema: &str) -> Vec<u8> {
        let words = "cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 k=prepare";
        let text = format!(
            "SELECT /*s1 q98 u=ann db={schema} {words} r=2 w=0 n=1 wa=0*/ v FROM t WHERE v = ?"
        );
        self.send(code::STMT_PREPARE, text.as_bytes());
        let answer = self.packet();
        // a parameter and a column
        (0..2).for_each(|_| drop(self.packet()));
        answer[1..5].to_vec()
    }

    /// Executes it, in a schema.
    fn execute(&mut self, stmt: &[u8], schema: &str) -> Ran {
        self.number += 1;
        let words = format!(
            "s1 q{} u=ann db={schema} cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 k=rows r=1 w=0 \
             n=1 wa=0",
            self.number
        );
        let mut body = [stmt, &[0, 1, 0, 0, 0, 0, 1, 0xfd, 0]].concat();
        lenenc::write_bytes(&mut body, words.as_bytes());
        self.send(code::STMT_EXECUTE, &body);
        let first = self.packet();
        let rest = self.hall.result(self.sock);
        let says = |name: &str| rest.windows(name.len()).any(|part| part == name.as_bytes());
        match says("prima") {
            true => Primary,
            _ if says("rhea") || says("rosa") => Reader,
            _ => panic!("{} {}", first.escape_ascii(), rest.escape_ascii()),
        }
    }

    fn enter(&mut self, schema: &str) {
        self.send(code::INIT_DB, schema.as_bytes());
        assert_eq!(self.packet().first(), Some(&0), "{schema}");
    }

    fn send(&mut self, code: u8, body: &[u8]) {
        let mut bytes = Vec::new();
        command::write(&mut bytes, code, body);
        self.hall.send(self.sock, &bytes);
    }

    fn packet(&mut self) -> Vec<u8> {
        self.hall.packet(self.sock).expect("answered").0
    }

    /// A read fails.
    fn fail(&mut self) {
        let words = "u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 k=refuse";
        let text = format!("SELECT /*s1 q99 {words} r=1 w=0 n=1 wa=0*/ none FROM t");
        assert_eq!(self.hall.ask(self.sock, &text).first(), Some(&0xff));
    }

    fn set_autocommit_off(&mut self) {
        let ok = self.hall.ask(self.sock, "SET autocommit=0");
        assert_eq!(ok.first(), Some(&0));
        self.autocommit = false;
    }
}

#[test]
fn a_read_with_more_behind_it_runs_where_writes_do() {
    let simulator = Simulator::new();
    for (story, expected) in [
        (["SELECT v FROM t", "DELETE FROM t"], [Reader, Primary]),
        (["SELECT v FROM t; DELETE FROM t", "DELETE FROM t"], [Primary; 2]),
        (["SELECT v FROM t; ALTER TABLE t ADD a INT", "SELECT v FROM t"], [Primary, Reader]),
        (["SELECT v FROM t /*!50000 ; DELETE FROM t */", "DELETE FROM t"], [Primary; 2]),
        (["SELECT v FROM t; BEGIN", "DELETE FROM t"], [Primary; 2]),
        (["SELECT v FROM t; SET @a = 1", "DELETE FROM t"], [Primary; 2]),
        (["SELECT GET_LOCK('a', 0)", "SELECT IS_FREE_LOCK('a')"], [Primary; 2]),
        (["SELECT IS_FREE_LOCK('a')", "SELECT IS_USED_LOCK('a')"], [Primary; 2]),
    ] {
        let mut room = Room::open(&simulator, |_| ());
        assert_eq!(story.map(|text| room.run(text)), expected, "{story:?}");
    }
}

#[test]
fn what_asks_about_a_read_and_writes_runs_where_writes_do() {
    let simulator = Simulator::new();
    let mut room = Room::open(&simulator, |_| ());
    room.fail();
    assert_eq!(room.run("DELETE FROM t; SHOW WARNINGS"), Primary);
    assert_eq!(room.run("SELECT SQL_CALC_FOUND_ROWS v FROM t"), Reader);
    assert_eq!(room.run("DELETE FROM t WHERE v = FOUND_ROWS()"), Primary);
}

#[test]
fn what_asks_about_a_read_and_begins_or_locks_runs_where_writes_do() {
    let simulator = Simulator::new();
    for (asks, then) in [
        ("SHOW WARNINGS; BEGIN", "DELETE FROM t"),
        ("SELECT FOUND_ROWS(); BEGIN", "DELETE FROM t"),
        ("SELECT FOUND_ROWS(), GET_LOCK('a', 0)", "SELECT IS_USED_LOCK('a')"),
    ] {
        let mut room = Room::open(&simulator, |_| ());
        match asks.starts_with("SHOW") {
            true => room.fail(),
            false => assert_eq!(room.run("SELECT SQL_CALC_FOUND_ROWS v FROM t"), Reader),
        }
        assert_eq!([asks, then].map(|text| room.run(text)), [Primary; 2], "{asks}");
    }
}

#[test]
fn what_asks_about_a_read_that_lost_its_connection_and_writes_runs_where_writes_do() {
    let mut room = Room::open(&Simulator::new(), |draft| {
        draft.servers.retain(|row| row.hostname != "10.0.0.3");
        draft.servers.iter_mut().for_each(|row| row.max_connections = 1);
    });
    room.fail();
    let other = room.hall.login(CAPS);
    let first = std::mem::replace(&mut room.sock, other);
    assert_eq!(room.run("SELECT v FROM t"), Reader);
    assert_eq!(room.hall.counters().diagnostics_kept, 1);
    room.sock = first;
    assert_eq!(room.run("DELETE FROM t; SHOW WARNINGS"), Primary);
}

#[test]
fn with_autocommit_off_whatever_opens_a_transaction_runs_where_writes_do() {
    let simulator = Simulator::new();
    let texts = [
        "SELECT v FROM t",
        "EXPLAIN SELECT v FROM t",
        "CHECKSUM TABLE t",
        "SHOW CREATE TABLE t",
        "SAVEPOINT s",
    ];
    // where the account reads by default, and rules send writes elsewhere
    let reads: fn(&mut Draft) = |draft| {
        draft.users.iter_mut().for_each(|user| user.default_hostgroup = 1);
        let writes = Some("^(INSERT|UPDATE|DELETE)".into());
        let to = Some(0);
        let row = RuleRow { rule_id: 1, active: 1, match_pattern: writes, ..RuleRow::default() };
        draft.rules = vec![RuleRow { destination_hostgroup: to, apply: 1, ..row }];
    };
    // by rules
    let split: fn(&mut Draft) = |draft| {
        let read = Some("^(EXPLAIN|CHECKSUM|SHOW)".into());
        let row = RuleRow { rule_id: 1, active: 1, match_pattern: read, ..RuleRow::default() };
        draft.rules.push(RuleRow { destination_hostgroup: Some(1), apply: 1, ..row });
    };
    for amend in [reads, split] {
        for text in texts {
            let mut room = Room::open(&simulator, amend);
            let of_session = text == "SAVEPOINT s";
            assert_eq!(room.run("SELECT v FROM t"), Reader);
            assert!(of_session || room.run(text) == Reader, "{text}");
            room.set_autocommit_off();
            assert_eq!([text, "DELETE FROM t"].map(|text| room.run(text)), [Primary; 2], "{text}");
        }
    }
    // as ProxySQL does
    assert_eq!(Room::open(&simulator, reads).run("BEGIN"), Reader);
}

#[test]
fn a_session_that_is_tied_to_a_reader_changes_nothing_there() {
    let mut room = Room::open(&Simulator::new(), |_| ());
    assert_eq!(room.run("SELECT hides(v) FROM t"), Reader);
    for (text, expected) in [
        ("SELECT v FROM t", Reader),
        ("DELETE FROM t", Refused),
        ("CREATE TABLE u (a INT)", Refused),
        ("ALTER TABLE t ADD b INT", Refused),
        ("DROP TABLE t", Refused),
        ("CREATE PROCEDURE p() SELECT 1", Refused),
        ("CALL p()", Refused),
        ("SELECT v FROM t; DELETE FROM t", Refused),
        ("CREATE TEMPORARY TABLE own (a INT)", Reader),
        ("DROP TABLE own", Reader),
        ("SHOW TABLES", Reader),
    ] {
        assert_eq!(room.run(text), expected, "{text}");
    }
}

#[test]
fn an_execution_goes_where_it_would_if_it_were_the_first() {
    let mut room = Room::open(&Simulator::new(), |draft| {
        let row = RuleRow { active: 1, apply: 1, ..RuleRow::default() };
        let of_two = RuleRow { rule_id: 1, schemaname: Some("two".into()), ..row.clone() };
        draft.rules = vec![
            RuleRow { destination_hostgroup: Some(0), ..of_two },
            RuleRow { rule_id: 2, destination_hostgroup: Some(1), ..row },
        ];
    });
    let stmt = room.prepare("");
    let mut ran: Vec<_> = (0..3).map(|_| room.execute(&stmt, "")).collect();
    for schema in ["two", "two", "three", "three", "two"] {
        room.enter(schema);
        ran.push(room.execute(&stmt, schema));
    }
    let expected = [Reader, Reader, Reader, Primary, Primary, Reader, Reader, Primary];
    assert_eq!(ran, expected);
    // what is prepared in a schema stays there
    room.enter("two");
    let stmt = room.prepare("two");
    for schema in ["two", "two", "three", "three"] {
        room.enter(schema);
        assert_eq!(room.execute(&stmt, schema), Primary, "{schema}");
    }
}

#[test]
fn a_prepared_set_reads_in_the_schema_that_it_was_prepared_in() {
    let simulator = Simulator::new();
    for (schema, executions) in [("two", 0), ("three", 1)] {
        let mut room = Room::open(&simulator, |_| ());
        room.enter("two");
        let words = "u=ann db=two cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 k=prepare";
        let text = format!("SET /*s1 q98 {words} r=0 w=0 n=1 wa=0*/ @a = (SELECT v + ? FROM t)");
        room.send(code::STMT_PREPARE, text.as_bytes());
        let prepared = room.packet();
        assert_eq!(prepared.first(), Some(&0), "{}", prepared.escape_ascii());
        room.hall.wait_ms(1);
        room.hall.take(room.sock);
        room.enter(schema);
        let body = [&prepared[1..5], &[0, 1, 0, 0, 0, 0, 1, 8, 0], &[1, 0, 0, 0, 0, 0, 0, 0]];
        room.send(code::STMT_EXECUTE, &body.concat());
        room.packet();
        assert_eq!(room.hall.counters().lane_executes, executions, "{schema}");
    }
}
