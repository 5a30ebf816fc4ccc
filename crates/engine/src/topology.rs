//! Hostgroups and servers as configured, and what all workers know together of each server.
//!
//! The configured part is immutable; another configuration is another topology. What outlives it
//! is a server's number, by which workers know it, and its [`Gauge`]: permits for backend
//! connections, and the failures that shun it. Which server a query gets is `pool`'s.

mod board;
mod errno_table;
mod gauge;
mod stand;
mod state;
mod verified;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Weak};

use crate::config_fault::ConfigFault;
use crate::ids::HostgroupId;
use crate::rows::ServerRow;

pub use board::Board;
use gauge::UNPROVED_SHARE;
pub use gauge::{DialLimits, FULL_PAUSE_US, Gauge, LastFault, NAME_UNKNOWN, Pace};
pub use stand::{Placed, Stand};
pub use state::ServerState;
pub use verified::Verified;

const TABLE: &str = "mysql_servers";

/// What the operator wants of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Usable.
    Online,
    /// Left out until the operator says otherwise.
    Shunned,
    /// No new work; transactions end.
    OfflineSoft,
    /// No work at all.
    OfflineHard,
}

impl Status {
    fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_uppercase().as_str() {
            "ONLINE" => Some(Self::Online),
            "SHUNNED" => Some(Self::Shunned),
            "OFFLINE_SOFT" => Some(Self::OfflineSoft),
            "OFFLINE_HARD" => Some(Self::OfflineHard),
            _ => None,
        }
    }

    /// The name in `mysql_servers.status`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Online => "ONLINE",
            Self::Shunned => "SHUNNED",
            Self::OfflineSoft => "OFFLINE_SOFT",
            Self::OfflineHard => "OFFLINE_HARD",
        }
    }

    /// Whether the operator has set a row to it.
    pub fn is_set(self, row: &ServerRow) -> bool {
        row.status.eq_ignore_ascii_case(self.name())
    }
}

/// What all workers know together of a hostgroup.
#[derive(Default, Debug)]
pub struct Group {
    /// Connections that were begun lately.
    pub pace: Pace,
    /// Who waits for one.
    pub board: Board,
}

/// A server of a hostgroup.
#[derive(Clone)]
pub struct Server {
    /// Its number. It stays the same from one topology to the next, and is nobody else's as long
    /// as anybody refers to the server's gauge.
    pub index: usize,
    /// Its hostgroup.
    pub hostgroup: HostgroupId,
    /// Name, address, or path of a Unix socket.
    pub hostname: String,
    /// TCP port; 0 for a Unix socket.
    pub port: u16,
    /// What the operator wants of it.
    pub status: Status,
    /// What was seen of it.
    pub stand: Stand,
    /// Share of traffic.
    pub weight: u32,
    /// Most backend connections.
    pub max_connections: u32,
    /// Connections to it are in TLS.
    pub use_ssl: bool,
    /// Its new connections are compressed, where it can do that.
    pub compresses: bool,
    /// What all workers know together; shared by all versions of the server.
    pub gauge: Arc<Gauge>,
    /// What all workers know together of its hostgroup; shared by all servers of it.
    pub group: Arc<Group>,
}

impl Server {
    /// Whether it is given no new work, whatever connecting to it comes to.
    pub fn is_left(&self) -> bool {
        self.status != Status::Online || !self.stand.serves()
    }

    /// Whether what runs on it is given up too.
    pub fn ends_commands(&self) -> bool {
        self.status == Status::OfflineHard || self.stand.ends_commands()
    }

    /// Whether it is reached through a Unix socket, so that clear text stays on the machine.
    pub fn is_local_socket(&self) -> bool {
        self.port == 0
    }

    /// Whether connections to it are in TLS: not those that stay on the machine.
    pub fn is_in_tls(&self) -> bool {
        self.use_ssl && !self.is_local_socket()
    }

    /// Whether one more connection may be begun now, as far as it is a matter of how many are and
    /// of what the server said to the last one.
    pub fn may_dial(&self, limits: &DialLimits, now_us: u64) -> bool {
        self.may_dial_another(limits, now_us) && !self.gauge.is_full(now_us)
    }

    /// The same in place of a connection that goes: one that was full has room for it. The limits
    /// hold but for what several workers do in the same moment.
    pub fn may_dial_another(&self, limits: &DialLimits, now_us: u64) -> bool {
        // one that was full, or shunned, is tried by one connection
        let is_tried = self.gauge.is_unproven() || self.gauge.last_fault().is_full();
        let at_once = if is_tried { limits.at_once.min(1) } else { limits.at_once };
        self.gauge.dialing() < at_once && self.group.pace.has_room(limits.per_sec, now_us)
    }

