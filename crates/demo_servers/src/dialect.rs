//! MySQL's texts to SQLite's: what SQLite spells otherwise is put in its place, token by token, and
//! the rest stays as it is. Knows no tables and no values.

use mysql_server::Fault;
use sql::Modes;
use sql::lexer::{Lexer, Token, TokenKind};

use crate::faults::{syntax, unsupported};

/// A text for SQLite.
#[derive(Default, Debug)]
pub(crate) struct Rewritten {
    /// Its statement.
    pub(crate) sql: String,
    /// What its named parameters stand for, in the order of their numbers.
    pub(crate) variables: Vec<Variable>,
    /// Whether it locks what it reads.
    pub(crate) locks: bool,
}

/// A variable that a text reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Variable {
    /// As the client wrote it, for the names of columns.
    pub(crate) written: String,
    /// Without signs and scope, in small letters.
    pub(crate) name: String,
    /// Whether it is a system variable.
    pub(crate) system: bool,
}

/// The tokens of a text.
pub(crate) struct Tokens<'a> {
    text: &'a str,
    tokens: Vec<Token>,
}

/// Reads a text. Double quotes are around strings.
pub(crate) fn tokens(text: &str) -> Tokens<'_> {
    let mut lexer = Lexer::new(text.as_bytes(), Modes::default());
    Tokens { text, tokens: std::iter::from_fn(|| lexer.next_token()).collect() }
}

/// The statements of a text.
pub(crate) fn statements(text: &str) -> Vec<&str> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for token in tokens(text).tokens {
        if token.kind == TokenKind::Punct(b';') {
            parts.push(&text[from..token.start]);
            from = token.end;
        }
    }
    parts.push(&text[from..]);
    parts.retain(|part| !tokens(part).tokens.is_empty());
    parts
}

impl<'a> Tokens<'a> {
    /// The text of a token; empty beyond the end.
    pub(crate) fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| &self.text[token.start..token.end])
    }

    /// Whether there is this word, whatever its letters' case.
    pub(crate) fn is(&self, at: usize, word: &str) -> bool {
        self.text(at).eq_ignore_ascii_case(word)
    }

    /// Whether these words follow each other.
    pub(crate) fn are(&self, at: usize, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(index, word)| self.is(at + index, word))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// A name or a string without its quotes.
    pub(crate) fn unquoted(&self, at: usize) -> String {
        let text = self.text(at);
        match self.tokens.get(at).map(|token| token.kind) {
            Some(TokenKind::Text) => unescaped(text),
            Some(TokenKind::Quoted) => text.trim_matches('`').replace("``", "`"),
            _ => text.to_owned(),
        }
    }

    /// What the client wrote from one token to before another.
    pub(crate) fn written(&self, from: usize, to: usize) -> &'a str {
        match (self.tokens.get(from), to.checked_sub(1).and_then(|last| self.tokens.get(last))) {
            (Some(first), Some(last)) if first.start < last.end => {
                &self.text[first.start..last.end]
            }
            _ => "",
        }
    }

    /// The first token after the brackets that open at `at`.
    fn after_brackets(&self, at: usize) -> usize {
        let mut depth = 0_usize;
        for index in at..self.len() {
            match self.text(index) {
                "(" => depth += 1,
                ")" if depth <= 1 => return index + 1,
                ")" => depth -= 1,
                _ => {}
            }
        }
        self.len()
    }

    /// The parts between the commas of `from..to` that stand in no brackets.
    pub(crate) fn split(&self, from: usize, to: usize) -> Vec<(usize, usize)> {
        let (mut parts, mut begin, mut depth) = (Vec::new(), from, 0_usize);
        for index in from..to {
            match self.text(index) {
                "(" => depth += 1,
                ")" => depth = depth.saturating_sub(1),
                "," if depth == 0 => {
                    parts.push((begin, index));
                    begin = index + 1;
                }
                _ => {}
            }
        }
        parts.push((begin, to));
        parts
    }
}

