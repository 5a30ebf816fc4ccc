//! Digests by table and by property: limits, idempotence, independence of what came before.

use super::*;

fn digest_of(text: &str, options: &DigestOptions) -> String {
    String::from_utf8_lossy(Digester::new().digest(text.as_bytes(), options).text).into_owned()
}

#[test]
fn a_text_stops_growing_at_the_limit_and_folds_to_make_room() {
    let insert = "INSERT INTO db.table (col1,col2,col3) VALUES ";
    let rows = "(1.23234, 9.92381, 8.00)";
    let folded = "(?,...)";
    for (limit, text, end) in [
        (57, rows, folded),
        (56, rows, folded),
        (55, rows, "(?,?"),
        (54, rows, "(?,?"),
        (53, rows, "(?"),
        (47, rows, "(?"),
        (46, rows, "("),
    ] {
        let options = DigestOptions {
            max_query_length: limit,
            grouping_limit: 1,
            groups_grouping_limit: 1,
            ..DigestOptions::default()
        };
        let got = digest_of(&format!("{insert}{text}"), &options);
        assert_eq!(got, format!("{insert}{end}"), "{limit}");
    }
}

#[test]
fn a_long_list_goes_on_being_folded_when_the_limit_was_met() {
    let insert = "INSERT INTO db.table (col1,col2,col3) VALUES ";
    let numbers = "(122,222,332,442,551,662,777,888,999,100,111,122,234)";
    let folded = "(?,?,?,?,?,?,?,?,...";
    for (limit, end) in [(68, ",?"), (70, ")"), (71, ")")] {
        let options = DigestOptions {
            max_query_length: limit,
            grouping_limit: 8,
            groups_grouping_limit: 1,
            ..DigestOptions::default()
        };
        let got = digest_of(&format!("{insert}{numbers}"), &options);
        assert_eq!(got, format!("{insert}{folded}{end}"), "{limit}");
    }
}

#[test]
fn comments_beyond_the_limit_are_text() {
    let options = DigestOptions { max_query_length: 25, ..DigestOptions::default() };
    let got = digest_of("SELECT '01JSQMJPDJEF'  -- cmt: foo", &options);
    assert_eq!(got, "SELECT ?- cmt: foo");
}

#[test]
fn a_kept_comment_is_cut_at_the_limit() {
    let zeros = "0".repeat(110);
    let text = format!("SELECT /* long_comment {zeros} */ 1");
    let whole = format!("SELECT /* long_comment {zeros} */ ?");
    for limit in 30..=whole.len() {
        let options = DigestOptions {
            max_query_length: limit,
            keep_comment: true,
            ..DigestOptions::default()
        };
        assert_eq!(digest_of(&text, &options), whole[..limit].trim_end(), "{limit}");
    }
}

#[test]
fn values_of_a_list_fold_after_any_beginning_and_never_behind_a_nested_list() {
    for (list, expected) in [
        ("(NOW(),1,2,3,4,5)", "(NOW(),?,?,?,?,?)"),
        ("(UUID(), 1, 2, 3, 4, 5)", "(UUID(),?,?,?,?,?)"),
        ("(POINT(1,2),1,2,3,4,5)", "(POINT(?,?),?,?,?,?,?)"),
        ("(f(1,2,3,4,5),1,2,3,4,5)", "(f(?,?,?,...),?,?,?,?,?)"),
        ("(1,2,3,4,5,f(1),1,2,3,4,5)", "(?,?,?,...,f(?),?,?,?,?,?)"),
        ("(1,2,3,f(1,2,3,4,5)", "(?,?,?,f(?,?,?,...)"),
        ("(DATE'2020-01-01',1,2,3,4,5)", "(DATE?,?,?,...)"),
        ("(x'41',b'1',2,3,4,5)", "(x?,b?,?,?,...)"),
        ("(x'41',2,3,4)", "(x?,?,?,?)"),
        ("(1,_utf8mb4'a',2,3,4,5)", "(?,_utf8mb4?,?,?,...)"),
        ("(1,2,3,4,5,N'a')", "(?,?,?,...,N?)"),
        ("(a>1,2,3,4,5)", "(a>?,?,?,...)"),
        ("(a > 1, 2, 3, 4, 5)", "(a > ?,?,?,...)"),
        ("(a, b, c=-1, 2, 3, 4, 5)", "(a,b,c=?,?,?,...)"),
        ("(1+a,2,3,4,5)", "(?+a,?,?,?,?)"),
        ("(1 and 2,3,4,5,6)", "(? and ?,?,?,?,?)"),
        ("(6 - 9,1,2,3,4,5)", "(?-?,?,?,?,...)"),
        ("(1,2,3,4,a>5)", "(?,?,?,?,a>?)"),
    ] {
        for before in ["INSERT INTO t VALUES ", "SELECT * FROM t WHERE a IN "] {
            let got = digest_of(&format!("{before}{list}"), &DigestOptions::default());
            assert_eq!(got, format!("{before}{expected}"));
        }
    }
    let no_digits = DigestOptions { no_digits: true, ..DigestOptions::default() };
    assert_eq!(digest_of("select f(a1,2,3,4,5)", &no_digits), "select f(a?,?,?,...)");
}

