//! `stats_mysql_client_host_cache`: failed logins by client address.

use super::{LiveTable, Row, Seen, int, text};
use crate::runtime::FailedClient;

pub(super) const TABLE: LiveTable =
    LiveTable { name: "stats_mysql_client_host_cache", parts: None, rows };

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    let Some(runtime) = seen.runtime else { return Vec::new() };
    let row = |failed: FailedClient| {
        vec![text(&*failed.address), int(failed.times), int(failed.updated_us)]
    };
    runtime.failed_clients(seen.reset).into_iter().map(row).collect()
}
