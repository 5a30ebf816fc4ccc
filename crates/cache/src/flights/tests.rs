use std::thread;

use foldhash::quality::FixedState;

use super::*;
use crate::About;
use crate::key::SoughtKey;

const NOW: Asking = Asking { worker: 0, now_us: 1_000, lives_us: 500, from_us: 0, flushes: 0 };

fn key(text: &str) -> CacheKey {
    SoughtKey::new(text.as_bytes(), &FixedState::with_seed(1)).to_key()
}

fn lead(flights: &Arc<Flights>, asking: Asking) -> Lead {
    match flights.join(&key("k"), &asking) {
        Joining::Leads(lead) => lead,
        other => panic!("{other:?}"),
    }
}

fn wait(flights: &Arc<Flights>, asking: Asking) -> Wait {
    match flights.join(&key("k"), &asking) {
        Joining::Waits(wait) => wait,
        other => panic!("{other:?}"),
    }
}

fn next(flights: &Arc<Flights>, asking: Asking) -> (Lead, Wait) {
    match flights.join(&key("k"), &asking) {
        Joining::LeadsNext(lead, wait) => (lead, wait),
        other => panic!("{other:?}"),
    }
}

fn answer() -> Landing {
    let about = About {
        rows: 1,
        status: 2,
        since_us: 0,
        lives_us: 500,
        stale_us: 0,
        basis: None,
        digest: 0,
    };
    Landing::Answer(Arc::new(CachedReply::new([7; 3].into(), about)))
}

#[test]
fn one_leads_and_the_others_are_told_on_their_threads() {
    let flights = Flights::new();
    let first = lead(&flights, NOW);
    let waits = [1, 2, 1].map(|worker| wait(&flights, Asking { worker, ..NOW }));
    assert!(matches!(flights.join(&key("other"), &NOW), Joining::Leads(_)), "another question");
    assert!(waits[0].flight().landing().is_none());
    let (flight, workers) = first.land(answer());
    assert_eq!((workers, flight.waiting(), flights.count()), (vec![1, 2], 3, 0));
    let told = |wait: &Wait| match wait.flight().landing() {
        Some(Landing::Answer(answer)) => answer.reply.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(waits.each_ref().map(told), [3; 3]);
    drop(waits);
    assert_eq!(flight.waiting(), 0);
    lead(&flights, NOW);
}

#[test]
fn an_answer_from_before_what_somebody_has_seen_is_not_waited_for() {
    let flights = Flights::new();
    let first = lead(&flights, NOW);
    assert!(first.send(1_000, 500));
    wait(&flights, Asking { from_us: 1_000, ..NOW });
    let (_second, turn) = next(&flights, Asking { from_us: 1_001, ..NOW });
    assert_eq!(turn.flight().number(), first.flight.number());
}

#[test]
fn whoever_comes_too_late_for_an_answer_leads_the_next_flight_when_this_one_has_landed() {
    let flights = Flights::new();
    let first = lead(&flights, NOW);
    // whatever its age will be, it is of later than the question
    let early = wait(&flights, Asking { lives_us: 0, ..NOW });
    assert!(first.send(1_000, 500));
    let young = wait(&flights, Asking { now_us: 1_499, ..NOW });
    assert_eq!([early.is_early(), young.is_early()], [true, false]);
    let (second, turn) = next(&flights, Asking { now_us: 1_500, ..NOW });
    assert_eq!(turn.flight().number(), early.flight().number());
    // that one is not sent
    let later = wait(&flights, Asking { now_us: 9_000, lives_us: 0, ..NOW });
    assert_eq!(later.flight().number(), second.flight.number());
    first.land(Landing::Unshared);
    for of_first in [&early, &young, &turn] {
        assert!(matches!(of_first.flight().landing(), Some(Landing::Unshared)));
    }
    assert!(later.flight().landing().is_none());
    // the first was not under the key any more
    assert_eq!(flights.count(), 1);
    wait(&flights, NOW);
}

#[test]
fn where_nobody_may_be_told_what_was_sent_nobody_waits_for_it() {
    let flights = Flights::new();
    let first = lead(&flights, Asking { lives_us: 0, ..NOW });
    assert!(!first.send(1_000, 0), "nobody is there, and nobody can come");
    // not even somebody for whom it would be young enough: it is not copied
    let (second, turn) = next(&flights, NOW);
    assert_eq!(turn.flight().waiting(), 1);
    let also = wait(&flights, Asking { lives_us: 0, ..NOW });
    assert!(second.send(2_000, 0));
    assert_eq!(also.flight().waiting(), 1);
    // a second attempt is of later still
    assert!(second.send(3_000, 0));
    next(&flights, Asking { now_us: 2_000, lives_us: 0, ..NOW });
}

#[test]
fn a_flush_parts_those_who_ask_before_it_from_those_behind() {
    let flights = Flights::new();
    let first = lead(&flights, NOW);
    let before = wait(&flights, NOW);
    let second = lead(&flights, Asking { flushes: 1, ..NOW });
    let behind = wait(&flights, Asking { flushes: 1, ..NOW });
    assert_eq!(first.flight.waiting(), 1, "the one behind the flush does not wait for it");
    first.land(answer());
    assert!(before.flight().landing().is_some() && behind.flight().landing().is_none());
    second.land(answer());
    assert!(behind.flight().landing().is_some());
}

#[test]
fn a_leader_that_is_gone_has_landed_and_another_one_leads() {
    let flights = Flights::new();
    let wait = {
        let _first = lead(&flights, NOW);
        wait(&flights, NOW)
    };
    assert!(matches!(wait.flight().landing(), Some(Landing::Lost)));
    lead(&flights, NOW);
    assert_eq!(flights.count(), 0);
}

#[test]
fn too_many_do_not_wait_and_room_comes_back() {
    let flights = Flights::new();
    let _first = lead(&flights, NOW);
    let mut waits: Vec<_> = (0..WAITERS_MAX).map(|_| wait(&flights, NOW)).collect();
    assert!(matches!(flights.join(&key("k"), &NOW), Joining::Full));
    waits.pop();
    wait(&flights, NOW);
}

#[test]
fn threads_that_ask_the_same_are_all_told_and_one_at_a_time_leads() {
    let flights = Flights::new();
    let leading = AtomicU64::new(0);
    let led = AtomicU64::new(0);
    let ask = |worker: usize| {
        for _ in 0..2_000 {
            match flights.join(&key("k"), &Asking { worker, ..NOW }) {
                Joining::Leads(lead) => {
                    assert_eq!(leading.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
                    lead.send(1_000, 500);
                    thread::yield_now();
                    leading.fetch_sub(1, Ordering::SeqCst);
                    lead.land(answer());
                    led.fetch_add(1, Ordering::SeqCst);
                }
                Joining::Waits(wait) => {
                    while wait.flight().landing().is_none() {
                        thread::yield_now();
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    };
    thread::scope(|scope| {
        let ask = &ask;
        (0..4).for_each(|worker| drop(scope.spawn(move || ask(worker))));
    });
    assert_eq!(flights.count(), 0);
    assert!(led.into_inner() > 0);
}
