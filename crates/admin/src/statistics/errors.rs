//! `stats_mysql_errors`: errors that servers answered, and connections that failed.

use engine::stats::{ErrorRow, Parts};

use super::{LiveTable, Row, Seen, bytes, int, text};

pub(super) const TABLE: LiveTable = LiveTable {
    name: "stats_mysql_errors",
    parts: Some(Parts { errors: true, ..Parts::NONE }),
    rows,
};

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    seen.collected.errors.rows().map(|row| row_of(seen, row)).collect()
}

fn row_of(seen: &Seen<'_>, row: &ErrorRow) -> Row {
    vec![
        int(row.hostgroup),
        text(row.hostname.as_str()),
        int(row.port),
        bytes(&row.user),
        bytes(&row.client),
        bytes(&row.schema),
        int(row.code),
        int(row.count),
        seen.unix_seconds(row.first_seen_us),
        seen.unix_seconds(row.last_seen_us),
        bytes(&row.message),
    ]
}
