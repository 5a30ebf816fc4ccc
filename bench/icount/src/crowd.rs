//! Many clients on few connections: most of them wait for their turn.
//!
//! Decides how they take turns: each asks again as soon as it is answered, and each server answers
//! everything that it was asked while the others were. Timers never fire: replies of others serve
//! the clients that wait.

use engine::ids::{LaneId, SessionId};
use engine::orders::{End, Order};
use engine::proxy::Proxy;
use engine::slab::Key;
use wire::connect::Greeting;
use wire::frame::{Framed, next_packet};

use crate::packets::{self, POINT_SELECT};
use crate::scenario::Pass;
use crate::world;

/// What a crowd is made of.
pub(crate) struct Kind {
    pub(crate) clients: usize,
    /// Connections to the server of reads.
    pub(crate) connections: i64,
    /// Whether clients share connections.
    pub(crate) shares: bool,
    /// Whether clients execute what they prepared.
    pub(crate) executes: bool,
}

/// The engine, its clients and its servers.
struct Crowd {
    proxy: Proxy,
    now_us: u64,
    /// Each with what it asks.
    clients: Vec<(SessionId, Vec<u8>)>,
    /// By the slots of their lanes.
    servers: Vec<Option<Server>>,
    to_client: Vec<u8>,
    /// Who got a reply in this turn.
    answered: Vec<SessionId>,
    /// What servers say to reads.
    reply: Vec<u8>,
}

/// The other end of a lane.
struct Server {
    lane: LaneId,
    is_connected: bool,
    knows_account: bool,
    asked: Vec<u8>,
    says: Vec<u8>,
}

/// In as many passes, stored code is read.
const LONGEST_WAIT_PASSES: usize = 1 << 12;

/// How long a turn takes.
const TURN_US: u64 = 100;

/// Every client of a crowd asks and is answered, once on average.
pub(crate) fn pass(kind: &Kind) -> Pass {
    let mut crowd = Crowd::new(kind);
    // stored code is read when that has waited for a while, with a lane that the crowd leaves to it
    let read = (0..LONGEST_WAIT_PASSES).any(|_| {
        crowd.pass();
        crowd.proxy.stats.stored_code_readings > 0
    });
    assert!(read, "it is read whether lanes are idle or not");
    // until everything is known of what they ask
    (0..64).for_each(|_| crowd.pass());
    Box::new(move || crowd.pass())
}

impl Crowd {
    fn new(kind: &Kind) -> Self {
        let depth = if kind.shares { "16" } else { "0" };
        let (snapshot, offer) =
            world::crowded(kind.connections, &[("mysql-pipeline_depth", depth)]);
        let mut crowd = Self {
            proxy: Proxy::new(snapshot, offer, 1, [7; 32]),
            now_us: 0,
            clients: Vec::new(),
            servers: Vec::new(),
            to_client: Vec::with_capacity(1 << 16),
            answered: Vec::new(),
            reply: packets::result(1),
        };
        (0..kind.clients).for_each(|_| crowd.log_in());
        if kind.executes {
            (0..kind.clients).for_each(|at| crowd.prepare(at));
        }
        crowd.answered = crowd.clients.iter().map(|(id, _)| *id).collect();
        crowd
    }

    fn pass(&mut self) {
        let mut left = self.clients.len();
        while left > 0 {
            left = left.saturating_sub(self.turn());
        }
    }

    fn log_in(&mut self) {
        self.to_client.clear();
        let id = self.proxy.on_accepted(world::arrival());
        self.carry_out(&[]);
        let Framed::Packet(greeting) = next_packet(&self.to_client) else {
            unreachable!("the proxy greets")
        };
        let greeting = Greeting::parse(greeting.payload).expect("it is a greeting");
        self.ask(id, &world::response(&greeting.scramble));
        self.clients.push((id, packets::query(POINT_SELECT)));
    }

    fn prepare(&mut self, at: usize) {
        let id = self.clients[at].0;
        self.ask(id, &packets::packet(b"\x16SELECT c FROM sbtest1 WHERE id=?"));
        let [first, others] = packets::executions(&self.to_client);
        self.ask(id, &first);
        self.clients[at].1 = others;
    }

    /// One client asks and is waited for.
    fn ask(&mut self, id: SessionId, command: &[u8]) {
        self.client_says(id, command);
        while !self.answered.contains(&id) {
            self.serve_all();
        }
    }

