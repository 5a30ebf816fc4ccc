//! PROXYSQL …, KILL and the rest that concerns the process as a whole.

use super::{Found, Step};
use crate::admin::{Admin, Reply, Session};
use crate::fault::AdminFault;
use crate::runtime::{Control, Kill};
use crate::statement::{Statement, is, unquoted};

pub(super) fn find(_: &mut Admin, _: &Session, statement: &Statement<'_>) -> Found {
    let first = statement.word(0);
    if is(first, "PROXYSQL") || is(first, "TIDEGATE") {
        return of_process(statement);
    }
    if is(first, "KILL") {
        return kill(statement);
    }
    if is(first, "TRUNCATE") {
        return truncate(statement);
    }
    if statement.is(&["SIGNAL", "MYSQL", "THREADS"]) {
        return Step::nothing();
    }
    Ok(None)
}

fn of_process(statement: &Statement<'_>) -> Found {
    let rest: Vec<String> =
        statement.after(1).iter().map(|word| word.to_ascii_uppercase()).collect();
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let read_only = match rest.as_slice() {
        ["READONLY"] => Some(true),
        ["READWRITE"] => Some(false),
        _ => None,
    };
    if let Some(on) = read_only {
        return Step::act(move |admin, _| {
            admin.read_only = on;
            Ok(Reply::DONE)
        });
    }
    if rest == ["FLUSH", "CONFIGDB"] {
        // the file is read and written anew by each command, nothing of it is kept
        return Step::nothing();
    }
    let order = match rest.as_slice() {
        ["START"] => Control::Start,
        ["STOP"] => Control::Stop,
        ["PAUSE"] => Control::Pause,
        ["RESUME"] => Control::Resume,
        ["RESTART"] => Control::Restart,
        ["KILL"] => Control::Kill,
        ["SHUTDOWN"] | ["SHUTDOWN", "SLOW"] => Control::Shutdown,
        ["SHUTDOWN", "GRACEFUL"] => Control::ShutdownGraceful,
        ["FLUSH", "LOGS"] => Control::FlushLogs,
        ["FLUSH", "QUERY", "CACHE"] => Control::FlushQueryCache,
        ["FLUSH", "MYSQL", "CLIENT", "HOSTS"] => Control::FlushClientHosts,
        ["RELOAD", "TLS"] => Control::ReloadTls,
        _ => {
            let message = format!("unknown command: {}", statement.text);
            return Err(AdminFault::new(1064, *b"42000", message));
        }
    };
    Step::act(move |admin, _| {
        let count = admin.runtime.control(order).map_err(AdminFault::refused)?;
        Ok(Reply::done(count))
    })
}

fn kill(statement: &Statement<'_>) -> Found {
    let (what, id) = match statement.word(1) {
        word if is(word, "CONNECTION") => (Kill::Connection, statement.word(2)),
        word if is(word, "QUERY") => (Kill::Query, statement.word(2)),
        id => (Kill::Connection, id),
    };
    let Ok(id) = unquoted(id).parse::<u32>() else {
        return Err(AdminFault::new(1064, *b"42000", "KILL needs the number of a session"));
    };
    Step::act(move |admin, _| match admin.runtime.kill(id, what) {
        true => Ok(Reply::DONE),
        false => Err(AdminFault::new(1094, *b"HY000", format!("Unknown thread id: {id}"))),
    })
}

/// TRUNCATE of digests forgets them all; of another table it deletes its rows.
fn truncate(statement: &Statement<'_>) -> Found {
    let at = if is(statement.word(1), "TABLE") { 2 } else { 1 };
    let table = statement.word(at).to_owned();
    let name = table.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    if name == "stats_mysql_query_digest" || name == "stats_mysql_query_digest_reset" {
        return Step::act(|admin: &mut Admin, session: &mut Session| {
            let rows =
                admin.query(session, "SELECT count(*) FROM stats.stats_mysql_query_digest")?;
            admin.forget_digests();
            let count = rows.rows.into_iter().flatten().next().flatten().unwrap_or_default();
            Ok(Reply::done(String::from_utf8_lossy(&count).parse().unwrap_or(0)))
        });
    }
    let text = format!("DELETE FROM {table}");
    Ok(Some(Step::Sql { text, named: Vec::new(), rights: None }))
}
