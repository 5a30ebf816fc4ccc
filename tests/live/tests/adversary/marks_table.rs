//! What neighbours have otherwise than anybody else: variables with two values that are not the
//! defaults, and what they do with a connection before somebody else gets it.

/// Variables and a value for each of the neighbours.
pub(crate) const VARIABLES: &[(&str, &str, &str)] = &[
    ("big_tables", "1", "1"),
    ("bulk_insert_buffer_size", "1048576", "2097152"),
    ("default_week_format", "3", "4"),
    ("div_precision_increment", "7", "2"),
    ("end_markers_in_json", "1", "1"),
    ("explicit_defaults_for_timestamp", "0", "0"),
    ("foreign_key_checks", "0", "0"),
    ("group_concat_max_len", "100", "200"),
    ("innodb_lock_wait_timeout", "7", "9"),
    ("innodb_strict_mode", "0", "0"),
    ("interactive_timeout", "601", "602"),
    ("join_buffer_size", "262144", "393216"),
    ("lc_messages", "'de_DE'", "'fr_FR'"),
    ("lc_time_names", "'de_DE'", "'fr_FR'"),
    ("lock_wait_timeout", "9", "11"),
    ("long_query_time", "2.5", "3.5"),
    ("low_priority_updates", "1", "1"),
    ("max_error_count", "3", "5"),
    ("max_sort_length", "100", "200"),
    ("max_sp_recursion_depth", "3", "4"),
    ("net_write_timeout", "61", "62"),
    ("old_mode", "'ZERO_DATE_TIME_CAST'", "'NO_PROGRESS_INFO'"),
    ("optimizer_prune_level", "0", "0"),
    ("optimizer_switch", "'index_merge=off'", "'mrr=off,index_merge=off'"),
    ("optimizer_search_depth", "5", "6"),
    ("sort_buffer_size", "524288", "393216"),
    ("sql_big_selects", "0", "0"),
    ("sql_buffer_result", "1", "1"),
    ("sql_mode", "'PIPES_AS_CONCAT'", "'NO_UNSIGNED_SUBTRACTION,IGNORE_SPACE'"),
    ("sql_notes", "0", "0"),
    ("sql_quote_show_create", "0", "0"),
    ("sql_safe_updates", "1", "1"),
    ("sql_select_limit", "100", "200"),
    ("sql_warnings", "1", "1"),
    ("time_zone", "'-07:00'", "'+05:45'"),
    ("tmp_table_size", "2097152", "3145728"),
    ("unique_checks", "0", "0"),
    ("updatable_views_with_limit", "0", "0"),
];

/// User variables of scripts, all of which neighbours have.
pub(crate) const USER_VARIABLES: &[&str] =
    &["a", "b", "c", "x", "n", "m", "s", "old", "hidden", "seen", "other"];

/// What a neighbour does in its transaction. What is taken is given back, in words that scripts do not use: a connection is free
/// afterwards, whoever had taken the same before and lost it.
pub(crate) const IN_TRANSACTION: &[&str] = &[
    "SELECT SQL_CALC_FOUND_ROWS * FROM five LIMIT 2",
    "SELECT GET_LOCK('l', 0), GET_LOCK('k', 0)",
    "DO RELEASE_ALL_LOCKS( )",
    "CREATE TEMPORARY TABLE IF NOT EXISTS test.x (neighbour INT)",
    "DROP TEMPORARY TABLE test.x",
    "CREATE TEMPORARY TABLE IF NOT EXISTS test.y (neighbour INT)",
    "DROP TEMPORARY TABLE test.y",
    "SAVEPOINT S",
];

/// What a neighbour leaves for a reset to undo.
pub(crate) const LEFT_BEHIND: &[&str] = &[
    "SELECT @a := 'left', @hidden := 'left', @seen := 'left'",
    "CREATE TEMPORARY TABLE IF NOT EXISTS test.x (left_behind INT)",
    "PREPARE S FROM 'SELECT ''left'''",
    "SET ROLE watcher",
    "SET @@session.div_precision_increment = 1 + (SELECT MIN(a) FROM five)",
];

/// What a neighbour that writes does last, in autocommit.
pub(crate) const LAST: &[&[&str]] = &[
    &[],
    &["INSERT INTO written (b) VALUES (1), (2), (3)"],
    &["SELECT a FROM five"],
    &["UPDATE written SET b = b + 1 WHERE a > 0"],
    &["SELECT CAST('x' AS SIGNED)"],
    &["SELECT no_such_column FROM five"],
];

/// The schema of neighbours.
pub(crate) const SCHEMA: &str = "DROP DATABASE IF EXISTS other; CREATE DATABASE other; \
    CREATE TABLE other.n (a INT AUTO_INCREMENT PRIMARY KEY, b INT) AUTO_INCREMENT = 1000; \
    CREATE TABLE other.five (a INT PRIMARY KEY); \
    INSERT INTO other.five VALUES (1), (2), (3), (4), (5); \
    CREATE TABLE other.written (a INT AUTO_INCREMENT PRIMARY KEY, b INT) AUTO_INCREMENT = 9000; \
    COMMIT";
