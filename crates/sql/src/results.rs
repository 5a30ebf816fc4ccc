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
    /// `CONNECTION_ID()` in what a client reads; `None` where the connection's own is meant. What
    /// is written may be compared with it by stored code, which asks the server.
    pub connection_id: Option<u32>,
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
        let mut item = Item::default();
        for (at, token) in tokens.iter().enumerate() {
            match token.kind {
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')') => depth = depth.checked_sub(1)?,
                _ if depth == 0 && in_list && ends_item(&lexer, token) => {
                    item.name(&lexer, text, tokens.get(..at)?, &mut copied, &mut out)?;
                    in_list = !is_word(&lexer, Some(token), b"FROM");
                    item = Item { first: Some(at + 1), is_changed: false };
                }
                _ => {}
            }
            let word = if token.kind == TokenKind::Word { lexer.slice(*token) } else { b"" };
            if self.connection_id.is_some() && is_other_id(keyword(word)) {
                return None;
            }
            let Some(end) = end_of_call(&tokens, at) else { continue };
            let function = keyword(lexer.slice(*token));
            let Some(value) = self.value_of(function, selects)? else { continue };
            let call = text.get(token.start..end)?;
            out.extend_from_slice(text.get(copied..token.start)?);
            copied = end;
            if selects {
                // of the type that the function has
                out.extend_from_slice(format!("IF(1,{value},").as_bytes());
                out.extend_from_slice(call);
                out.push(b')');
            } else {
                out.extend_from_slice(format!(" {value}").as_bytes());
            }
            item.is_changed |= in_list;
        }
        item.name(&lexer, text, &tokens, &mut copied, &mut out)?;
        out.extend_from_slice(text.get(copied..)?);
        (copied > 0).then_some(out)
    }

    /// What that function gives, if it is one of them; `None` when that is not known.
    #[allow(clippy::option_option, reason = "no function of ours, or one without an answer")]
    fn value_of(&self, function: Keyword, selects: bool) -> Option<Option<String>> {
        match function {
            Keyword::ConnectionId if selects => {
                // of the function's type on all servers
                Some(self.connection_id.map(|id| format!("CAST({id} AS UNSIGNED)")))
            }
            Keyword::RowCount => Some(Some(self.row_count.to_string())),
            // where only the server knows, it is asked
            Keyword::FoundRows => Some(self.found_rows.map(|rows| rows.to_string())),
            _ => Some(None),
        }
    }
}

/// Whether it is another name for the connection's id, which nothing is put in for.
fn is_other_id(name: Keyword) -> bool {
    matches!(name, Keyword::PseudoThreadId | Keyword::PsCurrentThreadId)
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

/// Whether an item of a list of columns ends in front of this token.
fn ends_item(lexer: &Lexer<'_>, token: &Token) -> bool {
    matches!(token.kind, TokenKind::Punct(b',' | b';'))
        || is_word(lexer, Some(token), b"SELECT")
        || is_word(lexer, Some(token), b"FROM")
}

/// An item of a list of columns.
#[derive(Clone, Copy, Default)]
struct Item {
    first: Option<usize>,
    /// A result was put in.
    is_changed: bool,
}

impl Item {
    /// Gives it the name that it had, if it has none of its own; `None` when that is not known.
    fn name(
        self,
        lexer: &Lexer<'_>,
        whole: &[u8],
        tokens: &[Token],
        copied: &mut usize,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        if !self.is_changed {
            return Some(());
        }
        let item = tokens.get(self.first?..)?;
        let (first, last) = (item.first()?, item.last()?);
        let before = item.len().checked_sub(2).and_then(|before| item.get(before));
        let is_quoted = matches!(last.kind, TokenKind::Quoted | TokenKind::Text);
        if is_word(lexer, before, b"AS") || item.len() == 4 && is_quoted {
            return Some(());
        }
        let text = whole.get(first.start..last.end)?;
        if !is_nameless(lexer, item) || !is_plain(text) {
            return None;
        }
        out.extend_from_slice(whole.get(*copied..last.end)?);
        *copied = last.end;
        out.extend_from_slice(b" AS `");
        out.extend_from_slice(text);
        out.push(b'`');
        Some(())
    }
}

/// Whether an item is surely an expression and nothing else.
fn is_nameless(lexer: &Lexer<'_>, item: &[Token]) -> bool {
    let is_punct = |at: usize| item.get(at).is_some_and(|t| matches!(t.kind, TokenKind::Punct(_)));
    let is_operand = |at: usize| item.get(at).is_some_and(|t| t.kind == TokenKind::Punct(b')'));
    let mut depth = 0_usize;
    for (at, token) in item.iter().enumerate() {
        match token.kind {
            TokenKind::Punct(b'(') => depth += 1,
            TokenKind::Punct(b')') => depth = depth.saturating_sub(1),
            TokenKind::Word if depth == 0 => {
                let follows = at.checked_sub(1);
                let begins = follows.is_none_or(|at| is_punct(at) && !is_operand(at));
                let opens = item.get(at + 1).is_some_and(|t| t.kind == TokenKind::Punct(b'('));
                if !begins || !opens || is_modifier(lexer.slice(*token)) {
                    return false;
                }
            }
            _ => {}
        }
    }
    item.last().is_some_and(|t| matches!(t.kind, TokenKind::Punct(b')') | TokenKind::Number))
}

/// Whether a word may stand in front of a list of columns.
fn is_modifier(word: &[u8]) -> bool {
    const MODIFIERS: [&[u8]; 5] =
        [b"ALL", b"DISTINCT", b"DISTINCTROW", b"HIGH_PRIORITY", b"STRAIGHT_JOIN"];
    MODIFIERS.iter().any(|modifier| modifier.eq_ignore_ascii_case(word))
        || word.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"SQL_"))
}

