//! `stats_mysql_commands_counters`: statements by class and duration.

use engine::stats::Parts;

use super::{LiveTable, Row, Seen, int, text};

pub(super) const TABLE: LiveTable = LiveTable {
    name: "stats_mysql_commands_counters",
    parts: Some(Parts { commands: true, ..Parts::NONE }),
    rows,
};

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    let rows = seen.collected.commands.rows();
    let rows = rows.map(|(class, row)| {
        let mut values = vec![text(class.name()), int(row.time_us), int(row.count)];
        values.extend(row.buckets.map(int));
        values
    });
    rows.collect()
}
