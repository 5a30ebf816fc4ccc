//! What becomes of a connection's state by a list of statements, and how another one follows.

use super::*;
use crate::link::tracked_table::TABLE;

fn fresh() -> LinkState {
    LinkState::new(None, Charset::Named("utf8mb4"))
}

/// The state after these statements; `None` when one of them cannot be had elsewhere.
fn after(texts: &[&str]) -> Option<LinkState> {
    texts.iter().try_fold(fresh(), |state, text| {
        let set = sql::parse_set(text.as_bytes())?;
        Some(assigned(&state, &set)?.state)
    })
}

/// The `SET` that brings a connection from one state to the other.
fn moves(from: &[&str], to: &[&str]) -> Option<String> {
    let plan = after(to).expect("followed").plan(&after(from).expect("followed"));
    plan.expect("there is a way").settings
}

#[test]
fn what_was_set_is_set_elsewhere_in_one_statement() {
    for (texts, expected) in [
        (&["SET sql_mode='ALLOW_INVALID_DATES'"][..], "SET sql_mode='ALLOW_INVALID_DATES'"),
        (&["SET SESSION Time_Zone=\"+01:00\", @A=5"], "SET @a=5, time_zone='+01:00'"),
        (&["SET @a=1", "SET @a=2, @b='it''s'"], "SET @a=2, @b=_utf8mb4'it''s'"),
        (
            &["SET @a='x'", "SET NAMES latin1 COLLATE latin1_bin", "SET @b='y'"],
            "SET NAMES latin1 COLLATE latin1_bin, @a=_utf8mb4'x', @b=_latin1'y' COLLATE latin1_bin",
        ),
        (&["SET foreign_key_checks=OFF"], "SET foreign_key_checks=0"),
        (
            &["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY"],
            "SET /*!50720 transaction_isolation*//*M! tx_isolation*/='READ-COMMITTED', \
             /*!50720 transaction_read_only*//*M! tx_read_only*/=1",
        ),
        (
            &["SET SESSION tx_isolation='read-committed'"],
            "SET /*!50720 transaction_isolation*//*M! tx_isolation*/='READ-COMMITTED'",
        ),
        (
            &["SET sql_select_limit=5, max_statement_time=1"],
            "SET @tidegate=NULL/*M! , max_statement_time=1*/, sql_select_limit=5",
        ),
        (
            &["SET max_execution_time=1000"],
            "SET @tidegate=NULL/*!50720 , max_execution_time=1000*/",
        ),
        (&["SET NAMES latin1, sql_mode=''"], "SET NAMES latin1, sql_mode=''"),
        (&["SET character_set_results=NULL"], "SET NAMES utf8mb4, character_set_results=NULL"),
        (
            &["SET character_set_connection=latin1", "SET collation_connection='utf8mb4_bin'"],
            "SET NAMES utf8mb4, collation_connection='utf8mb4_bin'",
        ),
        (
            &["SET sql_mode=CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')"],
            "SET sql_mode=CONCAT(CASE WHEN @@global.sql_mode REGEXP _utf8mb4'ANSI|NO_BACKSLASH|DB2|\
             MAXDB|MSSQL|ORACLE|POSTGRES' THEN _utf8mb4'' ELSE @@global.sql_mode END,\
             ',STRICT_ALL_TABLES')",
        ),
        (
            &["SET sql_mode='A'", "SET @old=@@sql_mode, sql_mode=''", "SET sql_mode=@old"],
            "SET @old=_utf8'A', sql_mode=_utf8'A'",
        ),
        (&["SET NAMES binary", "SET @a='x'"], "SET NAMES binary, @a=_binary'x'"),
        (
            &["SET NAMES binary COLLATE binary", "SET @a='x'"],
            "SET NAMES binary COLLATE binary, @a=_binary'x'",
        ),
        (&["SET @a=5", "SET @a=NULL", "SET @a=NULL"], "SET @a=5,@a=NULL"),
        (&["SET @a='x', @a=NULL"], "SET @a=_utf8mb4'x',@a=NULL"),
        (&["SET @a='x(y'", "SET @b=@a"], "SET @a=_utf8mb4'x(y', @b=_utf8mb4'x(y'"),
        (
            &["SET time_zone='+01:00'", "SET @a=@@time_zone"],
            "SET @a=_utf8'+01:00', time_zone='+01:00'",
        ),
        (&["SET @a=NULL"], "SET @a=_binary'',@a=NULL"),
    ] {
        assert_eq!(moves(&[], texts).as_deref(), Some(expected), "{texts:?}");
    }
}