/// A statement as SQLite has it, in the one schema.
pub(crate) fn rewrite(text: &str, schema: &str) -> Result<Rewritten, Fault> {
    let tokens = tokens(text);
    let mut writer = Writer { tokens: &tokens, schema, out: Rewritten::default(), updates: false };
    if tokens.is(0, "CREATE") && (tokens.is(1, "TABLE") || tokens.are(1, &["TEMPORARY", "TABLE"])) {
        writer.table()?;
    } else if tokens.is(0, "TRUNCATE") {
        writer.push("DELETE FROM");
        writer.copy(if tokens.is(1, "TABLE") { 2 } else { 1 }, tokens.len())?;
    } else if tokens.are(0, &["START", "TRANSACTION"]) || tokens.is(0, "BEGIN") {
        writer.push("BEGIN");
    } else {
        writer.copy(0, tokens.len())?;
    }
    Ok(writer.out)
}

struct Writer<'t, 'a> {
    tokens: &'t Tokens<'a>,
    schema: &'t str,
    out: Rewritten,
    /// Whether it is behind `ON DUPLICATE KEY UPDATE`.
    updates: bool,
}

/// What ends a read that locks.
const LOCKING: &[&[&str]] = &[
    &["FOR", "UPDATE"],
    &["FOR", "SHARE"],
    &["LOCK", "IN", "SHARE", "MODE"],
    &["NOWAIT"],
    &["SKIP", "LOCKED"],
];

impl Writer<'_, '_> {
    fn push(&mut self, text: &str) {
        let sql = &self.out.sql;
        if !sql.is_empty() && !sql.ends_with('(') && !matches!(text, "," | ")" | "." | "(") {
            self.out.sql.push(' ');
        }
        self.out.sql.push_str(text);
    }

    /// Writes the tokens from one to before another.
    fn copy(&mut self, from: usize, to: usize) -> Result<(), Fault> {
        let mut at = from;
        while at < to {
            at = self.one(at)?;
        }
        Ok(())
    }

    /// Writes the token at `at` and those that belong to it; where the next one is.
    fn one(&mut self, at: usize) -> Result<usize, Fault> {
        let tokens = self.tokens;
        let token = tokens.tokens[at];
        match token.kind {
            TokenKind::Text => {
                let text = tokens.unquoted(at).replace('\'', "''");
                self.push(&format!("'{text}'"));
            }
            TokenKind::SystemAt => return self.system_variable(at),
            TokenKind::At => {
                if tokens.tokens.get(at + 2).is_some_and(|next| next.kind == TokenKind::Assign) {
                    return Err(unsupported(":="));
                }
                let name = tokens.unquoted(at + 1).to_ascii_lowercase();
                self.variable(tokens.written(at, at + 2), name, false);
                return Ok(at + 2);
            }
            TokenKind::Word | TokenKind::Quoted if tokens.is(at + 1, ".") => {
                // the one schema has no name in SQLite
                if tokens.unquoted(at) == self.schema {
                    return Ok(at + 2);
                }
                self.push(tokens.text(at));
                self.out.sql.push('.');
                self.out.sql.push_str(tokens.text(at + 2));
                return Ok(at + 3);
            }
            TokenKind::Word => return self.word(at),
            _ => self.sign(at),
        }
        Ok(at + 1)
    }

    /// A sign; without the blank in front that would part it from its other half.
    fn sign(&mut self, at: usize) {
        let tokens = self.tokens;
        let joined = at > 0 && tokens.tokens[at - 1].end == tokens.tokens[at].start;
        let both_signs = |at: usize| matches!(tokens.tokens[at].kind, TokenKind::Punct(_));
        if joined && both_signs(at) && both_signs(at - 1) {
            self.out.sql.push_str(tokens.text(at));
        } else {
            self.push(tokens.text(at));
        }
    }

