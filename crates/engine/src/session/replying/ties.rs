//! What a session made on its connection that has an end: temporary tables, locks, distributed
//! transactions. When the last of a kind has ended, so has the reason to keep
//! the lane.
//!
//! Names are kept to see which is the last. What cannot be followed lasts until a reset: an end
//! counts only where it is the one statement of its text, and has succeeded.
//! What a session may find of others' user variables is here too, and what did not begin because
//! its statement failed.

use sql::{Asked, Effects, LockCall, Modes, Role, TableName, Verb};
use wire::command::code;
use wire::frame::HEADER_BYTES;
use wire::reply::ErrPacket;

use crate::holds::{Holds, How};
use crate::ids::SessionId;
use crate::link::LinkState;
use crate::proxy::Proxy;
use crate::server_error::{NO_SUCH_ROUTINE, NO_SUCH_TABLE};
use crate::session::prepared::handles::Handle;
use crate::session::replying::definitions::OF_UNREAD_CODE;
use crate::session::replying::query_end::QueryRows;
use crate::session::{Job, Session, What};

/// What a session made that has not ended.
#[derive(Debug, Default)]
pub(crate) struct Ties {
    /// Temporary tables, with their schemas.
    tables: Names,
    /// Of these the ones that are there for sure: others may have failed to be made.
    made: Names,
    /// Named locks, each as often as it was taken.
    locks: Names,
    /// More than tables are locked.
    locks_all: bool,
}

/// A text that has ended.
#[derive(Clone, Copy)]
struct Ended<'a> {
    text: &'a [u8],
    modes: Modes,
    verb: Verb,
    effects: Effects,
    /// The reasons that it gives to keep its lane.
    gives: Holds,
    /// It is one statement, which is understood: what it made and ended has the names in it.
    is_one: bool,
    /// All of it was done. What failed may have made what it names, and has ended nothing.
    is_done: bool,
    /// Its expressions were computed: under `sql_select_limit=0`, those of a `SELECT` are not.
    has_value: bool,
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
pub(crate) const ENDING: Holds =
    Holds::TEMPORARY_TABLE.union(Holds::GET_LOCK).union(Holds::LOCK_TABLES).union(Holds::XA);

impl Session {
    /// Notes what a command made and what it ended, on a lane that is kept for a reason that may
    /// end, or will be; the reasons that are over.
    #[inline]
    pub(crate) fn follow_ties(
        &mut self,
        job: &Job,
        came: (How, QueryRows),
        (before, gives): (Holds, Holds),
    ) -> Holds {
        match before.union(gives).intersects(ENDING) {
            true => self.follow_named(job, came, gives),
            false => Holds::NONE,
        }
    }

    fn follow_named(&mut self, job: &Job, (how, rows): (How, QueryRows), gives: Holds) -> Holds {
        if matches!(how, How::Prepared | How::Refused) {
            return Holds::NONE;
        }
        let mut ties = self.ties.take().unwrap_or_default();
        let (text, modes) = text_of(self, job);
        let several = Effects::MULTI_STATEMENT.union(Effects::UNCLEAR);
        let verb = sql::facts_in(text, modes).verb;
        let of = Ended {
            text,
            modes,
            verb,
            effects: job.effects,
            gives,
            is_one: !job.effects.intersects(several),
            is_done: how == How::Done,
            has_value: rows.sent > 0 || verb != Verb::Select,
        };
        ties.follow_tables(&of, schema_of(self, job.what));
        ties.follow_locks(&of);
        let mut over = Holds::NONE;
        over.set(Holds::TEMPORARY_TABLE, ties.tables.is_empty());
        over.set(Holds::GET_LOCK, ties.locks.is_empty());
        if of.is_one && of.is_done {
            let unlocks = match of.verb {
                Verb::UnlockTables => true,
                Verb::Begin | Verb::StartTransaction => !ties.locks_all,
                _ => false,
            };
            ties.locks_all &= !unlocks;
            over.set(Holds::LOCK_TABLES, unlocks);
            over.set(Holds::XA, sql::ends_xa(text, modes));
        }
        self.ties = Some(ties);
        over
    }

    /// Whether a command names what its server keeps from changing until the transaction ends.
    pub(crate) fn names_objects(&self, job: &Job) -> bool {
        let (text, modes) = text_of(self, job);
        job.upload.is_some() || sql::names_objects(text, modes)
    }

    /// Reasons have come up that code gave, which nobody followed: what it made has no names.
    pub(crate) fn tie_unseen(&mut self, gained: Holds) {
        if gained.intersects(ENDING) {
            let ties = self.ties.get_or_insert_default();
            ties.tables.more |= gained.intersects(Holds::TEMPORARY_TABLE);
            ties.locks.more |= gained.intersects(Holds::GET_LOCK);
        }
    }

