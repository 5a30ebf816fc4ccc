//! A query relayed by the real worker on real sockets allocates nothing and takes no lock once it
//! is warm, as text and as a prepared statement. What the test's thread does is counted while the
//! proxy has its turn.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use engine::proxy::Proxy;
use io::{Addr, EpollDriver, Loop, Micros, Options, Sock};
use testkit::board::SharedBoard;
use testkit::dice::Dice;
use testkit::mysqld::{Manners, Mysqlds, three};
use testkit::raw::{Raw, respond};
use testkit::sim::{Simulator, Weather, snapshot};
use wire::command::{self, code};
use wire::frame::{Framed, next_packet};
use wire::{Caps, lenenc};
use worker::{Outside, ServerAddresses, Shared, Worker};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
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

const CLIENTS: usize = 4;
const WORDS: &str = "u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0";

fn listener() -> (OwnedFd, Addr) {
    let any = Addr::Tcp("127.0.0.1:0".parse().unwrap());
    let listener = io::listen(&any, 64, false).unwrap();
    let addr = io::bound_to(&listener).unwrap();
    (listener, addr)
}

/// Clients, proxy and servers on loopback sockets, taking turns on one thread.
struct Street {
    clients: Loop<EpollDriver, Raw>,
    proxy: Loop<EpollDriver, Worker>,
    servers: Loop<EpollDriver, Mysqlds>,
    board: SharedBoard,
    to: Addr,
    /// Allocations during the proxy's turns.
    cost: u64,
    /// Locks taken in the proxy's turns.
    locks: u64,
    rounds: usize,
}

impl Street {
    fn new() -> Self {
        let board = SharedBoard::default();
        let mut dice = Dice::new(1);
        let list = three(|| false);
        let count = list.len();
        let service = Mysqlds::new(list, Manners::default(), dice.split(), board.clone());
        let driver = || EpollDriver::new().unwrap();
        let mut servers = Loop::new(driver(), service, Options::default());
        let mut addresses = Vec::new();
        for _ in 0..count {
            let (listener, addr) = listener();
            servers.add_listener(listener);
            addresses.push(Some(addr));
        }
        let outside = Outside {
            connectors: Arc::default(),
            shared: Arc::<Shared>::default(),
            addresses: Arc::new(ServerAddresses::new(addresses)),
            look_up: Box::new(|_| {}),
            check_login: Box::new(|_| {}),
            random: Box::new(move || dice.bytes20()),
            log: Box::new(|event| panic!("{event}")),
        };
        let offer = Simulator::new().offer();
        let weather = Weather {
            amend: |draft| draft.variables.push(("mysql-stored_code".into(), "true".into())),
            ..Weather::cutting()
        };
        let decider = Proxy::new(Arc::new(snapshot(&weather)), offer, 1, [3; 32]);
        let worker = Worker::new(decider, outside, 1 << 20);
        let mut proxy = Loop::new(driver(), worker, Options::default());
        let (listener, to) = listener();
        proxy.add_listener(listener);
        let (service, io) = proxy.parts_mut();
        service.start(io);
        let clients = Loop::new(driver(), Raw::default(), Options::default());
        Self { clients, proxy, servers, board, to, cost: 0, locks: 0, rounds: 0 }
    }

    fn turn(&mut self) {
        let wait = Some(Micros(20));
        self.clients.turn(wait);
        self.servers.turn(wait);
        let (before, taken) = (ALLOCATIONS.get(), io::locks_taken());
        self.proxy.turn(wait);
        self.cost += ALLOCATIONS.get() - before;
        self.locks += io::locks_taken() - taken;
    }

    fn send(&mut self, sock: Sock, bytes: &[u8]) {
        self.clients.parts_mut().1.send(sock, &[bytes]);
    }

