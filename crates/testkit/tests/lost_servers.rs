//! Connections to servers that are lost under a session: what runs again elsewhere and what must
//! not, and what its client is told, at once or with its next command.

use engine::snapshot::Draft;
use io::{Addr, Faults, Micros, Sock};
use testkit::mysqld::{Manners, TWICE};
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::command::code;
use wire::{Caps, frame};

/// What a client is told whose connection to a server is lost.
const LOST: u16 = 1158;

/// The primary, and two servers for reads.
const SERVERS: [u8; 3] = [1, 2, 3];

/// A client whose servers can be made silent and lost.
struct Room {
    hall: Hall,
    sock: Sock,
    number: u32,
}

impl Room {
    fn open(simulator: &Simulator) -> Self {
        Self::with(simulator, 7, |_| ())
    }

    fn with(simulator: &Simulator, seed: u64, amend: fn(&mut Draft)) -> Self {
        let weather = Weather { faults: Faults::none(), amend, ..Weather::cutting() };
        let mut hall = Hall::in_weather(seed, simulator, &weather);
        let sock = hall.login(Caps::DEPRECATE_EOF.union(Caps::LOCAL_FILES));
        Self { hall, sock, number: 0 }
    }

    /// A statement with words for its server; `tx` is 1 in a transaction.
    fn text(&mut self, text: &str, kind: &str, tx: &str) -> String {
        self.number += 1;
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        let words = format!("u=ann db= cs=45 ac=1 tx={tx} pin=0 pop=0 lid=-1 sw=0 k={kind}");
        format!("{verb} /*s1 q{} {words} r=3 w=0 n=1 wa=0*/ {rest}", self.number)
    }

    fn send(&mut self, text: &str, kind: &str, tx: &str) {
        let text = self.text(text, kind, tx);
        self.hall.query(self.sock, &text);
    }

    fn begin(&mut self) {
        self.send("BEGIN", "plain", "1 op=1");
        assert_eq!(self.hall.packet(self.sock).expect("answered").0.first(), Some(&0));
    }

    /// Lets servers say nothing for half a second, of which a fifth goes by.
    fn silently(&mut self, send: impl FnOnce(&mut Self)) {
        for server in SERVERS {
            self.hall.stage.net.stall(&addr(server), Micros::from_ms(500));
        }
        send(self);
        self.hall.wait_ms(100);
    }

    fn kill_servers(&mut self) {
        let kill = |server: u8| self.hall.stage.net.kill(&addr(server));
        assert!(SERVERS.into_iter().map(kill).sum::<usize>() > 0, "one is lost");
        self.hall.wait_ms(1);
    }

    /// Only the server is lost that has to answer.
    fn kill_busy(&mut self) {
        let lanes = self.hall.stage.proxies().flat_map(|proxy| proxy.lanes());
        let mut busy = lanes.filter(|(_, lane)| lane.in_flight() > 0);
        let name = busy.next().expect("one has to answer").1.server.to_string();
        let is_it = |server: &u8| addr(*server).to_string() == name;
        let server = SERVERS.into_iter().find(is_it).expect("it is one of them");
        assert!(self.hall.stage.net.kill(&addr(server)) > 0);
    }

    /// Has a connection to each server for reads.
    fn reads(&mut self) {
        for _ in 0..2 {
            self.send("SELECT v FROM t", "rows", "0 op=0");
            self.hall.result(self.sock);
        }
    }

    fn error(&mut self) -> Option<u16> {
        self.hall.error(self.sock)
    }

    /// Sends what no server can be had for, and a write behind it in the same moment if `has_more`:
    /// that runs only if it was not sent ahead.
    fn is_not_served(&mut self, mut commands: Vec<u8>, has_more: bool) {
        if has_more {
            let next = self.text("DELETE FROM u", "write", "0 op=0");
            commands.extend(command(code::QUERY, next.as_bytes()));
        }
        self.hall.send(self.sock, &commands);
        assert_eq!(self.error(), Some(9001));
        assert_eq!(self.hall.ends(self.sock), has_more, "the session goes on without it");
    }

