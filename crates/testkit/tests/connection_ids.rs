//! `CONNECTION_ID()`: what a client reads is the id that it was told. Where a server is asked, the
//! connection is the session's until it ends, and no other's after it. So rows which were written
//! with its id are found by that session alone.

use io::Sock;
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::Caps;

const WORDS: &str = "u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0";

struct Room {
    hall: Hall,
    sock: Sock,
    number: u32,
}

impl Room {
    fn open() -> Self {
        let mut hall = Hall::in_weather(7, &Simulator::new(), &Weather::cutting());
        let sock = hall.login(Caps::DEPRECATE_EOF);
        Self { hall, sock, number: 0 }
    }

    fn ask(&mut self, verb: &str, kind: &str, rest: &str) {
        self.number += 1;
        let words = format!("s1 q{} {WORDS} k={kind} r=1 w=0 n=1 wa=0", self.number);
        let answer = self.hall.ask(self.sock, &format!("{verb} /*{words}*/ {rest}"));
        assert_ne!(answer.first(), Some(&0xff), "{}", answer.escape_ascii());
        self.hall.wait_ms(5);
        self.hall.take(self.sock);
    }

    /// Why the session keeps its connection.
    fn reasons(&self) -> String {
        let sessions = self.hall.stage.proxies().flat_map(|proxy| proxy.sessions());
        sessions.map(|(_, session)| format!("{:?}", session.reasons())).collect()
    }
}

#[test]
fn what_is_read_keeps_no_connection() {
    let mut room = Room::open();
    room.ask("SELECT", "rows", "CONNECTION_ID() AS id");
    assert_eq!(room.reasons(), "[]");
    // the login has met the other one
    assert_eq!(room.hall.lanes(), 2);
}

#[test]
fn a_connection_whose_id_was_written_is_the_session_s_alone_and_closed_behind_it() {
    let mut room = Room::open();
    room.ask("DELETE", "write", "FROM t WHERE v = CONNECTION_ID()");
    assert_eq!(room.reasons(), "[\"connection_id\"]");
    room.ask("DELETE", "write", "FROM t");
    assert_eq!((room.reasons().as_str(), room.hall.lanes()), ("[\"connection_id\"]", 1));
    room.hall.close(room.sock);
    assert!(room.hall.until(|hall| hall.lanes() == 0));
}