    /// Waits for an answer of so many packets.
    fn answer(&mut self, sock: Sock, packets: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            bytes.extend(self.clients.service_mut().take(sock));
            if whole_packets(&bytes) >= packets {
                return bytes;
            }
            self.turn();
        }
    }

    fn login(&mut self) -> Sock {
        let to = self.to.clone();
        let sock = self.clients.parts_mut().1.connect(&to).unwrap();
        let greeting = self.answer(sock, 1);
        self.send(sock, &respond(&greeting[4..], Caps::DEPRECATE_EOF));
        assert_eq!(self.answer(sock, 1)[4], 0);
        sock
    }

    /// What `count` rounds of a command by every client cost.
    fn cost_of(&mut self, count: usize, commands: &[(Sock, Vec<u8>)], packets: usize) -> u64 {
        let before = self.cost;
        self.rounds += count;
        for _ in 0..count {
            for (sock, bytes) in commands {
                self.send(*sock, bytes);
            }
            for (sock, _) in commands {
                let answer = self.answer(*sock, packets);
                let row = answer.windows(6).any(|part| part == b" r0.2 ");
                assert!(row, "not an answer: {}", answer.escape_ascii());
            }
        }
        self.cost - before
    }

    /// Whether a thousand rounds cost nothing. What a digest has not seen yet, a query that takes
    /// as long as none did before, may cost once: a busy machine has some tries.
    fn comes_to_cost_nothing(&mut self, commands: &[(Sock, Vec<u8>)], packets: usize) -> bool {
        (0..5).any(|_| self.cost_of(1000, commands, packets) == 0)
    }
}

fn whole_packets(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let Framed::Packet(packet) = next_packet(bytes) {
        bytes = &bytes[packet.len..];
        count += 1;
    }
    count
}

fn text(tag: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let text = format!("SELECT /*s{tag} q1 {WORDS} k=rows r=3 w=200 n=1 wa=0*/ v FROM t WHERE v=7");
    command::write_query(&mut out, text.as_bytes());
    out
}

fn prepare(tag: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let text =
        format!("SELECT /*s{tag} q2 {WORDS} k=prepare r=1 w=0 n=1 wa=0*/ v FROM t WHERE v=?");
    command::write(&mut out, code::STMT_PREPARE, text.as_bytes());
    out
}

fn execute(tag: usize, id: &[u8]) -> Vec<u8> {
    let words = format!("s{tag} q3 {WORDS} k=rows r=3 w=200 n=1 wa=0 of=s{tag}q2 in=/45/- as=253;");
    let mut body = [id, &[0, 1, 0, 0, 0, 0, 1, 253, 0]].concat();
    lenenc::write_bytes(&mut body, words.as_bytes());
    let mut out = Vec::new();
    command::write(&mut out, code::STMT_EXECUTE, &body);
    out
}

#[test]
fn a_warm_query_allocates_nothing_and_takes_no_lock() {
    let mut street = Street::new();
    let socks: Vec<Sock> = (0..CLIENTS).map(|_| street.login()).collect();
    // count, definition, three rows, end
    // who comes asks for its address's failures
    assert!(street.locks > 0, "locks are counted");
    let locks = street.locks;
    let texts: Vec<_> = socks.iter().enumerate().map(|(tag, sock)| (*sock, text(tag))).collect();
    street.cost_of(250, &texts, 6);
    assert!(street.comes_to_cost_nothing(&texts, 6), "text");
    let mut executes = Vec::new();
    for (tag, sock) in socks.iter().enumerate() {
        street.send(*sock, &prepare(tag));
        // head, parameter, column
        let answer = street.answer(*sock, 3);
        executes.push((*sock, execute(tag, &answer[5..9])));
    }
    street.cost_of(250, &executes, 6);
    assert!(street.comes_to_cost_nothing(&executes, 6), "prepared");
    assert_eq!(street.locks - locks, 0, "locks");
    let queries = street.proxy.service().proxy().stats.queries;
    assert_eq!(queries as usize, street.rounds * CLIENTS + CLIENTS);
    assert_eq!(street.board.borrow().trouble.first(), None);
}
