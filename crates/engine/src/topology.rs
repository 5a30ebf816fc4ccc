//! Hostgroups and servers as configured, and what all workers know together of each server.
//!
//! The configured part is immutable. The shared part of a server is its [`Gauge`]: permits for
//! backend connections, and the failures that shun it. Which server a query gets is `pool`'s.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::config_fault::ConfigFault;
use crate::ids::HostgroupId;
use crate::rows::ServerRow;

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
}

/// Why a server last failed, small enough for an atomic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastFault {
    /// Nothing failed since start.
    None,
    /// The operating system refused: an errno.
    Os(u32),
    /// The server answered the login with this MySQL error number.
    Server(u32),
    /// It did not answer in time.
    Timeout,
    /// It spoke no protocol that is understood.
    Protocol,
    /// It lacks a capability that the client had been offered.
    Capability,
    /// The proxy has no password for it: the account is stored hashed and nobody logged in yet.
    NoPassword,
}

impl LastFault {
    fn pack(self) -> u64 {
        let (kind, code): (u64, u32) = match self {
            Self::None => (0, 0),
            Self::Os(errno) => (1, errno),
            Self::Server(code) => (2, code),
            Self::Timeout => (3, 0),
            Self::Protocol => (4, 0),
            Self::Capability => (5, 0),
            Self::NoPassword => (6, 0),
        };
        kind << 32 | u64::from(code)
    }

    fn unpack(packed: u64) -> Self {
        let code = u32::try_from(packed & 0xffff_ffff).unwrap_or(0);
        match packed >> 32 {
            1 => Self::Os(code),
            2 => Self::Server(code),
            3 => Self::Timeout,
            4 => Self::Protocol,
            5 => Self::Capability,
            6 => Self::NoPassword,
            _ => Self::None,
        }
    }

    /// Whether trying again cannot help until the configuration changes.
    pub fn is_final(self) -> bool {
        match self {
            Self::Server(code) => matches!(code, 1044 | 1045 | 1049 | 1251 | 1698 | 1862),
            Self::Capability | Self::NoPassword => true,
            _ => false,
        }
    }
}

impl std::fmt::Display for LastFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("no failure"),
            Self::Os(111) => f.write_str("connection refused (errno 111)"),
            Self::Os(0) => f.write_str("connection closed"),
            Self::Os(errno) => write!(f, "errno {errno}"),
            Self::Server(1045) => f.write_str("login refused (error 1045)"),
            Self::Server(code) => write!(f, "server error {code}"),
            Self::Timeout => f.write_str("connect timeout"),
            Self::Protocol => f.write_str("not the MySQL protocol"),
            Self::Capability => f.write_str("lacks a capability the client uses"),
            Self::NoPassword => f.write_str("password not known yet (account stored hashed)"),
        }
    }
}

/// What all workers know together of one server. Relaxed atomics, one line of cache each.
#[repr(align(128))]
#[derive(Default)]
pub struct Gauge {
    used: AtomicU32,
    shunned_until_us: AtomicU64,
    window_us: AtomicU64,
    window_faults: AtomicU32,
    last_fault: AtomicU64,
}

impl Gauge {
    /// Takes a permit for one more backend connection, if there is one left.
    pub fn take_permit(&self, max: u32) -> bool {
        if self.used.fetch_add(1, Ordering::Relaxed) < max {
            return true;
        }
        self.used.fetch_sub(1, Ordering::Relaxed);
        false
    }

    /// Gives a permit back.
    pub fn give_permit(&self) {
        self.used.fetch_sub(1, Ordering::Relaxed);
    }

    /// Backend connections now, those being opened included.
    pub fn used(&self) -> u32 {
        self.used.load(Ordering::Relaxed)
    }

    /// Until when (µs) the server is left out because connects failed; 0 when it is not.
    pub fn shunned_until_us(&self, now_us: u64) -> u64 {
        let until = self.shunned_until_us.load(Ordering::Relaxed);
        if until > now_us { until } else { 0 }
    }

    /// Why it last failed.
    pub fn last_fault(&self) -> LastFault {
        LastFault::unpack(self.last_fault.load(Ordering::Relaxed))
    }

    /// Notes a failed connect. Returns `true` when this failure shuns the server.
    ///
    /// `limit` failures within one second shun it for `recovery_us`, as `mysql-shun_on_failures`
    /// and `mysql-shun_recovery_time_sec` say. Faults of the account are not the server's.
    pub fn on_fault(&self, fault: LastFault, now_us: u64, limit: u32, recovery_us: u64) -> bool {
        self.last_fault.store(fault.pack(), Ordering::Relaxed);
        if fault.is_final() {
            return false;
        }
        if now_us.saturating_sub(self.window_us.load(Ordering::Relaxed)) > 1_000_000 {
            self.window_us.store(now_us, Ordering::Relaxed);
            self.window_faults.store(0, Ordering::Relaxed);
        }
        let faults = self.window_faults.fetch_add(1, Ordering::Relaxed) + 1;
        if faults < limit.max(1) || self.shunned_until_us(now_us) != 0 {
            return false;
        }
        self.shunned_until_us.store(now_us.saturating_add(recovery_us), Ordering::Relaxed);
        true
    }

