//! Expressions and DML of MySQL as SQLite wants them, token by token.
//!
//! What SQLite understands as it stands is passed on with its spacing, so that column names come
//! out as MySQL would give them. It does not look at what kind of statement it has before it.

use crate::fault::Fault;
use crate::lexer::{Kind, Token};

/// A statement for SQLite, and how to undo the translation in column names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sql {
    /// What SQLite is given.
    pub(crate) text: String,
    renames: Vec<Rename>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Rename {
    translated: String,
    written: String,
    /// The column name when the literal is all there is.
    alone: Option<String>,
}

impl Sql {
    /// A statement that needs no renaming.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), renames: Vec::new() }
    }

    /// The name MySQL would give the column SQLite calls `name`.
    pub(crate) fn column_name(&self, name: &str) -> String {
        let mut name = name.to_owned();
        for rename in &self.renames {
            match &rename.alone {
                Some(alone) if name == rename.translated => return alone.clone(),
                _ if name.contains(&rename.translated) => {
                    name = name.replacen(&rename.translated, &rename.written, 1);
                }
                _ => {}
            }
        }
        name
    }

    /// Appends `text` after a space.
    pub(crate) fn push(&mut self, text: &str) {
        if !self.text.is_empty()
            && !self.text.ends_with(['(', ' '])
            && !text.starts_with([')', ','])
        {
            self.text.push(' ');
        }
        self.text.push_str(text);
    }

    /// Appends another piece after a space.
    pub(crate) fn append(&mut self, other: Sql) {
        self.push(&other.text);
        self.renames.extend(other.renames);
    }

    fn put(&mut self, token: &Token<'_>, translated: &str) {
        self.text.push_str(token.gap);
        self.text.push_str(translated);
    }

    fn put_renamed(&mut self, token: &Token<'_>, translated: String, alone: Option<String>) {
        self.put(token, &translated);
        let short = translated.len() <= LONGEST_NAME;
        if short && (alone.is_some() || translated != token.source) {
            self.renames.push(Rename { translated, written: token.source.to_owned(), alone });
        }
    }
}

/// Longer literals do not become column names.
const LONGEST_NAME: usize = 256;

