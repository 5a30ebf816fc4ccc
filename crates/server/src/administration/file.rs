//! The configuration file as the administrative interface needs it: its rows, and rows as its text.

use std::path::{Path, PathBuf};

use admin::tables::{self, Table};
use admin::{ConfigFile, Rows};
use engine::rows::Cell;
use engine::snapshot::Draft;
use engine::vars::{Family, Kind, find};
use rusqlite::types::Value;

use crate::config::{self, Format, Scalar, Section};

/// The file that was named at the start; `None` when there is none.
pub(super) struct OwnFile(pub(super) Option<PathBuf>);

impl ConfigFile for OwnFile {
    fn read(&self) -> Result<Rows, Vec<String>> {
        let Some(file) = &self.0 else { return Ok(admin::of_file(&Draft::default())) };
        let (loaded, undrafted) =
            config::load_all(file, None).map_err(|error| vec![format!("{error:#}")])?;
        let mut rows = admin::of_file(&loaded.draft);
        for (table, undrafted) in &undrafted.tables {
            let values = |row: &Vec<Cell>| row.iter().cloned().map(admin::value).collect();
            rows.insert(table.name, undrafted.iter().map(values).collect());
        }
        Ok(rows)
    }

    fn text(&self, rows: &Rows, target: Option<&Path>) -> String {
        let named = |file: Option<&Path>| file.and_then(Format::of_name);
        let format = named(target).or_else(|| named(self.0.as_deref())).unwrap_or(Format::Toml);
        let mut sections = vec![variables(rows, Family::Admin), variables(rows, Family::Mysql)];
        for table in tables::configured().iter().filter(|table| table.name != "global_variables") {
            let Some(section) = config::section(table.name) else { continue };
            let found = rows.get(table.name).into_iter().flatten();
            let found = found.map(|row| pairs(table, row)).collect();
            sections.push(Section::Rows(table.name, section, found));
        }
        config::written_sections(format, &sections)
    }
}

/// The variables of one family that have another value than their default.
fn variables(rows: &Rows, family: Family) -> Section {
    let mut pairs = Vec::new();
    for row in rows.get("global_variables").into_iter().flatten() {
        let [name, value] =
            [0, 1].map(|at| row.get(at).and_then(admin::cell_text).unwrap_or_default());
        let Some(variable) = find(&name).filter(|found| found.family == family) else { continue };
        if variable.kind != Kind::ReadOnly && variable.default_value().to_string() != value {
            let scalar = config::written_variable(&name, &value);
            pairs.push((variable.name.to_owned(), scalar));
        }
    }
    Section::Variables(family.table(), pairs)
}

/// The cells of a row that a file has to say.
fn pairs(table: &Table, row: &[Value]) -> Vec<(String, Scalar)> {
    let mut pairs = Vec::new();
    for (value, column) in row.iter().zip(table.columns) {
        let default = column.default.trim_matches(['(', ')', '\'']);
        // what the reader of files would take for something else when it is not written
        let told = column.always_written
            || table.key.contains(&column.name)
            || admin::cell_text(value).is_none_or(|text| text != default);
        let scalar = config::scalar(column, admin::cell(value)).filter(|_| told);
        pairs.extend(scalar.map(|scalar| (column.name.to_owned(), scalar)));
    }
    pairs
}

#[cfg(test)]
mod tests;
