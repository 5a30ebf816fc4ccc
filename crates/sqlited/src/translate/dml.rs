//! INSERT, REPLACE, UPDATE and DELETE: the forms that SQLite writes differently.
//!
//! Expressions inside are `rewrite`'s business.

use super::rewrite::{Sql, quoted, rewrite, split_commas};
use super::{Action, Cursor};
use crate::fault::Fault;
use crate::lexer::Token;

/// INSERT and REPLACE in all forms: VALUES, SET, SELECT, IGNORE, ON DUPLICATE KEY UPDATE.
pub(super) fn insert(tokens: &[Token<'_>], schema: &str) -> Result<Action, Fault> {
    let mut cursor = Cursor::new(tokens);
    let replace = cursor.next().is_some_and(|t| t.is("replace"));
    cursor.eat_all(&["low_priority", "delayed", "high_priority"]);
    let ignore = cursor.eat("ignore");
    cursor.eat("into");
    let table = cursor.table(schema)?;
    let head = match (replace, ignore) {
        (true, _) => "REPLACE INTO",
        (_, true) => "INSERT OR IGNORE INTO",
        _ => "INSERT INTO",
    };
    let mut sql = Sql::plain(format!("{head} {}", quoted(table)));
    let (body, on_duplicate) = split_on_duplicate(cursor.rest());
    source(&mut sql, body, on_duplicate.is_some(), schema)?;
    if let Some(assignments) = on_duplicate {
        sql.push("ON CONFLICT DO UPDATE SET");
        sql.append(rewrite(assignments, schema)?);
    }
    Ok(Action::Run { sql, table: Some(table.to_owned()) })
}

/// Where the rows come from.
fn source(sql: &mut Sql, body: &[Token<'_>], conflict: bool, schema: &str) -> Result<(), Fault> {
    let mut cursor = Cursor::new(body);
    if cursor.eat("set") {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for assignment in split_commas(cursor.rest()) {
            let Some(equals) = assignment.iter().position(|t| t.symbol("=")) else {
                return Err(cursor.syntax());
            };
            names.push(rewrite(&assignment[..equals], schema)?.text);
            values.push(rewrite(&assignment[equals + 1..], schema)?.text);
        }
        sql.push(&format!("({}) VALUES ({})", names.join(", "), values.join(", ")));
        return Ok(());
    }
    let columns = match cursor.peek() {
        Some(t) if t.symbol("(") && !body.get(1).is_some_and(|t| t.is("select")) => {
            Some(cursor.brackets()?)
        }
        _ => None,
    };
    if let Some(columns) = columns.filter(|columns| !columns.is_empty()) {
        sql.push("(");
        sql.append(rewrite(columns, schema)?);
        sql.push(")");
    }
    if cursor.peek().is_some_and(|t| t.is_any(&["values", "value"])) {
        cursor.next();
        if cursor.rest().len() == 2 && cursor.peek().is_some_and(|t| t.symbol("(")) {
            sql.push("DEFAULT VALUES");
            return Ok(());
        }
        sql.push("VALUES");
        sql.append(rewrite(cursor.rest(), schema)?);
        return Ok(());
    }
    let select = cursor.rest();
    sql.append(rewrite(select, schema)?);
    if conflict && !select.iter().any(|t| t.is_any(&["where", "group", "order", "limit"])) {
        // without it SQLite takes ON for the ON of a join
        sql.push("WHERE true");
    }
    Ok(())
}

/// The tokens before ON DUPLICATE KEY UPDATE, and the assignments after it.
fn split_on_duplicate<'t, 'a>(
    tokens: &'t [Token<'a>],
) -> (&'t [Token<'a>], Option<&'t [Token<'a>]>) {
    let words = ["on", "duplicate", "key", "update"];
    let at = tokens
        .windows(words.len())
        .position(|window| window.iter().zip(words).all(|(token, word)| token.is(word)));
    match at {
        Some(at) => (&tokens[..at], Some(&tokens[at + words.len()..])),
        None => (tokens, None),
    }
}

/// UPDATE of one table; ORDER BY and LIMIT are turned into a choice of rows.
pub(super) fn update(tokens: &[Token<'_>], schema: &str) -> Result<Action, Fault> {
    let mut cursor = Cursor::new(tokens);
    cursor.next();
    cursor.eat_all(&["low_priority"]);
    let head = if cursor.eat("ignore") { "UPDATE OR IGNORE" } else { "UPDATE" };
    let table = quoted(cursor.table(schema)?);
    let mut sql = Sql::plain(format!("{head} {table}"));
    if !cursor.peek().is_some_and(|t| t.is("set")) {
        // an alias
        cursor.eat("as");
        sql.push(&format!("AS {}", quoted(cursor.name()?)));
    }
    let rest = cursor.rest();
    let tail = top_level(rest, &["where", "order", "limit"]).unwrap_or(rest.len());
    sql.append(rewrite(&rest[..tail], schema)?);
    sql.append(chosen_rows(&rest[tail..], &table, schema)?);
    Ok(Action::Run { sql, table: None })
}

/// DELETE from one table.
pub(super) fn delete(tokens: &[Token<'_>], schema: &str) -> Result<Action, Fault> {
    let mut cursor = Cursor::new(tokens);
    cursor.next();
    cursor.eat_all(&["low_priority", "quick", "ignore"]);
    cursor.expect("from")?;
    let table = quoted(cursor.table(schema)?);
    let mut sql = Sql::plain(format!("DELETE FROM {table}"));
    sql.append(chosen_rows(cursor.rest(), &table, schema)?);
    Ok(Action::Run { sql, table: None })
}

/// WHERE as it stands; with LIMIT a sub-query that picks the rows.
fn chosen_rows(tail: &[Token<'_>], table: &str, schema: &str) -> Result<Sql, Fault> {
    if top_level(tail, &["limit"]).is_none() {
        let end = top_level(tail, &["order"]).unwrap_or(tail.len());
        return rewrite(&tail[..end], schema);
    }
    let mut sql = Sql::plain(format!("WHERE rowid IN (SELECT rowid FROM {table}"));
    sql.append(rewrite(tail, schema)?);
    sql.push(")");
    Ok(sql)
}

/// Where one of these words stands outside of brackets.
fn top_level(tokens: &[Token<'_>], words: &[&str]) -> Option<usize> {
    let mut depth = 0_i32;
    tokens.iter().position(|token| {
        if token.symbol("(") {
            depth += 1;
        } else if token.symbol(")") {
            depth -= 1;
        }
        depth == 0 && token.is_any(words)
    })
}
