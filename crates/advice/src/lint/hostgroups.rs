//! Hostgroups that queries are sent to and that cannot serve them.

use super::rule::text;
use super::{Findings, Kind, Lint};
use engine::ids::HostgroupId;
use engine::rows::UserRow;
use engine::topology::{ServerRef, ServerState};

pub(super) fn look(lint: &Lint<'_>, findings: &mut Findings) {
    if lint.draft.servers.is_empty() {
        let reason = "there is no server: no statement can be run".to_owned();
        let place = ("mysql_servers", None, "");
        findings.row(Kind::NoServers, place, (reason, "add a row to mysql_servers"));
        return;
    }
    for rule in &lint.rules {
        let row = rule.row;
        let answered = row.error_msg.is_some() || row.ok_msg.is_some();
        for (column, hostgroup) in [
            ("destination_hostgroup", row.destination_hostgroup.filter(|_| !answered)),
            ("mirror_hostgroup", row.mirror_hostgroup),
        ] {
            if let Some((kind, reason)) = hostgroup.and_then(|id| fault(lint, id)) {
                findings.rule(kind, rule, column, (reason, SUGGESTION));
            }
        }
    }
    for (place, row) in lint.draft.fast_routing.iter().enumerate() {
        if let Some((kind, reason)) = fault(lint, row.destination_hostgroup) {
            let cell = ("mysql_query_rules_fast_routing", Some(place), "destination_hostgroup");
            findings.row(kind, cell, (reason, SUGGESTION));
        }
    }
    for (place, user) in lint.draft.users.iter().enumerate() {
        if user.active == 1
            && user.frontend == 1
            && !is_always_routed(lint, user)
            && let Some((kind, reason)) = fault(lint, user.default_hostgroup)
        {
            let cell = ("mysql_users", Some(place), "default_hostgroup");
            let reason = format!("user `{}`: {reason}", user.username);
            findings.row(kind, cell, (reason, SUGGESTION));
        }
    }
}

const SUGGESTION: &str = "correct the number, or add or enable a server in mysql_servers";

/// Why a hostgroup cannot serve.
fn fault(lint: &Lint<'_>, id: i64) -> Option<(Kind, String)> {
    let servers = lint.snapshot.topology.hostgroup(HostgroupId(u32::try_from(id).ok()?));
    if servers.is_empty() {
        if lint.snapshot.draft.moves_servers_to(id) {
            return None;
        }
        return Some((Kind::EmptyHostgroup, format!("hostgroup {id} has no servers")));
    }
    // what was seen of them comes and goes
    let why_not = |server: &ServerRef| match server.state(0) {
        ServerState::Set(status) => Some(format!("{server} is {}", status.name())),
        ServerState::NoWeight => Some(format!("{server} has weight 0")),
        ServerState::NoConnections => Some(format!("{server} has max_connections 0")),
        ServerState::Serving | ServerState::Unfit(_) | ServerState::Shunned { .. } => None,
    };
    let states: Option<Vec<_>> = servers.iter().map(why_not).collect();
    let states = states?;
    let reason = format!("no server of hostgroup {id} takes queries: {}", states.join(", "));
    Some((Kind::UnusableHostgroup, reason))
}

/// Whether a rule sends every query of a user somewhere.
fn is_always_routed(lint: &Lint<'_>, user: &UserRow) -> bool {
    lint.rules.iter().any(|rule| {
        let row = rule.row;
        row.flag_in == 0
            && row.destination_hostgroup.is_some()
            && text(&row.username).is_none_or(|name| name == user.username)
            && [&row.schemaname, &row.client_addr, &row.proxy_addr, &row.digest]
                .into_iter()
                .all(|cell| text(cell).is_none())
            && row.proxy_port.is_none()
            && rule.server_names.is_empty()
            && rule.patterns().next().is_none()
    })
}
