//! Statements that run stored code: what a server tells of it decides what is repeated, where it
//! goes, and what is brought to its connection.

use engine::snapshot::Draft;
use io::{Addr, Faults, Micros, Sock};
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::command::{self, code};
use wire::{Caps, lenenc};

/// What a client is told whose connection to a server is lost.
const LOST: u16 = 1158;

const SERVERS: [u8; 3] = [1, 2, 3];

/// Two clients in front of servers that allow one connection each.
struct Room {
    hall: Hall,
    client: Sock,
    other: Sock,
    number: u32,
}

fn addr(server: u8) -> Addr {
    Addr::Tcp(([10, 0, 0, server], 3306).into())
}

fn as_it_is(_: &mut Draft) {}

fn never_read(draft: &mut Draft) {
    draft.variables.push(("mysql-stored_code_refresh_interval_ms".into(), "0".into()));
}

impl Room {
    fn open(amend: fn(&mut Draft)) -> Self {
        Self::sharing(amend, 0)
    }

    /// One where so many commands may be on a connection at a time.
    fn sharing(amend: fn(&mut Draft), depth: u64) -> Self {
        let faults = Faults::none();
        let calm = Weather { faults, stored_code: true, depth, ..Weather::cutting() };
        let weather = Weather { max_connections: 1, amend, ..calm };
        let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
        let [client, other] = [1, 2].map(|_| hall.login(Caps::DEPRECATE_EOF));
        let mut room = Self { hall, client, other, number: 0 };
        // the first statements bring connections, on which is read what there is
        (0..8).for_each(|_| drop(room.ask("SELECT", "v FROM t", "rows", -1)));
        room.ask("INSERT", "INTO t VALUES (1)", "write", -1);
        room.hall.wait_ms(500);
        room
    }

    fn text(&mut self, verb: &str, rest: &str, kind: &str, id: i64) -> String {
        self.number += 1;
        let words = format!("u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid={id} sw=0 k={kind}");
        format!("{verb} /*s1 q{} {words} r=1 w=0 n=1 wa=0*/ {rest}", self.number)
    }

    fn ask(&mut self, verb: &str, rest: &str, kind: &str, id: i64) -> Vec<u8> {
        let text = self.text(verb, rest, kind, id);
        self.hall.query(self.client, &text);
        match kind {
            "rows" => self.hall.result(self.client),
            _ => self.hall.packet(self.client).expect("answered").0,
        }
    }

    /// Another session makes an id on the connection.
    fn other_inserts(&mut self) {
        let words = "u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 k=write";
        let text = format!("INSERT /*s2 q9 {words} r=1 w=0 n=1 wa=0*/ INTO t VALUES (1)");
        self.hall.query(self.other, &text);
        assert_eq!(self.hall.packet(self.other).expect("answered").0.first(), Some(&0));
    }

    /// Sends a read, and takes its server away before the answer comes.
    fn lose(&mut self, rest: &str) -> Option<u16> {
        let text = self.text("SELECT", rest, "rows", -1);
        let mut bytes = Vec::new();
        command::write_query(&mut bytes, text.as_bytes());
        self.lose_with(&bytes)
    }

    /// The same with the execution of a prepared one.
    fn lose_execution(&mut self, rest: &str) -> Option<u16> {
        let statement = self.prepare(rest);
        let bytes = self.execution(statement);
        self.lose_with(&bytes)
    }

    /// Prepares a read of one parameter.
    fn prepare(&mut self, rest: &str) -> [u8; 4] {
        let text = self.text("SELECT", rest, "prepare", -1);
        let mut bytes = Vec::new();
        command::write(&mut bytes, code::STMT_PREPARE, text.as_bytes());
        self.hall.send(self.client, &bytes);
        let told = [(); 3].map(|()| self.hall.packet(self.client).expect("prepared").0);
        *told[0][1..].first_chunk().expect("an id")
    }