    fn is_served(&mut self) -> bool {
        self.send("DELETE FROM t", "write", "0 op=0");
        self.hall.packet(self.sock).is_some_and(|(payload, _)| payload.first() == Some(&0))
    }

    fn retried(&self) -> u64 {
        self.hall.counters().retried
    }

    /// How often writes ran that ran more than once.
    fn again(&self) -> Vec<u32> {
        let board = self.hall.stage.board.borrow();
        board.writes.values().copied().filter(|times| *times > 1).collect()
    }
}

fn addr(server: u8) -> Addr {
    Addr::Tcp(([10, 0, 0, server], 3306).into())
}

#[test]
fn a_read_that_got_no_answer_runs_again_elsewhere() {
    let mut room = Room::open(&Simulator::new());
    room.reads();
    room.silently(|room| room.send("SELECT v FROM t", "rows", "0 op=0"));
    room.kill_busy();
    let answer = room.hall.result(room.sock);
    assert!(answer.windows(5).any(|part| part == b"s1 q3"), "{}", answer.escape_ascii());
    assert_eq!((room.retried(), room.hall.counters().lanes_lost), (1, 1));
    assert_eq!(room.hall.counters().err, 0);
}

#[test]
fn what_may_have_been_done_does_not_run_again_and_the_session_goes_on() {
    let simulator = Simulator::new();
    for (text, kind) in [("DELETE FROM t", "write"), ("SELECT v FROM t FOR UPDATE", "rows")] {
        let mut room = Room::open(&simulator);
        assert!(room.is_served());
        room.silently(|room| room.send(text, kind, "0 op=0"));
        room.kill_servers();
        assert_eq!(room.error(), Some(LOST), "{text}");
        assert!(room.is_served(), "{text}");
        assert_eq!((room.retried(), room.again()), (0, vec![]), "{text}");
    }
}

#[test]
fn a_statement_all_of_which_is_lost_with_its_server_runs_again() {
    let simulator = Simulator::new();
    for text in ["BEGIN", "START TRANSACTION"] {
        let mut room = Room::open(&simulator);
        assert!(room.is_served());
        room.silently(|room| room.send(text, "plain", "1 op=1"));
        room.kill_servers();
        let answer = room.hall.packet(room.sock).expect("answered").0;
        assert_eq!(answer.first(), Some(&0), "{text}: {}", answer.escape_ascii());
        assert_eq!(room.retried(), 1, "{text}");
        // within the transaction nothing does
        room.silently(|room| room.send("SELECT v FROM t", "rows", "1 op=0"));
        room.kill_servers();
        assert_eq!(room.error(), Some(LOST), "{text}");
    }
}

#[test]
fn a_set_that_its_session_takes_along_runs_again() {
    let simulator = Simulator::new();
    for (text, retried) in [
        ("SET sql_select_limit = 5", 1),
        ("SET @v = a + 1", 0),
        ("SET GLOBAL max_connect_errors = @@global.max_connect_errors + 1", 0),
    ] {
        let mut room = Room::open(&simulator);
        assert!(room.is_served());
        room.silently(|room| room.send(text, "plain", "0 op=0"));
        room.kill_servers();
        let answer = room.hall.packet(room.sock).expect("answered").0;
        assert_eq!(answer.first() == Some(&0), retried == 1, "{text}: {}", answer.escape_ascii());
        assert_eq!(room.retried(), retried, "{text}");
    }
}

#[test]
fn a_read_runs_again_as_often_as_the_configuration_says() {
    let mut room = Room::with(&Simulator::new(), 7, never);
    room.reads();
    room.silently(|room| room.send("SELECT v FROM t", "rows", "0 op=0"));
    room.kill_servers();
    assert_eq!(room.error(), Some(LOST));
    assert!(room.is_served());
}

#[test]
fn a_session_that_loses_its_transaction_is_told_and_ends() {
    let simulator = Simulator::new();
    for text in ["SELECT v FROM t", "DELETE FROM t"] {
        let mut room = Room::open(&simulator);
        room.begin();
        room.silently(|room| room.send(text, "rows", "1 op=0"));
        room.kill_servers();
        assert_eq!(room.error(), Some(LOST), "{text}");
        assert!(room.hall.ends(room.sock), "{text}: each statement would be committed by itself");
        assert_eq!(room.retried(), 0, "{text}");
    }
}

