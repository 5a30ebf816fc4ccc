//! The last insert id of an `INSERT … RETURNING`: its server is asked in the same send. Whatever
//! becomes of the command or of the answer, its client is told what is true.

use engine::snapshot::Draft;
use io::{Addr, Faults, Micros, Sock};
use testkit::mysqld::Manners;
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::command::{self, code};
use wire::{Caps, lenenc};

const WORDS: &str = "u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0";

/// So long that what is sent meanwhile arrives before the server's answer.
const SILENT_MS: u64 = 500;

/// What a client is told whose connection to a server is lost.
const LOST: u16 = 1158;

const RESET: &str = "server: reset";

const ASKED: &str = "server: tells the last insert id";

const IN_THE_SAME_SEND: &str = "server: asked for an id in the same send";

/// Clients in front of servers that allow one connection each.
struct Room {
    hall: Hall,
    client: Sock,
    other: Sock,
}

fn query(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    command::write_query(&mut bytes, text.as_bytes());
    bytes
}

/// What makes the id 1001, ends as `kind` says, and leaves so many warnings.
fn inserting(kind: &str, warnings: u32) -> Vec<u8> {
    let words = format!("s1 q1 {WORDS} lid=-1 sw=0 k={kind} r=1 w=0 n=1 wa={warnings}");
    query(&format!("INSERT /*{words}*/ INTO t VALUES (1) RETURNING v"))
}

/// A statement whose server says so if the last insert id is another one.
fn reading(id: u64) -> Vec<u8> {
    let words = format!("s1 q2 {WORDS} lid={id} sw=0 k=rows r=1 w=0 n=1 wa=0");
    query(&format!("SELECT /*{words}*/ LAST_INSERT_ID()"))
}

fn primary() -> Addr {
    Addr::Tcp(([10, 0, 0, 1], 3306).into())
}

/// Long texts need not be read to their end.
fn without_rules(draft: &mut Draft) {
    draft.rules.clear();
}

impl Room {
    fn open() -> Self {
        Self::amended(Weather::cutting().amend)
    }

    fn amended(amend: fn(&mut Draft)) -> Self {
        let weather =
            Weather { max_connections: 1, faults: Faults::none(), amend, ..Weather::cutting() };
        let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
        let [client, other] = [1, 2].map(|_| hall.login(Caps::DEPRECATE_EOF));
        let mut room = Self { hall, client, other };
        // the connection stands
        room.others_write();
        room
    }

    fn send(&mut self, bytes: &[u8]) {
        self.hall.send(self.client, bytes);
    }

    /// An `INSERT … RETURNING` is with its server, which does not answer yet.
    fn send_to_a_silent_server(&mut self) {
        self.hall.stage.net.stall(&primary(), Micros::from_ms(SILENT_MS));
        let began = self.hall.stage.net.now().0;
        self.send(&inserting("returning", 0));
        let half = |hall: &Hall| hall.stage.net.now().0 > began + SILENT_MS * 500;
        assert!(self.hall.until(half), "time goes by");
    }

    fn answer(&mut self) -> Vec<u8> {
        self.hall.result(self.client)
    }

    fn ask(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.send(bytes);
        self.answer()
    }

    /// The other one gets an answer on the only connection.
    fn others_write(&mut self) {
        let words = format!("s2 q1 {WORDS} lid=-1 sw=0 k=write r=0 w=0 n=1 wa=0");
        self.hall.send(self.other, &query(&format!("INSERT /*{words}*/ INTO t VALUES (1)")));
        assert_eq!(self.hall.packet(self.other).expect("answered").0.first(), Some(&0));
    }

    fn times(&self, what: &str) -> u64 {
        self.hall.stage.board.borrow().tally.get(what).copied().unwrap_or(0)
    }

    /// How often a server was asked for an id, and how often in the send of a command.
    fn asked(&self) -> (u64, u64) {
        (self.times(ASKED), self.times(IN_THE_SAME_SEND))
    }

    fn finds_no_trouble(&self) {
        assert_eq!(self.hall.stage.board.borrow().trouble, [""; 0]);
    }
}

/// What stands behind so much text is not looked at.
#[test]
fn a_long_insert_may_return_rows_too() {
    let mut room = Room::open();
    let words = format!("s1 q1 {WORDS} lid=-1 sw=0 k=returning r=1 w=0 n=1 wa=0");
    let long = "x".repeat(700_000);
    room.ask(&query(&format!("INSERT /*{words}*/ INTO t VALUES ('{long}') RETURNING v")));
    room.others_write();
    room.ask(&reading(1001));
    room.finds_no_trouble();
}

