//! What holds for a whole hostgroup in place of variables.
//!
//! A hostgroup without a row goes by the variables; one with a row goes by its columns, all of
//! them. Servers are `topology`'s.

mod balance;
mod several_writers;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config_fault::ConfigFault;
use crate::ids::HostgroupId;
use crate::json;
use crate::rows::HostgroupRow;
use crate::rules::Invalidation;
use crate::topology::DialLimits;
use crate::vars::Vars;

pub use balance::{Balance, Policy, Zones};
pub use several_writers::SeveralWriters;

const TABLE: &str = "mysql_hostgroup_attributes";

/// A row that is in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attributes {
    /// Servers that may be online; with more of them none is used.
    pub online_max: usize,
    /// Idle connections kept, as a share of a server's `max_connections`.
    pub free_connections_pct: u32,
    /// Statement run on each new connection; empty for what the variable says.
    pub init_connect: Arc<str>,
    /// Whether sessions share its connections.
    pub multiplexing: bool,
    /// Whether connections are opened ahead of need.
    pub connection_warming: bool,
    /// New connections in a second.
    pub connects_per_sec: u32,
    /// Commands of several sessions on one connection; `None` for what the variable says.
    pub pipeline_depth: Option<u32>,
    /// What ends cached answers of its servers beside their time, where rules say nothing of that.
    pub invalidation: Option<Invalidation>,
    /// Whether connections are kept for warnings; `None` for what the variable says.
    pub handle_warnings: Option<u32>,
    /// The version of the PROXY protocol in which servers are told of clients, if they are.
    pub proxy_protocol: Option<u8>,
    /// What servers have that nobody typed.
    pub servers_defaults: ServersDefaults,
    /// How its servers share its commands.
    pub balance: Balance,
    /// Which of several servers is its writer that all say they take writes.
    pub several_writers: SeveralWriters,
}

/// What rows of servers have that were found and not typed; `None` for the column's default.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ServersDefaults {
    /// Share of the hostgroup's traffic.
    pub weight: Option<u32>,
    /// Most connections.
    pub max_connections: Option<u32>,
    /// Whether connections are in TLS.
    pub use_ssl: Option<bool>,
}

impl ServersDefaults {
    fn of(text: &str) -> Result<Self, String> {
        Ok(Self {
            weight: json::number(text, "weight", 10_000_000)?,
            max_connections: json::number(text, "max_connections", i32::MAX.unsigned_abs())?,
            use_ssl: json::number(text, "use_ssl", 1)?.map(|flag| flag == 1),
        })
    }
}

/// The hostgroups that have a row.
#[derive(Default, Debug)]
pub struct Hostgroups {
    by_id: BTreeMap<HostgroupId, Attributes>,
    /// Whether any of them tells its servers of clients.
    tells_clients: bool,
}

