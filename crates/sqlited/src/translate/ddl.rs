//! CREATE, DROP, ALTER, RENAME and TRUNCATE beyond the definition of a table.
//!
//! One statement of MySQL may become several of SQLite; `session` runs them in one transaction.

use super::create::{self, index_name};
use super::rewrite::{Sql, literal, quoted, rewrite, split_commas};
use super::{Action, Cursor};
use crate::fault::Fault;
use crate::lexer::Token;

/// CREATE TABLE, INDEX, VIEW, DATABASE.
pub(super) fn create(tokens: &[Token<'_>], schema: &str) -> Result<Action, Fault> {
    let mut cursor = Cursor::new(tokens);
    cursor.next();
    let temporary = cursor.eat("temporary");
    if cursor.eat("table") {
        return create::table(&mut cursor, temporary, schema);
    }
    if cursor.eat("database") || cursor.eat("schema") {
        return database(&mut cursor, schema);
    }
    if cursor.peek().is_some_and(|t| t.is_any(&["unique", "index", "fulltext"])) {
        let unique = cursor.eat("unique");
        cursor.eat("fulltext");
        cursor.expect("index")?;
        let name = cursor.name()?;
        cursor.expect("on")?;
        let table = cursor.table(schema)?;
        let head = if unique { "CREATE UNIQUE INDEX" } else { "CREATE INDEX" };
        let columns = key_list(&mut cursor)?;
        let index = index_name(table, name);
        return one(format!("{head} {index} ON {} ({columns})", quoted(table)));
    }
    let replace = cursor.eat("or") && cursor.eat("replace");
    if let Some(at) = cursor.rest().iter().position(|t| t.is("view")) {
        cursor.at += at + 1;
        let view = quoted(cursor.table(schema)?);
        let mut sql = Sql::plain(format!("CREATE VIEW {view}"));
        sql.append(rewrite(cursor.rest(), schema)?);
        let mut steps = vec![sql];
        if replace {
            steps.insert(0, Sql::plain(format!("DROP VIEW IF EXISTS {view}")));
        }
        return Ok(Action::Schema { steps, temporary: false });
    }
    Err(Fault::unsupported(&super::text_of(&tokens[..tokens.len().min(2)])))
}

fn key_list(cursor: &mut Cursor<'_, '_>) -> Result<String, Fault> {
    // the same grammar as a KEY clause without a name
    let sql = create::index(cursor, "", false)?.text;
    let open = sql.find('(').ok_or_else(|| cursor.syntax())?;
    Ok(sql[open + 1..sql.len() - 1].to_owned())
}

fn database(cursor: &mut Cursor<'_, '_>, schema: &str) -> Result<Action, Fault> {
    let if_not_exists = cursor.eat("if") && cursor.eat("not") && cursor.eat("exists");
    let name = cursor.name()?;
    if !name.eq_ignore_ascii_case(schema) {
        return Err(Fault::new(
            1044,
            b"42000",
            format!("This embedded server has the one schema '{schema}'; '{name}' is refused"),
        ));
    }
    if !if_not_exists {
        return Err(Fault::new(
            1007,
            b"HY000",
            format!("Can't create database '{name}'; database exists"),
        ));
    }
    Ok(Action::Nothing("the schema exists"))
}

/// DROP TABLE, VIEW, INDEX.
pub(super) fn drop(tokens: &[Token<'_>], schema: &str) -> Result<Action, Fault> {
    let mut cursor = Cursor::new(tokens);
    cursor.next();
    let temporary = cursor.eat("temporary");
    if cursor.eat("index") {
        let index = cursor.name()?;
        cursor.expect("on")?;
        let table = cursor.table(schema)?;
        return one(format!("DROP INDEX {}", index_name(table, index)));
    }
    let what = match cursor.next() {
        Some(t) if t.is_any(&["table", "tables"]) => "TABLE",
        Some(t) if t.is("view") => "VIEW",
        _ => return Err(Fault::unsupported(&super::text_of(&tokens[..tokens.len().min(2)]))),
    };
    let if_exists = cursor.eat("if");
    if if_exists {
        cursor.expect("exists")?;
    }
    let guard = if if_exists { "IF EXISTS " } else { "" };
    let mut steps = Vec::new();
    loop {
        let name = quoted(cursor.table(schema)?);
        steps.push(Sql::plain(format!("DROP {what} {guard}{name}")));
        if !cursor.eat_symbol(",") {
            break;
        }
    }
    cursor.eat_all(&["restrict", "cascade"]);
    cursor.end()?;
    Ok(Action::Schema { steps, temporary })
}

/// TRUNCATE: also starts AUTO_INCREMENT again.
pub(super) fn truncate(tokens: &[Token<'_>], schema: &str) -> Result<Action, Fault> {
    let mut cursor = Cursor::new(tokens);
    cursor.next();
    cursor.eat("table");
    let table = cursor.table(schema)?;
    cursor.end()?;
    Ok(Action::Schema {
        steps: vec![
            Sql::plain(format!("DELETE FROM {}", quoted(table))),
            Sql::plain(format!("DELETE FROM sqlite_sequence WHERE name = {}", literal(table))),
        ],
        temporary: false,
    })
}

/// RENAME TABLE a TO b, ….
pub(super) fn rename(tokens: &[Token<'_>], schema: &str) -> Result<Action, Fault> {
    let mut cursor = Cursor::new(tokens);
    cursor.next();
    cursor.expect("table")?;
    let mut steps = Vec::new();
    loop {
        let from = quoted(cursor.table(schema)?);
        cursor.expect("to")?;
        let to = quoted(cursor.table(schema)?);
        steps.push(Sql::plain(format!("ALTER TABLE {from} RENAME TO {to}")));
        if !cursor.eat_symbol(",") {
            break;
        }
    }
    cursor.end()?;
    Ok(Action::Schema { steps, temporary: false })
}

/// ALTER TABLE with any number of changes.
pub(super) fn alter(tokens: &[Token<'_>], schema: &str) -> Result<Action, Fault> {
    let mut cursor = Cursor::new(tokens);
    cursor.next();
    cursor.expect("table")?;
    let table = cursor.table(schema)?;
    let mut steps = Vec::new();
    for change in split_commas(cursor.rest()) {
        if let Some(step) = alteration(table, change, schema)? {
            steps.push(step);
        }
    }
    Ok(Action::Schema { steps, temporary: false })
}

fn alteration(table: &str, change: &[Token<'_>], schema: &str) -> Result<Option<Sql>, Fault> {
    let mut cursor = Cursor::new(change);
    let head = format!("ALTER TABLE {}", quoted(table));
    let Some(verb) = cursor.next() else { return Err(cursor.syntax()) };
    match verb.source.to_ascii_lowercase().as_str() {
        "add" => added(table, &mut cursor, schema).map(Some),
        "drop" if cursor.eat("index") || cursor.eat("key") => {
            let index = cursor.name()?;
            Ok(Some(Sql::plain(format!("DROP INDEX {}", index_name(table, index)))))
        }
        "drop" => {
            cursor.eat("column");
            if cursor.peek().is_some_and(|t| t.is_any(&["primary", "foreign", "constraint"])) {
                return Err(Fault::unsupported("ALTER TABLE … DROP of a constraint"));
            }
            let column = quoted(cursor.name()?);
            Ok(Some(Sql::plain(format!("{head} DROP COLUMN {column}"))))
        }
        "rename" if cursor.eat("column") => {
            let from = quoted(cursor.name()?);
            cursor.expect("to")?;
            let to = quoted(cursor.name()?);
            Ok(Some(Sql::plain(format!("{head} RENAME COLUMN {from} TO {to}"))))
        }
        "rename" => {
            cursor.eat_all(&["to", "as"]);
            let to = quoted(cursor.table(schema)?);
            Ok(Some(Sql::plain(format!("{head} RENAME TO {to}"))))
        }
        "engine" | "disable" | "enable" | "comment" | "auto_increment" | "row_format"
        | "convert" | "default" | "charset" | "algorithm" | "lock" | "order" => Ok(None),
        _ => Err(Fault::unsupported(&format!("ALTER TABLE … {}", super::text_of(change)))),
    }
}

fn added(table: &str, cursor: &mut Cursor<'_, '_>, schema: &str) -> Result<Sql, Fault> {
    let index = ["unique", "key", "index", "fulltext"];
    if cursor.peek().is_some_and(|t| t.is_any(&index)) {
        return create::index(cursor, table, false);
    }
    if cursor.peek().is_some_and(|t| t.is_any(&["constraint", "primary", "foreign", "check"])) {
        return Err(Fault::unsupported("ALTER TABLE … ADD of a constraint"));
    }
    cursor.eat("column");
    // where the column stands does not matter here
    let rest = cursor.rest();
    let end = rest.iter().position(|t| t.is_any(&["first", "after"])).unwrap_or(rest.len());
    let column = create::column(&mut Cursor::new(&rest[..end]), schema)?.with_implicit_default();
    Ok(Sql::plain(format!("ALTER TABLE {} ADD COLUMN {}", quoted(table), column.text())))
}

fn one(sql: String) -> Result<Action, Fault> {
    Ok(Action::Schema { steps: vec![Sql::plain(sql)], temporary: false })
}