#[test]
fn all_semicolons_at_the_end_go_but_one_that_is_alone() {
    for text in
        ["SELECT 1;", "SELECT 1;;", "SELECT 1 ; ;", "SELECT 1;;;  ", "SELECT 1; -- end of all"]
    {
        assert_eq!(digest_of(text, &DigestOptions::default()), "SELECT ?", "{text}");
    }
    assert_eq!(digest_of(";;", &DigestOptions::default()), ";");
    assert_eq!(digest_of("SELECT 1;;SELECT 2;;", &DigestOptions::default()), "SELECT ?;;SELECT ?");
}

#[test]
fn a_line_comment_a_certain_way_from_the_end_loses_but_its_mark() {
    for (text, expected) in [
        ("SELECT 1 -- last", "SELECT ? last"),
        ("SELECT 1-- last", "SELECT ? last"),
        ("SELECT 1 -- las", "SELECT ?"),
        ("SELECT 1 -- lasts", "SELECT ?"),
        ("select 1 -- trailing comment", "select ?"),
        ("select 1 # a", "select ? a"),
        ("select 1 # trailing hash", "select ?"),
        ("select a#b", "select a"),
        ("select a#bc", "select abc"),
        ("select a#bcd", "select a"),
        ("SELECT * FROM `t#1`", "SELECT * FROM `t1`"),
        ("SELECT * FROM `t #1`", "SELECT * FROM `t ?`"),
    ] {
        assert_eq!(digest_of(text, &DigestOptions::default()), expected, "{text}");
    }
}

#[test]
fn groups_of_lists_fold_when_many_follow_one_another() {
    let options = |groups_grouping_limit| DigestOptions {
        grouping_limit: 1,
        groups_grouping_limit,
        ..DigestOptions::default()
    };
    let text = "insert into t values (1,2,3),(4,5,6), (7,8,9) on duplicate key update a=values(b)";
    let end = " on duplicate key update a=values(b)";
    for (limit, lists) in [
        (0, "(?,...),(?,...),(?,...)"),
        (1, "(?,...),..."),
        (2, "(?,...),(?,...),..."),
        (3, "(?,...),(?,...),(?,...)"),
    ] {
        assert_eq!(digest_of(text, &options(limit)), format!("insert into t values {lists}{end}"));
    }
    // what follows a folded list may end where one of its values did
    for before in ["f", "fg", "fgh", "fghi", "fghij"] {
        let got = digest_of(&format!("(1,2,3),(4,5,6),{before}(7,8,9),(1,2,3)"), &options(1));
        assert_eq!(got, format!("(?,...),...,{before}(?,...),..."));
    }
}

#[test]
fn code_in_comments_stays_but_for_its_version_and_what_comes_before_another_mark() {
    let long = "x".repeat(2000);
    let kept = DigestOptions { keep_comment: true, ..DigestOptions::default() };
    for (text, expected, expected_kept) in [
        ("select /*!99999 a */ 1", "select a ?", "select /*99999 a */ ?"),
        ("select /*! 50001 1 = x */ 1", "select = x ?", "select /* 50001 1 = x */ ?"),
        ("select /*! 5 */ 1", "select ?", "select ?"),
        ("select /*!\ta\n*/ 1", "select \ta\n ?", "select /*\ta\n*/ ?"),
        ("select /*! a /*! b */ c */ 1", "select b c */ ?", "select /* b */ c */ ?"),
        ("select /* a /*!80000 b */ 1", "select b ?", "select /*80000 b */ ?"),
        ("select /*! a /*xb */ 1", "select b ?", "select /*b */ ?"),
        ("select /* a /*xb */ 1", "select ?", "select /*xb */ ?"),
        ("select /* a */*  from t", "select * from t", "select /* a */ * from t"),
        (
            &format!("/*!{long}*/ 1"),
            &format!("{} ?", &long[..1021]),
            &format!("/*{} ?", &long[..1021]),
        ),
    ] {
        assert_eq!(digest_of(text, &DigestOptions::default()), expected, "{text}");
        assert_eq!(digest_of(text, &kept), expected_kept, "{text}");
    }
    assert_eq!(digest_of("select 1 -- a\r, 2", &DigestOptions::default()), "select ?,?");
}