/// Nothing is sent again.
fn never(draft: &mut Draft) {
    draft.variables.push(("mysql-query_retries_on_failure".into(), "0".into()));
}

#[test]
fn what_is_sent_behind_a_lost_statement_does_not_run_without_it() {
    let simulator = Simulator::new();
    let begins = ["BEGIN", "START TRANSACTION READ ONLY", "LOCK TABLES t WRITE", "XA START 'x'"];
    let locks = ["SELECT GET_LOCK('l', 1)", "CREATE TEMPORARY TABLE t (a int)"];
    // what it would have left is known to the server alone, or to nobody
    let others = ["DELETE FROM t", "CALL p()", "EXECUTE IMMEDIATE 'BEGIN'", "SET @a = p()"];
    let counted_on = begins.into_iter().chain(locks);
    for (text, is_counted_on) in
        counted_on.map(|text| (text, true)).chain(others.map(|text| (text, false)))
    {
        for has_more in [true, false] {
            let mut room = Room::with(&simulator, 7, never);
            assert!(room.is_served());
            room.silently(|room| {
                room.send(text, "plain", "0 op=0");
                if has_more {
                    room.send("DELETE FROM u", "write", "0 op=0");
                }
            });
            room.kill_servers();
            assert_eq!(room.error(), Some(LOST), "{text}");
            if has_more || is_counted_on {
                assert!(room.hall.ends(room.sock), "{text}: the session goes on without it");
            } else {
                assert!(room.is_served(), "{text}: nobody counts on it");
                continue;
            }
            room.hall.wait_ms(1_000);
            let behind = (1, room.number);
            assert_eq!(room.hall.stage.board.borrow().writes.get(&behind), None, "{text}");
        }
    }
}

#[test]
fn what_is_sent_behind_a_statement_that_no_server_was_there_for_does_not_run() {
    // writes go to the primary alone, whose hostgroup has no server
    let without_primary = |draft: &mut Draft| {
        draft.servers.iter_mut().for_each(|row| row.weight = 0);
    };
    for has_more in [true, false] {
        let mut room = Room::with(&Simulator::new(), 7, without_primary);
        let text = room.text("BEGIN", "plain", "0 op=0");
        room.is_not_served(command(code::QUERY, text.as_bytes()), has_more);
    }
}

/// One receive brings no more than so many bytes.
const RECEIVED: usize = 1 << 16;

#[test]
fn what_was_not_received_yet_behind_a_statement_that_is_not_served_does_not_run() {
    let amend = |draft: &mut Draft| {
        draft.servers.iter_mut().for_each(|row| row.weight = 0);
        draft.variables.push(("mysql-threshold_query_length".into(), "100000".into()));
    };
    for (receives, has_more) in [(1, true), (1, false), (3, true), (3, false)] {
        let mut room = Room::with(&Simulator::new(), 7, amend);
        let mut text = room.text("BEGIN", "plain", "0 op=0");
        let padding = receives * RECEIVED - 5 - text.len() - "/**/".len();
        text.push_str(&format!("/*{}*/", "x".repeat(padding)));
        let commands = command(code::QUERY, text.as_bytes());
        assert_eq!(commands.len(), receives * RECEIVED);
        room.is_not_served(commands, has_more);
    }
}

