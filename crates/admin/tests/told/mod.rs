//! Conversations with the interface: what each statement is to be answered, in the order sent.
#![allow(dead_code, reason = "each test binary needs a part")]

use mysql::prelude::Queryable;
use mysql::{Conn, QueryResult, Text, Value};

use crate::fake;

/// What a statement is answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// Names of the columns and values, each with `|` between, a line each row.
    Rows(String, String),
    /// So many rows were changed.
    Done(u64),
    /// Number and text of an error.
    Refused(u16, String),
}

/// Rows whose columns have these names.
pub(crate) fn rows(names: &str, lines: &str) -> Told {
    Told::Rows(names.into(), lines.into())
}

/// Rows that are read without the names of their columns.
pub(crate) fn values(lines: &str) -> Told {
    rows("", lines)
}

/// So many rows were changed.
pub(crate) fn done(changed: u64) -> Told {
    Told::Done(changed)
}

/// An error whose text begins like this.
pub(crate) fn refused(code: u16, text: &str) -> Told {
    Told::Refused(code, text.into())
}

impl Told {
    /// Whether it is what was awaited.
    fn is(&self, awaited: &Told) -> bool {
        match (self, awaited) {
            (Told::Rows(_, lines), Told::Rows(names, values)) if names.is_empty() => {
                lines == values
            }
            (Told::Refused(code, text), Told::Refused(number, start)) => {
                code == number && text.starts_with(start)
            }
            _ => self == awaited,
        }
    }
}

/// What each statement of a text is answered.
pub(crate) fn ask(client: &mut Conn, text: &str) -> Vec<Told> {
    match client.query_iter(text) {
        Ok(mut results) => {
            let mut told = Vec::new();
            while let Some(one) = next(&mut results) {
                told.push(one);
            }
            told
        }
        Err(error) => {
            let (code, _, text) = fake::error::<()>(Err(error));
            vec![Told::Refused(code, text)]
        }
    }
}

/// Names of the columns of a query, and its rows.
pub(crate) fn table(client: &mut Conn, query: &str) -> (String, String) {
    match ask(client, query).pop() {
        Some(Told::Rows(names, lines)) => (names, lines),
        told => panic!("{query}: {told:?}"),
    }
}

fn next(results: &mut QueryResult<'_, '_, '_, Text>) -> Option<Told> {
    let cell = |value: Value| match value {
        Value::NULL => "NULL".to_owned(),
        value => mysql::from_value(value),
    };
    let result = results.iter()?;
    let columns = result.columns();
    let names: Vec<_> = columns.as_ref().iter().map(|column| column.name_str()).collect();
    if names.is_empty() {
        return Some(done(result.affected_rows()));
    }
    let line = |row: mysql::Row| row.unwrap().into_iter().map(cell).collect::<Vec<_>>().join("|");
    let names = names.join("|");
    let lines: Vec<_> = result.map(|row| line(row.expect("a row"))).collect();
    Some(rows(&names, &lines.join("\n")))
}

/// Sends texts of one statement each, and compares what they are answered.
pub(crate) fn converse(client: &mut Conn, texts: &[(&str, Told)]) {
    for (text, awaited) in texts {
        let told = ask(client, text);
        assert!(
            told.len() == 1 && told[0].is(awaited),
            "{text}\n told {told:?}\nawaited {awaited:?}"
        );
    }
}

/// Puts a module in force and saves it, as tools do.
pub(crate) fn load_and_save(client: &mut Conn, module: &str) {
    let load = format!("LOAD {module} TO RUNTIME");
    let save = format!("SAVE {module} TO DISK;");
    converse(client, &[(&load, done(0)), (&save, done(0))]);
}
