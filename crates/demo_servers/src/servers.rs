//! The servers: listeners, a thread for each client, and which clients are connected.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mysql_server::{Cell, Connection, Fault, Greets, Next, Packets};
use wire::Status;
use wire::auth::nonce_of;

use crate::functions::random;
use crate::session::DemoSession;

/// What a server is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerOptions {
    /// `@@hostname`.
    pub name: String,
    /// Whether it is a replica, which refuses writes with error 1290.
    pub read_only: bool,
}

/// Servers on loopback that share one schema; they stop when this is dropped.
#[derive(Debug)]
pub struct DemoServers {
    servers: Vec<Arc<DemoServer>>,
    threads: Vec<JoinHandle<()>>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct DemoServer {
    name: String,
    number: usize,
    /// Whether writes are refused.
    pub(crate) read_only: bool,
    /// The one schema.
    pub(crate) schema: String,
    /// Name and password of the one account.
    pub(crate) account: (String, String),
    address: SocketAddr,
    started: Instant,
    questions: AtomicU64,
    last_id: AtomicU32,
    clients: Mutex<BTreeMap<u32, Present>>,
    /// Wakes those who sleep when one is killed.
    killed: Condvar,
    stops: AtomicBool,
}

/// A client that is connected.
#[derive(Debug)]
struct Present {
    stream: TcpStream,
    user: String,
    from: String,
    doing: String,
    /// Whether its statement is to end.
    killed: bool,
}

impl DemoServers {
    /// Starts servers over an SQLite file at `data`, which is made. `account` may connect to all.
    pub fn start(
        data: &Path,
        schema: &str,
        account: (&str, &str),
        options: &[ServerOptions],
    ) -> io::Result<Self> {
        let made = rusqlite::Connection::open(data).and_then(|connection| {
            connection.execute_batch(
                "PRAGMA journal_mode = WAL;
                 CREATE TABLE x (id INTEGER PRIMARY KEY AUTOINCREMENT);
                 DROP TABLE x;",
            )
        });
        made.map_err(io::Error::other)?;
        let mut started = Self { servers: Vec::new(), threads: Vec::new() };
        for (options, number) in options.iter().zip(1..) {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let server = Arc::new(DemoServer {
                name: options.name.clone(),
                number,
                read_only: options.read_only,
                schema: schema.to_owned(),
                account: (account.0.to_owned(), account.1.to_owned()),
                address: listener.local_addr()?,
                started: Instant::now(),
                questions: AtomicU64::new(0),
                last_id: AtomicU32::new(0),
                clients: Mutex::default(),
                killed: Condvar::new(),
                stops: AtomicBool::new(false),
            });
            started.servers.push(Arc::clone(&server));
            let data = data.to_owned();
            let name = options.name.clone();
            let accepts = move || server.accept(&listener, &data);
            started.threads.push(thread::Builder::new().name(name).spawn(accepts)?);
        }
        Ok(started)
    }

    /// Where each server listens, in the order of the options.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.servers.iter().map(|server| server.address).collect()
    }
}

impl Drop for DemoServers {
    fn drop(&mut self) {
        for server in &self.servers {
            server.stops.store(true, Relaxed);
            server.clients().values_mut().for_each(Present::end);
            server.killed.notify_all();
            // whoever accepts looks up
            drop(TcpStream::connect(server.address));
        }
        for thread in self.threads.drain(..) {
            // a server that panicked has ended, too
            drop(thread.join());
        }
    }
}

impl Present {
    fn end(&mut self) {
        self.killed = true;
        // one that is gone is what was wanted
        drop(self.stream.shutdown(Shutdown::Both));
    }
}

impl DemoServer {
    fn accept(self: &Arc<Self>, listener: &TcpListener, data: &Path) {
        let mut threads: Vec<JoinHandle<()>> = Vec::new();
        while !self.stops.load(Relaxed) {
            // an error is of one client, or of too many of them at a time
            let Ok((stream, from)) = listener.accept() else {
                thread::sleep(PAUSE);
                continue;
            };
            threads.retain(|thread| !thread.is_finished());
            if threads.len() >= CLIENTS_MAX || self.stops.load(Relaxed) {
                continue;
            }
            let (server, data) = (Arc::clone(self), PathBuf::from(data));
            let serves = move || server.serve(stream, &from.ip().to_string(), &data);
            threads.extend(thread::Builder::new().name(self.name.clone()).spawn(serves));
        }
        for thread in threads {
            drop(thread.join());
        }
    }

    /// Serves a client until it leaves.
    fn serve(self: &Arc<Self>, stream: TcpStream, from: &str, data: &Path) {
        let id = self.last_id.fetch_add(1, Relaxed) + 1;
        let Ok(copy) = stream.try_clone() else { return };
        let (user, doing) = Default::default();
        let present = Present { stream: copy, user, from: from.to_owned(), doing, killed: false };
        self.clients().insert(id, present);
        if !self.stops.load(Relaxed)
            && let Ok(session) = DemoSession::open(Arc::clone(self), id, from.to_owned(), data)
        {
            // its end is that of the client
            drop(self.converse(stream, id, session));
        }
        self.clients().remove(&id);
    }