    fn execution(&mut self, statement: [u8; 4]) -> Vec<u8> {
        let mut body = [&statement[..], &[0, 1, 0, 0, 0, 0, 1, 0xfd, 0]].concat();
        let words = self.text("", "", "rows", -1);
        let words = words.trim_matches([' ', '/', '*']);
        lenenc::write_bytes(&mut body, words.as_bytes());
        let mut bytes = Vec::new();
        command::write(&mut bytes, code::STMT_EXECUTE, &body);
        bytes
    }

    fn lose_with(&mut self, bytes: &[u8]) -> Option<u16> {
        for server in SERVERS {
            self.hall.stage.net.stall(&addr(server), Micros::from_ms(500));
        }
        self.hall.send(self.client, bytes);
        self.hall.wait_ms(100);
        let killed: usize = SERVERS.into_iter().map(|s| self.hall.stage.net.kill(&addr(s))).sum();
        assert!(killed > 0, "one is lost");
        let told = self.hall.packet(self.client).expect("answered").0;
        let error = told.first() == Some(&0xff);
        error.then(|| u16::from_le_bytes([told[1], told[2]]))
    }

    fn finds_no_trouble(&self) {
        assert_eq!(self.hall.stage.board.borrow().trouble, [""; 0]);
    }
}

#[test]
fn a_read_runs_again_unless_a_function_writes_in_it() {
    let table = [
        ("v FROM t", None),
        ("pay(14)", Some(LOST)),
        ("v FROM paying_t", Some(LOST)),
        ("v FROM unseen_t", Some(LOST)),
    ];
    for (rest, told) in table {
        assert_eq!(Room::open(as_it_is).lose(rest), told, "{rest}");
        let prepared = format!("{} WHERE v=?", rest.replace("14", "v"));
        assert_eq!(Room::open(as_it_is).lose_execution(&prepared), told, "{rest}, prepared");
    }
    // as long as nothing is known, each may be such a one
    assert_eq!(Room::open(never_read).lose("v FROM t"), Some(LOST));
}

/// Among other sessions' commands runs only what may run twice: after a stall each is sent again.
#[test]
fn what_may_write_shares_no_connection() {
    for (rest, shares) in [
        ("v FROM t", true),
        ("pay(14)", false),
        ("v FROM paying_t", false),
        ("v FROM unseen_t", false),
    ] {
        let mut room = Room::sharing(as_it_is, 4);
        let before = room.hall.counters();
        (0..12).for_each(|_| drop(room.ask("SELECT", rest, "rows", -1)));
        let statement = room.prepare(&format!("{} WHERE v=?", rest.replace("14", "v")));
        for _ in 0..12 {
            let bytes = room.execution(statement);
            room.hall.send(room.client, &bytes);
            room.hall.result(room.client);
        }
        let after = room.hall.counters();
        let shared = [
            after.shared_queries - before.shared_queries,
            after.shared_executes - before.shared_executes,
        ];
        assert_eq!(shared.map(|commands| commands > 0), [shares; 2], "{rest}: {shared:?}");
    }
}

#[test]
fn what_a_trigger_reads_is_brought_to_its_connection() {
    for (amend, table) in
        [(as_it_is as fn(&mut Draft), "child_t"), (as_it_is, "unseen_t"), (never_read, "t")]
    {
        let mut room = Room::open(amend);
        room.ask("INSERT", "INTO t VALUES (1)", "write", -1);
        let id = i64::from(1000 + room.number);
        room.other_inserts();
        room.ask("INSERT", &format!("INTO {table} VALUES (1)"), "write", id);
        room.finds_no_trouble();
        let counters = room.hall.counters();
        assert_eq!(counters.stored_code_readings > 0, table != "t");
    }
}

