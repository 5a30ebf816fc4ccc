//! Connections to servers as an account of Tidegate's own, to ask them one thing after the other.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use client::{Client, Packets};
use engine::backend::{BackendLogin, Keys, LoginStep, ServerTls};
use engine::error;
use engine::rows::UserRow;
use engine::snapshot::Snapshot;
use engine::topology::ServerRef;
use engine::users::{Account, Users};
use failover::Servers;
use io::Addr;
use keeper::Endpoint;
use tls::ServerSeen;
use wire::Caps;
use wire::collation_table::UTF8MB4_GENERAL_CI;
use wire::command::code;
use wire::frame::Packet;
use wire::text_result::TextResult;
use worker::ServerAddresses;

use crate::addresses;

/// Addresses of the names that replicas have for their sources, as they were last found: a resolver
/// may be gone together with a primary.
pub(crate) type Names = Arc<Mutex<BTreeMap<String, Vec<IpAddr>>>>;

/// One to each server that was asked something, as long as this is there.
pub(crate) struct Connections {
    snapshot: Arc<Snapshot>,
    addresses: Arc<ServerAddresses>,
    /// What connections have their TLS from.
    connectors: Arc<tls::Connectors>,
    names: Names,
    /// What servers see of it.
    purpose: &'static str,
    account: Option<Arc<Account>>,
    /// How long an answer may take.
    patience: Duration,
    /// What all answers of a server together come to at most.
    bounds: Option<Bounds>,
    open: BTreeMap<Endpoint, Client<Box<dyn Stream>>>,
}

/// What a connection's bytes come and go by.
pub(crate) trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

/// A socket, as it is below TLS.
trait Socket: Stream {
    /// Reads wait no longer than that.
    fn wait_at_most(&self, limit: Duration) -> std::io::Result<()>;
}

impl Socket for TcpStream {
    fn wait_at_most(&self, limit: Duration) -> std::io::Result<()> {
        self.set_read_timeout(Some(limit))
    }
}

impl Socket for UnixStream {
    fn wait_at_most(&self, limit: Duration) -> std::io::Result<()> {
        self.set_read_timeout(Some(limit))
    }
}

#[derive(Clone, Copy)]
struct Bounds {
    /// How long they take, with the connecting.
    limit: Duration,
    bytes_max: u64,
}

/// A socket that is heard until then, and so many bytes of it.
struct Bounded {
    socket: Box<dyn Socket>,
    until: Instant,
    left: u64,
}

impl Read for Bounded {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let error = |what: &str| Err(std::io::Error::new(ErrorKind::TimedOut, what));
        const LATE: &str = "its answers take too long";
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return error(LATE);
        }
        self.socket.wait_at_most(left)?;
        let count = match self.socket.read(into) {
            Err(late) if late.kind() == ErrorKind::WouldBlock => return error(LATE),
            read => read?,
        };
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => return error("its answers are too long"),
        }
        Ok(count)
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.socket.flush()
    }
}

impl Drop for Connections {
    /// Says goodbye, so that servers note nothing of it.
    fn drop(&mut self) {
        for client in self.open.values_mut() {
            // whoever is gone needs none
            let _ = client.packets.command(code::QUIT, b"");
        }
    }
}

