//! Which `SET` statements are understood, and as what.

use super::*;
use crate::Read;

fn one(text: &'static str) -> Assignment<'static> {
    let set = parse_set(text.as_bytes()).unwrap_or_else(|| panic!("not understood: {text}"));
    assert_eq!(set.assignments.len(), 1, "{text}");
    set.assignments[0]
}

fn variable(name: &'static str, kind: ValueKind, raw: &'static str) -> Assignment<'static> {
    Assignment::Variable { name: name.as_bytes(), value: SetValue { kind, raw: raw.as_bytes() } }
}

fn user(name: &'static str, kind: ValueKind, raw: &'static str) -> Assignment<'static> {
    Assignment::UserVariable {
        name: name.as_bytes(),
        value: SetValue { kind, raw: raw.as_bytes() },
    }
}

#[test]
fn understands_names() {
    let plain = Assignment::Names { charset: b"utf8mb4", collation: None };
    for text in [
        "SET NAMES utf8mb4",
        "set names 'utf8mb4'",
        "SET NAMES \"utf8mb4\";",
        "/* x */ SET /* y */ NAMES utf8mb4 -- z",
        "/*!40101 SET NAMES utf8mb4 */;",
        "/*! SET NAMES utf8mb4 */",
    ] {
        assert_eq!(one(text), plain, "{text}");
    }
    let collated =
        Assignment::Names { charset: b"utf8mb4", collation: Some(b"utf8mb4_unicode_ci") };
    for text in [
        "SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci",
        "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci'",
    ] {
        assert_eq!(one(text), collated, "{text}");
    }
}

#[test]
fn understands_character_set() {
    for text in [
        "SET CHARACTER SET latin1",
        "SET CHAR SET latin1",
        "SET CHARSET latin1",
        "SET CHARSET 'latin1'",
    ] {
        assert_eq!(one(text), Assignment::CharacterSet { charset: b"latin1" }, "{text}");
    }
}

#[test]
fn understands_autocommit_in_every_spelling() {
    for text in [
        "SET autocommit=1",
        "SET AUTOCOMMIT = ON",
        "SET autocommit='on'",
        "SET autocommit = true",
        "SET SESSION autocommit=1",
        "SET LOCAL autocommit=1",
        "SET @@autocommit=1",
        "SET @@session.autocommit := 1",
        "SET @@local.`autocommit` = 1",
        "SET `autocommit`=1",
        "SET @@session . autocommit=1",
    ] {
        assert_eq!(one(text), Assignment::Autocommit(true), "{text}");
    }
    for text in ["SET autocommit=0", "SET autocommit=OFF", "SET @@autocommit=FALSE"] {
        assert_eq!(one(text), Assignment::Autocommit(false), "{text}");
    }
}

#[test]
fn understands_variables_with_literals() {
    use ValueKind::{Null, Number, Text, Word};
    for (text, expected) in [
        ("SET sql_mode=''", variable("sql_mode", Text, "''")),
        ("SET sql_mode=\"ANSI\"", variable("sql_mode", Text, "\"ANSI\"")),
        ("SET sql_mode=ANSI", variable("sql_mode", Word, "ANSI")),
        ("SET SESSION wait_timeout=28800", variable("wait_timeout", Number, "28800")),
        ("SET long_query_time=0.5", variable("long_query_time", Number, "0.5")),
        ("SET x=-1", variable("x", Number, "-1")),
        ("SET x=+1.5e3", variable("x", Number, "+1.5e3")),
        ("SET character_set_results=NULL", variable("character_set_results", Null, "NULL")),
        ("SET time_zone='+00:00'", variable("time_zone", Text, "'+00:00'")),
        ("SET time_zone=SYSTEM", variable("time_zone", Word, "SYSTEM")),
        ("SET @@session.foreign_key_checks=OFF", variable("foreign_key_checks", Word, "OFF")),
        (
            "SET SESSION transaction_isolation='READ-COMMITTED'",
            variable("transaction_isolation", Text, "'READ-COMMITTED'"),
        ),
        ("SET tx_isolation='SERIALIZABLE'", variable("tx_isolation", Text, "'SERIALIZABLE'")),
    ] {
        assert_eq!(one(text), expected, "{text}");
    }
}

