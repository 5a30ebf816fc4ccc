//! `EXPLAIN ROUTE <sql> [FOR USER 'u'] [SCHEMA 's'] [FROM 'addr'] [SNI 'host']`.

/// What is to be explained.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Request {
    /// The statement.
    pub sql: String,
    /// Client's user name; `None` for the first that may log in.
    pub username: Option<String>,
    /// Session's schema; `None` for the user's default.
    pub schemaname: Option<String>,
    /// Client's address; `None` for one that is not known, which every rule takes.
    pub client_addr: Option<String>,
    /// Local address the client connected to; `None` for one that is not known.
    pub proxy_addr: Option<String>,
    /// Local port the client connected to; `None` for the first that is listened on.
    pub proxy_port: Option<u16>,
    /// Host by which the client calls in TLS; `None` for a client that names none.
    pub server_name: Option<String>,
}

impl Request {
    /// Reads a statement that begins with `EXPLAIN ROUTE`; `None` when it does not.
    ///
    /// The clauses are read from the end, in any order, so that the statement in between may hold
    /// anything.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = after_word(after_word(text.trim_start(), "EXPLAIN")?, "ROUTE")?;
        let mut request = Self::default();
        let mut sql = rest.trim_end().trim_end_matches(';').trim_end();
        while let Some((before, value)) = last_text(sql) {
            let before = before.trim_end();
            let (left, clause) = if let Some(left) = before_word(before, "SCHEMA") {
                (left, &mut request.schemaname)
            } else if let Some(left) = before_word(before, "USER")
                && let Some(left) = before_word(left.trim_end(), "FOR")
            {
                (left, &mut request.username)
            } else if let Some(left) = before_word(before, "FROM") {
                (left, &mut request.client_addr)
            } else if let Some(left) = before_word(before, "SNI") {
                (left, &mut request.server_name)
            } else {
                break;
            };
            if clause.is_some() {
                break;
            }
            *clause = Some(value);
            sql = left.trim_end();
        }
        request.sql = sql.trim_start().to_owned();
        (!request.sql.is_empty()).then_some(request)
    }
}

/// What follows a word and a blank.
fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(word.len())?;
    let is_word = head.eq_ignore_ascii_case(word) && rest.starts_with(char::is_whitespace);
    is_word.then(|| rest.trim_start())
}

/// What is in front of a blank and a word at the end.
fn before_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (rest, tail) = text.split_at_checked(text.len().checked_sub(word.len())?)?;
    let is_word = tail.eq_ignore_ascii_case(word) && rest.ends_with(char::is_whitespace);
    is_word.then_some(rest)
}

/// A quoted text at the end, where `''` stands for a quote, and what is in front of it.
fn last_text(text: &str) -> Option<(&str, String)> {
    let inner = text.strip_suffix('\'')?;
    let mut end = inner;
    loop {
        let (before, _) = end.rsplit_once('\'')?;
        match before.strip_suffix('\'') {
            Some(earlier) => end = earlier,
            None => {
                let value = inner.get(before.len() + 1..)?.replace("''", "'");
                return Some((before, value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_read_from_the_end() {
        let read = |text: &str| {
            let Request { sql, username, schemaname, client_addr, server_name, .. } =
                Request::parse(text)?;
            Some((sql, username, schemaname, client_addr.or(server_name)))
        };
        let some = |text: &str| Some(text.to_owned());
        for (text, expected) in [
            ("EXPLAIN ROUTE SELECT 1", Some(("SELECT 1", None, None, None))),
            ("explain  route\nSELECT 1 ;", Some(("SELECT 1", None, None, None))),
            (
                "EXPLAIN ROUTE SELECT 1 FOR USER 'u' SCHEMA 's' FROM '10.0.0.1';",
                Some(("SELECT 1", some("u"), some("s"), some("10.0.0.1"))),
            ),
            (
                "EXPLAIN ROUTE SELECT 1 FROM t FOR UPDATE from '::1' for user 'o''neil'",
                Some(("SELECT 1 FROM t FOR UPDATE", some("o'neil"), None, some("::1"))),
            ),
            (
                "EXPLAIN ROUTE SELECT 1 SNI 'db.example' FOR USER 'u'",
                Some(("SELECT 1", some("u"), None, some("db.example"))),
            ),
            (
                "EXPLAIN ROUTE SELECT 'a FROM ''b'''",
                Some(("SELECT 'a FROM ''b'''", None, None, None)),
            ),
            ("EXPLAIN ROUTE SELECT ' SCHEMA '", Some(("SELECT ' SCHEMA '", None, None, None))),
            ("EXPLAIN ROUTE SELECT 1 SCHEMA ''", Some(("SELECT 1", None, some(""), None))),
            ("EXPLAIN ROUTE", None),
            ("EXPLAIN ROUTER 1", None),
            ("EXPLAIN SELECT 1", None),
        ] {
            let expected = expected.map(|(sql, a, b, c)| (sql.to_owned(), a, b, c));
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
