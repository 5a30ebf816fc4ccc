//! Which functions a text calls: only those that compute a value, or others too.
//!
//! Stored and loaded functions may do anything, and a text does not tell them from one another. So
//! every function that is not on the list counts as one of them.

use crate::Modes;
use crate::calls_table::{CALLS, OTHERS, WORDS};
use crate::kinds_table::{OF_ONE_KIND, SESSION_VARIABLES};
use crate::lexer::{Lexer, TokenKind};

/// Whether a text of ASCII without strings has a word outside of its comments; what servers execute
/// of these counts.
pub fn has_word(text: &[u8], word: &[u8]) -> bool {
    let mut lexer = Lexer::new(text, Modes::default());
    while let Some(token) = lexer.next_token() {
        if token.kind == TokenKind::Word && lexer.slice(token).eq_ignore_ascii_case(word) {
            return true;
        }
    }
    false
}

/// Whether every function that a text calls does nothing but compute a value: it takes no lock,
/// waits for nothing, and leaves nothing behind.
///
/// A name that is not known, a name in quotes or one with a schema is none of these; nor is one
/// with a blank before its parenthesis, which may be a stored function's.
pub fn only_computes(text: &[u8]) -> bool {
    let mut lexer = Lexer::new(text, Modes::default());
    let mut before = Before::Sign;
    while let Some(token) = lexer.next_token() {
        let name = |known| Before::Name { known, end: token.end };
        before = match (token.kind, before) {
            (TokenKind::Punct(b'('), Before::Name { known: Known::No, .. }) => return false,
            (TokenKind::Punct(b'('), Before::Name { known: Known::Call, end })
                if end != token.start =>
            {
                return false;
            }
            (TokenKind::Comment, before) => before,
            (TokenKind::Punct(b'.'), _) => Before::Dot,
            (TokenKind::Word, Before::Dot) => name(Known::No),
            (TokenKind::Word, _) => name(known(lexer.slice(token))),
            (TokenKind::Quoted | TokenKind::Text, _) => name(Known::No),
            _ => Before::Sign,
        };
    }
    !lexer.is_ambiguous()
}

/// What stands before a token.
#[derive(Clone, Copy)]
enum Before {
    /// A name that ends there.
    Name { known: Known, end: usize },
    /// The dot of a qualified name.
    Dot,
    /// Anything else.
    Sign,
}

/// What a name is, where a parenthesis follows.
#[derive(Clone, Copy)]
enum Known {
    /// A word of the language.
    Word,
    /// A function that computes.
    Call,
    /// Anything else.
    No,
}

fn known(word: &[u8]) -> Known {
    match kind(word) {
        Some(Kind::Word) => Known::Word,
        Some(Kind::Computes) => Known::Call,
        Some(Kind::Other) | None => Known::No,
    }
}

/// Whether a parenthesis that follows this word makes it no call of a stored function, unless there
/// is one of that name.
pub fn is_native(word: &[u8]) -> bool {
    kind(word).is_some()
}

/// Whether this is the name of a function of the servers' own.
pub(crate) fn is_own_function(word: &[u8]) -> bool {
    matches!(kind(word), Some(Kind::Computes | Kind::Other))
}

/// Whether a name that [`is_native`] knows is a stored function's to servers that have none of
/// their own of that name.
pub(crate) fn is_of_one_kind(name: &[u8]) -> bool {
    is_listed(name, OF_ONE_KIND)
}

/// Whether a session of some server has a system variable of this name that it may set.
pub(crate) fn is_session_variable(name: &[u8]) -> bool {
    is_listed(name, SESSION_VARIABLES)
}

fn is_listed(name: &[u8], list: &str) -> bool {
    list.split(' ').any(|listed| name.eq_ignore_ascii_case(listed.as_bytes()))
}

/// What a word is to both servers.
enum Kind {
    Word,
    Computes,
    Other,
}

fn kind(word: &[u8]) -> Option<Kind> {
    const LONGEST: usize = 32;
    let mut upper = [0; LONGEST];
    let upper = upper.get_mut(..word.len())?;
    upper.copy_from_slice(word);
    upper.make_ascii_uppercase();
    let word = std::str::from_utf8(upper).ok()?;
    let lists =
        [(&WORDS[..], Kind::Word), (&CALLS[..], Kind::Computes), (&OTHERS[..], Kind::Other)];
    let found = lists.into_iter().find(|(list, _)| list.binary_search(&word).is_ok())?;
    Some(found.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_in_order() {
        assert!(WORDS.is_sorted() && CALLS.is_sorted() && OTHERS.is_sorted());
        assert!(is_native(b"uuid") && is_native(b"Count") && !is_native(b"mine"));
    }

    #[test]
    fn a_word_in_a_comment_is_none() {
        for (text, has) in [
            ("START TRANSACTION READ ONLY", true),
            ("begin /* of /read */", false),
            ("BEGIN -- read", false),
            ("BEGIN # read", false),
            ("START TRANSACTION /*!50600 READ ONLY */", true),
            ("START TRANSACTION /*M! read only */", true),
            ("START TRANSACTION /* a */ READ /* b */ WRITE", true),
            ("BEGIN ready", false),
        ] {
            assert_eq!(has_word(text.as_bytes(), b"read"), has, "{text}");
        }
    }

    #[test]
    fn computing_is_told_from_everything_else() {
        let table: &[(&str, bool)] = &[
            ("SELECT c FROM sbtest1 WHERE id=1", true),
            ("SELECT count(*), Max(a) FROM t WHERE id IN (1,2) AND (b OR c)", true),
            ("SELECT a FROM (SELECT 1) AS x JOIN y USING (id) WHERE EXISTS (SELECT 2)", true),
            ("SELECT COALESCE(a, b), CONCAT('a', 'b(')", true),
            ("SELECT count (1)", false),
            ("SELECT count/* */(1)", false),
            ("SELECT SLEEP(1)", false),
            ("SELECT sleep /* */ (1)", false),
            ("SELECT BENCHMARK(10, MD5('a'))", false),
            ("SELECT mine(1)", false),
            ("SELECT s.24(1)", false),
            ("SELECT s.1e5(1)", false),
            ("SELECT test.count(1)", false),
            ("SELECT `count`(1)", false),
            ("SELECT \"count\"(1)", false),
            ("SELECT NEXTVAL(s)", false),
            ("SELECT 'sleep(1)' -- sleep(1)\n", true),
            ("SELECT /*! sleep(1) */ 2", false),
        ];
        for (text, only) in table {
            assert_eq!(only_computes(text.as_bytes()), *only, "{text}");
        }
    }
}
