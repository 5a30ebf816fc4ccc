//! `stats_mysql_prepared_statements_info`: texts that clients have prepared.

use engine::stats::{Parts, StmtRow};

use super::{LiveTable, Row, Seen, bytes, int, text};

pub(super) const TABLE: LiveTable = LiveTable {
    name: "stats_mysql_prepared_statements_info",
    parts: Some(Parts { statements: true, ..Parts::NONE }),
    rows,
};

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    let limit = usize::try_from(seen.snapshot.vars.query_digests_max_digest_length);
    let limit = limit.unwrap_or(usize::MAX);
    seen.collected.statements.iter().map(|row| row_of(row, limit)).collect()
}

fn row_of(row: &StmtRow, limit: usize) -> Row {
    vec![
        int(row.number),
        bytes(&row.schema),
        text(&*row.user),
        text(format!("0x{:016X}", row.hash)),
        int(row.clients),
        int(row.servers),
        int(row.columns),
        int(row.params),
        bytes(row.text.get(..limit).unwrap_or(&row.text)),
    ]
}
