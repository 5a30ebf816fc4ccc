//! Rows an operator may configure, exactly as typed, and the registry of their columns.
//!
//! A column has one entry, in a `…_table.rs` of this folder. Its typed field and default, the
//! statement that creates its table, conversions, files, notes about what has no effect and the
//! reference follow from that. Nothing here is validated; `snapshot` does that.

mod cell;
mod clusters_table;
mod column;
mod drafted_table;
mod programs_table;
mod table_rows;
mod tables_table;

pub use cell::{Cell, Typed};
pub use clusters_table::{
    AuroraRow, GaleraRow, GroupReplicationRow, ReplicationClusterRow, ReplicationRow,
};
pub use column::{Acts, Column, Saved, Shape, Table, Use};
pub use drafted_table::{FastRoutingRow, HostgroupRow, RuleRow, ServerRow, ServerTlsRow, UserRow};
pub use programs_table::{RestapiRouteRow, SchedulerRow};
pub use table_rows::TableRows;
pub use tables_table::TABLES;

/// A row of a table, each column a typed field.
pub trait Row: Default + Clone + 'static {
    /// Its table.
    const TABLE: &'static Table;
    /// The way to each field, in the order of the table's columns.
    const FIELDS: &'static [Field<Self>];
}

/// The way to one field of a row.
#[derive(Clone, Copy, Debug)]
pub struct Field<R> {
    /// Its value.
    pub get: fn(&R) -> Cell,
    /// Puts a value there; the error says what is wanted.
    pub set: fn(&mut R, Cell) -> Result<(), String>,
}

/// The table of that name.
pub fn find(table: &str) -> Option<&'static Table> {
    TABLES.iter().find(|found| found.name == table)
}

/// Defines the type of a table's rows and the table from one entry a column: what the field is, its
/// type, and the column.
macro_rules! rows {
    (
        $(#[$doc:meta])*
        $row:ident, $table:expr;
        $($(#[$of:meta])* $field:ident: $type:ty = $column:expr;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct $row {
            $($(#[$of])* pub $field: $type,)*
        }

        impl Default for $row {
            fn default() -> Self {
                let mut columns = <Self as $crate::rows::Row>::TABLE.columns.iter();
                Self { $($field: $crate::rows::Typed::initial(columns.next()),)* }
            }
        }

        impl $crate::rows::Row for $row {
            const TABLE: &'static $crate::rows::Table = &$table.columns(&[$($column),*]);
            const FIELDS: &'static [$crate::rows::Field<Self>] = &[$($crate::rows::Field {
                get: |row| $crate::rows::Typed::cell(&row.$field),
                set: |row, cell| {
                    row.$field = $crate::rows::Typed::read(cell)?;
                    Ok(())
                },
            }),*];
        }
    };
}
use rows;

#[cfg(test)]
mod tests;