    fn word(&mut self, at: usize) -> Result<usize, Fault> {
        let tokens = self.tokens;
        if let Some(words) = LOCKING.iter().find(|words| tokens.are(at, words)) {
            self.out.locks = true;
            return Ok(at + words.len());
        }
        if tokens.are(at, &["ON", "DUPLICATE", "KEY", "UPDATE"]) {
            self.push("ON CONFLICT DO UPDATE SET");
            self.updates = true;
            return Ok(at + 4);
        }
        if self.updates && tokens.is(at, "VALUES") && tokens.is(at + 1, "(") {
            self.push(&format!("excluded.{}", tokens.text(at + 2)));
            return Ok(at + 4);
        }
        if at == 1 && tokens.is(at, "IGNORE") {
            self.push("OR IGNORE");
        } else if tokens.are(at, &["FROM", "DUAL"]) {
            return Ok(at + 2);
        } else if tokens.is(at, "REGEXP") || tokens.is(at, "RLIKE") || tokens.is(at, "INTERVAL") {
            return Err(unsupported(tokens.text(at)));
        } else {
            self.push(tokens.text(at));
        }
        Ok(at + 1)
    }

    fn system_variable(&mut self, at: usize) -> Result<usize, Fault> {
        let tokens = self.tokens;
        let scoped = ["global", "session", "local"].iter().any(|scope| tokens.is(at + 1, scope))
            && tokens.is(at + 2, ".");
        let name_at = if scoped { at + 3 } else { at + 1 };
        let name = tokens.unquoted(name_at).to_ascii_lowercase();
        if name.is_empty() {
            return Err(syntax("@@"));
        }
        self.variable(tokens.written(at, name_at + 1), name, true);
        Ok(name_at + 1)
    }

    /// A variable becomes a parameter with a name that no column has.
    fn variable(&mut self, written: &str, name: String, system: bool) {
        self.push(&Variable::parameter(self.out.variables.len()));
        self.out.variables.push(Variable { written: written.to_owned(), name, system });
    }

    /// `CREATE [TEMPORARY] TABLE`: definitions without what SQLite has not, no options behind them.
    fn table(&mut self) -> Result<(), Fault> {
        let tokens = self.tokens;
        let open = (0..tokens.len()).find(|at| tokens.is(*at, "("));
        let query = (0..tokens.len()).find(|at| tokens.is(*at, "SELECT"));
        let Some(open) = open.filter(|open| query.is_none_or(|query| *open < query)) else {
            return self.copy(0, tokens.len());
        };
        let close = tokens.after_brackets(open);
        self.copy(0, open)?;
        let parts = tokens.split(open + 1, close - 1);
        let numbered = parts.iter().find(|(from, to)| self.is_numbered(*from, *to));
        let numbered = numbered.map(|(from, _)| tokens.unquoted(*from));
        let mut sign = "(";
        for (from, to) in parts {
            // a key that is not unique only makes things fast
            let is_key = ["KEY", "INDEX", "FULLTEXT"].iter().any(|word| tokens.is(from, word));
            let primary = tokens.are(from, &["PRIMARY", "KEY"]) && numbered.is_some();
            if is_key || primary {
                continue;
            }
            self.push(sign);
            sign = ",";
            if self.is_numbered(from, to) {
                self.push(&format!("{} INTEGER PRIMARY KEY AUTOINCREMENT", tokens.text(from)));
            } else {
                self.definition(from, to)?;
            }
        }
        self.push(")");
        match query.filter(|query| *query >= close) {
            Some(_) => Err(unsupported("CREATE TABLE (…) SELECT")),
            None => Ok(()),
        }
    }

    fn is_numbered(&self, from: usize, to: usize) -> bool {
        (from..to).any(|at| self.tokens.is(at, "AUTO_INCREMENT"))
    }

    /// A column, or a constraint.
    fn definition(&mut self, from: usize, to: usize) -> Result<(), Fault> {
        let tokens = self.tokens;
        let mut at = from;
        while at < to {
            at = if tokens.are(at, &["CHARACTER", "SET"]) {
                at + 3
            } else if tokens.is(at, "COLLATE") || tokens.is(at, "COMMENT") {
                at + 2
            } else if tokens.are(at, &["ON", "UPDATE", "CURRENT_TIMESTAMP"]) {
                let after = at + 3;
                if tokens.is(after, "(") { tokens.after_brackets(after) } else { after }
            } else if at == from && tokens.is(at, "UNIQUE") {
                // its name is that of an index
                self.push("UNIQUE");
                (at..to).find(|at| tokens.is(*at, "(")).unwrap_or(to)
            } else if tokens.is(at, "ENUM") || at == from + 1 && tokens.is(at, "SET") {
                self.push("TEXT");
                tokens.after_brackets(at + 1)
            } else {
                self.one(at)?
            };
        }
        Ok(())
    }
}

