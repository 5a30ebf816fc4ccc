//! A client that sends what a test tells it to, and keeps what comes back.
//! Checks nothing.

use std::collections::BTreeMap;

use engine::proxy::Proxy;
use engine::report::LogEvent;
use engine::snapshot::Draft;
use io::{Addr, Driver, Edge, Failure, Listener, Loop, Micros, Options, Service, SimDriver, Sock};
use wire::auth::native;
use wire::connect::{Greeting, HandshakeResponse};
use wire::frame::{self, Framed};
use wire::reply::ErrPacket;
use wire::{Caps, command};

use crate::dice::Dice;
use crate::sim::{Simulator, Stage, Weather};

/// How long a test waits for something, in virtual time.
const PATIENCE: Micros = Micros::from_secs(20);

/// What came on a socket.
#[derive(Default, Debug)]
struct Heard {
    bytes: Vec<u8>,
    gone: bool,
}

/// The service behind [`Hall`]'s clients; it runs on any loop.
#[derive(Default)]
pub struct Raw {
    heard: BTreeMap<u64, Heard>,
}

impl Raw {
    /// What has come on a socket and was not taken before.
    pub fn take(&mut self, sock: Sock) -> Vec<u8> {
        let heard = self.heard.get_mut(&sock.to_raw());
        heard.map(|heard| std::mem::take(&mut heard.bytes)).unwrap_or_default()
    }
}

impl Service for Raw {
    type Mail = ();

    fn on_accepted<D: Driver>(&mut self, _: &mut Edge<D>, _: Listener, _: Sock, _: Addr) {}

    fn on_connected<D: Driver>(
        &mut self,
        _: &mut Edge<D>,
        sock: Sock,
        result: Result<(), Failure>,
    ) {
        self.heard.entry(sock.to_raw()).or_default().gone |= result.is_err();
    }

    fn on_bytes<D: Driver>(&mut self, _: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        self.heard.entry(sock.to_raw()).or_default().bytes.extend_from_slice(bytes);
        bytes.len()
    }

    fn on_gone<D: Driver>(&mut self, _: &mut Edge<D>, sock: Sock, _: Option<Failure>) {
        self.heard.entry(sock.to_raw()).or_default().gone = true;
    }

    fn on_drained<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock) {}
    fn on_timer<D: Driver>(&mut self, _: &mut Edge<D>, _: u64) {}
    fn on_mail<D: Driver>(&mut self, _: &mut Edge<D>, (): ()) {}
    fn on_turn_end<D: Driver>(&mut self, _: &mut Edge<D>) {}
}

/// A proxy with servers behind it and a hall of clients, each steered by hand.
pub struct Hall {
    /// The proxy and the servers.
    pub stage: Stage,
    clients: Loop<SimDriver, Raw>,
}

impl Hall {
    /// A hall whose network cuts bytes by the seed but loses nothing.
    pub fn new(seed: u64, simulator: &Simulator) -> Self {
        Self::in_weather(seed, simulator, &Weather::cutting())
    }

    /// A hall whose proxy, servers and network are of that kind.
    pub fn in_weather(seed: u64, simulator: &Simulator, weather: &Weather) -> Self {
        let stage = Stage::new(seed, simulator, weather, None, &mut Dice::new(seed));
        stage.board.borrow_mut().tolerant = true;
        let clients = Loop::new(stage.net.driver(), Raw::default(), Options::default());
        Self { stage, clients }
    }

    /// Steps until something is so; false when it does not become so in time.
    pub fn until(&mut self, mut is_so: impl FnMut(&Self) -> bool) -> bool {
        let deadline = self.stage.net.now().0 + PATIENCE.0;
        while self.stage.net.now().0 < deadline {
            if is_so(self) {
                return true;
            }
            self.stage.step(&mut self.clients);
        }
        is_so(self)
    }

    /// Connects a client and waits for its greeting, which is returned.
    pub fn connect(&mut self) -> (Sock, Vec<u8>) {
        let to = self.stage.client_addr.clone();
        self.connect_to(&to)
    }

    /// The same at one of the addresses where clients are listened for.
    pub fn connect_to(&mut self, to: &Addr) -> (Sock, Vec<u8>) {
        let sock = self.clients.parts_mut().1.connect(to).expect("a connect begins");
        let greeting = self.packet(sock).expect("a greeting comes");
        (sock, greeting.0)
    }

    /// Sends bytes.
    pub fn send(&mut self, sock: Sock, bytes: &[u8]) {
        self.clients.parts_mut().1.send(sock, &[bytes]);
    }

    /// Closes a client's socket.
    pub fn close(&mut self, sock: Sock) {
        self.clients.parts_mut().1.close(sock);
    }

    /// A client takes nothing of what comes from now on.
    pub fn hold(&mut self, sock: Sock) {
        self.clients.parts_mut().1.pause(sock);
    }

    /// It takes what has come, and what comes.
    pub fn release(&mut self, sock: Sock) {
        self.clients.parts_mut().1.resume(sock);
    }

    /// Ends what a client sends when all of it is out; it still listens.
    pub fn end_sending(&mut self, sock: Sock) {
        let mut ends = false;
        while !ends {
            ends = self.clients.parts_mut().1.end_sending(sock);
            self.step();
        }
    }

    /// Takes what has come on a client's socket, and waits for nothing.
    pub fn take(&mut self, sock: Sock) -> Vec<u8> {
        self.clients.service_mut().take(sock)
    }

