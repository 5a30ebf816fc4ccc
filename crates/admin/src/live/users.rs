//! `stats_mysql_users`: clients by account.

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
