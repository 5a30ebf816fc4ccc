//! Garbage in every phase. The session that sends it gets a proper error and, where nothing else
//! makes sense, its end. A counter and a log line tell; a bystander notices nothing.

use io::Sock;
use testkit::dice::Dice;
use testkit::raw::{Hall, respond};
use testkit::sim::Simulator;
use wire::command::{self, code};
use wire::{Caps, frame, lenenc};

fn packet(seq: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::write_packet(&mut out, &mut seq.clone(), payload);
    out
}

/// A client beside the one that sends garbage, in the middle of a transaction of its own.
struct Bystander {
    sock: Sock,
    number: u32,
}

const WORDS: &str = "op=0 pin=0 pop=0 lid=-1 sw=0";

impl Bystander {
    fn new(hall: &mut Hall) -> Self {
        let sock = hall.login(Caps::DEPRECATE_EOF);
        let begin = "BEGIN /*s1 q1 u=ann db= cs=45 ac=1 tx=1 op=1 pin=0 pop=0 lid=-1 sw=0 \
                     k=plain r=0 w=0 n=1 wa=0*/";
        let answer = hall.ask(sock, begin);
        assert_eq!(answer.first(), Some(&0), "{}", answer.escape_ascii());
        Self { sock, number: 1 }
    }

    /// It still has its transaction and its own answers.
    fn is_well(&mut self, hall: &mut Hall) {
        self.number += 1;
        let number = self.number;
        let text = format!(
            "SELECT /*s1 q{number} u=ann db= cs=45 ac=1 tx=1 {WORDS} k=rows r=1 w=0 n=1 wa=0*/ 1"
        );
        let columns = hall.ask(self.sock, &text);
        assert_eq!(columns, [1], "{}", columns.escape_ascii());
        let _definition = hall.packet(self.sock).expect("a definition");
        let (row, _) = hall.packet(self.sock).expect("a row");
        let right = format!("s1 q{number} prima r0.0 ");
        assert_eq!(&row[1..], right.as_bytes());
        let (end, _) = hall.packet(self.sock).expect("an end");
        assert_eq!(end.first(), Some(&0xfe));
        let trouble = hall.stage.board.borrow().trouble.clone();
        assert_eq!(trouble, Vec::<String>::new());
    }
}

/// What has to become of garbage.
#[derive(Clone, Copy)]
enum Fate {
    /// This error, and the end.
    Ends(u16),
    /// This error; the session goes on.
    Lives(u16),
}

/// Sends garbage from a session that `prepare` has brought into its phase.
fn suffers(name: &str, fate: Fate, prepare: impl Fn(&mut Hall) -> Sock, garbage: &[u8]) {
    let simulator = Simulator::new();
    for seed in 0..4 {
        let mut hall = Hall::new(seed, &simulator);
        let mut bystander = Bystander::new(&mut hall);
        let sock = prepare(&mut hall);
        let (before, told) = (hall.counters(), hall.client_faults());
        hall.send(sock, garbage);
        let error = hall.error(sock);
        let after = hall.counters();
        match fate {
            Fate::Ends(code) => {
                assert_eq!(error, Some(code), "{name}");
                assert!(hall.ends(sock), "{name}: the session goes on");
                assert!(after.client_faults > before.client_faults, "{name}: nothing counts it");
                assert!(hall.client_faults() > told, "{name}: nothing tells of it");
            }
            Fate::Lives(code) => {
                assert_eq!(error, Some(code), "{name}");
                assert_eq!(after.err, before.err + 1, "{name}");
                // what is no command is told; a command may well be wrong
                let is_told = matches!(code, 1047 | 1835);
                let told_now = hall.client_faults() > told;
                assert_eq!(after.client_faults > before.client_faults, is_told, "{name}");
                assert_eq!(told_now, is_told, "{name}");
                hall.send(sock, &packet(0, &[code::PING]));
                let (pong, seq) = hall.packet(sock).expect("the session lives");
                assert_eq!((pong.first(), seq), (Some(&0), 1), "{name}");
            }
        }
        bystander.is_well(&mut hall);
    }
}

