//! Panics in what is about many sessions at once: each costs the session that the call was at, and
//! everything is done for all others, wherever it struck.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use engine::snapshot::Draft;
use engine::stats::Parts;
use io::{Addr, Faults, Micros, Sock};
use testkit::raw::{Hall, other_password, tagged};
use testkit::sim::{Simulator, Weather};
use wire::Caps;
use wire::command::code;
use worker::Mail;

/// Three clients in transactions, and two that have given their connection back.
struct Room {
    hall: Hall,
    busy: [Sock; 3],
    idle: [Sock; 2],
    /// At which place a panic strikes, counted down.
    fuse: Arc<AtomicI64>,
}

impl Room {
    fn open() -> Self {
        let weather = Weather { faults: Faults::none(), ..Weather::cutting() };
        let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
        let busy = [(); 3].map(|()| hall.login(Caps::DEPRECATE_EOF));
        let idle = [(); 2].map(|()| hall.login(Caps::DEPRECATE_EOF));
        let mut room = Self { hall, busy, idle, fuse: Arc::default() };
        room.busy
            .into_iter()
            .for_each(|sock| room.ask(sock, &tagged("BEGIN", "plain", "1 op=1", "")));
        room.idle
            .into_iter()
            .for_each(|sock| room.ask(sock, &tagged("DELETE", "write", "0 op=0", "FROM t")));
        assert_eq!((room.hall.lanes(), room.hall.sessions()), (4, 5));
        room
    }

    fn ask(&mut self, sock: Sock, text: &str) {
        let answer = self.hall.ask(sock, text);
        assert_eq!(answer.first(), Some(&0), "{text}: {}", answer.escape_ascii());
    }

    /// What the worker does next panics at the `at`th place where it may, once.
    fn plant(&mut self, at: u32) {
        self.fuse.store(i64::from(at), Ordering::Relaxed);
        let fuse = self.fuse.clone();
        let strikes = move || fuse.fetch_sub(1, Ordering::Relaxed) == 0;
        self.hall.stage.workers[0].service_mut().plant_panics(Arc::new(strikes));
    }

    fn post(&mut self, mail: Mail) {
        assert!(self.hall.stage.workers[0].mailbox().post(mail).is_ok(), "there is room");
        self.pass();
    }

    /// Another configuration comes into force.
    fn change(&mut self, amend: impl FnOnce(&mut Draft)) {
        let mut draft = Draft::clone(&self.hall.stage.snapshot.draft);
        amend(&mut draft);
        self.hall.stage.reconfigure(&draft, 1 << 16);
        self.pass();
    }

    /// The worker comes to its mail; from then on nothing strikes.
    fn pass(&mut self) {
        self.hall.wait_ms(5);
        self.fuse.store(-1, Ordering::Relaxed);
    }

    /// Those in a transaction whose session is still there can end it.
    fn commit(&mut self) -> usize {
        let there = self.busy.map(|sock| {
            self.hall.query(sock, &tagged("COMMIT", "end", "1 op=0", ""));
            let answer = self.hall.packet(sock);
            answer.inspect(|(ok, _)| assert_eq!(ok.first(), Some(&0), "{}", ok.escape_ascii()))
        });
        there.into_iter().flatten().count()
    }

    /// Every connection to a server has its permit, and nothing else has one.
    fn has_right_permits(&self) -> bool {
        let snapshot = self.hall.stage.snapshot.clone();
        let used: u32 = snapshot.topology.servers().iter().map(|server| server.gauge.used()).sum();
        self.hall.lanes() as u32 == used
    }
}

fn primary() -> Addr {
    Addr::Tcp(([10, 0, 0, 1], 3306).into())
}

/// Tries every place where a panic may strike; returns how many there are.
fn wherever_it_strikes(mut one: impl FnMut(&mut Room)) -> u32 {
    for at in 0..1000 {
        let mut room = Room::open();
        room.plant(at);
        one(&mut room);
        if room.hall.counters().panics == 0 {
            return at;
        }
        assert!(room.has_right_permits(), "{at}");
    }
    panic!("it strikes again and again");
}

#[test]
fn a_configuration_comes_into_force_as_a_whole() {
    let places = wherever_it_strikes(|room| {
        room.change(|draft| {
            other_password(draft);
            draft.servers.retain(|row| row.hostname != "10.0.0.2");
        });
        let wanted = room.hall.stage.snapshot.clone();
        assert!(room.hall.stage.proxies().all(|proxy| Arc::ptr_eq(proxy.snapshot(), &wanted)));
        // the free connection of the old password has gone; who is in a transaction goes on
        let panics = room.hall.counters().panics as usize;
        assert_eq!((room.hall.lanes(), room.hall.sessions()), (3, 5), "{panics}");
        assert_eq!(room.commit(), 3);
        room.hall.wait_ms(5);
        assert_eq!((room.hall.lanes(), room.hall.sessions()), (0, 5));
    });
    assert!(places > 3, "{places}");
}

#[test]
fn sessions_of_changed_accounts_end_all_of_them() {
    let places = wherever_it_strikes(|room| {
        room.change(|draft| {
            other_password(draft);
            draft.variables.push(("mysql-kill_sessions_of_changed_users".into(), "true".into()));
        });
        room.hall.wait_ms(50);
        assert_eq!((room.hall.lanes(), room.hall.sessions()), (0, 0));
    });
    assert!(places > 9, "{places}");
}

#[test]
fn a_pause_ends_who_is_idle_and_nobody_in_a_transaction() {
    let places = wherever_it_strikes(|room| {
        room.post(Mail::Pause);
        assert_eq!(room.hall.sessions(), 3);
        assert_eq!(room.commit(), 3);
        assert!(room.hall.until(|hall| hall.sessions() == 0));
        room.post(Mail::Resume);
        room.hall.login(Caps::DEPRECATE_EOF);
    });
    assert!(places > 3, "{places}");
}

#[test]
fn all_sessions_end_and_others_may_come() {
    let places = wherever_it_strikes(|room| {
        room.post(Mail::EndSessions);
        assert_eq!(room.hall.sessions(), 0);
        for sock in room.busy.into_iter().chain(room.idle) {
            assert!(room.hall.ends(sock));
        }
        let sock = room.hall.login(Caps::DEPRECATE_EOF);
        room.ask(sock, &tagged("DELETE", "write", "0 op=0", "FROM t"));
    });
    assert!(places > 9, "{places}");
}

#[test]
fn connections_lost_amid_a_reset_give_their_permits_back() {
    let places = wherever_it_strikes(|room| {
        room.hall.stage.net.stall(&primary(), Micros::from_secs(5));
        for sock in room.busy {
            room.hall.send(sock, &[1, 0, 0, 0, code::RESET_CONNECTION]);
        }
        room.hall.wait_ms(5);
        room.change(|draft| {
            draft.servers.iter_mut().for_each(|row| row.status = "OFFLINE_HARD".into());
        });
        assert_eq!(room.hall.lanes(), 0);
    });
    assert!(places > 9, "{places}");
}

#[test]
fn a_reading_that_panics_tells_nothing_and_costs_nobody_anything() {
    let places = wherever_it_strikes(|room| {
        let told = Arc::new(AtomicU32::new(0));
        let heard = told.clone();
        let tell = move |_| heard.store(1, Ordering::Relaxed);
        room.post(Mail::Collect { parts: Parts::NONE, tell: Box::new(tell) });
        let panics = room.hall.counters().panics;
        assert_eq!(u64::from(told.load(Ordering::Relaxed)) + panics, 1);
        assert_eq!((room.hall.sessions(), room.commit()), (5, 3));
    });
    assert_eq!(places, 2);
}
