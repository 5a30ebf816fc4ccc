//! A whole worker on a real loop, and the other ends of its sockets.
//!
//! Decides how a worker is put together and how its client and its server log in. What is asked of
//! it, on which threads, and what is measured, is its users'.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use client::{Login, Packets};
use engine::proxy::{Offer, Proxy};
use engine::snapshot::Snapshot;
use io::{Addr, EpollDriver, Loop, Options};
use worker::{Outside, ServerAddresses, Shared, Worker};

use crate::packets::{self, CAPS, POINT_SELECT};
use crate::world;

/// What every worker is made from.
#[derive(Clone)]
pub struct Plan {
    snapshot: Arc<Snapshot>,
    offer: Arc<Offer>,
    shared: Arc<Shared>,
    addresses: Arc<ServerAddresses>,
}

impl Plan {
    /// Workers whose servers are all this one, with variables that are not as by default.
    ///
    /// # Panics
    ///
    /// When a variable cannot be so.
    pub fn new(server: SocketAddr, variables: &[(&str, &str)]) -> Self {
        Self::of(server, world::configured(variables))
    }

    /// The same where all reads may be answered from the query cache.
    ///
    /// # Panics
    ///
    /// When a variable cannot be so.
    pub fn caching(server: SocketAddr, variables: &[(&str, &str)]) -> Self {
        Self::of(server, world::caching(variables))
    }

    fn of(server: SocketAddr, (snapshot, offer): (Arc<Snapshot>, Arc<Offer>)) -> Self {
        let addresses =
            snapshot.topology.servers().iter().map(|_| Some(Addr::Tcp(server))).collect();
        let (shared, addresses) =
            (Arc::<Shared>::default(), Arc::new(ServerAddresses::new(addresses)));
        Self { snapshot, offer, shared, addresses }
    }

    /// A worker that has begun, and where it listens.
    ///
    /// # Panics
    ///
    /// When the system has no epoll or no port.
    pub fn start(&self, seed: u64) -> (Loop<EpollDriver, Worker>, SocketAddr) {
        let outside = Outside {
            connectors: Arc::default(),
            shared: self.shared.clone(),
            addresses: self.addresses.clone(),
            look_up: Box::new(|_| {}),
            check_login: Box::new(|_| {}),
            random: Box::new(|| *b"abcdefghijklmnopqrst"),
            log: Box::new(|_| {}),
        };
        let proxy = Proxy::new(self.snapshot.clone(), self.offer.clone(), seed, [7; 32]);
        let worker = Worker::new(proxy, outside, 256 << 10);
        let driver = EpollDriver::new().expect("epoll is everywhere");
        let mut events = Loop::new(driver, worker, Options::default());
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        listener.set_nonblocking(true).expect("a socket can be");
        let address = listener.local_addr().expect("bound");
        events.add_listener(OwnedFd::from(listener));
        let (worker, edge) = events.parts_mut();
        worker.start(edge);
        (events, address)
    }
}

/// A client that has logged in to a worker.
///
/// # Panics
///
/// When it is not let in.
pub fn log_in(worker: SocketAddr) -> TcpStream {
    let mut client = Packets::tcp(worker, Duration::from_secs(60)).expect("the worker listens");
    let login = Login { caps: CAPS, schema: Some("sbtest"), ..Login::new("app", "app") };
    client.log_in(&login).expect("it is let in");
    client.stream.into_inner()
}

/// A server: takes connections and answers on each.
///
/// # Panics
///
/// When a worker goes in the middle of something.
pub fn serve(server: &TcpListener) {
    while let Ok((lane, _)) = server.accept() {
        thread::spawn(move || answer(lane));
    }
}

/// The payload of the next packet.
fn receive(lane: &mut TcpStream) -> Vec<u8> {
    client::frame(lane).expect("a packet").1
}

fn answer(mut lane: TcpStream) {
    let mut first = [0];
    lane.set_nodelay(true).expect("a socket can be");
    lane.write_all(&world::greeting()).expect("sent");
    receive(&mut lane);
    lane.write_all(&packets::ok(2)).expect("sent");
    // a worker that ends closes
    while lane.peek(&mut first).is_ok_and(|len| len > 0) {
        let asked = receive(&mut lane);
        let reply = match asked.first() {
            Some(0x16) => packets::prepared(),
            Some(0x17) => packets::result(1),
            Some(3) if asked[1..] == *POINT_SELECT => packets::result(1),
            _ => packets::for_the_proxy(&asked).unwrap_or_else(|| packets::ok(1)),
        };
        lane.write_all(&reply).expect("sent");
    }
}
