//! `SET` statements: what is assigned, and to what.
//!
//! A value is a literal, or an expression that depends on nothing but variables; [`value`] reads
//! it. Whether a variable exists, is tracked, or takes that value is not known here.

use crate::Modes;
use crate::cursor::Cursor;
use crate::keyword::Keyword;
use crate::lexer::TokenKind;

pub use value::{SetValue, ValueKind};

/// The assignments of one `SET` statement, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SetStatement<'a> {
    /// What is assigned; never empty.
    pub assignments: Vec<Assignment<'a>>,
}

/// One assignment. Names and values are slices of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Assignment<'a> {
    /// `SET NAMES charset [COLLATE collation]`.
    Names {
        /// Character set, as written, without quotes.
        charset: &'a [u8],
        /// Collation, as written, without quotes.
        collation: Option<&'a [u8]>,
    },
    /// `SET CHARACTER SET charset`.
    CharacterSet {
        /// Character set, as written, without quotes.
        charset: &'a [u8],
    },
    /// `SET autocommit = …`.
    Autocommit(bool),
    /// A session system variable.
    Variable {
        /// Name as written, without scope and quotes; compare without regard to case.
        name: &'a [u8],
        /// Its value.
        value: SetValue<'a>,
    },
    /// A user variable.
    UserVariable {
        /// Name as written, without `@` and quotes; compare without regard to case.
        name: &'a [u8],
        /// Its value.
        value: SetValue<'a>,
    },
    /// `SET SESSION TRANSACTION ISOLATION LEVEL …`.
    SessionIsolation(IsolationLevel),
    /// `SET SESSION TRANSACTION READ ONLY` (true) or `READ WRITE` (false).
    SessionReadOnly(bool),
    /// A characteristic of the next transaction only: `SET TRANSACTION …`,
    /// `SET @@transaction_isolation = …`.
    NextTransaction,
    /// `GLOBAL`, `PERSIST` or `PERSIST_ONLY`: nothing of the session changes.
    Global,
}

/// An isolation level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IsolationLevel {
    /// `READ UNCOMMITTED`.
    ReadUncommitted,
    /// `READ COMMITTED`.
    ReadCommitted,
    /// `REPEATABLE READ`.
    RepeatableRead,
    /// `SERIALIZABLE`.
    Serializable,
}

impl IsolationLevel {
    /// As the value of a system variable.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "READ-UNCOMMITTED",
            Self::ReadCommitted => "READ-COMMITTED",
            Self::RepeatableRead => "REPEATABLE-READ",
            Self::Serializable => "SERIALIZABLE",
        }
    }
}

/// Every assignment of `text`, or `None` when any part of it is not understood: expressions that
/// depend on more than variables, names whose assignment has other effects, and the rest.
pub fn parse_set(text: &[u8]) -> Option<SetStatement<'_>> {
    parse_set_in(text, Modes::default())
}

/// The same of a text that is read as `modes` say.
pub fn parse_set_in(text: &[u8], modes: Modes) -> Option<SetStatement<'_>> {
    let mut cursor = Cursor::new(text, modes);
    if cursor.take_keyword() != Keyword::Set {
        return None;
    }
    let assignments = match cursor.transaction() {
        Some(assignments) => assignments,
        None => cursor.assignments()?,
    };
    if !cursor.is_over() {
        return None;
    }
    Some(SetStatement { assignments })
}

