//! Texts that ask what the statement before came to: the answer is put in where they ask.

use crate::keyword::{Keyword, keyword};
use crate::lexer::{Lexer, Token, TokenKind};
use crate::{Modes, Verb};

/// What the statement before came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Results {
    /// `ROW_COUNT()`.
    pub row_count: i64,
    /// `FOUND_ROWS()`; `None` when only the server knows.
    pub found_rows: Option<u64>,
}

impl Results {
    /// The text of one statement with the results in the places of the functions that give them,
    /// so that it means the same on any connection and its columns have the same names and types.
    /// `None` where there are none, or where that cannot be had.
    pub fn put_into(&self, text: &[u8], verb: Verb, modes: Modes) -> Option<Vec<u8>> {
        let selects = match verb {
            Verb::Select => true,
            Verb::Set | Verb::Insert | Verb::Replace | Verb::Update | Verb::Delete => false,
            _ => return None,
        };
        let mut lexer = Lexer::new(text, modes);
        let mut tokens = Vec::new();
        while let Some(token) = lexer.next_token() {
            tokens.push(token);
        }
        if lexer.is_ambiguous() {
            return None;
        }
        let mut out = Vec::with_capacity(text.len() + 32);
        let (mut copied, mut depth, mut in_list) = (0, 0_usize, selects);
        for (at, token) in tokens.iter().enumerate() {
            match token.kind {
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')') => depth = depth.checked_sub(1)?,
                _ if depth == 0 && is_word(&lexer, Some(token), b"FROM") => in_list = false,
                _ => {}
            }
            let Some(end) = end_of_call(&tokens, at) else { continue };
            let Some(value) = self.value_of(keyword(lexer.slice(*token)))? else { continue };
            let call = text.get(token.start..end)?;
            out.extend_from_slice(text.get(copied..token.start)?);
            copied = end;
            if !selects {
                out.extend_from_slice(format!(" {value}").as_bytes());
                continue;
            }
            // of the type that the function has
            out.extend_from_slice(format!("IF(1,{value},").as_bytes());
            out.extend_from_slice(call);
            out.push(b')');
            if in_list {
                let before = at.checked_sub(1).and_then(|before| tokens.get(before));
                let is_item = depth == 0 && is_before_item(&lexer, before);
                if is_item && needs_name(&lexer, tokens.get(at + 3))? {
                    out.extend_from_slice(b" AS `");
                    out.extend_from_slice(call);
                    out.push(b'`');
                } else if !is_item {
                    return None;
                }
            }
        }
        out.extend_from_slice(text.get(copied..)?);
        (copied > 0).then_some(out)
    }

    /// What that function gives, if it is one of them; `None` when that is not known.
    #[allow(clippy::option_option, reason = "no function of ours, or one without an answer")]
    fn value_of(&self, function: Keyword) -> Option<Option<String>> {
        match function {
            Keyword::RowCount => Some(Some(self.row_count.to_string())),
            Keyword::FoundRows => Some(Some(self.found_rows?.to_string())),
            _ => Some(None),
        }
    }
}

fn is_word(lexer: &Lexer<'_>, token: Option<&Token>, word: &[u8]) -> bool {
    token.is_some_and(|token| {
        token.kind == TokenKind::Word && lexer.slice(*token).eq_ignore_ascii_case(word)
    })
}

/// Where the call ends that begins with this token, if it is one without arguments.
fn end_of_call(tokens: &[Token], at: usize) -> Option<usize> {
    let is = |at: usize, punct| tokens.get(at).filter(|t| t.kind == TokenKind::Punct(punct));
    is(at + 1, b'(')?;
    let end = is(at + 2, b')')?.end;
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    let is_name = before.is_some_and(|t| t.kind == TokenKind::Punct(b'.'));
    (!is_name).then_some(end)
}

/// Whether what follows begins an item of a list of columns.
fn is_before_item(lexer: &Lexer<'_>, before: Option<&Token>) -> bool {
    let is_comma = before.is_some_and(|token| token.kind == TokenKind::Punct(b','));
    is_comma || is_word(lexer, before, b"SELECT")
}

/// Whether an item has no name of its own where this token follows; `None` where it goes on.
fn needs_name(lexer: &Lexer<'_>, next: Option<&Token>) -> Option<bool> {
    let Some(token) = next else { return Some(true) };
    match token.kind {
        TokenKind::Punct(b',' | b';') => Some(true),
        TokenKind::Quoted | TokenKind::Text => Some(false),
        _ if is_word(lexer, next, b"FROM") => Some(true),
        _ if is_word(lexer, next, b"AS") => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(text: &str) -> Option<String> {
        let verb = crate::facts(text.as_bytes()).verb;
        let results = Results { row_count: -1, found_rows: Some(7) };
        results
            .put_into(text.as_bytes(), verb, Modes::default())
            .map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn results_stand_where_they_were_asked_for() {
        for (text, expected) in [
            ("SET @f = FOUND_ROWS()", "SET @f =  7"),
            ("SET @a = 1-row_count ( ), @b=found_rows()", "SET @a = 1- -1, @b= 7"),
            ("INSERT INTO t SELECT ROW_COUNT()+1 FROM u", "INSERT INTO t SELECT  -1+1 FROM u"),
            ("SELECT ROW_COUNT()", "SELECT IF(1,-1,ROW_COUNT()) AS `ROW_COUNT()`"),
            (
                "SELECT found_rows() AS n, 'ROW_COUNT()', row_count()",
                "SELECT IF(1,7,found_rows()) AS n, 'ROW_COUNT()', \
                 IF(1,-1,row_count()) AS `row_count()`",
            ),
            (
                "SELECT a FROM t WHERE (b < FOUND_ROWS()) -- ROW_COUNT()",
                "SELECT a FROM t WHERE (b < IF(1,7,FOUND_ROWS())) -- ROW_COUNT()",
            ),
        ] {
            assert_eq!(put(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_would_change_a_name_or_is_not_known_stays() {
        for text in [
            "SELECT 1",
            "SELECT 1 + ROW_COUNT()",
            "SELECT ROW_COUNT() + 1",
            "SELECT IFNULL(ROW_COUNT(), 0)",
            "SELECT ROW_COUNT() INTO @a",
            "SELECT x.ROW_COUNT()",
            "SELECT row_count FROM t",
            "CREATE PROCEDURE p() SET @a = ROW_COUNT()",
        ] {
            assert_eq!(put(text), None, "{text}");
        }
        let results = Results { row_count: 0, found_rows: None };
        assert_eq!(results.put_into(b"SET @f = FOUND_ROWS()", Verb::Set, Modes::default()), None);
    }
}
