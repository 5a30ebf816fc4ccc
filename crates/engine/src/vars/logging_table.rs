//! Rows of the registry: query log, audit log and how much is told.
//!
//! Data only; what a row means is in the parent module.

use super::{Kind, Unit, Variable, int, mysql};

/// The rows.
pub(super) const ROWS: &[Variable] = &[
    mysql("eventslog_filename", Kind::Text, "", "Base name of the query log; empty writes none."),
    mysql(
        "eventslog_filesize",
        int(1_048_576, 1_073_741_824),
        "104857600",
        "Size at which the query log goes on in a new file.",
    )
    .unit(Unit::Bytes),
    mysql("eventslog_default_log", int(0, 1), "0", "1 logs queries for which no rule decides."),
    mysql("eventslog_format", int(1, 2), "1", "Format of the query log: 1 binary, 2 JSON lines."),
    mysql("auditlog_filename", Kind::Text, "", "Base name of the audit log; empty writes none."),
    mysql(
        "auditlog_filesize",
        int(1_048_576, 1_073_741_824),
        "104857600",
        "Size at which the audit log goes on in a new file.",
    )
    .unit(Unit::Bytes),
    mysql(
        "hostgroup_manager_verbose",
        int(0, 3),
        "1",
        "How much of the server tables is logged when they change.",
    ),
    mysql(
        "data_packets_history_size",
        int(0, 2_147_483_646),
        "0",
        "Packets remembered of each session for debugging.",
    ),
    mysql("session_debug", Kind::Bool, "true", "A switch of debug builds."),
];
