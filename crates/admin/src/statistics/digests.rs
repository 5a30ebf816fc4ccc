//! `stats_mysql_query_digest`: queries by what they are, whose they are and where they ran.

use engine::stats::{DigestRow, Parts, Totals};

use super::{LiveTable, Row, Seen, bytes, int, text};

pub(super) const TABLE: LiveTable = LiveTable {
    name: "stats_mysql_query_digest",
    parts: Some(Parts { digests: true, ..Parts::NONE }),
    rows,
};

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    let digests = &seen.collected.digests;
    let mut rows: Vec<Row> = digests.rows().map(|row| row_of(seen, &row)).collect();
    let (evicted, evictions) = digests.evicted();
    if evictions > 0 {
        // so that the sum over all rows is what was asked, whatever the bound on memory
        let told = format!("({evictions} rows that found no room)");
        let row = DigestRow {
            hostgroup: None,
            schema: b"",
            user: b"",
            client: b"",
            digest: 0,
            text: told.as_bytes(),
            totals: evicted,
        };
        rows.push(row_of(seen, &row));
    }
    rows
}

fn row_of(seen: &Seen<'_>, row: &DigestRow<'_>) -> Row {
    let mut values = vec![
        row.hostgroup.map_or(int(-1), |hostgroup| int(hostgroup.0)),
        bytes(row.schema),
        bytes(row.user),
        bytes(row.client),
        text(format!("0x{:016X}", row.digest)),
        bytes(row.text),
    ];
    values.extend(totals(seen, row.totals));
    values
}

/// The columns after the key and the text.
pub(super) const TOTALS: [&str; 11] = [
    "count_star",
    "first_seen",
    "last_seen",
    "sum_time",
    "min_time",
    "max_time",
    "sum_rows_affected",
    "sum_rows_sent",
    "p50_time",
    "p95_time",
    "p99_time",
];

/// Their values.
pub(super) fn totals(seen: &Seen<'_>, totals: &Totals) -> Row {
    vec![
        int(totals.count),
        seen.unix_seconds(totals.first_seen_us),
        seen.unix_seconds(totals.last_seen_us),
        int(totals.sum_time_us),
        int(totals.min_time_us),
        int(totals.max_time_us),
        int(totals.rows_affected),
        int(totals.rows_sent),
        int(totals.quantile_us(0.50)),
        int(totals.quantile_us(0.95)),
        int(totals.quantile_us(0.99)),
    ]
}
