//! Why a statement was refused: the table, the row by its key, the column, the value and what is
//! allowed, where SQLite tells only the constraint.
//!
//! The statement is run once more, with triggers that show each row before its constraints are
//! judged, and undone whatever comes of it. So statements that succeed pay nothing.

use std::sync::{Arc, Mutex};

use engine::report::Printable;
use engine::vars::nearest;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::Value;

use super::{Database, Run, lock, step};
use crate::fault::AdminFault;
use crate::layers::{key_of, shown};
use crate::secrets::{CONCEALED, is_secret};
use crate::statement::{Statement, is, unquoted};
use crate::tables::{self, Schema, Table};

/// What SQLite refuses a row for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Constraint {
    Check,
    NotNull,
    Unique,
    Type,
}

/// The row that was being written.
#[derive(Clone, Debug)]
struct Seen {
    table: &'static Table,
    /// The values that it has, when it is there already.
    before: Option<Vec<Value>>,
    /// The values that it is to have.
    after: Vec<Value>,
}

impl Database {
    /// The fault of a statement that was prepared and failed, told by the row that it failed at.
    pub(super) fn refusal(
        &self,
        sql: &str,
        run: &Run<'_>,
        written: &[(Schema, String)],
        fault: AdminFault,
    ) -> AdminFault {
        let Some((constraint, what)) = constraint_of(&fault.message) else { return fault };
        if constraint == Constraint::Type {
            // judged before any row can be seen: only numbered keys have a type
            let tables = written.iter().filter_map(|(_, name)| tables::find(name));
            let numbered = tables.filter_map(|table| Some((table.name, table.key.first()?))).next();
            let told = numbered.map(|(table, column)| {
                constraint.told(&format!("{table} column {column}: a whole number is wanted"))
            });
            return told.unwrap_or(fault);
        }
        // when the row cannot be found SQLite's own words are all there is
        let seen = self.last_row_of(sql, run, written).ok().flatten();
        seen.and_then(|seen| constraint.fault(what, &seen)).unwrap_or(fault)
    }

    /// Runs a statement that fails once more, and gives the row at which it does.
    fn last_row_of(
        &self,
        sql: &str,
        run: &Run<'_>,
        written: &[(Schema, String)],
    ) -> Result<Option<Seen>, AdminFault> {
        let seen: Arc<Mutex<Option<Seen>>> = Arc::default();
        let showing = Arc::clone(&seen);
        self.connection.create_scalar_function(
            SHOWN,
            -1,
            FunctionFlags::SQLITE_UTF8,
            move |context| {
                let mut values = (0..context.len()).map(|at| context.get::<Value>(at));
                let name: String = context.get(0)?;
                let changes: bool = context.get(1)?;
                let mut values = values.by_ref().skip(2).collect::<Result<Vec<_>, _>>()?;
                if let Some(table) = tables::find(&name) {
                    let after = values.split_off(if changes { table.columns.len() } else { 0 });
                    let before = changes.then_some(values);
                    *lock(&showing) = Some(Seen { table, before, after });
                }
                Ok(0)
            },
        )?;
        self.own("SAVEPOINT refusal")?;
        let tried = self.show_rows(written).and_then(|()| {
            let mut statement = self.connection.prepare(sql)?;
            step(&mut statement, run, false).map(drop)
        });
        self.own("ROLLBACK TO refusal; RELEASE refusal")?;
        let failed = tried.is_err();
        let row = lock(&seen).take();
        Ok(row.filter(|_| failed))
    }

    /// Makes triggers that show each row before it is written.
    fn show_rows(&self, written: &[(Schema, String)]) -> Result<(), AdminFault> {
        for (schema, name) in written {
            let Some(table) = tables::find(name) else { continue };
            let columns = |of: &str| {
                let names = table.columns.iter().map(|column| format!("{of}.\"{}\"", column.name));
                names.collect::<Vec<_>>().join(", ")
            };
            let (new, old) = (columns("NEW"), columns("OLD"));
            let on = format!("ON {}.{name} BEGIN SELECT {SHOWN}('{name}'", schema.name());
            self.own(&format!(
                "CREATE TEMP TRIGGER {SHOWN}_{name}_i BEFORE INSERT {on}, 0, {new}); END; \
                 CREATE TEMP TRIGGER {SHOWN}_{name}_u BEFORE UPDATE {on}, 1, {old}, {new}); END"
            ))?;
        }
        Ok(())
    }
}