fn greeted(hall: &mut Hall) -> Sock {
    hall.connect().0
}

fn idle(hall: &mut Hall) -> Sock {
    hall.login(Caps::LOCAL_FILES)
}

#[test]
fn nonsense_for_a_handshake_is_refused() {
    suffers("a cut response", Fate::Ends(1043), greeted, &packet(1, &[0xff; 20]));
    suffers("an empty response", Fate::Ends(1043), greeted, &packet(1, b""));
    let mut ancient = vec![0; 40];
    ancient[0] = 1;
    suffers("a client before 4.1", Fate::Ends(1043), greeted, &packet(1, &ancient));
    let long = [&[0xff, 0xff, 0x02, 1][..], &[7; 70_000]].concat();
    suffers("an endless response", Fate::Ends(1043), greeted, &long);
    // by its header alone
    suffers("a response of 16 KiB and a byte", Fate::Ends(1043), greeted, &[1, 0x40, 0, 1]);
}

#[test]
fn a_response_may_have_16_kib_of_attributes_and_all() {
    let mut hall = Hall::new(1, &Simulator::new());
    for (more, answer) in [(0, 0), (1, 0xff)] {
        let (sock, greeting) = hall.connect();
        let response = respond(&greeting, Caps::CONNECT_ATTRS);
        let bare = &response[frame::HEADER_BYTES..];
        // the length of the attributes takes three bytes
        let attributes = vec![0; 16_384 - bare.len() - 3 + more];
        let mut payload = bare.to_vec();
        lenenc::write_bytes(&mut payload, &attributes);
        hall.send(sock, &packet(1, &payload));
        let (told, seq) = hall.packet(sock).expect("answered");
        assert_eq!((told[0], seq), (answer, 2), "{}", told.escape_ascii());
        let says = b"a packet of 16385 bytes, where a login may have 16384";
        assert_eq!(told.ends_with(says), more > 0, "{}", told.escape_ascii());
    }
}

#[test]
fn nonsense_in_an_authentication_is_refused() {
    let mut hall = Hall::new(1, &Simulator::new());
    let mut bystander = Bystander::new(&mut hall);
    let (sock, greeting) = hall.connect();
    let mut response = respond(&greeting, Caps::NONE);
    let from = response.len() - 12;
    response[from..].copy_from_slice(b"nonsense_it\0");
    hall.send(sock, &response);
    let (switch, seq) = hall.packet(sock).expect("another plugin is asked for");
    assert_eq!((switch[0], seq), (0xfe, 2));
    let told = hall.client_faults();
    hall.send(sock, &packet(3, &[9; 300]));
    assert_eq!(hall.error(sock), Some(1045));
    assert!(hall.ends(sock));
    assert!(hall.client_faults() > told);
    bystander.is_well(&mut hall);
}

#[test]
fn nonsense_between_commands_gets_its_error() {
    suffers("out of order", Fate::Ends(1156), idle, &packet(9, &[code::PING]));
    suffers("an unknown command", Fate::Lives(1047), idle, &packet(0, &[0x77, 1, 2, 3]));
    suffers("an empty packet", Fate::Lives(1835), idle, &packet(0, b""));
    let cut = packet(0, &[code::STMT_EXECUTE, 1, 2]);
    suffers("an execute cut short", Fate::Lives(1835), idle, &cut);
    let none = packet(0, &[code::STMT_EXECUTE, 9, 0, 0, 0, 0, 1, 0, 0, 0]);
    suffers("an execute of nothing", Fate::Lives(1243), idle, &none);
    suffers("text that is none", Fate::Lives(1064), idle, &packet(0, &[code::QUERY, 0xff, 0xfe]));
}

