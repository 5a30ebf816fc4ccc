//! What may change the bytes of an answer: each row is a pair of sessions that differ in it alone.

use lab::Flavour;
use wire::Caps;

/// As what a session logs in and what it sets.
#[derive(Clone, Copy)]
pub(crate) struct Begin {
    pub(crate) user: &'static str,
    pub(crate) schema: &'static str,
    pub(crate) collation: u8,
    /// Beside what every client can do.
    pub(crate) caps: Caps,
    /// Statements between semicolons.
    pub(crate) sets: &'static str,
}

/// A pair of sessions, and a text that both ask.
pub(crate) struct Pair {
    /// Servers that know what differs; both where there is none.
    pub(crate) only: Option<Flavour>,
    pub(crate) one: Begin,
    pub(crate) other: Begin,
    pub(crate) text: &'static str,
    /// Whether the answers differ; it is not so where `text` is [`ANY`].
    pub(crate) shows: bool,
}

/// What is asked where no answer is known that shows the setting.
pub(crate) const ANY: &str = "SELECT id, v, s, d, e FROM test.keyed ORDER BY id";

const PLAIN: Begin =
    Begin { user: "app", schema: "test", collation: 45, caps: Caps::NONE, sets: "" };

const fn set(sets: &'static str, text: &'static str) -> Pair {
    differ(Begin { sets, ..PLAIN }, text)
}

const fn differ(other: Begin, text: &'static str) -> Pair {
    Pair { only: None, one: PLAIN, other, text, shows: true }
}

const fn hidden(sets: &'static str) -> Pair {
    Pair { shows: false, ..set(sets, ANY) }
}

/// A mode by itself, beside none.
const fn mode(sets: &'static str, text: &'static str) -> Pair {
    Pair { one: Begin { sets: "SET sql_mode = ''", ..PLAIN }, ..set(sets, text) }
}

const fn hidden_mode(sets: &'static str) -> Pair {
    Pair { shows: false, ..mode(sets, ANY) }
}

const fn able(caps: Caps, text: &'static str) -> Pair {
    differ(Begin { caps, ..PLAIN }, text)
}

const fn hidden_able(caps: Caps) -> Pair {
    Pair { shows: false, ..able(caps, ANY) }
}

const fn mariadb(pair: Pair) -> Pair {
    Pair { only: Some(Flavour::MariaDb), ..pair }
}

const fn mysql(pair: Pair) -> Pair {
    Pair { only: Some(Flavour::MySql), ..pair }
}

