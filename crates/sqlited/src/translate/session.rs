//! Statements about the session: transactions, SET, USE, KILL, SLEEP.
//!
//! Which variables exist and what a value does is `variables`' business.

use super::rewrite::{Sql, literal, quoted, rewrite, split_commas};
use super::{Action, Cursor, text_of};
use crate::fault::Fault;
use crate::lexer::{Kind, Token};

/// One assignment of SET.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Assignment {
    /// What is assigned.
    pub(crate) target: Target,
    /// The value; `None` is DEFAULT.
    pub(crate) value: Option<Sql>,
}

/// What SET may assign.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// `@x`, lower case.
    User(String),
    /// A system variable, lower case.
    System(Scope, String),
}

/// Where a system variable is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    /// This session.
    Session,
    /// The server.
    Global,
}

/// Statements that are neither queries nor DDL.
pub(super) fn statement(tokens: &[Token<'_>], schema: &str) -> Result<Action, Fault> {
    let mut cursor = Cursor::new(tokens);
    let first = cursor.next().map(|t| t.source.to_ascii_lowercase()).unwrap_or_default();
    match first.as_str() {
        "begin" => {
            cursor.eat("work");
            cursor.end()?;
            Ok(Action::Begin)
        }
        "start" => start(&mut cursor),
        "commit" => ended(&mut cursor).map(|chain| Action::Commit { chain }),
        "rollback" => rollback(&mut cursor),
        "savepoint" => {
            let sql = format!("SAVEPOINT {}", quoted(cursor.name()?));
            cursor.end()?;
            Ok(Action::Savepoint { sql, opens: true })
        }
        "release" => {
            cursor.expect("savepoint")?;
            let sql = format!("RELEASE {}", quoted(cursor.name()?));
            cursor.end()?;
            Ok(Action::Savepoint { sql, opens: false })
        }
        "set" => set(cursor.rest(), schema),
        "use" => {
            let name = cursor.name()?.to_owned();
            cursor.end()?;
            Ok(Action::Use(name))
        }
        "kill" => kill(&mut cursor),
        "prepare" | "execute" | "deallocate" | "call" | "handler" | "load" | "xa" | "install" => {
            Err(Fault::unsupported(&first.to_ascii_uppercase()))
        }
        _ => Err(Fault::syntax(&text_of(tokens))),
    }
}

fn start(cursor: &mut Cursor<'_, '_>) -> Result<Action, Fault> {
    cursor.expect("transaction")?;
    cursor.eat_all(&["with", "consistent", "snapshot", "read", "only", "write"]);
    while cursor.eat_symbol(",") {
        cursor.eat_all(&["with", "consistent", "snapshot", "read", "only", "write"]);
    }
    cursor.end()?;
    Ok(Action::Begin)
}

/// `[WORK] [AND [NO] CHAIN] [[NO] RELEASE]`; says whether a new transaction begins.
fn ended(cursor: &mut Cursor<'_, '_>) -> Result<bool, Fault> {
    cursor.eat("work");
    let mut chain = false;
    if cursor.eat("and") {
        chain = !cursor.eat("no");
        cursor.expect("chain")?;
    }
    if cursor.eat("no") {
        cursor.expect("release")?;
    } else if cursor.peek().is_some_and(|t| t.is("release")) {
        return Err(Fault::unsupported("RELEASE"));
    }
    cursor.end()?;
    Ok(chain)
}

fn rollback(cursor: &mut Cursor<'_, '_>) -> Result<Action, Fault> {
    cursor.eat("work");
    if !cursor.eat("to") {
        return ended(cursor).map(|chain| Action::Rollback { chain });
    }
    cursor.eat("savepoint");
    let sql = format!("ROLLBACK TO {}", quoted(cursor.name()?));
    cursor.end()?;
    Ok(Action::Savepoint { sql, opens: false })
}

fn kill(cursor: &mut Cursor<'_, '_>) -> Result<Action, Fault> {
    let query_only = cursor.eat("query");
    cursor.eat("connection");
    let id = cursor.next().and_then(|t| t.source.parse().ok()).ok_or_else(|| cursor.syntax())?;
    cursor.end()?;
    Ok(Action::Kill { id, query_only })
}

fn set(tokens: &[Token<'_>], schema: &str) -> Result<Action, Fault> {
    let mut assignments = Vec::new();
    let mut cursor = Cursor::new(tokens);
    let scoped = cursor.eat_all(&["session", "local", "global"]);
    if cursor.eat("transaction") {
        let global = scoped && tokens.first().is_some_and(|t| t.is("global"));
        return transaction(&mut cursor, if global { Scope::Global } else { Scope::Session });
    }
    for piece in split_commas(tokens) {
        assign(piece, schema, &mut assignments)?;
    }
    Ok(Action::Set(assignments))
}

fn assign(piece: &[Token<'_>], schema: &str, all: &mut Vec<Assignment>) -> Result<(), Fault> {
    let mut cursor = Cursor::new(piece);
    if cursor.eat("names") {
        names(&mut cursor, all)?;
        return cursor.end();
    }
    if cursor.eat("charset") || (cursor.eat("character") && cursor.eat("set")) {
        names(&mut cursor, all)?;
        return cursor.end();
    }
    if piece.first().is_some_and(|t| t.is_any(&["password", "role"])) {
        return Err(Fault::unsupported("SET PASSWORD and SET ROLE"));
    }
    let mut scope = Scope::Session;
    if cursor.eat("global") || cursor.eat("persist") {
        scope = Scope::Global;
    } else {
        cursor.eat_all(&["session", "local"]);
    }
    let Some(token) = cursor.next() else { return Err(cursor.syntax()) };
    let target = match &token.kind {
        Kind::UserVariable(name) => Target::User(name.clone()),
        Kind::SystemVariable(written, name) => {
            let global = matches!(written.as_str(), "global" | "persist");
            Target::System(if global { Scope::Global } else { scope }, name.clone())
        }
        _ => {
            let name = token.name().ok_or_else(|| cursor.syntax())?;
            Target::System(scope, name.to_ascii_lowercase())
        }
    };
    if !cursor.eat_symbol("=") && !cursor.eat_symbol(":=") {
        return Err(cursor.syntax());
    }
    let value = match cursor.rest() {
        [] => return Err(cursor.syntax()),
        [one] if one.is("default") => None,
        // ON, OFF, utf8mb4, TRADITIONAL: words stand for themselves
        [one] if one.kind == Kind::Word && !one.is_any(&["true", "false", "null"]) => {
            Some(Sql::plain(literal(one.source)))
        }
        expression => Some(rewrite(expression, schema)?),
    };
    all.push(Assignment { target, value });
    Ok(())
}

/// SET NAMES and SET CHARACTER SET: three variables and the collation.
fn names(cursor: &mut Cursor<'_, '_>, all: &mut Vec<Assignment>) -> Result<(), Fault> {
    let charset = word_or_text(cursor)?.to_ascii_lowercase();
    let charset = if charset == "default" { "utf8mb4".to_owned() } else { charset };
    let mut session = |name: &str, value: &str| {
        let target = Target::System(Scope::Session, name.to_owned());
        all.push(Assignment { target, value: Some(Sql::plain(literal(value))) });
    };
    for name in ["character_set_client", "character_set_connection", "character_set_results"] {
        session(name, &charset);
    }
    if cursor.eat("collate") {
        session("collation_connection", &word_or_text(cursor)?.to_ascii_lowercase());
    }
    Ok(())
}

fn word_or_text(cursor: &mut Cursor<'_, '_>) -> Result<String, Fault> {
    let token = cursor.next().ok_or_else(|| cursor.syntax())?;
    match &token.kind {
        Kind::Text(value) => Ok(String::from_utf8_lossy(value).into_owned()),
        _ => token.name().map(str::to_owned).ok_or_else(|| cursor.syntax()),
    }
}

/// SET TRANSACTION: isolation level and access mode become variables.
fn transaction(cursor: &mut Cursor<'_, '_>, scope: Scope) -> Result<Action, Fault> {
    let mut assignments = Vec::new();
    loop {
        let (name, value) = if cursor.eat("isolation") {
            cursor.expect("level")?;
            let mut words = Vec::new();
            while let Some(token) = cursor.peek().filter(|t| t.kind == Kind::Word) {
                words.push(token.source.to_ascii_uppercase());
                cursor.next();
            }
            ("transaction_isolation", words.join("-"))
        } else {
            cursor.expect("read")?;
            let only = cursor.eat("only");
            if !only {
                cursor.expect("write")?;
            }
            ("transaction_read_only", if only { "ON" } else { "OFF" }.to_owned())
        };
        let target = Target::System(scope, name.to_owned());
        assignments.push(Assignment { target, value: Some(Sql::plain(literal(&value))) });
        if !cursor.eat_symbol(",") {
            cursor.end()?;
            return Ok(Action::Set(assignments));
        }
    }
}

/// `SELECT SLEEP(n)` and nothing else.
pub(super) fn sleep(tokens: &[Token<'_>]) -> Option<Action> {
    let [select, name, open, seconds, close] = tokens else { return None };
    let form = select.is("select") && name.is("sleep") && open.symbol("(") && close.symbol(")");
    if !form || seconds.kind != Kind::Number {
        return None;
    }
    let seconds: f64 = seconds.source.parse().ok()?;
    let milliseconds = std::time::Duration::try_from_secs_f64(seconds).ok()?.as_millis();
    Some(Action::Sleep {
        milliseconds: u64::try_from(milliseconds).ok()?,
        column: text_of(&tokens[1..]),
    })
}
