//! Whether the process lives, and whether clients are to be sent to it.

use std::collections::BTreeSet;

use engine::ids::HostgroupId;

use crate::view::{Serving, View};

/// Why the process is to be restarted; `None` when it is well.
///
/// Workers end one after the other while it drains: that is how it should be.
pub fn alive(view: &View) -> Result<(), String> {
    let missing = view.workers.saturating_sub(view.answered);
    if missing == 0 || view.serving == Serving::Draining {
        return Ok(());
    }
    Err(format!("{missing} of {} workers do not answer", view.workers))
}

/// Why clients are not to be sent here; nothing when they may be.
pub fn unready(view: &View) -> Vec<String> {
    let mut reasons = Vec::new();
    match view.serving {
        Serving::Open => {}
        Serving::Paused => reasons.push("paused: no clients are accepted".to_owned()),
        Serving::Stopped => reasons.push("stopped: no clients are served".to_owned()),
        Serving::Draining => reasons.push("the process is about to end".to_owned()),
    }
    reasons.extend(alive(view).err());
    for hostgroup in wanted(view) {
        let servers = view.snapshot.topology.hostgroup(HostgroupId(hostgroup));
        if servers.is_empty() {
            reasons.push(format!("hostgroup {hostgroup}: no servers"));
        } else if !servers.iter().any(|server| server.state(view.collected.now_us).is_serving()) {
            reasons.push(format!("hostgroup {hostgroup}: no usable server"));
        }
    }
    reasons
}

/// Hostgroups where the queries of some account go unless rules say otherwise.
fn wanted(view: &View) -> BTreeSet<u32> {
    let rows = view.snapshot.draft.users.iter();
    let clients = rows.filter(|row| row.active != 0 && row.frontend != 0);
    clients.filter_map(|row| u32::try_from(row.default_hostgroup).ok()).collect()
}

#[cfg(test)]
mod tests {
    use engine::rows::{ServerRow, UserRow};
    use engine::snapshot::Draft;
    use engine::topology::LastFault;

    use super::*;
    use crate::metrics::sample;

    fn draft(servers: &[(i64, &str)], users: &[(i64, i64)]) -> Draft {
        let server = |(at, (hostgroup, status)): (usize, &(i64, &str))| ServerRow {
            hostgroup_id: *hostgroup,
            hostname: format!("10.0.0.{at}"),
            status: (*status).to_owned(),
            ..ServerRow::default()
        };
        let user = |(hostgroup, active): &(i64, i64)| UserRow {
            username: format!("u{hostgroup}"),
            default_hostgroup: *hostgroup,
            active: *active,
            ..UserRow::default()
        };
        Draft {
            servers: servers.iter().enumerate().map(server).collect(),
            users: users.iter().map(user).collect(),
            ..Draft::default()
        }
    }

    #[test]
    fn ready_needs_a_usable_server_where_accounts_begin() {
        let servers = [(1, "OFFLINE_SOFT"), (1, "ONLINE"), (2, "SHUNNED"), (9, "OFFLINE_HARD")];
        let view = sample(&draft(&servers, &[(1, 1), (9, 0)]));
        assert_eq!(unready(&view), [""; 0], "hostgroups 2 and 9 are nobody's beginning");
        let view = sample(&draft(&servers, &[(1, 1), (2, 1), (3, 1)]));
        assert_eq!(unready(&view), ["hostgroup 2: no usable server", "hostgroup 3: no servers"]);
        let view = sample(&draft(&servers, &[(1, 1)]));
        let shunned = &view.snapshot.topology.hostgroup(HostgroupId(1))[1];
        shunned.gauge.on_fault(LastFault::Timeout, view.collected.now_us, 1, 5_000_000);
        assert_eq!(unready(&view), ["hostgroup 1: no usable server"]);
    }

    #[test]
    fn who_pauses_or_drains_is_alive_and_not_ready() {
        let mut view = sample(&draft(&[(1, "ONLINE")], &[(1, 1)]));
        assert_eq!((alive(&view), unready(&view)), (Ok(()), Vec::new()));
        view.serving = Serving::Paused;
        assert_eq!((alive(&view), unready(&view).len()), (Ok(()), 1));
        view.serving = Serving::Stopped;
        assert_eq!(unready(&view), ["stopped: no clients are served"]);
        view.serving = Serving::Draining;
        view.answered = 0;
        assert_eq!((alive(&view), unready(&view).len()), (Ok(()), 1));
        view.serving = Serving::Open;
        view.answered = 1;
        let missing = "1 of 2 workers do not answer".to_owned();
        assert_eq!((alive(&view), unready(&view)), (Err(missing.clone()), vec![missing]));
    }
}
