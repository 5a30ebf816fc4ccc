//! Tables and columns as SQL.

use super::{Column, Table};

/// The statement that creates a table as `name` in `schema`.
pub(crate) fn create(table: &Table, schema: &str, name: &str) -> String {
    format!("CREATE TABLE {schema}.{name} ({})", body(table))
}

/// Its columns, as a list.
pub(crate) fn column_list(table: &Table) -> String {
    let names: Vec<String> = table.columns.iter().map(|column| quoted(column.name)).collect();
    names.join(", ")
}

/// The columns by which its rows are ordered and told apart: the key, else all of them.
pub(crate) fn order(table: &Table) -> String {
    match table.key {
        [] => column_list(table),
        key => key.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "),
    }
}

fn body(table: &Table) -> String {
    let mut parts: Vec<String> = table.columns.iter().map(|c| column_text(table, c)).collect();
    if table.key.len() > 1 {
        parts.push(format!("PRIMARY KEY ({})", table.key.join(", ")));
    }
    parts.extend(table.unique.iter().map(|columns| format!("UNIQUE ({columns})")));
    parts.join(" , ")
}

fn column_text(table: &Table, column: &Column) -> String {
    let mut text = quoted(column.name);
    let mut add = |piece: &str| {
        text.push(' ');
        text.push_str(piece);
    };
    if !column.kind.is_empty() {
        add(column.kind);
    }
    if table.key == [column.name] {
        add("PRIMARY KEY");
        if table.numbered {
            add("AUTOINCREMENT");
        }
    }
    if !column.check.is_empty() {
        add(&format!("CHECK ({})", column.check));
    }
    if !column.null {
        add("NOT NULL");
    }
    if !column.default.is_empty() {
        add(&format!("DEFAULT {}", column.default));
    }
    text
}

/// A name as it is written in SQL: in quotes only where it has to be.
fn quoted(name: &str) -> String {
    match name {
        "Default" | "table" | "schema" | "user" => format!("\"{name}\""),
        name => name.to_owned(),
    }
}
