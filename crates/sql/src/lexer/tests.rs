//! Tokens as the servers see them.

use super::*;

fn lexemes_in(text: &str, modes: Modes) -> Vec<(TokenKind, &str)> {
    let mut lexer = Lexer::new(text.as_bytes(), modes);
    let mut out = Vec::new();
    while let Some(token) = lexer.next_lexeme() {
        out.push((token.kind, &text[token.start..token.end]));
    }
    out
}

fn lexemes(text: &str) -> Vec<(TokenKind, &str)> {
    lexemes_in(text, Modes::default())
}

#[test]
fn cuts_words_numbers_and_marks() {
    use TokenKind::{Assign, At, Number, Punct, Quoted, SystemAt, Text, Word};
    assert_eq!(
        lexemes("SELECT a$1,`b`+1.5e3 FROM t\u{e9} WHERE x='y'\n@v:=@@s"),
        [
            (Word, "SELECT"),
            (Word, "a$1"),
            (Punct(b','), ","),
            (Quoted, "`b`"),
            (Punct(b'+'), "+"),
            (Number, "1.5e3"),
            (Word, "FROM"),
            (Word, "t\u{e9}"),
            (Word, "WHERE"),
            (Word, "x"),
            (Punct(b'='), "="),
            (Text, "'y'"),
            (At, "@"),
            (Word, "v"),
            (Assign, ":="),
            (SystemAt, "@@"),
            (Word, "s"),
        ]
    );
}

#[test]
fn tells_numbers_from_words_that_begin_with_digits() {
    use TokenKind::{Bits, Number, Punct, Word};
    for (text, expected) in [
        ("1", vec![(Number, "1")]),
        ("1.", vec![(Number, "1.")]),
        (".5", vec![(Number, ".5")]),
        ("1e5", vec![(Number, "1e5")]),
        ("1e+5", vec![(Number, "1e+5")]),
        ("1.5E-5", vec![(Number, "1.5E-5")]),
        ("1e", vec![(Word, "1e")]),
        ("1FOR", vec![(Word, "1FOR")]),
        ("1e5FOR", vec![(Number, "1e5"), (Word, "FOR")]),
        ("1.FOR", vec![(Number, "1."), (Word, "FOR")]),
        ("0x1F", vec![(Bits, "0x1F")]),
        ("0x1G", vec![(Word, "0x1G")]),
        ("0x", vec![(Word, "0x")]),
        ("0b01", vec![(Bits, "0b01")]),
        ("0b02", vec![(Word, "0b02")]),
        ("x'1F'", vec![(Bits, "x'1F'")]),
        ("B'01'", vec![(Bits, "B'01'")]),
        ("1 .5", vec![(Number, "1"), (Number, ".5")]),
        ("a.24", vec![(Word, "a"), (Punct(b'.'), "."), (Word, "24")]),
        ("a.0x1F", vec![(Word, "a"), (Punct(b'.'), "."), (Word, "0x1F")]),
        ("a.1e5", vec![(Word, "a"), (Punct(b'.'), "."), (Word, "1e5")]),
        ("a.3e8f,", vec![(Word, "a"), (Punct(b'.'), "."), (Word, "3e8f"), (Punct(b','), ",")]),
    ] {
        assert_eq!(lexemes(text), expected, "{text}");
    }
}

#[test]
fn finds_the_end_of_strings() {
    use TokenKind::{Quoted, Text, Word};
    for (text, expected) in [
        ("'a''b'c", vec![(Text, "'a''b'"), (Word, "c")]),
        ("'a\\'b'c", vec![(Text, "'a\\'b'"), (Word, "c")]),
        ("'a\\\\'c", vec![(Text, "'a\\\\'"), (Word, "c")]),
        ("\"a'b\"c", vec![(Text, "\"a'b\""), (Word, "c")]),
        ("`a\\`c", vec![(Quoted, "`a\\`"), (Word, "c")]),
        ("`a``b`c", vec![(Quoted, "`a``b`"), (Word, "c")]),
        ("n'a'c", vec![(Text, "n'a'"), (Word, "c")]),
        ("'a", vec![(Text, "'a")]),
        ("'a\\", vec![(Text, "'a\\")]),
        ("'", vec![(Text, "'")]),
        ("''", vec![(Text, "''")]),
    ] {
        assert_eq!(lexemes(text), expected, "{text}");
    }
}

#[test]
fn reads_double_quotes_as_the_mode_says() {
    let ansi = Modes { ansi_quotes: true, ..Modes::default() };
    assert_eq!(lexemes("\"a\""), [(TokenKind::Text, "\"a\"")]);
    assert_eq!(lexemes_in("\"a\\\"", ansi), [(TokenKind::Quoted, "\"a\\\"")]);
}

#[test]
fn finds_comments() {
    use TokenKind::{Comment, Number, Punct, Word};
    for (text, expected) in [
        ("/* a */b", vec![(Comment, "/* a */"), (Word, "b")]),
        ("/*/ a */b", vec![(Comment, "/*/ a */"), (Word, "b")]),
        ("/**/b", vec![(Comment, "/**/"), (Word, "b")]),
        ("/*+ a */b", vec![(Comment, "/*+ a */"), (Word, "b")]),
        ("-- a\nb", vec![(Comment, "-- a\n"), (Word, "b")]),
        ("--\tb", vec![(Comment, "--\tb")]),
        ("--", vec![(Comment, "--")]),
        ("#a\nb", vec![(Comment, "#a\n"), (Word, "b")]),
        ("--1", vec![(Punct(b'-'), "-"), (Punct(b'-'), "-"), (Number, "1")]),
        ("/* a", vec![(Comment, "/* a")]),
        ("a*/b", vec![(Word, "a"), (Punct(b'*'), "*"), (Punct(b'/'), "/"), (Word, "b")]),
    ] {
        assert_eq!(lexemes(text), expected, "{text}");
    }
}

#[test]
fn reads_code_comments_as_code() {
    use TokenKind::{Comment, Number, Text, Word};
    for (text, expected) in [
        ("/*!a*/b", vec![(Word, "a"), (Word, "b")]),
        ("/*!50000a*/b", vec![(Word, "a"), (Word, "b")]),
        ("/*!1234 a*/", vec![(Number, "1234"), (Word, "a")]),
        ("/*M!a*/b", vec![(Word, "a"), (Word, "b")]),
        ("/*!'*/'a*/b", vec![(Text, "'*/'"), (Word, "a"), (Word, "b")]),
        ("/*!a/*c*/b*/d", vec![(Word, "a"), (Comment, "/*c*/"), (Word, "b"), (Word, "d")]),
    ] {
        assert_eq!(lexemes(text), expected, "{text}");
    }
}

#[test]
fn tells_texts_that_servers_read_differently() {
    for (text, ambiguous) in [
        ("/*!50699 a*/", false),
        ("/*!050699 a*/", false),
        ("/*! a*/", false),
        ("/*!50700 a*/", true),
        ("/*!80000 a*/", true),
        ("/*!100100 a*/", true),
        ("/*M! a*/", true),
        ("'/*M! a*/'", false),
        // servers take none that does not end
        ("a /*! b", true),
        ("a /*!50000 b /* c */", true),
        ("a /*!50000 b /* c */ */", false),
        ("a /*! b /* c", true),
        ("a /*! b *", true),
    ] {
        let mut lexer = Lexer::new(text.as_bytes(), Modes::default());
        while lexer.next_lexeme().is_some() {}
        assert_eq!(lexer.is_ambiguous(), ambiguous, "{text}");
    }
}
