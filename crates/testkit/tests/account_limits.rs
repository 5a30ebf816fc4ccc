//! Accounts that may have few connections to a server: they never have more, whichever workers
//! serve them, everybody gets a turn, and others are not kept waiting.

use std::collections::BTreeMap;

use engine::snapshot::Draft;
use io::{Faults, Sock};
use testkit::raw::Hall;
use testkit::sim::{SimLimits, Simulator, Weather};
use wire::auth::native;
use wire::connect::{Greeting, HandshakeResponse};
use wire::reply::ErrPacket;
use wire::{Caps, frame};

/// Clients of the account that is limited.
const CLIENTS: usize = 8;

/// Connections that it may have.
const MOST: u32 = 2;

struct Room {
    hall: Hall,
}

fn limit(draft: &mut Draft) {
    for user in draft.users.iter_mut().filter(|user| user.username == "ann") {
        user.attributes = r#"{"max_backend_connections": 2}"#.into();
    }
}

/// By the variable, which the attributes of others come before.
fn limit_by_default(draft: &mut Draft) {
    let variable = "mysql-max_backend_connections_per_user";
    draft.variables.push((variable.into(), "2".into()));
    for user in draft.users.iter_mut().filter(|user| user.username == "bob") {
        user.attributes = r#"{"max_backend_connections": 0}"#.into();
    }
}

fn text(user: &str, verb: &str, words: &str, rest: &str) -> String {
    let words = words.replace(" k=", " pin=0 pop=0 lid=-1 sw=0 k=");
    let words = format!("u={user} db= cs=45 ac=1 {words}");
    format!("{verb} /*s1 q1 {words} r=0 w=0 n=1 wa=0*/ {rest}")
}

impl Room {
    fn open(workers: usize, amend: fn(&mut Draft)) -> Self {
        Self::with(workers, 10, amend)
    }

    fn with(workers: usize, max_connections: i64, amend: fn(&mut Draft)) -> Self {
        let weather = Weather { workers, max_connections, amend, ..Weather::cutting() };
        Self::in_weather(weather)
    }

    fn in_weather(weather: Weather) -> Self {
        let weather = Weather { faults: Faults::none(), ..weather };
        Self { hall: Hall::in_weather(7, &Simulator::new(), &weather) }
    }

    fn login(&mut self, user: &str, password: &[u8]) -> Sock {
        self.login_with(Caps::NONE, user, password)
    }

    /// A client of a driver that connects with more than the others.
    fn login_with(&mut self, more: Caps, user: &str, password: &[u8]) -> Sock {
        let (sock, greeting) = self.hall.connect();
        let greeting = Greeting::parse(&greeting).expect("a greeting");
        let caps = Caps::MYSQL
            .union(Caps::PROTOCOL_41)
            .union(Caps::SECURE_CONNECTION)
            .union(Caps::PLUGIN_AUTH)
            .union(Caps::DEPRECATE_EOF)
            .union(more);
        let scramble = native::scramble(password, &greeting.scramble);
        let response = HandshakeResponse {
            caps,
            max_packet: 1 << 24,
            collation: wire::collation_table::UTF8MB4_GENERAL_CI,
            user: user.as_bytes(),
            auth_response: if password.is_empty() { &[] } else { &scramble },
            schema: None,
            plugin: Some(b"mysql_native_password"),
            attributes: &[],
            zstd_level: 0,
        };
        let mut bytes = Vec::new();
        frame::write_with(&mut bytes, &mut 1, |payload| response.encode(payload));
        self.hall.send(sock, &bytes);
        let (answer, _) = self.hall.packet(sock).expect("an answer to the login");
        assert_eq!(answer.first(), Some(&0), "{}", answer.escape_ascii());
        sock
    }

    fn begin(&mut self, sock: Sock) {
        self.hall.query(sock, &text("ann", "BEGIN", "tx=1 op=1 k=plain", ""));
    }

    fn commit(&mut self, sock: Sock) {
        let answer = self.hall.ask(sock, &text("ann", "COMMIT", "tx=1 op=0 k=end", ""));
        assert_eq!(answer.first(), Some(&0), "{}", answer.escape_ascii());
    }

    /// Whether an OK has come on a client's socket.
    fn is_begun(&mut self, sock: Sock) -> bool {
        let heard = self.hall.take(sock);
        assert!(heard.get(4).is_none_or(|first| *first != 0xff), "{}", heard.escape_ascii());
        !heard.is_empty()
    }

    /// Connections to the primary, by account.
    fn lanes(&self) -> BTreeMap<String, u32> {
        let mut lanes = BTreeMap::new();
        for (_, lane) in self.hall.stage.proxies().flat_map(|proxy| proxy.lanes()) {
            if lane.server.hostgroup.0 == 0 {
                *lanes.entry(lane.account.name.to_string()).or_default() += 1;
            }
        }
        lanes
    }

