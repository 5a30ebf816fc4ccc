//! SET: a variable in memory.

use engine::report::Printable;
use engine::vars;

use super::{CommandStep, Found};
use crate::admin::{Admin, Reply, Session};
use crate::fault::AdminFault;
use crate::statement::{Statement, is, unquoted};

pub(super) fn find(_: &mut Admin, _: &Session, statement: &Statement<'_>) -> Found {
    if !is(statement.word(0), "SET") {
        return Ok(None);
    }
    let first = if is(statement.word(1), "GLOBAL") { 2 } else { 1 };
    let name = unquoted(statement.word(first));
    let name = name.trim_start_matches("@@").trim_start_matches("global.").trim_end_matches(':');
    // `:=` comes as `:` or with it at the end of the name
    let colon = statement.word(first + 1) == ":";
    let at = first + 1 + usize::from(colon);
    if statement.word(at) != "=" {
        return Err(AdminFault::refused("SET needs a name, = and a value"));
    }
    if let Some(another) = another(statement.after(at + 1)) {
        let another = Printable(another);
        let message =
            format!("SET takes one variable at a time: give `{another}` a SET of its own");
        return Err(AdminFault::new(1064, *b"42000", message));
    }
    let (name, value) = (name.to_owned(), statement.text_from(at + 1).to_owned());
    CommandStep::act(move |admin, session| set(admin, session, &name, &value))
}

/// The second variable that a SET names, as in `a = 1, b = 2`.
fn another<'t>(words: &[&'t str]) -> Option<&'t str> {
    let mut depth = 0;
    let comma = words.iter().position(|word| {
        depth += i32::from(*word == "(") - i32::from(*word == ")");
        *word == "," && depth == 0
    })?;
    match words.get(comma + 1..)? {
        [name, "=" | ":", ..] => Some(*name),
        _ => None,
    }
}

fn set(
    admin: &mut Admin,
    session: &mut Session,
    name: &str,
    value: &str,
) -> Result<Reply, AdminFault> {
    let wrong = |reason: &str| {
        AdminFault::new(WRONG_VALUE, *b"42000", format!("Variable '{name}': {reason}"))
    };
    let stored = |admin: &Admin| {
        let sql = "SELECT variable_name FROM main.global_variables WHERE variable_name = ?1 \
                   COLLATE NOCASE";
        admin.store.database.value(sql, name)
    };
    // some names have capitals
    let found = vars::all().find(|variable| is(&variable.full_name(), name));
    let Some(name) = found.map(vars::Variable::full_name).or(stored(admin)?) else {
        let names: Vec<String> = vars::all().map(vars::Variable::full_name).collect();
        // a name without its prefix is a likelier slip than all of its letters
        let short = |full: &&str| full.split_once('-').is_some_and(|(_, short)| is(short, name));
        let full = names.iter().map(String::as_str).find(short);
        let meant = full.or_else(|| vars::nearest(name, names.iter().map(String::as_str)));
        let hint = meant.map_or(String::new(), |meant| format!(" Did you mean '{meant}'?"));
        let message = format!("ERROR: Unknown global variable: '{}'.{hint}", Printable(name));
        return Err(AdminFault::new(UNKNOWN, *b"HY000", message));
    };
    // bare words as MySQL allows them; everything else is an expression of SQL
    let bare = is(value, "true") || is(value, "false") || is(value, "on") || is(value, "off");
    let value = match bare {
        true if is(value, "on") => "'true'".to_owned(),
        true if is(value, "off") => "'false'".to_owned(),
        true => format!("'{}'", value.to_ascii_lowercase()),
        false => value.to_owned(),
    };
    let rows = admin.query(session, &format!("SELECT {value}"))?;
    let [row] = rows.rows.as_slice() else { return Err(wrong("has no value")) };
    let [Some(text)] = row.as_slice() else { return Err(wrong("one value is wanted")) };
    let mut text = String::from_utf8_lossy(text).into_owned();
    if let Some(variable) = found {
        let value = variable.parse(&text).map_err(|fault| wrong(&fault.reason))?;
        if let vars::Value::Int(number) = value {
            text = number.to_string();
        }
    }
    if admin.read_only {
        return Err(AdminFault::read_only());
    }
    let row = vec![name.clone().into(), text.clone().into()];
    let database = &admin.store.database;
    database.add_rows(crate::tables::Schema::Main, "global_variables", &[row])?;
    if let Some(variable) = found
        && variable.effect == vars::Effect::NotYet
        && variable.default_value().to_string() != text
    {
        session.warn("Note", crate::layers::idle(variable));
    }
    Ok(Reply::done(1))
}

/// MySQL's number for a variable that cannot have a value.
const WRONG_VALUE: u16 = 1231;
/// MySQL's number for a variable that does not exist.
const UNKNOWN: u16 = 1193;
