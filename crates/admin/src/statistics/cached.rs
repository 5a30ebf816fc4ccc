//! `stats_tidegate_query_cache`: what the query cache came to, by digest.

use engine::stats::{CacheRow, Parts};

use super::{LiveTable, Row, Seen, bytes, int, text};

pub(super) const TABLE: LiveTable = LiveTable {
    name: "stats_tidegate_query_cache",
    parts: Some(Parts { cached: true, ..Parts::NONE }),
    rows,
};

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    seen.collected.cached.rows().map(|(digest, row)| row_of(seen, digest, row)).collect()
}

fn row_of(seen: &Seen<'_>, digest: u64, row: &CacheRow) -> Row {
    let reasons = row.reasons.iter().map(|(name, count)| format!("{name}: {count}"));
    let age_us = seen.collected.now_us.saturating_sub(row.filled_us);
    vec![
        text(format!("0x{digest:016X}")),
        bytes(&row.text),
        int(row.hits),
        int(row.misses),
        int(row.fills),
        int(row.coalesced),
        int(row.invalidations),
        int(row.bytes_kept),
        int(row.bytes_told),
        if row.filled_us == 0 { int(-1) } else { int(age_us / 1000) },
        text(reasons.collect::<Vec<_>>().join(", ")),
    ]
}
