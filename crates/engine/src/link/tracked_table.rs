//! System variables of which more is known than that they can be set again elsewhere.
//!
//! A variable that is not here is replayed by its name and value as the client wrote them, once a
//! server has accepted them.

/// Where a variable is known, and by which name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum VariablePlace {
    /// By this name everywhere.
    Both,
    /// MySQL only; other servers are not asked to set it.
    MySql,
    /// MariaDB only.
    MariaDb,
    /// By this name in MySQL, by that one in MariaDB.
    Renamed(&'static str, &'static str),
}

/// How values are made one that mean the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ValueForm {
    /// As written.
    Verbatim,
    /// `0` and `OFF` are one, `1` and `ON` are one.
    Flag,
    /// A flag for which MySQL takes `DEFAULT` for the opposite of its default.
    InvertedFlag,
    /// An isolation level.
    Isolation,
    /// A list that changes what it names and nothing else.
    Switches,
}

/// What is known of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tracked {
    /// The name that it is kept by.
    pub name: &'static str,
    pub place: VariablePlace,
    pub form: ValueForm,
    /// One of the character sets that `SET NAMES` sets.
    pub of_charset: bool,
}

impl Tracked {
    /// What is known of a variable, by any of its names in small letters.
    pub(super) fn find(name: &[u8]) -> Option<&'static Self> {
        TABLE.iter().find(|tracked| {
            tracked.name.as_bytes() == name
                || matches!(tracked.place, Renamed(_, other) if other.as_bytes() == name)
        })
    }
}

const fn row(name: &'static str, place: VariablePlace, form: ValueForm) -> Tracked {
    Tracked { name, place, form, of_charset: false }
}

const fn charset(name: &'static str) -> Tracked {
    Tracked { of_charset: true, ..row(name, VariablePlace::Both, ValueForm::Verbatim) }
}

use ValueForm::{Flag, InvertedFlag, Isolation, Switches, Verbatim};
use VariablePlace::{Both, MariaDb, MySql, Renamed};

/// All of them.
pub(super) const TABLE: &[Tracked] = &[
    charset("character_set_client"),
    charset("character_set_connection"),
    charset("character_set_results"),
    charset("collation_connection"),
    row("transaction_isolation", Renamed("transaction_isolation", "tx_isolation"), Isolation),
    row("transaction_read_only", Renamed("transaction_read_only", "tx_read_only"), Flag),
    row("aria_sort_buffer_size", MariaDb, Verbatim),
    row("big_tables", Both, Flag),
    row("cte_max_recursion_depth", MySql, Verbatim),
    row("explicit_defaults_for_timestamp", Both, Flag),
    row("foreign_key_checks", Both, InvertedFlag),
    row("group_replication_consistency", MySql, Verbatim),
    row("information_schema_stats_expiry", MySql, Verbatim),
    row("innodb_strict_mode", Both, Flag),
    row("innodb_table_locks", Both, Flag),
    row("join_cache_level", MariaDb, Verbatim),
    row("log_slow_filter", MariaDb, Verbatim),
    row("low_priority_updates", Both, Flag),
    row("max_execution_time", MySql, Verbatim),
    row("max_recursive_iterations", MariaDb, Verbatim),
    row("max_statement_time", MariaDb, Verbatim),
    row("old_mode", MariaDb, Verbatim),
    row("optimizer_switch", Both, Switches),
    row("optimizer_use_condition_selectivity", MariaDb, Verbatim),
    row("session_track_gtids", MySql, Verbatim),
    row("sql_auto_is_null", Both, Flag),
    row("sql_big_selects", Both, Flag),
    row("sql_buffer_result", Both, Flag),
    row("sql_generate_invisible_primary_key", MySql, Flag),
    row("sql_log_bin", Both, Flag),
    row("sql_notes", Both, Flag),
    row("sql_quote_show_create", Both, Flag),
    row("sql_require_primary_key", MySql, Flag),
    row("sql_safe_updates", Both, Flag),
    row("sql_warnings", Both, Flag),
    row("system_versioning_asof", MariaDb, Verbatim),
    row("unique_checks", Both, InvertedFlag),
    row("updatable_views_with_limit", Both, Flag),
    row("windowing_use_high_precision", MySql, Flag),
];