    /// Where the session keeps no lane for a reason that may end, there is nothing to follow.
    pub(crate) fn end_ties(&mut self) {
        if self.ties.is_some() && !self.reasons().intersects(ENDING) {
            self.ties = None;
        }
    }
}

impl Session {
    /// Whether a command reads a user variable that the session has not set. Such a one is `NULL`
    /// everywhere, but its type tells whether it ever was set on the connection.
    #[inline]
    pub(crate) fn reads_unset_variable(&self, job: &Job) -> bool {
        let is_replayed = job.what == What::Set && !job.holds.intersects(Holds::SET);
        job.effects.intersects(Effects::USER_VARIABLE) && !is_replayed && self.lacks_one_of(job)
    }

    #[inline(never)]
    fn lacks_one_of(&self, job: &Job) -> bool {
        let settings = self.want.settings.as_deref();
        let is_set = |name| settings.is_some_and(|settings| settings.has_user_variable(name));
        let (text, modes) = text_of(self, job);
        !sql::user_variables(text, modes).all(is_set)
    }
}

impl Session {
    /// Whether a command drops temporary tables of the session and nothing else.
    pub(crate) fn drops_its_own(&self, job: &Job) -> bool {
        let Some(ties) = &self.ties else { return false };
        let (text, modes) = text_of(self, job);
        let schema = schema_of(self, job.what);
        let dropped = sql::parse_drop_tables(text, modes);
        dropped.is_some_and(|names| names.iter().all(|name| ties.made.has(&full(name, schema))))
    }

    /// Whether a table that a command names without a schema is a temporary one that the session
    /// made.
    pub(crate) fn has_made(&self, table: &[u8], what: What) -> bool {
        let full = |schema| full(&TableName { schema: None, table }, schema);
        self.ties.as_ref().is_some_and(|ties| ties.made.has(&full(schema_of(self, what))))
    }

    /// Whether a statement lists warnings or errors, which servers do not count as found rows.
    pub(crate) fn lists_diagnostics(&self, job: &Job) -> bool {
        if !job.effects.intersects(Effects::SHOW_WARNINGS) {
            return false;
        }
        let (text, modes) = text_of(self, job);
        let asked = sql::parse_diagnostics_asked(text, modes);
        asked.is_some_and(|asked| matches!(asked.of, Asked::List { .. }))
    }

    /// Whether a command that failed was refused as a whole. A server does all of a `SET` or
    /// nothing of it, but for what a function did that it calls, and nothing of one statement that
    /// it cannot parse, or of which a table or function is missing. Code that a statement reaches
    /// may end with any of these errors.
    pub(crate) fn is_refused(&self, job: &Job) -> bool {
        const PARSE_ERROR: u16 = 1064;
        let (text, _) = text_of(self, job);
        let mut statements = text.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let is_one = statements.next().is_some_and(|first| !first.is_empty())
            && statements.all(<[u8]>::is_empty);
        let is_unread = job.effects.intersects(OF_UNREAD_CODE);
        let known = match self.unread.filter(|_| is_unread) {
            Some(unread) => unread.known,
            None => job.effects,
        };
        match job.what {
            _ if !is_one || known.intersects(Effects::STORED_CODE) => false,
            What::Set => sql::only_computes(text) && (!is_unread || self.last.misses_name),
            _ if runs_others(job.effects) => false,
            _ if self.last.error.0 == PARSE_ERROR => {
                !is_unread || job.effects.intersects(Effects::UNCLEAR)
            }
            _ => self.last.misses_name,
        }
    }
}

impl Proxy {
    /// Notes an error that a server told of what a session runs.
    pub(crate) fn note_error_of(&mut self, id: SessionId, said: &ErrPacket<'_>) {
        const NO_DATABASE: u16 = 1046;
        let running = self.running(id).map(|running| (running.job, running.lane));
        let job = running.map(|(job, _)| job);
        // code of another schema could not go back to one that was dropped: it is chosen again
        if said.code == NO_DATABASE
            && let Some(lane) = running.and_then(|(_, lane)| self.lanes.get_mut(lane))
        {
            lane.state.schema = None;
        }
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.last.error = (said.code, said.sqlstate);
        session.last.misses_name = false;
        if let (Some(job), Some((missing, roles))) = (job, missing_name(said)) {
            let (text, modes) = text_of(session, &job);
            session.last.misses_name = sql::names(text, modes)
                .any(|(name, role)| roles.contains(&role) && name.eq_ignore_ascii_case(missing));
        }
    }
}