#[test]
fn the_first_comment_is_for_annotations_unless_it_is_code_or_a_hint() {
    for (text, comment) in [
        ("/* hostgroup=1 */ select 1", Some(" hostgroup=1 ")),
        ("select /*b*/ /* hostgroup=1 */ 1", Some("b")),
        ("/*! a */ /*+ b */ /* c */ select 1", Some(" c ")),
        ("select '/* x */' -- /* y */", None),
        ("/**/ select 1", Some("")),
        ("/* open", None),
    ] {
        let mut digester = Digester::new();
        let digest = digester.digest(text.as_bytes(), &DigestOptions::default());
        assert_eq!(digest.first_comment, comment.map(str::as_bytes), "{text}");
    }
    let long = format!("/*{}*/", "x".repeat(2000));
    let mut digester = Digester::new();
    let digest = digester.digest(long.as_bytes(), &DigestOptions::default());
    assert_eq!(digest.first_comment.map(<[u8]>::len), Some(1024));
}

/// Pieces of statements, valid or not, that mean something to one of the passes.
const PIECES: &[&str] = &[
    "select",
    "FROM",
    " ",
    "  ",
    "\t",
    "\n",
    ",",
    " , ",
    "(",
    ")",
    "()",
    "?",
    "1",
    "-1",
    "+ 2",
    "1.5",
    "1e-5",
    "0xAF",
    "12ab",
    "a1",
    "t.1",
    "'x'",
    "'it''s'",
    "\"q\\\"\"",
    "`q 1`",
    "null",
    "NULL",
    "-",
    "+",
    "*",
    "/",
    "%",
    "--",
    "-- c\n",
    "# c\n",
    "/* c */",
    "/*! y */",
    "/*!50001 x=1 */",
    "/*+ h */",
    "/*",
    "*/",
    ";",
    "'",
    "\"",
    "\\",
    "\0",
    "\u{e9}",
    "\u{65e5}\u{672c}",
    "@v",
    "@@g",
    ":=",
    "=",
    "...",
    "(1,2,3,4,5,6)",
    "(?,?,?,...)",
    "x'4F'",
    "in(1,2,3),(4,5,6),",
];

fn texts() -> impl proptest::strategy::Strategy<Value = Vec<u8>> {
    use proptest::prelude::*;
    let piece = prop_oneof![
        8 => proptest::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 1..6),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn any_options() -> impl proptest::strategy::Strategy<Value = DigestOptions> {
    use proptest::prelude::*;
    (any::<[bool; 4]>(), 0..200usize, 0..200usize, 0..6usize, 0..4usize).prop_map(
        |([lowercase, replace_null, no_digits, keep_comment], query, digest, values, lists)| {
            DigestOptions {
                max_query_length: if query < 100 { query } else { 65_000 },
                max_digest_length: if digest < 100 { digest } else { 2048 },
                lowercase,
                replace_null,
                no_digits,
                keep_comment,
                grouping_limit: values,
                groups_grouping_limit: lists,
            }
        },
    )
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(5_000))]

    #[test]
    fn no_text_makes_a_digest_longer_than_its_limits(text in texts(), options in any_options()) {
        let mut digester = Digester::new();
        let digest = digester.digest(&text, &options);
        proptest::prop_assert!(digest.text.len() <= options.max_digest_length);
        proptest::prop_assert!(digest.text.len() <= options.max_query_length.min(text.len()));
        proptest::prop_assert_eq!(digest.hash, crate::spooky::hash64(digest.text, 0));
    }

    #[test]
    fn earlier_digests_leave_nothing_behind(text in texts(), options in any_options()) {
        let mut used = Digester::new();
        used.digest(b"select 'long enough to leave something behind', 2, 3, 4, 5, 6", &options);
        let mut new = Digester::new();
        let (one, other) = (used.digest(&text, &options), new.digest(&text, &options));
        proptest::prop_assert_eq!(one, other);
    }

    /// Words are copied together only where nothing can happen to them.
    #[test]
    fn copying_words_together_changes_nothing(text in texts()) {
        let with = |replace_null| DigestOptions { replace_null, ..DigestOptions::default() };
        let without_null: Vec<u8> =
            text.iter().filter(|byte| !matches!(byte, b'n' | b'N')).copied().collect();
        let (mut fast, mut slow) = (Digester::new(), Digester::new());
        let fast = fast.digest(&without_null, &with(false));
        let slow = slow.digest(&without_null, &with(true));
        // where NULL is a value, more is omitted
        let slow = Digest { omitted: fast.omitted, ..slow };
        proptest::prop_assert_eq!(fast, slow);
    }
}

