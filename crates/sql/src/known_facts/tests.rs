//! What is remembered is what reading the text gives, for whatever shares its digest.

use proptest::prelude::*;

use super::*;
use crate::{DigestOptions, Digester};

/// The facts of a text, and whether they were remembered.
fn ask(known: &mut KnownFacts, text: &[u8], options: &DigestOptions) -> (Facts, bool) {
    let mut digester = Digester::new();
    let digest = digester.digest(text, options);
    let is_known = digest.omitted != Omitted::More && known.find(&digest).is_some();
    (known.facts(text, &digest), is_known)
}

#[test]
fn a_statement_is_read_once_however_its_values_differ() {
    for [first, second] in [
        ["SELECT c FROM t WHERE id=1", "SELECT c  FROM t\nWHERE id=-23.50"],
        ["select `a` from `t_1` where b='x'", "select `a`  from `t_1`\nwhere b='it''s'"],
        ["SELECT a FROM t WHERE id=1 FOR UPDATE", "SELECT a FROM t WHERE id='b' FOR UPDATE"],
        ["insert into t values (1,2,3,4,5,'x')", "insert into t values (1, 2, 3, 4, 5, 6, 7);"],
        ["update t set a=@v where b=1", "update t set a=@v where b=2"],
        ["BEGIN", "BEGIN ;"],
        ["delete from t where last_insert_id()=1", "delete from t where last_insert_id()='2'"],
    ] {
        let (mut known, options) = (KnownFacts::default(), DigestOptions::default());
        assert_eq!(ask(&mut known, first.as_bytes(), &options), (facts(first.as_bytes()), false));
        assert_eq!(ask(&mut known, second.as_bytes(), &options), (facts(second.as_bytes()), true));
    }
}

#[test]
fn what_a_digest_does_not_show_is_read_anew() {
    let wide = DigestOptions::default();
    let short = DigestOptions { max_query_length: 20, ..wide };
    let narrow = DigestOptions { max_digest_length: 12, ..wide };
    let no_digits = DigestOptions { no_digits: true, ..wide };
    for (options, [first, second]) in [
        (wide, ["select /* */ 1", "select /*! get_lock( */ 1"]),
        (wide, ["select a # for update\nfrom t", "select a # \nfrom t"]),
        (wide, ["select 1 --\u{1} \n for update", "select 1 --\u{1}  for update"]),
        (wide, ["select 1 -- a\nfor update", "select 1"]),
        (wide, ["select \"a\" for update", "select '\\' for update'"]),
        (wide, ["select 'x' (1)", "select 'get_lock' (1)"]),
        (wide, ["select (definer='a'@b)", "select (definer=1@b)"]),
        (wide, ["select last_insert_id + (1)", "select last_insert_id (1)"]),
        (wide, ["select `a 1` from t", "select `a 'b' ` from t"]),
        (wide, ["select '", "select 'a for update"]),
        (wide, ["use a1", "use a1 "]),
        (wide, ["select @@session.'x'", "select @@session.'identity'"]),
        (wide, ["select \u{e9}1 from t", "select \u{e9}'a' from t"]),
        (wide, ["show count(*) warnings", "show count( * ) warnings"]),
        (wide, ["select 1; set a=1", "select 2; set a=2"]),
        (short, ["select a from bcdefghijk for update", "select a from bcdefghijk"]),
        (narrow, ["select a from b for update", "select a from c"]),
        (no_digits, ["select a1 from t2", "select a2 from t3"]),
    ] {
        let mut known = KnownFacts::default();
        for text in [first, second, first] {
            let (told, is_known) = ask(&mut known, text.as_bytes(), &options);
            assert_eq!((told, is_known), (facts(text.as_bytes()), false), "{text}");
        }
    }
}

/// The first is remembered, and has the digest of the second, whose facts are others.
#[test]
fn a_text_that_shares_its_digest_with_what_is_remembered_is_read_anew() {
    let options = DigestOptions::default();
    for [first, second] in [
        ["select 1 @abc", "select 1 -- @abc"],
        ["select a@b", "select a#@b"],
        ["select a, `b`.`cd`", "select a, `b`.`c#d`"],
        ["select 1 for update", "select 1 /*! for */ /*!99999 update */"],
        ["select 1 for update", "select 1 /*!50001 for update */"],
        ["select (a>?,2,3,get_lock('a',1))", "select (a>?,2,3,get_lock('a', /* ) */ \"b\"))"],
        ["begin", "begin;;"],
    ] {
        let (mut known, mut digester) = (KnownFacts::default(), Digester::new());
        let text = digester.digest(first.as_bytes(), &options).text.to_vec();
        assert_eq!(digester.digest(second.as_bytes(), &options).text, text, "{second}");
        for text in [first, second, first] {
            let (told, is_known) = ask(&mut known, text.as_bytes(), &options);
            assert_eq!(told, facts(text.as_bytes()), "{text}");
            assert!(text == first || !is_known, "{text}");
        }
    }
}

