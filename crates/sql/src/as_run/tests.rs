//! Forms in which servers run texts, and which versions and ways of reading there are.

use super::*;
use crate::{DigestOptions, Digester, HighBytes};

/// The forms that differ, in the order of the versions.
fn forms_in(text: &[u8], modes: Modes) -> Vec<String> {
    let mut forms = Vec::new();
    for version in Versions::named_in(text).unwrap().iter() {
        let mut form = Vec::new();
        as_run(text, modes, (version, false), &mut form);
        let form = String::from_utf8(form).unwrap();
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}

fn forms(text: &str) -> Vec<String> {
    forms_in(text.as_bytes(), Modes::default())
}

#[test]
fn comments_and_odd_blanks_are_one_blank_and_code_in_comments_is_code() {
    for (text, form) in [
        ("SELECT  1", "SELECT 1"),
        ("\u{b}DELETE\u{c}FROM t", "DELETE FROM t"),
        ("/* a */ SELECT/**/1 -- b\n, 2 # c", "SELECT 1 , 2"),
        ("/*! DELETE FROM t */", "DELETE FROM t"),
        ("/*!40101 SET NAMES utf8 */", "SET NAMES utf8"),
        ("SELECT 1--1, 2*/*x*/3", "SELECT 1--1, 2* 3"),
        ("DELETE\0FROM t", "DELETE FROM t"),
    ] {
        assert_eq!(forms(text), [form], "{text:?}");
    }
}

#[test]
fn code_for_some_servers_gives_a_form_for_each() {
    assert_eq!(forms("/*M! DELETE FROM t */"), ["", "DELETE FROM t"]);
    // one comment to MySQL
    assert_eq!(forms("/*M!/*/DELETE FROM t"), ["DELETE FROM t", ""]);
    assert_eq!(
        forms("/*!99999 SELECT 1 */ /*!50700 DELETE FROM t */"),
        ["", "SELECT 1 DELETE FROM t", "DELETE FROM t",]
    );
    // the quote is one of a comment, where that is none of the server's code
    let hidden = "/*!99999 ' */ /*!50700 DELETE FROM t */ -- '";
    assert!(forms(hidden).contains(&"DELETE FROM t".to_owned()));
    // a comment in one that is skipped
    let nested = "/*!99999 a /* b */ c */ DELETE FROM t";
    assert_eq!(forms(nested)[0], "DELETE FROM t");
    let many: String = (60_000..60_020).map(|number| format!("/*!{number} x */")).collect();
    assert!(Versions::named_in(many.as_bytes()).is_none());
}

#[test]
fn nothing_in_quotes_opens_another_quote_or_a_comment() {
    for (text, form) in [
        ("SELECT 1 AS `'`; DELETE FROM t -- '`", "SELECT 1 AS `_`; DELETE FROM t"),
        ("SELECT `a#b`, `c--d`, `e/*f`, `g-h/i`", "SELECT `a_b`, `c_-d`, `e_*f`, `g-h/i`"),
        (
            "SELECT \"a'b\", 'c\\'d', 'e''f', n'g', x'12'",
            "SELECT 'a_b', 'c__d', 'e__f', n'g', x'12'",
        ),
        ("SELECT 'open", "SELECT 'open'"),
    ] {
        assert_eq!(forms(text), [form], "{text:?}");
    }
    let ansi = Modes { ansi_quotes: true, ..Modes::default() };
    assert_eq!(forms_in(b"SELECT \"a'b\"", ansi), ["SELECT `a_b`"]);
    let no_escapes = Modes { no_backslash_escapes: true, ..Modes::default() };
    let escaped = forms_in(b"SELECT '\\'; DELETE FROM t -- '", no_escapes);
    assert_eq!(escaped, ["SELECT '_'; DELETE FROM t"]);
}

#[test]
fn a_string_in_dollars_is_one_where_servers_know_it() {
    for (text, form) in [
        ("CREATE LIBRARY l AS $$ ' $$; DELETE FROM t; -- '", "AS '_'; DELETE FROM t;"),
        ("SELECT '$$'; CREATE LIBRARY l AS $$ ' $$; DELETE FROM t -- '", "'_'; DELETE FROM t"),
        ("CREATE LIBRARY l AS $x$ $$ ' $y$ $x$; DELETE FROM t -- '", "AS '_'; DELETE FROM t"),
        ("CREATE LIBRARY l AS $a$; DELETE FROM t", "AS '_'"),
        ("SELECT a$$, $b FROM t$ -- $$", "SELECT a$$, $b FROM t$"),
    ] {
        let mut out = Vec::new();
        let of_nine = (Version::MySql(90_700), true);
        as_run(text.as_bytes(), Modes::default(), of_nine, &mut out);
        let out = String::from_utf8(out).unwrap();
        assert!(out.ends_with(form), "{text}: {out}");
    }
}

#[test]
fn a_backslash_is_half_a_character_where_the_character_set_has_such_a_pair() {
    let hides = |first: u8, high_bytes| {
        let text = [b"SELECT '", &[first, b'\\', b'\''][..], b"; DELETE FROM t -- '"].concat();
        let mut out = Vec::new();
        let modes = Modes { high_bytes, ..Modes::default() };
        as_run(&text, modes, (Version::MySql(80_036), false), &mut out);
        !out.ends_with(b"DELETE FROM t")
    };
    for (high_bytes, leads) in [
        (HighBytes::Letters, vec![]),
        (HighBytes::Big5, vec![0xa1..=0xf9]),
        (HighBytes::Sjis, vec![0x81..=0x9f, 0xe0..=0xfc]),
        (HighBytes::Gbk, vec![0x81..=0xfe]),
    ] {
        for first in 0x80..=0xff {
            let is_lead = leads.iter().any(|leads| leads.contains(&first));
            assert_eq!(hides(first, high_bytes), !is_lead, "{high_bytes:?} {first:#x}");
        }
    }
}

#[test]
fn ordinary_texts_deceive_nobody_and_their_digest_stays_the_same() {
    let options = DigestOptions::default();
    for text in [
        "SELECT id, `name` FROM t WHERE a = 'x' AND b IN (1, 2, 3)",
        "/* page:7 */ INSERT INTO t VALUES (-1, \"a\", NULL), (2, 'b', 1.5e3)",
        "UPDATE t SET a = a - 1 WHERE b = 'it''s' -- why not\n",
        "CALL p(@a, @@sql_mode, x'ff', 0x1f)",
    ] {
        let mut digester = Digester::new();
        let of_text = digester.digest(text.as_bytes(), &options).text.to_vec();
        let form = forms(text).remove(0);
        let of_form = digester.digest(form.as_bytes(), &options).text.to_vec();
        assert_eq!(String::from_utf8(of_form), String::from_utf8(of_text), "{text}");
    }
    let mut digester = Digester::new();
    let plain = b"SELECT a FROM t WHERE b = 'x' AND c = 1";
    let omitted = digester.digest(plain, &options).omitted;
    assert!(!may_deceive(plain, omitted, Modes::default()));
}
