//! Clients that do not log in, or not with the right password, on a simulated network.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use io::{Faults, Loop, Options, SimDriver, SimNet};
use wire::auth::native;
use wire::connect::{Greeting, HandshakeResponse};
use wire::frame::{self, Framed};
use wire::reply::ErrPacket;
use wire::{Caps, command};

use super::*;

/// Clients that keep what comes.
#[derive(Default)]
struct Crowd {
    heard: BTreeMap<u64, Vec<u8>>,
    gone: BTreeSet<u64>,
}

impl io::Service for Crowd {
    type Mail = ();

    fn on_accepted<D: Driver>(&mut self, _: &mut Edge<D>, _: Listener, _: Sock, _: Addr) {}
    fn on_connected<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock, _: Result<(), Failure>) {}

    fn on_bytes<D: Driver>(&mut self, _: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        self.heard.entry(sock.to_raw()).or_default().extend_from_slice(bytes);
        bytes.len()
    }

    fn on_gone<D: Driver>(&mut self, _: &mut Edge<D>, sock: Sock, _: Option<Failure>) {
        self.gone.insert(sock.to_raw());
    }

    fn on_drained<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock) {}
    fn on_timer<D: Driver>(&mut self, _: &mut Edge<D>, _: u64) {}
    fn on_mail<D: Driver>(&mut self, _: &mut Edge<D>, (): ()) {}
    fn on_turn_end<D: Driver>(&mut self, _: &mut Edge<D>) {}
}

/// The interface and its clients.
struct Hall {
    net: SimNet,
    interface: Loop<SimDriver, Service>,
    crowd: Loop<SimDriver, Crowd>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Hall {
    fn new() -> Self {
        Self::with(&[])
    }

    /// One with these variables.
    fn with(variables: &[(&str, &str)]) -> Self {
        let net = SimNet::new(7, Faults::none());
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&log);
        let report = move |report: &Report| {
            lines.lock().expect("no panic").push(report.to_string());
        };
        let service = Service::new(crate::fake_process::admin(variables), Box::new(report));
        let mut interface = Loop::new(net.driver(), service, Options::default());
        interface.add_listener(net.listen(&place()));
        let (service, edge) = interface.parts_mut();
        service.start(edge);
        let crowd = Loop::new(net.driver(), Crowd::default(), Options::default());
        Self { net, interface, crowd, log }
    }

    fn run(&mut self, span: Micros) {
        let until = self.net.now() + span;
        self.crowd.parts_mut().1.set_timer(0, until);
        while self.net.now() < until {
            self.net.step(&mut [&mut self.interface, &mut self.crowd]);
        }
    }

    fn connect(&mut self) -> Sock {
        self.crowd.parts_mut().1.connect(&place()).expect("a connect begins")
    }

    /// A client that has its greeting.
    fn greeted(&mut self) -> (Sock, Vec<u8>) {
        let sock = self.connect();
        let greeting = self.packet(sock).expect("a greeting");
        (sock, greeting)
    }

    fn send(&mut self, sock: Sock, bytes: &[u8]) {
        self.crowd.parts_mut().1.send(sock, &[bytes]);
    }

    /// The next packet that a client gets; nothing when its connection ends first.
    fn packet(&mut self, sock: Sock) -> Option<Vec<u8>> {
        let patience = self.net.now() + Micros::from_secs(30);
        loop {
            let crowd = self.crowd.service_mut();
            let heard = crowd.heard.entry(sock.to_raw()).or_default();
            if let Framed::Packet(packet) = frame::next_packet(heard) {
                let (payload, len) = (packet.payload.to_vec(), packet.len);
                heard.drain(..len);
                return Some(payload);
            }
            if crowd.gone.contains(&sock.to_raw()) {
                return None;
            }
            assert!(self.net.now() < patience, "nothing comes");
            self.net.step(&mut [&mut self.interface, &mut self.crowd]);
        }
    }

    /// The number of the error that a client gets next.
    fn error(&mut self, sock: Sock) -> u16 {
        let packet = self.packet(sock).expect("an error, not an end");
        ErrPacket::parse(&packet).expect("an error").code
    }

    /// A client that gives this password and waits for nothing.
    fn guess(&mut self, password: &str) -> Sock {
        let (sock, greeting) = self.greeted();
        self.send(sock, &credentials(&greeting, password));
        sock
    }

