//! SHOW of what is going on, as statements over the tables that hold it.

use super::{CommandStep, Found};
use crate::admin::{Admin, Reply, Session};
use crate::statement::{Statement, is};

pub(super) fn find(_: &mut Admin, _: &Session, statement: &Statement<'_>) -> Found {
    if !is(statement.word(0), "SHOW") {
        return Ok(None);
    }
    if statement.is(&["SHOW", "PROMETHEUS", "METRICS"]) {
        return CommandStep::act(|admin, _| {
            Ok(Reply::table(&["Data"], vec![vec![admin.runtime.metrics()]]))
        });
    }
    for (words, text) in FIXED {
        if statement.is(words) {
            return query(*text);
        }
    }
    let scoped = is(statement.word(2), "STATUS")
        && ["GLOBAL", "SESSION", "MYSQL"].iter().any(|scope| is(statement.word(1), scope));
    if scoped || is(statement.word(1), "STATUS") {
        let at = if scoped { 3 } else { 2 };
        let Some(filter) = filter(statement, at) else { return Ok(None) };
        return query(format!(
            "SELECT * FROM (SELECT Variable_Name AS Variable_name, Variable_Value AS Value \
             FROM stats.stats_mysql_global) {filter}"
        ));
    }
    Ok(None)
}

/// The end of a SHOW of names and values, from a word on, as SQL over its rows; `None` where it is
/// neither LIKE nor WHERE nor nothing.
pub(super) fn filter(statement: &Statement<'_>, at: usize) -> Option<String> {
    match statement.word(at) {
        "" => Some(String::new()),
        word if is(word, "LIKE") => {
            Some(format!("WHERE Variable_name LIKE {} ESCAPE '\\'", statement.text_from(at + 1)))
        }
        word if is(word, "WHERE") => Some(statement.text_from(at).to_owned()),
        _ => None,
    }
}

/// SQL that runs with the rights of who asked.
fn query(text: impl Into<String>) -> Found {
    Ok(Some(CommandStep::Sql { text: text.into(), named: Vec::new(), rights: None }))
}

const FIXED: &[(&[&str], &str)] = &[
    (&["SHOW", "MYSQL", "STATUS"], "SELECT * FROM stats.stats_mysql_global"),
    (&["SHOW", "MYSQL", "USERS"], "SELECT * FROM main.mysql_users"),
    (&["SHOW", "MYSQL", "SERVERS"], "SELECT * FROM main.mysql_servers"),
    (
        &["SHOW", "TOPOLOGY"],
        "SELECT hostgroup, srv_host, srv_port, role, status, lag_s, latency_us, \
         datetime(since, 'unixepoch') AS since, reason \
         FROM stats.stats_tidegate_topology ORDER BY hostgroup, srv_host, srv_port",
    ),
    (
        &["SHOW", "PROCESSLIST"],
        "SELECT SessionID, user, db, hostgroup, command, time_ms, substr(info, 1, 99) AS info \
         FROM stats.stats_mysql_processlist",
    ),
    (&["SHOW", "FULL", "PROCESSLIST"], "SELECT * FROM stats.stats_mysql_processlist"),
    (
        &["SHOW", "CHARSET"],
        "SELECT Charset, Charset AS Description, Collation AS \"Default collation\" \
         FROM main.mysql_collations WHERE \"Default\" = 'Yes' ORDER BY Charset",
    ),
    (&["SHOW", "COLLATION"], "SELECT * FROM main.mysql_collations ORDER BY Id"),
    (
        &["SHOW", "ENGINES"],
        "SELECT 'SQLite' AS Engine, 'DEFAULT' AS Support, '' AS Comment, 'NO' AS Transactions, \
         'NO' AS XA, 'NO' AS Savepoints",
    ),
    (&["SHOW", "PLUGINS"], "SELECT '' AS Name, '' AS Status, '' AS Type WHERE 0"),
];