impl<'a> Cursor<'a> {
    fn assignments(&mut self) -> Option<Vec<Assignment<'a>>> {
        let mut assignments = Vec::with_capacity(1);
        let mut any_global = false;
        loop {
            let assignment = self.assignment(any_global)?;
            any_global |= assignment == Assignment::Global;
            assignments.push(assignment);
            if !self.take_punct(b',') {
                return Some(assignments);
            }
        }
    }

    /// Behind others, of which one was of a global variable or none.
    fn assignment(&mut self, any_global: bool) -> Option<Assignment<'a>> {
        match self.kind() {
            Some(TokenKind::SystemAt) => return self.system_variable(),
            Some(TokenKind::At) => return self.user_variable(),
            _ => {}
        }
        match self.keyword() {
            Keyword::Session | Keyword::Local => {
                self.advance();
                self.variable(Scope::Session)
            }
            Keyword::Global | Keyword::Persist | Keyword::PersistOnly => {
                self.advance();
                self.global()
            }
            Keyword::Names => self.names(),
            Keyword::Character | Keyword::Char | Keyword::Charset => self.character_set(),
            // it may have the scope of one before it, whatever stands in between
            _ if any_global => None,
            _ => self.variable(Scope::Session),
        }
    }

    /// At `@@`.
    fn system_variable(&mut self) -> Option<Assignment<'a>> {
        self.advance();
        let scope = self.keyword();
        if matches!(
            scope,
            Keyword::Session
                | Keyword::Local
                | Keyword::Global
                | Keyword::Persist
                | Keyword::PersistOnly
        ) {
            self.advance();
            if !self.take_punct(b'.') {
                return None;
            }
            return match scope {
                Keyword::Session | Keyword::Local => self.variable(Scope::Session),
                _ => self.global(),
            };
        }
        self.variable(Scope::None)
    }

    /// `name = …` of a variable that is not the session's; the value is not looked at.
    fn global(&mut self) -> Option<Assignment<'a>> {
        if self.keyword() != Keyword::Transaction {
            self.name()?;
            if !self.take_punct(b'=') && self.take(TokenKind::Assign).is_none() {
                return None;
            }
        }
        let mut depth = 0_usize;
        let mut read = 0;
        while let Some(kind) = self.kind() {
            match kind {
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')') => depth = depth.checked_sub(1)?,
                TokenKind::Punct(b',') if depth == 0 => break,
                TokenKind::Punct(b';') => break,
                TokenKind::Assign => return None,
                _ => {}
            }
            read += 1;
            self.advance();
        }
        (read > 0 && depth == 0).then_some(Assignment::Global)
    }

    /// At the `@` of a user variable.
    fn user_variable(&mut self) -> Option<Assignment<'a>> {
        let name = self.user_name()?;
        if !self.take_punct(b'=') && self.take(TokenKind::Assign).is_none() {
            return None;
        }
        let value = self.value()?;
        let truth = || [b"TRUE".as_slice(), b"FALSE"].map(|w| value.raw.eq_ignore_ascii_case(w));
        match value.kind {
            ValueKind::Default => None,
            ValueKind::Word if !truth().contains(&true) => None,
            _ => Some(Assignment::UserVariable { name, value }),
        }
    }

    /// At the `@` before a plain name.
    fn user_name(&mut self) -> Option<&'a [u8]> {
        let at = self.token?;
        self.advance();
        let token = self.token.filter(|token| token.start == at.end)?;
        let name = match token.kind {
            TokenKind::Word => self.lexer.slice(token),
            TokenKind::Quoted | TokenKind::Text if self.lexer.is_closed(token) => {
                self.lexer.unquoted(token)
            }
            _ => return None,
        };
        self.advance();
        let plain = name.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$'));
        (plain && !name.is_empty()).then_some(name)
    }

    /// The name of a system variable.
    fn name(&mut self) -> Option<&'a [u8]> {
        let name = self.identifier()?;
        let plain = name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
        (plain && !name.is_empty()).then_some(name)
    }

    /// `name = value`.
    fn variable(&mut self, scope: Scope) -> Option<Assignment<'a>> {
        let name = self.name()?;
        if !self.take_punct(b'=') && self.take(TokenKind::Assign).is_none() {
            return None;
        }
        if is_special(name) {
            return None;
        }
        let value = self.value()?;
        if scope == Scope::None && is_next_transaction_only(name) {
            return Some(Assignment::NextTransaction);
        }
        if name.eq_ignore_ascii_case(b"autocommit") {
            return Some(Assignment::Autocommit(boolean(&value)?));
        }
        Some(Assignment::Variable { name, value })
    }

    /// At `NAMES`.
    fn names(&mut self) -> Option<Assignment<'a>> {
        self.advance();
        let charset = self.charset()?;
        let collation = if self.keyword() == Keyword::Collate {
            self.advance();
            Some(self.charset()?)
        } else {
            None
        };
        Some(Assignment::Names { charset, collation })
    }

    /// At `CHARACTER SET`, `CHAR SET` or `CHARSET`.
    fn character_set(&mut self) -> Option<Assignment<'a>> {
        if self.take_keyword() != Keyword::Charset && self.take_keyword() != Keyword::Set {
            return None;
        }
        Some(Assignment::CharacterSet { charset: self.charset()? })
    }

    /// Name of a character set or collation, bare or quoted.
    fn charset(&mut self) -> Option<&'a [u8]> {
        let token = self.token?;
        let name = match token.kind {
            TokenKind::Word if self.keyword() != Keyword::Default => self.lexer.slice(token),
            TokenKind::Text | TokenKind::Quoted if self.lexer.is_closed(token) => {
                self.lexer.unquoted(token)
            }
            _ => return None,
        };
        self.advance();
        let named = name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
        (named && !name.is_empty()).then_some(name)
    }

    /// `[SESSION] TRANSACTION …`, after which nothing else may stand.
    fn transaction(&mut self) -> Option<Vec<Assignment<'a>>> {
        let mut ahead = self.clone();
        let session = matches!(ahead.keyword(), Keyword::Session | Keyword::Local);
        if session {
            ahead.advance();
        }
        if ahead.take_keyword() != Keyword::Transaction {
            return None;
        }
        let mut assignments = Vec::with_capacity(1);
        loop {
            let of_session = ahead.characteristic()?;
            assignments.push(if session { of_session } else { Assignment::NextTransaction });
            if !ahead.take_punct(b',') {
                break;
            }
        }
        *self = ahead;
        Some(assignments)
    }

    fn characteristic(&mut self) -> Option<Assignment<'a>> {
        match (self.take_keyword(), self.take_keyword()) {
            (Keyword::Isolation, Keyword::Level) => {
                let level = match self.take_keyword() {
                    Keyword::Serializable => IsolationLevel::Serializable,
                    first => match (first, self.take_keyword()) {
                        (Keyword::Read, Keyword::Uncommitted) => IsolationLevel::ReadUncommitted,
                        (Keyword::Read, Keyword::Committed) => IsolationLevel::ReadCommitted,
                        (Keyword::Repeatable, Keyword::Read) => IsolationLevel::RepeatableRead,
                        _ => return None,
                    },
                };
                Some(Assignment::SessionIsolation(level))
            }
            (Keyword::Read, Keyword::Only) => Some(Assignment::SessionReadOnly(true)),
            (Keyword::Read, Keyword::Write) => Some(Assignment::SessionReadOnly(false)),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Said, or implied by a bare name.
    Session,
    /// `@@name`: for the characteristics of transactions, the next transaction only.
    None,
}