/// Translates a run of tokens; `schema` is the server's schema, SQLite's `main`.
pub(crate) fn rewrite(tokens: &[Token<'_>], schema: &str) -> Result<Sql, Fault> {
    let mut rewriter = Rewriter { tokens, schema, at: 0, out: Sql::default() };
    while let Some(token) = tokens.get(rewriter.at) {
        let taken = rewriter.token(token)?;
        rewriter.at += taken;
    }
    let mut out = rewriter.out;
    let lead = out.text.len() - out.text.trim_start().len();
    out.text.drain(..lead);
    Ok(out)
}

/// A name in quotes that SQLite never takes for a string.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A string literal.
pub(crate) fn literal(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

struct Rewriter<'a, 'b> {
    tokens: &'b [Token<'a>],
    schema: &'b str,
    at: usize,
    out: Sql,
}

impl<'a> Rewriter<'a, '_> {
    /// Translates `token` and perhaps some after it; returns how many were taken.
    fn token(&mut self, token: &Token<'a>) -> Result<usize, Fault> {
        match &token.kind {
            Kind::Word => return self.word(token),
            Kind::Name(name) => {
                if let Some(taken) = self.qualified(token, name) {
                    return Ok(taken);
                }
                self.out.put(token, &quoted(name));
            }
            Kind::Text(value) => return Ok(self.text(token, value)),
            Kind::Bytes(value) => {
                self.out.put_renamed(token, blob(value), Some(token.source.to_owned()));
            }
            Kind::UserVariable(name) => {
                if self.next(1).is_some_and(|t| t.symbol(":=")) {
                    return Err(Fault::unsupported("@variable := value inside a statement"));
                }
                self.out.put_renamed(token, format!("uservar({})", literal(name)), None);
            }
            Kind::SystemVariable(scope, name) => {
                let call = format!("sysvar({},{})", literal(scope), literal(name));
                self.out.put_renamed(token, call, None);
            }
            Kind::Number | Kind::Parameter => self.out.put(token, token.source),
            Kind::Symbol => self.symbol(token)?,
        }
        Ok(1)
    }

    fn symbol(&mut self, token: &Token<'a>) -> Result<(), Fault> {
        let spaced = |word: &str| format!(" {word} ");
        match token.source {
            "&&" => self.out.put_renamed(token, spaced("AND"), None),
            "||" => self.out.put_renamed(token, spaced("OR"), None),
            "<=>" => self.out.put_renamed(token, spaced("IS"), None),
            "!" => self.out.put_renamed(token, spaced("NOT"), None),
            "/" => self.out.put_renamed(token, "* 1.0 /".to_owned(), None),
            ":=" => return Err(Fault::syntax(":=")),
            other => self.out.put(token, other),
        }
        Ok(())
    }

    /// A string literal, together with those that follow it directly.
    fn text(&mut self, token: &Token<'a>, value: &[u8]) -> usize {
        let mut whole = value.to_vec();
        let mut taken = 1;
        while let Some(Kind::Text(more)) = self.next(taken).map(|t| &t.kind) {
            whole.extend_from_slice(more);
            taken += 1;
        }
        match std::str::from_utf8(&whole) {
            Ok(text) if !text.contains('\0') => {
                self.out.put_renamed(token, literal(text), Some(text.to_owned()));
            }
            Ok(text) => {
                let cast = format!("CAST({} AS TEXT)", blob(&whole));
                self.out.put_renamed(token, cast, Some(text.to_owned()));
            }
            Err(_) => self.out.put(token, &blob(&whole)),
        }
        taken
    }

    fn word(&mut self, token: &Token<'a>) -> Result<usize, Fault> {
        let word = token.source.to_ascii_lowercase();
        if self.previous().is_some_and(|t| t.symbol(".")) {
            self.out.put(token, token.source);
            return Ok(1);
        }
        if let Some(taken) = self.qualified(token, token.source) {
            return Ok(taken);
        }
        if let Some(taken) = self.dropped(&word) {
            return Ok(taken);
        }
        if self.previous().is_some_and(|t| t.is("as"))
            && let Some(taken) = self.cast_type(token, &word)
        {
            return Ok(taken);
        }
        let next = self.next(1);
        let call = next.is_some_and(|t| t.symbol("("));
        match word.as_str() {
            // the sign, and the odd spellings below, make the text one that only we write, so that
            // it is found again in column names
            "div" => self.out.put_renamed(token, "/+".to_owned(), None),
            "mod" if !call => self.out.put_renamed(token, "%+".to_owned(), None),
            "greatest" if call => self.out.put_renamed(token, "mAx".to_owned(), None),
            "least" if call => self.out.put_renamed(token, "mIn".to_owned(), None),
            "separator" => self.out.put(token, ","),
            "xor" | "regexp" | "rlike" | "interval" if !call => {
                return Err(Fault::unsupported(token.source));
            }
            "current_user" if !call => {
                self.out.put_renamed(token, "current_user()".to_owned(), None);
            }
            "current_timestamp" | "localtime" | "localtimestamp" if call => {
                self.out.put_renamed(token, "nOw".to_owned(), None);
            }
            "current_date" | "current_time" if call => {
                self.out.put(token, if word.ends_with("date") { "curdate" } else { "curtime" });
            }
            "values" if call && self.names_a_column() => {
                return self.inserted_value(token);
            }
            _ if word.starts_with('_')
                && matches!(next.map(|t| &t.kind), Some(Kind::Text(_) | Kind::Bytes(_))) =>
            {
                return Ok(self.introduced(token, &word));
            }
            _ => self.out.put(token, token.source),
        }
        Ok(1)
    }

    /// `schema.` becomes SQLite's `main.`, `information_schema.x` one of our views.
    fn qualified(&mut self, token: &Token<'a>, name: &str) -> Option<usize> {
        if !self.next(1)?.symbol(".") || self.previous().is_some_and(|t| t.symbol(".")) {
            return None;
        }
        if name.eq_ignore_ascii_case(self.schema) {
            self.out.put(token, "main");
            return Some(1);
        }
        let table = self.next(2)?.name()?.to_ascii_lowercase();
        let known = ["information_schema", "performance_schema"];
        let system = known.iter().find(|known| name.eq_ignore_ascii_case(known))?;
        self.out.put(token, &format!("temp.`{system}.{table}`"));
        Some(3)
    }

    /// Words that SQLite does not know and does not need: how many tokens go.
    fn dropped(&self, word: &str) -> Option<usize> {
        const HINTS: &[&str] = &[
            "sql_no_cache",
            "sql_cache",
            "sql_calc_found_rows",
            "sql_small_result",
            "sql_big_result",
            "sql_buffer_result",
            "high_priority",
            "low_priority",
            "delayed",
            "straight_join",
        ];
        let next = self.next(1)?;
        if HINTS.contains(&word) && self.previous().is_some() {
            return Some(1);
        }
        match word {
            "use" | "force" | "ignore" if next.is_any(&["index", "key"]) => {
                let open = (self.at..self.tokens.len()).find(|&i| self.tokens[i].symbol("("))?;
                Some(close_of(self.tokens, open)? + 1 - self.at)
            }
            "binary" if !next.symbol("(") && !next.symbol(",") && !next.symbol(")") => Some(1),
            _ => None,
        }
    }

    /// Types that may follow `CAST(… AS`.
    fn cast_type(&mut self, token: &Token<'a>, word: &str) -> Option<usize> {
        let sqlite = match word {
            "signed" | "unsigned" => "INTEGER",
            "binary" => "BLOB",
            "date" | "datetime" | "time" | "json" | "char" | "nchar" => "TEXT",
            "decimal" | "double" | "float" | "real" => "REAL",
            _ => return None,
        };
        let after = self.tokens.get(self.at + 1)?;
        if !(after.symbol(")") || after.symbol("(") || after.is("integer")) {
            return None;
        }
        self.out.put_renamed(token, sqlite.to_owned(), None);
        let mut taken = 1;
        if after.is("integer") {
            taken += 1;
        } else if after.symbol("(") {
            taken = close_of(self.tokens, self.at + 1)? + 1 - self.at;
        }
        Some(taken)
    }

    /// `_utf8mb4'x'`, `_utf8mb4 x'61'` and `_binary'x'`.
    fn introduced(&mut self, token: &Token<'a>, word: &str) -> usize {
        let next = self.tokens.get(self.at + 1).map(|t| &t.kind);
        let made = match (next, word == "_binary") {
            (Some(Kind::Text(value) | Kind::Bytes(value)), true) => blob(value),
            (Some(Kind::Bytes(value)), false) => format!("CAST({} AS TEXT)", blob(value)),
            _ => {
                self.out.put(token, "");
                return 1;
            }
        };
        self.out.put(token, &made);
        2
    }

    /// Whether `( name )` follows, as in `VALUES(c)` after ON DUPLICATE KEY UPDATE.
    fn names_a_column(&self) -> bool {
        let before = self.previous().is_some_and(|t| !t.symbol(")") && t.kind == Kind::Symbol);
        before
            && self.next(2).is_some_and(|t| t.name().is_some())
            && self.next(3).is_some_and(|t| t.symbol(")"))
    }

    fn inserted_value(&mut self, token: &Token<'a>) -> Result<usize, Fault> {
        let column = self.next(2).and_then(Token::name).ok_or_else(|| Fault::syntax("VALUES"))?;
        let column = quoted(column);
        self.out.put(token, &format!("excluded.{column}"));
        Ok(4)
    }

    fn next(&self, ahead: usize) -> Option<&Token<'a>> {
        self.tokens.get(self.at + ahead)
    }

    fn previous(&self) -> Option<&Token<'a>> {
        self.tokens.get(self.at.checked_sub(1)?)
    }
}

/// Where the bracket opened at `open` closes.
pub(crate) fn close_of(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        if token.symbol("(") {
            depth += 1;
        } else if token.symbol(")") {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(index);
            }
        }
    }
    None
}

/// Splits at commas that are not inside brackets.
pub(crate) fn split_commas<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut depth = 0_i32;
    tokens
        .split(|token| {
            match token.source {
                "(" if token.kind == Kind::Symbol => depth += 1,
                ")" if token.kind == Kind::Symbol => depth -= 1,
                _ => {}
            }
            depth == 0 && token.symbol(",")
        })
        .collect()
}

fn blob(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2 + 3);
    text.push_str("x'");
    for byte in bytes {
        text.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
        text.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
    }
    text.push('\'');
    text
}