#[test]
fn understands_the_characteristics_of_the_session() {
    for (text, level) in [
        ("READ UNCOMMITTED", IsolationLevel::ReadUncommitted),
        ("READ COMMITTED", IsolationLevel::ReadCommitted),
        ("REPEATABLE READ", IsolationLevel::RepeatableRead),
        ("SERIALIZABLE", IsolationLevel::Serializable),
    ] {
        let text = format!("SET SESSION TRANSACTION ISOLATION LEVEL {text}");
        let set = parse_set(text.as_bytes()).expect("understood");
        assert_eq!(set.assignments, [Assignment::SessionIsolation(level)], "{text}");
    }
    assert_eq!(one("SET SESSION TRANSACTION READ ONLY"), Assignment::SessionReadOnly(true));
    assert_eq!(one("set local transaction read write"), Assignment::SessionReadOnly(false));
    let text = b"SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY";
    let set = parse_set(text).expect("understood");
    assert_eq!(
        set.assignments,
        [
            Assignment::SessionIsolation(IsolationLevel::Serializable),
            Assignment::SessionReadOnly(true)
        ]
    );
}

#[test]
fn understands_lists() {
    let text = b"SET NAMES utf8mb4 COLLATE utf8mb4_bin, autocommit=1, @@session.sql_mode:='a,b', \
        SESSION wait_timeout = 5;";
    let set = parse_set(text).expect("understood");
    assert_eq!(
        set.assignments,
        [
            Assignment::Names { charset: b"utf8mb4", collation: Some(b"utf8mb4_bin") },
            Assignment::Autocommit(true),
            variable("sql_mode", ValueKind::Text, "'a,b'"),
            variable("wait_timeout", ValueKind::Number, "5"),
        ]
    );
}

#[test]
fn gives_values_without_quotes() {
    for (text, value) in [
        ("SET x='it''s'", "it's"),
        ("SET x=\"a\"\"b\"", "a\"b"),
        ("SET x=''", ""),
        ("SET x=''''", "'"),
        ("SET x=ON", "ON"),
        ("SET x=-5", "-5"),
    ] {
        let Assignment::Variable { value: given, .. } = one(text) else { panic!("{text}") };
        assert_eq!(given.unquoted(), value.as_bytes(), "{text}");
    }
}

