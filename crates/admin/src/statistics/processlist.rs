//! `stats_mysql_processlist`: what each session does now.

use engine::document::Json;
use engine::holds::Holds;
use engine::stats::{Parts, SessionLane, SessionRow, Walk};
use rusqlite::types::Value;

use super::{LiveTable, Row, Seen, bytes, int, text};

pub(super) const TABLE: LiveTable = LiveTable {
    name: "stats_mysql_processlist",
    parts: Some(Parts { sessions: Some(Walk::ROWS), ..Parts::NONE }),
    rows,
};

fn rows(seen: &Seen<'_>) -> Vec<Row> {
    let vars = &seen.snapshot.vars;
    let shows = |row: &&SessionRow| vars.session_idle_show_processlist || row.command != "Sleep";
    let rows = seen.collected.session_page.rows.iter().filter(shows);
    rows.map(|row| row_of(row, vars.show_processlist_extended)).collect()
}

fn row_of(row: &SessionRow, extended: u32) -> Row {
    let (host, port) = match &row.lane {
        Some(lane) => (text(lane.server.hostname.as_str()), int(lane.server.port)),
        None => (Value::Null, Value::Null),
    };
    let holds = row.lane.as_ref().map_or(Holds::NONE, |lane| lane.holds);
    let (local_host, local_port) = match &row.local {
        Some((host, port)) => (text(host.as_str()), int(*port)),
        None => (Value::Null, Value::Null),
    };
    vec![
        int(row.worker),
        int(row.connection),
        text(row.user.as_deref().unwrap_or("unauthenticated user")),
        row.schema.as_deref().map_or(Value::Null, bytes),
        text(&*row.client),
        int(row.client_port),
        row.hostgroup.map_or(Value::Null, |hostgroup| int(hostgroup.0)),
        local_host,
        local_port,
        host,
        port,
        text(row.command),
        int(row.time_ms),
        row.text.as_deref().map_or(Value::Null, bytes),
        int(holds.bits()),
        match extended {
            0 => Value::Null,
            1 => text(extended_info(row).compact()),
            _ => text(extended_info(row).pretty()),
        },
    ]
}

fn extended_info(row: &SessionRow) -> Json {
    let user = row.user.as_deref().unwrap_or_default().to_owned();
    let schema = row.schema.as_deref().unwrap_or_default();
    let hostgroup = row.hostgroup.map_or(0, |hostgroup| u64::from(hostgroup.0));
    let address = vec![
        ("address", Json::Text(row.client.to_string())),
        ("port", Json::Number(row.client_port.into())),
    ];
    let info = vec![("username", Json::Text(user)), ("schemaname", Json::bytes(schema))];
    let client = vec![("client_addr", Json::Object(address)), ("userinfo", Json::Object(info))];
    let mut pairs = vec![
        ("thread_session_id", Json::Number(row.connection.into())),
        ("thread", Json::Number(row.worker as u64)),
        ("status", Json::Text(row.doing.to_owned())),
        ("autocommit", Json::Bool(row.autocommit)),
        ("current_hostgroup", Json::Number(hostgroup)),
        ("active_transactions", Json::Number(row.transaction_us.is_some().into())),
        // in microseconds, whatever its name says: as there
        ("transaction_time_ms", Json::Number(row.transaction_us.unwrap_or(0))),
        ("prepared_statements", Json::Number(row.statements as u64)),
        ("client", Json::Object(client)),
    ];
    let backends: Vec<Json> = row.lane.iter().chain(&row.others).map(backend).collect();
    if !backends.is_empty() {
        pairs.push(("backends", Json::List(backends)));
    }
    Json::Object(pairs)
}

fn backend(lane: &SessionLane) -> Json {
    let mysql = vec![
        ("host", Json::Text(lane.server.hostname.clone())),
        ("port", Json::Number(lane.server.port.into())),
        ("thread_id", Json::Number(lane.thread_id.into())),
    ];
    let reasons = lane.holds.names().map(|name| Json::Text(name.to_owned())).collect();
    let conn = vec![
        ("MultiplexDisabled", Json::Bool(!lane.holds.is_empty())),
        ("held_for", Json::List(reasons)),
        ("mysql", Json::Object(mysql)),
    ];
    let hostgroup = Json::Number(lane.hostgroup.0.into());
    Json::Object(vec![("hostgroup_id", hostgroup), ("conn", Json::Object(conn))])
}
