//! Every table of the interface: tables that are configured, as the engine has them, and tables
//! that show something.
//!
//! `CREATE` statements, what `SHOW` says and the reference page follow from them. Names, columns,
//! types, defaults and constraints are ProxySQL's.

mod history_table;
mod monitor_table;
mod other_table;
mod sql;
mod stats_table;

pub use engine::rows::{Column, Table};
use engine::rows::{TABLES as CONFIGURED, Use};

pub(crate) use sql::{column_list, create, order};

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
                let mut tables = plain(CONFIGURED);
                tables.extend(other(&["mysql_collations", "coredump_filters"]));
                let shown = CONFIGURED.iter().chain(find("coredump_filters"));
                tables.extend(shown.map(|table| (runtime_name(table.name), table)));
                tables.extend(other(&["runtime_checksums_values"]));
                tables
            }
            Schema::Disk => {
                let mut tables = plain(CONFIGURED);
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
    CONFIGURED
}

/// A table of any schema by its own name; of `stats` where several schemas have one.
pub fn find(name: &str) -> Option<&'static Table> {
    let all = [CONFIGURED, other_table::ROWS, stats_table::ROWS, monitor_table::ROWS];
    all.into_iter().flatten().chain(history_table::ROWS).find(|table| table.name == name)
}

/// The name of the table that shows what is in force of table `name`.
pub fn runtime_name(name: &str) -> String {
    format!("{RUNTIME_PREFIX}{name}")
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
    Column::shown(name, kind, null, default, check)
}

/// What tables have in common that only show something.
const SHOWN: Table = Table {
    name: "",
    doc: "",
    section: "",
    columns: &[],
    key: &[],
    unique: &[],
    numbered: false,
    used: Use::Nothing,
};
const NULL: bool = true;
const NOT_NULL: bool = false;
const RUNTIME_PREFIX: &str = "runtime_";

#[cfg(test)]
mod tests;
