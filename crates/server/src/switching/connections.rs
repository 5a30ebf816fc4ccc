//! Connections to the servers of a cluster, as the account that may administer them.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use client::{Client, Packets};
use engine::backend::{BackendLogin, Keys, LoginStep};
use engine::rows::{ReplicationClusterRow, UserRow};
use engine::snapshot::Snapshot;
use engine::users::{Account, Users};
use failover::Servers;
use io::Addr;
use keeper::Endpoint;
use wire::Caps;
use wire::frame::Packet;
use wire::text_result::TextResult;
use worker::ServerAddresses;

/// One to each server that was asked something, until the order is over.
pub(super) struct Connections {
    snapshot: Arc<Snapshot>,
    addresses: Arc<ServerAddresses>,
    account: Option<Arc<Account>>,
    /// How long an answer may take.
    patience: Duration,
    open: BTreeMap<Endpoint, Client<Box<dyn Stream>>>,
}

trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

impl Connections {
    /// None yet. What servers are asked may take as long as the order.
    pub(super) fn new(
        (snapshot, addresses): (Arc<Snapshot>, Arc<ServerAddresses>),
        row: &ReplicationClusterRow,
        limit: Duration,
    ) -> Self {
        let user = UserRow {
            username: row.username.clone(),
            password: row.password.clone().into_bytes(),
            ..UserRow::default()
        };
        let users = Users::compile(&[user]).ok();
        let account = users.and_then(|users| users.find(row.username.as_bytes()).cloned());
        let patience = limit + CONNECT;
        Self { snapshot, addresses, account, patience, open: BTreeMap::new() }
    }

    fn connect(&self, server: &Endpoint) -> Result<Client<Box<dyn Stream>>, String> {
        let addr = self.address(server).ok_or("its name has no address")?;
        let account = self.account.clone().ok_or("the account's name or password is no such")?;
        let stream = stream(addr, self.patience).map_err(|error| error.to_string())?;
        let mut packets = Packets::over(stream);
        let is_local = matches!(addr, Addr::Unix(_));
        let login = BackendLogin::new(account, Caps::NONE, None, COLLATION, is_local)
            .untracked()
            .named("tidegate_switchover")
            .trusting(Keys::of_vars(&self.snapshot.vars));
        log_in(&mut packets, login)?;
        let mut client = Client { packets };
        // literals are read in one way, and what administrators do is no statement of the data
        client.query("SET SESSION sql_mode=''").map_err(|error| error.to_string())?;
        Ok(client)
    }

    fn address(&self, server: &Endpoint) -> Option<&Addr> {
        let mut known = self
            .snapshot
            .topology
            .servers()
            .iter()
            .filter(|it| it.hostname == server.hostname && i64::from(it.port) == server.port);
        known.find_map(|it| self.addresses.find(it))
    }
}

/// A connection on which an answer may take so long.
fn stream(addr: &Addr, patience: Duration) -> std::io::Result<Box<dyn Stream>> {
    Ok(match addr {
        Addr::Tcp(addr) => {
            let stream = TcpStream::connect_timeout(addr, CONNECT)?;
            stream.set_read_timeout(Some(patience))?;
            stream.set_write_timeout(Some(CONNECT))?;
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
        Addr::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(patience))?;
            stream.set_write_timeout(Some(CONNECT))?;
            Box::new(stream)
        }
    })
}

impl Servers for Connections {
    fn ask(&mut self, server: &Endpoint, statement: &str) -> Result<TextResult, String> {
        if !self.open.contains_key(server) {
            let client = self.connect(server)?;
            self.open.insert(server.clone(), client);
        }
        let Some(client) = self.open.get_mut(server) else { return Err(String::new()) };
        client.query(statement).map_err(|error| {
            if error.refusal().is_none() {
                self.open.remove(server);
            }
            error.to_string()
        })
    }

    fn be_patient(&mut self, limit: Duration) {
        self.patience = limit;
        self.open.clear();
    }

    fn greets(&mut self, server: &Endpoint) -> bool {
        let stream = self.address(server).and_then(|addr| stream(addr, CONNECT).ok());
        stream.is_some_and(|stream| Packets::over(stream).receive().is_ok())
    }
}

fn log_in<S: Read + Write>(
    packets: &mut Packets<S>,
    mut login: BackendLogin,
) -> Result<(), String> {
    loop {
        let (seq, payload) = packets.receive().map_err(|error| error.to_string())?;
        let mut out = Vec::new();
        let packet = Packet { payload: &payload, seq, len: payload.len() };
        let step = login.on_packet(&packet, &mut out);
        packets.bytes(&out).map_err(|error| error.to_string())?;
        match step {
            LoginStep::Wait => {}
            LoginStep::Ready { .. } => return Ok(()),
            LoginStep::Failed { said: Some((code, _, message)), .. } => {
                return Err(format!("{code} {}", String::from_utf8_lossy(&message)));
            }
            LoginStep::Failed { fault, said: None } => return Err(fault.to_string()),
            LoginStep::KeyRefused(_) => return Err("its public key is not trusted".to_owned()),
        }
    }
}

/// `utf8mb4_general_ci`, which all servers have.
const COLLATION: u8 = 45;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(2);
