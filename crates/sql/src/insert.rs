//! What an `INSERT` or `REPLACE` gives for a column: nothing, a number, or what only its server
//! knows. From it follows whether its OK tells what `LAST_INSERT_ID()` gives.
//!
//! It knows no tables: which column numbers its rows is asked by its name.

use crate::Modes;
use crate::cursor::Cursor;
use crate::lexer::{Token, TokenKind};

/// An `INSERT` or `REPLACE` that is understood.
#[derive(Clone, Debug)]
pub struct Insert<'a> {
    /// The table, without its schema and quotes.
    pub table: &'a [u8],
    /// It has an `ON DUPLICATE KEY UPDATE`.
    pub updates: bool,
    /// It writes one row that stands in it.
    pub is_one_row: bool,
    columns: Columns<'a>,
    /// The first row, where it has any.
    rows: Option<Cursor<'a>>,
}

#[derive(Clone, Debug)]
enum Columns<'a> {
    /// All that the table shows.
    All,
    /// These, in the order of each row's values.
    Named(Vec<&'a [u8]>),
    /// Those behind `SET`, with what they get.
    Set(Vec<(&'a [u8], Given)>),
}

/// What all rows give for a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// It is not among them.
    Nothing,
    /// A number other than 0, written out in digits.
    Number,
    /// `NULL` or `DEFAULT`.
    Null,
    /// 0, an expression, a parameter, what a query yields; or one row this and another one that.
    Anything,
}

/// Reads a text that is one `INSERT` or `REPLACE` and nothing else.
pub fn parse_insert(text: &[u8], modes: Modes) -> Option<Insert<'_>> {
    let mut words = Cursor::new(text, modes);
    if !words.takes(b"INSERT") && !words.takes(b"REPLACE") {
        return None;
    }
    while MODIFIERS.iter().any(|word| words.takes(word)) {}
    words.takes(b"INTO");
    let table = words.table()?.table;
    if words.takes(b"PARTITION") {
        words.skip_parenthesis()?;
    }
    let mut columns = words.columns()?;
    let mut rows = None;
    let mut is_one_row = false;
    if words.takes(b"VALUES") || words.takes(b"VALUE") {
        rows = Some(words.clone());
        let mut count = 1_usize;
        words.skip_parenthesis()?;
        while words.take_punct(b',') {
            words.skip_parenthesis()?;
            count += 1;
        }
        is_one_row = count == 1;
    } else if words.takes(b"SET") {
        columns = Columns::Set(words.given_columns()?);
        is_one_row = true;
    }
    let updates = words.rest_updates()?;
    words.is_over().then_some(Insert { table, updates, is_one_row, columns, rows })
}

impl Insert<'_> {
    /// What it gives for the column that `is_it` knows by its name, as written, without quotes.
    pub fn gives(&self, is_it: impl Fn(&[u8]) -> bool) -> Given {
        match &self.columns {
            // some may be invisible, so that values are not counted
            Columns::All => self.rows.clone().map_or(Given::Anything, Cursor::gives_nothing),
            Columns::Set(list) => list
                .iter()
                .find(|(name, _)| is_it(name))
                .map_or(Given::Nothing, |(_, given)| *given),
            Columns::Named(names) => match names.iter().position(|name| is_it(name)) {
                Some(at) => self.rows.clone().map_or(Given::Anything, |rows| rows.given_at(at)),
                None => Given::Nothing,
            },
        }
    }
}

