//! Carries out the engine's orders on a loop: sockets by session and lane, bytes, timers, mail.
//!
//! A [`Worker`] decides nothing. It tells its [`engine::proxy::Proxy`] what happened and does what
//! the proxy orders; the simulator runs the very same code on another driver.
#![forbid(unsafe_code)]

mod client_hosts;
mod mail;
mod orders;
mod securing;
mod server_addresses;
mod service;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use compression::Compressors;
use engine::ids::ConnectionId;
use engine::login_checks::LoginCheck;
use engine::orders::End;
use engine::proxy::{LoggedIn, Proxy};
use engine::report::LogEvent;
use engine::stats::Overall;
use io::{Addr, Mailbox};

pub use client_hosts::{ClientHosts, HostErrors};
pub use mail::{Mail, Replaced};
pub use server_addresses::ServerAddresses;

/// What all workers of a process count together.
pub struct Shared {
    clients: AtomicU32,
    logged_in: Arc<LoggedIn>,
    next_connection: AtomicU32,
    queries: AtomicU64,
    slow: AtomicU64,
    /// Client addresses that failed to log in.
    pub hosts: ClientHosts,
    turn_us_max: OwnLine<AtomicU64>,
}

/// Lies in a line of the cache by itself: what all workers look at in every turn must not be
/// carried about because something beside it is written.
#[repr(align(128))]
struct OwnLine<T>(T);

impl Default for Shared {
    fn default() -> Self {
        let (clients, next_connection) = (AtomicU32::new(0), AtomicU32::new(1));
        let [queries, slow, turn_us_max] = [0, 0, 0].map(AtomicU64::new);
        let turn_us_max = OwnLine(turn_us_max);
        let (logged_in, hosts) = Default::default();
        Self { clients, logged_in, next_connection, queries, slow, hosts, turn_us_max }
    }
}

impl Shared {
    /// Client connections now.
    pub fn clients(&self) -> u32 {
        self.clients.load(Ordering::Relaxed)
    }

    /// Of these, clients that have logged in.
    pub fn logged_in(&self) -> u32 {
        self.logged_in.count()
    }

    /// Adds what happened on a worker; gives what happened on all.
    fn add(&self, new: Overall) -> Overall {
        let add = |sum: &AtomicU64, new| sum.fetch_add(new, Ordering::Relaxed) + new;
        Overall {
            clients: self.clients().into(),
            queries: add(&self.queries, new.queries),
            slow: add(&self.slow, new.slow),
        }
    }

    /// Counts a client in; gives how many there are, itself included.
    fn enter(&self) -> u32 {
        self.clients.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The longest turn of any worker since this was asked the last time, in microseconds: for so
    /// long its other clients waited.
    pub fn take_longest_turn(&self) -> u64 {
        self.turn_us_max.0.swap(0, Ordering::Relaxed)
    }

    fn note_turn(&self, turn_us: u64) {
        // hardly ever written, so that workers may all read it
        if turn_us > self.turn_us_max.0.load(Ordering::Relaxed) {
            self.turn_us_max.0.fetch_max(turn_us, Ordering::Relaxed);
        }
    }

    fn leave(&self) {
        self.clients.fetch_sub(1, Ordering::Relaxed);
    }

    fn next_connection(&self) -> ConnectionId {
        ConnectionId(self.next_connection.fetch_add(1, Ordering::Relaxed))
    }
}

/// What a worker needs from outside, so that nothing in it is left to chance in the simulator.
pub struct Outside {
    /// What is counted together with the other workers.
    pub shared: Arc<Shared>,
    /// Where servers are.
    pub addresses: Arc<ServerAddresses>,
    /// What connections to servers have their TLS from.
    pub connectors: Arc<tls::Connectors>,
    /// Has the address of a name looked up, which is told by [`Mail::LookedUp`]; must not block.
    pub look_up: LookUp,
    /// Has PAM or LDAP say whether a password is right, which is told by [`Mail::LoginChecked`];
    /// must not block.
    pub check_login: CheckLogin,
    /// Gives random bytes.
    pub random: Box<dyn FnMut() -> [u8; 20] + Send>,
    /// Takes what is worth a log line.
    pub log: Box<dyn FnMut(&LogEvent) + Send>,
}

/// Takes a name whose address somebody wants to know.
pub type LookUp = Box<dyn FnMut(&Arc<str>) + Send>;

/// Takes a password that somebody else is to check.
pub type CheckLogin = Box<dyn FnMut(Arc<LoginCheck>) + Send>;

/// Where a listener listens.
struct Door {
    /// Address as written, and port.
    told: (Arc<str>, u16),
    /// The same as long as it is listened on.
    open: Option<Addr>,
}

/// One worker: a proxy and the sockets that its sessions and lanes are.
pub struct Worker {
    proxy: Proxy,
    outside: Outside,
    peers: Vec<Mailbox<Mail>>,
    /// What its listeners listen on, in their order.
    doors: Vec<Door>,
    /// What a socket is, by its index.
    ends: Vec<Option<End>>,
    clients: Vec<Option<io::Sock>>,
    lanes: Vec<Option<io::Sock>>,
    /// Receivers whose senders are paused.
    congested: Vec<End>,
    /// Received bytes for a receiver beyond which its sender is paused.
    backlog_max: usize,
    draining: bool,
    /// Gives clients TLS; `None` where they can have none.
    acceptor: Option<Arc<tls::Acceptor>>,
    /// What its connections borrow that are compressed.
    compressors: Compressors,
    /// Clients, and lanes, in a TLS handshake.
    securing: HashMap<End, tls::Watch>,
    /// A call panicked: when its orders are carried out, sockets are compared with the proxy.
    panicked: bool,
    /// `None` but in simulations.
    panics: Option<service::Panics>,
    /// Orders being carried out; swapped with the proxy's so that both keep their memory.
    orders: engine::orders::Orders,
}

impl Worker {
    /// A worker with nothing accepted yet. `backlog_max` is how many received bytes may wait for a
    /// receiver before its sender is paused.
    pub fn new(mut proxy: Proxy, outside: Outside, backlog_max: usize) -> Self {
        proxy.count_with(outside.shared.logged_in.clone());
        Self {
            proxy,
            outside,
            peers: Vec::new(),
            doors: Vec::new(),
            ends: Vec::new(),
            clients: Vec::new(),
            lanes: Vec::new(),
            congested: Vec::new(),
            backlog_max,
            draining: false,
            acceptor: None,
            compressors: Compressors::default(),
            securing: HashMap::new(),
            panicked: false,
            panics: None,
            orders: engine::orders::Orders::default(),
        }
    }

    /// Tells where its next listener listens, for rules that look at that.
    pub fn add_door(&mut self, addr: &Addr) {
        let told = match addr {
            Addr::Tcp(addr) => (addr.ip().to_string().into(), addr.port()),
            Addr::Unix(path) => (path.to_string_lossy().into(), 0),
        };
        self.doors.push(Door { told, open: Some(addr.clone()) });
    }

    /// Clients have their TLS from there, or can have none.
    pub fn secure_with(&mut self, acceptor: Option<Arc<tls::Acceptor>>) {
        self.acceptor = acceptor;
    }

    /// What it decides with.
    pub fn proxy(&self) -> &Proxy {
        &self.proxy
    }
}