#[test]
fn a_base_table_without_triggers_costs_nothing() {
    let mut room = Room::open(as_it_is);
    room.ask("INSERT", "INTO t VALUES (1)", "write", -1);
    let id = i64::from(1000 + room.number);
    room.other_inserts();
    let before = room.hall.counters().lane_set_names;
    room.ask("INSERT", "INTO t VALUES (1)", "write", id);
    assert_eq!(room.hall.counters().lane_set_names, before);
    let trouble = room.hall.stage.board.borrow().trouble.clone();
    assert_eq!(trouble.len(), 1, "the id was not brought: {trouble:?}");
}

#[test]
fn what_writes_or_ties_its_session_goes_where_writes_go() {
    let table = [
        ("v FROM t", false),
        ("pay(1)", true),
        ("v FROM paying_t", true),
        ("mark() FROM t", true),
        ("unseen() FROM t", true),
    ];
    for (rest, to_primary) in table {
        let mut room = Room::open(as_it_is);
        let rows = room.ask("SELECT", rest, "rows", -1);
        let is_there = rows.windows(6).any(|part| part == b" prima");
        assert_eq!(is_there, to_primary, "{rest}: {}", rows.escape_ascii());
    }
}

fn hall(max_connections: i64) -> Hall {
    let calm = Weather { faults: Faults::none(), stored_code: true, ..Weather::cutting() };
    let weather = Weather { max_connections, ..calm };
    Hall::in_weather(7, &Simulator::new(), &weather)
}

fn open_lanes(hall: &Hall) -> usize {
    hall.stage.proxies().map(|proxy| proxy.lanes().count()).sum()
}

#[test]
fn a_reading_gets_a_connection_of_its_own_where_all_others_are_kept() {
    let mut hall = hall(50);
    let client = hall.login(Caps::DEPRECATE_EOF);
    let words = "u=ann db= cs=45 ac=1 tx=1 op=1 pin=0 pop=0 lid=-1 sw=0 k=plain r=0 w=0 n=1 wa=0";
    assert_eq!(hall.ask(client, &format!("BEGIN /*s1 q1 {words}*/")).first(), Some(&0));
    let lanes = open_lanes(&hall);
    assert_eq!(hall.counters().stored_code_readings, 0);
    hall.wait_ms(1_500);
    assert_eq!(hall.counters().stored_code_readings, 1);
    assert_eq!(open_lanes(&hall), lanes + 1);
    hall.wait_ms(5_000);
    assert_eq!(open_lanes(&hall), lanes + 1, "one is enough");
}

#[test]
fn a_reading_gets_a_connection_that_somebody_waits_for_where_no_more_may_be() {
    let mut hall = hall(1);
    let clients = [1, 2, 3].map(|tag| (tag, hall.login(Caps::DEPRECATE_EOF)));
    let (began, mut number) = (hall.stage.net.now(), 0);
    let mut insert = |hall: &mut Hall, (tag, client): (u32, Sock)| {
        number += 1;
        let words = "u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 k=write r=0 w=0 n=1";
        hall.query(client, &format!("INSERT /*s{tag} q{number} {words} wa=0*/ INTO t VALUES (1)"));
    };
    clients.into_iter().for_each(|client| insert(&mut hall, client));
    assert_eq!(hall.counters().stored_code_readings, 0);
    // each asks again as soon as it is answered: somebody waits at any time
    while hall.counters().stored_code_readings == 0 {
        hall.step();
        for client in clients {
            if !hall.take(client.1).is_empty() {
                insert(&mut hall, client);
            }
        }
        assert!(hall.stage.net.now().since(began).as_ms() < 2_000, "nothing is read");
    }
}

#[test]
fn a_server_that_takes_no_connections_is_seldom_asked_for_one_to_read_on() {
    let mut hall = hall(50);
    let client = hall.login(Caps::DEPRECATE_EOF);
    let words = "u=ann db= cs=45 ac=1 tx=1 op=1 pin=0 pop=0 lid=-1 sw=0 k=plain r=0 w=0 n=1 wa=0";
    assert_eq!(hall.ask(client, &format!("BEGIN /*s1 q1 {words}*/")).first(), Some(&0));
    SERVERS.into_iter().for_each(|server| hall.stage.net.stop(&addr(server)));
    hall.wait_ms(19_000);
    hall.wait_ms(19_000);
    let counters = hall.counters();
    assert_eq!(counters.stored_code_readings, 0);
    assert!((3..=6).contains(&counters.lanes_failed), "{} attempts", counters.lanes_failed);
}

