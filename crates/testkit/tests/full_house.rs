//! Clients before their login while the process is full: they keep nobody out who has an account.

use engine::snapshot::Draft;
use io::Sock;
use testkit::raw::{Hall, respond};
use testkit::sim::{Simulator, Weather};
use wire::Caps;

/// Clients that may be logged in.
const CLIENTS: usize = 4;

/// Clients before their login that a worker keeps all the same.
const NEWCOMERS: usize = 256;

fn amend(draft: &mut Draft) {
    for (name, value) in [("max_connections", "4"), ("connect_timeout_client", "3600000")] {
        draft.variables.push((format!("mysql-{name}"), value.into()));
    }
}

fn hall() -> Hall {
    let weather = Weather { amend, workers: 1, faults: io::Faults::none(), ..Weather::cutting() };
    Hall::in_weather(7, &Simulator::new(), &weather)
}

/// The number of the error that comes next, with its sequence number.
fn refused(hall: &mut Hall, sock: Sock) -> (u16, u8) {
    let (payload, seq) = hall.packet(sock).expect("told");
    assert_eq!(payload[0], 0xff, "{}", payload.escape_ascii());
    (u16::from_le_bytes([payload[1], payload[2]]), seq)
}

#[test]
fn clients_without_an_account_give_way_in_the_order_in_which_they_came() {
    let mut hall = hall();
    let inside: Vec<Sock> = (1..CLIENTS).map(|_| hall.login(Caps::NONE)).collect();
    let silent: Vec<Sock> = (0..NEWCOMERS).map(|_| hall.connect().0).collect();
    assert_eq!(hall.counters().newcomers_gave_way, 0);
    // saying something helps no more than silence
    hall.send(silent[0], &[32]);
    let (last, greeting) = hall.connect();
    assert_eq!(refused(&mut hall, silent[0]), (1040, 1));
    assert!(hall.ends(silent[0]));
    // others come while it thinks
    let more: Vec<Sock> = (0..NEWCOMERS - 1).map(|_| hall.connect().0).collect();
    assert_eq!(hall.counters().newcomers_gave_way, NEWCOMERS as u64);
    hall.send(last, &respond(&greeting, Caps::NONE));
    assert_eq!(hall.packet(last).expect("an answer").0[0], 0, "it is let in");
    for sock in inside.into_iter().chain([last]) {
        hall.send(sock, &[1, 0, 0, 0, 0x0e]);
        assert_eq!(hall.packet(sock).expect("a pong").0[0], 0, "whoever is in stays");
    }
    // as many are in as may be: whoever comes is told so at once
    let (_, turned_away) = hall.connect();
    assert_eq!(turned_away[..3], [0xff, 0x10, 0x04]);
    drop(more);
}

#[test]
fn a_place_goes_to_the_first_that_logs_in_and_is_free_when_it_leaves() {
    let mut hall = hall();
    let inside: Vec<Sock> = (1..CLIENTS).map(|_| hall.login(Caps::NONE)).collect();
    let both = [(); 2].map(|()| hall.connect());
    let [first, second] = both.map(|(sock, greeting)| {
        hall.send(sock, &respond(&greeting, Caps::NONE));
        sock
    });
    assert_eq!(hall.packet(first).expect("an answer").0[0], 0);
    assert_eq!(refused(&mut hall, second), (1040, 2));
    assert_eq!(hall.counters().denied_max_connections, 1);
    hall.close(inside[0]);
    assert!(hall.until(|hall| hall.logged_in() == 3), "it is counted no more");
    hall.login(Caps::NONE);
}
