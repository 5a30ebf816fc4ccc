//! The embedded servers of one group as a [`Service`]: sockets on one side, sessions on the other.
//!
//! One thread, one store, any number of servers. It frames packets and sees to it that a slow
//! client costs no more than its result; what a packet means is `session`'s business.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use io::{Addr, Driver, Edge, Failure, Listener, Micros, Service, Sock};
use wire::frame::{HEADER_BYTES, Header};

use crate::facts::{Facts, Server};
use crate::fault::Fault;
use crate::options::ServerOptions;
use crate::session::{Cx, Session, Step};
use crate::store::Store;

/// Embedded servers that share a [`Store`].
///
/// The first listener added to its loop belongs to the first server, and so on.
#[derive(Debug)]
pub struct Servers {
    store: Store,
    servers: Vec<Arc<Server>>,
    clients: HashMap<Sock, Client>,
    ids: HashMap<u32, Sock>,
    last_id: u32,
    /// Sessions that wait for the write lock, longest first.
    waiters: VecDeque<Sock>,
    random: File,
    out: Vec<u8>,
}

/// What other threads may tell the servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mail {
    /// End the loop.
    Stop,
}

#[derive(Debug)]
struct Client {
    session: Session,
    server: Arc<Server>,
    /// Frames of a packet that has more than one.
    assembly: Vec<u8>,
    paused: bool,
    timer_us: Option<u64>,
}

/// What became of a client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Idle,
    Busy,
    Gone,
}

impl Servers {
    /// Servers over `store`, each with the port it listens on (0 for a Unix socket).
    pub fn new(store: Store, servers: Vec<(ServerOptions, u16)>) -> std::io::Result<Self> {
        let schema = store.schema().to_owned();
        let servers = servers.into_iter().map(|(options, port)| {
            Arc::new(Server {
                read_only: AtomicBool::new(options.read_only),
                options,
                port,
                schema: schema.clone(),
                started_at: unix_seconds(),
                questions: AtomicU64::new(0),
                connections: AtomicU64::new(0),
                connected: AtomicU64::new(0),
                globals: Default::default(),
            })
        });
        Ok(Self {
            servers: servers.collect(),
            store,
            clients: HashMap::new(),
            ids: HashMap::new(),
            last_id: 0,
            waiters: VecDeque::new(),
            random: File::open("/dev/urandom")?,
            out: Vec::new(),
        })
    }

    fn accept(&mut self, server: &Arc<Server>, from: &Addr) -> Result<Session, Fault> {
        if server.connected.load(Ordering::Relaxed) >= server.options.max_connections as u64 {
            return Err(Fault::new(1040, b"08004", "Too many connections"));
        }
        let mut scramble = [0; 20];
        self.random
            .read_exact(&mut scramble)
            .map_err(|error| Fault::new(1105, b"HY000", format!("no random bytes: {error}")))?;
        let scramble = wire::auth::nonce_of(scramble);
        loop {
            self.last_id = self.last_id.wrapping_add(1);
            if self.last_id != 0 && !self.ids.contains_key(&self.last_id) {
                break;
            }
        }
        let host = match from {
            Addr::Tcp(address) => address.ip().to_string(),
            Addr::Unix(_) => "localhost".to_owned(),
        };
        Ok(Session::new(Facts::new(Arc::clone(server), self.last_id, host), scramble))
    }

    /// Lets a session work, from a packet or from where it stopped, until it has to wait.
    fn drive<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        sock: Sock,
        mut packet: Option<(&[u8], u8)>,
    ) -> Progress {
        loop {
            let Some(client) = self.clients.get_mut(&sock) else { return Progress::Gone };
            client.session.facts_mut().unix_seconds = unix_seconds();
            let mut cx = Cx { store: &mut self.store, now_us: io.now().0, out: &mut self.out };
            let step = match packet.take() {
                Some((payload, seq)) => client.session.on_packet(&mut cx, payload, seq),
                None => client.session.go_on(&mut cx),
            };
            if !self.out.is_empty() {
                io.send(sock, &[&self.out]);
                self.out.clear();
                self.out.shrink_to(OUT_KEPT_BYTES);
            }
            match step {
                Step::Idle => return Progress::Idle,
                Step::More if io.backlog(sock) <= BACKLOG_MAX_BYTES => {}
                Step::More => return Progress::Busy,
                Step::Wait(until_us) => {
                    if client.session.awaits_lock() && !self.waiters.contains(&sock) {
                        self.waiters.push_back(sock);
                    }
                    if client.timer_us.is_none_or(|at| at > until_us) {
                        client.timer_us = Some(until_us);
                        io.set_timer(sock.to_raw(), Micros(until_us));
                    }
                    return Progress::Busy;
                }
                Step::Close => {
                    self.forget(sock);
                    io.close_drained(sock);
                    return Progress::Gone;
                }
                Step::Kill { id, query_only } => self.kill(io, id, query_only),
            }
        }
    }

    /// Goes on with a session that was busy; reads from its client again when it is not any more.
    fn carry_on<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        if self.drive(io, sock, None) == Progress::Idle
            && let Some(client) = self.clients.get_mut(&sock)
            && std::mem::take(&mut client.paused)
        {
            io.resume(sock);
        }
    }

    fn kill<D: Driver>(&mut self, io: &mut Edge<D>, id: u32, query_only: bool) {
        let Some(&sock) = self.ids.get(&id) else { return };
        if !query_only {
            self.forget(sock);
            io.close_drained(sock);
            return;
        }
        if let Some(client) = self.clients.get_mut(&sock) {
            let mut out = Vec::new();
            client.session.interrupt(&mut out);
            io.send(sock, &[&out]);
            if !client.session.is_busy() && std::mem::take(&mut client.paused) {
                io.resume(sock);
            }
        }
    }

    fn forget(&mut self, sock: Sock) {
        let Some(mut client) = self.clients.remove(&sock) else { return };
        client.session.end(&mut self.store);
        client.server.connected.fetch_sub(1, Ordering::Relaxed);
        self.ids.remove(&client.session.facts_mut().connection_id);
    }

    /// The process list of a server, for a session that is about to show it.
    fn note_processes(&mut self, sock: Sock, command: &[u8]) {
        let Some(server) = self.clients.get(&sock).map(|client| Arc::clone(&client.server)) else {
            return;
        };
        let text = String::from_utf8_lossy(command.get(1..).unwrap_or_default());
        let rows: Vec<String> = self
            .clients
            .iter()
            .filter(|(_, client)| Arc::ptr_eq(&client.server, &server))
            .map(|(other, client)| {
                client.session.process((*other == sock).then_some(text.as_ref()))
            })
            .collect();
        if let Some(client) = self.clients.get_mut(&sock) {
            client.session.facts_mut().process_list = format!("[{}]", rows.join(","));
        }
    }
}