impl Constraint {
    /// The fault of a row; `what` is SQLite's name of what it offends.
    fn fault(self, what: &str, seen: &Seen) -> Option<AdminFault> {
        let (table, row) = (seen.table, seen.before.as_ref().unwrap_or(&seen.after));
        let place = match seen.before.is_none() && table.numbered && self != Self::Unique {
            // its number is not known yet
            true => table.name.to_owned(),
            false => format!("{} ({})", table.name, key_of(table, row)),
        };
        let value = |column: &str| {
            if is_secret(table.name, "", column) {
                return CONCEALED.to_owned();
            }
            let value = table.position(column).and_then(|at| seen.after.get(at));
            value.map_or("NULL".to_owned(), shown)
        };
        let text = match self {
            Self::Check => {
                let column = table.columns.iter().find(|column| column.check == what)?;
                let (name, allowed) = (column.name, column.check);
                format!("{place} column {name}: {} is not allowed, only {allowed}", value(name))
            }
            Self::NotNull => {
                let column = what.rsplit('.').next()?;
                format!("{place} column {column}: a value is wanted, not NULL")
            }
            Self::Type => return None,
            Self::Unique => {
                let columns: Vec<&str> =
                    what.split(", ").filter_map(|name| name.rsplit('.').next()).collect();
                let columns = columns
                    .iter()
                    .map(|name| format!("{name}={}", value(name)))
                    .collect::<Vec<_>>();
                format!("{} ({}): there is such a row already", table.name, columns.join(", "))
            }
        };
        Some(self.told(&text))
    }

    /// The fault with MySQL's number, in words.
    fn told(self, text: &str) -> AdminFault {
        let (code, sqlstate) = match self {
            Self::Check => (3819, *b"HY000"),
            Self::NotNull => (1048, *b"23000"),
            Self::Unique => (1062, *b"23000"),
            Self::Type => (1366, *b"HY000"),
        };
        let message = format!("ProxySQL Admin Error: {}{text}", self.words());
        AdminFault::new(code, sqlstate, message)
    }

    /// What SQLite says before it names the constraint; scripts look for it.
    fn words(self) -> &'static str {
        match self {
            Self::Check => "CHECK constraint failed: ",
            Self::NotNull => "NOT NULL constraint failed: ",
            Self::Unique => "UNIQUE constraint failed: ",
            Self::Type => "datatype mismatch: ",
        }
    }
}

/// The constraint that a message of SQLite is about, and what it names.
fn constraint_of(message: &str) -> Option<(Constraint, &str)> {
    let reason = message.strip_prefix("ProxySQL Admin Error: ")?;
    if reason == "datatype mismatch" {
        return Some((Constraint::Type, ""));
    }
    [Constraint::Check, Constraint::NotNull, Constraint::Unique]
        .into_iter()
        .find_map(|kind| Some((kind, reason.strip_prefix(kind.words())?)))
}

/// A table that there is not, as SQLite tells it.
pub(crate) fn no_such_table(name: &str) -> AdminFault {
    let message = format!("ProxySQL Admin Error: no such table: {name}");
    of_names("", AdminFault::refused(message))
}

/// A statement that could not be prepared: the number that MySQL has for the reason, and what may
/// have been meant.
pub(super) fn of_names(sql: &str, fault: AdminFault) -> AdminFault {
    let message = fault.message;
    let named = |words: &str| Some(message.split_once(words)?.1.to_owned());
    let column = named("no such column: ").or_else(|| named(" has no column named "));
    let (code, sqlstate, hint) = if let Some(column) = column {
        let column = column.rsplit('.').next().unwrap_or_default().to_owned();
        (
            1054,
            *b"42S22",
            written_table(sql).map_or(String::new(), |table| of_column(table, &column)),
        )
    } else if let Some(table) = named("no such table: ") {
        let name = table.rsplit('.').next().unwrap_or_default();
        let known = Schema::ALL.into_iter().flat_map(Schema::tables).map(|(name, _)| name);
        let known: Vec<String> = known.collect();
        let meant = nearest(name, known.iter().map(String::as_str)).filter(|meant| *meant != name);
        (1146, *b"42S02", meant.map_or(String::new(), |meant| format!("; did you mean {meant}?")))
    } else {
        return AdminFault { message: Printable(message).to_string(), ..fault };
    };
    let message = format!("{}{hint}", Printable(&message));
    AdminFault { code, sqlstate, message, all: fault.all }
}

fn of_column(table: &Table, column: &str) -> String {
    let meant = nearest(column, table.columns.iter().map(|column| column.name));
    match meant {
        Some(meant) => format!(" (table {}; did you mean {meant}?)", table.name),
        None => format!(" (table {})", table.name),
    }
}

/// The first table that a statement names where tables are named.
fn written_table(sql: &str) -> Option<&'static Table> {
    let statement = Statement::new(sql);
    let words = statement.after(0);
    let at =
        words.iter().position(|word| is(word, "INTO") || is(word, "UPDATE") || is(word, "FROM"));
    let name = words.get(at? + 1)?;
    tables::find(&unquoted(name.rsplit('.').next()?).to_ascii_lowercase())
}

/// Name of the function that is shown rows.
const SHOWN: &str = "tidegate_row";
