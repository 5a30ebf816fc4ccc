//! `COM_RESET_CONNECTION` and `COM_CHANGE_USER` are answered when the session's connections are
//! reset: a client that was told OK left nothing that others could meet.

use io::{Addr, Faults, Micros, Sock};
use testkit::raw::{Hall, respond};
use testkit::sim::{Simulator, Weather};
use wire::auth::native;
use wire::command::{self, code};
use wire::connect::{AuthSwitch, ChangeUser, Greeting};
use wire::{Caps, frame};

/// What a client is told whose connection to a server is lost.
const LOST: u16 = 1158;

/// What a session is tied to its connection by: the statement, its words, and whether the
/// connection is closed when it has been reset.
const TIES: [(&str, &str, bool); 3] = [
    ("BEGIN", "tx=1 op=1 pin=0 pop=0", false),
    ("CREATE TEMPORARY TABLE x (a int)", "tx=0 op=0 pin=1 pop=1", false),
    ("LOCK TABLES t WRITE", "tx=0 op=0 pin=1 pop=1", true),
];

/// A client, and a server whose answers come late.
struct Room {
    hall: Hall,
    sock: Sock,
}

impl Room {
    fn open() -> Self {
        let weather = Weather { faults: Faults::none(), ..Weather::cutting() };
        let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
        let sock = hall.login(Caps::DEPRECATE_EOF);
        Self { hall, sock }
    }

    /// One whose session keeps its connection.
    fn tied(text: &str, words: &str) -> Self {
        let mut room = Self::open();
        let text = with_words(text, words);
        let answer = room.hall.ask(room.sock, &text);
        assert_eq!(answer.first(), Some(&0), "{text}: {}", answer.escape_ascii());
        room
    }

    fn stall(&mut self, ms: u64) {
        self.hall.stage.net.stall(&primary(), Micros::from_ms(ms));
    }

    fn send(&mut self, code: u8) {
        self.hall.send(self.sock, &simple(code));
    }

    /// The next packet is an OK with that sequence number.
    fn is_told_ok(&mut self, seq: u8) {
        let (payload, told) = self.hall.packet(self.sock).expect("answered");
        assert_eq!((payload.first(), told), (Some(&0), seq), "{}", payload.escape_ascii());
    }

    /// Nothing comes for so many milliseconds.
    fn is_told_nothing(&mut self, ms: u64) {
        self.hall.wait_ms(ms);
        let told = self.hall.take(self.sock);
        assert!(told.is_empty(), "{}", told.escape_ascii());
    }

    fn now_ms(&self) -> u64 {
        self.hall.stage.net.now().0 / 1000
    }

    fn resets(&self) -> u64 {
        self.hall.stage.board.borrow().tally.get("server: reset").copied().unwrap_or(0)
    }

    fn is_served(&mut self) {
        let answer =
            self.hall.ask(self.sock, &with_words("DELETE FROM t", "tx=0 op=0 pin=0 pop=0"));
        assert_eq!(answer.first(), Some(&0), "{}", answer.escape_ascii());
    }
}

fn with_words(text: &str, words: &str) -> String {
    let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
    let words = format!("u=ann db= cs=45 ac=1 {words} lid=-1 sw=0 k=plain");
    format!("{verb} /*s1 q1 {words} r=0 w=0 n=1 wa=0*/ {rest}")
}

fn primary() -> Addr {
    Addr::Tcp(([10, 0, 0, 1], 3306).into())
}

fn simple(code: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    command::write(&mut bytes, code, &[]);
    bytes
}

/// A change of user to `ann`, who has shown no password yet.
fn becoming_ann() -> Vec<u8> {
    let caps = Caps::MYSQL.union(Caps::PROTOCOL_41).union(Caps::SECURE_CONNECTION);
    let request = ChangeUser {
        user: b"ann",
        auth_response: b"",
        schema: b"",
        collation: Some(45),
        plugin: Some(b"mysql_native_password"),
        attributes: &[],
    };
    let mut bytes = Vec::new();
    frame::write_with(&mut bytes, &mut 0, |out| {
        request.encode(caps.union(Caps::PLUGIN_AUTH).union(Caps::DEPRECATE_EOF), out);
    });
    bytes
}