#[test]
fn what_servers_put_together_is_put_together_here() {
    for (texts, expected) in [
        (
            &[
                "SET optimizer_switch='index_merge=off'",
                "SET optimizer_switch=\"mrr=on , MRR_sort_keys=on\"",
            ][..],
            "SET optimizer_switch='default,index_merge=off,mrr=on,mrr_sort_keys=on'",
        ),
        (
            &["SET optimizer_switch='mrr=on,index_merge=off'", "SET optimizer_switch='mrr=off'"],
            "SET optimizer_switch='default,index_merge=off,mrr=off'",
        ),
        (
            &["SET optimizer_switch='mrr=on'", "SET optimizer_switch='default,index_merge=off'"],
            "SET optimizer_switch='default,index_merge=off'",
        ),
        (
            &["SET collation_server=utf8mb4_bin", "SET character_set_server=latin1"],
            "SET character_set_server=latin1",
        ),
        (&["SET sql_big_selects=1", "SET max_join_size=1"], "SET max_join_size=1"),
        (
            &["SET max_join_size=1", "SET sql_big_selects=1"],
            "SET max_join_size=1, sql_big_selects=1",
        ),
        (&["SET session_track_schema=ON, sql_auto_is_null=0"], "SET sql_auto_is_null=0"),
    ] {
        assert_eq!(moves(&[], texts).as_deref(), Some(expected), "{texts:?}");
    }
}

#[test]
fn what_a_session_did_not_set_is_unset() {
    for (texts, expected) in [
        (
            &["SET sql_mode='A', @a=1"][..],
            "SET @a=_binary'',@a=NULL, sql_mode=CASE WHEN @@global.sql_mode REGEXP \
             _utf8mb4'ANSI|NO_BACKSLASH|DB2|MAXDB|MSSQL|ORACLE|POSTGRES' THEN _utf8mb4'' \
             ELSE @@global.sql_mode END",
        ),
        (&["SET character_set_results=NULL"], "SET NAMES utf8mb4"),
        (&["SET unique_checks=0"], "SET unique_checks=@@global.unique_checks"),
        (
            &["SET SESSION TRANSACTION READ ONLY"],
            "SET /*!50720 transaction_read_only*//*M! tx_read_only*/=DEFAULT",
        ),
    ] {
        assert_eq!(moves(texts, &[]).as_deref(), Some(expected), "{texts:?}");
    }
    assert_eq!(after(&["SET time_zone='+01:00'", "SET time_zone=DEFAULT"]), Some(fresh()));
    assert_eq!(after(&["SET character_set_results=NULL", "SET NAMES utf8mb4"]), Some(fresh()));
}

/// Some variables set others.
#[test]
fn what_is_unset_is_unset_before_anything_is_set() {
    for (from, to, expected) in [
        (
            "SET collation_server=utf8mb4_bin",
            "SET character_set_server=latin1",
            "SET collation_server=DEFAULT, character_set_server=latin1",
        ),
        (
            "SET sql_big_selects=1",
            "SET max_join_size=1",
            "SET sql_big_selects=DEFAULT, max_join_size=1",
        ),
        (
            "SET max_join_size=5, sql_big_selects=1",
            "SET sql_big_selects=1",
            "SET max_join_size=DEFAULT, sql_big_selects=1",
        ),
    ] {
        assert_eq!(moves(&[from], &[to]).as_deref(), Some(expected), "{from}, {to}");
    }
    assert_eq!(
        after(&["SET collation_server=latin1_bin", "SET character_set_server=DEFAULT"]),
        Some(fresh())
    );
}