/// All of them.
pub(crate) const PAIRS: &[Pair] = &[
    // accounts, schemas, capabilities
    differ(Begin { user: "other", ..PLAIN }, "SELECT v FROM test.secret"),
    differ(Begin { user: "other", ..PLAIN }, "SELECT v FROM test.invoked"),
    Pair { shows: false, ..differ(Begin { user: "other", ..PLAIN }, ANY) },
    differ(Begin { schema: "second", ..PLAIN }, "SELECT v FROM keyed"),
    set("USE second", "SELECT v FROM keyed"),
    differ(Begin { collation: 8, ..PLAIN }, "SELECT 'ä', s FROM test.keyed"),
    differ(Begin { collation: 46, ..PLAIN }, "SELECT 'a' = 'A' FROM test.keyed"),
    able(Caps::DEPRECATE_EOF, ANY),
    able(Caps::IGNORE_SPACE, "SELECT COUNT (*) FROM test.keyed"),
    able(Caps::NO_SCHEMA, "SELECT no_such.keyed.v FROM test.keyed"),
    hidden_able(Caps::FOUND_ROWS),
    hidden_able(Caps::INTERACTIVE),
    hidden_able(Caps::LOCAL_FILES),
    hidden_able(Caps::MULTI_RESULTS),
    hidden_able(Caps::PS_MULTI_RESULTS),
    hidden_able(Caps::MULTI_STATEMENTS),
    hidden_able(Caps::SESSION_TRACK),
    hidden_able(Caps::ODBC),
    mariadb(able(Caps::MARIADB_EXTENDED_METADATA, "SELECT j FROM test.keyed")),
    mariadb(hidden_able(Caps::MARIADB_BULK)),
    mariadb(hidden_able(Caps::MARIADB_PROGRESS)),
    // character sets
    set("SET NAMES latin1", "SELECT 'ä', s FROM test.keyed"),
    set("SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SELECT 'a' = 'A' FROM test.keyed"),
    set("SET character_set_client = latin1", "SELECT 'ä', s FROM test.keyed"),
    set("SET character_set_results = latin1", "SELECT s FROM test.keyed"),
    set("SET character_set_results = NULL", "SELECT l FROM test.keyed"),
    set("SET character_set_connection = latin1", "SELECT CHARSET('a') FROM test.keyed"),
    set("SET collation_connection = utf8mb4_bin", "SELECT 'a' = 'A' FROM test.keyed"),
    hidden("SET character_set_server = latin1"),
    hidden("SET collation_server = utf8mb4_bin"),
    hidden("SET character_set_database = latin1"),
    hidden("SET character_set_filesystem = latin1"),
    // modes by which texts are read, or values are computed
    mode("SET sql_mode = 'PIPES_AS_CONCAT'", "SELECT s || s FROM test.keyed"),
    mode("SET sql_mode = 'ANSI_QUOTES'", "SELECT \"s\" FROM test.keyed"),
    mode("SET sql_mode = 'ANSI'", "SELECT \"s\" FROM test.keyed"),
    mode("SET sql_mode = 'IGNORE_SPACE'", "SELECT COUNT (*) FROM test.keyed"),
    mode("SET sql_mode = 'NO_BACKSLASH_ESCAPES'", "SELECT 'a\\tb' FROM test.keyed"),
    mode("SET sql_mode = 'HIGH_NOT_PRECEDENCE'", "SELECT NOT 1 BETWEEN -5 AND 5 FROM test.keyed"),
    mode(
        "SET sql_mode = 'NO_UNSIGNED_SUBTRACTION'",
        "SELECT CAST(0 AS UNSIGNED) - v FROM test.keyed",
    ),
    mode("SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'", "SELECT c FROM test.keyed"),
    mode("SET sql_mode = 'ERROR_FOR_DIVISION_BY_ZERO'", "SELECT v / 0 FROM test.keyed"),
    mode(
        "SET sql_mode = 'NO_ZERO_DATE'",
        "SELECT STR_TO_DATE('0000-00-00', '%Y-%m-%d') FROM test.keyed",
    ),
    mode(
        "SET sql_mode = 'NO_ZERO_IN_DATE'",
        "SELECT STR_TO_DATE('2024-00-01', '%Y-%m-%d') FROM test.keyed",
    ),
    mode(
        "SET sql_mode = 'ALLOW_INVALID_DATES'",
        "SELECT CAST('2024-02-31' AS DATE) FROM test.keyed",
    ),
    mode("SET sql_mode = 'ONLY_FULL_GROUP_BY'", "SELECT v, s FROM test.keyed GROUP BY v"),
    hidden_mode("SET sql_mode = 'STRICT_TRANS_TABLES'"),
    hidden_mode("SET sql_mode = 'STRICT_ALL_TABLES'"),
    hidden_mode("SET sql_mode = 'TRADITIONAL'"),
    hidden_mode("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'"),
    hidden_mode("SET sql_mode = 'NO_DIR_IN_CREATE'"),
    hidden_mode("SET sql_mode = 'NO_ENGINE_SUBSTITUTION'"),
    mysql(mode("SET sql_mode = 'REAL_AS_FLOAT'", "SELECT CAST(e AS REAL) FROM test.keyed")),
    mysql(mode(
        "SET sql_mode = 'TIME_TRUNCATE_FRACTIONAL'",
        "SELECT CAST('10:00:00.9' AS TIME) FROM test.keyed",
    )),
    mariadb(mode("SET sql_mode = 'EMPTY_STRING_IS_NULL'", "SELECT '' FROM test.keyed")),
    mariadb(mode(
        "SET sql_mode = 'TIME_ROUND_FRACTIONAL'",
        "SELECT CAST('10:00:00.9' AS TIME) FROM test.keyed",
    )),
    mariadb(mode("SET sql_mode = 'ORACLE'", "SELECT 'a' || NULL FROM test.keyed")),
    mariadb(mode("SET sql_mode = 'MSSQL'", "SELECT [s] FROM test.keyed")),
    mariadb(mode("SET sql_mode = 'POSTGRESQL'", "SELECT s || s FROM test.keyed")),
    mariadb(mode("SET sql_mode = 'DB2'", "SELECT s || s FROM test.keyed")),
    mariadb(mode("SET sql_mode = 'MAXDB'", "SELECT s || s FROM test.keyed")),
    mariadb(hidden_mode("SET sql_mode = 'SIMULTANEOUS_ASSIGNMENT'")),
    mariadb(hidden_mode("SET sql_mode = 'NO_AUTO_CREATE_USER'")),
    mariadb(hidden_mode("SET sql_mode = 'NO_FIELD_OPTIONS'")),
    // what values are computed with and written by
    set("SET time_zone = '+09:00'", "SELECT t FROM test.keyed"),
    set("SET lc_time_names = 'de_DE'", "SELECT DATE_FORMAT(t, '%M %a') FROM test.keyed"),
    set("SET lc_messages = 'de_DE'", "SELECT no_such FROM test.keyed"),
    set("SET div_precision_increment = 9", "SELECT v / 3 FROM test.keyed"),
    set("SET group_concat_max_len = 4", "SELECT GROUP_CONCAT(s, s, s) FROM test.keyed"),
    set("SET default_week_format = 3", "SELECT WEEK('2024-01-01') FROM test.keyed"),
    set("SET timestamp = 86400", "SELECT CAST(TIME'10:00:00' AS DATETIME) FROM test.keyed"),
    set("SET timestamp = 86400", "SELECT UNIX_TIMESTAMP() > 90000 FROM test.keyed"),
    hidden("SET rand_seed1 = 7, rand_seed2 = 8"),
    set("SET last_insert_id = 77", "SELECT LAST_INSERT_ID() FROM test.keyed"),
    set("SET @a = 5", "SELECT @a, v FROM test.keyed"),
    set("SET autocommit = 0", ANY),
    set("START TRANSACTION", ANY),
    set("SET ROLE watcher", "SELECT CURRENT_ROLE(), v FROM test.keyed"),
    mysql(set(
        "SET block_encryption_mode = 'aes-256-ecb'",
        "SELECT HEX(AES_ENCRYPT(s, 'k')) FROM test.keyed",
    )),
    mysql(set(
        "SET default_collation_for_utf8mb4 = utf8mb4_general_ci",
        "SELECT COLLATION(_utf8mb4'a') FROM test.keyed",
    )),
    mysql(set(
        "SET windowing_use_high_precision = OFF",
        "SELECT SUM(e) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM test.keyed",
    )),
    mysql(set(
        "SET cte_max_recursion_depth = 2",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 9) \
         SELECT n, v FROM r, test.keyed",
    )),
    mariadb(set(
        "SET max_recursive_iterations = 2",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 9) \
         SELECT n, v FROM r, test.keyed",
    )),
    mariadb(set(
        "SET default_regex_flags = 'DOTALL'",
        "SELECT 'a\\nb' REGEXP 'a.b' FROM test.keyed",
    )),
    mariadb(set("SET old_mode = ''", "SELECT CHARSET(_utf8'a') FROM test.keyed")),
    mariadb(set(
        "SET old_mode = 'UTF8_IS_UTF8MB3,ZERO_DATE_TIME_CAST'",
        "SELECT CAST(TIME'10:00:00' AS DATETIME) FROM test.keyed",
    )),
    mariadb(hidden("SET old_mode = 'NO_PROGRESS_INFO'")),
    mariadb(set("SET system_versioning_asof = '2020-01-01'", "SELECT v FROM test.versioned")),
    // how much of an answer there is
    set("SET sql_select_limit = 1", "SELECT id FROM test.keyed"),
    set("SET max_join_size = 1, sql_big_selects = 0", "SELECT v FROM test.keyed"),
    hidden("SET sql_big_selects = 0"),
    hidden("SET max_error_count = 1"),
    hidden("SET max_sort_length = 100"),
    hidden("SET max_sp_recursion_depth = 3"),
    hidden("SET sql_notes = 0"),
    hidden("SET sql_warnings = 1"),
    hidden("SET sql_safe_updates = 1"),
    hidden("SET sql_auto_is_null = 1"),
    hidden("SET insert_id = 7"),
    // how it is come by
    hidden("SET optimizer_switch = 'index_merge=off'"),
    hidden("SET optimizer_prune_level = 0"),
    hidden("SET optimizer_search_depth = 5"),
    hidden("SET eq_range_index_dive_limit = 3"),
    hidden("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"),
    hidden("SET SESSION TRANSACTION READ ONLY"),
    hidden("SET big_tables = 1"),
    hidden("SET explicit_defaults_for_timestamp = 0"),
    hidden("SET sql_buffer_result = 1"),
    hidden("SET tmp_table_size = 2097152"),
    hidden("SET max_heap_table_size = 2097152"),
    hidden("SET join_buffer_size = 262144"),
    hidden("SET sort_buffer_size = 524288"),
    hidden("SET read_buffer_size = 262144"),
    hidden("SET read_rnd_buffer_size = 262144"),
    hidden("SET max_length_for_sort_data = 1000"),
    hidden("SET max_seeks_for_key = 100"),
    hidden("SET low_priority_updates = 1"),
    hidden("SET foreign_key_checks = 0"),
    hidden("SET unique_checks = 0"),
    hidden("SET sql_quote_show_create = 0"),
    hidden("SET updatable_views_with_limit = 0"),
    hidden("SET completion_type = 1"),
    hidden("SET default_storage_engine = MyISAM"),
    hidden("SET innodb_lock_wait_timeout = 7"),
    hidden("SET lock_wait_timeout = 9"),
    hidden("SET wait_timeout = 601"),
    hidden("SET net_write_timeout = 61"),
    hidden("SET long_query_time = 5"),
    mysql(hidden("SET max_execution_time = 60000")),
    mysql(hidden("SET range_optimizer_max_mem_size = 1000000")),
    mysql(hidden("SET internal_tmp_mem_storage_engine = MEMORY")),
    mysql(hidden("SET end_markers_in_json = 1")),
    mysql(hidden("SET explain_format = 'TREE'")),
    mysql(hidden("SET information_schema_stats_expiry = 0")),
    mysql(hidden("SET session_track_gtids = 'OWN_GTID'")),
    mysql(hidden("SET session_track_transaction_info = 'STATE'")),
    mysql(hidden("SET use_secondary_engine = OFF")),
    mariadb(hidden("SET max_statement_time = 60")),
    mariadb(hidden("SET join_cache_level = 8")),
    mariadb(hidden("SET optimizer_use_condition_selectivity = 1")),
    mariadb(hidden("SET use_stat_tables = 'NEVER'")),
    mariadb(hidden("SET in_predicate_conversion_threshold = 2")),
    mariadb(hidden("SET standard_compliant_cte = OFF")),
    mariadb(hidden("SET query_cache_type = OFF")),
    mariadb(hidden("SET sql_if_exists = 1")),
    mariadb(hidden("SET check_constraint_checks = 0")),
];