impl Service for Servers {
    type Mail = Mail;

    fn on_accepted<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        listener: Listener,
        sock: Sock,
        from: Addr,
    ) {
        let Some(server) = self.servers.get(listener.0 as usize).map(Arc::clone) else {
            return io.close(sock);
        };
        let mut out = Vec::new();
        match self.accept(&server, &from) {
            Ok(mut session) => {
                server.connections.fetch_add(1, Ordering::Relaxed);
                server.connected.fetch_add(1, Ordering::Relaxed);
                session.greet(&mut out);
                io.send(sock, &[&out]);
                self.ids.insert(session.facts_mut().connection_id, sock);
                let assembly = Vec::new();
                let client = Client { session, server, assembly, paused: false, timer_us: None };
                self.clients.insert(sock, client);
            }
            Err(fault) => {
                // before the capabilities are known an error has no SQLSTATE
                wire::frame::write_with(&mut out, &mut 0, |out| {
                    out.push(wire::reply::ErrPacket::MARKER);
                    out.extend_from_slice(&fault.code.to_le_bytes());
                    out.extend_from_slice(fault.message.as_bytes());
                });
                io.send(sock, &[&out]);
                io.close_drained(sock);
            }
        }
    }

    fn on_connected<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        sock: Sock,
        _result: Result<(), Failure>,
    ) {
        // the servers connect to nobody
        io.close(sock);
    }

    fn on_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        let mut taken = 0;
        loop {
            let Some(client) = self.clients.get_mut(&sock) else { return bytes.len() };
            if client.session.is_busy() {
                client.paused = true;
                io.pause(sock);
                return taken;
            }
            let rest = bytes.get(taken..).unwrap_or_default();
            let Some(header) = Header::parse(rest) else { return taken };
            if client.assembly.len() + header.len > client.server.options.max_packet_bytes {
                let mut out = Vec::new();
                client.session.write_fault(&Fault::too_large(), &mut out);
                io.send(sock, &[&out]);
                self.forget(sock);
                io.close_drained(sock);
                return bytes.len();
            }
            let whole = HEADER_BYTES + header.len;
            let Some(payload) = rest.get(HEADER_BYTES..whole) else { return taken };
            taken += whole;
            if header.is_continued() || !client.assembly.is_empty() {
                client.assembly.extend_from_slice(payload);
                if header.is_continued() {
                    continue;
                }
                let assembled = std::mem::take(&mut client.assembly);
                self.drive(io, sock, Some((&assembled, header.seq)));
                continue;
            }
            if mentions_processes(payload) {
                self.note_processes(sock, payload);
            }
            self.drive(io, sock, Some((payload, header.seq)));
        }
    }

    fn on_gone<D: Driver>(&mut self, _io: &mut Edge<D>, sock: Sock, _why: Option<Failure>) {
        self.forget(sock);
    }

    fn on_drained<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        self.carry_on(io, sock);
    }

    fn on_timer<D: Driver>(&mut self, io: &mut Edge<D>, key: u64) {
        let sock = Sock::from_raw(key);
        let Some(client) = self.clients.get_mut(&sock) else { return };
        client.timer_us = None;
        self.carry_on(io, sock);
    }

    fn on_mail<D: Driver>(&mut self, io: &mut Edge<D>, mail: Mail) {
        let Mail::Stop = mail;
        io.stop();
    }

    fn on_turn_end<D: Driver>(&mut self, io: &mut Edge<D>) {
        if std::mem::take(&mut self.store.released) {
            for sock in std::mem::take(&mut self.waiters) {
                if self.clients.get(&sock).is_some_and(|client| client.session.awaits_lock()) {
                    self.carry_on(io, sock);
                }
            }
        }
    }
}

/// Whether a command may show the process list, for which it must be gathered first.
fn mentions_processes(payload: &[u8]) -> bool {
    const WORD: &[u8] = b"processlist";
    const LONGEST: usize = 1024;
    payload.first() == Some(&wire::command::code::PROCESS_INFO)
        || payload.len() <= LONGEST
            && payload.windows(WORD.len()).any(|window| window.eq_ignore_ascii_case(WORD))
}

fn unix_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Unsent bytes of a client beyond which its result waits.
const BACKLOG_MAX_BYTES: usize = 256 * 1024;

/// Room kept for replies between two of them.
const OUT_KEPT_BYTES: usize = 256 * 1024;
