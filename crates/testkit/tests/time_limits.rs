//! What ends when it takes too long: logins, idle sessions, transactions, statements; and whose
//! time is not over.

use engine::snapshot::Draft;
use io::{Faults, Sock};
use testkit::mysqld::Manners;
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::Caps;

/// What a client is told whose statement took too long.
const TOO_LONG: u16 = 1907;

fn hall(amend: fn(&mut Draft)) -> Hall {
    let weather = Weather { faults: Faults::none(), amend, ..Weather::cutting() };
    Hall::in_weather(7, &Simulator::new(), &weather)
}

/// Sets variables of a configuration.
fn set(draft: &mut Draft, pairs: &[(&str, &str)]) {
    draft.variables.extend(pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())));
}

/// A text with words for its server.
fn text(text: &str, kind: &str, tx: &str) -> String {
    let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
    let words = format!("u=ann db= cs=45 ac=1 tx={tx} pin=0 pop=0 lid=-1 sw=0 k={kind}");
    format!("{verb} /*s1 q1 {words} r=1 w=0 n=1 wa=0*/ {rest}")
}

fn ask(hall: &mut Hall, sock: Sock, what: &str, kind: &str, tx: &str) {
    let answer = hall.ask(sock, &text(what, kind, tx));
    assert_eq!(answer.first(), Some(&0), "{what}: {}", answer.escape_ascii());
}

/// After how many milliseconds from now the proxy closes the connection.
fn ends_after_ms(hall: &mut Hall, sock: Sock) -> u64 {
    let began = hall.stage.net.now();
    assert!(hall.ends(sock), "it goes on");
    hall.stage.net.now().since(began).as_ms()
}

#[test]
fn a_login_that_takes_too_long_is_ended_and_told_of() {
    let mut hall = hall(|draft| set(draft, &[("mysql-connect_timeout_client", "700")]));
    let (sock, _) = hall.connect();
    assert!((600..=800).contains(&ends_after_ms(&mut hall, sock)));
    assert_eq!((hall.counters().client_faults, hall.client_faults()), (1, 1));
    // one that was over in time is not
    let sock = hall.login(Caps::DEPRECATE_EOF);
    hall.wait_ms(2000);
    ask(&mut hall, sock, "DELETE FROM t", "write", "0 op=0");
}

#[test]
fn who_is_idle_for_too_long_is_disconnected_and_each_statement_begins_anew() {
    let mut hall = hall(|draft| set(draft, &[("mysql-wait_timeout", "4000")]));
    let [active, idle] = [(); 2].map(|()| hall.login(Caps::DEPRECATE_EOF));
    for _ in 0..4 {
        hall.wait_ms(3000);
        ask(&mut hall, active, "DELETE FROM t", "write", "0 op=0");
    }
    // sessions that just wait are looked at once in a while
    assert!(hall.packet(idle).is_none(), "it goes on");
    assert!((3900..=4100).contains(&ends_after_ms(&mut hall, active)));
}

#[test]
fn a_read_that_shares_a_connection_ends_a_sessions_idle_time_too() {
    let weather = Weather {
        faults: Faults::none(),
        depth: 4,
        amend: |draft| set(draft, &[("mysql-wait_timeout", "4000")]),
        ..Weather::cutting()
    };
    let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
    let sock = hall.login(Caps::DEPRECATE_EOF);
    for _ in 0..8 {
        hall.wait_ms(3000);
        hall.query(sock, &text("SELECT v FROM t", "rows", "0 op=0"));
        hall.result(sock);
    }
    assert!(hall.counters().shared_queries > 4, "it is known to be quick");
    assert!((3900..=4100).contains(&ends_after_ms(&mut hall, sock)));
}

#[test]
fn a_session_is_idle_in_a_transaction_for_a_time_of_its_own() {
    let mut hall = hall(|draft| {
        set(draft, &[("mysql-wait_timeout", "9000"), ("mysql-max_transaction_idle_time", "1000")]);
    });
    let [outside, inside] = [(); 2].map(|()| hall.login(Caps::DEPRECATE_EOF));
    ask(&mut hall, outside, "DELETE FROM t", "write", "0 op=0");
    ask(&mut hall, inside, "BEGIN", "plain", "1 op=1");
    hall.wait_ms(700);
    ask(&mut hall, inside, "DELETE FROM t", "write", "1 op=0");
    assert!((900..=1100).contains(&ends_after_ms(&mut hall, inside)));
    hall.wait_ms(3000);
    ask(&mut hall, outside, "DELETE FROM t", "write", "0 op=0");
    // what it left open was rolled back
    assert_eq!(hall.counters().lanes_reset, 1);
}

