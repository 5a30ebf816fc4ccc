//! What a session made on its connection that has an end: temporary tables, locks, statements with
//! names, distributed transactions. When the last of a kind has ended, so has the reason to keep
//! the lane.
//!
//! Names are kept to see which is the last. What cannot be followed lasts until a reset.
//! What a session may find of others' user variables is here too, and what did not begin because
//! its statement failed.

use sql::{Asked, Effects, LockCall, Modes, NamedStatement, TableName, Verb};
use wire::command::code;
use wire::frame::HEADER_BYTES;

use crate::holds::Holds;
use crate::ids::{LaneId, SessionId};
use crate::proxy::Proxy;
use crate::session::stmt::Handle;
use crate::session::{Job, Session, What};

/// What a session made that has not ended.
#[derive(Debug, Default)]
pub(crate) struct Ties {
    /// Temporary tables, with their schemas.
    tables: Names,
    /// Named locks, each as often as it was taken.
    locks: Names,
    /// More than tables are locked.
    locks_all: bool,
    /// Statements with names, which leave nothing else behind.
    statements: Names,
}

/// A statement that has succeeded.
#[derive(Clone, Copy)]
struct Statement<'a> {
    text: &'a [u8],
    modes: Modes,
    verb: Verb,
    effects: Effects,
}

/// Names of what was made.
#[derive(Debug, Default)]
struct Names {
    list: Vec<Box<[u8]>>,
    /// There is more than the list says.
    more: bool,
}

impl Names {
    fn add(&mut self, name: Option<Vec<u8>>) {
        const NAMES_MAX: usize = 64;
        match name.filter(|_| self.list.len() < NAMES_MAX) {
            Some(name) => self.list.push(name.into()),
            None => self.more = true,
        }
    }

    fn remove(&mut self, name: &[u8]) {
        if let Some(at) = self.list.iter().position(|known| **known == *name) {
            self.list.swap_remove(at);
        }
    }

    fn has(&self, name: &[u8]) -> bool {
        self.list.iter().any(|known| **known == *name)
    }

    fn is_empty(&self) -> bool {
        self.list.is_empty() && !self.more
    }
}

/// Reasons that end with what the session does.
pub(crate) const ENDING: Holds = Holds::TEMPORARY_TABLE
    .union(Holds::GET_LOCK)
    .union(Holds::LOCK_TABLES)
    .union(Holds::TEXT_PREPARE)
    .union(Holds::XA);

impl Proxy {
    /// A statement has succeeded on a lane that is kept for a reason that may end: notes what it
    /// made and what it ended.
    pub(crate) fn follow_ties(&mut self, id: SessionId, lane_id: LaneId, job: &Job) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let mut ties = session.ties.take().unwrap_or_default();
        let (text, modes) = text_of(session, job);
        let verb = sql::facts_in(text, modes).verb;
        let schema = session.want.schema.as_deref().unwrap_or_default();
        let of = Statement { text, modes, verb, effects: job.effects };
        ties.follow_tables(&of, schema);
        ties.follow_locks(&of);
        ties.follow_statements(&of);
        let ends_xa = sql::ends_xa(text, modes);
        let Some(held) = session.held.iter_mut().find(|held| held.lane == lane_id) else { return };
        if ties.tables.is_empty() {
            held.why.set(Holds::TEMPORARY_TABLE, false);
        }
        if ties.locks.is_empty() {
            held.why.set(Holds::GET_LOCK, false);
        }
        if ties.statements.is_empty() {
            held.why.set(Holds::TEXT_PREPARE, false);
        }
        let unlocks = job.effects.intersects(Effects::UNLOCKS_TABLES)
            || (job.effects.intersects(Effects::TRANSACTION_START) && !ties.locks_all);
        if unlocks {
            held.why.set(Holds::LOCK_TABLES, false);
            ties.locks_all = false;
        }
        if ends_xa {
            held.why.set(Holds::XA, false);
        }
        let ties = Some(ties).filter(|_| held.why.intersects(ENDING));
        session.ties = ties;
    }
}

impl Session {
    /// Whether a command reads a user variable that the session has not set. Such a one is `NULL`
    /// everywhere, but its type tells whether it ever was set on the connection.
    pub(crate) fn reads_unset_variable(&self, job: &Job) -> bool {
        let is_replayed = job.what == What::Set && !job.holds.intersects(Holds::SET);
        if !job.effects.intersects(Effects::USER_VARIABLE) || is_replayed {
            return false;
        }
        let settings = self.want.settings.as_deref();
        let is_set = |name| settings.is_some_and(|settings| settings.has_user_variable(name));
        let (text, modes) = text_of(self, job);
        !sql::user_variables(text, modes).all(is_set)
    }
}

