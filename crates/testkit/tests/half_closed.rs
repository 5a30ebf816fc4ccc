//! Clients that end what they send and still read: what they asked is answered, as long as it does
//! not take as if nobody were there.

use io::{Faults, Sock};
use testkit::mysqld::Manners;
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::{Caps, command};

/// Answers come after up to that many microseconds.
fn hall(seed: u64, delay_us: u64) -> Hall {
    let manners = Manners { late: 100, delay_us, ..Manners::default() };
    Hall::in_weather(seed, &Simulator::new(), &Weather { manners, ..Weather::cutting() })
}

/// A client whose connection stands when answers begin to come after up to nine seconds.
fn slow_from_the_second_command_on(faults: Faults) -> (Hall, Sock) {
    let weather = Weather { faults, ..Weather::cutting() };
    let mut hall = Hall::in_weather(1, &Simulator::new(), &weather);
    let sock = hall.login(Caps::DEPRECATE_EOF);
    assert_eq!(hall.ask(sock, &write(1)).first(), Some(&0));
    let slow = Manners { late: 100, delay_us: 9_000_000, ..Manners::default() };
    hall.stage.servers.service_mut().behave(slow);
    (hall, sock)
}

/// The text of a write.
fn write(number: u32) -> String {
    format!(
        "DELETE /*s1 q{number} u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 \
         k=write r=1 w=0 n=1 wa=0*/ FROM t"
    )
}

/// Sends these writes at once, behind them a command that is cut short, and then the end.
fn ask_and_end(hall: &mut Hall, sock: Sock, numbers: std::ops::RangeInclusive<u32>) {
    let mut bytes = Vec::new();
    for number in numbers {
        command::write_query(&mut bytes, write(number).as_bytes());
    }
    bytes.extend([9, 0, 0, 0, 3]);
    hall.send(sock, &bytes);
    hall.end_sending(sock);
}

/// What came before the end, by first bytes.
fn answers(hall: &mut Hall, sock: Sock) -> Vec<u8> {
    let mut firsts = Vec::new();
    while let Some((payload, seq)) = hall.packet(sock) {
        assert_eq!(seq, 1);
        firsts.extend(payload.first());
    }
    firsts
}

#[test]
fn all_that_was_asked_before_the_end_is_answered_in_order() {
    for seed in 0..20 {
        let mut hall = hall(seed, 20_000);
        let sock = hall.login(Caps::DEPRECATE_EOF);
        let began = hall.stage.net.now();
        ask_and_end(&mut hall, sock, 1..=5);
        assert_eq!(answers(&mut hall, sock), [0; 5], "seed {seed}");
        assert!(hall.ends(sock), "seed {seed}: the session goes on");
        let took = hall.stage.net.now().since(began);
        assert!(took.as_ms() < 900, "seed {seed}: the end comes {} ms later", took.as_ms());
        let counters = hall.counters();
        assert_eq!((counters.clients_aborted, counters.kills_sent), (1, 0), "seed {seed}");
    }
}

#[test]
fn what_takes_long_is_ended_as_that_of_a_client_that_left() {
    let (mut hall, sock) = slow_from_the_second_command_on(Faults::cuts());
    let began = hall.stage.net.now();
    ask_and_end(&mut hall, sock, 2..=2);
    assert_eq!(answers(&mut hall, sock), [0_u8; 0]);
    assert!(hall.ends(sock), "the session goes on");
    let took = hall.stage.net.now().since(began).as_ms();
    assert!((1000..1500).contains(&took), "ended after {took} ms");
    assert_eq!(hall.counters().kills_sent, 1);
}

#[test]
fn who_ends_long_after_asking_has_left() {
    let (mut hall, sock) = slow_from_the_second_command_on(Faults::cuts());
    let mut bytes = Vec::new();
    command::write_query(&mut bytes, write(2).as_bytes());
    hall.send(sock, &bytes);
    let asked = hall.stage.net.now();
    hall.until(|hall| hall.stage.net.now().since(asked).as_ms() >= 200);
    hall.end_sending(sock);
    let ended = hall.stage.net.now();
    assert!(hall.ends(sock), "the session goes on");
    let took = hall.stage.net.now().since(ended).as_ms();
    assert!(took < 100, "it ends {took} ms later");
    assert_eq!(hall.counters().kills_sent, 1);
}

/// So many writes with long texts: more than is read ahead of a command that runs.
fn far_ahead(numbers: std::ops::RangeInclusive<u32>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in numbers {
        let text = format!("{} /* {} */", write(number), "long ".repeat(4000));
        command::write_query(&mut bytes, text.as_bytes());
    }
    bytes
}

#[test]
fn who_ends_long_after_asking_has_left_whatever_was_asked_ahead() {
    for vanishes in [false, true] {
        let (mut hall, sock) = slow_from_the_second_command_on(Faults::none());
        hall.send(sock, &far_ahead(2..=10));
        let asked = hall.stage.net.now();
        hall.until(|hall| hall.stage.net.now().since(asked).as_ms() >= 200);
        let ended = hall.stage.net.now();
        if vanishes {
            hall.close(sock);
        } else {
            hall.end_sending(sock);
        }
        assert!(hall.until(|hall| hall.sessions() == 0), "the session goes on");
        let took = hall.stage.net.now().since(ended).as_ms();
        assert!(took < 100, "it ends {took} ms later");
        hall.wait_ms(100);
        assert_eq!(hall.counters().kills_sent, 1);
    }
}

#[test]
fn what_was_asked_far_ahead_of_an_end_is_answered() {
    for seed in 0..20 {
        let mut hall = hall(seed, 5_000);
        let sock = hall.login(Caps::DEPRECATE_EOF);
        hall.send(sock, &far_ahead(1..=10));
        hall.end_sending(sock);
        assert_eq!(answers(&mut hall, sock), [0; 10], "seed {seed}");
        assert!(hall.ends(sock), "seed {seed}: the session goes on");
        assert_eq!(hall.counters().kills_sent, 0, "seed {seed}");
    }
}