    /// A client that is in, by an account whose password is its name.
    fn inside(&mut self, account: &str) -> Sock {
        let (sock, greeting) = self.greeted();
        self.send(sock, &credentials_of(&greeting, account, account));
        assert_eq!(self.packet(sock).expect("an answer").first(), Some(&0), "{account} is let in");
        sock
    }

    fn is_let_in(&mut self) -> bool {
        let sock = self.guess("admin");
        self.packet(sock).expect("an answer").first() == Some(&0)
    }

    fn judged(&self) -> usize {
        let log = self.log.lock().expect("no panic");
        log.iter().filter(|line| line.contains("was refused")).count()
    }
}

fn place() -> Addr {
    // the simulated network gives one address to all who come by a socket
    Addr::Unix("/admin.sock".into())
}

fn credentials(greeting: &[u8], password: &str) -> Vec<u8> {
    credentials_of(greeting, "admin", password)
}

fn credentials_of(greeting: &[u8], user: &str, password: &str) -> Vec<u8> {
    let greeting = Greeting::parse(greeting).expect("a greeting");
    let answer = native::scramble(password.as_bytes(), &greeting.scramble);
    let response = HandshakeResponse {
        caps: Caps::PROTOCOL_41.union(Caps::SECURE_CONNECTION),
        max_packet: 1 << 24,
        collation: 33,
        user: user.as_bytes(),
        auth_response: &answer,
        schema: None,
        plugin: None,
        attributes: &[],
        zstd_level: 0,
    };
    let mut packet = Vec::new();
    frame::write_with(&mut packet, &mut 1, |out| response.encode(out));
    packet
}

#[test]
fn who_does_not_log_in_within_ten_seconds_is_let_go() {
    let mut hall = Hall::new();
    let (silent, _) = hall.greeted();
    let (slow, greeting) = hall.greeted();
    hall.send(slow, &credentials(&greeting, "admin")[..20]);
    let (inside, greeting) = hall.greeted();
    hall.send(inside, &credentials(&greeting, "admin"));
    assert_eq!(hall.packet(inside).expect("an answer").first(), Some(&0));
    hall.run(Micros::from_ms(9_900));
    assert!(hall.crowd.service().gone.is_empty());
    for sock in [silent, slow] {
        assert_eq!(hall.error(sock), 1159);
        assert_eq!(hall.packet(sock), None);
    }
    hall.run(Micros::from_secs(30));
    let mut ping = Vec::new();
    command::write(&mut ping, 0x0e, &[]);
    hall.send(inside, &ping);
    assert_eq!(hall.packet(inside).expect("an answer").first(), Some(&0), "who is in stays");
}

#[test]
fn before_the_login_a_packet_has_16_kib_at_most() {
    let mut hall = Hall::new();
    let (sock, _) = hall.greeted();
    hall.send(sock, &[0, 0x40, 0, 1]);
    hall.run(Micros::from_ms(100));
    assert!(hall.crowd.service().gone.is_empty(), "so many are allowed");
    let (sock, _) = hall.greeted();
    hall.send(sock, &[1, 0x40, 0, 1]);
    assert_eq!(hall.error(sock), 1153);
    assert_eq!(hall.packet(sock), None);
}

/// A client counts by the address that a proxy in front tells, which makes nobody this machine.
#[test]
fn a_proxy_in_front_tells_whose_client_it_is() {
    let mut hall = Hall::with(&[("admin-proxy_protocol_networks", "*")]);
    let mut come = |header: &[u8], password: &str, cut: usize| {
        let (sock, greeting) = hall.greeted();
        let bytes = [header, &credentials(&greeting, password)].concat();
        for piece in [&bytes[..cut], &bytes[cut..]] {
            hall.send(sock, piece);
            hall.run(Micros::from_ms(1));
        }
        hall.packet(sock).expect("an answer")
    };
    // whoever tells that it is this machine is another one, and `admin` comes from here alone
    for address in ["203.0.113.9", "127.0.0.1"] {
        let line = format!("PROXY TCP4 {address} 10.0.0.2 5 6\r\n");
        for cut in [0, 1, 3, line.len() - 1, line.len(), line.len() + 1] {
            let answer = come(line.as_bytes(), "admin", cut);
            let error = ErrPacket::parse(&answer).expect("an error");
            let message = error.message.escape_ascii().to_string();
            assert!(message.contains(&format!("@\\'{address}\\'")), "{message}");
        }
    }
    // of whom it tells nothing: a proxy calls so that listens on a Unix socket
    for header in [
        &b"PROXY UNKNOWN\r\n"[..],
        b"\r\n\r\n\0\r\nQUIT\n\x21\0\0\0",
        b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0",
    ] {
        assert_eq!(come(header, "admin", 0).first(), Some(&0xff), "{}", header.escape_ascii());
    }
    assert_eq!(come(b"", "admin", 0).first(), Some(&0), "without a header");
    let answer = come(b"PROXY TCP9\r\n", "admin", 0);
    let error = ErrPacket::parse(&answer).expect("an error");
    assert_eq!((error.code, &error.sqlstate), (1043, b"08S01"));
    let mut elsewhere = Hall::new();
    let (sock, _) = elsewhere.greeted();
    elsewhere.send(sock, b"PROXY TCP4 203.0.113.9 10.0.0.2 5 6\r\n");
    assert_eq!(elsewhere.error(sock), 1043);
    assert_eq!(elsewhere.packet(sock), None);
    let why = "admin: a PROXY protocol header from a Unix socket, which is not in \
               admin-proxy_protocol_networks";
    assert_eq!(*elsewhere.log.lock().expect("no panic"), [why]);
}

