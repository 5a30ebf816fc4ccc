//! A whole worker on a real loop with real sockets: no allocation, and four system calls a query
//! beside the waits, which many sessions share.
//!
//! The worker runs on the test's thread, so that its allocations are counted; a second thread is
//! the client and the server at once.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

use icount::packets::{self, POINT_SELECT};
use icount::whole::{self, Plan};
use io::{EpollDriver, Loop, LoopStats, Micros};
use worker::Worker;

use super::allocations;

/// The first round warms up. Where the machine is slow for once, a distribution of latencies is
/// widened and a silent server is looked at, so that a later round may cost more; what a query
/// costs, all of them do.
const ROUNDS: usize = 5;
const QUERIES: usize = 512;

#[test]
fn a_worker_relays_a_query_with_four_calls_and_no_allocation() {
    let server = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let server_at = server.local_addr().expect("bound");
    let (mut events, proxy) = Plan::new(server_at, &[("mysql-pipeline_depth", "0")]).start(1);
    let (tell, told) = sync_channel(1);
    let (go, going) = sync_channel(1);
    let outside = thread::spawn(move || client_and_server(proxy, server, &tell, &going));
    let mut counted = Vec::new();
    for _ in 0..ROUNDS {
        counted.push(turn_until_told(&mut events, &told));
        go.send(()).expect("the other side waits");
    }
    outside.join().expect("all replies came whole");
    let calls = |stats: &LoopStats| stats.recvs + stats.sends;
    let rounds = counted.iter().zip(counted.iter().skip(1));
    let allocated = rounds.clone().map(|(before, after)| after.0 - before.0).min();
    assert_eq!(allocated, Some(0), "allocations in {QUERIES} queries");
    let called = rounds.map(|(before, after)| calls(&after.1) - calls(&before.1)).min();
    assert_eq!(called, Some(4 * QUERIES as u64), "calls in {QUERIES} queries");
}

fn turn_until_told(
    events: &mut Loop<EpollDriver, Worker>,
    told: &Receiver<()>,
) -> (u64, LoopStats) {
    while let Err(why) = told.try_recv() {
        assert_eq!(why, TryRecvError::Empty, "the other thread gave up");
        events.turn(Some(Micros(1_000)));
    }
    (allocations(), events.stats())
}

fn client_and_server(
    proxy: SocketAddr,
    server: TcpListener,
    tell: &SyncSender<()>,
    going: &Receiver<()>,
) {
    thread::spawn(move || whole::serve(&server));
    let mut client = whole::log_in(proxy);
    let (command, reply) = (packets::query(POINT_SELECT), packets::result(1));
    let mut ask = || {
        client.write_all(&command).expect("sent");
        let mut relayed = vec![0; reply.len()];
        client.read_exact(&mut relayed).expect("the whole reply");
        assert_eq!(relayed, reply);
    };
    ask();
    // Closing costs something: not before everything is counted.
    for _ in 0..ROUNDS {
        (0..QUERIES).for_each(|_| ask());
        tell.send(()).expect("the test waits");
        going.recv().expect("the test has counted");
    }
}