impl Connections {
    /// None yet. An answer may take as long as `patience`; connecting has a limit of its own.
    pub(crate) fn new(
        (snapshot, addresses): (Arc<Snapshot>, Arc<ServerAddresses>),
        connectors: Arc<tls::Connectors>,
        names: Names,
        (purpose, username, password): (&'static str, &str, &str),
        patience: Duration,
    ) -> Self {
        let user = UserRow {
            username: username.to_owned(),
            password: password.as_bytes().to_vec(),
            ..UserRow::default()
        };
        let users = Users::compile(&[user]).ok();
        let account = users.and_then(|users| users.find(username.as_bytes()).cloned());
        Self {
            snapshot,
            addresses,
            connectors,
            names,
            purpose,
            account,
            patience,
            bounds: None,
            open: BTreeMap::new(),
        }
    }

    /// The same where connecting to a server and all its answers together take no longer than that,
    /// and these have no more bytes.
    pub(crate) fn bounded(mut self, limit: Duration, bytes_max: u64) -> Self {
        self.bounds = Some(Bounds { limit, bytes_max });
        self
    }

    /// The address that we have for a server.
    pub(crate) fn own_address(&self, server: &Endpoint) -> Option<IpAddr> {
        let Some(Addr::Tcp(addr)) = self.address(server) else { return None };
        // nothing is sent: the system chooses where it would be sent from
        let any: IpAddr = if addr.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
        let socket = UdpSocket::bind((any, 0)).ok()?;
        socket.connect(addr).ok()?;
        Some(socket.local_addr().ok()?.ip())
    }

    /// A connection that is logged in, and no one else's.
    pub(crate) fn connect(&self, server: &Endpoint) -> Result<Client<Box<dyn Stream>>, String> {
        let began = Instant::now();
        let addr = self.address(server).ok_or("its name has no address")?;
        let account = self.account.clone().ok_or("the account or its password is not valid")?;
        let socket = socket(&addr, self.patience).map_err(|error| error.to_string())?;
        let stream: Box<dyn Stream> = match self.bounds {
            Some(Bounds { limit, bytes_max: left }) => {
                Box::new(Bounded { socket, until: began + limit, left })
            }
            None => socket,
        };
        let is_local = matches!(addr, Addr::Unix(_));
        let name = account.name.clone();
        let login = BackendLogin::new(account, Caps::NONE, None, UTF8MB4_GENERAL_CI, is_local)
            .untracked()
            .named(self.purpose)
            .trusting(Keys::of_vars(&self.snapshot.vars));
        let login = if !is_local && self.is_in_tls(server) { login.in_tls() } else { login };
        let packets = log_in(stream, login, |stream, may_prove| {
            let port = u16::try_from(server.port).map_err(|error| error.to_string())?;
            let connector = self.connectors.find(&server.hostname, port, &name)?;
            connector.wrap((&server.hostname, port), may_prove, stream)
        })?;
        let mut client = Client { packets };
        // literals are read in one way, and locks last as long as the programs of a cluster
        client
            .query("SET SESSION sql_mode='', wait_timeout=3600")
            .map_err(|error| error.to_string())?;
        Ok(client)
    }

    /// Servers that have a row, each with its address.
    fn known(&self) -> impl Iterator<Item = (Endpoint, &Addr)> {
        self.snapshot.topology.servers().iter().filter_map(|server| {
            let (hostname, port) = (server.hostname.clone(), i64::from(server.port));
            Some((Endpoint { hostname, port }, self.addresses.find(server)?))
        })
    }

    /// Whether connections to a server are in TLS: one that only replicas name is as any other.
    fn is_in_tls(&self, server: &Endpoint) -> bool {
        let own = |known: &&ServerRef| {
            known.hostname == server.hostname && i64::from(known.port) == server.port
        };
        let servers = self.snapshot.topology.servers();
        match servers.iter().any(|known| own(&known)) {
            true => servers.iter().filter(own).any(|known| known.is_in_tls()),
            false => servers.iter().any(|known| known.is_in_tls()),
        }
    }

    /// Where a server is, also one that only replicas name.
    fn address(&self, server: &Endpoint) -> Option<Addr> {
        let known = self.known().find(|(known, _)| known == server).map(|(_, addr)| addr.clone());
        known.or_else(|| {
            let first = self.look_up(&server.hostname).into_iter().next()?;
            Some(Addr::Tcp(SocketAddr::new(first, u16::try_from(server.port).ok()?)))
        })
    }

    /// The addresses of a name; those of before where it has none any more.
    fn look_up(&self, host: &str) -> Vec<IpAddr> {
        if let Ok(ip) = host.parse() {
            return vec![plain(ip)];
        }
        let (found, answer) = mpsc::channel();
        let name = host.to_owned();
        // the system's resolver takes as long as it likes
        let look = move || found.send(addresses::look_up(&name, 0));
        let asked = thread::Builder::new().name("source name".to_owned()).spawn(look);
        let found = asked.ok().and_then(|_| answer.recv_timeout(RESOLVE).ok()?.ok());
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        match found {
            Some(found) => {
                let ips: Vec<_> = found.iter().map(|addr| plain(addr.ip())).collect();
                names.insert(host.to_owned(), ips.clone());
                ips
            }
            None => names.get(host).cloned().unwrap_or_default(),
        }
    }
}

/// An address as it is compared: both loopback addresses are one.
fn plain(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        ip if ip == IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]) => IpAddr::from([127, 0, 0, 1]),
        ip => ip,
    }
}