#[test]
fn silent_clients_keep_nobody_out() {
    let mut hall = Hall::new();
    let crowd: Vec<Sock> = (0..1500).map(|_| hall.connect()).collect();
    hall.run(Micros::from_ms(500));
    assert!(hall.is_let_in());
    let mut left = 0;
    for sock in crowd {
        let mut last = hall.packet(sock).expect("a greeting");
        while !hall.crowd.service().heard[&sock.to_raw()].is_empty() {
            last = hall.packet(sock).expect("what has come");
        }
        left += u64::from(!ErrPacket::is(&last));
    }
    assert_eq!(hall.interface.service().admin.turned_away, 1500 - left);
    assert_eq!(left, 31, "and the one that has logged in");
    hall.run(Micros::from_secs(1));
    let log = hall.log.lock().expect("no panic").clone();
    let told = |line: &String| line.contains("clients were turned away");
    assert!((1..=3).contains(&log.iter().filter(|line| told(line)).count()), "{log:?}");
}

#[test]
fn who_hangs_up_early_learns_nothing_guesses_no_faster_and_keeps_nobody_out() {
    let mut hall = Hall::new();
    let begin = hall.net.now();
    for _ in 0..600 {
        let sock = hall.guess("wrong");
        hall.run(Micros::from_ms(3));
        hall.crowd.parts_mut().1.close(sock);
    }
    let took = hall.net.now() - begin;
    assert!(took < Micros::from_secs(10), "{took:?}");
    // at once, after 50, 100, 200, … milliseconds
    assert!(hall.judged() <= 8, "{} guesses in {took:?}", hall.judged());
    assert!(hall.is_let_in(), "its turn comes: whoever is gone has none");
}

#[test]
fn a_right_password_ends_the_waiting_of_the_others() {
    let mut hall = Hall::new();
    for _ in 0..6 {
        let sock = hall.guess("wrong");
        assert_eq!(hall.error(sock), 1045);
    }
    let [first, second] = [(); 2].map(|()| hall.guess("admin"));
    assert_eq!(hall.packet(first).expect("an answer").first(), Some(&0));
    let begin = hall.net.now();
    assert_eq!(hall.packet(second).expect("an answer").first(), Some(&0));
    assert!(hall.net.now() - begin < Micros::from_ms(10));
}

#[test]
fn an_early_guess_is_answered_late_whether_it_is_right_or_wrong() {
    let mut hall = Hall::new();
    for _ in 0..4 {
        let sock = hall.guess("wrong");
        assert_eq!(hall.error(sock), 1045);
    }
    for password in ["wrong", "admin"] {
        let sock = hall.guess(password);
        let begin = hall.net.now();
        hall.packet(sock).expect("an answer");
        let waited = hall.net.now() - begin;
        assert!(waited > Micros::from_ms(300), "{password}: {waited:?}");
    }
}

#[test]
fn refusals_beyond_the_lines_of_a_minute_are_told_by_their_number() {
    let mut hall = Hall::new();
    let now = hall.net.now();
    let lines = &mut hall.interface.service_mut().refusal_lines;
    while lines.admits(now.0) {}
    let sock = hall.guess("wrong");
    assert_eq!(hall.error(sock), 1045);
    assert_eq!(hall.judged(), 0);
    hall.run(Micros::from_secs(61));
    let log = hall.log.lock().expect("no panic");
    assert_eq!(*log, ["admin: 2 more clients were refused within a minute"]);
}