#[test]
fn the_same_settings_are_equal_however_they_were_made() {
    let one = after(&["SET a=1, b=2", "SET c=3"]);
    assert_eq!(one, after(&["SET c=3", "SET b=2", "SET A=1"]));
    assert_ne!(one, after(&["SET c=3", "SET b=2"]));
    assert_eq!(one.clone().unwrap().distance(&after(&["SET b=3, d=4"]).unwrap()), Some(4));
}

#[test]
fn a_mode_says_how_the_statements_behind_it_are_read() {
    let ansi = after(&["SET sql_mode='ANSI_QUOTES'"]).unwrap();
    assert!(ansi.modes().ansi_quotes && !ansi.modes().no_backslash_escapes);
    let text = b"SET @x=\"y\"";
    assert!(sql::parse_set_in(text, fresh().modes()).is_some());
    assert_eq!(sql::parse_set_in(text, ansi.modes()), None, "no string");
    assert_eq!(fresh().modes(), sql::Modes::default());
    assert_eq!(
        after(&["SET sql_mode='ANSI'", "SET sql_mode=''"]).unwrap().modes(),
        fresh().modes()
    );
}

/// A server's `sql_mode` where it says how texts are read.
#[test]
fn a_connection_that_begins_with_another_reading_is_brought_to_the_session_s() {
    let begins = |mode: &[u8]| LinkState { settings: Settings::of_mode(mode), ..fresh() };
    assert_eq!(begins(b"STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"), fresh());
    let odd = begins(b"ANSI_QUOTES,NO_BACKSLASH_ESCAPES");
    assert!(odd.modes().ansi_quotes && odd.modes().no_backslash_escapes);
    assert!(begins(b"PIPES_AS_CONCAT,ANSI_QUOTES,ORACLE").modes().ansi_quotes);
    let there = odd.plan(&fresh()).and_then(|plan| plan.settings);
    assert_eq!(there.as_deref(), Some("SET sql_mode='ANSI_QUOTES,NO_BACKSLASH_ESCAPES'"));
    let back = fresh().plan(&odd).and_then(|plan| plan.settings).expect("a way");
    assert!(back.starts_with("SET sql_mode=CASE WHEN @@global.sql_mode REGEXP"), "{back}");
}

#[test]
fn what_reads_or_depends_on_more_is_not_replayed() {
    for texts in [
        &["SET sql_mode='ORACLE'"][..],
        &["SET sql_mode=4"],
        &["SET sql_mode=DEFAULT"],
        &["SET @old=@@sql_mode"],
        &["SET sql_mode='ANSI'", "SET sql_mode=REPLACE(@@sql_mode, 'ANSI', '')"],
        &["SET CHARACTER SET latin1"],
        &["SET NAMES klingon"],
        &["SET NAMES latin1, @a='text'"],
        &["SET character_set_connection=latin1", "SET @a='text'"],
        &["SET @a=CONCAT('a', 'b')"],
        // text, or no value, of the character set of the moment
        &["SET @a=CONCAT(1, 2)"],
        &["SET @a=LOWER(1)"],
        &["SET @a=SUBSTRING(12345, 2)"],
        &["SET @a=1", "SET @b=CONCAT_WS(1, @a, 2)"],
        &["SET @a=(SELECT UPPER(1))"],
        &["SET @a=IF(1, @@time_zone, 2)"],
        &["SET @a=(NULL)"],
        &["SET @a=@never_set"],
        &["SET @a='x', @a=NULL", "SET @b=@a"],
        // the word is a value to the one variable only
        &["SET time_zone=SYSTEM", "SET @old=@@time_zone"],
        &["SET @a=1, @b=@a"],
        &["SET x=@@unknown_variable"],
        // evaluated again it may be another value
        &["SET @old=@@global.slow_launch_time"],
        &["SET sort_buffer_size=@@GLOBAL.sort_buffer_size"],
        // what is followed depends on it
        &["SET session_track_schema=OFF"],
        &["SET session_track_schema=DEFAULT"],
        &["SET session_track_state_change=1"],
        // what only the connection knows
        &["SET sql_auto_is_null=1"],
        &["SET optimizer_trace='enabled=on'"],
        &["SET optimizer_switch='mrr=on'", "SET @old=@@optimizer_switch"],
        &["SET optimizer_switch=4"],
        &["SET character_set_database=latin1"],
        // what the proxy asks is answered in it
        &["SET character_set_results=utf16"],
        &["SET SESSION character_set_results = 'UCS2'"],
        &["SET @@character_set_results=\"utf32\""],
        &["SET character_set_results=54"],
        &["SET max_join_size=1", "SET sql_big_selects=DEFAULT"],
    ] {
        assert_eq!(after(texts), None, "{texts:?}");
    }
    let many: Vec<String> = (0..65).map(|n| format!("SET @v{n}=1")).collect();
    assert_eq!(after(&many.iter().map(String::as_str).collect::<Vec<_>>()), None);
    let long = format!("SET @v='{}'", "x".repeat(5000));
    assert_eq!(after(&[&long]), None);
}

