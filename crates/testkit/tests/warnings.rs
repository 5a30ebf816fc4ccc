//! Warnings keep a session's connection until somebody else needs it; then they are kept without
//! it, whatever happens while the server is asked for them.

use io::{Addr, Micros, Sock};
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::command::{self, code};
use wire::{Caps, frame};

const WORDS: &str = "u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1";

/// So long that what is sent meanwhile arrives before the server's answer.
const SILENT_MS: u64 = 500;

/// Two clients, of whom the first has warnings on the only connection to the primary and the second
/// has just asked for that.
struct Two {
    hall: Hall,
    warned: Sock,
    other: Sock,
}

fn write(tag: u32, warnings: u32) -> Vec<u8> {
    let text =
        format!("INSERT /*s{tag} q1 {WORDS} sw=0 k=write r=0 w=0 n=1 wa={warnings}*/ INTO t");
    query(&text)
}

fn primary() -> Addr {
    Addr::Tcp(([10, 0, 0, 1], 3306).into())
}

fn query(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    command::write_query(&mut bytes, text.as_bytes());
    bytes
}

impl Two {
    /// The server does not answer for so many milliseconds.
    fn meet(silent_ms: u64) -> Self {
        let weather = Weather { max_connections: 1, ..Weather::cutting() };
        let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
        let [warned, other] = [1, 2].map(|_| hall.login(Caps::DEPRECATE_EOF));
        hall.send(warned, &write(1, 2));
        assert_eq!(hall.packet(warned).expect("answered").0.first(), Some(&0));
        if silent_ms > 0 {
            hall.stage.net.stall(&primary(), Micros::from_ms(silent_ms));
        }
        let before = hall.counters().checkouts_waited;
        hall.send(other, &write(2, 0));
        let is_asking = |hall: &Hall| hall.counters().checkouts_waited > before;
        assert!(hall.until(is_asking), "the second one waits");
        assert_eq!(hall.counters().diagnostics_kept, 0);
        Self { hall, warned, other }
    }

    /// The second one gets its answer within so many virtual seconds.
    fn other_is_served(&mut self, within_s: u64) {
        let began = self.hall.stage.net.now().0;
        let answer = self.hall.packet(self.other).expect("answered").0;
        assert_eq!(answer.first(), Some(&0), "{}", answer.escape_ascii());
        let took_us = self.hall.stage.net.now().0 - began;
        assert!(took_us <= within_s * 1_000_000, "{took_us} us");
    }

    fn answer(&mut self) -> Vec<u8> {
        self.hall.result(self.warned)
    }

    fn show_warnings(&mut self) -> Vec<u8> {
        self.hall.send(self.warned, &query("SHOW WARNINGS"));
        self.answer()
    }
}

fn tells(answer: &[u8]) -> bool {
    answer.windows(5).any(|part| part == b"s1 q1")
}

#[test]
fn warnings_outlive_their_connection_and_end_with_the_next_statement() {
    let mut two = Two::meet(0);
    two.other_is_served(1);
    assert_eq!(two.hall.counters().diagnostics_kept, 1);
    for _ in 0..2 {
        let answer = two.show_warnings();
        assert!(tells(&answer), "{}", answer.escape_ascii());
    }
    two.hall.send(two.warned, &query("SHOW ERRORS LIMIT 1"));
    assert!(tells(&two.answer()));
    assert_eq!(two.hall.counters().diagnostics_told, 3);
    two.hall.send(two.warned, &write(1, 0));
    assert_eq!(two.hall.packet(two.warned).expect("answered").0.first(), Some(&0));
    assert!(!tells(&two.show_warnings()));
}

#[test]
fn what_a_client_sends_while_its_server_is_asked_waits_and_is_answered() {
    let mut two = Two::meet(SILENT_MS);
    let bytes = query("SHOW WARNINGS");
    two.hall.send(two.warned, &bytes);
    let began = two.hall.stage.net.now().0;
    assert!(tells(&two.answer()));
    let took_us = two.hall.stage.net.now().0 - began;
    assert!(took_us < 2 * SILENT_MS * 1000, "{took_us} us");
    two.other_is_served(1);
    let counters = two.hall.counters();
    assert_eq!((counters.diagnostics_kept, counters.diagnostics_told), (1, 1));
}

#[test]
fn a_reset_while_the_server_is_asked_forgets_what_it_tells() {
    let mut two = Two::meet(SILENT_MS);
    let mut bytes = Vec::new();
    frame::write_packet(&mut bytes, &mut 0, &[code::RESET_CONNECTION]);
    two.hall.send(two.warned, &bytes);
    assert_eq!(two.hall.packet(two.warned).expect("answered").0.first(), Some(&0));
    two.other_is_served(1);
    assert!(!tells(&two.show_warnings()));
}

#[test]
fn a_client_that_goes_while_its_server_is_asked_leaves_the_other_a_connection() {
    let mut two = Two::meet(SILENT_MS);
    two.hall.close(two.warned);
    two.other_is_served(1);
}

#[test]
fn a_server_that_is_lost_while_it_is_asked_keeps_nobody() {
    let mut two = Two::meet(SILENT_MS);
    two.hall.stage.net.kill(&primary());
    two.other_is_served(5);
    // nobody knows them any more
    assert!(!tells(&two.show_warnings()));
    assert_eq!((two.hall.counters().diagnostics_kept, two.hall.counters().lanes_lost), (0, 1));
}

#[test]
fn a_server_that_does_not_tell_in_time_loses_the_connection() {
    let mut two = Two::meet(60_000);
    assert!(two.hall.until(|hall| hall.counters().lanes_lost == 1), "it is lost");
    assert_eq!(two.hall.counters().diagnostics_kept, 0);
    // another server serves its session
    two.hall.send(
        two.warned,
        &query(&format!("SELECT /*s1 q2 {WORDS} sw=0 k=rows r=1 w=0 n=1 wa=0*/ v FROM t")),
    );
    assert_eq!(two.hall.packet(two.warned).expect("answered").0, [1]);
}
