//! A `proxysql.db` of 2.x as the text of a `proxysql.cnf` that says the same.
//!
//! The file is opened read-only. Tables and columns that older versions lack are not missed; values
//! are judged by the reader of the text.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::bail;
use engine::rows::{self, Cell};
use engine::vars::{Family, Kind, find};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use crate::config;

/// What was read.
pub(super) struct ReadDatabase {
    /// The configuration.
    pub(super) text: String,
    /// What is not in it, and why.
    pub(super) notes: Vec<String>,
}

/// Reads the database.
pub(super) fn read(file: &Path) -> anyhow::Result<ReadDatabase> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(file, flags)?;
    let tables = tables(&database)?;
    if !tables.iter().any(|table| table == "mysql_servers" || table == "global_variables") {
        bail!("it has no tables of ProxySQL");
    }
    let mut read = ReadDatabase { text: String::new(), notes: Vec::new() };
    if tables.iter().any(|table| table == "global_variables") {
        read.variables(&database)?;
    }
    for table in &tables {
        match config::section(table) {
            Some(section) => read.rows(&database, table, section)?,
            None if IGNORED.contains(&table.as_str()) => {}
            None => read.other(&database, table)?,
        }
    }
    Ok(read)
}

fn tables(database: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";
    database.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

impl ReadDatabase {
    fn variables(&mut self, database: &Connection) -> anyhow::Result<()> {
        let sql = "SELECT variable_name, variable_value FROM global_variables ORDER BY 1";
        let mut statement = database.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut lines: BTreeMap<&str, String> = BTreeMap::new();
        let mut defaults = 0;
        let mut others: BTreeMap<String, usize> = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let (name, value) = (row.get::<_, String>(0)?, bytes(row.get_ref(1)?));
            let Some((family, short)) = Family::split(&name) else {
                let prefix = name.split('-').next().unwrap_or(&name);
                *others.entry(prefix.to_owned()).or_default() += 1;
                continue;
            };
            if let Some(variable) = find(&name) {
                let text = String::from_utf8_lossy(&value);
                let is_default = variable.parse(&text).is_ok_and(|v| v == variable.default_value());
                if is_default || variable.kind == Kind::ReadOnly {
                    defaults += 1;
                    continue;
                }
            }
            let line = format!("    {short} = {}\n", libconfig::quoted(&value));
            *lines.entry(family.table()).or_default() += &line;
        }
        for (table, lines) in lines {
            self.text += &format!("{table} =\n{{\n{lines}}}\n");
        }
        if defaults > 0 {
            let which = "variables at their default, which need not be said";
            self.notes.push(format!("{which}: {defaults}"));
        }
        for (prefix, count) in others {
            let reason = config::left_out(&prefix).unwrap_or("their kind is not known");
            self.notes.push(format!("{prefix}-… variables, {count} of them: {reason}"));
        }
        Ok(())
    }

    fn rows(&mut self, database: &Connection, table: &str, section: &str) -> anyhow::Result<()> {
        let mut statement = database.prepare(&format!("SELECT * FROM \"{table}\""))?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query([])?;
        let mut texts = Vec::new();
        while let Some(row) = rows.next()? {
            texts.push(row_text(table, &columns, row)?);
        }
        if !texts.is_empty() {
            self.text += &format!("{section} =\n(\n{}\n)\n", texts.join(",\n"));
        }
        Ok(())
    }

    /// A table that is not read: told when there is something in it.
    fn other(&mut self, database: &Connection, table: &str) -> anyhow::Result<()> {
        let quoted = table.replace('"', "\"\"");
        let sql = format!("SELECT count(*) FROM \"{quoted}\"");
        let count: i64 = database.query_row(&sql, [], |row| row.get(0))?;
        let earlier = table.rsplit_once("_v").is_some_and(|(_, version)| {
            !version.is_empty()
                && version.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
        if count > 0 {
            let reason = match config::left_out(table) {
                Some(reason) => reason,
                None if earlier => "a copy that an upgrade of ProxySQL left behind",
                None => "the table is not known",
            };
            self.notes.push(format!("{table}, rows: {count}; {reason}"));
        }
        Ok(())
    }
}

fn row_text(table: &str, columns: &[String], row: &Row<'_>) -> rusqlite::Result<String> {
    let mut text = String::from("    {");
    for (at, column) in columns.iter().enumerate() {
        let value = match row.get_ref(at)? {
            // where the default of a missing key is another than nothing
            ValueRef::Null if has_default(table, column) => "\"\"".to_owned(),
            ValueRef::Null => continue,
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Real(number) => format!("{number:?}"),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => libconfig::quoted(bytes),
        };
        text += &format!(" {column} = {value};");
    }
    Ok(text + " }")
}

/// Whether a column may be NULL and is another text where a file says nothing.
fn has_default(table: &str, column: &str) -> bool {
    let columns = rows::find(table).into_iter().flat_map(|table| table.columns);
    let found = columns.filter(|found| found.null).find(|found| found.name == column);
    found.is_some_and(|found| matches!(found.initial(), Cell::Text(_)))
}

fn bytes(value: ValueRef<'_>) -> Vec<u8> {
    match value {
        ValueRef::Null => Vec::new(),
        ValueRef::Integer(number) => number.to_string().into_bytes(),
        ValueRef::Real(number) => number.to_string().into_bytes(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
    }
}

/// Tables that hold no configuration of an operator.
const IGNORED: &[&str] =
    &["global_variables", "global_settings", "mysql_collations", "sqlite_sequence"];
