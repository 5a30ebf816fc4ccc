//! The tables of `monitor`: what each check of a server came to.

use engine::clusters;
use monitor::{Check, Entry, Found};

use super::{LiveTable, Row, Seen, int, lock, text};
use crate::statistics::Value;

pub(super) const CONNECT: LiveTable =
    of("mysql_server_connect_log", |seen| rows(seen, Check::Connect, |_| Vec::new()));

pub(super) const PING: LiveTable =
    of("mysql_server_ping_log", |seen| rows(seen, Check::Ping, |_| Vec::new()));

pub(super) const READ_ONLY: LiveTable = of("mysql_server_read_only_log", |seen| {
    rows(seen, Check::ReadOnly(clusters::Check::ReadOnly), |found| {
        vec![match found {
            Some(Found::ReadOnly(Some(read_only))) => flag(*read_only),
            _ => Value::Null,
        }]
    })
});

pub(super) const LAG: LiveTable = of("mysql_server_replication_lag_log", |seen| {
    rows(seen, Check::Lag(None), |found| {
        vec![match found {
            Some(Found::Lag(Some(seconds))) => int(*seconds),
            _ => Value::Null,
        }]
    })
});

pub(super) const GROUP: LiveTable = of("mysql_server_group_replication_log", |seen| {
    rows(seen, Check::Group, |found| match found {
        Some(Found::Group(member)) => {
            vec![yes(member.is_viable), yes(member.read_only), int(member.behind)]
        }
        _ => vec![yes(false), yes(true), int(0)],
    })
});

pub(super) const GALERA: LiveTable = of("mysql_server_galera_log", |seen| {
    rows(seen, Check::Galera, |found| match found {
        Some(Found::Galera(member)) => vec![
            yes(member.is_primary),
            yes(member.read_only),
            int(member.behind),
            int(member.local_state),
            yes(member.desync),
            yes(member.rejects_queries),
            yes(member.donor_rejects),
            yes(member.in_maintenance),
        ],
        _ => {
            let [no, none] = [yes(false), int(0)];
            vec![no.clone(), yes(true), none.clone(), none, no.clone(), no.clone(), no.clone(), no]
        }
    })
});

const fn of(name: &'static str, rows: fn(&Seen<'_>) -> Vec<Row>) -> LiveTable {
    LiveTable { name, parts: None, rows }
}

/// One row for each check of that kind: `columns` are between its time and its error.
fn rows(seen: &Seen<'_>, check: Check, columns: impl Fn(Option<&Found>) -> Vec<Value>) -> Vec<Row> {
    let Some(runtime) = seen.runtime else { return Vec::new() };
    let logs = runtime.logs();
    let logs = lock(&logs);
    let row = |entry: &Entry| {
        let Entry { server, began_unix_us, took_us, found } = entry;
        let mut row = vec![
            text(server.hostname.as_str()),
            int(server.port),
            int(*began_unix_us),
            int(took_us.unwrap_or(0)),
        ];
        row.extend(columns(found.as_ref().ok()));
        row.push(match found {
            Ok(_) => Value::Null,
            Err(reason) => text(&**reason),
        });
        row
    };
    logs.of(check).map(row).collect()
}

fn yes(is: bool) -> Value {
    text(if is { "YES" } else { "NO" })
}

fn flag(is: bool) -> Value {
    int(i64::from(is))
}
