//! Where servers stand, as a tree for a person: hostgroups, and the servers of each.

use std::collections::BTreeMap;

/// A server in a hostgroup.
pub(crate) struct Standpoint {
    /// The hostgroup.
    pub(crate) hostgroup: i64,
    /// What it is for; empty where servers do not come and go by themselves.
    pub(crate) role: String,
    /// The server's columns, in the order of [`COLUMNS`]; an empty one is not known.
    pub(crate) columns: [String; 6],
}

/// What is told of a server.
const COLUMNS: [&str; 6] = ["server", "status", "lag_s", "latency_us", "since", "reason"];

/// The tree; one line a hostgroup, and one a server.
pub(crate) fn shown(standpoints: &[Standpoint]) -> String {
    let mut hostgroups: BTreeMap<i64, Vec<&Standpoint>> = BTreeMap::new();
    for standpoint in standpoints {
        hostgroups.entry(standpoint.hostgroup).or_default().push(standpoint);
    }
    let all = standpoints.iter().map(|it| it.columns.each_ref().map(String::as_str));
    let mut widths = COLUMNS.map(str::len);
    for columns in all {
        for (width, text) in widths.iter_mut().zip(columns) {
            *width = (*width).max(text.chars().count());
        }
    }
    let line = |columns: [&str; 6]| {
        let cells = columns
            .iter()
            .zip(widths)
            .map(|(text, width)| format!("{:<width$}", if text.is_empty() { "-" } else { text }));
        format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut text = line(COLUMNS);
    for (hostgroup, mut servers) in hostgroups {
        servers.sort_by(|one, other| one.columns.cmp(&other.columns));
        let role = servers.first().map_or("", |it| &it.role);
        let role = if role.is_empty() { String::new() } else { format!(", {role}") };
        text += &format!("hostgroup {hostgroup}{role}\n");
        let lines = servers.iter().map(|it| line(it.columns.each_ref().map(String::as_str)));
        text.extend(lines);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_under_their_hostgroups() {
        let at = |hostgroup, role: &str, server: &str, reason: &str| Standpoint {
            hostgroup,
            role: role.to_owned(),
            columns: [server, "ONLINE", "", "139", "", reason].map(str::to_owned),
        };
        let all = [
            at(20, "reader", "b:3306", ""),
            at(3, "", "a:3306", "why"),
            at(20, "reader", "a:1", ""),
        ];
        let expected = "  server  status  lag_s  latency_us  since  reason\n\
            hostgroup 3\n  a:3306  ONLINE  -      139         -      why\n\
            hostgroup 20, reader\n  a:1     ONLINE  -      139         -      -\n  \
            b:3306  ONLINE  -      139         -      -\n";
        assert_eq!(shown(&all), expected);
    }
}