#[test]
fn a_transaction_has_its_time_however_busy_it_is_and_the_next_one_has_its_own() {
    let mut hall = hall(|draft| set(draft, &[("mysql-max_transaction_time", "1000")]));
    let sock = hall.login(Caps::DEPRECATE_EOF);
    ask(&mut hall, sock, "BEGIN", "plain", "1 op=1");
    hall.wait_ms(700);
    ask(&mut hall, sock, "COMMIT", "end", "1 op=0");
    hall.wait_ms(2000);
    ask(&mut hall, sock, "BEGIN", "plain", "1 op=1");
    let began = hall.stage.net.now();
    for _ in 0..3 {
        hall.wait_ms(300);
        ask(&mut hall, sock, "DELETE FROM t", "write", "1 op=0");
    }
    assert!(hall.ends(sock), "it goes on");
    let took_ms = hall.stage.net.now().since(began).as_ms();
    assert!((950..=1100).contains(&took_ms), "{took_ms} ms");
}

/// A server that takes its time.
fn slow(hall: &mut Hall, delay_us: u64) {
    let manners = Manners { late: 100, delay_us, ..Manners::default() };
    hall.stage.servers.service_mut().behave(manners);
}

#[test]
fn a_statement_that_runs_for_too_long_is_killed_and_its_client_told_why() {
    let mut hall = hall(|draft| set(draft, &[("mysql-default_query_timeout", "1000")]));
    let sock = hall.login(Caps::DEPRECATE_EOF);
    ask(&mut hall, sock, "DELETE FROM t", "write", "0 op=0");
    // until no timer of that one is left
    hall.wait_ms(500);
    slow(&mut hall, 90_000_000);
    let began = hall.stage.net.now();
    hall.query(sock, &text("SELECT v FROM t FOR UPDATE", "rows", "0 op=0"));
    let is_killed = |hall: &Hall| hall.counters().kills_sent == 1;
    assert!(hall.until(is_killed));
    assert!((950..=1100).contains(&hall.stage.net.now().since(began).as_ms()));
    // the server does not end it at once either: two seconds later its connection is given up
    assert_eq!(hall.error(sock), Some(TOO_LONG));
    assert!((2950..=3100).contains(&hall.stage.net.now().since(began).as_ms()));
    let counters = hall.counters();
    assert_eq!((counters.timed_out, counters.lanes_dropped), (1, 1));
    slow(&mut hall, 1);
    ask(&mut hall, sock, "DELETE FROM t", "write", "0 op=0");
}

#[test]
fn a_server_that_ends_what_it_was_told_to_keeps_its_connection() {
    let simulator = Simulator::new();
    let weather = Weather {
        faults: Faults::none(),
        amend: |draft| set(draft, &[("mysql-default_query_timeout", "1000")]),
        ..Weather::cutting()
    };
    let is_ended = |seed: u64| {
        let mut hall = Hall::in_weather(seed, &simulator, &weather);
        let sock = hall.login(Caps::DEPRECATE_EOF);
        ask(&mut hall, sock, "DELETE FROM t", "write", "0 op=0");
        // with luck the statement, and not the login of who is to kill it
        let manners = Manners { late: 50, delay_us: 2_500_000, ..Manners::default() };
        hall.stage.servers.service_mut().behave(manners);
        hall.query(sock, &text("SELECT v FROM t FOR UPDATE", "rows", "0 op=0"));
        let answer = hall.result(sock);
        let interrupted = *hall.stage.board.borrow().tally.get("server: query interrupted")?;
        assert_eq!((&answer[..3], interrupted), (&[0xff, 0x73, 0x07][..], 1), "seed {seed}");
        let counters = hall.counters();
        assert_eq!((counters.timed_out, counters.lanes_dropped, counters.lanes_lost), (1, 0, 0));
        Some(())
    };
    assert!((0..40).filter_map(is_ended).count() > 2);
}