/// A connection on which an answer may take so long.
fn socket(addr: &Addr, patience: Duration) -> std::io::Result<Box<dyn Socket>> {
    Ok(match addr {
        Addr::Tcp(addr) => {
            let stream = TcpStream::connect_timeout(addr, CONNECT)?;
            stream.set_read_timeout(Some(patience))?;
            stream.set_write_timeout(Some(CONNECT))?;
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
        Addr::Unix(path) => {
            let stream = io::connect_unix(path, CONNECT)?;
            stream.set_read_timeout(Some(patience))?;
            stream.set_write_timeout(Some(CONNECT))?;
            Box::new(stream)
        }
    })
}

impl Servers for Connections {
    fn ask(&mut self, server: &Endpoint, statement: &str) -> Result<TextResult, String> {
        let mut client = match self.open.remove(server) {
            Some(client) => client,
            None => self.connect(server)?,
        };
        let answer = client.query(statement);
        // after anything else than an answer nobody knows what comes next
        if answer.as_ref().map_or_else(|error| error.refusal().is_some(), |_| true) {
            self.open.insert(server.clone(), client);
        }
        answer.map_err(|error| error.to_string())
    }

    fn place(&mut self, replica: &Endpoint, host: &str, port: i64) -> Endpoint {
        let named = Endpoint { hostname: host.to_owned(), port };
        let afar = |addr: &Addr| match addr {
            Addr::Tcp(addr) if !addr.ip().is_loopback() => Some(addr.ip()),
            _ => None,
        };
        if self.known().any(|(known, addr)| known == named && afar(addr).is_some()) {
            return named;
        }
        // what a replica calls its own host is that one
        let own = self.address(replica).as_ref().and_then(afar);
        let mut ips = self.look_up(host);
        let mut is_own = false;
        for ip in ips.iter_mut().filter(|ip| ip.is_loopback()) {
            is_own |= own.is_some();
            *ip = own.unwrap_or(*ip);
        }
        let is_there = |addr: &Addr| {
            let Addr::Tcp(addr) = addr else { return false };
            i64::from(addr.port()) == port && ips.contains(&plain(addr.ip()))
        };
        let known = self.known().find(|(_, addr)| is_there(addr)).map(|(known, _)| known);
        known.unwrap_or(match own.filter(|_| is_own) {
            Some(ip) => Endpoint { hostname: ip.to_string(), port },
            None => named,
        })
    }

    fn be_patient(&mut self, limit: Duration) {
        self.patience = limit;
        self.open.clear();
    }

    fn greets(&mut self, server: &Endpoint) -> bool {
        let socket = self.address(server).and_then(|addr| socket(&addr, CONNECT).ok());
        socket.is_some_and(|socket| Packets::over(socket).receive().is_ok())
    }
}

/// Logs in; `secure` makes a stream in TLS of one, and says what was seen of its server.
fn log_in<T: Read + Write + Send + 'static>(
    stream: Box<dyn Stream>,
    mut login: BackendLogin,
    secure: impl Fn(Box<dyn Stream>, bool) -> Result<(ServerSeen, T), String>,
) -> Result<Packets<Box<dyn Stream>>, String> {
    let mut packets = Packets::over(stream);
    loop {
        let (seq, payload) = packets.receive().map_err(|error| error.to_string())?;
        let mut out = Vec::new();
        let packet = Packet { payload: &payload, seq, len: payload.len() };
        let step = login.on_packet(&packet, &mut out);
        packets.bytes(&out).map_err(|error| error.to_string())?;
        match step {
            LoginStep::Wait => {}
            LoginStep::Ready { .. } => return Ok(packets),
            LoginStep::Secure { may_prove } => {
                if !packets.stream.buffer().is_empty() {
                    return Err("something came in clear behind the greeting".to_owned());
                }
                let stream = packets.stream.into_inner();
                let (seen, stream) =
                    secure(stream, may_prove).map_err(|why| format!("TLS failed: {why}"))?;
                login.on_secured(ServerTls::seen(("", ""), seen.verified.name(), seen.unproved));
                packets = Packets::over(Box::new(stream));
                let mut out = Vec::new();
                login.respond(&mut out);
                packets.bytes(&out).map_err(|error| error.to_string())?;
            }
            LoginStep::Failed { said: Some((code, _, message)), .. } => {
                let mut said = String::from_utf8_lossy(&message).into_owned();
                if login.may_lack_tls(code) {
                    said = error::tls_may_be_demanded(&said, "it");
                }
                return Err(format!("{code} {said}"));
            }
            LoginStep::Failed { fault, said: None } => return Err(fault.to_string()),
            LoginStep::Insecure(why) => return Err(format!("TLS failed: {why}")),
            LoginStep::KeyRefused(_) => return Err("its public key is not trusted".to_owned()),
        }
    }
}

