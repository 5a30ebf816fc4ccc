//! LOAD and SAVE: a module from one layer to another, in every spelling.

use engine::report::Printable;

use super::unknown::{same, unknown, unknown_module};
use super::{CommandStep, Found};
use crate::admin::{Admin, Reply, Session};
use crate::fault::AdminFault;
use crate::layers::{Layer, MODULES, Module};
use crate::rows::{Rows, as_text};
use crate::statement::{Statement, is, unquoted};
use crate::statistics::Row;

pub(super) fn find(_: &mut Admin, _: &Session, statement: &Statement<'_>) -> Found {
    let load = is(statement.word(0), "LOAD");
    if !load && !is(statement.word(0), "SAVE") {
        return Ok(None);
    }
    if statement.begins(&["LOAD", "MYSQL", "USER"]) {
        return user(statement);
    }
    if statement.begins(&["LOAD", "COREDUMP"]) {
        return CommandStep::nothing();
    }
    if statement.is(&["SAVE", "MYSQL", "DIGEST", "TO", "DISK"]) {
        return CommandStep::act(save_digests);
    }
    if statement.is(&["SAVE", "ALL", "TO", "DISK"]) {
        return CommandStep::act(save_all);
    }
    let Some((module, words)) = module_of(statement, 1) else {
        let others: &[&[&str]] = match load {
            true => &[&["MYSQL", "USER"]],
            false => &[
                &["MYSQL", "DIGEST", "TO", "DISK"],
                &["CONFIG", "TO", "FILE"],
                &["ALL", "TO", "DISK"],
            ],
        };
        return Err(unknown_module(statement, 1, others));
    };
    let at = 1 + words;
    let layers: &[&str] = match (load, statement.word(at).to_ascii_uppercase().as_str()) {
        (true, "TO") => &["RUNTIME", "MEMORY"],
        (true, "FROM") => &["MEMORY", "DISK", "CONFIG"],
        (false, "TO") => &["MEMORY", "DISK"],
        (false, "FROM") => &["RUNTIME", "MEMORY"],
        _ => return Err(unknown(statement, at, &["TO", "FROM"])),
    };
    let layer = Layer::named(statement.word(at + 1));
    let Some((from, to)) = layer.and_then(|layer| route(load, statement.word(at), layer)) else {
        return Err(unknown(statement, at + 1, layers));
    };
    if !statement.after(at + 2).is_empty() {
        return Err(unknown(statement, at + 2, &[]));
    }
    CommandStep::act(move |admin, session| admin.move_module(session, module, from, to))
}

/// The module that words name, and how many they are.
pub(super) fn module_of(
    statement: &Statement<'_>,
    from: usize,
) -> Option<(&'static Module, usize)> {
    let named = |module: &&Module| {
        let mut words = module.words.iter().enumerate();
        words.all(|(at, word)| same(statement.word(from + at), word))
    };
    MODULES.iter().find(named).map(|module| (module, module.words.len()))
}

/// From where to where: memory is on one side of each move.
fn route(load: bool, how: &str, layer: Layer) -> Option<(Layer, Layer)> {
    use Layer::{Disk, File, Memory, Runtime};
    Some(match (load, how.to_ascii_uppercase().as_str(), layer) {
        (true, "TO", Runtime) | (true, "FROM", Memory) => (Memory, Runtime),
        (true, "TO", Memory) | (true, "FROM", Disk) => (Disk, Memory),
        (true, "FROM", File) => (File, Memory),
        (false, "TO", Memory) | (false, "FROM", Runtime) => (Runtime, Memory),
        (false, "TO", Disk) | (false, "FROM", Memory) => (Memory, Disk),
        _ => return None,
    })
}

/// LOAD MYSQL USER name TO RUNTIME
fn user(statement: &Statement<'_>) -> Found {
    let name = unquoted(statement.word(3));
    if name.is_empty() {
        return Err(unknown(statement, 3, &["the name of a user"]));
    }
    if !is(statement.word(4), "TO") {
        return Err(unknown(statement, 4, &["TO"]));
    }
    if Layer::named(statement.word(5)) != Some(Layer::Runtime) {
        return Err(unknown(statement, 5, &["RUNTIME"]));
    }
    if !statement.after(6).is_empty() {
        return Err(unknown(statement, 6, &[]));
    }
    CommandStep::act(move |admin, session| load_user(admin, session, &name))
}

/// Puts only one of the users in force.
fn load_user(admin: &mut Admin, session: &mut Session, name: &str) -> Result<Reply, AdminFault> {
    let Some(module) = MODULES.iter().find(|module| module.name == "mysql_users") else {
        return Ok(Reply::DONE);
    };
    let is_named = |row: &Row| row.first().map(as_text).as_deref() == Some(name);
    let users = |rows: Rows| rows.into_values().next().unwrap_or_default();
    let new: Vec<Row> =
        users(admin.layer(Layer::Memory, module)?).into_iter().filter(is_named).collect();
    if new.is_empty() {
        let message = format!("mysql_users has no user '{}'", Printable(name));
        return Err(AdminFault::refused(message));
    }
    let mut all = users(admin.layer(Layer::Runtime, module)?);
    all.retain(|row| !is_named(row));
    all.extend(new);
    admin.put_in_force(session, module, &Rows::from([("mysql_users", all)]))?;
    Ok(Reply::DONE)
}

/// SAVE ALL TO DISK: every module, one after the other; it ends with the first that is refused.
fn save_all(admin: &mut Admin, session: &mut Session) -> Result<Reply, AdminFault> {
    for module in MODULES {
        admin.move_module(session, module, Layer::Memory, Layer::Disk)?;
    }
    Ok(Reply::DONE)
}

/// SAVE MYSQL DIGEST TO DISK: what was counted by digest to history, and begin anew.
pub(crate) fn save_digests(admin: &mut Admin, session: &mut Session) -> Result<Reply, AdminFault> {
    let now = crate::clock::unix_seconds();
    let columns = "hostgroup, schemaname, username, client_address, digest, digest_text, \
                   count_star, first_seen, last_seen, sum_time, min_time, max_time, \
                   sum_rows_affected, sum_rows_sent";
    let count = admin.query(
        session,
        &format!(
            "INSERT INTO stats_history.history_mysql_query_digest \
             SELECT {now}, {columns} FROM stats.stats_mysql_query_digest_reset RETURNING 1"
        ),
    )?;
    Ok(Reply::done(count.rows.len() as u64))
}