#[test]
fn what_is_sent_behind_data_that_no_server_was_there_for_does_not_run() {
    for has_more in [true, false] {
        let mut room = Room::open(&Simulator::new());
        let text = room.text("SELECT v FROM t WHERE v = ?", "prepare", "0 op=0");
        room.hall.send(room.sock, &command(code::STMT_PREPARE, text.as_bytes()));
        let (answer, _) = room.hall.packet(room.sock).expect("prepared");
        (0..2).for_each(|_| drop(room.hall.packet(room.sock)));
        let stmt = answer.get(1..5).expect("an id").to_vec();
        let mut draft = Draft::clone(&room.hall.stage.snapshot.draft);
        draft.servers.iter_mut().for_each(|row| row.weight = 0);
        room.hall.stage.reconfigure(&draft, 1 << 16);
        room.hall.wait_ms(5);
        let data = [&stmt[..], &[0, 0], b"x"].concat();
        let execution = [&stmt[..], &[0, 1, 0, 0, 0, 0, 1, 0xfe, 0]].concat();
        let mut commands = command(code::STMT_SEND_LONG_DATA, &data);
        commands.extend(command(code::STMT_EXECUTE, &execution));
        room.is_not_served(commands, has_more);
    }
}

#[test]
fn a_transaction_lost_between_statements_is_told_with_the_next_command() {
    let simulator = Simulator::new();
    let tries: [(&[u8], bool); 2] =
        [(b"\x01\0\0\0\x0e", true), (b"\x05\0\0\0\x19\x01\0\0\0", false)];
    for (command, is_answered) in tries {
        let mut room = Room::open(&simulator);
        room.begin();
        room.kill_servers();
        room.hall.send(room.sock, command);
        assert_eq!(room.error(), Some(LOST).filter(|_| is_answered), "{command:?}");
        assert!(room.hall.ends(room.sock), "{command:?}");
    }
}

#[test]
fn a_reset_or_a_change_of_user_asks_for_nothing_that_was_lost() {
    let mut room = Room::open(&Simulator::new());
    room.begin();
    room.kill_servers();
    let mut bytes = Vec::new();
    frame::write_packet(&mut bytes, &mut 0, &[code::RESET_CONNECTION]);
    room.hall.send(room.sock, &bytes);
    assert_eq!(room.hall.packet(room.sock).expect("answered").0.first(), Some(&0));
    assert!(room.is_served());
}

#[test]
fn a_delayed_statement_is_told_of_the_transaction_that_went_meanwhile() {
    let mut room = Room::open(&Simulator::new());
    room.begin();
    // a rule lets it wait for three milliseconds
    room.send("SELECT v FROM slow_t", "rows", "1 op=0");
    let is_delayed = |hall: &Hall| hall.counters().delayed == 1;
    assert!(room.hall.until(is_delayed));
    room.kill_servers();
    assert_eq!(room.error(), Some(LOST));
    assert!(room.hall.ends(room.sock));
}

#[test]
fn warnings_that_went_with_their_server_are_no_loss() {
    let mut room = Room::open(&Simulator::new());
    let text = room.text("DELETE FROM t", "write", "0 op=0").replace("wa=0", "wa=2");
    assert_eq!(room.hall.ask(room.sock, &text).first(), Some(&0));
    room.kill_servers();
    assert!(room.is_served());
    assert_eq!(room.hall.counters().lanes_lost, 1);
}

/// Whether everything that was asked has been counted as answered or ended.
fn adds_up(room: &Room) {
    let counters = room.hall.counters();
    assert_eq!(counters.queries, counters.ok + counters.err + counters.killed);
}

#[test]
fn an_answer_that_breaks_off_ends_with_an_error_behind_its_last_packet_or_not_at_all() {
    let simulator = Simulator::new();
    let (mut told, mut ended) = (0, 0);
    for seed in 0..300 {
        let mut room = Room::with(&simulator, seed, |_| ());
        assert!(room.is_served());
        room.reads();
        let text = if seed % 2 == 0 { "DELETE FROM t RETURNING v" } else { "SELECT v FROM t" };
        let half = Manners { halting: 100, delay_us: 90_000_000, ..Manners::default() };
        room.hall.stage.servers.service_mut().behave(half);
        room.send(text, "rows", "0 op=0");
        room.hall.wait_ms(10);
        room.kill_servers();
        let (mut last, mut packets) = (Vec::new(), 0);
        while last.first() != Some(&0xff)
            && let Some((payload, seq)) = room.hall.packet(room.sock)
        {
            packets += 1;
            assert_eq!(seq, packets);
            last = payload;
        }
        if last.first() == Some(&0xff) {
            // where nothing was delivered, it was tried elsewhere first
            assert!(packets == 1 || last[1..3] == LOST.to_le_bytes(), "seed {seed}");
            assert_ne!(packets, 2, "seed {seed}: no error takes the place of the only column");
            room.hall.stage.servers.service_mut().behave(Manners::default());
            assert!(room.is_served(), "seed {seed}");
            told += u32::from(packets > 1);
        } else {
            assert!(room.hall.ends(room.sock), "seed {seed}: nothing fits into half a packet");
            ended += 1;
        }
        adds_up(&room);
    }
    assert!(told > 0 && ended > 0, "{told} told, {ended} ended");
}