/// A client whose statements reach functions, and what it keeps its connection for.
struct Caller {
    hall: Hall,
    client: Sock,
    number: u32,
}

impl Caller {
    fn open(max_connections: i64) -> Self {
        Self::in_hall(hall(max_connections))
    }

    fn in_hall(mut hall: Hall) -> Self {
        let client = hall.login(Caps::DEPRECATE_EOF);
        Self { hall, client, number: 0 }
    }

    fn send(&mut self, text: &str, kind: &str) {
        self.number += 1;
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        let words = "u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0";
        let text =
            format!("{verb} /*s1 q{} {words} k={kind} r=1 w=0 n=1 wa=0*/ {rest}", self.number);
        self.hall.query(self.client, &text);
    }

    fn ask(&mut self, text: &str, kind: &str) -> String {
        self.send(text, kind);
        let answer = self.hall.packet(self.client).expect("answered").0;
        assert_ne!(answer.first(), Some(&0xff), "{text}");
        if answer == [1] {
            self.hall.result(self.client);
        }
        self.held_for()
    }

    /// The same of a text to which its server answers with error 1064.
    fn fail(&mut self, text: &str) -> String {
        self.send(text, "refuse");
        let answer = self.hall.packet(self.client).expect("answered").0;
        assert_eq!(answer.get(..3), Some([0xff, 0x28, 0x04].as_slice()), "{text}");
        self.held_for()
    }

    fn resets(&self) -> u64 {
        self.hall.stage.board.borrow().tally.get("server: reset").copied().unwrap_or_default()
    }

    fn held_for(&self) -> String {
        let sessions = self.hall.stage.proxies().flat_map(|proxy| proxy.sessions());
        let (_, session) = sessions.last().expect("the session is there");
        session.reasons().names().collect::<Vec<_>>().join(", ")
    }

    fn readings(&self) -> u64 {
        self.hall.counters().stored_code_readings
    }
}

/// For what a connection is kept on which a function ran that nobody has read.
const PRESUMED: &str = "user_variable, temporary_table, get_lock, set, sequence, connection_id";

#[test]
fn what_code_was_presumed_to_do_is_forgotten_once_it_has_been_read() {
    for (text, after) in [
        ("SELECT clean(1)", ""),
        ("SELECT pay(1)", ""),
        ("SELECT mark()", "user_variable"),
        ("SELECT clean(1), mark()", "user_variable"),
        ("SELECT clean(1), @a := 1", "user_variable"),
        ("SELECT clean(1), GET_LOCK('a', 1)", "get_lock"),
    ] {
        let mut caller = Caller::open(50);
        assert_eq!(caller.ask(text, "rows"), PRESUMED, "{text}");
        caller.hall.wait_ms(2_000);
        assert_eq!(caller.held_for(), after, "{text}");
    }
}

#[test]
fn where_all_connections_are_kept_for_what_nobody_read_it_is_read_on_one_of_them() {
    let mut caller = Caller::open(1);
    assert_eq!(caller.ask("SELECT clean(1) FOR UPDATE", "rows"), PRESUMED);
    let lanes = open_lanes(&caller.hall);
    caller.hall.wait_ms(2_000);
    assert_eq!((caller.readings() > 0, caller.held_for().as_str()), (true, ""));
    assert_eq!(open_lanes(&caller.hall), lanes);
    // the connection is good for others
    assert_eq!(caller.ask("SELECT v FROM t", "rows"), "");
    assert_eq!(caller.hall.stage.board.borrow().trouble, [""; 0]);
}