#[test]
fn a_login_that_meets_no_server_is_none_that_failed() {
    let mut hall = hall(|draft| draft.servers.iter_mut().for_each(|row| row.max_connections = 0));
    let sock = hall.login(Caps::DEPRECATE_EOF);
    assert_eq!(hall.counters().checkouts_failed, 0);
    hall.query(sock, &text("SELECT v FROM t", "rows", "0 op=0"));
    assert_eq!(hall.error(sock), Some(9001));
    assert_eq!(hall.counters().checkouts_failed, 1);
}

#[test]
fn who_waits_for_a_connection_in_vain_is_told_after_a_while() {
    let mut hall = hall(|draft| {
        set(draft, &[("mysql-connect_timeout_server_max", "1500")]);
        draft.servers.iter_mut().for_each(|row| row.max_connections = 1);
    });
    let [holder, waiter] = [(); 2].map(|()| hall.login(Caps::DEPRECATE_EOF));
    ask(&mut hall, holder, "BEGIN", "plain", "1 op=1");
    let began = hall.stage.net.now();
    hall.query(waiter, &text("DELETE FROM t", "write", "0 op=0"));
    assert_eq!(hall.error(waiter), Some(9001));
    assert!((1400..=1600).contains(&hall.stage.net.now().since(began).as_ms()));
    let counters = hall.counters();
    assert_eq!((counters.connect_timeouts, counters.checkouts_failed), (1, 1));
    ask(&mut hall, holder, "COMMIT", "end", "1 op=0");
    ask(&mut hall, waiter, "DELETE FROM t", "write", "0 op=0");
}

#[test]
fn who_sends_a_part_of_a_command_and_no_more_is_disconnected() {
    let mut hall = hall(|draft| set(draft, &[("mysql-unfinished_command_timeout_ms", "3000")]));
    let [idle, half, long, slow] = [(); 4].map(|()| hall.login(Caps::DEPRECATE_EOF));
    hall.send(half, &[9, 0, 0, 0, 3]);
    // a rule that may rewrite makes the proxy collect it
    let mut bytes = Vec::new();
    wire::command::write_query(&mut bytes, &[b'x'; 600_000]);
    hall.send(long, &bytes[..590_000]);
    for byte in [9, 0, 0, 0, 14] {
        hall.send(slow, &[byte]);
        hall.wait_ms(500);
    }
    assert!((2900..=3200).contains(&(2500 + ends_after_ms(&mut hall, half))));
    assert!(hall.ends(long));
    hall.wait_ms(1500);
    assert_eq!(hall.counters().unfinished_commands, 2);
    assert!(hall.ends(slow), "it has not gone on for long enough");
    assert_eq!(hall.counters().unfinished_commands, 3);
    ask(&mut hall, idle, "DELETE FROM t", "write", "0 op=0");
}

#[test]
fn a_kill_that_comes_late_holds_nobody_up_whose_connection_is_gone() {
    let mut hall = hall(|draft| {
        let often = ("mysql-default_query_timeout", "1000");
        set(draft, &[often, ("mysql-multiplexing", "false"), ("mysql-stored_code", "false")]);
    });
    let sock = hall.login(Caps::DEPRECATE_EOF);
    ask(&mut hall, sock, "DELETE FROM t", "write", "0 op=0");
    slow(&mut hall, 2_500_000);
    hall.query(sock, &text("SELECT v FROM t FOR UPDATE", "rows", "0 op=0"));
    assert_eq!(hall.packet(sock).map(|(packet, _)| packet), Some(vec![1]));
    hall.result(sock);
    assert_eq!((hall.counters().kills_sent, hall.counters().lanes_dropped), (1, 0));
    let mut draft = (*hall.stage.snapshot.draft).clone();
    set(&mut draft, &[("mysql-multiplexing", "true")]);
    hall.stage.reconfigure(&draft, 1500);
    assert!(hall.until(|hall| hall.counters().lanes_dropped == 1), "nobody else may have it");
    slow(&mut hall, 1);
    ask(&mut hall, sock, "DELETE FROM t", "write", "0 op=0");
}
