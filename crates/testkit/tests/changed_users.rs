//! Accounts that get another password or are removed: connections that were logged in as before
//! serve nobody else, and sessions end where that is asked for.

use engine::snapshot::Draft;
use io::{Faults, Sock};
use testkit::raw::{Hall, other_password, tagged};
use testkit::sim::{Simulator, Weather};
use wire::Caps;

struct Room {
    hall: Hall,
    busy: Sock,
    idle: Sock,
}

impl Room {
    /// One client in a transaction, one that has given its connection back.
    fn open() -> Self {
        let weather = Weather { faults: Faults::none(), ..Weather::cutting() };
        let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
        let [busy, idle] = [(); 2].map(|()| hall.login(Caps::DEPRECATE_EOF));
        let mut room = Self { hall, busy, idle };
        room.ask(busy, &tagged("BEGIN", "plain", "1 op=1", ""));
        room.ask(idle, &tagged("DELETE", "write", "0 op=0", "FROM t"));
        assert_eq!(room.hall.lanes(), 2);
        room
    }

    fn ask(&mut self, sock: Sock, text: &str) {
        let answer = self.hall.ask(sock, text);
        assert_eq!(answer.first(), Some(&0), "{text}: {}", answer.escape_ascii());
    }

    fn change(&mut self, amend: impl FnOnce(&mut Draft)) {
        let mut draft = Draft::clone(&self.hall.stage.snapshot.draft);
        amend(&mut draft);
        self.hall.stage.reconfigure(&draft, 1 << 16);
        self.hall.wait_ms(5);
    }
}

#[test]
fn connections_with_an_old_password_end_and_sessions_go_on() {
    let mut room = Room::open();
    room.change(other_password);
    assert_eq!((room.hall.lanes(), room.hall.sessions()), (1, 2), "what is free goes");
    let busy = room.busy;
    room.ask(busy, &tagged("COMMIT", "end", "1 op=0", ""));
    room.hall.wait_ms(5);
    assert_eq!((room.hall.lanes(), room.hall.sessions()), (0, 2), "the other when it is let go");
}

#[test]
fn clients_log_in_to_an_account_that_was_gone_for_a_moment() {
    let mut room = Room::open();
    for active in [0, 1] {
        room.change(|draft| {
            let users = draft.users.iter_mut().filter(|user| user.username == "ann");
            users.for_each(|user| user.active = active);
        });
    }
    [room.busy, room.idle].into_iter().for_each(|sock| room.hall.close(sock));
    room.hall.wait_ms(50);
    room.hall.login(Caps::DEPRECATE_EOF);
}

#[test]
fn any_other_change_of_an_account_leaves_its_connections() {
    let mut room = Room::open();
    room.change(|draft| draft.users.iter_mut().for_each(|user| user.max_connections += 1));
    assert_eq!((room.hall.lanes(), room.hall.sessions()), (2, 2));
}

#[test]
fn sessions_of_changed_accounts_end_where_that_is_asked_for() {
    let asks = |draft: &mut Draft| {
        draft.variables.push(("mysql-kill_sessions_of_changed_users".into(), "true".into()));
    };
    let removed = |draft: &mut Draft| draft.users.retain(|user| user.username != "ann");
    for amend in [other_password, removed] {
        let mut room = Room::open();
        room.change(asks);
        assert_eq!(room.hall.sessions(), 2, "nothing has changed yet");
        room.change(|draft| {
            asks(draft);
            amend(draft);
        });
        let (busy, idle) = (room.busy, room.idle);
        assert!(room.hall.ends(busy) && room.hall.ends(idle));
        assert!(room.hall.until(|hall| hall.lanes() == 0));
    }
}