    /// How many passwords it may be asked about at once: one at least.
    pub fn proofs_max(&self) -> u32 {
        (self.max_connections / UNPROVED_SHARE).max(1)
    }

    /// What becomes of a server that is not in its hostgroup any more: what runs on it may end,
    /// unless another hostgroup has the same server and gives up its connections to that server.
    pub fn removed(&self, topology: &Topology) -> Self {
        let is_same = |it: &&ServerRef| it.hostname == self.hostname && it.port == self.port;
        let mut same = topology.servers().iter().filter(is_same).map(|server| server.stand);
        let gives_up = |stand: &Stand| stand.ends_commands() && *stand != Stand::Outdone;
        let stand = same.find(gives_up).unwrap_or(self.stand);
        Self { status: Status::OfflineSoft, stand, ..self.clone() }
    }

    fn key(&self) -> Key {
        (self.hostgroup, self.hostname.clone(), self.port)
    }

    /// Whether another version of the server has the same in every column.
    fn is_unchanged(&self, before: &Self) -> bool {
        let told = |it: &Self| {
            let asks = (it.use_ssl, it.compresses);
            (it.status, it.stand, it.weight, it.max_connections, asks)
        };
        told(self) == told(before)
    }
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.port {
            0 => f.write_str(&self.hostname),
            port => write!(f, "{}:{port}", self.hostname),
        }
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}@{}", self.hostgroup)
    }
}

/// A server, shared by whoever holds a connection to it.
pub type ServerRef = Arc<Server>;

/// What makes a server the same one: its hostgroup, host and port.
type Key = (HostgroupId, String, u16);

/// All hostgroups.
#[derive(Default)]
pub struct Topology {
    servers: Vec<ServerRef>,
    by_index: Vec<Option<ServerRef>>,
    groups: BTreeMap<HostgroupId, Vec<ServerRef>>,
    gone: Vec<Gone>,
}

/// A server that was removed and whose number is taken while somebody refers to its gauge.
struct Gone {
    key: Key,
    index: usize,
    gauge: Weak<Gauge>,
}

/// Numbers and gauges of the servers that are known.
struct Known<'a> {
    by_key: HashMap<Key, (usize, Arc<Gauge>)>,
    taken: HashSet<usize>,
    next: usize,
    by_group: HashMap<HostgroupId, Arc<Group>>,
    before: &'a Topology,
}

impl Topology {
    /// Checks rows and builds hostgroups of them.
    pub fn compile(rows: &[ServerRow]) -> Result<Self, Vec<ConfigFault>> {
        Self::default().recompile(rows)
    }

    /// Checks rows and builds what follows this topology: a server that is in both keeps its
    /// number and its gauge, and is shared when nothing of it changed.
    ///
    /// Of the topologies that are made to follow one, only one may come into force.
    pub fn recompile(&self, rows: &[ServerRow]) -> Result<Self, Vec<ConfigFault>> {
        self.follow(rows.iter().map(|row| (row, Stand::Well)))
    }

    /// The same with what was seen of the servers.
    pub fn place(&self, placed: &[Placed]) -> Result<Self, Vec<ConfigFault>> {
        self.follow(placed.iter().map(|placed| (&placed.row, placed.stand)))
    }