impl<'a> Cursor<'a> {
    /// The list of columns, where there is one: a query may stand in parentheses as well.
    fn columns(&mut self) -> Option<Columns<'a>> {
        let begin = self.clone();
        if !self.take_punct(b'(') {
            return Some(Columns::All);
        }
        let mut names = Vec::new();
        if !self.take_punct(b')') {
            loop {
                if self.kind() == Some(TokenKind::Punct(b'(')) || self.begins_query() {
                    *self = begin;
                    return Some(Columns::All);
                }
                names.push(self.column()?);
                if self.take_punct(b')') {
                    break;
                }
                self.take(TokenKind::Punct(b','))?;
            }
        }
        Some(if names.is_empty() { Columns::All } else { Columns::Named(names) })
    }

    fn begins_query(&self) -> bool {
        let is_word = self.token.filter(|token| token.kind == TokenKind::Word);
        let word = is_word.map_or(&b""[..], |token| self.lexer.slice(token));
        [&b"SELECT"[..], b"WITH", b"TABLE", b"VALUES"]
            .iter()
            .any(|it| word.eq_ignore_ascii_case(it))
    }

    /// The name of a column, behind those of its table and schema.
    fn column(&mut self) -> Option<&'a [u8]> {
        let mut name = self.object_name()?;
        while self.take_punct(b'.') {
            name = self.object_name()?;
        }
        Some(name)
    }

    /// `a = …, b = …`, up to a word that ends them.
    fn given_columns(&mut self) -> Option<Vec<(&'a [u8], Given)>> {
        let mut list = Vec::new();
        loop {
            let name = self.column()?;
            if self.take(TokenKind::Assign).is_none() {
                self.take(TokenKind::Punct(b'='))?;
            }
            list.push((name, self.given(&ENDS)));
            if !self.take_punct(b',') {
                return Some(list);
            }
        }
    }

    /// Goes past one value, up to a comma, a closing parenthesis or one of these words.
    fn given(&mut self, ends: &[&[u8]]) -> Given {
        let given = self.token.map_or(Given::Anything, |token| self.given_by(token));
        let (mut depth, mut tokens) = (0_usize, 0_usize);
        while let Some(token) = self.token {
            match token.kind {
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')' | b',' | b';') if depth == 0 => break,
                TokenKind::Punct(b')') => depth -= 1,
                TokenKind::Word if depth == 0 => {
                    let word = self.lexer.slice(token);
                    if ends.iter().any(|end| word.eq_ignore_ascii_case(end)) {
                        break;
                    }
                }
                _ => {}
            }
            tokens += 1;
            self.advance();
        }
        if tokens == 1 { given } else { Given::Anything }
    }

    fn given_by(&self, token: Token) -> Given {
        let text = match token.kind {
            TokenKind::Word | TokenKind::Number => self.lexer.slice(token),
            TokenKind::Text if self.lexer.is_closed(token) => self.lexer.unquoted(token),
            _ => return Given::Anything,
        };
        let is_null =
            |word: &[u8]| token.kind == TokenKind::Word && text.eq_ignore_ascii_case(word);
        if is_null(b"NULL") || is_null(b"DEFAULT") {
            return Given::Null;
        }
        let is_number =
            text.iter().all(u8::is_ascii_digit) && text.iter().any(|digit| *digit != b'0');
        if is_number { Given::Number } else { Given::Anything }
    }

    /// What rows give that begin here, for the value at a place.
    fn given_at(mut self, place: usize) -> Given {
        let mut of_all = None;
        loop {
            if !self.take_punct(b'(') {
                return Given::Anything;
            }
            let mut given = Given::Anything;
            for at in 0.. {
                let value = self.given(&[]);
                if at == place {
                    given = value;
                }
                if !self.take_punct(b',') {
                    break;
                }
            }
            let is_alike = *of_all.get_or_insert(given) == given;
            if !is_alike || !self.take_punct(b')') {
                return Given::Anything;
            }
            if !self.take_punct(b',') {
                return given;
            }
        }
    }

    /// `Nothing` where the rows that begin here are empty.
    fn gives_nothing(mut self) -> Given {
        let is_empty = self.take_punct(b'(') && self.kind() == Some(TokenKind::Punct(b')'));
        if is_empty { Given::Nothing } else { Given::Anything }
    }

    fn skip_parenthesis(&mut self) -> Option<()> {
        self.take(TokenKind::Punct(b'('))?;
        let mut depth = 1_usize;
        while depth > 0 {
            match self.token?.kind {
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')') => depth -= 1,
                _ => {}
            }
            self.advance();
        }
        Some(())
    }

    /// Goes to the end of the statement; whether an `ON DUPLICATE KEY UPDATE` stands there.
    fn rest_updates(&mut self) -> Option<bool> {
        let mut updates = false;
        while self.token.is_some_and(|token| token.kind != TokenKind::Punct(b';')) {
            if self.takes(b"DUPLICATE") {
                updates = true;
            } else {
                self.advance();
            }
        }
        Some(updates)
    }
}

const MODIFIERS: [&[u8]; 4] = [b"LOW_PRIORITY", b"DELAYED", b"HIGH_PRIORITY", b"IGNORE"];

