//! What a configuration amounts to, in lines for people: listeners, hostgroups, users, rules.
//!
//! Used by `check` as it is; `run` logs the same facts as events.

use std::collections::BTreeMap;

use engine::rows::{RuleRow, ServerRow, UserRow};
use engine::vars::Interface;

use crate::config::Loaded;

/// Everything that would run.
pub(crate) fn lines(loaded: &Loaded) -> Vec<String> {
    let vars = &loaded.snapshot.vars;
    let mut lines = vec![format!("workers: {}", vars.threads), "listeners:".to_owned()];
    lines.extend(vars.interfaces.iter().map(|interface| format!("  {}", listener(interface))));
    for (hostgroup, servers) in hostgroups(&loaded.draft.servers) {
        lines.push(format!("hostgroup {hostgroup}:"));
        lines.extend(servers.iter().map(|row| format!("  {}", server(row))));
    }
    lines.push("users:".to_owned());
    lines.extend(loaded.draft.users.iter().map(|row| format!("  {}", user(row))));
    lines.push("query rules:".to_owned());
    let mut rules: Vec<_> = loaded.draft.rules.iter().collect();
    rules.sort_by_key(|row| row.rule_id);
    lines.extend(rules.into_iter().map(|row| format!("  {}", rule(row))));
    lines
}

/// The servers by hostgroup.
pub(crate) fn hostgroups(servers: &[ServerRow]) -> BTreeMap<i64, Vec<&ServerRow>> {
    let mut groups: BTreeMap<i64, Vec<&ServerRow>> = BTreeMap::new();
    for row in servers {
        groups.entry(row.hostgroup_id).or_default().push(row);
    }
    groups
}

/// A listener with its kind.
fn listener(interface: &Interface) -> String {
    match interface {
        Interface::Tcp { .. } => format!("tcp {interface}"),
        Interface::Unix(path) => format!("unix {path}"),
    }
}

/// A server's address as an operator writes it.
pub(crate) fn address(row: &ServerRow) -> String {
    match row.hostname.as_str() {
        path if path.starts_with('/') => path.to_owned(),
        ip if ip.contains(':') => format!("[{ip}]:{}", row.port),
        host => format!("{host}:{}", row.port),
    }
}

/// A server with what decides its share of the traffic.
fn server(row: &ServerRow) -> String {
    let ServerRow { weight, max_connections, .. } = row;
    let status = row.status.to_ascii_uppercase();
    format!("{}  {status}, weight {weight}, max_connections {max_connections}", address(row))
}

/// A user with what decides where its queries go.
fn user(row: &UserRow) -> String {
    let mut line = format!("{}  hostgroup {}", row.username, row.default_hostgroup);
    if let Some(schema) = &row.default_schema {
        line += &format!(", schema {schema}");
    }
    for (applies, remark) in [
        (row.fast_forward == 1, "fast forward"),
        (row.transaction_persistent == 0, "transactions may change hostgroup"),
        (row.password.is_empty(), "no password"),
        (row.frontend == 0, "not for clients"),
        (row.backend == 0, "not for servers"),
        (row.active == 0, "INACTIVE"),
    ] {
        if applies {
            line += ", ";
            line += remark;
        }
    }
    line
}

/// A rule: conditions, then what follows.
fn rule(row: &RuleRow) -> String {
    let not = if row.negate_match_pattern == 1 { "not " } else { "" };
    let conditions: Vec<String> = [
        (row.flag_in != 0).then(|| format!("flag {}", row.flag_in)),
        row.username.as_ref().map(|name| format!("user {name}")),
        row.schemaname.as_ref().map(|name| format!("schema {name}")),
        row.client_addr.as_ref().map(|address| format!("client {address}")),
        row.proxy_addr.as_ref().map(|address| format!("address {address}")),
        row.proxy_port.map(|port| format!("port {port}")),
        row.digest.as_ref().map(|digest| format!("digest {digest}")),
        row.match_digest.as_ref().map(|pattern| format!("digest {not}/{pattern}/")),
        row.match_pattern.as_ref().map(|pattern| format!("{not}/{pattern}/")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let when = if conditions.is_empty() { "always".to_owned() } else { conditions.join(" and ") };
    let mut line = format!("{}  {when}", row.rule_id);
    if let Some(hostgroup) = row.destination_hostgroup {
        line += &format!(" -> hostgroup {hostgroup}");
    }
    if let Some(flag) = row.flag_out {
        line += &format!(" -> flag {flag}");
    }
    if row.apply == 1 {
        line += ", then no more rules";
    }
    if row.active == 0 {
        line += ", INACTIVE";
    }
    line
}