    fn follow<'r>(
        &self,
        rows: impl ExactSizeIterator<Item = (&'r ServerRow, Stand)>,
    ) -> Result<Self, Vec<ConfigFault>> {
        let mut known = Known::of(self);
        let mut faults = Vec::new();
        let mut topology = Self::default();
        let mut seen = HashSet::with_capacity(rows.len());
        for (row, (typed, stand)) in rows.enumerate() {
            match server(row, typed).map(|server| Server { stand, ..server }) {
                Ok(server) if !seen.insert(server.key()) => {
                    let reason = format!("{server} is already in hostgroup {}", server.hostgroup);
                    faults.push(fault(row, "hostname", reason));
                }
                Ok(server) => topology.add(known.identify(server)),
                Err(mut found) => faults.append(&mut found),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        topology.gone = known.left(&seen);
        Ok(topology)
    }

    fn add(&mut self, server: ServerRef) {
        if self.by_index.len() <= server.index {
            self.by_index.resize(server.index + 1, None);
        }
        if let Some(place) = self.by_index.get_mut(server.index) {
            *place = Some(server.clone());
        }
        self.groups.entry(server.hostgroup).or_default().push(server.clone());
        self.servers.push(server);
    }

    /// The server of a number.
    pub fn find(&self, index: usize) -> Option<&ServerRef> {
        self.by_index.get(index)?.as_ref()
    }

    /// How many numbers there are: every server's is less.
    pub fn numbers(&self) -> usize {
        self.by_index.len()
    }

    /// The server that a row is about.
    pub fn server_of(&self, row: &ServerRow) -> Option<&ServerRef> {
        let hostgroup = HostgroupId(u32::try_from(row.hostgroup_id).ok()?);
        let is_it = |server: &&ServerRef| {
            server.hostname == row.hostname && i64::from(server.port) == row.port
        };
        self.hostgroup(hostgroup).iter().find(is_it)
    }

    /// The servers of a hostgroup; empty when there is no such hostgroup.
    pub fn hostgroup(&self, id: HostgroupId) -> &[ServerRef] {
        self.groups.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Every server.
    pub fn servers(&self) -> &[ServerRef] {
        &self.servers
    }

    /// Every hostgroup with its servers, ascending.
    pub fn groups(&self) -> impl Iterator<Item = (HostgroupId, &[ServerRef])> {
        self.groups.iter().map(|(id, servers)| (*id, servers.as_slice()))
    }
}

impl<'a> Known<'a> {
    fn of(before: &'a Topology) -> Self {
        let servers = before.servers.iter();
        let servers = servers.map(|server| (server.key(), (server.index, server.gauge.clone())));
        let gone = before.gone.iter();
        let gone =
            gone.filter_map(|gone| Some((gone.key.clone(), (gone.index, gone.gauge.upgrade()?))));
        let by_key: HashMap<_, _> = servers.chain(gone).collect();
        let taken = by_key.values().map(|(index, _)| *index).collect();
        let by_group = before.servers.iter().map(|server| (server.hostgroup, server.group.clone()));
        Self { by_key, taken, next: 0, by_group: by_group.collect(), before }
    }

    /// The server with the number and gauge that it has already, or with new ones.
    fn identify(&mut self, mut server: Server) -> ServerRef {
        server.group = self.by_group.entry(server.hostgroup).or_default().clone();
        let Some((index, gauge)) = self.by_key.get(&server.key()) else {
            return Arc::new(Server { index: self.next_index(), ..server });
        };
        let before = self.before.find(*index);
        match before.filter(|before| server.is_unchanged(before)) {
            Some(same) => same.clone(),
            None => Arc::new(Server { index: *index, gauge: gauge.clone(), ..server }),
        }
    }

    fn next_index(&mut self) -> usize {
        while !self.taken.insert(self.next) {
            self.next += 1;
        }
        self.next
    }

    /// The servers that are not among those.
    fn left(self, seen: &HashSet<Key>) -> Vec<Gone> {
        let left = self.by_key.into_iter().filter(|(key, _)| !seen.contains(key));
        let gone = |(key, (index, gauge))| Gone { key, index, gauge: Arc::downgrade(&gauge) };
        left.map(gone).collect()
    }
}

fn fault(row: usize, column: &str, reason: impl Into<String>) -> ConfigFault {
    ConfigFault { table: TABLE, row: Some(row), column: column.into(), reason: reason.into() }
}

fn server(index: usize, row: &ServerRow) -> Result<Server, Vec<ConfigFault>> {
    let mut faults = Vec::new();
    let mut bounded = |column: &str, value: i64, max: i64| -> u32 {
        if !(0..=max).contains(&value) {
            faults.push(fault(index, column, format!("{value} is not in 0..{max}")));
        }
        u32::try_from(value).unwrap_or(0)
    };
    let hostgroup = bounded("hostgroup_id", row.hostgroup_id, i64::from(i32::MAX));
    let port = bounded("port", row.port, 65_535);
    bounded("gtid_port", row.gtid_port, 65_535);
    let weight = bounded("weight", row.weight, 10_000_000);
    let max_connections = bounded("max_connections", row.max_connections, i64::from(i32::MAX));
    bounded("max_replication_lag", row.max_replication_lag, 126_144_000);
    bounded("max_latency_ms", row.max_latency_ms, i64::from(i32::MAX));
    let compresses = bounded("compression", row.compression, 1) == 1;
    let use_ssl = bounded("use_ssl", row.use_ssl, 1) == 1;
    let status = Status::parse(&row.status).unwrap_or_else(|| {
        let reason =
            format!("'{}' is not ONLINE, SHUNNED, OFFLINE_SOFT or OFFLINE_HARD", row.status);
        faults.push(fault(index, "status", reason));
        Status::Online
    });
    let is_path = row.hostname.starts_with('/');
    if row.hostname.is_empty() {
        faults.push(fault(index, "hostname", "must not be empty"));
    }
    if !is_path && row.hostname.contains(|sign: char| sign.is_whitespace() || sign.is_control()) {
        let reason = format!("`{}` is neither a name, an address nor a path", row.hostname);
        faults.push(fault(index, "hostname", reason));
    } else if is_path != (port == 0) {
        let reason = "a path of a Unix socket goes with port 0, a host with a port above 0";
        faults.push(fault(index, "port", reason));
    }
    if row.gtid_port != 0 && row.gtid_port == row.port {
        faults.push(fault(index, "gtid_port", "must differ from port"));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(Server {
        index: 0,
        hostgroup: HostgroupId(hostgroup),
        hostname: row.hostname.clone(),
        port: u16::try_from(port).unwrap_or(0),
        status,
        stand: Stand::Well,
        weight,
        max_connections,
        use_ssl,
        compresses,
        gauge: Arc::default(),
        group: Arc::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(host: &str, port: i64) -> ServerRow {
        ServerRow { hostname: host.into(), port, ..ServerRow::default() }
    }

    #[test]
    fn every_fault_of_a_row_is_named_with_its_column() {
        let mut bad = row("/tmp/s", 3306);
        bad.weight = -1;
        bad.use_ssl = 2;
        bad.status = "UP".into();
        let faults = Topology::compile(&[row("a", 1), bad, row("a", 1)]).err().unwrap();
        let columns: Vec<_> = faults.iter().map(|f| (f.row, f.column.as_str())).collect();
        assert_eq!(
            columns,
            [
                (Some(1), "weight"),
                (Some(1), "use_ssl"),
                (Some(1), "status"),
                (Some(1), "port"),
                (Some(2), "hostname"),
            ]
        );
    }

    fn numbers(topology: &Topology) -> Vec<(&str, usize)> {
        let servers = topology.servers().iter();
        servers.map(|server| (server.hostname.as_str(), server.index)).collect()
    }

    #[test]
    fn servers_keep_their_number_and_gauge_and_what_did_not_change_is_shared() {
        let first = Topology::compile(&[row("a", 1), row("b", 1), row("c", 1)]).unwrap();
        let heavy = ServerRow { weight: 7, ..row("b", 1) };
        let next = first.recompile(&[row("d", 1), row("c", 1), heavy]).unwrap();
        assert_eq!(numbers(&next), [("d", 3), ("c", 2), ("b", 1)]);
        assert!(Arc::ptr_eq(next.find(2).unwrap(), first.find(2).unwrap()));
        let (before, after) = (first.find(1).unwrap(), next.find(1).unwrap());
        assert!(Arc::ptr_eq(&before.gauge, &after.gauge));
        assert_eq!((before.weight, after.weight), (1, 7));
        assert!(next.find(0).is_none() && next.find(4).is_none());
    }

    #[test]
    fn a_removed_server_has_its_number_while_somebody_refers_to_it_and_is_the_same_when_it_returns()
    {
        let first = Topology::compile(&[row("a", 1), row("b", 1)]).unwrap();
        let in_use = Arc::new(first.find(0).unwrap().removed(&first));
        let without = first.recompile(&[row("b", 1)]).unwrap();
        drop(first);
        let other = without.recompile(&[row("b", 1), row("x", 1)]).unwrap();
        assert_eq!(numbers(&other), [("b", 1), ("x", 2)]);
        let back = other.recompile(&[row("a", 1), row("b", 1)]).unwrap();
        assert_eq!(numbers(&back), [("a", 0), ("b", 1)]);
        assert!(Arc::ptr_eq(&back.find(0).unwrap().gauge, &in_use.gauge));
        // once nobody does, the number is free
        let without = back.recompile(&[row("b", 1)]).unwrap();
        drop((back, in_use, other));
        let other = without.recompile(&[row("b", 1), row("y", 1)]).unwrap();
        assert_eq!(numbers(&other), [("b", 1), ("y", 0)]);
    }
}