    /// Notes a connect that worked.
    pub fn on_success(&self) {
        self.shunned_until_us.store(0, Ordering::Relaxed);
        self.last_fault.store(LastFault::None.pack(), Ordering::Relaxed);
    }
}

/// A server of a hostgroup.
pub struct Server {
    /// Position among all servers of the topology.
    pub index: usize,
    /// Its hostgroup.
    pub hostgroup: HostgroupId,
    /// Name, address, or path of a Unix socket.
    pub hostname: String,
    /// TCP port; 0 for a Unix socket.
    pub port: u16,
    /// What the operator wants of it.
    pub status: Status,
    /// Share of traffic.
    pub weight: u32,
    /// Most backend connections.
    pub max_connections: u32,
    /// What all workers know together.
    pub gauge: Gauge,
}

impl Server {
    /// Whether it is reached through a Unix socket, so that clear text stays on the machine.
    pub fn is_local_socket(&self) -> bool {
        self.port == 0
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

/// All hostgroups.
#[derive(Default)]
pub struct Topology {
    servers: Vec<ServerRef>,
    groups: BTreeMap<HostgroupId, Vec<ServerRef>>,
}

impl Topology {
    /// Checks rows and builds hostgroups of them.
    pub fn compile(rows: &[ServerRow]) -> Result<Self, Vec<ConfigFault>> {
        let mut faults = Vec::new();
        let mut topology = Self::default();
        for (index, row) in rows.iter().enumerate() {
            match server(index, row) {
                Ok(server) => {
                    let group = topology.groups.entry(server.hostgroup).or_default();
                    let key =
                        |s: &ServerRef| s.hostname == server.hostname && s.port == server.port;
                    if group.iter().any(key) {
                        faults.push(fault(
                            index,
                            "hostname",
                            format!("{server} is already in hostgroup {}", server.hostgroup),
                        ));
                        continue;
                    }
                    let server = Arc::new(Server { index: topology.servers.len(), ..server });
                    group.push(server.clone());
                    topology.servers.push(server);
                }
                Err(mut found) => faults.append(&mut found),
            }
        }
        if faults.is_empty() { Ok(topology) } else { Err(faults) }
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
    bounded("compression", row.compression, 1);
    bounded("use_ssl", row.use_ssl, 1);
    let status = Status::parse(&row.status).unwrap_or_else(|| {
        let reason =
            format!("'{}' is not ONLINE, SHUNNED, OFFLINE_SOFT or OFFLINE_HARD", row.status);
        faults.push(fault(index, "status", reason));
        Status::Online
    });
    let is_path = row.hostname.starts_with('/');
    if row.hostname.is_empty() {
        faults.push(fault(index, "hostname", "must not be empty"));
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
        weight,
        max_connections,
        gauge: Gauge::default(),
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
        bad.status = "UP".into();
        let faults = Topology::compile(&[row("a", 1), bad, row("a", 1)]).err().unwrap();
        let columns: Vec<_> = faults.iter().map(|f| (f.row, f.column.as_str())).collect();
        assert_eq!(
            columns,
            [(Some(1), "weight"), (Some(1), "status"), (Some(1), "port"), (Some(2), "hostname")]
        );
    }

    #[test]
    fn permits_stop_at_the_limit_and_come_back() {
        let gauge = Gauge::default();
        assert!(gauge.take_permit(2) && gauge.take_permit(2));
        assert!(!gauge.take_permit(2));
        gauge.give_permit();
        assert!(gauge.take_permit(2));
        assert_eq!(gauge.used(), 2);
    }

    #[test]
    fn only_a_burst_of_failures_shuns_and_time_heals() {
        let gauge = Gauge::default();
        let refused = LastFault::Os(111);
        assert!(!gauge.on_fault(refused, 10, 2, 1_000));
        assert!(!gauge.on_fault(refused, 2_000_000, 2, 1_000));
        assert!(gauge.on_fault(refused, 2_000_001, 2, 1_000));
        assert_eq!(gauge.shunned_until_us(2_000_002), 2_001_001);
        assert_eq!(gauge.shunned_until_us(2_001_001), 0);
        assert_eq!(gauge.last_fault(), refused);
    }

    #[test]
    fn a_wrong_password_never_shuns_a_server() {
        let gauge = Gauge::default();
        for _ in 0..100 {
            assert!(!gauge.on_fault(LastFault::Server(1045), 1, 1, 1_000));
        }
        assert_eq!(gauge.last_fault(), LastFault::Server(1045));
    }
}