/// Reads behind it find no server, so that no reply ends after it.
#[test]
fn what_fails_behind_an_insert_keeps_no_connection() {
    let mut room = Room::amended(|draft| draft.servers.retain(|server| server.hostgroup_id == 0));
    let words = format!("{WORDS} lid=-1 sw=0 r=1 w=0 n=1 wa=0");
    let long = "x".repeat(700_000);
    let write = query(&format!(
        "INSERT /*s1 q1 k=returning {words}*/ INTO t VALUES ('{long}') RETURNING v"
    ));
    let read = query(&format!("SELECT /*s1 q2 k=rows {words}*/ v FROM t"));
    room.send(&[write.as_slice(), &read].concat());
    room.answer();
    assert_eq!(room.hall.error(room.client), Some(9001));
    room.send(&read);
    assert_eq!(room.hall.error(room.client), Some(9001));
    room.hall.wait_ms(5);
    assert_eq!(room.asked(), (1, 0));
    room.others_write();
    room.ask(&reading(1001));
    room.finds_no_trouble();
}

/// What others get afterwards was reset: there may be a lock behind so much text.
#[test]
fn a_long_update_may_read_the_id_and_leave_more_behind() {
    let mut room = Room::open();
    room.ask(&inserting("returning", 0));
    // on the same connection
    let words = format!("s2 q2 {WORDS} lid=-1 sw=0 k=returning r=1 w=0 n=1 wa=0");
    let other = query(&format!("INSERT /*{words}*/ INTO t VALUES (1) RETURNING v"));
    room.hall.send(room.other, &other);
    room.hall.result(room.other);
    let resets = room.times(RESET);
    let words = format!("s1 q2 {WORDS} lid=1001 sw=0 k=write r=0 w=0 n=1 wa=0");
    let long = "x".repeat(700_000);
    room.send(&query(&format!(
        "UPDATE /*{words}*/ t SET v = '{long}' WHERE id = LAST_INSERT_ID() AND GET_LOCK('a', 0)"
    )));
    assert_eq!(room.hall.packet(room.client).expect("answered").0.first(), Some(&0));
    room.others_write();
    assert_eq!(room.times(RESET), resets + 1);
    room.finds_no_trouble();
}

/// Its connection is kept from then on, and knows better what later statements came to.
#[test]
fn executions_of_a_text_that_is_not_kept_find_the_id() {
    let mut room = Room::amended(without_rules);
    room.ask(&inserting("returning", 0));
    let words = format!("s2 q2 {WORDS} lid=-1 sw=0 k=returning r=1 w=0 n=1 wa=0");
    let other = query(&format!("INSERT /*{words}*/ INTO t VALUES (1) RETURNING v"));
    room.hall.send(room.other, &other);
    room.hall.result(room.other);
    let words = format!("s1 q2 {WORDS} lid=-1 sw=0 k=prepare r=1 w=0 n=1 wa=0");
    let long = "x".repeat(2_000_000);
    let text = format!("UPDATE /*{words}*/ t SET v = '{long}' WHERE a = ? + LAST_INSERT_ID()");
    let mut bytes = Vec::new();
    command::write(&mut bytes, code::STMT_PREPARE, text.as_bytes());
    let (begins, rest) = bytes.split_at(1_000_000);
    room.send(begins);
    room.hall.wait_ms(50);
    room.send(rest);
    let stmt = room.hall.packet(room.client).expect("prepared").0[1..5].to_vec();
    // a parameter and a column
    assert!([(); 2].iter().all(|()| room.hall.packet(room.client).is_some()));
    let words = format!("s1 q3 {WORDS} lid=1001 sw=0 k=write r=0 w=0 n=1 wa=0");
    let mut body = [&stmt[..], &[0, 1, 0, 0, 0, 0, 1, 0xfd, 0]].concat();
    lenenc::write_bytes(&mut body, words.as_bytes());
    bytes.clear();
    command::write(&mut bytes, code::STMT_EXECUTE, &body);
    room.send(&bytes);
    assert_eq!(room.hall.packet(room.client).expect("answered").0.first(), Some(&0));
    room.finds_no_trouble();
}

#[test]
fn the_question_goes_out_with_the_command_and_the_connection_is_anybodys() {
    let mut room = Room::open();
    let answer = room.ask(&inserting("returning", 0));
    assert!(answer.windows(5).any(|part| part == b"s1 q1"), "{}", answer.escape_ascii());
    room.others_write();
    assert_eq!(room.asked(), (1, 1));
    room.ask(&reading(1001));
    assert_eq!(room.asked(), (1, 1));
    room.finds_no_trouble();
}