#[test]
fn readers_that_fill_the_places_keep_no_administrator_out() {
    let mut hall = Hall::new();
    let crowd: Vec<Sock> = (0..300)
        .map(|_| {
            hall.run(Micros::from_ms(1));
            hall.inside("stats")
        })
        .collect();
    assert!(hall.is_let_in());
    let left = |hall: &mut Hall, sock: &Sock| !hall.crowd.service().gone.contains(&sock.to_raw());
    hall.run(Micros::from_ms(100));
    let (first, last) = crowd.split_at(300 - 256);
    assert!(first.iter().all(|sock| !left(&mut hall, sock)), "who was silent for longest");
    assert!(last.iter().all(|sock| left(&mut hall, sock)));
    for sock in first {
        assert_eq!(hall.error(*sock), 1040);
    }
}

#[test]
fn an_administrator_waits_for_one_statement_of_a_reader_not_for_all_that_it_sent() {
    const SPIN: &[u8] = b"WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) \
                          SELECT count(*) FROM x";
    let mut hall = Hall::new();
    let (reader, administrator) = (hall.inside("stats"), hall.inside("admin"));
    let mut packets = Vec::new();
    for _ in 0..3 {
        command::write(&mut packets, 3, SPIN);
    }
    hall.send(reader, &packets);
    let mut ping = Vec::new();
    command::write(&mut ping, 0x0e, &[]);
    hall.send(administrator, &ping);
    hall.packet(administrator).expect("an answer");
    assert_eq!(hall.error(reader), 3024);
    hall.run(Micros::from_ms(1_000));
    let heard = hall.crowd.service().heard[&reader.to_raw()].len();
    assert_eq!(heard, 0, "the second has not run yet");
    hall.send(administrator, &ping);
    hall.packet(administrator).expect("an answer, at once");
    for _ in 0..2 {
        assert_eq!(hall.error(reader), 3024, "its turn comes");
    }
    let mut several = Vec::new();
    command::write(&mut several, 0x1b, &[0, 0]);
    let text = [SPIN, b";", SPIN, b";", SPIN].concat();
    command::write(&mut several, 3, &text);
    hall.send(reader, &several);
    hall.packet(reader).expect("an answer");
    assert_eq!(hall.error(reader), 3024, "they have one time, not three");
}

#[test]
fn what_readers_send_and_prepare_has_bounds() {
    let mut hall = Hall::new();
    let reader = hall.inside("stats");
    let ask = |hall: &mut Hall, first: u8, body: &[u8]| {
        let mut packet = Vec::new();
        command::write(&mut packet, first, body);
        hall.send(reader, &packet);
        hall.packet(reader)
    };
    let text = [b"SHOW PROMETHEUS METRICS /*".as_slice(), &[b'x'; 100 << 10], b"*/"].concat();
    let answers = [(); 3].map(|()| ask(&mut hall, 0x16, &text).expect("an answer"));
    assert_eq!(answers.map(|answer| ErrPacket::is(&answer)), [false, false, true]);
    let mut hall = Hall::new();
    let reader = hall.inside("stats");
    hall.send(reader, &[1, 0, 4, 0]);
    assert_eq!(hall.error(reader), 1153, "256 KiB");
    let administrator = hall.inside("admin");
    hall.send(administrator, &[1, 0, 4, 0]);
    hall.run(Micros::from_ms(100));
    assert!(!hall.crowd.service().gone.contains(&administrator.to_raw()));
}

#[test]
fn a_variable_that_is_named_often_is_asked_for_once_and_readers_name_few() {
    let answer = |sql: &str| {
        let mut hall = Hall::new();
        let reader = hall.inside("stats");
        let mut packet = Vec::new();
        command::write(&mut packet, 3, sql.as_bytes());
        hall.send(reader, &packet);
        hall.packet(reader).expect("an answer")
    };
    let names: Vec<String> =
        engine::vars::all().map(engine::vars::Variable::full_name).take(65).collect();
    let named = |count: usize| format!("SELECT @@{} = 1", names[..count].join(" = @@"));
    assert!(!ErrPacket::is(&answer(&named(64))));
    let refused = answer(&named(65));
    let refused = String::from_utf8_lossy(&refused);
    assert!(refused.contains("may name 64 variables"), "{refused}");
    let began = Instant::now();
    let often = format!("SELECT 1 WHERE 1 IN ({})", vec!["@@mysql-threads"; 2000].join(","));
    assert!(!ErrPacket::is(&answer(&often)));
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
}