#[test]
fn a_definition_makes_unsure_what_it_names_and_what_calls_that() {
    let mut caller = Caller::open(50);
    caller.ask("SELECT clean(1)", "rows");
    caller.hall.wait_ms(2_000);
    assert_eq!(caller.ask("SELECT clean(1)", "rows"), "");
    for (text, presumed) in [
        ("CREATE TABLE u (a INT)", ""),
        ("ALTER TABLE t ADD b INT", ""),
        ("DROP TABLE u", ""),
        ("CREATE INDEX i ON t (b)", ""),
        ("TRUNCATE TABLE t", ""),
        ("CREATE VIEW w AS SELECT 1", ""),
        ("CREATE TRIGGER x AFTER INSERT ON t FOR EACH ROW SET @a = 1", ""),
        ("CREATE OR REPLACE FUNCTION pay(x INT) RETURNS INT RETURN 1", ""),
        ("CREATE OR REPLACE FUNCTION clean(x INT) RETURNS INT RETURN 1", PRESUMED),
        ("CREATE INDEX i ON t (b); CREATE INDEX j ON t (b)", PRESUMED),
    ] {
        // the next one is there when the definition has ended: no reading is as fast
        caller.send(text, "plain");
        caller.send("SELECT clean(1)", "rows");
        let answer = caller.hall.packet(caller.client).expect("answered").0;
        assert_eq!(answer.first(), Some(&0), "{text}");
        assert_eq!(caller.hall.packet(caller.client).expect("answered").0, [1]);
        caller.hall.result(caller.client);
        assert_eq!(caller.held_for(), presumed, "after {text}");
        caller.hall.wait_ms(2_000);
        assert_eq!(caller.held_for(), "", "after {text}, when it was read");
    }
    assert_eq!(caller.hall.stage.board.borrow().trouble, [""; 0]);
}

#[test]
fn a_function_that_was_only_written_about_may_have_been_made_since() {
    for text in [
        "CREATE PROCEDURE p() SELECT loaded(1)",
        "CREATE TRIGGER x AFTER INSERT ON t FOR EACH ROW SET @a = (SELECT loaded(1))",
        "EXPLAIN SELECT loaded(1)",
    ] {
        let mut caller = Caller::open(50);
        caller.ask("SELECT clean(1) FOR UPDATE", "rows");
        caller.hall.wait_ms(2_000);
        caller.ask(text, "plain");
        caller.hall.wait_ms(2_000);
        caller.client = caller.hall.login(Caps::DEPRECATE_EOF);
        assert_eq!(caller.ask("SELECT loaded(1) FOR UPDATE", "rows"), PRESUMED, "{text}");
        // it was there, and no reading finds it: it is the server's own
        caller.hall.wait_ms(2_000);
        assert_eq!(caller.held_for(), "", "{text}");
        assert_eq!(caller.ask("SELECT loaded(1) FOR UPDATE", "rows"), "", "{text}");
    }
}

#[test]
fn an_error_that_code_may_have_raised_does_not_say_that_nothing_was_done() {
    for (text, after) in [
        ("SELECT v FROM t", "has_warnings"),
        ("SELECT clean(1)", "has_warnings"),
        ("SELECT mark()", "user_variable, has_warnings, state_change"),
        ("SELECT tune()", "has_warnings, state_change"),
    ] {
        let mut caller = Caller::open(50);
        caller.fail(text);
        caller.hall.wait_ms(2_000);
        assert_eq!(caller.held_for(), after, "{text}, of which nothing was known");
        let mut caller = Caller::open(50);
        caller.ask("SELECT v FROM t", "rows");
        caller.hall.wait_ms(2_000);
        assert_eq!(caller.fail(text), after, "{text}, which is known");
    }
}

#[test]
fn a_text_that_no_server_can_parse_keeps_no_connection() {
    for text in ["SELEC v FROM t", "SELEC unseen(1) FROM nowhere", "DO clean(1) /*!99999 */"] {
        let mut caller = Caller::open(50);
        assert_eq!(caller.fail(text), "has_warnings", "{text}");
    }
}