    /// Steps until that many of these have begun; they never have more connections than they may.
    fn wait_for(&mut self, waiting: &mut Vec<Sock>, begun: usize) -> Vec<Sock> {
        let mut done = Vec::new();
        for _ in 0..1_000_000 {
            let (new, rest) = waiting.iter().copied().partition(|sock| self.is_begun(*sock));
            let new: Vec<_> = new;
            done.extend(new);
            *waiting = rest;
            assert!(
                self.lanes().get("ann").is_none_or(|lanes| *lanes <= MOST),
                "{:?}",
                self.lanes()
            );
            if done.len() >= begun {
                return done;
            }
            self.hall.step();
        }
        panic!("{} of {begun} have begun", done.len());
    }
}

#[test]
fn an_account_has_as_many_connections_as_it_may_over_all_workers_and_everybody_a_turn() {
    for (workers, amend) in [(1, limit as fn(&mut Draft)), (2, limit), (2, limit_by_default)] {
        let mut room = Room::open(workers, amend);
        let mut waiting: Vec<_> = (0..CLIENTS).map(|_| room.login("ann", b"apple")).collect();
        let bob = room.login("bob", b"banana");
        for sock in &waiting {
            room.begin(*sock);
        }
        let mut begun = room.wait_for(&mut waiting, MOST as usize);
        room.hall.wait_ms(1500);
        assert!(waiting.iter().all(|sock| !room.is_begun(*sock)), "the others wait");
        assert_eq!(room.lanes().get("ann"), Some(&MOST));
        assert_eq!(room.hall.counters().checkouts_limited, (CLIENTS - MOST as usize) as u64);
        // others are served at once
        let began_us = room.hall.stage.net.now().0;
        let answer = room.hall.ask(bob, &text("bob", "DELETE", "tx=0 op=0 k=write", "FROM t"));
        assert_eq!(answer.first(), Some(&0), "{}", answer.escape_ascii());
        assert!(room.hall.stage.net.now().0 - began_us < 50_000);
        while let Some(sock) = begun.pop() {
            room.commit(sock);
            let more = usize::from(!waiting.is_empty());
            begun.extend(room.wait_for(&mut waiting, more));
        }
        assert!(waiting.is_empty());
        let account = room.hall.stage.snapshot.users.find(b"ann").expect("it is there").clone();
        let server = room.hall.stage.snapshot.topology.servers()[0].clone();
        let open = account.backends.open(server.index);
        assert_eq!(Some(open), room.lanes().get("ann").copied(), "no permit is lost");
    }
}

#[test]
fn clients_of_one_worker_do_not_keep_those_of_another_from_a_limited_account() {
    const ROUNDS: u32 = 60;
    let mut room = Room::open(2, limit);
    let of_first = |room: &Room| room.hall.stage.proxies().next().map(|it| it.session_count());
    let (mut clients, mut others) = (Vec::new(), Vec::new());
    for _ in 0..CLIENTS {
        let before = of_first(&room);
        let sock = room.login("ann", b"apple");
        let is_of_first = of_first(&room) > before;
        if is_of_first { clients.push(sock) } else { others.push(sock) }
    }
    assert!(clients.len() > MOST as usize && !others.is_empty(), "{}", clients.len());
    // those of the first worker have all connections
    for sock in &clients {
        room.begin(*sock);
    }
    while room.hall.counters().checkouts_limited < clients.len() as u64 - u64::from(MOST) {
        room.hall.step();
    }
    for sock in &others {
        room.begin(*sock);
    }
    clients.extend(others);
    // what each has been answered: beginnings and commits by turns
    let mut answers = [0; CLIENTS];
    while answers.iter().all(|count| *count < ROUNDS) {
        for (sock, count) in clients.iter().zip(&mut answers) {
            if room.is_begun(*sock) {
                *count += 1;
                match *count % 2 {
                    1 => room.hall.query(*sock, &text("ann", "COMMIT", "tx=1 op=0 k=end", "")),
                    _ => room.begin(*sock),
                }
            }
        }
        room.hall.step();
    }
    assert!(answers.iter().all(|count| *count >= ROUNDS / 3), "{answers:?}");
}

#[test]
fn who_waits_for_too_long_is_told_of_the_account_and_its_limit() {
    let mut room = Room::open(2, limit);
    let clients: Vec<_> = (0..3).map(|_| room.login("ann", b"apple")).collect();
    let mut waiting = clients.clone();
    for sock in &clients {
        room.begin(*sock);
    }
    room.wait_for(&mut waiting, 2);
    let (payload, _) = room.hall.packet(waiting[0]).expect("told");
    let error = ErrPacket::parse(&payload).expect("an error");
    let message = String::from_utf8_lossy(error.message).into_owned();
    assert_eq!(error.code, 9001);
    assert_eq!(
        message,
        "Max connect timeout reached while reaching hostgroup 0 after 10000ms: user 'ann' has 2 \
         connections to each of its servers, and may have no more (max_backend_connections)"
    );
}

