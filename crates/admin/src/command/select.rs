//! SELECT @@…: variables in expressions, ours and those that clients ask every server for.

use engine::report::Printable;
use rusqlite::types::Value;

use super::variables::of_servers;
use super::{CommandStep, Found};
use crate::admin::{Admin, Role, Session};
use crate::fault::AdminFault;
use crate::statement::{Statement, is, literal};

pub(super) fn find(admin: &mut Admin, session: &Session, statement: &Statement<'_>) -> Found {
    if !is(statement.word(0), "SELECT") {
        return Ok(None);
    }
    if statement.is(&["SELECT", "$$"]) {
        // newer clients ask whether `$$` quotes; an error says that it does not
        let message = "You have an error in your SQL syntax near '$$' at line 1";
        return Err(AdminFault::new(1064, *b"42000", message));
    }
    let foreign =
        FOREIGN.iter().find(|(name, _)| statement.after(0).iter().any(|word| is(word, name)));
    if let Some((name, table)) = foreign {
        let words = statement.after(0).iter();
        let words = words.map(|word| if is(word, name) { table } else { *word });
        let text = words.collect::<Vec<_>>().join(" ");
        return Ok(Some(CommandStep::Sql { text, named: Vec::new(), rights: None }));
    }
    if !statement.text.contains("@@") {
        return Ok(None);
    }
    let mut named: Vec<(String, Value, String)> = Vec::new();
    let mut text = String::new();
    let mut copied = 0;
    for word in statement.after(0) {
        let start = word.as_ptr() as usize - statement.text.as_ptr() as usize;
        let mut rest = *word;
        while !word.starts_with(['\'', '"', '`'])
            && let Some(at) = rest.find("@@")
        {
            let begin = start + (word.len() - rest.len()) + at;
            let name = name_in(rest.get(at + 2..).unwrap_or_default());
            let end = begin + 2 + name.len();
            text.push_str(statement.text.get(copied..begin).unwrap_or_default());
            let written = format!("@@{name}");
            // each value is asked for once, as that takes a statement of its own
            match named.iter().find(|(_, _, known)| *known == written) {
                Some((parameter, ..)) => text.push_str(parameter),
                None if session.role == Role::Reader && named.len() >= VARIABLES_MAX => {
                    let message = format!(
                        "ProxySQL Admin Error: a statement of a statistics account may name \
                         {VARIABLES_MAX} variables"
                    );
                    return Err(AdminFault::refused(message));
                }
                None => {
                    let parameter = format!(":tidegate{}_", named.len());
                    text.push_str(&parameter);
                    named.push((parameter, value_of(admin, session, name)?, written));
                }
            }
            copied = end;
            rest = statement.text.get(end..start + word.len()).unwrap_or_default();
        }
    }
    text.push_str(statement.text.get(copied..).unwrap_or_default());
    if named.is_empty() {
        Ok(None)
    } else {
        Ok(Some(CommandStep::Sql { text, named, rights: None }))
    }
}

/// Different variables that a statement of a reader may name.
const VARIABLES_MAX: usize = 64;

/// Tables of other servers that clients look into, and what they find here.
const FOREIGN: [(&str, &str); 3] = [
    (
        "information_schema.tables",
        "(SELECT 'main' AS table_schema, name AS table_name, 'BASE TABLE' AS table_type, \
         'SQLite' AS engine FROM sqlite_master WHERE type = 'table')",
    ),
    (
        "information_schema.columns",
        "(SELECT 'main' AS table_schema, m.name AS table_name, c.name AS column_name, \
         c.cid + 1 AS ordinal_position, c.type AS data_type, c.type AS column_type, \
         '' AS extra, '' AS generation_expression \
         FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table')",
    ),
    (
        "information_schema.schemata",
        "(SELECT name AS schema_name, 'utf8mb4' AS default_character_set_name \
         FROM (SELECT 'main' AS name UNION SELECT 'disk' UNION SELECT 'stats' \
         UNION SELECT 'monitor' UNION SELECT 'stats_history'))",
    ),
];

/// The name that a text begins with. Names of ours have `-` in them.
fn name_in(text: &str) -> &str {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$');
    let end = text.bytes().position(|byte| !plain(byte)).unwrap_or(text.len());
    let scope = text.get(..end).unwrap_or_default();
    let family = unscoped(scope);
    if is(family, "mysql") || is(family, "admin") {
        let end = text.bytes().position(|byte| !plain(byte) && byte != b'-');
        return text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    }
    scope
}

fn unscoped(name: &str) -> &str {
    ["global.", "session.", "local."]
        .into_iter()
        .find_map(|scope| match name.get(..scope.len()) {
            Some(found) if is(found, scope) => name.get(scope.len()..),
            _ => None,
        })
        .unwrap_or(name)
}

fn value_of(admin: &Admin, session: &Session, name: &str) -> Result<Value, AdminFault> {
    let short = unscoped(name);
    let found = of_servers(admin).into_iter().find(|(known, _)| is(known, short));
    if let Some((_, value)) = found {
        return Ok(Value::Text(value));
    }
    let name_is = literal(short);
    let sql = format!(
        "SELECT variable_value FROM global_variables WHERE variable_name = {name_is} COLLATE \
            NOCASE \
         UNION ALL SELECT Variable_Value FROM stats.stats_mysql_global \
         WHERE Variable_Name = {name_is} COLLATE NOCASE LIMIT 1"
    );
    let rows = admin.query(session, &sql)?;
    match rows.rows.into_iter().flatten().next() {
        Some(value) => {
            Ok(Value::Text(String::from_utf8_lossy(&value.unwrap_or_default()).into_owned()))
        }
        None => {
            let message = format!("Unknown system variable '{}'", Printable(short));
            Err(AdminFault::new(1193, *b"HY000", message))
        }
    }
}
