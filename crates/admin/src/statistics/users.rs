//! `stats_mysql_users`: clients by account. `stats_tidegate_users`: their connections to servers.

use super::{LiveTable, Row, Seen, int, text};

pub(super) const TABLE: LiveTable = LiveTable { name: "stats_mysql_users", parts: None, rows };

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    let accounts = seen.snapshot.users.iter().filter(|account| account.frontend);
    let rows = accounts.map(|account| {
        vec![text(&*account.name), int(account.clients()), int(account.max_connections)]
    });
    let mut rows: Vec<Row> = rows.collect();
    rows.sort_by_key(|row| format!("{:?}", row.first()));
    rows
}

pub(super) const BACKENDS: LiveTable =
    LiveTable { name: "stats_tidegate_users", parts: None, rows: backends };

fn backends(seen: &Seen<'_>) -> Vec<Row> {
    let mut accounts: Vec<_> = seen.snapshot.users.iter().collect();
    accounts.sort_by(|a, b| a.name.cmp(&b.name));
    let mut rows = Vec::new();
    for account in accounts {
        let most = seen.snapshot.backends_max(account);
        for server in seen.snapshot.topology.servers() {
            let open = account.backends.open(server.index);
            if open > 0 {
                rows.push(vec![
                    text(&*account.name),
                    int(server.hostgroup.0),
                    text(server.hostname.as_str()),
                    int(server.port),
                    int(open),
                    int(if most == u32::MAX { 0 } else { most }),
                    text(match account.is_additional_at(server.index) {
                        true => "additional",
                        false => "primary",
                    }),
                ]);
            }
        }
    }
    rows
}