    fn client_says(&mut self, id: SessionId, bytes: &[u8]) {
        self.to_client.clear();
        self.answered.clear();
        let taken = self.proxy.on_client_bytes(id, bytes);
        self.carry_out(bytes);
        assert_eq!(taken, bytes.len(), "whole commands are taken whole");
    }

    /// Who was answered asks again; returns how many did.
    fn turn(&mut self) -> usize {
        let mut answered = std::mem::take(&mut self.answered);
        for id in answered.drain(..) {
            let (_, command) = &self.clients[id.slot() as usize];
            let taken = self.proxy.on_client_bytes(id, command);
            assert_eq!(taken, command.len(), "whole commands are taken whole");
            let command = std::mem::take(&mut self.clients[id.slot() as usize].1);
            self.carry_out(&command);
            self.clients[id.slot() as usize].1 = command;
        }
        self.answered = answered;
        self.serve_all();
        self.answered.len()
    }

    fn serve_all(&mut self) {
        while let Some(lane) = self.proxy.next_batch() {
            self.proxy.send_batch(lane);
            self.carry_out(&[]);
        }
        self.now_us += TURN_US;
        self.proxy.set_now(self.now_us);
        self.to_client.clear();
        for at in 0..self.servers.len() {
            let Some(server) = &mut self.servers[at] else { continue };
            if !std::mem::replace(&mut server.is_connected, true) {
                self.proxy.on_dialed(server.lane, Ok(()));
            }
            server.answer(&self.reply);
            let (lane, says) = (server.lane, std::mem::take(&mut server.says));
            if !says.is_empty() {
                let taken = self.proxy.on_lane_bytes(lane, &says);
                self.carry_out(&says);
                assert_eq!(taken, says.len(), "whole replies are taken whole");
            }
            if let Some(server) = &mut self.servers[at] {
                server.says = says;
                server.says.clear();
            }
        }
    }

    fn carry_out(&mut self, received: &[u8]) {
        let mut orders = std::mem::take(&mut self.proxy.orders);
        for order in &orders.list {
            match order {
                Order::Relay { to, range } => self.send(*to, &received[range.clone()]),
                Order::Send { to, range } => self.send(*to, &orders.made[range.clone()]),
                Order::SendKept { session, lane } => {
                    if let Some(Some(server)) = self.servers.get_mut(lane.slot() as usize) {
                        server.asked.extend_from_slice(self.proxy.kept(*session));
                    }
                }
                Order::Dial { lane, .. } => self.accept(*lane),
                Order::Close(End::Lane(lane)) => self.servers[lane.slot() as usize] = None,
                _ => {}
            }
        }
        orders.clear();
        self.proxy.orders = orders;
    }

    fn send(&mut self, to: End, bytes: &[u8]) {
        match to {
            End::Client(id) => {
                self.to_client.extend_from_slice(bytes);
                self.answered.push(id);
            }
            End::Lane(id) => {
                if let Some(Some(server)) = self.servers.get_mut(id.slot() as usize) {
                    server.asked.extend_from_slice(bytes);
                }
            }
        }
    }

    fn accept(&mut self, lane: LaneId) {
        let slot = lane.slot() as usize;
        self.servers.resize_with(self.servers.len().max(slot + 1), || None);
        let (asked, says) = (Vec::with_capacity(1 << 12), world::greeting());
        let (is_connected, knows_account) = (false, false);
        self.servers[slot] = Some(Server { lane, is_connected, knows_account, asked, says });
    }
}

impl Server {
    /// Answers all that it was asked.
    fn answer(&mut self, reply: &[u8]) {
        let mut taken = 0;
        while let Framed::Packet(packet) = next_packet(&self.asked[taken..]) {
            match packet.payload.first() {
                _ if !std::mem::replace(&mut self.knows_account, true) => {
                    self.says.extend_from_slice(&packets::ok(2));
                }
                Some(0x16) => self.says.extend_from_slice(&packets::prepared()),
                Some(3) if packet.payload[1..] == *POINT_SELECT => {
                    self.says.extend_from_slice(reply);
                }
                Some(0x17) => self.says.extend_from_slice(reply),
                _ => {
                    let told = packets::for_the_proxy(packet.payload);
                    self.says.extend_from_slice(&told.unwrap_or_else(|| packets::ok(1)));
                }
            }
            taken += packet.len;
        }
        self.asked.clear();
    }
}
