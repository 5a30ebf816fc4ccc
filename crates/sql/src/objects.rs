//! Names in the few statements that make or end what lives as long as its connection: temporary
//! tables, named locks and statements with names.
//!
//! What is not understood gives `None`, and then nothing is taken to have ended.

use crate::Modes;
use crate::cursor::Cursor;
use crate::keyword::{Keyword, keyword};
use crate::lexer::TokenKind;

/// The name of a table, as written, without quotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableName<'a> {
    /// The schema, if it was named.
    pub schema: Option<&'a [u8]>,
    /// The table.
    pub table: &'a [u8],
}

/// A statement that calls one function about named locks, and nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockCall<'a> {
    /// `GET_LOCK('name', …)`.
    Get(&'a [u8]),
    /// `RELEASE_LOCK('name')`.
    Release(&'a [u8]),
    /// `RELEASE_ALL_LOCKS()`.
    ReleaseAll,
    /// `IS_FREE_LOCK('name')`, `IS_USED_LOCK('name')`.
    Look,
}

/// The table that a `CREATE TEMPORARY TABLE` makes.
pub fn parse_create_temporary(text: &[u8], modes: Modes) -> Option<TableName<'_>> {
    let mut words = Cursor::new(text, modes);
    words.expect(b"CREATE")?;
    if words.takes(b"OR") {
        words.expect(b"REPLACE")?;
    }
    words.expect(b"TEMPORARY")?;
    words.expect(b"TABLE")?;
    if words.takes(b"IF") {
        words.expect(b"NOT")?;
        words.expect(b"EXISTS")?;
    }
    let name = words.table()?;
    words.is_clear_to_the_end().then_some(name)
}

/// The tables that a `DROP [TEMPORARY] TABLE` drops.
pub fn parse_drop_tables(text: &[u8], modes: Modes) -> Option<Vec<TableName<'_>>> {
    let mut words = Cursor::new(text, modes);
    words.expect(b"DROP")?;
    words.takes(b"TEMPORARY");
    if !words.takes(b"TABLES") {
        words.expect(b"TABLE")?;
    }
    if words.takes(b"IF") {
        words.expect(b"EXISTS")?;
    }
    let mut names = vec![words.table()?];
    while words.take(TokenKind::Punct(b',')).is_some() {
        names.push(words.table()?);
    }
    if !words.takes(b"RESTRICT") {
        words.takes(b"CASCADE");
    }
    words.is_over().then_some(names)
}

/// The schema that a `DROP DATABASE` drops.
pub fn parse_drop_schema(text: &[u8], modes: Modes) -> Option<&[u8]> {
    let mut words = Cursor::new(text, modes);
    words.expect(b"DROP")?;
    if !words.takes(b"DATABASE") {
        words.expect(b"SCHEMA")?;
    }
    if words.takes(b"IF") {
        words.expect(b"EXISTS")?;
    }
    let name = words.object_name()?;
    words.is_over().then_some(name)
}

/// What a `SELECT` or `DO` of one function about named locks calls.
pub fn parse_lock_call(text: &[u8], modes: Modes) -> Option<LockCall<'_>> {
    let mut words = Cursor::new(text, modes);
    if !words.takes(b"DO") {
        words.expect(b"SELECT")?;
    }
    let function = keyword(words.take(TokenKind::Word)?);
    words.take(TokenKind::Punct(b'('))?;
    let call = match function {
        Keyword::ReleaseAllLocks => LockCall::ReleaseAll,
        Keyword::GetLock => {
            let name = words.text()?;
            words.take(TokenKind::Punct(b','))?;
            words.take(TokenKind::Punct(b'-'));
            words.take(TokenKind::Number)?;
            LockCall::Get(name)
        }
        Keyword::ReleaseLock => LockCall::Release(words.text()?),
        Keyword::IsFreeLock | Keyword::IsUsedLock => {
            words.text()?;
            LockCall::Look
        }
        _ => return None,
    };
    words.take(TokenKind::Punct(b')'))?;
    words.takes(b"AS");
    words.take(TokenKind::Word).or_else(|| words.take(TokenKind::Quoted));
    words.is_over().then_some(call)
}

/// Whether the text is one `XA COMMIT` or `XA ROLLBACK`.
pub fn ends_xa(text: &[u8], modes: Modes) -> bool {
    let mut words = Cursor::new(text, modes);
    let ends = words.takes(b"XA") && (words.takes(b"COMMIT") || words.takes(b"ROLLBACK"));
    ends && words.is_clear_to_the_end()
}

impl<'a> Cursor<'a> {
    fn expect(&mut self, word: &[u8]) -> Option<()> {
        self.takes(word).then_some(())
    }

