//! `SHOW` and `DESCRIBE`, as SELECTs over SQLite's catalogue and what the server knows.

use mysql_server::{Cell, Column, Fault, Rows};

use crate::dialect::Tokens;
use crate::faults::unsupported;
use crate::session::DemoSession;
use crate::variables_table::VARIABLES;

impl DemoSession {
    /// The rows of a `SHOW` or `DESCRIBE`.
    pub(crate) fn show(&self, words: &Tokens<'_>) -> Result<Rows, Fault> {
        if !words.is(0, "SHOW") {
            return self.show_columns(words, 1, false);
        }
        let skipped = ["FULL", "GLOBAL", "SESSION", "EXTENDED"];
        let mut at = 1;
        while skipped.iter().any(|word| words.is(at, word)) {
            at += 1;
        }
        let full = words.is(1, "FULL");
        match words.text(at).to_ascii_uppercase().as_str() {
            "TABLES" => self.show_tables(words, full),
            "DATABASES" | "SCHEMAS" => {
                self.select("SELECT ? AS `Database`", &[text(&self.facts.server.schema)])
            }
            "COLUMNS" | "FIELDS" => {
                let from =
                    (at..words.len()).find(|at| words.is(*at, "FROM") || words.is(*at, "IN"));
                self.show_columns(words, from.unwrap_or(at) + 1, full)
            }
            "CREATE" if words.is(at + 1, "TABLE") => {
                let name = words.unquoted(words.len() - 1);
                let found = self.select(
                    "SELECT name AS `Table`, sql AS `Create Table` FROM sqlite_master \
                     WHERE type = 'table' AND name = ?",
                    &[text(&name)],
                )?;
                self.if_any(found, &name)
            }
            "VARIABLES" => {
                let all = VARIABLES.iter().filter_map(|(name, _)| {
                    let value = self.variable(name)?;
                    // switches read so here
                    let shown = match (value.as_str(), *name) {
                        (_, "server_id" | "port") => value,
                        ("1", name) if is_switch(name) => "ON".to_owned(),
                        ("0", name) if is_switch(name) => "OFF".to_owned(),
                        _ => value,
                    };
                    Some(((*name).to_owned(), shown))
                });
                Ok(named(words, all))
            }
            "STATUS" => Ok(named(words, self.facts.server.status().into_iter())),
            "WARNINGS" | "ERRORS" => Ok(Rows {
                columns: ["Level", "Code", "Message"].map(Column::text).to_vec(),
                rows: Vec::new(),
            }),
            "PROCESSLIST" => {
                let names = ["Id", "User", "Host", "db", "Command", "Time", "State", "Info"];
                let rows = self.facts.server.processes();
                Ok(Rows { columns: names.map(Column::text).to_vec(), rows })
            }
            other => Err(unsupported(&format!("SHOW {other}"))),
        }
    }

    fn show_tables(&self, words: &Tokens<'_>, full: bool) -> Result<Rows, Fault> {
        let kind = if full {
            ", CASE type WHEN 'view' THEN 'VIEW' ELSE 'BASE TABLE' END AS Table_type"
        } else {
            ""
        };
        let schema = &self.facts.server.schema;
        self.select(
            &format!(
                "SELECT name AS Tables_in_{schema}{kind} FROM sqlite_master \
                 WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%' AND name LIKE ? \
                 ORDER BY name"
            ),
            &[text(&pattern(words))],
        )
    }

    fn show_columns(&self, words: &Tokens<'_>, at: usize, full: bool) -> Result<Rows, Fault> {
        let at = if words.is(at + 1, ".") { at + 2 } else { at };
        let name = words.unquoted(at);
        let more = if full { ", NULL AS Collation, '' AS Privileges, '' AS Comment" } else { "" };
        let found = self.select(
            &format!(
                "SELECT name AS Field, lower(type) AS Type, \
                 CASE WHEN `notnull` OR pk THEN 'NO' ELSE 'YES' END AS `Null`, \
                 CASE WHEN pk THEN 'PRI' ELSE '' END AS `Key`, dflt_value AS `Default`, \
                 CASE WHEN pk AND type = 'INTEGER' THEN 'auto_increment' ELSE '' END AS Extra\
                 {more} FROM pragma_table_info(?)"
            ),
            &[text(&name)],
        )?;
        self.if_any(found, &name)
    }

    /// The rows, or that there is no such table.
    fn if_any(&self, found: Rows, table: &str) -> Result<Rows, Fault> {
        if found.rows.is_empty() {
            let schema = &self.facts.server.schema;
            let message = format!("Table '{schema}.{table}' doesn't exist");
            return Err(Fault::new(1146, b"42S02", message));
        }
        Ok(found)
    }
}

/// Names and values, those that `LIKE` or `WHERE variable_name =` asks for.
fn named(words: &Tokens<'_>, all: impl Iterator<Item = (String, String)>) -> Rows {
    let pattern = pattern(words);
    let rows = all.filter(|(name, _)| like(&pattern, name));
    Rows {
        columns: ["Variable_name", "Value"].map(Column::text).to_vec(),
        rows: rows.map(|(name, value)| vec![text(&name), text(&value)]).collect(),
    }
}

/// The pattern at the end of a `SHOW`; `%` where there is none.
fn pattern(words: &Tokens<'_>) -> String {
    let last = words.len() - 1;
    match words.is(last - 1, "LIKE") || words.is(last - 1, "=") {
        true => words.unquoted(last),
        false => "%".to_owned(),
    }
}

/// `LIKE` with `%` and `_`, where letters' case does not matter.
fn like(pattern: &str, text: &str) -> bool {
    let mut signs = pattern.chars();
    match signs.next() {
        None => text.is_empty(),
        Some('%') => {
            let rest = signs.as_str();
            text.char_indices().any(|(at, _)| like(rest, &text[at..])) || like(rest, "")
        }
        Some(sign) => {
            let (sign, literal) = match sign {
                '\\' => (signs.next().unwrap_or(sign), true),
                sign => (sign, false),
            };
            let mut rest = text.chars();
            let found = rest.next();
            let fits = |found: char| sign == '_' && !literal || sign.eq_ignore_ascii_case(&found);
            found.is_some_and(fits) && like(signs.as_str(), rest.as_str())
        }
    }
}

fn is_switch(name: &str) -> bool {
    name == "autocommit"
        || name.ends_with("read_only")
        || name.ends_with("_checks")
        || name == "performance_schema"
        || name.starts_with("session_track_s")
}

fn text(text: &str) -> Cell {
    Cell::Bytes(text.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    #[test]
    fn like_knows_its_two_signs_and_the_backslash() {
        for (pattern, text, is_like) in [
            ("%set%", "character_set_client", true),
            (r"Read\_only", "read_only", true),
            (r"read\_only", "readXonly", false),
            ("a_c%", "abc", true),
            ("a_c", "ac", false),
            ("%", "", true),
            ("", "a", false),
        ] {
            assert_eq!(super::like(pattern, text), is_like, "{pattern} {text}");
        }
    }
}