/// What the tests that come with ProxySQL expect of it, under `replace_null` and lists of three.
#[test]
fn reproduces_what_is_published() {
    let options =
        DigestOptions { replace_null: true, groups_grouping_limit: 1, ..DigestOptions::default() };
    for (text, expected) in [
        ("   --   random_comment\nselect 1.1 #final_comment  \n  ", "select ?"),
        ("select 1.1e-9, 1.1E+9, 0x100", "select ?,?,?"),
        ("select 1+ 1, 1 -1, 1 * 1 , 1/1 , 100 % 3", "select ?+?,?-?,?*?,?/?,?%?"),
        (
            "SELECT * FROM t t1, t t2 ,t t3,t t4 LIMIT 0",
            "SELECT * FROM t t1,t t2,t t3,t t4 LIMIT ?",
        ),
        ("select  + 1, - 2", "select ?,?"),
        ("SELECT N'string', _utf8'str\\'i\nng'", "SELECT N?,_utf8?"),
        ("select * from 1_value", "select * from 1_value"),
        ("select (-'89'), -\"1\", +'5'", "select (?),?,?"),
        ("select '''\\\\''\\''''", "select ?"),
        ("select CONCAT(  -'89'   +  '10' )", "select CONCAT(?+?)"),
        ("select CONCAT(- '89')", "select CONCAT(?)"),
        (
            "SELECT * FROM nullt WHERE null_id IN (NULL  ,2,3, 'NULL' ,5,NulL,null,NULL8,9,10)",
            "SELECT * FROM nullt WHERE null_id IN (?,?,?,...,NULL8,?,?)",
        ),
        (
            "SELECT * tablename where id IN (1,2,3,4,5,6,7,8,  AND j in (1,2,3,4,5,6  and k=1",
            "SELECT * tablename where id IN (?,?,?,...,AND j in (?,?,?,...,? and k=?",
        ),
        (
            "INSERT INTO db.table  ( col1 )  VALUES ( 'val' )",
            "INSERT INTO db.table (col1) VALUES (?)",
        ),
        (
            "INSERT INTO t VALUES ('val',1, 2,3,'foo', 5 + 10, 6 - 9, 12, 3, 4, 5, 4,5,6)",
            "INSERT INTO t VALUES (?,?,?,...,?+?,?-?,?,?,?,...)",
        ),
        (
            "INSERT INTO t VALUES ('val',1, 2,3,'foo'), ('val2', 2,3,4,'foo2')",
            "INSERT INTO t VALUES (?,?,?,...),...",
        ),
    ] {
        assert_eq!(digest_of(text, &options), expected, "{text}");
    }
}

/// Statements that servers accept, without signs, whose digests lose them one at a time.
fn statements() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let value = prop_oneof![
        (0..100_000u32).prop_map(|n| n.to_string()),
        (0..1000u32).prop_map(|n| format!("{n}.{n}e3")),
        "[a-z ]{0,9}".prop_map(|text| format!("'{text}'")),
        Just("'it''s'".to_owned()),
        Just("0x1F".to_owned()),
        Just("NULL".to_owned()),
        Just("now()".to_owned()),
    ];
    let blank = prop_oneof![4 => Just(" "), 1 => Just("  "), 1 => Just("\n\t")];
    let list = (proptest::collection::vec(value, 1..9), blank.clone())
        .prop_map(|(values, blank)| format!("({})", values.join(&format!(",{blank}"))));
    let name = prop_oneof![Just("a"), Just("t1.c2"), Just("`b c`"), Just("\u{540d}")];
    let select = (name.clone(), list.clone(), list.clone(), blank.clone()).prop_map(
        |(name, some, others, blank)| {
            let tail = format!("WHERE {name} IN {some} OR b = 1 AND c in{others};");
            format!("SELECT{blank}{name},count( * ){blank}FROM t {tail}")
        },
    );
    let insert =
        (name, proptest::collection::vec(list, 1..14), blank).prop_map(|(name, lists, blank)| {
            format!(
                "insert into t ( {name} ){blank}values{blank}{}",
                lists.join(&format!("{blank},"))
            )
        });
    prop_oneof![select, insert]
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_digest_of_a_digest_is_itself(text in statements(), options in any_options()) {
        let options = DigestOptions {
            max_query_length: 65_000,
            max_digest_length: 2048,
            no_digits: false,
            ..options
        };
        let once = digest_of(&text, &options);
        proptest::prop_assert_eq!(digest_of(&once, &options), once);
    }

    #[test]
    fn values_of_the_same_shape_have_the_same_digest(text in statements()) {
        let other: String = text.chars().map(|c| if c == '5' { '7' } else { c }).collect();
        let options = DigestOptions::default();
        proptest::prop_assert_eq!(digest_of(&text, &options), digest_of(&other, &options));
    }
}