#[test]
fn only_what_no_server_can_refuse_is_certain() {
    for (text, certain) in [
        ("SET NAMES utf8mb4", true),
        ("SET NAMES utf8mb4 COLLATE utf8mb4_unicode_520_ci", true),
        ("SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci", false),
        ("SET NAMES utf8mb3 COLLATE utf8mb3_tolower_ci", false),
        ("SET NAMES gb18030", false),
        ("SET NAMES ucs2", false),
        ("SET autocommit=0, @a=1", true),
        ("SET last_insert_id=5", true),
        ("SET @a=@@time_zone", false),
        ("SET sql_mode=''", false),
        ("SET SESSION TRANSACTION READ ONLY", false),
        ("SET TRANSACTION READ ONLY", false),
        ("SET GLOBAL x=1", false),
    ] {
        let set = sql::parse_set(text.as_bytes()).expect("understood");
        let assigned = assigned(&fresh(), &set).expect("followed");
        assert_eq!(assigned.is_certain, certain, "{text}");
        assert_eq!(assigned.next_transaction, text == "SET TRANSACTION READ ONLY", "{text}");
    }
}

#[test]
fn texts_are_read_by_the_character_set_of_the_client() {
    use sql::HighBytes::{Big5, Cp1250, Dos, Gbk, Hebrew, Latin, Letters, Sjis};
    for (texts, high_bytes) in [
        (&[][..], Letters),
        (&["SET NAMES gbk"], Gbk),
        (&["SET NAMES 'big5' COLLATE big5_bin"], Big5),
        (&["SET NAMES gbk", "SET NAMES latin1"], Latin),
        (&["SET character_set_client=sjis"], Sjis),
        (&["SET @@session.character_set_client = 'cp932', time_zone='+01:00'"], Sjis),
        (&["SET character_set_client=28"], Gbk),
        (&["SET character_set_client='hebrew'"], Hebrew),
        (&["SET character_set_client=gbk", "SET character_set_results=latin1"], Gbk),
        (&["SET character_set_results=gbk, character_set_connection=gbk"], Letters),
        (&["SET NAMES gbk", "SET character_set_client=utf8"], Letters),
        (&["SET character_set_client=gbk", "SET NAMES latin1"], Latin),
    ] {
        let state = after(texts).expect("followed");
        let modes = sql::Modes { high_bytes, ..Default::default() };
        assert_eq!(state.modes(), modes, "{texts:?}");
    }
    for (id, high_bytes) in [
        (28, Gbk),
        (45, Letters),
        (1052, Gbk),
        (608, Letters),
        (8, Latin),
        (1071, Latin),
        (26, Cp1250),
        (40, Dos),
    ] {
        assert_eq!(
            LinkState::new(None, Charset::Collation(id)).modes().high_bytes,
            high_bytes,
            "{id}"
        );
    }
    assert_eq!(after(&["SET character_set_client='klingon'"]), None, "it may be any");
}

