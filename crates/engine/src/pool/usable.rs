//! Which servers of a hostgroup serve now, and why the others do not. It knows no lanes and no
//! session that waits.

use std::fmt::Write as _;

use crate::ids::HostgroupId;
use crate::topology::{LastFault, Server, ServerState, Topology};

/// Whether any server of a hostgroup serves now.
pub fn is_any_usable(topology: &Topology, hostgroup: HostgroupId, now_us: u64) -> bool {
    let mut servers = topology.hostgroup(hostgroup).iter();
    servers.any(|server| server.state(now_us).is_serving())
}

/// How many servers of a hostgroup are online.
pub fn online(topology: &Topology, hostgroup: HostgroupId, now_us: u64) -> usize {
    let servers = topology.hostgroup(hostgroup).iter();
    servers.filter(|server| server.state(now_us).is_online()).count()
}

/// Whether any server of a hostgroup but this one serves now.
pub fn is_another_usable(
    topology: &Topology,
    hostgroup: HostgroupId,
    index: usize,
    now_us: u64,
) -> bool {
    let mut servers = topology.hostgroup(hostgroup).iter();
    servers.any(|server| server.index != index && server.state(now_us).is_serving())
}

/// What became of each server of a hostgroup, for whoever has to explain an error.
pub fn explain(topology: &Topology, hostgroup: HostgroupId, now_us: u64) -> String {
    let servers = topology.hostgroup(hostgroup);
    if servers.is_empty() {
        return "it has no servers".into();
    }
    let plural = if servers.len() == 1 { "" } else { "s" };
    let mut text = format!("{} server{plural}: ", servers.len());
    for (position, server) in servers.iter().enumerate() {
        if position > 0 {
            text.push_str("; ");
        }
        let _ = write!(text, "{server} {}", why_not(server, now_us));
    }
    text
}

fn why_not(server: &Server, now_us: u64) -> String {
    let fault = server.gauge.last_fault();
    match server.state(now_us) {
        ServerState::Set(status) => return status.name().into(),
        ServerState::NoWeight => return "has weight 0".into(),
        ServerState::NoConnections => return "has max_connections 0".into(),
        ServerState::Unfit(stand) => return stand.to_string(),
        ServerState::Shunned { until_us } => {
            let seconds = (until_us - now_us).div_ceil(1_000_000);
            return format!("shunned for {seconds} s more: {fault}");
        }
        ServerState::Serving => {}
    }
    if fault != LastFault::None {
        return format!("failed: {fault}");
    }
    match (server.gauge.used(), server.max_connections) {
        (1.., 1) => "has its only connection in use".into(),
        (used, max) if used >= max => format!("has all {max} connections in use"),
        (used, max) => format!("online, {used} of {max} connections in use"),
    }
}