/// A client that sends a file, of which two packets and an empty one are all.
const FILE: [&[u8]; 3] = [b"\x03\0\0\x02abc", b"\x02\0\0\x03de", b"\0\0\0\x04"];

#[test]
fn the_rest_of_a_file_whose_server_is_lost_is_no_command_and_then_the_error_comes() {
    let mut room = Room::open(&Simulator::new());
    room.send("LOAD DATA LOCAL INFILE 'f' INTO TABLE t", "file", "0 op=0");
    assert_eq!(room.hall.packet(room.sock).expect("asked").0.first(), Some(&0xfb));
    room.hall.send(room.sock, FILE[0]);
    room.hall.wait_ms(10);
    room.kill_servers();
    room.hall.send(room.sock, &FILE[1][..3]);
    room.hall.wait_ms(10);
    assert_eq!(room.hall.take(room.sock), b"", "the client still sends");
    room.hall.send(room.sock, &FILE[1][3..]);
    room.hall.send(room.sock, FILE[2]);
    let (payload, seq) = room.hall.packet(room.sock).expect("told");
    assert_eq!((&payload[..3], seq), (&[0xff, 0x86, 0x04][..], 5));
    assert!(room.is_served());
    adds_up(&room);
}

#[test]
fn a_file_that_its_server_did_not_take_is_read_to_its_end_when_that_is_lost() {
    let mut room = Room::open(&Simulator::new());
    room.send("LOAD DATA LOCAL INFILE 'f' INTO TABLE t", "file", "0 op=0");
    assert_eq!(room.hall.packet(room.sock).expect("asked").0.first(), Some(&0xfb));
    let (mut bytes, mut seq) = (Vec::new(), 2);
    (0..50).for_each(|_| frame::write_packet(&mut bytes, &mut seq, &[7; 20_000]));
    frame::write_packet(&mut bytes, &mut seq, b"");
    room.silently(|room| room.hall.send(room.sock, &bytes));
    assert!(room.hall.counters().pauses > 0, "it is sent faster than it is taken");
    room.kill_servers();
    let (payload, last) = room.hall.packet(room.sock).expect("told");
    assert_eq!((&payload[..3], last), (&[0xff, 0x86, 0x04][..], seq));
    assert!(room.is_served());
}

#[test]
fn a_server_lost_after_a_file_is_told_in_the_order_of_its_packets() {
    let mut room = Room::open(&Simulator::new());
    room.send("LOAD DATA LOCAL INFILE 'f' INTO TABLE t", "file", "0 op=0");
    assert_eq!(room.hall.packet(room.sock).expect("asked").0.first(), Some(&0xfb));
    room.silently(|room| room.hall.send(room.sock, &FILE.concat()));
    room.kill_servers();
    let (payload, seq) = room.hall.packet(room.sock).expect("told");
    assert_eq!((&payload[..3], seq), (&[0xff, 0x86, 0x04][..], 5));
    assert!(room.is_served());
    adds_up(&room);
}

#[test]
fn who_leaves_in_the_middle_of_a_lost_file_is_counted_as_not_answered() {
    let mut room = Room::open(&Simulator::new());
    room.send("LOAD DATA LOCAL INFILE 'f' INTO TABLE t", "file", "0 op=0");
    assert_eq!(room.hall.packet(room.sock).expect("asked").0.first(), Some(&0xfb));
    room.kill_servers();
    room.hall.close(room.sock);
    assert!(room.hall.until(|hall| hall.sessions() == 0));
    assert_eq!(room.hall.counters().killed, 1);
    adds_up(&room);
}

