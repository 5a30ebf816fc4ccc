//! Configurations that come into force while workers are busy.

use engine::proxy::{Offer, Proxy};
use engine::snapshot::Draft;
use io::{EpollDriver, Loop, Micros, Options};
use worker::{Outside, Shared, Worker};

use super::*;
use crate::listeners::Listeners;

/// The loop of a worker that has room for one message.
fn busy(snapshot: &Arc<Snapshot>) -> Loop<EpollDriver, Worker> {
    let key = wire::auth::rsa::ServerKey::generate().expect("a key can be made");
    let offer = Arc::new(Offer::new(b"8.0.11", wire::Caps::PROTOCOL_41, key));
    let outside = Outside {
        connectors: Arc::default(),
        shared: Arc::<Shared>::default(),
        addresses: Arc::default(),
        look_up: Box::new(|_| {}),
        check_login: Box::new(|_| {}),
        random: Box::new(|| [1; 20]),
        log: Box::new(|_| {}),
    };
    let worker = Worker::new(Proxy::new(snapshot.clone(), offer, 1, [0; 32]), outside, 1 << 16);
    let options = Options { mailbox_capacity: 1, ..Options::default() };
    let events = Loop::new(EpollDriver::new().expect("a driver"), worker, options);
    assert!(events.mailbox().post(Mail::Resume).is_ok(), "there is room for one");
    assert!(events.mailbox().post(Mail::Resume).is_err(), "and for no other");
    events
}

#[test]
fn a_change_reaches_a_worker_that_was_busy_and_whose_mailbox_was_full() {
    let snapshot = Arc::new(Snapshot::compile(&Draft::default()).expect("valid"));
    let mut events = busy(&snapshot);
    let listeners = Listeners::open(&[], 1, 1).expect("nothing to open");
    let workers = vec![events.mailbox()];
    let listening = Arc::new(Listening::new(listeners, workers.clone(), &snapshot.vars));
    let cache = Arc::new(cache::QueryCache::new(0));
    let outside = (listening, Certificates::new(None, &snapshot), cache.clone());
    let mut publisher =
        Publisher::new(workers, (snapshot, Keeper::default()), Arc::default(), outside);
    publisher.limit = Duration::from_millis(20);
    let published = publisher.change(|before| before.recompile(&Draft::default()), |it| vec![it]);
    assert_eq!(published.expect("valid").unanswered, [0]);
    let moves = || cache.follows().moves();
    assert_eq!(moves(), 0, "servers are where they were");
    publisher.relocate(1, vec![(0, Some(Addr::Unix("/run/db.sock".into())))]);
    publisher.relocate(0, vec![(0, None)]);
    assert_eq!(moves(), 1);
    let taken = |publisher: &Publisher| {
        let answers: Vec<_> = publisher.lock().answers.try_iter().collect();
        answers.iter().map(|answer| (answer.change, answer.worker)).collect::<Vec<_>>()
    };
    let mut all = taken(&publisher);
    assert!(all.is_empty());
    for _ in 0..10 {
        events.turn(Some(Micros(0)));
        all.append(&mut taken(&publisher));
    }
    assert_eq!(all, [(1, 0)]);
}
