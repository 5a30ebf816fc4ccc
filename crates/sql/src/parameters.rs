//! The question marks of a text that is to be prepared: where they are, and the text with something
//! else in their places. What that is, and whether it means the same, is its caller's.

use crate::Modes;
use crate::lexer::{Lexer, Token, TokenKind};

/// How many parameters a text has that is to be prepared.
pub fn count_parameters(text: &[u8]) -> u16 {
    let mut lexer = Lexer::new(text, Modes::default());
    u16::try_from(marks(&mut lexer).count()).unwrap_or(u16::MAX)
}

/// The text with literals in the places of its parameters; `None` unless there are as many of
/// them, or where the text may be read in more than one way.
pub fn put_parameters(text: &[u8], literals: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut lexer = Lexer::new(text, Modes::default());
    let marks: Vec<Token> = marks(&mut lexer).collect();
    if lexer.is_ambiguous() || marks.len() != literals.len() {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() + 16 * marks.len());
    let mut copied = 0;
    for (mark, literal) in marks.iter().zip(literals) {
        out.extend_from_slice(text.get(copied..mark.start)?);
        // a sign in front of a negative number would begin a comment
        out.push(b' ');
        out.extend_from_slice(literal);
        copied = mark.end;
    }
    out.extend_from_slice(text.get(copied..)?);
    Some(out)
}

fn marks(lexer: &mut Lexer<'_>) -> impl Iterator<Item = Token> {
    std::iter::from_fn(|| lexer.next_token()).filter(|token| token.kind == TokenKind::Punct(b'?'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_the_question_marks_outside_strings_names_and_comments() {
        let table: &[(&str, u16)] = &[
            ("SELECT 1", 0),
            ("SELECT ?, a FROM t WHERE b=? AND c IN (?,?)", 4),
            ("SELECT '?', \"?\", `?` /* ? */ -- ?", 0),
            ("INSERT INTO t VALUES (?) # ?", 1),
            ("", 0),
        ];
        for (text, count) in table {
            assert_eq!(count_parameters(text.as_bytes()), *count, "{text}");
        }
    }

    #[test]
    fn literals_stand_where_the_question_marks_stood() {
        let put = |text: &str, literals: &[&str]| {
            let literals: Vec<_> = literals.iter().map(|l| l.as_bytes().to_vec()).collect();
            put_parameters(text.as_bytes(), &literals).map(|text| String::from_utf8(text).unwrap())
        };
        let cases: &[(&str, &[&str], Option<&str>)] = &[
            ("SET @a=1-?,@b='?'", &["-5"], Some("SET @a=1- -5,@b='?'")),
            ("SET @a=?, @b=? /* ? */", &["'x'", "NULL"], Some("SET @a= 'x', @b= NULL /* ? */")),
            ("SET @a=1", &[], Some("SET @a=1")),
            ("SET @a=?", &[], None),
            ("SET @a=?", &["1", "2"], None),
            ("SET @a=? /*M! , @b=? */", &["1", "2"], None),
        ];
        for (text, literals, expected) in cases {
            assert_eq!(put(text, literals).as_deref(), *expected, "{text}");
        }
    }
}
