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