impl Hostgroups {
    /// Checks rows; every fault of every row is in the error.
    pub fn compile(rows: &[HostgroupRow]) -> Result<Self, Vec<ConfigFault>> {
        let mut faults = Vec::new();
        let mut by_id = BTreeMap::new();
        for (at, row) in rows.iter().enumerate() {
            let (id, attributes) = attributes(row, &mut |column: &str, reason: String| {
                let column = column.to_owned();
                faults.push(ConfigFault { table: TABLE, row: Some(at), column, reason });
            });
            if by_id.insert(id, attributes).is_some() {
                let reason = format!("hostgroup {id} has a row already");
                let column = "hostgroup_id".to_owned();
                faults.push(ConfigFault { table: TABLE, row: Some(at), column, reason });
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let tells_clients = by_id.values().any(|own| own.proxy_protocol.is_some());
        Ok(Self { by_id, tells_clients })
    }

    /// Whether no hostgroup has a row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// What holds for a hostgroup; `None` for one without a row.
    pub fn find(&self, hostgroup: HostgroupId) -> Option<&Attributes> {
        self.by_id.get(&hostgroup)
    }

    /// Whether sessions share the connections of a hostgroup.
    pub fn multiplexing(&self, hostgroup: HostgroupId, vars: &Vars) -> bool {
        vars.multiplexing && self.find(hostgroup).is_none_or(|own| own.multiplexing)
    }

    /// The statement that every new connection to a server of a hostgroup runs; empty for none.
    pub fn init_connect<'a>(&'a self, hostgroup: HostgroupId, vars: &'a Vars) -> &'a str {
        let own = self.find(hostgroup).map_or("", |own| &own.init_connect);
        if own.is_empty() { &vars.init_connect } else { own }
    }

    /// Where that statement is written, for people.
    pub fn place_of_init_connect(&self, hostgroup: HostgroupId) -> &'static str {
        match self.find(hostgroup).is_some_and(|own| !own.init_connect.is_empty()) {
            true => "init_connect of mysql_hostgroup_attributes",
            false => "mysql-init_connect",
        }
    }

    /// Commands of several sessions on one connection of a hostgroup.
    pub fn pipeline_depth(&self, hostgroup: HostgroupId, vars: &Vars) -> u32 {
        let own = self.find(hostgroup).and_then(|own| own.pipeline_depth);
        own.unwrap_or(vars.pipeline_depth)
    }

    /// What ends cached answers of a hostgroup's servers beside their time.
    pub fn invalidation(&self, hostgroup: HostgroupId) -> Option<Invalidation> {
        self.find(hostgroup).and_then(|own| own.invalidation)
    }

    /// Whether a session keeps a connection whose warnings it may ask for.
    pub fn handles_warnings(&self, hostgroup: HostgroupId, vars: &Vars) -> bool {
        let own = self.find(hostgroup).and_then(|own| own.handle_warnings);
        own.unwrap_or(vars.handle_warnings) == 1
    }

    /// The version of the PROXY protocol in which the servers of a hostgroup are told of clients;
    /// `None` where they are not.
    #[inline]
    pub fn proxy_protocol(&self, hostgroup: HostgroupId) -> Option<u8> {
        // each command asks
        if !self.tells_clients {
            return None;
        }
        self.find(hostgroup)?.proxy_protocol
    }

    /// Which of several servers is the writer of a hostgroup that all say they take writes; `None`
    /// where all of them are.
    pub fn several_writers(&self, writer: i64) -> Option<SeveralWriters> {
        let own = self.find(HostgroupId(u32::try_from(writer).ok()?))?.several_writers;
        (own != SeveralWriters::All).then_some(own)
    }

    /// Whether connections to the servers of a hostgroup are opened ahead of need.
    pub fn connection_warming(&self, hostgroup: HostgroupId, vars: &Vars) -> bool {
        self.find(hostgroup).map_or(vars.connection_warming, |own| own.connection_warming)
    }

    /// How fast connections to the servers of a hostgroup may be made.
    pub fn dial_limits(&self, hostgroup: HostgroupId, vars: &Vars) -> DialLimits {
        let of_all = vars.throttle_connections_per_sec_to_hostgroup;
        let per_sec = self.find(hostgroup).map_or(of_all, |own| own.connects_per_sec);
        DialLimits { at_once: vars.max_connects_per_server, per_sec }
    }

    /// Idle connections kept to each server of a hostgroup, as a share of its `max_connections`.
    pub fn free_connections_pct(&self, hostgroup: HostgroupId, vars: &Vars) -> u32 {
        self.find(hostgroup).map_or(vars.free_connections_pct, |own| own.free_connections_pct)
    }
}

/// Reads a row; what is wrong is told to `fault` with its column.
fn attributes(
    row: &HostgroupRow,
    fault: &mut impl FnMut(&str, String),
) -> (HostgroupId, Attributes) {
    let mut number = |column: &str, value: i64, (least, most): (i64, i64)| {
        if !(least..=most).contains(&value) {
            fault(column, format!("{value} is not in {least}..{most}"));
        }
        u32::try_from(value).unwrap_or(0)
    };
    let id = HostgroupId(number("hostgroup_id", row.hostgroup_id, (0, i64::from(i32::MAX))));
    let online_max = number("max_num_online_servers", row.max_num_online_servers, (0, 1_000_000));
    number("autocommit", row.autocommit, (-1, 1));
    let throttle = row.throttle_connections_per_sec;
    let pipeline_depth = json::pipeline_depth(&row.hostgroup_settings);
    let invalidation = Invalidation::of(&row.hostgroup_settings);
    let handle_warnings = json::number(&row.hostgroup_settings, "handle_warnings", 1);
    let proxy_protocol = json::number(&row.hostgroup_settings, "proxy_protocol", 2);
    let balance = Balance::of(&row.hostgroup_settings);
    let several_writers = SeveralWriters::of(&row.hostgroup_settings);
    let servers_defaults = ServersDefaults::of(&row.servers_defaults);
    let attributes = Attributes {
        online_max: usize::try_from(online_max).unwrap_or(usize::MAX),
        free_connections_pct: number("free_connections_pct", row.free_connections_pct, (0, 100)),
        init_connect: row.init_connect.as_str().into(),
        multiplexing: number("multiplex", row.multiplex, (0, 1)) == 1,
        connection_warming: number("connection_warming", row.connection_warming, (0, 1)) == 1,
        connects_per_sec: number("throttle_connections_per_sec", throttle, (1, 1_000_000)),
        pipeline_depth: pipeline_depth.as_ref().ok().copied().flatten(),
        invalidation: invalidation.as_ref().ok().copied().flatten(),
        handle_warnings: handle_warnings.as_ref().ok().copied().flatten(),
        proxy_protocol: match proxy_protocol.as_ref().ok().copied().flatten() {
            Some(1) => Some(1),
            Some(2) => Some(2),
            _ => None,
        },
        servers_defaults: servers_defaults.as_ref().copied().unwrap_or_default(),
        balance: balance.as_ref().cloned().unwrap_or_default(),
        several_writers: several_writers.as_ref().copied().unwrap_or_default(),
    };
    // what is no JSON at all is said once
    let faults = [
        pipeline_depth.err(),
        invalidation.err(),
        handle_warnings.err(),
        proxy_protocol.err(),
        balance.err(),
        several_writers.err(),
    ];
    if let Some(reason) = faults.into_iter().flatten().next() {
        fault("hostgroup_settings", reason);
    }
    if let Some(reason) = servers_defaults.err() {
        fault("servers_defaults", reason);
    }
    let ignored = &row.ignore_session_variables;
    if let Some(reason) = json::parse(ignored).err().filter(|_| !ignored.is_empty()) {
        fault("ignore_session_variables", reason);
    }
    (id, attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_holds_for_its_hostgroup_and_variables_for_the_others() {
        let row = HostgroupRow {
            hostgroup_id: 3,
            multiplex: 0,
            free_connections_pct: 50,
            hostgroup_settings:
                r#"{"pipeline_depth": 0, "handle_warnings": 1, "proxy_protocol": 2}"#.into(),
            ..HostgroupRow::default()
        };
        let plain = HostgroupRow { hostgroup_id: 4, ..HostgroupRow::default() };
        let groups = Hostgroups::compile(&[row, plain]).expect("valid");
        let vars = Vars::default();
        let of = |id| {
            let id = HostgroupId(id);
            let shares = (groups.multiplexing(id, &vars), groups.pipeline_depth(id, &vars));
            (shares, groups.free_connections_pct(id, &vars))
        };
        assert_eq!(of(3), ((false, 0), 50));
        assert_eq!(of(4), ((true, 16), 10));
        assert_eq!(of(5), ((true, 16), 10));
        let versions = [3, 4, 5].map(|id| groups.proxy_protocol(HostgroupId(id)));
        assert_eq!(versions, [Some(2), None, None]);
    }

    #[test]
    fn every_fault_is_named_with_its_column() {
        let bad = HostgroupRow {
            hostgroup_id: -1,
            multiplex: 2,
            throttle_connections_per_sec: 0,
            hostgroup_settings: r#"{"pipeline_depth": -1}"#.into(),
            servers_defaults: "{".into(),
            ..HostgroupRow::default()
        };
        let twice = HostgroupRow {
            hostgroup_id: 7,
            servers_defaults: r#"{"use_ssl": 2}"#.into(),
            ..HostgroupRow::default()
        };
        let faults = Hostgroups::compile(&[bad, twice.clone(), twice]).expect_err("refused");
        let said: Vec<_> = faults.iter().map(ToString::to_string).collect();
        let row = |row: u32, text: &str| format!("{TABLE} row {row} column {text}");
        let tls = "servers_defaults: use_ssl is no whole number from 0 to 1";
        assert_eq!(
            said,
            [
                row(1, "hostgroup_id: -1 is not in 0..2147483647"),
                row(1, "multiplex: 2 is not in 0..1"),
                row(1, "throttle_connections_per_sec: 0 is not in 1..1000000"),
                row(1, "hostgroup_settings: pipeline_depth is no whole number from 0 to 1024"),
                row(1, "servers_defaults: not JSON: at character 2"),
                row(2, tls),
                row(3, tls),
                row(3, "hostgroup_id: hostgroup 7 has a row already"),
            ]
        );
    }
}
