//! Rows as a `tidegate.toml`: what is not a default, in the order of the registry.

use std::fmt::Write;

use admin::tables::{self, Table};
use admin::{Rows, cell_text};
use engine::vars::{self, Family};
use toml::Value;

/// The text of a file that says what `rows` say.
pub(super) fn of(rows: &Rows) -> String {
    let mut text = String::new();
    for family in [Family::Mysql, Family::Admin] {
        variables(rows, family, &mut text);
    }
    for table in tables::configured().iter().filter(|table| table.name != "global_variables") {
        for row in rows.get(table.name).into_iter().flatten() {
            // writing to a string does not fail
            let _ = writeln!(text, "\n[[{}]]", table.name);
            for (at, column) in table.columns.iter().enumerate() {
                let Some(value) = row.get(at).and_then(cell_text) else { continue };
                if value != default_of(table, at) || table.key.contains(&column.name) {
                    let _ = writeln!(text, "{} = {}", column.name, typed(&value, column.kind));
                }
            }
        }
    }
    text
}

fn variables(rows: &Rows, family: Family, text: &mut String) {
    let mut begun = false;
    for row in rows.get("global_variables").into_iter().flatten() {
        let [name, value] = [0, 1].map(|at| row.get(at).and_then(cell_text).unwrap_or_default());
        let Some(variable) = vars::find(&name).filter(|found| found.family == family) else {
            continue;
        };
        if variable.kind == vars::Kind::ReadOnly || variable.default_value().to_string() == value {
            continue;
        }
        if !std::mem::replace(&mut begun, true) {
            let _ = writeln!(text, "\n[{}]", family.table());
        }
        let kind = match variable.kind {
            vars::Kind::Int { .. } => "INT",
            vars::Kind::Bool => "BOOL",
            _ => "VARCHAR",
        };
        let _ = writeln!(text, "{} = {}", variable.name, typed(&value, kind));
    }
}

fn default_of(table: &Table, at: usize) -> String {
    let default = table.columns.get(at).map_or("", |column| column.default);
    default.trim_matches(|sign| matches!(sign, '(' | ')' | '\'')).to_owned()
}

fn typed(value: &str, kind: &str) -> Value {
    match (kind, value.parse::<i64>()) {
        ("INT" | "INTEGER", Ok(number)) => Value::Integer(number),
        ("BOOL", _) => Value::Boolean(value == "1" || value.eq_ignore_ascii_case("true")),
        _ => Value::String(value.to_owned()),
    }
}