#[test]
fn what_a_trigger_left_that_nobody_knows_and_that_raised_an_error_is_nobody_elses() {
    let faults = Faults::none();
    let calm = Weather { faults, stored_code: true, amend: never_read, ..Weather::cutting() };
    let mut caller = Caller::in_hall(Hall::in_weather(7, &Simulator::new(), &calm));
    assert_eq!(caller.fail("UPDATE t SET v = 1"), "has_warnings");
    caller.ask("SELECT v FROM t", "rows");
    caller.hall.wait_ms(500);
    assert_eq!(caller.resets(), 1);
}

#[test]
fn a_table_that_may_have_been_defined_anew_keeps_its_connection_until_it_has_been_read() {
    for text in ["CREATE OR REPLACE VIEW t AS SELECT takes() AS v", "RENAME TABLE u TO t"] {
        let mut caller = Caller::open(50);
        caller.ask("SELECT v FROM t", "rows");
        caller.hall.wait_ms(2_000);
        assert_eq!(caller.ask("SELECT v FROM t", "rows"), "");
        let readings = caller.readings();
        caller.ask(text, "plain");
        caller.client = caller.hall.login(Caps::DEPRECATE_EOF);
        let held_for = caller.ask("SELECT v FROM t", "rows");
        // the reading may have been faster
        assert!(held_for == "new_table" || caller.readings() > readings, "{text}: {held_for}");
        caller.hall.wait_ms(2_000);
        assert_eq!((caller.readings() > readings, caller.held_for().as_str()), (true, ""));
        // what is read by nobody is read again, too
        let readings = caller.readings();
        caller.ask(text, "plain");
        caller.hall.wait_ms(2_000);
        assert!(caller.readings() > readings, "{text}");
    }
}

#[test]
fn a_base_table_that_a_session_makes_changes_and_drops_keeps_no_connection() {
    let mut caller = Caller::open(50);
    caller.ask("SELECT v FROM t", "rows");
    caller.hall.wait_ms(2_000);
    // what is asked for waits for a while after a reading: there is none in between
    let readings = caller.readings();
    caller.ask("CREATE TABLE other (v INT)", "plain");
    assert!(caller.hall.until(|hall| hall.counters().stored_code_readings >= readings + 2));
    let readings = caller.readings();
    for _ in 0..3 {
        for (text, read) in [
            ("CREATE TABLE bare (v INT)", "SELECT v FROM bare"),
            ("ALTER TABLE t ADD w INT", "SELECT v FROM t"),
        ] {
            caller.ask(text, "plain");
            assert_eq!(caller.ask(read, "rows"), "", "after {text}");
        }
        caller.ask("DROP TABLE bare", "plain");
    }
    assert_eq!(caller.readings(), readings);
}

#[test]
fn a_table_that_was_made_since_keeps_its_connection_until_it_has_been_read() {
    let mut caller = Caller::open(50);
    caller.ask("SELECT v FROM t", "rows");
    caller.hall.wait_ms(2_000);
    assert_eq!(caller.ask("SELECT v FROM t", "rows"), "");
    // there is none that is called so in what servers tell
    assert_eq!(caller.ask("SELECT v FROM new_t", "rows"), "new_table");
    let readings = caller.readings();
    caller.hall.wait_ms(2_000);
    assert_eq!((caller.readings() > readings, caller.held_for().as_str()), (true, ""));
    assert_eq!(caller.ask("SELECT v FROM new_t", "rows"), "");
    // a temporary table is its session's
    caller.ask("CREATE TEMPORARY TABLE made_t (a INT)", "plain");
    assert_eq!(caller.ask("SELECT v FROM made_t", "rows"), "temporary_table");
    assert_eq!(caller.ask("DROP TEMPORARY TABLE made_t", "plain"), "");
}