#[test]
fn a_limit_that_is_lowered_acts_as_connections_come_back() {
    let mut room = Room::open(1, |_| ());
    let clients: Vec<_> = (0..4).map(|_| room.login("ann", b"apple")).collect();
    for sock in &clients {
        let answer = room.hall.ask(*sock, &text("ann", "BEGIN", "tx=1 op=1 k=plain", ""));
        assert_eq!(answer.first(), Some(&0), "{}", answer.escape_ascii());
    }
    let mut draft = Draft::clone(&room.hall.stage.snapshot.draft);
    limit(&mut draft);
    room.hall.stage.reconfigure(&draft, 1 << 16);
    room.hall.wait_ms(5);
    for (sock, left) in clients.into_iter().zip([3, 2, 2, 2]) {
        room.commit(sock);
        room.hall.wait_ms(5);
        assert_eq!(room.lanes().get("ann"), Some(&left));
    }
}

#[test]
fn who_may_open_nothing_keeps_nobody_behind_from_a_full_server() {
    let mut room = Room::with(1, i64::from(MOST) + 1, limit);
    let [first, second, third] = [(); 3].map(|()| room.login("ann", b"apple"));
    let busy = [(); 3].map(|()| room.login("bob", b"banana"));
    let late = room.login("cat", b"");
    [first, second].into_iter().for_each(|sock| room.begin(sock));
    room.wait_for(&mut vec![first, second], MOST as usize);
    let write = |user| text(user, "DELETE", "tx=0 op=0 k=write", "FROM t");
    busy.into_iter().for_each(|sock| room.hall.query(sock, &write("bob")));
    // who waits first may open nothing; whoever comes then has to have a connection of its own
    room.begin(third);
    room.hall.wait_ms(1);
    room.hall.query(late, &write("cat"));
    let (began_us, mut answers) = (room.hall.stage.net.now().0, 0);
    while !room.is_begun(late) {
        for sock in busy {
            if room.is_begun(sock) {
                room.hall.query(sock, &write("bob"));
                answers += 1;
            }
        }
        room.hall.step();
        assert!(room.hall.stage.net.now().0 - began_us < 1_000_000, "it starves: {answers}");
    }
    assert!(answers > 100, "others were served meanwhile: {answers}");
    assert!(!room.is_begun(third), "the limit holds");
}

#[test]
fn a_limited_account_serves_each_of_its_drivers() {
    let mut room = Room::open(1, limit);
    let busy = [(); 12].map(|()| room.login("ann", b"apple"));
    let other = room.login_with(Caps::FOUND_ROWS, "ann", b"apple");
    let write = text("ann", "DELETE", "tx=0 op=0 k=write", "FROM t");
    busy.into_iter().for_each(|sock| room.hall.query(sock, &write));
    let mut answers = 0;
    let mut serve = |room: &mut Room| {
        for sock in busy {
            if room.is_begun(sock) {
                room.hall.query(sock, &write);
                answers += 1;
            }
        }
        room.hall.step();
        assert!(room.lanes().get("ann").is_none_or(|lanes| *lanes <= MOST), "{:?}", room.lanes());
        answers
    };
    while serve(&mut room) < 200 {}
    room.hall.query(other, &write);
    let began_us = room.hall.stage.net.now().0;
    while !room.is_begun(other) {
        serve(&mut room);
        assert!(room.hall.stage.net.now().0 - began_us < 1_000_000, "it starves");
    }
    assert!(serve(&mut room) > 400, "others were served meanwhile");
}

#[test]
fn where_a_server_allows_no_more_clients_each_account_gets_a_turn() {
    // its row says ten, and what runs there takes long
    let limits = SimLimits { seats: Some(2), ..SimLimits::default() };
    let weather = Weather { workers: 1, max_connections: 10, limits, ..Weather::cutting() };
    let mut room = Room::in_weather(weather);
    let busy = [(); 6].map(|()| room.login("bob", b"banana"));
    let late = room.login("cat", b"");
    let begin = text("bob", "BEGIN", "tx=1 op=1 k=plain", "");
    let commit = text("bob", "COMMIT", "tx=1 op=0 k=end", "");
    busy.into_iter().for_each(|sock| room.hall.query(sock, &begin));
    let (mut commits, mut asked) = (0, false);
    // when each has begun its transaction, or 0
    let mut begun_us = [0; 6];
    let began_us = room.hall.stage.net.now().0;
    while !(asked && room.is_begun(late)) {
        let now_us = room.hall.stage.net.now().0;
        assert!(now_us - began_us < 3_000_000, "it starves: {commits}");
        for (sock, begun_us) in busy.into_iter().zip(&mut begun_us) {
            if room.is_begun(sock) {
                if *begun_us == 0 {
                    *begun_us = now_us;
                } else {
                    (commits, *begun_us) = (commits + 1, 0);
                    room.hall.query(sock, &begin);
                }
            } else if *begun_us != 0 && now_us - *begun_us > 150_000 {
                *begun_us = now_us;
                room.hall.query(sock, &commit);
            }
        }
        if commits >= 2 && !asked {
            asked = true;
            room.hall.query(late, &text("cat", "DELETE", "tx=0 op=0 k=write", "FROM t"));
        }
        room.hall.step();
    }
    assert!(room.hall.stage.board.borrow().tally["server: full"] > 0, "it said so");
}
