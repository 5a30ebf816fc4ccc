//! Rows of the registry: tables of `main` and `disk` that are not in both.
//!
//! Data only; what a row means is in the parent module.

use super::{NOT_NULL, SHOWN, Table, column};

/// The rows.
pub(super) const ROWS: &[Table] = &[
    Table {
        name: "mysql_collations",
        doc: "Collations and their character sets; read-only.",
        columns: &[
            column("Id", "INTEGER", NOT_NULL, "", ""),
            column("Collation", "VARCHAR", NOT_NULL, "", ""),
            column("Charset", "VARCHAR", NOT_NULL, "", ""),
            column("Default", "VARCHAR", NOT_NULL, "", ""),
        ],
        key: &["Id"],
        ..SHOWN
    },
    Table {
        name: "coredump_filters",
        doc: "Accepted; without effect.",
        columns: &[
            column("filename", "VARCHAR", NOT_NULL, "", ""),
            column("line", "INT", NOT_NULL, "", ""),
        ],
        key: &["filename", "line"],
        ..SHOWN
    },
    Table {
        name: "global_settings",
        doc: "Values that the process keeps for itself, such as its identity.",
        columns: &[
            column("variable_name", "VARCHAR", NOT_NULL, "", ""),
            column("variable_value", "VARCHAR", NOT_NULL, "", ""),
        ],
        key: &["variable_name"],
        ..SHOWN
    },
    Table {
        name: "runtime_checksums_values",
        doc: "Versions and checksums of the modules in force.",
        columns: &[
            column("name", "VARCHAR", NOT_NULL, "", ""),
            column("version", "INT", NOT_NULL, "", ""),
            column("epoch", "INT", NOT_NULL, "", ""),
            column("checksum", "VARCHAR", NOT_NULL, "", ""),
        ],
        key: &["name"],
        ..SHOWN
    },
];