#[test]
fn a_reset_is_answered_when_the_server_has_done_it() {
    for (text, words, closes) in TIES {
        let mut room = Room::tied(text, words);
        room.stall(500);
        room.send(code::RESET_CONNECTION);
        room.is_told_nothing(300);
        assert_eq!(room.resets(), 0, "{text}");
        room.is_told_ok(1);
        assert_eq!(room.resets(), 1, "{text}");
        room.hall.wait_ms(100);
        let lanes = usize::from(!closes);
        assert_eq!(
            (room.hall.lanes(), room.hall.counters().lanes_reset),
            (lanes, lanes as u64),
            "{text}"
        );
        room.is_served();
    }
}

#[test]
fn who_left_nothing_waits_for_nobody() {
    let mut room = Room::open();
    room.is_served();
    let warned = with_words("DELETE FROM t", "tx=0 op=0 pin=0 pop=0").replace("wa=0", "wa=2");
    assert_eq!(room.hall.ask(room.sock, &warned).first(), Some(&0));
    room.stall(5000);
    let began_ms = room.now_ms();
    for _ in 0..3 {
        room.send(code::RESET_CONNECTION);
        room.is_told_ok(1);
    }
    assert!(room.now_ms() - began_ms < 100, "{} ms", room.now_ms() - began_ms);
    assert_eq!(room.resets(), 0);
}

#[test]
fn what_is_sent_behind_a_reset_is_answered_behind_it() {
    let (text, words, _) = TIES[0];
    let mut room = Room::tied(text, words);
    room.stall(500);
    let mut query = Vec::new();
    let delete = with_words("DELETE FROM t", "tx=0 op=0 pin=0 pop=0").replace("k=plain", "k=write");
    command::write_query(&mut query, delete.as_bytes());
    let all = [simple(code::RESET_CONNECTION), simple(code::STATISTICS), query].concat();
    room.hall.send(room.sock, &all);
    room.is_told_nothing(300);
    room.is_told_ok(1);
    let (statistics, _) = room.hall.packet(room.sock).expect("answered");
    assert!(statistics.starts_with(b"Uptime"), "{}", statistics.escape_ascii());
    room.is_told_ok(1);
    assert_eq!(room.resets(), 1);
}

#[test]
fn a_change_of_user_is_let_in_when_the_server_has_reset_what_the_last_one_left() {
    for (text, words, _) in TIES {
        let mut room = Room::tied(text, words);
        let bytes = becoming_ann();
        room.stall(500);
        room.hall.send(room.sock, &bytes);
        let began_ms = room.now_ms();
        let (switch, seq) = room.hall.packet(room.sock).expect("asked for the password");
        assert!(room.now_ms() - began_ms < 100, "asked at once");
        let switch = AuthSwitch::parse(&switch).expect("a challenge");
        let nonce = switch.data.first_chunk().copied().expect("of twenty bytes");
        let mut answer = Vec::new();
        let proof = native::scramble(b"apple", &nonce);
        frame::write_packet(&mut answer, &mut seq.wrapping_add(1), &proof);
        // and a command that does not wait for the answer
        room.hall.send(room.sock, &[answer, simple(code::PING)].concat());
        room.is_told_nothing(300);
        room.is_told_ok(seq.wrapping_add(2));
        assert_eq!(room.resets(), 1, "{text}");
        room.is_told_ok(1);
        room.is_served();
    }
}

