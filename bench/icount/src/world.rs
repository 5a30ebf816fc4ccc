//! One worker's proxy with a client and a server made of bytes.
//!
//! Decides how the two behave: the client logs in and asks, the server agrees to everything. What
//! is in between is the real engine, and its orders are carried out as a worker would.

use std::sync::Arc;

use engine::ids::{ConnectionId, LaneId, SessionId};
use engine::orders::{End, Order};
use engine::proxy::{Arrival, Offer, Proxy};
use engine::rows::{RuleRow, ServerRow, UserRow};
use engine::snapshot::{Draft, Snapshot};
use wire::Status;
use wire::auth::native;
use wire::auth::rsa::ServerKey;
use wire::connect::{Greeting, HandshakeResponse};
use wire::frame::{Framed, Packet, next_packet};

use crate::packets::{self, CAPS};

/// The key pair of every scenario's proxy: making one takes far longer than what is measured, above
/// all where instructions are counted.
const KEY: &[u8] = include_bytes!("key.pk8");

/// The engine and what lies in its sockets.
pub struct World {
    proxy: Proxy,
    offer: Arc<Offer>,
    /// Clients choose one: what is read without may be what a server tells of itself.
    has_schema: bool,
    lane: Option<LaneId>,
    to_client: Vec<u8>,
    to_server: Vec<u8>,
    dialling: Option<LaneId>,
    logging_in: bool,
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    /// A read/write split over one writer and one reader, and nobody there yet.
    pub fn new() -> Self {
        Self::with_rules(split())
    }

    /// The same where reads share connections.
    pub fn sharing() -> Self {
        Self::configured(split(), true)
    }

    /// The same where all reads may be answered from a query cache of so many bytes.
    pub fn caching(bytes: u64) -> Self {
        let world = Self { has_schema: true, ..Self::with_rules(cached(split())) };
        world.offer.cache.set_limit(bytes);
        world
    }

    /// One writer and one reader with these rules, and nobody there yet.
    pub fn with_rules(rules: Vec<RuleRow>) -> Self {
        Self::configured(rules, false)
    }

    fn configured(rules: Vec<RuleRow>, shares: bool) -> Self {
        let depth = if shares { "16" } else { "0" };
        let (snapshot, offer) = configured_with(rules, &[("mysql-pipeline_depth", depth)]);
        Self {
            proxy: Proxy::new(snapshot, offer.clone(), 1, [7; 32]),
            offer,
            has_schema: false,
            lane: None,
            to_client: Vec::with_capacity(1 << 20),
            to_server: Vec::with_capacity(1 << 16),
            dialling: None,
            logging_in: false,
        }
    }

    /// Queries that shared a connection so far.
    pub fn shared_queries(&self) -> u64 {
        self.proxy.stats.shared_queries
    }

    /// Reads that were answered from the query cache so far, and answers that were kept there.
    pub fn cache_hits_and_fills(&self) -> (u64, u64) {
        (self.proxy.stats.cache_hits, self.proxy.stats.cache_fills)
    }

    /// A client arrives and authenticates with `mysql_native_password`.
    pub fn log_in(&mut self) -> SessionId {
        let session = self.proxy.on_accepted(arrival());
        self.carry_out(&[]);
        let packet = first_packet(&self.to_client);
        let greeting = Greeting::parse(packet.payload).expect("the proxy greets");
        let bytes = response(&greeting.scramble);
        self.to_client.clear();
        self.client_says(session, &bytes);
        self.serve(&[]);
        if self.has_schema {
            self.exchange(session, &packets::packet(b"\x02sbtest"), &[]);
        }
        session
    }

    /// A client closes.
    pub fn leave(&mut self, session: SessionId) {
        self.proxy.on_client_gone(session);
        self.carry_out(&[]);
        self.to_client.clear();
    }

    /// One command and its reply; returns how many bytes of it reached the client.
    pub fn exchange(&mut self, session: SessionId, command: &[u8], reply: &[u8]) -> usize {
        self.to_client.clear();
        self.client_says(session, command);
        self.serve(reply);
        self.to_client.len()
    }