    pub(crate) fn object_name(&mut self) -> Option<&'a [u8]> {
        let name = self.identifier()?;
        let is_doubled = name.iter().any(|byte| matches!(byte, b'`' | b'"'));
        (!is_doubled).then_some(name)
    }

    pub(crate) fn table(&mut self) -> Option<TableName<'a>> {
        let first = self.object_name()?;
        if self.take(TokenKind::Punct(b'.')).is_none() {
            return Some(TableName { schema: None, table: first });
        }
        Some(TableName { schema: Some(first), table: self.object_name()? })
    }

    /// A string that says itself.
    fn text(&mut self) -> Option<&'a [u8]> {
        let token = self.token.filter(|token| token.kind == TokenKind::Text)?;
        let text = self.lexer.unquoted(token);
        let plain = self.lexer.is_closed(token) && !text.iter().any(|b| b"\\'\"".contains(b));
        self.take(TokenKind::Text).filter(|_| plain).map(|_| text)
    }

    /// The rest of the one statement has no corner that servers read differently.
    fn is_clear_to_the_end(&mut self) -> bool {
        while self.token.is_some_and(|token| token.kind != TokenKind::Punct(b';')) {
            self.advance();
        }
        self.is_over()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name<'a>(schema: Option<&'a str>, table: &'a str) -> TableName<'a> {
        TableName { schema: schema.map(str::as_bytes), table: table.as_bytes() }
    }

    #[test]
    fn finds_the_table_that_is_made() {
        for (text, expected) in [
            ("CREATE TEMPORARY TABLE t (a INT)", Some(name(None, "t"))),
            (
                "create temporary table if not exists s.`t u` as select 1;",
                Some(name(Some("s"), "t u")),
            ),
            ("CREATE OR REPLACE TEMPORARY TABLE t LIKE u", Some(name(None, "t"))),
            ("CREATE TABLE t (a INT)", None),
            ("CREATE TEMPORARY SEQUENCE t", None),
            ("CREATE TEMPORARY TABLE t (a INT); SELECT 1", None),
            ("CREATE TEMPORARY TABLE `t``u` (a INT)", None),
        ] {
            assert_eq!(
                parse_create_temporary(text.as_bytes(), Modes::default()),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn finds_the_tables_that_are_dropped() {
        for (text, expected) in [
            ("DROP TABLE t", Some(vec![name(None, "t")])),
            (
                "DROP TEMPORARY TABLES IF EXISTS t, s.u CASCADE;",
                Some(vec![name(None, "t"), name(Some("s"), "u")]),
            ),
            ("DROP VIEW t", None),
            ("DROP TABLE t; DROP TABLE u", None),
        ] {
            assert_eq!(parse_drop_tables(text.as_bytes(), Modes::default()), expected, "{text}");
        }
        assert_eq!(
            parse_drop_schema(b"drop schema if exists `s`", Modes::default()),
            Some(b"s".as_slice())
        );
        assert_eq!(parse_drop_schema(b"DROP TABLE s", Modes::default()), None);
        let ansi = Modes { ansi_quotes: true, ..Modes::default() };
        let text = b"DROP TABLE \"s t\", `u`";
        assert_eq!(parse_drop_tables(text, Modes::default()), None);
        let expected = vec![name(None, "s t"), name(None, "u")];
        assert_eq!(parse_drop_tables(text, ansi), Some(expected));
        assert_eq!(parse_drop_tables(b"DROP TABLE \"s\"\"t\"", ansi), None);
    }

    #[test]
    fn understands_single_calls_about_locks() {
        for (text, expected) in [
            ("SELECT GET_LOCK('a', 10)", Some(LockCall::Get(b"a"))),
            ("select get_lock(\"a b\", -1) AS x", Some(LockCall::Get(b"a b"))),
            ("DO RELEASE_LOCK('a');", Some(LockCall::Release(b"a"))),
            ("SELECT RELEASE_ALL_LOCKS()", Some(LockCall::ReleaseAll)),
            ("SELECT IS_FREE_LOCK('a')", Some(LockCall::Look)),
            ("SELECT GET_LOCK(CONCAT('a', 'b'), 1)", None),
            ("SELECT GET_LOCK('a', 1), GET_LOCK('b', 1)", None),
            ("SELECT GET_LOCK('a', 1) FROM t", None),
            ("SELECT GET_LOCK('a\\'b', 1)", None),
        ] {
            assert_eq!(parse_lock_call(text.as_bytes(), Modes::default()), expected, "{text}");
        }
    }

    #[test]
    fn knows_how_distributed_transactions_end() {
        for (text, ends) in [
            ("XA COMMIT 'a'", true),
            ("xa rollback 'a', 'b', 1;", true),
            ("XA COMMIT 'a' ONE PHASE", true),
            ("XA PREPARE 'a'", false),
            ("XA COMMIT 'a'; XA START 'b'", false),
        ] {
            assert_eq!(ends_xa(text.as_bytes(), Modes::default()), ends, "{text}");
        }
    }
}
