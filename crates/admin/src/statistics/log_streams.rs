//! `stats_tidegate_query_cache_streams`: how the logs of servers are followed, so that cached
//! answers end with a change of what they read.

use engine::report::Printable;
use engine::stats::LogStreamRow;

use super::{LiveTable, Row, Seen, int, text};

pub(super) const TABLE: LiveTable =
    LiveTable { name: "stats_tidegate_query_cache_streams", parts: None, rows };

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    let streams = seen.runtime.map_or_else(Vec::new, |runtime| runtime.log_streams());
    let row = |stream: LogStreamRow| {
        vec![
            int(stream.hostgroup),
            text(stream.hostname),
            int(stream.port),
            text(stream.state),
            text(Printable(&stream.reason).to_string()),
            text(stream.gtid),
            text(Printable(&stream.position).to_string()),
            int(stream.lag_ms),
            int(stream.events),
            int(stream.tables_changed),
            int(stream.all_changed),
            int(stream.reconnects),
        ]
    };
    streams.into_iter().map(row).collect()
}