    fn converse(&self, mut stream: TcpStream, id: u32, mut session: DemoSession) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let (mut out, mut packets) = (Vec::new(), Packets::default());
        let (mut bytes, mut piece) = (Vec::new(), vec![0; 16 << 10]);
        let version = self.version();
        let status = Status::AUTOCOMMIT;
        let greets =
            Greets { version: &version, id, scramble: scramble(), status, offers_tls: false };
        let mut connection = Connection::greet(&greets, &mut out);
        loop {
            stream.write_all(&out)?;
            out.clear();
            let Ok((taken, packet)) = packets.next(&bytes, PACKET_BYTES_MAX) else {
                let message = "Got a packet bigger than 'max_allowed_packet' bytes";
                connection.write_fault(&Fault::new(1153, b"08S01", message), &mut out);
                return stream.write_all(&out);
            };
            bytes.drain(..taken);
            let Some((payload, seq)) = packet else {
                match stream.read(&mut piece)? {
                    0 => return Ok(()),
                    count => bytes.extend_from_slice(&piece[..count]),
                }
                continue;
            };
            let packet = (payload.as_slice(), seq);
            let fresh = || Some(scramble());
            let mut next = connection.on_packet(&mut session, fresh, packet, &mut out);
            if next == Next::Judge {
                next = connection.judge(&mut session, &mut out);
            }
            match next {
                Next::Welcome { user } => {
                    if let Some(present) = self.clients().get_mut(&id) {
                        present.user = user;
                    }
                }
                Next::Go | Next::Judge => {}
                Next::Close | Next::Secure | Next::Refused { .. } => return stream.write_all(&out),
            }
        }
    }

    fn clients(&self) -> MutexGuard<'_, BTreeMap<u32, Present>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `VERSION()`: the dialect, and what it really is.
    pub(crate) fn version(&self) -> String {
        "8.0.40-demo".to_owned()
    }

    /// The value of a variable that is the server's own.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        Some(match name {
            "hostname" => self.name.clone(),
            "port" => self.address.port().to_string(),
            "read_only" => u8::from(self.read_only).to_string(),
            "server_id" => self.number.to_string(),
            "version" => self.version(),
            _ => return None,
        })
    }

    /// Its counters.
    pub(crate) fn status(&self) -> Vec<(String, String)> {
        let connected = self.clients().len() as u64;
        let counters = [
            ("Connections", self.last_id.load(Relaxed).into()),
            ("Questions", self.questions.load(Relaxed)),
            ("Threads_connected", connected),
            ("Uptime", self.started.elapsed().as_secs()),
        ];
        counters.map(|(name, count)| (name.to_owned(), count.to_string())).to_vec()
    }

    /// A client's statement begins; it has ended when `text` is empty.
    pub(crate) fn note_statement(&self, id: u32, text: &str) {
        self.questions.fetch_add(u64::from(!text.is_empty()), Relaxed);
        if let Some(present) = self.clients().get_mut(&id) {
            present.doing = text.chars().take(DOING_CHARS_MAX).collect();
            present.killed = false;
        }
    }

    /// The rows of SHOW PROCESSLIST.
    pub(crate) fn processes(&self) -> Vec<Vec<Cell>> {
        let text = |text: &str| Cell::Bytes(text.as_bytes().to_vec());
        let row = |(id, present): (&u32, &Present)| {
            let idle = present.doing.is_empty();
            vec![
                Cell::Int((*id).into()),
                text(&present.user),
                text(&present.from),
                text(&self.schema),
                text(if idle { "Sleep" } else { "Query" }),
                Cell::Int(0),
                text(""),
                if idle { Cell::Null } else { text(&present.doing) },
            ]
        };
        self.clients().iter().map(row).collect()
    }

    /// Ends a client, or its statement.
    pub(crate) fn kill(&self, id: &str, query: bool) -> Result<(), Fault> {
        let unknown = || Fault::new(1094, b"HY000", format!("Unknown thread id: {id}"));
        let id = id.parse().map_err(|_| unknown())?;
        let mut clients = self.clients();
        let present = clients.get_mut(&id).ok_or_else(unknown)?;
        match query {
            true => present.killed = true,
            false => present.end(),
        }
        drop(clients);
        self.killed.notify_all();
        Ok(())
    }

    /// Whether a client's statement is to end.
    pub(crate) fn is_killed(&self, id: u32) -> bool {
        self.clients().get(&id).is_none_or(|present| present.killed)
    }

    /// Waits until then, or until a client's statement is to end; whether that was so.
    pub(crate) fn wait_for_kill(&self, id: u32, until: Instant) -> bool {
        let mut clients = self.clients();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if clients.get(&id).is_none_or(|present| present.killed) {
                return true;
            }
            if left.is_zero() {
                return false;
            }
            let woken = self.killed.wait_timeout(clients, left);
            clients = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

fn scramble() -> [u8; 20] {
    let mut bytes = [0; 20];
    for part in bytes.chunks_mut(8) {
        part.copy_from_slice(&random().to_le_bytes()[..part.len()]);
    }
    nonce_of(bytes)
}

/// Clients of a server.
const CLIENTS_MAX: usize = 512;
/// Bytes of a packet.
const PACKET_BYTES_MAX: usize = 64 << 20;
/// Characters of a statement that the process list shows.
const DOING_CHARS_MAX: usize = 256;
/// Between two tries to accept where the system has no room.
const PAUSE: Duration = Duration::from_millis(50);
