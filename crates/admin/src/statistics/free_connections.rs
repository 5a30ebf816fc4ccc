//! `stats_mysql_free_connections`: connections to servers that no session has.

use engine::document::Json;
use engine::stats::{LaneRow, Parts, Walk};
use rusqlite::types::Value;

use super::{LiveTable, Row, Seen, bytes, int, text};

pub(super) const TABLE: LiveTable = LiveTable {
    name: "stats_mysql_free_connections",
    parts: Some(Parts { lanes: Some(Walk::ROWS), ..Parts::NONE }),
    rows,
};

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    seen.collected.pool_page.rows.iter().map(row_of).collect()
}

fn row_of(row: &LaneRow) -> Row {
    let server = &row.server;
    vec![
        row.fd.map_or(int(-1), int),
        int(server.hostgroup.0),
        text(server.hostname.as_str()),
        int(server.port),
        text(&*row.user),
        row.schema.as_deref().map_or(Value::Null, bytes),
        Value::Null,
        setting(row, b"time_zone"),
        setting(row, b"sql_mode"),
        text(if row.autocommit { "ON" } else { "OFF" }),
        int(row.idle_ms),
        text(statistics(row).compact()),
        text(mysql_info(row).compact()),
    ]
}

/// A variable that was set on the connection.
fn setting(row: &LaneRow, name: &[u8]) -> Value {
    row.settings.as_ref().and_then(|settings| settings.get(name)).map_or(Value::Null, bytes)
}

fn statistics(row: &LaneRow) -> Json {
    Json::Object(vec![
        ("age_ms", Json::Number(row.age_ms)),
        ("bytes_recv", Json::Number(row.traffic.bytes_received)),
        ("bytes_sent", Json::Number(row.traffic.bytes_sent)),
        ("myconnpoll_get", Json::Number(row.traffic.checkouts)),
        ("questions", Json::Number(row.traffic.queries)),
        ("thread", Json::Number(row.worker as u64)),
    ])
}

fn mysql_info(row: &LaneRow) -> Json {
    Json::Object(vec![
        ("charset", Json::Text(row.charset.clone())),
        ("db", Json::bytes(row.schema.as_deref().unwrap_or_default())),
        ("host", Json::Text(row.server.hostname.clone())),
        ("port", Json::Number(row.server.port.into())),
        ("thread_id", Json::Number(row.thread_id.into())),
        ("user", Json::Text(row.user.to_string())),
    ])
}