impl Session {
    /// Whether a statement lists warnings or errors, which servers do not count as found rows.
    pub(crate) fn lists_diagnostics(&self, job: &Job) -> bool {
        if !job.effects.intersects(Effects::SHOW_WARNINGS) {
            return false;
        }
        let (text, modes) = text_of(self, job);
        let asked = sql::parse_diagnostics_asked(text, modes);
        asked.is_some_and(|asked| matches!(asked.of, Asked::List { .. }))
    }

    /// Reasons that a statement does not give after all, because it has failed. A server does all
    /// of a `SET` or nothing of it, but for what a function did that it calls, and nothing of what
    /// it cannot parse.
    pub(crate) fn undone_by_failure(&self, job: &Job) -> Holds {
        const PARSE_ERROR: u16 = 1064;
        let (text, _) = text_of(self, job);
        let mut statements = text.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let is_one = statements.next().is_some_and(|first| !first.is_empty())
            && statements.all(<[u8]>::is_empty);
        match job.what {
            What::Set if is_one && sql::only_computes(text) => Holds::SET,
            _ if is_one && self.last.error.0 == PARSE_ERROR => match job.holds {
                Holds::NOT_UNDERSTOOD => Holds::NOT_UNDERSTOOD,
                _ => Holds::NONE,
            },
            _ => Holds::NONE,
        }
    }
}

impl Ties {
    fn follow_tables(&mut self, of: &Statement<'_>, schema: &[u8]) {
        let Statement { text, modes, verb, effects } = *of;
        match verb {
            Verb::CreateTemporary => {
                let name = sql::parse_create_temporary(text, modes).map(|name| full(&name, schema));
                self.tables.add(name);
            }
            Verb::DropTable => {
                for name in sql::parse_drop_tables(text, modes).unwrap_or_default() {
                    self.tables.remove(&full(&name, schema));
                }
            }
            Verb::AlterTable | Verb::RenameTable => self.tables.more |= !self.tables.is_empty(),
            _ => self.tables.more |= effects.intersects(Effects::TEMPORARY_TABLE),
        }
    }

    fn follow_locks(&mut self, of: &Statement<'_>) {
        let Statement { text, modes, verb, effects } = *of;
        if effects.intersects(Effects::LOCKS_TABLES) {
            self.locks_all |= verb != Verb::LockTable;
        }
        if !effects.intersects(Effects::USER_LOCK) {
            return;
        }
        match sql::parse_lock_call(text, modes) {
            Some(LockCall::Get(name)) => self.locks.add(Some(name.to_ascii_lowercase())),
            Some(LockCall::Release(name)) => self.locks.remove(&name.to_ascii_lowercase()),
            Some(LockCall::ReleaseAll) => self.locks = Names::default(),
            Some(LockCall::Look) => {}
            None => self.locks.add(None),
        }
    }

    fn follow_statements(&mut self, of: &Statement<'_>) {
        let Statement { text, modes, effects, .. } = *of;
        if !effects.intersects(Effects::TEXT_PREPARE.union(Effects::TEXT_EXECUTE)) {
            return;
        }
        let statements = &mut self.statements;
        match sql::parse_named_statement(text, modes) {
            Some(NamedStatement::Made { name, text }) if leaves_nothing(text) => {
                let name = name.to_ascii_lowercase();
                statements.remove(&name);
                statements.add(Some(name));
            }
            Some(NamedStatement::Executed(name)) if statements.has(&name.to_ascii_lowercase()) => {}
            Some(NamedStatement::Ended(name)) => statements.remove(&name.to_ascii_lowercase()),
            _ => statements.more = true,
        }
    }
}

/// Whether a text that is prepared only reads or changes rows. What it calls may do more, but then
/// the server tells.
fn leaves_nothing(text: &[u8]) -> bool {
    const OF_ROWS: [Verb; 5] =
        [Verb::Select, Verb::Insert, Verb::Replace, Verb::Update, Verb::Delete];
    let facts = sql::facts(text);
    OF_ROWS.contains(&facts.verb) && facts.effects.is_empty()
}

/// The text of a command that its session still keeps, or of its prepared statement, and how it is
/// read.
fn text_of<'a>(session: &'a Session, job: &Job) -> (&'a [u8], Modes) {
    if let What::Execute(stmt) = job.what
        && let Some(Handle { text, .. }) = session.handle(stmt)
    {
        return (&text.text, text.state.modes());
    }
    match session.serving.kept.get(HEADER_BYTES..) {
        Some([code::QUERY, text @ ..]) if job.upload.is_none() => (text, session.want.modes()),
        _ => (&[], Modes::default()),
    }
}

/// Schema and table, with a byte in between that is in neither.
fn full(name: &TableName<'_>, schema: &[u8]) -> Vec<u8> {
    [name.schema.unwrap_or(schema), name.table].join(&0)
}

/// Whether a text that mentions named locks leaves none behind.
pub(crate) fn takes_no_lock(text: &[u8], modes: Modes) -> bool {
    !matches!(sql::parse_lock_call(text, modes), None | Some(LockCall::Get(_)))
}