    /// One step of everybody.
    pub fn step(&mut self) {
        self.stage.step(&mut self.clients);
    }

    /// Waits for the next packet; nothing when the connection ends or no packet comes.
    pub fn packet(&mut self, sock: Sock) -> Option<(Vec<u8>, u8)> {
        let came = |hall: &Self| {
            let Some(heard) = hall.clients.service().heard.get(&sock.to_raw()) else {
                return false;
            };
            heard.gone || matches!(frame::next_packet(&heard.bytes), Framed::Packet(_))
        };
        self.until(came);
        let heard = self.clients.service_mut().heard.get_mut(&sock.to_raw())?;
        let Framed::Packet(packet) = frame::next_packet(&heard.bytes) else { return None };
        let found = (packet.payload.to_vec(), packet.seq);
        let len = packet.len;
        heard.bytes.drain(..len);
        Some(found)
    }

    /// The payloads of everything that comes until a result is over.
    pub fn result(&mut self, sock: Sock) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let (packet, _) = self.packet(sock).expect("answered");
            all.extend_from_slice(&packet);
            // an end, or an error
            if matches!(packet.first(), Some(0xfe | 0xff)) {
                return all;
            }
        }
    }

    /// Waits for an ERR packet and returns its number; skips whatever comes before.
    pub fn error(&mut self, sock: Sock) -> Option<u16> {
        loop {
            let (payload, _) = self.packet(sock)?;
            if ErrPacket::is(&payload) {
                return ErrPacket::parse(&payload).ok().map(|err| err.code);
            }
        }
    }

    /// Whether the proxy closes the connection within the time a test waits.
    pub fn ends(&mut self, sock: Sock) -> bool {
        self.until(|hall| {
            hall.clients.service().heard.get(&sock.to_raw()).is_some_and(|heard| heard.gone)
        })
    }

    /// A client that is logged in.
    pub fn login(&mut self, caps: Caps) -> Sock {
        let (sock, greeting) = self.connect();
        let response = respond(&greeting, caps);
        self.send(sock, &response);
        let (ok, _) = self.packet(sock).expect("an answer to the login");
        assert_eq!(ok.first(), Some(&0), "the login is accepted: {}", ok.escape_ascii());
        sock
    }

    /// Sends a text.
    pub fn query(&mut self, sock: Sock, text: &str) {
        let mut bytes = Vec::new();
        command::write_query(&mut bytes, text.as_bytes());
        self.send(sock, &bytes);
    }

    /// Sends a text and returns the first packet of its answer.
    pub fn ask(&mut self, sock: Sock, text: &str) -> Vec<u8> {
        self.query(sock, text);
        self.packet(sock).expect("an answer").0
    }

    /// Lets so many milliseconds go by.
    pub fn wait_ms(&mut self, ms: u64) {
        let until_us = self.stage.net.now().0 + ms * 1000;
        // or it might leap too far
        self.clients.parts_mut().1.set_timer(0, Micros(until_us));
        assert!(self.until(|hall| hall.stage.net.now().0 >= until_us), "time goes by");
    }

    /// How many connections to servers there are.
    pub fn lanes(&self) -> usize {
        self.stage.proxies().map(Proxy::lane_count).sum()
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.stage.proxies().map(Proxy::session_count).sum()
    }

    /// Clients that have logged in.
    pub fn logged_in(&self) -> u32 {
        self.stage.shared.logged_in()
    }

    /// The proxy's counters.
    pub fn counters(&self) -> engine::stats::Counters {
        self.stage.counters()
    }

    /// The log lines of clients that broke the protocol or were refused.
    pub fn client_faults(&self) -> usize {
        let log = self.stage.log.lock().expect("nobody panics with the log in hand");
        let faults = |event: &&LogEvent| {
            matches!(event, LogEvent::ClientFault { .. } | LogEvent::LoginRefused { .. })
        };
        log.iter().filter(faults).count()
    }
}

/// A statement of `ann`'s that tells servers what it is and how its connection should look.
pub fn tagged(verb: &str, kind: &str, tx: &str, rest: &str) -> String {
    let words = format!("u=ann db= cs=45 ac=1 tx={tx} pin=0 pop=0 lid=-1 sw=0 k={kind}");
    format!("{verb} /*s1 q1 {words} r=1 w=0 n=1 wa=0*/ {rest}")
}

/// Another password for `ann`.
pub fn other_password(draft: &mut Draft) {
    let users = draft.users.iter_mut();
    users.filter(|user| user.username == "ann").for_each(|user| user.password = b"pear".into());
}

/// A right answer to a greeting, by the account `ann`.
pub fn respond(greeting: &[u8], caps: Caps) -> Vec<u8> {
    let greeting = Greeting::parse(greeting).expect("a greeting that can be read");
    let response = HandshakeResponse {
        caps: caps
            .union(Caps::MYSQL)
            .union(Caps::PROTOCOL_41)
            .union(Caps::SECURE_CONNECTION)
            .union(Caps::PLUGIN_AUTH),
        max_packet: 1 << 24,
        collation: wire::collation_table::UTF8MB4_GENERAL_CI,
        user: b"ann",
        auth_response: &native::scramble(b"apple", &greeting.scramble),
        schema: None,
        plugin: Some(b"mysql_native_password"),
        attributes: &[],
        zstd_level: 0,
    };
    let mut out = Vec::new();
    frame::write_with(&mut out, &mut 1, |payload| response.encode(payload));
    out
}
