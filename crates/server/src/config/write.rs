//! A configuration as the text of a file: what is written is read back equal.
//!
//! Values that are the default are left out, except where their absence would puzzle.

use std::fmt::Write as _;

use engine::rows::{Cell, TableRows};
use engine::snapshot::Draft;
use engine::vars::{Family, Kind, find};

use super::columns;
use super::format::Format;
use super::undrafted::{self, Undrafted};

/// The whole text.
pub(crate) fn text(format: Format, draft: &Draft, undrafted: &Undrafted) -> String {
    text_of(format, &sections(draft, undrafted))
}

/// The text of sections.
pub(crate) fn text_of(format: Format, sections: &[Section]) -> String {
    let told = sections.iter().filter(|section| !section.is_empty());
    let texts = told.map(|section| match format {
        Format::Toml => section.toml(),
        Format::Cnf => section.cnf(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// A piece of a file.
pub(crate) enum Section {
    /// Settings outside of all tables.
    Settings(Vec<Pair>),
    /// Variables of one family.
    Variables(&'static str, Vec<Pair>),
    /// Rows, with their name in `tidegate.toml` and in `proxysql.cnf`.
    Rows(&'static str, &'static str, Vec<Vec<Pair>>),
}

/// A value as it is written to a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Scalar {
    /// A whole number.
    Int(i64),
    /// `true` or `false`.
    Bool(bool),
    /// Text, or bytes that are none.
    Text(Vec<u8>),
}

/// A key and its value.
pub(crate) type Pair = (String, Scalar);

fn sections(draft: &Draft, undrafted: &Undrafted) -> Vec<Section> {
    let setting = |(name, value): &(&'static str, Scalar)| ((*name).to_owned(), value.clone());
    let mut sections = vec![
        Section::Settings(undrafted.settings.iter().map(setting).collect()),
        variables(draft, Family::Admin),
        variables(draft, Family::Mysql),
    ];
    sections.extend(draft.tables().map(rows));
    for (table, rows) in &undrafted.tables {
        let row = |row: &Vec<Cell>| {
            let cells = table.columns.iter().zip(row);
            let told = cells.filter(|(column, cell)| **cell != undrafted::absent(column));
            told.filter_map(|(column, cell)| {
                Some((column.name.to_owned(), columns::scalar(column, cell.clone())?))
            })
            .collect()
        };
        sections.push(Section::Rows(table.name, table.section, rows.iter().map(row).collect()));
    }
    sections
}

fn rows(rows: &dyn TableRows) -> Section {
    let (table, initial) = (rows.table(), rows.initial());
    let row = |at| columns::written(table, &initial, rows.cells(at));
    Section::Rows(table.name, table.section, (0..rows.count()).map(row).collect())
}

fn variables(draft: &Draft, family: Family) -> Section {
    let mut pairs = Vec::new();
    for (name, text) in &draft.variables {
        if let Some((found, short)) = Family::split(name)
            && found == family
        {
            pairs.push((short.to_owned(), variable(name, text)));
        }
    }
    Section::Variables(family.table(), pairs)
}

/// The value of the variable called `name`, with prefix, as its kind is written; as text when it is
/// none of that kind.
pub(crate) fn variable(name: &str, text: &str) -> Scalar {
    let kind = find(name).map(|variable| variable.kind);
    match (kind, text.parse::<i64>(), text) {
        (Some(Kind::Bool | Kind::Int { .. }), Ok(number), _) => Scalar::Int(number),
        (Some(Kind::Bool), _, "true") => Scalar::Bool(true),
        (Some(Kind::Bool), _, "false") => Scalar::Bool(false),
        _ => Scalar::Text(text.as_bytes().to_vec()),
    }
}

impl Section {
    fn is_empty(&self) -> bool {
        match self {
            Section::Settings(pairs) | Section::Variables(_, pairs) => pairs.is_empty(),
            Section::Rows(_, _, rows) => rows.is_empty(),
        }
    }

    fn toml(&self) -> String {
        match self {
            Section::Settings(pairs) => toml_pairs(pairs),
            Section::Variables(name, pairs) => format!("[{name}]\n{}", toml_pairs(pairs)),
            Section::Rows(name, _, rows) => {
                let row = |row: &Vec<Pair>| format!("[[{name}]]\n{}", toml_pairs(row));
                rows.iter().map(row).collect::<Vec<_>>().join("\n")
            }
        }
    }

    fn cnf(&self) -> String {
        match self {
            Section::Settings(pairs) => cnf_pairs("", pairs),
            Section::Variables(name, pairs) => {
                format!("{name} =\n{{\n{}}}\n", cnf_pairs("    ", pairs))
            }
            Section::Rows(_, name, rows) => {
                let row = |row: &Vec<Pair>| format!("    {{\n{}    }}", cnf_pairs("        ", row));
                let rows: Vec<_> = rows.iter().map(row).collect();
                format!("{name} =\n(\n{}\n)\n", rows.join(",\n"))
            }
        }
    }
}

fn toml_pairs(pairs: &[Pair]) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        let line = match value {
            Scalar::Int(number) => format!("{name} = {number}"),
            Scalar::Bool(value) => format!("{name} = {value}"),
            Scalar::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => format!("{name} = {}", toml_text(text)),
                Err(_) => format!("{name}_hex = \"{}\"", hex(bytes)),
            },
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// A text between quotes: single ones where nothing has to be escaped then, as in patterns.
fn toml_text(text: &str) -> String {
    let control = |found: char| found.is_ascii_control();
    let literal = !text.contains('\'') && !text.contains(control);
    if literal && text.contains(['\\', '"']) {
        return format!("'{text}'");
    }
    let mut quoted = String::from("\"");
    for found in text.chars() {
        match found {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            found if control(found) => quoted.push_str(&format!("\\u{:04x}", u32::from(found))),
            found => quoted.push(found),
        }
    }
    quoted + "\""
}

fn cnf_pairs(indent: &str, pairs: &[Pair]) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        let value = match value {
            Scalar::Int(number) => number.to_string(),
            Scalar::Bool(value) => value.to_string(),
            Scalar::Text(bytes) => libconfig::quoted(bytes),
        };
        text.push_str(&format!("{indent}{name} = {value}\n"));
    }
    text
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
    }
    text
}
