//! The registry of tables: one row each, from which everything about a table follows.
//!
//! `CREATE` statements, what `SHOW` says, the reference page and the conversion of rows follow
//! from it. Names, columns, types, defaults and constraints are ProxySQL's.

mod config_table;
mod history_table;
mod monitor_table;
mod other_table;
mod stats_table;

/// One table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name, without schema.
    pub name: &'static str,
    /// One sentence on what its rows are.
    pub doc: &'static str,
    /// Columns in order; people insert without naming them.
    pub columns: &'static [Column],
    /// Columns of the primary key; empty for none.
    pub key: &'static [&'static str],
    /// Further columns, or lists of them, that are unique.
    pub unique: &'static [&'static str],
    /// Whether the key counts itself.
    pub numbered: bool,
}

/// One column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its declared type; SQLite enforces none.
    pub kind: &'static str,
    /// Whether NULL is allowed.
    pub null: bool,
    /// Default as an SQL expression; empty for none.
    pub default: &'static str,
    /// Condition that values must meet, as an SQL expression; empty for none.
    pub check: &'static str,
    /// Whether its values are passwords, which only administrators see.
    pub secret: bool,
}

impl Column {
    /// The same column, with values that only administrators see.
    const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }
}

/// The schemas that an administrator sees.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Schema {
    /// In memory: what is edited, and `runtime_…` tables that show what is in force.
    Main,
    /// The database file.
    Disk,
    /// Statistics.
    Stats,
    /// What monitoring found.
    Monitor,
    /// Samples of statistics, in a file of their own.
    History,
}

impl Schema {
    /// Every schema, in the order in which they are listed.
    pub const ALL: [Schema; 5] =
        [Schema::Main, Schema::Disk, Schema::Stats, Schema::Monitor, Schema::History];

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Schema::Main => "main",
            Schema::Disk => "disk",
            Schema::Stats => "stats",
            Schema::Monitor => "monitor",
            Schema::History => "stats_history",
        }
    }

    /// The tables in it, each with the name it has there.
    pub fn tables(self) -> Vec<(String, &'static Table)> {
        let plain = |rows: &'static [Table]| {
            rows.iter().map(|table| (table.name.to_owned(), table)).collect::<Vec<_>>()
        };
        match self {
            Schema::Main => {
                let mut tables = plain(config_table::ROWS);
                tables.extend(other(&["mysql_collations", "coredump_filters"]));
                let shown = config_table::ROWS.iter().chain(find("coredump_filters"));
                tables.extend(shown.map(|table| (runtime_name(table.name), table)));
                tables.extend(other(&["runtime_checksums_values"]));
                tables
            }
            Schema::Disk => {
                let mut tables = plain(config_table::ROWS);
                tables.extend(other(&["mysql_collations", "global_settings"]));
                tables
            }
            Schema::Stats => plain(stats_table::ROWS),
            Schema::Monitor => plain(monitor_table::ROWS),
            Schema::History => plain(history_table::ROWS),
        }
    }

    /// Whether the rows of its table `name` are made when somebody looks at them, and cannot be
    /// written.
    pub fn is_live(self, name: &str) -> bool {
        match self {
            Schema::Main => name.starts_with(RUNTIME_PREFIX),
            Schema::Stats | Schema::Monitor => true,
            Schema::Disk | Schema::History => false,
        }
    }
}

/// The tables that an operator configures.
pub fn configured() -> &'static [Table] {
    config_table::ROWS
}

/// A table of any schema by its own name; of `stats` where several schemas have one.
pub fn find(name: &str) -> Option<&'static Table> {
    let all = [config_table::ROWS, other_table::ROWS, stats_table::ROWS, monitor_table::ROWS];
    all.into_iter().flatten().chain(history_table::ROWS).find(|table| table.name == name)
}

/// The name of the table that shows what is in force of table `name`.
pub fn runtime_name(name: &str) -> String {
    format!("{RUNTIME_PREFIX}{name}")
}

impl Table {
    /// The statement that creates it as `name` in `schema`.
    pub fn create(&self, schema: &str, name: &str) -> String {
        format!("CREATE TABLE {schema}.{name} ({})", self.body())
    }

    /// The position of a column.
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|found| found.name.eq_ignore_ascii_case(column))
    }

    /// Its columns, as a list in SQL.
    pub fn column_list(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|column| quoted(column.name)).collect();
        names.join(", ")
    }

    /// The columns by which its rows are ordered and told apart: the key, else all of them.
    pub fn order(&self) -> String {
        match self.key {
            [] => self.column_list(),
            key => key.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "),
        }
    }

    fn body(&self) -> String {
        let mut parts: Vec<String> = self.columns.iter().map(|c| self.column_text(c)).collect();
        if self.key.len() > 1 {
            parts.push(format!("PRIMARY KEY ({})", self.key.join(", ")));
        }
        parts.extend(self.unique.iter().map(|columns| format!("UNIQUE ({columns})")));
        parts.join(" , ")
    }

    fn column_text(&self, column: &Column) -> String {
        let mut text = quoted(column.name);
        let mut add = |piece: &str| {
            text.push(' ');
            text.push_str(piece);
        };
        if !column.kind.is_empty() {
            add(column.kind);
        }
        if self.key == [column.name] {
            add("PRIMARY KEY");
            if self.numbered {
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
}

/// A name as it is written in SQL: in quotes only where it has to be.
fn quoted(name: &str) -> String {
    match name {
        "Default" | "table" | "schema" | "user" => format!("\"{name}\""),
        name => name.to_owned(),
    }
}

fn other(names: &'static [&'static str]) -> impl Iterator<Item = (String, &'static Table)> {
    names.iter().filter_map(|name| Some(((*name).to_owned(), find(name)?)))
}

const fn column(
    name: &'static str,
    kind: &'static str,
    null: bool,
    default: &'static str,
    check: &'static str,
) -> Column {
    Column { name, kind, null, default, check, secret: false }
}

const NULL: bool = true;
const NOT_NULL: bool = false;
const RUNTIME_PREFIX: &str = "runtime_";

#[cfg(test)]
mod tests;
