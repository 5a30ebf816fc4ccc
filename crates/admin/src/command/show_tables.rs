//! SHOW TABLES, DATABASES, CREATE TABLE, FIELDS, TABLE STATUS: what there is.

use engine::report::Printable;

use super::{CommandStep, Found};
use crate::admin::{Admin, Role, Session};
use crate::database::no_such_table;
use crate::fault::AdminFault;
use crate::statement::{Statement, is, literal, unquoted};
use crate::tables::Schema;

pub(super) fn find(admin: &mut Admin, session: &Session, statement: &Statement<'_>) -> Found {
    if !is(statement.word(0), "SHOW") {
        return match statement.word(0) {
            word if is(word, "DESCRIBE") || is(word, "DESC") => {
                fields(admin, session, statement, 1)
            }
            _ => Ok(None),
        };
    }
    let full = is(statement.word(1), "FULL");
    let at = if full { 2 } else { 1 };
    match statement.word(at).to_ascii_uppercase().as_str() {
        "TABLES" => tables(session, statement, at + 1, full),
        "DATABASES" | "SCHEMAS" => databases(statement, at + 1),
        "CREATE" if is(statement.word(2), "TABLE") => create(session, statement),
        "FIELDS" | "COLUMNS" if is_from(statement.word(at + 1)) => {
            fields(admin, session, statement, at + 2)
        }
        "TABLE" if is(statement.word(2), "STATUS") => status(session, statement),
        "INDEX" | "INDEXES" | "KEYS" if is_from(statement.word(2)) => CommandStep::own(
            "SELECT '' AS \"Table\", 0 AS Non_unique, '' AS Key_name, 1 AS Seq_in_index, \
             '' AS Column_name WHERE 0",
        ),
        _ => Ok(None),
    }
}

fn tables(session: &Session, statement: &Statement<'_>, at: usize, full: bool) -> Found {
    let (schema, like) = scope(session, statement, at)?;
    let kind = if full { ", 'BASE TABLE' AS Table_type" } else { "" };
    CommandStep::own(format!(
        "SELECT name AS tables{kind} FROM {}.sqlite_master WHERE type IN ('table', 'view') \
         AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' {like} ORDER BY name",
        schema.name()
    ))
}

fn databases(statement: &Statement<'_>, at: usize) -> Found {
    let like = like(statement, at);
    CommandStep::own(format!(
        "SELECT seq, name, file FROM pragma_database_list WHERE name <> 'temp' {like}"
    ))
}

fn create(session: &Session, statement: &Statement<'_>) -> Found {
    let (schema, table) = named_table(session, statement, 3)?;
    let name = literal(&table);
    let text = format!(
        "SELECT name AS \"table\", sql AS \"Create Table\" FROM {}.sqlite_master \
         WHERE name = {name} COLLATE NOCASE AND type IN ('table', 'view')",
        schema.name()
    );
    CommandStep::act(move |admin, session| {
        let rows = admin.query(session, &text)?;
        match rows.rows.is_empty() {
            true => Err(no_such_table(&table)),
            false => Ok(crate::admin::Reply::Rows(rows)),
        }
    })
}

fn fields(admin: &Admin, session: &Session, statement: &Statement<'_>, at: usize) -> Found {
    let (schema, table) = match statement.table(at) {
        (None, table, end) if is_from(statement.word(end)) => {
            (named_schema(session, &unquoted(statement.word(end + 1)))?, table)
        }
        _ => named_table(session, statement, at)?,
    };
    let columns = format!("pragma_table_info({}, '{}')", literal(&table), schema.name());
    if admin.query(session, &format!("SELECT 1 FROM {columns}"))?.rows.is_empty() {
        return Err(no_such_table(&table));
    }
    CommandStep::own(format!(
        "SELECT name AS Field, 'varchar(255)' AS Type, \
         CASE \"notnull\" WHEN 1 THEN 'NO' ELSE 'YES' END AS \"Null\", \
         CASE WHEN pk > 0 THEN 'PRI' ELSE '' END AS \"Key\", \
         dflt_value AS \"Default\", '' AS Extra FROM {columns}"
    ))
}

fn status(session: &Session, statement: &Statement<'_>) -> Found {
    let (schema, like) = scope(session, statement, 3)?;
    CommandStep::own(format!(
        "SELECT name AS Name, 'SQLite' AS Engine, 10 AS Version, 'Dynamic' AS Row_format, \
         0 AS Rows, 0 AS Avg_row_length, 0 AS Data_length, 0 AS Max_data_length, \
         0 AS Index_length, 0 AS Data_free, NULL AS Auto_increment, NULL AS Create_time, \
         NULL AS Update_time, NULL AS Check_time, 'utf8_general_ci' AS Collation, \
         NULL AS Checksum, '' AS Create_options, '' AS Comment \
         FROM {}.sqlite_master WHERE type = 'table' {like} ORDER BY name",
        schema.name()
    ))
}

/// The schema that a SHOW names from a word on, or the session's, and its LIKE as an AND of SQL.
fn scope(
    session: &Session,
    statement: &Statement<'_>,
    mut at: usize,
) -> Result<(Schema, String), AdminFault> {
    let mut schema = home(session);
    if is_from(statement.word(at)) {
        schema = named_schema(session, &unquoted(statement.word(at + 1)))?;
        at += 2;
    }
    Ok((schema, like(statement, at)))
}

/// The LIKE that a SHOW has at a word, as an AND of SQL.
fn like(statement: &Statement<'_>, at: usize) -> String {
    match statement.word(at) {
        word if is(word, "LIKE") => {
            format!("AND name LIKE {} ESCAPE '\\'", literal(&unquoted(statement.word(at + 1))))
        }
        _ => String::new(),
    }
}

/// A table's schema and name, as `schema.table` or `table` at a word.
fn named_table(
    session: &Session,
    statement: &Statement<'_>,
    at: usize,
) -> Result<(Schema, String), AdminFault> {
    let (schema, table, _) = statement.table(at);
    if let Some(schema) = schema {
        return Ok((named_schema(session, &schema)?, table));
    }
    let has =
        |schema: &Schema| schema.tables().iter().any(|(name, _)| name.eq_ignore_ascii_case(&table));
    let schema = schemas(session).iter().copied().find(has).unwrap_or(home(session));
    Ok((schema, table))
}

fn named_schema(session: &Session, name: &str) -> Result<Schema, AdminFault> {
    let found = schemas(session).iter().find(|schema| schema.name().eq_ignore_ascii_case(name));
    found.copied().ok_or_else(|| {
        let message = format!("Unknown database '{}'", Printable(name));
        AdminFault::new(1049, *b"42000", message)
    })
}

fn schemas(session: &Session) -> &'static [Schema] {
    match session.role {
        Role::Administrator => &Schema::ALL,
        Role::Reader => &[Schema::Stats, Schema::Monitor, Schema::History],
    }
}

fn home(session: &Session) -> Schema {
    schemas(session).first().copied().unwrap_or(Schema::Stats)
}

fn is_from(word: &str) -> bool {
    is(word, "FROM") || is(word, "IN")
}
