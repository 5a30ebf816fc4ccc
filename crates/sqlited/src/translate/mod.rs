//! MySQL statements as SQLite (or the session) carries them out.
//!
//! Looks at the first words and hands over to one module a family. It knows the server's schema
//! name and nothing else of the session: a plan made at prepare time holds for every execution.

mod create;
mod ddl;
mod dml;
mod rewrite;
mod session;
mod show;

pub(crate) use rewrite::Sql;
pub(crate) use session::{Assignment, Scope, Target};

use crate::fault::Fault;
use crate::lexer::{Kind, Token};
use rewrite::rewrite;

/// What is to be done for one statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    /// What to do.
    pub(crate) action: Action,
    /// `?` in the text.
    pub(crate) parameters: u16,
}

/// The kinds of statements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// A query that touches no table: it neither starts a transaction nor clears warnings.
    Look(Sql),
    /// A query or a change, SQLite says which; the table is that of an INSERT.
    Run { sql: Sql, table: Option<String> },
    /// A query with FOR UPDATE: needs the write lock.
    LockingRead(Sql),
    /// Changes of the schema, in order; `temporary` ones do not end a transaction.
    Schema { steps: Vec<Sql>, temporary: bool },
    /// BEGIN, START TRANSACTION.
    Begin,
    /// COMMIT.
    Commit { chain: bool },
    /// ROLLBACK.
    Rollback { chain: bool },
    /// SAVEPOINT, ROLLBACK TO, RELEASE: the statement for SQLite.
    Savepoint { sql: String, opens: bool },
    /// SET.
    Set(Vec<Assignment>),
    /// USE.
    Use(String),
    /// KILL; `query_only` leaves the session alive.
    Kill { id: u32, query_only: bool },
    /// SELECT SLEEP(seconds): answers later without keeping anyone waiting.
    Sleep { milliseconds: u64, column: String },
    /// Accepted without effect, with a note that says so.
    Nothing(&'static str),
}

/// Translates one statement.
pub(crate) fn plan(tokens: &[Token<'_>], schema: &str) -> Result<Plan, Fault> {
    let parameters = tokens.iter().filter(|t| t.kind == Kind::Parameter).count();
    let parameters = u16::try_from(parameters).map_err(|_| {
        Fault::new(1390, b"HY000", "Prepared statement contains too many placeholders")
    })?;
    Ok(Plan { action: action(tokens, schema)?, parameters })
}

fn action(tokens: &[Token<'_>], schema: &str) -> Result<Action, Fault> {
    let Some(first) = tokens.first() else {
        return Err(Fault::new(1065, b"42000", "Query was empty"));
    };
    if first.symbol("(") {
        return query(tokens, schema);
    }
    if first.kind != Kind::Word {
        return Err(Fault::syntax(&text_of(tokens)));
    }
    match first.source.to_ascii_lowercase().as_str() {
        "select" | "with" | "values" => query(tokens, schema),
        "insert" | "replace" => dml::insert(tokens, schema),
        "update" => dml::update(tokens, schema),
        "delete" => dml::delete(tokens, schema),
        "truncate" => ddl::truncate(tokens, schema),
        "create" => ddl::create(tokens, schema),
        "drop" => ddl::drop(tokens, schema),
        "alter" => ddl::alter(tokens, schema),
        "rename" => ddl::rename(tokens, schema),
        "show" => show::show(tokens, schema),
        "describe" | "desc" | "explain" => show::describe(tokens, schema),
        "flush" | "analyze" | "optimize" | "check" | "lock" | "unlock" | "grant" | "revoke"
        | "do" | "reset" => Ok(Action::Nothing("accepted by the embedded server without effect")),
        _ => session::statement(tokens, schema),
    }
}

/// SELECT, with its locking clause taken off.
fn query(tokens: &[Token<'_>], schema: &str) -> Result<Action, Fault> {
    if let Some(sleep) = session::sleep(tokens) {
        return Ok(sleep);
    }
    let (body, locking) = without_lock(tokens);
    refuse_into(body)?;
    let body = without_dual(body);
    let sql = rewrite(&body, schema)?;
    Ok(if locking {
        Action::LockingRead(sql)
    } else if body.iter().any(|t| t.is("from")) {
        Action::Run { sql, table: None }
    } else {
        Action::Look(sql)
    })
}

/// Cuts FOR UPDATE, FOR SHARE and LOCK IN SHARE MODE off the end; says if it was FOR UPDATE.
fn without_lock<'t, 'a>(tokens: &'t [Token<'a>]) -> (&'t [Token<'a>], bool) {
    let mut depth = 0_i32;
    for (index, token) in tokens.iter().enumerate() {
        if token.symbol("(") {
            depth += 1;
        } else if token.symbol(")") {
            depth -= 1;
        }
        let next = tokens.get(index + 1);
        if depth > 0 {
            continue;
        }
        if token.is("for") && next.is_some_and(|t| t.is_any(&["update", "share"])) {
            return (&tokens[..index], next.is_some_and(|t| t.is("update")));
        }
        if token.is("lock") && next.is_some_and(|t| t.is("in")) {
            return (&tokens[..index], false);
        }
    }
    (tokens, false)
}

fn refuse_into(tokens: &[Token<'_>]) -> Result<(), Fault> {
    let select = tokens.first().is_some_and(|t| t.is("select"));
    match tokens.iter().position(|t| t.is("into")) {
        Some(_) if select => Err(Fault::unsupported("SELECT … INTO")),
        _ => Ok(()),
    }
}

/// `FROM DUAL` means no table.
fn without_dual<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        if token.is("from") && tokens.get(index + 1).is_some_and(|t| t.is("dual")) {
            index += 2;
            continue;
        }
        kept.push(token.clone());
        index += 1;
    }
    kept
}

