//! Accounts that get another password or are removed: connections that were logged in as before
//! serve nobody else, and sessions end where that is asked for.

use engine::snapshot::Draft;
use io::{Faults, Sock};
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::Caps;

struct Room {
    hall: Hall,
    busy: Sock,
    idle: Sock,
}

fn text(verb: &str, kind: &str, tx: &str, rest: &str) -> String {
    let words = format!("u=ann db= cs=45 ac=1 tx={tx} pin=0 pop=0 lid=-1 sw=0 k={kind}");
    format!("{verb} /*s1 q1 {words} r=1 w=0 n=1 wa=0*/ {rest}")
}

impl Room {
    /// One client in a transaction, one that has given its connection back.
    fn open() -> Self {
        let weather = Weather { faults: Faults::none(), ..Weather::cutting() };
        let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
        let [busy, idle] = [(); 2].map(|()| hall.login(Caps::DEPRECATE_EOF));
        let mut room = Self { hall, busy, idle };
        room.ask(busy, &text("BEGIN", "plain", "1 op=1", ""));
        room.ask(idle, &text("DELETE", "write", "0 op=0", "FROM t"));
        assert_eq!(room.lanes(), 2);
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

    fn lanes(&self) -> usize {
        self.hall.stage.proxies().map(|proxy| proxy.lane_count()).sum()
    }

    fn sessions(&self) -> usize {
        self.hall.stage.proxies().map(|proxy| proxy.session_count()).sum()
    }
}

fn other_password(draft: &mut Draft) {
    let users = draft.users.iter_mut();
    users.filter(|user| user.username == "ann").for_each(|user| user.password = b"pear".into());
}

#[test]
fn connections_with_an_old_password_end_and_sessions_go_on() {
    let mut room = Room::open();
    room.change(other_password);
    assert_eq!((room.lanes(), room.sessions()), (1, 2), "what is free goes");
    let busy = room.busy;
    room.ask(busy, &text("COMMIT", "end", "1 op=0", ""));
    room.hall.wait_ms(5);
    assert_eq!((room.lanes(), room.sessions()), (0, 2), "the other when it is let go");
}

#[test]
fn any_other_change_of_an_account_leaves_its_connections() {
    let mut room = Room::open();
    room.change(|draft| draft.users.iter_mut().for_each(|user| user.max_connections += 1));
    assert_eq!((room.lanes(), room.sessions()), (2, 2));
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
        assert_eq!(room.sessions(), 2, "nothing has changed yet");
        room.change(|draft| {
            asks(draft);
            amend(draft);
        });
        let (busy, idle) = (room.busy, room.idle);
        assert!(room.hall.ends(busy) && room.hall.ends(idle));
        assert!(room.hall.until(|hall| hall.stage.proxies().all(|proxy| proxy.lane_count() == 0)));
    }
}
