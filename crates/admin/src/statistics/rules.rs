//! `stats_mysql_query_rules`: how often each rule in force matched.

use engine::stats::Parts;

use super::{LiveTable, Row, Seen, int};

pub(super) const TABLE: LiveTable =
    LiveTable { name: "stats_mysql_query_rules", parts: Some(Parts::NONE), rows };

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    let hits = seen.collected.rule_hits.iter();
    hits.map(|(rule, hits)| vec![int(*rule), int(hits.hits)]).collect()
}