#[test]
fn memory_is_bounded_and_the_latest_stay() {
    let (mut known, options) = (KnownFacts::default(), DigestOptions::default());
    let text = |number: usize| format!("select c from t{number} where id={number}").into_bytes();
    (0..20_000).for_each(|number| _ = ask(&mut known, &text(number), &options));
    assert_eq!(known.slots.len(), SLOTS);
    assert!(ask(&mut known, &text(19_999), &options).1);
    assert!(!ask(&mut known, &text(0), &options).1);
    let long = format!("select {} from t", "c".repeat(TEXT_BYTES_MAX)).into_bytes();
    assert!((0..2).all(|_| !ask(&mut known, &long, &options).1));
}

#[test]
fn digests_of_one_hash_are_told_apart() {
    let mut known = KnownFacts::default();
    for text in ["select a from b", "select a from b for update"].map(str::as_bytes) {
        let omitted = Omitted::Numbers;
        let digest = Digest { hash: 7, text, first_comment: None, omitted };
        assert_eq!(known.facts(text, &digest), facts(text));
    }
}

/// Pieces of statements; those of a row may be the same to a digest.
const PIECES: &[&[&str]] = &[
    &[" ", "  ", "\n", "\t "],
    &["1", "-2", "- 2", "+3", "4.5", "0x1f", "1e5", "'a'", "'get_lock'", "''''", "\"b\"", "?"],
    &["'last_insert_id'", "'found_rows'", "5", "b'1'", "x'1f'", "n'a'", "'\\''"],
    &["'`'", "'('", "';'", "' for update '", "7", "0.", ".5", "1a", "1.e5for"],
    &["(1,2,3,4,5)", "(1,2,3,4,5,6)", "(1, '2', -3, 4, 5, 6, 7, 8)"],
    &["", "/* a */", "/*! for */", "/*!99999 for*/", "--\n", "-- a\n", "#\n", "--\u{1}", "-"],
    &["", ";", " ;", ";;", "; ;"],
    &["", "-- @abc", "@abc", " @abc", "#@b", "@b"],
    &["a>1,2,3,4,5", "a>1,2,3,4,5,6", "a> 1, '2', 3, 4, 5"],
    &["b'1',2,3,4,5,6", "b'1','2','3',4,5"],
    &["select"],
    &["SELECT "],
    &["insert into t "],
    &["update "],
    &["update t set a="],
    &["begin"],
    &["commit and no chain"],
    &["rollback release"],
    &["show warnings"],
    &["explain format="],
    &[" for update "],
    &[" for"],
    &["share"],
    &["last_insert_id"],
    &["found_rows "],
    &["get_lock"],
    &["`get_lock`"],
    &["`a"],
    &["`"],
    &["("],
    &[")"],
    &[","],
    &["+"],
    &["-"],
    &["*"],
    &["/"],
    &["="],
    &["."],
    &["@"],
    &["@@"],
    &["@@session."],
    &["definer"],
    &["a"],
    &["b1"],
    &["e"],
    &["\u{e9}"],
    &["$$"],
    &["\u{b}"],
    &["set"],
    &["..."],
    &["value"],
    &["next"],
];

fn options() -> impl Strategy<Value = DigestOptions> {
    let wide = DigestOptions::default();
    prop_oneof![
        8 => Just(wide),
        1 => Just(DigestOptions { grouping_limit: 1, groups_grouping_limit: 1, ..wide }),
        1 => Just(DigestOptions { lowercase: true, ..wide }),
        1 => Just(DigestOptions { keep_comment: true, ..wide }),
        1 => Just(DigestOptions { replace_null: true, no_digits: true, ..wide }),
        1 => (1..40_usize).prop_map(move |max| DigestOptions { max_query_length: max, ..wide }),
        1 => (1..40_usize).prop_map(move |max| DigestOptions { max_digest_length: max, ..wide }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn facts_that_are_remembered_are_those_of_the_text(
        head in 7..15_usize,
        rows in prop::collection::vec((0..PIECES.len(), any::<[u8; 6]>()), 0..10),
        options in options(),
    ) {
        let mut known = KnownFacts::default();
        for variant in 0..6 {
            let mut text = String::from(PIECES[head][0]);
            for (row, choices) in &rows {
                let row = PIECES[*row];
                text.push_str(row[usize::from(choices[variant]) % row.len()]);
            }
            let (told, _) = ask(&mut known, text.as_bytes(), &options);
            prop_assert_eq!(told, facts(text.as_bytes()), "{}", text);
        }
    }
}

#[test]
fn what_a_digest_reaches_is_kept_until_something_else_is_known() {
    let (mut known, options) = (KnownFacts::default(), DigestOptions::default());
    let reach = Reach { epoch: 7, effects: Effects::WRITES };
    ask(&mut known, b"SELECT f(1)", &options);
    known.note_reach(reach);
    ask(&mut known, b"SELECT g(1)", &options);
    assert_eq!(known.reach(7), None, "another digest");
    ask(&mut known, b"SELECT f(2)", &options);
    assert_eq!((known.reach(7), known.reach(8)), (Some(Effects::WRITES), None));
    ask(&mut known, b"SELECT /* x */ f(2)", &options);
    known.note_reach(reach);
    assert_eq!(known.reach(7), None, "not all that is omitted is a value");
}
