//! What a server's gauge counts, and when it shuns, probes and tells.

use super::*;

#[test]
fn a_pace_counts_within_a_second() {
    let pace = Pace::default();
    for _ in 0..3 {
        assert!(pace.has_room(3, 5_000_000));
        pace.note(5_000_000);
    }
    assert!(!pace.has_room(3, 5_999_999));
    assert!(pace.has_room(3, 6_000_000));
}

#[test]
fn connections_are_closed_before_their_server_does_it() {
    let gauge = Gauge::default();
    assert!(gauge.asks_idle_max(7) && gauge.idle_max_us() == u64::MAX);
    gauge.note_asked_idle_max(7);
    assert!(!gauge.asks_idle_max(60_000_006) && gauge.asks_idle_max(60_000_007));
    for (said, closed_us) in [(3, 1_500_000), (8, 4_000_000), (28_800, 28_795_000_000)] {
        gauge.note_idle_max(said);
        assert_eq!(gauge.idle_max_us(), closed_us);
    }
}

#[test]
fn permits_stop_at_the_limit_and_come_back() {
    let gauge = Gauge::default();
    assert!(gauge.take_permit(2) && gauge.take_permit(2));
    assert!(!gauge.take_permit(2));
    gauge.give_permit();
    assert!(gauge.take_permit(2));
    assert_eq!(gauge.used(), 2);
}

#[test]
fn only_a_burst_of_failures_shuns_and_time_heals() {
    let gauge = Gauge::default();
    let refused = LastFault::Os(111);
    assert!(!gauge.on_fault(refused, 10, 2, 1_000));
    assert!(!gauge.on_fault(refused, 2_000_000, 2, 1_000));
    assert!(gauge.on_fault(refused, 2_000_001, 2, 1_000));
    assert_eq!(gauge.shunned_until_us(2_000_002), 2_001_001);
    assert_eq!(gauge.shunned_until_us(2_001_001), 0);
    assert_eq!(gauge.last_fault(), refused);
}

#[test]
fn a_shunned_server_is_probed_once_at_a_time_after_pauses_that_grow() {
    let gauge = Gauge::default();
    let refused = LastFault::Os(111);
    assert!(!gauge.begin_probe(5_000_000), "nothing is wrong");
    assert!(gauge.on_fault(refused, 5_000_000, 1, 10_000_000));
    let began = |to_us: u64| {
        let looks = (5_000_000..to_us).step_by(100_000);
        let began: Vec<_> = looks.filter(|now_us| gauge.begin_probe(*now_us)).collect();
        began.into_iter().map(|now_us| (now_us - 5_000_000) / 100_000).collect::<Vec<_>>()
    };
    assert_eq!(began(10_500_000), [1, 3, 7, 15, 25, 35, 45]);
    gauge.begin_dial();
    assert!(!gauge.begin_probe(14_900_000), "one is under way");
    gauge.end_dial();
    assert!(gauge.begin_probe(14_900_000));
    // the time is over, and one failure is enough
    assert!(gauge.shunned_until_us(15_000_000) == 0 && gauge.is_unproven());
    assert!(gauge.on_fault(refused, 15_000_000, 5, 10_000_000));
    assert!(gauge.on_success() && !gauge.is_unproven() && !gauge.begin_probe(20_000_000));
    assert!(!gauge.on_fault(refused, 20_000_000, 5, 10_000_000), "it is trusted again");
}

#[test]
fn a_failure_that_repeats_itself_is_told_now_and_then() {
    let gauge = Gauge::default();
    let told = |fault, now_us| {
        let tells = gauge.tells(fault, now_us);
        gauge.on_fault(fault, now_us, 3, 1_000);
        tells
    };
    let (refused, denied) = (LastFault::Os(111), LastFault::Server(1045));
    assert!(told(refused, 10) && !told(refused, 11) && !told(refused, 10_000_009));
    assert!(told(refused, 10_000_010) && told(LastFault::Timeout, 10_000_011));
    assert!(told(denied, 10_000_012) && told(denied, 10_000_013), "another account, perhaps");
    assert!(gauge.on_success(), "it was shunned");
    assert!(!gauge.on_success(), "it is told once");
    let shown = [104, 4000].map(|errno| LastFault::Os(errno).to_string());
    assert_eq!(shown, ["connection reset by the other end (errno 104)", "errno 4000"]);
    assert!(told(refused, 10_000_014), "it had worked in between");
}

#[test]
fn a_statement_for_new_connections_that_fails_is_told_now_and_then() {
    let gauge = Gauge::default();
    let told = [5, 6, 10_000_004, 10_000_005].map(|now_us| gauge.tells_init_connect(now_us));
    assert_eq!(told, [true, false, false, true]);
}

#[test]
fn a_server_that_is_full_is_not_shunned_and_left_alone_for_a_moment() {
    let gauge = Gauge::default();
    for now_us in 1..100 {
        assert!(!gauge.on_fault(LastFault::Server(1040), now_us, 1, 1_000));
    }
    assert_eq!(gauge.shunned_until_us(99), 0);
    assert!(gauge.is_full(99 + FULL_PAUSE_US - 1) && !gauge.is_full(99 + FULL_PAUSE_US));
    // an account that is at its limit keeps no other one from coming in
    let gauge = Gauge::default();
    assert!(!gauge.on_fault(LastFault::Server(1226), 1, 1, 1_000) && !gauge.is_full(1));
    assert!(!gauge.on_fault(LastFault::Server(1203), 1, 1, 1_000) && !gauge.is_full(1));
}

#[test]
fn a_name_without_an_address_is_told_in_words() {
    assert_eq!(LastFault::Os(NAME_UNKNOWN).to_string(), "the host name is not known");
}

#[test]
fn a_wrong_password_never_shuns_a_server() {
    let gauge = Gauge::default();
    for _ in 0..100 {
        assert!(!gauge.on_fault(LastFault::Server(1045), 1, 1, 1_000));
    }
    assert_eq!(gauge.last_fault(), LastFault::Server(1045));
}