fn refuses(texts: &[&str]) {
    for text in texts {
        assert_eq!(parse_set(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn refuses_what_is_no_set() {
    refuses(&["", "SET", "SET ;", "SELECT 1"]);
}

/// One of two variables that set each other is not followed: which came last would be lost.
#[test]
fn refuses_what_sets_another_variable() {
    for (one_of, other) in [
        ("log_queries_not_using_indexes", "log_slow_filter"),
        ("log_slow_admin_statements", "log_slow_disabled_statements"),
        ("log_slow_min_examined_row_limit", "min_examined_row_limit"),
        ("log_slow_query", "slow_query_log"),
        ("log_slow_query_time", "long_query_time"),
        ("log_slow_slave_statements", "log_slow_disabled_statements"),
        ("max_insert_delayed_threads", "max_delayed_threads"),
        ("old", "old_mode"),
        ("old_alter_table", "alter_algorithm"),
        ("storage_engine", "default_storage_engine"),
        ("tmp_memory_table_size", "tmp_table_size"),
        ("wsrep_causal_reads", "wsrep_sync_wait"),
    ] {
        for text in [format!("SET {one_of}=1"), format!("SET x=1, @@session.`{one_of}` := DEFAULT")]
        {
            assert_eq!(parse_set(text.as_bytes()), None, "{text}");
        }
        assert!(parse_set(format!("SET {other}=1").as_bytes()).is_some(), "{other}");
    }
    refuses(&["SET max_relay_log_size=4096", "SET SESSION sql_slave_skip_counter=1"]);
}

#[test]
fn understands_user_variables() {
    use ValueKind::{Expression, Null, Number, Text, Word};
    for (text, expected) in [
        ("SET @x=1", user("x", Number, "1")),
        ("SET @x=1e308", user("x", Number, "1e308")),
        ("SET @x := -1.5", user("x", Number, "-1.5")),
        ("SET @`x`='a''b'", user("x", Text, "'a''b'")),
        ("SET @'x'=NULL", user("x", Null, "NULL")),
        ("SET @x=TRUE", user("x", Word, "TRUE")),
        ("SET @x=@@sql_mode", user("x", Expression, "@@sql_mode")),
        ("SET @x=@y", user("x", Expression, "@y")),
    ] {
        assert_eq!(one(text), expected, "{text}");
    }
    refuses(&[
        "SET @x = 1e400",
        "SET system_versioning_asof = '2020-01-01'",
        "SET @x=y",
        "SET @x=DEFAULT",
        "SET @ x=1",
        "SET @x.y=1",
        "SET @`a b`=1",
        "SET @x=@y+1",
        "SET @x=(@y:=1)",
        "SET @x=(SELECT a FROM t)",
        "SET @x=NOW()",
        "SET @x=f(1)",
        "SET @x='\u{e9}'",
    ]);
}

#[test]
fn understands_defaults_and_expressions() {
    use ValueKind::{Default, Expression};
    for (text, expected) in [
        ("SET x=DEFAULT", variable("x", Default, "DEFAULT")),
        ("SET x=@y", variable("x", Expression, "@y")),
        ("SET x=@@session.y", variable("x", Expression, "@@session.y")),
        ("SET x=(1)", variable("x", Expression, "(1)")),
        (
            "SET sql_mode=(SELECT CONCAT(@@sql_mode, ',ANSI')), x=1",
            variable("sql_mode", Expression, "(SELECT CONCAT(@@sql_mode, ',ANSI'))"),
        ),
    ] {
        let set = parse_set(text.as_bytes()).unwrap_or_else(|| panic!("not understood: {text}"));
        assert_eq!(set.assignments[0], expected, "{text}");
    }
}

#[test]
fn expressions_are_given_again_with_variables_put_in() {
    let mut known = |read: Read<'_>, out: &mut Vec<u8>| {
        match read {
            Read::Session(b"sql_mode") => out.extend_from_slice(b"'A'"),
            Read::Global(b"x") => out.extend_from_slice(b"7"),
            Read::User(b"old") => out.extend_from_slice(b"5"),
            _ => return false,
        }
        true
    };
    for (raw, expected) in [
        ("CONCAT( @@sql_mode , \",it's\" )", Some("CONCAT('A',',it''s')")),
        ("CONCAT(REPLACE(@@session.sql_mode,'A',''),@old)", Some("CONCAT(REPLACE('A','A',''),5)")),
        ("@@global.x", Some("7")),
        ("@@global.sql_mode", None),
        ("(SELECT /* x */ @`old`)", Some("(SELECT 5)")),
        ("@@other", None),
        ("@other", None),
    ] {
        let value = SetValue { kind: ValueKind::Expression, raw: raw.as_bytes() };
        let given = value.resolved(&mut known);
        assert_eq!(given.as_deref(), expected.map(str::as_bytes), "{raw}");
    }
    let text = SetValue { kind: ValueKind::Text, raw: b"\"a'b\"" };
    assert_eq!(text.resolved(&mut known).as_deref(), Some(b"'a''b'".as_slice()));
}

#[test]
fn tells_what_is_not_of_the_session() {
    for text in [
        "SET GLOBAL x=1",
        "SET @@global.x = NOW()",
        "SET PERSIST x=(1,2)",
        "SET PERSIST_ONLY x=DEFAULT",
        "SET @@persist.x=1",
        "SET GLOBAL TRANSACTION READ ONLY",
    ] {
        assert_eq!(one(text), Assignment::Global, "{text}");
    }
    let set = parse_set(b"SET GLOBAL x=f(1, 2), @@session.y=1").expect("understood");
    assert_eq!(set.assignments, [Assignment::Global, variable("y", ValueKind::Number, "1")]);
    refuses(&["SET GLOBAL x=1, y=2", "SET GLOBAL x=", "SET GLOBAL x=(1", "SET GLOBAL x=@y:=1"]);
}

#[test]
fn tells_what_is_of_the_next_transaction() {
    for text in [
        "SET TRANSACTION READ ONLY",
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET @@transaction_isolation='READ-COMMITTED'",
        "SET @@tx_read_only=1",
    ] {
        assert_eq!(one(text), Assignment::NextTransaction, "{text}");
    }
}

#[test]
fn refuses_names_without_one() {
    refuses(&[
        "SET NAMES DEFAULT",
        "SET NAMES utf8 COLLATE DEFAULT",
        "SET CHARACTER SET DEFAULT",
        "SET NAMES",
        "SET NAMES = utf8",
        "SET NAMES 'utf8",
        "SET NAMES @x",
        "SET NAMES 'a b'",
    ]);
}

#[test]
fn refuses_values_that_are_depend_on_more_than_variables() {
    refuses(&[
        "SET x=1+1",
        "SET x=NOW()",
        "SET x=CURRENT_TIMESTAMP",
        "SET x=localtime",
        "SET x=READ-COMMITTED",
        "SET x='a' 'b'",
        "SET x='a\\'b'",
        "SET x='\u{e9}'",
        "SET x='a",
        "SET x='a''",
        "SET x=_utf8'a'",
        "SET x=N'a'",
        "SET x=0x41",
        "SET x=--1",
        "SET x=-'1'",
    ]);
}

#[test]
fn refuses_broken_assignments() {
    refuses(&[
        "SET x=",
        "SET x",
        "SET x 1",
        "SET =1",
        "SET 'x'=1",
        "SET x.y=1",
        "SET @@session.x.y=1",
        "SET @@session=1",
        "SET autocommit=2",
        "SET autocommit='1'",
        "SET autocommit=DEFAULT",
        "SET autocommit=1,",
        "SET autocommit=1; SELECT 1",
        "SET autocommit=1 SELECT",
    ]);
}

#[test]
fn refuses_names_that_are_no_lasting_session_variable() {
    refuses(&[
        "SET insert_id=5",
        "SET rand_seed1=5",
        "SET gtid_next='AUTOMATIC'",
        "SET PASSWORD='x'",
        "SET PASSWORD FOR u='x'",
        "SET ROLE admin",
        "SET DEFAULT ROLE r TO u",
        "SET RESOURCE GROUP g",
        "SET completion_type=1",
        "SET character_set_collations='utf8mb4=uca1400_ai_ci'",
        "SET default_collation_for_utf8mb4=utf8mb4_general_ci",
        "SET profiling=1",
        "SET STATEMENT max_statement_time=1 FOR SELECT 1",
        "SET SESSION TRANSACTION READ",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ",
        "SET SESSION TRANSACTION READ ONLY, autocommit=1",
    ]);
}

#[test]
fn an_expression_that_names_a_long_value_often_is_not_written_out() {
    let written = std::cell::Cell::new(0);
    let mut known = |_: Read<'_>, out: &mut Vec<u8>| {
        out.extend_from_slice(&[b'x'; 3800]);
        written.set(written.get() + 1);
        true
    };
    let mut times = |count: usize| {
        let text = format!("SET @b = CONCAT({})", vec!["@a"; count].join(","));
        let set = parse_set(text.as_bytes()).unwrap();
        let [Assignment::UserVariable { value, .. }] = set.assignments[..] else { unreachable!() };
        (value.resolved(&mut known).is_some(), written.take())
    };
    assert_eq!(times(2), (true, 2));
    assert_eq!(times(80_000), (false, 3));
}

#[test]
fn refuses_texts_that_servers_read_differently() {
    refuses(&[
        "/*!80000 SET autocommit=1 */",
        "/*M! SET autocommit=1 */",
        "SET autocommit=1 /*!99999 , x=1 */",
        "SET autocommit=/*!99999 0 */1",
    ]);
}
