//! Two workers that relay queries side by side, for `cargo xtask lines` to see which memory each
//! of them uses.
//!
//! Decides what is watched: text queries and prepared executions of two clients a worker, after
//! so many that everything was seen before. The workers are the first threads; clients and servers
//! are on others. Then the same is watched while the workers count their turns together, so that a
//! measurement can show that it sees such a thing.
#![forbid(unsafe_code)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use icount::packets::{self, POINT_SELECT};
use icount::whole::{self, Plan};
use io::Mailbox;
use worker::Mail;

const CLIENTS: usize = 2;
/// Rounds in which each client asks once as text and once by a prepared statement.
const WARM_UP: usize = 8;
const WATCHED: usize = 8;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (depth, is_cached) = match words[..] {
        ["cached"] => ("0", true),
        [depth] => (depth, false),
        _ => {
            eprintln!("two-workers DEPTH | two-workers cached");
            return ExitCode::FAILURE;
        }
    };
    let server = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let variables = [
        ("mysql-pipeline_depth", depth),
        // who is watched is slow
        ("mysql-pipeline_max_latency_us", "60000000"),
        ("mysql-pipeline_stall_us", "60000000"),
        ("mysql-connect_timeout_server", "60000"),
        ("mysql-connect_timeout_server_max", "60000"),
    ];
    let address = server.local_addr().expect("bound");
    let plan = match is_cached {
        true => Plan::caching(address, &variables),
        false => Plan::new(address, &variables),
    };
    let planted = Arc::<Planted>::default();
    let (tell, told) = sync_channel(2);
    let workers = [1, 2].map(|seed| {
        let (plan, planted, tell) = (plan.clone(), planted.clone(), tell.clone());
        let worker = thread::spawn(move || work(seed, &plan, &planted, &tell));
        let (address, mailbox) = told.recv().expect("the worker starts");
        (worker, address, mailbox)
    });
    thread::spawn(move || whole::serve(&server));
    let addresses = workers.iter().flat_map(|worker| [worker.1; CLIENTS]);
    let mut clients: Vec<Client> = addresses.map(Client::log_in).collect();
    (0..WARM_UP).for_each(|_| ask(&mut clients, is_cached));
    for is_planted in [false, true] {
        planted.is_on.store(is_planted, Ordering::Relaxed);
        println!("begin {}", 2 * WATCHED * clients.len());
        (0..WATCHED).for_each(|_| ask(&mut clients, is_cached));
        println!("end");
    }
    for (worker, _, mailbox) in workers {
        assert!(mailbox.post(Mail::Stop).is_ok(), "there is room for one");
        let [shared, hits] = worker.join().expect("no panic");
        println!("shared {shared}\nhits {hits}");
    }
    ExitCode::SUCCESS
}

/// What no worker should do.
#[derive(Default)]
struct Planted {
    is_on: AtomicBool,
    turns: AtomicU64,
}

/// A worker until it is told to stop; says where it listens, and at last how many queries shared a
/// connection, and how many were answered from the query cache.
fn work(
    seed: u64,
    plan: &Plan,
    planted: &Planted,
    tell: &SyncSender<(SocketAddr, Mailbox<Mail>)>,
) -> [u64; 2] {
    let (mut events, address) = plan.start(seed);
    tell.send((address, events.mailbox())).expect("it is waited for");
    while events.turn(None) {
        if planted.is_on.load(Ordering::Relaxed) {
            planted.turns.fetch_add(1, Ordering::Relaxed);
        }
    }
    let stats = &events.service().proxy().stats;
    [stats.shared_queries, stats.cache_hits]
}

/// A client that is logged in and has prepared a statement.
struct Client {
    stream: TcpStream,
    execute: Vec<u8>,
}

impl Client {
    fn log_in(worker: SocketAddr) -> Self {
        let mut client = Self { stream: whole::log_in(worker), execute: Vec::new() };
        client.send(&packets::packet(b"\x16SELECT c FROM sbtest1 WHERE id=?"));
        let told = client.take(packets::prepared().len());
        let [first, others] = packets::executions(&told);
        client.send(&first);
        client.take(packets::result(1).len());
        client.execute = others;
        client
    }

    fn send(&mut self, command: &[u8]) {
        self.stream.write_all(command).expect("sent");
    }

    fn take(&mut self, len: usize) -> Vec<u8> {
        let mut reply = vec![0; len];
        self.stream.read_exact(&mut reply).expect("the whole reply");
        reply
    }
}

/// All clients ask at a time, as text and then by what they prepared: two steps, or one where each
/// of the two uses memory of its own.
fn ask(clients: &mut [Client], at_once: bool) {
    let (query, reply) = (packets::query(POINT_SELECT), packets::result(1));
    println!("step");
    clients.iter_mut().for_each(|client| client.send(&query));
    clients.iter_mut().for_each(|client| assert_eq!(client.take(reply.len()), reply));
    if !at_once {
        println!("step");
    }
    clients.iter_mut().for_each(|client| client.send(&client.execute.clone()));
    clients.iter_mut().for_each(|client| assert_eq!(client.take(reply.len()), reply));
}