fn boolean(given: &SetValue<'_>) -> Option<bool> {
    let value = given.unquoted();
    let is = |word: &str| value.eq_ignore_ascii_case(word.as_bytes());
    match given.kind {
        ValueKind::Number => match given.raw {
            b"0" => Some(false),
            b"1" => Some(true),
            _ => None,
        },
        ValueKind::Word if is("TRUE") => Some(true),
        ValueKind::Word if is("FALSE") => Some(false),
        ValueKind::Word | ValueKind::Text if is("ON") => Some(true),
        ValueKind::Word | ValueKind::Text if is("OFF") => Some(false),
        _ => None,
    }
}

/// Names whose assignment is not that of a lasting session variable.
fn is_special(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 42] = [
        // go with the schema
        b"character_set_database",
        // say which collations `SET NAMES` gives, of a session that comes next as well
        b"character_set_collations",
        b"collation_database",
        // what COMMIT does
        b"completion_type",
        b"debug",
        b"debug_dbug",
        b"debug_sync",
        b"default",
        b"default_collation_for_utf8mb4",
        b"global",
        b"gtid_next",
        b"gtid_seq_no",
        b"insert_id",
        // others by a second name, or parts of them
        b"log_queries_not_using_indexes",
        b"log_slow_admin_statements",
        b"log_slow_min_examined_row_limit",
        b"log_slow_query",
        b"log_slow_query_time",
        b"log_slow_slave_statements",
        b"max_insert_delayed_threads",
        // of the server's replication, whatever the scope
        b"max_relay_log_size",
        b"names",
        // parts of others, or these by a second name
        b"old",
        b"old_alter_table",
        // what the connection has seen so far, with `profiling`
        b"optimizer_trace",
        b"original_commit_timestamp",
        b"password",
        b"profiling",
        b"pseudo_replica_mode",
        b"pseudo_slave_mode",
        b"pseudo_thread_id",
        b"rand_seed1",
        b"rand_seed2",
        // the shape of results
        b"resultset_metadata",
        b"role",
        b"skip_replication",
        // once for the server's replication, whatever the scope
        b"sql_slave_skip_counter",
        b"statement",
        // by a second name
        b"storage_engine",
        // a moment in the time zone of when it is set
        b"system_versioning_asof",
        // by a second name
        b"tmp_memory_table_size",
        b"wsrep_causal_reads",
    ];
    NAMES.iter().any(|special| name.eq_ignore_ascii_case(special))
}

/// Variables of which `SET @@x` changes the next transaction, not the session.
fn is_next_transaction_only(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 4] =
        [b"transaction_isolation", b"tx_isolation", b"transaction_read_only", b"tx_read_only"];
    NAMES.iter().any(|special| name.eq_ignore_ascii_case(special))
}

pub(crate) mod value;

#[cfg(test)]
mod tests;
