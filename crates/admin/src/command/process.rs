//! PROXYSQL …, KILL and the rest that concerns the process as a whole.

use engine::caching::CachedOf;
use keeper::Endpoint;

use super::unknown::unknown_phrase;
use super::{CommandStep, Found};
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
        return CommandStep::nothing();
    }
    if is(first, "LOGENTRY") {
        let text = statement.text_from(1).to_owned();
        return CommandStep::act(move |admin, _| {
            admin.runtime.log(&text);
            Ok(Reply::DONE)
        });
    }
    let refused = REFUSED.iter().find(|(words, _)| statement.begins(words));
    refused.map_or(Ok(None), |(_, why)| Err(AdminFault::refused(*why)))
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
        return CommandStep::act(move |admin, _| {
            admin.read_only = on;
            Ok(Reply::DONE)
        });
    }
    if let ["FLUSH", "CONNECTIONS"] | ["FLUSH", "CONNECTIONS", _] = rest.as_slice() {
        let user = rest.get(2).map(|_| unquoted(statement.word(3)));
        return CommandStep::act(move |admin, _| {
            Ok(Reply::done(admin.runtime.flush_connections(user.as_deref())))
        });
    }
    if let ["FLUSH", "QUERY", "CACHE", kind, _] | ["FLUSH", "MYSQL", "QUERY", "CACHE", kind, _] =
        rest.as_slice()
    {
        return flush_cached(kind, &unquoted(statement.word(rest.len())));
    }
    if let ["SWITCHOVER", hostgroup, options @ ..] = rest.as_slice() {
        return switch_over(statement, number(hostgroup)?, options);
    }
    if let Some(order) = hold(&rest)? {
        return control(order);
    }
    if rest == ["FLUSH", "CONFIGDB"] {
        return CommandStep::act(|admin, _| admin.store.reopen().map(|()| Reply::DONE));
    }
    if let Some((_, why)) = REFUSED_OF_PROCESS.iter().find(|(word, _)| rest.first() == Some(word)) {
        return Err(AdminFault::refused(*why));
    }
    let Some((_, order)) = ORDERS.iter().find(|(words, _)| *words == rest).copied() else {
        let known = ORDERS.iter().map(|(words, _)| *words).chain(OTHERS.iter().copied());
        return Err(unknown_phrase(statement, 1, known.collect()));
    };
    control(order)
}

fn control(order: Control) -> Found {
    CommandStep::act(move |admin, _| {
        let count = admin.runtime.control(order).map_err(AdminFault::refused)?;
        Ok(Reply::done(count))
    })
}

/// `FLUSH QUERY CACHE {DIGEST | USER | TABLE} 'of'`.
fn flush_cached(kind: &str, of: &str) -> Found {
    let some = match kind {
        "DIGEST" => {
            let hex = of.strip_prefix("0x").or_else(|| of.strip_prefix("0X"));
            let digest = hex.and_then(|hex| u64::from_str_radix(hex, 16).ok());
            let wrong = || AdminFault::refused(format!("'{of}' is no digest: 0x and 16 digits"));
            CachedOf::Digest(digest.ok_or_else(wrong)?)
        }
        "USER" => CachedOf::User(of.to_owned()),
        "TABLE" if !of.is_empty() && !of.contains('.') => CachedOf::Table(of.to_owned()),
        "TABLE" => {
            let why = format!("'{of}' is no name of a table: write it without its schema");
            return Err(AdminFault::refused(why));
        }
        _ => return Err(AdminFault::refused("FLUSH QUERY CACHE [{DIGEST | USER | TABLE} 'of']")),
    };
    CommandStep::act(move |admin, _| Ok(Reply::done(admin.runtime.flush_cached(&some))))
}

/// `SWITCHOVER n [TO 'host:port'] [DRY RUN]`.
fn switch_over(statement: &Statement<'_>, hostgroup: u32, options: &[&str]) -> Found {
    let (target, dry) = match options {
        [] => (false, false),
        ["DRY", "RUN"] => (false, true),
        ["TO", _] => (true, false),
        ["TO", _, "DRY", "RUN"] => (true, true),
        _ => return Err(AdminFault::refused("SWITCHOVER n [TO 'host:port'] [DRY RUN]")),
    };
    let target = match target {
        true => Some(endpoint(&unquoted(statement.word(4)))?),
        false => None,
    };
    CommandStep::act(move |admin, _| {
        let number = admin.runtime.switch_over(hostgroup, target.clone(), dry);
        number.map(Reply::done).map_err(AdminFault::refused)
    })
}

/// A server by its name and port.
fn endpoint(text: &str) -> Result<Endpoint, AdminFault> {
    let parts = text.rsplit_once(':').and_then(|(name, port)| Some((name, port.parse().ok()?)));
    let wrong = || AdminFault::refused(format!("'{text}' is no 'host:port'"));
    let (hostname, port): (&str, u16) =
        parts.filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
    Ok(Endpoint { hostname: hostname.to_owned(), port: port.into() })
}

fn number(word: &str) -> Result<u32, AdminFault> {
    let wrong = || AdminFault::refused(format!("'{word}' is no number from 0 to {}", i32::MAX));
    let number = word.parse::<u32>().ok().filter(|number| i32::try_from(*number).is_ok());
    number.ok_or_else(wrong)
}

/// `HOLD HOSTGROUP n [FOR seconds]` and `RELEASE HOSTGROUP n`.
fn hold(words: &[&str]) -> Result<Option<Control>, AdminFault> {
    Ok(Some(match words {
        ["HOLD", "HOSTGROUP", hostgroup] => {
            Control::Hold { hostgroup: number(hostgroup)?, seconds: HOLD_SECONDS }
        }
        ["HOLD", "HOSTGROUP", hostgroup, "FOR", seconds] => {
            Control::Hold { hostgroup: number(hostgroup)?, seconds: number(seconds)? }
        }
        ["RELEASE", "HOSTGROUP", hostgroup] => Control::Release { hostgroup: number(hostgroup)? },
        _ => return Ok(None),
    }))
}