#[test]
fn an_execution_is_asked_about_in_its_own_send() {
    let mut room = Room::open();
    let text = format!(
        "INSERT /*s1 q1 {WORDS} lid=-1 sw=0 k=prepare r=2 w=0 n=1 wa=0*/ INTO t VALUES (?) \
         RETURNING v"
    );
    let mut bytes = Vec::new();
    command::write(&mut bytes, code::STMT_PREPARE, text.as_bytes());
    room.send(&bytes);
    let stmt = room.hall.packet(room.client).expect("prepared").0[1..5].to_vec();
    // a parameter and a column
    let rest: Vec<_> = (0..2).map(|_| room.hall.packet(room.client).expect("defined")).collect();
    assert_eq!(rest.len(), 2);
    let words = format!("s1 q2 {WORDS} lid=-1 sw=0 k=returning r=1 w=0 n=1 wa=0");
    let mut body = [&stmt[..], &[0, 1, 0, 0, 0, 0, 1, 0xfd, 0]].concat();
    lenenc::write_bytes(&mut body, words.as_bytes());
    bytes.clear();
    command::write(&mut bytes, code::STMT_EXECUTE, &body);
    room.ask(&bytes);
    room.others_write();
    assert_eq!(room.asked(), (1, 1));
    room.ask(&reading(1002));
    room.finds_no_trouble();
}

#[test]
fn what_opens_a_transaction_is_not_asked_about() {
    let mut room = Room::open();
    room.send(&query(&format!(
        "BEGIN /*s1 q1 {} lid=-1 sw=0 k=plain r=0 w=0 n=1 wa=0*/",
        WORDS.replace("tx=0 op=0", "tx=1 op=1")
    )));
    assert_eq!(room.hall.packet(room.client).expect("answered").0.first(), Some(&0));
    let words = WORDS.replace("tx=0", "tx=1");
    let words = format!("s1 q2 {words} lid=-1 sw=0 k=returning r=1 w=0 n=1 wa=0");
    room.ask(&query(&format!("INSERT /*{words}*/ INTO t VALUES (1) RETURNING v")));
    assert_eq!(room.asked(), (0, 0));
}

#[test]
fn warnings_and_errors_can_be_read_until_somebody_needs_the_connection_and_after() {
    for kind in ["returning", "refuse"] {
        for waits in [false, true] {
            let mut room = Room::open();
            room.ask(&inserting(kind, 2));
            if waits {
                room.others_write();
                assert_eq!(room.hall.counters().diagnostics_kept, 1, "{kind}");
            }
            let answer = room.ask(&query("SHOW WARNINGS"));
            assert!(answer.windows(5).any(|part| part == b"s1 q1"), "{kind} {waits}");
            room.others_write();
            assert_eq!(room.asked(), (1, 1), "{kind} {waits}");
            room.ask(&reading(if kind == "refuse" { 0 } else { 1001 }));
            room.finds_no_trouble();
        }
    }
}

#[test]
fn what_a_client_sends_at_once_waits_for_the_answer() {
    let mut room = Room::open();
    room.send(&[inserting("returning", 0), reading(1001)].concat());
    room.answer();
    room.answer();
    assert_eq!(room.asked(), (1, 1));
    room.finds_no_trouble();
}

#[test]
fn a_copy_is_not_asked_about_and_leaves_its_connection_to_others() {
    let mut room = Room::open();
    let before = room.hall.counters();
    let words = format!("s1 q1 {WORDS} lid=-1 sw=0 k=returning r=1 w=0 n=1 wa=0");
    room.ask(&query(&format!("INSERT /*{words}*/ INTO twice_t VALUES (1) RETURNING v")));
    assert!(room.hall.until(|hall| hall.counters().mirrored == before.mirrored + 1));
    assert!(room.hall.until(|hall| hall.stage.proxies().all(|p| p.mirror_counts() == (0, 0))));
    room.others_write();
    let after = room.hall.counters();
    assert_eq!(room.asked(), (1, 1));
    assert_eq!(after.mirrors_failed, before.mirrors_failed);
    assert_eq!(
        (after.lanes_dropped, after.lanes_reset),
        (before.lanes_dropped, before.lanes_reset)
    );
}

#[test]
fn a_client_that_goes_leaves_the_other_a_connection() {
    let mut room = Room::open();
    room.send_to_a_silent_server();
    room.hall.close(room.client);
    room.others_write();
}

#[test]
fn a_server_that_is_lost_before_it_answers_costs_nobody_else_anything() {
    let mut room = Room::open();
    room.send_to_a_silent_server();
    room.hall.stage.net.kill(&primary());
    assert_eq!(room.hall.error(room.client), Some(LOST));
    room.others_write();
    room.ask(&reading(0));
    room.finds_no_trouble();
}

#[test]
fn a_server_that_is_lost_between_both_answers_is_told_with_the_next_statement() {
    let mut room = Room::open();
    // each answer by itself
    let manners = Manners { late: 100, delay_us: 100_000, ..Manners::default() };
    room.hall.stage.servers.service_mut().behave(manners);
    room.ask(&inserting("returning", 0));
    room.hall.stage.net.kill(&primary());
    room.send(&reading(1001));
    assert_eq!(room.hall.error(room.client), Some(LOST));
    assert_eq!(room.times(ASKED), 1);
    room.others_write();
}
