//! A relayed request allocates nothing once the loop is warm, small or large. One test in a process
//! of its own: the counter counts everybody.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use io::{
    Addr, Driver, Edge, EpollDriver, Failure, Listener, Loop, Micros, Options, Service, Sock,
};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps `alloc`'s promises, which are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `dealloc`'s promises, which are the same.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const SOCKETS: usize = 20;
const REQUEST_BYTES: usize = 90;

/// Three roles in one: asks, answers with `reply_bytes`, or relays to the server.
struct Role {
    relays_to: Option<Addr>,
    other: HashMap<Sock, Sock>,
    reply: Vec<u8>,
    asks: bool,
    pending: HashMap<Sock, usize>,
    done: u64,
}

impl Role {
    fn new(relays_to: Option<Addr>, asks: bool, reply_bytes: usize) -> Self {
        let (other, pending) = (HashMap::new(), HashMap::new());
        Role { relays_to, other, reply: vec![7; reply_bytes], asks, pending, done: 0 }
    }

    fn ask<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        io.send(sock, &[&[1; 4], &[2; REQUEST_BYTES - 4]]);
        self.pending.insert(sock, self.reply.len());
    }
}

impl Service for Role {
    type Mail = ();

    fn on_accepted<D: Driver>(&mut self, io: &mut Edge<D>, _: Listener, sock: Sock, _: Addr) {
        if let Some(to) = &self.relays_to {
            let server = io.connect(to).unwrap();
            self.other.insert(sock, server);
            self.other.insert(server, sock);
        }
    }

    fn on_connected<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        sock: Sock,
        result: Result<(), Failure>,
    ) {
        result.unwrap();
        if self.asks {
            self.ask(io, sock);
        }
    }

    fn on_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        if let Some(other) = self.other.get(&sock) {
            io.send(*other, &[bytes]);
            return bytes.len();
        }
        if self.asks {
            let pending = self.pending.get_mut(&sock).unwrap();
            *pending -= bytes.len();
            if *pending == 0 {
                self.done += 1;
                self.ask(io, sock);
            }
            return bytes.len();
        }
        let whole = bytes.len() / REQUEST_BYTES;
        for _ in 0..whole {
            io.queue(sock, &[&self.reply[..1]]);
            io.queue(sock, &[&self.reply[1..]]);
        }
        whole * REQUEST_BYTES
    }

    fn on_gone<D: Driver>(&mut self, _: &mut Edge<D>, sock: Sock, why: Option<Failure>) {
        panic!("{sock:?} is gone: {why:?}");
    }

    fn on_drained<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock) {}
    fn on_timer<D: Driver>(&mut self, io: &mut Edge<D>, key: u64) {
        io.set_timer(key, io.now() + Micros(500));
    }
    fn on_mail<D: Driver>(&mut self, _: &mut Edge<D>, (): ()) {}
    fn on_turn_end<D: Driver>(&mut self, _: &mut Edge<D>) {}
}

fn listener() -> (OwnedFd, Addr) {
    let any = Addr::Tcp("127.0.0.1:0".parse().unwrap());
    let listener = io::listen(&any, 64, false).unwrap();
    let addr = io::bound_to(&listener).unwrap();
    (listener, addr)
}

/// How many allocations `requests` relayed requests cost after a warm-up of as many.
fn cost(reply_bytes: usize, requests: u64) -> u64 {
    let (server_listener, server_addr) = listener();
    let (relay_listener, relay_addr) = listener();
    let make = |role| Loop::new(EpollDriver::new().unwrap(), role, Options::default());
    let mut server = make(Role::new(None, false, reply_bytes));
    server.add_listener(server_listener);
    let mut relay = make(Role::new(Some(server_addr), false, reply_bytes));
    relay.add_listener(relay_listener);
    relay.parts_mut().1.set_timer(1, Micros(0));
    let mut client = make(Role::new(None, true, reply_bytes));
    for _ in 0..SOCKETS {
        client.parts_mut().1.connect(&relay_addr).unwrap();
    }
    let mut run = |requests| {
        let until = client.service().done + requests;
        while client.service().done < until {
            server.turn(Some(Micros(20)));
            relay.turn(Some(Micros(20)));
            client.turn(Some(Micros(20)));
        }
    };
    run(requests);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    run(requests);
    let cost = ALLOCATIONS.load(Ordering::Relaxed) - before;
    assert!(relay.stats().bytes_in > requests * reply_bytes as u64);
    cost
}

#[test]
fn a_warm_relay_allocates_nothing() {
    assert_eq!(cost(300, 5_000), 0, "small replies");
    assert_eq!(cost(50_000, 2_000), 0, "large replies");
}