/// The table or function that a server says there is not, and what looks like it in a text.
fn missing_name<'a>(said: &ErrPacket<'a>) -> Option<(&'a [u8], &'static [Role])> {
    let (full, roles): (_, &[Role]) = match said.code {
        // Table 'schema.table' doesn't exist
        NO_SUCH_TABLE => (said.message.split(|byte| *byte == b'\'').nth(1)?, &[Role::Table]),
        // FUNCTION schema.function does not exist
        NO_SUCH_ROUTINE => {
            let rest = said.message.strip_prefix(b"FUNCTION ")?;
            (
                rest.split(|byte| *byte == b' ').next()?,
                &[Role::Call, Role::OwnCall, Role::DoubtfulCall],
            )
        }
        _ => return None,
    };
    Some((full.rsplit(|byte| *byte == b'.').next()?, roles))
}

impl Ties {
    fn follow_tables(&mut self, of: &Ended<'_>, schema: &[u8]) {
        let Ended { text, modes, verb, effects, .. } = *of;
        let may_alter = effects.intersects(Effects::IMPLICIT_COMMIT) && !self.tables.is_empty();
        match verb {
            _ if !of.is_one => {
                self.tables.more |= of.gives.intersects(Holds::TEMPORARY_TABLE) || may_alter;
            }
            Verb::CreateTemporary => {
                let name = sql::parse_create_temporary(text, modes).map(|name| full(&name, schema));
                let is_made = |name: &Vec<u8>| of.is_done && !self.made.has(name);
                if let Some(name) = name.clone().filter(is_made) {
                    self.made.add(Some(name));
                }
                self.tables.add(name);
            }
            Verb::DropTable if of.is_done => {
                for name in sql::parse_drop_tables(text, modes).unwrap_or_default() {
                    let name = full(&name, schema);
                    self.made.remove(&name);
                    self.tables.remove(&name);
                }
            }
            Verb::DropTable => {}
            Verb::AlterTable | Verb::RenameTable => self.tables.more |= may_alter,
            _ => self.tables.more |= effects.intersects(Effects::TEMPORARY_TABLE),
        }
    }

    fn follow_locks(&mut self, of: &Ended<'_>) {
        let Ended { text, modes, verb, effects, .. } = *of;
        if effects.intersects(Effects::LOCKS_TABLES) {
            self.locks_all |= !of.is_one || verb != Verb::LockTable;
        }
        if !effects.intersects(Effects::USER_LOCK) {
            return;
        }
        // what is no call alone may take one
        match sql::parse_lock_call(text, modes) {
            Some(LockCall::Get(name)) => self.locks.add(Some(name.to_ascii_lowercase())),
            Some(_) if !of.has_value => {}
            Some(LockCall::Release(name)) if of.is_done => {
                self.locks.remove(&name.to_ascii_lowercase());
            }
            Some(LockCall::ReleaseAll) if of.is_done => self.locks = Names::default(),
            Some(_) => {}
            None => self.locks.add(None),
        }
    }
}

/// Whether a text runs others, whose errors look as if they were its own.
fn runs_others(effects: Effects) -> bool {
    effects.intersects(Effects::CALLS_PROCEDURE.union(Effects::TEXT_EXECUTE))
}

/// The text of a command that its session still keeps, or of its prepared statement, and how it is
/// read.
pub(crate) fn text_of<'a>(session: &'a Session, job: &Job) -> (&'a [u8], Modes) {
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

/// The connection on which the names of a command are what they are.
pub(crate) fn state_of<'a>(session: &'a Session, job: &Job) -> &'a LinkState {
    match job.what {
        What::Execute(stmt) => session.handle(stmt).map_or(&session.want, |it| &it.text.state),
        _ => &session.want,
    }
}

/// The schema of names without one in a command: of a statement, the one it was prepared in.
fn schema_of(session: &Session, what: What) -> &[u8] {
    let schema = match what {
        What::Execute(stmt) if let Some(handle) = session.handle(stmt) => {
            handle.text.schema(&session.want)
        }
        _ => session.want.schema.as_ref(),
    };
    schema.map_or(&[], |schema| schema)
}

/// Schema and table, with a byte in between that is in neither.
fn full(name: &TableName<'_>, schema: &[u8]) -> Vec<u8> {
    [name.schema.unwrap_or(schema), name.table].join(&0)
}

/// Whether a text that mentions named locks leaves none behind.
pub(crate) fn takes_no_lock(text: &[u8], modes: Modes) -> bool {
    !matches!(sql::parse_lock_call(text, modes), None | Some(LockCall::Get(_)))
}