/// The text of tokens, for error messages.
fn text_of(tokens: &[Token<'_>]) -> String {
    let mut text = String::new();
    for token in tokens.iter().take(40) {
        text.push_str(token.gap);
        text.push_str(token.source);
    }
    text.trim_start().to_owned()
}

/// Walks over tokens; every method takes what it returns.
struct Cursor<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
}

impl<'t, 'a> Cursor<'t, 'a> {
    fn new(tokens: &'t [Token<'a>]) -> Self {
        Self { tokens, at: 0 }
    }

    fn peek(&self) -> Option<&'t Token<'a>> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<&'t Token<'a>> {
        let token = self.peek();
        self.at += usize::from(token.is_some());
        token
    }

    /// Takes the keyword if it comes next.
    fn eat(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|t| t.is(word));
        self.at += usize::from(found);
        found
    }

    /// Takes any number of these keywords; says whether there was one.
    fn eat_all(&mut self, words: &[&str]) -> bool {
        let from = self.at;
        while self.peek().is_some_and(|t| t.is_any(words)) {
            self.at += 1;
        }
        self.at > from
    }

    /// Takes the symbol if it comes next.
    fn eat_symbol(&mut self, symbol: &str) -> bool {
        let found = self.peek().is_some_and(|t| t.symbol(symbol));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, word: &str) -> Result<(), Fault> {
        if self.eat(word) { Ok(()) } else { Err(self.syntax()) }
    }

    fn name(&mut self) -> Result<&'t str, Fault> {
        let name = self.peek().and_then(Token::name).ok_or_else(|| self.syntax())?;
        self.at += 1;
        Ok(name)
    }

    /// `t` or `schema.t`; the schema must be the server's.
    fn table(&mut self, schema: &str) -> Result<&'t str, Fault> {
        let name = self.name()?;
        if !self.eat_symbol(".") {
            return Ok(name);
        }
        if !name.eq_ignore_ascii_case(schema) {
            return Err(Fault::unknown_schema(name));
        }
        self.name()
    }

    /// What is between brackets that open here.
    fn brackets(&mut self) -> Result<&'t [Token<'a>], Fault> {
        let open = self.at;
        let close = rewrite::close_of(self.tokens, open).ok_or_else(|| self.syntax())?;
        self.at = close + 1;
        Ok(&self.tokens[open + 1..close])
    }

    fn rest(&self) -> &'t [Token<'a>] {
        self.tokens.get(self.at..).unwrap_or_default()
    }

    fn end(&self) -> Result<(), Fault> {
        if self.peek().is_none() { Ok(()) } else { Err(self.syntax()) }
    }

    fn syntax(&self) -> Fault {
        Fault::syntax(&text_of(self.rest()))
    }
}

#[cfg(test)]
mod tests;