/// How long a hostgroup is held whose administrator forgets it.
const HOLD_SECONDS: u32 = 30;

/// What may come after `PROXYSQL` for the process to do.
const ORDERS: &[(&[&str], Control)] = &[
    (&["START"], Control::Start),
    (&["STOP"], Control::Stop),
    (&["PAUSE"], Control::Pause),
    (&["RESUME"], Control::Resume),
    (&["RESTART"], Control::Restart),
    (&["KILL"], Control::Kill),
    (&["SHUTDOWN"], Control::Shutdown),
    (&["SHUTDOWN", "SLOW"], Control::Shutdown),
    (&["SHUTDOWN", "GRACEFUL"], Control::ShutdownGraceful),
    (&["FLUSH", "LOGS"], Control::FlushLogs),
    (&["FLUSH", "QUERY", "CACHE"], Control::FlushQueryCache),
    (&["FLUSH", "MYSQL", "QUERY", "CACHE"], Control::FlushQueryCache),
    (&["FLUSH", "MYSQL", "CLIENT", "HOSTS"], Control::FlushClientHosts),
    (&["RELOAD", "TLS"], Control::ReloadTls),
];

/// What else may come there, which the interface does itself.
const OTHERS: &[&[&str]] = &[
    &["READONLY"],
    &["READWRITE"],
    &["FLUSH", "CONFIGDB"],
    &["FLUSH", "CONNECTIONS"],
    &["HOLD", "HOSTGROUP"],
    &["RELEASE", "HOSTGROUP"],
    &["SWITCHOVER"],
    &["CACHE", "ADVICE"],
];

/// What `PROXYSQL …` knows there and not here, by its first word, and why.
pub(crate) const REFUSED_OF_PROCESS: &[(&str, &str)] = &[
    ("COREDUMP", "the process cannot dump itself: gcore of the debugger does"),
    ("COMPRESSEDCOREDUMP", "the process cannot dump itself: gcore of the debugger does"),
    ("MEMPROFILE", "the allocator is the system's, which has no profiles"),
    ("GCOV", "coverage is measured by the tests, not by the running process"),
    ("CLUSTER_NODE_UUID", "clusters are not supported: peers are configured one by one"),
];

/// Other commands that are known there and not here, and why.
pub(crate) const REFUSED: &[(&[&str], &str)] = &[
    (
        &["PULL", "VERSION"],
        "waiting for a version is not possible: a LOAD has acted when it is answered, and \
         runtime_checksums_values has the version",
    ),
    (&["LOAD", "LDAP"], NO_LDAP),
    (&["SAVE", "LDAP"], NO_LDAP),
    (&["LOAD", "CLICKHOUSE"], NO_CLICKHOUSE),
    (&["SAVE", "CLICKHOUSE"], NO_CLICKHOUSE),
    (&["LOAD", "SQLITESERVER"], NO_SQLITE_SERVER),
    (&["SAVE", "SQLITESERVER"], NO_SQLITE_SERVER),
    (&["LOAD", "DEBUG"], NO_DEBUG),
    (&["SAVE", "DEBUG"], NO_DEBUG),
    (&["PROXYSQLTEST"], NO_DEBUG),
    (&["PROXYSQL_SIMULATOR"], NO_DEBUG),
];

const NO_LDAP: &str = "there is no LDAP plugin";
const NO_CLICKHOUSE: &str = "ClickHouse is not supported";
const NO_SQLITE_SERVER: &str =
    "there is no SQLite server: tidegate demo has one to try things with";
const NO_DEBUG: &str =
    "there is no debugging module: --log-level says more, RUST_BACKTRACE is heard";

fn kill(statement: &Statement<'_>) -> Found {
    let (what, id) = match statement.word(1) {
        word if is(word, "CONNECTION") => (Kill::Connection, statement.word(2)),
        word if is(word, "QUERY") => (Kill::Query, statement.word(2)),
        id => (Kill::Connection, id),
    };
    let Ok(id) = unquoted(id).parse::<u32>() else {
        return Err(AdminFault::new(1064, *b"42000", "KILL needs the number of a session"));
    };
    CommandStep::act(move |admin, _| match admin.runtime.kill(id, what) {
        true => Ok(Reply::DONE),
        false => Err(AdminFault::new(1094, *b"HY000", format!("Unknown thread id: {id}"))),
    })
}

/// TRUNCATE of digests forgets them all; of another table it deletes its rows.
fn truncate(statement: &Statement<'_>) -> Found {
    let at = if is(statement.word(1), "TABLE") { 2 } else { 1 };
    let (schema, table, _) = statement.table(at);
    let name = table.to_ascii_lowercase();
    if name == "stats_mysql_query_digest" || name == "stats_mysql_query_digest_reset" {
        return CommandStep::act(|admin: &mut Admin, session: &mut Session| {
            let rows =
                admin.query(session, "SELECT count(*) FROM stats.stats_mysql_query_digest")?;
            admin.forget_digests();
            let count = rows.rows.into_iter().flatten().next().flatten().unwrap_or_default();
            Ok(Reply::done(String::from_utf8_lossy(&count).parse().unwrap_or(0)))
        });
    }
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let schema = schema.map_or(String::new(), |schema| quoted(&schema) + ".");
    let text = format!("DELETE FROM {schema}{}", quoted(&table));
    Ok(Some(CommandStep::Sql { text, named: Vec::new(), rights: None }))
}