/// Whether a server makes this text of it when it makes it a name.
fn is_plain(text: &[u8]) -> bool {
    let is_comment = |pair: &[u8]| matches!(pair, b"/*" | b"--");
    text.len() <= 64
        && text.iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'`' | b'#'))
        && !text.windows(2).any(is_comment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(text: &str) -> Option<String> {
        let verb = crate::facts(text.as_bytes()).verb;
        let results = Results { row_count: -1, found_rows: Some(7), connection_id: Some(12) };
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
                "SELECT 1 + row_count(),a, IF( FOUND_ROWS( )>0, 'y',0 ) FROM t",
                "SELECT 1 + IF(1,-1,row_count()) AS `1 + row_count()`,a, \
                 IF( IF(1,7,FOUND_ROWS( ))>0, 'y',0 ) AS `IF( FOUND_ROWS( )>0, 'y',0 )` FROM t",
            ),
            (
                "SELECT connection_id() AS id, 1+CONNECTION_ID()",
                "SELECT IF(1,CAST(12 AS UNSIGNED),connection_id()) AS id, \
                 1+IF(1,CAST(12 AS UNSIGNED),CONNECTION_ID()) AS `1+CONNECTION_ID()`",
            ),
            ("SELECT ROW_COUNT()*2 AS n", "SELECT IF(1,-1,ROW_COUNT())*2 AS n"),
            ("SELECT ROW_COUNT()+1;", "SELECT IF(1,-1,ROW_COUNT())+1 AS `ROW_COUNT()+1`;"),
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
            "SELECT ROW_COUNT() + a",
            "SELECT CONNECTION_ID() id",
            "SELECT CONNECTION_ID(), @@pseudo_thread_id",
            "SELECT CONNECTION_ID(), PS_CURRENT_THREAD_ID()",
            "INSERT INTO t VALUES (CONNECTION_ID())",
            "SET @a = CONNECTION_ID()",
            "SELECT ROW_COUNT() DIV 2",
            "SELECT ROW_COUNT() n",
            "SELECT ROW_COUNT() = 'x'",
            "SELECT DISTINCT ROW_COUNT()",
            "SELECT DISTINCT(ROW_COUNT())",
            "SELECT ROW_COUNT()+1 UNION (SELECT 2)",
            "SELECT ROW_COUNT() UNION SELECT 2",
            "SELECT ROW_COUNT() LIMIT 1",
            "SELECT IF(ROW_COUNT(), '`', 0)",
            "SELECT IF(ROW_COUNT(), /* x */ 1, 0)",
            "(SELECT ROW_COUNT())",
            "SELECT ROW_COUNT() INTO @a",
            "SELECT x.ROW_COUNT()",
            "SELECT row_count FROM t",
            "CREATE PROCEDURE p() SET @a = ROW_COUNT()",
        ] {
            assert_eq!(put(text), None, "{text}");
        }
        let results = Results { row_count: 0, found_rows: None, connection_id: None };
        let put = |text: &[u8], verb| results.put_into(text, verb, Modes::default());
        assert_eq!(put(b"SET @f = FOUND_ROWS()", Verb::Set), None);
        let both = put(b"SET @f = FOUND_ROWS(), @r = ROW_COUNT()", Verb::Set);
        assert_eq!(both.as_deref(), Some(b"SET @f = FOUND_ROWS(), @r =  0".as_slice()));
    }
}