    /// Prepares a statement; executes it with one number, and returns the command
    /// that does so again.
    pub fn prepare(&mut self, session: SessionId, text: &[u8]) -> Vec<u8> {
        let mut payload = vec![0x16];
        payload.extend_from_slice(text);
        self.exchange(session, &packets::packet(&payload), &[]);
        let [first, others] = packets::executions(&self.to_client);
        self.exchange(session, &first, &packets::result(1));
        others
    }

    fn client_says(&mut self, session: SessionId, bytes: &[u8]) {
        let taken = self.proxy.on_client_bytes(session, bytes);
        self.carry_out(bytes);
        while let Some(lane) = self.proxy.next_batch() {
            self.proxy.send_batch(lane);
            self.carry_out(&[]);
        }
        assert_eq!(taken, bytes.len(), "whole commands are taken whole");
    }

    /// The server accepts whoever dials and answers: selects and executions with `reply`,
    /// everything else with OK.
    fn serve(&mut self, reply: &[u8]) {
        loop {
            if let Some(lane) = self.dialling.take() {
                self.lane = Some(lane);
                self.logging_in = true;
                self.proxy.on_dialed(lane, Ok(()));
                self.carry_out(&[]);
                self.server_says(&greeting());
            }
            let Framed::Packet(Packet { payload, len, .. }) = next_packet(&self.to_server) else {
                return;
            };
            let asks = is_for_reply(payload);
            let told = match payload.first() {
                Some(0x16) => Some(packets::prepared()),
                _ if asks => None,
                _ => packets::for_the_proxy(payload),
            };
            self.to_server.drain(..len);
            if std::mem::take(&mut self.logging_in) {
                self.server_says(&packets::ok(2));
            } else if let Some(told) = told {
                self.server_says(&told);
            } else if asks {
                self.server_says(reply);
            } else {
                self.server_says(&packets::ok(1));
            }
        }
    }

    fn server_says(&mut self, bytes: &[u8]) {
        let lane = self.lane.expect("the server only answers on a lane");
        let taken = self.proxy.on_lane_bytes(lane, bytes);
        self.carry_out(bytes);
        assert_eq!(taken, bytes.len(), "whole replies are taken whole");
    }

    fn carry_out(&mut self, received: &[u8]) {
        let mut orders = std::mem::take(&mut self.proxy.orders);
        for order in &orders.list {
            match order {
                Order::Relay { to, range } => {
                    self.socket(*to).extend_from_slice(&received[range.clone()]);
                }
                Order::Send { to, range } => {
                    self.socket(*to).extend_from_slice(&orders.made[range.clone()]);
                }
                Order::SendCached { to, answer } => {
                    self.socket(*to).extend_from_slice(&answer.reply);
                }
                Order::SendKept { session, .. } => {
                    self.to_server.extend_from_slice(self.proxy.kept(*session));
                }
                Order::Dial { lane, .. } => self.dialling = Some(*lane),
                _ => {}
            }
        }
        orders.clear();
        self.proxy.orders = orders;
    }

    fn socket(&mut self, end: End) -> &mut Vec<u8> {
        match end {
            End::Client(_) => &mut self.to_client,
            End::Lane(_) => &mut self.to_server,
        }
    }
}

/// A client that has connected.
pub(crate) fn arrival() -> Arrival {
    Arrival {
        can_have_tls: false,
        client: "127.0.0.1".into(),
        client_port: 40_000,
        secure: false,
        proxy: ("127.0.0.1".into(), 6033),
        connection: ConnectionId(7),
        random: *b"abcdefghijklmnopqrst",
        clients: 1,
        failed_logins: 0,
    }
}

/// A read/write split over one writer and one reader, and what clients are offered.
pub fn configured(variables: &[(&str, &str)]) -> (Arc<Snapshot>, Arc<Offer>) {
    configured_with(split(), variables)
}