impl Variable {
    /// The name of the parameter that stands for the variable with this number.
    pub(crate) fn parameter(number: usize) -> String {
        format!(":variable{number}_")
    }
}

/// A string without its quotes and escapes.
fn unescaped(text: &str) -> String {
    let mut signs = text.chars();
    let quote = signs.next();
    let mut out = String::new();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => match signs.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('0') => out.push('\0'),
                Some('Z') => out.push('\x1a'),
                // these stay for LIKE
                Some(sign @ ('%' | '_')) => out.extend(['\\', sign]),
                Some(sign) => out.push(sign),
                None => {}
            },
            sign if Some(sign) == quote => {
                // doubled, or the end
                out.extend(signs.next());
            }
            sign => out.push(sign),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(text: &str, sql: &str) {
        assert_eq!(rewrite(text, "demo").expect("understood").sql, sql, "{text}");
    }

    #[test]
    fn what_sqlite_spells_otherwise_is_put_in_its_place() {
        becomes(
            r#"SELECT "a""b", 'it\'s\n' /* c */ FROM `t`"#,
            "SELECT 'a\"b', 'it''s\n' FROM `t`",
        );
        becomes(
            "SELECT a>=1, b<>-1 FROM demo.t WHERE t.a",
            "SELECT a >= 1, b <>- 1 FROM t WHERE t.a",
        );
        becomes("INSERT IGNORE INTO t VALUES (1)", "INSERT OR IGNORE INTO t VALUES(1)");
        becomes(
            "INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = VALUES(a) + 1",
            "INSERT INTO t(a) VALUES(1) ON CONFLICT DO UPDATE SET a = excluded.a + 1",
        );
        becomes("TRUNCATE TABLE t", "DELETE FROM t");
        becomes("START TRANSACTION READ ONLY", "BEGIN");
        becomes("SELECT 1 FROM DUAL", "SELECT 1");
        let locking = rewrite("SELECT a FROM t FOR UPDATE SKIP LOCKED", "demo").expect("read");
        assert!(locking.locks && locking.sql == "SELECT a FROM t");
    }

    #[test]
    fn tables_lose_what_sqlite_has_not() {
        becomes(
            "CREATE TABLE demo.t (id INT UNSIGNED NOT NULL AUTO_INCREMENT, k VARCHAR(9) CHARACTER \
             SET latin1 COLLATE latin1_bin DEFAULT 'x' COMMENT 'c', e ENUM('a', 'b') NOT NULL, \
             PRIMARY KEY (id), KEY by_k (k), UNIQUE KEY u (k, e)) ENGINE=InnoDB CHARSET=utf8",
            "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, k VARCHAR(9) DEFAULT 'x', e \
             TEXT NOT NULL, UNIQUE(k, e))",
        );
        becomes("CREATE TABLE t AS SELECT (1)", "CREATE TABLE t AS SELECT(1)");
    }

    #[test]
    fn variables_become_parameters_that_know_what_was_written() {
        let found = rewrite("SELECT @@session.Sql_Mode, @`A b`, ?", "demo").expect("read");
        assert_eq!(found.sql, "SELECT :variable0_, :variable1_, ?");
        let told: Vec<_> = found
            .variables
            .iter()
            .map(|v| (v.written.as_str(), v.name.as_str(), v.system))
            .collect();
        assert_eq!(told, [("@@session.Sql_Mode", "sql_mode", true), ("@`A b`", "a b", false)]);
        assert!(rewrite("SELECT @a := 1", "demo").is_err());
    }

    #[test]
    fn statements_are_cut_where_no_quotes_are() {
        assert_eq!(statements("SELECT ';' ; ; SELECT 2; -- x"), ["SELECT ';' ", " SELECT 2"]);
    }
}
