//! What a statement does to what it names.
//!
//! Pure. It decides by a statement's facts alone whether its names may be called, read, written or
//! defined; what stands behind a name is [`super::Catalog`]'s.

use sql::{Effects, Facts, Modes, Role, Verb};

use crate::link::LinkState;

/// How the names of a text are read, and what it does to them.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// How the text is read.
    pub modes: Modes,
    /// Names beyond ASCII are in UTF-8, as servers tell them.
    pub is_utf8: bool,
    /// What it does to what it names.
    pub naming: Naming,
}

impl How {
    /// That of a text on a connection in this state.
    pub fn of(state: &LinkState, naming: Naming) -> Self {
        Self { modes: state.modes(), is_utf8: state.is_utf8(), naming }
    }

    /// Whether a name may be another one to servers.
    pub(crate) fn is_foreign(&self, name: &[u8]) -> bool {
        !self.is_utf8 && !name.is_ascii()
    }
}

/// A name of a text that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Named {
    /// What it is known by.
    pub key: u64,
    /// What it looks like.
    pub role: Role,
    /// What the text did to what it names.
    pub naming: Naming,
}

/// A text whose reach is asked for.
#[derive(Clone, Copy, Debug)]
pub struct AskedText<'a> {
    /// The text.
    pub text: &'a [u8],
    /// How it is read.
    pub how: How,
}

/// What a statement does to what it names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Naming {
    /// Nothing: it names nothing that runs.
    Nothing,
    /// It looks at definitions, or is about accounts: names that nobody knows are none of its,
    /// outside of a query.
    Looks,
    /// It changes definitions, likewise.
    Defines,
    /// It makes or changes code that reaches what it names: nothing of it runs now.
    MakesCode,
    /// It is not understood: it may do all of it.
    Unclear,
    /// It reads rows.
    Reads,
    /// It may change rows.
    Writes,
    /// It writes new rows.
    Inserts,
    /// Likewise, as one of several statements.
    Several,
}

impl Naming {
    /// That of a statement with these facts.
    pub fn of(facts: &Facts) -> Self {
        const SEVERAL: Effects = Effects::MULTI_STATEMENT.union(Effects::UNCLEAR);
        let is_one = !facts.effects.intersects(SEVERAL);
        match facts.verb {
            Verb::Insert | Verb::Replace if is_one => Self::Inserts,
            verb if is_one && READS.contains(&verb) => Self::Reads,
            verb if is_one && NOTHING.contains(&verb) => Self::Nothing,
            verb if is_one && LOOKS.contains(&verb) => Self::Looks,
            Verb::DropTable if is_one && !facts.effects.intersects(Effects::IMPLICIT_COMMIT) => {
                Self::Looks
            }
            // the time that it is given is computed
            Verb::Purge if is_one => Self::Writes,
            _ if facts.effects.intersects(Effects::KEEPS_CODE) => Self::MakesCode,
            _ if facts.effects.intersects(Effects::UNCLEAR) => Self::Unclear,
            _ if facts.effects.intersects(Effects::IMPLICIT_COMMIT) => Self::Defines,
            _ if !is_one => Self::Several,
            _ => Self::Writes,
        }
    }

    /// Whether a server that ran a statement with these facts, and told no error, has found what
    /// each name in it stands for.
    pub fn is_resolved(facts: &Facts) -> bool {
        const SEVERAL: Effects = Effects::MULTI_STATEMENT.union(Effects::UNCLEAR);
        !facts.effects.intersects(SEVERAL) && OF_ROWS.contains(&facts.verb)
    }

    /// Whether it has to do with rows.
    pub(super) fn is_of_rows(self) -> bool {
        !matches!(self, Self::Nothing | Self::Looks | Self::Defines | Self::MakesCode)
    }
}

/// Statements that fail where a name in them stands for nothing.
const OF_ROWS: [Verb; 7] = [
    Verb::Select,
    Verb::SelectForUpdate,
    Verb::Set,
    Verb::Insert,
    Verb::Replace,
    Verb::Update,
    Verb::Delete,
];

/// Statements that name nothing that runs.
const NOTHING: [Verb; 9] = [
    Verb::Begin,
    Verb::StartTransaction,
    Verb::Commit,
    Verb::Rollback,
    Verb::RollbackSavepoint,
    Verb::Savepoint,
    Verb::ReleaseSavepoint,
    Verb::Use,
    Verb::UnlockTables,
];

/// Statements that read rows.
const READS: [Verb; 3] = [Verb::Select, Verb::SelectForUpdate, Verb::Set];

/// Statements that look at definitions, open tables or keep them in order, or are about accounts.
const LOOKS: [Verb; 18] = [
    Verb::Kill,
    Verb::LockTable,
    Verb::Flush,
    Verb::Show,
    Verb::ShowTableStatus,
    Verb::Describe,
    Verb::Explain,
    Verb::AnalyzeTable,
    Verb::Optimize,
    Verb::TruncateTable,
    Verb::CreateIndex,
    Verb::DropIndex,
    Verb::CreateTemporary,
    Verb::CreateUser,
    Verb::DropUser,
    Verb::Grant,
    Verb::Revoke,
    Verb::ChangeMaster,
];
