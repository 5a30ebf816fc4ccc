//! `SET`: what is assigned to variables.

use std::sync::atomic::Ordering::Relaxed;

use mysql_server::{Answer, Cell, Fault};

use crate::dialect::{Tokens, tokens};
use crate::faults::{syntax, unknown_variable, unsupported};
use crate::session::DemoSession;
use crate::variables_table::VARIABLES;

impl DemoSession {
    /// Carries a `SET` out: nothing of it where one of its assignments cannot be.
    pub(crate) fn set(&mut self, text: &str) -> Result<Answer, Fault> {
        let tokens = tokens(text);
        let first = |word: &str| tokens.is(1, word);
        let after_scope = if first("SESSION") || first("GLOBAL") { 2 } else { 1 };
        if tokens.is(after_scope, "TRANSACTION") {
            // SQLite has one isolation, which is stricter than any of them
            return Ok(Answer::DONE);
        }
        let mut made = Vec::new();
        for (from, to) in tokens.split(1, tokens.len()) {
            self.assignment(&tokens, from, to, &mut made)?;
        }
        for (name, value) in made {
            match name.strip_prefix('@') {
                Some(name) => {
                    self.user_variables.insert(name.to_owned(), value);
                }
                None => self.assign(&name, value)?,
            }
        }
        Ok(Answer::DONE)
    }

    /// Reads one assignment; user variables have an `@` in front of their names.
    fn assignment(
        &self,
        tokens: &Tokens<'_>,
        from: usize,
        to: usize,
        made: &mut Vec<(String, Cell)>,
    ) -> Result<(), Fault> {
        let text = |text: &str| Cell::Bytes(text.as_bytes().to_vec());
        let charset_at = match () {
            () if tokens.is(from, "NAMES") => from + 1,
            () if tokens.are(from, &["CHARACTER", "SET"]) => from + 2,
            () => return self.named_assignment(tokens, from, to, made),
        };
        let charset = tokens.unquoted(charset_at).to_ascii_lowercase();
        let collation = match tokens.is(charset_at + 1, "COLLATE") {
            true => tokens.unquoted(charset_at + 2).to_ascii_lowercase(),
            false => format!("{charset}_general_ci"),
        };
        for of in ["client", "connection", "results"] {
            made.push((format!("character_set_{of}"), text(&charset)));
        }
        made.push(("collation_connection".to_owned(), text(&collation)));
        Ok(())
    }

    fn named_assignment(
        &self,
        tokens: &Tokens<'_>,
        from: usize,
        to: usize,
        made: &mut Vec<(String, Cell)>,
    ) -> Result<(), Fault> {
        let mut at = from;
        if tokens.is(at, "@") {
            let name = format!("@{}", tokens.unquoted(at + 1).to_ascii_lowercase());
            let value = self.value(tokens, at + 2, to)?;
            made.push((name, value));
            return Ok(());
        }
        at += usize::from(tokens.is(at, "@@"));
        if ["GLOBAL", "PERSIST"].iter().any(|word| tokens.is(at, word)) {
            return Err(unsupported("SET GLOBAL"));
        }
        if ["SESSION", "LOCAL"].iter().any(|word| tokens.is(at, word)) {
            at += if tokens.is(at + 1, ".") { 2 } else { 1 };
        }
        let name = tokens.unquoted(at).to_ascii_lowercase();
        let Some((_, at_first)) = VARIABLES.iter().find(|(known, _)| *known == name) else {
            return Err(unknown_variable(&name));
        };
        let value = match tokens.is(at + 2, "DEFAULT") {
            true => Cell::Bytes(at_first.as_bytes().to_vec()),
            false => self.value(tokens, at + 1, to)?,
        };
        made.push((name, value));
        Ok(())
    }

    /// The value behind `=` or `:=` at `at`. A bare word is a text.
    fn value(&self, tokens: &Tokens<'_>, at: usize, to: usize) -> Result<Cell, Fault> {
        if !tokens.is(at, "=") && !tokens.is(at, ":=") {
            return Err(syntax(tokens.text(at)));
        }
        let word = tokens.text(at + 1);
        let is_word = word.starts_with(|sign: char| sign.is_ascii_alphabetic());
        if at + 2 == to && is_word && !word.eq_ignore_ascii_case("NULL") {
            let text = match word.to_ascii_uppercase().as_str() {
                "ON" | "TRUE" => "1".to_owned(),
                "OFF" | "FALSE" => "0".to_owned(),
                _ => word.to_owned(),
            };
            return Ok(Cell::Bytes(text.into_bytes()));
        }
        let found = self.select(&format!("SELECT {}", tokens.written(at + 1, to)), &[])?;
        let cell = found.rows.into_iter().next().and_then(|row| row.into_iter().next());
        cell.ok_or_else(|| syntax(word))
    }

    fn assign(&mut self, name: &str, value: Cell) -> Result<(), Fault> {
        let text = match value {
            Cell::Null => String::new(),
            Cell::Int(number) => number.to_string(),
            Cell::Double(number) => number.to_string(),
            Cell::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        };
        if name == "autocommit" {
            self.set_autocommit(text != "0")?;
        }
        if name == "last_insert_id" {
            self.facts.last_insert_id.store(text.parse().unwrap_or(0), Relaxed);
            return Ok(());
        }
        self.variables.insert(name.to_owned(), text);
        Ok(())
    }
}