fn configured_with(rules: Vec<RuleRow>, variables: &[(&str, &str)]) -> (Arc<Snapshot>, Arc<Offer>) {
    compiled(draft(rules), variables)
}

fn compiled(mut draft: Draft, variables: &[(&str, &str)]) -> (Arc<Snapshot>, Arc<Offer>) {
    let variables = variables.iter().map(|&(name, value)| (name.into(), value.into()));
    draft.variables.extend(variables);
    let Ok(snapshot) = Snapshot::compile(&draft) else {
        unreachable!("the scenario's configuration is valid")
    };
    let key = ServerKey::from_pkcs8(KEY).expect("it is a key");
    let offer = Offer::new(b"10.11.0-tidegate", CAPS, key);
    (Arc::new(snapshot), Arc::new(offer))
}

/// The same where all reads may be answered from the query cache.
pub(crate) fn caching(variables: &[(&str, &str)]) -> (Arc<Snapshot>, Arc<Offer>) {
    configured_with(cached(split()), variables)
}

/// The same where the server of reads takes so many connections.
pub(crate) fn crowded(connections: i64, variables: &[(&str, &str)]) -> (Arc<Snapshot>, Arc<Offer>) {
    let mut draft = draft(split());
    draft.servers[1].max_connections = connections;
    compiled(draft, variables)
}

/// A client's answer to a greeting with this nonce.
pub fn response(scramble: &[u8; 20]) -> Vec<u8> {
    let response = HandshakeResponse {
        caps: CAPS,
        max_packet: 1 << 24,
        collation: 45,
        user: b"app",
        auth_response: &native::scramble(b"app", scramble),
        schema: None,
        plugin: Some(b"mysql_native_password"),
        attributes: &[],
        zstd_level: 0,
    };
    packets::framed(1, |out| response.encode(out))
}

/// A server's greeting.
pub fn greeting() -> Vec<u8> {
    let greeting = Greeting {
        server_version: b"10.11.19-MariaDB",
        connection_id: 42,
        scramble: *b"ABCDEFGHIJKLMNOPQRST",
        caps: CAPS,
        collation: 45,
        status: Status::AUTOCOMMIT,
        plugin: b"mysql_native_password",
    };
    packets::framed(0, |out| greeting.encode(out))
}

/// Whether a command is a client's select or an execute.
pub fn is_for_reply(payload: &[u8]) -> bool {
    payload.starts_with(b"\x03SELECT c ") || payload.first() == Some(&0x17)
}

fn first_packet(bytes: &[u8]) -> Packet<'_> {
    match next_packet(bytes) {
        Framed::Packet(packet) => packet,
        _ => unreachable!("a whole packet was sent"),
    }
}

fn draft(rules: Vec<RuleRow>) -> Draft {
    let server = |hostgroup_id| ServerRow {
        hostgroup_id,
        hostname: "127.0.0.1".into(),
        ..ServerRow::default()
    };
    // the server of reads, which a login meets, is the only one
    let (username, password) = ("app".into(), b"app".to_vec());
    let user = UserRow { username, password, default_hostgroup: 1, ..UserRow::default() };
    Draft { servers: vec![server(0), server(1)], users: vec![user], rules, ..Draft::default() }
}

/// The same with whatever they send to the reader in the query cache.
fn cached(mut rules: Vec<RuleRow>) -> Vec<RuleRow> {
    let of_reads = rules.iter_mut().filter(|rule| rule.destination_hostgroup == Some(1));
    of_reads.for_each(|rule| rule.cache_ttl = Some(3_600_000));
    rules
}

fn split() -> Vec<RuleRow> {
    let rule = |rule_id, pattern: &str, hostgroup| RuleRow {
        rule_id,
        active: 1,
        match_pattern: Some(pattern.into()),
        destination_hostgroup: Some(hostgroup),
        apply: 1,
        ..RuleRow::default()
    };
    vec![rule(1, "^SELECT.*FOR UPDATE", 0), rule(2, "^SELECT", 1)]
}
