//! `stats_tidegate_redirects`: where servers send their connections, and how that goes. When one
//! goes there is the engine's to say.

use engine::report::Printable;
use engine::stats::{Parts, RedirectRow};

use super::{LiveTable, Row, Seen, int, text};

pub(super) const TABLE: LiveTable = LiveTable {
    name: "stats_tidegate_redirects",
    parts: Some(Parts { redirects: true, ..Parts::NONE }),
    rows,
};

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    seen.collected.redirects.iter().map(|row| row_of(seen, row)).collect()
}

fn row_of(seen: &Seen<'_>, row: &RedirectRow) -> Row {
    let RedirectRow { server, to, user, ttl_us, since_us, followed, failed, last_error } = row;
    vec![
        int(server.hostgroup.0),
        text(server.hostname.as_str()),
        int(server.port),
        text(Printable(to).to_string()),
        text(Printable(user.as_deref().unwrap_or_default()).to_string()),
        int(ttl_us / 1000),
        seen.unix_seconds(*since_us),
        int(*followed),
        int(*failed),
        text(Printable(last_error).to_string()),
    ]
}
