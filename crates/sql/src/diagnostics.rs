//! Statements that ask for the diagnostics of the one before, and for nothing else.

use crate::Modes;
use crate::cursor::Cursor;
use crate::keyword::Keyword;
use crate::lexer::TokenKind;

/// What a statement asks of the diagnostics that the one before left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiagnosticsAsked<'a> {
    /// Errors alone, not warnings and notes too.
    pub errors: bool,
    /// Which of them, or how many they are.
    pub of: Asked<'a>,
}

/// Conditions, or their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked<'a> {
    /// `SHOW WARNINGS`: at most `most` of the conditions, without the first `skip`.
    List {
        /// How many are left out.
        skip: u64,
        /// How many there may be.
        most: u64,
    },
    /// `SHOW COUNT(*) WARNINGS`.
    Count,
    /// `SELECT @@warning_count`, whose column has this name.
    Variable(&'a [u8]),
}

/// What a text asks; `None` where it is about anything else, or asks in another way.
pub fn parse_diagnostics_asked(text: &[u8], modes: Modes) -> Option<DiagnosticsAsked<'_>> {
    let mut words = Cursor::new(text, modes);
    let asked = match words.takes(b"SELECT") {
        true => variable(text, &mut words),
        false => shown(&mut words),
    };
    asked.filter(|_| words.is_over())
}

/// Whether a text is a `GET DIAGNOSTICS`, which only reads them.
pub fn gets_diagnostics(text: &[u8], modes: Modes) -> bool {
    Cursor::new(text, modes).takes(b"GET")
}

fn shown<'a>(words: &mut Cursor<'_>) -> Option<DiagnosticsAsked<'a>> {
    words.takes(b"SHOW").then_some(())?;
    let counts = words.takes(b"COUNT");
    if counts && !b"(*)".iter().all(|punct| words.take_punct(*punct)) {
        return None;
    }
    let errors = match words.take_keyword() {
        Keyword::Warnings => false,
        Keyword::Errors => true,
        _ => return None,
    };
    let of = match counts {
        true => Asked::Count,
        false => limits(words)?,
    };
    Some(DiagnosticsAsked { errors, of })
}

fn limits<'a>(words: &mut Cursor<'_>) -> Option<Asked<'a>> {
    if !words.takes(b"LIMIT") {
        return Some(Asked::List { skip: 0, most: u64::MAX });
    }
    let first = number(words)?;
    let (skip, most) = if words.take_punct(b',') {
        (first, number(words)?)
    } else if words.takes(b"OFFSET") {
        (number(words)?, first)
    } else {
        (0, first)
    };
    Some(Asked::List { skip, most })
}

fn number(words: &mut Cursor<'_>) -> Option<u64> {
    std::str::from_utf8(words.take(TokenKind::Number)?).ok()?.parse().ok()
}

fn variable<'a>(text: &'a [u8], words: &mut Cursor<'_>) -> Option<DiagnosticsAsked<'a>> {
    let start = words.token.filter(|token| token.kind == TokenKind::SystemAt)?.start;
    words.advance();
    if words.takes(b"SESSION") || words.takes(b"LOCAL") {
        words.take_punct(b'.').then_some(())?;
    }
    let end = words.token?.end;
    let errors = match words.take_keyword() {
        Keyword::WarningCount => false,
        Keyword::ErrorCount => true,
        _ => return None,
    };
    Some(DiagnosticsAsked { errors, of: Asked::Variable(text.get(start..end)?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_ask_for_diagnostics_alone_is_understood() {
        let all = Asked::List { skip: 0, most: u64::MAX };
        let limited = |skip, most| Asked::List { skip, most };
        for (text, errors, of) in [
            ("SHOW WARNINGS", false, all),
            (" show /* x */ errors ;", true, all),
            ("SHOW WARNINGS LIMIT 5", false, limited(0, 5)),
            ("SHOW ERRORS LIMIT 2, 3", true, limited(2, 3)),
            ("SHOW WARNINGS LIMIT 3 OFFSET 2", false, limited(2, 3)),
            ("SHOW COUNT(*) WARNINGS", false, Asked::Count),
            ("show count ( * ) errors", true, Asked::Count),
            ("SELECT @@warning_count", false, Asked::Variable(b"@@warning_count")),
            ("SELECT @@Session.error_count", true, Asked::Variable(b"@@Session.error_count")),
        ] {
            let asked = parse_diagnostics_asked(text.as_bytes(), Modes::default());
            assert_eq!(asked, Some(DiagnosticsAsked { errors, of }), "{text}");
        }
    }

    #[test]
    fn what_asks_for_anything_besides_is_not() {
        for text in [
            "SHOW TABLES",
            "SHOW WARNINGS; SELECT 1",
            "SHOW WARNINGS LIMIT",
            "SHOW WARNINGS LIMIT ?",
            "SHOW COUNT(*) TABLES",
            "SELECT @@warning_count + 1",
            "SELECT @@warning_count, @@error_count",
            "SELECT @@global.warning_count",
            "SELECT @@version",
            "SELECT @warning_count",
            "GET DIAGNOSTICS @n = NUMBER",
        ] {
            assert_eq!(parse_diagnostics_asked(text.as_bytes(), Modes::default()), None, "{text}");
        }
    }
}