#[test]
fn every_change_of_user_can_be_proved_by_the_greeting() {
    let mut room = Room::open();
    let (sock, greeting) = room.hall.connect();
    let nonce = Greeting::parse(&greeting).expect("a greeting").scramble;
    room.hall.send(sock, &respond(&greeting, Caps::DEPRECATE_EOF));
    room.sock = sock;
    room.is_told_ok(2);
    for time in 0..3 {
        room.hall.send(sock, &becoming_ann());
        let (switch, seq) = room.hall.packet(sock).expect("asked for the password");
        let switch = AuthSwitch::parse(&switch).expect("a challenge");
        assert_eq!(switch.data.first_chunk(), Some(&nonce), "for others, change {time}");
        let mut answer = Vec::new();
        let proof = native::scramble(b"apple", &nonce);
        frame::write_packet(&mut answer, &mut seq.wrapping_add(1), &proof);
        room.hall.send(sock, &answer);
        room.is_told_ok(seq.wrapping_add(2));
        room.is_served();
    }
}

#[test]
fn a_server_that_is_lost_in_a_reset_has_forgotten_everything() {
    for (text, words, _) in TIES {
        let mut room = Room::tied(text, words);
        room.stall(500);
        room.send(code::RESET_CONNECTION);
        room.is_told_nothing(100);
        assert!(room.hall.stage.net.kill(&primary()) > 0);
        room.is_told_ok(1);
        room.is_served();
    }
}

#[test]
fn a_server_that_takes_too_long_is_left() {
    let (text, words, _) = TIES[0];
    let mut room = Room::tied(text, words);
    room.stall(15_000);
    let began_ms = room.now_ms();
    room.send(code::RESET_CONNECTION);
    room.is_told_ok(1);
    let took_ms = room.now_ms() - began_ms;
    assert!((10_000..10_100).contains(&took_ms), "{took_ms} ms");
    assert_eq!((room.hall.lanes(), room.resets()), (0, 0));
}

#[test]
fn a_client_that_leaves_meanwhile_leaves_a_connection_that_is_reset() {
    let (text, words, _) = TIES[0];
    let mut room = Room::tied(text, words);
    room.stall(500);
    room.send(code::RESET_CONNECTION);
    room.is_told_nothing(100);
    room.hall.close(room.sock);
    assert!(room.hall.until(|hall| hall.sessions() == 0));
    let counters = room.hall.counters();
    assert_eq!(counters.queries, counters.ok + counters.err + counters.killed);
    room.hall.wait_ms(1000);
    assert_eq!(
        (room.hall.lanes(), room.hall.sessions(), room.hall.counters().lanes_reset),
        (1, 0, 1)
    );
}

#[test]
fn a_client_that_sends_nothing_more_is_answered_still() {
    let (text, words, _) = TIES[0];
    let mut room = Room::tied(text, words);
    room.stall(500);
    room.send(code::RESET_CONNECTION);
    let sock = room.sock;
    room.hall.end_sending(sock);
    room.is_told_ok(1);
    assert!(room.hall.ends(sock));
}

#[test]
fn a_session_that_may_have_changed_its_schema_unseen_is_told_in_which_one_it_is() {
    let tells = |room: &Room| {
        let board = room.hall.stage.board.borrow();
        board.tally.get("server: tells the schema").copied().unwrap_or(0)
    };
    let words = "tx=0 op=0 pin=1 pop=1";
    let mut room = Room::tied("SET session_track_schema = 0", words);
    room.stall(500);
    room.send(code::RESET_CONNECTION);
    room.is_told_nothing(300);
    room.is_told_ok(1);
    assert_eq!((tells(&room), room.resets()), (1, 1));
    room.is_served();
    // nobody knows the schema where the server is lost
    let mut room = Room::tied("SET session_track_schema = 0", words);
    room.stall(500);
    room.send(code::RESET_CONNECTION);
    room.is_told_nothing(100);
    assert!(room.hall.stage.net.kill(&primary()) > 0);
    assert_eq!(room.hall.error(room.sock), Some(LOST));
    assert!(room.hall.ends(room.sock));
    // nor is it asked for where it is known
    let mut room = Room::tied(TIES[0].0, TIES[0].1);
    room.send(code::RESET_CONNECTION);
    room.is_told_ok(1);
    assert_eq!(tells(&room), 0);
}