#[test]
fn an_answer_that_nobody_asked_for_is_given_to_nobody() {
    let manners = Manners { late: 100, delay_us: 3_000, ..Manners::default() };
    let quiet = Weather { faults: Faults::none(), manners, ..Weather::cutting() };
    let weather = Weather { max_connections: 1, ..quiet };
    let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
    let words = "u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 k=rows r=1 w=0 n=1 wa=0";
    // more than there are servers for reads: whoever comes last waits for a connection
    let clients: Vec<_> = (1..=3).map(|_| hall.login(Caps::DEPRECATE_EOF)).collect();
    for (tag, sock) in clients.iter().enumerate() {
        hall.query(*sock, &format!("SELECT /*s{tag} q1 {words}*/ SLEEP(0) FROM t {TWICE}"));
    }
    for (tag, sock) in clients.iter().enumerate() {
        let (own, answer) = (format!("s{tag} q1"), hall.result(*sock));
        let is_own = answer.windows(own.len()).any(|part| part == own.as_bytes());
        assert!(is_own, "{own}: {}", answer.escape_ascii());
    }
    assert_eq!(hall.counters().ok, 3);
}

#[test]
fn an_error_behind_the_answer_to_the_proxys_own_question_is_given_to_nobody() {
    let manners = Manners { blurting: 40, ..Manners::default() };
    let weather = Weather { faults: Faults::none(), manners, ..Weather::cutting() };
    let words = "u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 k=rows r=1 w=0 n=1 wa=0";
    let mut lost = 0;
    for seed in 0..20 {
        let mut hall = Hall::in_weather(seed, &Simulator::new(), &weather);
        let sock = hall.login(Caps::DEPRECATE_EOF);
        hall.query(sock, &format!("SELECT /*s1 q1 {words}*/ v FROM t"));
        let answer = hall.result(sock);
        let is_own = answer.windows(5).any(|part| part == b"s1 q1");
        assert!(is_own, "{seed}: {}", answer.escape_ascii());
        lost += hall.counters().lanes_failed;
    }
    assert!(lost > 0, "some connections were not used");
}

#[test]
fn a_client_whose_server_took_no_more_is_heard_again_when_that_is_lost() {
    let amend = |draft: &mut Draft| {
        draft.variables.push(("mysql-threshold_query_length".into(), "1024".into()));
    };
    let faults = Faults { window_bytes: 4096..=4096, ..Faults::none() };
    let weather = Weather { faults, backlog_max: 1500, amend, ..Weather::cutting() };
    let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
    let sock = hall.login(Caps::DEPRECATE_EOF);
    let mut room = Room { hall, sock, number: 0 };
    let text = room.text("DELETE FROM t WHERE v = ?", "prepare", "0 op=0");
    room.hall.send(sock, &command(code::STMT_PREPARE, text.as_bytes()));
    let (answer, _) = room.hall.packet(sock).expect("prepared");
    // a parameter, and columns
    (0..=answer[5]).for_each(|_| drop(room.hall.packet(sock)));
    let stmt = answer.get(1..5).expect("an id");
    let value = [&[0xfd, 0x20, 0x4e, 0], &[b'x'; 20_000][..]].concat();
    let bytes = [stmt, &[0, 1, 0, 0, 0, 0, 1, 0xfd, 0], &value].concat();
    let bytes = command(code::STMT_EXECUTE, &bytes);
    let paused = room.hall.counters().pauses;
    let (first, rest) = bytes.split_at(3000);
    let (second, rest) = rest.split_at(6000);
    room.silently(|room| {
        for part in [first, second] {
            room.hall.send(sock, part);
            room.hall.wait_ms(5);
        }
    });
    assert!(room.hall.counters().pauses > paused, "its server takes no more");
    room.kill_servers();
    room.hall.send(sock, rest);
    assert_eq!(room.error(), Some(LOST), "it is read to its end");
    assert!(room.is_served());
}

fn command(code: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::command::write(&mut bytes, code, payload);
    bytes
}