/// Two values of a variable that servers keep apart.
fn two_values(name: &str) -> [&'static str; 2] {
    let form = Tracked::find(name.as_bytes()).map(|tracked| tracked.form);
    match (name, form) {
        ("sql_mode", _) => ["'ANSI_QUOTES'", "'PIPES_AS_CONCAT'"],
        ("collation_connection", _) => ["latin1_bin", "utf8mb4_bin"],
        _ if name.starts_with("character_set") => ["latin1", "utf8mb3"],
        (_, Some(ValueForm::Switches)) => ["'mrr=off'", "'mrr=off,index_merge=off'"],
        (_, Some(ValueForm::Isolation)) => ["'SERIALIZABLE'", "'READ-COMMITTED'"],
        (_, Some(ValueForm::Flag | ValueForm::InvertedFlag)) => ["0", "1"],
        _ => ["1", "12"],
    }
}

/// The bytes that the query cache's key has of a state.
fn key(state: &LinkState) -> Vec<u8> {
    let mut key = Vec::new();
    state.write_key(&mut key);
    key
}

#[test]
fn states_that_differ_in_any_setting_have_keys_of_their_own() {
    let tables = [&settings::READ_BY[..], &settings::NEVER_READ_BY, &READ_GLOBALLY].concat();
    let others = [settings::JOIN_SIZE, settings::BIG_SELECTS, b"sql_select_limit", b"timestamp"];
    let names = tables.into_iter().chain(others).map(|name| std::str::from_utf8(name).unwrap());
    let names: Vec<_> = TABLE.iter().map(|tracked| tracked.name).chain(names).collect();
    assert!(names.len() > 60, "{}", names.len());
    let mut kept = Vec::new();
    for name in names {
        let values = two_values(name).map(|value| after(&[&format!("SET {name} = {value}")]));
        let followed = values.iter().flatten().count();
        let mut keys: Vec<_> = values.iter().flatten().chain([&fresh()]).map(key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), followed + 1, "{name}");
        kept.extend((followed < 2).then_some(name));
    }
    // sessions keep their connections with these, and have nothing to do with the cache
    assert_eq!(kept, ["sql_auto_is_null", "system_versioning_asof", "system_versioning_asof"]);
}

#[test]
fn keys_of_states_show_where_each_part_ends() {
    let state = |schema: Option<&str>, charset| {
        LinkState::new(schema.map(|schema| schema.as_bytes().into()), charset)
    };
    let of = |schema| state(schema, Charset::Collation(45));
    let states = [
        of(None),
        of(Some("")),
        of(Some("a")),
        LinkState { autocommit: false, ..of(None) },
        state(None, Charset::Collation(8)),
        state(None, Charset::Named("latin1")),
        state(None, Charset::Named("utf8mb4")),
        after(&["SET lc_time_names = 1, div_precision_increment = 2"]).expect("followed"),
        after(&["SET lc_time_names = 12"]).expect("followed"),
        after(&["SET lc_time_names = 2, div_precision_increment = 1"]).expect("followed"),
        after(&["SET character_set_results = latin1"]).expect("followed"),
        after(&["SET character_set_client = latin1"]).expect("followed"),
    ];
    for (at, one) in states.iter().enumerate() {
        for other in &states[at + 1..] {
            let (one_key, other_key) = (key(one), key(other));
            assert!(!one_key.starts_with(&other_key), "{one:?} and {other:?}");
            assert!(!other_key.starts_with(&one_key), "{one:?} and {other:?}");
        }
    }
    // texts name the variables of users that they read, and have nothing to do with the cache then
    assert_eq!(key(&after(&["SET @a = 1"]).expect("followed")), key(&fresh()));
}