/// How long a name may take to be looked up.
const RESOLVE: Duration = Duration::from_secs(1);

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use engine::rows::ServerRow;
    use engine::snapshot::Draft;

    use super::*;

    fn at(hostname: &str, port: i64) -> Endpoint {
        Endpoint { hostname: hostname.to_owned(), port }
    }

    fn connections(servers: &[Endpoint]) -> Connections {
        let row = |server: &Endpoint| {
            let Endpoint { hostname, port } = server.clone();
            ServerRow { hostname, port, ..ServerRow::default() }
        };
        let draft = Draft { servers: servers.iter().map(row).collect(), ..Draft::default() };
        let snapshot = Snapshot::compile(&draft).expect("valid");
        let found = snapshot.topology.servers().iter().map(|it| addresses::resolve(it).ok());
        let known = Arc::new(ServerAddresses::new(found.collect()));
        let known = (Arc::new(snapshot), known);
        Connections::new(known, Arc::default(), Names::default(), ("", "app", ""), CONNECT)
    }

    #[test]
    fn a_source_is_known_by_the_address_that_its_name_has() {
        let rows = [at("127.0.0.1", 3306), at("10.0.0.1", 3306), at("10.0.0.2", 3306)];
        let mut servers = connections(&rows);
        let [here, first, second] = rows;
        for name in ["127.0.0.1", "localhost", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(servers.place(&here, name, 3306), here, "{name}");
            assert_eq!(servers.place(&here, name, 3307), at(name, 3307));
            // a replica means its own host
            assert_eq!(servers.place(&second, name, 3306), second, "{name}");
            assert_eq!(servers.place(&second, name, 3307), at("10.0.0.2", 3307));
        }
        assert_eq!(servers.place(&second, "10.0.0.1", 3306), first);
        assert_eq!(servers.place(&second, "10.0.0.3", 3306), at("10.0.0.3", 3306));
        let nowhere = at("no..such..name", 3306);
        assert_eq!(servers.place(&second, "no..such..name", 3306), nowhere);
        // what it was when it was last found
        let ip = "10.0.0.1".parse().expect("an address");
        servers.names.lock().expect("whole").insert(nowhere.hostname.clone(), vec![ip]);
        assert_eq!(servers.place(&second, "no..such..name", 3306), first);
    }
    #[test]
    fn a_server_that_takes_its_time_is_heard_no_longer_than_it_may_be() {
        let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = silent.local_addr().expect("bound").port();
        let limit = Duration::from_secs(1);
        thread::spawn(move || {
            let (mut far, _) = silent.accept().expect("one");
            // one byte shortly before the end, and no other
            let (_keep, never) = mpsc::channel::<()>();
            assert!(never.recv_timeout(limit * 4 / 5).is_err());
            far.write_all(&[74]).expect("sent");
            let _ = far.read(&mut [0]);
        });
        let server = at("127.0.0.1", port.into());
        let mut servers = connections(std::slice::from_ref(&server)).bounded(limit, 1 << 20);
        let began = Instant::now();
        let told = servers.ask(&server, "SELECT 1").err();
        let took = began.elapsed();
        assert_eq!(told.as_deref(), Some("its answers take too long"));
        assert!(took >= limit && took < limit * 3 / 2, "{took:?}");
    }
}
