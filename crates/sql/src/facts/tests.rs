//! Facts of known statements, and what must hold for any text.

use proptest::prelude::*;

use super::corpus_table::CORPUS;
use super::*;
use crate::HighBytes;

fn effects_named(names: &str) -> Effects {
    names.split_whitespace().fold(Effects::NONE, |all, name| {
        all | Effects::from_name(name).unwrap_or_else(|| panic!("no effect {name}"))
    })
}

#[test]
fn tells_the_facts_of_every_statement_of_the_corpus() {
    let mut wrong = Vec::new();
    for (text, verb, effects) in CORPUS {
        let found = facts(text.as_bytes());
        if found.verb.name() != *verb || found.effects != effects_named(effects) {
            wrong.push(format!("{text:?}: {} {:?}", found.verb.name(), found.effects));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(CORPUS.len() >= 250, "the corpus has only {} statements", CORPUS.len());
}

#[test]
fn skipping_dull_tokens_changes_nothing() {
    for (text, _, _) in CORPUS {
        let thorough = Reader::new(text.as_bytes(), Modes::default()).read_all::<false>();
        assert_eq!(facts(text.as_bytes()), thorough, "{text}");
    }
}

#[test]
fn gives_the_same_facts_in_lower_and_upper_case() {
    for (text, _, _) in CORPUS {
        let found = facts(text.as_bytes());
        for cased in [text.to_ascii_lowercase(), text.to_ascii_uppercase()] {
            // `\n`, `0X` and `/*m!` are not `\N`, `0x` and `/*M!`
            if !["\\", "0x", "/*M!"].iter().any(|cased| text.contains(cased)) {
                assert_eq!(facts(cased.as_bytes()), found, "{cased}");
            }
        }
    }
}

#[test]
fn finds_the_schema_of_use() {
    for (text, schema) in [
        ("USE db", Some("db")),
        (" use /* x */ `my db` ; ", Some("my db")),
        ("USE db; SELECT 1", Some("db")),
        ("SELECT 1; USE db", None),
        ("USE `a``b`", None),
        ("USE my-db", None),
        ("USE", None),
        ("SELECT 1", None),
    ] {
        let found = facts(text.as_bytes()).schema.map(|range| &text[range]);
        assert_eq!(found, schema, "{text}");
    }
}

#[test]
fn tells_what_the_first_statement_and_all_do_to_data() {
    use Access::{Changes, Neither, Reads};
    for (text, begins, access) in [
        ("SELECT 1", Reads, Reads),
        ("(SELECT 1) FOR UPDATE", Reads, Reads),
        ("EXPLAIN DELETE FROM t", Reads, Reads),
        ("ANALYZE FORMAT=JSON DELETE FROM t", Changes, Changes),
        ("CHECKSUM TABLE t", Reads, Reads),
        ("DO f()", Reads, Reads),
        ("SELECT 1; SELECT 2", Reads, Reads),
        ("SELECT 1; BEGIN", Reads, Neither),
        ("SELECT 1; DELETE FROM t; SELECT 2", Reads, Changes),
        ("SELECT 1 /*!50000 ; DELETE FROM t */", Reads, Changes),
        ("SELECT 1 /*M! ; DELETE FROM t */", Reads, Changes),
        ("SELECT NEXT VALUE FOR s", Reads, Changes),
        ("SET STATEMENT max_statement_time=1 FOR SELECT 1", Reads, Reads),
        ("SET STATEMENT max_statement_time=1 FOR DELETE FROM t", Changes, Changes),
        ("SET @a=1; INSERT INTO t VALUES (1)", Neither, Changes),
        ("BEGIN", Neither, Neither),
        ("BEGIN NOT ATOMIC SELECT 1; END", Neither, Changes),
        ("SAVEPOINT s", Neither, Neither),
        ("LOCK TABLES t WRITE", Neither, Neither),
        ("PREPARE s FROM 'DELETE FROM t'", Neither, Neither),
        ("EXECUTE s", Changes, Changes),
        ("EXECUTE IMMEDIATE 'SELECT 1'", Changes, Changes),
        ("CALL p()", Changes, Changes),
        ("CREATE TEMPORARY TABLE t (a INT)", Neither, Neither),
        ("DROP TEMPORARY TABLE t", Neither, Neither),
        ("DROP TABLE t", Changes, Changes),
        ("ALTER TABLE t ADD b INT", Changes, Changes),
        ("CREATE PROCEDURE p() SELECT 1", Changes, Changes),
        ("GRANT ALL ON *.* TO a@b", Changes, Changes),
        ("SET PASSWORD = 'x'", Changes, Changes),
        ("LOAD DATA INFILE 'x' INTO TABLE t", Changes, Changes),
        ("GIBBERISH", Changes, Changes),
    ] {
        let found = facts(text.as_bytes());
        assert_eq!((found.begins, found.access), (begins, access), "{text}");
    }
}

#[test]
fn parses_a_lone_use_only() {
    let parsed = |text: &'static str| parse_use(text.as_bytes());
    assert_eq!(parsed("USE db").as_deref(), Some(&b"db"[..]));
    assert_eq!(parsed("/* a */ use `x``y` -- z\n;").as_deref(), Some(&b"x`y"[..]));
    for text in ["USE db; SELECT 1", "USE a.b", "USE 'a'", "USE `a", "USE", "/*M! USE a */", ""] {
        assert_eq!(parsed(text), None, "{text}");
    }
}

#[test]
fn a_schema_may_stand_in_double_quotes_where_the_modes_say_so() {
    let modes = Modes { ansi_quotes: true, ..Modes::default() };
    let text = br#"USE "a""b";"#;
    assert_eq!(parse_use_in(text, modes).as_deref(), Some(&br#"a"b"#[..]));
    assert!(facts_in(text, modes).schema.is_some());
    assert_eq!(parse_use(text), None);
}

#[test]
fn reads_a_backslash_as_the_modes_say() {
    let text = br"SELECT '\', GET_LOCK('a', 1), '";
    assert_eq!(facts(text).effects, Effects::NONE);
    let modes = Modes { no_backslash_escapes: true, ..Modes::default() };
    assert_eq!(facts_in(text, modes).effects, Effects::USER_LOCK);

    let text = br#"SELECT "\", GET_LOCK('a', 1), ""#;
    assert_eq!(facts(text).effects, Effects::NONE);
    let modes = Modes { ansi_quotes: true, ..Modes::default() };
    assert_eq!(facts_in(text, modes).effects, Effects::USER_LOCK);
}

#[test]
fn reads_half_characters_as_the_character_set_says() {
    let wide = Modes { high_bytes: HighBytes::Gbk, ..Modes::default() };
    // a character of gbk whose second byte is a backslash, closing quote behind it
    let text = b"SELECT '\xe5\x5c', GET_LOCK('a', 1), '";
    assert_eq!(facts(text).effects, Effects::NONE);
    assert_eq!(facts_in(text, wide).effects, Effects::USER_LOCK);
    assert!(!wide.read_as_default(text));
    let ascii = br"SELECT 'a\', GET_LOCK(', GET_LOCK('a', 1)";
    assert!(wide.read_as_default(ascii));
    assert_eq!(facts_in(ascii, wide), facts(ascii));
    // the first byte is a character of its own in cp932
    let text = b"SELECT '\xb1\x5c', GET_LOCK('a', 1), '";
    let japanese = Modes { high_bytes: HighBytes::Sjis, ..Modes::default() };
    assert_eq!(facts_in(text, japanese).effects, Effects::NONE);
    assert_eq!(facts_in(text, wide).effects, Effects::USER_LOCK);
    // a quote is never half a character
    let text = b"SELECT '\xb1', GET_LOCK('a', 1)";
    assert_eq!(facts_in(text, wide).effects, Effects::USER_LOCK);
}

#[test]
fn reads_the_blanks_of_a_character_set() {
    let of = |charset| Modes { high_bytes: HighBytes::of(charset), ..Modes::default() };
    let text = b"SELECT\xa0GET_LOCK('a',\xa01)";
    assert!(!facts(text).effects.contains(Effects::USER_LOCK));
    for charset in ["latin1", "cp1250", "latin7", "hebrew", "greek"] {
        assert_eq!(facts_in(text, of(charset)).effects, Effects::USER_LOCK, "{charset}");
        assert!(!of(charset).read_as_default(text), "{charset}");
    }
    for (charset, verb) in [("cp852", Verb::Kill), ("latin1", Verb::Unknown)] {
        assert_eq!(facts_in(b"KILL\xff5", of(charset)).verb, verb, "{charset}");
    }
    assert_eq!(parse_use_in(b"USE\xa0x", of("latin1")).as_deref(), Some(&b"x"[..]));
    // a comment to a server, and what ends it
    let text = b"SELECT 1 --\x81 /*\n, GET_LOCK('a', 1) -- */";
    assert!(!facts_in(text, of("latin1")).effects.contains(Effects::USER_LOCK));
    assert_eq!(facts_in(text, of("cp1250")).effects, Effects::USER_LOCK);
}

#[test]
fn a_kill_is_seen_behind_a_statement_that_sets_how_it_is_read() {
    let kills = |text: &[u8]| facts(text).effects.contains(Effects::KILLS);
    assert!(kills(b"SET NAMES latin1; KILL\xa05"));
    assert!(kills(b"SELECT 1; SET @@character_set_client = 'cp852'; KILL\xff5"));
    assert!(kills(b"SET sql_mode = NO_BACKSLASH_ESCAPES; SELECT '\\'; KILL 5; -- '"));
    assert!(kills(b"BEGIN NOT ATOMIC SET NAMES sjis; END; SELECT '\x81\x5c'; KILL 5; -- '"));
    assert!(!kills(b"SET @a = 'latin1'; SELECT 'kill\xa05'"));
    assert!(!kills("SET NAMES utf8; INSERT INTO films VALUES ('Kill \\'é')".as_bytes()));
    assert!(!kills(b"SELECT 'SET NAMES latin1'; SELECT kill\xa05"));
}

#[test]
fn a_kill_is_seen_whichever_comments_are_code() {
    for text in [
        "/*M!/*/KILL 5",
        "/*!99999 # */ KILL 5",
        "/*!99999 -- */ KILL 5",
        "/*!99999 ' */ KILL 5 -- '",
        "/*M!999999 ` */ KILL 5 -- `",
        "/*!99999 /* */ */KILL QUERY 5",
        "DO 1;/*!99999 # */KILL 5",
        // the first end of code ends it, and a semicolon makes it forgotten
        "SELECT /*! /*! 1 */ */* ' */ 1; KILL 5 -- '",
        "/*! SELECT 1; SELECT 2 */* ' */ 1; KILL 5 -- '",
        // a server that takes five digits
        "SELECT 1 + /*!100000 + '*/ # ' /*!90000 #*/ /*!80000 ; KILL 5 ; */",
        "CREATE LIBRARY l LANGUAGE JAVASCRIPT AS $$ ' $$; KILL 5 -- '",
        "CREATE PROCEDURE p() SELECT 1 AS begin; KILL 5; SELECT 1 AS end",
        "PREPARE s FROM '/*\\'*/KILL 5'",
    ] {
        assert!(facts(text.as_bytes()).effects.contains(Effects::KILLS), "{text}");
    }
    for text in ["/*!99999 # */ SELECT 'KILL 5'", "/*M! # KILL 5 */"] {
        assert!(!facts(text.as_bytes()).effects.contains(Effects::KILLS), "{text}");
    }
}

#[test]
fn code_in_comments_ends_at_the_first_end() {
    let found = facts(b"SELECT /*! /*! 1 */ */* ' */ GET_LOCK('a',0) -- '");
    assert!(found.effects.contains(Effects::USER_LOCK), "{:?}", found.effects);
}

#[test]
fn the_name_of_a_variable_has_no_pairs() {
    let wide = Modes { high_bytes: HighBytes::Gbk, ..Modes::default() };
    let found = facts_in(b"SELECT @\xbf`a`, GET_LOCK('l',0) -- `", wide);
    assert!(found.effects.contains(Effects::USER_LOCK), "{:?}", found.effects);
}

#[test]
fn takes_invalid_utf8_for_letters() {
    let found = facts(b"SELECT \xff\xfe, '\xc3' FROM t\x80 FOR UPDATE");
    assert_eq!(found.verb, Verb::SelectForUpdate);
}

#[test]
fn calls_repeatable_what_is_lost_with_its_connection() {
    let repeatable = |text: &str| is_repeatable(&facts(text.as_bytes()));
    for text in ["BEGIN", "begin work;", "START TRANSACTION READ ONLY", "USE db", "SELECT 1"] {
        assert!(repeatable(text), "{text}");
    }
    for text in [
        "BEGIN NOT ATOMIC SELECT 1; END",
        "BEGIN; DELETE FROM t",
        "COMMIT AND CHAIN",
        "XA START 'a'",
        "SET GLOBAL a=1",
        "DELETE FROM t",
    ] {
        assert!(!repeatable(text), "{text}");
    }
}

#[test]
fn calls_only_plain_reads_read_only() {
    let read_only = |text: &str| is_read_only(&facts(text.as_bytes()));
    for text in [
        "SELECT 1",
        "TABLE t",
        "SELECT @@hostname",
        "SHOW TABLES",
        "SHOW TABLE STATUS",
        "DESC t",
        "EXPLAIN UPDATE t SET a=1",
        "ANALYZE SELECT 1",
        "SELECT 1;",
    ] {
        assert!(read_only(text), "{text}");
    }
    for text in [
        "SELECT 1; SELECT 2",
        "SELECT 1 FOR UPDATE",
        "SELECT @x",
        "SELECT GET_LOCK('a', 1)",
        "SELECT NEXTVAL(s)",
        "SELECT 1 INTO OUTFILE 'x'",
        "SELECT LAST_INSERT_ID()",
        "SHOW WARNINGS",
        "ANALYZE UPDATE t SET a=1",
        "INSERT INTO t VALUES (1)",
        "SET a=1",
        "USE db",
        "CALL p()",
        "DO SLEEP(1)",
        "WITH a AS (SELECT 1) DELETE FROM t",
        "",
    ] {
        assert!(!read_only(text), "{text}");
    }
}

#[test]
fn names_every_verb_once_and_in_order() {
    for (i, verb) in Verb::ALL.iter().enumerate() {
        assert_eq!(verb.index(), i);
        let same = Verb::ALL.iter().filter(|other| other.name() == verb.name()).count();
        assert_eq!(same, if verb.name() == "UNKNOWN" { 2 } else { 1 }, "{verb:?}");
    }
}

/// The tokens of `text` with `between` put before, between and behind those that it may part.
fn spaced(text: &str, between: &str) -> Vec<u8> {
    let mut lexer = Lexer::new(text.as_bytes(), Modes::default());
    let mut out = between.as_bytes().to_vec();
    while let Some(token) = lexer.next_token() {
        out.extend_from_slice(lexer.slice(token));
        if !matches!(token.kind, TokenKind::At | TokenKind::SystemAt) {
            out.extend_from_slice(between.as_bytes());
        }
    }
    out
}

/// Texts whose tokens lose nothing when they are parted: without code comments, and whole.
fn partable() -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str)> {
    CORPUS.iter().filter(|(text, _, _)| {
        !text.contains("/*!")
            && !text.contains("/*M!")
            && !text.contains("unterminated")
            && !text.contains("\\N")
    })
}

#[test]
fn comments_between_tokens_change_nothing() {
    for (text, _, _) in partable() {
        let found = facts(text.as_bytes());
        for between in ["/* ' */", " ", "\n", "-- \"\n", "#x\n", "/**/", "/*+ h */", "/* ; */"] {
            let spaced = spaced(text, between);
            let other = facts(&spaced);
            let shown = String::from_utf8_lossy(&spaced);
            assert_eq!((other.verb, other.effects), (found.verb, found.effects), "{shown}");
        }
    }
}

#[test]
fn code_comments_around_words_change_nothing() {
    for (text, _, _) in partable().filter(|(text, _, _)| !text.contains('@')) {
        let found = facts(text.as_bytes());
        let mut lexer = Lexer::new(text.as_bytes(), Modes::default());
        let mut out = Vec::new();
        while let Some(token) = lexer.next_token() {
            out.extend_from_slice(b"/*!50000 ");
            out.extend_from_slice(lexer.slice(token));
            out.extend_from_slice(b"*/");
        }
        let other = facts(&out);
        assert_eq!((other.verb, other.effects), (found.verb, found.effects), "{text}");
    }
}

#[test]
fn a_second_statement_adds_its_effects() {
    for (text, _, _) in partable() {
        let alone = facts(text.as_bytes());
        if alone.verb == Verb::Unknown {
            continue;
        }
        let both = facts(format!("SELECT 1;{text}").as_bytes());
        // that says what the text is as a whole
        let added = alone.effects.without(Effects::KEEPS_CODE) | Effects::MULTI_STATEMENT;
        assert!(both.effects.contains(added), "{text}: {:?}", both.effects);
    }
}

fn any_modes() -> impl Strategy<Value = Modes> {
    prop::sample::select(Modes::all().collect::<Vec<_>>())
}

/// Texts made of what lexers stumble on.
fn scraps() -> impl Strategy<Value = Vec<u8>> {
    const SCRAPS: [&str; 32] = [
        "'",
        "\"",
        "`",
        "\\",
        "/*",
        "*/",
        "/*!",
        "/*!50000",
        "/*M!",
        "--",
        "-- ",
        "#",
        "\n",
        ";",
        "(",
        ")",
        "@",
        "@@",
        ":=",
        ".",
        "1",
        "0x",
        "e",
        "SELECT",
        "SET",
        "USE",
        "FOR",
        "UPDATE",
        "LAST_INSERT_ID",
        "$$",
        " ",
        "x",
    ];
    prop::collection::vec(prop::sample::select(&SCRAPS[..]), 0..40)
        .prop_map(|scraps| scraps.concat().into_bytes())
}

proptest! {
    #[test]
    fn takes_any_bytes(text in prop::collection::vec(any::<u8>(), 0..300), modes in any_modes()) {
        let found = facts_in(&text, modes);
        if let Some(range) = found.schema {
            prop_assert!(text.get(range).is_some());
        }
        let _ = parse_use(&text);
        let _ = crate::parse_set(&text);
    }

    #[test]
    fn takes_any_scraps(text in scraps(), modes in any_modes()) {
        let found = facts_in(&text, modes);
        if let Some(range) = found.schema {
            prop_assert!(text.get(range).is_some());
        }
        let _ = parse_use(&text);
        let _ = crate::parse_set(&text);
    }

    #[test]
    fn skipping_dull_tokens_loses_nothing(text in scraps(), modes in any_modes()) {
        for text in [text.clone(), [b"SELECT ", &text[..]].concat()] {
            let thorough = Reader::new(&text, modes).read_all::<false>();
            prop_assert_eq!(facts_in(&text, modes), thorough);
        }
    }

    #[test]
    fn tokens_are_in_order_and_not_empty(text in scraps(), modes in any_modes()) {
        let mut lexer = Lexer::new(&text, modes);
        let mut at = 0;
        while let Some(token) = lexer.next_lexeme() {
            prop_assert!(at <= token.start && token.start < token.end && token.end <= text.len());
            at = token.end;
        }
    }
}

#[test]
fn a_text_that_changes_how_its_rest_is_read_is_unclear() {
    for (text, is_unclear) in [
        ("SET sql_mode='ANSI_QUOTES'; SELECT * FROM \"v\"", true),
        ("SET @@sql_mode=NO_BACKSLASH_ESCAPES; SELECT '\\', f(1), ''", true),
        ("SET STATEMENT sql_mode='ANSI_QUOTES' FOR SELECT * FROM \"v\"", true),
        ("SET sql_mode='ANSI_QUOTES'; SELECT * FROM v", false),
        ("SELECT * FROM \"v\"; SET sql_mode='ANSI_QUOTES'", false),
    ] {
        let effects = facts(text.as_bytes()).effects;
        assert_eq!(effects.contains(Effects::UNCLEAR), is_unclear, "{text}");
    }
}

#[test]
fn a_kill_is_seen_behind_what_only_some_servers_take_for_code() {
    for text in [
        "/*!99999 # */ /*!50000KILL 5*/",
        "SET sql_mode=NO_BACKSLASH_ESCAPES; SELECT '\\'; /*!50000KILL 5*/ -- '",
        "SELECT 1 /*!99999 # */; SET sql_mode=NO_BACKSLASH_ESCAPES; SELECT 1\n; \
         SELECT '\\'; KILL 5; -- '",
    ] {
        assert!(facts(text.as_bytes()).effects.intersects(Effects::KILLS), "{text}");
    }
    // long texts of people are read to their end, in every mode
    let words = "('a\\\\b', \"they will kill it\", '\u{e9}'), ".repeat(10_000);
    let text = format!("SET NAMES utf8mb4; INSERT INTO t VALUES {words} ('')");
    assert!(!facts(text.as_bytes()).effects.intersects(Effects::KILLS));
}