#[test]
fn nonsense_behind_a_running_command_waits_for_its_answer() {
    let running = |hall: &mut Hall| {
        let sock = idle(hall);
        let mut query = Vec::new();
        let words = "s2 q1 u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0";
        let text = format!("SELECT /*{words} k=rows r=50 w=200 n=1 wa=0*/ 1");
        command::write_query(&mut query, text.as_bytes());
        hall.send(sock, &query);
        sock
    };
    suffers("out of order", Fate::Ends(1156), running, &packet(3, b"what"));
}

#[test]
fn nonsense_about_a_statement_gets_the_server_s_error() {
    let prepared = |hall: &mut Hall| {
        let sock = idle(hall);
        let words = "s2 q1 u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0";
        let text = format!("SELECT /*{words} k=prepare r=1 w=0 n=1 wa=0*/ ?");
        let mut bytes = Vec::new();
        command::write(&mut bytes, code::STMT_PREPARE, text.as_bytes());
        hall.send(sock, &bytes);
        for _ in 0..5 {
            hall.packet(sock).expect("the answer to the prepare");
        }
        sock
    };
    let execute = [&[code::STMT_EXECUTE, 1, 0, 0, 0, 0, 1, 0, 0, 0], &[0xff; 30][..]].concat();
    suffers("parameters that are none", Fate::Lives(1210), prepared, &packet(0, &execute));
    let fetch = packet(0, &[code::STMT_FETCH, 1, 0, 0, 0, 1, 0, 0, 0]);
    suffers("a fetch without a cursor", Fate::Lives(1421), prepared, &fetch);
}

#[test]
fn a_file_that_breaks_off_takes_its_connection_with_it() {
    let simulator = Simulator::new();
    for seed in 0..10 {
        let mut hall = Hall::new(seed, &simulator);
        let mut bystander = Bystander::new(&mut hall);
        let sock = idle(&mut hall);
        let words = "s2 q1 u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0";
        let text = format!("LOAD DATA /*{words} k=file r=0 w=100 n=1 wa=0*/ LOCAL INFILE 'f'");
        assert_eq!(hall.ask(sock, &text).first(), Some(&0xfb));
        let lanes = hall.lanes();
        hall.send(sock, &[200, 0, 0, 2, 1, 2, 3]);
        hall.close(sock);
        assert!(hall.until(|hall| {
            let mut proxies = hall.stage.proxies();
            proxies.all(|proxy| proxy.session_count() == 1 && proxy.lane_count() < lanes)
        }));
        assert_eq!(hall.counters().killed, 1);
        bystander.is_well(&mut hall);
    }
}

#[test]
fn random_bytes_in_any_phase_disturb_nobody() {
    let simulator = Simulator::new();
    for seed in 0..150 {
        let mut dice = Dice::new(seed);
        let mut hall = Hall::new(seed, &simulator);
        let mut bystander = Bystander::new(&mut hall);
        for _ in 0..3 {
            let sock = match dice.below(3) {
                0 => greeted(&mut hall),
                _ => idle(&mut hall),
            };
            for _ in 0..dice.within(1..=3) {
                let mut bytes: Vec<u8> =
                    (0..dice.within(1..=80)).map(|_| dice.below(256) as u8).collect();
                if dice.percent(60) {
                    // a frame that is whole; what it says is random
                    let seq = if dice.percent(80) { 0 } else { 1 };
                    bytes[0] = dice.below(0x20) as u8;
                    bytes = packet(seq, &bytes);
                }
                hall.send(sock, &bytes);
            }
            bystander.is_well(&mut hall);
            hall.close(sock);
        }
        let alone = |hall: &Hall| hall.stage.proxies().all(|proxy| proxy.session_count() == 1);
        assert!(hall.until(alone), "seed {seed}");
        bystander.is_well(&mut hall);
        let stats = hall.counters();
        assert_eq!(stats.queries, stats.ok + stats.err + stats.killed, "seed {seed}: {stats:?}");
        assert_eq!(stats.panics, 0, "seed {seed}");
    }
}