/// Words behind the assignments of `INSERT … SET`.
const ENDS: [&[u8]; 3] = [b"ON", b"AS", b"RETURNING"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_is_given_for_a_column() {
        use Given::{Anything, Nothing, Null, Number};
        for (text, expected) in [
            ("INSERT INTO t (a) VALUES (1)", Some((Nothing, false, true))),
            ("insert ignore t(`a`, b) value (1, 2), (3, 4)", Some((Nothing, false, false))),
            ("INSERT INTO t (id, a) VALUES (5, 'x')", Some((Number, false, true))),
            ("INSERT INTO s.t (a, t.`ID`) VALUES ('x', '5');", Some((Number, false, true))),
            ("REPLACE t (a, id) VALUES ((1), 5), (f(2, 3), 6)", Some((Number, false, false))),
            ("INSERT INTO t (id, a) VALUES (5, 'x'), (NULL, 'y')", Some((Anything, false, false))),
            ("INSERT INTO t (id, a) VALUES (DEFAULT, 'x')", Some((Null, false, true))),
            ("INSERT INTO t (a, id) VALUES (1, null), (2, NULL)", Some((Null, false, false))),
            ("INSERT INTO t (id, a) VALUES (DEFAULT(id), 'x')", Some((Anything, false, true))),
            ("INSERT INTO t SET id = NULL, a = 1", Some((Null, false, true))),
            ("INSERT INTO t (id, a) VALUES (0, 'x')", Some((Anything, false, true))),
            ("INSERT INTO t (id, a) VALUES (0.4, 'x')", Some((Anything, false, true))),
            ("INSERT INTO t (id, a) VALUES (-5, 'x')", Some((Anything, false, true))),
            ("INSERT INTO t (id, a) VALUES (5 - 5, 'x')", Some((Anything, false, true))),
            ("INSERT INTO t (id, a) VALUES ('5x', 'x')", Some((Anything, false, true))),
            ("INSERT INTO t (id, a) VALUES (?, ?)", Some((Anything, false, true))),
            ("INSERT INTO t (a, id) VALUES (5)", Some((Anything, false, true))),
            ("INSERT INTO t VALUES (5, 'x')", Some((Anything, false, true))),
            ("INSERT INTO t VALUES ()", Some((Nothing, false, true))),
            ("INSERT INTO t () VALUES ()", Some((Nothing, false, true))),
            ("INSERT INTO t SET a = 1, b = (2)", Some((Nothing, false, true))),
            (
                "INSERT INTO t SET a = 1, id := 5 ON DUPLICATE KEY UPDATE a = 2",
                Some((Number, true, true)),
            ),
            ("INSERT INTO t SET id = 5 + 1", Some((Anything, false, true))),
            ("INSERT INTO t (a) SELECT a FROM u", Some((Nothing, false, false))),
            ("INSERT INTO t (a) (SELECT a FROM u)", Some((Nothing, false, false))),
            ("INSERT INTO t (SELECT a FROM u)", Some((Anything, false, false))),
            ("INSERT INTO t (id, a) SELECT 5, a FROM u", Some((Anything, false, false))),
            ("INSERT INTO t PARTITION (p0, p1) (a) VALUES (1)", Some((Nothing, false, true))),
            (
                "INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = VALUES(a)",
                Some((Nothing, true, true)),
            ),
            (
                "INSERT INTO t (a) VALUES (1), (2) AS n ON DUPLICATE KEY UPDATE a = n.a",
                Some((Nothing, true, false)),
            ),
            ("INSERT INTO t (a) VALUES (1); SELECT 1", None),
            ("INSERT INTO t (a) VALUES (1", None),
            ("INSERT INTO t (a VALUES (1)", None),
            ("WITH u AS (SELECT 1) INSERT INTO t SELECT * FROM u", None),
            ("UPDATE t SET id = 5", None),
            ("INSERT", None),
        ] {
            let found = parse_insert(text.as_bytes(), Modes::default()).map(|insert| {
                assert_eq!(insert.table, b"t", "{text}");
                let given = insert.gives(|name| name.eq_ignore_ascii_case(b"id"));
                (given, insert.updates, insert.is_one_row)
            });
            assert_eq!(found, expected, "{text}");
        }
    }
}
